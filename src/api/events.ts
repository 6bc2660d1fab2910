import { z } from 'zod';
import { route } from '../http/route.ts';
import { pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';
import { getEvent, listEvents } from '../webhooks/actions-events.ts';
import { Event, EventId, eventFilters } from '../webhooks/event.ts';

const tag = 'Webhooks';

export const eventRoutes = [
  route({
    method: 'GET',
    path: '/events',
    cell: 'all',
    merged: 'asc',
    needs: 'events:read',
    summary: 'List events',
    description: 'Returns the events of the environment, optionally of one type, object or customer.',
    tag,
    query: pageQuery(eventFilters),
    returns: pageOf(Event),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listEvents(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/events/{id}',
    cell: 'id',
    needs: 'events:read',
    summary: 'Get an event',
    description: 'Returns one event with its payload.',
    tag,
    params: z.object({ id: EventId }),
    returns: z.object({ event: Event }),
    refuses: ['eventNotFound'],
    handle: async (work, { params }) => ({ event: await getEvent(work, params.id) }),
  }),
];

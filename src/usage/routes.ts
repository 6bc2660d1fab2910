import { z } from 'zod';
import { pageOf, pageQuery, pageRequest } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { getUsageEvent, listUsageEvents } from './actions.ts';
import { eventFilters } from './event-query.ts';
import { UsageEvent, UsageEventId } from './usage-event.ts';

const tag = 'Usage events';

export const usageRoutes = [
  route({
    method: 'GET',
    path: '/usage-events/{id}',
    summary: 'Get a usage event',
    tag,
    params: z.object({ id: UsageEventId }),
    returns: z.object({ usageEvent: UsageEvent }),
    refuses: ['usageEventNotFound'],
    handle: async (work, { params }) => ({ usageEvent: await getUsageEvent(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/usage-events',
    summary: 'List the usage events',
    tag,
    query: pageQuery(eventFilters),
    returns: pageOf(UsageEvent),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listUsageEvents(work, pageRequest(query)),
  }),
];

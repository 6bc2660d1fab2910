import { z } from 'zod';
import { pageOf, pageQuery, pageRequest } from '../kernel/page.ts';
import { LedgerEntry } from '../ledger/ledger-entry.ts';
import { route } from '../platform/route.ts';
import { getEntryOfUsageEvent, getUsageEvent, listUsageEvents } from './actions.ts';
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
    path: '/usage-events/{id}/ledger-entry',
    summary: 'Get the ledger entry of a usage event',
    description:
      'The entry that booked the event, with all of its subscription and price that were recorded with it, and the credits ' +
      'that it drew from. Null when the event counted nothing.',
    tag,
    params: z.object({ id: UsageEventId }),
    returns: z.object({ ledgerEntry: LedgerEntry.nullable() }),
    refuses: ['usageEventNotFound'],
    handle: async (work, { params }) => ({ ledgerEntry: await getEntryOfUsageEvent(work, params.id) }),
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

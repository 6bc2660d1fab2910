import { z } from 'zod';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { getUsageEvent, listUsageEvents, recordUsageEvent, recordUsageEvents } from './actions.ts';
import { maxEventsPerRequest, NewUsageEvent, UsageEvent, UsageEventId } from './usage-event.ts';

const tag = 'Usage events';
const refuses = [
  'subscriptionNotFound',
  'subscriptionTerminal',
  'customerArchived',
  'priceNotFound',
  'usageMeterNotFound',
  'transactionIdTaken',
] as const;
const repeats =
  'An event whose transactionId its usage meter has already is answered as it was first stored, and counts once.';

export const usageRoutes = [
  route({
    method: 'POST',
    path: '/usage-events',
    summary: 'Record a usage event',
    description: repeats,
    tag,
    body: z.object({ usageEvent: NewUsageEvent }),
    returns: z.object({ usageEvent: UsageEvent }),
    refuses,
    handle: async (work, { body }) => ({ usageEvent: await recordUsageEvent(work, body.usageEvent) }),
  }),
  route({
    method: 'POST',
    path: '/usage-events/bulk',
    summary: 'Record usage events in bulk',
    description: `All or nothing. Answers one event for each that was sent, in order. ${repeats}`,
    tag,
    body: z.object({ usageEvents: z.array(NewUsageEvent).min(1).max(maxEventsPerRequest) }),
    returns: z.object({ usageEvents: z.array(UsageEvent) }),
    refuses,
    handle: async (work, { body }) => ({ usageEvents: await recordUsageEvents(work, body.usageEvents) }),
  }),
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
    query: pageQuery({ customerId: textFilter, subscriptionId: textFilter, usageMeterId: textFilter }),
    returns: pageOf(UsageEvent),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listUsageEvents(work, pageRequest(query)),
  }),
];

import { z } from 'zod';
import { route } from '../platform/route.ts';
import { recordUsageEvent, recordUsageEvents } from '../usage/actions.ts';
import { maxEventsPerRequest, NewUsageEvent, UsageEvent } from '../usage/usage-event.ts';
import { catchUpAll } from './catch-up.ts';

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

export const usageLifecycleRoutes = [
  route({
    method: 'POST',
    path: '/usage-events',
    summary: 'Record a usage event',
    description: repeats,
    tag,
    body: z.object({ usageEvent: NewUsageEvent }),
    returns: z.object({ usageEvent: UsageEvent }),
    refuses,
    handle: async (work, { body }) => ({ usageEvent: await recordUsageEvent(work, body.usageEvent, catchUpAll) }),
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
    handle: async (work, { body }) => ({ usageEvents: await recordUsageEvents(work, body.usageEvents, catchUpAll) }),
  }),
];

import { z } from 'zod';
import { catchUpAll } from '../billing/catch-up.ts';
import { batchedRoute, route } from '../http/route.ts';
import { pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';
import { getEntryOfUsageEvent, getUsageEvent, listUsageEvents } from '../usage/actions.ts';
import { consumeUsage } from '../usage/actions-consume.ts';
import { recordUsage } from '../usage/actions-record.ts';
import { eventFilters } from '../usage/event-query.ts';
import { LedgerEntry } from '../usage/ledger-entry.ts';
import { first, type UsageRequest } from '../usage/usage-draft.ts';
import { maxEventsPerRequest, NewUsageEvent, UsageBalance, UsageEvent, UsageEventId } from '../usage/usage-event.ts';

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

const recording = recordUsage(catchUpAll);
const consuming = consumeUsage(catchUpAll);

const record = (events: readonly NewUsageEvent[], pathOf: UsageRequest['pathOf']): UsageRequest => ({
  kind: 'record',
  events,
  pathOf,
});

export const usageEventRoutes = [
  batchedRoute({
    method: 'POST',
    path: '/usage-events',
    summary: 'Record a usage event',
    description: repeats,
    tag,
    body: z.object({ usageEvent: NewUsageEvent }),
    returns: z.object({ usageEvent: UsageEvent }),
    refuses,
    operation: recording,
    request: ({ body }) => record([body.usageEvent], () => ['usageEvent']),
    answer: ({ events }) => ({ usageEvent: first(events) }),
  }),
  batchedRoute({
    method: 'POST',
    path: '/usage-events/bulk',
    summary: 'Record usage events in bulk',
    description: `All or nothing. Answers one event for each that was sent, in order. ${repeats} A body of application/x-ndjson holds an event in each line.`,
    tag,
    body: z.object({ usageEvents: z.array(NewUsageEvent).min(1).max(maxEventsPerRequest) }),
    returns: z.object({ usageEvents: z.array(UsageEvent) }),
    refuses,
    lines: 'usageEvents',
    operation: recording,
    request: ({ body }) => record(body.usageEvents, (index) => ['usageEvents', index]),
    answer: ({ events }) => ({ usageEvents: [...events] }),
  }),
  batchedRoute({
    method: 'POST',
    path: '/usage-events/consume',
    summary: 'Record a usage event if the balance covers it',
    description: `Checks the balance and uses it in one step: of many who ask at once, as many succeed as it covers. Answers the event and the balance that is left, or 402 with the balance, and then nothing is stored. ${repeats}`,
    tag,
    body: z.object({ usageEvent: NewUsageEvent }),
    returns: z.object({ usageEvent: UsageEvent, usageBalance: UsageBalance }),
    refuses: [...refuses, 'insufficientBalance'],
    operation: consuming,
    request: ({ body }): UsageRequest => ({ kind: 'consume', events: [body.usageEvent], pathOf: () => ['usageEvent'] }),
    answer: ({ events, balance }) => {
      const usageEvent = first(events);
      const { subscriptionId, usageMeterId } = usageEvent;
      return { usageEvent, usageBalance: { subscriptionId, usageMeterId, availableBalance: balance ?? 0n } };
    },
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

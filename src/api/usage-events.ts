import { z } from 'zod';
import { catchUpAll } from '../billing/catch-up.ts';
import type { Parts } from '../database/cells.ts';
import { jsonInTurns } from '../http/body.ts';
import { type EventStreams, longestSeconds, type WithEventStreams } from '../http/event-stream.ts';
import { batchedRoute, gatheredRoute, route } from '../http/route.ts';
import { pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import {
  beginTail,
  getEntryOfUsageEvent,
  getUsageEvent,
  listUsageEvents,
  tailUsage,
  type UsageTail,
} from '../usage/actions.ts';
import { consumeUsage } from '../usage/actions-consume.ts';
import { recordUsage } from '../usage/actions-record.ts';
import { ArchivedUntil, eventFilters } from '../usage/event-query.ts';
import { LedgerEntry } from '../usage/ledger.ts';
import { eventsOfEach, first, type UsageRequest } from '../usage/usage-draft.ts';
import { maxEventsPerRequest, NewUsageEvent, UsageBalance, UsageEvent, UsageEventId } from '../usage/usage-event.ts';

const tag = 'Usage events';

const refuses = [
  'customerNotFound',
  'noCurrentSubscription',
  'severalCurrentSubscriptions',
  'noMeterMatches',
  'subscriptionNotFound',
  'subscriptionTerminal',
  'customerArchived',
  'priceNotFound',
  'usageMeterNotFound',
  'transactionIdTaken',
] as const;

const ofEachMeter = z.array(UsageEvent).optional().meta({
  description: 'Present where several usage meters count the event: the event of each, in order of the meters.',
});

const recording = recordUsage(catchUpAll);
const consuming = consumeUsage(catchUpAll);

const record = (events: readonly NewUsageEvent[], pathOf: UsageRequest['pathOf']): UsageRequest => ({
  kind: 'record',
  events,
  pathOf,
});

/** A tail whose stream opens when the transaction has ended. */
interface OpenedTail extends UsageTail {
  readonly streams: EventStreams;
}

export const usageEventRoutes = [
  batchedRoute({
    method: 'POST',
    path: '/usage-events',
    cell: 'customer',
    needs: 'usage-events:write',
    summary: 'Record a usage event',
    description:
      'Records that a subscription has used units of a usage meter, and books them on its balance. A customer may be ' +
      'named in its place: the usage is then of its one current subscription that has the meter. If the meter has an ' +
      'event with this `transactionId`, that event is returned and nothing is counted again.',
    tag,
    body: z.object({ usageEvent: NewUsageEvent }),
    returns: z.object({ usageEvent: UsageEvent, usageEvents: ofEachMeter }),
    refuses,
    operation: recording,
    request: ({ body }) => record([body.usageEvent], () => ['usageEvent']),
    answer: ({ events }) => ({ usageEvent: first(events), ...(events.length > 1 && { usageEvents: [...events] }) }),
  }),
  batchedRoute({
    method: 'POST',
    path: '/usage-events/bulk',
    cell: 'customer',
    needs: 'usage-events:write',
    summary: 'Record usage events in bulk',
    description:
      'Records up to 10,000 events, all of them or none, and returns one event for each, in order. An event with an ' +
      '`eventName` counts on each usage meter that it matches: one event is stored and returned for each. A stored ' +
      'event with the same `transactionId` is returned and not counted again. A body of `application/x-ndjson` ' +
      'has one event in each line. With customers in several cells, each cell stores all of its events or none. A refusal ' +
      'then has the indexes of events that were stored in `stored`, and a repeat of the request counts none of them again.',
    tag,
    body: z.object({ usageEvents: z.array(NewUsageEvent).max(maxEventsPerRequest) }),
    returns: z.object({ usageEvents: z.array(UsageEvent) }),
    refuses,
    list: { field: 'usageEvents', element: NewUsageEvent, atMost: maxEventsPerRequest },
    text: jsonInTurns,
    divided: { field: 'usageEvents', answers: 'usageEvents', answersOf: eventsOfEach, stores: true },
    operation: recording,
    request: ({ body, places }) => record(body.usageEvents, (index) => ['usageEvents', places?.[index] ?? index]),
    answer: ({ events }) => ({ usageEvents: [...events] }),
  }),
  batchedRoute({
    method: 'POST',
    path: '/usage-events/consume',
    cell: 'customer',
    needs: 'usage-events:write',
    summary: 'Consume units of a balance',
    description:
      'Records a usage event only if the balance covers it, exactly under any number of parallel requests. ' +
      'Returns the event and the remaining balance. Otherwise nothing is stored, and the answer is 402 with the ' +
      'balance. An event that several usage meters count is recorded only if the balance of each covers its part. A ' +
      'stored event with the same `transactionId` is returned and not counted again.',
    tag,
    body: z.object({ usageEvent: NewUsageEvent }),
    returns: z.object({
      usageEvent: UsageEvent,
      usageBalance: UsageBalance,
      usageEvents: ofEachMeter,
      usageBalances: z
        .array(UsageBalance)
        .optional()
        .meta({ description: 'Present with `usageEvents`: the balance of each meter.' }),
    }),
    refuses: [...refuses, 'subscriptionUnpaid', 'insufficientBalance', 'spendLimitReached'],
    operation: consuming,
    request: ({ body }): UsageRequest => ({ kind: 'consume', events: [body.usageEvent], pathOf: () => ['usageEvent'] }),
    answer: ({ events, balances }) => ({
      usageEvent: first(events),
      usageBalance: first(balances),
      ...(events.length > 1 && { usageEvents: [...events], usageBalances: [...balances] }),
    }),
  }),
  gatheredRoute({
    path: '/usage-events/tail',
    needs: 'usage-events:read',
    summary: 'Follow usage events',
    description:
      'Streams server-sent events with the usage events of a meter as they arrive, each within about two seconds. ' +
      '`arrived` has the newest first in `usageEvents`, at most 50 a second; `skipped` says that there were more. The ' +
      'stream begins with those of the last ten seconds. It ends after `seconds`, and when the caller is signed out or ' +
      'the key is revoked. After another start an event may come again: its id tells.',
    tag,
    query: z.object({
      usageMeterId: z.string().min(1).max(255),
      seconds: z.coerce.number().int().min(0).max(longestSeconds).default(0).meta({
        description: 'The length of the stream. Without it, the stream ends after the events of the last ten seconds.',
      }),
    }),
    returns: z.custom<Parts<OpenedTail>>(),
    refuses: ['usageMeterNotFound', 'tooManyStreams', 'overloaded'],
    read: async (work, { query }, { services }) => {
      const { eventStreams } = (services ?? {}) as WithEventStreams;
      if (eventStreams === undefined) throw new Problem('overloaded');
      return { ...(await beginTail(work, query)), streams: eventStreams };
    },
    join: (parts) => parts,
    // The answer is no JSON.
    text: () => '',
    file: {
      contentType: 'text/event-stream',
      render: (parts, readMore) => tailUsage(parts[0].streams, parts, readMore),
    },
  }),
  route({
    method: 'GET',
    path: '/usage-events/{id}',
    cell: 'id',
    needs: 'usage-events:read',
    summary: 'Get a usage event',
    description: 'Returns one usage event with its amount, properties and billing period.',
    tag,
    params: z.object({ id: UsageEventId }),
    returns: z.object({ usageEvent: UsageEvent }),
    refuses: ['usageEventNotFound'],
    handle: async (work, { params }) => ({ usageEvent: await getUsageEvent(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/usage-events/{id}/ledger-entry',
    cell: 'id',
    needs: 'usage-events:read',
    summary: 'Get the ledger entry of a usage event',
    description:
      'Returns the entry that booked the event, and the credits that paid for it. An entry may book several ' +
      'events of one request. Where a credit pool paid for some of the event, it is the entry of that part. It is ' +
      '`null` if the event counted nothing.',
    tag,
    params: z.object({ id: UsageEventId }),
    returns: z.object({ ledgerEntry: LedgerEntry.nullable() }),
    refuses: ['usageEventNotFound'],
    handle: async (work, { params }) => ({ ledgerEntry: await getEntryOfUsageEvent(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/usage-events',
    cell: 'all',
    merged: 'asc',
    needs: 'usage-events:read',
    summary: 'List usage events',
    description:
      'Returns the usage events of the environment in the order of arrival, optionally of one customer, ' +
      'subscription, meter or range of time. `total` counts archived events too.',
    tag,
    query: pageQuery(eventFilters),
    returns: pageOf(UsageEvent).extend({ archivedUntil: ArchivedUntil }),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listUsageEvents(work, pageRequest(query)),
  }),
];

import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import { listExternalIds } from '../customers/store.ts';
import type { Parts } from '../database/cells.ts';
import type { Work } from '../database/work.ts';
import { type EventStreams, type Opening, openingOf, openLookingStream } from '../http/event-stream.ts';
import type { ReadMore } from '../http/route.ts';
import { type Instant, msPerDay } from '../kernel/calendar.ts';
import { idStart } from '../kernel/id.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { findUsageMeter } from '../pricing/store-usage-meters.ts';
import { isMeasured } from '../pricing/usage-meter.ts';
import { listPeriodsBegunBefore } from '../subscriptions/store-billing-periods.ts';
import { readUsageEntry } from './actions-ledger-entries.ts';
import { toUsageEvent } from './actions-record.ts';
import { hourMs, hourOf, splitAtHours, toEventQuery } from './event-query.ts';
import type { LedgerEntry } from './ledger.ts';
import { listPoolDraws } from './store-granted.ts';
import * as store from './store-read.ts';
import { chooseSeries, countEvents, findArchivedUntil } from './store-read.ts';
import * as summaries from './store-summary.ts';
import type { UsageEvent } from './usage-event.ts';
import {
  bucketsOf,
  isTime,
  maxPropertyEvents,
  maxSummaryGroups,
  maxValueLength,
  type PoolUseOfDays,
  type SummaryRequest,
  type UsageByDay,
  type UsageGroup,
  type UsageMeterSummary,
  type UsageOfDays,
} from './usage-summary.ts';

export async function getUsageEvent(work: Work, id: string): Promise<UsageEvent> {
  const row = await store.findEvent(work, id);
  if (row === null) throw new Problem('usageEventNotFound', { id });
  return toUsageEvent(work, row);
}

/** The ledger entry in which an event was booked; null if it did not count. Refuses with `usageEventNotFound`. */
export async function getEntryOfUsageEvent(work: Work, id: string): Promise<LedgerEntry | null> {
  const booking = await store.findBooking(work, id);
  if (booking === null) throw new Problem('usageEventNotFound', { id });
  return booking.counts ? readUsageEntry(work, booking) : null;
}

/** A page of events in order of creation. The filters are those of `eventFilters`. */
export async function listUsageEvents(work: Work, request: PageRequest) {
  const { rows, total, archivedUntil } = await store.pageOfEvents(work, toEventQuery(request.filters), request);
  const events = rows.map((row) => toUsageEvent(work, row));
  return { ...page(request, events, total), ...(archivedUntil !== null && { archivedUntil }) };
}

// A person reads no faster. The list has them all.
const mostTold = 50;
// An event may commit after a later one, and a reader has just read the list.
const tailOverlapMs = 10_000;

/** The stream of one meter's events in one cell, as its request opens it. */
export interface UsageTail extends Opening {
  readonly usageMeterId: string;
}

export async function beginTail(
  work: Work,
  { usageMeterId, seconds }: { readonly usageMeterId: string; readonly seconds: number },
): Promise<UsageTail> {
  if ((await findUsageMeter(work, usageMeterId)) === null)
    throw new Problem('usageMeterNotFound', { id: usageMeterId });
  return { ...openingOf(work, seconds), usageMeterId };
}

/**
 * Streams the events of a meter as they arrive, whichever process records them. Each look reads the last seconds of all cells again
 * and tells what the one before did not find.
 */
export function tailUsage(streams: EventStreams, tails: Parts<UsageTail>, readMore: ReadMore): Readable {
  const [tail] = tails;
  const { usageMeterId, openedAt } = tail;
  let lookedAt = openedAt;
  let seen: ReadonlySet<string> | null = null;
  return openLookingStream(streams, tail, async (now) => {
    const after = idStart(lookedAt - tailOverlapMs, 0);
    const read = async (work: Work) => {
      const newest = await store.newestEvents(work, { usageMeterId, after, most: mostTold });
      return { found: newest.events.map((row) => toUsageEvent(work, row)), isCut: newest.isCut };
    };
    const parts = await Promise.all(tails.map((_, cell) => readMore(read, cell)));
    const all = parts.flatMap((part) => part.found).sort((a, b) => (a.id < b.id ? 1 : -1));
    const found = all.slice(0, mostTold);
    const isCut = found.length < all.length || parts.some((part) => part.isCut);
    const usageEvents = found.filter(({ id }) => !seen?.has(id));
    const skipped = seen !== null && isCut && usageEvents.length === found.length;
    seen = new Set(found.map(({ id }) => id));
    lookedAt = now;
    if (usageEvents.length === 0) return null;
    return `event: arrived\ndata: ${JSON.stringify({ usageEvents, skipped })}\n\n`;
  });
}

type Groups = Pick<UsageMeterSummary, 'groups' | 'other'>;

/**
 * Summarizes the usage of a meter in groups. Whole hours come from roll-ups, partial hours at the ends from events.
 * Grouping by a property reads every event and refuses more than `maxPropertyEvents`.
 */
export async function summarizeUsage(
  work: Work,
  usageMeterId: string,
  ask: SummaryRequest,
): Promise<UsageMeterSummary> {
  const meter = await findUsageMeter(work, usageMeterId);
  if (meter === null) throw new Problem('usageMeterNotFound', { id: usageMeterId });
  if (isMeasured(meter))
    throw invalid(
      ['id'],
      'must be of a usage meter that adds up: the upcoming invoice tells the units of a measured one',
    );
  const { from, to, groupBy, customerId, subscriptionId } = ask;
  const filter = { usageMeterId, customerId, subscriptionId };
  const counted = { meter, filter, series: await chooseSeries(work, filter), range: { from, to } };
  const { groups, other } = await groupsOf(work, counted, ask);
  // Whole hours are read from sums, which archived events are in.
  const reading = groupBy === 'property' ? [counted.range] : splitAtHours(counted.range).edges;
  const archivedUntil = await findArchivedUntil(work, counted.series, reading);
  const all = other === null ? groups : [...groups, other];
  return {
    usageMeterId,
    from,
    to,
    groupBy,
    units: all.reduce((sum, group) => sum + group.units, 0n),
    events: all.reduce((sum, group) => sum + group.events, 0),
    groups,
    other,
    ...(archivedUntil !== null && { archivedUntil }),
  };
}

async function groupsOf(
  work: Work,
  counted: summaries.Counted,
  { groupBy, property }: SummaryRequest,
): Promise<Groups> {
  if (isTime(groupBy)) {
    const buckets = bucketsOf(counted.range, groupBy);
    const rows = await summaries.sumByTime(
      work,
      counted,
      buckets.map((bucket) => bucket.start),
    );
    const sums = new Map(rows.map((row) => [row.position, row]));
    const groups = buckets.map((bucket, index) => {
      const { units = 0n, events = 0 } = sums.get(index + 1) ?? {};
      return { ...bucket, units, events };
    });
    return { groups, other: null };
  }
  if (groupBy === 'customer') {
    const rows = await summaries.sumByCustomer(work, counted, maxSummaryGroups);
    const ids = rows.flatMap(({ key }) => key ?? []);
    const externalIds = await listExternalIds(work, ids);
    return split(rows, ({ key, units, events }) => {
      const externalId = key === null ? undefined : externalIds.get(key);
      assert(key !== null && externalId !== undefined, 'each series is of a customer');
      return { customerId: key, externalId, units, events };
    });
  }
  assert(property !== null, 'a summary by property names one');
  await refuseTooMany(work, counted);
  const requested = { property, length: maxValueLength, most: maxSummaryGroups };
  const rows = await summaries.sumByProperty(work, counted, requested);
  return split(rows, ({ key, units, events }) => ({ value: key, units, events }));
}

function split(rows: readonly summaries.RankedSums[], toGroup: (row: summaries.RankedSums) => UsageGroup): Groups {
  const last = rows.at(-1);
  const other =
    last === undefined || last.other === null ? null : { groups: last.other, units: last.units, events: last.events };
  return { groups: rows.filter((row) => row.other === null).map(toGroup), other };
}

/** Counts the events in the touched hours by their roll-ups. */
async function refuseTooMany(work: Work, { series, range }: summaries.Counted): Promise<void> {
  const hours = { from: hourOf(range.from), to: hourOf(range.to + hourMs - 1) };
  const events = await countEvents(work, series, hours);
  if (events > maxPropertyEvents)
    throw invalid(
      ['from'],
      `covers about ${events} events, more than the ${maxPropertyEvents} that can be grouped by a property: use a shorter range or a single customer`,
    );
}

// An annex of more is one that nobody reads.
const mostMeters = 12;
const mostDays = 62;
const mostMonths = 60;

/**
 * The usage behind the bills of some accounts: of the billing period that ends at `before`, or in which it lies. Measured
 * meters have no units of a day.
 */
export async function listUsageByDay(
  work: Work,
  accountIds: readonly string[],
  before: Instant,
): Promise<UsageByDay[]> {
  if (accountIds.length === 0) return [];
  const accounts = (await summaries.listMetersOf(work, accountIds)).slice(0, mostMeters);
  const subscriptionIds = [...new Set(accounts.map(({ subscriptionId }) => subscriptionId))];
  const periods = new Map(
    (await listPeriodsBegunBefore(work, subscriptionIds, before)).map((period) => [period.subscriptionId, period]),
  );
  const found: UsageByDay[] = [];
  for (const { usageMeterId, subscriptionId } of accounts) {
    const meter = await findUsageMeter(work, usageMeterId);
    const { startAt: start, endAt } = periods.get(subscriptionId) ?? {};
    if (meter === null || isMeasured(meter) || start === undefined || endAt === undefined) continue;
    const period = { start, end: Math.min(endAt, before) };
    // A pause at its first instant has left nothing of it.
    if (period.end <= start) continue;
    const unit = period.end - start > mostDays * msPerDay ? 'month' : 'day';
    const filter = { usageMeterId, subscriptionId, customerId: undefined };
    const range = { from: start, to: period.end };
    const counted = { meter, filter, series: await chooseSeries(work, filter), range };
    const starts = bucketsOf(range, unit).map((bucket) => bucket.start);
    const rows = await summaries.sumByTime(work, counted, starts);
    const groups = rows
      .map(({ position, units }) => ({ start: starts[position - 1] ?? start, units }))
      .filter(({ units }) => units > 0n)
      .toSorted((one, other) => one.start - other.start)
      .slice(0, unit === 'day' ? mostDays : mostMonths);
    if (groups.length > 0) found.push({ meterName: meter.name, period, unit, groups });
  }
  return found;
}

/** The days of the charts of a customer: the last ones in UTC, with today. */
function daysOf(now: Instant, count: number): Instant[] {
  const from = (Math.floor(now / msPerDay) + 1 - count) * msPerDay;
  return Array.from({ length: count }, (_, index) => from + index * msPerDay);
}

/** The usage of a customer on so many days. Days without usage are 0. */
export async function readUsageOfDays(work: Work, customerId: string, count: number): Promise<UsageOfDays[]> {
  const days = daysOf(work.now, count);
  const range = { from: days[0] ?? 0, to: (days.at(-1) ?? 0) + msPerDay };
  const rows = await summaries.sumDaysOfCustomer(work, customerId, range, mostMeters);
  return [...Map.groupBy(rows, ({ meterId }) => meterId).values()].map((sums) => {
    const unitsOf = new Map(sums.map(({ day, units }) => [day, units]));
    return {
      meterName: sums[0]?.name ?? '',
      days: days.map((start) => ({ start, units: unitsOf.get(start) ?? 0n })),
    };
  });
}

// Reading them takes a fraction of a second. A page is not worth more.
const mostEntriesOfCharts = 100_000;

/** The draws of a customer from each credit pool by day, with the meters that drew. Null: there are too many to read. */
export async function readPoolUseOfDays(
  work: Work,
  customerId: string,
  count: number,
): Promise<PoolUseOfDays[] | null> {
  const days = daysOf(work.now, count);
  const draws = await listPoolDraws(work, customerId, days[0] ?? 0, mostEntriesOfCharts);
  if (draws === null) return null;
  return Array.from(
    Map.groupBy(draws, ({ creditPoolId }) => creditPoolId),
    ([creditPoolId, ofPool]) => {
      const byDay = Map.groupBy(ofPool, ({ day }) => day);
      return {
        creditPoolId,
        days: days.map((start) => {
          const parts = byDay.get(start) ?? [];
          return { start, units: parts.reduce((sum, { units }) => sum + units, 0n), parts };
        }),
      };
    },
  );
}

import { z } from 'zod';
import type { Parts } from '../database/cells.ts';
import { calendarEnd, calendarStart, type Instant, msPerDay, type Period, periodAt } from '../kernel/calendar.ts';
import { Timestamp, TimestampQuery, WholeNumber } from '../kernel/json.ts';
import { textFilter } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { ArchivedUntil, hourMs, hourOf } from './event-query.ts';

const groupings = ['hour', 'day', 'month', 'customer', 'property'] as const;
type Grouping = (typeof groupings)[number];

/** The maximum number of groups in a summary: as many points as a chart can show. */
export const maxSummaryGroups = 1_000;
/** The default range: a month, which in hours stays within the maximum. */
const defaultDays = 30;
// Roll-ups contain no properties. Reading this many events takes about two seconds.
const maxPropertyDays = 31;
export const maxPropertyEvents = 1_000_000;
/** Characters by which values of a property are distinguished. */
export const maxValueLength = 255;

const sums = { units: WholeNumber, events: z.int() };

const TimeGroup = z.object({ start: Timestamp, end: Timestamp, ...sums }).meta({
  id: 'UsageTimeGroup',
  description: 'An hour, day or month in UTC, limited to the range of the request. `end` is not part of it.',
});
const CustomerGroup = z
  .object({ customerId: z.string(), externalId: z.string(), ...sums })
  .meta({ id: 'UsageCustomerGroup' });
const ValueGroup = z
  .object({
    value: z
      .string()
      .nullable()
      .meta({
        description: `The property as text, its first ${maxValueLength} characters. Null: the event has none.`,
      }),
    ...sums,
  })
  .meta({ id: 'UsageValueGroup' });
export type UsageGroup = z.infer<typeof TimeGroup> | z.infer<typeof CustomerGroup> | z.infer<typeof ValueGroup>;

/** The usage of a meter in a time range. */
export const UsageMeterSummary = z
  .object({
    usageMeterId: z.string(),
    from: Timestamp,
    to: Timestamp,
    groupBy: z.enum(groupings),
    units: WholeNumber.meta({
      description:
        'The units counted. A meter of distinct properties counts the first event with each set in a period.',
    }),
    events: z.int(),
    groups: z.array(z.union([TimeGroup, CustomerGroup, ValueGroup])).meta({
      description:
        'The hours, days or months in order and without a gap. Customers and values are sorted by units, most first.',
    }),
    other: z
      .object({ groups: z.int(), ...sums })
      .nullable()
      .meta({
        description: `The sum of the customers or values beyond the first ${maxSummaryGroups}. Null if there are none.`,
      }),
  })
  .extend({ archivedUntil: ArchivedUntil })
  .meta({ id: 'UsageMeterSummary' });
export type UsageMeterSummary = z.infer<typeof UsageMeterSummary>;

/**
 * The summary of all cells. Each customer is in one, so the first of each have the first of all. The same value of a property may
 * be in several, so those beyond the maximum of one are refused.
 */
export function joinSummaries(parts: Parts<UsageMeterSummary>): UsageMeterSummary {
  const [first, ...others] = parts;
  if (others.length === 0) return first;
  const { groupBy } = first;
  if (groupBy === 'property' && parts.some(({ other }) => other !== null)) throw new Problem('notOverCells');
  const groups = [
    ...Map.groupBy(
      parts.flatMap((part) => part.groups),
      keyOf,
    ).values(),
  ].flatMap((same) => {
    const [group] = same;
    return group === undefined ? [] : { ...group, ...sumOf(same) };
  });
  if (!isTime(groupBy)) groups.sort(byUsage);
  const beyond = isTime(groupBy) ? [] : groups.splice(maxSummaryGroups);
  const rest = [...beyond.map((group) => ({ ...group, groups: 1 })), ...parts.flatMap(({ other }) => other ?? [])];
  const ends = parts.flatMap(({ archivedUntil }) => archivedUntil ?? []);
  return {
    ...first,
    ...sumOf(parts),
    groups,
    other: rest.length === 0 ? null : { groups: rest.reduce((sum, each) => sum + each.groups, 0), ...sumOf(rest) },
    ...(ends.length > 0 && { archivedUntil: Math.max(...ends) }),
  };
}

function sumOf(parts: readonly { readonly units: bigint; readonly events: number }[]) {
  return {
    units: parts.reduce((sum, { units }) => sum + units, 0n),
    events: parts.reduce((sum, { events }) => sum + events, 0),
  };
}

function keyOf(group: UsageGroup): string | number | null {
  if ('start' in group) return group.start;
  return 'customerId' in group ? group.customerId : group.value;
}

/** The order of the database: the most usage first. */
function byUsage(a: UsageGroup, b: UsageGroup): number {
  if (a.units !== b.units) return a.units > b.units ? -1 : 1;
  const [keyOfA, keyOfB] = [keyOf(a), keyOf(b)];
  return b.events - a.events || (keyOfB === null || (keyOfA !== null && keyOfA < keyOfB) ? -1 : 1);
}

/** The usage of a meter within a period, by day or, in a long period, by month. */
export interface UsageByDay {
  readonly meterName: string;
  readonly period: Period;
  readonly unit: 'day' | 'month';
  /** Without those of no usage. */
  readonly groups: readonly { readonly start: Instant; readonly units: bigint }[];
}

/** The query of a summary. */
export const SummaryQuery = z.object({
  from: TimestampQuery.optional().meta({
    description: `The first instant of the range, by default ${defaultDays} days before \`to\`.`,
  }),
  to: TimestampQuery.optional().meta({
    description: 'The end of the range, which is not part of it. By default the end of this hour.',
  }),
  groupBy: z.enum(groupings).optional().meta({ description: '`day` by default.' }),
  property: textFilter.meta({ description: 'The name of the property, if `groupBy` is `property`.' }),
  customerId: textFilter,
  subscriptionId: textFilter,
});

/** The parameters of a summary, which runs from `from` (in it) to `to` (not in it). */
export interface SummaryRequest {
  readonly from: Instant;
  readonly to: Instant;
  readonly groupBy: Grouping;
  readonly property: string | null;
  readonly customerId: string | undefined;
  readonly subscriptionId: string | undefined;
}

/** Applies defaults. Refuses an empty or unsupported range, and one with too many groups. */
export function toSummaryRequest(query: z.output<typeof SummaryQuery>, now: Instant): SummaryRequest {
  const { groupBy = 'day', property, customerId, subscriptionId } = query;
  const to = query.to ?? hourOf(now) + hourMs;
  const from = query.from ?? to - defaultDays * msPerDay;
  if (from >= to) throw invalid([query.from === undefined ? 'to' : 'from'], '`from` must be before `to`');
  if (from < calendarStart) throw invalid(['from'], 'is before the first supported date');
  if (to >= calendarEnd) throw invalid(['to'], 'is after the last supported date');
  if (groupBy === 'property' && property === undefined)
    throw invalid(['property'], 'is required when groupBy is property');
  if (groupBy !== 'property' && property !== undefined)
    throw invalid(['property'], 'must be omitted unless groupBy is property');
  if (groupBy === 'property' && to - from > maxPropertyDays * msPerDay)
    throw invalid(['from'], `must be at most ${maxPropertyDays} days before \`to\` to group by a property`);
  const ask = { from, to, groupBy, property: property ?? null, customerId, subscriptionId };
  const count = isTime(groupBy) ? bucketCount(ask, groupBy) : 0;
  if (count > maxSummaryGroups)
    throw invalid(
      ['groupBy'],
      `results in ${count} groups, more than the maximum of ${maxSummaryGroups}: use a shorter range or a longer group`,
    );
  return ask;
}

type TimeUnit = 'hour' | 'day' | 'month';

export function isTime(groupBy: Grouping): groupBy is TimeUnit {
  return groupBy !== 'customer' && groupBy !== 'property';
}

const epoch = 0;

/** The hour, day or month in UTC that contains an instant, counted from 1970. */
function bucketAt(at: Instant, unit: TimeUnit): { readonly index: number; readonly end: Instant } {
  if (unit === 'hour') return { index: hourOf(at) / hourMs, end: hourOf(at) + hourMs };
  return periodAt(epoch, { unit, count: 1 }, at);
}

function bucketCount({ from, to }: { from: Instant; to: Instant }, unit: TimeUnit): number {
  return bucketAt(to - 1, unit).index - bucketAt(from, unit).index + 1;
}

/** The usage of a meter on days that follow each other. */
export interface UsageOfDays {
  readonly meterName: string;
  readonly days: readonly { readonly start: Instant; readonly units: bigint }[];
}

/** The draws from a credit pool on days that follow each other, in smallest units of the pool. */
export interface PoolUseOfDays {
  readonly creditPoolId: string;
  readonly days: readonly {
    readonly start: Instant;
    readonly units: bigint;
    readonly parts: readonly { readonly usageMeterId: string; readonly units: bigint }[];
  }[];
}

/** The hours, days or months that tile a range; the first and last may be cut short. */
export function bucketsOf(
  { from, to }: { from: Instant; to: Instant },
  unit: TimeUnit,
): { start: Instant; end: Instant }[] {
  const buckets: { start: Instant; end: Instant }[] = [];
  for (let start = from; start < to; ) {
    const end = Math.min(bucketAt(start, unit).end, to);
    buckets.push({ start, end });
    start = end;
  }
  return buckets;
}

import { type Instant, msPerDay, periodAt } from '../kernel/calendar.ts';
import { Timestamp } from '../kernel/json.ts';
import { customerFilters, instantFilter, instantRange, textFilter } from '../kernel/pagination.ts';

export const hourMs = 3_600_000;

/** The start of an instant's hour. */
export function hourOf(at: Instant): Instant {
  return Math.floor(at / hourMs) * hourMs;
}

/** The field of an answer that lacks archived events. */
export const ArchivedUntil = Timestamp.optional().meta({
  description:
    'Present where events up to this `usageDate` are archived and not read: the answer lacks them. Sums of whole hours have them.',
});

/** From `from` (in it) to `to` (not in it); null is an open end. */
export interface TimeRange {
  readonly from: Instant | null;
  readonly to: Instant | null;
}

/** A range split for roll-ups: whole hours, and the partial hours at its ends. */
export interface SplitRange {
  /** Null if the range contains no whole hour. */
  readonly hours: TimeRange | null;
  /** At most two, each within one hour. */
  readonly edges: readonly { readonly from: Instant; readonly to: Instant }[];
}

/** Splits a non-empty range into its whole hours and its ends, which tile it. */
export function splitAtHours({ from, to }: TimeRange): SplitRange {
  const first = from === null ? null : hourOf(from + hourMs - 1);
  const last = to === null ? null : hourOf(to);
  // Both ends in one hour: the range contains no whole hour.
  if (from !== null && to !== null && first !== null && last !== null && first > last)
    return { hours: null, edges: [{ from, to }] };
  const edges: { from: Instant; to: Instant }[] = [];
  if (from !== null && first !== null && from < first) edges.push({ from, to: first });
  if (to !== null && last !== null && last < to) edges.push({ from: last, to });
  const hasHours = first === null || last === null || first < last;
  return { hours: hasHours ? { from: first, to: last } : null, edges };
}

/** The days in UTC that a range touches, and the parts of the first and the last one that are not in it. */
export function splitAtDays({ from, to }: { readonly from: Instant; readonly to: Instant }) {
  const first = Math.floor(from / msPerDay) * msPerDay;
  const end = Math.ceil(to / msPerDay) * msPerDay;
  const outside = [
    { from: first, to: from },
    { from: to, to: end },
  ].filter((part) => part.from < part.to);
  return { days: { from: first, to: end }, outside };
}

/** Whether a range is a month in UTC. */
export function isMonth({ from, to }: { readonly from: Instant; readonly to: Instant }): boolean {
  const { start, end } = periodAt(0, { unit: 'month', count: 1 }, from);
  return start === from && end === to;
}

/** Event filters that apply to the series. */
export const seriesFilters = ['customerId', 'subscriptionId', 'usageMeterId', 'priceId', 'billingPeriodId'] as const;
export type SeriesFilter = {
  readonly [filter in (typeof seriesFilters)[number] | 'customerExternalId']?: string | undefined;
};

/** The filters of an event list. */
export const eventFilters = {
  ...customerFilters,
  subscriptionId: textFilter,
  usageMeterId: textFilter,
  priceId: textFilter,
  billingPeriodId: textFilter,
  transactionId: textFilter,
  label: textFilter.meta({ description: 'Events with this label.' }),
  usageDateFrom: instantFilter.meta({ description: 'Events used at this instant or later.' }),
  usageDateTo: instantFilter.meta({ description: 'Events used before this instant.' }),
};

/** The query of an event list. */
export interface EventQuery {
  readonly series: SeriesFilter;
  readonly transactionId: string | null;
  readonly label: string | null;
  /** Null: any time. */
  readonly range: TimeRange | null;
}

/** Builds the query from the filters of a page request. Refuses an empty range. */
export function toEventQuery(filters: Readonly<Record<string, string | boolean>>): EventQuery {
  return {
    series: Object.fromEntries(
      [...seriesFilters, 'customerExternalId'].map((filter) => [filter, textOf(filters[filter]) ?? undefined]),
    ),
    transactionId: textOf(filters.transactionId),
    label: textOf(filters.label),
    range: instantRange(filters, 'usageDateFrom', 'usageDateTo'),
  };
}

function textOf(value: string | boolean | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

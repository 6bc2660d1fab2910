import { z } from 'zod';
import { boundary, calendarEnd, calendarStart, type Instant, type Interval, periodAt } from '../kernel/calendar.ts';
import { Timestamp, TimestampQuery } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';

const reportIntervals = ['day', 'week', 'month', 'quarter', 'year'] as const;
type ReportInterval = (typeof reportIntervals)[number];

const lengths: Readonly<Record<ReportInterval, Interval>> = {
  day: { unit: 'day', count: 1 },
  week: { unit: 'week', count: 1 },
  month: { unit: 'month', count: 1 },
  quarter: { unit: 'month', count: 3 },
  year: { unit: 'year', count: 1 },
};
// The first Monday of 1970: weeks begin on Mondays, and all other intervals in the calendar.
const firstMonday = Date.UTC(1970, 0, 5);

function anchorOf(interval: ReportInterval): Instant {
  return interval === 'week' ? firstMonday : 0;
}

/** The maximum number of points in a report: a year of days, and a month. */
const maxPoints = 400;
const defaultMonths: Interval = { unit: 'month', count: 12 };
// Twelve months, and the point that they begin in.
const longestDefaultMs = 2 * 366 * 86_400_000;

/** The range of a report. */
export const rangeQuery = {
  from: TimestampQuery.optional().meta({
    description: 'The first instant of the range. By default that of the point twelve months before `to`.',
  }),
  to: TimestampQuery.optional().meta({
    description: "The end of the range, which is not part of it. By default just after the environment's time.",
  }),
  interval: z
    .enum(reportIntervals)
    .optional()
    .meta({ description: 'The length of a point, in UTC. `month` by default; weeks begin on Mondays.' }),
};

/** A range with its points: from each boundary (in it) to the next one (not in it). */
export interface ReportRange {
  readonly from: Instant;
  readonly to: Instant;
  readonly interval: ReportInterval;
  readonly boundaries: readonly Instant[];
}

export const rangeFields = {
  from: Timestamp,
  to: Timestamp,
  interval: z.enum(reportIntervals),
};

/** The fields of a point. The first and the last one may be cut short by the range. */
export const pointFields = { start: Timestamp, end: Timestamp };

interface RangeInput {
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
  readonly interval?: ReportInterval | undefined;
}

/** Applies defaults. Refuses an empty or unsupported range, and one with too many points. */
export function toReportRange({ interval = 'month', ...query }: RangeInput, now: Instant): ReportRange {
  const length = lengths[interval];
  const anchor = anchorOf(interval);
  const to = query.to ?? now + 1;
  if (to >= calendarEnd) throw invalid(['to'], 'is after the last supported date');
  const isEarly = to - calendarStart < longestDefaultMs;
  // A whole first point, which the balances of past months answer.
  const usual = () => (isEarly ? calendarStart : periodAt(anchor, length, boundary(to, defaultMonths, -1)).start);
  const from = query.from ?? usual();
  if (from >= to) throw invalid([query.from === undefined ? 'to' : 'from'], '`from` must be before `to`');
  if (from < calendarStart) throw invalid(['from'], 'is before the first supported date');
  const count = periodAt(anchor, length, to - 1).index - periodAt(anchor, length, from).index + 1;
  if (count > maxPoints)
    throw invalid(
      ['interval'],
      `results in ${count} points, more than the maximum of ${maxPoints}: use a shorter range or a longer interval`,
    );
  const boundaries = [from];
  for (let at = from; at < to; boundaries.push(at)) at = Math.min(periodAt(anchor, length, at).end, to);
  return { from, to, interval, boundaries };
}

/** Each point of the range, with its position from 0. */
export function pointsOf<Point>(
  { boundaries }: ReportRange,
  make: (period: { start: Instant; end: Instant }, index: number) => Point,
): Point[] {
  return boundaries.slice(1).map((end, index) => make({ start: boundaries[index] ?? end, end }, index));
}

/** The start of the interval of an instant, in UTC. */
export function startOf(at: Instant, interval: ReportInterval): Instant {
  return periodAt(anchorOf(interval), lengths[interval], at).start;
}

/** The first interval that begins at an instant or later. */
export function startsFrom(at: Instant, interval: ReportInterval): Instant {
  const { start, end } = periodAt(anchorOf(interval), lengths[interval], at);
  return start === at ? at : end;
}

/** The start of the month of an instant, in UTC. */
export function monthOf(at: Instant): Instant {
  return startOf(at, 'month');
}

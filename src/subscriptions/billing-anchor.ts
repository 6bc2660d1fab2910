import {
  boundary,
  calendarEnd,
  calendarStart,
  type Instant,
  type Interval,
  type Period,
  periodAt,
} from '../kernel/calendar.ts';
import { invalid } from '../kernel/problem.ts';
import type { AnchorRule, AnchorTerms, FirstPeriod } from '../organizations/setting.ts';
import type { Price } from '../pricing/price.ts';

/** The requested terms of the first period; absent or null: those of the settings. */
export interface AnchorRequest {
  readonly billingAnchor?: AnchorRule | null | undefined;
  readonly firstPeriod?: FirstPeriod | null | undefined;
}

/**
 * The terms of a subscription: the requested ones, else the settings. A day of the settings is for intervals of months
 * and years only. Refuses with `invalidRequest` a requested day for another interval, and an anchor without any.
 */
export function anchorTerms(
  { billingAnchor, firstPeriod }: AnchorRequest,
  settings: AnchorTerms,
  interval: Interval | null,
  path: readonly string[] = [],
): AnchorTerms {
  if (interval === null && (billingAnchor ?? firstPeriod)) {
    const field = billingAnchor ? 'billingAnchor' : 'firstPeriod';
    throw invalid([...path, field], 'must be omitted: the price is paid once, so it has no billing periods');
  }
  if (billingAnchor && interval !== null && !suits(billingAnchor, interval)) {
    const unit = `${interval.unit}s have no such day`;
    throw invalid([...path, 'billingAnchor', 'day'], `must be omitted for this interval: ${unit}; send calendar`);
  }
  const usual = interval !== null && suits(settings.billingAnchor, interval) ? settings.billingAnchor : 'anniversary';
  return { billingAnchor: billingAnchor ?? usual, firstPeriod: firstPeriod ?? settings.firstPeriod };
}

/** The same for the interval of a price. */
export function anchorTermsOf(
  requested: AnchorRequest,
  settings: AnchorTerms,
  { type, intervalUnit, intervalCount }: Pick<Price, 'type' | 'intervalUnit' | 'intervalCount'>,
  path: readonly string[] = [],
): AnchorTerms {
  const hasInterval = type === 'subscription' && intervalUnit !== null && intervalCount !== null;
  return anchorTerms(requested, settings, hasInterval ? { unit: intervalUnit, count: intervalCount } : null, path);
}

/** Whether periods of the interval can be counted from such an anchor. */
export function suits(rule: AnchorRule, { unit }: Interval): boolean {
  return typeof rule === 'string' || unit === 'month' || unit === 'year';
}

/**
 * The anchor of a subscription whose paid time begins at `start`; null: the start itself. Months and years are counted
 * from an anchor with the day itself, so that the last day of a short month does not replace it. Worked examples for 10
 * November: `calendar` by the month is 1 November, and by the quarter 1 October. Day 15 is 15 November. Day 31 ends
 * the period on 30 November, so the anchor is 31 October.
 */
export function anchorOf(rule: AnchorRule, interval: Interval, start: Instant): Instant | null {
  if (rule === 'anniversary' || !suits(rule, interval)) return null;
  const anchor = rule === 'calendar' ? calendarAnchor(interval, start) : dayAnchor(rule.day, interval, start);
  return Math.min(Math.max(anchor, calendarStart), calendarEnd - 1);
}

function calendarAnchor({ unit, count }: Interval, start: Instant): Instant {
  const day = Temporal.Instant.fromEpochMilliseconds(start).toZonedDateTimeISO('UTC').startOfDay();
  switch (unit) {
    case 'day':
      return day.epochMilliseconds;
    case 'week':
      return day.subtract({ days: day.dayOfWeek - 1 }).epochMilliseconds;
    case 'month':
      return day.with({ day: 1, month: 1 + count * Math.floor((day.month - 1) / count) }).epochMilliseconds;
    case 'year':
      return day.with({ day: 1, month: 1 }).epochMilliseconds;
    default:
      return unit satisfies never;
  }
}

// Within eight years each month has its longest length: 29 February comes every four years, but not in 1900. Eight intervals
// of years meet it too, if any do.
const monthsToSearch = 96;
const intervalsToSearch = 8;

function dayAnchor(day: number, { unit, count }: Interval, start: Instant): Instant {
  const month = Temporal.Instant.fromEpochMilliseconds(start).toZonedDateTimeISO('UTC').startOfDay().with({ day: 1 });
  const onDay = (first: Temporal.ZonedDateTime) => first.with({ day }, { overflow: 'constrain' });
  // The calendar has no month after its last one.
  const isOver = onDay(month).epochMilliseconds < start && month.epochMilliseconds < calendarEnd - 32 * 86_400_000;
  const next = isOver ? month.add({ months: 1 }) : month;
  const step = unit === 'year' ? 12 * count : count;
  const best = earlierMonths(next, step).find((first) => onDay(first).day === day);
  const longest = best ?? earlierMonths(next, step).reduce((a, b) => (b.daysInMonth > a.daysInMonth ? b : a));
  return onDay(longest).epochMilliseconds;
}

/** The month, and those a whole number of intervals earlier, that the calendar has. */
function earlierMonths(month: Temporal.ZonedDateTime, step: number): Temporal.ZonedDateTime[] {
  const count = 1 + Math.max(intervalsToSearch, Math.floor(monthsToSearch / step));
  const earliest = (month.year + 271_820) * 12;
  return Array.from({ length: count }, (_, index) => index * step)
    .filter((months) => months < earliest)
    .map((months) => month.subtract({ months }));
}

/** A period that may be the rest of an interval, or longer than one. */
export interface PartPeriod extends Period {
  /** The start of the interval that its price is for, which ends with it; null: the period is whole. */
  readonly wholeStartAt: Instant | null;
}

/**
 * The period that begins at `start`, with boundaries counted from the anchor. Between two of them it is the rest of an
 * interval. With `long` it lasts through the next one, which its price is then for, so its share is above 1. Worked
 * example for 10 November, by the calendar month: 21 of 30 days until 1 December, or 52 of 31 days until 1 January.
 */
export function periodFrom(start: Instant, anchor: Instant, interval: Interval, first: FirstPeriod): PartPeriod {
  const whole = periodAt(anchor, interval, start);
  if (whole.start === start) return { start, end: whole.end, wholeStartAt: null };
  const longEnd = boundary(anchor, interval, whole.index + 2);
  if (first === 'long' && longEnd > whole.end) return { start, end: longEnd, wholeStartAt: whole.end };
  return { start, end: whole.end, wholeStartAt: whole.start };
}

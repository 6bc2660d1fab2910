import assert from 'node:assert/strict';

/** A moment as whole milliseconds since 1970-01-01T00:00Z. */
export type Instant = number;

/** From `start` (in it) to `end` (not in it), so that the next period starts where this one ends. */
export type Period = { start: Instant; end: Instant };

export const intervalUnits = ['day', 'week', 'month', 'year'] as const;
export type IntervalUnit = (typeof intervalUnits)[number];

/** How often a price renews: every `count` (1 or more) days, weeks, months or years. */
export type Interval = { unit: IntervalUnit; count: number };

export const hourMs = 3_600_000;
export const msPerDay = 86_400_000;

/** The first instant of the supported range and the one past its last: the whole years that JavaScript dates hold. */
export const calendarStart: Instant = Date.UTC(-271_820, 0, 1);
export const calendarEnd: Instant = Date.UTC(275_760, 0, 1);

/**
 * The instant `days` days of 24 hours later, or earlier when negative. UTC has no daylight saving, so the time of day
 * stays. Clamped to the ends of the calendar: a trial of billions of days is legal and never ends.
 */
export function addDays(at: Instant, days: number): Instant {
  assertInCalendar(at);
  assert(Number.isInteger(days), 'days are whole');
  return within(at + days * msPerDay);
}

/**
 * The n-th boundary counted from the anchor, in UTC, with the time of day kept to the millisecond. Boundary 0 is the
 * anchor, and `n` may be negative. A day that the target month lacks becomes the last day of that month.
 *
 * Because each boundary counts from the anchor and never from the one before, it does not drift: 31 January, 28
 * February, 31 March. Clamped to the ends of the calendar, as in `addDays`.
 */
export function boundary(anchor: Instant, interval: Interval, n: number): Instant {
  assert(Number.isSafeInteger(n), 'boundaries are counted in whole numbers');
  const step = stepOf(interval);
  return step.of === 'days' ? addDays(anchor, n * step.size) : addMonths(anchor, n * step.size);
}

/**
 * The half-open period that contains `at`, and its index. Period n runs from boundary n to boundary n + 1, so the index
 * is negative before the anchor. Runs in constant time, however many periods lie between.
 */
export function periodAt(anchor: Instant, interval: Interval, at: Instant): Period & { index: number } {
  assertInCalendar(anchor);
  assertInCalendar(at);
  const step = stepOf(interval);
  const elapsed = step.of === 'days' ? (at - anchor) / msPerDay : monthsBetween(anchor, at);
  // The estimate is right or one too late: `at` may lie earlier in its month than the boundary does.
  const estimate = Math.floor(elapsed / step.size);
  const index = boundary(anchor, interval, estimate) <= at ? estimate : estimate - 1;

  const period = { index, start: boundary(anchor, interval, index), end: boundary(anchor, interval, index + 1) };
  assert(period.start <= at && at < period.end, 'the period contains the instant');
  return period;
}

/** The calendar year of an instant in a time zone. Worked example: 31 December 23:30 in UTC is next year in Vienna. */
export function yearOf(at: Instant, timeZone: string): number {
  if (timeZone === 'UTC') return inUtc(at).year;
  return Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone).year;
}

/**
 * The instant of an ISO 8601 text, for tests and examples: `2026-01-31` (midnight) or `2026-01-31T09:30:00.250`. UTC
 * unless the text ends in `Z` or an offset. Unreadable text is a bug; user input is parsed by a schema.
 */
export function instant(text: string): Instant {
  const namesOffset = /T.*(?:Z|[+-]\d\d(?::?\d\d)?)$/i.test(text);
  try {
    const moment = namesOffset
      ? Temporal.Instant.from(text)
      : Temporal.PlainDateTime.from(text).toZonedDateTime('UTC').toInstant();
    return moment.epochMilliseconds;
  } catch (cause) {
    assert(cause instanceof RangeError);
    assert.fail(`not an ISO 8601 instant: ${text}`);
  }
}

type Step = { of: 'days' | 'months'; size: number };

/** A year is twelve months: both clamp 29 February to the 28th, and to the 29th again in the next leap year. */
function stepOf({ unit, count }: Interval): Step {
  assert(Number.isSafeInteger(count) && count > 0, 'an interval has a whole, positive count');
  switch (unit) {
    case 'day':
      return { of: 'days', size: count };
    case 'week':
      return { of: 'days', size: 7 * count };
    case 'month':
      return { of: 'months', size: count };
    case 'year':
      return { of: 'months', size: 12 * count };
    default:
      assert.fail(`unknown interval unit: ${unit satisfies never}`);
  }
}

function addMonths(anchor: Instant, months: number): Instant {
  assertInCalendar(anchor);
  const start = inUtc(anchor);
  // Compares years before calling Temporal, which throws outside its range.
  const year = start.year + Math.floor((start.month - 1 + months) / 12);
  if (year >= inUtc(calendarEnd).year) return calendarEnd;
  if (year < inUtc(calendarStart).year) return calendarStart;
  return start.add({ months }, { overflow: 'constrain' }).epochMilliseconds;
}

/** Counts calendar months, whatever the days: from 31 January to 1 February is one. */
function monthsBetween(from: Instant, to: Instant): number {
  const [start, end] = [inUtc(from), inUtc(to)];
  return (end.year - start.year) * 12 + (end.month - start.month);
}

function inUtc(at: Instant): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO('UTC');
}

function within(at: Instant): Instant {
  return Math.min(Math.max(at, calendarStart), calendarEnd);
}

function assertInCalendar(at: Instant): void {
  assert(Number.isSafeInteger(at), 'an instant is a whole number of milliseconds');
  assert(calendarStart <= at && at < calendarEnd, 'the instant lies in the calendar');
}

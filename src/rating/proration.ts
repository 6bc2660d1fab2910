import assert from 'node:assert/strict';
import { calendarStart, type Instant, type Period } from '../kernel/calendar.ts';
import { divHalfAway, mulDiv, smallerOf } from '../kernel/money.ts';

/** A part of a billing period in which the plan would cost `value` minor units for a whole period. */
export type PlanSegment = Period & { value: bigint };

/**
 * The value of a period with plan changes, in minor units. Sums `value` x share of the period's time over the segments,
 * by the millisecond, and rounds once at the end, half away from zero. Every segment ends in the period. Uncovered time
 * is worth nothing, and overlapping segments add up, so one segment per item works as well as one per plan. An empty
 * period is a bug. Worked example A5: thirds at 3000, 6000 and 9000 are worth 6000. A value is a multiple of `step`.
 */
export function fairValue(segments: readonly PlanSegment[], period: Period, step = 1n): bigint {
  return divHalfAway(valueTimesTime(segments, period), millisecondsOf(period, period), step);
}

/** The sum of value x time of segments, which compares what they are worth. */
export function worthOf(segments: readonly PlanSegment[]): bigint {
  return segments.reduce((sum, { start, end, value }) => sum + value * BigInt(end - start), 0n);
}

function valueTimesTime(segments: readonly PlanSegment[], period: Period): bigint {
  return segments.reduce((sum, segment) => sum + segment.value * millisecondsOf(segment, period), 0n);
}

/** The part of a list value that was billed after discounts, in minor units. `listed` is above 0. */
interface BilledShare {
  readonly billed: bigint;
  readonly listed: bigint;
}

/** A period that is cut short, in minor units. */
interface CutPeriod extends BilledShare {
  /** Its items over the whole interval, each for its own time. */
  readonly segments: readonly PlanSegment[];
  /** The amount really paid for them, after discounts and refunds. */
  readonly paid: bigint;
  /** Value of the periods before it that their rounding left out, in trillionths of a minor unit; 0 when absent. */
  readonly roundingCarried?: bigint;
}

/** The unused paid value of a cut period in minor units, and what rounding left out, for the next period. */
export interface UnusedValue {
  readonly unused: bigint;
  readonly roundingCarried: bigint;
}

const carriedUnits = 1_000_000_000_000n;

/**
 * The unused paid value of an interval that is cut short at `at`: the amount really paid, minus the used part. After a
 * downgrade it is at most the rest at the billed price, because that is not refunded. Waived value was never paid. A
 * refund is taken out of the unused part first.
 *
 * Worked examples for 30 days at 3000, cut on day 10: 2000. With 1000 off: 1333 of the paid 2000. After a refund of
 * 2900, cut on day 1: nothing. The next period rounds what this rounding leaves out. So periods that are cut again and
 * again are all rounded once.
 */
export function unusedPaidValue(cut: CutPeriod, whole: Period, at: Instant): UnusedValue {
  const { segments, paid, billed, listed, roundingCarried = 0n } = cut;
  if (listed === 0n) return { unused: 0n, roundingCarried: 0n };
  const divisor = millisecondsOf(whole, whole) * listed;
  const worthOf = (part: Period) => valueTimesTime(clip(segments, part), whole) * billed;
  const exact = worthOf({ start: calendarStart, end: at }) * carriedUnits + roundingCarried * divisor;
  const used = atLeastZero(divHalfAway(exact, divisor * carriedUnits));
  const unused = paid - used;
  const most = falls(segments, whole) ? divHalfAway(worthOf({ start: at, end: whole.end }), divisor) : unused;
  if (unused < 0n || most < unused) return { unused: atLeastZero(smallerOf(unused, most)), roundingCarried: 0n };
  return { unused, roundingCarried: divHalfAway(exact - used * divisor * carriedUnits, divisor) };
}

/** Whether the value sinks within the period: at the end of a segment that none of the same value follows. */
function falls(segments: readonly PlanSegment[], { end: last }: Period): boolean {
  const valueAt = (at: Instant) =>
    segments.reduce((sum, { start, end, value }) => sum + (start <= at && at < end ? value : 0n), 0n);
  return segments.some(({ end }) => end < last && valueAt(end) < valueAt(end - 1));
}

function clip(segments: readonly PlanSegment[], to: Period): PlanSegment[] {
  return segments.flatMap(({ start, end, value }) => {
    const part = { start: Math.max(start, to.start), end: Math.min(end, to.end) };
    return part.start < part.end ? { ...part, value } : [];
  });
}

/**
 * The remaining charge for a period with plan changes: max(0, fair value - paid). The amount `paid` is what the
 * customer has paid or is paying for this period, less refunds; not negative. A cheaper plan gives neither refund nor
 * credit. The charge is a multiple of `step`.
 */
export function prorationCharge(segments: readonly PlanSegment[], period: Period, paid: bigint, step = 1n): bigint {
  assert(paid >= 0n, 'what was paid is not negative');
  const wholeTime = millisecondsOf(period, period);
  return atLeastZero(divHalfAway(valueTimesTime(segments, period) - paid * wholeTime, wholeTime, step));
}

/**
 * The credits (in units of the meter) that a plan change grants for the rest of the period: max(0, amount x remaining
 * time / period - alreadyGranted). The product is rounded once, half away from zero. The `amount` is the new plan's
 * grant for a whole period; `alreadyGranted` is the amount that this period has granted on the meter so far. Switching
 * plans back and forth therefore gains nothing, and a downgrade takes nothing back.
 */
export function proratedCredit(grant: {
  amount: bigint;
  remaining: Period;
  period: Period;
  alreadyGranted: bigint;
}): bigint {
  assert(grant.amount >= 0n && grant.alreadyGranted >= 0n, 'grants are not negative');
  const remainingTime = millisecondsOf(grant.remaining, grant.period);
  const entitled = mulDiv(grant.amount, remainingTime, millisecondsOf(grant.period, grant.period));
  return atLeastZero(entitled - grant.alreadyGranted);
}

function millisecondsOf(part: Period, whole: Period): bigint {
  assert(whole.start < whole.end, 'the period runs forward');
  // A long first period begins before the interval that its price is for.
  assert(part.start <= part.end && part.end <= whole.end, 'the part ends in the period');
  return BigInt(part.end - part.start);
}

function atLeastZero(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

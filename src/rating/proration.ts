import assert from 'node:assert/strict';
import type { Instant, Period } from '../kernel/calendar.ts';
import { divHalfAway, mulDiv, smallerOf } from '../kernel/money.ts';

/** A part of a billing period in which the plan would cost `value` minor units for a whole period. */
export type PlanSegment = Period & { value: bigint };

/**
 * The value of a period with plan changes, in minor units. Sums `value` x share of the period's time over the segments,
 * by the millisecond, and rounds once at the end, half away from zero. Every segment lies in the period. Uncovered time
 * is worth nothing, and overlapping segments add up, so one segment per item works as well as one per plan. An empty
 * period is a bug. Worked example A5: thirds at 3000, 6000 and 9000 are worth 6000. A value is a multiple of `step`.
 */
export function fairValue(segments: readonly PlanSegment[], period: Period, step = 1n): bigint {
  return divHalfAway(valueTimesTime(segments, period), millisecondsOf(period, period), step);
}

function valueTimesTime(segments: readonly PlanSegment[], period: Period): bigint {
  return segments.reduce((sum, segment) => sum + segment.value * millisecondsOf(segment, period), 0n);
}

/** The part of a list value that was billed after discounts, in minor units. `listed` is above 0. */
interface BilledShare {
  readonly billed: bigint;
  readonly listed: bigint;
}

/** The fair value of a period in which `listed` was billed as `billed`, rounded once: half price is half the value. */
function billedValue(segments: readonly PlanSegment[], period: Period, { billed, listed }: BilledShare): bigint {
  return divHalfAway(valueTimesTime(segments, period) * billed, millisecondsOf(period, period) * listed);
}

/** A period that is cut short, in minor units. */
interface CutPeriod extends BilledShare {
  /** Its items over the whole interval, each for its own time. */
  readonly segments: readonly PlanSegment[];
  /** The amount really paid for them, after discounts and refunds. */
  readonly paid: bigint;
}

/**
 * The unused paid value of an interval that is cut short at `at`: the amount really paid, minus the used part. It is at
 * most the rest at the billed price, because a downgrade is not refunded. Waived value was never paid. A refund is
 * taken out of the unused part first.
 *
 * Worked examples for 30 days at 3000, cut on day 10: 2000. With 1000 off: 1333 of the paid 2000. After a refund of
 * 2900, cut on day 1: nothing.
 */
export function unusedPaidValue({ segments, paid, ...share }: CutPeriod, whole: Period, at: Instant): bigint {
  if (share.listed === 0n) return 0n;
  const used = billedValue(clip(segments, { start: whole.start, end: at }), whole, share);
  const rest = billedValue(clip(segments, { start: at, end: whole.end }), whole, share);
  return atLeastZero(smallerOf(paid - used, rest));
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
  assert(whole.start <= part.start && part.start <= part.end && part.end <= whole.end, 'the part lies in the period');
  return BigInt(part.end - part.start);
}

function atLeastZero(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

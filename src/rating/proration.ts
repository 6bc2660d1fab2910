import assert from 'node:assert/strict';
import type { Period } from '../kernel/calendar.ts';
import { divHalfAway, mulDiv } from '../kernel/money.ts';

/** A stretch of a billing period in which the plan, for a whole period, would have cost `value` minor units. */
export type PlanSegment = Period & { value: bigint };

/**
 * What a period with changes of plan is worth, in minor units: the sum over its segments of value x share of the
 * period's time, by the millisecond, rounded once at the end, half away from zero. Every segment lies in the period.
 * Time that no segment covers is worth nothing, and segments that overlap add up, so one per item works as well as
 * one per plan. An empty period is a bug. Worked example A5: thirds at 3000, 6000 and 9000 are worth 6000.
 */
export function fairValue(segments: readonly PlanSegment[], period: Period): bigint {
  const valueTimesTime = segments.reduce((sum, segment) => sum + segment.value * millisecondsOf(segment, period), 0n);
  return divHalfAway(valueTimesTime, millisecondsOf(period, period));
}

/**
 * What remains to be charged for a period with changes of plan: max(0, fair value - paid). `paid` is what the customer
 * has paid or is paying for this period, less refunds; not negative. A cheaper plan gives neither refund nor credit.
 */
export function prorationCharge(segments: readonly PlanSegment[], period: Period, paid: bigint): bigint {
  assert(paid >= 0n, 'what was paid is not negative');
  return atLeastZero(fairValue(segments, period) - paid);
}

/**
 * How many credits (in units of the meter) a change of plan grants for the rest of the period:
 * max(0, amount x remaining time / period - alreadyGranted), the product rounded once, half away from zero. `amount` is
 * the new plan's grant for a whole period; `alreadyGranted` is what this period has granted on the meter so far, so
 * that toggling between plans gains nothing and a downgrade takes nothing back.
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

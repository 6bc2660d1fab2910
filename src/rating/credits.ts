import assert from 'node:assert/strict';
import type { Instant, Period } from '../kernel/calendar.ts';
import { mulDiv, smallerOf } from '../kernel/money.ts';

/**
 * A credit with `remaining` unused units of its meter, valid until `expiresAt` or forever when that is null. Credits
 * with a lower `priority` are used first, and those that were granted before those that were paid for.
 */
export type UsableCredit = {
  id: string;
  remaining: bigint;
  priority: number;
  expiresAt: Instant | null;
  isPaid: boolean;
};

/** The units (1 or more) of one credit that cover usage. */
type CreditApplication = { id: string; amount: bigint };

/**
 * Covers `units` of usage with credits, using each up before the next. Credits are used by lowest priority, then
 * earliest expiry, then those that never expire. Granted ones come before paid ones, and ties keep the given order, oldest first. Returns the applications in
 * that order and the units that no credit covers. The caller passes usable credits only: expiry is not checked here. No
 * amount is negative. Worked example L1.
 */
export function applyCredits(
  credits: readonly UsableCredit[],
  units: bigint,
): { applications: CreditApplication[]; uncovered: bigint } {
  assert(units >= 0n, 'usage is not negative');
  const applications: CreditApplication[] = [];
  let uncovered = units;
  for (const { id, remaining } of inOrderOfUse(credits)) {
    assert(remaining >= 0n, 'a credit does not go below zero');
    const amount = smallerOf(remaining, uncovered);
    if (amount > 0n) applications.push({ id, amount });
    uncovered -= amount;
  }
  return { applications, uncovered };
}

/** Sorts credits in the order of use. */
export function inOrderOfUse<Credit extends Pick<UsableCredit, 'priority' | 'expiresAt' | 'isPaid'>>(
  credits: readonly Credit[],
): Credit[] {
  return [...credits].sort(
    (a, b) => a.priority - b.priority || compareExpiry(a.expiresAt, b.expiresAt) || Number(a.isPaid) - Number(b.isPaid),
  );
}

function compareExpiry(a: Instant | null, b: Instant | null): number {
  if (a === b) return 0;
  if (a === null) return 1;
  return b === null || a < b ? -1 : 1;
}

/** Bought credits whose payment is refunded, in units. */
interface RefundedCredits {
  readonly bought: bigint;
  /** Taken back before, by hand or by an earlier refund. */
  readonly takenBack: bigint;
  /** Unused, and not set aside by a hold. */
  readonly free: bigint;
}

/**
 * The units to take back for a refund: the refunded share of the bought ones, less those taken back before; at most the
 * free ones. The share is rounded half away from zero. `refunded` is the sum of all refunds, so parts add up to the
 * whole. Amounts in minor units; `price` is positive. Worked example: of 500 units for 1000, a refund of 333 takes back
 * 167, and one of the other 667 takes back 333. With 400 used, a refund of 500 takes back 100 of its 250.
 */
export function creditsToTakeBack(
  { bought, takenBack, free }: RefundedCredits,
  { refunded, price }: { readonly refunded: bigint; readonly price: bigint },
): bigint {
  const owed = mulDiv(bought, smallerOf(refunded, price), price) - takenBack;
  const amount = smallerOf(owed, free);
  return amount > 0n ? amount : 0n;
}

/**
 * The units to grant where the customer has had `taken` units of the same offers before: each amount less what is left
 * of these, the first first. No amount is negative. Worked example: 15 of 20 were used, so a return gets 5.
 */
export function lessTaken(amounts: readonly bigint[], taken: bigint): bigint[] {
  let left = taken;
  return amounts.map((amount) => {
    const off = smallerOf(amount, left);
    left -= off;
    return amount - off;
  });
}

/** A time within an interval, for which the credits of the interval are granted in part. */
export interface IntervalSpan extends Period {
  readonly whole: Period;
}

/**
 * The share of the credits of an interval. Each part is what is due by its end less what was due by its start, each rounded
 * once, so the parts of an interval add up to it. Worked example: a week of 100 that a month's end cuts after 3 days has
 * 43 and 57.
 */
export function shareOfInterval(amount: bigint, { start, end, whole }: IntervalSpan): bigint {
  const dueBy = (at: Instant) => mulDiv(amount, BigInt(at - whole.start), BigInt(whole.end - whole.start));
  return dueBy(end) - dueBy(start);
}

/**
 * A credit of a plan with `offered` units for the time from `startAt` until it expires. A pause took `pausedBack` units
 * back. It left `pausedOwed` owing, because they were used.
 */
interface PlanCreditTime {
  readonly offered: bigint;
  readonly pausedBack: bigint;
  readonly pausedOwed: bigint;
  readonly startAt: Instant;
  readonly expiresAt: Instant;
}

/** The share of a credit for the time from `at` on, rounded once. The last 20 of 30 days have 333 of 500. */
export function shareOfRest(
  { offered, startAt, expiresAt }: Omit<PlanCreditTime, 'pausedBack' | 'pausedOwed'>,
  at: Instant,
): bigint {
  return mulDiv(offered, BigInt(expiresAt - Math.max(at, startAt)), BigInt(expiresAt - startAt));
}

/**
 * The units that were used ahead of time, where `missing` ones cannot be taken back. Credits that the seller took back
 * by hand were not used. If 180 are missing and 260 were taken back by hand, none was used ahead.
 */
export function lessTakenByHand(missing: bigint, takenByHand: bigint): bigint {
  return missing > takenByHand ? missing - takenByHand : 0n;
}

/**
 * The units that are granted again when a pause ends: those that it took or left owing, less the share of the paused
 * time, rounded up. The owed units are withheld from them afterwards. After 10 of 20 paused days, 166 of 333 come back. If
 * 33 of the 333 were used, 300 were taken: 166 come, and 33 of these are withheld.
 */
export function givenBackOnResume(credit: PlanCreditTime, { start, end }: Period): bigint {
  const { offered, startAt, expiresAt } = credit;
  const span = BigInt(expiresAt - startAt);
  const paused = (offered * BigInt(end - start) + span - 1n) / span;
  const ended = credit.pausedBack + credit.pausedOwed;
  return ended > paused ? ended - paused : 0n;
}

/**
 * The units of new credits that are withheld, because `owed` units were used ahead of a pause: the first credit first.
 * With 483 owed, 250 of 250 are withheld, then 233 of 500.
 */
export function withheldOf(issued: readonly bigint[], owed: bigint): bigint[] {
  const granted = lessTaken(issued, owed > 0n ? owed : 0n);
  return issued.map((amount, index) => amount - (granted[index] ?? amount));
}

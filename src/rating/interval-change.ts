import type { Instant, Period } from '../kernel/calendar.ts';
import { mulDiv, smallerOf } from '../kernel/money.ts';
import { lessTakenByHand } from './credits.ts';

/** The units of a meter that a plan grants for the rest of its period. */
interface Entitled {
  /** Until the end of the interval of its credits, or of the period where it has none. */
  readonly soon: bigint;
  /** In the intervals that come after it. */
  readonly later: bigint;
}

/** A credit that was granted for a time of the period, by this plan or by one before it. */
interface GrantedCredit {
  readonly offered: bigint;
  readonly startAt: Instant;
  readonly expiresAt: Instant;
  /** The part that can still be used, and the part that the seller took back by hand. */
  readonly rest: bigint;
  readonly takenByHand: bigint;
}

/** The credits of the time that is given up. `takenBack` are unused. `usedAhead` have been used already. */
export interface GivenUpCredits {
  readonly takenBack: bigint;
  readonly usedAhead: bigint;
  /** The units that the whole rest of the period is worth: also those that later intervals would have granted. */
  readonly inRest: bigint;
}

/**
 * Decides the credits of the rest of a period that is left at `at`. Its paid value is taken off the next plan, so its
 * credits are given up with it: unused ones are taken back. Worked example: of 1000 a month, 900 are used half-way. The
 * rest of the month is worth 500, of which 100 are unused: they are taken back, and 400 were used ahead of time.
 * Credits of a plan before count for the time that they last, so going by way of another plan gains nothing. Units that
 * the seller took back by hand were not used: they reduce `usedAhead`. The interval of the plan's credits ends at `soonUntil`.
 */
export function creditsGivenUp(
  { soon, later }: Entitled,
  credits: readonly GrantedCredit[],
  { at, soonUntil }: { readonly at: Instant; readonly soonUntil: Instant },
): GivenUpCredits {
  const running = credits.filter(({ expiresAt }) => expiresAt > at);
  const granted = sumOf(running, (credit) => partOf(credit, { start: at, end: soonUntil }));
  const grantedLater = sumOf(running, (credit) => partOf(credit, { start: at, end: credit.expiresAt })) - granted;
  const ahead = smallerOf(soon, granted);
  const all = ahead + smallerOf(later, grantedLater);
  const takenBack = smallerOf(
    all,
    sumOf(running, ({ rest }) => rest),
  );
  const byHand = sumOf(running, ({ takenByHand }) => takenByHand);
  return { takenBack, usedAhead: lessTakenByHand(all - takenBack, byHand), inRest: ahead + later };
}

/** The units of a credit that are for a time. */
function partOf({ offered, startAt, expiresAt }: GrantedCredit, { start, end }: Period): bigint {
  const length = Math.min(expiresAt, end) - Math.max(startAt, start);
  return length <= 0 ? 0n : mulDiv(offered, BigInt(length), BigInt(expiresAt - startAt));
}

function sumOf<Each>(all: readonly Each[], amountOf: (each: Each) => bigint): bigint {
  return all.reduce((sum, each) => sum + amountOf(each), 0n);
}

/** Credits of a meter that were used ahead of time, and the amount that the next period grants on it. */
interface Repayment extends Pick<GivenUpCredits, 'inRest' | 'usedAhead'> {
  readonly nextGrant: bigint;
}

/**
 * The unused value that a change of interval takes off, in minor units. Credits that were used ahead of time are taken
 * back from the next grant. If that is too small, the value falls in proportion; the strictest meter decides. So going to
 * and fro between intervals gives no credits for nothing. Worked example: 400 of 500 were used ahead, and the next grant
 * is 0: of 15.00 only 3.00 are taken off. If 1000 units of the rest were still to come, 11.00 are.
 */
export function unusedAfterCredits(unused: bigint, meters: readonly Repayment[]): bigint {
  return meters.reduce((least, { inRest, usedAhead, nextGrant }) => {
    const missing = usedAhead - smallerOf(usedAhead, nextGrant);
    return missing === 0n ? least : smallerOf(least, mulDiv(unused, inRest - missing, inRest));
  }, unused);
}

/** Paused time of an account: its kept value in minor units, and its units. */
export interface OwedTime {
  readonly kept: bigint;
  /** All units, and those that were used ahead. */
  readonly paused: bigint;
  readonly used: bigint;
  /** Owed units. Negative where its credits paid back what other times owe. */
  readonly owed: bigint;
}

/** The units that an account owes in all. */
export function unitsOwed(times: readonly OwedTime[]): bigint {
  const owed = times.reduce((sum, time) => sum + time.owed, 0n);
  return owed > 0n ? owed : 0n;
}

/**
 * The kept value of the units that an account owes. Worked example: 20.00 are kept for a rest of 240 units. If all of
 * them were used, they are worth 20.00. Once 120 of them are paid back, the others are worth 10.00.
 */
export function valueOfOwed(times: readonly OwedTime[]): bigint {
  const used = times.reduce((sum, time) => sum + time.used, 0n);
  if (used === 0n) return 0n;
  const ahead = times.filter((time) => time.used > 0n);
  const value = ahead.reduce((sum, time) => sum + mulDiv(time.kept, time.used, time.paused), 0n);
  return mulDiv(value, smallerOf(unitsOwed(times), used), used);
}

/** The price of an interval of some months. */
interface IntervalAmount {
  readonly amount: bigint;
  readonly months: bigint;
}

/**
 * The whole percent that the longer interval saves for the same time, rounded down, so that nobody is promised more. Null:
 * it saves less than one percent.
 */
export function savedPercent(short: IntervalAmount, long: IntervalAmount): bigint | null {
  const before = short.amount * long.months;
  const after = long.amount * short.months;
  const percent = before > 0n && after < before ? ((before - after) * 100n) / before : 0n;
  return percent > 0n ? percent : null;
}

import type { Instant, Period } from '../kernel/calendar.ts';
import { mulDiv, smallerOf } from '../kernel/money.ts';
import { lessTakenByHand } from './credits.ts';

/** The unused credits of a plan on a meter, when its period is left early. In units of the meter. */
interface LeftCredits {
  /** The amount that the plan grants for a whole interval. */
  readonly entitled: bigint;
  /** The amount that it has granted for this period. */
  readonly granted: bigint;
  /** The part of that which can still be used, and the part that the seller took back by hand. */
  readonly rest: bigint;
  readonly takenByHand: bigint;
}

/** The credits of the time that is given up. `takenBack` are unused. `usedAhead` have been used already. */
export interface GivenUpCredits {
  readonly ahead: bigint;
  readonly takenBack: bigint;
  readonly usedAhead: bigint;
  /** The units that the whole rest of the period is worth: also those that later intervals would have granted. */
  readonly inRest: bigint;
}

/**
 * Decides the credits of the rest of a period that is left at `at`. Its paid value is taken off the next plan, so its
 * credits are given up with it: unused ones are taken back. Worked example: of 1000 a month, 900 are used half-way. The
 * rest of the month is worth 500, of which 100 are unused: they are taken back, and 400 were used ahead of time.
 * Units that the seller took back by hand were not used: they reduce `usedAhead`. `later` units would have come after these.
 */
export function creditsGivenUp(
  { entitled, granted, rest, takenByHand }: LeftCredits,
  whole: Period,
  at: Instant,
  later = 0n,
): GivenUpCredits {
  const share = mulDiv(entitled, BigInt(whole.end - at), BigInt(whole.end - whole.start));
  const ahead = smallerOf(share, granted);
  const takenBack = smallerOf(ahead, rest);
  return { ahead, takenBack, usedAhead: lessTakenByHand(ahead - takenBack, takenByHand), inRest: ahead + later };
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

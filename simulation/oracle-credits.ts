import { smallestPerUnit } from './catalogue-pools.ts';
import { meterSlug } from './catalogue-usage.ts';
import { boundary, intervalAt, least, most, total } from './oracle-arithmetic.ts';
import type { Books, Credit, Subscription } from './oracle-records.ts';

/** Credits: how they are granted, in which order they are used, and how they end. */

export const usualPriority = 100;

type Account = Pick<Subscription, 'credits'> & Partial<Pick<Subscription, 'pool'>>;
type NewCredit = Pick<Credit, 'issued' | 'expiresAt' | 'kind'> & Partial<Credit>;

/** Grants a credit; an amount of 0 grants nothing. */
export function give({ credits, pool = null }: Account, credit: NewCredit): void {
  if (credit.issued === 0n) return;
  const unsaid = {
    plan: null,
    priority: usualPriority,
    transactionId: null,
    invoice: null,
    from: null,
    periodStart: null,
    resumedFrom: null,
  };
  const untouched = {
    left: credit.issued,
    applied: 0n,
    takenBack: 0n,
    takenByHand: 0n,
    pausedBack: 0n,
    pausedOwed: 0n,
    pausedByHand: 0n,
    withheld: 0n,
    isResumed: false,
  };
  const given: Credit = { ...unsaid, ...untouched, ...credit };
  if (given.kind === 'recurring') withhold(given, owedOf({ credits }));
  credits.push(given);
  pool?.credits.push(given);
}

/** Units of its meter, or of its pool in smallest units. */
export function unitsIn({ pool }: Partial<Pick<Subscription, 'pool'>>, units: number): bigint {
  return BigInt(units) * (pool == null ? 1n : smallestPerUnit);
}

/** The units of paused time that were used ahead and that no credit has paid back. Held units may expire unused. */
export function owedOf({ credits }: Account): bigint {
  return total(credits, ({ issued, applied, takenBack, left, pausedOwed, withheld }) => {
    return most(0n, pausedOwed - (issued - applied - takenBack - left)) - withheld;
  });
}

/** Takes owed units back from a credit, as far as they are left: returns how many. */
export function withhold(credit: Credit, owed: bigint): bigint {
  const amount = most(0n, least(owed, credit.left));
  credit.left -= amount;
  credit.takenBack += amount;
  credit.withheld += amount;
  return amount;
}

export function hasEnded({ expiresAt }: Credit, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

/** Unexpired credits with a remainder. */
export function liveCredits({ now }: Books, { credits }: Account): Credit[] {
  return credits.filter((credit) => credit.left > 0n && !hasEnded(credit, now));
}

/** The lowest priority number first, then the earliest expiry, then those without one, then what is not bought, then the oldest. */
export function inOrderOfUse(credits: readonly Credit[]): Credit[] {
  const endOf = ({ expiresAt }: Credit) => expiresAt ?? Number.MAX_SAFE_INTEGER;
  const isBought = ({ kind }: Credit) => Number(kind === 'bought');
  return [...credits].sort(
    (one, other) => one.priority - other.priority || endOf(one) - endOf(other) || isBought(one) - isBought(other),
  );
}

/** Covers a use with credits: returns the uncovered rest. */
export function draw(books: Books, account: Account, amount: bigint): bigint {
  let left = amount;
  for (const credit of inOrderOfUse(liveCredits(books, account))) {
    const taken = least(credit.left, left);
    credit.left -= taken;
    credit.applied += taken;
    left -= taken;
  }
  return left;
}

/**
 * Expires credits when the subscription continues into a new period. Each plan's credits roll over up to the maximum of
 * usable rollovers. A credit rolls over once, until the last of its periods ends.
 */
export function endCredits(subscription: Subscription, at: number): void {
  const { credits, plan, anchor, trialEnd } = subscription;
  const ending = credits.filter((credit) => credit.left > 0n && hasEnded(credit, at));
  const rests = ending.map((credit) => ({ credit, rest: credit.left }));
  for (const { credit } of rests) credit.left = 0n;
  for (const { credit, rest } of rests) {
    const { kind, plan: origin, priority } = credit;
    if (kind !== 'recurring' || origin?.rollover === undefined) continue;
    const over = credits.filter((each) => each.kind === 'rollover' && each.plan === origin && !hasEnded(each, at));
    const room = unitsIn(subscription, origin.rollover.maximum) - total(over, ({ left }) => left);
    const from = Math.max(anchor, trialEnd ?? anchor);
    const counted = origin.grantInterval ?? plan;
    const expiresAt = boundary(from, counted, intervalAt(from, counted, at).index + origin.rollover.periods);
    give(subscription, {
      issued: most(0n, least(rest, room)),
      expiresAt,
      kind: 'rollover',
      plan: origin,
      priority,
    });
  }
}

/** In the form of reality's line. Null: on the customer. */
export function creditLine(subscription: Subscription | null, credit: Credit, now: number, meter = meterSlug) {
  const { issued, kind, applied, takenBack, left, priority, expiresAt } = credit;
  const of = subscription === null ? null : subscription.customer.subscriptions.indexOf(subscription);
  const rest = hasEnded(credit, now) ? 0n : left;
  const amounts = { applied: Number(applied), takenBack: Number(takenBack), left: Number(rest) };
  return { credit: Number(issued), of, meter, kind, ...amounts, priority, expiresAt };
}

import { meterSlug } from './catalogue-usage.ts';
import { boundary, intervalAt } from './oracle-arithmetic.ts';
import type { Books, Credit, Subscription } from './oracle-records.ts';

/** Credits: how they are granted, in which order they are used, and how they end. */

export const usualPriority = 100;

type Account = Pick<Subscription, 'credits'>;
type NewCredit = Pick<Credit, 'issued' | 'expiresAt' | 'kind'> & Partial<Credit>;

/** Grants a credit; an amount of 0 grants nothing. */
export function give({ credits }: Account, credit: NewCredit): void {
  if (credit.issued === 0) return;
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
    applied: 0,
    takenBack: 0,
    takenByHand: 0,
    pausedBack: 0,
    pausedOwed: 0,
    pausedByHand: 0,
    withheld: 0,
    isResumed: false,
  };
  const given: Credit = { ...unsaid, ...untouched, ...credit };
  if (given.kind === 'recurring') withhold(given, owedOf({ credits }));
  credits.push(given);
}

/** The units of paused time that were used ahead and that no credit has paid back. Held units may expire unused. */
export function owedOf({ credits }: Account): number {
  return credits.reduce((sum, { issued, applied, takenBack, left, pausedOwed, withheld }) => {
    return sum + Math.max(0, pausedOwed - (issued - applied - takenBack - left)) - withheld;
  }, 0);
}

/** Takes owed units back from a credit, as far as they are left: returns how many. */
export function withhold(credit: Credit, owed: number): number {
  const amount = Math.max(0, Math.min(owed, credit.left));
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
  return credits.filter((credit) => credit.left > 0 && !hasEnded(credit, now));
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
export function draw(books: Books, account: Account, amount: number): number {
  let left = amount;
  for (const credit of inOrderOfUse(liveCredits(books, account))) {
    const taken = Math.min(credit.left, left);
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
  const ending = credits.filter((credit) => credit.left > 0 && hasEnded(credit, at));
  const rests = ending.map((credit) => ({ credit, rest: credit.left }));
  for (const { credit } of rests) credit.left = 0;
  for (const { credit, rest } of rests) {
    const { kind, plan: origin, priority } = credit;
    if (kind !== 'recurring' || origin?.rollover === undefined) continue;
    const over = credits.filter((each) => each.kind === 'rollover' && each.plan === origin && !hasEnded(each, at));
    const room = origin.rollover.maximum - over.reduce((sum, { left }) => sum + left, 0);
    const from = Math.max(anchor, trialEnd ?? anchor);
    const counted = origin.grantInterval ?? plan;
    const expiresAt = boundary(from, counted, intervalAt(from, counted, at).index + origin.rollover.periods);
    give(subscription, {
      issued: Math.max(0, Math.min(rest, room)),
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
  const rest = hasEnded(credit, now) ? 0 : left;
  return { credit: issued, of, meter, kind, applied, takenBack, left: rest, priority, expiresAt };
}

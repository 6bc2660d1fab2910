import { meterSlug } from './catalogue.ts';
import { boundary, intervalAt } from './oracle-arithmetic.ts';
import type { Books, Credit, Subscription } from './oracle-records.ts';

/** Credits: how they come, which of them pays first, and how they go. */

export const usualPriority = 100;

type Account = Pick<Subscription, 'credits'>;
type NewCredit = Pick<Credit, 'issued' | 'expiresAt' | 'kind'> & Partial<Credit>;

/** Grants so many units; of none, nothing. */
export function give({ credits }: Account, credit: NewCredit): void {
  if (credit.issued === 0) return;
  const unsaid = { plan: null, priority: usualPriority, transactionId: null };
  credits.push({ ...unsaid, left: credit.issued, applied: 0, takenBack: 0, ...credit });
}

export function hasEnded({ expiresAt }: Credit, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

/** Those that something is left of, and that have not ended. */
export function liveCredits({ now }: Books, { credits }: Account): Credit[] {
  return credits.filter((credit) => credit.left > 0 && !hasEnded(credit, now));
}

/** The lowest priority number first, then what ends first, then what never ends, and of equals the oldest. */
export function inOrderOfUse(credits: readonly Credit[]): Credit[] {
  const endOf = ({ expiresAt }: Credit) => expiresAt ?? Number.MAX_SAFE_INTEGER;
  return [...credits].sort((one, other) => one.priority - other.priority || endOf(one) - endOf(other));
}

/** What covers a use: answers what is left of it without credit. */
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
 * Ends what has ended where the subscription goes on into a new period. Of each plan's credits as much goes over as keeps
 * what went over, and can still be used, at its maximum: once, until the last of so many periods ends.
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
    const expiresAt = boundary(from, plan, intervalAt(from, plan, at).index + origin.rollover.periods);
    give(subscription, {
      issued: Math.max(0, Math.min(rest, room)),
      expiresAt,
      kind: 'rollover',
      plan: origin,
      priority,
    });
  }
}

/** As reality tells it. */
export function creditLine(subscription: Subscription, credit: Credit, now: number, meter = meterSlug) {
  const { issued, kind, applied, takenBack, left, priority, expiresAt } = credit;
  const of = subscription.customer.subscriptions.indexOf(subscription);
  const rest = hasEnded(credit, now) ? 0 : left;
  return { credit: issued, of, meter, kind, applied, takenBack, left: rest, priority, expiresAt };
}

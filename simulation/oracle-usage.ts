import type { Books, Credit, Period, Subscription } from './oracle-records.ts';

/** Credits and what uses them up. */

/** Grants what begins with a period: what comes once with the first, and the share of the rest. */
export function grantPeriod(subscription: Subscription, period: Period, isFirst: boolean): void {
  const { plan, quantity, credits } = subscription;
  const once = plan.once * quantity;
  if (isFirst && once > 0) credits.push({ issued: once, left: once, expiresAt: null, kind: 'once' });
  const recurring = partOf(plan.recurring * quantity, period.start, period);
  if (recurring > 0) credits.push({ issued: recurring, left: recurring, expiresAt: period.end, kind: 'recurring' });
}

/** Grants what a change in the middle of a period brings for its rest, less what came for it already. */
export function grantChange(subscription: Subscription, now: number): void {
  const { plan, quantity, credits, period } = subscription;
  if (period === null) return;
  const due = partOf(plan.recurring * quantity, now, period);
  const had = credits
    .filter(({ kind, expiresAt }) => kind === 'recurring' && expiresAt === period.end)
    .reduce((sum, { issued }) => sum + issued, 0);
  const more = due - had;
  if (more > 0) credits.push({ issued: more, left: more, expiresAt: period.end, kind: 'recurring' });
}

function partOf(amount: number, from: number, { wholeStart, end }: Period): number {
  const [part, whole] = [BigInt(end - from), BigInt(end - wholeStart)];
  return Number((BigInt(amount) * part * 2n + whole) / (whole * 2n));
}

/** A use: the credit that ends first pays for it, those that never end last, and of equals the oldest. */
export function use(books: Books, subscription: Subscription, transactionId: string, amount: number): void {
  if (subscription.events.has(transactionId)) return;
  subscription.events.set(transactionId, amount);
  subscription.used += amount;
  let left = amount;
  const endOf = ({ expiresAt }: Credit) => expiresAt ?? Number.POSITIVE_INFINITY;
  for (const credit of liveCredits(books, subscription).sort((one, other) => compare(endOf(one), endOf(other)))) {
    const taken = Math.min(credit.left, left);
    credit.left -= taken;
    left -= taken;
  }
  subscription.covered += amount - left;
  subscription.unbilled += left;
}

function compare(one: number, other: number): number {
  return one === other ? 0 : one - other;
}

function liveCredits({ now }: Books, { credits }: Subscription): Credit[] {
  return credits.filter(({ expiresAt, left }) => left > 0 && (expiresAt === null || expiresAt > now));
}

/** What may still be used; below zero it is use without credit that nobody has paid for. */
export function balance(books: Books, subscription: Subscription): number {
  const left = liveCredits(books, subscription).reduce((sum, credit) => sum + credit.left, 0);
  return left + subscription.covered + subscription.settled - subscription.used;
}

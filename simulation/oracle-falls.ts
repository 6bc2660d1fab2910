import { meterSlug } from './catalogue-usage.ts';
import { total } from './oracle-arithmetic.ts';
import { endCredits, hasEnded } from './oracle-credits.ts';
import { balance } from './oracle-pools.ts';
import type { Books, Credit, Subscription } from './oracle-records.ts';
import { noteFall } from './oracle-top-ups.ts';

/** The falls of the balance of a usage meter, which an automatic top-up follows. */

/** The end of what was bought or granted by hand is booked when it comes, and that of a plan's credits with a period or an interval. */
function endsByItself({ kind }: Credit): boolean {
  return kind === 'bought' || kind === 'by_hand';
}

/** Whether credits of a subscription have ended by themselves since the last look. */
export function hasNewEnds({ now }: Books, { credits, customer }: Subscription): boolean {
  const { endsSeen } = customer.refills;
  return credits.some(
    (credit) =>
      credit.left > 0n && endsByItself(credit) && hasEnded(credit, now) && (credit.expiresAt ?? now) > endsSeen,
  );
}

/** The balance with the credits whose end is not booked yet: their fall comes with what is booked next. */
export function bookedBalance(books: Books, subscription: Subscription): bigint {
  const { endsSeen } = subscription.customer.refills;
  const unbooked = subscription.credits.filter(
    (credit) => hasEnded(credit, books.now) && !(endsByItself(credit) && (credit.expiresAt ?? 0) <= endsSeen),
  );
  return BigInt(balance(books, subscription)) + total(unbooked, ({ left }) => left);
}

/** Notes that the balance of the usage meter fell below a line. Credits that are taken back are no reason to buy again. */
export function noteFallOfMeter(books: Books, subscription: Subscription, before: bigint): void {
  noteFall(books, subscription.customer, meterSlug, before, BigInt(balance(books, subscription)));
}

/** Books the end of credits of a subscription that continues, on its meter or on one of its pools. */
export function bookEnds(books: Books, subscription: Subscription, at: number): void {
  if (subscription.pool !== null) {
    endCredits(subscription, at);
    return;
  }
  const before = bookedBalance(books, subscription);
  endCredits(subscription, at);
  noteFallOfMeter(books, subscription, before);
}

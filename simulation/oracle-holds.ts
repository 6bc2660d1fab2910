import { dayMs, total } from './oracle-arithmetic.ts';
import { type Books, type Hold, isTerminal, type PoolHolder, type Subscription } from './oracle-records.ts';

/** Units reserved for a job: a promise that expires by time or with its subscription, and is no usage until settled. */

const longestDays = 31;

/** The currently reserved amount, which cannot be consumed: of its meter, or of the pool in which it is seen. */
export function heldOf({ now }: Books, account: Subscription | PoolHolder): bigint {
  const { customer, pool } = account;
  const open = customer.holds.filter((hold) => statusAt(hold, now) === 'open');
  if (pool !== null) return total(open, (hold) => (hold.pool === pool ? hold.poolAmount : 0n));
  return total(open, (hold) => (hold.subscription === account ? BigInt(hold.amount - hold.pooled) : 0n));
}

/** An open hold past its expiry, or of an ended subscription, has expired, whether or not anybody looks. */
export function statusAt({ status, expiresAt, subscription }: Hold, now: number): Hold['status'] | 'expired' {
  return status === 'open' && (expiresAt <= now || isTerminal(subscription)) ? 'expired' : status;
}

/** Refused with an expiry that is too late or not in the future. */
export function canEnd({ now }: Books, expiresAt: number): boolean {
  return expiresAt > now && expiresAt <= now + longestDays * dayMs;
}

/**
 * The outcome of settling a hold with an amount, or releasing it (null). An expired one closes like an open one;
 * repeating the same closing is allowed; ended subscriptions record no usage.
 */
export function closingOf(hold: Hold, used: number | null): 'closed' | 'told_again' | 'refused' {
  if (hold.status === 'open') return used !== null && isTerminal(hold.subscription) ? 'refused' : 'closed';
  const isSame = used === null ? hold.status === 'released' : hold.status === 'settled' && hold.settled === used;
  return isSame ? 'told_again' : 'refused';
}

export function close(hold: Hold, used: number | null): void {
  hold.status = used === null ? 'released' : 'settled';
  hold.settled = used;
}

/** In the form of reality's line. */
export function holdLine(hold: Hold, now: number) {
  const { subscription, amount, pooled, settled, expiresAt } = hold;
  const of = subscription.customer.subscriptions.indexOf(subscription);
  return { hold: amount, pooled, of, status: statusAt(hold, now), settled, expiresAt };
}

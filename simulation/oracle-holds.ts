import { dayMs } from './oracle-arithmetic.ts';
import { type Books, type Hold, isTerminal, type Subscription } from './oracle-records.ts';

/** Units that are set aside for a job: a promise, which ends by time alone, and no use before it is settled. */

const longestDays = 31;

/** What is set aside now, so that whoever asks for leave cannot use it. */
export function heldOf({ now }: Books, subscription: Subscription): number {
  return subscription.customer.holds
    .filter((hold) => hold.subscription === subscription && statusAt(hold, now) === 'open')
    .reduce((sum, { amount }) => sum + amount, 0);
}

/** An open hold has expired once its end has come, whether or not anybody looks. */
export function statusAt({ status, expiresAt }: Hold, now: number): Hold['status'] | 'expired' {
  return status === 'open' && expiresAt <= now ? 'expired' : status;
}

/** Refused beyond the balance, and where it would last longer than a job does or not at all. */
export function canHold({ now }: Books, { amount, expiresAt }: Pick<Hold, 'amount' | 'expiresAt'>, left: number) {
  return amount <= left && expiresAt > now && expiresAt <= now + longestDays * dayMs;
}

/**
 * What becomes of a hold that is settled with so much, or released (null). An expired one is closed as an open one is;
 * closing it as it was closed before is told again; of what has ended nothing is used any more.
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

/** As reality tells it. */
export function holdLine(hold: Hold, now: number) {
  const { subscription, amount, settled, expiresAt } = hold;
  const of = subscription.customer.subscriptions.indexOf(subscription);
  return { hold: amount, of, status: statusAt(hold, now), settled, expiresAt };
}

import { RunAgain, type Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { readClock } from '../organizations/store-clock.ts';
import { findSubscription } from '../subscriptions/store.ts';
import { findBehind } from '../subscriptions/store-renewals.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { cancelHandler, type LockedSubscription, lockWithCustomer } from './end-subscription.ts';
import { interimHandler, renewHandler } from './renew.ts';
import { resumeHandler } from './resume-paused.ts';

// At most one of these steps is due for a subscription at a time, by their dates.
const handlers = [cancelHandler, resumeHandler, interimHandler, renewHandler];

/**
 * Performs the overdue work of this subscription in this transaction, each step as of its due date: its scheduled end,
 * its resumption, its interims, its renewals. A request thus sees the current state, whether or not the worker has run.
 * Without overdue work it costs one read. After a recent failure the work is skipped, so that requests still succeed.
 */
export async function catchUp(work: Work, subscriptionId: string): Promise<void> {
  await catchUpAll(work, [subscriptionId]);
}

/** The same for several. Takes as many rounds as the one with the most overdue steps needs. */
export async function catchUpAll(work: Work, subscriptionIds: readonly string[]): Promise<void> {
  for (;;) {
    const behind = await findBehind(work, subscriptionIds);
    let taken = 0;
    for (const handler of behind.length === 0 ? [] : handlers) {
      const ids = await handler.take(work, behind.length, behind);
      taken += ids.length;
      await handler.perform(work, ids);
    }
    // Nothing can be done for a start while the end before it is deferred.
    if (taken === 0) return;
  }
}

/** The up-to-date subscription and its customer, locked until the work ends. Refuses with `subscriptionNotFound`. */
export async function lockCurrent(work: Work, id: string): Promise<LockedSubscription> {
  const locked = await lockWithCustomer(work, id);
  if (await hasOvertaken(work, locked.subscription)) throw new RunAgain();
  if ((await findBehind(work, [id])).length === 0) return locked;
  await catchUp(work, id);
  return lockWithCustomer(work, id);
}

/**
 * The up-to-date subscription, read only. Refuses with `subscriptionNotFound`, and with `subscriptionBehind` one with
 * overdue work: its amounts are known when that is done.
 */
export async function findUpToDate(work: Work, id: string): Promise<SubscriptionRow> {
  const subscription = await findSubscription(work, id);
  if (subscription === null) throw new Problem('subscriptionNotFound', { id });
  if (await hasOvertaken(work, subscription)) throw new RunAgain();
  if ((await findBehind(work, [id])).length > 0) throw new Problem('subscriptionBehind', { id });
  return subscription;
}

/**
 * Whether the subscription's period began after this work's own time, while the work waited for the lock. As of its own
 * time the subscription would have no current period.
 */
async function hasOvertaken(work: Work, { currentBillingPeriodStart: start, startDate }: SubscriptionRow) {
  if (start === null || start <= work.now || startDate > work.now) return false;
  const { now } = await readClock(work);
  return start <= (now ?? Date.now());
}

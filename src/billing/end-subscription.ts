import type { CustomerRow } from '../customers/customer.ts';
import { lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { carryToHolders } from '../purchases/actions-auto-top-ups.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { cancelDueAt } from '../subscriptions/cancellation.ts';
import { findSubscription, hasOtherSubscriptionInTheWay, lockSubscription } from '../subscriptions/store.ts';
import { takeCancelDue, takeIncomplete } from '../subscriptions/store-due.ts';
import type { CancellationReason, SubscriptionRow } from '../subscriptions/subscription.ts';
import { lockAccountsOfSubscriptions } from '../usage/store-accounts.ts';
import type { DueWorkHandler } from './due-work-runner.ts';
import { restoreDefaultPlan, startDefaultPlan } from './open-subscription.ts';
import { closeSubscription, type Ending } from './record-paid.ts';

/** Both records, locked until the work ends: the customer first, as everywhere. */
export interface LockedSubscription {
  readonly customer: CustomerRow;
  readonly subscription: SubscriptionRow;
}

/** Refuses with `subscriptionNotFound`. */
export async function lockWithCustomer(work: Work, id: string): Promise<LockedSubscription> {
  const found = await findSubscription(work, id);
  const customer = found === null ? null : await lockCustomer(work, found.customerId);
  const subscription = customer === null ? null : await lockSubscription(work, id);
  if (customer === null || subscription === null) throw new Problem('subscriptionNotFound', { id });
  return { customer, subscription };
}

/** Ends a subscription whose scheduled end has come, as of that instant. Otherwise returns false. */
export async function cancelIfDue(work: Work, id: string): Promise<boolean> {
  const locked = await lockWithCustomer(work, id);
  const at = cancelDueAt(locked.subscription, work.now);
  if (at === null) return false;
  await endSubscription(work, locked, { at });
  return true;
}

/**
 * Ends a subscription, and starts the default plan where its customer is left without a plan. Every end
 * takes this path, except for a free plan that a paid one replaces (`replaceFreePlan`).
 */
export async function endSubscription(
  work: Work,
  { customer, subscription }: LockedSubscription,
  ending: Ending,
): Promise<SubscriptionRow> {
  const { at, trigger = 'canceled', reason, neverWas = false } = ending;
  const { id } = subscription;
  const ended = await closeSubscription(work, subscription, ending);
  if (givesBackDefaultPlan(ended, reason) && !(await hasOtherSubscriptionInTheWay(work, customer.id, id, at))) {
    if (neverWas) await restoreDefaultPlan(work, customer, id);
    else await startDefaultPlan(work, customer, at);
  }
  await carryToHolders(work, [customer.id]);
  await publishSubscription(
    work,
    trigger === 'expired' ? 'subscription.updated' : 'subscription.canceled',
    ended,
    customer,
  );
  return ended;
}

/** A customer that leaves a plan gets the default plan again, unless it left that plan or was archived. */
function givesBackDefaultPlan(ended: SubscriptionRow, reason: CancellationReason | undefined): boolean {
  return !ended.isDefaultPlan && reason !== 'customer_archived';
}

/** Carries out due cancellations, each as of its date. */
export const cancelHandler: DueWorkHandler = {
  name: 'cancel',
  take: takeCancelDue,
  async perform(work, ids) {
    // Locks the accounts of all of them in the order that usage uses, before they end one by one.
    await lockAccountsOfSubscriptions(work, ids);
    for (const id of ids) await cancelIfDue(work, id);
  },
};

/** The maximum time that a subscription awaits its first payment: by the next day it is gone. */
export const incompleteLifetimeMs = 23 * 60 * 60 * 1000;

/**
 * Ends subscriptions that have been incomplete for 23 hours, each as of that time. Skips those with a first payment in
 * flight.
 */
export const expireHandler: DueWorkHandler = {
  name: 'expire',
  take: (work, limit, only) => takeIncomplete(work, work.now - incompleteLifetimeMs, limit, only),
  async perform(work, ids) {
    for (const id of ids) {
      const locked = await lockWithCustomer(work, id);
      const at = locked.subscription.createdAt + incompleteLifetimeMs;
      await endSubscription(work, locked, { at, trigger: 'expired' });
    }
  },
};

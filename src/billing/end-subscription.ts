import type { CustomerRow } from '../customers/customer.ts';
import { lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { expireItemFeatures, releaseClaims } from '../entitlements/actions.ts';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { defaultPaymentMethod } from '../payments/actions.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { cancelDueAt } from '../subscriptions/cancellation.ts';
import {
  findSubscription,
  hasOtherSubscriptionInTheWay,
  lockSubscription,
  saveSubscription,
} from '../subscriptions/store.ts';
import { cancelPendingAdjustments } from '../subscriptions/store-adjustments.ts';
import { endBillingPeriods, findCurrentBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { takeCancelDue, takeIncomplete } from '../subscriptions/store-due.ts';
import { expireItemsOfSubscriptions } from '../subscriptions/store-items.ts';
import { type CancellationReason, requireStatusAfter, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { lockAccountsOfSubscriptions } from '../usage/store-accounts.ts';
import { issueBills, takeUsageLines } from './bill-subscription.ts';
import { chargeInvoice } from './charge-invoice.ts';
import { restoreDefaultPlan, startDefaultPlan } from './default-plan.ts';
import type { DueWorkHandler } from './due-work-runner.ts';
import { pausedTimeLine } from './paused-time.ts';
import { recordPaid } from './record-paid.ts';

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

/** The way a subscription ends. */
export interface Ending {
  readonly at: Instant;
  /** `expired`: the first payment did not arrive in time. */
  readonly trigger?: 'canceled' | 'expired';
  readonly reason?: CancellationReason;
  /** It was never paid: the default plan continues with its earlier periods. */
  readonly neverWas?: boolean;
  /** The subscription that replaces it. */
  readonly replacedBy?: string;
}

/**
 * Ends a subscription. Every end takes this path: a cancel request, a scheduled date, a failed first payment, a
 * replacing paid plan, or the archiving of its customer.
 */
export async function endSubscription(
  work: Work,
  { customer, subscription }: LockedSubscription,
  { at, trigger = 'canceled', reason, replacedBy, neverWas = false }: Ending,
): Promise<SubscriptionRow> {
  const { id } = subscription;
  const period = await findCurrentBillingPeriod(work, subscription);
  const ended = await saveSubscription(work, id, {
    status: requireStatusAfter(subscription.status, trigger),
    canceledAt: trigger === 'canceled' ? at : null,
    cancelScheduledAt: trigger === 'canceled' ? at : null,
    cancellationReason: reason ?? null,
    replacedBySubscriptionId: replacedBy ?? null,
    scheduledAdjustmentAt: null,
    pausedAt: null,
    resumesAt: null,
    pausedCredit: 0n,
    ...(period === null || period.startAt > at ? {} : { currentBillingPeriodEnd: Math.min(period.endAt, at) }),
  });
  await cancelPendingAdjustments(work, [id]);
  await endBillingPeriods(work, id, at);
  await expireItemsOfSubscriptions(work, [id], at);
  await expireItemFeatures(work, [id], at);
  await releaseClaims(work, [id], at, 'subscription_canceled');
  await billFinalUsage(work, { ended, kept: subscription.pausedCredit }, at, reason);
  if (givesBackDefaultPlan(ended, reason) && !(await hasOtherSubscriptionInTheWay(work, customer.id, id))) {
    if (neverWas) await restoreDefaultPlan(work, customer, id);
    else await startDefaultPlan(work, customer, at);
  }
  if (trigger === 'expired') await publishSubscription(work, 'subscription.updated', ended, customer);
  // An upgrade is published by the creation of the new subscription.
  else if (reason !== 'upgraded_to_paid') await publishSubscription(work, 'subscription.canceled', ended, customer);
  return ended;
}

/** A customer that leaves a plan gets the default plan again, unless it left that plan or was archived. */
function givesBackDefaultPlan(ended: SubscriptionRow, reason: CancellationReason | undefined): boolean {
  return !ended.isDefaultPlan && reason !== 'upgraded_to_paid' && reason !== 'customer_archived';
}

/**
 * Invoices the unbilled usage and charges it, minus paid paused time (`kept`), whose rest is lost with the
 * subscription. The invoice stays open without a payment method, and after a failed first payment, because the same
 * method would fail again.
 */
async function billFinalUsage(
  work: Work,
  { ended: subscription, kept }: { ended: SubscriptionRow; kept: bigint },
  at: Instant,
  reason: CancellationReason | undefined,
): Promise<void> {
  const usage = (await takeUsageLines(work, [subscription])).get(subscription.id) ?? [];
  const pausedTime = pausedTimeLine(usage, kept);
  const lines = pausedTime === null ? usage : [...usage, pausedTime];
  const period = await findCurrentBillingPeriod(work, subscription);
  const bill = { subscription, period, reason: 'final_usage', lines, at } as const;
  const [invoice] = await issueBills(work, [bill]);
  if (!invoice) return;
  if (invoice.status === 'paid') return recordPaid(work, [{ invoice, paymentMethodId: null }]);
  if (reason === 'non_payment') return;
  const stored = subscription.defaultPaymentMethodId ?? (await defaultPaymentMethod(work, subscription.customerId))?.id;
  if (stored !== undefined) await chargeInvoice(work, invoice, stored);
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

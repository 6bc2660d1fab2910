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
import { expireItemsOfSubscriptions } from '../subscriptions/store-items.ts';
import { type CancellationReason, requireStatusAfter, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { issueBills } from './bill-subscription.ts';
import { takeUsageLines } from './bill-usage.ts';
import { chargeInvoice } from './charge-invoice.ts';
import { restoreDefaultPlan, startDefaultPlan } from './default-plan.ts';
import { pausedTimeLine } from './paused-time-line.ts';
import { recordPaid } from './record-paid.ts';

/** Both records, held until the work ends: the customer first, as everyone does who needs both. */
export interface Held {
  readonly customer: CustomerRow;
  readonly subscription: SubscriptionRow;
}

/** Refuses with `subscriptionNotFound`. */
export async function holdSubscription(work: Work, id: string): Promise<Held> {
  const found = await findSubscription(work, id);
  const customer = found === null ? null : await lockCustomer(work, found.customerId);
  const subscription = customer === null ? null : await lockSubscription(work, id);
  if (customer === null || subscription === null) throw new Problem('subscriptionNotFound', { id });
  return { customer, subscription };
}

/** Ends a subscription whose scheduled end has come, as of that instant. Answers false when it has not. */
export async function cancelIfDue(work: Work, id: string): Promise<boolean> {
  const held = await holdSubscription(work, id);
  const at = cancelDueAt(held.subscription, work.now);
  if (at === null) return false;
  await endSubscription(work, held, { at });
  return true;
}

/** How a subscription ends. */
export interface Ending {
  readonly at: Instant;
  /** `expired`: the first payment was waited for long enough. */
  readonly happening?: 'canceled' | 'expired';
  readonly reason?: CancellationReason;
  /** Nothing of it was ever paid: the default plan goes on with the periods that it had before. */
  readonly neverWas?: boolean;
  /** The subscription that takes its place. */
  readonly replacedBy?: string;
}

/**
 * The one way in which a subscription ends, whoever asks for it: its caller, its date, a failed first payment, a paid
 * plan that replaces it, or the archiving of its customer.
 */
export async function endSubscription(
  work: Work,
  { customer, subscription }: Held,
  { at, happening = 'canceled', reason, replacedBy, neverWas = false }: Ending,
): Promise<SubscriptionRow> {
  const { id } = subscription;
  const period = await findCurrentBillingPeriod(work, subscription);
  const ended = await saveSubscription(work, id, {
    status: requireStatusAfter(subscription.status, happening),
    canceledAt: happening === 'canceled' ? at : null,
    cancelScheduledAt: happening === 'canceled' ? at : null,
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
  if (happening === 'expired') await publishSubscription(work, 'subscription.updated', ended, customer);
  // An upgrade is told by the creation of what replaces it.
  else if (reason !== 'upgraded_to_paid') await publishSubscription(work, 'subscription.canceled', ended, customer);
  return ended;
}

/** Who leaves a plan stands on the default plan again, unless it left that very plan, or left for good. */
function givesBackDefaultPlan(ended: SubscriptionRow, reason: CancellationReason | undefined): boolean {
  return !ended.isDefaultPlan && reason !== 'upgraded_to_paid' && reason !== 'customer_archived';
}

/**
 * Invoices the usage that was not billed yet, and charges it. What was paid for paused time (`kept`) is taken off it; the
 * rest of that is lost with the subscription. The invoice stays open where there is nothing to charge, and after a failed
 * first payment: the same method would fail again.
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

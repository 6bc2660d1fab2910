import { readNetTerms } from '../customers/actions.ts';
import type { Work } from '../database/work.ts';
import { clearTemporaryClaims, moveClaimsEnd } from '../entitlements/actions.ts';
import type { Instant } from '../kernel/calendar.ts';
import { defaultPaymentMethod } from '../payments/actions.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import {
  type Cancellation,
  type CustomerReason,
  cancelDueAt,
  decideCancel,
  decideUncancel,
  refuseOverlapWithNext,
} from '../subscriptions/cancellation.ts';
import { lockLivingSubscriptions, saveSubscription } from '../subscriptions/store.ts';
import { markScheduledToCancel } from '../subscriptions/store-billing-periods.ts';
import { requireStatusAfter, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { lockCurrent } from './catch-up.ts';
import { readArrears } from './collect-invoices.ts';
import { endSubscription, type LockedSubscription } from './end-subscription.ts';

/**
 * Cancels a subscription on request: now, at the end of its current period, or at a date. An end that the customer
 * scheduled becomes the seller's when the seller asks for it too. The reason is that of a customer.
 */
export async function cancelSubscription(
  work: Work,
  id: string,
  cancellation: Cancellation,
  scheduledByCustomer = false,
  reason: CustomerReason | null = null,
): Promise<SubscriptionRow> {
  const locked = await lockCurrent(work, id);
  const { subscription } = locked;
  const decision = decideCancel(subscription, cancellation, work.now);
  switch (decision.does) {
    case 'nothing':
      return subscription.scheduledByCustomer && !scheduledByCustomer
        ? saveSubscription(work, id, { scheduledByCustomer })
        : subscription;
    case 'schedule':
      return scheduleEnd(work, locked, { at: decision.at, scheduledByCustomer, reason });
    case 'end':
      return endSubscription(work, locked, { at: decision.at });
    default:
      return decision satisfies never;
  }
}

interface ScheduledEnd {
  readonly at: Instant;
  readonly scheduledByCustomer: boolean;
  readonly reason: CustomerReason | null;
}

async function scheduleEnd(
  work: Work,
  { subscription, customer }: LockedSubscription,
  { at, scheduledByCustomer, reason }: ScheduledEnd,
): Promise<SubscriptionRow> {
  refuseOverlapWithNext(subscription, await lockLivingSubscriptions(work, customer.id), at);
  const saved = await saveSubscription(work, subscription.id, {
    status: requireStatusAfter(subscription.status, 'cancel_scheduled'),
    cancelScheduledAt: at,
    scheduledByCustomer,
    cancellationReason: reason,
  });
  const from = subscription.cancelScheduledAt;
  if (from !== null) await moveClaimsEnd(work, saved.id, { from, to: at });
  await markScheduledToCancel(work, saved.id, true);
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return saved;
}

/** Undoes a scheduled cancellation. Without one, nothing changes. */
export async function uncancelSubscription(work: Work, id: string): Promise<SubscriptionRow> {
  const locked = await lockCurrent(work, id);
  const { customer, subscription } = locked;
  // An overdue end has taken effect, even if processing it failed recently.
  const dueAt = cancelDueAt(subscription, work.now);
  if (dueAt !== null) return endSubscription(work, locked, { at: dueAt });
  const status = decideUncancel(subscription, {
    isPayable: await isPayable(work, subscription),
    arrears: (await readArrears(work, [id]))(id),
    now: work.now,
  });
  if (status === null) return subscription;
  refuseOverlapWithNext(subscription, await lockLivingSubscriptions(work, customer.id), null);
  const saved = await saveSubscription(work, id, { status, cancelScheduledAt: null, cancellationReason: null });
  await markScheduledToCancel(work, id, false);
  await clearTemporaryClaims(work, id);
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return saved;
}

/** Whether its renewals can be charged, or are invoiced under net terms. */
async function isPayable(work: Work, subscription: SubscriptionRow): Promise<boolean> {
  if ((await readNetTerms(work, subscription.customerId)) > 0) return true;
  if (subscription.defaultPaymentMethodId !== null || subscription.backupPaymentMethodId !== null) return true;
  return (await defaultPaymentMethod(work, subscription.customerId)) !== null;
}

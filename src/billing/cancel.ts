import { readNetTerms } from '../customers/actions.ts';
import type { Work } from '../database/work.ts';
import { clearTemporaryClaims, moveClaimsEnd } from '../entitlements/actions.ts';
import type { Instant } from '../kernel/calendar.ts';
import { defaultPaymentMethod } from '../payments/actions.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import {
  type Cancellation,
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
 * scheduled becomes the seller's when the seller asks for it too. A request without a reason or comment keeps the one
 * before.
 */
export async function cancelSubscription(
  work: Work,
  id: string,
  cancellation: Cancellation,
  scheduledByCustomer = false,
): Promise<SubscriptionRow> {
  const locked = await lockCurrent(work, id);
  const decision = decideCancel(locked.subscription, cancellation, work.now);
  const told = {
    cancellationReason: cancellation.reason ?? locked.subscription.cancellationReason,
    cancellationComment: cancellation.comment ?? locked.subscription.cancellationComment,
  };
  const subscription = { ...locked.subscription, ...told };
  switch (decision.does) {
    case 'nothing':
      return keepEnd(work, locked, told, scheduledByCustomer);
    case 'schedule':
      return scheduleEnd(work, { ...locked, subscription }, { at: decision.at, scheduledByCustomer });
    case 'end':
      return endSubscription(work, { ...locked, subscription }, { at: decision.at });
    default:
      return decision satisfies never;
  }
}

/** Keeps the end as it is. An end that is still to come may get another reason or comment, and become the seller's. */
async function keepEnd(
  work: Work,
  { subscription, customer }: LockedSubscription,
  told: Pick<SubscriptionRow, 'cancellationReason' | 'cancellationComment'>,
  scheduledByCustomer: boolean,
): Promise<SubscriptionRow> {
  const { id, status } = subscription;
  const isSame =
    told.cancellationReason === subscription.cancellationReason &&
    told.cancellationComment === subscription.cancellationComment;
  const becomesSellers = subscription.scheduledByCustomer && !scheduledByCustomer;
  if (status !== 'cancellation_scheduled' || (isSame && !becomesSellers)) return subscription;
  const change = { ...told, scheduledByCustomer: subscription.scheduledByCustomer && scheduledByCustomer };
  const saved = await saveSubscription(work, id, change);
  if (!isSame) await publishSubscription(work, 'subscription.updated', saved, customer);
  return saved;
}

interface ScheduledEnd {
  readonly at: Instant;
  readonly scheduledByCustomer: boolean;
}

async function scheduleEnd(
  work: Work,
  { subscription, customer }: LockedSubscription,
  { at, scheduledByCustomer }: ScheduledEnd,
): Promise<SubscriptionRow> {
  refuseOverlapWithNext(subscription, await lockLivingSubscriptions(work, customer.id), at);
  const saved = await saveSubscription(work, subscription.id, {
    status: requireStatusAfter(subscription.status, 'cancel_scheduled'),
    cancelScheduledAt: at,
    scheduledByCustomer,
    cancellationReason: subscription.cancellationReason,
    cancellationComment: subscription.cancellationComment,
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
  const saved = await saveSubscription(work, id, {
    ...{ status, cancelScheduledAt: null, cancellationReason: null, cancellationComment: null },
  });
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

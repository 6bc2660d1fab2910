import assert from 'node:assert/strict';
import { listExternalIds } from '../customers/store.ts';
import { publish } from '../customers/store-events.ts';
import { newId } from '../database/new-id.ts';
import { instantOf, type Work } from '../database/work.ts';
import type { Period } from '../kernel/calendar.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import type { BillingPeriodRow } from './billing-period.ts';
import * as store from './store.ts';
import { endTrialNotices } from './store-due.ts';
import { type Subscription, type SubscriptionRow, toSubscription } from './subscription.ts';
import type { SubscriptionItemRow } from './subscription-item.ts';

/** Returns a subscription. Refuses with `subscriptionNotFound`. */
export async function getSubscription(work: Work, id: string): Promise<Subscription> {
  const row = await store.findSubscription(work, id);
  if (row === null) throw new Problem('subscriptionNotFound', { id });
  return toSubscription(work, row);
}

export async function listSubscriptions(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfSubscriptions(work, request);
  return page(
    request,
    rows.map((row) => toSubscription(work, row)),
    total,
  );
}

type SubscriptionEvent =
  | 'subscription.created'
  | 'subscription.updated'
  | 'subscription.canceled'
  | 'subscription.trial_will_end';

/** Publishes that these trials will end, once for each end. The caller has locked them. */
export async function publishTrialsEnding(work: Work, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await publishSubscriptions(work, 'subscription.trial_will_end', await store.findSubscriptions(work, ids));
  await endTrialNotices(work, ids);
}

/** Publishes the same event for each of these subscriptions, in the commit of the change. */
export async function publishSubscriptions(
  work: Work,
  type: SubscriptionEvent,
  subscriptions: readonly SubscriptionRow[],
): Promise<void> {
  if (subscriptions.length === 0) return;
  const customerIds = [...new Set(subscriptions.map((subscription) => subscription.customerId))];
  const externalIds = await listExternalIds(work, customerIds);
  const events = subscriptions.map((subscription) => {
    const { id, pricingModelId, customerId } = subscription;
    const externalId = externalIds.get(customerId);
    assert(externalId !== undefined, 'a subscription has a customer');
    const customer = { id: customerId, externalId };
    const data = toSubscription(work, subscription);
    const cause = type === 'subscription.trial_will_end' ? { cause: String(subscription.trialEnd) } : {};
    return { ...cause, type, object: 'subscription', objectId: id, pricingModelId, customer, data };
  });
  await publish(work, events);
}

/** A new period of a subscription. If it is the rest of an interval, `wholeStartAt` is the start of that interval. */
export function newBillingPeriod(
  work: Work,
  { id: subscriptionId, pricingModelId }: SubscriptionRow,
  {
    start,
    end,
    ...known
  }: Period &
    Partial<
      Pick<
        BillingPeriodRow,
        | 'id'
        | 'trialPeriod'
        | 'wholeStartAt'
        | 'creditsAwaitPayment'
        | 'discountStartAt'
        | 'discountEndAt'
        | 'roundingCarried'
      >
    >,
): BillingPeriodRow {
  return {
    id: newId('billingPeriod', subscriptionId),
    createdAt: instantOf(work, subscriptionId),
    updatedAt: instantOf(work, subscriptionId),
    pricingModelId,
    subscriptionId,
    startAt: start,
    endAt: end,
    status: 'active',
    trialPeriod: false,
    wholeStartAt: null,
    wholeEndAt: null,
    keptValue: 0n,
    pausedTimeRefunded: 0n,
    prorationWaived: 0n,
    creditsAwaitPayment: false,
    discountStartAt: null,
    discountEndAt: null,
    roundingCarried: 0n,
    ...known,
  };
}

/** An item of a plan, effective from `addedDate`. */
export function newSubscriptionItem(
  work: Work,
  { id: subscriptionId, pricingModelId }: SubscriptionRow,
  item: Pick<SubscriptionItemRow, 'name' | 'priceId' | 'unitPrice' | 'pricing' | 'quantity' | 'addedDate'> &
    Partial<Pick<SubscriptionItemRow, 'externalId' | 'metadata'>>,
): SubscriptionItemRow {
  return {
    id: newId('subscriptionItem', subscriptionId),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId,
    subscriptionId,
    type: 'static',
    expiredAt: null,
    externalId: null,
    metadata: null,
    manuallyCreated: false,
    ...item,
  };
}

/** Publishes an event of a subscription, in the commit of the change. */
export async function publishSubscription(
  work: Work,
  type: SubscriptionEvent,
  subscription: SubscriptionRow,
  customer: { readonly id: string; readonly externalId: string },
): Promise<void> {
  const { id: customerId, externalId } = customer;
  await publish(work, [
    {
      type,
      object: 'subscription',
      objectId: subscription.id,
      pricingModelId: subscription.pricingModelId,
      customer: { id: customerId, externalId },
      data: toSubscription(work, subscription),
    },
  ]);
}

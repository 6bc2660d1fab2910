import assert from 'node:assert/strict';
import { listExternalIds } from '../customers/store.ts';
import { type PageRequest, page } from '../kernel/page.ts';
import { Problem } from '../kernel/problem.ts';
import { publish } from '../platform/outbox.ts';
import type { Work } from '../platform/work.ts';
import * as store from './store.ts';
import { type Subscription, type SubscriptionRow, toSubscription } from './subscription.ts';

/** The subscription as it is answered. Refuses with `subscriptionNotFound`. */
export async function getSubscription(work: Work, id: string): Promise<Subscription> {
  const row = await store.findSubscription(work, id);
  if (row === null) throw new Problem('subscriptionNotFound', { id });
  return toSubscription(work, row);
}

/** The environment's subscriptions. */
export async function listSubscriptions(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfSubscriptions(work, request);
  return page(
    request,
    rows.map((row) => toSubscription(work, row)),
    total,
  );
}

type SubscriptionEvent = 'subscription.created' | 'subscription.updated' | 'subscription.canceled';

/** Tells, in the commit of the change, that the same happened to each of these subscriptions. */
export async function publishSubscriptions(
  work: Work,
  type: SubscriptionEvent,
  subscriptions: readonly SubscriptionRow[],
): Promise<void> {
  if (subscriptions.length === 0) return;
  const customerIds = [...new Set(subscriptions.map((subscription) => subscription.customerId))];
  const externalIds = await listExternalIds(work, customerIds);
  const happenings = subscriptions.map(({ id, pricingModelId, customerId }) => {
    const externalId = externalIds.get(customerId);
    assert(externalId !== undefined, 'a subscription has a customer');
    return { type, object: 'subscription', objectId: id, pricingModelId, customer: { id: customerId, externalId } };
  });
  await publish(work, happenings);
}

/** Tells, in the commit of the change, what happened to a subscription. */
export async function publishSubscription(
  work: Work,
  type: SubscriptionEvent,
  { id, pricingModelId }: SubscriptionRow,
  customer: { readonly id: string; readonly externalId: string },
): Promise<void> {
  const { id: customerId, externalId } = customer;
  await publish(work, [
    { type, object: 'subscription', objectId: id, pricingModelId, customer: { id: customerId, externalId } },
  ]);
}

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

/** Tells, in the commit of the change, what happened to a subscription. */
export async function publishSubscription(
  work: Work,
  type: 'subscription.created' | 'subscription.updated' | 'subscription.canceled',
  { id, pricingModelId }: SubscriptionRow,
  customer: { readonly id: string; readonly externalId: string },
): Promise<void> {
  const { id: customerId, externalId } = customer;
  await publish(work, [
    { type, object: 'subscription', objectId: id, pricingModelId, customer: { id: customerId, externalId } },
  ]);
}

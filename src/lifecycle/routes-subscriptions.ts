import { z } from 'zod';
import { textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { Cancellation } from '../subscriptions/cancellation.ts';
import { Subscription, SubscriptionId, toSubscription } from '../subscriptions/subscription.ts';
import { NewSubscription } from '../subscriptions/subscription-start.ts';
import { cancelSubscription } from './cancel-subscription.ts';
import { reread, subscribe } from './subscribe.ts';
import { uncancelSubscription } from './uncancel.ts';

const tag = 'Subscriptions';
const returns = z.object({ subscription: Subscription });
const params = z.object({ id: SubscriptionId });

export const subscriptionLifecycleRoutes = [
  route({
    method: 'POST',
    path: '/subscriptions',
    summary: 'Subscribe a customer to a price',
    description:
      'A paid subscription takes the place of a free one. What is due now is charged before the answer, which shows how that ended: a subscription whose first payment fails is canceled.',
    tag,
    query: z.object({
      pricingModelId: textFilter.meta({
        description: 'Needed only when several pricing models have this customerExternalId.',
      }),
    }),
    body: NewSubscription,
    returns,
    refuses: [
      'processorUnavailable',
      'customerNotFound',
      'customerArchived',
      'externalIdAmbiguous',
      'priceNotFound',
      'priceInactive',
      'priceNotSubscribable',
      'currentSubscriptionExists',
      'conflictingRow',
    ],
    handle: async (work, { body, query }) => ({
      subscription: toSubscription(work, await subscribe(work, body, query.pricingModelId)),
    }),
    afterEffects: async (work, answer) => ({
      subscription: toSubscription(work, await reread(work, answer.subscription)),
    }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/cancel',
    summary: 'Cancel a subscription',
    description:
      'A subscription that has ended is answered as it is. With at_future_date it renews as ever until endDate: a period ' +
      'that begins before is billed whole, and nothing is given back. Another date takes the place of the one before.',
    tag,
    params,
    body: z.object({ cancellation: Cancellation }),
    returns,
    refuses: [
      'processorUnavailable',
      'subscriptionNotFound',
      'defaultPlanCannotBeCanceled',
      'adjustmentScheduled',
      'subscriptionDoesNotRenew',
      'currentBillingPeriodNotFound',
      'invoiceTooLarge',
    ],
    handle: async (work, input) => ({
      subscription: toSubscription(work, await cancelSubscription(work, input.params.id, input.body.cancellation)),
    }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/uncancel',
    summary: 'Take a scheduled cancel back',
    description: 'A subscription that is not to be canceled is answered as it is.',
    tag,
    params,
    returns,
    refuses: ['subscriptionNotFound', 'paymentMethodRequired'],
    handle: async (work, input) => ({
      subscription: toSubscription(work, await uncancelSubscription(work, input.params.id)),
    }),
  }),
];

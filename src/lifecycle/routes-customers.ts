import { z } from 'zod';
import { renderCustomer } from '../customers/actions.ts';
import { Customer, ExternalId, NewCustomer } from '../customers/customer.ts';
import { textFilter } from '../kernel/page.ts';
import { encryptionOf } from '../platform/encryption.ts';
import { route } from '../platform/route.ts';
import { Subscription, toSubscription } from '../subscriptions/subscription.ts';
import { SubscriptionItem } from '../subscriptions/subscription-item.ts';
import { archiveCustomer } from './archive-customer.ts';
import { CustomerBilling, getBilling } from './billing.ts';
import { createCustomer } from './create-customer.ts';

const tag = 'Customers';

const externalIdParams = z.object({ externalId: ExternalId });
const pricingModelQuery = z.object({
  pricingModelId: textFilter.meta({ description: 'Needed only when several pricing models have this external id.' }),
});

export const customerLifecycleRoutes = [
  route({
    method: 'POST',
    path: '/customers',
    summary: 'Create a customer',
    description: "Starts the pricing model's default plan with it, where there is one.",
    tag,
    body: z.object({ customer: NewCustomer }),
    returns: z.object({
      data: z.object({
        customer: Customer,
        subscription: Subscription.optional(),
        subscriptionItems: z.array(SubscriptionItem).optional(),
      }),
    }),
    refuses: ['externalIdTaken', 'pricingModelNotFound', 'defaultPricingModelNotFound', 'outsidePinnedPricingModel'],
    handle: async (work, { body }) => {
      const { customer, plan } = await createCustomer(work, body.customer);
      const data = { customer: renderCustomer(work, customer) };
      if (plan === null) return { data };
      const subscriptionItems = plan.items.map((item) => ({ ...item, livemode: work.livemode }));
      return { data: { ...data, subscription: toSubscription(work, plan.subscription), subscriptionItems } };
    },
  }),
  route({
    method: 'POST',
    path: '/customers/{externalId}/archive',
    summary: 'Archive a customer',
    description: 'Ends all its subscriptions now. Its external id can be used again.',
    tag,
    params: externalIdParams,
    query: pricingModelQuery,
    returns: z.object({ customer: Customer }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: async (work, { params, query }) => ({
      customer: renderCustomer(work, await archiveCustomer(work, params.externalId, query.pricingModelId)),
    }),
  }),
  route({
    method: 'GET',
    path: '/customers/{externalId}/billing',
    summary: 'Get everything a customer has and owes',
    tag,
    params: externalIdParams,
    query: pricingModelQuery,
    returns: CustomerBilling,
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: (work, { params, query }, { outside }) =>
      getBilling(work, encryptionOf(outside), params.externalId, query.pricingModelId),
  }),
];

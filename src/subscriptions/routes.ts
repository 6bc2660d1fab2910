import { z } from 'zod';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { getSubscription, listSubscriptions } from './actions.ts';
import { Subscription, SubscriptionId, SubscriptionStatus } from './subscription.ts';

const tag = 'Subscriptions';

export const subscriptionRoutes = [
  route({
    method: 'GET',
    path: '/subscriptions',
    summary: 'List the subscriptions',
    tag,
    query: pageQuery({
      status: SubscriptionStatus.optional(),
      customerId: textFilter,
      priceId: textFilter,
      pricingModelId: textFilter,
    }),
    returns: pageOf(Subscription),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listSubscriptions(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/subscriptions/{id}',
    summary: 'Get a subscription',
    tag,
    params: z.object({ id: SubscriptionId }),
    returns: z.object({ subscription: Subscription }),
    refuses: ['subscriptionNotFound'],
    handle: async (work, { params }) => ({ subscription: await getSubscription(work, params.id) }),
  }),
];

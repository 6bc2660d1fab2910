import type { Flowglad } from '@flowglad/node';
import { z } from 'zod';
import type { Body } from './harness.ts';
import type { OfficialCall } from './official-calls-billing.ts';
import { pageOf } from './official-client.ts';
import { ApiKey, Purchase, Webhook } from './official-money-records.ts';
import {
  Customer,
  Feature,
  Price,
  PricingModelDetails,
  ProductFeature,
  ResourceClaim,
  Subscription,
  SubscriptionItemFeature,
  UsageEvent,
  UsageMeterBalance,
} from './official-records.ts';
import { catalog, newCustomer, newSubscriber, payBy, post, returns, type Shop } from './official-shop.ts';

const get = (client: Flowglad, path: string) => client.get<Body>(`/api/v1${path}`);
const put = (client: Flowglad, path: string, body: object) => client.put<Body>(`/api/v1${path}`, { body });
const firstOf = async (client: Flowglad, path: string) => (await get(client, path)).data[0];

const terse = (client: Flowglad, id: string, action: string, timing: string, quantity: number) =>
  post(client, `/subscriptions/${id}/${action}`, {
    adjustment: { timing, newSubscriptionItems: [{ priceSlug: 'team-monthly', quantity }] },
  });

/** A feature of the type `toggle` that the customer has on a subscription of its own. */
async function itemFeatureOf(client: Flowglad, externalId: string) {
  await newSubscriber(client, externalId);
  const { currentSubscription } = await get(client, `/customers/${externalId}/billing`);
  return currentSubscription.experimental.featureItems.find((row: Body) => row.type === 'toggle');
}

const linkOf = async (client: Flowglad, { products, featureIds }: Shop) =>
  (await post(client, '/product-features', {
    productFeature: { productId: products.team.id, featureId: featureIds.audit },
  })) as Body;

const webhookOf = (client: Flowglad, shop: Shop, name: string) =>
  post(client, '/webhooks', {
    webhook: {
      name,
      url: 'https://hooks.example.com/in',
      filterTypes: ['customer.created'],
      active: true,
      pricingModelId: shop.pricingModelId,
    },
  });

/** One valid call of each operation that the official client has no method for, by method and path. */
export const rawCalls: Readonly<Record<string, OfficialCall>> = {
  'POST /pricing-models/setup': {
    call: (client) => post(client, '/pricing-models/setup', { ...catalog, name: 'Again', isDefault: false }),
    answers: z.object({ pricingModel: PricingModelDetails }),
    says: { pricingModel: { name: 'Again', livemode: false } },
  },
  'GET /pricing-models/{id}/export': {
    call: (client, shop) => get(client, `/pricing-models/${shop.pricingModelId}/export`),
    answers: z.object({
      updatedAt: z.int(),
      pricingModel: z.object({
        name: z.string(),
        isDefault: z.boolean(),
        features: z.array(z.object({ slug: z.string() })).min(5),
        products: z.array(z.object({ product: z.object({ slug: z.string() }), price: z.object({}) })).min(4),
        usageMeters: z.array(z.object({ usageMeter: z.object({ slug: z.string() }), prices: z.array(z.object({})) })),
        resources: z.array(z.object({ slug: z.string() })).length(2),
      }),
    }),
  },
  'GET /prices/{id}': {
    call: (client, shop) => get(client, `/prices/${shop.products.team.defaultPrice.id}`),
    answers: z.object({ price: Price }),
    says: { price: { slug: 'team-monthly' } },
  },
  'GET /features': { call: (client) => get(client, '/features?limit=100'), answers: pageOf(Feature) },
  'POST /features': {
    call: (client, shop) =>
      post(client, '/features', {
        feature: { type: 'toggle', slug: 'api', name: 'API', description: '', pricingModelId: shop.pricingModelId },
      }),
    answers: z.object({ feature: Feature }),
    says: { feature: { slug: 'api', active: true, amount: null } },
  },
  'GET /features/{id}': {
    call: (client, shop) => get(client, `/features/${shop.featureIds.seats}`),
    answers: z.object({ feature: Feature }),
    says: { feature: { type: 'resource', amount: 3 } },
  },
  'PUT /features/{id}': {
    call: (client, { featureIds: { 'hundred-calls': id } }) =>
      put(client, `/features/${id}`, { feature: { id, type: 'usage_credit_grant', amount: 120 } }),
    answers: z.object({ feature: Feature }),
    says: { feature: { amount: 120, renewalFrequency: 'every_billing_period' } },
  },
  'POST /product-features': {
    call: linkOf,
    answers: z.object({ productFeature: ProductFeature }),
    says: { productFeature: { expiredAt: null } },
  },
  'GET /product-features': {
    call: (client) => get(client, '/product-features?limit=100'),
    answers: pageOf(ProductFeature),
  },
  'GET /product-features/{id}': {
    call: async (client) => get(client, `/product-features/${(await firstOf(client, '/product-features')).id}`),
    answers: z.object({ productFeature: ProductFeature }),
  },
  'POST /product-features/{id}/expire': {
    // Without a body: the client sends none.
    call: async (client, shop) => {
      const { productFeature } = await linkOf(client, shop);
      return client.post(`/api/v1/product-features/${productFeature.id}/expire`);
    },
    answers: z.object({ success: z.literal(true) }),
  },
  'GET /usage-events': { call: (client) => get(client, '/usage-events'), answers: pageOf(UsageEvent) },
  'POST /usage-events/bulk': {
    call: (client, { subscriptionId }) =>
      post(client, '/usage-events/bulk', {
        usageEvents: [
          { subscriptionId, usageMeterSlug: 'calls', amount: 2, transactionId: 'bulk 1' },
          { subscriptionId, priceSlug: 'call', amount: 3, transactionId: 'bulk 2' },
        ],
      }),
    answers: z.object({ usageEvents: z.array(UsageEvent).length(2) }),
    says: { usageEvents: [{ transactionId: 'bulk 1' }, { transactionId: 'bulk 2' }] },
  },
  'POST /customers/{externalId}/archive': {
    call: async (client) => {
      await newSubscriber(client, 'archived');
      return post(client, '/customers/archived/archive', {});
    },
    answers: z.object({ customer: Customer }),
    says: { customer: { archived: true } },
  },
  'GET /customers/{externalId}/usage-balances': {
    call: (client, { subscriptionId }) => get(client, `/customers/ada/usage-balances?subscriptionId=${subscriptionId}`),
    answers: z.object({ usageMeterBalances: z.array(UsageMeterBalance).length(1) }),
    says: { usageMeterBalances: [{ slug: 'calls' }] },
  },
  'POST /subscriptions/{id}/add-feature': {
    call: (client, { subscriptionId }) =>
      post(client, `/subscriptions/${subscriptionId}/add-feature`, { featureSlug: 'audit' }),
    answers: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    says: { subscriptionItemFeature: { slug: 'audit', manuallyCreated: true, productFeatureId: null } },
  },
  'POST /subscriptions/{id}/preview-adjust': {
    call: (client, { subscriptionId }) => terse(client, subscriptionId, 'preview-adjust', 'auto', 2),
    answers: z.object({
      canAdjust: z.literal(true),
      previewGeneratedAt: z.int(),
      prorationAmount: z.int(),
      currentPlanTotal: z.literal(2900),
      newPlanTotal: z.literal(5800),
      resolvedTiming: z.literal('immediately'),
      effectiveDate: z.int(),
      isUpgrade: z.literal(true),
      percentThroughBillingPeriod: z.number(),
      billingPeriodEnd: z.int(),
      paymentMethod: z.object({ id: z.string(), type: z.string(), last4: z.string(), brand: z.string() }),
      currentSubscriptionItems: z.array(planItem()).length(1),
      newSubscriptionItems: z.array(planItem()).length(1),
    }),
  },
  'POST /subscriptions/{id}/cancel-scheduled-adjustment': {
    call: async (client) => {
      const { subscription } = await newSubscriber(client, 'shrinking');
      await terse(client, subscription.id, 'adjust', 'immediately', 3);
      await terse(client, subscription.id, 'adjust', 'at_end_of_current_billing_period', 1);
      return client.post(`/api/v1/subscriptions/${subscription.id}/cancel-scheduled-adjustment`);
    },
    answers: z.object({ subscription: Subscription, canceledItemCount: z.int().min(0) }),
    says: { subscription: { scheduledAdjustmentAt: null } },
  },
  'POST /subscription-item-features': {
    call: async (client, shop) => {
      await newSubscriber(client, 'handmade');
      const { currentSubscription } = await get(client, '/customers/handmade/billing');
      return post(client, '/subscription-item-features', {
        subscriptionItemFeature: {
          subscriptionItemId: currentSubscription.subscriptionItems[0].id,
          featureId: shop.featureIds.audit,
          type: 'toggle',
          name: 'Audit log',
          slug: 'audit',
        },
      });
    },
    answers: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    says: { subscriptionItemFeature: { slug: 'audit', expiredAt: null } },
  },
  'GET /subscription-item-features/{id}': {
    call: async (client) => get(client, `/subscription-item-features/${(await itemFeatureOf(client, 'looked at')).id}`),
    answers: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    says: { subscriptionItemFeature: { slug: 'sso' } },
  },
  'PUT /subscription-item-features/{id}': {
    call: async (client) => {
      const { id } = await itemFeatureOf(client, 'changed');
      const subscriptionItemFeature = { id, type: 'toggle', expiredAt: 4_102_444_800_000 };
      return put(client, `/subscription-item-features/${id}`, { subscriptionItemFeature });
    },
    answers: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    says: { subscriptionItemFeature: { expiredAt: 4_102_444_800_000 } },
  },
  'POST /subscription-item-features/{id}/expire': {
    call: async (client) =>
      post(client, `/subscription-item-features/${(await itemFeatureOf(client, 'ended')).id}/expire`, {}),
    // This answer says when in texts, by specification.
    answers: z.object({
      subscriptionItemFeature: z.object({
        id: z.string(),
        createdAt: z.iso.datetime(),
        expiredAt: z.iso.datetime(),
        slug: z.literal('sso'),
        createdByCommit: z.null(),
      }),
    }),
  },
  'GET /resource-claims/{subscriptionId}/claims': {
    call: async (client) => {
      const { subscription } = await newSubscriber(client, 'claimer');
      await client.resourceClaims.claim(subscription.id, { resourceSlug: 'desk', quantity: 2 });
      return get(client, `/resource-claims/${subscription.id}/claims?resourceSlug=desk`);
    },
    answers: z.object({ claims: z.array(ResourceClaim).length(2) }),
  },
  'POST /webhooks': {
    call: (client, shop) => webhookOf(client, shop, 'Hook'),
    answers: z.object({ webhook: Webhook, secret: z.string().startsWith('whsec_') }),
  },
  'GET /webhooks/{id}': {
    call: async (client, shop) => get(client, `/webhooks/${(await webhookOf(client, shop, 'Seen')).webhook.id}`),
    answers: z.object({ webhook: Webhook }),
  },
  'PUT /webhooks/{id}': {
    call: async (client, shop) => {
      const { id, url, filterTypes } = (await webhookOf(client, shop, 'Old')).webhook;
      return put(client, `/webhooks/${id}`, { webhook: { id, url, filterTypes, name: 'Renamed', active: false } });
    },
    answers: z.object({ webhook: Webhook }),
    says: { webhook: { name: 'Renamed', active: false } },
  },
  'GET /api-keys/{id}': {
    call: async (client) => get(client, `/api-keys/${(await firstOf(client, '/api-keys')).id}`),
    answers: z.object({ apiKey: ApiKey }),
  },
  'GET /purchases/{id}': {
    call: async (client, _shop, app) => {
      await newCustomer(client, 'buyer');
      const { checkoutSession } = await client.checkoutSessions.create({
        checkoutSession: {
          ...returns,
          type: 'product',
          customerExternalId: 'buyer',
          priceSlug: 'onboarding-once',
          outputName: 'Kick-off',
        },
      });
      await payBy(app, checkoutSession.id);
      const { purchases } = await client.customers.retrieveBilling('buyer');
      return get(client, `/purchases/${purchases[0]?.id}`);
    },
    answers: z.object({ purchase: Purchase }),
    says: { purchase: { priceType: 'single_payment', status: 'paid', name: 'Kick-off', totalPurchaseValue: 10_000 } },
  },
};

function planItem() {
  return z.object({ name: z.string(), unitPrice: z.int(), quantity: z.int(), priceId: z.string() });
}

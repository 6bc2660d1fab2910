import type { Body, TestApp } from './harness.ts';

const feature = { description: '', active: true };
const subscription = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, isDefault: true, active: true };

/** A free plan, a paid one, one with a trial, and another that costs nothing. */
const plans = {
  name: 'Plans',
  isDefault: true,
  features: [
    { ...feature, type: 'toggle', slug: 'sso', name: 'SSO' },
    {
      ...feature,
      type: 'usage_credit_grant',
      slug: 'monthly-calls',
      name: 'Calls of a month',
      amount: 1000,
      renewalFrequency: 'every_billing_period',
      usageMeterSlug: 'api-calls',
    },
    {
      ...feature,
      type: 'usage_credit_grant',
      slug: 'welcome-calls',
      name: 'Calls to begin with',
      amount: 500,
      renewalFrequency: 'once',
      usageMeterSlug: 'api-calls',
    },
    { ...feature, type: 'resource', slug: 'seats', name: 'Seats', amount: 5, resourceSlug: 'seat' },
  ],
  products: [
    {
      product: { name: 'Free', slug: 'free', active: true, default: true },
      price: { ...subscription, slug: 'free-monthly', name: 'Monthly', unitPrice: 0 },
      features: ['welcome-calls', 'seats'],
    },
    {
      product: { name: 'Pro', slug: 'pro', active: true },
      price: { ...subscription, slug: 'pro-monthly', name: 'Monthly', unitPrice: 3000 },
      features: ['sso', 'monthly-calls', 'welcome-calls', 'seats'],
    },
    {
      product: { name: 'Team', slug: 'team', active: true },
      price: { ...subscription, slug: 'team-monthly', name: 'Monthly', unitPrice: 3000, trialPeriodDays: 14 },
      features: ['monthly-calls'],
    },
    {
      product: { name: 'Community', slug: 'community', active: true },
      price: { ...subscription, slug: 'community', unitPrice: 0 },
      features: [],
    },
  ],
  usageMeters: [
    {
      usageMeter: { name: 'API calls', slug: 'api-calls' },
      prices: [
        {
          ...subscription,
          type: 'usage',
          slug: 'call-overage',
          unitPrice: 50,
          usageEventsPerUnit: 100,
        },
      ],
    },
  ],
  resources: [{ slug: 'seat', name: 'Seat', active: true }],
};

/** Makes the pricing model of these plans through the API. */
export async function setUpPlans(app: TestApp) {
  const { pricingModel } = await app.post('/pricing-models/setup', plans);
  const priceOf = (slug: string): Body =>
    pricingModel.products.flatMap((product: Body) => product.prices).find((price: Body) => price.slug === slug);
  let made = 0;
  return {
    pricingModelId: pricingModel.id as string,
    priceOf,
    /** A customer on the free plan, with a card when one is named. */
    async newCustomer(token?: string) {
      made += 1;
      const externalId = `customer-${made}`;
      const { data } = await app.post('/customers', {
        customer: { externalId, email: `${made}@acme.test`, name: 'Acme' },
      });
      const customerId: string = data.customer.id;
      const attached =
        token === undefined
          ? null
          : await app.post('/payment-methods', { paymentMethod: { customerId, type: 'card', token } });
      const paymentMethodId: string | null = attached?.paymentMethod.id ?? null;
      return { externalId, customerId, freeId: data.subscription.id as string, paymentMethodId };
    },
    async subscribe(body: Body): Promise<Body> {
      return (await app.post('/subscriptions', body)).subscription;
    },
    async cancel(id: string, timing: string): Promise<Body> {
      return (await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing } })).subscription;
    },
    async subscription(id: string): Promise<Body> {
      return (await app.get(`/subscriptions/${id}`)).subscription;
    },
    async events(objectId: string): Promise<string[]> {
      const rows = await app.owner
        .selectFrom('events')
        .select('type')
        .where('objectId', '=', objectId)
        .orderBy('id')
        .execute();
      return rows.map((row) => row.type);
    },
    /** The balance of API calls of a subscription. */
    async calls(externalId: string, subscriptionId: string): Promise<number | undefined> {
      const path = `/customers/${externalId}/usage-balances?subscriptionId=${subscriptionId}`;
      const { usageMeterBalances } = await app.get(path);
      return usageMeterBalances[0]?.availableBalance;
    },
  };
}

export type Plans = Awaited<ReturnType<typeof setUpPlans>>;

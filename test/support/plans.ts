import type { Body, TestApp } from './harness.ts';
import { capacity, credits, eventTypes, firstBalance, meter, newCustomer, plan, resource, toggle } from './shop.ts';

/** A free plan, a paid one, one with a trial, and another that costs nothing. */
export const plans = {
  name: 'Plans',
  isDefault: true,
  features: [
    toggle('sso', { name: 'SSO' }),
    credits('monthly-calls', 1000, 'api-calls', { name: 'Calls of a month' }),
    credits('welcome-calls', 500, 'api-calls', { name: 'Calls to begin with', renewalFrequency: 'once' }),
    capacity('seats', 5, 'seat', { name: 'Seats' }),
  ],
  products: [
    plan('free', 0, ['welcome-calls', 'seats'], { product: { name: 'Free' } }),
    plan('pro', 3000, ['sso', 'monthly-calls', 'welcome-calls', 'seats'], { product: { name: 'Pro' } }),
    plan('team', 3000, ['monthly-calls'], { product: { name: 'Team' }, trialPeriodDays: 14 }),
    plan('community', 0, [], { product: { name: 'Community' }, slug: 'community' }),
  ],
  usageMeters: [meter('api-calls', 'API calls', { slug: 'call-overage', unitPrice: 50, usageEventsPerUnit: 100 })],
  resources: [resource('seat', 'Seat')],
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
    newCustomer(token?: string) {
      made += 1;
      return newCustomer(app, `customer-${made}`, { token, email: `${made}@acme.test` });
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
    events: (objectId: string) => eventTypes(app, objectId),
    /** The balance of API calls of a subscription. */
    calls: (externalId: string, subscriptionId: string) => firstBalance(app, externalId, subscriptionId),
  };
}

export type Plans = Awaited<ReturnType<typeof setUpPlans>>;

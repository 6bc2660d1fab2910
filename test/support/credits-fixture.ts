import { catchUp } from '../../src/billing/catch-up.ts';
import type { Body, TestApp } from './harness.ts';
import { credits, firstBalance, meter, newCustomer, plan } from './shop.ts';

let made = 0;

/**
 * A pricing model whose plan brings credits of the meter `calls` every month, as `grant` says. `meter` adds to the meter.
 */
export async function setUpCredits(
  app: TestApp,
  { grant = {}, meter: more = {} }: { grant?: object; meter?: object } = {},
) {
  made += 1;
  const { pricingModel } = await app.post('/pricing-models/setup', {
    name: `Credits ${made}`,
    isDefault: true,
    features: [credits('monthly-calls', 100, 'calls', { name: 'Calls of a month', ...grant })],
    products: [plan('plan', 3000, ['monthly-calls'], { product: { name: 'Plan' }, slug: 'plan' })],
    usageMeters: [meter('calls', 'Calls', { slug: 'call', unitPrice: 1, usageEventsPerUnit: 1 }, more)],
    resources: [],
  });
  const pricingModelId: string = pricingModel.id;
  const meterId: string = pricingModel.usageMeters[0].id;
  const priceId: string = pricingModel.products.find(({ slug }: Body) => slug === 'plan').defaultPrice.id;
  return {
    pricingModelId,
    meterId,
    featureId: (await app.get(`/features?pricingModelId=${pricingModelId}`)).data[0].id as string,
    /** A customer whose subscription to the plan begins now. It is not charged, so nothing waits for money. */
    async subscribe(change: object = {}) {
      made += 1;
      const { externalId, customerId } = await newCustomer(app, `customer-${made}`, { pricingModelId });
      const { subscription } = await app.post('/subscriptions', {
        customerId,
        priceId,
        doNotCharge: true,
        ...change,
      });
      return actionsOf(app, { id: subscription.id, customerId, externalId });
    },
  };
}

/** A subscription to the plan, and what is done with it. */
function actionsOf(app: TestApp, ids: { id: string; customerId: string; externalId: string }) {
  const { id, externalId } = ids;
  let uses = 0;
  return {
    ...ids,
    async use(amount: number) {
      uses += 1;
      const usageEvent = { subscriptionId: id, usageMeterSlug: 'calls', transactionId: `${id} ${uses}`, amount };
      return (await app.post('/usage-events', { usageEvent })).usageEvent as Body;
    },
    async grant(change: object = {}) {
      const usageCredit = { subscriptionId: id, usageMeterSlug: 'calls', amount: 100, ...change };
      return (await app.post('/usage-credits', { usageCredit })).usageCredit as Body;
    },
    takeBack: (creditId: string, body: object = {}) =>
      app.request('POST', `/usage-credits/${creditId}/take-back`, body),
    /** Its credits, the oldest first. */
    async credits(filter = ''): Promise<Body[]> {
      return (await app.get(`/usage-credits?limit=100&subscriptionId=${id}${filter}`)).data;
    },
    balance: async () => (await firstBalance(app, externalId, id)) ?? 0,
    /** Lives through everything that is due until then. */
    async liveUntil(at: number): Promise<void> {
      await app.setClock(at);
      await app.inCellOf(id, (work) => catchUp(work, id));
    },
    /** From now on no more credits come with its periods. */
    async expireFeature(): Promise<void> {
      const { currentSubscription } = await app.get(`/customers/${externalId}/billing`);
      const [feature] = currentSubscription.experimental.featureItems;
      await app.post(`/subscription-item-features/${feature.id}/expire`, {});
    },
    /** How often it was told that its balance is low. */
    async timesTold(): Promise<number> {
      return (await app.get(`/events?type=usage_balance.low&objectId=${id}`)).total;
    },
  };
}

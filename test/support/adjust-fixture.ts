import assert from 'node:assert/strict';
import { instant } from '../../src/kernel/calendar.ts';
import type { Body, TestApp } from './harness.ts';
import {
  capacity,
  credits,
  eventTypes,
  firstBalance,
  meter,
  newCard,
  newCustomer,
  plan,
  resource,
  toggle,
} from './shop.ts';

/** April has 30 days, so 3000 a month are 100 a day. */
export const april = instant('2026-04-01');
export const may = instant('2026-05-01');
/** So many days into April. */
export const day = (elapsed: number) => april + elapsed * 86_400_000;

/** Plans named after what they cost a month, and plans that differ in what they give. */
const structure = {
  name: 'Changes of plan',
  isDefault: true,
  features: [
    toggle('sso'),
    toggle('audit'),
    ...[360, 900, 1000, 3600].map((amount) => credits(`calls-${amount}`, amount, 'api-calls')),
    credits('welcome-500', 500, 'api-calls', { renewalFrequency: 'once' }),
    ...[3, 10].map((amount) => capacity(`seats-${amount}`, amount, 'seat')),
  ],
  products: [
    plan('free', 0, [], { product: { name: 'Free' } }),
    ...[100, 200, 999, 1000, 1999, 3000, 6000, 9000].map((unitPrice) => plan(`p${unitPrice}`, unitPrice)),
    plan('zero', 0),
    plan('trial', 3000, [], { trialPeriodDays: 14 }),
    plan('yearly', 30_000, [], { intervalUnit: 'year' }),
    plan('thirty', 3000, ['calls-360'], { intervalUnit: 'day', intervalCount: 30 }),
    plan('pro-year', 30_000, ['sso', 'calls-3600', 'seats-10', 'welcome-500'], { intervalUnit: 'year' }),
    plan('bare-year', 30_000, [], { intervalUnit: 'year' }),
    plan('pro', 3000, ['sso', 'calls-360', 'seats-10']),
    plan('pledge', 3000, ['calls-360'], { minimumCommitment: 4500 }),
    plan('mega', 9000, ['sso', 'audit', 'calls-900', 'seats-10']),
    plan('small', 1000, ['seats-3']),
    plan('extra', 500, ['calls-1000', 'welcome-500']),
  ],
  usageMeters: [meter('api-calls', 'API calls', { slug: 'call-overage', unitPrice: 50, usageEventsPerUnit: 100 })],
  resources: [resource('seat', 'Seat')],
};

/** Makes the plans through the API, and what tests of changes do with them. */
export async function setUpChanges(app: TestApp) {
  await app.setClock(april);
  const { pricingModel } = await app.post('/pricing-models/setup', structure);
  const prices = new Map<string, Body>(
    pricingModel.products.flatMap((product: Body) => product.prices).map((price: Body) => [price.slug, price]),
  );
  const { data: features } = await app.get('/features?limit=100');
  let made = 0;

  const priceIdOf = (name: string): string => {
    const price = prices.get(`${name}-monthly`);
    assert(price, `no plan ${name}`);
    return price.id;
  };
  /** `p3000` or `p1000 x 5` as an item. */
  const item = (text: string): Body => {
    const [name = '', quantity] = text.split(' x ');
    return { priceSlug: `${name}-monthly`, ...(quantity === undefined ? {} : { quantity: Number(quantity) }) };
  };
  const adjustmentOf = (items: string | readonly (string | Body)[], more: Body = {}) => ({
    adjustment: {
      timing: 'immediately',
      newSubscriptionItems: [items].flat().map((each) => (typeof each === 'string' ? item(each) : each)),
      ...more,
    },
  });

  return {
    pricingModelId: pricingModel.id as string,
    priceIdOf,
    item,
    featureIdOf: (slug: string): string => features.find((row: Body) => row.slug === slug).id,
    /** A customer on a plan since 1 April, charged on a card of this token. */
    async subscribe(plans: string, { token = 'pm_card_visa', ...more }: Body = {}) {
      await app.setClock(april);
      made += 1;
      const { externalId, customerId, paymentMethodId } = await newCustomer(app, `customer-${made}`, { token });
      const { subscription } = await app.post('/subscriptions', {
        customerId,
        ...item(plans),
        ...(paymentMethodId === null ? {} : { defaultPaymentMethodId: paymentMethodId }),
        ...more,
      });
      return { id: subscription.id as string, customerId, externalId, subscription };
    },
    /** Another card of the customer, charged from now on where the subscription names none. */
    attach: (customerId: string, token: string) => newCard(app, customerId, token, { default: true }),
    adjustmentOf,
    adjust: (id: string, items: string | readonly (string | Body)[], more: Body = {}): Promise<Body> =>
      app.post(`/subscriptions/${id}/adjust`, adjustmentOf(items, more)),
    preview: (id: string, items: string | readonly (string | Body)[], more: Body = {}): Promise<Body> =>
      app.post(`/subscriptions/${id}/preview-adjust`, adjustmentOf(items, more)),
    /** What the change is refused with. */
    async refused(id: string, items: string | readonly (string | Body)[], status: number, more: Body = {}) {
      const answer = await app.request('POST', `/subscriptions/${id}/adjust`, adjustmentOf(items, more));
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      return answer.body.message as string;
    },
    subscription: async (id: string): Promise<Body> => (await app.get(`/subscriptions/${id}`)).subscription,
    /** Status and total of each invoice of the subscription, oldest first. */
    async invoices(id: string): Promise<[string, number][]> {
      const { data } = await app.get(`/invoices?limit=100&subscriptionId=${id}`);
      return data.map((invoice: Body) => [invoice.status, invoice.total]);
    },
    /** Moves the billing anchor; `query` may ask for a dry run. */
    moveAnchor: (id: string, billingCycleAnchorDate: number, query = '') =>
      app.request('PUT', `/subscriptions/${id}${query}`, { subscription: { billingCycleAnchorDate } }),
    /** The plan's items that count now. */
    async itemsOf(externalId: string): Promise<Body[]> {
      return (await app.get(`/customers/${externalId}/billing`)).currentSubscription.subscriptionItems;
    },
    /** The plan's items as `[price, quantity]`. */
    async items(externalId: string): Promise<[number, number][]> {
      const { currentSubscription } = await app.get(`/customers/${externalId}/billing`);
      return currentSubscription.subscriptionItems.map((each: Body) => [each.unitPrice, each.quantity]);
    },
    /** The slugs of what the customer has, in order. */
    async features(externalId: string): Promise<string[]> {
      const { currentSubscription } = await app.get(`/customers/${externalId}/billing`);
      return currentSubscription.experimental.featureItems.map((each: Body) => each.slug).sort();
    },
    calls: async (externalId: string, id: string) => (await firstBalance(app, externalId, id)) ?? 0,
    async use(subscriptionId: string, amount: number): Promise<void> {
      made += 1;
      const usageEvent = { subscriptionId, priceSlug: 'call-overage', transactionId: `use-${made}`, amount };
      await app.post('/usage-events/bulk', { usageEvents: [usageEvent] });
    },
    /** Charges the subscription on this payment method from now on. */
    async chargeOn(id: string, defaultPaymentMethodId: string | null): Promise<void> {
      await app.owner.updateTable('subscriptions').set({ defaultPaymentMethodId }).where('id', '=', id).execute();
    },
    /** Moves the clock on, with all work that comes due. */
    async moveTo(now: number): Promise<void> {
      await app.put('/test-clock', { testClock: { now } });
    },
    events: (objectId: string) => eventTypes(app, objectId),
  };
}

export type Changes = Awaited<ReturnType<typeof setUpChanges>>;

import { slotOfCustomer } from '../../src/customers/actions-slots.ts';
import { nameIn } from './fixtures.ts';
import type { Body, TestApp } from './harness.ts';
import {
  type Account,
  type Feature,
  grantFeatures,
  type Price,
  pass,
  type Subscription,
  takePictures,
  type World,
} from './usage-oracle.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const begin = Date.UTC(2030, 0, 1);

const prices: Record<string, Price> = {
  call: { meter: 'calls', unitPrice: 50, unitsPerPrice: 100 },
  'call-in-batch': { meter: 'calls', unitPrice: 7, unitsPerPrice: 2 },
  user: { meter: 'users', unitPrice: 300, unitsPerPrice: 1 },
  // Every meter has one that costs nothing.
  users_no_charge: { meter: 'users', unitPrice: 0, unitsPerPrice: 1 },
};

const features: Record<'pro' | 'team', readonly Feature[]> = {
  pro: [
    { slug: 'pro-calls', meter: 'calls', amount: 30, renews: true, rollover: { maximum: 15, periods: 2 } },
    { slug: 'pro-users', meter: 'users', amount: 6, renews: false, rollover: null },
  ],
  team: [
    { slug: 'team-calls', meter: 'calls', amount: 10, renews: true, rollover: null },
    { slug: 'team-users', meter: 'users', amount: 5, renews: true, rollover: { maximum: 8, periods: 1 } },
  ],
};

/** Who subscribes to what, and when their money arrives. */
const subscribers = [
  { name: 'ada pro', customer: 'ada', plan: 'pro', days: 3, pays: 'at once' },
  { name: 'ada team', customer: 'ada', plan: 'team', days: 2, pays: 'never' },
  { name: 'bob pro', customer: 'bob', plan: 'pro', days: 3, pays: 'an hour later' },
] as const;

const interval = { intervalUnit: 'day', isDefault: true };
const usage = (slug: string, isDefault: boolean) => {
  const { unitPrice, unitsPerPrice } = prices[slug] ?? {};
  return {
    ...interval,
    intervalCount: 1,
    type: 'usage',
    usageInterval: 'subscription',
    slug,
    isDefault,
    unitPrice,
    usageEventsPerUnit: unitsPerPrice,
  };
};

const structure = {
  name: 'Model',
  isDefault: true,
  features: [...features.pro, ...features.team].map(({ slug, meter, amount, renews, rollover }) => ({
    type: 'usage_credit_grant',
    slug,
    name: slug,
    description: '',
    amount,
    renewalFrequency: renews ? 'every_billing_period' : 'once',
    usageMeterSlug: meter,
    rolloverMaximum: rollover?.maximum ?? null,
    rolloverPeriods: rollover?.periods ?? null,
  })),
  products: [
    { slug: 'pro', days: 3, unitPrice: 3000 },
    { slug: 'team', days: 2, unitPrice: 1000 },
  ].map(({ slug, days, unitPrice }) => ({
    product: { name: slug, slug, active: true },
    price: { ...interval, type: 'subscription', slug, intervalCount: days, unitPrice },
    features: features[slug === 'pro' ? 'pro' : 'team'].map((feature) => feature.slug),
  })),
  usageMeters: [
    { usageMeter: { name: 'Calls', slug: 'calls' }, prices: [usage('call', true), usage('call-in-batch', false)] },
    {
      usageMeter: { name: 'Users', slug: 'users', aggregationType: 'count_distinct_properties' },
      prices: [usage('user', true)],
    },
  ],
};

/** An organization of its own with three subscriptions of two customers, and what the oracle knows of it. */
export interface ModelWorld {
  readonly oracle: World;
  /** Of meters, prices, features and subscriptions, by their names here. */
  readonly ids: Readonly<Record<string, string>>;
  /** Customers, by subscription. */
  readonly customers: Readonly<Record<string, string>>;
  request(method: string, path: string, body?: object): Promise<Body>;
  get(path: string): Promise<Body>;
  /** Sets the clock without doing what has come due. */
  setClock(at: number): Promise<void>;
}

export async function newModelWorld(app: TestApp): Promise<ModelWorld> {
  const { testKey: key, testEnvironmentId } = await app.newOrganization();
  const put = (path: string, body: object) => app.put(path, body, { key });
  const post = (path: string, body: object) => app.post(path, body, { key });
  const moveTo = (now: number) => put('/test-clock', { testClock: { now } });
  await moveTo(begin);
  await put('/settings', { settings: { allowMultipleSubscriptions: true } });
  const { pricingModel } = await post('/pricing-models/setup', structure);
  const ids: Record<string, string> = {};
  for (const { slug, id, prices } of pricingModel.usageMeters) {
    ids[slug] = id;
    for (const price of prices) ids[price.slug] = price.id;
  }
  for (const { slug, id } of (await app.get('/features?limit=100', { key })).data) ids[slug] = id;
  // A transaction of one may be repeated by the other, and counts once in one cell.
  const cell = app.databaseOf(slotOfCustomer(testEnvironmentId, 'ada'));
  const externalIdOf = (name: string) => nameIn(app, cell, testEnvironmentId, name);
  for (const [name = '', token] of [
    ['ada', 'pm_card_visa'],
    ['bob', 'pm_card_processing'],
  ]) {
    const externalId = externalIdOf(name);
    const customer = { externalId, email: `${externalId}@acme.test`, name };
    ids[name] = (await post('/customers', { customer })).data.customer.id;
    await post('/payment-methods', { paymentMethod: { customerExternalId: externalId, type: 'card', token } });
  }
  const oracle: World = { now: begin, prices, distinctMeters: ['users'], subscriptions: {}, events: [] };
  for (const { name, customer, plan, days, pays } of subscribers) {
    const doNotCharge = pays === 'never';
    const { subscription } = await post('/subscriptions', {
      customerExternalId: externalIdOf(customer),
      priceSlug: plan,
      doNotCharge,
    });
    ids[name] = subscription.id;
    const accounts = { calls: emptyAccount(), users: emptyAccount() };
    const [start, periodMs] = [oracle.now, days * dayMs];
    const added: Subscription = {
      pays,
      features: features[plan],
      periodMs,
      start,
      end: start + periodMs,
      accounts,
      invoices: [],
    };
    // What is paid an hour later is not granted before.
    const later = oracle.now + (pays === 'an hour later' ? hourMs : 0);
    await moveTo(later);
    pass(oracle, later);
    oracle.subscriptions[name] = added;
    grantFeatures(oracle, added, true);
    takePictures(oracle);
    await moveTo(oracle.now + 6 * hourMs);
    pass(oracle, oracle.now + 6 * hourMs);
  }
  return {
    oracle,
    ids,
    customers: Object.fromEntries(subscribers.map(({ name, customer }) => [name, externalIdOf(customer)])),
    request: (method, path, body) => app.request(method, path, body, { key }),
    get: (path) => app.get(path, { key }),
    setClock: (at) => app.setClock(at, testEnvironmentId),
  };
}

function emptyAccount(): Account {
  return { credits: [], entries: [], holds: [], overages: {}, pictures: [] };
}

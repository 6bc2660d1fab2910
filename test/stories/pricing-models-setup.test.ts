import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { provisionPricingModel } from '../../src/pricing/actions-models.ts';
import { listUsagePrices } from '../../src/pricing/store-prices.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { acme, countRows } from '../support/pricing-models.ts';
import { meter, newCustomer, plan } from '../support/shop.ts';

const app = await startTestApp();
const now = Date.UTC(2026, 0, 1);
await app.setClock(now);

const setUp = async (body: object) => (await app.post('/pricing-models/setup', body)).pricingModel;
const refused = async (body: object) => {
  const answer = await app.request('POST', '/pricing-models/setup', body);
  assert.equal(answer.status, 400, JSON.stringify(answer.body));
  return answer.body.issues.map(({ path }: Body) => path.join('.'));
};
const bySlug = (records: readonly Body[]) => Object.fromEntries(records.map((record) => [record.slug, record]));

test('the whole of what was set up is answered, with the Free Plan and the no-charge price added', async () => {
  const model = await setUp(acme());
  const known = { createdAt: now, updatedAt: now, livemode: false };
  const owned = { ...known, organizationId: app.id, pricingModelId: model.id };
  const { team, free } = bySlug(model.products);
  const [meter] = model.usageMeters;
  const feature = bySlug(team.features);
  const ids = (record: Body) => ({ id: record.id });

  const words = {
    metadata: null,
    imageURL: null,
    singularQuantityLabel: null,
    pluralQuantityLabel: null,
    minimumQuantity: null,
    maximumQuantity: null,
    usagePrices: [],
    addOn: false,
    description: null,
  };
  const monthly = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, usageMeterId: null };
  const priceOf = (product: Body, fields: object) => ({
    ...known,
    metadata: null,
    ...monthly,
    ...ids(product.defaultPrice),
    pricingModelId: model.id,
    productId: product.id,
    usageEventsPerUnit: null,
    currency: 'USD',
    isDefault: true,
    active: true,
    ...fields,
  });
  const teamPrice = priceOf(team, {
    name: null,
    slug: 'team-monthly',
    unitPrice: 2900,
    trialPeriodDays: 14,
    overage: 'bill',
    pricing: null,
    setupFeeAmount: null,
    minimumCommitment: null,
    billingTiming: 'in_advance',
    where: null,
    usageInterval: null,
  });
  const freePrice = priceOf(free, {
    name: 'Free Plan',
    slug: 'free',
    unitPrice: 0,
    trialPeriodDays: null,
    overage: 'none',
    pricing: null,
    setupFeeAmount: null,
    minimumCommitment: null,
    billingTiming: 'in_advance',
    where: null,
    usageInterval: null,
  });
  const text = (slug: string, name: string, description: string) => ({
    ...owned,
    ...ids(feature[slug]),
    slug,
    name,
    description,
    active: true,
  });
  const rollover = { rolloverMaximum: null, rolloverPeriods: null };
  const rhythm = { renewalFrequency: null, grantInterval: null };
  const nothing = { amount: null, usageMeterId: null, ...rhythm, resourceId: null, ...rollover };
  const { resources } = await app.get('/resources');
  const seat = resources.find((resource: Body) => resource.pricingModelId === model.id);
  const features = [
    { ...text('sso', 'SSO', 'Single sign-on'), type: 'toggle', ...nothing },
    {
      ...text('calls-10k', '10k calls', 'Monthly calls'),
      ...nothing,
      type: 'usage_credit_grant',
      amount: 10000,
      renewalFrequency: 'every_billing_period',
      usageMeterId: meter.id,
    },
    { ...text('seats-5', '5 seats', 'Seats'), ...nothing, type: 'resource', amount: 5, resourceId: seat.id },
  ];
  const product = (record: Body, fields: object) => ({ ...owned, ...words, ...ids(record), active: true, ...fields });
  const teamProduct = product(team, {
    name: 'Team',
    slug: 'team',
    default: false,
    prices: [teamPrice],
    defaultPrice: teamPrice,
    features,
  });
  const freeProduct = product(free, {
    name: 'Free Plan',
    slug: 'free',
    default: true,
    prices: [freePrice],
    defaultPrice: freePrice,
    features: [],
  });
  const usage = (price: Body, fields: object) => ({
    ...known,
    ...ids(price),
    pricingModelId: model.id,
    metadata: null,
    type: 'usage',
    productId: null,
    usageMeterId: meter.id,
    intervalUnit: 'month',
    intervalCount: 1,
    trialPeriodDays: null,
    overage: null,
    pricing: null,
    setupFeeAmount: null,
    minimumCommitment: null,
    billingTiming: null,
    where: null,
    usageInterval: 'own',
    currency: 'USD',
    active: true,
    ...fields,
  });
  const overage = usage(meter.prices[0], {
    name: null,
    slug: 'call-overage',
    unitPrice: 1,
    usageEventsPerUnit: 100,
    isDefault: true,
  });
  const noCharge = usage(meter.prices[1], {
    name: 'API calls - No Charge',
    slug: 'api-calls_no_charge',
    unitPrice: 0,
    usageEventsPerUnit: 1,
    usageInterval: 'subscription',
    isDefault: false,
  });
  assert.deepEqual(model, {
    ...known,
    id: model.id,
    organizationId: app.id,
    isDefault: false,
    name: 'Acme 2026',
    products: [teamProduct, freeProduct],
    usageMeters: [
      {
        ...owned,
        ...ids(meter),
        name: 'API calls',
        slug: 'api-calls',
        aggregationType: 'sum',
        recurring: false,
        proration: 'none',
        lowBalanceThreshold: null,
        eventName: null,
        where: null,
        valueProperty: null,
        prices: [overage, noCharge],
        defaultPrice: overage,
      },
    ],
    defaultProduct: freeProduct,
  });
  assert.deepEqual(seat, { ...owned, ...ids(seat), slug: 'seat', name: 'Seat', active: true });
  assert.deepEqual((await app.get(`/pricing-models/${model.id}`)).pricingModel, model);
});

test('a name alone makes a pricing model with the Free Plan', async () => {
  const { products, usageMeters, defaultProduct } = await setUp({ name: '  Nothing yet ' });
  assert.deepEqual(usageMeters, []);
  assert.deepEqual(products, [defaultProduct]);
  assert.equal(defaultProduct.defaultPrice.intervalUnit, 'month');
});

test('a given default product takes the place of the Free Plan', async () => {
  const start = { name: 'Start', slug: 'start', default: true };
  const price = { type: 'single_payment', unitPrice: 0 };
  const { products, defaultProduct } = await setUp({ name: 'Given', products: [{ product: start, price }] });
  assert.deepEqual(
    products.map(({ slug }: Body) => slug),
    ['start'],
  );
  assert.equal(defaultProduct.defaultPrice.slug, null);
});

test('a meter without a default price has its no-charge price as the default', async () => {
  const prices = [{ unitPrice: 2 }];
  const usageMeters = [{ usageMeter: { name: 'Calls', slug: 'calls' }, prices }];
  const [meter] = (await setUp({ name: 'Metered', usageMeters })).usageMeters;
  assert.equal(meter.defaultPrice.slug, 'calls_no_charge');
  const { type, intervalUnit, intervalCount, usageEventsPerUnit } = meter.prices[0];
  assert.deepEqual([type, intervalUnit, intervalCount, usageEventsPerUnit], ['usage', 'month', 1, 1]);
});

test('a new environment starts with a default pricing model that holds the Free Plan', async () => {
  const { id } = await app.inEnvironment(provisionPricingModel);
  const { pricingModel } = await app.get('/pricing-models/default');
  assert.equal(pricingModel.id, id);
  assert.equal(pricingModel.name, 'Default');
  const { type, slug, intervalUnit, intervalCount, unitPrice } = pricingModel.defaultProduct.defaultPrice;
  assert.deepEqual([type, slug, intervalUnit, intervalCount, unitPrice], ['subscription', 'free', 'month', 1, 0]);
});

test('what is inactive is stored and not offered', async () => {
  const { id, products, usageMeters } = await setUp({
    name: 'Half',
    features: [{ type: 'toggle', slug: 'old', name: 'Old', active: false }],
    products: [
      {
        product: { name: 'Gone', slug: 'gone', active: false },
        price: { type: 'single_payment', unitPrice: 100, slug: 'gone' },
      },
    ],
    usageMeters: [
      { usageMeter: { name: 'Calls', slug: 'calls' }, prices: [{ unitPrice: 5, slug: 'old-calls', active: false }] },
    ],
    resources: [{ slug: 'seat', name: 'Seat', active: false }],
  });
  assert.deepEqual(
    products.map(({ slug }: Body) => slug),
    ['free'],
  );
  assert.equal(usageMeters[0].prices.length, 1);
  const { pricingModel } = await app.get(`/pricing-models/${id}/export`);
  assert.equal(pricingModel.features[0].active, false);
  assert.equal(pricingModel.products[0].product.active, false);
  assert.equal(pricingModel.usageMeters[0].prices[0].active, false);
  assert.equal(pricingModel.resources[0].active, false);
});

test('the name of a pricing model has 1 to 255 characters', async () => {
  assert.deepEqual(await refused({ name: '' }), ['name']);
  assert.deepEqual(await refused({ name: '   ' }), ['name']);
  assert.deepEqual(await refused({}), ['name']);
  assert.equal((await setUp({ name: 'n' })).name, 'n');
  assert.equal((await setUp({ name: 'n'.repeat(255) })).name.length, 255);
  assert.deepEqual(await refused({ name: 'n'.repeat(256) }), ['name']);
});

test('unitPrice and trialPeriodDays go from 0 to 4503599627370495', async () => {
  const largest = 4_503_599_627_370_495;
  const withPrice = (price: object) => ({
    name: 'Bounds',
    products: [
      {
        product: { name: 'Pro', slug: 'pro' },
        price: { type: 'subscription', intervalUnit: 'day', unitPrice: 1, ...price },
      },
    ],
  });
  for (const field of ['unitPrice', 'trialPeriodDays']) {
    for (const value of [0, largest]) {
      const { products } = await setUp(withPrice({ [field]: value }));
      assert.equal(products[0].defaultPrice[field], value);
    }
    for (const value of [-1, largest + 1, 0.5]) {
      assert.deepEqual(await refused(withPrice({ [field]: value })), [`products.0.price.${field}`]);
    }
  }
  const usage = (unitPrice: number) => ({
    name: 'Bounds',
    usageMeters: [{ usageMeter: { name: 'Calls', slug: 'calls' }, prices: [{ unitPrice }] }],
  });
  assert.equal((await setUp(usage(largest))).usageMeters[0].prices[0].unitPrice, largest);
  assert.deepEqual(await refused(usage(largest + 1)), ['usageMeters.0.prices.0.unitPrice']);
});

test('nothing is stored when the last of all records is refused', async () => {
  const before = await countRows(app);
  const body = acme();
  body.resources.push({ slug: 'seat', name: 'Another seat' });
  assert.deepEqual(await refused(body), ['resources.1.slug']);
  const unknown = acme();
  unknown.products[0].features.push('nowhere');
  const answer = await app.request('POST', '/pricing-models/setup', unknown);
  assert.equal(answer.status, 404);
  assert.deepEqual(await countRows(app), before);
});

test('a dry run answers the same and stores nothing', async () => {
  const before = await countRows(app);
  const { pricingModel } = await app.post('/pricing-models/setup?dryRun=true', acme());
  assert.equal(pricingModel.products.length, 2);
  assert.deepEqual(await countRows(app), before);
});

test('a repeat with the same Idempotency-Key gives the same answer and makes nothing more', async () => {
  const headers = { 'idempotency-key': randomUUID() };
  const first = await app.post('/pricing-models/setup', acme(), { headers });
  const before = await countRows(app);
  assert.deepEqual(await app.post('/pricing-models/setup', acme(), { headers }), first);
  assert.deepEqual(await countRows(app), before);
});

test('the mode of a pricing model is that of the key, and there may be any number of live ones', async () => {
  for (let count = 0; count < 2; count++) {
    const { pricingModel } = await app.post('/pricing-models/setup', acme(), { key: app.liveKey });
    assert.equal(pricingModel.livemode, true);
    assert.equal(pricingModel.products[0].defaultPrice.livemode, true);
    const elsewhere = await app.request('GET', `/pricing-models/${pricingModel.id}`);
    assert.equal(elsewhere.status, 404);
  }
});

test('a new default pricing model takes the flag from the former one', async () => {
  const first = await setUp({ name: 'First', isDefault: true });
  const second = await setUp({ name: 'Second', isDefault: true });
  assert.equal(second.isDefault, true);
  assert.equal((await app.get(`/pricing-models/${first.id}`)).pricingModel.isDefault, false);
  assert.equal((await app.get('/pricing-models/default')).pricingModel.id, second.id);
});

test('the rate of a plan that nobody else can have any more is shown to its buyers as it is billed', async () => {
  const rate = { usageMeterSlug: 'calls', priceSlug: 'old-calls' };
  const calls = meter('calls', 'Calls', { slug: 'old-calls', unitPrice: 7, isDefault: false, active: false });
  const { products } = await setUp({
    name: 'Former rates',
    isDefault: true,
    products: [plan('free', 0), plan('pro', 3000, [], { product: { usagePrices: [rate] } })],
    usageMeters: [calls],
  });
  const { customerId } = await newCustomer(app, 'former', { token: 'pm_card_visa' });
  const { subscription } = await app.post('/subscriptions', { customerId, priceSlug: 'pro-monthly' });
  const usageEvent = { subscriptionId: subscription.id, usageMeterSlug: 'calls', amount: 10, transactionId: 'former' };
  await app.post('/usage-events', { usageEvent });
  const { invoice } = await app.get(`/invoices/upcoming?subscriptionId=${subscription.id}`);
  assert.equal(invoice.total, 3000 + 70);
  const shown = await app.inEnvironment((work) => listUsagePrices(work, [bySlug(products).pro.id], 10));
  assert.deepEqual(
    shown.map(({ unitPrice, meterName }) => [unitPrice, meterName]),
    [[7n, 'Calls']],
  );
});

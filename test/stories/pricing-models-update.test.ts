import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { acme, allRows, pinnedKey } from '../support/pricing-models.ts';

const app = await startTestApp();

const setUp = async (body: object) => (await app.post('/pricing-models/setup', body)).pricingModel;
const exportOf = async (id: string) => (await app.get(`/pricing-models/${id}/export`)).pricingModel;
const put = async (id: string, pricingModel: object) =>
  (await app.put(`/pricing-models/${id}`, { pricingModel })).pricingModel;
const get = async (id: string) => (await app.get(`/pricing-models/${id}`)).pricingModel;
const pricesOf = async (id: string) => (await app.get(`/prices?pricingModelId=${id}&limit=100`)).data;
const slugs = (records: readonly Body[]) => records.map(({ slug }) => slug);

test('the name alone changes the name, and the answer has the seven basic fields', async () => {
  await app.setClock(1000);
  const { id } = await setUp(acme());
  const before = await allRows(app, id);
  await app.setClock(2000);
  assert.deepEqual(await put(id, { id, name: ' Acme 2027 ' }), {
    id,
    createdAt: 1000,
    updatedAt: 2000,
    livemode: false,
    organizationId: app.id,
    isDefault: false,
    name: 'Acme 2027',
  });
  const { pricing_models: _, ...others } = await allRows(app, id);
  const { pricing_models: __, ...same } = before;
  assert.deepEqual(others, same);
});

test('an update that changes nothing keeps updatedAt', async () => {
  await app.setClock(1000);
  const { id } = await setUp({ name: 'Same' });
  await app.setClock(2000);
  assert.equal((await put(id, {})).updatedAt, 1000);
  assert.equal((await put(id, { name: 'Same', isDefault: false })).updatedAt, 1000);
});

test('isDefault takes the flag from the other pricing model, gives it back, and stays when it is not sent', async () => {
  const first = await setUp({ name: 'First', isDefault: true });
  const second = await setUp({ name: 'Second' });
  assert.equal((await put(second.id, { isDefault: true })).isDefault, true);
  assert.equal((await get(first.id)).isDefault, false);
  const { isDefault: _, ...structure } = await exportOf(second.id);
  assert.equal((await put(second.id, { ...structure, name: 'Still' })).isDefault, true);
  assert.equal((await put(second.id, { isDefault: false })).isDefault, false);
  assert.equal((await app.request('GET', '/pricing-models/default')).status, 404);
  assert.equal((await put(first.id, { isDefault: true })).isDefault, true);
});

test('a pinned key changes its pricing model, but not which one is the default', async () => {
  const { id } = await setUp({ name: 'Pinned', isDefault: true });
  const key = await pinnedKey(app, id);
  const change = (pricingModel: object, path = id) =>
    app.request('PUT', `/pricing-models/${path}`, { pricingModel }, { key });
  const { isDefault: _, ...structure } = await exportOf(id);
  const resources = [{ slug: 'seat', name: 'Seat' }];
  assert.equal((await change({ ...structure, resources, isDefault: true })).status, 200);
  assert.equal((await change({ isDefault: false })).status, 403);
  const other = await setUp({ name: 'Other' });
  assert.equal((await change({ name: 'Mine' }, other.id)).status, 404);
  await put(other.id, { isDefault: true });
  assert.equal((await change({ isDefault: true })).status, 403);
});

test('a price on other terms replaces the old one, which its subscribers keep: worked example P1', async () => {
  const terms = {
    type: 'subscription',
    slug: 'pro_monthly',
    intervalUnit: 'month',
    unitPrice: 2000,
    trialPeriodDays: 14,
  };
  const { id, products } = await setUp({
    name: 'P1',
    products: [{ product: { name: 'Pro', slug: 'pro' }, price: terms }],
  });
  const subscribe = async (externalId: string) => {
    const customer = { name: 'Ada', email: 'ada@acme.test', externalId, pricingModelId: id };
    const { data } = await app.post('/customers', { customer });
    const body = { customerId: data.customer.id, priceSlug: 'pro_monthly' };
    return (await app.post('/subscriptions', body)).subscription;
  };
  const itemOf = (subscriptionId: string) =>
    app.owner
      .selectFrom('subscriptionItems')
      .select(['priceId', 'unitPrice'])
      .where('subscriptionId', '=', subscriptionId)
      .execute();
  const a = products[0].defaultPrice;
  const first = await subscribe('first');
  const wanted = await exportOf(id);
  wanted.products[0].price.unitPrice = 2500;
  await put(id, wanted);

  const [{ prices, defaultPrice: b }] = (await get(id)).products;
  assert.deepEqual(prices, [b]);
  assert.deepEqual([b.slug, b.unitPrice, b.isDefault, b.active], ['pro_monthly', 2500, true, true]);
  const old = (await app.get(`/prices/${a.id}`)).price;
  assert.deepEqual([old.slug, old.unitPrice, old.isDefault, old.active], ['pro_monthly', 2000, false, false]);
  const second = await subscribe('second');
  assert.deepEqual(await itemOf(first.id), [{ priceId: a.id, unitPrice: 2000n }]);
  assert.deepEqual(await itemOf(second.id), [{ priceId: b.id, unitPrice: 2500n }]);
});

test('features and resources: made, changed, deactivated, and active again', async () => {
  const { id, products } = await setUp(acme());
  const [sso] = products[0].features;
  const wanted = await exportOf(id);
  wanted.features.push({ type: 'toggle', slug: 'audit', name: 'Audit log' });
  wanted.features[1].amount = 20_000;
  wanted.features[2].resourceSlug = 'desk';
  wanted.resources = [{ slug: 'desk', name: 'Desk' }];
  wanted.products[0].features = ['calls-10k', 'seats-5', 'audit'];
  wanted.features.splice(0, 1);
  await put(id, wanted);

  const { features } = (await get(id)).products[0];
  assert.deepEqual(slugs(features), ['calls-10k', 'seats-5', 'audit']);
  assert.equal(features[0].amount, 20_000);
  const stored = (await app.get(`/features/${sso.id}`)).feature;
  assert.equal(stored.active, false);
  const { resources } = await app.get('/resources');
  const own = resources.filter(({ pricingModelId }: Body) => pricingModelId === id);
  assert.deepEqual(
    own.map(({ slug, active }: Body) => [slug, active]),
    [
      ['seat', false],
      ['desk', true],
    ],
  );
  assert.equal(features[1].resourceId, own[1].id);

  wanted.features.push({ type: 'toggle', slug: 'sso', name: 'Sign-on' });
  wanted.products[0].features.push('sso');
  await put(id, wanted);
  const again = (await get(id)).products[0].features[0];
  assert.deepEqual({ ...again, updatedAt: 0 }, { ...sso, name: 'Sign-on', description: '', updatedAt: 0 });
});

test('a product that is left out is deactivated with its price and its links; put again it is the same', async () => {
  const { id, products } = await setUp(acme());
  const [team] = products;
  const wanted = await exportOf(id);
  const [removed] = wanted.products.splice(0, 1);
  await put(id, wanted);
  assert.deepEqual(slugs((await get(id)).products), ['free']);
  const price = (await app.get(`/prices/${team.defaultPrice.id}`)).price;
  assert.deepEqual([price.active, price.isDefault], [false, true]);
  const links = (await app.get(`/product-features?productId=${team.id}`)).data;
  assert(links.length === 3 && links.every(({ expiredAt }: Body) => expiredAt !== null));

  await put(id, { ...wanted, products: [...wanted.products, removed] });
  const [back] = (await get(id)).products;
  const undated = (record: Body) => ({ ...record, updatedAt: 0 });
  assert.deepEqual(undated(back.defaultPrice), undated(team.defaultPrice));
  assert.deepEqual(slugs(back.features), slugs(team.features));
  assert.equal(back.id, team.id);
  const revived = (await app.get(`/product-features?productId=${team.id}`)).data;
  assert.deepEqual(
    revived.map((link: Body) => [link.id, link.expiredAt]),
    links.map((link: Body) => [link.id, null]),
  );
});

test('the prices of a usage meter: made, changed, replaced and ended by slug', async () => {
  const { id, usageMeters } = await setUp(acme());
  const [meter] = usageMeters;
  const [overage] = meter.prices;
  const wanted = await exportOf(id);
  const usage = wanted.usageMeters[0];
  const state = async () => {
    const prices = (await pricesOf(id)).filter(({ usageMeterId }: Body) => usageMeterId === meter.id);
    return prices.map(({ slug, unitPrice, isDefault, active }: Body) => [slug, unitPrice, isDefault, active]);
  };
  usage.usageMeter.name = 'Calls';
  usage.prices[0].name = 'Overage';
  usage.prices.push({ slug: 'bulk', unitPrice: 3 });
  await put(id, wanted);
  const [changed] = (await get(id)).usageMeters;
  assert.deepEqual([changed.id, changed.name], [meter.id, 'Calls']);
  assert.deepEqual([changed.prices[0].id, changed.prices[0].name], [overage.id, 'Overage']);
  assert.deepEqual(await state(), [
    ['call-overage', 1, true, true],
    ['api-calls_no_charge', 0, false, true],
    ['bulk', 3, false, true],
  ]);

  usage.prices[0].unitPrice = 2;
  usage.prices.splice(1, 1);
  await put(id, wanted);
  assert.deepEqual(await state(), [
    ['call-overage', 1, false, false],
    ['api-calls_no_charge', 0, false, true],
    ['bulk', 3, false, false],
    ['call-overage', 2, true, true],
  ]);

  usage.prices = [{ slug: 'bulk', unitPrice: 3, usageEventsPerUnit: 1 }];
  await put(id, wanted);
  assert.deepEqual(await state(), [
    ['call-overage', 1, false, false],
    ['api-calls_no_charge', 0, true, true],
    ['bulk', 3, false, true],
    ['call-overage', 2, false, false],
  ]);
});

test('a usage meter that an update makes has its no-charge price, and credits for it can be given at once', async () => {
  const { id } = await setUp({ name: 'Grows' });
  const wanted = await exportOf(id);
  const grant = { type: 'usage_credit_grant', slug: 'free-calls', name: 'Free calls', amount: 10 };
  wanted.usageMeters = [{ usageMeter: { name: 'Calls', slug: 'calls' } }];
  wanted.features = [{ ...grant, renewalFrequency: 'once', usageMeterSlug: 'calls' }];
  const price = { type: 'subscription', intervalUnit: 'week', unitPrice: 100 };
  wanted.products.push({ product: { name: 'Pro', slug: 'pro' }, price, features: ['free-calls'] });
  await put(id, wanted);
  const { usageMeters, products } = await get(id);
  assert.equal(usageMeters[0].defaultPrice.slug, 'calls_no_charge');
  assert.equal(products[1].features[0].usageMeterId, usageMeters[0].id);
});

test('prices may exchange their slugs, between products and with usage meters', async () => {
  const { id } = await setUp(acme());
  const wanted = await exportOf(id);
  const price = { type: 'subscription', intervalUnit: 'month', unitPrice: 100, slug: 'x' };
  wanted.products.push({ product: { name: 'Pro', slug: 'pro' }, price });
  await put(id, wanted);
  const [team, , pro] = wanted.products;
  const [usage] = wanted.usageMeters[0].prices;
  for (const [a, b] of [
    [team, pro],
    [team, pro],
  ]) {
    [a.price.slug, b.price.slug] = [b.price.slug, a.price.slug];
    await put(id, wanted);
  }
  [team.price.slug, usage.slug] = [usage.slug, team.price.slug];
  await put(id, wanted);
  const { products, usageMeters } = await get(id);
  assert.deepEqual(
    [products[0].defaultPrice.slug, products[2].defaultPrice.slug, usageMeters[0].defaultPrice.slug],
    ['call-overage', 'x', 'team-monthly'],
  );
});

test('a feature that a product no longer gives is detached from subscriptions, which keep it', async () => {
  const start = { product: { name: 'Start', slug: 'start', default: true }, features: ['sso'] };
  const price = { type: 'subscription', intervalUnit: 'month', unitPrice: 0 };
  const features = [{ type: 'toggle', slug: 'sso', name: 'SSO' }];
  const { id } = await setUp({ name: 'Gives', features, products: [{ ...start, price }] });
  const customer = { name: 'Ada', email: 'ada@acme.test', externalId: 'ada-gives', pricingModelId: id };
  await app.post('/customers', { customer });
  const granted = () =>
    app.owner.selectFrom('subscriptionItemFeatures').selectAll().where('pricingModelId', '=', id).execute();
  assert.deepEqual(
    (await granted()).map(({ detachedAt }) => detachedAt),
    [null],
  );
  const wanted = await exportOf(id);
  wanted.products[0].features = [];
  await app.setClock(5000);
  await put(id, wanted);
  assert.deepEqual(
    (await granted()).map(({ detachedAt, detachedReason, expiredAt, productFeatureId }) => {
      return { detachedAt, detachedReason, expiredAt, productFeatureId };
    }),
    [{ detachedAt: 5000, detachedReason: 'product_feature_expired', expiredAt: null, productFeatureId: null }],
  );
});

test('a draft of many changes is applied in one transaction, and names the customers who have each record', async () => {
  const pro = { type: 'subscription', slug: 'pro', intervalUnit: 'month', unitPrice: 2000, trialPeriodDays: 14 };
  const sso = { type: 'toggle', slug: 'sso', name: 'Single sign-on' };
  const { id } = await setUp({
    name: 'Draft',
    features: [sso],
    products: [{ product: { name: 'Pro', slug: 'pro' }, price: pro, features: ['sso'] }],
  });
  for (const externalId of ['ada', 'grace']) {
    const customer = { name: externalId, email: `${externalId}@acme.test`, externalId, pricingModelId: id };
    const { data } = await app.post('/customers', { customer });
    await app.post('/subscriptions', { customerId: data.customer.id, priceSlug: 'pro' });
  }
  const base = await exportOf(id);
  const wanted = structuredClone(base);
  wanted.name = 'Draft, dearer';
  wanted.features[0].name = 'Sign-on';
  wanted.products[0].price.unitPrice = 2500;
  wanted.resources.push({ slug: 'seat', name: 'Seat' });
  const path = `/pricing-models/${id}/apply`;
  const before = await allRows(app, id);
  const dry = await app.post(`${path}?dryRun=true`, { pricingModel: wanted, base });
  assert.deepEqual(await allRows(app, id), before);
  const applied = await app.post(path, { pricingModel: wanted, base });
  assert.deepEqual(applied.changes, dry.changes);
  assert.deepEqual(
    applied.changes.map(({ operation, record, slug, subscriptions, customers }: Body) =>
      [operation, record, slug, subscriptions, customers].join(' '),
    ),
    ['update pricingModel  0 0', 'update feature sso 2 2', 'create resource seat 0 0', 'update price pro 2 2'],
  );
  assert.equal((await exportOf(id)).products[0].price.unitPrice, 2500);

  const again = await app.post(path, { pricingModel: wanted, base });
  assert.deepEqual(again.changes, [], 'a repeat finds its own changes, and changes nothing');

  const without = {
    ...wanted,
    features: [],
    products: wanted.products.map((each: Body) => ({ ...each, features: [] })),
  };
  const { changes } = await app.post(`${path}?dryRun=true`, { pricingModel: without });
  assert.deepEqual(
    changes.map(({ record, slug, subscriptions, customers }: Body) => [record, slug, subscriptions, customers]),
    [
      ['feature', 'sso', 2, 2],
      ['product', 'pro', 2, 2],
    ],
    'a feature that ends is one that customers have',
  );
});

test('a draft that was drawn from an older state is refused, with the differences since then', async () => {
  const { id } = await setUp(acme());
  const base = await exportOf(id);
  const theirs = structuredClone(base);
  theirs.products[0].price.unitPrice = 3100;
  await put(id, theirs);
  const mine = structuredClone(base);
  mine.features[0].name = 'Sign-on';
  const rows = await allRows(app, id);
  const { status, body } = await app.request('POST', `/pricing-models/${id}/apply`, { pricingModel: mine, base });
  assert.deepEqual([status, body.reason], [409, 'pricing_model_changed']);
  assert.match(body.message, /no longer what `base` says: price team\. Nothing was stored/);
  assert.deepEqual(body.changes, [
    {
      operation: 'update',
      record: 'price',
      slug: 'team',
      usageMeterSlug: null,
      fields: [{ name: 'unitPrice', before: 2900, after: 3100 }],
    },
  ]);
  assert.deepEqual(await allRows(app, id), rows);
  const drawnAgain = { ...theirs, features: mine.features };
  const { changes } = await app.post(`/pricing-models/${id}/apply`, { pricingModel: drawnAgain, base: theirs });
  assert.deepEqual(
    changes.map(({ record, slug }: Body) => [record, slug]),
    [['feature', 'sso']],
  );
});

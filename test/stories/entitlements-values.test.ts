import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tollkeeper } from '../../client/src/client.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { refused } from '../support/pricing-fixture.ts';
import { newCustomer, plan, toggle } from '../support/shop.ts';

const app = await startTestApp();

const value = (slug: string, given: unknown) => ({ ...toggle(slug), type: 'value', value: given });
const structure = {
  features: [value('projects', 3), value('region', 'eu'), value('formats', ['csv']), toggle('sso')],
  products: [
    plan('free', 0, ['projects', 'region']),
    plan('pro', 3000, [{ slug: 'projects', value: 10 }, 'region', 'formats', 'sso']),
    plan('team', 9000, [{ slug: 'projects', value: 50 }, { slug: 'region', value: 'us' }, 'formats']),
    plan(
      'reports',
      500,
      [
        { slug: 'formats', value: ['pdf', 'csv'] },
        { slug: 'projects', value: 12 },
      ],
      {
        product: { addOn: true },
      },
    ),
  ],
  usageMeters: [],
  resources: [],
};
const { pricingModel } = await app.post('/pricing-models/setup', { name: 'Values', isDefault: true, ...structure });
const modelPath = `/pricing-models/${pricingModel.id}`;
const { data: features } = await app.get(`/features?limit=100&pricingModelId=${pricingModel.id}`);
const featureOf = (slug: string): Body => features.find((row: Body) => row.slug === slug);

let customers = 0;
async function newPro(more: Body = {}) {
  customers += 1;
  const customer = await newCustomer(app, `values-${customers}`, { token: 'pm_card_visa' });
  const body = { customerId: customer.customerId, priceSlug: 'pro-monthly', ...more };
  const { subscription } = await app.post('/subscriptions', body);
  return { ...customer, id: subscription.id as string };
}

/** The values that a customer has, by slug. */
async function valuesOf(externalId: string): Promise<Body> {
  const { entitlements } = await app.get(`/customers/${externalId}/entitlements`);
  return Object.fromEntries(entitlements.features.map((row: Body) => [row.slug, row.value]));
}

async function check(customerExternalId: string, featureSlug: string, more: Body = {}) {
  const { results } = await app.post('/entitlements/check', { checks: [{ customerExternalId, featureSlug, ...more }] });
  const [{ allowed, reason, type, value: has }] = results;
  return { allowed, reason, type, has };
}

test('a plan gives its own value, or that of the feature; a toggle has none', async () => {
  const { externalId } = await newPro();
  assert.deepEqual(await valuesOf(externalId), { projects: 10, region: 'eu', formats: ['csv'], sso: undefined });
  const free = await newCustomer(app, 'values-free');
  assert.deepEqual(await valuesOf(free.externalId), { projects: 3, region: 'eu' });
  const { entitlements } = await app.get(`/customers/${free.externalId}/entitlements`);
  assert.deepEqual(entitlements.features[0], {
    ...{ featureId: featureOf('projects').id, slug: 'projects', name: 'projects', type: 'value', value: 3 },
    ...{ amount: null, usageMeterId: null, resourceId: null, subscriptionIds: [free.freeId] },
  });
});

test('a check of a number asks whether it is reached, of a text or list whether it is included', async () => {
  const { externalId } = await newPro();
  const type = 'value';
  const allowed = { allowed: true, reason: null, type };
  assert.deepEqual(await check(externalId, 'projects', { amount: 10 }), { ...allowed, has: 10 });
  const tooLow = { allowed: false, reason: 'value_too_low', type, has: 10 };
  assert.deepEqual(await check(externalId, 'projects', { amount: 11 }), tooLow);
  assert.deepEqual(await check(externalId, 'region'), { ...allowed, has: 'eu' });
  assert.deepEqual(await check(externalId, 'region', { value: 'eu' }), { ...allowed, has: 'eu' });
  const other = { allowed: false, reason: 'value_not_included', type };
  assert.deepEqual(await check(externalId, 'region', { value: 'us' }), { ...other, has: 'eu' });
  assert.deepEqual(await check(externalId, 'formats', { value: 'csv' }), { ...allowed, has: ['csv'] });
  assert.deepEqual(await check(externalId, 'formats', { value: 'pdf' }), { ...other, has: ['csv'] });
  const free = await newCustomer(app, 'values-without');
  const none = { allowed: false, reason: 'not_granted', type, has: undefined };
  assert.deepEqual(await check(free.externalId, 'formats', { value: 'csv' }), none);
  // The answer about a toggle is as it was before there were values.
  const [sso] = (
    await app.post('/entitlements/check', { checks: [{ customerExternalId: externalId, featureSlug: 'sso' }] })
  ).results;
  assert.equal('value' in sso, false);
});

test('the reader of the client answers as the check does', async () => {
  const { externalId } = await newPro();
  const reader = new Tollkeeper({ key: app.testKey, baseUrl: app.url }).entitlementReader();
  for (const amount of [1, 10, 11])
    assert.equal(
      await reader.may(externalId, 'projects', amount),
      (await check(externalId, 'projects', { amount })).allowed,
    );
  for (const [slug, text] of [
    ['region', 'eu'],
    ['region', 'us'],
    ['formats', 'csv'],
    ['formats', 'pdf'],
  ] as const)
    assert.equal(await reader.may(externalId, slug, text), (await check(externalId, slug, { value: text })).allowed);
  assert.equal(await reader.may(externalId, 'region'), true);
  assert.equal(await reader.value(externalId, 'projects'), 10);
  assert.equal(await reader.value(externalId, 'sso'), null);
});

test('an add-on raises a number, adds to a list, and a value by hand replaces both until it ends', async () => {
  const { externalId, id } = await newPro();
  const subscriptionItems = [{ priceSlug: 'pro-monthly' }, { priceSlug: 'reports-monthly' }];
  const adjust = (newSubscriptionItems: Body[]) =>
    app.post(`/subscriptions/${id}/adjust`, { adjustment: { timing: 'immediately', newSubscriptionItems } });
  await adjust(subscriptionItems.map((item) => ({ ...item, quantity: 1 })));
  assert.deepEqual(await valuesOf(externalId), { projects: 12, region: 'eu', formats: ['csv', 'pdf'], sso: undefined });
  const add = async (body: Body) => (await app.post(`/subscriptions/${id}/add-feature`, body)).subscriptionItemFeature;
  const own = await add({ featureSlug: 'projects', value: 7 });
  assert.deepEqual([own.type, own.value, own.manuallyCreated, own.amount], ['value', 7, true, null]);
  assert.equal((await valuesOf(externalId)).projects, 7);
  // A second one replaces the first, and neither a quantity nor a plan takes it away.
  assert.equal((await add({ featureSlug: 'projects', value: 25 })).id, own.id);
  await adjust([{ priceSlug: 'pro-monthly', quantity: 2 }]);
  assert.equal((await valuesOf(externalId)).projects, 25);
  await adjust([{ priceSlug: 'team-monthly', quantity: 1 }]);
  assert.deepEqual(await valuesOf(externalId), { projects: 25, region: 'us', formats: ['csv'] });
  await app.post(`/subscription-item-features/${own.id}/expire`, {});
  assert.equal((await valuesOf(externalId)).projects, 50);
});

test('the copy of a subscription takes a value of its kind only', async () => {
  const { externalId } = await newPro();
  const { featureItems } = (await app.get(`/customers/${externalId}/billing`)).currentSubscription.experimental;
  const copy = featureItems.find((row: Body) => row.slug === 'region');
  assert.equal(copy.value, 'eu');
  assert.equal('value' in featureItems.find((row: Body) => row.slug === 'sso'), false);
  const change = (subscriptionItemFeature: Body) =>
    app.request('PUT', `/subscription-item-features/${copy.id}`, { subscriptionItemFeature });
  refused(await change({ value: 5 }), 400, /^subscriptionItemFeature\.value: must be a text/);
  refused(await change({ value: null }), 400, /^subscriptionItemFeature\.value: is required/);
  refused(await change({ amount: 5 }), 400, /^subscriptionItemFeature\.amount: must be null/);
  assert.equal((await change({ value: 'us' })).status, 200);
  assert.equal((await valuesOf(externalId)).region, 'us');
});

test('a pricing model with values is exported, set up again, cloned and changed by the difference', async () => {
  const { pricingModel: exported } = await app.get(`${modelPath}/export`);
  const byName = (name: string) => exported.products.find(({ product }: Body) => product.slug === name).features;
  assert.deepEqual(exported.features, structure.features);
  assert.deepEqual(byName('pro'), [{ slug: 'projects', value: 10 }, 'region', 'formats', 'sso']);
  const again = await app.post('/pricing-models/setup', { ...exported, isDefault: false });
  const copy = await app.get(`/pricing-models/${again.pricingModel.id}/export`);
  assert.deepEqual({ ...copy.pricingModel, isDefault: true }, exported);
  const { pricingModel: clone } = await app.post(`${modelPath}/clone`, { name: 'Clone' });
  const pro = clone.products.find(({ slug }: Body) => slug === 'pro');
  assert.equal(pro.features.find(({ slug }: Body) => slug === 'projects').value, 10);
  assert.deepEqual((await app.get(`/pricing-models/${clone.id}/export`)).pricingModel.products, exported.products);

  // The difference says one thing; a customer who has the plan keeps the value that it came with.
  const { externalId } = await newPro();
  const products = exported.products.map((each: Body) =>
    each.product.slug === 'pro' ? { ...each, features: [{ slug: 'projects', value: 20 }, 'region', 'sso'] } : each,
  );
  const body = { pricingModel: { ...exported, products } };
  const { changes } = await app.post(`${modelPath}/apply`, body);
  assert.deepEqual(
    changes.map(({ record, slug, operation, fields }: Body) => [
      record,
      slug,
      operation,
      fields.map(({ name }: Body) => name),
    ]),
    [['product', 'pro', 'update', ['features']]],
  );
  const links = (await app.get(`/product-features?limit=100&featureId=${featureOf('projects').id}`)).data;
  assert.deepEqual(
    links.map((link: Body) => link.value ?? null),
    [null, 20, 50, 12],
  );
  assert.equal((await valuesOf(externalId)).projects, 10);
  assert.equal((await valuesOf((await newPro()).externalId)).projects, 20);
  await app.put(`/pricing-models/${pricingModel.id}`, { pricingModel: exported });
  assert.deepEqual((await app.get(`${modelPath}/export`)).pricingModel, exported);
});

test('a value that a feature or product cannot have is refused by its field, and its kind stays', async () => {
  const create = (feature: Body) =>
    app.request('POST', '/features', { feature: { ...value('bad', 1), pricingModelId: pricingModel.id, ...feature } });
  const tooMany = Array.from({ length: 101 }, (_, index) => `text-${index}`);
  for (const bad of [null, true, '', 'x'.repeat(256), ['eu', 'eu'], [1], tooMany, {}, 2 ** 53])
    refused(await create({ value: bad }), 400, /^feature\.value/);
  refused(await create({ type: 'toggle' }), 400, /^feature\.value/);
  refused(await create({ amount: 5 }), 400, /^feature\.amount/);
  const projects = featureOf('projects');
  const put = (feature: Body) => app.request('PUT', `/features/${projects.id}`, { feature });
  refused(await put({ value: 'many' }), 400, /^feature\.value: must be a number/);
  assert.equal((await put({ value: 4 })).body.feature.value, 4);
  assert.equal((await put({ value: 3 })).status, 200);
  const given = { productId: pricingModel.products[0].id, featureId: projects.id };
  const give = (more: Body) => app.request('POST', '/product-features', { productFeature: { ...given, ...more } });
  refused(await give({ value: ['a'] }), 400, /^productFeature\.value: must be a number/);
  refused(await give({ featureId: featureOf('sso').id, value: 1 }), 400, /^productFeature\.value: must be absent/);
  const { pricingModel: exported } = await app.get(`${modelPath}/export`);
  const withPro = (proFeatures: unknown[]) => {
    const [first, ...rest] = exported.products;
    return app.request('PUT', modelPath, {
      pricingModel: { ...exported, products: [{ ...first, features: proFeatures }, ...rest] },
    });
  };
  refused(await withPro([{ slug: 'projects', value: 'x' }]), 400, /products\.0\.features\.0\.value: must be a number/);
  refused(await withPro(['projects', { slug: 'projects', value: 4 }]), 400, /features\.1\.value: differs/);
  refused(await withPro([{ value: 4 }]), 400, /features\.0/);
  const { id } = await newPro();
  const add = (body: Body) => app.request('POST', `/subscriptions/${id}/add-feature`, body);
  refused(await add({ featureSlug: 'sso', value: 4 }), 400, /^value: must be absent/);
  refused(await add({ featureSlug: 'region', value: 4 }), 400, /^value: must be a text/);
});

test('a link that exists gets another value, which new subscriptions have', async () => {
  const product = pricingModel.products.find(({ slug }: Body) => slug === 'team');
  const link = { productId: product.id, featureId: featureOf('projects').id };
  const give = async (value?: number) =>
    (await app.post('/product-features', { productFeature: { ...link, value } })).productFeature;
  const sixty = await give(60);
  assert.equal(sixty.value, 60);
  const { features: has } = await app.get(`/products/${product.id}`);
  assert.equal(has.find(({ slug }: Body) => slug === 'projects').value, 60);
  const plain = await give();
  assert.deepEqual([plain.id, 'value' in plain], [sixty.id, false]);
  await give(50);
});

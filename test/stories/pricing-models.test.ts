import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApiKey } from '../../src/organizations/actions.ts';
import { startTestApp } from '../support/harness.ts';
import { newModel, refused } from '../support/pricing-fixture.ts';

const app = await startTestApp();

test('without a default pricing model, asking for it and relying on it is 404', async () => {
  await app.owner.updateTable('pricingModels').set({ isDefault: false }).execute();
  refused(await app.request('GET', '/pricing-models/default'), 404, /no default pricing model/);
  const usageMeter = { name: 'Calls', slug: 'calls' };
  refused(await app.request('POST', '/usage-meters', { usageMeter }), 404, /no default pricing model/);
});

test('a pricing model is made with a free plan that is its default product', async () => {
  const { pricingModel } = await app.post('/pricing-models', {
    pricingModel: { name: '  Plans  ' },
    defaultPlanIntervalUnit: 'year',
  });
  assert.deepEqual(Object.keys(pricingModel).sort(), [
    'createdAt',
    'id',
    'isDefault',
    'livemode',
    'name',
    'organizationId',
    'updatedAt',
  ]);
  assert.match(pricingModel.id, /^pricing_model_[0-9A-Za-z]{21}$/);
  assert.equal(pricingModel.name, 'Plans');
  assert.equal(pricingModel.isDefault, false);
  assert.equal(pricingModel.livemode, false);
  assert.equal(pricingModel.organizationId, app.id);

  const details = (await app.get(`/pricing-models/${pricingModel.id}`)).pricingModel;
  assert.equal(details.products.length, 1);
  assert.deepEqual(details.usageMeters, []);
  const { defaultProduct } = details;
  assert.deepEqual(
    [defaultProduct.name, defaultProduct.slug, defaultProduct.default, defaultProduct.active],
    ['Free Plan', 'free', true, true],
  );
  const { defaultPrice: price } = defaultProduct;
  assert.deepEqual(
    [price.type, price.unitPrice, price.intervalUnit, price.intervalCount],
    ['subscription', 0, 'year', 1],
  );
  assert.deepEqual([price.isDefault, price.active, price.currency], [true, true, 'USD']);
});

test('without an interval the free plan is taken once', async () => {
  const { pricingModel } = await app.post('/pricing-models', { pricingModel: { name: 'Once' } });
  const { defaultProduct } = (await app.get(`/pricing-models/${pricingModel.id}`)).pricingModel;
  assert.equal(defaultProduct.defaultPrice.type, 'single_payment');
  assert.equal(defaultProduct.defaultPrice.intervalUnit, null);
});

test("a pricing model has its key's mode", async () => {
  const live = await app.post('/pricing-models', { pricingModel: { name: 'Live' } }, { key: app.liveKey });
  assert.equal(live.pricingModel.livemode, true);
  const second = await app.post('/pricing-models', { pricingModel: { name: 'Live too' } }, { key: app.liveKey });
  assert.equal(second.pricingModel.livemode, true);
  const unseen = await app.request('GET', `/pricing-models/${live.pricingModel.id}`);
  refused(unseen, 404, /No pricing model with id/);
});

test('a name has 1 to 255 characters', async () => {
  for (const name of ['x', 'x'.repeat(255)]) {
    assert.equal((await app.post('/pricing-models', { pricingModel: { name } })).pricingModel.name, name);
  }
  for (const name of ['', '   ', 'x'.repeat(256), 5, null, undefined]) {
    refused(await app.request('POST', '/pricing-models', { pricingModel: { name } }), 400, /pricingModel\.name/);
  }
  refused(await app.request('POST', '/pricing-models', {}), 400, /pricingModel/);
  const unit = { pricingModel: { name: 'Plans' }, defaultPlanIntervalUnit: 'decade' };
  refused(await app.request('POST', '/pricing-models', unit), 400, /defaultPlanIntervalUnit/);
});

test('a new default takes the flag from the former one', async () => {
  const first = await app.post('/pricing-models', { pricingModel: { name: 'First', isDefault: true } });
  const second = await app.post('/pricing-models', { pricingModel: { name: 'Second', isDefault: true } });
  assert.equal((await app.get('/pricing-models/default')).pricingModel.id, second.pricingModel.id);
  assert.equal((await app.get(`/pricing-models/${first.pricingModel.id}`)).pricingModel.isDefault, false);
  const { data, total } = await app.get('/pricing-models?isDefault=true');
  assert.deepEqual([data.length, total], [1, 1]);
});

test('of many defaults made at once one remains, and every request succeeds', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `Rival ${index}`);
  await Promise.all(names.map((name) => app.post('/pricing-models', { pricingModel: { name, isDefault: true } })));
  assert.equal((await app.get('/pricing-models?isDefault=true')).total, 1);
});

test('pricing models are listed in order of creation, page by page', async () => {
  const { total } = await app.get('/pricing-models');
  assert.ok(total > 3);
  const seen: string[] = [];
  let cursor = '';
  do {
    const page = await app.get(`/pricing-models?limit=3${cursor}`);
    assert.equal(page.total, total);
    assert.equal(page.hasMore, 'nextCursor' in page);
    seen.push(...page.data.map((model: { id: string }) => model.id));
    cursor = page.hasMore ? `&cursor=${encodeURIComponent(page.nextCursor)}` : '';
  } while (cursor !== '');
  assert.equal(seen.length, total);
  assert.deepEqual(seen, [...seen].sort());
});

test("another organization's pricing model is 404", async () => {
  const other = await app.newOrganization();
  const id = await newModel(app);
  refused(
    await app.request('GET', `/pricing-models/${id}`, undefined, { key: other.testKey }),
    404,
    /No pricing model/,
  );
  const product = {
    product: { name: 'Pro', slug: 'pro', pricingModelId: id },
    price: { type: 'single_payment', unitPrice: 1 },
  };
  refused(await app.request('POST', '/products', product, { key: other.testKey }), 404, /No pricing model/);
});

test('a key that is pinned to a pricing model sees that one, works in it, and makes no other', async () => {
  const [mine, theirs] = [await newModel(app), await newModel(app)];
  const made = await createApiKey(
    app.owner,
    { environmentId: app.testEnvironmentId, livemode: false, name: 'Pinned', pricingModelId: mine },
    Date.now(),
  );
  const key = { key: made.token };
  assert.equal((await app.get('/pricing-models/default', key)).pricingModel.id, mine);
  assert.equal((await app.get('/pricing-models', key)).total, 1);
  refused(await app.request('GET', `/pricing-models/${theirs}`, undefined, key), 404, /No pricing model/);

  const { usageMeter } = await app.post('/usage-meters', { usageMeter: { name: 'Calls', slug: 'calls' } }, key);
  assert.equal(usageMeter.pricingModelId, mine);
  const elsewhere = { usageMeter: { name: 'Calls', slug: 'calls', pricingModelId: theirs } };
  refused(await app.request('POST', '/usage-meters', elsewhere, key), 404, /No pricing model/);

  for (const isDefault of [false, true]) {
    const answer = await app.request('POST', '/pricing-models', { pricingModel: { name: 'Mine', isDefault } }, key);
    refused(answer, 403, /pinned to one pricing model/);
  }
});

test('a dry run makes nothing', async () => {
  const { total } = await app.get('/pricing-models');
  await app.post('/pricing-models?dryRun=true', { pricingModel: { name: 'Perhaps' } });
  assert.equal((await app.get('/pricing-models')).total, total);
});

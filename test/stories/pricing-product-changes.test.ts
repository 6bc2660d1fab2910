import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import {
  defaultProduct,
  monthly,
  newModel,
  newProduct,
  newToggle,
  once,
  refused,
  unique,
} from '../support/pricing-fixture.ts';

const app = await startTestApp();
const modelId = await newModel(app);

const pricesOf = async (productId: string): Promise<Body[]> => (await app.get(`/prices?productId=${productId}`)).data;

test('what a change leaves out stays, and null empties', async () => {
  const { product } = await newProduct(app, modelId, { product: { description: 'Old', imageURL: 'https://x.test/1' } });
  const changed = (await app.put(`/products/${product.id}`, { product: { id: product.id, name: 'New' } })).product;
  assert.deepEqual({ ...changed, updatedAt: 0 }, { ...product, name: 'New', updatedAt: 0 });
  const emptied = await app.put(`/products/${product.id}`, { product: { description: null, active: true } });
  assert.deepEqual([emptied.product.description, emptied.product.imageURL], [null, 'https://x.test/1']);
  assert.deepEqual((await pricesOf(product.id)).length, 1);
});

test('the id in the body must be that of the path', async () => {
  const { product } = await newProduct(app, modelId);
  const answer = await app.request('PUT', `/products/${product.id}`, { product: { id: 'prod_other', name: 'X' } });
  refused(answer, 400, /prod_other.*does not match the id in the path/);
  for (const name of ['', 'x'.repeat(256)]) {
    refused(await app.request('PUT', `/products/${product.id}`, { product: { name } }), 400, /product\.name/);
  }
  refused(await app.request('PUT', `/products/${product.id}`, {}), 400, /product/);
});

test("the default price's slug follows the product's", async () => {
  const { product, price } = await newProduct(app, modelId);
  const slug = unique('renamed');
  assert.equal((await app.put(`/products/${product.id}`, { product: { slug } })).product.slug, slug);
  assert.equal((await app.get(`/prices/${price.id}`)).price.slug, slug);

  const { product: other } = await newProduct(app, modelId);
  refused(await app.request('PUT', `/products/${other.id}`, { product: { slug } }), 409, /is already used by another/);
  refused(await app.request('PUT', `/products/${other.id}`, { product: { slug: 'Free' } }), 400, /reserved/);
  const reserved = { product: { slug: 'a_no_charge' } };
  refused(await app.request('PUT', `/products/${other.id}`, reserved), 400, /reserved for no-charge prices/);
  assert.equal((await app.get(`/products/${other.id}`)).slug, other.slug);
});

test('other terms make a new default price under the old slug, and the old price is deactivated', async () => {
  const { product, price } = await newProduct(app, modelId, { price: { ...monthly, name: 'Monthly' } });
  await app.put(`/products/${product.id}`, { product: { name: 'Pro' }, price: { ...monthly, unitPrice: 2500 } });
  const [old, current, ...more] = await pricesOf(product.id);
  assert.deepEqual(more, []);
  assert.deepEqual([old.id, old.unitPrice, old.active, old.isDefault], [price.id, 2000, false, false]);
  assert.deepEqual([current.unitPrice, current.active, current.isDefault], [2500, true, true]);
  assert.deepEqual([current.slug, current.name, current.intervalUnit], [price.slug, 'Monthly', 'month']);
  assert.equal((await app.get(`/products/${product.id}`)).defaultPrice.id, current.id);
});

test('the same terms keep the price; its name and slug may change', async () => {
  const { product, price } = await newProduct(app, modelId);
  const same = { ...monthly, trialPeriodDays: 0, isDefault: true, active: true };
  await app.put(`/products/${product.id}`, { product: {}, price: same });
  assert.deepEqual(await pricesOf(product.id), [price]);
  const slug = unique('price');
  await app.put(`/products/${product.id}`, { product: {}, price: { ...same, name: 'Monthly', slug } });
  const prices = await pricesOf(product.id);
  assert.deepEqual(
    prices.map(({ id, name, slug }) => [id, name, slug]),
    [[price.id, 'Monthly', slug]],
  );
});

test('each term alone makes a new price', async () => {
  const { product } = await newProduct(app, modelId);
  const terms = [{ unitPrice: 1 }, { intervalUnit: 'year' }, { intervalCount: 3 }, { trialPeriodDays: 7 }];
  for (const price of terms) await app.put(`/products/${product.id}`, { product: {}, price });
  const prices = await pricesOf(product.id);
  assert.equal(prices.length, 5);
  const { unitPrice, intervalUnit, intervalCount, trialPeriodDays } = prices[4];
  assert.deepEqual([unitPrice, intervalUnit, intervalCount, trialPeriodDays], [1, 'year', 3, 7]);
  assert.deepEqual(
    prices.map((price) => price.isDefault && price.active),
    [false, false, false, false, true],
  );
});

test('a product keeps the type of its prices', async () => {
  const { product } = await newProduct(app, modelId);
  const put = (price: object) => app.request('PUT', `/products/${product.id}`, { product: {}, price });
  refused(await put(once), 403, /prices of type subscription/);
  refused(await put({ ...monthly, intervalUnit: null }), 400, /intervalUnit: must not be null/);
  refused(await put({ ...monthly, productId: 'prod_other' }), 400, /productId/);
  refused(await put({ ...monthly, unitPrice: 4503599627370496 }), 400, /unitPrice/);
  const { product: single } = await newProduct(app, modelId, { price: once });
  const answer = await app.request('PUT', `/products/${single.id}`, {
    product: {},
    price: { ...once, intervalCount: 1 },
  });
  refused(answer, 400, /intervalCount: must be absent or null/);
});

test('prices are deactivated with their product, and the default one is activated with it', async () => {
  const { product, price } = await newProduct(app, modelId);
  const { price: second } = await app.post('/prices', { price: { ...monthly, productId: product.id } });
  await app.put(`/prices/${price.id}`, { price: { active: true } });
  await app.put(`/products/${product.id}`, { product: { active: false } });
  assert.deepEqual(
    (await pricesOf(product.id)).map((each) => each.active),
    [false, false],
  );
  assert.equal((await app.get(`/products/${product.id}`)).defaultPrice.id, second.id);
  const { products } = (await app.get(`/pricing-models/${modelId}`)).pricingModel;
  assert.ok(products.every((each: Body) => each.id !== product.id));

  await app.put(`/products/${product.id}`, { product: { active: true } });
  assert.deepEqual(
    (await pricesOf(product.id)).map((each) => each.active),
    [false, true],
  );
});

test('the default product keeps all but its name, description, picture and features', async () => {
  const model = await newModel(app);
  const free = await defaultProduct(app, model);
  const feature = await newToggle(app, model);
  const put = (product: object, more: object = {}) => app.request('PUT', `/products/${free.id}`, { product, ...more });
  const texts = { name: 'Start', description: 'For a start', imageURL: 'https://x.test/start.png' };
  const changed = await app.put(`/products/${free.id}`, {
    product: { ...texts, active: false },
    price: { ...monthly, unitPrice: 500 },
    featureIds: [feature.id],
  });
  assert.deepEqual({ ...free, ...changed.product, updatedAt: 0 }, { ...free, ...texts, updatedAt: 0 });
  const now = await app.get(`/products/${free.id}`);
  assert.equal(now.active, true);
  assert.deepEqual(now.prices, free.prices);
  assert.deepEqual(now.features, [feature]);

  refused(await put({ slug: 'start' }), 400, /product\.slug: cannot change for the default product/);
  refused(await put({ singularQuantityLabel: 'seat' }), 400, /singularQuantityLabel/);
  refused(await put({ pluralQuantityLabel: 'seats' }), 400, /pluralQuantityLabel/);
  refused(await put({ default: false }), 400, /the default product cannot change/);
  assert.equal((await put({ slug: 'free', default: true })).status, 200);
  const { product } = await newProduct(app, model);
  refused(await app.request('PUT', `/products/${product.id}`, { product: { default: true } }), 400, /product\.default/);
});

test('featureIds are all the features that a product gives: the others end, and come back under their old link', async () => {
  const [a, b, c] = [await newToggle(app, modelId), await newToggle(app, modelId), await newToggle(app, modelId)];
  const { product } = await newProduct(app, modelId, { featureIds: [a.id, b.id] });
  const sync = (featureIds: unknown) => app.request('PUT', `/products/${product.id}`, { product: {}, featureIds });
  const given = async () => (await app.get(`/products/${product.id}`)).features.map((each: Body) => each.id);
  const links = async (): Promise<Body[]> => (await app.get(`/product-features?productId=${product.id}`)).data;
  const before = await links();

  assert.equal((await sync([b.id, c.id])).status, 200);
  assert.deepEqual(await given(), [b.id, c.id]);
  const [linkA, linkB] = await links();
  assert.ok(linkA.expiredAt !== null);
  assert.deepEqual(linkB, before[1]);

  assert.equal((await sync([a.id, a.id])).status, 200);
  assert.deepEqual(await given(), [a.id]);
  assert.deepEqual([(await links())[0].id, (await links())[0].expiredAt], [before[0].id, null]);
  assert.equal((await sync([])).status, 200);
  assert.deepEqual(await given(), []);
  await app.put(`/products/${product.id}`, { product: { name: 'Same' } });
  assert.deepEqual(await given(), []);

  refused(await sync(['feature_unknown']), 404, /feature_unknown/);
  const foreign = await newToggle(app, await newModel(app));
  refused(await sync([foreign.id]), 400, /another pricing model/);
});

test('what subscriptions got from a feature that the product no longer gives stays, detached', async () => {
  const fixture = await insertFixture(app);
  const feature = await newToggle(app, fixture.pricingModelId);
  const { productFeature } = await app.post('/product-features', {
    productFeature: { productId: fixture.productId, featureId: feature.id },
  });
  const id = anyId('subscriptionItemFeature');
  const stamps = { environmentId: app.testEnvironmentId, createdAt: 1, updatedAt: 1 };
  await app.owner
    .insertInto('subscriptionItemFeatures')
    .values({
      ...stamps,
      id,
      pricingModelId: fixture.pricingModelId,
      subscriptionId: fixture.subscriptionId,
      subscriptionItemId: fixture.itemId,
      featureId: feature.id,
      productFeatureId: productFeature.id,
      type: 'toggle',
      manuallyCreated: false,
    })
    .execute();
  await app.put(`/products/${fixture.productId}`, { product: {}, featureIds: [] });
  const { subscriptionItemFeature: kept } = await app.get(`/subscription-item-features/${id}`);
  assert.deepEqual([kept.expiredAt, kept.productFeatureId], [null, null]);
  assert.deepEqual([typeof kept.detachedAt, kept.detachedReason], ['number', 'product_feature_expired']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { newMeter, newModel, newProduct, newToggle, once, refused } from '../support/pricing-fixture.ts';

const app = await startTestApp();
const modelId = await newModel(app);

const create = (productFeature: object) => app.request('POST', '/product-features', { productFeature });

async function productAndToggle() {
  const [{ product }, feature] = [await newProduct(app, modelId), await newToggle(app, modelId)];
  return { productId: product.id, featureId: feature.id };
}

test('a product is made to give a feature', async () => {
  const pair = await productAndToggle();
  const { productFeature } = await app.post('/product-features', { productFeature: pair });
  assert.match(productFeature.id, /^product_feature_[0-9A-Za-z]{21}$/);
  const { createdByCommit, updatedByCommit, ...link } = productFeature;
  assert.deepEqual([createdByCommit, updatedByCommit], [null, null]);
  assert.deepEqual(link, {
    id: link.id,
    createdAt: link.createdAt,
    updatedAt: link.createdAt,
    livemode: false,
    organizationId: app.id,
    pricingModelId: modelId,
    ...pair,
    expiredAt: null,
  });
  assert.deepEqual((await app.get(`/product-features/${link.id}`)).productFeature, link);
  const { data } = await app.get(`/product-features?productId=${pair.productId}`);
  assert.deepEqual(data, [link]);
  const { features } = await app.get(`/products/${pair.productId}`);
  assert.deepEqual(
    features.map((each: Body) => each.id),
    [pair.featureId],
  );
});

test('a new link may end on a date, in milliseconds or as ISO 8601 text', async () => {
  const at = Date.UTC(2100, 0, 1);
  for (const expiredAt of [at, '2100-01-01T00:00:00Z', '2100-01-01']) {
    const { body } = await create({ ...(await productAndToggle()), expiredAt });
    assert.equal(body.productFeature.expiredAt, at);
  }
  for (const expiredAt of ['soon', 1.5, true]) {
    refused(await create({ ...(await productAndToggle()), expiredAt }), 400, /productFeature\.expiredAt/);
  }
  const pair = await productAndToggle();
  assert.equal((await create({ ...pair, expiredAt: 1 })).body.productFeature.expiredAt, 1);
  assert.deepEqual((await app.get(`/products/${pair.productId}`)).features, []);
});

test('an expired link is revived under its old id, whatever date is sent', async () => {
  const pair = await productAndToggle();
  const { id } = (await create(pair)).body.productFeature;
  assert.deepEqual(await app.post(`/product-features/${id}/expire`), { success: true });
  const { expiredAt } = (await app.get(`/product-features/${id}`)).productFeature;
  assert.equal(typeof expiredAt, 'number');
  assert.deepEqual((await app.get(`/products/${pair.productId}`)).features, []);

  assert.deepEqual(await app.post(`/product-features/${id}/expire`, {}), { success: true });
  assert.equal((await app.get(`/product-features/${id}`)).productFeature.expiredAt, expiredAt);

  const revived = (await create({ ...pair, expiredAt: Date.UTC(2100, 0, 1) })).body.productFeature;
  assert.deepEqual([revived.id, revived.expiredAt], [id, null]);
  assert.equal((await app.get(`/product-features?productId=${pair.productId}`)).total, 1);
});

test('the product and the feature must exist, in one pricing model', async () => {
  const { productId, featureId } = await productAndToggle();
  refused(await create({ productId: 'prod_unknown', featureId }), 404, /No product/);
  refused(await create({ productId, featureId: 'feature_unknown' }), 404, /No feature/);
  const foreign = await newToggle(app, await newModel(app));
  refused(await create({ productId, featureId: foreign.id }), 400, /another pricing model/);
  refused(await create({ productId }), 400, /featureId/);
  refused(await create({ featureId }), 400, /productId/);
  refused(await app.request('POST', '/product-features', {}), 400, /productFeature/);
});

test('a product that is paid once may have toggles and credits', async () => {
  const { product } = await newProduct(app, modelId, { price: once });
  const feature = await newToggle(app, modelId);
  assert.equal((await create({ productId: product.id, featureId: feature.id })).status, 200);
  const meter = await newMeter(app, modelId);
  const grant = {
    type: 'usage_credit_grant',
    slug: 'calls',
    name: 'Calls',
    pricingModelId: modelId,
    amount: 10,
    usageMeterId: meter.id,
    renewalFrequency: 'once',
  };
  const credits = (await app.post('/features', { feature: grant })).feature;
  assert.equal((await create({ productId: product.id, featureId: credits.id })).status, 200);
});

test('links are listed with expired ones, by product and by feature', async () => {
  const pair = await productAndToggle();
  const { id } = (await create(pair)).body.productFeature;
  await app.post(`/product-features/${id}/expire`);
  const other = await newToggle(app, modelId);
  await create({ ...pair, featureId: other.id });
  assert.equal((await app.get(`/product-features?productId=${pair.productId}`)).total, 2);
  const { data } = await app.get(`/product-features?featureId=${pair.featureId}`);
  assert.deepEqual(
    data.map((each: Body) => each.id),
    [id],
  );
});

test("an unknown link and another organization's are 404", async () => {
  const pair = await productAndToggle();
  const { id } = (await create(pair)).body.productFeature;
  const key = { key: (await app.newOrganization()).testKey };
  refused(await app.request('GET', '/product-features/unknown'), 404, /No product feature with id unknown/);
  refused(await app.request('POST', '/product-features/unknown/expire'), 404, /No product feature/);
  refused(await app.request('GET', `/product-features/${id}`, undefined, key), 404, /No product feature/);
  refused(await app.request('POST', `/product-features/${id}/expire`, undefined, key), 404, /No product feature/);
  refused(await app.request('POST', '/product-features', { productFeature: pair }, key), 404, /No product/);
  assert.equal((await app.get(`/product-features/${id}`)).productFeature.expiredAt, null);
});

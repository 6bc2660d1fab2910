import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import {
  monthly,
  newMeter,
  newModel,
  newProduct,
  newToggle,
  pricesOfMeter,
  unique,
} from '../support/pricing-fixture.ts';

const app = await startTestApp();
const modelId = await newModel(app);

const times = <Each>(count: number, make: (index: number) => Each): Each[] =>
  Array.from({ length: count }, (_, index) => make(index));
const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort();

test('of the prices of a product made at once, one is active and the default, and every request succeeds', async () => {
  const { product } = await newProduct(app, modelId);
  await Promise.all(
    times(8, (unitPrice) => app.post('/prices', { price: { ...monthly, unitPrice, productId: product.id } })),
  );
  const { data } = await app.get(`/prices?productId=${product.id}&limit=100`);
  assert.equal(data.length, 9);
  assert.equal(data.filter((price: Body) => price.active).length, 1);
  assert.equal(data.filter((price: Body) => price.active && price.isDefault).length, 1);
});

test('while every price of a meter claims to be the default, one is, and every request succeeds', async () => {
  const meter = await newMeter(app, modelId);
  const usage = { type: 'usage', unitPrice: 1, usageEventsPerUnit: 1, usageMeterId: meter.id };
  await Promise.all(times(5, () => app.post('/prices', { price: { ...usage, isDefault: true } })));
  const { all } = await pricesOfMeter(app, meter.id);
  assert.equal(all.length, 6);
  await Promise.all(all.map(({ id }: Body) => app.put(`/prices/${id}`, { price: { isDefault: true } })));
  await pricesOfMeter(app, meter.id);
});

test('while the default price of a meter is set and unset at once, the meter always has one', async () => {
  const meter = await newMeter(app, modelId, { unitPrice: 5 });
  const { inForce: own } = await pricesOfMeter(app, meter.id);
  await Promise.all(times(10, (index) => app.put(`/prices/${own.id}`, { price: { isDefault: index % 2 === 0 } })));
  await pricesOfMeter(app, meter.id);
});

test('of records that want one slug at once, one is made and the others are conflicts', async () => {
  const slug = unique('wanted');
  const body = { product: { name: 'Pro', slug, pricingModelId: modelId }, price: monthly };
  const products = await Promise.all(times(6, () => app.request('POST', '/products', body)));
  assert.deepEqual(statuses(products), [200, 409, 409, 409, 409, 409]);
  const feature = { type: 'toggle', slug, name: 'SSO', pricingModelId: modelId };
  const features = await Promise.all(times(6, () => app.request('POST', '/features', { feature })));
  assert.deepEqual(statuses(features), [200, 409, 409, 409, 409, 409]);
  assert.equal(features.find(({ status }) => status === 409)?.headers.get('x-should-retry'), 'false');
});

test('a product that is linked to a feature many times at once has one link', async () => {
  const feature = await newToggle(app, modelId);
  const { product } = await newProduct(app, modelId);
  const productFeature = { productId: product.id, featureId: feature.id };
  const links = await Promise.all(times(6, () => app.post('/product-features', { productFeature })));
  assert.equal(new Set(links.map((link) => link.productFeature.id)).size, 1);
  assert.equal((await app.get(`/product-features?productId=${product.id}`)).total, 1);
});

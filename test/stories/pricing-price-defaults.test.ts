import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import {
  defaultProduct,
  monthly,
  newMeter,
  newModel,
  newProduct,
  pricesOfMeter,
  refused,
} from '../support/pricing-fixture.ts';

const app = await startTestApp();
const modelId = await newModel(app);

const put = (price: Body, change: object) => app.request('PUT', `/prices/${price.id}`, { price: change });
const current = async (price: Body): Promise<Body> => (await app.get(`/prices/${price.id}`)).price;

/** A product with two active prices, the second the default. */
async function twoPrices() {
  const { product, price: first } = await newProduct(app, modelId);
  const { price: second } = await app.post('/prices', { price: { ...monthly, productId: product.id } });
  await app.put(`/prices/${first.id}`, { price: { active: true } });
  return { product, first, second };
}

test('making a price of a product the default takes the flag from the other, which stays active', async () => {
  const { product, first, second } = await twoPrices();
  const changed = (await app.put(`/prices/${first.id}`, { price: { isDefault: true } })).price;
  assert.deepEqual([changed.isDefault, changed.active], [true, true]);
  const other = await current(second);
  assert.deepEqual([other.isDefault, other.active], [false, true]);
  assert.equal((await app.get(`/products/${product.id}`)).defaultPrice.id, first.id);
});

test('a default price that is unset passes the flag to the other active one, and without one keeps it', async () => {
  const { price } = await newProduct(app, modelId);
  assert.equal((await app.put(`/prices/${price.id}`, { price: { isDefault: false } })).price.isDefault, true);
  const { first, second } = await twoPrices();
  assert.equal((await app.put(`/prices/${second.id}`, { price: { isDefault: false } })).price.isDefault, false);
  assert.equal((await current(first)).isDefault, true);
});

test('a deactivated default price passes the flag to the active one that is left', async () => {
  const { first, second } = await twoPrices();
  const changed = (await app.put(`/prices/${second.id}`, { price: { active: false } })).price;
  assert.deepEqual([changed.active, changed.isDefault], [false, false]);
  assert.deepEqual([(await current(first)).active, (await current(first)).isDefault], [true, true]);
});

test('the last active price of a product keeps the flag while it is deactivated, and the next active one takes it', async () => {
  const { first, second } = await twoPrices();
  await app.put(`/prices/${first.id}`, { price: { active: false } });
  const deactivated = (await app.put(`/prices/${second.id}`, { price: { active: false, isDefault: true } })).price;
  assert.deepEqual([deactivated.active, deactivated.isDefault], [false, true]);
  const activated = (await app.put(`/prices/${first.id}`, { price: { active: true } })).price;
  assert.deepEqual([activated.active, activated.isDefault], [true, true]);
  assert.equal((await current(second)).isDefault, false);
});

test('an inactive price becomes the default only when it is activated with it', async () => {
  const { product, price: first } = await newProduct(app, modelId);
  const { price: second } = await app.post('/prices', { price: { ...monthly, productId: product.id } });
  refused(await put(first, { isDefault: true }), 400, /send active: true as well/);
  assert.equal((await put(first, { isDefault: true, active: true })).body.price.isDefault, true);
  assert.equal((await current(second)).isDefault, false);
});

test("the default product's price keeps its slug, its flag and its activity; its name is free", async () => {
  const { defaultPrice: price } = await defaultProduct(app, modelId);
  refused(await put(price, { slug: 'gratis' }), 403, /the slug of its price cannot change/);
  refused(await put(price, { slug: null }), 403, /the slug of its price cannot change/);
  refused(await put(price, { isDefault: false }), 403, /cannot be replaced/);
  refused(await put(price, { active: false }), 403, /cannot be activated or deactivated/);
  const named = await put(price, { name: 'Nothing', slug: price.slug, isDefault: true, active: true });
  assert.deepEqual({ ...named.body.price, updatedAt: 0 }, { ...price, name: 'Nothing', updatedAt: 0 });
});

test("a meter's no-charge price can be renamed, and nothing else", async () => {
  const meter = await newMeter(app, modelId);
  const { noCharge } = await pricesOfMeter(app, meter.id);
  refused(await put(noCharge, { active: false }), 400, /no-charge price of its usage meter: it must stay active/);
  refused(await put(noCharge, { slug: 'calls' }), 400, /its slug follows the slug of the usage meter/);
  refused(await put(noCharge, { slug: null }), 400, /its slug follows the slug of the usage meter/);
  refused(await put(noCharge, { slug: 'other_no_charge' }), 400, /its slug follows the slug of the usage meter/);
  refused(await put(noCharge, { isDefault: false }), 400, /stays the default until another/);
  const named = await put(noCharge, { name: 'Gratis', slug: noCharge.slug, active: true, isDefault: true });
  assert.deepEqual({ ...named.body.price, updatedAt: 0 }, { ...noCharge, name: 'Gratis', updatedAt: 0 });
});

test('a no-charge price with the longest slug takes its own slug back', async () => {
  const usageMeter = { name: 'Long', slug: 'l'.repeat(255), pricingModelId: modelId };
  const { usageMeter: meter } = await app.post('/usage-meters', { usageMeter });
  const { noCharge } = await pricesOfMeter(app, meter.id);
  assert.equal((await put(noCharge, { slug: noCharge.slug, name: 'Still' })).status, 200);
});

for (const [trigger, change] of [
  ['unset', { isDefault: false }],
  ['deactivated', { active: false }],
  ['deactivated and sent back as default', { active: false, isDefault: true }],
] as const) {
  test(`the no-charge price becomes the default when the meter's default price is ${trigger}`, async () => {
    const meter = await newMeter(app, modelId, { unitPrice: 5 });
    const { inForce: own, noCharge } = await pricesOfMeter(app, meter.id);
    assert.equal(own.unitPrice, 5);
    const changed = (await app.put(`/prices/${own.id}`, { price: change })).price;
    assert.equal(changed.isDefault, false);
    assert.equal((await pricesOfMeter(app, meter.id)).inForce.id, noCharge.id);
  });
}

test('between the prices of a meter the flag goes to and fro', async () => {
  const meter = await newMeter(app, modelId, { unitPrice: 5 });
  const { inForce: own, noCharge } = await pricesOfMeter(app, meter.id);
  await app.put(`/prices/${noCharge.id}`, { price: { isDefault: true } });
  assert.equal((await pricesOfMeter(app, meter.id)).inForce.id, noCharge.id);
  await app.put(`/prices/${own.id}`, { price: { isDefault: true } });
  assert.equal((await pricesOfMeter(app, meter.id)).inForce.id, own.id);
  await app.put(`/prices/${noCharge.id}`, { price: { isDefault: false } });
  assert.equal((await pricesOfMeter(app, meter.id)).inForce.id, own.id);
});

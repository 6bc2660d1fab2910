import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import {
  defaultProduct,
  monthly,
  newMeter,
  newModel,
  newProduct,
  once,
  pricesOfMeter,
  refused,
  unique,
} from '../support/pricing-fixture.ts';

const app = await startTestApp();
const modelId = await newModel(app);
const perCall = { type: 'usage', unitPrice: 50, usageEventsPerUnit: 100 };

const create = (price: object) => app.request('POST', '/prices', { price });
const made = async (price: object): Promise<Body> => (await app.post('/prices', { price })).price;

test('a further price of a product becomes its only active one and its default', async () => {
  const { product, price: first } = await newProduct(app, modelId);
  const requested = {
    ...monthly,
    productId: product.id,
    unitPrice: 2500,
    isDefault: false,
    active: false,
    slug: first.slug,
  };
  const price = await made({ ...requested, name: ' Monthly ', pricingModelId: modelId });
  assert.match(price.id, /^price_[0-9A-Za-z]{21}$/);
  assert.deepEqual([price.isDefault, price.active, price.unitPrice, price.slug], [true, true, 2500, first.slug]);
  assert.deepEqual([price.name, price.currency, price.pricingModelId], ['Monthly', 'USD', modelId]);
  const former = (await app.get(`/prices/${first.id}`)).price;
  assert.deepEqual([former.isDefault, former.active], [false, false]);
  const { prices, defaultPrice } = await app.get(`/products/${product.id}`);
  assert.deepEqual(prices, [price]);
  assert.deepEqual(defaultPrice, price);
});

test('a product has prices of one type', async () => {
  const { product } = await newProduct(app, modelId);
  refused(await create({ ...once, productId: product.id }), 403, /prices of type subscription/);
  const { product: single } = await newProduct(app, modelId, { price: once });
  refused(await create({ ...monthly, productId: single.id }), 403, /prices of type single_payment/);
  const price = await made({ ...once, productId: single.id, unitPrice: 100 });
  assert.deepEqual([price.intervalUnit, price.intervalCount, price.trialPeriodDays], [null, null, null]);
});

test('the default product gets no further price', async () => {
  const free = await defaultProduct(app, modelId);
  refused(await create({ ...monthly, productId: free.id }), 403, /it cannot have another price/);
});

test('a usage price is added to its meter, and is the default only when it says so', async () => {
  const meter = await newMeter(app, modelId);
  const price = await made({ ...perCall, usageMeterId: meter.id });
  assert.deepEqual([price.productId, price.usageMeterId, price.usageEventsPerUnit], [null, meter.id, 100]);
  assert.deepEqual([price.intervalUnit, price.intervalCount, price.trialPeriodDays], ['month', 1, null]);
  assert.deepEqual([price.isDefault, price.active, price.slug, price.name], [false, true, null, null]);
  const before = await pricesOfMeter(app, meter.id);
  assert.equal(before.inForce.id, before.noCharge.id);

  const second = await made({
    ...perCall,
    usageMeterId: meter.id,
    isDefault: true,
    intervalUnit: 'year',
    intervalCount: 2,
  });
  const after = await pricesOfMeter(app, meter.id);
  assert.equal(after.inForce.id, second.id);
  assert.equal(after.all.length, 3);
  assert.ok(after.all.every((each: Body) => each.active));
  const inactive = await made({ ...perCall, usageMeterId: meter.id, active: false });
  assert.equal(inactive.active, false);
  refused(await create({ ...perCall, usageMeterId: meter.id, isDefault: true, active: false }), 400, /active/);
});

test('a price belongs to a product or to a usage meter, which must exist', async () => {
  const meter = await newMeter(app, modelId);
  const { product } = await newProduct(app, modelId);
  refused(await create({ ...perCall, usageMeterId: meter.id, productId: product.id }), 400, /productId/);
  refused(await create({ ...monthly, productId: product.id, usageMeterId: meter.id }), 400, /usageMeterId/);
  refused(await create({ ...perCall, productId: null }), 400, /usageMeterId/);
  refused(await create(monthly), 400, /productId/);
  refused(await create({ ...monthly, productId: 'prod_unknown' }), 404, /No product with id prod_unknown/);
  refused(
    await create({ ...perCall, usageMeterId: 'meter_unknown' }),
    404,
    /No usage meter with id or slug meter_unknown/,
  );
  refused(await create({ unitPrice: 1 }), 400, /must be subscription, single_payment or usage/);
  const elsewhere = await newModel(app);
  refused(await create({ ...monthly, productId: product.id, pricingModelId: elsewhere }), 400, /pricingModelId/);
  const key = { key: (await app.newOrganization()).testKey };
  const price = { ...monthly, productId: product.id };
  refused(await app.request('POST', '/prices', { price }, key), 404, /No product/);
  refused(
    await app.request('POST', '/prices', { price: { ...perCall, usageMeterId: meter.id } }, key),
    404,
    /No usage meter/,
  );
});

test('the bounds of a usage price are kept', async () => {
  const meter = await newMeter(app, modelId);
  const most = 4503599627370495;
  for (const unitPrice of [0, 1, most]) {
    assert.equal((await made({ ...perCall, usageMeterId: meter.id, unitPrice })).unitPrice, unitPrice);
  }
  for (const usageEventsPerUnit of [1, 2, Number.MAX_SAFE_INTEGER]) {
    const price = await made({ ...perCall, usageMeterId: meter.id, usageEventsPerUnit });
    assert.equal(price.usageEventsPerUnit, usageEventsPerUnit);
  }
  assert.equal((await made({ ...perCall, usageMeterId: meter.id, unitPrice: '7' })).unitPrice, 7);
  for (const unitPrice of [-1, most + 1, 1.5, null]) {
    refused(await create({ ...perCall, usageMeterId: meter.id, unitPrice }), 400, /unitPrice/);
  }
  for (const usageEventsPerUnit of [0, -1, 1.5, 2 ** 53, null]) {
    refused(await create({ ...perCall, usageMeterId: meter.id, usageEventsPerUnit }), 400, /usageEventsPerUnit/);
  }
  refused(await create({ ...perCall, usageMeterId: meter.id, trialPeriodDays: 1 }), 400, /trialPeriodDays/);
  for (const slug of ['', 'x'.repeat(256), 'calls_no_charge']) {
    refused(await create({ ...perCall, usageMeterId: meter.id, slug }), 400, /price\.slug/);
  }
  assert.equal((await made({ ...perCall, usageMeterId: meter.id, slug: 'x'.repeat(255) })).slug.length, 255);
  refused(await create({ ...perCall, usageMeterId: meter.id, name: 'x'.repeat(256) }), 400, /price\.name/);
});

test('an active price has its slug to itself in its pricing model, and null is no slug', async () => {
  const meter = await newMeter(app, modelId);
  const slug = unique('calls');
  const first = await made({ ...perCall, usageMeterId: meter.id, slug });
  refused(await create({ ...perCall, usageMeterId: meter.id, slug }), 409, new RegExp(`slug ${slug} is already used`));
  const { product } = await newProduct(app, modelId);
  refused(await create({ ...monthly, productId: product.id, slug }), 409, /is already used by another price/);
  assert.equal((await create({ ...perCall, usageMeterId: meter.id, slug, active: false })).status, 200);
  await app.put(`/prices/${first.id}`, { price: { active: false } });
  assert.equal((await made({ ...perCall, usageMeterId: meter.id, slug })).slug, slug);
  refused(await app.request('PUT', `/prices/${first.id}`, { price: { active: true } }), 409, /is already used/);
  for (let count = 0; count < 2; count++) await made({ ...perCall, usageMeterId: meter.id, slug: null });
});

test('a price has the name, slug, flags and nothing else to change', async () => {
  const { price } = await newProduct(app, modelId, { price: { ...monthly, name: 'Old' } });
  const slug = unique('new');
  const sent = { id: price.id, type: 'subscription', isDefault: true, name: 'New', active: true, slug };
  const terms = {
    unitPrice: 1,
    intervalUnit: 'day',
    intervalCount: 9,
    currency: 'EUR',
    trialPeriodDays: 3,
    productId: 'x',
  };
  for (const [term, value] of Object.entries(terms)) {
    const answer = await app.request('PUT', `/prices/${price.id}`, { price: { ...sent, [term]: value } });
    refused(answer, 400, new RegExp(`price\\.${term}: is not a field`));
  }
  const changed = (await app.put(`/prices/${price.id}`, { price: sent })).price;
  assert.deepEqual({ ...changed, updatedAt: 0 }, { ...price, name: 'New', slug, updatedAt: 0 });
  const same = (await app.put(`/prices/${price.id}`, { price: {} })).price;
  assert.deepEqual({ ...same, updatedAt: 0 }, { ...changed, updatedAt: 0 });
  const emptied = (await app.put(`/prices/${price.id}`, { price: { name: null, slug: null } })).price;
  assert.deepEqual([emptied.name, emptied.slug], [null, null]);
  assert.deepEqual((await app.get(`/prices/${price.id}`)).price, emptied);
});

test('a change names the right price and the right type, within the bounds', async () => {
  const { price } = await newProduct(app, modelId);
  const put = (change: object) => app.request('PUT', `/prices/${price.id}`, { price: change });
  refused(await put({ id: 'price_other' }), 400, /does not match the id in the path/);
  refused(await put({ type: 'usage' }), 400, /the type of a price cannot change/);
  refused(await put({ type: 'rent' }), 400, /price\.type/);
  refused(await put({ slug: 'x_no_charge' }), 400, /reserved for no-charge prices/);
  for (const slug of ['', 'z'.repeat(256)]) refused(await put({ slug }), 400, /price\.slug/);
  for (const name of ['', 'z'.repeat(256)]) refused(await put({ name }), 400, /price\.name/);
  for (const text of ['z', 'z'.repeat(255)]) assert.equal((await put({ slug: text, name: text })).status, 200);
  refused(await put({ active: 'yes' }), 400, /price\.active/);
  refused(await app.request('PUT', `/prices/${price.id}`, {}), 400, /price/);
  const { price: other } = await newProduct(app, modelId);
  refused(await put({ slug: other.slug }), 409, /is already used by another price/);
});

test('prices are listed by product, meter, type and activity', async () => {
  const model = await newModel(app);
  const meter = await newMeter(app, model, { unitPrice: 1 });
  const { product, price } = await newProduct(app, model);
  const { id } = await made({ ...monthly, productId: product.id });
  const ids = async (query: string) => (await app.get(`/prices?${query}`)).data.map((each: Body) => each.id);
  assert.deepEqual(await ids(`productId=${product.id}`), [price.id, id]);
  assert.deepEqual(await ids(`productId=${product.id}&active=true`), [id]);
  assert.equal((await ids(`usageMeterId=${meter.id}`)).length, 2);
  assert.equal((await ids(`pricingModelId=${model}&type=usage`)).length, 2);
  assert.equal((await ids(`pricingModelId=${model}`)).length, 5);
  refused(await app.request('GET', '/prices?type=rent'), 400, /type/);

  const first = await app.get(`/prices?pricingModelId=${model}&limit=4`);
  assert.deepEqual([first.data.length, first.total, first.hasMore], [4, 5, true]);
  const rest = await app.get(`/prices?limit=4&cursor=${encodeURIComponent(first.nextCursor)}`);
  assert.deepEqual([rest.data.length, rest.total, rest.hasMore], [1, 5, false]);
});

test("an unknown price and another organization's are 404", async () => {
  const { price } = await newProduct(app, modelId);
  const key = { key: (await app.newOrganization()).testKey };
  refused(await app.request('GET', '/prices/price_unknown'), 404, /price_unknown/);
  refused(await app.request('PUT', '/prices/price_unknown', { price: {} }), 404, /price_unknown/);
  refused(await app.request('GET', `/prices/${price.id}`, undefined, key), 404, /No price/);
  refused(await app.request('PUT', `/prices/${price.id}`, { price: { name: 'Mine' } }, key), 404, /No price/);
  refused(await app.request('GET', `/prices/${price.id}`, undefined, { key: app.liveKey }), 404, /No price/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import {
  monthly,
  newMeter,
  newModel,
  newProduct,
  newToggle,
  once,
  pricesOfMeter,
  refused,
  unique,
} from '../support/pricing-fixture.ts';

const app = await startTestApp();
const modelId = await newModel(app);

function create(product: object, price: object = monthly, featureIds?: unknown) {
  return app.request('POST', '/products', { product: { pricingModelId: modelId, ...product }, price, featureIds });
}

test('a product is made active, with its default price and what it gives', async () => {
  const feature = await newToggle(app, modelId);
  const { product } = await app.post('/products', {
    product: {
      name: ' Team ',
      slug: 'team',
      pricingModelId: modelId,
      active: false,
      description: 'For teams',
      imageURL: 'https://x.test/team.png',
      singularQuantityLabel: 'seat',
      pluralQuantityLabel: 'seats',
      maximumQuantity: 50,
    },
    price: { ...monthly, isDefault: false, active: false, slug: 'team-monthly', name: 'Monthly', trialPeriodDays: 14 },
    featureIds: [feature.id, feature.id],
  });
  assert.match(product.id, /^prod_[0-9A-Za-z]{21}$/);
  assert.deepEqual(
    { ...product, id: '', createdAt: 0, updatedAt: 0 },
    {
      id: '',
      createdAt: 0,
      updatedAt: 0,
      livemode: false,
      organizationId: app.id,
      metadata: null,
      pricingModelId: modelId,
      name: 'Team',
      slug: 'team',
      description: 'For teams',
      imageURL: 'https://x.test/team.png',
      singularQuantityLabel: 'seat',
      pluralQuantityLabel: 'seats',
      minimumQuantity: 1,
      maximumQuantity: 50,
      usagePrices: [],
      addOn: false,
      default: false,
      active: true,
    },
  );

  const got = await app.get(`/products/${product.id}`);
  const { prices, defaultPrice, features, ...rest } = got;
  assert.deepEqual(rest, product);
  assert.deepEqual(prices, [defaultPrice]);
  assert.deepEqual(features, [feature]);
  assert.deepEqual(
    [defaultPrice.type, defaultPrice.unitPrice, defaultPrice.trialPeriodDays, defaultPrice.slug, defaultPrice.name],
    ['subscription', 2000, 14, 'team-monthly', 'Monthly'],
  );
  assert.deepEqual([defaultPrice.isDefault, defaultPrice.active, defaultPrice.currency], [true, true, 'USD']);
  assert.deepEqual([defaultPrice.usageMeterId, defaultPrice.usageEventsPerUnit], [null, null]);
});

test('what is left out of a product is null, and its slug comes from its name', async () => {
  const { product } = await app.post('/products', {
    product: { name: 'Größe L (yearly)', pricingModelId: modelId },
    price: once,
  });
  assert.equal(product.slug, 'gro-e-l-yearly');
  assert.deepEqual([product.description, product.imageURL, product.singularQuantityLabel], [null, null, null]);
  const unnamed = await app.post('/products', { product: { name: '無料', pricingModelId: modelId }, price: once });
  assert.equal(unnamed.product.slug, unnamed.product.id);
});

test('the bounds of a price are kept: 0 and 4503599627370495 are in, -1 and one more are out', async () => {
  const most = 4503599627370495;
  for (const unitPrice of [0, 1, most]) {
    const { price } = await newProduct(app, modelId, { price: { ...monthly, unitPrice } });
    assert.equal(price.unitPrice, unitPrice);
  }
  for (const trialPeriodDays of [0, 1, most, null]) {
    const { price } = await newProduct(app, modelId, { price: { ...monthly, trialPeriodDays } });
    assert.equal(price.trialPeriodDays, trialPeriodDays);
  }
  for (const intervalCount of [1, 2, 9007199254740991]) {
    const { price } = await newProduct(app, modelId, { price: { ...monthly, intervalCount } });
    assert.equal(price.intervalCount, intervalCount);
  }
  for (const unitPrice of [-1, most + 1, 0.5, null, undefined, 'x']) {
    refused(await create({ name: 'Bad', slug: unique('bad') }, { ...monthly, unitPrice }), 400, /price\.unitPrice/);
  }
  for (const trialPeriodDays of [-1, most + 1, 0.5]) {
    refused(
      await create({ name: 'Bad', slug: unique('bad') }, { ...monthly, trialPeriodDays }),
      400,
      /trialPeriodDays/,
    );
  }
  for (const intervalCount of [0, -1, 1.5, 9007199254740992]) {
    refused(await create({ name: 'Bad', slug: unique('bad') }, { ...monthly, intervalCount }), 400, /intervalCount/);
  }
});

test('a price has the fields of its type only', async () => {
  const slug = unique('bad');
  for (const intervalUnit of ['day', 'week', 'month', 'year']) {
    assert.equal(
      (await newProduct(app, modelId, { price: { ...monthly, intervalUnit } })).price.intervalUnit,
      intervalUnit,
    );
  }
  refused(await create({ name: 'Bad', slug }, { ...monthly, intervalUnit: 'hour' }), 400, /intervalUnit/);
  refused(await create({ name: 'Bad', slug }, { ...monthly, usageMeterId: 'usage_meter_1' }), 400, /usageMeterId/);
  refused(await create({ name: 'Bad', slug }, { ...once, intervalUnit: 'month' }), 400, /intervalUnit/);
  refused(await create({ name: 'Bad', slug }, { ...once, trialPeriodDays: 7 }), 400, /trialPeriodDays/);
  const usage = { type: 'usage', usageMeterId: 'usage_meter_1', unitPrice: 1, usageEventsPerUnit: 1 };
  refused(await create({ name: 'Bad', slug }, usage), 404, /usage_meter_1/);
  const foreign = await newMeter(app, await newModel(app));
  refused(await create({ name: 'Bad', slug }, { ...usage, usageMeterId: foreign.id }), 400, /another pricing model/);
  refused(
    await create({ name: 'Bad', slug }, { unitPrice: 1 }),
    400,
    /^price\.type: must be subscription, single_payment or usage/,
  );
  refused(
    await app.request('POST', '/products', { product: { name: 'Bad', slug } }),
    400,
    /^price: .*must be an object/,
  );
  const { price } = await newProduct(app, modelId, { price: { ...once, intervalUnit: null, trialPeriodDays: null } });
  assert.deepEqual([price.intervalUnit, price.intervalCount, price.trialPeriodDays], [null, null, null]);
});

test('names and slugs have 1 to 255 characters', async () => {
  for (const text of ['y', 'y'.repeat(255)]) {
    const { product } = await newProduct(app, modelId, {
      product: { name: text, slug: text },
      price: { ...monthly, slug: text },
    });
    assert.deepEqual([product.name, product.slug], [text, text]);
  }
  for (const text of ['', '   ', 'y'.repeat(256)]) {
    refused(await create({ name: text, slug: unique('bad') }), 400, /product\.name/);
    refused(await create({ name: 'Bad', slug: text }), 400, /product\.slug/);
    refused(await create({ name: 'Bad', slug: unique('bad') }, { ...monthly, slug: text }), 400, /price\.slug/);
  }
});

test('there is one default product, and its slug is its own', async () => {
  refused(await create({ name: 'Second', slug: 'second', default: true }), 403, /cannot have a second one/);
  assert.equal((await create({ name: 'Fine', slug: unique('fine'), default: false })).status, 200);
  for (const slug of ['free', 'FREE', 'Free'])
    refused(await create({ name: 'Bad', slug }), 400, /reserved for the default/);
  refused(await create({ name: 'Free' }), 400, /reserved for the default/);
  const price = { ...monthly, slug: 'calls_no_charge' };
  refused(await create({ name: 'Bad', slug: unique('bad') }, price), 400, /reserved for no-charge prices/);
});

test('the slugs of active products and prices are unique in a pricing model, and free again once deactivated', async () => {
  const { product } = await newProduct(app, modelId, {
    product: { slug: 'gold' },
    price: { ...monthly, slug: 'gold-m' },
  });
  refused(await create({ name: 'Gold', slug: 'gold' }), 409, /slug gold is already used by another product/);
  refused(
    await create({ name: 'Gold', slug: 'gold-2' }, { ...monthly, slug: 'gold-m' }),
    409,
    /gold-m .* another price/,
  );
  const other = await newModel(app);
  await newProduct(app, other, { product: { slug: 'gold' }, price: { ...monthly, slug: 'gold-m' } });

  await app.put(`/products/${product.id}`, { product: { active: false } });
  const again = await newProduct(app, modelId, { product: { slug: 'gold' }, price: { ...monthly, slug: 'gold-m' } });
  assert.notEqual(again.product.id, product.id);
  const revived = await app.request('PUT', `/products/${product.id}`, { product: { active: true } });
  refused(revived, 409, /slug gold is already used/);
});

test('a product with a usage price is free itself, and the price becomes the default of its meter', async () => {
  const meter = await newMeter(app, modelId);
  const usage = { type: 'usage', usageMeterId: meter.id, unitPrice: 5, usageEventsPerUnit: 10, slug: unique('call') };
  const price = { ...usage, intervalUnit: 'month', intervalCount: 1, isDefault: true };
  const { product } = (await create({ name: 'Pay as you go', slug: unique('payg') }, price)).body;
  const { prices } = await app.get(`/products/${product.id}`);
  assert.deepEqual(
    prices.map(({ type, unitPrice, intervalUnit }: Body) => [type, unitPrice, intervalUnit]),
    [['subscription', 0, 'month']],
  );
  const { inForce } = await pricesOfMeter(app, meter.id);
  assert.deepEqual(
    [inForce.slug, inForce.unitPrice, inForce.usageEventsPerUnit, inForce.productId],
    [usage.slug, 5, 10, null],
  );
});

test('features must exist and be of the same pricing model; a product that is paid once may have toggles', async () => {
  const toggle = await newToggle(app, modelId);
  const foreign = await newToggle(app, await newModel(app));
  refused(await create({ name: 'Bad', slug: unique('bad') }, monthly, ['feature_x']), 404, /feature_x/);
  refused(await create({ name: 'Bad', slug: unique('bad') }, monthly, [foreign.id]), 400, /another pricing model/);
  const single = await create({ name: 'Lifetime', slug: unique('lifetime') }, once, [toggle.id]);
  assert.deepEqual((await app.get(`/products/${single.body.product.id}`)).features, [toggle]);
  refused(await create({ name: 'Bad', slug: unique('bad') }, monthly, 'all'), 400, /featureIds/);
});

test('products are listed by pricing model, activity and slug', async () => {
  const model = await newModel(app);
  const { product: first } = await newProduct(app, model);
  const { product: second } = await newProduct(app, model);
  await app.put(`/products/${first.id}`, { product: { active: false } });
  const ids = async (filter: string) =>
    (await app.get(`/products?pricingModelId=${model}${filter}`)).data.map((each: Body) => each.id);
  assert.equal((await ids('')).length, 3);
  assert.deepEqual(await ids('&active=false'), [first.id]);
  assert.deepEqual(await ids(`&slug=${second.slug}`), [second.id]);
  assert.equal((await ids('&default=true')).length, 1);
  refused(await app.request('GET', '/products?active=maybe'), 400, /active/);
  refused(await app.request('GET', '/products?limit=101'), 400, /limit/);
});

test("an unknown product and another organization's are 404", async () => {
  const { product } = await newProduct(app, modelId);
  const key = { key: (await app.newOrganization()).testKey };
  refused(await app.request('GET', '/products/prod_unknown'), 404, /No product with id prod_unknown/);
  refused(await app.request('PUT', '/products/prod_unknown', { product: {} }), 404, /No product/);
  refused(await app.request('GET', `/products/${product.id}`, undefined, key), 404, /No product/);
  refused(await app.request('PUT', `/products/${product.id}`, { product: { name: 'Mine' } }, key), 404, /No product/);
  refused(await app.request('GET', `/products/${product.id}`, undefined, { key: app.liveKey }), 404, /No product/);
  const theirs = (await app.get('/products', key)).data;
  assert.ok(theirs.every((each: Body) => each.organizationId !== app.id));
  assert.equal((await app.get(`/products/${product.id}`)).name, 'Pro');
});

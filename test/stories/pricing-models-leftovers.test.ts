import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { acme, allRows } from '../support/pricing-models.ts';

/** Updates of pricing models in which changes of single records have left something behind. */
const app = await startTestApp();

const setUp = async (body: object) => (await app.post('/pricing-models/setup', body)).pricingModel;
const exportOf = async (id: string) => (await app.get(`/pricing-models/${id}/export`)).pricingModel;
const put = (id: string, pricingModel: object) => app.put(`/pricing-models/${id}`, { pricingModel });
const putsNothing = async (id: string, pricingModel: object) => {
  const before = await allRows(app, id);
  await put(id, pricingModel);
  assert.deepEqual(await allRows(app, id), before);
};

test('a removed feature is no longer linked to products that were inactive before', async () => {
  const { id, products } = await setUp(acme());
  await app.put(`/products/${products[0].id}`, { product: { active: false } });
  const { features, products: stored, ...rest } = await exportOf(id);
  await put(id, { ...rest, features: features.slice(1), products: stored.slice(1) });
  const { data } = await app.get(`/product-features?productId=${products[0].id}`);
  assert.deepEqual(
    data.map(({ expiredAt }: Body) => expiredAt === null),
    [false, true, true],
  );
});

test('all prices of a product are deactivated with it, and its default price alone is activated with it', async () => {
  const { id, products } = await setUp(acme());
  const [{ id: productId, defaultPrice: monthly }] = products;
  const yearly = { type: 'subscription', productId, intervalUnit: 'year', unitPrice: 9, slug: 'yearly' };
  await app.post('/prices', { price: yearly });
  await app.put(`/prices/${monthly.id}`, { price: { active: true } });
  const active = async () => {
    const { data } = await app.get(`/prices?productId=${productId}`);
    return data.filter((price: Body) => price.active).map(({ slug }: Body) => slug);
  };
  assert.deepEqual(await active(), ['team-monthly', 'yearly']);
  const body = await exportOf(id);
  body.products[0].product.active = false;
  await put(id, body);
  assert.deepEqual(await active(), []);
  body.products[0].product.active = true;
  await put(id, body);
  assert.deepEqual(await active(), ['yearly']);
  await app.put(`/prices/${monthly.id}`, { price: { active: true } });
  body.products.splice(0, 1);
  await put(id, body);
  assert.deepEqual(await active(), []);
});

test('a feature goes on giving its inactive resource; active again, it gives the one that has the slug now', async () => {
  const { id, products } = await setUp(acme());
  const seats = products[0].features[2];
  const resourceOf = async () => (await app.get(`/features/${seats.id}`)).feature.resourceId;
  await app.put(`/resources/${seats.resourceId}`, { resource: { active: false } });
  const resource = { slug: 'seat', name: 'Other seat', pricingModelId: id };
  const other = (await app.post('/resources', { resource })).resource;
  const body = await exportOf(id);
  await putsNothing(id, body);
  assert.equal(await resourceOf(), seats.resourceId);

  const without = structuredClone(body);
  without.features.splice(2, 1);
  without.products[0].features.splice(2, 1);
  await put(id, without);
  await put(id, body);
  assert.equal(await resourceOf(), other.id);
});

test('prices without slugs are known by their terms, whatever their order', async () => {
  const prices = [
    { unitPrice: 1, name: 'A' },
    { unitPrice: 1, name: 'B', isDefault: true },
    { unitPrice: 2, name: 'A' },
  ];
  const usageMeter = { name: 'Calls', slug: 'calls' };
  const { id, usageMeters } = await setUp({ name: 'Unnamed', usageMeters: [{ usageMeter, prices }] });
  const body = await exportOf(id);
  await putsNothing(id, { ...body, usageMeters: [{ usageMeter, prices: [...prices].reverse() }] });

  await put(id, { ...body, usageMeters: [{ usageMeter, prices: prices.slice(0, 2) }] });
  await put(id, body);
  const after = (await app.get(`/pricing-models/${id}`)).pricingModel.usageMeters[0].prices;
  const ids = (all: Body[]) => all.map((price) => price.id);
  assert.deepEqual(ids(after), ids(usageMeters[0].prices));
});

test('a price that gets its former terms again is a new price', async () => {
  const { id, usageMeters } = await setUp(acme());
  const body = await exportOf(id);
  for (const unitPrice of [2, 1]) {
    body.usageMeters[0].prices[0].unitPrice = unitPrice;
    await put(id, body);
  }
  const { data } = await app.get(`/prices?usageMeterId=${usageMeters[0].id}`);
  const overages = data.filter(({ slug }: Body) => slug === 'call-overage');
  assert.deepEqual(
    overages.map(({ unitPrice, active, isDefault }: Body) => [unitPrice, active, isDefault]),
    [
      [1, false, false],
      [2, false, false],
      [1, true, true],
    ],
  );
});

test('a no-charge price that has another name keeps it, and is not exported', async () => {
  const { id, usageMeters } = await setUp(acme());
  const noCharge = usageMeters[0].prices[1];
  await app.put(`/prices/${noCharge.id}`, { price: { name: 'On the house' } });
  const body = await exportOf(id);
  assert.equal(body.usageMeters[0].prices.length, 1);
  await putsNothing(id, body);
});

test('the default flag goes to a given price and back to the no-charge price', async () => {
  const { id } = await setUp(acme());
  const body = await exportOf(id);
  const [price] = body.usageMeters[0].prices;
  for (const [isDefault, slug] of [
    [false, 'api-calls_no_charge'],
    [true, 'call-overage'],
  ]) {
    price.isDefault = isDefault;
    await put(id, body);
    assert.equal((await app.get(`/pricing-models/${id}`)).pricingModel.usageMeters[0].defaultPrice.slug, slug);
  }
});

test('no trial may be written as 0 or left out: neither replaces the price', async () => {
  const price = { type: 'subscription', intervalUnit: 'month', unitPrice: 1, trialPeriodDays: 0 };
  const { id } = await setUp({ name: 'Trial', products: [{ product: { name: 'Pro', slug: 'pro' }, price }] });
  const body = await exportOf(id);
  assert.equal(body.products[0].price.trialPeriodDays, 0);
  await putsNothing(id, body);
  delete body.products[0].price.trialPeriodDays;
  await putsNothing(id, body);
});

test('a product that is not sold is exported without a rate whose slug a price with conditions has got', async () => {
  const body = acme();
  const pro = { slug: 'pro-rate', unitPrice: 2, isDefault: false };
  body.usageMeters[0].prices.push(pro);
  const usagePrices = [{ usageMeterSlug: 'api-calls', priceSlug: 'pro-rate' }];
  body.products[0].product.usagePrices = usagePrices;
  const { id, products } = await setUp(body);
  await app.put(`/products/${products[0].id}`, { product: { active: false } });
  assert.deepEqual((await exportOf(id)).products[0].product.usagePrices, usagePrices);

  const { products: stored, usageMeters, ...rest } = await exportOf(id);
  const prices = usageMeters[0].prices.map((price: Body) =>
    price.slug === pro.slug ? { ...price, where: { region: ['eu'] } } : price,
  );
  await put(id, { ...rest, products: stored.slice(1), usageMeters: [{ ...usageMeters[0], prices }] });
  const exported = await exportOf(id);
  await putsNothing(id, exported);
  const again = await setUp(exported);
  assert.deepEqual((await exportOf(again.id)).products, exported.products);
});

test('a product that is sold again by itself takes the price that has the slug of its rate now', async () => {
  const body = acme();
  body.products[0].product.usagePrices = [{ usageMeterSlug: 'api-calls', priceSlug: 'call-overage' }];
  const { id, products } = await setUp(body);
  const path = `/products/${products[0].id}`;
  await app.put(path, { product: { active: false } });
  const { products: stored, usageMeters, ...rest } = await exportOf(id);
  const reprice = async (change: Body) => {
    const prices = [{ ...usageMeters[0].prices[0], ...change }];
    await put(id, { ...rest, products: stored.slice(1), usageMeters: [{ ...usageMeters[0], prices }] });
    return (await app.get(`/prices?usageMeterId=${products[0].usagePrices[0].usageMeterId}`)).data;
  };
  const dearer = (await reprice({ unitPrice: 5 })).find(({ unitPrice }: Body) => unitPrice === 5);
  const { product } = await app.put(path, { product: { active: true } });
  assert.equal(product.usagePrices[0].priceId, dearer.id);
  await putsNothing(id, await exportOf(id));

  await app.put(path, { product: { active: false } });
  await reprice({ slug: 'other' });
  const refused = await app.request('PUT', path, { product: { active: true } });
  assert.deepEqual([refused.status, refused.body.issues[0].path], [400, ['product', 'usagePrices', 0, 'priceSlug']]);
  await app.put(path, { product: { active: true, usagePrices: [] } });
});

test('a plan whose price alone was inactive takes the price that has the slug of its rate now, whatever sells it again', async () => {
  const sellings: ((productId: string, priceId: string) => Promise<unknown>)[] = [
    (_, priceId) => app.put(`/prices/${priceId}`, { price: { active: true } }),
    (productId) => {
      const price = { type: 'subscription', productId, intervalUnit: 'month', unitPrice: 9, slug: 'team-again' };
      return app.post('/prices', { price });
    },
    (productId) => app.put(`/products/${productId}`, { product: {}, price: { unitPrice: 9 } }),
  ];
  for (const sell of sellings) {
    const body = acme();
    body.products[0].product.usagePrices = [{ usageMeterSlug: 'api-calls', priceSlug: 'call-overage' }];
    const { id, products } = await setUp(body);
    const [product] = products;
    await app.put(`/prices/${product.defaultPrice.id}`, { price: { active: false } });
    const exported = await exportOf(id);
    exported.usageMeters[0].prices[0].unitPrice = 5;
    await put(id, exported);
    const { data } = await app.get(`/prices?usageMeterId=${product.usagePrices[0].usageMeterId}`);
    const dearer = data.find(({ unitPrice }: Body) => unitPrice === 5);
    await sell(product.id, product.defaultPrice.id);
    assert.equal((await app.get(`/products/${product.id}`)).usagePrices[0].priceId, dearer.id);
    await putsNothing(id, await exportOf(id));
  }
});

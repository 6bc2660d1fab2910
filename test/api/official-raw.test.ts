import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { Catalogs } from '@flowglad/node/resources/catalogs';
import { z } from 'zod';
import { type Body, startTestApp } from '../support/harness.ts';
import { rawCalls } from '../support/official-calls-raw.ts';
import { assertShape, officialClient, watch } from '../support/official-client.ts';
import { openShop } from '../support/official-shop.ts';

const app = await startTestApp();
const client = officialClient(app, await watch(app));
const shop = await openShop(client);

describe('what the official client reaches by path only', () => {
  for (const [operation, { call, answers, says }] of Object.entries(rawCalls)) {
    test(`${operation}: the answer is documented and has every key`, async () => {
      const answer = await call(client, shop, app);
      assertShape(answers, answer);
      if (says) assert.partialDeepStrictEqual(answer, says);
    });
  }
});

describe('catalogs, the former name of pricing models, as their own client calls them', () => {
  const catalogs = new Catalogs(client);
  const absent = z.never().optional();
  const stamps = { createdAt: z.iso.datetime(), updatedAt: z.iso.datetime(), livemode: z.boolean() };
  const commits = { createdByCommit: z.null(), updatedByCommit: z.null() };
  const record = { id: z.string(), ...stamps, ...commits };
  const Basic = z.object({ ...record, organizationId: z.string(), isDefault: z.boolean(), name: z.string() });
  const Price = z.object({
    ...record,
    unitPrice: z.int(),
    productId: z.string(),
    setupFeeAmount: z.null(),
    overagePriceId: z.null(),
    startsWithCreditTrial: z.null(),
  });
  const inCatalog = { ...record, catalogId: z.string(), pricingModelId: absent, slug: z.string() };
  const Product = z.object({
    ...inCatalog,
    displayFeatures: z.null(),
    prices: z.array(Price),
    defaultPrice: Price,
    features: absent,
  });
  const Full = z.object({
    ...Basic.shape,
    products: z.array(Product).min(1),
    usageMeters: z.array(z.object({ ...inCatalog, aggregationType: z.string(), prices: absent })),
    defaultProduct: Product,
  });
  let id: string;

  before(async () => {
    const { catalog } = await catalogs.create({ catalog: { name: 'Old' } });
    assertShape(Basic, catalog);
    assert.deepEqual([catalog.name, catalog.isDefault, catalog.livemode], ['Old', false, false]);
    id = catalog.id;
  });

  test('one is made with the free plan, and is a pricing model', async () => {
    const { catalog } = await catalogs.retrieve(id);
    assertShape(Full, catalog);
    assert.equal(catalog.defaultProduct?.slug, 'free');
    const { pricingModel } = await client.pricingModels.retrieve(id);
    assert.equal(pricingModel.name, 'Old');
  });

  test('it is renamed, and keeps what it holds', async () => {
    const { catalog } = await catalogs.update(id, { catalog: { id, name: 'Older' } });
    assertShape(Basic, catalog);
    assert.equal(catalog.name, 'Older');
    assert.equal((await catalogs.retrieve(id)).catalog.products.length, 1);
    const refused = await app.request('PUT', `/catalogs/${id}`, { catalog: { id: 'pricing_model_other' } });
    assert.equal(refused.status, 400);
  });

  test('the default one is the default pricing model, until another takes its place', async () => {
    const { catalog } = await catalogs.retrieveDefault();
    assertShape(Full, catalog);
    assert.equal(catalog.id, shop.pricingModelId);
    assert.deepEqual(
      catalog.usageMeters.map((meter) => meter.slug),
      ['calls'],
    );
    await catalogs.update(id, { catalog: { id, isDefault: true } });
    assert.equal((await catalogs.retrieveDefault()).catalog.id, id);
    await client.pricingModels.update(shop.pricingModelId, {
      pricingModel: { id: shop.pricingModelId, isDefault: true },
    });
    assert.equal((await catalogs.retrieveDefault()).catalog.id, shop.pricingModelId);
  });

  test('they are listed page by page, as pricing models are', async () => {
    const first = await catalogs.list({ limit: 1 });
    const second = await catalogs.list({ limit: 1, cursor: first.nextCursor ?? '' });
    const ids = [...first.data, ...second.data].map((row) => row.id);
    for (const row of [...first.data, ...second.data]) assertShape(Basic, row);
    const models: Body = await client.pricingModels.list({ limit: '2' });
    assert.deepEqual(
      ids,
      models.data.map((model: Body) => model.id),
    );
    assert.equal(first.total, models.total);
  });

  test('one is cloned in its own mode', async () => {
    const { catalog } = await catalogs.clone(shop.pricingModelId, { name: 'Copy' });
    assertShape(Full, catalog);
    assert.deepEqual([catalog.name, catalog.isDefault, catalog.livemode], ['Copy', false, false]);
    assert.deepEqual(catalog.products.map((product) => product.slug).sort(), ['free', 'onboarding', 'pro', 'team']);
  });
});

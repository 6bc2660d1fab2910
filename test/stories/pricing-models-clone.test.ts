import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { type Body, startTestApp } from '../support/harness.ts';
import { acme, allRows, countRows, pinnedKey, pricingTables } from '../support/pricing-models.ts';
import { structureBodies } from '../support/pricing-structures.ts';

const app = await startTestApp();

const setUp = async (body: object) => (await app.post('/pricing-models/setup', body)).pricingModel;
const clone = async (id: string, body: object) => (await app.post(`/pricing-models/${id}/clone`, body)).pricingModel;

interface Row {
  readonly id: string;
  readonly [column: string]: unknown;
}

/** The rows of a pricing model by table, in order of creation, without when and how often they were written. */
async function rowsOf(pricingModelId: string): Promise<Record<string, Row[]>> {
  const all: Record<string, Row[]> = {};
  for (const table of pricingTables) {
    const model = sql.ref(table === 'pricing_models' ? 'id' : 'pricing_model_id');
    const { rows } = await sql<{ row: Row }>`
      select to_jsonb(t) - 'created_at' - 'updated_at' - 'catalog_version' as row from ${sql.table(table)} as t
       where ${model} = ${pricingModelId} order by id`.execute(app.owner);
    all[table] = rows.map(({ row }) => row);
  }
  return all;
}

/** Checks that the copy is the source under one map of ids; what may differ is named. Answers how many rows there are. */
async function assertIsomorphic(sourceId: string, copyId: string, environmentId: number): Promise<number> {
  const source = await rowsOf(sourceId);
  const copy = await rowsOf(copyId);
  source.product_features = (source.product_features ?? []).filter((row) => row.expired_at === null);
  const ids = new Map<unknown, string>();
  for (const table of pricingTables) {
    assert.equal(copy[table]?.length, source[table]?.length, table);
    for (const [index, row] of (source[table] ?? []).entries()) ids.set(row.id, copy[table]?.[index]?.id ?? '');
  }
  assert.equal(new Set(ids.values()).size, ids.size, 'every copy has an id of its own');
  for (const [id, copied] of ids) assert(!ids.has(copied), `${id} is copied, not shared`);
  // The terms of a spend limit name a usage meter.
  const inCopy = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, inCopy(each)]))
      : (ids.get(value) ?? value);
  for (const table of pricingTables) {
    const mapped = (source[table] ?? []).map((row) => ({
      ...Object.fromEntries(Object.entries(row).map(([key, value]) => [key, inCopy(value)])),
      environment_id: environmentId,
    }));
    const differing = table === 'pricing_models' ? { name: copy[table]?.[0]?.name, is_default: false } : {};
    assert.deepEqual(
      copy[table],
      mapped.map((row) => ({ ...row, ...differing })),
    );
  }
  return ids.size;
}

test('a clone is its source under a map of ids, in the same mode and in the other one', async () => {
  await fc.assert(
    fc.asyncProperty(structureBodies, structureBodies, fc.boolean(), async (first, next, live) => {
      const { id } = await setUp({ name: 'Source', isDefault: true, ...first });
      // An update leaves replaced prices, inactive records and expired links behind. Not every one is possible.
      await app.request('PUT', `/pricing-models/${id}`, { pricingModel: next });
      const discount = { name: 'D', amount: 5, amountType: 'fixed', active: live, pricingModelId: id };
      await app.post('/discounts', { discount: { ...discount, code: 'ONCE', duration: 'once' } });
      const thrice = { duration: 'number_of_payments', numberOfPayments: 3 };
      await app.post('/discounts', { discount: { ...discount, code: 'THRICE', ...thrice } });
      const before = await allRows(app, id);
      const destinationEnvironment = live ? 'livemode' : 'testmode';
      const copy = await clone(id, { name: 'Copy', destinationEnvironment });
      assert.deepEqual(await allRows(app, id), before, 'the source stays as it is');
      const environmentId = live ? app.liveEnvironmentId : app.testEnvironmentId;
      const rows = await assertIsomorphic(id, copy.id, environmentId);
      assert(rows > 2);
    }),
    { numRuns: 25 },
  );
});

test('the answer is the copy in full, its instants as texts, with the fields that nothing fills any more', async () => {
  await app.setClock(Date.UTC(2026, 0, 1));
  const { id } = await setUp(acme());
  const copy = await clone(id, { name: ' Acme copy ' });
  const { pricingModel: details } = await app.get(`/pricing-models/${copy.id}`);
  const at = '2026-01-01T00:00:00.000Z';
  const dated = (record: object) => ({ ...record, createdAt: at, updatedAt: at });
  const legacy = (record: object) => ({ ...dated(record), createdByCommit: null, updatedByCommit: null });
  const price = (record: object) => ({
    ...legacy(record),
    setupFeeAmount: null,
    minimumCommitment: null,
    where: null,
    overagePriceId: null,
    startsWithCreditTrial: null,
  });
  const product = (record: Body) => ({
    ...legacy(record),
    displayFeatures: null,
    prices: record.prices.map(price),
    defaultPrice: price(record.defaultPrice),
    features: record.features.map(dated),
  });
  const meter = (record: Body) => ({
    ...legacy(record),
    prices: record.prices.map(price),
    defaultPrice: price(record.defaultPrice),
  });
  assert.equal(copy.name, 'Acme copy');
  assert.deepEqual(copy, {
    ...legacy(details),
    products: details.products.map(product),
    usageMeters: details.usageMeters.map(meter),
    defaultProduct: product(details.defaultProduct),
  });
});

test('a catalog is cloned in the same mode, its products and usage meters with catalogId in place of pricingModelId', async () => {
  const { id } = await setUp(acme());
  const { catalog } = await app.post(`/catalogs/${id}/clone`, { name: 'Old' });
  assert.equal(catalog.livemode, false);
  const copy = await clone(catalog.id, { name: 'Compare' });
  const keys = (record: object) => Object.keys(record).sort();
  const inCatalog = (record: object, ...without: string[]) =>
    [...keys(record).filter((key) => key !== 'pricingModelId' && !without.includes(key))].sort();
  assert.deepEqual(keys(catalog), keys(copy));
  const [team] = catalog.products;
  assert.equal(team.catalogId, catalog.id);
  assert.deepEqual(keys(team), [...inCatalog(copy.products[0], 'features'), 'catalogId'].sort());
  assert.deepEqual(keys(team.defaultPrice), keys(copy.products[0].defaultPrice));
  assert.equal(team.defaultPrice.pricingModelId, catalog.id);
  const [meter] = catalog.usageMeters;
  assert.deepEqual(keys(meter), [...inCatalog(copy.usageMeters[0], 'prices', 'defaultPrice'), 'catalogId'].sort());
  assert.equal(meter.catalogId, catalog.id);
  assert.equal(catalog.defaultProduct.slug, 'free');
  for (const record of [catalog, team, team.defaultPrice, meter]) {
    assert.match(record.createdAt, /^\d{4}-\d\d-\d\dT/);
    assert.match(record.updatedAt, /^\d{4}-\d\d-\d\dT/);
    assert.deepEqual([record.createdByCommit, record.updatedByCommit], [null, null]);
  }
  assert.equal(team.displayFeatures, null);
  await assertIsomorphic(id, catalog.id, app.testEnvironmentId);
});

test('a copy in live mode belongs to live mode alone, and has the real time', async () => {
  await app.setClock(Date.UTC(2030, 0, 1));
  const started = Date.now();
  const { id } = await setUp({ name: 'Source', isDefault: true });
  const copy = await clone(id, { name: 'Live', destinationEnvironment: 'livemode' });
  assert.equal(copy.livemode, true);
  assert.equal(copy.isDefault, false);
  assert(Date.parse(copy.createdAt) >= started && Date.parse(copy.createdAt) <= Date.now());
  assert.equal((await app.request('GET', `/pricing-models/${copy.id}`)).status, 404);
  const { pricingModel } = await app.get(`/pricing-models/${copy.id}`, { key: app.liveKey });
  assert.equal(pricingModel.products[0].defaultPrice.livemode, true);
  // And back again.
  const back = await app.post(
    `/pricing-models/${copy.id}/clone`,
    { name: 'Back', destinationEnvironment: 'testmode' },
    { key: app.liveKey },
  );
  assert.equal(back.pricingModel.livemode, false);
  await assertIsomorphic(copy.id, back.pricingModel.id, app.testEnvironmentId);
  assert.equal((await app.get('/pricing-models/default')).pricingModel.id, id);
});

test('a repeat of a clone into the other mode gives the same answer and copies nothing more', async () => {
  const { id } = await setUp(acme());
  const headers = { 'idempotency-key': randomUUID() };
  const body = { name: 'Live', destinationEnvironment: 'livemode' };
  const first = await app.post(`/pricing-models/${id}/clone`, body, { headers });
  const before = await countRows(app);
  const again = await app.request('POST', `/pricing-models/${id}/clone`, body, { headers });
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(again.body, first);
  assert.deepEqual(await countRows(app), before);
});

test('a dry run of a clone into the other mode copies nothing', async () => {
  const { id } = await setUp(acme());
  const before = await countRows(app);
  const body = { name: 'Live', destinationEnvironment: 'livemode' };
  const { pricingModel } = await app.post(`/pricing-models/${id}/clone?dryRun=true`, body);
  assert.equal(pricingModel.livemode, true);
  assert.deepEqual(await countRows(app), before);
});

test('a clone needs a name and a destination that there is', async () => {
  const { id } = await setUp({ name: 'Source' });
  for (const body of [{}, { name: '' }, { name: 'n'.repeat(256) }, { name: 'Copy', destinationEnvironment: 'moon' }]) {
    assert.equal((await app.request('POST', `/pricing-models/${id}/clone`, body)).status, 400);
  }
});

test('nobody clones what is not theirs', async () => {
  const { id } = await setUp(acme());
  const other = await app.newOrganization();
  const before = await countRows(app);
  for (const path of [`/pricing-models/${id}/clone`, `/catalogs/${id}/clone`]) {
    for (const key of [app.liveKey, other.testKey, other.liveKey]) {
      const body = { name: 'Mine' };
      assert.equal((await app.request('POST', path, body, { key })).status, 404);
    }
  }
  assert.deepEqual(await countRows(app), before);
});

test('a pinned key makes no pricing models, and cannot leave its environment', async () => {
  const { id } = await setUp(acme());
  const key = await pinnedKey(app, id);
  const before = await countRows(app);
  for (const [path, body] of [
    ['/pricing-models/setup', acme()],
    [`/pricing-models/${id}/clone`, { name: 'Copy' }],
    [`/pricing-models/${id}/clone`, { name: 'Copy', destinationEnvironment: 'livemode' }],
    [`/catalogs/${id}/clone`, { name: 'Copy' }],
  ] as const) {
    const answer = await app.request('POST', path, body, { key });
    assert.equal(answer.status, 403, path);
    assert.equal(answer.body.code, 'FORBIDDEN');
  }
  assert.deepEqual(await countRows(app), before);
  const leave = app.database.transaction().execute(async (db) => {
    await sql`select set_config('tollkeeper.environment_id', ${String(app.testEnvironmentId)}, true),
      set_config('tollkeeper.pricing_model_id', ${id}, true)`.execute(db);
    await sql`select switch_environment(true)`.execute(db);
  });
  await assert.rejects(leave, /pinned to a pricing model/);
});

test('nobody reaches another environment without having entered one', async () => {
  await assert.rejects(sql`select switch_environment(true)`.execute(app.database), /no rows/);
});

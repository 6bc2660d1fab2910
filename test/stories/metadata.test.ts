import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { newModel, newProduct, refused } from '../support/pricing-fixture.ts';
import { pinnedKey } from '../support/pricing-models.ts';
import { newCustomer } from '../support/shop.ts';

const app = await startTestApp();
const pricingModelId = await newModel(app);
const inModel = { pricingModelId };

const filter = (metadata: Record<string, string>) =>
  new URLSearchParams(Object.entries(metadata).map(([key, value]) => [`metadata[${key}]`, value])).toString();
const externalIds = async (query: string, options = {}) =>
  (await app.get(`/customers?limit=100&${query}`, options)).data.map(({ externalId }: Body) => externalId);

test('customers are found by their metadata, whose numbers and booleans are compared as text', async () => {
  await newCustomer(app, 'ann', { ...inModel, metadata: { crm: 'a-1', seats: 5, beta: true } });
  await newCustomer(app, 'ben', { ...inModel, metadata: { crm: 'b-1', seats: '5', beta: false } });
  await newCustomer(app, 'cem', inModel);
  assert.deepEqual((await app.get('/customers/ann')).customer.metadata, { crm: 'a-1', seats: 5, beta: true });
  assert.equal((await app.get('/customers/cem')).customer.metadata, null);
  assert.deepEqual(await externalIds(filter({ crm: 'a-1' })), ['ann']);
  assert.deepEqual(await externalIds(filter({ seats: '5' })), ['ann', 'ben']);
  assert.deepEqual(await externalIds(filter({ seats: '5', beta: 'false' })), ['ben']);
  assert.deepEqual(await externalIds(filter({ seats: '6' })), []);
  assert.deepEqual(await externalIds(`${filter({ crm: 'a-1' })}&externalId=ben`), []);
});

test('metadata that is sent replaces what was there; null removes it', async () => {
  await newCustomer(app, 'dan', { ...inModel, metadata: { crm: 'd-1', seats: 5 } });
  const put = async (customer: object) => (await app.put('/customers/dan', { customer })).customer.metadata;
  assert.deepEqual(await put({ name: 'Dan' }), { crm: 'd-1', seats: 5 });
  assert.deepEqual(await put({ metadata: { crm: 'd-2' } }), { crm: 'd-2' });
  assert.deepEqual(await externalIds(filter({ crm: 'd-1' })), []);
  assert.equal(await put({ metadata: null }), null);
});

test('a list filtered by metadata keeps its filter over the pages', async () => {
  for (const name of ['p1', 'p2', 'p3']) await newCustomer(app, name, { ...inModel, metadata: { batch: 'pages é' } });
  const first = await app.get(`/customers?limit=2&${filter({ batch: 'pages é' })}`);
  assert.deepEqual([first.data.length, first.total, first.hasMore], [2, 3, true]);
  const second = await app.get(`/customers?limit=2&cursor=${encodeURIComponent(first.nextCursor)}`);
  assert.deepEqual(
    second.data.map(({ externalId }: Body) => externalId),
    ['p3'],
  );
  const other = `/customers?cursor=${encodeURIComponent(first.nextCursor)}&${filter({ batch: 'other' })}`;
  assert.equal((await app.request('GET', other)).status, 400);
});

test('metadata that is too large, nested or misnamed is refused by name', async () => {
  const create = (metadata: unknown) =>
    app.request('POST', '/customers', { customer: { externalId: 'bad', email: 'a@b.test', name: 'Bad', metadata } });
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'x']));
  for (const bad of [keys(51), { ['k'.repeat(41)]: 'x' }, { k: 'x'.repeat(501) }, { k: {} }, { k: null }, 'text'])
    refused(await create(bad), 400, /metadata/);
  refused(await app.request('GET', '/customers?metadata=a'), 400, /metadata/);
  refused(await app.request('GET', `/customers?${filter(keys(6))}`), 400, /at most 5 keys/);
});

test('products, prices and subscriptions have metadata and are found by it', async () => {
  const { product, price } = await newProduct(app, pricingModelId, {
    product: { metadata: { erp: 'P-1' } },
    price: { type: 'subscription', unitPrice: 0, intervalUnit: 'month', metadata: { erp: 'R-1' } },
  });
  assert.deepEqual([product.metadata, price.metadata], [{ erp: 'P-1' }, { erp: 'R-1' }]);
  const ids = async (list: string, erp: string) =>
    (await app.get(`/${list}?${filter({ erp })}`)).data.map(({ id }: Body) => id);
  assert.deepEqual(await ids('products', 'P-1'), [product.id]);
  assert.deepEqual(await ids('prices', 'R-1'), [price.id]);

  // Other terms make another price, which keeps the metadata unless the change has its own.
  await app.put(`/products/${product.id}`, { product: { metadata: { erp: 'P-2' } }, price: { unitPrice: 100 } });
  const { defaultPrice, metadata } = await app.get(`/products/${product.id}`);
  assert.deepEqual([metadata, defaultPrice.metadata], [{ erp: 'P-2' }, { erp: 'R-1' }]);
  assert.deepEqual((await ids('prices', 'R-1')).sort(), [price.id, defaultPrice.id].sort());
  await app.put(`/prices/${price.id}`, { price: { metadata: null } });
  assert.deepEqual(await ids('prices', 'R-1'), [defaultPrice.id]);

  const { customerId } = await newCustomer(app, 'eve', inModel);
  const subscription = { customerId, priceId: defaultPrice.id, doNotCharge: true, metadata: { erp: 'S-1' } };
  const { subscription: made } = await app.post('/subscriptions', subscription);
  assert.deepEqual(await ids('subscriptions', 'S-1'), [made.id]);
});

test('an invoice has metadata as a draft and afterwards, is found by it, and keeps its document', async () => {
  await newCustomer(app, 'gil', inModel);
  const lines = [{ description: 'Workshop', unitAmount: 100 }];
  const { invoice } = await app.post('/invoices', {
    invoice: { customerExternalId: 'gil', lines, metadata: { erp: 'I-1', year: 2026 } },
  });
  assert.deepEqual(invoice.metadata, { erp: 'I-1', year: 2026 });
  const put = (given: object) => app.request('PUT', `/invoices/${invoice.id}`, { invoice: given });
  assert.deepEqual((await put({ memo: 'Thanks' })).body.invoice.metadata, { erp: 'I-1', year: 2026 });
  await app.post(`/invoices/${invoice.id}/finalize`, {});
  const found = async (erp: string) => (await app.get(`/invoices?${filter({ erp })}`)).data.map(({ id }: Body) => id);
  assert.deepEqual(await found('I-1'), [invoice.id]);
  const { body } = await put({ metadata: { erp: 'I-2' } });
  assert.deepEqual([body.invoice.metadata, body.invoice.memo, body.invoice.status], [{ erp: 'I-2' }, 'Thanks', 'open']);
  assert.deepEqual([await found('I-1'), await found('I-2')], [[], [invoice.id]]);
  refused(await put({ metadata: null, memo: 'No' }), 400, /open/);
  refused(await put({ metadata: { k: {} } }), 400, /metadata/);
  assert.equal((await put({ metadata: null })).body.invoice.metadata, undefined);
});

test('a filter by metadata finds nothing of another organization or outside of a pinned key', async () => {
  await newCustomer(app, 'fay', { ...inModel, metadata: { secret: 'f-1' } });
  const other = await app.newOrganization();
  const pinned = await pinnedKey(app, await newModel(app));
  for (const key of [other.testKey, app.liveKey, pinned])
    assert.deepEqual(await externalIds(filter({ secret: 'f-1' }), { key }), []);
  assert.deepEqual(await externalIds(filter({ secret: 'f-1' }), { key: await pinnedKey(app, pricingModelId) }), [
    'fay',
  ]);
});

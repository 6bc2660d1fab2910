import assert from 'node:assert/strict';
import { test } from 'node:test';
import { databaseDigest } from '../support/digest.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newModel, refused } from '../support/pricing-fixture.ts';
import { pinnedKey } from '../support/pricing-models.ts';

const app = await startTestApp();
const pricingModelId = await newModel(app);
const half = { name: 'Half', amount: 50, amountType: 'percent', duration: 'once', pricingModelId };
const create = (discount: object, key = app.testKey) =>
  app.request('POST', '/discounts', { discount: { ...half, ...discount } }, { key });
const made = async (discount: object): Promise<Body> => {
  const { status, body } = await create(discount);
  assert.equal(status, 200, JSON.stringify(body));
  return body.discount;
};
const change = (id: string, discount: object, key = app.testKey) =>
  app.request('PUT', `/discounts/${id}`, { discount }, { key });

test('a discount is made active with its code in upper case; read and list say how often it was redeemed', async () => {
  const discount = await made({ name: ' Half off ', code: 'half-off' });
  assert.match(discount.id, /^discount_[0-9A-Za-z]{21}$/);
  assert.deepEqual(discount, {
    id: discount.id,
    createdAt: discount.createdAt,
    updatedAt: discount.createdAt,
    livemode: false,
    organizationId: app.id,
    pricingModelId,
    name: 'Half off',
    code: 'HALF-OFF',
    amount: 50,
    amountType: 'percent',
    active: true,
    duration: 'once',
    numberOfPayments: null,
  });
  const read = { ...discount, redemptionCount: 0 };
  assert.deepEqual((await app.get(`/discounts/${discount.id}`)).discount, read);
  assert.deepEqual((await app.get('/discounts?code=half-off')).data, [read]);
  assert.deepEqual((await app.get(`/discounts?pricingModelId=${pricingModelId}&active=false`)).data, []);
});

test('a discount is once, forever or for a number of payments', async () => {
  const forever = await made({ code: 'FOREVER', duration: 'forever', numberOfPayments: null, active: false });
  assert.deepEqual([forever.duration, forever.numberOfPayments, forever.active], ['forever', null, false]);
  const thrice = await made({ code: 'THRICE', duration: 'number_of_payments', numberOfPayments: 3 });
  assert.deepEqual([thrice.duration, thrice.numberOfPayments], ['number_of_payments', 3]);
  refused(await create({ code: 'NEVER', duration: 'never' }), 400, /once, forever or number_of_payments/);
  refused(await create({ code: 'NEVER', duration: 'number_of_payments' }), 400, /discount\.numberOfPayments/);
  refused(await create({ code: 'NEVER', numberOfPayments: 2 }), 400, /discount\.numberOfPayments/);
});

test('what is not a discount is refused by its field, and a dry run keeps nothing', async () => {
  const digest = await databaseDigest(app);
  refused(await create({ code: 'AB' }), 400, /discount\.code.*3 to 20/);
  refused(await create({ code: 'x'.repeat(21) }), 400, /discount\.code.*3 to 20/);
  refused(await create({ code: 'BAD', amount: 0 }), 400, /discount\.amount/);
  refused(await create({ code: 'BAD', amount: 1.5 }), 400, /discount\.amount/);
  refused(await create({ code: 'BAD', amountType: 'free' }), 400, /discount\.amountType/);
  refused(await create({ code: 'BAD', name: '' }), 400, /discount\.name/);
  refused(await create({ code: 'BAD', pricingModelId: 'unknown' }), 404, /No pricing model/);
  refused(await app.request('POST', '/discounts', {}), 400, /discount/);
  const dry = await app.request('POST', '/discounts?dryRun=true', { discount: { ...half, code: 'DRY' } });
  assert.deepEqual([dry.status, dry.body.discount.code], [200, 'DRY']);
  assert.equal(await databaseDigest(app), digest);
});

test('a code that is not given is generated: 13 of 32 characters, which are 65 bits', async () => {
  const { code: _, ...codeless } = half as Body;
  const generated = [await made({ ...codeless, code: undefined }), await made({ ...codeless, code: undefined })];
  for (const { code } of generated)
    assert.match(code, /^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
  assert.equal(new Set(generated.map(({ code }) => code)).size, 2);
});

test('a code is there once in a pricing model, active or not, in any case', async () => {
  const first = await made({ code: 'ONLY-ONE', active: false });
  refused(await create({ code: 'only-one' }), 409, /code ONLY-ONE is already used/);
  const second = await made({ code: 'ANOTHER' });
  refused(await change(second.id, { code: 'Only-One' }), 409, /already used/);
  assert.equal((await change(first.id, { code: 'only-one' })).status, 200);
  assert.equal((await create({ code: 'ONLY-ONE', pricingModelId: await newModel(app) })).status, 200);
  const answers = await Promise.all([1, 2, 3].map(() => create({ code: 'RACE' })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409]);
});

test('what a change leaves out stays', async () => {
  const discount = await made({ code: 'CHANGES' });
  const same = (await change(discount.id, { id: discount.id })).body.discount;
  assert.deepEqual({ ...same, updatedAt: 0 }, { ...discount, updatedAt: 0 });
  const next = { name: 'Five off', code: 'FIVE', amount: 500, amountType: 'fixed', active: false };
  const terms = { duration: 'number_of_payments', numberOfPayments: 2 };
  const changed = (await change(discount.id, { ...next, ...terms })).body.discount;
  assert.deepEqual({ ...changed, updatedAt: 0 }, { ...discount, ...next, ...terms, updatedAt: 0 });
  const { discount: read } = await app.get(`/discounts/${discount.id}`);
  assert.deepEqual(read, { ...changed, redemptionCount: 0 });
  refused(await change(discount.id, { numberOfPayments: null }), 400, /discount\.numberOfPayments/);
  assert.equal((await change(discount.id, { duration: 'forever' })).body.discount.numberOfPayments, null);
  refused(await change(discount.id, { id: 'discount_other' }), 400, /does not match the id in the path/);
});

test('limits are shown where there are some, filtered by, changed, and taken away with null', async () => {
  const { product } = await app.post('/products', {
    product: { name: 'Plan', slug: 'limited', pricingModelId },
    price: { type: 'single_payment', unitPrice: 1000, slug: 'limited' },
  });
  const limits = {
    expiresAt: Date.UTC(2030, 0, 1),
    maximumRedemptions: 10,
    maximumRedemptionsPerCustomer: 2,
    productIds: [product.id],
    minimumAmount: 5000,
    firstPurchaseOnly: true,
  };
  const discount = await made({ code: 'LIMITED', ...limits, expiresAt: '2030-01-01T00:00:00Z' });
  assert.deepEqual({ ...discount, ...limits }, discount);
  for (const filter of [`productId=${product.id}`, 'firstPurchaseOnly=true', 'hasExpiry=true', 'hasMaximum=true']) {
    const { data } = await app.get(`/discounts?pricingModelId=${pricingModelId}&${filter}`);
    assert.deepEqual(
      data.map(({ code }: Body) => code),
      ['LIMITED'],
      filter,
    );
  }
  const kept = (await change(discount.id, { name: 'Still limited', minimumAmount: 4000 })).body.discount;
  assert.deepEqual({ ...kept, ...limits, minimumAmount: 4000 }, kept);
  const inUse = await app.request('DELETE', `/products/${product.id}`);
  assert.equal(inUse.status, 409);
  assert.match(inUse.body.error, /discounts/);
  const none = Object.fromEntries(Object.keys(limits).map((name) => [name, null]));
  const { body } = await change(discount.id, none);
  for (const name of Object.keys(limits)) assert(!(name in body.discount), name);
  assert.equal((await app.request('DELETE', `/products/${product.id}`)).status, 200);
});

test('a limit that cannot be is refused by its field', async () => {
  const elsewhere = (await app.get(`/pricing-models/${await newModel(app)}`)).pricingModel.products[0];
  refused(await create({ code: 'BAD', maximumRedemptions: 0 }), 400, /discount\.maximumRedemptions/);
  refused(await create({ code: 'BAD', maximumRedemptionsPerCustomer: 1001 }), 400, /maximumRedemptionsPerCustomer/);
  refused(await create({ code: 'BAD', minimumAmount: -1 }), 400, /discount\.minimumAmount/);
  refused(await create({ code: 'BAD', productIds: [] }), 400, /discount\.productIds/);
  refused(await create({ code: 'BAD', productIds: ['product_x'] }), 404, /No product with id product_x/);
  refused(await create({ code: 'BAD', productIds: [elsewhere.id] }), 404, /No product/);
  refused(await create({ code: 'BAD', expiresAt: 'tomorrow' }), 400, /discount\.expiresAt/);
  refused(await create({ code: 'BAD', expiresAt: '2020-01-01' }), 400, /discount\.expiresAt: must be later than now/);
});

test('without a pricing model it belongs to the default one, or to the one that the key is pinned to', async () => {
  const { pricingModel } = await app.get('/pricing-models/default');
  assert.equal((await made({ code: 'DEFAULT', pricingModelId: undefined })).pricingModelId, pricingModel.id);
  const key = await pinnedKey(app, pricingModelId);
  const { body } = await create({ code: 'PINNED', pricingModelId: undefined }, key);
  assert.equal(body.discount.pricingModelId, pricingModelId);
  refused(await create({ code: 'OUTSIDE', pricingModelId: pricingModel.id }, key), 404, /No pricing model/);
  const { data } = await app.get('/discounts?limit=100', { key });
  assert.deepEqual([...new Set(data.map((row: Body) => row.pricingModelId))], [pricingModelId]);
});

test("an unknown discount and another organization's are 404", async () => {
  const discount = await made({ code: 'MINE' });
  const { testKey: key } = await app.newOrganization();
  refused(await app.request('GET', '/discounts/unknown'), 404, /No discount/);
  refused(await change('unknown', {}), 404, /No discount/);
  refused(await app.request('GET', `/discounts/${discount.id}`, undefined, { key }), 404, /No discount/);
  refused(await change(discount.id, { name: 'Theirs' }, key), 404, /No discount/);
  assert.deepEqual((await app.get('/discounts', { key })).data, []);
});

test('a clone has the discounts of its source, in the same mode and in the other one', async () => {
  const source = await newModel(app);
  await made({ code: 'CLONE-1', pricingModelId: source, active: false });
  await made({ code: 'CLONE-2', pricingModelId: source, duration: 'number_of_payments', numberOfPayments: 4 });
  const listed = async (id: string, key: string): Promise<Body[]> =>
    (await app.get(`/discounts?pricingModelId=${id}`, { key })).data;
  const terms = (rows: Body[]) =>
    rows.map(({ name, code, amount, amountType, active, duration, numberOfPayments, redemptionCount }) => ({
      ...{ name, code, amount, amountType, active, duration, numberOfPayments, redemptionCount },
    }));
  const plan = { name: 'Plan', slug: 'cloned', pricingModelId: source };
  const price = { type: 'single_payment', unitPrice: 1000, slug: 'cloned' };
  const { product } = await app.post('/products', { product: plan, price });
  await made({ code: 'CLONE-3', pricingModelId: source, productIds: [product.id], maximumRedemptions: 5 });
  const of = await listed(source, app.testKey);
  assert.equal(of.length, 3);
  for (const [destinationEnvironment, key] of [
    ['testmode', app.testKey],
    ['livemode', app.liveKey],
  ] as const) {
    const body = { name: 'Copy', destinationEnvironment };
    const { pricingModel } = await app.post(`/pricing-models/${source}/clone`, body);
    const copies = await listed(pricingModel.id, key);
    assert.deepEqual(terms(copies), terms(of));
    const limited = copies.find(({ code }) => code === 'CLONE-3') ?? assert.fail();
    const [copied] = (await app.get(`/products?pricingModelId=${pricingModel.id}&limit=100`, { key })).data.filter(
      ({ slug }: Body) => slug === 'cloned',
    );
    assert.deepEqual([limited.maximumRedemptions, limited.productIds], [5, [copied.id]]);
    assert(copies.every(({ id }) => of.every((row) => row.id !== id)));
  }
});

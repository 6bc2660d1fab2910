import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { newMeter, newModel, pricesOfMeter, refused, unique } from '../support/pricing-fixture.ts';

const app = await startTestApp();
const modelId = await newModel(app);

const create = (usageMeter: object, price?: object) =>
  app.request('POST', '/usage-meters', {
    usageMeter: { pricingModelId: modelId, name: 'Calls', ...usageMeter },
    price,
  });
const put = (meter: Body, change: object) => app.request('PUT', `/usage-meters/${meter.id}`, { usageMeter: change });

test('a usage meter is made with its no-charge price, which is its default', async () => {
  const { usageMeter } = (await create({ name: ' API calls ', slug: 'api-calls' })).body;
  assert.match(usageMeter.id, /^usage_meter_[0-9A-Za-z]{21}$/);
  assert.deepEqual(usageMeter, {
    id: usageMeter.id,
    createdAt: usageMeter.createdAt,
    updatedAt: usageMeter.createdAt,
    livemode: false,
    organizationId: app.id,
    pricingModelId: modelId,
    name: 'API calls',
    slug: 'api-calls',
    aggregationType: 'sum',
    recurring: false,
    proration: 'none',
    lowBalanceThreshold: null,
    eventName: null,
    where: null,
    valueProperty: null,
  });
  assert.deepEqual((await app.get(`/usage-meters/${usageMeter.id}`)).usageMeter, usageMeter);
  const { all, inForce } = await pricesOfMeter(app, usageMeter.id);
  assert.equal(all.length, 1);
  const { id, createdAt, updatedAt, ...price } = inForce;
  assert.equal(createdAt, updatedAt);
  assert.deepEqual([id], [all[0].id]);
  assert.deepEqual(price, {
    livemode: false,
    pricingModelId: modelId,
    productId: null,
    usageMeterId: usageMeter.id,
    type: 'usage',
    name: 'API calls - No Charge',
    slug: 'api-calls_no_charge',
    unitPrice: 0,
    intervalUnit: 'month',
    intervalCount: 1,
    trialPeriodDays: null,
    usageEventsPerUnit: 1,
    overage: null,
    pricing: null,
    setupFeeAmount: null,
    minimumCommitment: null,
    billingTiming: null,
    where: null,
    usageInterval: 'subscription',
    metadata: null,
    currency: 'USD',
    isDefault: true,
    active: true,
  });
});

for (const [sent, unitPrice, usageEventsPerUnit] of [
  [{ unitPrice: 50 }, 50, 1],
  [{ usageEventsPerUnit: 100 }, 0, 100],
  [{ type: 'usage', unitPrice: 50, usageEventsPerUnit: 100 }, 50, 100],
] as const) {
  test(`a meter with ${JSON.stringify(sent)} has a price of its own, which is its default`, async () => {
    const meter = await newMeter(app, modelId, sent);
    const { all, inForce, noCharge } = await pricesOfMeter(app, meter.id);
    assert.equal(all.length, 2);
    assert.deepEqual([inForce.unitPrice, inForce.usageEventsPerUnit], [unitPrice, usageEventsPerUnit]);
    assert.deepEqual([inForce.slug, inForce.intervalUnit, inForce.intervalCount], [meter.slug, 'month', 1]);
    assert.deepEqual([noCharge.isDefault, noCharge.active], [false, true]);
  });
}

test('a price without terms is none', async () => {
  const meter = await newMeter(app, modelId, {});
  assert.equal((await pricesOfMeter(app, meter.id)).all.length, 1);
});

test('the bounds of names, slugs and prices are kept', async () => {
  for (const text of ['m', 'm'.repeat(255)]) {
    assert.equal((await create({ name: text, slug: text })).body.usageMeter.slug, text);
  }
  for (const text of ['', '  ', 'm'.repeat(256)]) {
    refused(await create({ name: text, slug: unique('bad') }), 400, /usageMeter\.name/);
    refused(await create({ slug: text }), 400, /usageMeter\.slug/);
  }
  for (const unitPrice of [0, 4503599627370495]) {
    assert.equal((await create({ slug: unique('fine') }, { unitPrice })).status, 200);
  }
  for (const unitPrice of [-1, 4503599627370496, 0.5]) {
    refused(await create({ slug: unique('bad') }, { unitPrice }), 400, /price\.unitPrice/);
  }
  for (const usageEventsPerUnit of [0, 2 ** 53]) {
    refused(await create({ slug: unique('bad') }, { usageEventsPerUnit }), 400, /usageEventsPerUnit/);
  }
  refused(await create({ slug: unique('bad') }, { type: 'subscription', unitPrice: 1 }), 400, /price\.type/);
  refused(await create({ slug: unique('bad'), aggregationType: 'median' }), 400, /aggregationType/);
  refused(await create({ slug: 'x_no_charge' }, { unitPrice: 1 }), 400, /reserved for no-charge prices/);
  refused(await app.request('POST', '/usage-meters', {}), 400, /usageMeter/);
});

test('a meter has its slug to itself in its pricing model', async () => {
  const meter = await newMeter(app, modelId);
  refused(
    await create({ slug: meter.slug }),
    409,
    new RegExp(`slug ${meter.slug} is already used by another usage meter`),
  );
  const other = await newMeter(app, modelId);
  refused(await put(other, { slug: meter.slug }), 409, /is already used by another usage meter/);
  assert.equal((await create({ slug: meter.slug, pricingModelId: await newModel(app) })).status, 200);
});

test("the no-charge price's slug follows the meter's; the price of its own keeps its slug", async () => {
  const meter = await newMeter(app, modelId, { unitPrice: 5 });
  const slug = unique('renamed');
  const change = { id: meter.id, name: 'Renamed', slug, aggregationType: 'count_distinct_properties' };
  const { usageMeter } = await app.put(`/usage-meters/${meter.id}`, { usageMeter: change });
  assert.deepEqual({ ...usageMeter, updatedAt: 0 }, { ...meter, ...change, updatedAt: 0 });
  const { inForce, noCharge } = await pricesOfMeter(app, meter.id);
  assert.equal(noCharge.slug, `${slug}_no_charge`);
  assert.equal(noCharge.name, 'API calls - No Charge');
  assert.equal(inForce.slug, meter.slug);
});

test('what a change leaves out stays', async () => {
  const meter = await newMeter(app, modelId);
  const { usageMeter } = await app.put(`/usage-meters/${meter.id}`, { usageMeter: {} });
  assert.deepEqual({ ...usageMeter, updatedAt: 0 }, { ...meter, updatedAt: 0 });
  refused(await put(meter, { id: 'usage_meter_other' }), 400, /does not match the id in the path/);
  refused(await put(meter, { name: '' }), 400, /usageMeter\.name/);
  refused(await put(meter, { aggregationType: 'median' }), 400, /aggregationType/);
});

test('a low-balance threshold is 1 to 9007199254740991, stays when it is left out, and null takes it off', async () => {
  const meter = (await create({ slug: unique('low'), lowBalanceThreshold: 500 })).body.usageMeter;
  assert.equal(meter.lowBalanceThreshold, 500);
  const after = async (change: object) => (await put(meter, change)).body.usageMeter.lowBalanceThreshold;
  assert.equal(await after({ name: 'Renamed' }), 500);
  assert.equal(await after({ lowBalanceThreshold: null }), null);
  assert.equal(await after({}), null);
  for (const lowBalanceThreshold of [1, 9007199254740991]) {
    assert.equal(await after({ lowBalanceThreshold }), lowBalanceThreshold);
  }
  for (const lowBalanceThreshold of [0, -1, 0.5, 9007199254740992, 'low']) {
    refused(await put(meter, { lowBalanceThreshold }), 400, /usageMeter\.lowBalanceThreshold/);
    refused(await create({ slug: unique('low'), lowBalanceThreshold }), 400, /usageMeter\.lowBalanceThreshold/);
  }
  const { usageMeter } = await app.get(`/usage-meters/${meter.id}`);
  assert.equal(usageMeter.lowBalanceThreshold, 9007199254740991);
  const { data } = await app.get(`/usage-meters?pricingModelId=${modelId}&slug=${meter.slug}`);
  assert.deepEqual(data, [usageMeter]);
});

test('meters are listed by pricing model and slug', async () => {
  const model = await newModel(app);
  const [first, second] = [await newMeter(app, model), await newMeter(app, model)];
  const ids = async (filter: string) =>
    (await app.get(`/usage-meters?pricingModelId=${model}${filter}`)).data.map((each: Body) => each.id);
  assert.deepEqual(await ids(''), [first.id, second.id]);
  assert.deepEqual(await ids(`&slug=${second.slug}`), [second.id]);
  assert.deepEqual(await ids('&aggregationType=count_distinct_properties'), []);
});

test("an unknown meter and another organization's are 404", async () => {
  const meter = await newMeter(app, modelId);
  const key = { key: (await app.newOrganization()).testKey };
  refused(await app.request('GET', '/usage-meters/unknown'), 404, /No usage meter/);
  refused(await app.request('PUT', '/usage-meters/unknown', { usageMeter: {} }), 404, /No usage meter/);
  refused(await app.request('GET', `/usage-meters/${meter.id}`, undefined, key), 404, /No usage meter/);
  refused(
    await app.request('PUT', `/usage-meters/${meter.id}`, { usageMeter: { name: 'Mine' } }, key),
    404,
    /No usage/,
  );
  const usageMeter = { name: 'Calls', slug: 'calls', pricingModelId: modelId };
  refused(await app.request('POST', '/usage-meters', { usageMeter }, key), 404, /No pricing model/);
});

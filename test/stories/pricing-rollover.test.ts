import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { newMeter, newModel, newResource, newToggle, refused, unique } from '../support/pricing-fixture.ts';
import { acme, allRows } from '../support/pricing-models.ts';

const app = await startTestApp();
const modelId = await newModel(app);
const meter = await newMeter(app, modelId);
const resource = await newResource(app, modelId);

const credits = {
  type: 'usage_credit_grant',
  name: 'Calls',
  pricingModelId: modelId,
  amount: 100,
  usageMeterId: meter.id,
  renewalFrequency: 'every_billing_period',
};
const create = (feature: object) =>
  app.request('POST', '/features', { feature: { slug: unique('feature'), ...credits, ...feature } });
const made = async (feature: object): Promise<Body> => (await create(feature)).body.feature;
const put = (feature: Body, change: object) => app.request('PUT', `/features/${feature.id}`, { feature: change });
const rolloverOf = ({ rolloverMaximum, rolloverPeriods }: Body) => [rolloverMaximum, rolloverPeriods];
/** The roll-over of the feature after a change. */
const after = async (feature: Body, change: object) => rolloverOf((await put(feature, change)).body.feature);

test('credits of every billing period have a roll-over when one is given, wherever they are read', async () => {
  const feature = await made({ rolloverMaximum: 50, rolloverPeriods: 3 });
  assert.deepEqual(rolloverOf(feature), [50, 3]);
  assert.deepEqual((await app.get(`/features/${feature.id}`)).feature, feature);
  const { data } = await app.get(`/features?pricingModelId=${modelId}&slug=${feature.slug}`);
  assert.deepEqual(data, [feature]);
  for (const none of [{}, { rolloverMaximum: null, rolloverPeriods: null }]) {
    assert.deepEqual(rolloverOf(await made(none)), [null, null]);
  }
});

test('a roll-over is of 1 to 9007199254740991 units, for 1 to 100 periods', async () => {
  for (const [rolloverMaximum, rolloverPeriods] of [
    [1, 1],
    [9007199254740991, 100],
  ]) {
    const feature = await made({ rolloverMaximum, rolloverPeriods });
    assert.deepEqual(rolloverOf(feature), [rolloverMaximum, rolloverPeriods]);
  }
  const feature = await made({});
  for (const rolloverMaximum of [0, -1, 0.5, 9007199254740992]) {
    refused(await create({ rolloverMaximum, rolloverPeriods: 1 }), 400, /^feature\.rolloverMaximum/);
    refused(await put(feature, { rolloverMaximum, rolloverPeriods: 1 }), 400, /^feature\.rolloverMaximum/);
  }
  for (const rolloverPeriods of [0, 101, 0.5]) {
    refused(await create({ rolloverMaximum: 1, rolloverPeriods }), 400, /^feature\.rolloverPeriods/);
    refused(await put(feature, { rolloverMaximum: 1, rolloverPeriods }), 400, /^feature\.rolloverPeriods/);
  }
});

test('units without periods and periods without units are no roll-over', async () => {
  refused(
    await create({ rolloverMaximum: 50 }),
    400,
    /^feature\.rolloverPeriods: is required when rolloverMaximum is given/,
  );
  refused(
    await create({ rolloverPeriods: 3 }),
    400,
    /^feature\.rolloverMaximum: is required when rolloverPeriods is given/,
  );
  const feature = await made({});
  refused(await put(feature, { rolloverMaximum: 50 }), 400, /^feature\.rolloverPeriods/);
  refused(await put(feature, { rolloverPeriods: 3 }), 400, /^feature\.rolloverMaximum/);
  refused(await put(feature, { rolloverMaximum: null, rolloverPeriods: 3 }), 400, /^feature\.rolloverMaximum/);
  assert.deepEqual(rolloverOf((await app.get(`/features/${feature.id}`)).feature), [null, null]);
});

test('only credits that come every billing period have a roll-over', async () => {
  const rollover = { rolloverMaximum: 50, rolloverPeriods: 3 };
  const frequency = /^feature\.rolloverMaximum: must be null unless renewalFrequency is every_billing_period/;
  refused(await create({ ...rollover, renewalFrequency: 'once' }), 400, frequency);
  const nothing = { amount: null, usageMeterId: null, renewalFrequency: null };
  refused(await create({ ...nothing, type: 'toggle', rolloverMaximum: 50 }), 400, /^feature\.rolloverMaximum/);
  refused(await create({ ...nothing, type: 'toggle', rolloverPeriods: 3 }), 400, /^feature\.rolloverPeriods/);
  const seats = { ...nothing, type: 'resource', amount: 5, resourceId: resource.id };
  refused(await create({ ...seats, ...rollover }), 400, /^feature\.rolloverMaximum/);
  assert.deepEqual(rolloverOf(await made(seats)), [null, null]);

  const toggle = await newToggle(app, modelId);
  const unused = /^feature\.rolloverMaximum: must be absent or null for a toggle feature/;
  refused(await put(toggle, rollover), 400, unused);
  assert.deepEqual(await after(toggle, { rolloverMaximum: null, rolloverPeriods: null }), [null, null]);
  refused(await put(await made({ renewalFrequency: 'once' }), rollover), 400, frequency);
});

test('what a change leaves out of a roll-over stays, and null takes it off', async () => {
  const feature = await made({ rolloverMaximum: 50, rolloverPeriods: 3 });
  assert.deepEqual(await after(feature, { name: 'Renamed' }), [50, 3]);
  assert.deepEqual(await after(feature, { rolloverMaximum: 60 }), [60, 3]);
  assert.deepEqual(await after(feature, { rolloverPeriods: 4 }), [60, 4]);
  assert.deepEqual(await after(feature, { rolloverMaximum: null, rolloverPeriods: null }), [null, null]);
  assert.deepEqual(await after(feature, { rolloverMaximum: 50, rolloverPeriods: 3 }), [50, 3]);
  assert.deepEqual(await after(feature, { rolloverMaximum: null }), [null, null]);
  assert.deepEqual(await after(feature, { rolloverMaximum: 50, rolloverPeriods: 3 }), [50, 3]);
  assert.deepEqual(await after(feature, { rolloverPeriods: null }), [null, null]);
});

test('credits become such that come once when their roll-over is taken off', async () => {
  const feature = await made({ rolloverMaximum: 50, rolloverPeriods: 3 });
  refused(await put(feature, { renewalFrequency: 'once' }), 400, /^feature\.rolloverMaximum/);
  assert.deepEqual(await after(feature, { renewalFrequency: 'once', rolloverMaximum: null }), [null, null]);
  const back = { renewalFrequency: 'every_billing_period', rolloverMaximum: 9, rolloverPeriods: 1 };
  assert.deepEqual(await after(feature, back), [9, 1]);
});

const setUp = async (body: object) => (await app.post('/pricing-models/setup', body)).pricingModel;
const exportOf = async (id: string) => (await app.get(`/pricing-models/${id}/export`)).pricingModel;
/** What a pricing model says of its credits' roll-over, and of its meter's threshold. */
const termsOf = ({ products, usageMeters }: Body) => {
  const [team] = products;
  const grant = team.features.find(({ slug }: Body) => slug === 'calls-10k');
  return [...rolloverOf(grant), usageMeters[0].lowBalanceThreshold];
};

function withRollover(): Body {
  const body = acme();
  Object.assign(body.features[1], { rolloverMaximum: 2500, rolloverPeriods: 2 });
  body.usageMeters[0].usageMeter.lowBalanceThreshold = 1000;
  return body;
}

test('a roll-over and a threshold are set up, exported, and change nothing when they are put back', async () => {
  const model = await setUp(withRollover());
  assert.deepEqual(termsOf(model), [2500, 2, 1000]);
  const exported = await exportOf(model.id);
  const { slug, active, ...grant } = exported.features[1];
  assert.deepEqual([slug, active], ['calls-10k', true]);
  assert.deepEqual(grant, {
    type: 'usage_credit_grant',
    name: '10k calls',
    description: 'Monthly calls',
    amount: 10000,
    renewalFrequency: 'every_billing_period',
    usageMeterSlug: 'api-calls',
    rolloverMaximum: 2500,
    rolloverPeriods: 2,
  });
  const named = { name: 'API calls', slug: 'api-calls', aggregationType: 'sum' };
  assert.deepEqual(exported.usageMeters[0].usageMeter, { ...named, lowBalanceThreshold: 1000 });
  const before = await allRows(app, model.id);
  await app.put(`/pricing-models/${model.id}`, { pricingModel: exported });
  assert.deepEqual(await allRows(app, model.id), before);
  assert.deepEqual(termsOf(await setUp(exported)), [2500, 2, 1000]);
});

test('an update of the whole structure changes a roll-over and a threshold, and takes off what it leaves out', async () => {
  const { id } = await setUp(acme());
  const wanted = await exportOf(id);
  const terms = async () => {
    await app.put(`/pricing-models/${id}`, { pricingModel: wanted });
    return termsOf((await app.get(`/pricing-models/${id}`)).pricingModel);
  };
  const [, grant] = wanted.features;
  const { usageMeter } = wanted.usageMeters[0];
  Object.assign(grant, { rolloverMaximum: 10, rolloverPeriods: 1 });
  usageMeter.lowBalanceThreshold = 7;
  assert.deepEqual(await terms(), [10, 1, 7]);
  Object.assign(grant, { rolloverMaximum: 20, rolloverPeriods: 1 });
  usageMeter.lowBalanceThreshold = 8;
  assert.deepEqual(await terms(), [20, 1, 8]);
  const { rolloverMaximum: _, rolloverPeriods: __, ...bare } = grant;
  wanted.features[1] = bare;
  usageMeter.lowBalanceThreshold = null;
  assert.deepEqual(await terms(), [null, null, null]);
});

test('a clone has the roll-over and the threshold of its source, in either mode', async () => {
  const { id } = await setUp(withRollover());
  for (const [destinationEnvironment, key] of [
    ['testmode', app.testKey],
    ['livemode', app.liveKey],
  ] as const) {
    const body = { name: 'Copy', destinationEnvironment };
    const copy = (await app.post(`/pricing-models/${id}/clone`, body)).pricingModel;
    assert.deepEqual(termsOf(copy), [2500, 2, 1000]);
    const stored = await app.request('GET', `/pricing-models/${copy.id}`, undefined, { key });
    assert.deepEqual(termsOf(stored.body.pricingModel), [2500, 2, 1000]);
  }
  const { catalog } = await app.post(`/catalogs/${id}/clone`, { name: 'Old' });
  assert.equal(catalog.usageMeters[0].lowBalanceThreshold, 1000);
});

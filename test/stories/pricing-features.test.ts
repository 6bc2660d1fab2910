import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { newMeter, newModel, newResource, newToggle, refused, unique } from '../support/pricing-fixture.ts';

const app = await startTestApp();
const modelId = await newModel(app);
const meter = await newMeter(app, modelId);
const resource = await newResource(app, modelId);

const toggle = { type: 'toggle', name: 'Single sign-on', pricingModelId: modelId };
const credits = {
  ...toggle,
  type: 'usage_credit_grant',
  amount: 100,
  usageMeterId: meter.id,
  renewalFrequency: 'once',
};
const seats = { ...toggle, type: 'resource', amount: 5, resourceId: resource.id };
const create = (feature: object) =>
  app.request('POST', '/features', { feature: { slug: unique('feature'), ...feature } });
const made = async (feature: object): Promise<Body> =>
  (await app.post('/features', { feature: { slug: unique('feature'), ...feature } })).feature;
const put = (feature: Body, change: object) => app.request('PUT', `/features/${feature.id}`, { feature: change });

test('a toggle has no amount, meter, frequency, resource or roll-over', async () => {
  const rollover = { rolloverMaximum: null, rolloverPeriods: null };
  const nothing = { amount: null, usageMeterId: null, renewalFrequency: null, grantInterval: null, resourceId: null };
  const sent = { ...nothing, ...rollover };
  const feature = await made({ ...toggle, slug: 'sso', description: 'One login', ...sent, active: true });
  assert.match(feature.id, /^feature_[0-9A-Za-z]{21}$/);
  assert.deepEqual(feature, {
    ...sent,
    id: feature.id,
    createdAt: feature.createdAt,
    updatedAt: feature.createdAt,
    livemode: false,
    organizationId: app.id,
    pricingModelId: modelId,
    type: 'toggle',
    slug: 'sso',
    name: 'Single sign-on',
    description: 'One login',
    active: true,
  });
  assert.deepEqual((await app.get(`/features/${feature.id}`)).feature, feature);
});

test('what is left out of a feature has its default', async () => {
  await app.post('/pricing-models', { pricingModel: { name: 'Default', isDefault: true } });
  const { feature } = await app.post('/features', { feature: { type: 'toggle', slug: 'x', name: 'X' } });
  const { pricingModel } = await app.get('/pricing-models/default');
  assert.deepEqual([feature.description, feature.active, feature.pricingModelId], ['', true, pricingModel.id]);
});

test('a credit grant has an amount, a meter and a frequency; a resource feature an amount and a resource', async () => {
  const grant = await made({ ...credits, renewalFrequency: 'every_billing_period' });
  assert.deepEqual(
    [grant.amount, grant.usageMeterId, grant.renewalFrequency, grant.resourceId],
    [100, meter.id, 'every_billing_period', null],
  );
  const seat = await made(seats);
  assert.deepEqual(
    [seat.amount, seat.usageMeterId, seat.renewalFrequency, seat.resourceId],
    [5, null, null, resource.id],
  );
});

test('an amount is 1 to 9007199254740991', async () => {
  for (const amount of [1, 2, 9007199254740991]) {
    assert.equal((await made({ ...credits, amount })).amount, amount);
    assert.equal((await made({ ...seats, amount })).amount, amount);
  }
  for (const amount of [0, -1, 0.5, 9007199254740992, null, undefined]) {
    refused(await create({ ...credits, amount }), 400, /feature\.amount/);
    refused(await create({ ...seats, amount }), 400, /feature\.amount/);
  }
});

test('a feature has the fields of its type only', async () => {
  refused(await create({ ...toggle, amount: 1 }), 400, /feature\.amount/);
  refused(await create({ ...toggle, usageMeterId: meter.id }), 400, /feature\.usageMeterId/);
  refused(await create({ ...toggle, renewalFrequency: 'once' }), 400, /feature\.renewalFrequency/);
  refused(await create({ ...toggle, resourceId: resource.id }), 400, /feature\.resourceId/);
  refused(await create({ ...credits, resourceId: resource.id }), 400, /feature\.resourceId/);
  refused(await create({ ...credits, usageMeterId: null }), 400, /feature\.usageMeterId/);
  refused(await create({ ...credits, renewalFrequency: 'weekly' }), 400, /feature\.renewalFrequency/);
  refused(await create({ ...seats, usageMeterId: meter.id }), 400, /feature\.usageMeterId/);
  refused(await create({ ...seats, resourceId: undefined }), 400, /feature\.resourceId/);
  refused(
    await create({ ...toggle, type: 'switch' }),
    400,
    /^feature\.type: must be toggle, usage_credit_grant, resource, value or spend_limit$/,
  );
  refused(await app.request('POST', '/features', {}), 400, /^feature: .*must be an object/);
});

test('credits of every interval have a grant interval, which others have not', async () => {
  const each = { renewalFrequency: 'every_interval', grantInterval: { unit: 'week', count: 2 } };
  const grant = await made({ ...credits, ...each, rolloverMaximum: 10, rolloverPeriods: 1 });
  assert.deepEqual([grant.renewalFrequency, grant.grantInterval], ['every_interval', { unit: 'week', count: 2 }]);
  assert.deepEqual((await app.get(`/features/${grant.id}`)).feature, grant);
  const one = await made({ ...credits, ...each, grantInterval: { unit: 'month' } });
  assert.deepEqual(one.grantInterval, { unit: 'month', count: 1 });
  const missing = /^feature\.grantInterval: is required when renewalFrequency is every_interval$/;
  refused(await create({ ...credits, ...each, grantInterval: null }), 400, missing);
  refused(await create({ ...credits, renewalFrequency: 'every_interval' }), 400, missing);
  const stray = /^feature\.grantInterval: must be null unless renewalFrequency is every_interval$/;
  refused(await create({ ...credits, grantInterval: each.grantInterval }), 400, stray);
  refused(await put(grant, { renewalFrequency: 'once' }), 400, stray);
  refused(await put(grant, { grantInterval: null }), 400, missing);
  refused(await create({ ...toggle, grantInterval: each.grantInterval }), 400, /^feature\.grantInterval/);
  refused(await put(await made(toggle), { grantInterval: each.grantInterval }), 400, /^feature\.grantInterval/);
  for (const count of [0, 1201, 0.5]) {
    const grantInterval = { unit: 'month', count };
    refused(await create({ ...credits, ...each, grantInterval }), 400, /^feature\.grantInterval\.count/);
  }
  const hourly = { ...credits, ...each, grantInterval: { unit: 'hour', count: 1 } };
  refused(await create(hourly), 400, /^feature\.grantInterval\.unit/);
  const changed = await app.put(`/features/${grant.id}`, { feature: { grantInterval: { unit: 'day', count: 3 } } });
  assert.deepEqual(changed.feature.grantInterval, { unit: 'day', count: 3 });
  const off = { renewalFrequency: 'every_billing_period', grantInterval: null };
  assert.equal((await app.put(`/features/${grant.id}`, { feature: off })).feature.grantInterval, null);
});

test('names and slugs have 1 to 255 characters', async () => {
  for (const text of ['f', 'f'.repeat(255)]) {
    const feature = await made({ ...toggle, slug: text, name: text });
    assert.deepEqual([feature.slug, feature.name], [text, text]);
  }
  for (const text of ['', '   ', 'f'.repeat(256)]) {
    refused(await create({ ...toggle, name: text }), 400, /feature\.name/);
    refused(await create({ ...toggle, slug: text }), 400, /feature\.slug/);
  }
});

test('what a feature grants must exist in its own pricing model', async () => {
  const elsewhere = await newModel(app);
  refused(await create({ ...credits, usageMeterId: 'usage_meter_unknown' }), 404, /No usage meter/);
  refused(await create({ ...seats, resourceId: 'resource_unknown' }), 404, /No resource/);
  refused(await create({ ...credits, pricingModelId: elsewhere }), 400, /usage meter .* another pricing model/);
  refused(await create({ ...seats, pricingModelId: elsewhere }), 400, /resource .* another pricing model/);
  refused(await create({ ...toggle, pricingModelId: 'pricing_model_unknown' }), 404, /No pricing model/);
  const foreign = await newMeter(app, elsewhere);
  refused(await put(await made(credits), { usageMeterId: foreign.id }), 400, /another pricing model/);
});

test('an active feature has its slug to itself in its pricing model', async () => {
  const first = await newToggle(app, modelId);
  const taken = { ...toggle, slug: first.slug };
  refused(await create(taken), 409, new RegExp(`slug ${first.slug} is already used by another feature`));
  assert.equal((await create({ ...taken, active: false })).status, 200);
  assert.equal((await create({ ...taken, pricingModelId: await newModel(app) })).status, 200);
  await app.put(`/features/${first.id}`, { feature: { active: false } });
  const second = await made(taken);
  refused(await put(first, { active: true }), 409, /is already used/);
  const third = await newToggle(app, modelId);
  refused(await put(third, { slug: second.slug }), 409, /is already used/);
});

test('what a change leaves out stays', async () => {
  const grant = await made({ ...credits, description: 'Calls' });
  const same = (await app.put(`/features/${grant.id}`, { feature: { id: grant.id, type: grant.type } })).feature;
  assert.deepEqual({ ...same, updatedAt: 0 }, { ...grant, updatedAt: 0 });
  const slug = unique('changed');
  const other = await newMeter(app, modelId);
  const texts = { slug, name: 'Changed', description: '', active: false };
  const terms = { amount: 7, usageMeterId: other.id, renewalFrequency: 'every_billing_period' };
  const changed = (await app.put(`/features/${grant.id}`, { feature: { ...texts, ...terms } })).feature;
  assert.deepEqual({ ...changed, updatedAt: 0 }, { ...grant, ...texts, ...terms, updatedAt: 0 });
  assert.deepEqual((await app.get(`/features/${grant.id}`)).feature, changed);

  const seat = await made(seats);
  const second = await newResource(app, modelId);
  const moved = (await app.put(`/features/${seat.id}`, { feature: { amount: 6, resourceId: second.id } })).feature;
  assert.deepEqual([moved.amount, moved.resourceId], [6, second.id]);
});

test('a feature keeps its type and the fields of it', async () => {
  const [switched, grant, seat] = [await newToggle(app, modelId), await made(credits), await made(seats)];
  refused(await put(switched, { type: 'resource' }), 400, /the type of a feature cannot change/);
  refused(await put(switched, { id: 'feature_other' }), 400, /does not match the id in the path/);
  refused(await put(switched, { amount: 1 }), 400, /amount: must be absent or null for a toggle feature/);
  refused(await put(grant, { amount: null }), 400, /amount: must not be null/);
  refused(await put(grant, { amount: 0 }), 400, /feature\.amount/);
  refused(await put(grant, { amount: 9007199254740992 }), 400, /feature\.amount/);
  refused(await put(grant, { resourceId: resource.id }), 400, /resourceId: must be absent or null/);
  refused(await put(seat, { renewalFrequency: 'once' }), 400, /renewalFrequency: must be absent or null/);
  refused(await put(seat, { resourceId: 'resource_unknown' }), 404, /No resource/);
  const nothing = { amount: null, usageMeterId: null, renewalFrequency: null, resourceId: null };
  assert.equal((await put(switched, nothing)).status, 200);
});

test('features are listed by pricing model, type and activity', async () => {
  const model = await newModel(app);
  const first = await newToggle(app, model);
  const second = await newToggle(app, model, { active: false });
  const ids = async (filter: string) =>
    (await app.get(`/features?pricingModelId=${model}${filter}`)).data.map((each: Body) => each.id);
  assert.deepEqual(await ids(''), [first.id, second.id]);
  assert.deepEqual(await ids('&active=true'), [first.id]);
  assert.deepEqual(await ids('&type=resource'), []);
  refused(await app.request('GET', '/features?type=switch'), 400, /type/);
});

test("an unknown feature and another organization's are 404", async () => {
  const feature = await newToggle(app, modelId);
  const key = { key: (await app.newOrganization()).testKey };
  refused(await app.request('GET', '/features/feature_unknown'), 404, /feature_unknown/);
  refused(await app.request('PUT', '/features/feature_unknown', { feature: {} }), 404, /feature_unknown/);
  refused(await app.request('GET', `/features/${feature.id}`, undefined, key), 404, /No feature/);
  refused(await app.request('PUT', `/features/${feature.id}`, { feature: { name: 'Mine' } }, key), 404, /No feature/);
  const grant = { ...credits, slug: 'theirs', pricingModelId: undefined };
  refused(await app.request('POST', '/features', { feature: grant }, key), 404, /No usage meter/);
});

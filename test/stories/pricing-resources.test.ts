import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { newModel, newResource, refused, unique } from '../support/pricing-fixture.ts';

const app = await startTestApp();
const modelId = await newModel(app);

const create = (resource: object) =>
  app.request('POST', '/resources', { resource: { pricingModelId: modelId, name: 'Seat', ...resource } });
const put = (resource: Body, change: object) => app.request('PUT', `/resources/${resource.id}`, { resource: change });

test('a resource is made active, and can be read', async () => {
  const { resource } = (await create({ name: ' Seat ', slug: 'seat' })).body;
  assert.match(resource.id, /^resource_[0-9A-Za-z]{21}$/);
  assert.deepEqual(resource, {
    id: resource.id,
    createdAt: resource.createdAt,
    updatedAt: resource.createdAt,
    livemode: false,
    organizationId: app.id,
    pricingModelId: modelId,
    slug: 'seat',
    name: 'Seat',
    active: true,
  });
  assert.deepEqual((await app.get(`/resources/${resource.id}`)).resource, resource);
});

test('names and slugs have 1 to 255 characters', async () => {
  for (const text of ['r', 'r'.repeat(255)]) {
    assert.equal((await create({ name: text, slug: text })).body.resource.name, text);
  }
  for (const text of ['', ' ', 'r'.repeat(256)]) {
    refused(await create({ name: text, slug: unique('bad') }), 400, /resource\.name/);
    refused(await create({ slug: text }), 400, /resource\.slug/);
  }
  refused(await create({ slug: unique('bad'), active: 1 }), 400, /resource\.active/);
  refused(await app.request('POST', '/resources', {}), 400, /resource/);
});

test('an active resource has its slug to itself in its pricing model', async () => {
  const first = await newResource(app, modelId);
  refused(
    await create({ slug: first.slug }),
    409,
    new RegExp(`slug ${first.slug} is already used by another resource`),
  );
  assert.equal((await create({ slug: first.slug, active: false })).status, 200);
  assert.equal((await create({ slug: first.slug, pricingModelId: await newModel(app) })).status, 200);
  await app.put(`/resources/${first.id}`, { resource: { active: false } });
  assert.equal((await create({ slug: first.slug })).status, 200);
  refused(await put(first, { active: true }), 409, /is already used/);
});

test('what a change leaves out stays', async () => {
  const resource = await newResource(app, modelId);
  const same = (await app.put(`/resources/${resource.id}`, { resource: { id: resource.id } })).resource;
  assert.deepEqual({ ...same, updatedAt: 0 }, { ...resource, updatedAt: 0 });
  const change = { slug: unique('desk'), name: 'Desk', active: false };
  const changed = (await app.put(`/resources/${resource.id}`, { resource: change })).resource;
  assert.deepEqual({ ...changed, updatedAt: 0 }, { ...resource, ...change, updatedAt: 0 });
  refused(await put(resource, { id: 'resource_other' }), 400, /does not match the id in the path/);
  refused(await put(resource, { name: 'r'.repeat(256) }), 400, /resource\.name/);
  const other = await newResource(app, modelId);
  assert.equal((await put(other, { slug: change.slug })).status, 200);
});

test('all resources are listed at once, or those of a pricing model', async () => {
  const model = await newModel(app);
  const made: Body[] = [];
  for (let count = 0; count < 12; count++) made.push(await newResource(app, model));
  assert.deepEqual((await app.get(`/resources?pricingModelId=${model}`)).resources, made);
  const { resources } = await app.get('/resources');
  assert.ok(resources.length > made.length);
  refused(await app.request('GET', '/resources?pricingModelId=unknown'), 404, /No pricing model/);
});

test("an unknown resource and another organization's are 404", async () => {
  const resource = await newResource(app, modelId);
  const key = { key: (await app.newOrganization()).testKey };
  refused(await app.request('GET', '/resources/unknown'), 404, /No resource/);
  refused(await app.request('PUT', '/resources/unknown', { resource: {} }), 404, /No resource/);
  refused(await app.request('GET', `/resources/${resource.id}`, undefined, key), 404, /No resource/);
  refused(
    await app.request('PUT', `/resources/${resource.id}`, { resource: { name: 'Mine' } }, key),
    404,
    /No resource/,
  );
  assert.deepEqual((await app.get('/resources', key)).resources, []);
  refused(await app.request('GET', `/resources?pricingModelId=${modelId}`, undefined, key), 404, /No pricing model/);
});

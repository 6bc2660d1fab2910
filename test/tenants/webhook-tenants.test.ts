import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createApiKey } from '../../src/organizations/actions.ts';
import { databaseDigest } from '../support/digest.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp();
const stranger = await app.newOrganization();

/** What a tenant has of webhooks, with one delivery that was made and one that waits. */
interface Tenant {
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly deliveryId: string;
  readonly ids: readonly string[];
}

async function buildTenant(key: string, environmentId: number): Promise<Tenant> {
  const options = { key };
  const { pricingModelId } = await insertFixture(app, { environmentId });
  const receiver = await startReceiver([{ status: 500 }]);
  const isLive = key === app.liveKey || key === stranger.liveKey;
  const url = isLive ? 'https://hooks.example.com/in' : receiver.url;
  const given = { name: 'Hook', url, filterTypes: ['customer.created'], pricingModelId };
  const { webhook } = await app.post('/webhooks', { webhook: given }, options);
  const customer = { externalId: `of ${webhook.id}`, email: 'a@acme.test', name: 'Ada', pricingModelId };
  const customerId = (await app.post('/customers', { customer }, options)).data.customer.id;
  const [event] = (await app.get(`/events?objectId=${customerId}`, options)).data;
  const [delivery] = (await app.get(`/webhooks/${webhook.id}/deliveries`, options)).data;
  const ids = [webhook.id, event.id, delivery.id, customerId, pricingModelId];
  return { pricingModelId, customerId, webhookId: webhook.id, eventId: event.id, deliveryId: delivery.id, ids };
}

let mine: Tenant;
const others = new Map<string, string>();
before(async () => {
  mine = await buildTenant(app.testKey, app.testEnvironmentId);
  await buildTenant(app.liveKey, app.liveEnvironmentId);
  await buildTenant(stranger.testKey, stranger.testEnvironmentId);
  await buildTenant(stranger.liveKey, stranger.liveEnvironmentId);
  const other = await buildTenant(app.testKey, app.testEnvironmentId);
  const pinned = await createApiKey(
    app.owner,
    { environmentId: app.testEnvironmentId, livemode: false, name: 'Pinned', pricingModelId: other.pricingModelId },
    Date.now(),
  );
  await app.owner
    .updateTable('webhookDeliveries')
    .set({ status: 'failed', nextAttemptAt: null })
    .where('id', '=', mine.deliveryId)
    .execute();
  others.set('the other mode', app.liveKey);
  others.set('another organization', stranger.testKey);
  others.set('another organization, live', stranger.liveKey);
  others.set('another pricing model', pinned.token);
});

/** A webhook that the key may see. */
const webhookOf = async (key: string): Promise<Body> => (await app.get('/webhooks', { key })).data[0];

const change = { name: 'Taken', url: 'https://taken.example.com', filterTypes: [], active: true };

test('what one tenant has is not found by any other, and nothing of it changes', async () => {
  const { webhookId, eventId, deliveryId } = mine;
  const calls: [string, string, unknown?][] = [
    ['GET', `/webhooks/${webhookId}`],
    ['PUT', `/webhooks/${webhookId}`, { webhook: change }],
    ['DELETE', `/webhooks/${webhookId}`],
    ['POST', `/webhooks/${webhookId}/rotate-secret`],
    ['POST', `/webhooks/${webhookId}/test`, { test: {} }],
    ['POST', `/webhooks/${webhookId}/replay`, { replay: { since: 0 } }],
    ['POST', `/webhooks/${webhookId}/replay`, { replay: { since: 0, onlyFailed: true } }],
    ['GET', `/webhooks/${webhookId}/deliveries`],
    ['GET', `/webhooks/${webhookId}/deliveries?eventId=${eventId}`],
    ['GET', `/deliveries/${deliveryId}`],
    ['POST', `/deliveries/${deliveryId}/retry`],
    ['GET', `/events/${eventId}`],
  ];
  const digest = await databaseDigest(app);
  for (const [who, key] of others) {
    for (const [method, path, body] of calls) {
      const { status } = await app.request(method, path, body, { key });
      assert.equal(status, 404, `${who}: ${method} ${path}`);
    }
  }
  assert.equal(await databaseDigest(app), digest);
});

test('no list of another shows it, whatever it is filtered by', async () => {
  const { pricingModelId, customerId, eventId } = mine;
  for (const [who, key] of others) {
    const { id } = await webhookOf(key);
    const lists = [
      '/webhooks?limit=100',
      `/webhooks?pricingModelId=${pricingModelId}`,
      '/events?limit=100',
      `/events?objectId=${customerId}`,
      `/webhooks/${id}/deliveries?limit=100`,
      `/webhooks/${id}/deliveries?eventId=${eventId}`,
      `/webhooks/${id}/deliveries?objectId=${customerId}`,
    ];
    for (const path of lists) {
      const text = JSON.stringify(await app.get(path, { key }));
      for (const id of mine.ids) assert.equal(text.includes(id), false, `${who}: ${path} shows ${id}`);
    }
  }
});

test('nobody makes a webhook in the pricing model of another, or takes one by the id in a body', async () => {
  const digest = await databaseDigest(app);
  for (const [who, key] of others) {
    const elsewhere = { webhook: { ...change, pricingModelId: mine.pricingModelId } };
    assert.equal((await app.request('POST', '/webhooks', elsewhere, { key })).status, 404, who);
    const own = await webhookOf(key);
    for (const body of [{ id: mine.webhookId }, { pricingModelId: mine.pricingModelId }]) {
      const { status } = await app.request('PUT', `/webhooks/${own.id}`, { webhook: body }, { key });
      assert.equal(status, 400, `${who}: ${JSON.stringify(body)}`);
    }
  }
  assert.equal(await databaseDigest(app), digest);
});

test('a replay of another sends nothing of it', async () => {
  for (const [who, key] of others) {
    const own = await webhookOf(key);
    const all = { since: 0, types: ['customer.created', 'customer.updated', 'subscription.created'] };
    await app.post(`/webhooks/${own.id}/replay`, { replay: all }, { key });
    const { data } = await app.get(`/webhooks/${own.id}/deliveries?limit=100`, { key });
    assert(data.length > 0, who);
    for (const { eventId, objectId, pricingModelId } of data as Body[])
      for (const id of [eventId, objectId, pricingModelId]) assert.equal(mine.ids.includes(id), false, who);
  }
  const { delivery } = await app.get(`/deliveries/${mine.deliveryId}`);
  assert.equal(delivery.status, 'failed');
});

test('a cursor of one shows nothing to another', async () => {
  await app.post(`/webhooks/${mine.webhookId}/test`, {});
  const page = await app.get(`/webhooks/${mine.webhookId}/deliveries?limit=1`);
  for (const [who, key] of others) {
    const own = await webhookOf(key);
    const path = `/webhooks/${own.id}/deliveries?cursor=${encodeURIComponent(page.nextCursor)}`;
    const text = JSON.stringify((await app.get(path, { key })).data);
    for (const id of mine.ids) assert.equal(text.includes(id), false, who);
  }
});

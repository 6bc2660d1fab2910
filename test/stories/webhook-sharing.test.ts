import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool } from '../../src/database/database.ts';
import type { Outbound, OutboundAnswer } from '../../src/jobs/outbound.ts';
import { maxAttempts } from '../../src/webhooks/delivery.ts';
import { startSender } from '../../src/webhooks/jobs-sender.ts';
import { cellHere, insertFixture } from '../support/fixtures.ts';
import { startTestApp, testWebhookServices } from '../support/harness.ts';
import { tellChanges } from '../support/telling.ts';

// Endpoints share the slots of one sender. Here they answer when the test lets them, by the path of their address.
const answered = (statusCode: number): OutboundAnswer => ({ statusCode, retryAfter: null, body: '', durationMs: 1 });
const waiting: { readonly url: string; readonly answer: (answer: OutboundAnswer) => void }[] = [];
let isOver = false;
const sent: { readonly url: string; readonly objectId: string }[] = [];

const { encryption, outbound } = testWebhookServices();
const puppets: Outbound = {
  ...outbound,
  async post({ url, body }) {
    sent.push({ url, objectId: JSON.parse(body).id });
    if (url.includes('/fails')) return answered(500);
    if (isOver || !url.includes('/waits')) return answered(200);
    return new Promise((answer) => waiting.push({ url, answer }));
  },
};
const webhooks = { encryption, outbound: puppets };
const app = await startTestApp({ services: { webhooks } });

const registered: string[] = [];

/** Webhooks at these paths, of a pricing model of their own, until the next sender has ended. */
async function register(...paths: string[]) {
  const { pricingModelId } = await insertFixture(app);
  const ids: string[] = [];
  for (const path of paths) {
    const webhook = { name: path, url: urlOf(path), filterTypes: [], pricingModelId };
    ids.push((await app.post('/webhooks', { webhook })).webhook.id);
  }
  registered.push(...ids);
  return { pricingModelId, ids };
}

const urlOf = (path: string) => `https://hooks.example.com/${path}`;
const sentTo = (path: string) => sent.filter(({ url }) => url === urlOf(path));

const tell = (pricingModelId: string, ...objectIds: string[]) => tellChanges(app, pricingModelId, objectIds);

async function until(condition: () => boolean, what: string, limitMs = 20_000): Promise<void> {
  for (const end = Date.now() + limitMs; !condition(); await sleep(10))
    assert(Date.now() < end, `waited in vain for ${what}`);
}

/** Sends while `act` runs. Whoever waits then, or comes later, is answered 200. */
async function whileSending(act: () => Promise<void>): Promise<void> {
  const { name: schema } = cellHere(app);
  const pool = createPool({ schema, url: app.databaseUrl, size: 4, as: 'owner' });
  const sender = startSender({
    pool,
    schema,
    services: webhooks,
    onError: (error) => console.error(error),
  });
  try {
    await act();
  } finally {
    isOver = true;
    for (const { answer } of waiting.splice(0)) answer(answered(200));
    await sender.stop();
    isOver = false;
    await pool.end();
    for (const id of registered.splice(0)) await app.request('DELETE', `/webhooks/${id}`);
  }
}

test('forty endpoints that do not answer leave room for one that does', async () => {
  const slow = Array.from({ length: 40 }, (_, index) => `waits-${index}`);
  const { pricingModelId } = await register(...slow, 'well');
  const objectIds = Array.from({ length: 100 }, (_, index) => `cust_${index}`);
  await whileSending(async () => {
    await tell(pricingModelId, ...objectIds);
    await until(() => sentTo('well').length === 100, 'all events at the endpoint that answers');
    // All that they may have is under way to them, and nobody has answered.
    assert(waiting.length > 40 * 2 && waiting.length < 256, `${waiting.length} wait`);
    await tell(pricingModelId, 'cust_late');
    await until(() => sentTo('well').length === 101, 'an event that came later');
  });
});

test('an endpoint that waits alone has sixteen under way', async () => {
  const { pricingModelId } = await register('waits-alone');
  await whileSending(async () => {
    await tell(pricingModelId, ...Array.from({ length: 40 }, (_, index) => `cust_${index}`));
    await until(() => waiting.length === 16, 'sixteen messages under way');
    await sleep(100);
    assert.equal(waiting.length, 16);
  });
});

test('what was under way to an address that was left does not switch the new one off', async () => {
  const { pricingModelId, ids } = await register('waits-and-is-left');
  const [id] = ids;
  await whileSending(async () => {
    await tell(pricingModelId, 'cust_1');
    await until(() => waiting.length === 1, 'the message at the old address');
    await app.put(`/webhooks/${id}`, { webhook: { url: urlOf('new') } });
    await tell(pricingModelId, 'cust_2');
    await until(() => sentTo('new').length === 1, 'the next message at the new address');
    waiting.pop()?.answer(answered(410));
    const delivery = async () => (await app.get(`/webhooks/${id}/deliveries?objectId=cust_1`)).data[0];
    for (const end = Date.now() + 20_000; (await delivery()).status === 'pending'; await sleep(10))
      assert(Date.now() < end, 'waited in vain for the answer to be written');
    assert.equal((await delivery()).lastStatusCode, 410);
    assert.equal((await app.get(`/webhooks/${id}`)).webhook.active, true);
  });
});

test('a delivery that is restarted while its last attempt is under way is sent again', async () => {
  const { pricingModelId, ids } = await register('waits-for-a-restart');
  await tell(pricingModelId, 'cust_1');
  const delivery = async () => (await app.get(`/webhooks/${ids[0]}/deliveries`)).data[0];
  const { id } = await delivery();
  const state = { attempts: maxAttempts - 1, failures: maxAttempts - 1 };
  for (const { owner } of app.cells)
    await owner.updateTable('webhookDeliveries').set(state).where('id', '=', id).execute();
  await whileSending(async () => {
    await until(() => waiting.length === 1, 'the last attempt');
    assert.equal((await app.post(`/deliveries/${id}/retry`)).delivery.status, 'pending');
    waiting.pop()?.answer(answered(500));
    await until(() => sentTo('waits-for-a-restart').length === 2, 'the attempt that was asked for');
    waiting.pop()?.answer(answered(500));
    for (const end = Date.now() + 20_000; (await delivery()).lastStatusCode === null; await sleep(10))
      assert(Date.now() < end, 'waited in vain for the answer to be written');
    // The whole schedule follows.
    assert.equal((await delivery()).status, 'pending');
  });
});

test('an endpoint that asks for a pause with Retry-After gets it, also from what happened to other records', async () => {
  const { pricingModelId } = await register('waits-and-asks', 'well-beside');
  await whileSending(async () => {
    await tell(pricingModelId, 'cust_1');
    await until(() => waiting.length === 1, 'the first message');
    const askedAt = Date.now();
    waiting.pop()?.answer({ ...answered(429), retryAfter: '2' });
    await sleep(100);
    await tell(pricingModelId, 'cust_2');
    await until(() => sentTo('well-beside').length === 2, 'the event at an endpoint that asks for nothing');
    await until(() => waiting.length === 1, 'the event after the pause');
    assert(Date.now() - askedAt >= 2_000, `${Date.now() - askedAt} ms`);
    assert.equal(sentTo('waits-and-asks').at(-1)?.objectId, 'cust_2');
  });
});

test('an endpoint that is switched on again is tried at once, also while the test clock stands still', async () => {
  await app.setClock(Date.parse('2026-01-01T00:00:00Z'));
  const { pricingModelId, ids } = await register('fails-first');
  await whileSending(async () => {
    await tell(pricingModelId, ...Array.from({ length: 5 }, (_, index) => `cust_${index}`));
    await until(() => sentTo('fails-first').length === 5, 'five failures');
    // From here on it is left in peace, for five seconds.
    const changedAt = Date.now();
    await app.put(`/webhooks/${ids[0]}`, { webhook: { url: urlOf('repaired'), active: true } });
    await tell(pricingModelId, 'cust_late');
    await until(() => sentTo('repaired').length > 0, 'a message at the repaired endpoint');
    assert(Date.now() - changedAt < 4_000, `${Date.now() - changedAt} ms`);
  });
});

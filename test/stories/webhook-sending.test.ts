import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool } from '../../src/database/database.ts';
import { loopback } from '../../src/jobs/address-guard.ts';
import { createOutbound } from '../../src/jobs/outbound.ts';
import { type Sender, startSender } from '../../src/webhooks/jobs-sender.ts';
import { cellHere, insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp, testWebhookServices } from '../support/harness.ts';
import { tellChanges } from '../support/telling.ts';
import { startEndpoint } from '../support/webhook-endpoint.ts';

// What a hanging endpoint keeps us waiting, here.
const timeoutMs = 2_000;
const hundredMegabytes = Buffer.alloc(100_000_000, 'x');
const webhooks = {
  ...testWebhookServices(),
  outbound: createOutbound({ allow: [], allowInTestMode: loopback, timeoutMs }),
};
const app = await startTestApp({ services: { webhooks } });

type Endpoint = Awaited<ReturnType<typeof startEndpoint>>;

/** Endpoints of a pricing model of their own. */
async function registered(...endpoints: Endpoint[]) {
  const { pricingModelId } = await insertFixture(app);
  const webhookIds: string[] = [];
  for (const { url } of endpoints) {
    const webhook = { name: 'Ours', url, filterTypes: [], pricingModelId };
    webhookIds.push((await app.post('/webhooks', { webhook })).webhook.id);
  }
  return { pricingModelId, webhookIds, webhookId: webhookIds[0] ?? '' };
}

const tell = (pricingModelId: string, ...objectIds: string[]) => tellChanges(app, pricingModelId, objectIds);

const deliveriesOf = async (webhookId: string): Promise<Body[]> =>
  (await app.get(`/webhooks/${webhookId}/deliveries?limit=100`)).data;

/** Waits for something that is about to happen. */
async function until(condition: () => boolean | Promise<boolean>, what: string, limitMs = 10_000): Promise<void> {
  for (const end = Date.now() + limitMs; !(await condition()); await sleep(10))
    assert(Date.now() < end, `waited in vain for ${what}`);
}

async function withSenders<Answer>(count: number, act: (senders: Sender[]) => Promise<Answer>): Promise<Answer> {
  const { name: schema } = cellHere(app);
  const pools = Array.from({ length: count }, () => createPool({ schema, url: app.databaseUrl, size: 4, as: 'owner' }));
  const onError = (error: unknown) => console.error(error);
  const senders = pools.map((pool) => startSender({ pool, schema, services: webhooks, onError }));
  try {
    return await act(senders);
  } finally {
    await Promise.all(senders.map((sender) => sender.stop()));
    await Promise.all(pools.map((pool) => pool.end()));
  }
}

const outcomes: [string, Parameters<typeof startEndpoint>[0], object][] = [
  ['200', () => ({ status: 200, body: 'thanks' }), { status: 'succeeded', lastStatusCode: 200, lastError: null }],
  ['204', () => ({ status: 204 }), { status: 'succeeded', lastStatusCode: 204, lastError: null }],
  [
    '301',
    () => ({ status: 301, headers: { location: '/elsewhere' } }),
    { status: 'pending', lastStatusCode: 301, lastError: 'The endpoint responded with 301.' },
  ],
  [
    '410',
    () => ({ status: 410 }),
    { status: 'failed', lastStatusCode: 410, lastError: 'The endpoint responded with 410.' },
  ],
  [
    '429',
    () => ({ status: 429, headers: { 'retry-after': '120' } }),
    { status: 'pending', lastStatusCode: 429, lastError: 'The endpoint responded with 429.' },
  ],
  [
    '500',
    () => ({ status: 500 }),
    { status: 'pending', lastStatusCode: 500, lastError: 'The endpoint responded with 500.' },
  ],
  ['nothing', () => 'hang', { status: 'pending', lastStatusCode: null, lastError: 'No response within 2 seconds.' }],
  ['half of a connection', () => 'cut', { status: 'pending', lastStatusCode: null }],
  [
    '100 MB',
    () => ({ status: 200, body: hundredMegabytes }),
    { status: 'succeeded', lastStatusCode: 200, lastError: null },
  ],
];

for (const [name, answer, expected] of outcomes) {
  test(`an endpoint that answers ${name}: the delivery and its attempt say how it went`, async () => {
    const endpoint = await startEndpoint(answer);
    const { pricingModelId, webhookId } = await registered(endpoint);
    await tell(pricingModelId, 'cust_1');
    await app.sendWebhooks();
    const [delivery] = await deliveriesOf(webhookId);
    assert.partialDeepStrictEqual(delivery, { ...expected, attempts: 1 });
    const { attempts } = await app.get(`/deliveries/${delivery.id}`);
    assert.equal(attempts.length, 1);
    assert.partialDeepStrictEqual(attempts[0], {
      number: 1,
      statusCode: delivery.lastStatusCode,
      error: delivery.lastError,
    });
    assert((attempts[0].answer ?? '').length <= 2048);
    const waitMs = delivery.nextAttemptAt === null ? null : delivery.nextAttemptAt - delivery.lastAttemptAt;
    if (name === '429') assert.equal(waitMs, 120_000);
    else if (waitMs !== null) assert(waitMs >= 5_000 && waitMs <= 5_500);
    assert.deepEqual(
      endpoint.received.map(({ path }) => path),
      ['/hook'],
    );
  });
}

test('an endpoint that is gone is switched off and says why; what waited for it ends', async () => {
  const endpoint = await startEndpoint(() => ({ status: 410 }));
  const { pricingModelId, webhookId } = await registered(endpoint);
  await tell(pricingModelId, 'cust_1', 'cust_1', 'cust_1');
  await app.sendWebhooks();
  const { webhook } = await app.get(`/webhooks/${webhookId}`);
  assert.equal(webhook.active, false);
  assert.equal(webhook.disabledReason, 'The endpoint responded with 410: it is permanently gone.');
  assert.equal(endpoint.received.length, 1);
  assert.deepEqual(
    (await deliveriesOf(webhookId)).map(({ status }) => status),
    ['failed', 'failed', 'failed'],
  );
  await tell(pricingModelId, 'cust_1');
  assert.equal((await deliveriesOf(webhookId)).length, 3);
});

test('an endpoint that was changed while its attempt was made stays on, also if it said that it is gone', async () => {
  const endpoint = await startEndpoint(async () => {
    await app.put(`/webhooks/${webhookId}`, { webhook: { active: true } });
    return { status: 410 };
  });
  const { pricingModelId, webhookId } = await registered(endpoint);
  await tell(pricingModelId, 'cust_1');
  await app.sendWebhooks();
  assert.equal((await app.get(`/webhooks/${webhookId}`)).webhook.active, true);
});

test('an endpoint that has failed for five days is switched off; one that succeeds in between is not', async () => {
  const endpoint = await startEndpoint(() => ({ status: 500 }));
  const { pricingModelId, webhookId } = await registered(endpoint);
  await tell(pricingModelId, 'cust_1');
  await app.sendWebhooks();
  const failing = app.owner.updateTable('webhooks').where('id', '=', webhookId);
  const fiveDaysAgo = Date.now() - 5 * 24 * 60 * 60_000;
  await failing.set({ failingSince: fiveDaysAgo + 60_000 }).execute();
  await tell(pricingModelId, 'cust_2');
  await app.sendWebhooks();
  assert.equal((await app.get(`/webhooks/${webhookId}`)).webhook.active, true);
  await failing.set({ failingSince: fiveDaysAgo }).execute();
  await tell(pricingModelId, 'cust_3');
  await app.sendWebhooks();
  const { webhook } = await app.get(`/webhooks/${webhookId}`);
  assert.equal(webhook.active, false);
  assert.match(webhook.disabledReason, /^Every attempt has failed for five days\./);
});

test('an endpoint that recovers while a caller renames it has recovered: a failure days later does not switch it off', async () => {
  const answers = [200, 500];
  const endpoint = await startEndpoint(async () => {
    if (answers.length === 2) await app.put(`/webhooks/${webhookId}`, { webhook: { name: 'Renamed' } });
    return { status: answers.shift() ?? 500 };
  });
  const { pricingModelId, webhookId } = await registered(endpoint);
  const failingSince = Date.now() - 6 * 24 * 60 * 60_000;
  await app.owner.updateTable('webhooks').where('id', '=', webhookId).set({ failingSince }).execute();
  for (const objectId of ['cust_1', 'cust_2']) {
    await tell(pricingModelId, objectId);
    await app.sendWebhooks();
  }
  assert.deepEqual(endpoint.objects(), ['cust_1', 'cust_2']);
  assert.equal((await app.get(`/webhooks/${webhookId}`)).webhook.active, true);
});

test('what happened to an object after an event that failed waits for it; other objects do not', async () => {
  const answers = [500];
  const endpoint = await startEndpoint(() => ({ status: answers.shift() ?? 200 }));
  const { pricingModelId } = await registered(endpoint);
  await tell(pricingModelId, 'cust_a', 'cust_a', 'cust_a');
  await app.sendWebhooks();
  assert.deepEqual(endpoint.objects(), ['cust_a']);
  await tell(pricingModelId, 'cust_b');
  await app.sendWebhooks();
  assert.deepEqual(endpoint.objects(), ['cust_a', 'cust_b']);
  await app.sendWebhooks({ all: true });
  const eventIds = endpoint.eventIdsOf('cust_a');
  assert.equal(eventIds.length, 4);
  assert.equal(eventIds[0], eventIds[1]);
  assert.deepEqual(eventIds, [...eventIds].sort());
});

test('an event that has failed three times no longer holds back those after it', async () => {
  let refused = '';
  const endpoint = await startEndpoint(({ eventId }) => {
    refused ||= eventId;
    return { status: eventId === refused ? 400 : 200 };
  });
  const { pricingModelId, webhookId } = await registered(endpoint);
  await tell(pricingModelId, 'cust_a', 'cust_a');
  for (const attempt of [1, 2, 3]) {
    assert.equal(endpoint.received.length, attempt - 1);
    await app.owner
      .updateTable('webhookDeliveries')
      .set({ nextAttemptAt: Date.now() })
      .where('webhookId', '=', webhookId)
      .where('status', '=', 'pending')
      .execute();
    await app.sendWebhooks();
    if (attempt < 3) assert.equal(endpoint.received.length, attempt);
  }
  assert.equal(new Set(endpoint.eventIdsOf('cust_a')).size, 2);
});

test('a dead endpoint and a slow one keep no other waiting', async () => {
  const dead = await startEndpoint(() => 'hang');
  const well = await startEndpoint(() => ({ status: 200 }));
  const { pricingModelId } = await registered(dead, well);
  await withSenders(1, async () => {
    const objectIds = Array.from({ length: 100 }, (_, index) => `cust_${index}`);
    await tell(pricingModelId, ...objectIds);
    await until(() => well.received.length === 100, 'all events at the endpoint that is well');
    assert.deepEqual(well.objects().sort(), objectIds.sort());
  });
  // Sixteen at a time, and after five failures in a row it is left in peace.
  assert(dead.received.length <= 32, `${dead.received.length} attempts at the dead one`);
});

test('of two senders one sends; when it ends, the other goes on, and nothing is sent twice', async () => {
  const endpoint = await startEndpoint(() => ({ status: 200 }));
  const { pricingModelId } = await registered(endpoint);
  await withSenders(2, async ([first]) => {
    await tell(pricingModelId, 'cust_1', 'cust_2');
    await until(() => endpoint.received.length === 2, 'the first events');
    await first?.stop();
    await tell(pricingModelId, 'cust_3', 'cust_4');
    await until(() => endpoint.received.length === 4, 'the events after the first sender has ended');
  });
  assert.deepEqual(endpoint.objects().sort(), ['cust_1', 'cust_2', 'cust_3', 'cust_4']);
});

test('a sender whose connections are cut goes on with new ones', async () => {
  const endpoint = await startEndpoint(() => ({ status: 200 }));
  const { pricingModelId } = await registered(endpoint);
  const { sql } = await import('kysely');
  const ofOwner = sql`from pg_stat_activity where datname = current_database() and application_name = 'tollkeeper-owner'`;
  const { rows: others } = await sql<{ pid: number }>`select pid ${ofOwner}`.execute(app.owner);
  await withSenders(1, async () => {
    await tell(pricingModelId, 'cust_1');
    await until(() => endpoint.received.length === 1, 'the first event');
    const isOther = sql`pid = any(${others.map(({ pid }) => pid)}::integer[])`;
    const cut = await sql`select pg_terminate_backend(pid) ${ofOwner} and not ${isOther}`.execute(app.owner);
    assert(cut.rows.length > 0);
    await tell(pricingModelId, 'cust_2');
    await until(() => endpoint.objects().includes('cust_2'), 'the event after the cut');
  });
});

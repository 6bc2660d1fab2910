import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { publish } from '../../src/customers/store-events.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { type ReceiverAnswer, startReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp();
const noon = Date.UTC(2026, 2, 1, 12);
const minutes = 60_000;

/** A pricing model in which one thing happens each minute from noon on, and what is told of it. */
async function setUp() {
  const { pricingModelId, customerId } = await insertFixture(app);
  const tell = async (minute: number, type: string, objectId = customerId) => {
    await app.setClock(noon + minute * minutes);
    const customer = { id: customerId, externalId: 'ada' };
    await app.inEnvironment((work) =>
      publish(work, [{ type, object: 'customer', objectId, pricingModelId, customer, data: { id: objectId } }]),
    );
  };
  const addWebhook = async ({
    answers = [],
    ...changes
  }: {
    answers?: ReceiverAnswer[];
    [field: string]: unknown;
  } = {}) => {
    const receiver = await startReceiver(answers);
    const given = { name: 'Ours', url: receiver.url, filterTypes: [], pricingModelId, ...changes };
    const { id } = (await app.post('/webhooks', { webhook: given })).webhook;
    const replay = async (range: object): Promise<number> =>
      (await app.post(`/webhooks/${id}/replay`, { replay: range })).replay.deliveries;
    const deliveries = async (query = ''): Promise<Body[]> =>
      (await app.get(`/webhooks/${id}/deliveries?limit=100&${query}`)).data;
    const refuse = (range: object) => app.request('POST', `/webhooks/${id}/replay`, { replay: range });
    return { id: id as string, receiver, replay, refuse, deliveries };
  };
  return { pricingModelId, customerId, tell, addWebhook };
}

const types = [
  'customer.created',
  'customer.updated',
  'payment.failed',
  'subscription.created',
  'subscription.canceled',
];

describe('a replay', () => {
  test('a replay to a webhook that came later sends what happened before it, in order', async () => {
    const { tell, addWebhook } = await setUp();
    for (const [minute, type] of types.entries()) await tell(minute, type);
    const { receiver, replay, deliveries } = await addWebhook();
    assert.equal(await replay({ since: noon }), 5);
    await app.sendWebhooks();
    assert.deepEqual(receiver.types(), types);
    const events = (await app.get('/events?limit=100')).data.slice(-5);
    assert.deepEqual(
      receiver.received.map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body.toString())]),
      events.map((event: Body) => [event.id, event.payload]),
    );
    assert.equal((await deliveries('status=succeeded')).length, 5);
  });

  test('a replay sends what was sent before, and what was not, once more in the order in which it happened', async () => {
    const { tell, addWebhook } = await setUp();
    const { id, receiver, replay, deliveries } = await addWebhook({
      filterTypes: ['customer.updated', 'payment.failed'],
    });
    for (const [minute, type] of types.entries()) await tell(minute, type);
    await app.sendWebhooks();
    assert.deepEqual(receiver.types(), ['customer.updated', 'payment.failed']);
    const before = await deliveries();
    await app.put(`/webhooks/${id}`, { webhook: { filterTypes: [] } });
    receiver.received.splice(0);
    assert.equal(await replay({ since: noon }), 5);
    await app.sendWebhooks();
    assert.deepEqual(receiver.types(), types);
    const after = await deliveries();
    assert.equal(after.length, 5);
    for (const { id: deliveryId, attempts } of before)
      assert.equal(after.find((each) => each.id === deliveryId)?.attempts, attempts + 1);
  });

  test('a replay takes events from the instant of since on and before that of until', async () => {
    const { tell, addWebhook } = await setUp();
    for (const [minute, type] of types.entries()) await tell(minute, type);
    const { receiver, replay } = await addWebhook();
    assert.equal(await replay({ since: noon + minutes, until: noon + 3 * minutes }), 2);
    await app.sendWebhooks();
    assert.deepEqual(receiver.types(), ['customer.updated', 'payment.failed']);
    assert.equal(await replay({ since: '2026-03-01T12:04:00Z' }), 1);
    assert.equal(await replay({ since: noon + 5 * minutes }), 0);
    assert.equal(await replay({ since: noon + 1, until: noon + minutes }), 0);
  });

  test('a replay takes the types that are named, also such as the filter leaves out', async () => {
    const { tell, addWebhook } = await setUp();
    for (const [minute, type] of [...types, 'usage_balance.low'].entries()) await tell(minute, type);
    const { receiver, replay } = await addWebhook({ filterTypes: ['customer.created'] });
    const all = await addWebhook();
    assert.equal(await replay({ since: noon }), 1);
    assert.equal(
      await replay({ since: noon, types: ['payment.failed', 'subscription.canceled', 'payment.failed'] }),
      2,
    );
    await app.sendWebhooks();
    assert.deepEqual(receiver.types(), ['customer.created', 'payment.failed', 'subscription.canceled']);
    assert.equal(await all.replay({ since: noon }), 5);
    assert.equal(await all.replay({ since: noon, types: ['usage_balance.low'] }), 1);
  });

  test('a replay of what failed takes nothing else, in its order', async () => {
    const { tell, addWebhook } = await setUp();
    const { id, receiver, replay, deliveries } = await addWebhook({ answers: [{ status: 410 }] });
    for (const [minute, type] of types.slice(0, 3).entries()) await tell(minute, type);
    await app.sendWebhooks();
    assert.equal((await app.get(`/webhooks/${id}`)).webhook.active, false);
    await tell(3, 'subscription.created');
    assert.deepEqual(
      (await deliveries()).map(({ status }) => status),
      ['failed', 'failed', 'failed'],
    );

    await app.put(`/webhooks/${id}`, { webhook: { active: true } });
    await tell(4, 'subscription.canceled');
    await app.sendWebhooks();
    receiver.received.splice(0);
    assert.equal(await replay({ since: noon, until: noon + 2 * minutes, onlyFailed: true }), 2);
    await app.sendWebhooks();
    assert.deepEqual(receiver.types(), ['customer.created', 'customer.updated']);
    assert.equal(await replay({ since: noon, onlyFailed: true }), 1);
    assert.equal(await replay({ since: noon, onlyFailed: true, types: ['customer.created'] }), 0);
    await app.sendWebhooks();
    // What was told while it was switched off had no delivery that could fail.
    assert.equal(await replay({ since: noon, onlyFailed: true }), 0);
    assert.equal(await replay({ since: noon }), 5);
  });

  test('a replay leaves alone what waits for its next attempt', async () => {
    const { tell, addWebhook } = await setUp();
    const { replay, deliveries } = await addWebhook({ answers: [{ status: 500 }] });
    await tell(0, 'customer.created');
    await app.sendWebhooks();
    const before = await deliveries();
    assert.deepEqual([before[0].status, before[0].attempts], ['pending', 1]);
    assert.equal(await replay({ since: noon }), 0);
    assert.deepEqual(await deliveries(), before);
  });

  test('a replay begins the schedule anew', async () => {
    const { tell, addWebhook } = await setUp();
    const answers = Array.from({ length: 11 }, () => ({ status: 500 }));
    const { replay, deliveries } = await addWebhook({ answers });
    await tell(0, 'customer.created');
    await app.sendWebhooks({ all: true });
    assert.equal(await replay({ since: noon, onlyFailed: true }), 1);
    await app.sendWebhooks();
    const [waiting] = await deliveries();
    assert.deepEqual([waiting.status, waiting.attempts], ['pending', 11]);
    await app.sendWebhooks({ all: true });
    const [done] = await deliveries();
    assert.deepEqual([done.status, done.attempts], ['succeeded', 12]);
  });

  test('a replay of many at once sends each event once', async () => {
    const { tell, addWebhook } = await setUp();
    for (const [minute, type] of types.entries()) await tell(minute, type);
    const { receiver, replay } = await addWebhook();
    const counts = await Promise.all(Array.from({ length: 6 }, () => replay({ since: noon })));
    assert(counts.includes(5), `${counts}`);
    await app.sendWebhooks();
    assert.deepEqual(receiver.types(), types);
  });

  test('a replay of more than 10,000 events is refused whole', async () => {
    const { pricingModelId, customerId, addWebhook } = await setUp();
    await sql`
      insert into events (environment_id, id, pricing_model_id, type, object, object_id, payload, occurred_at, created_at)
      select ${app.testEnvironmentId}::bigint, 'event_' || lpad(n::text, 21, '0'), ${pricingModelId}, 'customer.updated', 'customer',
             ${customerId}, '{}', ${noon}::bigint + n, ${noon}
        from generate_series(1, 10001) as n`.execute(app.owner);
    const { id, replay, refuse, deliveries } = await addWebhook();
    const { status, body } = await refuse({ since: noon });
    assert.equal(status, 400);
    assert.equal(body.message, 'More than 10000 events match: choose a shorter range or fewer types.');
    assert.deepEqual(await deliveries(), []);
    assert.equal(await replay({ since: noon + 2 }), 10_000);
    assert.equal((await app.get(`/webhooks/${id}/deliveries`)).total, 10_000);
    await app.request('DELETE', `/webhooks/${id}`);
  });

  test('a replay counts what the plain rule counts, whatever the range and the types are', async () => {
    const { tell, addWebhook } = await setUp();
    const filterTypes = ['customer.created', 'payment.failed'];
    const { id } = await addWebhook({ filterTypes, active: false });
    const told = [...types, ...types, 'usage_balance.low'].map((type, minute) => ({ type, minute }));
    for (const { type, minute } of told) await tell(minute, type);
    await app.put(`/webhooks/${id}`, { webhook: { active: true } });
    const minute = fc.integer({ min: -1, max: told.length + 1 });
    const range = fc.record({
      since: minute,
      length: fc.option(fc.integer({ min: 1, max: told.length }), { nil: null }),
      named: fc.option(fc.uniqueArray(fc.constantFrom(...types, 'usage_balance.low'), { minLength: 1 }), { nil: null }),
    });
    await fc.assert(
      fc.asyncProperty(range, async ({ since, length, named }) => {
        const until = length === null ? {} : { until: noon + (since + length) * minutes };
        const replay = { since: noon + since * minutes, ...until, ...(named === null ? {} : { types: named }) };
        const expected = told.filter(
          (each) =>
            (named ?? filterTypes).includes(each.type) &&
            each.minute >= since &&
            (length === null || each.minute < since + length),
        );
        const { replay: counted } = await app.post(`/webhooks/${id}/replay?dryRun=true`, { replay });
        assert.equal(counted.deliveries, expected.length);
      }),
      { numRuns: 60 },
    );
    assert.equal((await app.get(`/webhooks/${id}/deliveries`)).total, 0);
  });

  test('a replay at the moment in which its webhook is deleted is done or not found, and so is all else that sends', async () => {
    const { tell, addWebhook } = await setUp();
    await tell(0, 'customer.created');
    for (let round = 0; round < 5; round++) {
      const { id } = await addWebhook();
      const { delivery } = await app.post(`/webhooks/${id}/test`, {});
      const answers = await Promise.all([
        app.request('POST', `/webhooks/${id}/replay`, { replay: { since: noon } }),
        app.request('POST', `/webhooks/${id}/test`, {}),
        app.request('POST', `/deliveries/${delivery.id}/retry`),
        app.request('DELETE', `/webhooks/${id}`),
        app.request('POST', `/webhooks/${id}/rotate-secret`),
        app.request('POST', `/webhooks/${id}/replay`, { replay: { since: noon } }),
      ]);
      assert.equal(answers[3].status, 200);
      for (const { status, body } of answers) assert([200, 404].includes(status), JSON.stringify(body));
    }
  });

  test('that says too little, or nonsense, is refused with what would be right', async () => {
    const { addWebhook } = await setUp();
    const { id, refuse } = await addWebhook();
    const wrong: [string, object][] = [
      ['replay.since', {}],
      ['replay.since', { since: 'yesterday' }],
      ['replay.until', { since: noon, until: noon }],
      ['replay.until', { since: noon, until: 'never' }],
      ['replay.types', { since: noon, types: [] }],
      ['replay.types.0', { since: noon, types: ['sync.events_available'] }],
      ['replay.onlyFailed', { since: noon, onlyFailed: 'yes' }],
    ];
    for (const [path, range] of wrong) {
      const { status, body } = await refuse(range);
      assert.equal(status, 400, JSON.stringify(range));
      assert.equal(body.issues[0].path.join('.'), path);
    }
    assert.equal((await app.request('POST', `/webhooks/${id}/replay`, {})).status, 400);
    await app.put(`/webhooks/${id}`, { webhook: { active: false } });
    const { status, body } = await refuse({ since: noon });
    assert.equal(status, 400);
    assert.match(body.message, /is inactive/);
  });

  test('a replay is sent to no webhook but its own', async () => {
    const { tell, addWebhook } = await setUp();
    await tell(0, 'customer.created');
    const one = await addWebhook();
    const other = await addWebhook();
    await one.replay({ since: noon });
    await app.sendWebhooks();
    one.receiver.only();
    assert.deepEqual(other.receiver.received, []);
  });
});

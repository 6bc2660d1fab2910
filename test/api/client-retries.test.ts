import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Tollkeeper } from '../../client/src/client.ts';
import {
  ConflictError,
  ConnectionError,
  RateLimitedError,
  TimeoutError,
  TollkeeperError,
} from '../../client/src/errors.ts';
import { waitBefore } from '../../client/src/retry.ts';
import { type Fate, startFront } from '../support/client-front.ts';
import { startTestApp } from '../support/harness.ts';
import { buildWorld } from '../support/world.ts';

const app = await startTestApp();
const world = await buildWorld(app);

/** A client whose requests meet these fates, one after the other, and whatever comes after is passed on. */
async function clientThrough(fates: readonly Fate[], options: { maxRetries?: number; timeoutMs?: number } = {}) {
  const front = await startFront(app.url);
  front.fates.push(...fates);
  return { client: new Tollkeeper({ key: app.testKey, baseUrl: front.url, ...options }), seen: front.seen };
}

const failure = { status: 500, body: '{"message":"Internal server error","code":"INTERNAL_SERVER_ERROR"}' };
const keysOf = (seen: readonly { headers: Record<string, unknown> }[]) =>
  seen.map(({ headers }) => headers['idempotency-key']);

describe('a request is sent again', { concurrency: true }, () => {
  const fates: Record<string, Fate> = {
    'after a connection that was cut': 'cut',
    'after an answer that was lost': 'lose',
    'after an answer that broke off': 'break off',
    'after 500': failure,
    'after 503': { status: 503 },
    'after 502 in the words of a proxy': { status: 502, body: '<h1>Bad gateway</h1>' },
    'after 408': { status: 408 },
    'after 429': { status: 429 },
    'where the service says so': { status: 409, headers: { 'x-should-retry': 'true' } },
    'after an answer that is not JSON': { status: 200, body: '<h1>Hello</h1>' },
  };
  for (const [claim, fate] of Object.entries(fates)) {
    test(claim, async () => {
      const { client, seen } = await clientThrough([fate]);
      assert.equal((await client.customers.get({ externalId: world.externalId })).customer.id, world.customerId);
      assert.equal(seen.length, 2);
    });
  }

  test('a request is sent again after no answer in time', async () => {
    const { client, seen } = await clientThrough(['hang'], { timeoutMs: 1000 });
    await client.settings.get();
    assert.equal(seen.length, 2);
  });

  test('twice, and then the last failure is told', async () => {
    const { client, seen } = await clientThrough([
      'cut',
      failure,
      { status: 503, body: '{"message":"Down","code":"SERVICE_UNAVAILABLE"}' },
    ]);
    await assert.rejects(client.settings.get(), {
      name: 'TollkeeperError',
      status: 503,
      code: 'SERVICE_UNAVAILABLE',
      message: 'Down',
    });
    assert.equal(seen.length, 3);
  });

  test('a request is sent again as often as is said, for all calls or for one', async () => {
    const never = await clientThrough(['cut'], { maxRetries: 0 });
    await assert.rejects(never.client.settings.get(), ConnectionError);
    const once = await clientThrough(['cut', 'cut', 'cut']);
    await assert.rejects(once.client.settings.get({}, { maxRetries: 1 }), ConnectionError);
    assert.deepEqual([never.seen.length, once.seen.length], [1, 2]);
  });

  test('a request is not sent again before the time that Retry-After names', async () => {
    const { client, seen } = await clientThrough([{ status: 429, headers: { 'retry-after': '2' } }]);
    await client.settings.get();
    const [first, second] = seen;
    assert(first && second && second.at - first.at >= 1990, 'the second attempt came too soon');
  });
});

describe('a request is not sent again', { concurrency: true }, () => {
  for (const status of [400, 401, 402, 403, 404, 409, 413, 415]) {
    test(`a request is not sent again after ${status}`, async () => {
      const { client, seen } = await clientThrough([{ status, body: '{"message":"No","code":"X"}' }]);
      await assert.rejects(client.settings.get(), { status, code: 'X', message: 'No' });
      assert.equal(seen.length, 1);
    });
  }

  test('a request is not sent again where the service says that it is of no use', async () => {
    const { client, seen } = await clientThrough([{ status: 500, headers: { 'x-should-retry': 'false' } }]);
    await assert.rejects(client.settings.get(), TollkeeperError);
    assert.equal(seen.length, 1);
  });

  test('a request is not sent again where Retry-After asks for more than a minute', async () => {
    const { client, seen } = await clientThrough([{ status: 429, headers: { 'retry-after': '3600' } }]);
    await assert.rejects(client.settings.get(), RateLimitedError);
    assert.equal(seen.length, 1);
  });

  test('a request is not sent again when the caller has had enough: while it is under way, and while it waits for the next attempt', async () => {
    for (const fate of ['hang', { status: 429, headers: { 'retry-after': '30' } }] as const) {
      const { client, seen } = await clientThrough([fate]);
      const controller = new AbortController();
      const maxRetries = fate === 'hang' ? 0 : 1;
      const call = client.settings.get({}, { signal: controller.signal, maxRetries });
      while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
      setTimeout(() => controller.abort(new Error('enough')), 50);
      await assert.rejects(call, { message: 'enough' });
      assert.equal(seen.length, 1);
    }
    const { client, seen } = await clientThrough([]);
    await assert.rejects(client.settings.get({}, { signal: AbortSignal.abort(new Error('before')) }), {
      message: 'before',
    });
    assert.equal(seen.length, 0);
  });

  test('a signal that outlives the call is let go of', async () => {
    const { client } = await clientThrough(['cut']);
    const { signal } = new AbortController();
    await client.settings.get({}, { signal });
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  });

  test('by a timeout there is an error that says so', async () => {
    const { client } = await clientThrough(['hang'], { timeoutMs: 50, maxRetries: 0 });
    await assert.rejects(client.settings.get(), (error) => {
      assert(error instanceof TimeoutError && error instanceof ConnectionError);
      assert.deepEqual(
        [error.code, error.status, error.message],
        ['TIMEOUT', null, 'There was no answer within 50 ms.'],
      );
      return true;
    });
  });
});

describe('what is sent twice is done once', { concurrency: true }, () => {
  const { subscriptionId } = world;

  test('a hold whose answer was lost, or broke off, twice', async () => {
    const hold = { subscriptionId, meter: 'api-calls', amount: 7, expiresAt: Date.now() + 3_600_000 };
    const { client, seen } = await clientThrough(['lose', 'break off']);
    const before = (await app.get(`/holds?subscriptionId=${subscriptionId}`)).total;
    const made = await client.holds.create({ hold });
    const { total, data } = await app.get(`/holds?subscriptionId=${subscriptionId}&limit=100`);
    assert.equal(total, before + 1);
    assert.deepEqual(
      data.find(({ id }: { id: string }) => id === made.hold.id),
      made.hold,
    );
    assert.deepEqual(
      seen.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal(new Set(keysOf(seen)).size, 1);
  });

  test('a change whose attempt before is still in progress, after that has finished', async () => {
    const body = '{"message":"In progress","code":"CONFLICT","reason":"idempotency_key_in_use"}';
    const inUse = { status: 409, headers: { 'x-should-retry': 'false' }, body };
    const { client, seen } = await clientThrough(['lose', inUse]);
    const { customer } = await client.customers
      .create({
        customer: { externalId: 'in-progress', name: 'Ada', email: 'ada@acme.test' },
      })
      .then(({ data }) => data);
    assert.equal(customer.externalId, 'in-progress');
    assert.deepEqual([seen.length, new Set(keysOf(seen)).size], [3, 1]);
    const others = await clientThrough([inUse]);
    await assert.rejects(others.client.settings.update({ settings: {} }, { idempotencyKey: 'theirs' }), ConflictError);
    assert.equal(others.seen.length, 1, 'the request of somebody else is not waited for');
  });

  test('a deletion: the repeat is answered as the first was, not with 404', async () => {
    const { webhook } = await app.post('/webhooks', {
      webhook: { name: 'Gone', url: 'https://a.example.com', filterTypes: [] },
    });
    const { client, seen } = await clientThrough(['lose']);
    const answer = await client.webhooks.delete({ id: webhook.id });
    assert.equal(answer.webhook.id, webhook.id);
    assert.deepEqual(
      seen.map(({ status }) => status),
      [200, 200],
    );
  });

  test('usage, by its transactionId: without a key, so that it goes with that of others', async () => {
    const { client, seen } = await clientThrough(['lose', 'lose', 'pass', 'lose']);
    const usageEvent = { subscriptionId, usageMeterSlug: 'api-calls', transactionId: 'lost', amount: 3 };
    const first = await client.usageEvents.create({ usageEvent });
    const again = await client.usageEvents.consume({ usageEvent });
    assert.equal(again.usageEvent.id, first.usageEvent.id);
    assert.equal((await client.usageEvents.list({ transactionId: 'lost' })).total, 1);
    assert.deepEqual(keysOf(seen), Array(6).fill(undefined));
  });

  test('each call has a key of its own, or the one that it is given', async () => {
    const { client, seen } = await clientThrough([]);
    const settings = { netTermsDays: 0 };
    await client.settings.update({ settings });
    await client.settings.update({ settings });
    await client.settings.update({ settings }, { idempotencyKey: 'mine' });
    await client.settings.update({ settings }, { idempotencyKey: 'mine' });
    const keys = keysOf(seen) as string[];
    assert.equal(new Set(keys).size, 3);
    assert.match(keys[0] ?? '', /^[0-9a-f]{32}$/);
    assert.deepEqual(keys.slice(2), ['mine', 'mine']);
    await assert.rejects(client.settings.update({ settings: {} }, { idempotencyKey: 'mine' }), ConflictError);
  });
});

describe('the wait before the next attempt', () => {
  const headers = (retryAfter: string) => new Headers({ 'retry-after': retryAfter });

  test('the wait before the next attempt doubles from half a second up to eight, and luck takes at most half of it', () => {
    const longest = [0, 1, 2, 3, 4, 5, 60].map((attempt) => waitBefore(attempt, null, 0, 1));
    assert.deepEqual(longest, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
    fc.assert(
      fc.property(fc.nat(100), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, luck) => {
        const [ms, least, most] = [luck, 0, 1].map((each) => waitBefore(attempt, null, 0, each) ?? 0);
        return (
          ms !== undefined &&
          least !== undefined &&
          most !== undefined &&
          ms >= least &&
          ms <= most &&
          least * 2 === most
        );
      }),
    );
  });

  test('the wait before the next attempt is at least what Retry-After says, in seconds or as a date', () => {
    const now = Date.UTC(2026, 0, 1);
    assert.equal(waitBefore(0, headers('30'), now, 0), 30_000);
    assert.equal(waitBefore(0, headers('Thu, 01 Jan 2026 00:00:10 GMT'), now, 0), 10_000);
    assert.equal(waitBefore(0, headers('Thu, 01 Jan 2025 00:00:10 GMT'), now, 0), 250);
    assert.equal(waitBefore(4, headers('1'), now, 0), 4000);
    assert.equal(waitBefore(0, headers('soon'), now, 0), 250);
    assert.equal(waitBefore(0, headers('61'), now, 0), null);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { z } from 'zod';
import { catchUpAll } from '../../src/billing/catch-up.ts';
import { hashApiKey } from '../../src/database/api-key.ts';
import { RunAgain, type Work } from '../../src/database/work.ts';
import { startKeyUse } from '../../src/http/key-use.ts';
import { createLog } from '../../src/http/log.ts';
import { batchedRoute } from '../../src/http/route.ts';
import { createHttp } from '../../src/http/server.ts';
import { type BatchedOperation, createRequestBatcher, PartialRejection } from '../../src/jobs/batcher.ts';
import { Problem, type ProblemName } from '../../src/kernel/problem.ts';
import { createApiKey, revokeApiKey } from '../../src/organizations/actions.ts';
import { recordUsage } from '../../src/usage/actions-record.ts';
import type { UsageAnswer, UsageRequest } from '../../src/usage/usage-draft.ts';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { send, startTestApp } from '../support/harness.ts';
import { assertEventsAddUp, assertLedgerAddsUp } from '../support/ledger-invariants.ts';

// The batcher of one cell.
const app = await startTestApp({ cells: 1 });
const { database, tasks, services } = app;
const unexpected: unknown[] = [];
const batcher = createRequestBatcher({ database, tasks, services }, (error) => void unexpected.push(error));
const recording = recordUsage(catchUpAll);
const entryOf = (token: string) => ({ apiKeyHash: hashApiKey(token), sufficient: null });
const ours = entryOf(app.testKey);

const createCache = () => undefined;

type World = Awaited<ReturnType<typeof insertFixture>>;

let count = 0;
function event({ subscriptionId }: World, change: object = {}) {
  count += 1;
  return { subscriptionId, transactionId: `transaction ${count}`, amount: 1, priceSlug: 'call-overage', ...change };
}

const ask = (...events: ReturnType<typeof event>[]): UsageRequest => ({
  kind: 'record',
  events,
  pathOf: (index) => ['usageEvents', index],
});

/** Submits requests at the same time. The answer of each, or the name of its refusal. */
async function submitAll<Request, Answer, Cache>(
  operation: BatchedOperation<Request, Answer, Cache>,
  requests: readonly Request[],
  entry = ours,
) {
  const answers = await Promise.allSettled(requests.map((each) => batcher.submit(operation, entry, each)));
  return answers.map((answer): Answer | ProblemName => {
    if (answer.status === 'fulfilled') return answer.value;
    const { reason } = answer;
    assert(reason instanceof Problem, String(reason));
    return reason.problem;
  });
}

const idsOf = (answers: readonly (UsageAnswer | ProblemName)[]) =>
  answers.map((answer) =>
    typeof answer === 'string' ? answer : answer.events.map(({ transactionId }) => transactionId).join(' '),
  );
const sent = (asks: readonly UsageRequest[]) =>
  asks.map(({ events }) => events.map(({ transactionId }) => transactionId).join(' '));

async function used({ subscriptionId, meterId }: World): Promise<bigint> {
  const row = await app.owner
    .selectFrom('ledgerAccounts')
    .select('used')
    .where('subscriptionId', '=', subscriptionId)
    .where('usageMeterId', '=', meterId)
    .executeTakeFirst();
  return row?.used ?? 0n;
}

/** How often usage was booked for the pricing model. */
async function bookings({ pricingModelId }: World): Promise<number> {
  const rows = await app.owner
    .selectFrom('ledgerTransactions')
    .select('id')
    .where('pricingModelId', '=', pricingModelId)
    .where('type', '=', 'usage_event_processed')
    .execute();
  return rows.length;
}

test('100 single events over HTTP at once take few transactions, and each caller is answered with its own', async () => {
  const world = await insertFixture(app);
  const events = Array.from({ length: 100 }, () => event(world));
  const answers = await Promise.all(events.map((usageEvent) => app.post('/usage-events', { usageEvent })));
  assert.deepEqual(
    answers.map(({ usageEvent }) => usageEvent.transactionId),
    events.map(({ transactionId }) => transactionId),
  );
  assert.equal(await used(world), 100n);
  assert((await bookings(world)) < 100);
});

test('who comes while nothing is under way is served with whoever came at the same time, in one transaction', async () => {
  const world = await insertFixture(app);
  const asks = Array.from({ length: 100 }, () => ask(event(world), event(world)));
  assert.deepEqual(idsOf(await submitAll(recording, asks)), sent(asks));
  assert.equal(await used(world), 200n);
  assert.equal(await bookings(world), 1);
});

test('a group holds about as much as one transaction takes, and an ask that is larger is alone', async () => {
  const groups: number[][] = [];
  const weighed: BatchedOperation<number, number> = {
    name: 'weighed',
    answer: async (_work, asks) => {
      groups.push([...asks]);
      return asks;
    },
    weigh: (each) => each,
    maxBatchWeight: 10,
    maxQueuedWeight: 1000,
    createCache,
  };
  const asks = [4, 4, 4, 50, 1, 10, 9, 1];
  assert.deepEqual(await submitAll(weighed, asks), asks);
  // Two at a time, so either may be the first to have entered its environment.
  const inOrder = (all: readonly number[][]) => all.map(String).sort();
  assert.deepEqual(inOrder(groups), inOrder([[4, 4], [4], [50], [1], [10], [9, 1]]));
});

test('a bad event is refused alone, and those of the others are stored', async () => {
  const world = await insertFixture(app);
  const asks = Array.from({ length: 20 }, () => ask(event(world)));
  const wrong = [
    ask(event(world, { priceSlug: 'unknown' })),
    ask(event(world), event(world, { subscriptionId: 'sub_unknown' })),
    ask(event(world, { priceSlug: 'user-overage' })),
  ];
  const [price, subscription, properties] = wrong;
  assert(price && subscription && properties);
  asks.splice(15, 0, properties);
  asks.splice(7, 0, subscription);
  asks.unshift(price);
  const expected = sent(asks);
  expected[asks.indexOf(price)] = 'priceNotFound';
  expected[asks.indexOf(subscription)] = 'subscriptionNotFound';
  expected[asks.indexOf(properties)] = 'invalidRequest';
  assert.deepEqual(idsOf(await submitAll(recording, asks)), expected);
  assert.equal(await used(world), 20n, 'nothing of what a refused caller sent is stored');
  assert.equal(await bookings(world), 1);
});

/** Another subscription of the same customer. */
async function insertNeighbour(world: World): Promise<World> {
  const first = await app.owner
    .selectFrom('subscriptions')
    .selectAll()
    .where('id', '=', world.subscriptionId)
    .executeTakeFirstOrThrow();
  const noPeriod = { currentBillingPeriodStart: null, currentBillingPeriodEnd: null };
  const neighbour = {
    ...first,
    ...noPeriod,
    id: anyId('subscription'),
    exclusive: false,
    billingAnchor: JSON.stringify('anniversary'),
  };
  await app.owner.insertInto('subscriptions').values(neighbour).execute();
  return { ...world, subscriptionId: neighbour.id };
}

test('a transaction that another subscription has is refused alone, and those of the others are stored once', async () => {
  const world = await insertFixture(app);
  const neighbour = await insertNeighbour(world);
  const taken = event(world, { transactionId: 'taken before' });
  await submitAll(recording, [ask(taken)]);
  const inGroup = event(world, { transactionId: 'taken in the group' });
  const asks = [
    ask(event(neighbour)),
    ask(event(neighbour), { ...taken, subscriptionId: neighbour.subscriptionId }),
    ask(inGroup),
    ask({ ...inGroup, subscriptionId: neighbour.subscriptionId }, event(neighbour)),
    ask(event(world)),
    ask(taken),
  ];
  const expected = sent(asks);
  expected[1] = 'transactionIdTaken';
  expected[3] = 'transactionIdTaken';
  assert.deepEqual(idsOf(await submitAll(recording, asks)), expected);
  assert.deepEqual([await used(world), await used(neighbour)], [3n, 1n]);
});

test('what a refused caller sent is free for who comes after it in the same group', async () => {
  const world = await insertFixture(app);
  const neighbour = await insertNeighbour(world);
  const taken = event(world, { transactionId: 'taken long ago' });
  await submitAll(recording, [ask(taken)]);
  const wanted = event(neighbour, { transactionId: 'wanted by both' });
  const asks = [
    ask(wanted, { ...taken, subscriptionId: neighbour.subscriptionId }),
    ask({ ...wanted, subscriptionId: world.subscriptionId }),
  ];
  assert.deepEqual(idsOf(await submitAll(recording, asks)), ['transactionIdTaken', 'wanted by both']);
  assert.deepEqual([await used(world), await used(neighbour)], [2n, 0n]);
});

/** Answers each number divided by itself, by the database; of 0 it cannot, and no more of those that come with it. */
const divided = (calls: number[][]): BatchedOperation<number, number> => ({
  name: 'divided',
  async answer(work: Work, asks) {
    calls.push([...asks]);
    const { rows } = await sql<{ one: number }>`
      select (n / n)::integer as one from unnest(${asks}::integer[]) as n`.execute(work.db);
    return rows.map(({ one }) => one);
  },
  weigh: () => 1,
  maxBatchWeight: 100,
  maxQueuedWeight: 1000,
  createCache,
});

test('whose fault a failure is shows when each half is tried by itself; the others are answered', async () => {
  const calls: number[][] = [];
  const operation = divided(calls);
  const answers = await Promise.allSettled([1, 2, 3, 0, 5].map((each) => batcher.submit(operation, ours, each)));
  assert.deepEqual(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.code)),
    [1, 1, 1, '22012', 1],
  );
  assert.deepEqual(calls, [[1, 2, 3, 0, 5], [1, 2, 3], [0, 5], [0], [5]]);
});

test('work that finds itself out of date begins anew, with the same asks', async () => {
  let runs = 0;
  const outdated: BatchedOperation<number, number> = {
    ...divided([]),
    name: 'outdated',
    async answer(_work, asks) {
      runs += 1;
      if (runs === 1) throw new RunAgain();
      return asks;
    },
  };
  assert.deepEqual(await submitAll(outdated, [1, 2]), [1, 2]);
  assert.equal(runs, 2);
});

test('who is refused after all leaves nothing, and the others begin anew without', async () => {
  const calls: number[][] = [];
  const strict: BatchedOperation<number, number> = {
    ...divided([]),
    name: 'strict',
    async answer(_work, asks) {
      calls.push([...asks]);
      const refused = asks.flatMap((each, index) =>
        each < 0 ? [[index, new Problem('conflictingRow')] as const] : [],
      );
      if (refused.length > 0) throw new PartialRejection(new Map(refused));
      return asks;
    },
  };
  assert.deepEqual(await submitAll(strict, [1, -1, 2, -2]), [1, 'conflictingRow', 2, 'conflictingRow']);
  assert.deepEqual(calls, [
    [1, -1, 2, -2],
    [1, 2],
  ]);
});

test('a revoked key is refused, and who comes with another one at the same time is answered', async () => {
  const world = await insertFixture(app);
  const scope = { environmentId: app.testEnvironmentId, livemode: false, name: 'to be revoked', pricingModelId: null };
  const { token: key, id } = await createApiKey(app.owner, scope, Date.now());
  const single = (token: string) => app.request('POST', '/usage-events', { usageEvent: event(world) }, { key: token });
  assert.equal((await single(key)).status, 200);
  await revokeApiKey(app.owner, id, Date.now());
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => single(index % 2 ? key : app.testKey)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    Array.from({ length: 20 }, (_, index) => (index % 2 ? 401 : 200)),
  );
  assert.equal(answers[1]?.body.code, 'UNAUTHORIZED');
  assert.equal(await used(world), 11n);
});

test('a key sees and writes its own environment only, also when others wait at the same time', async () => {
  const world = await insertFixture(app);
  const other = await app.newOrganization();
  const asks = [ask(event(world)), ask(event(world))];
  const answers = await Promise.all([
    submitAll(recording, asks),
    submitAll(recording, asks, entryOf(other.testKey)),
    submitAll(recording, asks, entryOf(app.liveKey)),
  ]);
  const refused = ['subscriptionNotFound', 'subscriptionNotFound'];
  assert.deepEqual(answers.map(idsOf), [sent(asks), refused, refused]);
});

test('when as much waits as may wait, who comes is answered 429 and when to come again, and the others in their turn', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const slow: BatchedOperation<number, number> = {
    name: 'slow',
    async answer(_work, asks) {
      await opened;
      return asks;
    },
    weigh: () => 1,
    maxBatchWeight: 1,
    maxQueuedWeight: 1,
    createCache,
  };
  const route = batchedRoute({
    method: 'POST',
    cell: 'customer',
    path: '/numbers',
    needs: null,
    summary: 'Answer a number',
    description: 'Returns the number that was sent.',
    tag: 'Numbers',
    body: z.object({ number: z.number() }),
    returns: z.object({ number: z.number() }),
    refuses: ['tooBusy'],
    operation: slow,
    request: ({ body }) => body.number,
    answer: (number) => ({ number }),
  });
  const keyUse = startKeyUse(database);
  const server = createHttp({
    database,
    tasks,
    services,
    keyUse,
    routes: [route],
    hooks: [],
    log: createLog('silent').log,
  });
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  // One is being answered and one may wait for that, so of five at once some are too many; these let the others go on.
  const answers = await Promise.all(
    [1, 2, 3, 4, 5].map(async (number) => {
      const answer = await send(address, 'POST', '/numbers', { number }, { key: app.testKey });
      if (answer.status === 429) open();
      return { number, ...answer };
    }),
  );
  await server.close();
  await keyUse.stop();
  const refused = answers.filter(({ status }) => status === 429);
  const answered = answers.filter(({ status }) => status === 200);
  assert(refused.length >= 1 && answered.length >= 1);
  assert.equal(refused.length + answered.length, 5);
  for (const { number, body } of answered) assert.deepEqual(body, { number });
  for (const { headers, body } of refused) {
    assert.equal(headers.get('retry-after'), '1');
    assert.equal(body.code, 'TOO_MANY_REQUESTS');
  }
});

test('after all of it, each account is the sum of its entries, and of its events', async () => {
  assert.deepEqual(unexpected, []);
  await assertLedgerAddsUp(app);
  await assertEventsAddUp(app);
});

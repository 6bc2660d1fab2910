import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CamelCasePlugin, Kysely, PostgresDialect, sql } from 'kysely';
import { catchUpAll } from '../../src/billing/catch-up.ts';
import { hashApiKey } from '../../src/database/api-key.ts';
import { createPool } from '../../src/database/database.ts';
import type { DB } from '../../src/database/database-types.ts';
import { runInEnvironment, type Work } from '../../src/database/work.ts';
import { answerAlone } from '../../src/jobs/batcher.ts';
import { Problem } from '../../src/kernel/problem.ts';
import { lockSubscription, saveSubscription } from '../../src/subscriptions/store.ts';
import { consumeUsage } from '../../src/usage/actions-consume.ts';
import { claimOverage, grantCredits } from '../../src/usage/actions-ledger.ts';
import { recordUsage } from '../../src/usage/actions-record.ts';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { assertEventsAddUp, assertLedgerAddsUp } from '../support/ledger-invariants.ts';
import { until, untilWaiting } from '../support/race.ts';

const app = await startTestApp();

const recording = recordUsage(catchUpAll);
const consuming = consumeUsage(catchUpAll);
const pathOf = (index: number) => ['usageEvents', index];

type World = Awaited<ReturnType<typeof insertFixture>>;

let count = 0;
function event({ subscriptionId }: World, change: object = {}) {
  count += 1;
  return { subscriptionId, transactionId: `transaction ${count}`, amount: 1, priceSlug: 'call-overage', ...change };
}

const bulk = (usageEvents: unknown): Promise<Answer> => app.request('POST', '/usage-events/bulk', { usageEvents });

function account(world: World, usageMeterId = world.meterId) {
  return app.owner
    .selectFrom('ledgerAccounts')
    .select(['granted', 'used', 'covered', 'available'])
    .where('subscriptionId', '=', world.subscriptionId)
    .where('usageMeterId', '=', usageMeterId)
    .executeTakeFirstOrThrow();
}

/** Grants `amount` in `parts` credits. */
function grant(world: World, amount: bigint, parts = 1) {
  const { subscriptionId, pricingModelId, meterId: usageMeterId } = world;
  const rest = { featureId: null, billingPeriodId: null, expiresAt: null, source: 'manual_adjustment' as const };
  const grants = Array.from({ length: parts }, () => {
    return {
      subscriptionId,
      pricingModelId,
      usageMeterId,
      ...rest,
      amount: amount / BigInt(parts),
      sourceId: anyId('event'),
    };
  });
  return app.inEnvironment((work) => grantCredits(work, grants));
}

const statusesOf = (answers: readonly Answer[]) => [...new Set(answers.map(({ status }) => status))];

test('200 equal events at once are one event, answered 200 times', async () => {
  const world = await insertFixture(app);
  const usageEvent = event(world, { amount: 3 });
  const sends = Array.from({ length: 200 }, () => app.request('POST', '/usage-events', { usageEvent }));
  const answers = await Promise.all(sends);
  assert.deepEqual(statusesOf(answers), [200]);
  assert.equal(new Set(answers.map(({ body }) => JSON.stringify(body))).size, 1);
  assert.equal((await account(world)).used, 3n);
});

test('batches of the same events in opposite order, at once, store each event once', async () => {
  const world = await insertFixture(app);
  const sent = Array.from({ length: 100 }, () => event(world));
  const orders = Array.from({ length: 16 }, (_, index) => (index % 2 === 0 ? sent : [...sent].reverse()));
  const answers = await Promise.all(orders.map(bulk));
  assert.deepEqual(statusesOf(answers), [200]);
  const ids = answers.map(({ body }) =>
    body.usageEvents
      .map((each: Body) => each.id)
      .sort()
      .join(),
  );
  assert.equal(new Set(ids).size, 1);
  assert.equal((await account(world)).used, 100n);
});

test('batches that overlap, on many subscriptions at once, count every event once and no credit twice', async () => {
  const worlds = await Promise.all(Array.from({ length: 6 }, () => insertFixture(app)));
  await Promise.all(worlds.map((world) => grant(world, 60n, 7)));
  const events = worlds.flatMap((world) => Array.from({ length: 20 }, () => event(world)));
  const batches = Array.from({ length: 24 }, (_, index) => {
    const turned = [...events.slice(index * 5), ...events.slice(0, index * 5)];
    return index % 2 === 0 ? turned : turned.reverse();
  });
  assert.deepEqual(statusesOf(await Promise.all(batches.map(bulk))), [200]);
  for (const world of worlds) {
    // Seven credits of 8 units are 56.
    assert.deepEqual(await account(world), { granted: 56n, used: 20n, covered: 20n, available: 36n });
  }
});

test('batches of their own events on the same accounts in opposite order, at once, all count', async () => {
  const worlds = await Promise.all(Array.from({ length: 8 }, () => insertFixture(app)));
  const batches = Array.from({ length: 60 }, (_, index) => {
    const batch = worlds.map((world) => event(world));
    return index % 2 === 0 ? batch : batch.reverse();
  });
  assert.deepEqual(statusesOf(await Promise.all(batches.map(bulk))), [200]);
  for (const world of worlds) assert.equal((await account(world)).used, 60n);
});

test('a batch does not wait for an account while it holds a later one', async () => {
  const worlds = await Promise.all([insertFixture(app), insertFixture(app)]);
  const [one, two] = worlds.sort((a, b) => (a.subscriptionId < b.subscriptionId ? -1 : 1));
  assert(one && two);
  const ofOne = app.owner.selectFrom('prices').selectAll().where('usageMeterId', '=', one.meterId);
  const second = {
    ...(await ofOne.executeTakeFirstOrThrow()),
    id: anyId('price'),
    slug: 'call-second',
    isDefault: false,
  };
  await app.owner.insertInto('prices').values(second).execute();
  const lock = ({ subscriptionId }: World) =>
    sql`select from ledger_accounts where subscription_id = ${subscriptionId} for no key update nowait`;
  const isFree = (world: World) =>
    app.owner
      .transaction()
      .execute((db) => lock(world).execute(db))
      .then(
        () => true,
        () => false,
      );
  const meetAt = async (batch: () => Promise<Answer>) => {
    const holder = await app.owner.startTransaction().execute();
    await lock(one).execute(holder);
    const waiting = batch();
    try {
      await untilWaiting(app);
      await until(() => isFree(two), 'the later account');
    } finally {
      await holder.rollback().execute();
    }
    assert.equal((await waiting).status, 200);
  };
  const byTwoPrices = () => bulk([event(two), event(one), event(one, { priceSlug: 'call-second' })]);
  assert.equal((await byTwoPrices()).status, 200);
  await meetAt(byTwoPrices);
  // The first use of a credit is not as usual.
  await grant(one, 100n);
  await meetAt(() => bulk([event(one), event(two)]));
});

test('100 uses of 3 at once against credits of 100 use each credit once: 100 are covered, 200 are owed', async () => {
  const world = await insertFixture(app);
  await grant(world, 100n, 10);
  await Promise.all(Array.from({ length: 100 }, () => bulk([event(world, { amount: 3 })])));
  assert.deepEqual(await account(world), { granted: 100n, used: 300n, covered: 100n, available: -200n });
});

test('equal properties at once, in opposite order, count once', async () => {
  const world = await insertFixture(app);
  for (let round = 0; round < 8; round++) {
    const batches = Array.from({ length: 4 }, (_, index) => {
      const users = Array.from({ length: 200 }, (_, user) => {
        return event(world, { priceSlug: 'user-overage', properties: { round, user }, amount: 5 });
      });
      return index % 2 === 0 ? users : users.reverse();
    });
    assert.deepEqual(statusesOf(await Promise.all(batches.map(bulk))), [200]);
    assert.equal((await account(world, world.distinctMeterId)).used, BigInt(round + 1) * 1000n);
  }
});

test('usage and claims at once: each unit is claimed once', async () => {
  const world = await insertFixture(app);
  const claims = Array.from({ length: 20 }, () =>
    app.inEnvironment((work) => claimOverage(work, [{ subscriptionId: world.subscriptionId, periodStart: 0 }])),
  );
  const uses = Array.from({ length: 40 }, () => bulk([event(world, { amount: 2 })]));
  const [claimed] = await Promise.all([Promise.all(claims), Promise.all(uses)]);
  const rest = await app.inEnvironment((work) =>
    claimOverage(work, [{ subscriptionId: world.subscriptionId, periodStart: 0 }]),
  );
  const units = [...claimed.flat(), ...rest].reduce((sum, each) => sum + each.units, 0n);
  assert.equal(units, 80n);
});

test('usage that is under way when a subscription ends is on its last bill, and later usage is refused', async () => {
  for (let round = 0; round < 5; round++) {
    const world = await insertFixture(app);
    // In every other round it is remembered, and not held by what uses it.
    const before = round % 2 === 0 ? [] : [await bulk([event(world)]), await bulk([event(world)])];
    const uses = Array.from({ length: 12 }, () => bulk([event(world)]));
    const end = app.inEnvironment(async (work) => {
      await lockSubscription(work, world.subscriptionId);
      await saveSubscription(work, world.subscriptionId, { status: 'canceled', canceledAt: work.now });
      return claimOverage(work, [{ subscriptionId: world.subscriptionId, periodStart: 0 }]);
    });
    const answers = await Promise.all(uses);
    const accepted = answers.filter(({ status }) => status === 200).length;
    const billed = (await end).reduce((sum, each) => sum + each.units, 0n);
    assert.equal(billed, BigInt(accepted + before.length));
    assert(answers.every(({ status }) => status === 200 || status === 400));
  }
});

test('usage of a customer that is under way when its plan is replaced is on the last bill of the old one, or on the new one', async () => {
  for (let round = 0; round < 4; round++) {
    const world = await insertFixture(app);
    const { subscriptionId: first, customerId } = world;
    await app.owner.updateTable('subscriptions').set({ exclusive: false }).where('id', '=', first).execute();
    const next = { ...(await rowOf(first)), id: anyId('subscription'), billingAnchor: JSON.stringify('anniversary') };
    const use = () => bulk([event(world, { subscriptionId: undefined, customerId })]);
    // In every other round the customer is cached.
    const before = round % 2 === 0 ? [] : [await use(), await use()];
    const uses = Array.from({ length: 12 }, use);
    const end = app.inEnvironment(async (work) => {
      await lockSubscription(work, first);
      await saveSubscription(work, first, { status: 'canceled', canceledAt: work.now });
      await work.db.insertInto('subscriptions').values(next).execute();
      return claimOverage(work, [{ subscriptionId: first, periodStart: 0 }]);
    });
    const answers = [...before, ...(await Promise.all(uses)), await use()];
    assert.deepEqual(statusesOf(answers), [200]);
    const billed = (await end).reduce((sum, each) => sum + each.units, 0n);
    const users = answers.map(({ body }) => body.usageEvents[0].subscriptionId);
    assert.equal(BigInt(users.filter((id) => id === first).length), billed);
    assert.equal(users.at(-1), next.id);
  }
});

function rowOf(subscriptionId: string) {
  return app.owner.selectFrom('subscriptions').selectAll().where('id', '=', subscriptionId).executeTakeFirstOrThrow();
}

test('usage of customers whose subscriptions are cached is one statement, unless they have changed', async () => {
  const worlds = [await insertFixture(app), await insertFixture(app)];
  const cache = recording.createCache();
  const entry = { apiKeyHash: hashApiKey(app.testKey), sufficient: null };
  const requests = () =>
    worlds.map((world) => {
      const { customerId } = world;
      return { kind: 'record' as const, events: [event(world, { subscriptionId: undefined, customerId })], pathOf };
    });
  const atOnce = () => recording.answerAtOnce?.({ database: app.database, entry, requests: requests(), cache });
  const inTransaction = () => app.inEnvironment((work) => recording.answer(work, requests(), cache));
  assert.equal(await atOnce(), null);
  await inTransaction();
  // The series that were opened are read again.
  await inTransaction();
  assert.equal((await atOnce())?.length, 2);
  const [{ subscriptionId } = { subscriptionId: '' }] = worlds;
  await app.owner.updateTable('subscriptions').set({ exclusive: false }).where('id', '=', subscriptionId).execute();
  const second = {
    ...(await rowOf(subscriptionId)),
    id: anyId('subscription'),
    billingAnchor: JSON.stringify('anniversary'),
  };
  await app.owner.insertInto('subscriptions').values(second).execute();
  assert.equal(await atOnce(), null);
  const [refused] = await inTransaction();
  assert(refused instanceof Problem && refused.problem === 'severalCurrentSubscriptions');
});

test('consumption that the balance covers is one statement, and tells each request what it left', async () => {
  const world = await insertFixture(app);
  await grant(world, 20n, 2);
  const cache = consuming.createCache();
  const entry = { apiKeyHash: hashApiKey(app.testKey), sufficient: null };
  const requests = (amounts: readonly number[]) =>
    amounts.map((amount) => ({ kind: 'consume' as const, events: [event(world, { amount })], pathOf }));
  const atOnce = (amounts: readonly number[]) =>
    consuming.answerAtOnce?.({ database: app.database, entry, requests: requests(amounts), cache });
  const inTransaction = (amounts: readonly number[]) =>
    app.inEnvironment((work) => consuming.answer(work, requests(amounts), cache));
  const leftBy = (answers: Awaited<ReturnType<typeof inTransaction>> | null | undefined) =>
    answers?.map((answer) => (answer instanceof Problem ? answer.problem : answer.balances[0]?.availableBalance));
  const cacheSeries = () => inTransaction([1]);
  await cacheSeries();
  await cacheSeries();
  // Of 20 credits 18 are left, the first 8 of one grant.
  assert.deepEqual(leftBy(await atOnce([3, 4])), [15n, 11n]);
  assert.deepEqual(leftBy(await atOnce([2, 5])), [9n, 4n]);
  // 3 of 4 and then 2 of 1: a transaction decides each.
  assert.equal(await atOnce([3, 2]), null);
  assert.deepEqual(leftBy(await inTransaction([3, 2])), [1n, 'insufficientBalance']);
  assert.deepEqual(leftBy(await atOnce([1])), [0n]);
  assert.equal(await atOnce([1]), null);
  // A refusal leaves the cache as it was, so new credits need no transaction.
  await grant(world, 5n);
  assert.deepEqual(leftBy(await atOnce([1])), [4n]);
});

/** A connection that notes the statements sent over it, and how many `act` sends in a unit of work. */
function countingDatabase() {
  let statements: string[] = [];
  const database = new Kysely<DB>({
    dialect: new PostgresDialect({
      pool: createPool({ schema: app.cell.name, url: app.databaseUrl, size: 1, as: 'service' }),
    }),
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
    log: ({ query }) => {
      statements.push(query.sql);
    },
  });
  const count = async (act: (work: Work) => Promise<unknown>): Promise<number> => {
    statements = [];
    await runInEnvironment(database, { environmentId: app.testEnvironmentId }, act);
    // Without begin, commit and the one that enters the environment.
    return statements.length - 3;
  };
  return { count, close: () => database.destroy() };
}

test('a request takes as many statements for a thousand events as for two', async () => {
  const world = await insertFixture(app);
  await grant(world, 500n, 5);
  const { count: statements, close } = countingDatabase();
  const record = (events: number, repeats = [event(world, { transactionId: 'each time' })]) => {
    const mixed = Array.from({ length: events }, (_, index) =>
      index % 2 === 0 ? event(world) : event(world, { priceSlug: 'user-overage', properties: { count } }),
    );
    const given = [...mixed, ...repeats];
    return statements((work) => answerAlone(recording, work, { kind: 'record', events: given, pathOf }));
  };
  await record(2);
  const known = await record(2);
  assert.equal(await record(1000), known);
  await close();
});

test('a batch takes as many statements for a hundred requests with their own subscriptions as for one', async () => {
  const worlds = await Promise.all(Array.from({ length: 100 }, () => insertFixture(app)));
  const { count: statements, close } = countingDatabase();
  await Promise.all(worlds.map((world) => grant(world, 1000n)));
  const [one, ...others] = worlds;
  assert(one);
  for (const [kind, operation] of [['record', recording] as const, ['consume', consuming] as const]) {
    const cache = operation.createCache();
    const batch = (requested: readonly World[]) =>
      statements((work) =>
        operation.answer(
          work,
          requested.map((world) => ({ kind, events: [event(world)], pathOf })),
          cache,
        ),
      );
    const opening = await batch([one]);
    assert.equal(await batch(others), opening, kind);
    await batch(worlds);
    // Open series are not read again.
    const known = await batch(worlds);
    assert(known < opening, kind);
    assert.equal(await batch([one]), known, kind);
  }
  await close();
});

test('after all of it, each account is the sum of its entries, and of its events', async () => {
  await assertLedgerAddsUp(app);
  await assertEventsAddUp(app);
});

test('nothing of it was a deadlock: accounts and events are always taken in one order', async () => {
  const { rows } = await sql`select deadlocks from pg_stat_database where datname = current_database()`.execute(
    app.owner,
  );
  assert.deepEqual(rows, [{ deadlocks: 0 }]);
});

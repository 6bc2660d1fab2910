import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { catchUpAll } from '../../src/billing/catch-up.ts';
import { newId } from '../../src/database/new-id.ts';
import { sentWithCommit } from '../../src/database/work.ts';
import { lockSubscription, saveSubscription } from '../../src/subscriptions/store.ts';
import { claimOverage, grantCredits } from '../../src/usage/actions-ledger.ts';
import { usageTogether } from '../../src/usage/actions-record.ts';
import { lockAccountsForUsage, usageInsertion } from '../../src/usage/store-usage.ts';
import { coverUsages } from '../../src/usage/usage-booking.ts';
import type { NewUsageEvent } from '../../src/usage/usage-event.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';
import { assertLedgerAddsUp } from '../support/ledger-invariants.ts';
import { meet } from '../support/race.ts';
import { countStatements } from '../support/statements.ts';

/*
 * A process remembers the subscriptions and accounts that it booked usage on, and books on them without asking for them
 * again. Whatever changed them since, without this process remembering it, must have the same effect as if it had asked.
 */

const app = await startTestApp();
const usage = usageTogether(catchUpAll);

type World = Awaited<ReturnType<typeof insertFixture>>;

let count = 0;
function event({ subscriptionId }: World, change: Partial<NewUsageEvent> = {}): NewUsageEvent {
  count += 1;
  return { subscriptionId, transactionId: `transaction ${count}`, amount: 1, priceSlug: 'call-overage', ...change };
}

/** Records events as those of one group, each of its own caller. Answers how many statements each attempt took. */
async function record(events: readonly NewUsageEvent[]) {
  const asks = events.map((each) => ({ kind: 'record' as const, events: [each], pathOf: () => ['usageEvent'] }));
  const attempts: number[] = [];
  const answers = await app.inEnvironment(async (work) => {
    attempts.push(0);
    const { answer, count: statements } = await countStatements(work, (counted) => usage.answer(counted, asks));
    attempts[attempts.length - 1] = statements;
    return answer;
  });
  return { answers, attempts };
}

// The events and the bookings, both on their way at once.
const fromMemory = 2;

/** Records events until the accounts of these worlds are remembered. */
async function makeKnown(...worlds: World[]): Promise<void> {
  for (let round = 0; round < 2; round++) await record(worlds.map((world) => event(world)));
  const { attempts } = await record(worlds.map((world) => event(world)));
  assert.deepEqual(attempts, [fromMemory]);
}

function sidesOf(world: World) {
  return app.owner
    .selectFrom('ledgerAccounts')
    .select(['granted', 'used', 'covered', 'available'])
    .where('subscriptionId', '=', world.subscriptionId)
    .where('usageMeterId', '=', world.meterId)
    .executeTakeFirstOrThrow();
}

/** Grants credits, of which nothing is remembered. */
function grant({ subscriptionId, pricingModelId, meterId }: World, amount: bigint) {
  const rest = { featureId: null, billingPeriodId: null, expiresAt: null, source: 'manual_adjustment' as const };
  const key = { subscriptionId, pricingModelId, usageMeterId: meterId };
  return app.inEnvironment((work) => grantCredits(work, [{ ...key, ...rest, amount, sourceId: newId('event') }]));
}

/** Books usage of this many units as another process does: what this one remembers stays as it was. */
function useElsewhere({ subscriptionId, meterId, usagePriceId: priceId, billingPeriodId }: World, units: bigint) {
  return app.inEnvironment(async (work) => {
    const { id: ledgerAccountId } = await work.db
      .selectFrom('ledgerAccounts')
      .select('id')
      .where('subscriptionId', '=', subscriptionId)
      .where('usageMeterId', '=', meterId)
      .executeTakeFirstOrThrow();
    const accounts = await lockAccountsForUsage(work, [ledgerAccountId]);
    const covered = coverUsages(accounts, [{ ledgerAccountId, priceId, billingPeriodId, units }], {
      now: work.now,
      open: new Map(),
    });
    sentWithCommit(work, usageInsertion(work, newId('event'), covered));
  });
}

test('what is remembered is not asked for again, and books what was asked for', async () => {
  const worlds = await Promise.all(Array.from({ length: 3 }, () => insertFixture(app)));
  await Promise.all(worlds.map((world) => grant(world, 10n)));
  await makeKnown(...worlds);
  const { answers, attempts } = await record(worlds.map((world) => event(world, { amount: 9 })));
  assert.deepEqual(attempts, [fromMemory]);
  assert.deepEqual(
    answers.map((answer) => ('events' in answer ? answer.events[0]?.amount : answer)),
    [9, 9, 9],
  );
  // Three before, of 10 granted: 7 of the 9 are covered.
  for (const world of worlds)
    assert.deepEqual(await sidesOf(world), { granted: 10n, used: 12n, covered: 10n, available: -2n });
});

test('credits that were granted elsewhere pay for what comes next', async () => {
  const [one, other] = [await insertFixture(app), await insertFixture(app)];
  await makeKnown(one, other);
  await grant(one, 100n);
  const { attempts } = await record([event(one), event(other)]);
  assert.equal(attempts.length, 2);
  assert.deepEqual(await sidesOf(one), { granted: 100n, used: 4n, covered: 1n, available: 96n });
  assert.deepEqual(await sidesOf(other), { granted: 0n, used: 4n, covered: 0n, available: -4n });
});

test('credits that were used elsewhere do not pay twice', async () => {
  const world = await insertFixture(app);
  await grant(world, 10n);
  await makeKnown(world);
  await useElsewhere(world, 7n);
  // What is remembered would have the credit pay for 5 of which it has none left.
  const { attempts } = await record([event(world, { amount: 5 })]);
  assert.equal(attempts.length, 2);
  assert.deepEqual(await sidesOf(world), { granted: 10n, used: 15n, covered: 10n, available: -5n });
});

test('an account that changes elsewhere again and again is asked for each time, for a while', async () => {
  const world = await insertFixture(app);
  await grant(world, 1000n);
  await makeKnown(world);
  const attempts: number[] = [];
  for (let round = 0; round < 4; round++) {
    await useElsewhere(world, 1n);
    attempts.push((await record([event(world)])).attempts.length);
  }
  assert.deepEqual(attempts, [2, 2, 1, 1]);
  assert.deepEqual(await sidesOf(world), { granted: 1000n, used: 11n, covered: 11n, available: 989n });
});

test('a hold that was made elsewhere is not forgotten', async () => {
  const world = await insertFixture(app);
  await grant(world, 10n);
  await makeKnown(world);
  const { subscriptionId, meterId: meter } = world;
  const hold = { subscriptionId, meter, amount: 6, expiresAt: Date.now() + 60_000 };
  const held = await app.request('POST', '/holds', { hold });
  assert.equal(held.status, 200);
  const { attempts } = await record([event(world)]);
  assert.equal(attempts.length, 2);
  // 10 granted, four used, six held.
  const { body } = await app.request('POST', '/usage-events/consume', { usageEvent: event(world) });
  assert.equal(body.usageBalance.availableBalance, 0);
});

test('a subscription that ended elsewhere is refused', async () => {
  const [world, other] = [await insertFixture(app), await insertFixture(app)];
  await makeKnown(world, other);
  await app.inEnvironment(async (work) => {
    await lockSubscription(work, world.subscriptionId);
    await saveSubscription(work, world.subscriptionId, { status: 'canceled', canceledAt: work.now });
  });
  const { answers, attempts } = await record([event(world), event(other)]);
  assert.equal(attempts.length, 2);
  assert.deepEqual(
    answers.map((answer) => ('problem' in answer ? answer.problem : 'recorded')),
    ['subscriptionTerminal', 'recorded'],
  );
});

test('a customer that was archived elsewhere is refused', async () => {
  const world = await insertFixture(app);
  await makeKnown(world);
  const archived = await app.request('POST', `/customers/acme/archive?pricingModelId=${world.pricingModelId}`);
  assert.equal(archived.status, 200);
  const { answers } = await record([event(world)]);
  assert.deepEqual(
    answers.map((answer) => ('problem' in answer ? answer.problem : 'recorded')),
    ['customerArchived'],
  );
});

test('a price that was put away elsewhere is not found, and counts elsewhere', async () => {
  const world = await insertFixture(app);
  await makeKnown(world);
  await app.owner.updateTable('prices').set({ active: false }).where('id', '=', world.usagePriceId).execute();
  const { answers, attempts } = await record([
    event(world),
    event(world, { priceId: world.usagePriceId, priceSlug: undefined }),
  ]);
  assert.equal(attempts.length, 2);
  assert.deepEqual(
    answers.map((answer) => ('problem' in answer ? answer.problem : 'recorded')),
    ['priceNotFound', 'recorded'],
  );
});

/** Ends a subscription, and answers the units of its last bill. */
function end({ subscriptionId }: World): Promise<bigint> {
  return app.inEnvironment(async (work) => {
    await lockSubscription(work, subscriptionId);
    await saveSubscription(work, subscriptionId, { status: 'canceled', canceledAt: work.now });
    const claimed = await claimOverage(work, [subscriptionId]);
    return claimed.reduce((sum, each) => sum + each.units, 0n);
  });
}

const use = async (world: World) => (await record([event(world)])).answers.map((answer) => 'problem' in answer);

test('who ends a subscription waits for usage from memory that is under way, and bills it', async () => {
  const world = await insertFixture(app);
  await makeKnown(world);
  const [refused, billed] = await meet<boolean[] | bigint, bigint>(
    app,
    { table: 'ledger_entries', on: 'insert' },
    () => use(world),
    () => end(world),
  );
  assert.deepEqual([refused, billed], [[false], 4n]);
});

test('usage from memory waits for who ends its subscription, and is refused', async () => {
  const world = await insertFixture(app);
  await makeKnown(world);
  const place = { table: 'usage_overages', on: 'update' } as const;
  const [billed, refused] = await meet<boolean[] | bigint, boolean[]>(
    app,
    place,
    () => end(world),
    () => use(world),
  );
  assert.deepEqual([billed, refused], [3n, [true]]);
});

test('usage here and elsewhere at once, on the same accounts: every unit counts once and no credit pays twice', async () => {
  const worlds = await Promise.all(Array.from({ length: 4 }, () => insertFixture(app)));
  await Promise.all(worlds.map((world) => grant(world, 100n)));
  await makeKnown(...worlds);
  const here = worlds.flatMap((world) => Array.from({ length: 40 }, () => event(world)));
  const sends = here.map((usageEvent) => app.request('POST', '/usage-events', { usageEvent }));
  const elsewhere = worlds.flatMap((world) => Array.from({ length: 10 }, () => useElsewhere(world, 2n)));
  const answers = await Promise.all(sends);
  await Promise.all(elsewhere);
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  // 3 + 40 + 20
  for (const world of worlds)
    assert.deepEqual(await sidesOf(world), { granted: 100n, used: 63n, covered: 63n, available: 37n });
});

test('groups that are made ready at the same time book one after the other', async () => {
  const world = await insertFixture(app);
  await grant(world, 100n);
  await makeKnown(world);
  const both = Promise.withResolvers<void>();
  let ready = 0;
  // Each goes by what is remembered before the other one has booked.
  const book = (amount: number) =>
    app.inEnvironment(async (work) => {
      ready += 1;
      if (ready === 2) both.resolve();
      await both.promise;
      return usage.answer(work, [{ kind: 'record', events: [event(world, { amount })], pathOf: () => ['usageEvent'] }]);
    });
  await Promise.all([book(5), book(7)]);
  // Three of one unit before.
  const account = await app.owner
    .selectFrom('ledgerAccounts')
    .select(['used', 'covered', 'applied', 'drawable', 'openUnits', 'openEvents'])
    .where('subscriptionId', '=', world.subscriptionId)
    .executeTakeFirstOrThrow();
  const expected = { used: 15n, covered: 15n, applied: 0n, drawable: 100n, openUnits: 15n, openEvents: 5 };
  assert.deepEqual(account, expected);
});

test('of two equal events in one group one counts', async () => {
  const world = await insertFixture(app);
  await makeKnown(world);
  const twice = event(world);
  const { answers } = await record([twice, twice]);
  assert.deepEqual(answers[0], answers[1]);
  assert.equal((await sidesOf(world)).used, 4n);
});

test('an event that is there already is answered as it was stored, and those beside it count', async () => {
  // After one that is told twice, as above, those who come next are looked at for a second.
  await setTimeout(1_100);
  const [one, other] = [await insertFixture(app), await insertFixture(app)];
  await makeKnown(one, other);
  const again = event(one, { amount: 5 });
  const [first] = (await record([again])).answers;
  const { answers, attempts } = await record([again, event(other)]);
  assert.equal(attempts.length, 2);
  assert.deepEqual(answers[0], first);
  assert.equal((await sidesOf(one)).used, 8n);
  assert.equal((await sidesOf(other)).used, 4n);
});

test('after all of it, each account is the sum of its entries', () => assertLedgerAddsUp(app));

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertEventsAddUp, assertLedgerAddsUp } from '../support/ledger-invariants.ts';

const app = await startTestApp();
const now = Date.parse('2026-04-10T12:00:00Z');
await app.setClock(now);
const world = await insertFixture(app, { now });
const { subscriptionId } = world;

let count = 0;
function event(change: object = {}) {
  count += 1;
  return { subscriptionId, transactionId: `transaction ${count}`, amount: 1, priceSlug: 'call-overage', ...change };
}

const bulk = (usageEvents: unknown) => app.request('POST', '/usage-events/bulk', { usageEvents });
const record = async (usageEvents: unknown): Promise<Body[]> =>
  (await app.post('/usage-events/bulk', { usageEvents })).usageEvents;

async function used(meterId = world.meterId, of = subscriptionId): Promise<bigint> {
  const row = await app.owner
    .selectFrom('ledgerAccounts')
    .select('used')
    .where('subscriptionId', '=', of)
    .where('usageMeterId', '=', meterId)
    .executeTakeFirst();
  return row?.used ?? 0n;
}

test('many events that are taken to be new are told apart all the same, where some are not', async () => {
  const before = await used();
  const sent = Array.from({ length: 600 }, () => event());
  const first = await record(sent);
  const more = Array.from({ length: 600 }, () => event());
  const answers = await record([...more.slice(0, 300), ...sent, ...more.slice(300)]);
  assert.deepEqual(answers.slice(300, 900), first);
  assert.equal(new Set(answers.map(({ id }) => id)).size, 1200);
  assert.equal(await used(), before + 1200n);
});

test('a repeat is answered with the stored event to the letter, whatever else it says, and counts once', async () => {
  const before = await used();
  const usageEvent = event({ amount: 5, properties: { z: 1, a: [{ y: 2, b: 3 }] } });
  const first = await app.post('/usage-events', { usageEvent });
  await app.setClock(now + 1000);
  const second = await app.post('/usage-events', { usageEvent });
  assert.equal(JSON.stringify(second), JSON.stringify(first));
  const changed = { ...usageEvent, amount: 99, usageDate: 1, properties: { other: true } };
  assert.deepEqual(await app.post('/usage-events', { usageEvent: changed }), first);
  assert.deepEqual(await record([changed]), [first.usageEvent]);
  assert.equal(await used(), before + 5n);
  await app.setClock(now);
});

test('a batch sent again answers what it answered first, and one that is partly new answers every event', async () => {
  const before = await used();
  const sent = [event({ amount: 1 }), event({ amount: 2 }), event({ amount: 4 })];
  const first = await record(sent);
  assert.deepEqual(await record(sent), first);
  const mixed = await record([event({ amount: 8 }), sent[2], event({ amount: 16 }), sent[0]]);
  assert.deepEqual([mixed[1], mixed[3]], [first[2], first[0]]);
  assert.deepEqual([mixed[0]?.amount, mixed[2]?.amount], [8, 16]);
  assert.equal(await used(), before + 31n);
});

test('inside one request the first of equal transactions wins, and each is answered with it', async () => {
  const before = await used();
  const transactionId = 'twice in one request';
  const answered = await record([
    event({ transactionId, amount: 3 }),
    event({ amount: 10 }),
    event({ transactionId, amount: 7 }),
  ]);
  assert.deepEqual(answered[2], answered[0]);
  assert.equal(answered[0]?.amount, 3);
  assert.equal(await used(), before + 13n);
});

test('one transaction on two meters is two events', async () => {
  const transactionId = 'two meters';
  const properties = { user: 'two meters' };
  const [call, user] = await record([
    event({ transactionId }),
    event({ transactionId, priceSlug: 'user-overage', properties }),
  ]);
  assert.notEqual(call?.id, user?.id);
  assert.deepEqual([call?.usageMeterId, user?.usageMeterId], [world.meterId, world.distinctMeterId]);
});

test("another subscription's transaction is refused with the index, and nothing of the request is stored", async () => {
  const first = await app.owner
    .selectFrom('subscriptions')
    .selectAll()
    .where('id', '=', subscriptionId)
    .executeTakeFirstOrThrow();
  const otherId = anyId('subscription');
  const other = {
    ...first,
    id: otherId,
    exclusive: false,
    billingAnchor: JSON.stringify('anniversary'),
    currentBillingPeriodStart: null,
    currentBillingPeriodEnd: null,
  };
  await app.owner.insertInto('subscriptions').values(other).execute();

  const taken = event({ transactionId: 'taken' });
  await record([taken]);
  const before = await used();
  const good = event();
  const answer = await bulk([good, { ...taken, subscriptionId: otherId }]);
  assert.deepEqual([answer.status, answer.body.code], [409, 'CONFLICT']);
  assert.deepEqual(answer.body.issues[0].path, ['usageEvents', 1, 'transactionId']);
  assert.equal(answer.headers.get('x-should-retry'), 'false');
  assert.equal(await used(), before);
  const single = await app.request('POST', '/usage-events', { usageEvent: { ...taken, subscriptionId: otherId } });
  assert.equal(single.status, 409);

  const inside = event({ transactionId: 'taken inside' });
  const within = await bulk([inside, { ...inside, subscriptionId: otherId }]);
  assert.deepEqual([within.status, within.body.issues[0].path[1]], [409, 1]);
  assert.equal(await used(), before);
});

/** An event of the meter that counts users. */
const seen = (user: unknown, change: object = {}) =>
  event({ priceSlug: 'user-overage', properties: { user }, ...change });

test('worked example D1: users 1, 2 and 1 again count 2, and the next period counts afresh', async () => {
  const own = await insertFixture(app, { now });
  const change = { subscriptionId: own.subscriptionId };
  const answered = await record([1, 2, 1].map((user) => seen(user, change)));
  assert.equal(new Set(answered.map(({ id }) => id)).size, 3, 'every event is stored');
  assert.equal(await used(own.distinctMeterId, own.subscriptionId), 2n);
  await record([2, 1].map((user) => seen(user, change)));
  assert.equal(await used(own.distinctMeterId, own.subscriptionId), 2n);

  const period = await app.owner
    .selectFrom('billingPeriods')
    .selectAll()
    .where('id', '=', own.billingPeriodId)
    .executeTakeFirstOrThrow();
  const next = { id: anyId('billingPeriod'), startAt: own.periodEnd, endAt: own.periodEnd + 1000 };
  await app.owner
    .insertInto('billingPeriods')
    .values({ ...period, ...next })
    .execute();
  await app.owner
    .updateTable('subscriptions')
    .set({ currentBillingPeriodStart: next.startAt, currentBillingPeriodEnd: next.endAt })
    .where('id', '=', own.subscriptionId)
    .execute();
  await app.setClock(next.startAt);
  const [again] = await record([seen(1, change)]);
  assert.equal(again?.billingPeriodId, next.id);
  assert.equal(await used(own.distinctMeterId, own.subscriptionId), 3n);
  await app.setClock(now);
});

test('the first event with its properties counts its amount; those after it count nothing', async () => {
  const before = await used(world.distinctMeterId);
  await record([seen('ann', { amount: 5 }), seen('ann', { amount: 100 }), seen('bob', { amount: 7 })]);
  assert.equal(await used(world.distinctMeterId), before + 12n);
});

test('the order of keys makes no difference, at any depth; the order of a list does', async () => {
  const before = await used(world.distinctMeterId);
  const variants = [
    { a: 1, b: { c: [1, 2], d: null } },
    { b: { d: null, c: [1, 2] }, a: 1 },
    { a: 1, b: { c: [2, 1], d: null } },
    { a: '1', b: { c: [1, 2], d: null } },
  ];
  await record(variants.map((properties) => event({ priceSlug: 'user-overage', properties })));
  assert.equal(await used(world.distinctMeterId), before + 3n);
});

test('properties count per subscription', async () => {
  const own = await insertFixture(app, { now });
  await record([seen('everywhere')]);
  await record([seen('everywhere', { subscriptionId: own.subscriptionId })]);
  assert.equal(await used(own.distinctMeterId, own.subscriptionId), 1n);
});

test('a meter that counts distinct properties refuses empty ones, and a subscription without a period', async () => {
  for (const properties of [{}, null, undefined]) {
    const answer = await bulk([event(), event({ priceSlug: 'user-overage', properties })]);
    assert.deepEqual([answer.status, answer.body.issues[0].path], [400, ['usageEvents', 1, 'properties']]);
  }
  const own = await insertFixture(app, { now });
  const none = { currentBillingPeriodStart: null, currentBillingPeriodEnd: null };
  await app.owner.updateTable('subscriptions').set(none).where('id', '=', own.subscriptionId).execute();
  const answer = await bulk([seen(1, { subscriptionId: own.subscriptionId })]);
  assert.deepEqual([answer.status, answer.body.issues[0].path], [400, ['usageEvents', 0, 'subscriptionId']]);
});

test('after all of it, each account is the sum of its entries, and of its events', async () => {
  await assertLedgerAddsUp(app);
  await assertEventsAddUp(app);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimOverage, settleUsage, undoSettlements } from '../../src/usage/actions-ledger.ts';
import { anyId } from '../support/any-id.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { ledgerWorlds } from '../support/ledger-world.ts';
import { pinnedKey } from '../support/pricing-models.ts';

const app = await startTestApp();
const newWorld = await ledgerWorlds(app);

test('each use tells which grants it drew from: of 120, 100 from those that end first and 20 from the others', async () => {
  const world = await newWorld();
  await world.goTo(1);
  const ending = await world.grant(100n, 50);
  await world.goTo(2);
  const lasting = await world.grant(50n);
  await world.goTo(3);
  const used = await world.use(120);
  const { data, balances, total, hasMore } = await world.read();
  const shared = { subscriptionId: world.subscriptionId, usageMeterId: world.meterId, creditPoolId: null };
  const granted = { ...shared, priceId: null, billingPeriodId: null, usageCreditApplications: [] };
  const source = { source: 'manual_adjustment', featureId: null };
  assert.deepEqual(
    data.map(({ id, sourceId, ...entry }: Body) => entry),
    [
      { ...granted, createdAt: world.at(1), type: 'grant', amount: 100, availableAfter: 100, usageCreditId: ending },
      { ...granted, createdAt: world.at(2), type: 'grant', amount: 50, availableAfter: 150, usageCreditId: lasting },
      {
        ...shared,
        createdAt: world.at(3),
        type: 'usage',
        amount: -120,
        availableAfter: 30,
        priceId: world.usagePriceId,
        billingPeriodId: world.billingPeriodId,
        usageCreditId: null,
        usageCreditApplications: [
          { usageCreditId: ending, amount: 100, ...source, expiresAt: world.at(50) },
          { usageCreditId: lasting, amount: 20, ...source, expiresAt: null },
        ],
      },
    ],
  );
  const { booking } = await app.owner
    .selectFrom('usageEvents')
    .select('booking')
    .where('id', '=', used.id.slice('usage_event_'.length))
    .executeTakeFirstOrThrow();
  assert.deepEqual(
    data.map((entry: Body) => entry.sourceId),
    [ending, lasting, String(booking)],
  );
  const { ledgerEntry } = await app.get(`/usage-events/${used.id}/ledger-entry`);
  assert.deepEqual(ledgerEntry, data[2]);
  assert.deepEqual(balances, [{ ...shared, availableBalance: 30 }]);
  assert.deepEqual({ total, hasMore }, { total: 3, hasMore: false });
});

test('an invoice that is paid takes away what is owed, and one whose money goes back brings it again', async () => {
  const world = await newWorld();
  await world.goTo(1);
  await world.use(30);
  const overage = await app.inEnvironment((work) =>
    claimOverage(work, [{ subscriptionId: world.subscriptionId, periodStart: 0 }]),
  );
  const lines = overage.map((line) => ({
    invoiceId: anyId('invoice'),
    ledgerAccountId: line.ledgerAccountId,
    units: line.units,
  }));
  await world.goTo(2);
  await app.inEnvironment((work) => settleUsage(work, lines));
  await world.goTo(3);
  await app.inEnvironment((work) => undoSettlements(work, lines));
  const { data } = await world.read();
  assert.deepEqual(
    data.map(({ type, amount, availableAfter, sourceId }: Body) => [type, amount, availableAfter, sourceId]),
    [
      ['usage', -30, -30, data[0].sourceId],
      ['settlement', 30, 0, lines[0]?.invoiceId],
      ['settlement_undone', -30, -30, lines[0]?.invoiceId],
    ],
  );
  assert.deepEqual(await Promise.all([1, 2, 3].map((second) => world.balanceAt(second))), [-30, 0, -30]);
});

test('credits that are taken back are gone from then on, and the entry names them', async () => {
  const world = await newWorld();
  await world.goTo(1);
  const credit = await world.grant(100n);
  await world.goTo(2);
  await app.post(`/usage-credits/${credit}/take-back`, { amount: 30 });
  const { data } = await world.read();
  const { type, amount, availableAfter, usageCreditId } = data[1];
  assert.deepEqual([type, amount, availableAfter, usageCreditId], ['take_back', -30, 70, credit]);
  assert.deepEqual([await world.balanceAt(1), await world.balanceAt(2)], [100, 70]);
});

test('entries of several accounts are listed in the order in which they were booked, page after page', async () => {
  const world = await newWorld();
  const { subscriptionId, distinctMeterId, meterId } = world;
  for (let second = 1; second <= 6; second++) {
    await world.goTo(second);
    if (second % 2 === 1) await world.use(second);
    const usageEvent = {
      subscriptionId,
      usageMeterId: distinctMeterId,
      transactionId: `user ${second}`,
      amount: second,
    };
    if (second % 2 === 0)
      await app.post('/usage-events', { usageEvent: { ...usageEvent, properties: { user: second } } });
  }
  const whole = await world.read();
  assert.deepEqual(
    whole.data.map((entry: Body) => entry.amount),
    [-1, -2, -3, -4, -5, -6],
  );
  assert.deepEqual(
    whole.balances,
    [meterId, distinctMeterId].map((usageMeterId, index) => ({
      subscriptionId,
      usageMeterId,
      creditPoolId: null,
      availableBalance: [-9, -12][index],
    })),
  );
  const asOf = String(world.at(5));
  const pages: Body[] = [await world.read({ asOf, limit: 2 })];
  for (let last = pages[0]; last.hasMore; last = pages.at(-1))
    pages.push(await world.read({ cursor: last.nextCursor, limit: 2 }));
  assert.deepEqual(
    pages.map((page) => page.data.map((entry: Body) => entry.amount)),
    [[-1, -2], [-3, -4], [-5]],
  );
  // The cursor brings the instant along: total and balances are as of then on every page.
  assert.deepEqual(
    pages.map((page) => page.total),
    [5, 5, 5],
  );
  assert.deepEqual(
    pages.map((page) => page.balances[1].availableBalance),
    [-6, -6, -6],
  );
  const changed = await world.ask({ cursor: pages[0].nextCursor, asOf: world.at(4) });
  assert.equal(changed.body.code, 'BAD_REQUEST');
  const users = await world.read({ usageMeterSlug: 'users' });
  assert.deepEqual(
    users.data.map((entry: Body) => entry.amount),
    [-2, -4, -6],
  );
  assert.deepEqual(
    users.balances.map((row: Body) => row.usageMeterId),
    [distinctMeterId],
  );
});

test('what is not there is refused by name, and a cursor of another ledger leads nowhere', async () => {
  const world = await newWorld();
  const other = await newWorld();
  await other.use(1);
  await other.use(1);
  await world.use(1);
  const { nextCursor } = await other.read({ limit: 1 });
  const refusals: [object, number][] = [
    [{ subscriptionId: other.subscriptionId }, 404],
    [{ subscriptionId: 'sub_nothing' }, 404],
    [{ usageMeterId: other.meterId }, 404],
    [{ usageMeterSlug: 'nothing' }, 404],
    [{ usageMeterSlug: 'api-calls', usageMeterId: world.meterId }, 400],
    [{ pricingModelId: world.pricingModelId, cursor: nextCursor }, 400],
    [{ cursor: 'nonsense' }, 400],
    [{ limit: 101 }, 400],
  ];
  for (const [given, status] of refusals) assert.equal((await world.ask(given)).status, status, JSON.stringify(given));
  assert.equal((await app.request('GET', '/customers/nobody/ledger')).status, 404);
  const ambiguous = await app.request('GET', '/customers/acme/ledger');
  assert.equal(ambiguous.status, 400);
  assert.match(ambiguous.body.message, /pricingModelId/);
});

test('nobody else sees a ledger: not another organization, not a key that is pinned to another pricing model', async () => {
  const world = await newWorld();
  const other = await newWorld();
  await world.use(5);
  const path = `/customers/acme/ledger?pricingModelId=${world.pricingModelId}`;
  const { testKey } = await app.newOrganization();
  assert.equal((await app.request('GET', path, undefined, { key: testKey })).status, 404);
  assert.equal((await app.request('GET', path, undefined, { key: app.liveKey })).status, 404);
  assert.equal(
    (await app.request('GET', path, undefined, { key: await pinnedKey(app, other.pricingModelId) })).status,
    404,
  );
  // A pinned key need not name the pricing model.
  const own = await app.get('/customers/acme/ledger', { key: await pinnedKey(app, world.pricingModelId) });
  assert.deepEqual(
    own.data.map((entry: Body) => entry.amount),
    [-5],
  );
});

test('the ledger of an archived customer can still be read', async () => {
  const world = await newWorld();
  await world.use(5);
  await app.owner.updateTable('customers').set({ archived: true }).where('id', '=', world.customerId).execute();
  assert.equal((await world.read()).total, 1);
});

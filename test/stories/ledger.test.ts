import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { claimOverage, expireCredits, grantCredits, settleUsage } from '../../src/usage/actions-ledger.ts';
import { anyId } from '../support/any-id.ts';
import { applied } from '../support/applied.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';
import { assertLedgerAddsUp, billedBy } from '../support/ledger-invariants.ts';
import { postUsage } from '../support/post-usage.ts';

const app = await startTestApp();
const dayMs = 86_400_000;
const start = Date.parse('2026-04-01');
const may = start + 30 * dayMs;

type World = Awaited<ReturnType<typeof insertFixture>>;
type Source = Parameters<typeof grantCredits>[1][number]['source'];

async function newWorld(): Promise<World> {
  await app.setClock(start);
  return insertFixture(app, { now: start });
}

function grant(
  world: World,
  amount: bigint,
  {
    expiresAt = null,
    sourceId = anyId('event'),
    source = 'manual_adjustment',
    priority = 100,
  }: Partial<{
    expiresAt: number | null;
    sourceId: string;
    source: Source;
    priority: number;
  }> = {},
) {
  const { subscriptionId, pricingModelId, meterId: usageMeterId } = world;
  const account = { subscriptionId, pricingModelId, usageMeterId };
  const rest = { featureId: null, billingPeriodId: null, amount, expiresAt, source, sourceId, priority };
  return app.inEnvironment((work) => grantCredits(work, [{ ...account, ...rest }]));
}

function use(world: World, units: bigint, priceId = world.usagePriceId) {
  const { subscriptionId, pricingModelId, meterId: usageMeterId, billingPeriodId } = world;
  const posting = { subscriptionId, pricingModelId, usageMeterId, priceId, billingPeriodId, units };
  return app.inEnvironment((work) => postUsage(work, [posting]));
}

const expire = (world: World, at: number) =>
  app.inEnvironment((work) => expireCredits(work, [{ subscriptionId: world.subscriptionId, at }]));
const claim = (world: World) =>
  app.inEnvironment((work) => claimOverage(work, [{ subscriptionId: world.subscriptionId, periodStart: 0 }]));

/** Bills what is due and pays for it. Answers the units. */
async function billAndPay(world: World, invoiceId = anyId('invoice')): Promise<bigint[]> {
  const claimed = await claim(world);
  await app.inEnvironment((work) => settleUsage(work, billedBy(invoiceId, claimed)));
  return claimed.map(({ units }) => units);
}

async function balance(world: World): Promise<number> {
  const path = `/customers/acme/usage-balances?pricingModelId=${world.pricingModelId}`;
  const { usageMeterBalances } = await app.get(path);
  return usageMeterBalances.find((row: { id: string }) => row.id === world.meterId).availableBalance;
}

const credits = (world: World) =>
  app.owner
    .selectFrom('usageCredits')
    .innerJoin('ledgerAccounts', 'ledgerAccounts.id', 'usageCredits.ledgerAccountId')
    .select(['sourceId', 'issued', applied, 'usageCredits.expired'])
    .where('ledgerAccounts.subscriptionId', '=', world.subscriptionId)
    .orderBy('usageCredits.id')
    .execute();

test('worked example L1: grants 100 and 30, usage 80, 40 and 25, a new period, and the invoice for 15', async () => {
  const world = await newWorld();
  await grant(world, 100n, { expiresAt: may, sourceId: 'recurring L1', source: 'billing_period_transition' });
  await grant(world, 30n, { sourceId: 'once L1', source: 'billing_period_transition' });
  assert.equal(await balance(world), 130);
  await use(world, 80n);
  assert.equal(await balance(world), 50);
  await use(world, 40n);
  assert.equal(await balance(world), 10);
  await use(world, 25n);
  assert.equal(await balance(world), -15);

  await app.setClock(may);
  assert.equal(await expire(world, may), 0, 'nothing is left of the recurring credit');
  await grant(world, 100n, { expiresAt: may + 31 * dayMs, sourceId: 'recurring May L1' });
  assert.equal(await balance(world), 85);
  const claimed = await claim(world);
  assert.deepEqual(
    claimed.map(({ usageMeterId, priceId, units }) => ({ usageMeterId, priceId, units })),
    [{ usageMeterId: world.meterId, priceId: world.usagePriceId, units: 15n }],
  );
  assert.equal(await balance(world), 85, 'an invoice that is not paid changes no balance');
  await app.inEnvironment((work) => settleUsage(work, billedBy('invoice L1', claimed)));
  assert.equal(await balance(world), 100);
  assert.deepEqual(await credits(world), [
    { sourceId: 'recurring L1', issued: 100n, applied: 100n, expired: 0n },
    { sourceId: 'once L1', issued: 30n, applied: 30n, expired: 0n },
    { sourceId: 'recurring May L1', issued: 100n, applied: 0n, expired: 0n },
  ]);
  await assertLedgerAddsUp(app);
});

test('worked example L2: 70 of 100 expire with the period, and the new 100 are the balance', async () => {
  const world = await newWorld();
  await grant(world, 100n, { expiresAt: may, sourceId: 'April L2' });
  await use(world, 30n);
  assert.equal(await balance(world), 70);
  await app.setClock(may);
  assert.equal(await expire(world, may), 1);
  assert.equal(await balance(world), 0);
  await grant(world, 100n, { expiresAt: may + 31 * dayMs, sourceId: 'May L2' });
  assert.equal(await balance(world), 100);
  assert.equal(await expire(world, may), 0, 'a credit expires once');
  assert.deepEqual(await credits(world), [
    { sourceId: 'April L2', issued: 100n, applied: 30n, expired: 70n },
    { sourceId: 'May L2', issued: 100n, applied: 0n, expired: 0n },
  ]);
  await assertLedgerAddsUp(app);
});

test('a credit counts until its last millisecond, and not at its end, also when the end is not yet booked', async () => {
  const world = await newWorld();
  await grant(world, 10n, { expiresAt: may });
  await app.setClock(may - 1);
  await use(world, 4n);
  assert.equal(await balance(world), 6);
  await app.setClock(may);
  assert.equal(await balance(world), 0);
  await use(world, 5n);
  assert.equal(await balance(world), -5, 'the 6 that are left of it pay for nothing');
  await expire(world, may);
  assert.equal(await balance(world), -5);
  assert.deepEqual(await billAndPay(world), [5n]);
  await assertLedgerAddsUp(app);
});

test('credits are used in the order of their priority, then of their expiry, then of their age', async () => {
  const world = await newWorld();
  await grant(world, 10n, { sourceId: 'last', priority: 200, expiresAt: may });
  await grant(world, 10n, { sourceId: 'never ends' });
  await grant(world, 10n, { sourceId: 'ends, older', expiresAt: may });
  await grant(world, 10n, { sourceId: 'ends, newer', expiresAt: may });
  await grant(world, 10n, { sourceId: 'first', priority: 0 });
  const order: string[] = [];
  for (let step = 0; step < 5; step++) {
    await use(world, 10n);
    const spent = (await credits(world)).filter(
      ({ sourceId, applied }) => applied === 10n && !order.includes(sourceId),
    );
    order.push(...spent.map(({ sourceId }) => sourceId));
  }
  assert.deepEqual(order, ['first', 'ends, older', 'ends, newer', 'never ends', 'last']);
  await assertLedgerAddsUp(app);
});

test('each entry says what is available with it, and none an earlier instant than the one before, also when the clock goes back', async () => {
  const world = await newWorld();
  await app.setClock(start + 1000);
  await grant(world, 100n, { expiresAt: may });
  await app.setClock(start);
  await use(world, 30n);
  await use(world, 100n);
  await app.setClock(may);
  await grant(world, 20n, { expiresAt: may });
  await expire(world, may);
  await billAndPay(world);
  const entries = await app.owner
    .selectFrom('ledgerEntries')
    .select(['creditSide', 'amount', 'availableAfter', 'createdAt'])
    .where('pricingModelId', '=', world.pricingModelId)
    .orderBy('createdAt')
    .orderBy('sequence')
    .execute();
  assert.deepEqual(
    entries.map(({ creditSide, amount, availableAfter, createdAt }) => [creditSide, amount, availableAfter, createdAt]),
    [
      ['available', 100n, 100n, start + 1000],
      ['used', 30n, 70n, start + 1000],
      ['used', 100n, -30n, start + 1000],
      ['available', 20n, -10n, may],
      ['expired', 20n, -30n, may],
      ['available', 30n, 0n, may],
    ],
  );
  await assertLedgerAddsUp(app);
});

test('expiry at an instant leaves later credits and those without an end alone', async () => {
  const world = await newWorld();
  await grant(world, 1n, { expiresAt: may, sourceId: 'ends' });
  await grant(world, 2n, { expiresAt: may + 1, sourceId: 'ends later' });
  await grant(world, 4n, { sourceId: 'lasts' });
  await expire(world, may);
  const left = (await credits(world)).map(({ sourceId, expired }) => [sourceId, expired]);
  assert.deepEqual(left, [
    ['ends', 1n],
    ['ends later', 0n],
    ['lasts', 0n],
  ]);
});

test('three billed months: each invoice has the usage of its month, and the balance is 0 after each', async () => {
  const world = await newWorld();
  for (const units of [100n, 50n, 80n]) {
    await use(world, units);
    assert.equal(await balance(world), -Number(units));
    assert.deepEqual(await billAndPay(world), [units]);
    assert.equal(await balance(world), 0);
  }
  assert.deepEqual(await billAndPay(world), [], 'nothing is left to bill');
  await assertLedgerAddsUp(app);
});

test('usage 100 with credit 60: 40 are billed, and the paid invoice leaves the credit as it is', async () => {
  const world = await newWorld();
  await grant(world, 60n, { sourceId: 'sixty' });
  await use(world, 100n);
  assert.deepEqual(await billAndPay(world), [40n]);
  assert.equal(await balance(world), 0);
  assert.deepEqual(await credits(world), [{ sourceId: 'sixty', issued: 60n, applied: 60n, expired: 0n }]);
  await use(world, 5n);
  assert.equal(await balance(world), -5, 'usage after it is accepted and owed');
});

test('a later grant does not pay for earlier overage: 50 are billed, and all of the new 100 can be used', async () => {
  const world = await newWorld();
  await use(world, 50n);
  await grant(world, 100n);
  assert.equal(await balance(world), 50);
  await use(world, 100n);
  assert.deepEqual(await billAndPay(world), [50n]);
  assert.equal(await balance(world), 0);
});

test('two prices of one meter are two lines of one invoice, settled on one account', async () => {
  const world = await newWorld();
  const price = await app.owner
    .selectFrom('prices')
    .selectAll()
    .where('id', '=', world.usagePriceId)
    .executeTakeFirstOrThrow();
  const otherPriceId = anyId('price');
  const other = { ...price, id: otherPriceId, slug: 'other', isDefault: false };
  await app.owner.insertInto('prices').values(other).execute();
  await grant(world, 10n);
  await use(world, 25n);
  await use(world, 7n, otherPriceId);
  assert.deepEqual(await billAndPay(world), [15n, 7n]);
  assert.equal(await balance(world), 0);
  const entries = await app.owner
    .selectFrom('ledgerEntries')
    .select('amount')
    .where('pricingModelId', '=', world.pricingModelId)
    .where('debitSide', '=', 'settled')
    .execute();
  assert.deepEqual(entries, [{ amount: 22n }]);
});

test('telling a grant or a paid invoice again changes nothing, one by one or ten at once', async () => {
  const world = await newWorld();
  const again = { sourceId: 'told again', source: 'admin' as const };
  await Promise.all(Array.from({ length: 10 }, () => grant(world, 20n, again)));
  await grant(world, 99n, again);
  assert.equal(await balance(world), 20);
  await use(world, 30n);
  const claimed = await claim(world);
  const settle = () => app.inEnvironment((work) => settleUsage(work, billedBy('told again', claimed)));
  await Promise.all(Array.from({ length: 10 }, settle));
  await settle();
  assert.equal(await balance(world), 0);
  await assertLedgerAddsUp(app);
});

test('ten claims at once bill the usage once', async () => {
  const world = await newWorld();
  await use(world, 12n);
  const claims = await Promise.all(Array.from({ length: 10 }, () => claim(world)));
  assert.deepEqual(
    claims.flat().map(({ units }) => units),
    [12n],
  );
});

test('amounts beyond 2^53 stay exact', async () => {
  const world = await newWorld();
  await grant(world, 10n ** 30n);
  await use(world, 1n);
  const path = `${app.url}/api/v1/customers/acme/usage-balances?pricingModelId=${world.pricingModelId}`;
  const response = await fetch(path, { headers: { authorization: app.testKey } });
  assert.match(await response.text(), /"availableBalance":9{30}[,}]/);
});

test('nothing to grant, to bill, to settle or to expire opens no account', async () => {
  const world = await newWorld();
  await grant(world, 0n);
  assert.deepEqual(await billAndPay(world), []);
  assert.equal(await expire(world, may), 0);
  const accounts = app.owner.selectFrom('ledgerAccounts').where('subscriptionId', '=', world.subscriptionId);
  assert.deepEqual(await accounts.select('id').execute(), []);
});

test('an account cannot be settled or spent beyond what was used and granted', async () => {
  const world = await newWorld();
  await use(world, 5n);
  const [claimed] = await claim(world);
  assert(claimed);
  const tooMuch = [{ ...claimed, units: 6n }];
  await assert.rejects(
    app.inEnvironment((work) => settleUsage(work, billedBy('too much', tooMuch))),
    /ledger_accounts_sides/,
  );
});

test('an entry names credits of its account, each once and with an amount above zero, and only where it is usage', async () => {
  const other = await newWorld();
  await grant(other, 100n);
  const { id: foreign } = await app.owner
    .selectFrom('usageCredits')
    .select('id')
    .where('pricingModelId', '=', other.pricingModelId)
    .executeTakeFirstOrThrow();
  const world = await newWorld();
  await grant(world, 100n);
  await use(world, 30n);
  const { rows } = await sql<{ side: string; ids: string[] | null; amounts: string[] | null }>`
    select credit_side as side, applied_credit_ids as ids, applied_amounts::text[] as amounts from ledger_entries
     where pricing_model_id = ${world.pricingModelId} order by sequence`.execute(app.owner);
  const [credit] = rows[1]?.ids ?? [];
  assert.deepEqual(rows, [
    { side: 'available', ids: null, amounts: null },
    { side: 'used', ids: [credit], amounts: ['30'] },
  ]);
  const copy = (
    side: string,
    ids: readonly (string | null | undefined)[],
    amounts: readonly (number | null)[],
    period: string | null = null,
  ) =>
    sql`
      insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, available_after, created_at, applied_credit_ids, applied_amounts, billing_period_id)
      select environment_id, ${anyId('ledgerEntry')}, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, available_after, created_at, ${ids}::text[], ${amounts}::numeric[], ${period} from ledger_entries
       where pricing_model_id = ${world.pricingModelId} and credit_side = ${side}`
      .execute(app.owner)
      .then(
        () => null,
        ({ constraint }: { constraint?: string }) => constraint,
      );
  const outcomes = [
    await copy('used', ['gone'], [30]),
    await copy('used', [credit, 'gone'], [10, 20]),
    await copy('used', [foreign], [30]),
    await copy('used', [credit, foreign], [10, 20]),
    await copy('used', [credit], [30], 'gone'),
    await copy('used', [credit, foreign], [10, 20], 'gone'),
    await copy('used', [credit], [0]),
    await copy('used', [credit, credit], [10, 20]),
    await copy('used', [credit], [10, 20]),
    await copy('used', [credit, null], [10, 20]),
    await copy('used', [credit], [null]),
    await copy('used', [], []),
    await copy('available', [credit], [30]),
  ];
  assert.deepEqual([...new Set(outcomes.slice(0, 6))], ['ledger_entries_references']);
  assert.deepEqual([...new Set(outcomes.slice(6))], ['ledger_entries_applications']);
  assert.equal(await copy('used', [credit], [30], world.billingPeriodId), null);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { catchUpAll } from '../../src/billing/catch-up.ts';
import { runInEnvironment } from '../../src/database/work.ts';
import { answerAlone } from '../../src/jobs/batcher.ts';
import { Problem } from '../../src/kernel/problem.ts';
import { applyCredits } from '../../src/rating/credits.ts';
import { readBalances } from '../../src/usage/actions-balances.ts';
import { consumeUsage } from '../../src/usage/actions-consume.ts';
import { claimOverage, expireCredits, grantCredits, settleUsage } from '../../src/usage/actions-ledger.ts';
import { recordUsage } from '../../src/usage/actions-record.ts';
import { anyId } from '../support/any-id.ts';
import { applied } from '../support/applied.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';
import { assertEventsAddUp, assertLedgerAddsUp, billedBy } from '../support/ledger-invariants.ts';
import { Oracle, type OracleEvent } from '../support/ledger-oracle.ts';
import { postUsage } from '../support/post-usage.ts';

const app = await startTestApp();
const start = Date.parse('2026-04-01');

type World = Awaited<ReturnType<typeof insertFixture>>;

/** A second usage price of the world's meter. */
async function insertSecondPrice({ usagePriceId }: World): Promise<string> {
  const price = await app.owner
    .selectFrom('prices')
    .selectAll()
    .where('id', '=', usagePriceId)
    .executeTakeFirstOrThrow();
  const id = anyId('price');
  await app.owner
    .insertInto('prices')
    .values({ ...price, id, slug: 'second', isDefault: false })
    .execute();
  await app.copyCatalogs();
  return id;
}

const operations = { record: recordUsage(catchUpAll), consume: consumeUsage(catchUpAll) };

/** The events as they were stored, and the balance where a consumption was asked for. */
async function ask(kind: keyof typeof operations, events: readonly OracleEvent[]) {
  const sent = events.map(({ account, price, transactionId, amount }) => {
    return { subscriptionId: account, priceId: price, transactionId, amount: Number(amount) };
  });
  const answer = await app.inEnvironment((work) =>
    answerAlone(operations[kind], work, { kind, events: sent, pathOf: (index) => ['usageEvents', index] }),
  );
  const told = answer.events.map(({ subscriptionId, priceId, transactionId, amount }) => {
    return { account: subscriptionId, price: priceId, transactionId, amount: BigInt(amount) };
  });
  return { events: told, balance: answer.balances[0]?.availableBalance };
}

const smallAmount = fc.integer({ min: 1, max: 40 });
const subscription = fc.integer({ min: 0, max: 1 });
const event = fc.record({ subscription, amount: smallAmount, transaction: fc.nat(30), second: fc.boolean() });
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('grant' as const),
      subscription,
      amount: smallAmount,
      source: fc.nat(9),
      priority: fc.option(fc.constantFrom(0, 99, 101), { nil: undefined }),
      lastsMs: fc.option(fc.integer({ min: -1, max: 6 })),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant('use' as const),
      events: fc.array(event, { minLength: 1, maxLength: 6 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('consume' as const), event }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('expire' as const), subscriptions: fc.constantFrom([0], [1], [0, 1]) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('bill' as const), subscription, pays: fc.integer({ min: 0, max: 2 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** The real ledger of two subscriptions and the one in memory, led through the same steps. */
async function newRun() {
  const worlds = [await insertFixture(app, { now: start }), await insertFixture(app, { now: start })];
  const seconds = await Promise.all(worlds.map(insertSecondPrice));
  const oracle = new Oracle();
  oracle.now = start;
  const prefix = anyId('event');
  const worldOf = (index: number): World => {
    const world = worlds[index];
    assert(world);
    return world;
  };
  const eventOf = (given: typeof event extends fc.Arbitrary<infer Value> ? Value : never): OracleEvent => {
    const { subscriptionId, usagePriceId } = worldOf(given.subscription);
    return {
      account: subscriptionId,
      price: given.second ? (seconds[given.subscription] ?? '') : usagePriceId,
      transactionId: `transaction ${given.transaction}`,
      amount: BigInt(given.amount),
    };
  };
  const accountIds = async () => {
    const ids = worlds.map((world) => world.subscriptionId);
    const rows = await app.owner.selectFrom('ledgerAccounts').selectAll().where('subscriptionId', 'in', ids).execute();
    return new Map(rows.map((row) => [row.id, row]));
  };

  async function take(given: Step): Promise<void> {
    switch (given.does) {
      case 'grant': {
        const { subscriptionId, pricingModelId, meterId: usageMeterId } = worldOf(given.subscription);
        const sourceId = `${prefix} ${given.source}`;
        const expiresAt = given.lastsMs === null ? null : oracle.now + given.lastsMs;
        const account = { subscriptionId, pricingModelId, usageMeterId };
        const issued = BigInt(given.amount);
        const rest = {
          featureId: null,
          billingPeriodId: null,
          source: 'manual_adjustment' as const,
          sourceId,
          expiresAt,
          ...(given.priority === undefined ? {} : { priority: given.priority }),
        };
        await app.inEnvironment((work) => grantCredits(work, [{ ...account, ...rest, amount: issued }]));
        oracle.grant({ account: subscriptionId, sourceId, issued, priority: given.priority ?? 100, expiresAt });
        return;
      }
      case 'use': {
        const events = given.events.map(eventOf);
        assert.deepEqual((await ask('record', events)).events, oracle.use(events));
        return;
      }
      case 'consume': {
        const sent = eventOf(given.event);
        const expected = oracle.consume(sent);
        const told = await ask('consume', [sent]).catch((error: unknown) => {
          assert(error instanceof Problem && error.problem === 'insufficientBalance');
          const { usageBalance } = error.data as { usageBalance: { availableBalance: bigint } };
          return { events: [null], balance: usageBalance.availableBalance };
        });
        assert.deepEqual(told, { events: [expected.event], balance: expected.balance });
        return;
      }
      case 'wait':
        oracle.now += given.ms;
        return app.setClock(oracle.now);
      case 'expire': {
        const ids = given.subscriptions.map((index) => worldOf(index).subscriptionId);
        const expiries = ids.map((subscriptionId) => ({ subscriptionId, at: oracle.now }));
        await app.inEnvironment((work) => expireCredits(work, expiries));
        return oracle.expire(ids);
      }
      case 'bill': {
        const { subscriptionId } = worldOf(given.subscription);
        const claimed = await app.inEnvironment((work) => claimOverage(work, [{ subscriptionId, periodStart: 0 }]));
        const expected = oracle.claim([subscriptionId]);
        const told = claimed.map(({ priceId, units }) => ({ account: subscriptionId, price: priceId, units }));
        const byPrice = (a: { price: string }, b: { price: string }) => (a.price < b.price ? -1 : 1);
        assert.deepEqual(told.sort(byPrice), expected.sort(byPrice));
        const invoiceId = anyId('invoice');
        for (let told = 0; told < given.pays; told++) {
          await app.inEnvironment((work) => settleUsage(work, billedBy(invoiceId, claimed)));
          oracle.settle(invoiceId, expected);
        }
        return;
      }
      default:
        given satisfies never;
    }
  }

  async function compare(): Promise<void> {
    const accounts = await accountIds();
    const ids = [...accounts.keys(), ''];
    const nameOf = (id: string) => accounts.get(id)?.subscriptionId ?? id;
    const sides = [...accounts.values()].map(({ subscriptionId, granted, used, covered, expired, settled }) => {
      return [subscriptionId, { granted, used, covered, expired, settled }] as const;
    });
    // A repeated grant may open an account and move nothing on it.
    const moved = (all: typeof sides) => Object.fromEntries(all.filter(([, { granted, used }]) => granted + used > 0n));
    assert.deepEqual(moved(sides), moved([...oracle.sides]));

    const credits = await app.owner
      .selectFrom('usageCredits')
      .selectAll()
      .select(applied)
      .where('ledgerAccountId', 'in', ids)
      .orderBy('id')
      .execute();
    const told = credits.map(({ sourceId, ledgerAccountId, issued, priority, expiresAt, applied, expired }) => {
      return { sourceId, account: nameOf(ledgerAccountId), issued, priority, expiresAt, applied, expired };
    });
    assert.deepEqual(told, oracle.credits);

    const sourceOf = new Map(credits.map((credit) => [credit.id, credit.sourceId]));
    const entries = await app.owner
      .selectFrom('ledgerEntries')
      .selectAll()
      .where('ledgerAccountId', 'in', ids)
      .orderBy('sequence')
      .execute();
    // Each account has its own order.
    const byAccount = <Entry extends readonly unknown[]>(all: readonly Entry[]) =>
      Object.fromEntries(Map.groupBy(all, ([account]) => String(account)));
    assert.deepEqual(
      byAccount(
        entries.map((entry) => {
          const about = entry.priceId ?? sourceOf.get(entry.usageCreditId ?? '') ?? '';
          const sides = [entry.debitSide, entry.creditSide];
          return [nameOf(entry.ledgerAccountId), ...sides, entry.amount, about, entry.availableAfter];
        }),
      ),
      byAccount(oracle.entries),
    );

    const subscriptionIds = worlds.map((world) => world.subscriptionId);
    const balances = await app.inEnvironment((work) => readBalances(work, subscriptionIds));
    for (const { subscriptionId, meterId } of worlds) {
      const shown = balances.find((row) => row.subscriptionId === subscriptionId && row.id === meterId);
      assert.equal(shown?.availableBalance, oracle.balance(subscriptionId));
    }
  }

  return { take, compare };
}

test('grants, usage, consumption, repeats, time, expiries and invoices in any order: the ledger is what the plain rules say, after each step', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      await app.setClock(start);
      const run = await newRun();
      for (const given of steps) {
        await run.take(given);
        await run.compare();
      }
    }),
    { numRuns: 25 },
  );
  await assertLedgerAddsUp(app);
  await assertEventsAddUp(app);
});

const credit = fc.record({
  amount: fc.bigInt({ min: 1n, max: 30n }),
  priority: fc.constantFrom(99, 100),
  lastsMs: fc.option(fc.integer({ min: -1, max: 3 })),
  isPaid: fc.boolean(),
});
const posting = fc.record({ second: fc.boolean(), units: fc.bigInt({ min: 1n, max: 60n }) });
const account = fc.record({
  credits: fc.array(credit, { maxLength: 8 }),
  postings: fc.array(posting, { minLength: 1, maxLength: 4 }),
});

test('one statement applies the credits of many accounts as applyCredits does for each usage in turn', async () => {
  const worlds = await Promise.all(Array.from({ length: 4 }, () => insertFixture(app, { now: start })));
  const seconds = await Promise.all(worlds.map(insertSecondPrice));
  await app.setClock(start);
  // Each case is rolled back, so the next one finds the accounts empty.
  const inTrial = (act: Parameters<typeof runInEnvironment>[2]) =>
    runInEnvironment(app.database, { environmentId: app.testEnvironmentId }, act, { dryRun: true });

  await fc.assert(
    fc.asyncProperty(fc.array(account, { minLength: 1, maxLength: 4 }), async (accounts) => {
      const cases = accounts.map(({ credits, postings }, index) => {
        const world = worlds[index];
        assert(world);
        const key = {
          subscriptionId: world.subscriptionId,
          pricingModelId: world.pricingModelId,
          usageMeterId: world.meterId,
        };
        const grants = credits.map(({ amount, priority, lastsMs, isPaid }, position) => ({
          ...key,
          featureId: null,
          billingPeriodId: null,
          amount,
          priority,
          expiresAt: lastsMs === null ? null : start + lastsMs,
          source: isPaid ? ('purchase' as const) : ('admin' as const),
          sourceId: `${index} ${position}`,
        }));
        const priceOf = (second: boolean) => (second ? (seconds[index] ?? '') : world.usagePriceId);
        return {
          key,
          grants,
          postings: postings.map(({ second, units }) => ({
            ...key,
            billingPeriodId: null,
            priceId: priceOf(second),
            units,
          })),
        };
      });

      const expected = cases.flatMap(({ grants, postings }) => {
        const usable = grants
          .filter(({ expiresAt }) => expiresAt === null || expiresAt > start)
          .map(({ sourceId, source, amount, priority, expiresAt }) => ({
            id: sourceId,
            remaining: amount,
            priority,
            expiresAt,
            isPaid: source === 'purchase',
          }));
        // The units of a price are booked as a whole, in the place where it is first named.
        const priceIds = [...new Set(postings.map(({ priceId }) => priceId))];
        return priceIds.flatMap((priceId) => {
          const units = postings.filter((each) => each.priceId === priceId).reduce((sum, each) => sum + each.units, 0n);
          const { applications } = applyCredits(usable, units);
          for (const { id, amount } of applications) {
            for (const each of usable) if (each.id === id) each.remaining -= amount;
          }
          return applications.map(({ id, amount }) => `${priceId} ${id} ${amount}`);
        });
      });

      await inTrial(async (work) => {
        await grantCredits(
          work,
          cases.flatMap(({ grants }) => grants),
        );
        const transactionId = await postUsage(
          work,
          cases.flatMap(({ postings }) => postings),
        );
        const { rows } = await sql<{ priceId: string; sourceId: string; amount: bigint }>`
          select e.price_id, c.source_id, applied.amount
            from ledger_transactions t
            join ledger_entries e on e.ledger_transaction_id = t.id
           cross join unnest(e.applied_credit_ids, e.applied_amounts) as applied (usage_credit_id, amount)
            join usage_credits c on c.id = applied.usage_credit_id
           where t.id = ${transactionId}`.execute(work.db);
        const told = rows.map(({ priceId, sourceId, amount }) => `${priceId} ${sourceId} ${amount}`);
        assert.deepEqual(told.sort(), expected.sort());
      });
    }),
    { numRuns: 100 },
  );
});

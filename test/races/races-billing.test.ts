import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sql } from 'kysely';
import { cancelSubscription } from '../../src/billing/cancel.ts';
import { renewHandler } from '../../src/billing/renew.ts';
import { runInEnvironment } from '../../src/database/work.ts';
import { runEffects } from '../../src/jobs/queue.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Debtor, newDebtor } from '../support/debtor.ts';
import { type Answer, startTestApp } from '../support/harness.ts';
import {
  assertStatuses,
  ended,
  meet,
  moneyMoved,
  paidInAll,
  rounds,
  setClockOf,
  until,
  workTogether,
} from '../support/race.ts';
import { assertSound } from '../support/sound.ts';
import { atOnce } from '../support/spending.ts';
import { startTaker } from '../support/taker.ts';
import { subscribeFor } from '../support/years.ts';

const app = await startTestApp();
const february = instant('2026-02-01');
const march = instant('2026-03-01');
const renewal = { table: 'invoices', on: 'insert', when: "new.reason = 'renewal'" } as const;

/** Anything that is asked of a subscription does first what is due for it. */
const touch = (debtor: Debtor) => debtor.send(`/subscriptions/${debtor.subscriptionId}/uncancel`);
const cancel = (debtor: Debtor, timing: string) =>
  debtor.send(`/subscriptions/${debtor.subscriptionId}/cancel`, { cancellation: { timing } });
const work = (debtor: Debtor) => workTogether(app, debtor.environmentId, 1);

describe('race: duplicate periodic billing', () => {
  test('a renewal that is being written is not written by a request, nor by a worker', async () => {
    for (const first of [work, touch]) {
      const debtor = await newDebtor(app);
      await setClockOf(app, debtor.environmentId, february);
      await meet<unknown, unknown>(
        app,
        renewal,
        () => first(debtor),
        () => touch(debtor),
        () => touch(debtor),
        () => work(debtor),
      );
      assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal paid 0']);
      assert.deepEqual(await debtor.payments(), ['2026-01-01 3000 succeeded', '2026-02-01 3075 succeeded']);
    }
  });

  test('two renewals that are behind, met by 32 requests, four workers and the clock: each is billed once', async () => {
    for (let round = 0; round < rounds; round++) {
      const debtor = await newDebtor(app);
      await setClockOf(app, debtor.environmentId, march);
      const { subscriptionId } = debtor;
      const use = (index: number) => {
        const usage = { priceSlug: 'call', transactionId: `storm ${index}`, amount: 10 };
        return debtor.send('/usage-events', { usageEvent: { subscriptionId, ...usage } });
      };
      const acts = [touch, () => debtor.send(`/subscriptions/${subscriptionId}/retry-payment`)];
      const [answers] = await Promise.all([
        atOnce(32, (index) => (index % 4 === 3 ? use(index) : (acts[index % 2] ?? touch)(debtor))),
        workTogether(app, debtor.environmentId),
        debtor.moveTo('2026-03-01'),
      ]);
      assertStatuses(answers, [200, 400, 402, 409]);
      await debtor.moveTo('2026-03-01');
      // 80 calls of the storm are within the credits of their month, whichever that was.
      assert.deepEqual(await debtor.payments(), [
        '2026-01-01 3000 succeeded',
        '2026-03-01 3075 succeeded',
        '2026-03-01 3000 succeeded',
      ]);
      const { charges, charged } = await moneyMoved(app, debtor.customerId);
      assert.deepEqual([charges, charged], [3, 9075n]);
    }
    await assertSound(app);
  });
});

describe('race: two workers on one run', () => {
  /** So many customers of one organization, for all of whom February is due. */
  async function many(count: number): Promise<Debtor> {
    const debtor = await newDebtor(app);
    for (let index = 1; index < count; index++)
      await subscribeFor(debtor.caller, `customer-${index}`, { plan: 'month', token: 'pm_card_visa' });
    await setClockOf(app, debtor.environmentId, february);
    return debtor;
  }

  async function assertEachOnce({ environmentId }: Debtor, count: number): Promise<void> {
    const invoices = app.owner.selectFrom('invoices').select(['customerId', 'total', 'status']);
    const renewals = await invoices
      .where('environmentId', '=', environmentId)
      .where('reason', '=', 'renewal')
      .execute();
    assert.deepEqual(new Set(renewals.map(({ status, total }) => `${status} ${total}`)), new Set(['paid 3075']));
    assert.deepEqual([renewals.length, new Set(renewals.map(({ customerId }) => customerId)).size], [count, count]);
    for (const { customerId } of renewals) {
      const { charges, charged } = await moneyMoved(app, customerId);
      assert.deepEqual([charges, charged], [2, 6075n]);
    }
  }

  test('what one holds the other steps over, and does the rest', async () => {
    const debtor = await many(7);
    const [one, other] = await meet(
      app,
      renewal,
      () => work(debtor),
      // Of seven the first holds five. The gate is for everyone, so the other stops there too, with the other two.
      () => work(debtor),
    );
    const renewed = [one, other].flatMap((each) => each?.map(({ done }) => done.renew) ?? []);
    assert.deepEqual(renewed, [5, 2]);
    await assertEachOnce(debtor, 7);
  });

  test('six workers and two takers of jobs at once: each subscription is renewed once, and charged once', async () => {
    for (let round = 0; round < rounds; round++) {
      const debtor = await many(12);
      const { environmentId } = debtor;
      // The charges of half of them are made by whoever asked for them, and by those who take him for dead.
      const half = await runInEnvironment(app.database, { environmentId }, async (begun) =>
        renewHandler.perform(begun, await renewHandler.take(begun, 6)),
      );
      for (const { owner } of app.cells) await sql`update _private_jobs set run_at = now()`.execute(owner);
      const takers = await Promise.all([startTaker(app), startTaker(app)]);
      try {
        await Promise.all([runEffects(app, half?.effects ?? []), workTogether(app, environmentId, 6)]);
        const waiting = app.owner.selectFrom('payments').select('id').where('status', '=', 'processing');
        await until(async () => (await waiting.execute()).length === 0, 'every charge to be made');
      } finally {
        for (const taker of takers) await taker.stop();
      }
      await assertEachOnce(debtor, 12);
    }
    await assertSound(app);
  });
});

describe('race: cancel against renewal', () => {
  test('a cancel that meets the renewal ends the subscription after it', async () => {
    const debtor = await newDebtor(app);
    await setClockOf(app, debtor.environmentId, february);
    const [, canceled] = await meet<unknown, Answer>(
      app,
      renewal,
      () => work(debtor),
      () => cancel(debtor, 'immediately'),
    );
    assert.equal(canceled?.status, 200);
    assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal paid 0']);
    assert.equal((await debtor.subscription()).status, 'canceled');
  });

  test('an end that was asked for in time comes, though the clock and the worker overtake the request', async () => {
    const debtor = await newDebtor(app);
    await setClockOf(app, debtor.environmentId, february - 1);
    const place = {
      table: 'subscriptions',
      on: 'update',
      when: "new.status = 'cancellation_scheduled'",
    } as const;
    const overtake = async () => {
      await setClockOf(app, debtor.environmentId, february);
      return work(debtor);
    };
    await meet<unknown, unknown>(app, place, () => cancel(debtor, 'at_end_of_current_billing_period'), overtake);
    await work(debtor);
    assert.equal((await debtor.subscription()).status, 'canceled');
    assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'final_usage paid 0']);
    assert.equal(await paidInAll(app, debtor.customerId), 3075n);
  });

  test('a cancel that began before the end of the period, and comes behind the renewal, is of the new period', async () => {
    const debtor = await newDebtor(app);
    await setClockOf(app, debtor.environmentId, february);
    await work(debtor);
    let tries = 0;
    await runInEnvironment(app.database, { environmentId: debtor.environmentId }, (begun) => {
      tries += 1;
      const now = tries === 1 ? february - 1 : begun.now;
      return cancelSubscription({ ...begun, now }, debtor.subscriptionId, {
        timing: 'at_end_of_current_billing_period',
      });
    });
    assert.equal(tries, 2);
    const { status, cancelScheduledAt } = await debtor.subscription();
    assert.deepEqual([status, cancelScheduledAt], ['cancellation_scheduled', march]);
  });

  test('cancels, uncancels and workers at the end of a period: it ends or goes on, and is billed for that', async () => {
    for (let round = 0; round < rounds; round++) {
      const debtor = await newDebtor(app);
      await setClockOf(app, debtor.environmentId, february - 1);
      const storm = Promise.all([
        atOnce(32, (index) => (index % 2 === 0 ? cancel(debtor, 'at_end_of_current_billing_period') : touch(debtor))),
        setClockOf(app, debtor.environmentId, february).then(() => workTogether(app, debtor.environmentId)),
      ]);
      const [answers] = await ended(app, storm, '32 callers and four workers');
      assertStatuses(answers, [200, 400, 409]);
      await work(debtor);
      const { status } = await debtor.subscription();
      const hasEnded = status === 'canceled';
      assert.deepEqual(await debtor.invoices(), [
        'subscription_start paid 0',
        hasEnded ? 'final_usage paid 0' : 'renewal paid 0',
      ]);
      assert.equal(await paidInAll(app, debtor.customerId), hasEnded ? 3075n : 6075n);
    }
    await assertSound(app);
  });
});

describe('race: settings change against renewal', () => {
  test('a renewal under way keeps the terms that it has read, and the next one has the new ones', async () => {
    const debtor = await newDebtor(app);
    await setClockOf(app, debtor.environmentId, february);
    const change = () => debtor.caller.put('/settings', { settings: { seller: { name: 'New name' } } });
    await meet<unknown, unknown>(app, renewal, () => work(debtor), change);
    await debtor.moveTo('2026-03-01');
    const invoices = app.owner.selectFrom('invoices').select(['seller', 'reason']).orderBy('id');
    const sellers = await invoices.where('subscriptionId', '=', debtor.subscriptionId).execute();
    assert.deepEqual(
      sellers.map(({ seller }) => (seller as { name?: string } | null)?.name ?? null),
      [null, null, 'New name'],
    );
  });

  test('32 changes of settings while four workers renew: each invoice is of one set of terms, none of a mixture', async () => {
    for (let round = 0; round < rounds; round++) {
      const debtor = await newDebtor(app, { token: undefined }, { netTermsDays: 30, seller: { name: '30 days' } });
      await setClockOf(app, debtor.environmentId, march);
      const change = (index: number) => {
        const netTermsDays = 30 + (index % 3);
        return debtor.caller.put('/settings', { settings: { netTermsDays, seller: { name: `${netTermsDays} days` } } });
      };
      await Promise.all([atOnce(32, change), workTogether(app, debtor.environmentId)]);
      const invoices = app.owner.selectFrom('invoices').select(['seller', 'invoiceDate', 'dueDate', 'total']);
      const made = await invoices.where('subscriptionId', '=', debtor.subscriptionId).orderBy('id').execute();
      assert.deepEqual(
        made.map(({ total }) => total),
        [3000n, 3075n, 3000n],
      );
      for (const { seller, invoiceDate, dueDate } of made)
        assert.equal((seller as { name: string }).name, `${((dueDate ?? 0) - invoiceDate) / 86_400_000} days`);
    }
    await assertSound(app);
  });
});

describe('race: the next subscription and the end before it', () => {
  /** A customer whose subscription is scheduled to end on 1 February. */
  async function leaving() {
    const debtor = await newDebtor(app);
    await cancel(debtor, 'at_end_of_current_billing_period');
    const { customerId } = debtor;
    const book = () => debtor.send('/subscriptions', { customerId, priceSlug: 'quarter-price', startDate: february });
    return { debtor, book, keep: () => touch(debtor) };
  }
  const statusesOf = (answers: readonly Answer[]) => answers.map(({ status }) => status);

  test('either the next one is booked or the end is taken back, never both', async () => {
    const kept = { table: 'subscriptions', on: 'update', when: "new.status = 'active'" } as const;
    const one = await leaving();
    assert.deepEqual(statusesOf(await meet(app, kept, one.keep, one.book)), [200, 409]);
    const other = await leaving();
    const booking = { table: 'subscriptions', on: 'insert' } as const;
    assert.deepEqual(statusesOf(await meet(app, booking, other.book, other.keep, other.book)), [200, 409, 409]);
    // The schema refuses it whoever writes.
    const { subscriptionId: id } = other.debtor;
    const change = { status: 'active', cancelScheduledAt: null };
    const update = app.owner.updateTable('subscriptions').set(change).where('id', '=', id);
    await assert.rejects(() => update.execute(), /subscriptions_one_at_a_time/);
  });

  test('requests about both, workers and the clock at the instant of the change: one end, one start, one charge', async () => {
    for (let round = 0; round < rounds; round++) {
      const { debtor, book } = await leaving();
      const { id } = (await book()).body.subscription;
      await setClockOf(app, debtor.environmentId, february);
      const [answers] = await Promise.all([
        atOnce(8, (index) => (index % 2 === 0 ? touch(debtor) : debtor.send(`/subscriptions/${id}/uncancel`))),
        workTogether(app, debtor.environmentId),
        debtor.moveTo('2026-02-01'),
      ]);
      assertStatuses(answers, [200]);
      await debtor.moveTo('2026-02-01');
      // Its last usage is billed at its end.
      assert.deepEqual(await debtor.payments(), [
        '2026-01-01 3000 succeeded',
        '2026-02-01 75 succeeded',
        '2026-02-01 9000 succeeded',
      ]);
      const living = app.owner.selectFrom('subscriptions').select(['id', 'isFreePlan', 'status']);
      const rows = await living
        .where('environmentId', '=', debtor.environmentId)
        .where('status', '!=', 'canceled')
        .execute();
      assert.deepEqual(rows, [{ id, isFreePlan: false, status: 'active' }]);
    }
    await assertSound(app);
  });
});

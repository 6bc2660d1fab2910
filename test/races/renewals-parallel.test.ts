import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { duePlan, duePopulation, monthStart, nextMonth, plainUsage } from '../../bench/due-population.ts';
import { renewHandler } from '../../src/billing/renew.ts';
import { startTestApp, type TestApp } from '../support/harness.ts';
import { renewDue, renewUntil } from '../support/renewing.ts';
import { countStatements } from '../support/statements.ts';

/** An environment with so many subscriptions that come due on 1 February 2027, with usage to bill. */
async function dueEnvironment(size: number): Promise<TestApp> {
  // The population is written into one cell.
  const app = await startTestApp({ cells: 1 });
  await app.setClock(monthStart);
  await app.post('/pricing-models/setup', duePlan(plainUsage));
  await sql.raw(duePopulation(size)).execute(app.owner);
  return app;
}

test('500 renewals take as many statements as 2', async () => {
  const app = await dueEnvironment(502);
  await app.setClock(nextMonth);
  const statementsFor = (size: number) =>
    app.inEnvironment(async (work) => {
      const { count } = await countStatements(work, async (counted) => {
        const ids = await renewHandler.take(counted, size);
        assert.equal(ids.length, size);
        await renewHandler.perform(counted, ids);
      });
      return count;
    });
  const forTwo = await statementsFor(2);
  assert.equal(await statementsFor(500), forTwo);
  await app.close();
});

/** Everything that renewals and payments make and change, ids and the time of writing aside. */
async function stateOf(app: TestApp) {
  const { rows } = await sql<Record<string, unknown>>`
    select s.id, s.status, s.current_billing_period_start, s.current_billing_period_end,
           (select json_agg(json_build_array(p.start_at, p.end_at, p.status) order by p.start_at) from billing_periods p
             where p.subscription_id = s.id) as periods,
           (select json_agg(json_build_array(i.reason, i.invoice_number, i.invoice_date, i.due_date, i.status, i.total,
                                             i.amount_paid) order by i.invoice_date)
              from invoices i where i.subscription_id = s.id) as invoices,
           (select json_agg(json_build_array(l.amount, l.quantity, l.description) order by i.invoice_date, l.id)
              from invoices i join invoice_line_items l on l.invoice_id = i.id where i.subscription_id = s.id) as lines,
           (select json_agg(json_build_array(y.amount, y.status) order by y.id) from payments y
             where y.subscription_id = s.id) as payments,
           (select json_agg(json_build_array(a.granted, a.used, a.expired, a.settled, a.available)) from ledger_accounts a
             where a.subscription_id = s.id) as accounts
      from subscriptions s order by s.id`.execute(app.owner);
  return rows;
}

test('eight workers at once renew each subscription once, and charge it once', async () => {
  const app = await dueEnvironment(60);
  await app.setClock(nextMonth);
  const renewed = await Promise.all(Array.from({ length: 8 }, () => renewDue(app, 7)));
  assert.equal(
    renewed.reduce((sum, each) => sum + each, 0),
    60,
  );
  const states = await stateOf(app);
  assert.equal(states.length, 60);
  for (const { invoices, payments, lines } of states) {
    assert.equal((invoices as unknown[]).length, 2, 'that of January and one of February');
    // 10.00 and 5.00 for January and for February, and 250 units of January at 0.50 per 100.
    const amounts = (lines as [number][]).map(([amount]) => amount).sort((one, other) => one - other);
    assert.deepEqual(amounts, [125, 500, 500, 1000, 1000]);
    assert.deepEqual(payments, [
      [1500, 'succeeded'],
      [1625, 'succeeded'],
    ]);
  }
  await app.close();
});

test('three months late, in one go, is the same as on time', async () => {
  const april = Date.UTC(2027, 3, 1);
  const [onTime, late] = [await dueEnvironment(5), await dueEnvironment(5)];
  assert.equal(await renewUntil(onTime, april), 15);
  await late.setClock(april);
  assert.equal(await renewDue(late, 2), 15);
  assert.deepEqual(await stateOf(late), await stateOf(onTime));
  await Promise.all([onTime.close(), late.close()]);
});

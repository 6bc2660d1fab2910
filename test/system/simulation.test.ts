import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { meterSlug } from '../../simulation/catalogue-usage.ts';
import { Disagreement, type Summary, simulate } from '../../simulation/run.ts';
import type { World } from '../../simulation/world.ts';
import { testSeed } from '../support/seed.ts';

// A short part of what `npm run simulate` does for as long as one likes: see simulation/README.md.

function killsOf({ kills }: Summary): number {
  return Object.values(kills).reduce((sum, count) => sum + count, 0);
}

test('a life of known steps, with kills and cut connections, ends as the oracle says', async () => {
  const summary = await simulate({ seed: 9, steps: 10, crashes: true, serves: 1 });
  assert.equal(summary.steps, 10);
  assert(killsOf(summary) > 0 && summary.cuts > 0 && summary.eventsDelivered > 0, JSON.stringify(summary));
});

test('a life of random steps ends as the oracle says', async () => {
  assert.equal((await simulate({ seed: testSeed, steps: 6, crashes: true, serves: 2 })).steps, 6);
});

/** What is done wrongly on purpose, by the name of what must be said of it then. */
const wrongs: readonly (readonly [found: RegExp | RegExp[], perform: (world: World) => Promise<unknown>])[] = [
  [
    / has +.*"granted":/,
    ({ database }) => sql`update ledger_accounts set granted = granted + 1`.execute(database.owner),
  ],
  [
    / has +.*"invoice":/,
    ({ database }) => sql`update invoices set invoice_date = invoice_date + 1`.execute(database.owner),
  ],
  [
    / has +.*"status":"past_due"/,
    ({ database }) =>
      sql`update subscriptions set status = 'past_due', arrears = 'past_due' where status = 'active'`.execute(
        database.owner,
      ),
  ],
  [
    [/ has +.*"subscription".*"events":/, /customer-\d+ has used \d+ calls, and has paid for or been given \d+/],
    ({ database }) =>
      sql`
        with events as (
          select e.id from usage_events e
            join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
            join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id
           where m.slug = ${meterSlug}
        ), lost as (delete from usage_events where id = (select min(id) from events))
        update usage_events set amount = amount + 1000000 where id = (select max(id) from events)`.execute(
        database.owner,
      ),
  ],
  [/the network should have taken/, chargeAgain],
];

/** The same charge twice, under another key: what a service would do that forgets what it did. */
async function chargeAgain({ database, network }: World): Promise<void> {
  const { rows } = await sql<{ customer: string; token: string }>`
    select r.reference as customer, m.processor_token as token
      from processor_customers r
      join payment_methods m on m.environment_id = r.environment_id and m.customer_id = r.customer_id
     order by m.id`.execute(database.owner);
  for (const { customer, token } of rows) {
    const body = new URLSearchParams({ customer, payment_method: token, amount: '3000' });
    const { status } = await fetch(`${network.url}/v1/payment_intents`, { method: 'POST', body });
    if (status === 200) return;
  }
  assert.fail('nobody has a card that works');
}

test('what is done wrongly behind the back of the service is found and named', async () => {
  const said: string[] = [];
  await assert.rejects(
    simulate({
      // By then there are a card, an invoice, an active subscription and usage to do wrong to.
      seed: 31,
      steps: 14,
      crashes: false,
      serves: 1,
      async atEnd(world, find) {
        assert.deepEqual(await find(), []);
        for (const [found, perform] of wrongs) {
          const before = new Set(await find());
          await perform(world);
          const fresh = (await find()).filter((line) => !before.has(line));
          said.push(fresh.join('\n'));
          for (const each of [found].flat()) assert.match(fresh.join('\n'), each);
        }
        // An event that nobody is told of.
        await sql`delete from webhook_deliveries where id = (select min(id) from webhook_deliveries)`.execute(
          world.database.owner,
        );
      },
    }),
    /events without a delivery|messages about/,
  );
  assert.equal(said.length, wrongs.length);
});

test('a defect ends the life at the next step, and says how to come there again', async () => {
  const perform = ({ database }: World) =>
    sql`update subscriptions set current_billing_period_end = current_billing_period_end + 60000`.execute(
      database.owner,
    );
  const plant = { afterStep: 4, perform };
  await assert.rejects(simulate({ seed: 3, steps: 10, crashes: false, serves: 1, plant }), (error: Error) => {
    assert(error instanceof Disagreement, String(error));
    assert.match(error.message, /^seed 3, step 5: /);
    assert.match(error.message, /npm run simulate -- --seed 3 --steps 5 --crashes off; --steps 4 stops right before/);
    return true;
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { grantCredits } from '../../src/usage/actions-ledger.ts';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';
import { insertManySubscriptions } from '../support/many-subscriptions.ts';
import { until } from '../support/race.ts';

const app = await startTestApp();

const subscriptions = 1_000;

/** How many rows indexes have led to in each table, once the sessions have told of as many entries. */
async function rowsFound(entries: number): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  await until(async () => {
    const { rows } = await sql<{ table: string; found: number; added: number }>`
      select relname as table, coalesce(idx_tup_fetch, 0)::float8 as found, n_tup_ins::float8 as added
        from pg_stat_user_tables where schemaname = current_schema()`.execute(app.cell.owner);
    for (const row of rows) found.set(row.table, row.found);
    return rows.some(({ table, added }) => table === 'ledger_entries' && added >= entries);
  }, `the statistics of ${entries} entries`);
  return found;
}

const event = (subscriptionId: string) => {
  return { subscriptionId, transactionId: anyId('event'), amount: 1, priceSlug: 'call-overage' };
};

test('a first load of a thousand accounts looks each up by its key, though plans were made for empty tables', async () => {
  const { subscriptionId, pricingModelId, meterId } = await insertFixture(app);
  const grant = (id: string) => {
    const rest = { featureId: null, billingPeriodId: null, expiresAt: null, source: 'manual_adjustment' as const };
    return { subscriptionId: id, pricingModelId, usageMeterId: meterId, amount: 5n, sourceId: anyId('event'), ...rest };
  };
  await app.inEnvironment((work) => grantCredits(work, [grant(subscriptionId)]));
  const { status } = await app.request('POST', '/usage-events', { usageEvent: event(subscriptionId) });
  assert.equal(status, 200);
  await insertManySubscriptions(app, subscriptions, { now: Date.now() });
  const { rows } = await sql<{ id: string }>`
    select id from subscriptions where status = 'active' and id <> ${subscriptionId}`.execute(app.owner);
  assert.equal(rows.length, subscriptions);
  // As the service itself does it within a second of requests that write.
  await sql`select analyze_grown_tables()`.execute(app.cell.owner);
  const before = await rowsFound(2);
  await app.inEnvironment((work) =>
    grantCredits(
      work,
      rows.map(({ id }) => grant(id)),
    ),
  );
  const load = await app.request('POST', '/usage-events/bulk', { usageEvents: rows.map(({ id }) => event(id)) });
  assert.equal(load.status, 200);
  const after = await rowsFound(2 + 2 * subscriptions);
  for (const [table, found] of after) {
    const forEach = (found - (before.get(table) ?? 0)) / subscriptions;
    assert(forEach < 30, `${forEach} rows of ${table} for each account`);
  }
});

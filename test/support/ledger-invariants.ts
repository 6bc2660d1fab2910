import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { findViolations, type Invariant } from '../../src/invariants/store-invariants.ts';
import { ledgerInvariants } from '../../src/invariants/store-invariants-ledger.ts';
import { usageInvariants } from '../../src/invariants/store-invariants-usage.ts';
import type { TestApp } from './harness.ts';

async function assertHold(app: TestApp, invariants: readonly Invariant[]): Promise<void> {
  for (const invariant of invariants) {
    const { rows } = await findViolations(app.owner, invariant);
    assert.deepEqual(rows, [], invariant.sentence);
  }
}

/** Asserts what always holds of the whole ledger, by SQL that adds up the history. */
export async function assertLedgerAddsUp(app: TestApp): Promise<void> {
  await assertHold(app, ledgerInvariants);
}

/**
 * Asserts that all usage on the accounts came from events, and each counted event is on an account. Only where no meter
 * has changed the way in which it counts.
 */
export async function assertEventsAddUp(app: TestApp): Promise<void> {
  await assertHold(app, usageInvariants);
  const { rows } = await sql`
    with counted as (
      select s.environment_id, s.ledger_account_id as id, sum(e.amount) as amount
        from usage_events e join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
        join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id
        left join usage_event_distinct_properties d on d.environment_id = e.environment_id and d.usage_event_id = e.id
       where m.aggregation_type = 'sum' or d.usage_event_id is not null
       group by s.environment_id, s.ledger_account_id
    )
    select * from counted full join ledger_accounts a using (environment_id, id)
     where coalesce(a.used, 0) <> coalesce(counted.amount, 0)`.execute(app.owner);
  assert.deepEqual(rows, [], 'an account used what its counted events say');
}

/** Units as the invoice with this id bills them. */
export function billedBy<Line>(invoiceId: string, lines: readonly Line[]) {
  return lines.map((line) => ({ ...line, invoiceId }));
}

import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { TestApp } from './harness.ts';

/** Asserts what always holds of the whole ledger, by SQL that adds up the history. */
export async function assertLedgerAddsUp(app: TestApp): Promise<void> {
  const { rows: accounts } = await sql`
    with entry as (
      select environment_id, ledger_account_id, id,
             sum(amount) filter (where debit_side = 'granted') as granted,
             sum(amount) filter (where credit_side = 'used') as used,
             sum(amount) filter (where credit_side = 'expired') as expired,
             sum(case 'settled' when debit_side then amount when credit_side then -amount end) as settled
        from ledger_entries group by environment_id, ledger_account_id, id
    ), applied as (
      select environment_id, ledger_entry_id, sum(amount) as amount from usage_credit_applications group by 1, 2
    ), history as (
      select entry.environment_id, entry.ledger_account_id as id, coalesce(sum(granted), 0) as granted,
             coalesce(sum(used), 0) as used, coalesce(sum(expired), 0) as expired, coalesce(sum(settled), 0) as settled,
             coalesce(sum(applied.amount), 0) as covered, bool_and(coalesce(applied.amount, 0) <= coalesce(used, 0)) as bounded
        from entry left join applied on applied.environment_id = entry.environment_id and applied.ledger_entry_id = entry.id
       group by entry.environment_id, entry.ledger_account_id
    ), overage as (
      select environment_id, ledger_account_id as id, sum(uncovered) as uncovered, sum(invoiced) as invoiced
        from usage_overages group by environment_id, ledger_account_id
    ), credit as (
      select environment_id, ledger_account_id as id, sum(issued) as issued, sum(applied) as applied, sum(expired) as expired
        from usage_credits group by environment_id, ledger_account_id
    )
    select a.*, to_json(history) as history, to_json(overage) as overage, to_json(credit) as credit from ledger_accounts a
      left join history using (environment_id, id) left join overage using (environment_id, id) left join credit using (environment_id, id)
     where (a.granted, a.used, a.expired, a.settled, a.covered) is distinct from
           (coalesce(history.granted, 0), coalesce(history.used, 0), coalesce(history.expired, 0), coalesce(history.settled, 0), coalesce(history.covered, 0))
        or not coalesce(history.bounded, true)
        or a.used - a.covered <> coalesce(overage.uncovered, 0) or a.settled > coalesce(overage.invoiced, 0)
        or (a.granted, a.covered, a.expired) is distinct from
           (coalesce(credit.issued, 0), coalesce(credit.applied, 0), coalesce(credit.expired, 0))`.execute(app.owner);
  assert.deepEqual(accounts, [], 'the sides of an account are the sums of its entries, credits and overages');

  const { rows: credits } = await sql`
    select c.* from usage_credits c
     where (issued, expired, applied) is distinct from
           ((select coalesce(sum(amount), 0) from ledger_entries e where e.environment_id = c.environment_id
                and e.usage_credit_id = c.id and e.debit_side = 'granted'),
            (select coalesce(sum(amount), 0) from ledger_entries e where e.environment_id = c.environment_id
                and e.usage_credit_id = c.id and e.credit_side = 'expired'),
            (select coalesce(sum(amount), 0) from usage_credit_applications u where u.environment_id = c.environment_id
                and u.usage_credit_id = c.id))`.execute(app.owner);
  assert.deepEqual(credits, [], 'what a credit lost is what its entries and applications say');
}

/** Asserts that all usage on the accounts came from events, and each counted event is on an account. */
export async function assertEventsAddUp(app: TestApp): Promise<void> {
  const { rows } = await sql`
    with counted as (
      select e.environment_id, e.subscription_id, e.usage_meter_id, sum(e.amount) as amount
        from usage_events e join usage_meters m on m.environment_id = e.environment_id and m.id = e.usage_meter_id
        left join usage_event_distinct_properties d on d.environment_id = e.environment_id and d.usage_event_id = e.id
       where m.aggregation_type = 'sum' or d.usage_event_id is not null
       group by e.environment_id, e.subscription_id, e.usage_meter_id
    )
    select * from counted full join ledger_accounts a using (environment_id, subscription_id, usage_meter_id)
     where coalesce(a.used, 0) <> coalesce(counted.amount, 0)`.execute(app.owner);
  assert.deepEqual(rows, [], 'an account used what its counted events say');
}

/** Units as the invoice with this id bills them. */
export function billedBy<Line>(invoiceId: string, lines: readonly Line[]) {
  return lines.map((line) => ({ ...line, invoiceId }));
}

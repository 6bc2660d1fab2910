import assert from 'node:assert/strict';
import { type RawBuilder, sql } from 'kysely';
import type { TestApp } from './harness.ts';

const applications = sql`
  (select environment_id, id as ledger_entry_id, applied.usage_credit_id, applied.amount
     from ledger_entries, unnest(applied_credit_ids, applied_amounts) as applied (usage_credit_id, amount)) applications`;

// Each adds up what was written down of single uses, and answers where the sums that are kept say something else.
const queries: Record<string, RawBuilder<unknown>> = {
  'of each credit, what paid for usage, ended and was taken back is no less than 0 and no more than was granted': sql`
    select c.id, c.issued, c.applied, c.pending, c.expired, c.taken_back, used.amount
      from (select c.*, coalesce(a.covered - a.applied, 0) as pending
              from usage_credits c
              left join ledger_accounts a on a.environment_id = c.environment_id and a.pending_credit_id = c.id) c
      left join (select environment_id, usage_credit_id, sum(amount) as amount
                   from ${applications} group by environment_id, usage_credit_id) used
        on used.environment_id = c.environment_id and used.usage_credit_id = c.id
     where c.applied + c.pending <> coalesce(used.amount, 0) or least(c.applied, c.pending, c.expired, c.taken_back) < 0
        or c.applied + c.pending + c.expired + c.taken_back > c.issued`,
  'of each use, credits cover no more than all': sql`
    select e.id, e.amount, sum(applications.amount) as covered
      from ledger_entries e
      join ${applications} on applications.environment_id = e.environment_id and applications.ledger_entry_id = e.id
     group by e.environment_id, e.id, e.amount having sum(applications.amount) > e.amount or min(applications.amount) <= 0`,
  'of all use of an account at a price, what is covered and what is on invoices is no more than all': sql`
    with used as (
      select e.environment_id, e.ledger_account_id, e.price_id, sum(e.amount) as units, coalesce(sum(covered.amount), 0) as covered
        from ledger_entries e
        left join (select environment_id, ledger_entry_id, sum(amount) as amount
                     from ${applications} group by environment_id, ledger_entry_id) covered
          on covered.environment_id = e.environment_id and covered.ledger_entry_id = e.id
       where e.credit_side = 'used' group by e.environment_id, e.ledger_account_id, e.price_id
    ), invoiced as (
      select environment_id, ledger_account_id, price_id, sum(ledger_account_credit) as units
        from invoice_line_items where type = 'usage' group by environment_id, ledger_account_id, price_id
    )
    select * from used full join invoiced using (environment_id, ledger_account_id, price_id)
     where used.units is null or used.covered + coalesce(invoiced.units, 0) > used.units`,
  'a transaction is counted once on a meter, and what an account used is the sum of what is counted': sql`
    with events as (
      select e.environment_id, s.ledger_account_id, s.usage_meter_id, e.transaction_id,
             case when m.aggregation_type = 'sum' or d.usage_event_id is not null then e.amount else 0 end as amount
        from usage_events e
        join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
        join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id
        left join usage_event_distinct_properties d on d.environment_id = e.environment_id and d.usage_event_id = e.id
    )
    select usage_meter_id as id, transaction_id as of, count(*) as times from events
     group by environment_id, usage_meter_id, transaction_id having count(*) > 1
    union all
    select a.id, 'account', a.used - coalesce(sum(e.amount), 0)
      from ledger_accounts a
      left join events e on e.environment_id = a.environment_id and e.ledger_account_id = a.id
     group by a.environment_id, a.id, a.used having a.used <> coalesce(sum(e.amount), 0)`,
};

/** Asserts by query that nothing was counted, covered or billed twice. Of all runs so far. */
export async function assertCountedOnce(app: TestApp): Promise<void> {
  for (const [sentence, query] of Object.entries(queries)) {
    const { rows } = await query.execute(app.owner);
    assert.deepEqual(rows, [], sentence);
  }
}

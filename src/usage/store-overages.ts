import { type RawBuilder, sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { BilledUsage, Overage } from './ledger.ts';

/** The unbilled usage of the accounts `a` that `which` selects. */
function overages(work: Work, which: RawBuilder<boolean>) {
  return sql`
    select a.subscription_id, o.ledger_account_id, a.usage_meter_id, m.name as meter_name, o.price_id, p.unit_price,
           p.usage_events_per_unit, o.uncovered - o.invoiced as units
      from ledger_accounts a
      join usage_overages o on o.environment_id = a.environment_id and o.ledger_account_id = a.id
      join usage_meters m on m.environment_id = a.environment_id and m.id = a.usage_meter_id
      join prices p on p.environment_id = o.environment_id and p.id = o.price_id
     where a.environment_id = ${work.environmentId} and ${which} and o.uncovered > o.invoiced`;
}

/** Marks all uncovered usage of locked accounts as invoiced. Returns the newly marked part. */
export async function claimOverages(work: Work, ledgerAccountIds: readonly string[]): Promise<Overage[]> {
  const { rows } = await sql<Overage>`
    with due as (${overages(work, sql`a.id = any(${ledgerAccountIds}::text[])`)}
    ), claimed as (
      update usage_overages o set invoiced = o.uncovered from due
       where o.environment_id = ${work.environmentId} and o.ledger_account_id = due.ledger_account_id and o.price_id = due.price_id
    )
    select * from due order by usage_meter_id, price_id`.execute(work.db);
  return rows;
}

/** The result that `claimOverages` would return for the accounts of the subscriptions, without changes. */
export async function listOverages(work: Work, subscriptionIds: readonly string[]): Promise<Overage[]> {
  const { rows } = await sql<Overage>`
    ${overages(work, sql`a.subscription_id = any(${subscriptionIds}::text[])`)}
     order by a.usage_meter_id, o.price_id`.execute(work.db);
  return rows;
}

/** Unmarks invoiced units of locked accounts, to be billed again. Each (account, price) is listed once. */
export async function uninvoice(work: Work, billed: readonly BilledUsage[]): Promise<void> {
  await sql`
    update usage_overages o set invoiced = o.invoiced - released.units
      from unnest(
             ${billed.map((line) => line.ledgerAccountId)}::text[],
             ${billed.map((line) => line.priceId)}::text[],
             ${billed.map((line) => line.units)}::numeric[]
           ) as released (ledger_account_id, price_id, units)
     where o.environment_id = ${work.environmentId} and o.ledger_account_id = released.ledger_account_id
       and o.price_id = released.price_id`.execute(work.db);
}

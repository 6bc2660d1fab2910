import { sql } from 'kysely';
import { newId } from '../platform/new-id.ts';
import type { Work } from '../platform/work.ts';
import { type ClaimedOverage, moves, type SettledLine } from './ledger.ts';

/** Marks all usage of locked accounts that no credit covered as invoiced. Answers what was not yet. */
export async function claimOverages(work: Work, ledgerAccountIds: readonly string[]): Promise<ClaimedOverage[]> {
  const { rows } = await sql<ClaimedOverage>`
    with due as (
      select o.ledger_account_id, a.usage_meter_id, o.price_id, o.uncovered - o.invoiced as units
        from usage_overages o
        join ledger_accounts a on a.environment_id = o.environment_id and a.id = o.ledger_account_id
       where o.environment_id = ${work.environmentId} and o.ledger_account_id = any(${ledgerAccountIds}::text[])
         and o.uncovered > o.invoiced
    ), claimed as (
      update usage_overages o set invoiced = o.uncovered from due
       where o.environment_id = ${work.environmentId} and o.ledger_account_id = due.ledger_account_id and o.price_id = due.price_id
    )
    select * from due order by usage_meter_id, price_id`.execute(work.db);
  return rows;
}

/** Units of an account that is locked. */
export interface AccountSettlement extends SettledLine {
  readonly pricingModelId: string;
}

/** Books that a paid invoice paid for usage, on locked accounts, once for each invoice. Each account is there once. */
export async function settleAccounts(
  work: Work,
  invoiceId: string,
  settlements: readonly AccountSettlement[],
): Promise<void> {
  const { environmentId, now } = work;
  await sql`
    with written_transaction as (
      insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
      values (${environmentId}, ${newId('ledgerTransaction')}, ${settlements[0]?.pricingModelId}, 'settle_invoice_usage_costs',
              ${invoiceId}, ${now}, ${now})
      on conflict (environment_id, type, source_id) do nothing
      returning id
    ), settled_line as (
      select asked.*, written_transaction.id as transaction_id
        from unnest(
               ${settlements.map(() => newId('ledgerEntry'))}::text[],
               ${settlements.map((settlement) => settlement.pricingModelId)}::text[],
               ${settlements.map((settlement) => settlement.ledgerAccountId)}::text[],
               ${settlements.map((settlement) => settlement.units)}::numeric[]
             ) as asked (entry_id, pricing_model_id, ledger_account_id, units), written_transaction
    ), written_entry as (
      insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, created_at)
      select ${environmentId}, entry_id, pricing_model_id, transaction_id, ledger_account_id,
             ${moves.settlement.debitSide}, ${moves.settlement.creditSide}, units, ${now}::bigint
        from settled_line
    )
    update ledger_accounts a set settled = a.settled + settled_line.units, updated_at = ${now}
      from settled_line where a.environment_id = ${environmentId} and a.id = settled_line.ledger_account_id`.execute(
    work.db,
  );
}

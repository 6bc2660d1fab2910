import { sql } from 'kysely';
import { newId } from '../platform/new-id.ts';
import type { Work } from '../platform/work.ts';
import { moves } from './ledger.ts';

/** Usage of one price on an account that is locked. */
export interface AccountUsage {
  readonly ledgerAccountId: string;
  readonly pricingModelId: string;
  readonly priceId: string;
  readonly billingPeriodId: string | null;
  /** 1 or more. */
  readonly units: bigint;
}

/**
 * Books usage on locked accounts in one statement: covers it with the credits that can be used now, writes the entries
 * and which credits paid for them, and moves the sides of the accounts. (account, price) is there once.
 *
 * Credits cover usage as `applyCredits` (src/rating/credits.ts) says: laid end to end in their order they are a line,
 * the usages of an account laid end to end are another, and a credit covers a usage as far as the two overlap.
 */
export async function insertUsage(work: Work, sourceId: string, usages: readonly AccountUsage[]): Promise<void> {
  const { environmentId, now } = work;
  await sql`
    with usage as (
      select asked.*, sum(asked.units) over (partition by asked.ledger_account_id order by asked.position) as upto
        from unnest(
               ${usages.map(() => newId('ledgerEntry'))}::text[],
               ${usages.map((usage) => usage.pricingModelId)}::text[],
               ${usages.map((usage) => usage.ledgerAccountId)}::text[],
               ${usages.map((usage) => usage.priceId)}::text[],
               ${usages.map((usage) => usage.billingPeriodId)}::text[],
               ${usages.map((usage) => usage.units)}::numeric[]
             ) with ordinality
             as asked (entry_id, pricing_model_id, ledger_account_id, price_id, billing_period_id, units, position)
    ), credit as (
      select id, ledger_account_id, issued - applied - expired as remaining,
             sum(issued - applied - expired) over (partition by ledger_account_id order by expires_at nulls last, id) as upto
        from usage_credits
       where environment_id = ${environmentId} and not spent and (expires_at is null or expires_at > ${now}::bigint)
         and ledger_account_id = any(${[...new Set(usages.map((usage) => usage.ledgerAccountId))]}::text[])
    ), application as (
      select usage.entry_id, usage.ledger_account_id, credit.id as usage_credit_id,
             least(usage.upto, credit.upto) - greatest(usage.upto - usage.units, credit.upto - credit.remaining) as amount
        from usage join credit on credit.ledger_account_id = usage.ledger_account_id
         and credit.upto > usage.upto - usage.units and credit.upto - credit.remaining < usage.upto
    ), covered as (
      select usage.ledger_account_id, usage.price_id, usage.units, coalesce(sum(application.amount), 0) as amount
        from usage left join application on application.entry_id = usage.entry_id
       group by usage.ledger_account_id, usage.price_id, usage.units
    ), written_transaction as (
      insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
      values (${environmentId}, ${newId('ledgerTransaction')}, ${usages[0]?.pricingModelId}, 'usage_event_processed',
              ${sourceId}, ${now}, ${now})
      returning id
    ), written_entry as (
      insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, price_id, billing_period_id, created_at)
      select ${environmentId}, usage.entry_id, usage.pricing_model_id, written_transaction.id, usage.ledger_account_id,
             ${moves.usage.debitSide}, ${moves.usage.creditSide}, usage.units, usage.price_id, usage.billing_period_id, ${now}::bigint
        from usage, written_transaction
    ), written_application as (
      insert into usage_credit_applications (environment_id, ledger_entry_id, usage_credit_id, amount)
      select ${environmentId}, entry_id, usage_credit_id, amount from application
    ), used_credit as (
      update usage_credits set applied = applied + used.amount, updated_at = ${now}
        from (select usage_credit_id, sum(amount) as amount from application group by usage_credit_id) used
       where environment_id = ${environmentId} and id = used.usage_credit_id
    ), moved_account as (
      update ledger_accounts set used = used + moved.units, covered = ledger_accounts.covered + moved.amount, updated_at = ${now}
        from (select ledger_account_id, sum(units) as units, sum(amount) as amount from covered group by ledger_account_id) moved
       where environment_id = ${environmentId} and id = moved.ledger_account_id
    )
    insert into usage_overages (environment_id, ledger_account_id, price_id, uncovered)
    select ${environmentId}, ledger_account_id, price_id, units - amount from covered where units > amount
    on conflict (environment_id, ledger_account_id, price_id)
    do update set uncovered = usage_overages.uncovered + excluded.uncovered`.execute(work.db);
}

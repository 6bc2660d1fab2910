import { sql } from 'kysely';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type AccountGrant, defaultPriority, moves, transactionTypeOfSource } from './ledger.ts';

/** Grants and books credits on locked accounts, except those whose (source, sourceId) was granted before. */
export async function insertCredits(work: Work, grants: readonly AccountGrant[]): Promise<void> {
  if (grants.length === 0) return;
  const { environmentId, now } = work;
  const transactionIds = new Map(grants.map((grant) => [grant.source, newId('ledgerTransaction')]));
  await sql`
    with asked as (
      select * from unnest(
        ${grants.map((grant) => grant.id ?? newId('usageCredit'))}::text[],
        ${grants.map(() => newId('ledgerEntry'))}::text[],
        ${grants.map((grant) => transactionIds.get(grant.source))}::text[],
        ${grants.map((grant) => transactionTypeOfSource[grant.source])}::text[],
        ${grants.map((grant) => grant.pricingModelId)}::text[],
        ${grants.map((grant) => grant.ledgerAccountId)}::text[],
        ${grants.map((grant) => grant.featureId)}::text[],
        ${grants.map((grant) => grant.billingPeriodId)}::text[],
        ${grants.map((grant) => grant.source)}::text[],
        ${grants.map((grant) => grant.sourceId)}::text[],
        ${grants.map((grant) => grant.amount)}::numeric[],
        ${grants.map((grant) => grant.expiresAt)}::bigint[],
        ${grants.map((grant) => grant.priority ?? defaultPriority)}::integer[],
        ${grants.map((grant) => grant.reason ?? null)}::text[]
      ) as asked (id, entry_id, transaction_id, transaction_type, pricing_model_id, ledger_account_id, feature_id,
                  billing_period_id, source, source_id, amount, expires_at, priority, reason)
    ), granted as (
      insert into usage_credits (environment_id, id, pricing_model_id, ledger_account_id, feature_id, billing_period_id,
             source, source_id, issued, expires_at, priority, reason, granted_at, created_at, updated_at)
      select ${environmentId}, id, pricing_model_id, ledger_account_id, feature_id, billing_period_id,
             source, source_id, amount, expires_at, priority, reason, ${now}::bigint, ${now}::bigint, ${now}::bigint
        from asked order by id collate "C"
      on conflict (environment_id, source, source_id) do nothing
      returning id
    ), booked as (
      select asked.* from asked join granted on granted.id = asked.id
    ), written_transaction as (
      insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
      select ${environmentId}, transaction_id, min(pricing_model_id), transaction_type, min(id collate "C"), ${now}::bigint, ${now}::bigint
        from booked group by transaction_id, transaction_type
    ), written_entry as (
      insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, billing_period_id, usage_credit_id, available_after, created_at)
      select ${environmentId}, booked.entry_id, booked.pricing_model_id, booked.transaction_id, booked.ledger_account_id,
             ${moves.grant.debitSide}, ${moves.grant.creditSide}, booked.amount, booked.billing_period_id, booked.id,
             a.available + sum(booked.amount) over (partition by booked.ledger_account_id order by booked.id),
             greatest(a.updated_at, ${now}::bigint)
        from booked join ledger_accounts a on a.environment_id = ${environmentId} and a.id = booked.ledger_account_id
       order by booked.id
    )
    update ledger_accounts a
       set granted = a.granted + moved.amount, credits_end_at = least(moved.end_at, ${earlierCreditsEndAt(now)}),
           updated_at = greatest(a.updated_at, ${now})
      from (select ledger_account_id, sum(amount) as amount, min(expires_at) as end_at from booked group by ledger_account_id) moved
     where a.environment_id = ${environmentId} and a.id = moved.ledger_account_id`.execute(work.db);
}

/**
 * The next expiry of a credit with a remainder on account `a`: the stored one, or a fresh lookup if that has passed.
 */
function earlierCreditsEndAt(now: Instant) {
  return sql`
    case when a.credits_end_at <= ${now}::bigint
         then (select min(c.expires_at) from usage_credits c
                where c.environment_id = a.environment_id and c.ledger_account_id = a.id and not c.spent)
         else a.credits_end_at end`;
}

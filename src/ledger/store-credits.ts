import { sql } from 'kysely';
import { newId } from '../platform/new-id.ts';
import type { Work } from '../platform/work.ts';
import { type CreditExpiry, type CreditGrant, moves, transactionTypeOfSource } from './ledger.ts';

/** A grant to an account that is locked. */
export interface AccountGrant extends CreditGrant {
  readonly ledgerAccountId: string;
}

/** Grants credits to locked accounts, and books them, except those whose (source, sourceId) was granted before. */
export async function insertCredits(work: Work, grants: readonly AccountGrant[]): Promise<void> {
  const { environmentId, now } = work;
  const transactionIds = new Map(grants.map((grant) => [grant.source, newId('ledgerTransaction')]));
  await sql`
    with asked as (
      select * from unnest(
        ${grants.map(() => newId('usageCredit'))}::text[],
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
        ${grants.map((grant) => grant.expiresAt)}::bigint[]
      ) as asked (id, entry_id, transaction_id, transaction_type, pricing_model_id, ledger_account_id, feature_id,
                  billing_period_id, source, source_id, amount, expires_at)
    ), granted as (
      insert into usage_credits (environment_id, id, pricing_model_id, ledger_account_id, feature_id, billing_period_id,
             source, source_id, issued, expires_at, granted_at, created_at, updated_at)
      select ${environmentId}, id, pricing_model_id, ledger_account_id, feature_id, billing_period_id,
             source, source_id, amount, expires_at, ${now}::bigint, ${now}::bigint, ${now}::bigint
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
             credit_side, amount, billing_period_id, usage_credit_id, created_at)
      select ${environmentId}, entry_id, pricing_model_id, transaction_id, ledger_account_id,
             ${moves.grant.debitSide}, ${moves.grant.creditSide}, amount, billing_period_id, id, ${now}::bigint
        from booked
    )
    update ledger_accounts set granted = granted + moved.amount, updated_at = ${now}
      from (select ledger_account_id, sum(amount) as amount from booked group by ledger_account_id) moved
     where environment_id = ${environmentId} and id = moved.ledger_account_id`.execute(work.db);
}

/** A credit with an unused rest. */
export interface OpenCredit {
  readonly id: string;
  readonly pricingModelId: string;
}

/** The credits of locked accounts that have ended by the instant of their subscription and are not used up, oldest first. */
export async function listLapsedCredits(work: Work, expiries: readonly CreditExpiry[]): Promise<OpenCredit[]> {
  const { rows } = await sql<OpenCredit>`
    select c.id, c.pricing_model_id
      from unnest(
             ${expiries.map((expiry) => expiry.subscriptionId)}::text[],
             ${expiries.map((expiry) => expiry.at)}::bigint[]) as asked (subscription_id, at)
      join ledger_accounts a on a.environment_id = ${work.environmentId} and a.subscription_id = asked.subscription_id
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id
       and not c.spent and c.expires_at <= asked.at
     order by c.id`.execute(work.db);
  return rows;
}

/** Ends credits of locked accounts: what is left of each moves off what is available. */
export async function endCredits(work: Work, credits: readonly OpenCredit[]): Promise<void> {
  const { environmentId, now } = work;
  const [first] = credits;
  if (first === undefined) return;
  await sql`
    with lapsed as (
      select c.id, c.pricing_model_id, c.ledger_account_id, c.billing_period_id, asked.entry_id, c.issued - c.applied - c.expired as rest
        from unnest(${credits.map(() => newId('ledgerEntry'))}::text[], ${credits.map((credit) => credit.id)}::text[])
             as asked (entry_id, id)
        join usage_credits c on c.environment_id = ${environmentId} and c.id = asked.id
    ), written_transaction as (
      insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
      values (${environmentId}, ${newId('ledgerTransaction')}, ${first.pricingModelId}, 'credit_grant_expired', ${first.id}, ${now}, ${now})
      returning id
    ), written_entry as (
      insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, billing_period_id, usage_credit_id, created_at)
      select ${environmentId}, lapsed.entry_id, lapsed.pricing_model_id, written_transaction.id, lapsed.ledger_account_id,
             ${moves.expiry.debitSide}, ${moves.expiry.creditSide}, lapsed.rest, lapsed.billing_period_id, lapsed.id, ${now}::bigint
        from lapsed, written_transaction
    ), ended_credit as (
      update usage_credits c set expired = c.expired + lapsed.rest, updated_at = ${now}
        from lapsed where c.environment_id = ${environmentId} and c.id = lapsed.id
    )
    update ledger_accounts a set expired = a.expired + moved.rest, updated_at = ${now}
      from (select ledger_account_id, sum(rest) as rest from lapsed group by ledger_account_id) moved
     where a.environment_id = ${environmentId} and a.id = moved.ledger_account_id`.execute(work.db);
}

import { sql } from 'kysely';
import { idArray } from '../database/array-literal.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type CreditExpiry, moves } from './ledger.ts';
import type { EndingCredit } from './rollover.ts';

/**
 * Unused credits of locked accounts that have expired by the instant of their subscription, oldest first, with the
 * rollover terms of their features. Pending applications must have been written before.
 */
export async function listLapsedCredits(work: Work, expiries: readonly CreditExpiry[]): Promise<EndingCredit[]> {
  const { rows } = await sql<EndingCredit>`
    select c.id, c.pricing_model_id, c.ledger_account_id, a.subscription_id, a.usage_meter_id, c.feature_id, c.priority,
           c.issued - c.applied - c.expired - c.taken_back as rest, f.rollover_maximum, f.rollover_periods,
           case when f.id is null then 0
                else (select coalesce(sum(r.issued - r.applied - r.expired - r.taken_back), 0) from usage_credits r
                       where r.environment_id = c.environment_id and r.ledger_account_id = c.ledger_account_id and not r.spent
                         and r.feature_id = c.feature_id and r.source = 'rollover' and r.expires_at > asked.at) end as outstanding
      from unnest(
             ${expiries.map((expiry) => expiry.subscriptionId)}::text[],
             ${expiries.map((expiry) => expiry.at)}::bigint[]) as asked (subscription_id, at)
      join ledger_accounts a on a.environment_id = ${work.environmentId} and a.subscription_id = asked.subscription_id
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id
       and not c.spent and c.expires_at <= asked.at
      -- What went over once does not do so again.
      left join features f on f.environment_id = c.environment_id and f.id = c.feature_id
       and f.rollover_maximum is not null and c.source <> 'rollover'
     order by c.id`.execute(work.db);
  return rows;
}

/** Writes pending applications of locked accounts to their credits: required before these rows are read or changed. */
export async function writeDrawn(work: Work, ledgerAccountIds: readonly string[]): Promise<void> {
  await sql`
    with drawn as materialized (
      select id, drawn_credit_id, covered - applied as amount, updated_at from ledger_accounts
       where environment_id = ${work.environmentId} and id = any(${idArray(ledgerAccountIds)}::text[])
         and drawn_credit_id is not null
    ), written_credit as (
      update usage_credits c set applied = c.applied + drawn.amount, updated_at = greatest(c.updated_at, drawn.updated_at)
        from drawn where c.environment_id = ${work.environmentId} and c.id = drawn.drawn_credit_id
    )
    update ledger_accounts a set applied = a.covered, drawn_credit_id = null, drawable = 0
      from drawn where a.environment_id = ${work.environmentId} and a.id = drawn.id`.execute(work.db);
}

/** Unused units of a credit of a locked account, at most its remainder. */
export interface RemovedCredit {
  readonly id: string;
  readonly pricingModelId: string;
  readonly amount: bigint;
}

/** Expires credits of locked accounts: their remainders move off the available side. Each credit is listed once. */
export async function endCredits(work: Work, ending: readonly EndingCredit[]): Promise<void> {
  const [first] = ending;
  if (first === undefined) return;
  const removed = ending.map(({ id, pricingModelId, rest }) => ({ id, pricingModelId, amount: rest }));
  // A credit expires once, so the first one identifies the booking.
  await remove(work, removed, { ...moves.expiry, type: 'credit_grant_expired', sourceId: first.id });
}

/** Takes back units of a credit of a locked account. */
export async function takeBackCredit(work: Work, removed: RemovedCredit): Promise<void> {
  // Every call takes back again; callers that want idempotency send an Idempotency-Key.
  const sourceId = newId('ledgerTransaction');
  await remove(work, [removed], { ...moves.takeBack, type: 'credit_taken_back', sourceId });
}

/**
 * The sides that the units move between, and the transaction that books it. The second side is also a column of credits
 * and accounts.
 */
interface Removal {
  readonly debitSide: 'available';
  readonly creditSide: 'expired' | 'taken_back';
  readonly type: string;
  readonly sourceId: string;
}

async function remove(work: Work, removed: readonly RemovedCredit[], removal: Removal): Promise<void> {
  const { environmentId, now } = work;
  const { debitSide, creditSide, type, sourceId } = removal;
  const column = sql.ref(creditSide);
  await sql`
    with removed as (
      select c.id, c.pricing_model_id, c.ledger_account_id, c.billing_period_id, asked.entry_id, asked.amount
        from unnest(
               ${removed.map(() => newId('ledgerEntry'))}::text[],
               ${removed.map((credit) => credit.id)}::text[],
               ${removed.map((credit) => credit.amount)}::numeric[]
             ) as asked (entry_id, id, amount)
        join usage_credits c on c.environment_id = ${environmentId} and c.id = asked.id
    ), written_transaction as (
      insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
      values (${environmentId}, ${newId('ledgerTransaction')}, ${removed[0]?.pricingModelId}, ${type}, ${sourceId}, ${now}, ${now})
      returning id
    ), written_entry as (
      insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, billing_period_id, usage_credit_id, available_after, created_at)
      select ${environmentId}, removed.entry_id, removed.pricing_model_id, written_transaction.id, removed.ledger_account_id,
             ${debitSide}, ${creditSide}, removed.amount, removed.billing_period_id, removed.id,
             a.available - sum(removed.amount) over (partition by removed.ledger_account_id order by removed.id),
             greatest(a.updated_at, ${now}::bigint)
        from written_transaction,
             removed join ledger_accounts a on a.environment_id = ${environmentId} and a.id = removed.ledger_account_id
       order by removed.id
    ), changed_credit as (
      update usage_credits c set ${column} = c.${column} + removed.amount, updated_at = greatest(c.updated_at, ${now})
        from removed where c.environment_id = ${environmentId} and c.id = removed.id
    )
    update ledger_accounts a set ${column} = a.${column} + moved.amount, updated_at = greatest(a.updated_at, ${now})
      from (select ledger_account_id, sum(amount) as amount from removed group by ledger_account_id) moved
     where a.environment_id = ${environmentId} and a.id = moved.ledger_account_id`.execute(work.db);
}

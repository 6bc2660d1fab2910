import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { AccountGrant } from './ledger.ts';
import type { BoughtRest } from './rollover.ts';
import { appliedInAll } from './store-balances.ts';

/** Credits that a purchase bought on one meter or in one pool, wherever transfers have moved them since. */
export interface BoughtCredit {
  readonly id: string;
  /** The bought credit at the start of its transfers. */
  readonly rootId: string;
  readonly pricingModelId: string;
  readonly ledgerAccountId: string;
  /** Null: on an account of the customer. */
  readonly subscriptionId: string | null;
  readonly usageMeterId: string;
  readonly issued: bigint;
  readonly applied: bigint;
  readonly takenBack: bigint;
  /** The part of `takenBack` that was transferred to another credit. */
  readonly transferred: bigint;
  readonly remaining: bigint;
  /** Taken back by refund `refundId`. */
  readonly takenBackNow: bigint;
}

/** The credits that this purchase bought, each followed by those that they were transferred to. */
export async function listBoughtCredits(work: Work, purchaseId: string, refundId: string): Promise<BoughtCredit[]> {
  const { rows } = await sql<BoughtCredit>`
    with recursive bought as (
      select c.id, c.id as root_id from usage_credits c
       where c.environment_id = ${work.environmentId} and c.source = 'purchase'
         and c.source_id > ${`${purchaseId}:`} and c.source_id < ${`${purchaseId};`}
       union all
      select c.id, bought.root_id from bought
        join usage_credits c on c.environment_id = ${work.environmentId} and c.transferred_from = bought.id
    )
    select c.id, bought.root_id, c.pricing_model_id, c.ledger_account_id, a.subscription_id, a.usage_meter_id, c.issued,
           ${appliedInAll} as applied, c.taken_back,
           (select coalesce(sum(n.issued), 0) from usage_credits n
             where n.environment_id = c.environment_id and n.transferred_from = c.id) as transferred,
           c.issued - ${appliedInAll} - c.expired - c.taken_back as remaining,
           (select coalesce(sum(e.amount), 0)
              from ledger_transactions t
              join ledger_entries e on e.environment_id = t.environment_id and e.ledger_transaction_id = t.id
             where t.environment_id = c.environment_id and t.type = 'credit_taken_back' and t.source_id = ${refundId}
               and e.ledger_account_id = c.ledger_account_id and e.usage_credit_id = c.id) as taken_back_now
      from bought
      join usage_credits c on c.environment_id = ${work.environmentId} and c.id = bought.id
      join ledger_accounts a on a.environment_id = c.environment_id and a.id = c.ledger_account_id
     order by bought.root_id, c.id`.execute(work.db);
  return rows;
}

/**
 * The bought credits of a feature on a locked account that have a rest and end before `end`, and those that rolled over, but for
 * this purchase. The first to end comes first.
 */
export async function listBoughtRests(
  work: Work,
  { ledgerAccountId, featureId, sourceId }: Pick<AccountGrant, 'ledgerAccountId' | 'featureId' | 'sourceId'>,
  end: Instant,
): Promise<(BoughtRest & { readonly priority: number })[]> {
  const { rows } = await sql<BoughtRest & { readonly priority: number }>`
    select c.id, c.issued - c.applied - c.expired - c.taken_back as rest, c.transferred_from is not null as rolled, c.priority
      from usage_credits c
     where c.environment_id = ${work.environmentId} and c.ledger_account_id = ${ledgerAccountId} and not c.spent
       and c.feature_id = ${featureId} and c.source = 'purchase' and c.source_id <> ${sourceId}
       and c.expires_at > ${work.now}::bigint and (c.expires_at < ${end}::bigint or c.transferred_from is not null)
     order by c.expires_at, c.id`.execute(work.db);
  return rows;
}

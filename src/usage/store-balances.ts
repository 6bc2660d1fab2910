import { sql } from 'kysely';
import { idArray, textArray } from '../database/array-literal.ts';
import type { Database } from '../database/database.ts';
import type { KeyEntry, Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';

/** The applied amount of a credit `c` of account `a`, including the pending one. */
export const appliedInAll = sql<bigint>`(c.applied + case when c.id = a.pending_credit_id then a.covered - a.applied else 0 end)`;

/** The parts of holds by account: units on that of the meter, and smallest units on that of a credit pool. */
export const holdParts = sql`(
  select environment_id, ledger_account_id, amount - pooled as amount, status, expires_at, created_at, updated_at from usage_holds
   union all
  select environment_id, pool_account_id, pool_amount, status, expires_at, created_at, updated_at from usage_holds
   where pool_account_id is not null)`;

/**
 * Unbooked expiries on account `a`, to be joined to it: an expired credit is unusable and an expired hold reserves
 * nothing, even before the expiry is booked.
 */
export function endedUnbooked(now: Instant) {
  // Usually the account shows that there are none, and nothing is read.
  return sql`
    left join lateral (
      select case when a.credits_end_at <= ${now}::bigint
                  then coalesce((select sum(c.issued - ${appliedInAll} - c.expired - c.taken_back) from usage_credits c
                                  where c.environment_id = a.environment_id and c.ledger_account_id = a.id
                                    and not c.spent and c.expires_at <= ${now}::bigint), 0)
                  else 0 end as credits,
             case when a.held = 0 then 0
                  else coalesce((select sum(h.amount) from ${holdParts} h
                                  where h.environment_id = a.environment_id and h.ledger_account_id = a.id
                                    and h.status = 'open' and h.expires_at <= ${now}::bigint), 0) end as holds) ended on true`;
}

/** The available balance of account `a`, with `endedUnbooked` joined to it; null without an account. */
export const availableBalance = sql<bigint | null>`a.available - a.held - ended.credits + ended.holds`;

/** The credits of account `a` that are left beside open holds, whatever usage is owed. */
export const freeBalance = sql<bigint>`greatest(${availableBalance} + a.used - a.covered - a.settled - a.pooled, 0)`;

/** The balances of a subscription's accounts, and the catalog version that determines its meters. */
export interface SubscriptionBalances {
  readonly subscriptionId: string;
  readonly pricingModelId: string;
  readonly catalogVersion: number;
  /**
   * Meter and balance of each account in turn, separated by spaces: one column is faster to read than rows. Null before
   * the first account.
   */
  readonly balances: string | null;
}

/** The balances of the subscriptions' accounts: newest subscription first. */
export async function listBalances(work: Work, subscriptionIds: readonly string[]): Promise<SubscriptionBalances[]> {
  const { rows } = await sql<SubscriptionBalances>`
    select s.id as subscription_id, s.pricing_model_id, p.catalog_version, b.balances
      from subscriptions s
      left join pricing_models p on p.environment_id = s.environment_id and p.id = s.pricing_model_id
      left join lateral balances_of_subscription(s.environment_id, s.id, ${work.now}) b on true
     where s.environment_id = ${work.environmentId} and s.id = any(${textArray(subscriptionIds)}::text[])
     order by s.id desc`.execute(work.db);
  return rows;
}

/** The balances of a customer to read: of one subscription in any status, or of all current ones. */
export interface BalanceQuery {
  readonly externalId: string;
  readonly subscriptionId?: string | undefined;
  readonly pricingModelId?: string | undefined;
}

/** A row of the result for the query at `position`, from 1. A null subscription means that none matched. */
export type CustomerBalances = {
  readonly position: number;
  /** The number of customers that match the query: normally one. */
  readonly customers: number;
} & (SubscriptionBalances | { readonly [Column in keyof SubscriptionBalances]: null });

// Columns have their final names, because converting many small rows is slow.
const columnsOfCustomer = sql`
  position, customers, subscription_id as "subscriptionId", pricing_model_id as "pricingModelId",
  catalog_version as "catalogVersion", balances`;

function balanceQuestions(queries: readonly BalanceQuery[]) {
  return sql`${textArray(queries.map(({ externalId }) => externalId))}::text[],
             ${textArray(queries.map(({ pricingModelId }) => pricingModelId ?? null))}::text[],
             ${textArray(queries.map(({ subscriptionId }) => subscriptionId ?? null))}::text[]`;
}

/** Runs the queries of several customers in one statement. Rows are unordered: sorting each customer's takes long. */
export async function listCustomerBalances(work: Work, queries: readonly BalanceQuery[]): Promise<CustomerBalances[]> {
  const { rows } = await sql<CustomerBalances>`
    select ${columnsOfCustomer}
      from usage_balances(${work.environmentId}, ${work.now}, ${balanceQuestions(queries)})`.execute(
    work.db.withoutPlugins(),
  );
  return rows;
}

/** The same for an API key, in a statement that is a transaction by itself. No rows where it may not read them. */
export async function listBalancesAtOnce(
  database: Database,
  { apiKeyHash, sufficient }: KeyEntry,
  queries: readonly BalanceQuery[],
): Promise<CustomerBalances[]> {
  const { rows } = await sql<CustomerBalances>`
    select ${columnsOfCustomer}
      from read_usage_balances(${apiKeyHash}, ${sufficient}::text[], ${Date.now()}, ${balanceQuestions(queries)})`.execute(
    database.withoutPlugins(),
  );
  return rows;
}

/** The balance of an account whose meter or credit pool has a threshold. */
export interface WatchedBalance {
  readonly ledgerAccountId: string;
  readonly lowBalanceThreshold: bigint;
  readonly balance: bigint;
}

/** Accounts whose balances may fall. */
export interface WatchedAccounts {
  readonly accountIds: readonly string[];
  /** Whether expired credits count until their expiry is booked. */
  readonly isBooked: boolean;
}

/** The balances of those whose meter or credit pool has a threshold. Credits that wait on a customer have none. */
export async function listWatchedBalances(
  work: Work,
  { accountIds, isBooked }: WatchedAccounts,
): Promise<WatchedBalance[]> {
  const { rows } = await sql<WatchedBalance>`
    select a.id as ledger_account_id, coalesce(m.low_balance_threshold, p.low_balance_threshold) as low_balance_threshold,
           ${availableBalance}${isBooked ? sql` + ended.credits` : sql``} as balance
      from ledger_accounts a
      left join usage_meters m on m.environment_id = a.environment_id and m.id = a.usage_meter_id
      left join credit_pools p on p.environment_id = a.environment_id and p.id = a.usage_meter_id
      ${endedUnbooked(work.now)}
     where a.environment_id = ${work.environmentId} and a.id = any(${textArray(accountIds)}::text[])
       and (a.subscription_id is not null or p.id is not null)
       and coalesce(m.low_balance_threshold, p.low_balance_threshold) is not null
     order by a.id`.execute(work.db);
  return rows;
}

/** An account whose balance has fallen below the threshold of its meter or credit pool. */
interface LowBalance {
  readonly pricingModelId: string;
  readonly customerId: string;
  /** Null: the account of a customer in a credit pool. */
  readonly subscriptionId: string | null;
  /** The usage meter or credit pool. */
  readonly usageMeterId: string;
  readonly availableBalance: bigint;
}

export async function listLowBalances(work: Work, accountIds: readonly string[]): Promise<LowBalance[]> {
  const { rows } = await sql<LowBalance>`
    select a.pricing_model_id, coalesce(a.customer_id, s.customer_id) as customer_id, a.subscription_id, a.usage_meter_id,
           ${availableBalance} as available_balance
      from ledger_accounts a
      left join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
      ${endedUnbooked(work.now)}
     where a.environment_id = ${work.environmentId} and a.id = any(${textArray(accountIds)}::text[])
     order by a.id`.execute(work.db);
  return rows;
}

/**
 * Whether the end of credit `c` comes by itself, and some of it is left. The end of a plan's credit comes with that of its period or
 * interval, because it may roll over. A credit rolls over once, and may outlive the interval of its plan. A transferred credit has left
 * its plan. Matches the predicate of the partial index `usage_credits_ending`.
 */
export const endsByItself = sql<boolean>`(not c.spent and c.expires_at is not null
  and (c.source in ('purchase', 'rollover') or c.transferred_from is not null
    or c.source = 'manual_adjustment' and c.feature_id is null))`;

/** A credit of a locked account that has ended by itself, and its unused rest. */
export interface EndedCredit {
  readonly id: string;
  readonly pricingModelId: string;
  readonly ledgerAccountId: string;
  readonly amount: bigint;
}

/** The credits of locked accounts that have ended by themselves, and whose end is not booked. */
export async function listEndedCredits(work: Work, ledgerAccountIds: readonly string[]): Promise<EndedCredit[]> {
  const { rows } = await sql<EndedCredit>`
    select c.id, c.pricing_model_id, c.ledger_account_id, c.issued - ${appliedInAll} - c.expired - c.taken_back as amount
      from ledger_accounts a
      join usage_credits c on c.environment_id = a.environment_id and c.ledger_account_id = a.id
       and c.expires_at <= ${work.now}::bigint and ${endsByItself}
     where a.environment_id = ${work.environmentId} and a.id = any(${idArray(ledgerAccountIds)}::text[])
     order by c.id`.execute(work.db);
  return rows;
}

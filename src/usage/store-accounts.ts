import assert from 'node:assert/strict';
import { type RawBuilder, sql } from 'kysely';
import { textArray } from '../database/array-literal.ts';
import { newId } from '../database/new-id.ts';
import { instantOfColumn, type Work } from '../database/work.ts';
import { isCreditPool } from '../pricing/credit-pool.ts';
import { type AccountKey, accountKeyText, distinctAccounts } from './ledger.ts';
import { availableBalance, endedUnbooked, endsByItself, freeBalance } from './store-balances.ts';

/*
 * Accounts are locked here before they are changed, always in the order (subscription, usage meter). Accounts of customers
 * come last: credit pools, and credits that wait. Two units of work
 * that want the same accounts wait for one another, and never form a deadlock. A statement after the lock sees all that
 * was committed before it, so its result is final. `book_usage` locks accounts in the same order, by booking on them.
 */

/** Opens missing accounts and locks all of them, those of credit pools last. Returns the ids by key text. */
export async function openAccounts(work: Work, keys: readonly AccountKey[]): Promise<ReadonlyMap<string, string>> {
  const { ofPools = [], ofMeters = [] } = Object.groupBy(distinctAccounts(keys), ({ usageMeterId }) =>
    isCreditPool(usageMeterId) ? 'ofPools' : 'ofMeters',
  );
  const meters = await openMeterAccounts(work, ofMeters);
  return ofPools.length === 0 ? meters : new Map([...meters, ...(await openPoolAccounts(work, ofPools))]);
}

async function openMeterAccounts(work: Work, accounts: readonly AccountKey[]): Promise<ReadonlyMap<string, string>> {
  if (accounts.length === 0) return new Map();
  // An update that changes nothing locks an existing row: one statement instead of three.
  const { rows } = await sql<{ id: string; subscriptionId: string; usageMeterId: string }>`
    insert into ledger_accounts (environment_id, id, pricing_model_id, subscription_id, subscription_revision, usage_meter_id,
           created_at, updated_at)
    select ${work.environmentId}, asked.id, asked.pricing_model_id, s.id, s.revision, asked.usage_meter_id,
           ${instantOfColumn(work, 's.id')}, ${instantOfColumn(work, 's.id')}
      from unnest(
             ${accounts.map(({ subscriptionId }) => newId('ledgerAccount', subscriptionId))}::text[],
             ${accounts.map((account) => account.pricingModelId)}::text[],
             ${accounts.map((account) => account.subscriptionId)}::text[],
             ${accounts.map((account) => account.usageMeterId)}::text[]
           ) as asked (id, pricing_model_id, subscription_id, usage_meter_id)
      -- Held, so that nobody changes it before its accounts can be told.
      join subscriptions s on s.environment_id = ${work.environmentId} and s.id = asked.subscription_id
     order by s.id, asked.usage_meter_id collate "C" for share of s
    on conflict (environment_id, subscription_id, usage_meter_id) do update set updated_at = greatest(ledger_accounts.updated_at, excluded.updated_at)
    returning id, subscription_id, usage_meter_id`.execute(work.db);
  assert(rows.length === accounts.length, 'every account is open');
  return new Map(rows.map((row) => [accountKeyText(row), row.id]));
}

/** The accounts of the customers of these subscriptions in credit pools. */
async function openPoolAccounts(work: Work, accounts: readonly AccountKey[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; subscriptionId: string; usageMeterId: string }>`
    with asked as materialized (
      select asked.*, s.customer_id, ${instantOfColumn(work, 's.id')} as at
        from unnest(
               ${accounts.map(({ subscriptionId }) => newId('ledgerAccount', subscriptionId))}::text[],
               ${accounts.map((account) => account.pricingModelId)}::text[],
               ${accounts.map((account) => account.subscriptionId)}::text[],
               ${accounts.map((account) => account.usageMeterId)}::text[]
             ) as asked (id, pricing_model_id, subscription_id, usage_meter_id)
        join subscriptions s on s.environment_id = ${work.environmentId} and s.id = asked.subscription_id
    ), opened as (
      insert into ledger_accounts (environment_id, id, pricing_model_id, subscription_revision, usage_meter_id, created_at, updated_at,
             customer_id)
      select distinct on (usage_meter_id collate "C", customer_id) ${work.environmentId}, id, pricing_model_id, 0, usage_meter_id,
             at, at, customer_id
        from one_row, asked order by usage_meter_id collate "C", customer_id, at
      on conflict (environment_id, customer_id, usage_meter_id) where customer_id is not null
      do update set updated_at = greatest(ledger_accounts.updated_at, excluded.updated_at)
      returning id, customer_id, usage_meter_id
    )
    select opened.id, asked.subscription_id, asked.usage_meter_id
      from asked join opened using (customer_id, usage_meter_id)`.execute(work.db);
  return new Map(rows.map((row) => [accountKeyText(row), row.id]));
}

/**
 * Opens and locks the account of a customer: for a credit pool, or for credits of a meter that wait for a subscription.
 * Returns its id. Accounts of customers come last in the order.
 */
export async function openCustomerAccount(
  work: Work,
  { customerId, usageMeterId, pricingModelId }: Omit<AccountKey, 'subscriptionId'> & { readonly customerId: string },
): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into ledger_accounts (environment_id, id, pricing_model_id, subscription_revision, usage_meter_id, created_at, updated_at,
           customer_id)
    values (${work.environmentId}, ${newId('ledgerAccount', customerId)}, ${pricingModelId}, 0, ${usageMeterId}, ${work.now}, ${work.now},
            ${customerId})
    on conflict (environment_id, customer_id, usage_meter_id) where customer_id is not null
    do update set updated_at = greatest(ledger_accounts.updated_at, excluded.updated_at)
    returning id`.execute(work.db);
  const [account] = rows;
  assert(account, 'the account is open');
  return account.id;
}

/** The account of a customer in a credit pool. */
interface PoolAccount {
  readonly id: string;
  readonly customerId: string;
  readonly creditPoolId: string;
}

/** The accounts that these customers have in these credit pools. */
export async function listPoolAccounts(
  work: Work,
  {
    customerIds,
    creditPoolIds,
  }: { readonly customerIds: readonly string[]; readonly creditPoolIds: readonly string[] },
): Promise<PoolAccount[]> {
  if (creditPoolIds.length === 0) return [];
  const { rows } = await sql<PoolAccount>`
    select id, customer_id, usage_meter_id as credit_pool_id from ledger_accounts
     where environment_id = ${work.environmentId} and customer_id = any(${textArray(customerIds)}::text[])
       and usage_meter_id = any(${textArray(creditPoolIds)}::text[])`.execute(work.db);
  return rows;
}

/**
 * The accounts that credits of subscription `id` may be on: its own, and those of its customer in credit pools. A credit `c`
 * of account `a` is of the subscription where `isOfSubscription` holds too.
 */
export function accountsOfSubscription(work: Work, id: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select own.* from ledger_accounts own
     where own.environment_id = ${work.environmentId} and own.subscription_id = ${id}
    union all
    select pool.* from subscriptions holder
      join ledger_accounts pool on pool.environment_id = holder.environment_id and pool.customer_id = holder.customer_id
       and starts_with(pool.usage_meter_id, 'credit_pool_')
     where holder.environment_id = ${work.environmentId} and holder.id = ${id})`;
}

export function isOfSubscription(id: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(a.subscription_id is not null or c.subscription_id = ${id})`;
}

/** Locks the accounts of the subscriptions, and those of their customers in credit pools. Returns their ids. */
export async function lockAccountsOfSubscriptions(work: Work, subscriptionIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from ledger_accounts
     where environment_id = ${work.environmentId} and id = any(array(
       select a.id from unnest(${subscriptionIds}::text[]) as asked (id)
        cross join lateral ${accountsOfSubscription(work, sql`asked.id`)} a))
     order by subscription_id, usage_meter_id, customer_id for no key update`.execute(work.db);
  return rows.map((row) => row.id);
}

/** An account that is locked. */
interface LockedAccount {
  readonly id: string;
  readonly pricingModelId: string;
  /** Null: the account of a customer. */
  readonly subscriptionId: string | null;
}

/** Locks the accounts with these ids. Returns them by id. */
export async function lockAccounts(work: Work, ids: readonly string[]): Promise<ReadonlyMap<string, LockedAccount>> {
  const { rows } = await sql<LockedAccount>`
    select id, pricing_model_id, subscription_id from ledger_accounts
     where environment_id = ${work.environmentId} and id = any(${textArray(ids)}::text[])
     order by subscription_id, usage_meter_id, customer_id for no key update`.execute(work.db);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The balance of a locked account, and the part of its credits that open holds set aside. */
export interface LockedBalance {
  readonly balance: bigint;
  readonly held: bigint;
  /** Credits that no open hold sets aside, whatever usage is owed. */
  readonly free: bigint;
}

/** Locks the accounts with these ids, and reads their balances, by id. */
export async function lockBalances(work: Work, ids: readonly string[]): Promise<ReadonlyMap<string, LockedBalance>> {
  await lockAccounts(work, ids);
  const { rows } = await sql<LockedBalance & { id: string }>`
    select a.id, ${availableBalance} as balance, a.held - ended.holds as held,
           ${freeBalance} as free
      from ledger_accounts a ${endedUnbooked(work.now)}
     where a.environment_id = ${work.environmentId} and a.id = any(${textArray(ids)}::text[])`.execute(work.db);
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}

/** Sets or removes the line below which the accounts of a customer on a meter or in a credit pool are topped up. */
export async function setTopUpLine(
  work: Work,
  customerId: string,
  usageMeterId: string,
  below: bigint | null,
): Promise<void> {
  const ofPool = sql`ledger_accounts a where a.environment_id = ${work.environmentId} and a.customer_id = ${customerId}`;
  const ofMeter = sql`subscriptions s
      join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id
     where s.environment_id = ${work.environmentId} and s.customer_id = ${customerId}`;
  const { rows } = await sql<{ id: string }>`
    select a.id from ${isCreditPool(usageMeterId) ? ofPool : ofMeter}
       and a.usage_meter_id = ${usageMeterId} and a.top_up_below is distinct from ${below}::numeric
     order by a.subscription_id for no key update of a`.execute(work.db);
  if (rows.length === 0) return;
  await sql`
    update ledger_accounts set top_up_below = ${below}::numeric
     where environment_id = ${work.environmentId} and id = any(${rows.map(({ id }) => id)}::text[])`.execute(work.db);
}

/**
 * Locks up to `limit` accounts on which credits have ended by themselves, and their customers, skipping locked ones; with `only`,
 * just these, waiting for their locks. Returns their ids.
 */
export async function takeEndedCredits(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  const ended =
    only === undefined
      ? sql`array(select c.ledger_account_id from usage_credits c
          where c.environment_id = ${work.environmentId} and c.expires_at <= ${work.now}::bigint and ${endsByItself}
          order by c.expires_at limit ${limit})`
      : sql`${textArray(only)}::text[]`;
  const { rows } = await sql<{ id: string }>`
    select a.id from ledger_accounts a
      left join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
      join customers owner on owner.environment_id = a.environment_id and owner.id = coalesce(a.customer_id, s.customer_id)
     where a.environment_id = ${work.environmentId} and a.id = any(${ended})
     order by a.subscription_id, a.usage_meter_id, a.customer_id
       for no key update of owner, a ${only === undefined ? sql`skip locked` : sql``}`.execute(work.db);
  return rows.map(({ id }) => id);
}

/** The available balance of a subscription on a meter; 0 without an account. */
export async function findAvailable(work: Work, subscriptionId: string, usageMeterId: string): Promise<bigint> {
  const { rows } = await sql<{ balance: bigint }>`
    select ${availableBalance} as balance from ledger_accounts a ${endedUnbooked(work.now)}
     where a.environment_id = ${work.environmentId} and a.subscription_id = ${subscriptionId}
       and a.usage_meter_id = ${usageMeterId}`.execute(work.db);
  return rows[0]?.balance ?? 0n;
}

import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type AccountKey, accountKeyText, distinctAccounts } from './ledger.ts';

/*
 * Every change of accounts locks them first, here, always in the order (subscription, usage meter), to avoid deadlocks.
 * Reads after the lock are final, because a later statement sees everything committed before. Usage on cached accounts
 * reads nothing: it locks them by booking on them, in the same order (`store-usage.ts`).
 */

/** Opens missing accounts and locks all of them. Returns the ids by key text. */
export async function openAccounts(work: Work, keys: readonly AccountKey[]): Promise<ReadonlyMap<string, string>> {
  const accounts = distinctAccounts(keys);
  // An update that changes nothing locks an existing row: one statement instead of three.
  const { rows } = await sql<{ id: string; subscriptionId: string; usageMeterId: string }>`
    insert into ledger_accounts (environment_id, id, pricing_model_id, subscription_id, subscription_revision, usage_meter_id,
           created_at, updated_at)
    select ${work.environmentId}, asked.id, asked.pricing_model_id, s.id, s.revision, asked.usage_meter_id,
           ${work.now}::bigint, ${work.now}::bigint
      from unnest(
             ${accounts.map(() => newId('ledgerAccount'))}::text[],
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

/** Locks the accounts of the subscriptions. Returns their ids. */
export async function lockAccountsOfSubscriptions(work: Work, subscriptionIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from ledger_accounts
     where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds}::text[])
     order by subscription_id, usage_meter_id for no key update`.execute(work.db);
  return rows.map((row) => row.id);
}

/** Locks the accounts with these ids. Returns the pricing model of each, by id. */
export async function lockAccounts(work: Work, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; pricingModelId: string }>`
    select id, pricing_model_id from ledger_accounts
     where environment_id = ${work.environmentId} and id = any(${ids}::text[])
     order by subscription_id, usage_meter_id for no key update`.execute(work.db);
  return new Map(rows.map((row) => [row.id, row.pricingModelId]));
}

import { sql } from 'kysely';
import type { Work } from '../platform/work.ts';
import type { UsageMeterBalance } from './ledger.ts';

/** A balance without what the work itself tells. */
export type BalanceRow = Omit<UsageMeterBalance, 'livemode' | 'organizationId'>;

/**
 * The balance of every usage meter of the subscriptions' pricing models: newest subscription first, then the meters in
 * order of creation. A meter always has a price, so each has a row, also before its account is opened.
 */
export async function listBalances(work: Work, subscriptionIds: readonly string[]): Promise<BalanceRow[]> {
  // A credit that has ended cannot be used any more, also in the time until its expiry is booked.
  const { rows } = await sql<BalanceRow>`
    select m.id, m.created_at, m.updated_at, m.name, m.slug, m.pricing_model_id, m.aggregation_type, s.id as subscription_id,
           coalesce(a.available - coalesce(lapsed.rest, 0), 0) as available_balance
      from subscriptions s
      join usage_meters m on m.environment_id = s.environment_id and m.pricing_model_id = s.pricing_model_id
      left join ledger_accounts a
        on a.environment_id = s.environment_id and a.subscription_id = s.id and a.usage_meter_id = m.id
      left join lateral (
        select sum(c.issued - c.applied - c.expired) as rest from usage_credits c
         where c.environment_id = a.environment_id and c.ledger_account_id = a.id and not c.spent
           and c.expires_at <= ${work.now}) lapsed on true
     where s.environment_id = ${work.environmentId} and s.id = any(${subscriptionIds}::text[])
     order by s.id desc, m.id`.execute(work.db);
  return rows;
}

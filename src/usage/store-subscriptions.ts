import { sql } from 'kysely';
import { textArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import { dueAt, isBehind } from '../subscriptions/store-renewals.ts';
import type { UsageSubscription } from './usage-event.ts';

/**
 * Locks the subscriptions with these ids until the work ends: a renewal or an end waits for the usage in flight, so all of
 * it is on the bill. They are locked in the order in which the subscriptions of a customer are. A subscription for which
 * something is due is left out: the usage belongs to what it is after that.
 */
export async function lockSubscriptions(work: Work, ids: readonly string[]): Promise<UsageSubscription[]> {
  const { rows } = await sql<UsageSubscription>`
    select s.id, s.revision, s.status, s.arrears, s.pricing_model_id, s.customer_id, s.current_billing_period_start, ${dueAt} as due_at,
           m.catalog_version,
           (select c.archived from customers c
             where c.environment_id = s.environment_id and c.id = s.customer_id) as customer_archived
      from subscriptions s join pricing_models m on m.environment_id = s.environment_id and m.id = s.pricing_model_id
     where s.environment_id = ${work.environmentId} and s.id = any(${textArray(ids)}::text[]) and not ${isBehind(work.now)}
     order by s.id desc for share of s`.execute(work.db);
  return rows;
}

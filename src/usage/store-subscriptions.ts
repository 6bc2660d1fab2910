import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { idArray, textArray } from '../platform/array-literal.ts';
import { sentWithCommit, type Work } from '../platform/work.ts';
import { isBehind } from '../subscriptions/store-renewals.ts';
import { isTerminal } from '../subscriptions/subscription.ts';
import type { UsageSubscription } from './usage-event.ts';

// Subscriptions as they were when they were last held. Who uses one has the database compare it, in the same transaction.
const known = new LRUCache<string, UsageSubscription>({ max: 100_000 });

function keyOf({ environmentId }: Work, id: string): string {
  return `${environmentId} ${id}`;
}

// Numbers the unit of work: what is recorded by one is booked together. Drawn when its subscriptions are held.
const nextBooking = sql`nextval('usage_bookings')`;

/** What the usage of the unit of work is booked under, once its subscriptions are held. */
export const currentBooking = sql`currval('usage_bookings')`;
export const currentBookingText = sql`${currentBooking}::text`;

/**
 * The subscriptions with these ids, held until the work ends: whoever ends or renews one waits for the usage that is
 * under way, so all of it is on the bill. They are held in the order in which the subscriptions of a customer are. One
 * for which something is due is not there: as it stands it is not the one that the usage is for.
 */
export async function holdSubscriptions(work: Work, ids: readonly string[]): Promise<UsageSubscription[]> {
  const { rows } = await sql<UsageSubscription>`
    select s.id, s.status, s.pricing_model_id, s.customer_id, s.current_billing_period_start, m.catalog_version,
           (select c.archived from customers c
             where c.environment_id = s.environment_id and c.id = s.customer_id) as customer_archived,
           (select ${nextBooking}) as booking
      from subscriptions s join pricing_models m on m.environment_id = s.environment_id and m.id = s.pricing_model_id
     where s.environment_id = ${work.environmentId} and s.id = any(${textArray(ids)}::text[]) and not ${isBehind(work.now)}
     order by s.id desc for share of s`.execute(work.db);
  for (const row of rows) if (!row.customerArchived && !isTerminal(row.status)) known.set(keyOf(work, row.id), row);
  return rows;
}

/**
 * The same subscriptions as they are remembered, without waiting: they are held too, and where one of them is not what is
 * remembered, the unit of work runs again. Null where one is not remembered.
 */
export function holdRemembered(work: Work, ids: readonly string[]): UsageSubscription[] | null {
  const remembered: UsageSubscription[] = [];
  for (const id of ids) {
    const subscription = known.get(keyOf(work, id));
    if (subscription === undefined) return null;
    remembered.push(subscription);
  }
  const column = (key: Exclude<keyof UsageSubscription, 'customerArchived'>) =>
    idArray(remembered.map((each) => each[key]));
  const confirmation = sql`
    select require_unchanged(count(*) = ${remembered.length}::integer), ${nextBooking}
      from (
        select s.id
          from unnest(
                 ${column('id')}::text[], ${column('status')}::text[], ${column('pricingModelId')}::text[],
                 ${column('customerId')}::text[], ${column('currentBillingPeriodStart')}::bigint[],
                 ${column('catalogVersion')}::bigint[]
               ) as known (id, status, pricing_model_id, customer_id, current_billing_period_start, catalog_version)
          join subscriptions s on s.environment_id = ${work.environmentId} and s.id = known.id
           and s.status = known.status and s.pricing_model_id = known.pricing_model_id and s.customer_id = known.customer_id
           and s.current_billing_period_start is not distinct from known.current_billing_period_start
          join pricing_models m on m.environment_id = s.environment_id and m.id = s.pricing_model_id
           and m.catalog_version = known.catalog_version
         where not (select c.archived from customers c where c.environment_id = s.environment_id and c.id = s.customer_id)
           and not ${isBehind(work.now)}
         order by s.id desc for share of s) held`;
  sentWithCommit(work, confirmation, () => {
    for (const id of ids) known.delete(keyOf(work, id));
  });
  return remembered;
}

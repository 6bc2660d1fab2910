import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { idArray, textArray } from '../database/array-literal.ts';
import { sentWithCommit, type Work } from '../database/work.ts';
import { dueAt, isBehind } from '../subscriptions/store-renewals.ts';
import { isTerminal } from '../subscriptions/subscription.ts';
import type { UsageSubscription } from './usage-event.ts';

// Subscriptions as they were when they were last held. Who goes by one has the database compare it, in the same transaction.
const known = new LRUCache<string, Known>({ max: 100_000 });

/** One that is remembered, by its id: to put that together with its environment's for each event would take longer. */
interface Known {
  readonly environmentId: number;
  readonly subscription: UsageSubscription;
}

// Numbers the unit of work: what is recorded by one is booked together. Drawn when its subscriptions are held, or with its events.
const nextBooking = sql`nextval('usage_bookings')`;

/** What the usage of the unit of work is booked under, once its number was drawn. */
export const currentBooking = sql<number>`select currval('usage_bookings')`;
export const currentBookingText = sql`currval('usage_bookings')::text`;

/**
 * The subscriptions with these ids, held until the work ends: whoever ends or renews one waits for the usage that is
 * under way, so all of it is on the bill. They are held in the order in which the subscriptions of a customer are. One
 * for which something is due is not there: as it stands it is not the one that the usage is for.
 */
export async function holdSubscriptions(work: Work, ids: readonly string[]): Promise<UsageSubscription[]> {
  const { rows } = await sql<UsageSubscription>`
    select s.id, s.revision, s.status, s.pricing_model_id, s.customer_id, s.current_billing_period_start, ${dueAt} as due_at,
           m.catalog_version,
           (select c.archived from customers c
             where c.environment_id = s.environment_id and c.id = s.customer_id) as customer_archived,
           (select ${nextBooking}) as booking
      from subscriptions s join pricing_models m on m.environment_id = s.environment_id and m.id = s.pricing_model_id
     where s.environment_id = ${work.environmentId} and s.id = any(${textArray(ids)}::text[]) and not ${isBehind(work.now)}
     order by s.id desc for share of s`.execute(work.db);
  const { environmentId } = work;
  for (const subscription of rows) {
    const isUsable = !subscription.customerArchived && !isTerminal(subscription.status);
    if (isUsable) known.set(subscription.id, { environmentId, subscription });
  }
  return rows;
}

/** The same subscriptions as they are remembered. Null where one is not, or something has become due for it since. */
export function recallSubscriptions({ environmentId, now }: Work, ids: readonly string[]): UsageSubscription[] | null {
  const remembered: UsageSubscription[] = [];
  for (const id of ids) {
    const memory = known.get(id);
    if (memory?.environmentId !== environmentId) return null;
    const { subscription } = memory;
    if (subscription.dueAt !== null && subscription.dueAt <= now) return null;
    remembered.push(subscription);
  }
  return remembered;
}

/** Forgets subscriptions that may not be as they are remembered. */
export function forgetSubscriptions(subscriptions: readonly UsageSubscription[]): void {
  for (const { id } of subscriptions) known.delete(id);
}

/**
 * Holds subscriptions that are remembered, as `holdSubscriptions` does and without waiting: where one of them is not what is
 * remembered, the unit of work runs again.
 */
export function holdRemembered(work: Work, remembered: readonly UsageSubscription[]): void {
  const column = (key: 'id' | 'revision' | 'catalogVersion') => idArray(remembered.map((each) => each[key]));
  const confirmation = sql`
    select require_unchanged(count(*) = ${remembered.length}::integer), ${nextBooking}
      from (
        select s.id
          from unnest(${column('id')}::text[], ${column('revision')}::bigint[], ${column('catalogVersion')}::bigint[])
                 as known (id, revision, catalog_version)
          join subscriptions s on s.environment_id = ${work.environmentId} and s.id = known.id and s.revision = known.revision
          join pricing_models m on m.environment_id = s.environment_id and m.id = s.pricing_model_id
           and m.catalog_version = known.catalog_version
         order by s.id desc for share of s) held`;
  sentWithCommit(work, confirmation, () => forgetSubscriptions(remembered));
}

/**
 * Draws the number of a unit of work for subscriptions that nobody holds: their accounts will tell whether they are what is
 * remembered, and this whether the prices of their pricing models are. Where not, the unit of work runs again.
 */
export function bookingUnheld(work: Work, remembered: readonly UsageSubscription[]): RawBuilder<number> {
  const versions = [...new Map(remembered.map((each) => [each.pricingModelId, each.catalogVersion]))];
  return sql`
    select ${nextBooking} where require_unchanged((
      select count(*) = ${versions.length}::integer
        from unnest(${idArray(versions.map(([id]) => id))}::text[], ${idArray(versions.map(([, version]) => version))}::bigint[])
               as known (id, version)
        join pricing_models m on m.environment_id = ${work.environmentId} and m.id = known.id and m.catalog_version = known.version))`;
}

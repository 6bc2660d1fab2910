import { sql } from 'kysely';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { ItemSpan } from './adjustment.ts';

/**
 * Stores the price and quantity of these items up to each `at`, before they are changed in place. A version of zero
 * duration is skipped.
 */
export async function keepItemVersions(
  work: Work,
  items: readonly { readonly id: string; readonly at: Instant }[],
): Promise<void> {
  if (items.length === 0) return;
  await sql`
    insert into subscription_item_versions (environment_id, id, pricing_model_id, subscription_id, subscription_item_id,
           price_id, unit_price, pricing, quantity, start_at, end_at, created_at)
    select i.environment_id, kept.id, i.pricing_model_id, i.subscription_id, i.id, i.price_id, i.unit_price, i.pricing,
           i.quantity, i.effective_from, kept.at, ${work.now}
      from unnest(
             ${items.map(() => newId('subscriptionItemVersion'))}::text[], ${items.map(({ id }) => id)}::text[],
             ${items.map(({ at }) => at)}::bigint[]) as kept (id, item_id, at)
      join subscription_items i on i.environment_id = ${work.environmentId} and i.id = kept.item_id
     where i.effective_from < kept.at`.execute(work.db);
}

/** The items of a subscription since `since`: current values, ended items and old versions. */
export async function listItemSpans(work: Work, subscriptionId: string, since: Instant): Promise<ItemSpan[]> {
  const { rows } = await sql<ItemSpan>`
    select subscription_id, price_id, unit_price, pricing, quantity, effective_from as start_at, expired_at as end_at
      from subscription_items
     where environment_id = ${work.environmentId} and subscription_id = ${subscriptionId}
       and (expired_at is null or expired_at > ${since})
     union all
    select subscription_id, price_id, unit_price, pricing, quantity, start_at, end_at
      from subscription_item_versions
     where environment_id = ${work.environmentId} and subscription_id = ${subscriptionId} and end_at > ${since}`.execute(
    work.db,
  );
  return rows;
}

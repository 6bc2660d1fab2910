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
             ${items.map(({ id }) => newId('subscriptionItemVersion', id))}::text[], ${items.map(({ id }) => id)}::text[],
             ${items.map(({ at }) => at)}::bigint[]) as kept (id, item_id, at)
      join subscription_items i on i.environment_id = ${work.environmentId} and i.id = kept.item_id
     where i.effective_from < kept.at`.execute(work.db);
}

/** An item of a plan from `startAt` until `endAt`, with the terms of its price for the end of a period. */
interface TermSpan extends ItemSpan {
  /** For a whole interval; 0: none. */
  readonly minimumCommitment: bigint;
  readonly inArrears: boolean;
}

/**
 * The items of subscriptions since `since`, as `listItemSpans`, if some price of the environment has a commitment or
 * is billed in arrears. If none is, nothing else is read.
 */
export async function listTermSpans(
  work: Work,
  subscriptions: readonly { readonly id: string; readonly since: Instant }[],
): Promise<TermSpan[]> {
  if (subscriptions.length === 0) return [];
  const { environmentId } = work;
  const { rows } = await sql<TermSpan>`
    with committed as materialized (
      select id, coalesce(minimum_commitment, 0) as minimum_commitment, billing_timing = 'in_arrears' as in_arrears
        from prices where environment_id = ${environmentId} and (minimum_commitment > 0 or billing_timing = 'in_arrears')
    ), asked as (
      select * from unnest(
        ${subscriptions.map(({ id }) => id)}::text[], ${subscriptions.map(({ since }) => since)}::bigint[]
      ) as asked (subscription_id, since)
    ), span as (
      select i.subscription_id, i.price_id, i.unit_price, i.pricing, i.quantity, i.effective_from as start_at, i.expired_at as end_at
        from asked join subscription_items i on i.environment_id = ${environmentId} and i.subscription_id = asked.subscription_id
         and (i.expired_at is null or i.expired_at > asked.since)
       where exists (select from committed)
       union all
      select v.subscription_id, v.price_id, v.unit_price, v.pricing, v.quantity, v.start_at, v.end_at
        from asked join subscription_item_versions v on v.environment_id = ${environmentId}
         and v.subscription_id = asked.subscription_id and v.end_at > asked.since
       where exists (select from committed))
    select span.*, coalesce(c.minimum_commitment, 0) as minimum_commitment, coalesce(c.in_arrears, false) as in_arrears
      from span left join committed c on c.id = span.price_id
     order by span.start_at`.execute(work.db);
  return rows;
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

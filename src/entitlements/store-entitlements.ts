import assert from 'node:assert/strict';
import { type RawBuilder, sql } from 'kysely';
import { availableBalance, lapsedOf } from '../ledger/store-balances.ts';
import { idArray, textArray } from '../platform/array-literal.ts';
import type { Work } from '../platform/work.ts';
import type { FeatureType } from '../pricing/feature.ts';
import { currentStatuses } from '../subscriptions/subscription.ts';
import type { Asked, Found } from './entitlement-check.ts';
import { capacityOf, notExpired } from './store-claims.ts';
import { isUnderWay, lasts } from './store-item-features.ts';

/*
 * Two statements with much in common. Each set of rows is found once, by an index, and answered by itself; what goes with
 * what is put together elsewhere. The planner does not know how many rows a list holds that it is given: it would join two
 * lists of a thousand row by row, or read a table of the whole environment. Where it might, `offset 0` makes it look up
 * row after row by the index.
 */

/**
 * A list whose length the planner does not see. It would take a plan made for a short one to be so much cheaper that it
 * would plan every time anew, which takes longer than carrying it out.
 */
function hidden(list: RawBuilder<unknown>) {
  return sql`(select ${list})`;
}

/** Narrows customers `c` to those that an external id can mean: of one pricing model where one is named. */
function canBeMeant(pricingModelId: string | undefined) {
  const ofModel = pricingModelId === undefined ? sql`` : sql`and c.pricing_model_id = ${pricingModelId}`;
  return sql`not c.archived ${ofModel}`;
}

/**
 * The subscriptions that these customers have now, with their items that are under way. One whose start lies ahead has an
 * empty period until then.
 */
function currentSubscriptions(work: Work, which: RawBuilder<unknown> = sql``) {
  return sql`subscription as materialized (
      select c.number as customer, s.id, s.pricing_model_id,
             array(select i.id from subscription_items i
                    where i.environment_id = ${work.environmentId} and i.subscription_id = s.id
                      and ${isUnderWay(work.now)}) as item_ids
        from customer c
        join subscriptions s on s.environment_id = ${work.environmentId} and s.customer_id = c.id
       where s.status = any(${idArray(currentStatuses)}::text[]) and s.replaced_by_subscription_id is null
         and coalesce(s.current_billing_period_start < s.current_billing_period_end, true) ${which})`;
}

/** What a subscription really gives: of its features `s` those that last, on items that are under way. */
function isGiven(work: Work, itemIds: RawBuilder<unknown>) {
  return sql<boolean>`${lasts(work.now)} and s.subscription_item_id = any(${itemIds})`;
}

/**
 * What the features `s` that `features` finds, `count`ed where they give access, grant of each resource, and what a change
 * of plan leaves of it that is due.
 */
function capacities(work: Work, features: RawBuilder<unknown>, count: RawBuilder<boolean>) {
  return sql`(
      select h.subscription_id, h.resource_id, r.slug, h.capacity, r.active, a.effective_at as planned_at,
             case when a.id is not null then coalesce((a.capacities ->> h.resource_id)::bigint, 0) end as planned_capacity
        from (select s.subscription_id, s.resource_id, ${capacityOf(count)} as capacity from ${features}
               group by s.subscription_id, s.resource_id) as h
        cross join lateral (
          select r.slug, r.active from resources r
           where r.environment_id = ${work.environmentId} and r.id = h.resource_id offset 0) as r
        left join subscription_adjustments a on a.environment_id = ${work.environmentId}
         and a.subscription_id = h.subscription_id and a.status in ('awaiting_payment', 'scheduled')
         and a.effective_at <= ${work.now}::bigint) as holding`;
}

/** How many active claims there are of each resource, of the subscriptions and resources that `which` picks. */
function claims(work: Work, subscriptions: RawBuilder<unknown>, which: RawBuilder<unknown>) {
  return sql`(
      select c.subscription_id, c.resource_id, count(*) as claimed
        from ${subscriptions}
        join resource_claims c on c.environment_id = ${work.environmentId} and c.released_at is null and ${which}
         and ${notExpired(work.now)}
       group by c.subscription_id, c.resource_id) as claim`;
}

/** Rows as one value, a list of lists: `from` is what stands behind the columns of a select. */
function listed(columns: RawBuilder<unknown>, from: RawBuilder<unknown>, order: RawBuilder<unknown> = sql``) {
  return sql`coalesce((select json_agg(json_build_array(${columns}) ${order}) from ${from}), '[]'::json)`;
}

/*
 * What checks ask for is found in this order: customers, their subscriptions, the features under the slugs (each looked up
 * by itself: there may be many pricing models), those of them that a subscription is asked about, in one scan of an index
 * for each subscription, and what these are about.
 */

/** What there is of what checks ask for. Customers of one pricing model only, where it is named. */
export async function findForChecks(work: Work, asked: Asked, pricingModelId: string | undefined): Promise<Found> {
  const { rows } = await sql<Found>`
    with customer as materialized (
      select asked.number, c.id, c.pricing_model_id
        from unnest(${hidden(sql`${textArray(asked.externalIds)}::text[]`)}) with ordinality as asked (external_id, number)
        join customers c on c.environment_id = ${work.environmentId} and c.external_id = asked.external_id
         and ${canBeMeant(pricingModelId)}),
    ${currentSubscriptions(work)},
    pair as materialized (
      select pair.customer, pair.slug, c.pricing_model_id
        from unnest(${hidden(sql`${idArray(asked.pairs.map(([customer]) => customer))}::int[]`)},
                    ${hidden(sql`${idArray(asked.pairs.map(([, slug]) => slug))}::int[]`)}) as pair (customer, slug)
        join customer c on c.number = pair.customer),
    feature as materialized (
      select pair.slug, f.id, f.pricing_model_id, f.type, f.active
        from (select distinct slug, pricing_model_id from pair) as pair
        join unnest(${hidden(sql`${textArray(asked.slugs)}::text[]`)}) with ordinality as asked (slug, number)
          on asked.number = pair.slug
        cross join lateral (
          select f.id, f.pricing_model_id, f.type, f.active from features f
           where f.environment_id = ${work.environmentId} and f.pricing_model_id = pair.pricing_model_id
             and f.slug = asked.slug offset 0) as f),
    wanted as materialized (
      select u.customer, u.id, u.item_ids, array_agg(f.id) as feature_ids
        from pair
        join subscription u on u.customer = pair.customer
        join feature f on f.pricing_model_id = pair.pricing_model_id and f.slug = pair.slug
       group by u.customer, u.id, u.item_ids),
    given as materialized (
      select w.customer, w.id as subscription_id, w.item_ids, g.features, g.meter_ids, g.resource_ids
        from wanted w
        cross join lateral (
          select json_agg(json_build_array(s.feature_id, coalesce(s.usage_meter_id, s.resource_id))) as features,
                 array_agg(s.usage_meter_id) filter (where s.usage_meter_id is not null) as meter_ids,
                 array_agg(s.resource_id) filter (where s.resource_id is not null) as resource_ids
            from subscription_item_features s
           where s.environment_id = ${work.environmentId} and s.subscription_id = w.id
             and s.feature_id = any(w.feature_ids) and ${isGiven(work, sql`w.item_ids`)}) as g
       where g.features is not null)
    select ${listed(sql`number, pricing_model_id`, sql`customer`)} as customers,
           ${listed(sql`slug, id, pricing_model_id, type, active`, sql`feature`)} as features,
           ${listed(sql`customer, subscription_id, features`, sql`given`)} as grants,
           ${listed(
             sql`a.subscription_id, a.usage_meter_id, (${availableBalance})::text`,
             sql`given g
             join ledger_accounts a on a.environment_id = ${work.environmentId}
              and a.subscription_id = g.subscription_id and a.usage_meter_id = any(g.meter_ids)
             ${lapsedOf(work.now)}`,
           )} as balances,
           ${listed(
             sql`subscription_id, resource_id, capacity, active, planned_at, planned_capacity`,
             capacities(
               work,
               sql`given g
                 join subscription_item_features s on s.environment_id = ${work.environmentId}
                  and s.subscription_id = g.subscription_id and s.resource_id = any(g.resource_ids)`,
               isGiven(work, sql`g.item_ids`),
             ),
           )} as holdings,
           ${listed(
             sql`subscription_id, resource_id, claimed`,
             claims(
               work,
               sql`given g`,
               sql`c.subscription_id = g.subscription_id and c.resource_id = any(g.resource_ids)`,
             ),
           )} as claims`.execute(work.db);
  const [found] = rows;
  assert(found, 'a select without a table answers one row');
  return found;
}

/** What a customer's entitlements are made of. Amounts and balances are texts: they may be beyond what JSON carries. */
export interface FoundEntitlements {
  /** Those that the external id may mean: one if all is well. */
  readonly customers: readonly (readonly [id: string, pricingModelId: string])[];
  /** Whether the customer has the subscription that was asked for, current or not. */
  readonly hasSubscription: boolean;
  readonly grants: readonly (readonly [
    subscriptionId: string,
    featureId: string,
    slug: string,
    name: string,
    type: FeatureType,
    active: boolean,
    amount: string | null,
    about: string | null,
  ])[];
  /** Newest subscription first, then oldest meter. */
  readonly balances: readonly (readonly [
    usageMeterId: string,
    slug: string,
    subscriptionId: string,
    available: string,
    held: string,
  ])[];
  /** Newest subscription first, then oldest resource. */
  readonly holdings: readonly (readonly [resourceId: string, slug: string, subscriptionId: string, capacity: number])[];
  /** How many active claims there are, where there are any. */
  readonly claims: readonly (readonly [subscriptionId: string, resourceId: string, claimed: number])[];
}

/** Which entitlements to read: those that all current subscriptions of a customer give, or one of them. */
export interface EntitlementsQuery {
  readonly pricingModelId?: string | undefined;
  readonly subscriptionId?: string | undefined;
}

export async function findEntitlements(
  work: Work,
  externalId: string,
  { pricingModelId, subscriptionId }: EntitlementsQuery,
): Promise<FoundEntitlements> {
  const { environmentId, now } = work;
  const hasSubscription =
    subscriptionId === undefined
      ? sql`true`
      : sql`exists (select from customer c
                      join subscriptions s on s.environment_id = ${environmentId} and s.customer_id = c.id
                     where s.id = ${subscriptionId})`;
  const { rows } = await sql<FoundEntitlements>`
    with customer as materialized (
      select 1 as number, c.id, c.pricing_model_id from customers c
       where c.environment_id = ${environmentId} and c.external_id = ${externalId} and ${canBeMeant(pricingModelId)}),
    ${currentSubscriptions(work, subscriptionId === undefined ? sql`` : sql`and s.id = ${subscriptionId}`)}
    select ${listed(sql`id, pricing_model_id`, sql`customer`)} as customers,
           ${hasSubscription} as has_subscription,
           ${listed(
             sql`s.subscription_id, s.feature_id, f.slug, f.name, f.type, f.active, s.amount::text,
                 coalesce(s.usage_meter_id, s.resource_id)`,
             sql`subscription u
             join subscription_item_features s on s.environment_id = ${environmentId} and s.subscription_id = u.id
              and ${isGiven(work, sql`u.item_ids`)}
             cross join lateral (
               select f.slug, f.name, f.type, f.active from features f
                where f.environment_id = ${environmentId} and f.id = s.feature_id offset 0) as f`,
           )} as grants,
           ${listed(
             sql`m.id, m.slug, u.id, coalesce(${availableBalance}, 0)::text, coalesce(a.held - lapsed.holds, 0)::text`,
             sql`subscription u
             cross join lateral (
               select m.id, m.slug from usage_meters m
                where m.environment_id = ${environmentId} and m.pricing_model_id = u.pricing_model_id offset 0) as m
             left join ledger_accounts a
               on a.environment_id = ${environmentId} and a.subscription_id = u.id and a.usage_meter_id = m.id
             ${lapsedOf(now)}`,
             sql`order by u.id desc, m.id`,
           )} as balances,
           ${listed(
             sql`resource_id, slug, subscription_id, capacity`,
             capacities(
               work,
               sql`subscription u
                 join subscription_item_features s on s.environment_id = ${environmentId} and s.subscription_id = u.id
                  and s.resource_id is not null`,
               isGiven(work, sql`u.item_ids`),
             ),
             sql`order by subscription_id desc, resource_id`,
           )} as holdings,
           ${listed(
             sql`subscription_id, resource_id, claimed`,
             claims(work, sql`subscription u`, sql`c.subscription_id = u.id`),
           )} as claims`.execute(work.db);
  const [found] = rows;
  assert(found, 'a select without a table answers one row');
  return found;
}

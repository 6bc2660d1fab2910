import assert from 'node:assert/strict';
import { type RawBuilder, sql } from 'kysely';
import { idArray, textArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import { accessOf } from '../organizations/setting.ts';
import type { FeatureType, LimitTerms } from '../pricing/feature.ts';
import { smallestPerUnit } from '../rating/pool-units.ts';
import { isBehind } from '../subscriptions/store-renewals.ts';
import { arrearsWithoutAccess, currentStatuses } from '../subscriptions/subscription.ts';
import { availableBalance, endedUnbooked, freeBalance } from '../usage/store-balances.ts';
import type { Asked, Found, FoundValue } from './entitlement-check.ts';
import { capacityOf, notExpired } from './store-claims.ts';
import { hasStarted, lasts } from './store-item-features.ts';

/** The most subscriptions that the customers of one request of checks may have: about ten megabytes of rows. */
export const maxSubscriptionsChecked = 10_000;

/*
 * Two statements with common parts. Each set of rows is found once by an index and returned separately; the caller
 * joins them. The planner does not know the length of list parameters: it would join two lists of a thousand row by
 * row, or scan a table of the whole environment. An `offset 0` forces index lookups in such queries.
 */

/**
 * A list whose length is hidden from the planner. Otherwise a plan for a short list would look so much cheaper that
 * PostgreSQL would replan each time, which takes longer than the execution.
 */
function hidden(list: RawBuilder<unknown>) {
  return sql`(select ${list})`;
}

/** Limits customers `c` to those that an external id may mean: of one pricing model if given. */
function canBeMeant(pricingModelId: string | undefined) {
  const ofModel = pricingModelId === undefined ? sql`` : sql`and c.pricing_model_id = ${pricingModelId}`;
  return sql`not c.archived ${ofModel}`;
}

/**
 * The subscriptions of the rows of `customer` that have not ended, and the current ones of them, with their active items. A
 * subscription with a future start has an empty period until then.
 */
function currentSubscriptions(
  work: Work,
  { which = sql``, limit = sql`` }: Readonly<Record<string, RawBuilder<unknown>>>,
) {
  // The literal statuses match the index of subscriptions that have not ended.
  return sql`living as materialized (
      select c.number as customer, c.slugs, s.*
        from customer c
       cross join lateral (
         select s.id, s.pricing_model_id,
                s.arrears <> all(${idArray(arrearsWithoutAccess(accessOf(work)))}::text[]) as has_access,
                s.status = any(${idArray(currentStatuses)}::text[]) and s.replaced_by_subscription_id is null
                  and coalesce(s.current_billing_period_start < s.current_billing_period_end, true) as is_current,
                ${isBehind(work.now)} as is_behind
           from subscriptions s
          where s.environment_id = ${work.environmentId} and s.customer_id = c.id
            and s.status not in ('canceled', 'incomplete_expired') offset 0) s ${limit}),
    subscription as materialized (
      select s.customer, s.slugs, s.id, s.pricing_model_id, s.has_access,
             array(select i.id from subscription_items i
                    where i.environment_id = ${work.environmentId} and i.subscription_id = s.id
                      and ${hasStarted(work.now)}) as item_ids
        from living s where s.is_current ${which})`;
}

/** The subscriptions with overdue work; null: there are none. */
const behindOnes = sql`(select json_agg(id) from living where is_behind)`;

/** The effective grants of a subscription: unexpired features `s` on active items. */
function isGiven(work: Work, itemIds: RawBuilder<unknown>) {
  return sql<boolean>`${lasts(work.now)} and s.subscription_item_id = any(${itemIds})`;
}

/** A subscription's capacity of each resource; `count` is true for features `s` that grant access. */
function capacities(
  work: Work,
  subscriptionId: RawBuilder<unknown>,
  resources: RawBuilder<unknown>,
  count: RawBuilder<boolean>,
) {
  return sql`(
      select s.resource_id, ${capacityOf(count)} as capacity from subscription_item_features s
       where s.environment_id = ${work.environmentId} and s.subscription_id = ${subscriptionId} and ${resources}
       group by s.resource_id)`;
}

/** A subscription's number of active claims by resource, if any. */
function claims(work: Work, subscriptionId: RawBuilder<unknown>, resources: RawBuilder<unknown>) {
  return sql`(
      select c.resource_id, count(*) as claimed from resource_claims c
       where c.environment_id = ${work.environmentId} and c.subscription_id = ${subscriptionId}
         and c.released_at is null and ${resources} and ${notExpired(work.now)}
       group by c.resource_id)`;
}

/** The value of a feature `s`, as a `FoundValue`, or null. */
const valued = sql`case when s.value is not null then json_build_array(s.id, s.manually_created, s.value) end`;

/** Rows as one value, a list of lists; `from` is the rest of the select after its columns. */
function listed(columns: RawBuilder<unknown>, from: RawBuilder<unknown>, order: RawBuilder<unknown> = sql``) {
  return sql`(select coalesce(json_agg(json_build_array(${columns}) ${order}), '[]'::json) from ${from})`;
}

/**
 * Finds customers, then their subscriptions, then the features of the requested slugs, then those that each
 * subscription grants, in one index scan. Slugs are looked up one by one, because there may be many pricing models.
 */
function givenOf(work: Work, requested: Asked, pricingModelId: string | undefined) {
  const { environmentId } = work;
  const wanted = requested.groups.flatMap((slugs, index) => slugs.map((slug) => ({ group: index + 1, slug })));
  const texts = (list: readonly string[]) => hidden(sql`${textArray(list)}::text[]`);
  const numbers = (list: readonly number[]) => hidden(sql`${idArray(list)}::int[]`);
  return sql`
    with customer as materialized (
      select asked.number, asked.slugs, c.id, c.pricing_model_id
        from unnest(${texts(requested.externalIds)}, ${numbers(requested.groupOf)})
               with ordinality as asked (external_id, slugs, number)
        join customers c on c.environment_id = ${environmentId} and c.external_id = asked.external_id
         and ${canBeMeant(pricingModelId)}),
    ${currentSubscriptions(work, { limit: sql`limit ${maxSubscriptionsChecked + 1}` })},
    feature as materialized (
      select asked.slugs, asked.slug, f.id, f.pricing_model_id, f.type, f.active
        from (select wanted.slugs, wanted.slug, named.text
                from unnest(${numbers(wanted.map(({ group }) => group))}, ${numbers(wanted.map(({ slug }) => slug))})
                       as wanted (slugs, slug)
                join unnest(${texts(requested.slugs)}) with ordinality as named (text, slug) on named.slug = wanted.slug) as asked
        join (select distinct slugs, pricing_model_id from customer) as c on c.slugs = asked.slugs
        cross join lateral (
          select f.id, f.pricing_model_id, f.type, f.active from features f
           where f.environment_id = ${environmentId} and f.pricing_model_id = c.pricing_model_id
             and f.slug = asked.text offset 0) as f),
    wanted as materialized (
      select u.customer, u.id, u.has_access, u.item_ids, f.ids as feature_ids
        from subscription u
        join (select slugs, pricing_model_id, array_agg(id) as ids from feature group by slugs, pricing_model_id) as f
          on f.slugs = u.slugs and f.pricing_model_id = u.pricing_model_id),
    given as materialized (
      select w.customer, w.id as subscription_id, w.has_access, w.item_ids, g.features, g.meter_ids, g.resource_ids
        from wanted w
        cross join lateral (
          select json_agg(json_build_array(s.feature_id, coalesce(s.usage_meter_id, s.resource_id), ${valued})) as features,
                 array_agg(s.usage_meter_id) filter (where s.usage_meter_id is not null) as meter_ids,
                 array_agg(s.resource_id) filter (where s.resource_id is not null) as resource_ids
            from subscription_item_features s
           where s.environment_id = ${environmentId} and s.subscription_id = w.id
             and s.feature_id = any(w.feature_ids) and ${isGiven(work, sql`w.item_ids`)}) as g
       where g.features is not null)`;
}

/** A pool that may pay at its price for usage of a meter through a subscription, with its balance in smallest units. */
export type PoolAtPrice = readonly [
  subscriptionId: string,
  pricingModelId: string,
  productId: string,
  usageMeterId: string,
  /** The account of the subscription on the meter, if there is one. */
  ledgerAccountId: string | null,
  creditPoolId: string,
  balance: string,
];

/** The columns of a `PoolAtPrice`, from `poolsAtPrice`. */
const atPriceColumns = sql`s.id, s.pricing_model_id, s.product_id, g.meter_id, s.account_id, p.id, pool.balance`;

/** Records that are right only once the overdue work of these subscriptions is done. Null: there is none. */
export interface MaybeBehind {
  readonly behind: readonly string[] | null;
}

interface FoundForChecks extends Omit<Found, 'pooled'>, MaybeBehind {
  readonly atPrice: readonly PoolAtPrice[];
}

/**
 * Pools that draw at the price of a meter without a rate, from `customer` and `given`: a rate without conditions comes
 * before the price. Each step waits for the one before it, so nothing more is read unless a pool draws at the price. To
 * try all orders of eleven tables takes each new connection 7 ms.
 */
function poolsAtPrice({ environmentId, currency, now }: Work): RawBuilder<unknown> {
  return sql`(
      select p.id, p.pricing_model_id
        from (select distinct pricing_model_id from customer) model
        join credit_pools p on p.environment_id = ${environmentId} and p.pricing_model_id = model.pricing_model_id
         and p.draw_at_price and p.unit = ${currency}) p
    join customer c on c.pricing_model_id = p.pricing_model_id
    cross join lateral (
      select (${availableBalance})::text as balance from ledger_accounts a ${endedUnbooked(now)}
       where a.environment_id = ${environmentId} and a.customer_id = c.id and a.usage_meter_id = p.id offset 0) pool
    cross join lateral (
      select g.subscription_id, m.id as meter_id
        from given g
        cross join unnest(g.meter_ids) asked (meter_id)
        join usage_meters m on m.environment_id = ${environmentId} and m.id = asked.meter_id and not m.is_measured
       where g.customer = c.number
         and not exists (select from credit_pool_rates r
                          where r.environment_id = ${environmentId} and r.usage_meter_id = m.id and r.where is null)
      offset 0) g
    cross join lateral (
      select s.id, s.pricing_model_id, plan.product_id, own.id as account_id
        from subscriptions s
        join prices plan on plan.environment_id = ${environmentId} and plan.id = s.price_id
        left join ledger_accounts own on own.environment_id = ${environmentId} and own.subscription_id = s.id
         and own.usage_meter_id = g.meter_id
       where s.environment_id = ${environmentId} and s.id = g.subscription_id offset 0) s`;
}

/** The stored data for checks, limited to customers of one pricing model if given. */
export async function findForChecks(
  work: Work,
  requested: Asked,
  pricingModelId: string | undefined,
): Promise<FoundForChecks> {
  const { environmentId } = work;
  const balances = listed(
    sql`a.usage_meter_id, (${availableBalance})::text, (${freeBalance})::text`,
    sql`ledger_accounts a ${endedUnbooked(work.now)}
     where a.environment_id = ${environmentId} and a.subscription_id = g.subscription_id
       and a.usage_meter_id = any(g.meter_ids)`,
  );
  const places = sql`s.resource_id = any(g.resource_ids)`;
  const capacity = capacities(work, sql`g.subscription_id`, places, isGiven(work, sql`g.item_ids`));
  const claimed = claims(work, sql`g.subscription_id`, sql`c.resource_id = any(g.resource_ids)`);
  const inactive = sql`(select distinct unnest(g.resource_ids) as id from given g) as held
    cross join lateral (select from resources r
                         where r.environment_id = ${environmentId} and r.id = held.id and not r.active offset 0) as r`;
  // A check has no properties, so only rates without conditions count. A pool that is asked for pays whole units of itself.
  const pools = sql`(
      select distinct g.customer, c.id as customer_id, m.id as meter_id
        from given g join customer c on c.number = g.customer cross join unnest(g.meter_ids) m (id)) asked
    left join credit_pool_rates r on r.environment_id = ${environmentId} and r.usage_meter_id = asked.meter_id and r.where is null
    join ledger_accounts a on a.environment_id = ${environmentId} and a.customer_id = asked.customer_id
     and a.usage_meter_id = case when starts_with(asked.meter_id, 'credit_pool_') then asked.meter_id else r.credit_pool_id end
    ${endedUnbooked(work.now)}`;
  const { rows } = await sql<FoundForChecks>`
    ${givenOf(work, requested, pricingModelId)}
    select ${listed(sql`number, pricing_model_id`, sql`customer`)} as customers,
           (select count(*) from living) as subscriptions_read,
           ${behindOnes} as behind,
           ${listed(sql`slug, id, pricing_model_id, type, active`, sql`feature`)} as features,
           ${listed(
             sql`g.customer, g.subscription_id, g.features, ${balances},
                 ${listed(sql`resource_id, capacity`, sql`${capacity} as capacity`)},
                 ${listed(sql`resource_id, claimed`, sql`${claimed} as claim`)}, a.effective_at, a.capacities, g.has_access`,
             sql`given g
             left join subscription_adjustments a on a.environment_id = ${environmentId}
              and a.subscription_id = g.subscription_id and a.status in ('awaiting_payment', 'scheduled')`,
           )} as subscriptions,
           (select coalesce(json_agg(held.id), '[]'::json) from ${inactive}) as inactive_resources,
           ${listed(sql`asked.customer, asked.meter_id, div(greatest(${availableBalance}, 0), coalesce(r.unit_cost, ${smallestPerUnit}::numeric))::text`, pools)} as pools,
           ${listed(atPriceColumns, poolsAtPrice(work))} as at_price`.execute(work.db);
  const [found] = rows;
  assert(found, 'a select without a table answers one row');
  return found;
}

/**
 * The stored data of a customer's entitlements. Amounts and balances are texts, because they may exceed JSON's exact
 * numbers.
 */
export interface FoundEntitlements extends MaybeBehind {
  /** The customers with the external id: normally one. */
  readonly customers: readonly (readonly [id: string, pricingModelId: string])[];
  /** Whether the customer has the requested subscription, current or not. */
  readonly hasSubscription: boolean;
  /** Oldest first, in smallest units. */
  readonly pools: readonly (readonly [creditPoolId: string, slug: string, available: string, held: string])[];
  /** The rates without conditions of these pools. A meter has one. */
  readonly poolRates: readonly (readonly [usageMeterId: string, creditPoolId: string, unitCost: string])[];
  readonly atPrice: readonly PoolAtPrice[];
  /** Newest first. */
  readonly subscriptions: readonly (readonly [
    subscriptionId: string,
    features: readonly (readonly [
      featureId: string,
      slug: string,
      name: string,
      type: FeatureType,
      active: boolean,
      amount: string | null,
      about: string | null,
      valued: FoundValue | null,
      spendLimit: LimitTerms | null,
    ])[],
    /** Oldest meter first. */
    balances: readonly (readonly [usageMeterId: string, slug: string, available: string, held: string, free: string])[],
    /** Oldest resource first. */
    capacities: readonly (readonly [resourceId: string, slug: string, capacity: number, active: boolean])[],
    claims: readonly (readonly [resourceId: string, claimed: number])[],
    /** Whether the customer may use it: unpaid invoices may withhold that. */
    hasAccess: boolean,
  ])[];
}

/** The entitlements to read: of all current subscriptions of a customer, or of one of them. */
export interface EntitlementsQuery {
  readonly pricingModelId?: string | undefined;
  readonly subscriptionId?: string | undefined;
}

/** The credit pools of the customer with their accounts, and the rates without conditions at which meters draw from them. */
function fromPools({ environmentId, now }: Work) {
  const pools = sql`customer c
    join credit_pools p on p.environment_id = ${environmentId} and p.pricing_model_id = c.pricing_model_id
    left join ledger_accounts a
      on a.environment_id = ${environmentId} and a.customer_id = c.id and a.usage_meter_id = p.id
    ${endedUnbooked(now)}`;
  const rates = sql`customer c
    join credit_pools p on p.environment_id = ${environmentId} and p.pricing_model_id = c.pricing_model_id
    join credit_pool_rates r on r.environment_id = ${environmentId} and r.credit_pool_id = p.id and r.where is null`;
  return { pools, rates };
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
  const features = sql`subscription_item_features s
    cross join lateral (select f.slug, f.name, f.type, f.active, f.spend_limit from features f
                         where f.environment_id = ${environmentId} and f.id = s.feature_id offset 0) as f
    where s.environment_id = ${environmentId} and s.subscription_id = u.id and ${isGiven(work, sql`u.item_ids`)}`;
  const balances = sql`usage_meters m
    left join ledger_accounts a
      on a.environment_id = ${environmentId} and a.subscription_id = u.id and a.usage_meter_id = m.id
    ${endedUnbooked(now)}
    where m.environment_id = ${environmentId} and m.pricing_model_id = u.pricing_model_id`;
  const resources = sql`${capacities(work, sql`u.id`, sql`s.resource_id is not null`, isGiven(work, sql`u.item_ids`))} as h
    cross join lateral (select r.id, r.slug, r.active from resources r
                         where r.environment_id = ${environmentId} and r.id = h.resource_id offset 0) as r`;
  const { pools, rates } = fromPools(work);
  const { rows } = await sql<FoundEntitlements>`
    with customer as materialized (
      select 1 as number, 1 as slugs, c.id, c.pricing_model_id from customers c
       where c.environment_id = ${environmentId} and c.external_id = ${externalId} and ${canBeMeant(pricingModelId)}),
    ${currentSubscriptions(work, { which: subscriptionId === undefined ? sql`` : sql`and s.id = ${subscriptionId}` })},
    given as materialized (
      select u.customer, u.id as subscription_id,
             array(select m.id from usage_meters m
                    where m.environment_id = ${environmentId} and m.pricing_model_id = u.pricing_model_id) as meter_ids
        from subscription u)
    select ${listed(sql`id, pricing_model_id`, sql`customer`)} as customers,
           ${hasSubscription} as has_subscription,
           ${behindOnes} as behind,
           ${listed(
             sql`p.id, p.slug, coalesce(${availableBalance}, 0)::text, coalesce(a.held - ended.holds, 0)::text`,
             pools,
             sql`order by p.id`,
           )} as pools,
           ${listed(sql`r.usage_meter_id, p.id, r.unit_cost::text`, rates)} as pool_rates,
           ${listed(atPriceColumns, poolsAtPrice(work))} as at_price,
           ${listed(
             sql`u.id, ${listed(
               sql`s.feature_id, f.slug, f.name, f.type, f.active, s.amount::text,
                   coalesce(s.usage_meter_id, s.resource_id), ${valued}, f.spend_limit`,
               features,
             )},
             ${listed(
               sql`m.id, m.slug, coalesce(${availableBalance}, 0)::text, coalesce(a.held - ended.holds, 0)::text,
                   coalesce(${freeBalance}, 0)::text`,
               balances,
               sql`order by m.id`,
             )},
             ${listed(sql`r.id, r.slug, capacity, r.active`, resources, sql`order by r.id`)},
             ${listed(sql`resource_id, claimed`, sql`${claims(work, sql`u.id`, sql`true`)} as claim`)}, u.has_access`,
             sql`subscription u`,
             sql`order by u.id desc`,
           )} as subscriptions`.execute(work.db);
  const [found] = rows;
  assert(found, 'a select without a table answers one row');
  return found;
}

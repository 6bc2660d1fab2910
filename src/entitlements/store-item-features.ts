import { type RawBuilder, sql } from 'kysely';
import { jsonb } from '../database/json-records.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant, Interval } from '../kernel/calendar.ts';
import { ledgerUnits } from '../pricing/credit-pool.ts';
import type { FeatureType, FeatureValue, RenewalFrequency } from '../pricing/feature.ts';
import { statementsOf } from '../pricing/store-rows.ts';
import { currentStatuses } from '../subscriptions/subscription.ts';
import { type ItemFeatureValues, productFeatureExpired, type StoredItemFeature } from './subscription-item-feature.ts';

/**
 * True for a feature `s` of an item `i` that grants access at the instant: neither has expired, and the item has begun.
 */
export function givesAccess(at: Instant | RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`${lasts(at)} and ${hasStarted(at)}`;
}

/** The condition on the feature `s`. */
export function lasts(at: Instant | RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(s.expired_at is null or s.expired_at > ${at})`;
}

/** The condition on the item `i`. */
export function hasStarted(at: Instant | RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(i.expired_at is null or i.expired_at > ${at}) and i.added_date <= ${at}`;
}

const itemOfFeature = sql`join subscription_items i
  on i.environment_id = s.environment_id and i.id = s.subscription_item_id`;

function selectItemFeatures(work: Work, joins: RawBuilder<unknown> = sql``) {
  return sql<StoredItemFeature>`
    select s.id, s.created_at, s.updated_at, s.pricing_model_id, s.subscription_id, s.subscription_item_id, s.feature_id,
           s.product_feature_id, s.type, s.amount, s.usage_meter_id, s.renewal_frequency, s.grant_interval, s.resource_id, s.value, s.expired_at,
           s.detached_at, s.detached_reason, s.manually_created, f.name, f.slug, f.spend_limit
      from subscription_item_features s
      join features f on f.environment_id = s.environment_id and f.id = s.feature_id
      ${joins}
     where s.environment_id = ${work.environmentId}`;
}

async function firstOf(work: Work, query: RawBuilder<unknown>): Promise<StoredItemFeature | null> {
  const result = await sql<StoredItemFeature>`${query}`.execute(work.db);
  return result.rows[0] ?? null;
}

export async function findItemFeature(work: Work, id: string): Promise<StoredItemFeature | null> {
  return firstOf(work, sql`${selectItemFeatures(work)} and s.id = ${id}`);
}

/** Locks the row until the work ends, which serializes its changes. */
export async function lockItemFeature(work: Work, id: string): Promise<StoredItemFeature | null> {
  return firstOf(work, sql`${selectItemFeatures(work)} and s.id = ${id} for no key update of s`);
}

/** The feature of this item without an end, or null. Locks its row: it may end or change meanwhile. */
export async function lockLastingItemFeature(
  work: Work,
  subscriptionItemId: string,
  featureId: string,
): Promise<StoredItemFeature | null> {
  return firstOf(
    work,
    sql`${selectItemFeatures(work)}
       and s.subscription_item_id = ${subscriptionItemId} and s.feature_id = ${featureId} and s.expired_at is null
       for no key update of s`,
  );
}

/** The features of these subscriptions that grant access at the instant, in order of creation. */
export async function listItemFeatures(
  work: Work,
  subscriptionIds: readonly string[],
  at: Instant,
): Promise<StoredItemFeature[]> {
  const result = await sql<StoredItemFeature>`${selectItemFeatures(work, itemOfFeature)}
      and s.subscription_id = any(${subscriptionIds}) and ${givesAccess(at)}
    order by s.id`.execute(work.db);
  return result.rows;
}

/** The features of these items that have an amount and come from their products, expired ones included. */
export async function listAmountsOfItems(work: Work, itemIds: readonly string[]): Promise<StoredItemFeature[]> {
  if (itemIds.length === 0) return [];
  const result = await sql<StoredItemFeature>`${selectItemFeatures(work)}
      and s.subscription_item_id = any(${itemIds}::text[]) and s.amount is not null and not s.manually_created
    order by s.id`.execute(work.db);
  return result.rows;
}

/** Saves the amounts of features. */
export async function saveAmounts(
  work: Work,
  features: readonly Pick<StoredItemFeature, 'id' | 'amount'>[],
): Promise<void> {
  if (features.length === 0) return;
  await sql`
    update subscription_item_features s set amount = changed.amount, updated_at = ${work.now}
      from unnest(${features.map(({ id }) => id)}::text[], ${features.map(({ amount }) => amount)}::numeric[])
             as changed (id, amount)
     where s.environment_id = ${work.environmentId} and s.id = changed.id`.execute(work.db);
}

/** A feature that grants credits: `amount` of them per `renewalFrequency`, as the ledger counts them. */
export interface CreditFeature {
  readonly id: string;
  readonly subscriptionId: string;
  readonly featureId: string;
  /** The usage meter or credit pool. */
  readonly usageMeterId: string;
  readonly amount: bigint;
  readonly renewalFrequency: RenewalFrequency;
  readonly grantInterval: Interval | null;
}

/** The credit features of each subscription that grant access at its instant, in order of creation. */
export async function listCreditFeatures(
  work: Work,
  requested: readonly { readonly subscriptionId: string; readonly at: Instant }[],
): Promise<CreditFeature[]> {
  const result = await sql<CreditFeature>`
    select s.id, s.subscription_id, s.feature_id, s.usage_meter_id, s.amount, s.renewal_frequency, s.grant_interval
      from unnest(${requested.map((each) => each.subscriptionId)}::text[], ${requested.map((each) => each.at)}::bigint[])
             as asked (subscription_id, at)
      join subscription_item_features s
        on s.environment_id = ${work.environmentId} and s.subscription_id = asked.subscription_id
      ${itemOfFeature}
     where s.type = 'usage_credit_grant' and ${givesAccess(sql`asked.at`)}
     order by s.id`.execute(work.db);
  return result.rows.map((row) => ({ ...row, amount: ledgerUnits(row.usageMeterId, row.amount) }));
}

/** The intervals at which each subscription is granted credits after its instant, by subscription. */
export async function listGrantIntervals(
  work: Work,
  requested: readonly { readonly subscriptionId: string; readonly at: Instant }[],
): Promise<Map<string, Interval[]>> {
  const result = await sql<{ subscriptionId: string; intervals: Interval[] }>`
    select s.subscription_id, jsonb_agg(distinct s.grant_interval) as intervals
      from unnest(${requested.map((each) => each.subscriptionId)}::text[], ${requested.map((each) => each.at)}::bigint[])
             as asked (subscription_id, at)
      join subscription_item_features s
        on s.environment_id = ${work.environmentId} and s.subscription_id = asked.subscription_id
     where s.grant_interval is not null and ${lasts(sql`asked.at`)}
     group by s.subscription_id`.execute(work.db);
  return new Map(result.rows.map(({ subscriptionId, intervals }) => [subscriptionId, intervals]));
}

/** The item that a feature is added to. */
interface HoldingItem {
  readonly id: string;
  readonly pricingModelId: string;
  readonly subscriptionId: string;
  readonly manuallyCreated: boolean;
  readonly expiredAt: Instant | null;
}

export async function findItem(work: Work, id: string): Promise<HoldingItem | null> {
  const row = await work.db
    .selectFrom('subscriptionItems')
    .select(['id', 'pricingModelId', 'subscriptionId', 'manuallyCreated', 'expiredAt'])
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row ?? null;
}

/** A link from a product to a feature, with the values to copy. */
export interface ProductLink {
  readonly productFeatureId: string;
  readonly productId: string;
  readonly linkExpiredAt: Instant | null;
  readonly featureId: string;
  readonly type: FeatureType;
  readonly amount: bigint | null;
  readonly usageMeterId: string | null;
  readonly renewalFrequency: StoredItemFeature['renewalFrequency'];
  readonly grantInterval: StoredItemFeature['grantInterval'];
  readonly rolloverMaximum: bigint | null;
  readonly rolloverPeriods: number | null;
  readonly resourceId: string | null;
  readonly value: FeatureValue | null;
}

/** The unexpired links of these products to active features; newest feature first. */
export async function listProductLinks(work: Work, productIds: readonly string[]): Promise<ProductLink[]> {
  const result = await sql<ProductLink>`
    select l.id as product_feature_id, l.product_id, l.expired_at as link_expired_at, f.id as feature_id, f.type,
           f.amount, f.usage_meter_id, f.renewal_frequency, f.grant_interval, f.rollover_maximum, f.rollover_periods, f.resource_id,
           coalesce(l.value, f.value) as value
      from product_features l
      join features f on f.environment_id = l.environment_id and f.id = l.feature_id
     where l.environment_id = ${work.environmentId} and l.product_id = any(${productIds})
       and (l.expired_at is null or l.expired_at > ${work.now}) and f.active
     order by l.product_id, f.created_at desc, f.id desc`.execute(work.db);
  return result.rows;
}

/** The fields of a new row, besides its id. */
export interface NewRow extends ItemFeatureValues {
  readonly pricingModelId: string;
  readonly subscriptionId: string;
  readonly subscriptionItemId: string;
  readonly featureId: string;
  readonly type: FeatureType;
}

function toColumns(work: Work, row: NewRow) {
  return {
    environmentId: work.environmentId,
    pricingModelId: row.pricingModelId,
    subscriptionId: row.subscriptionId,
    subscriptionItemId: row.subscriptionItemId,
    featureId: row.featureId,
    type: row.type,
    ...toValues(row),
    createdAt: work.now,
    updatedAt: work.now,
  };
}

function toValues(values: ItemFeatureValues) {
  return {
    productFeatureId: values.productFeatureId,
    amount: values.amount,
    usageMeterId: values.usageMeterId,
    renewalFrequency: values.renewalFrequency,
    grantInterval: jsonb(values.grantInterval),
    resourceId: values.resourceId,
    value: jsonb(values.value),
    expiredAt: values.expiredAt,
    detachedAt: values.detachedAt,
    detachedReason: values.detachedReason,
    manuallyCreated: values.manuallyCreated,
  };
}

/** Inserts a row and returns its id. A duplicate without an end violates the unique key. */
export async function insertItemFeature(work: Work, row: NewRow): Promise<string> {
  const id = newId('subscriptionItemFeature', row.subscriptionItemId);
  await work.db
    .insertInto('subscriptionItemFeatures')
    .values({ id, ...toColumns(work, row) })
    .execute();
  return id;
}

/**
 * Inserts rows that come from products, or updates the existing row of the item and feature without an end, which keeps
 * its id. Returns the ids by `pairOf`.
 */
export async function upsertItemFeatures(work: Work, rows: readonly NewRow[]): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const some of statementsOf(rows)) {
    const written = await work.db
      .insertInto('subscriptionItemFeatures')
      .values(
        some.map((row) => ({ id: newId('subscriptionItemFeature', row.subscriptionItemId), ...toColumns(work, row) })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['environmentId', 'subscriptionItemId', 'featureId'])
          .where('expiredAt', 'is', null)
          .doUpdateSet((row) => ({
            productFeatureId: row.ref('excluded.productFeatureId'),
            amount: row.ref('excluded.amount'),
            usageMeterId: row.ref('excluded.usageMeterId'),
            renewalFrequency: row.ref('excluded.renewalFrequency'),
            grantInterval: row.ref('excluded.grantInterval'),
            resourceId: row.ref('excluded.resourceId'),
            value: row.ref('excluded.value'),
            detachedAt: null,
            detachedReason: null,
            updatedAt: work.now,
          })),
      )
      .returning(['id', 'subscriptionItemId', 'featureId'])
      .execute();
    for (const row of written) ids.set(pairOf(row), row.id);
  }
  return ids;
}

/** Updates features that have an end; they keep their ids and ends. Returns the ids by `pairOf`. */
export async function changeEndingItemFeatures(work: Work, rows: readonly NewRow[]): Promise<Map<string, string>> {
  if (rows.length === 0) return new Map();
  const all = <Key extends keyof NewRow>(key: Key) => rows.map((row) => row[key]);
  const intervals = rows.map(({ grantInterval }) => grantInterval && JSON.stringify(grantInterval));
  const values = rows.map(({ value }) => (value === null ? null : JSON.stringify(value)));
  const result = await sql<{ id: string; subscriptionItemId: string; featureId: string }>`
    update subscription_item_features s
       set product_feature_id = new.product_feature_id, amount = new.amount, usage_meter_id = new.usage_meter_id,
           renewal_frequency = new.renewal_frequency, grant_interval = new.grant_interval::jsonb,
           resource_id = new.resource_id, value = new.value::jsonb, updated_at = ${work.now}
      from unnest(${all('subscriptionItemId')}::text[], ${all('featureId')}::text[], ${all('expiredAt')}::bigint[],
             ${all('productFeatureId')}::text[], ${all('amount')}::numeric[], ${all('usageMeterId')}::text[],
             ${all('renewalFrequency')}::text[], ${intervals}::text[], ${all('resourceId')}::text[], ${values}::text[]
           ) as new (subscription_item_id, feature_id, expired_at, product_feature_id, amount, usage_meter_id,
                     renewal_frequency, grant_interval, resource_id, value)
     where s.environment_id = ${work.environmentId} and s.subscription_item_id = new.subscription_item_id
       and s.feature_id = new.feature_id and s.expired_at = new.expired_at
    returning s.id, s.subscription_item_id, s.feature_id`.execute(work.db);
  return new Map(result.rows.map((row) => [pairOf(row), row.id]));
}

/** The end of each feature of these items by `pairOf`; features without an end are omitted. */
export async function listItemFeatureEnds(work: Work, itemIds: readonly string[]): Promise<Map<string, Instant>> {
  if (itemIds.length === 0) return new Map();
  const result = await sql<{ subscriptionItemId: string; featureId: string; expiredAt: Instant | null }>`
    select distinct on (subscription_item_id, feature_id) subscription_item_id, feature_id, expired_at
      from subscription_item_features
     where environment_id = ${work.environmentId} and subscription_item_id = any(${itemIds})
     order by subscription_item_id, feature_id, expired_at desc nulls first`.execute(work.db);
  return new Map(result.rows.flatMap((row) => (row.expiredAt === null ? [] : [[pairOf(row), row.expiredAt]])));
}

/** The key of an item's feature. */
export function pairOf({ subscriptionItemId, featureId }: { subscriptionItemId: string; featureId: string }): string {
  return `${subscriptionItemId} ${featureId}`;
}

/** Saves the fields that a request may set. */
export async function saveItemFeature(work: Work, row: StoredItemFeature): Promise<void> {
  await work.db
    .updateTable('subscriptionItemFeatures')
    .set({ ...toValues(row), updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', row.id)
    .execute();
}

/** Ends the features of these subscriptions; an earlier end stays. */
export async function endItemFeatures(work: Work, subscriptionIds: readonly string[], at: Instant): Promise<void> {
  await work.db
    .updateTable('subscriptionItemFeatures')
    .set({ expiredAt: at, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', sql<string>`any(${subscriptionIds})`)
    .where((where) => where.or([where('expiredAt', 'is', null), where('expiredAt', '>', at)]))
    .execute();
}

/** Ends the features of these items, each at its instant; an earlier end stays. */
export async function endFeaturesOfItems(
  work: Work,
  items: readonly { readonly id: string; readonly at: Instant }[],
): Promise<void> {
  await sql`
    update subscription_item_features s set expired_at = ended.at, updated_at = ${work.now}
      from unnest(${items.map(({ id }) => id)}::text[], ${items.map(({ at }) => at)}::bigint[]) as ended (item_id, at)
     where s.environment_id = ${work.environmentId} and s.subscription_item_id = ended.item_id
       and (s.expired_at is null or s.expired_at > ended.at)`.execute(work.db);
}

/**
 * Ends manually added features that another item of the subscription also grants, each at its instant. Values stay,
 * because one that was added by hand is there to differ from that of the plan.
 */
export async function endManualFeaturesOfPlan(
  work: Work,
  subscriptions: readonly { readonly id: string; readonly at: Instant }[],
): Promise<void> {
  await sql`
    update subscription_item_features m set expired_at = ended.at, updated_at = ${work.now}
      from unnest(
             ${subscriptions.map(({ id }) => id)}::text[], ${subscriptions.map(({ at }) => at)}::bigint[]
           ) as ended (subscription_id, at),
           subscription_items holder
     where m.environment_id = ${work.environmentId} and m.subscription_id = ended.subscription_id and m.type <> 'value'
       and (m.expired_at is null or m.expired_at > ended.at)
       and holder.environment_id = m.environment_id and holder.id = m.subscription_item_id and holder.manually_created
       and exists (
         select from subscription_item_features s
           join subscription_items i on i.environment_id = s.environment_id and i.id = s.subscription_item_id
          where s.environment_id = m.environment_id and s.subscription_id = m.subscription_id
            and s.feature_id = m.feature_id and not i.manually_created
            and (s.expired_at is null or s.expired_at > ended.at) and (i.expired_at is null or i.expired_at > ended.at)
            and i.added_date <= ended.at)`.execute(work.db);
}

/** Detaches customers' features from expired links. */
export async function detachFromProducts(work: Work, productFeatureIds: readonly string[]): Promise<void> {
  await work.db
    .updateTable('subscriptionItemFeatures')
    .set({ productFeatureId: null, detachedAt: work.now, detachedReason: productFeatureExpired, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('productFeatureId', '=', sql<string>`any(${productFeatureIds})`)
    .execute();
}

// Beyond this a number only says "very many", and takes longer to count.
const maxCounted = 10_000;

/** A record of a pricing model by its slugs, as a difference names it. */
interface NamedRecord {
  readonly record: string;
  readonly slug: string | null;
  readonly usageMeterSlug: string | null;
}

/**
 * The current subscriptions that have each record, and their customers, in the order of the records. An item has a
 * product and its price, a feature comes by a product, and a usage meter is known by usage.
 */
export async function countCustomersOfRecords(
  work: Work,
  pricingModelId: string,
  records: readonly NamedRecord[],
): Promise<{ subscriptions: number; customers: number }[]> {
  if (records.length === 0) return [];
  const kinds = records.map(({ record }) => record);
  const slugs = records.map(({ slug, usageMeterSlug }) => usageMeterSlug ?? slug);
  const within = (table: string) =>
    sql`${sql.ref(`${table}.environment_id`)} = ${work.environmentId} and ${sql.ref(`${table}.pricing_model_id`)} = ${pricingModelId} and ${sql.ref(`${table}.slug`)} = asked.slug`;
  const { rows } = await sql<{ subscriptions: number; customers: number }>`
    select count(distinct s.id)::integer as subscriptions, count(distinct s.customer_id)::integer as customers
      from unnest(${kinds}::text[], ${slugs}::text[]) with ordinality as asked (record, slug, position)
      left join lateral (
        (select i.subscription_id
           from products p
           join prices r on r.environment_id = p.environment_id and r.product_id = p.id
           join subscription_items i on i.environment_id = r.environment_id and i.price_id = r.id
          where asked.record in ('product', 'price') and ${within('p')} and ${hasStarted(work.now)}
          limit ${maxCounted})
        union all
        (select g.subscription_id
           from features f
           join product_features l on l.environment_id = f.environment_id and l.feature_id = f.id
           join subscription_item_features g on g.environment_id = l.environment_id and g.product_feature_id = l.id
          where asked.record = 'feature' and ${within('f')} and (g.expired_at is null or g.expired_at > ${work.now})
          limit ${maxCounted})
        union all
        (select u.subscription_id
           from usage_meters m
           join usage_series u on u.environment_id = m.environment_id and u.usage_meter_id = m.id
          where asked.record in ('usageMeter', 'usagePrice') and ${within('m')}
          limit ${maxCounted})) found on true
      left join subscriptions s on s.environment_id = ${work.environmentId} and s.id = found.subscription_id
           and s.status = any(${[...currentStatuses]}::text[])
     group by asked.position
     order by asked.position`.execute(work.db);
  return rows;
}

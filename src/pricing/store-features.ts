import { type Selectable, sql } from 'kysely';
import type { Features } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { Interval } from '../kernel/calendar.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import { type Feature, type FeatureValue, grantSubject, type NewFeature, subjectIdOf } from './feature.ts';
import { namingTakenSlug, newRowStamps, statementsOf } from './store-rows.ts';

const featureColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'type',
  'slug',
  'name',
  'description',
  'amount',
  'usageMeterId',
  'renewalFrequency',
  'grantInterval',
  'resourceId',
  'rolloverMaximum',
  'rolloverPeriods',
  'value',
  'spendLimit',
  'active',
] as const;
type FeatureRow = Pick<Selectable<Features>, (typeof featureColumns)[number]>;

function toFeature(work: Work, { value, spendLimit, usageMeterId, ...row }: FeatureRow): Feature {
  const feature = {
    ...row,
    ...grantSubject(usageMeterId),
    ...(value === null ? {} : { value }),
    ...(spendLimit === null ? {} : { spendLimit }),
    livemode: work.livemode,
    organizationId: work.organizationId,
  };
  // The constraint features_shape holds each row to the variant of its type.
  return feature as Feature;
}

/** Inserts features and returns them in the given order. */
export async function insertFeatures(work: Work, features: readonly NewFeature[]): Promise<Feature[]> {
  const rows = features.map((feature) => ({
    id: feature.id,
    pricingModelId: feature.pricingModelId,
    type: feature.type,
    slug: feature.slug,
    name: feature.name,
    description: feature.description,
    amount: feature.amount,
    usageMeterId: subjectIdOf(feature),
    renewalFrequency: feature.renewalFrequency,
    grantInterval: feature.grantInterval,
    resourceId: feature.resourceId,
    rolloverMaximum: feature.rolloverMaximum,
    rolloverPeriods: feature.rolloverPeriods,
    value: feature.type === 'value' ? feature.value : null,
    spendLimit: feature.type === 'spend_limit' ? feature.spendLimit : null,
    active: feature.active,
    ...newRowStamps(work),
  }));
  for (const some of statementsOf(rows)) {
    const values = some.map((row) => ({
      ...row,
      grantInterval: jsonb(row.grantInterval),
      value: jsonb(row.value),
      spendLimit: jsonb(row.spendLimit),
    }));
    await namingTakenSlug('feature', some, work.db.insertInto('features').values(values).execute());
  }
  return rows.map(({ environmentId: _, ...row }) => toFeature(work, row));
}

/**
 * Saves the changeable fields of features: everything but id, pricing model and type. Inactive ones are written first
 * to free their slugs for the others.
 */
export async function saveFeatures(work: Work, features: readonly Feature[]): Promise<Feature[]> {
  for (const active of [false, true]) {
    const rows = features
      .filter((feature) => feature.active === active)
      .map((feature) => ({
        id: feature.id,
        slug: feature.slug,
        name: feature.name,
        description: feature.description,
        amount: feature.amount,
        usage_meter_id: subjectIdOf(feature),
        renewal_frequency: feature.renewalFrequency,
        grant_interval: feature.grantInterval,
        resource_id: feature.resourceId,
        rollover_maximum: feature.rolloverMaximum,
        rollover_periods: feature.rolloverPeriods,
        value: feature.type === 'value' ? feature.value : null,
        spend_limit: feature.type === 'spend_limit' ? feature.spendLimit : null,
        active: feature.active,
      }));
    if (rows.length === 0) continue;
    const statement = sql`
      update features
         set slug = given.slug, name = given.name, description = given.description, amount = given.amount,
             usage_meter_id = given.usage_meter_id, renewal_frequency = given.renewal_frequency,
             grant_interval = given.grant_interval,
             resource_id = given.resource_id, rollover_maximum = given.rollover_maximum,
             rollover_periods = given.rollover_periods, value = given.value, spend_limit = given.spend_limit, active = given.active, updated_at = ${work.now}
        from json_populate_recordset(null::features, ${JSON.stringify(rows)}::json) as given
       where features.environment_id = ${work.environmentId} and features.id = given.id`;
    await namingTakenSlug('feature', rows, statement.execute(work.db));
  }
  return features.map((feature) => ({ ...feature, updatedAt: work.now }));
}

function selectFeatures(work: Work) {
  return work.db
    .selectFrom('features')
    .select(featureColumns)
    .where('environmentId', '=', work.environmentId)
    .orderBy('id');
}

export async function findFeature(work: Work, id: string): Promise<Feature | null> {
  const row = await selectFeatures(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toFeature(work, row);
}

/** The active feature of the pricing model with this slug; there is at most one. */
export async function findActiveFeatureBySlug(
  work: Work,
  pricingModelId: string,
  slug: string,
): Promise<Feature | null> {
  const row = await selectFeatures(work)
    .where('pricingModelId', '=', pricingModelId)
    .where('slug', '=', slug)
    .where('active', '=', true)
    .executeTakeFirst();
  return row === undefined ? null : toFeature(work, row);
}

/** The features with these ids, in order of creation; missing ones are omitted. */
export async function findFeatures(work: Work, ids: readonly string[]): Promise<Feature[]> {
  if (ids.length === 0) return [];
  const rows = await selectFeatures(work).where('id', '=', sql<string>`any(${ids})`).execute();
  return rows.map((row) => toFeature(work, row));
}

/** All features of these pricing models, active or not, in order of creation. */
export async function listFeatures(work: Work, pricingModelIds: readonly string[]): Promise<Feature[]> {
  if (pricingModelIds.length === 0) return [];
  const rows = await selectFeatures(work).where('pricingModelId', '=', sql<string>`any(${pricingModelIds})`).execute();
  return rows.map((row) => toFeature(work, row));
}

export async function pageOfFeatures(work: Work, request: PageRequest): Promise<{ rows: Feature[]; total: number }> {
  const filters = {
    pricingModelId: 'pricing_model_id',
    type: 'type',
    active: 'active',
    slug: 'slug',
    usageMeterId: 'usage_meter_id',
    resourceId: 'resource_id',
    renewalFrequency: 'renewal_frequency',
  };
  const page = await selectPage<FeatureRow>(work, 'features', featureColumns, request, filters);
  return { rows: page.rows.map((row) => toFeature(work, row)), total: page.total };
}

/** A feature that a product includes, for each unit of its quantity. */
export interface Included {
  readonly type: Feature['type'];
  readonly name: string;
  readonly amount: bigint | null;
  readonly renewalFrequency: Feature['renewalFrequency'];
  readonly grantInterval: Interval | null;
  /** The meter whose usage its credits cover; null: it gives none. */
  readonly usageMeterId: string | null;
  /** The unit of the credit pool of its credits: `credit` or a currency; null: they are of none. */
  readonly poolUnit: string | null;
  /** The resource that it lets claim; null: none. */
  readonly resourceId: string | null;
  /** The value that the product gives; null unless it is of type `value`. */
  readonly value: FeatureValue | null;
}

/** The active features of products, in order of creation: at most `limit` for each. */
export async function listIncluded(
  work: Work,
  productIds: readonly string[],
  limit: number,
): Promise<Map<string, Included[]>> {
  if (productIds.length === 0) return new Map();
  const { rows } = await sql<Included & { productId: string }>`
    select asked.product_id, given.type, given.name, given.amount, given.renewal_frequency, given.grant_interval,
           given.usage_meter_id, given.pool_unit, given.resource_id, given.value
      from unnest(${productIds}::text[]) as asked (product_id)
     cross join lateral (
       select f.id, f.type, f.name, f.amount, f.renewal_frequency, f.grant_interval, f.usage_meter_id,
              f.resource_id, coalesce(pf.value, f.value) as value, pool.unit as pool_unit
         from product_features pf
         join features f on f.environment_id = pf.environment_id and f.id = pf.feature_id and f.active
         left join credit_pools pool on pool.environment_id = f.environment_id and pool.id = f.usage_meter_id
        where pf.environment_id = ${work.environmentId} and pf.product_id = asked.product_id
          and (pf.expired_at is null or pf.expired_at > ${work.now})
        order by f.id limit ${limit}) given
     order by given.id`.execute(work.db);
  const included = Map.groupBy(rows, ({ productId }) => productId);
  return new Map([...included].map(([id, each]) => [id, each.map(({ productId: _, ...feature }) => feature)]));
}

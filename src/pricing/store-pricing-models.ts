import { type Selectable, sql } from 'kysely';
import type { PricingModels } from '../database/database-types.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import { type Feature, type FeatureValue, givenFeature } from './feature.ts';
import type { Price } from './price.ts';
import {
  type NewPricingModel,
  type PricingModel,
  type PricingModelDetails,
  type UsageMeterWithPrices,
  withPrices,
} from './pricing-model.ts';
import { listFeatures } from './store-features.ts';
import { priceColumns, toPrice } from './store-prices.ts';
import { productColumns, toProducts } from './store-products.ts';
import { newRowStamps } from './store-rows.ts';
import { listUsageMeters } from './store-usage-meters.ts';

const pricingModelColumns = ['id', 'name', 'isDefault', 'createdAt', 'updatedAt'] as const;
type PricingModelRow = Pick<Selectable<PricingModels>, (typeof pricingModelColumns)[number]>;

function toPricingModel(work: Work, row: PricingModelRow): PricingModel {
  return { ...row, livemode: work.livemode, organizationId: work.organizationId };
}

/** Inserts a pricing model. For a new default, call `clearDefaultPricingModel` first. */
export async function insertPricingModel(work: Work, model: NewPricingModel): Promise<PricingModel> {
  const row = { id: model.id, name: model.name, isDefault: model.isDefault, ...newRowStamps(work) };
  await work.db.insertInto('pricingModels').values(row).execute();
  return toPricingModel(work, {
    id: row.id,
    name: row.name,
    isDefault: row.isDefault,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  });
}

function selectPricingModels(work: Work) {
  return work.db
    .selectFrom('pricingModels')
    .select(pricingModelColumns)
    .where('environmentId', '=', work.environmentId)
    .orderBy('id');
}

export async function findPricingModel(work: Work, id: string): Promise<PricingModel | null> {
  const row = await selectPricingModels(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toPricingModel(work, row);
}

/** The pricing models with these ids, in order of creation; missing ones are omitted. */
async function findPricingModels(work: Work, ids: readonly string[]): Promise<PricingModel[]> {
  if (ids.length === 0) return [];
  const rows = await selectPricingModels(work).where('id', '=', sql<string>`any(${ids})`).execute();
  return rows.map((row) => toPricingModel(work, row));
}

/** The oldest pricing models with this name, at most `limit`. */
export async function findPricingModelsByName(work: Work, name: string, limit: number): Promise<PricingModel[]> {
  const rows = await selectPricingModels(work).where('name', '=', name).limit(limit).execute();
  return rows.map((row) => toPricingModel(work, row));
}

/** The environment's default pricing model, if the key can see it. */
export async function findDefaultPricingModel(work: Work): Promise<PricingModel | null> {
  // Not a parameter: the partial index has one row for each environment.
  const row = await selectPricingModels(work).where(sql<boolean>`is_default`).executeTakeFirst();
  return row === undefined ? null : toPricingModel(work, row);
}

/**
 * Locks the pricing model until the transaction ends. Every change of its contents takes this lock first, which
 * serializes changes of one catalog: no races for defaults or slugs, and no deadlocks.
 */
export async function lockPricingModel(work: Work, id: string): Promise<PricingModel | null> {
  // Weaker than `for update`: rows that reference the model (customers, subscriptions) can be inserted meanwhile.
  const row = await selectPricingModels(work).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
  return row === undefined ? null : toPricingModel(work, row);
}

/**
 * Serializes changes of the default pricing model until the transaction ends. Must be taken before the lock of any
 * pricing model. Locks the environment's row, because a default that does not exist yet has none.
 */
export async function lockDefaultPricingModel(work: Work): Promise<void> {
  await sql`select id from environments where id = ${work.environmentId} for no key update`.execute(work.db);
}

/**
 * Clears the default flag of any pricing model except `keepId`. Returns the id of the one that lost it, or null. Requires
 * `lockDefaultPricingModel`.
 */
export async function clearDefaultPricingModel(work: Work, keepId: string | null = null): Promise<string | null> {
  const row = await work.db
    .updateTable('pricingModels')
    .set({ isDefault: false, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where(sql<boolean>`is_default`)
    .where('id', 'is distinct from', keepId)
    .returning('id')
    .executeTakeFirst();
  return row?.id ?? null;
}

/** Saves the name and the default flag. */
export async function savePricingModel(work: Work, model: PricingModel): Promise<PricingModel> {
  await work.db
    .updateTable('pricingModels')
    .set({ name: model.name, isDefault: model.isDefault, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', model.id)
    .execute();
  return { ...model, updatedAt: work.now };
}

export async function pageOfPricingModels(
  work: Work,
  request: PageRequest,
): Promise<{ rows: PricingModel[]; total: number }> {
  const filters = { isDefault: 'is_default' };
  const page = await selectPage<PricingModelRow>(work, 'pricing_models', pricingModelColumns, request, filters);
  return { rows: page.rows.map((row) => toPricingModel(work, row)), total: page.total };
}

/**
 * Loads these pricing models with everything that is for sale: active products that have an active price, with active
 * prices and current features, and usage meters with active prices. Ordered like the ids; missing ones are omitted.
 * Six statements for any number of pricing models.
 */
export async function loadPricingModelDetails(work: Work, ids: readonly string[]): Promise<PricingModelDetails[]> {
  const models = await findPricingModels(work, ids);
  if (models.length === 0) return [];
  const pricesByOwner = grouped(await listActivePrices(work, ids), (price) => price.productId ?? price.usageMeterId);
  const featuresByProduct = await featuresOfProducts(work, ids);
  const products = (await listActiveProducts(work, ids)).flatMap((product) => {
    const prices = pricesByOwner.get(product.id) ?? [];
    return prices.length === 0 ? [] : [withPrices(product, prices, featuresByProduct.get(product.id) ?? [])];
  });
  const usageMeters = (await listUsageMeters(work, ids)).map((meter): UsageMeterWithPrices => {
    const prices = pricesByOwner.get(meter.id) ?? [];
    const defaultPrice = prices.find(({ isDefault }) => isDefault) ?? prices[0];
    return { ...meter, prices, ...(defaultPrice ? { defaultPrice } : {}) };
  });
  const productsByModel = grouped(products, ({ pricingModelId }) => pricingModelId);
  const usageMetersByModel = grouped(usageMeters, ({ pricingModelId }) => pricingModelId);
  const details = new Map(
    models.map((model): [string, PricingModelDetails] => {
      const sold = productsByModel.get(model.id) ?? [];
      const defaultProduct = sold.find((product) => product.default);
      const meters = usageMetersByModel.get(model.id) ?? [];
      return [
        model.id,
        { ...model, products: sold, usageMeters: meters, ...(defaultProduct ? { defaultProduct } : {}) },
      ];
    }),
  );
  return [...new Set(ids)].flatMap((id) => details.get(id) ?? []);
}

function grouped<Value>(values: readonly Value[], keyOf: (value: Value) => string): Map<string, Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

async function listActivePrices(work: Work, pricingModelIds: readonly string[]): Promise<Price[]> {
  const rows = await work.db
    .selectFrom('prices')
    .select(priceColumns)
    .where('environmentId', '=', work.environmentId)
    .where('pricingModelId', '=', sql<string>`any(${pricingModelIds})`)
    .where('active', '=', true)
    .orderBy('id')
    .execute();
  return rows.map((row) => toPrice(work, row));
}

async function listActiveProducts(work: Work, pricingModelIds: readonly string[]) {
  const rows = await work.db
    .selectFrom('products')
    .select(productColumns)
    .where('environmentId', '=', work.environmentId)
    .where('pricingModelId', '=', sql<string>`any(${pricingModelIds})`)
    .where('active', '=', true)
    .orderBy('id')
    .execute();
  return toProducts(work, rows);
}

/** The current features of each product, with the values that it gives, in order of the features' creation. */
async function featuresOfProducts(work: Work, pricingModelIds: readonly string[]): Promise<Map<string, Feature[]>> {
  const features = new Map((await listFeatures(work, pricingModelIds)).map((feature) => [feature.id, feature]));
  const links = await work.db
    .selectFrom('productFeatures')
    .select(['productId', 'featureId', 'value'])
    .where('environmentId', '=', work.environmentId)
    .where('pricingModelId', '=', sql<string>`any(${pricingModelIds})`)
    .where((where) => where.or([where('expiredAt', 'is', null), where('expiredAt', '>', work.now)]))
    .orderBy('featureId')
    .execute();
  const given = grouped(links, ({ productId }) => productId);
  const featureOf = ({ featureId, value }: (typeof links)[number]) => {
    const feature = features.get(featureId);
    return feature === undefined ? [] : [givenFeature(feature, value as FeatureValue | null)];
  };
  return new Map([...given].map(([productId, own]) => [productId, own.flatMap(featureOf)]));
}

import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import { insertCreditPools, listCreditPools, saveCreditPools } from './store-credit-pools.ts';
import { insertFeatures, listFeatures, saveFeatures } from './store-features.ts';
import { insertPrices, listPrices, savePrices } from './store-prices.ts';
import {
  expireProductFeatures,
  insertProducts,
  linkFeatures,
  listProductFeatures,
  listProducts,
  saveProducts,
} from './store-products.ts';
import { insertResources, listResources, saveResources } from './store-resources.ts';
import { insertUsageMeters, listUsageMeters, saveUsageMeters } from './store-usage-meters.ts';
import type { PricingModelContents, StructureChanges } from './structure-contents.ts';

/**
 * All contents of the pricing model, active or not. Runs seven statements; lock the pricing model first, so that they all
 * see one state.
 */
export async function readContents(work: Work, pricingModelId: string): Promise<PricingModelContents> {
  const ids = [pricingModelId];
  const products = await listProducts(work, ids);
  return {
    resources: await listResources(work, ids),
    usageMeters: await listUsageMeters(work, ids),
    creditPools: await listCreditPools(work, ids),
    features: await listFeatures(work, ids),
    products,
    prices: await listPrices(work, ids),
    productFeatures: await listProductFeatures(
      work,
      products.map(({ id }) => id),
    ),
  };
}

/**
 * Writes the changes, referenced records before those that reference them. Deactivated records are written before new
 * ones to free slugs and default flags. Empty lists need no statement, lists of usual length one each.
 */
export async function applyChanges(work: Work, changes: StructureChanges): Promise<void> {
  const { resources, usageMeters, creditPools, features, products, prices, productFeatures } = changes;
  await saveResources(work, resources.changed);
  await insertResources(work, resources.made);
  await saveUsageMeters(work, usageMeters.changed);
  await insertUsageMeters(work, usageMeters.made);
  await saveCreditPools(work, creditPools.changed);
  await insertCreditPools(work, creditPools.made);
  await saveFeatures(work, features.changed);
  await insertFeatures(work, features.made);
  await saveProducts(work, products.changed);
  await insertProducts(work, products.made);
  const ending = prices.changed.filter(({ active }) => !active);
  await savePrices(work, ending);
  // Two products may swap the slugs of their prices, which the unique key forbids halfway.
  const renamed = prices.renamed.filter(({ active }) => active);
  await savePrices(
    work,
    renamed.map((price) => ({ ...price, slug: null })),
  );
  const going = prices.changed.filter(({ active }) => active);
  await savePrices(work, going);
  await insertPrices(work, prices.made);
  await expireProductFeatures(work, productFeatures.expired);
  await linkFeatures(work, productFeatures.linked);
}

/** Records of one kind, outside of the pricing model, that refer to it. */
export interface Use {
  /** The plural, in words. */
  readonly record: string;
  /** At most `maxCounted`. */
  readonly total: number;
  readonly firstIds: readonly string[];
}

// More would say no more, and take longer.
export const maxCounted = 1000;
const maxNamed = 3;

/** The records outside of the pricing model that refer to these. Lock these first, so that no other one comes. */
async function listUses(work: Work, table: string, ids: readonly string[]): Promise<Use[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<Use>`
    select record, total::integer as total, first_ids as "firstIds"
      from uses_of(${table}, ${ids}, ${maxCounted}::integer, ${maxNamed}::integer)`.execute(work.db);
  return rows;
}

/** Locks a pricing model, so that nothing can begin to use it, and returns the records that do. */
export async function lockAgainstUse(work: Work, pricingModelId: string): Promise<Use[]> {
  await sql`select from pricing_models where environment_id = ${work.environmentId} and id = ${pricingModelId} for update`.execute(
    work.db,
  );
  // The rest hangs on a customer or a session.
  return listUses(work, 'pricing_models', [pricingModelId]);
}

/** Locks the prices and links of a product, so that nothing can begin to use it, and returns the records that do. */
export async function lockProductAgainstUse(work: Work, productId: string): Promise<Use[]> {
  const of = sql`where environment_id = ${work.environmentId} and product_id = ${productId} order by id for update`;
  const prices = await sql<{ id: string }>`select id from prices ${of}`.execute(work.db);
  const links = await sql<{ id: string }>`select id from product_features ${of}`.execute(work.db);
  const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
  return [
    ...(await listUses(work, 'products', [productId])),
    ...(await listUses(work, 'prices', idsOf(prices.rows))),
    ...(await listUses(work, 'product_features', idsOf(links.rows))),
  ];
}

// Each before those that it refers to.
const tablesOfModel = {
  // With its rates.
  creditPools: 'credit_pools',
  productFeatures: 'product_features',
  prices: 'prices',
  features: 'features',
  products: 'products',
  usageMeters: 'usage_meters',
  resources: 'resources',
  discounts: 'discounts',
} as const;
type Part = keyof typeof tablesOfModel;
export type DeletedParts = Readonly<Record<Part, number>>;

/** Deletes a pricing model with all that it contains. Returns how many records of each kind. */
export async function deletePricingModel(work: Work, id: string): Promise<DeletedParts> {
  const parts: [Part, number][] = [];
  for (const [part, table] of Object.entries(tablesOfModel) as [Part, string][]) {
    parts.push([part, await deleteRows(work, table, 'pricing_model_id', id)]);
  }
  await deleteRows(work, 'pricing_models', 'id', id);
  return Object.fromEntries(parts) as Record<Part, number>;
}

/** Deletes a product with its prices and its links to features. */
export async function deleteProduct(work: Work, id: string): Promise<Pick<DeletedParts, 'prices' | 'productFeatures'>> {
  const productFeatures = await deleteRows(work, 'product_features', 'product_id', id);
  const prices = await deleteRows(work, 'prices', 'product_id', id);
  await deleteRows(work, 'products', 'id', id);
  return { prices, productFeatures };
}

async function deleteRows(work: Work, table: string, column: string, value: string): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where environment_id = ${work.environmentId} and ${sql.ref(column)} = ${value}`.execute(
    work.db,
  );
  return Number(numAffectedRows ?? 0n);
}

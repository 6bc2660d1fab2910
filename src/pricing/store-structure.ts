import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
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
export const maxNamed = 3;

/** The records outside of the pricing model that refer to these. Lock these first, so that no other one comes. */
async function listUses(work: Work, table: string, ids: readonly string[]): Promise<Use[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<Use>`
    select record, total::integer as total, first_ids as "firstIds"
      from uses_of(${table}, ${ids}, ${maxCounted}::integer, ${maxNamed}::integer)`.execute(work.db);
  return rows;
}

/** The records of customers among these. Home has the others too. */
export function usesOfCustomers(uses: readonly Use[]): Use[] {
  return uses.filter(({ record }) => !['api keys', 'discounts', 'webhooks'].includes(record));
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

// Other cells take a product or a pricing model out of their copies before home deletes it (migrations/0025-cells.sql). A mark at
// home says so until then, and a copy after that puts it back.

/** A product or a pricing model that is about to be deleted. */
export interface Removal {
  readonly environmentId: number;
  readonly table: 'products' | 'pricing_models';
  readonly id: string;
}

// Longer than a request takes.
const removalMs = 60_000;
// So that two requests do not have the same instant.
const apartMs = 10_000;

function isRecord({ environmentId, id }: Omit<Removal, 'table'>) {
  return sql`environment_id = ${environmentId} and id = ${id}`;
}

/** Marks a record of home. Returns until when. A later call counts in place of an earlier one. */
export async function beginRemoval(home: Database, { table, ...record }: Removal): Promise<number> {
  const until = Date.now() + removalMs + randomInt(apartMs);
  await home.transaction().execute(async (db) => {
    await sql`update ${sql.table(table)} set removing_until = ${until} where ${isRecord(record)}`.execute(db);
    // After an interruption the next copy ends it.
    await sql`
      select enqueue_job('copy_catalog', json_build_object('environmentId', ${record.environmentId}::bigint),
        ${`end_removal ${record.id}`}, to_timestamp(${until + 1} / 1000.0), 25)`.execute(db);
  });
  return until;
}

/** Takes a mark away, so that the next copy puts the record back. */
export async function endRemoval(db: Database, { table, ...record }: Removal, until: number): Promise<void> {
  await sql`
    update ${sql.table(table)} set removing_until = null
     where ${isRecord(record)} and removing_until = ${until}`.execute(db);
}

/** Takes away the marks whose requests did not live to do so. */
export async function endOldRemovals(home: Database): Promise<void> {
  const now = Date.now();
  // An update is copied, also one of no row, and each copy asks.
  const { rows } = await sql`
    select from products where removing_until < ${now}
     union all select from pricing_models where removing_until < ${now} limit 1`.execute(home);
  if (rows.length === 0) return;
  await sql`update products set removing_until = null where removing_until < ${now}`.execute(home);
  await sql`update pricing_models set removing_until = null where removing_until < ${now}`.execute(home);
}

/** Whether the mark of a locked record is still this one. */
export async function isBeingRemoved(work: Work, { table, ...record }: Removal, until: number): Promise<boolean> {
  const { rows } = await sql`
    select from ${sql.table(table)} where ${isRecord(record)} and removing_until = ${until} for update`.execute(
    work.db,
  );
  return rows.length > 0;
}

/** Whether a cell has a copy of the record. */
export async function hasCopy(there: Database, { table, ...record }: Removal): Promise<boolean> {
  const { rows } = await sql`select from ${sql.table(table)} where ${isRecord(record)}`.execute(there);
  return rows.length > 0;
}

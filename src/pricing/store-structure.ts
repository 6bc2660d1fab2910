import type { Work } from '../database/work.ts';
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
 * All contents of the pricing model, active or not. Runs six statements; lock the pricing model first, so that they all
 * see one state.
 */
export async function readContents(work: Work, pricingModelId: string): Promise<PricingModelContents> {
  const ids = [pricingModelId];
  const products = await listProducts(work, ids);
  return {
    resources: await listResources(work, ids),
    usageMeters: await listUsageMeters(work, ids),
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
  const { resources, usageMeters, features, products, prices, productFeatures } = changes;
  await saveResources(work, resources.changed);
  await insertResources(work, resources.made);
  await saveUsageMeters(work, usageMeters.changed);
  await insertUsageMeters(work, usageMeters.made);
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

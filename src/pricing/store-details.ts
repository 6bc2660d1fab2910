import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { Feature } from './feature.ts';
import type { Price } from './price.ts';
import { type PricingModelDetails, type UsageMeterWithPrices, withPrices } from './pricing-model.ts';
import { featureColumns, toFeature } from './store-features.ts';
import { priceColumns, toPrice } from './store-prices.ts';
import { findPricingModels } from './store-pricing-models.ts';
import { productColumns, toProducts } from './store-products.ts';
import { listUsageMeters } from './store-usage-meters.ts';

/**
 * Loads these pricing models with everything that is for sale: active products that have an active price, with active
 * prices and current features, and usage meters with active prices. Ordered like the ids; missing ones are omitted.
 * Five statements for any number of pricing models.
 */
export async function loadPricingModelDetails(work: Work, ids: readonly string[]): Promise<PricingModelDetails[]> {
  const models = await findPricingModels(work, ids);
  if (models.length === 0) return [];
  const pricesByOwner = grouped(await listActivePrices(work, ids), (price) => price.productId ?? price.usageMeterId);
  const featuresByProduct = grouped(await listGivenFeatures(work, ids), ([productId]) => productId);
  const products = (await listActiveProducts(work, ids)).flatMap((product) => {
    const prices = pricesByOwner.get(product.id) ?? [];
    const features = featuresByProduct.get(product.id) ?? [];
    if (prices.length === 0) return [];
    return [
      withPrices(
        product,
        prices,
        features.map(([, feature]) => feature),
      ),
    ];
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

/** Pairs of product id and current feature, with the value that the product gives, in order of the features' creation. */
async function listGivenFeatures(work: Work, pricingModelIds: readonly string[]): Promise<[string, Feature][]> {
  const rows = await work.db
    .selectFrom('productFeatures')
    .innerJoin('features', (join) =>
      join
        .onRef('features.environmentId', '=', 'productFeatures.environmentId')
        .onRef('features.id', '=', 'productFeatures.featureId'),
    )
    .select(['productFeatures.productId', 'productFeatures.value as givenValue'])
    .select(featureColumns.map((column) => `features.${column}` as const))
    .where('productFeatures.environmentId', '=', work.environmentId)
    .where('productFeatures.pricingModelId', '=', sql<string>`any(${pricingModelIds})`)
    .where((where) =>
      where.or([where('productFeatures.expiredAt', 'is', null), where('productFeatures.expiredAt', '>', work.now)]),
    )
    .orderBy('features.id')
    .execute();
  return rows.map(({ productId, givenValue, ...row }) => [
    productId,
    toFeature(work, { ...row, value: givenValue ?? row.value }),
  ]);
}

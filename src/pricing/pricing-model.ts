import assert from 'node:assert/strict';
import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { stamps } from '../kernel/record.ts';
import { Feature } from './feature.ts';
import type { NewRecord } from './new-record.ts';
import { Price } from './price.ts';
import { Product } from './product.ts';
import { UsageMeter } from './usage-meter.ts';

export const PricingModelId = idSchema('pricingModel');

const basicFields = {
  id: PricingModelId,
  ...stamps,
  livemode: z.boolean(),
  organizationId: z.string(),
  isDefault: z.boolean().meta({ description: 'True for the pricing model of customers that name none.' }),
  name: z.string(),
};

/** A catalog of products, prices, usage meters, features and resources that are sold together. */
export const PricingModel = z.object(basicFields).meta({ id: 'PricingModel' });
export type PricingModel = z.infer<typeof PricingModel>;
export type NewPricingModel = NewRecord<PricingModel>;

export const ProductWithPrices = z
  .object({ ...Product.shape, prices: z.array(Price), defaultPrice: Price, features: z.array(Feature) })
  .meta({ id: 'ProductWithPrices' });
export type ProductWithPrices = z.infer<typeof ProductWithPrices>;

export const UsageMeterWithPrices = z
  .object({ ...UsageMeter.shape, prices: z.array(Price), defaultPrice: Price.optional() })
  .meta({ id: 'UsageMeterWithPrices' });
export type UsageMeterWithPrices = z.infer<typeof UsageMeterWithPrices>;

/** A pricing model with everything that is for sale: active products with active prices, and the meters. */
export const PricingModelDetails = z
  .object({
    ...basicFields,
    products: z.array(ProductWithPrices),
    usageMeters: z.array(UsageMeterWithPrices),
    defaultProduct: ProductWithPrices.optional(),
  })
  .meta({ id: 'PricingModelDetails' });
export type PricingModelDetails = z.infer<typeof PricingModelDetails>;

/**
 * A product with its active prices (all of them if none is active) and the given features, which come from its
 * unexpired links. Every product has a price.
 */
export function withPrices(
  product: Product,
  allPrices: readonly Price[],
  features: readonly Feature[],
): ProductWithPrices {
  const active = allPrices.filter((price) => price.active);
  const prices = active.length > 0 ? active : [...allPrices];
  const defaultPrice = prices.find((price) => price.isDefault) ?? prices[0];
  assert(defaultPrice, `product ${product.id} has a price`);
  return { ...product, prices, defaultPrice, features: [...features] };
}

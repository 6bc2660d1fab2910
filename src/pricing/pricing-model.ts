import assert from 'node:assert/strict';
import { z } from 'zod';
import type { IntervalUnit } from '../kernel/calendar.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import { idSchema } from '../kernel/id.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';
import { Feature } from './feature.ts';
import { type NewPrice, Price, usualOverage } from './price.ts';
import { type NewProduct, Product, reservedProductSlug } from './product.ts';
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

interface FreePlanRequest {
  readonly pricingModelId: string;
  readonly productId: string;
  readonly priceId: string;
  readonly currency: CurrencyCode;
  /** The billing interval; null: the plan does not renew. */
  readonly intervalUnit: IntervalUnit | null;
}

/** The product that becomes the default of a pricing model without one: customers start on it, and it is free. */
export function freePlan(request: FreePlanRequest): { product: NewProduct; price: NewPrice } {
  const { pricingModelId, productId, priceId, currency, intervalUnit } = request;
  const product: NewProduct = {
    id: productId,
    pricingModelId,
    name: 'Free Plan',
    slug: reservedProductSlug,
    description: null,
    imageURL: null,
    singularQuantityLabel: null,
    pluralQuantityLabel: null,
    minimumQuantity: null,
    maximumQuantity: null,
    usagePrices: [],
    addOn: false,
    default: true,
    active: true,
    metadata: null,
  };
  const price = {
    id: priceId,
    pricingModelId,
    productId,
    usageMeterId: null,
    name: product.name,
    slug: reservedProductSlug,
    unitPrice: 0n,
    usageEventsPerUnit: null,
    trialPeriodDays: null,
    currency,
    where: null,
    isDefault: true,
    active: true,
    metadata: null,
  };
  if (intervalUnit === null) {
    return {
      product,
      price: {
        ...price,
        type: 'single_payment',
        intervalUnit: null,
        intervalCount: null,
        overage: null,
        pricing: null,
        setupFeeAmount: null,
        minimumCommitment: null,
        usageInterval: null,
        billingTiming: null,
      },
    };
  }
  const overage = usualOverage(product);
  const none = { pricing: null, setupFeeAmount: null, minimumCommitment: null, usageInterval: null };
  const terms = { intervalCount: 1, overage, ...none, billingTiming: 'in_advance' } as const;
  return { product, price: { ...price, type: 'subscription', intervalUnit, ...terms } };
}

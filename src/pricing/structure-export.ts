import { z } from 'zod';
import { Timestamp, WholeNumber } from '../kernel/json.ts';
import { RenewalFrequency } from './feature.ts';
import { IntervalUnit } from './price.ts';
import type { Structure } from './structure.ts';
import { AggregationType } from './usage-meter.ts';

const featureText = { slug: z.string(), name: z.string(), description: z.string(), active: z.boolean() };
const ExportedFeature = z.discriminatedUnion('type', [
  z.object({ type: z.literal('toggle'), ...featureText }),
  z.object({
    type: z.literal('usage_credit_grant'),
    ...featureText,
    amount: WholeNumber,
    renewalFrequency: RenewalFrequency,
    usageMeterSlug: z.string(),
    rolloverMaximum: WholeNumber.optional(),
    rolloverPeriods: z.int().optional(),
  }),
  z.object({ type: z.literal('resource'), ...featureText, amount: WholeNumber, resourceSlug: z.string() }),
]);

const priceText = { name: z.string().optional(), slug: z.string().optional(), unitPrice: WholeNumber };
const productPriceText = { ...priceText, isDefault: z.literal(true), active: z.literal(true) };
const ExportedProductPrice = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('subscription'),
    ...productPriceText,
    intervalUnit: IntervalUnit,
    intervalCount: z.int(),
    trialPeriodDays: z.int().optional(),
  }),
  z.object({ type: z.literal('single_payment'), ...productPriceText }),
]);
const ExportedProduct = z.object({
  product: z.object({
    name: z.string(),
    slug: z.string(),
    description: z.string().optional(),
    imageURL: z.string().optional(),
    singularQuantityLabel: z.string().optional(),
    pluralQuantityLabel: z.string().optional(),
    default: z.boolean(),
    active: z.boolean(),
  }),
  price: ExportedProductPrice,
  features: z.array(z.string()).meta({ description: 'The slugs of the features that the product grants.' }),
});

const ExportedUsageMeter = z.object({
  usageMeter: z.object({
    name: z.string(),
    slug: z.string(),
    aggregationType: AggregationType,
    lowBalanceThreshold: WholeNumber.optional(),
  }),
  prices: z.array(
    z.object({
      type: z.literal('usage'),
      ...priceText,
      intervalUnit: IntervalUnit,
      intervalCount: z.int(),
      usageEventsPerUnit: z.int(),
      isDefault: z.boolean(),
      active: z.boolean(),
    }),
  ),
});

/** A pricing model as a setup body. As an update of its own pricing model it changes nothing. */
export const PricingModelExport = z
  .object({
    pricingModel: z.object({
      name: z.string(),
      isDefault: z.boolean(),
      features: z.array(ExportedFeature),
      products: z.array(ExportedProduct),
      usageMeters: z.array(ExportedUsageMeter),
      resources: z.array(z.object({ slug: z.string(), name: z.string(), active: z.boolean() })),
    }),
    updatedAt: Timestamp.meta({ description: 'The time of the last change of the pricing model or its contents.' }),
  })
  .meta({ id: 'PricingModelExport' });
export type PricingModelExport = z.infer<typeof PricingModelExport>;

/**
 * A structure as exported: nulls are omitted, and prices have the form that setup requires. The no-charge prices of
 * usage meters are omitted, because setup creates them and refuses to be given them.
 */
export function exportStructure(
  { name, isDefault }: { readonly name: string; readonly isDefault: boolean },
  { features, products, usageMeters, resources }: Structure,
): PricingModelExport['pricingModel'] {
  return {
    name,
    isDefault,
    features: features.map((feature) => withoutNulls(feature)),
    products: products.map(({ product, price, features: slugs }) => ({
      product: withoutNulls(product),
      price: { ...withoutNulls(price), isDefault: true, active: true },
      features: [...slugs],
    })),
    usageMeters: usageMeters.map(({ usageMeter, prices }) => ({
      usageMeter: withoutNulls(usageMeter),
      prices: prices.map((price) => ({ type: 'usage', ...withoutNulls(price) })),
    })),
    resources: [...resources],
  };
}

type WithoutNulls<Given> = Given extends unknown
  ? { [Key in keyof Given as null extends Given[Key] ? never : Key]: Given[Key] } & {
      [Key in keyof Given as null extends Given[Key] ? Key : never]?: NonNullable<Given[Key]>;
    }
  : never;

function withoutNulls<Given extends object>(given: Given): WithoutNulls<Given> {
  const kept = Object.entries(given).filter(([, value]) => value !== null);
  // The type matches the filter: nullable keys may be missing.
  return Object.fromEntries(kept) as WithoutNulls<Given>;
}

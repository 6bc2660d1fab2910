import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { countInput, freeText, Metadata, MetadataInput, SafeString, Timestamp } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';
import { FeatureId, FeatureValue } from './feature.ts';
import type { Price } from './price.ts';
import { maxUsageMeters } from './usage-meter.ts';

export const ProductId = idSchema('product');

/** The slug, in any case, that is reserved for the default product. */
export const reservedProductSlug = 'free';

// Credits and capacities multiply by it. The tables have the same limit.
export const maxQuantity = 1_000_000;

const limitTexts = {
  minimumQuantity: 'The least that buyers may choose. Null: the seller sets the quantity.',
  maximumQuantity:
    'The most that buyers may choose, in a checkout and in the portal. Null: the seller sets the quantity.',
} as const;

const ProductUsagePrice = z
  .object({ usageMeterSlug: z.string(), priceSlug: z.string(), usageMeterId: z.string(), priceId: z.string() })
  .meta({ id: 'ProductUsagePrice', description: 'The price at which a plan rates the usage of a meter.' });
export type ProductUsagePrice = z.infer<typeof ProductUsagePrice>;

const UsagePricesInput = z
  .array(
    z.object({
      usageMeterSlug: SafeString,
      priceSlug: freeText('longName').trim().min(1),
      usageMeterId: z.string().max(255).optional(),
      priceId: z.string().max(255).optional(),
    }),
  )
  .max(maxUsageMeters);
export type UsagePricesInput = z.output<typeof UsagePricesInput>;

const rateCardText =
  'The rates of the plan: events that name one of these usage meters are rated by its price here, in place of the ' +
  "meter's default price.";

const addOnText = 'True for a product that is sold beside a plan only. It cannot change.';

/** A plan or item that customers can subscribe to or buy. */
export const Product = z
  .object({
    id: ProductId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    name: z.string(),
    slug: z.string(),
    description: z.string().nullable(),
    imageURL: z.string().nullable(),
    singularQuantityLabel: z.string().nullable(),
    pluralQuantityLabel: z.string().nullable(),
    minimumQuantity: z.int().nullable().meta({ description: limitTexts.minimumQuantity }),
    maximumQuantity: z.int().nullable().meta({ description: limitTexts.maximumQuantity }),
    usagePrices: z.array(ProductUsagePrice).meta({ description: rateCardText }),
    addOn: z.boolean().meta({ description: addOnText }),
    default: z.boolean().meta({ description: 'True for the plan on which every customer starts.' }),
    active: z.boolean(),
    metadata: Metadata.nullable(),
  })
  .meta({ id: 'Product' });
export type Product = z.infer<typeof Product>;
export type NewProduct = NewRecord<Product>;

// Real products have a few dozen features; more in one request is a mistake.
const maxFeaturesOfProduct = 1000;

const texts = {
  description: freeText('description').nullish(),
  imageURL: freeText('url').nullish(),
  singularQuantityLabel: freeText('name').nullish(),
  pluralQuantityLabel: freeText('name').nullish(),
  minimumQuantity: countInput(1, maxQuantity)
    .nullish()
    .meta({
      description: `${limitTexts.minimumQuantity} By default 1 if there is a \`maximumQuantity\`.`,
    }),
  maximumQuantity: countInput(1, maxQuantity).nullish().meta({ description: limitTexts.maximumQuantity }),
  usagePrices: UsagePricesInput.optional().meta({ description: `${rateCardText} An update replaces all of them.` }),
  metadata: MetadataInput,
};

/** A request for a product. A missing slug is derived from the name. */
export const ProductInput = z.object({
  name: SafeString,
  slug: SafeString.optional(),
  pricingModelId: freeText('name').nullish(),
  active: z.boolean().optional().meta({ description: 'Ignored: a new product is active.' }),
  default: z.boolean().optional(),
  addOn: z.boolean().optional().meta({ description: addOnText }),
  ...texts,
});
export type ProductInput = z.output<typeof ProductInput>;

/** A change of a product. Absent fields keep their value. */
export const ProductChange = z.object({
  id: ProductId.optional(),
  name: SafeString.optional(),
  slug: SafeString.optional(),
  active: z.boolean().optional(),
  default: z.boolean().optional(),
  addOn: z.boolean().optional().meta({ description: addOnText }),
  ...texts,
});
export type ProductChange = z.output<typeof ProductChange>;

export const addOnPriceIssue = 'must be subscription for an add-on, which is billed with its plan';

/** The quantities that buyers may choose; both null: the seller sets the quantity. */
export type QuantityLimits = Pick<Product, 'minimumQuantity' | 'maximumQuantity'>;

/** The reason why quantity limits do not fit together, for `maximumQuantity`; null: they do. */
export function quantityLimitIssue({ minimumQuantity: least, maximumQuantity: most }: QuantityLimits): string | null {
  if (most === null) return least === null ? null : 'is required with minimumQuantity';
  return least !== null && least > most ? 'must be at least minimumQuantity' : null;
}

/** The limits after a change; absent ones keep their value. Refuses with `invalidRequest` limits that do not fit together. */
export function decideQuantityLimits(
  current: QuantityLimits,
  {
    minimumQuantity: least,
    maximumQuantity: most = current.maximumQuantity,
  }: Pick<ProductChange, keyof QuantityLimits>,
): QuantityLimits {
  const kept = most === null ? null : current.minimumQuantity;
  const limits = { minimumQuantity: least === undefined ? kept : least, maximumQuantity: most };
  const issue = quantityLimitIssue(limits);
  if (issue !== null) throw invalid(['product', 'maximumQuantity'], issue);
  return most === null ? limits : { ...limits, minimumQuantity: limits.minimumQuantity ?? 1 };
}

export const rateWithConditions = 'must be a price without conditions: it rates what no condition matches';

type MeterRow = { readonly id: string; readonly slug: string };
type PriceRow = Pick<Price, 'id' | 'slug' | 'usageMeterId' | 'where'>;

/** The rates that are requested, by the meters and active prices of the pricing model, in order of the meters' slugs. */
export function decideUsagePrices(
  requested: UsagePricesInput,
  meters: readonly MeterRow[],
  prices: readonly PriceRow[],
): ProductUsagePrice[] {
  const seen = new Set<string>();
  const rates = requested.map((rate, index): ProductUsagePrice => {
    const { usageMeterSlug, priceSlug } = rate;
    const refuse = (field: keyof typeof rate, message: string) =>
      invalid(['product', 'usagePrices', index, field], message);
    const meter = meters.find(({ slug }) => slug === usageMeterSlug);
    if (meter === undefined)
      throw refuse('usageMeterSlug', `is not a usage meter of this pricing model: ${usageMeterSlug}`);
    if (seen.has(meter.id)) throw refuse('usageMeterSlug', 'has a price already: a usage meter has one');
    seen.add(meter.id);
    const price = prices.find(({ slug, usageMeterId }) => slug === priceSlug && usageMeterId === meter.id);
    if (price === undefined) throw refuse('priceSlug', `is not an active price of ${usageMeterSlug}: ${priceSlug}`);
    if (price.where !== null) throw refuse('priceSlug', rateWithConditions);
    if (rate.usageMeterId !== undefined && rate.usageMeterId !== meter.id)
      throw refuse('usageMeterId', `must be ${meter.id} or absent`);
    if (rate.priceId !== undefined && rate.priceId !== price.id)
      throw refuse('priceId', `must be ${price.id} or absent`);
    return { usageMeterSlug, priceSlug, usageMeterId: meter.id, priceId: price.id };
  });
  return rates.sort(byMeter);
}

/** The order of rates. */
export function byMeter(one: { readonly usageMeterSlug: string }, other: { readonly usageMeterSlug: string }): number {
  return one.usageMeterSlug < other.usageMeterSlug ? -1 : one.usageMeterSlug > other.usageMeterSlug ? 1 : 0;
}

/** The features of a product; repeated ids count once. */
export const FeatureIds = z
  .array(FeatureId)
  .max(maxFeaturesOfProduct)
  .transform((ids) => [...new Set(ids)]);

/** Whether the slug is reserved for the default product. */
export function isReservedProductSlug(slug: string): boolean {
  return slug.toLowerCase() === reservedProductSlug;
}

/** Derives a slug from a name: `Pro (yearly)` -> `pro-yearly`. Null if the name has no ASCII letter or digit. */
export function slugOfName(name: string): string | null {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  return words === null ? null : words.join('-');
}

export const ProductFeatureId = idSchema('productFeature');

/** A feature of a product, until `expiredAt`. */
export const ProductFeature = z
  .object({
    id: ProductFeatureId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    productId: z.string(),
    featureId: z.string(),
    expiredAt: Timestamp.nullable(),
    value: FeatureValue.optional().meta({
      description: 'The value that the product gives in place of that of the feature. Absent: that of the feature.',
    }),
  })
  .meta({ id: 'ProductFeature' });
export type ProductFeature = z.infer<typeof ProductFeature>;
export type NewProductFeature = NewRecord<ProductFeature>;

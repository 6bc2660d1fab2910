import { z } from 'zod';
import { FreeText, SafeString } from '../kernel/json.ts';
import { FeatureId } from './feature.ts';
import { ProductId, reservedProductSlug } from './product.ts';

// Real products have a few dozen features; more in one request is a mistake.
const maxFeaturesOfProduct = 1000;
const maxUrlLength = 2048;

const texts = {
  description: FreeText.nullish(),
  imageURL: z.string().max(maxUrlLength).nullish(),
  singularQuantityLabel: z.string().max(255).nullish(),
  pluralQuantityLabel: z.string().max(255).nullish(),
};

/** A request for a product. A missing slug is derived from the name. */
export const ProductInput = z.object({
  name: SafeString,
  slug: SafeString.optional(),
  pricingModelId: z.string().nullish(),
  active: z.boolean().optional().meta({ description: 'Ignored: a new product is active.' }),
  default: z.boolean().optional(),
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
  ...texts,
});
export type ProductChange = z.output<typeof ProductChange>;

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

import { z } from 'zod';
import { FreeText, SafeString } from '../kernel/json.ts';
import { FeatureId } from './feature.ts';
import { ProductId, reservedProductSlug } from './product.ts';

// A product gives a few dozen features; more in one request is a mistake.
const maxFeaturesOfProduct = 1000;
const maxUrlLength = 2048;

const texts = {
  description: FreeText.nullish(),
  imageURL: z.string().max(maxUrlLength).nullish(),
  singularQuantityLabel: z.string().max(255).nullish(),
  pluralQuantityLabel: z.string().max(255).nullish(),
};

/** A product to make. Without a slug it gets one from its name. */
export const ProductInput = z.object({
  name: SafeString,
  slug: SafeString.optional(),
  pricingModelId: z.string().nullish(),
  active: z.boolean().optional().meta({ description: 'Ignored: a new product is active.' }),
  default: z.boolean().optional(),
  ...texts,
});
export type ProductInput = z.output<typeof ProductInput>;

/** What can change of a product: what is left out stays. */
export const ProductChange = z.object({
  id: ProductId.optional(),
  name: SafeString.optional(),
  slug: SafeString.optional(),
  active: z.boolean().optional(),
  default: z.boolean().optional(),
  ...texts,
});
export type ProductChange = z.output<typeof ProductChange>;

/** The features that a product gives; an id that is repeated counts once. */
export const FeatureIds = z
  .array(FeatureId)
  .max(maxFeaturesOfProduct)
  .transform((ids) => [...new Set(ids)]);

/** Whether the slug is the one that only the default product may have. */
export function isReservedProductSlug(slug: string): boolean {
  return slug.toLowerCase() === reservedProductSlug;
}

/** A slug from a name: `Pro (yearly)` -> `pro-yearly`. Null where the name has no letter or digit of ASCII. */
export function slugOfName(name: string): string | null {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  return words === null ? null : words.join('-');
}

import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { freeText, Metadata, MetadataInput, SafeString, Timestamp } from '../kernel/json.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';
import { FeatureId } from './feature.ts';

export const ProductId = idSchema('product');

/** The slug, in any case, that is reserved for the default product. */
export const reservedProductSlug = 'free';

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
  metadata: MetadataInput,
};

/** A request for a product. A missing slug is derived from the name. */
export const ProductInput = z.object({
  name: SafeString,
  slug: SafeString.optional(),
  pricingModelId: freeText('name').nullish(),
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
  })
  .meta({ id: 'ProductFeature' });
export type ProductFeature = z.infer<typeof ProductFeature>;
export type NewProductFeature = NewRecord<ProductFeature>;

import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { stamps } from '../kernel/record.ts';
import type { NewRecord } from './new-record.ts';

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
  })
  .meta({ id: 'Product' });
export type Product = z.infer<typeof Product>;
export type NewProduct = NewRecord<Product>;

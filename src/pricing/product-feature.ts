import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { Timestamp } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import type { NewRecord } from './new-record.ts';

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

import { z } from 'zod';
import { route } from '../platform/route.ts';
import { ProductPriceChange } from '../pricing/price-input.ts';
import { Product, ProductId } from '../pricing/product.ts';
import { ProductFeatureId } from '../pricing/product-feature.ts';
import { FeatureIds, ProductChange } from '../pricing/product-input.ts';
import { expireProductFeature } from './expire-product-feature.ts';
import { updateProduct } from './update-product.ts';

/** Changes of pricing that reach subscriptions: what they were granted is detached from the product. */
export const lifecyclePricingRoutes = [
  route({
    method: 'PUT',
    path: '/products/{id}',
    summary: 'Update a product',
    description:
      'What is left out stays. Other terms in price make a new default price; the old one is deactivated. featureIds are all the features that the product gives from now on. Existing subscriptions keep their price and their features.',
    tag: 'Products',
    params: z.object({ id: ProductId }),
    body: z.object({
      product: ProductChange,
      price: ProductPriceChange.optional(),
      featureIds: FeatureIds.optional(),
    }),
    returns: z.object({ product: Product }),
    refuses: [
      'productNotFound',
      'idMismatch',
      'priceTypeFixed',
      'featureNotFound',
      'otherPricingModel',
      'toggleOnSinglePayment',
      'slugTaken',
    ],
    handle: async (work, { params, body }) => ({ product: await updateProduct(work, params.id, body) }),
  }),
  route({
    method: 'POST',
    path: '/product-features/{id}/expire',
    summary: 'Make a product no longer give a feature',
    description: 'Existing subscriptions keep the feature.',
    tag: 'Product features',
    params: z.object({ id: ProductFeatureId }),
    returns: z.object({ success: z.literal(true) }),
    refuses: ['productFeatureNotFound'],
    handle: async (work, { params }) => {
      await expireProductFeature(work, params.id);
      return { success: true as const };
    },
  }),
];

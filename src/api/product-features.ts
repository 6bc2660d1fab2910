import { z } from 'zod';
import { expireProductFeature } from '../entitlements/actions-pricing.ts';
import { route } from '../http/route.ts';
import { TimestampInput } from '../kernel/json.ts';
import { createdFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { createProductFeature, getProductFeature, listProductFeatures } from '../pricing/actions-products.ts';
import { FeatureId, FeatureValueInput } from '../pricing/feature.ts';
import { ProductFeature, ProductFeatureId, ProductId } from '../pricing/product.ts';

const tag = 'Product features';

export const productFeatureRoutes = [
  route({
    method: 'POST',
    path: '/product-features',
    cell: 'home',
    needs: 'product-features:catalog',
    summary: 'Add a feature to a product',
    description:
      'Makes a product grant a feature to new subscriptions. An expired link of the two is revived under its ' +
      'old id, and a link that exists gets the `value`. Existing subscriptions do not change.',
    tag,
    body: z.object({
      productFeature: z.object({
        productId: ProductId,
        featureId: FeatureId,
        expiredAt: TimestampInput.nullish().meta({
          description: 'The end of a new link. Null or absent: it does not end.',
        }),
        value: FeatureValueInput.nullish().meta({
          description: 'The value that the product gives. Null or absent: that of the feature.',
        }),
      }),
    }),
    returns: z.object({
      productFeature: z.object({
        ...ProductFeature.shape,
        createdByCommit: z.string().nullable(),
        updatedByCommit: z.string().nullable(),
      }),
    }),
    refuses: ['tooManyRecords', 'productNotFound', 'featureNotFound', 'otherPricingModel'],
    handle: async (work, { body }) => ({
      productFeature: {
        ...(await createProductFeature(work, body.productFeature)),
        createdByCommit: null,
        updatedByCommit: null,
      },
    }),
  }),
  route({
    method: 'GET',
    path: '/product-features',
    cell: 'home',
    needs: 'product-features:read',
    summary: 'List product features',
    description: 'Returns the links between products and features, expired ones included.',
    tag,
    query: pageQuery({ pricingModelId: textFilter, productId: textFilter, featureId: textFilter, ...createdFilters }),
    returns: pageOf(ProductFeature),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listProductFeatures(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/product-features/{id}',
    cell: 'home',
    needs: 'product-features:read',
    summary: 'Get a product feature',
    description: 'Returns one link between a product and a feature, active or expired.',
    tag,
    params: z.object({ id: ProductFeatureId }),
    returns: z.object({ productFeature: ProductFeature }),
    refuses: ['productFeatureNotFound'],
    handle: async (work, { params }) => ({ productFeature: await getProductFeature(work, params.id) }),
  }),
  route({
    method: 'POST',
    path: '/product-features/{id}/expire',
    cell: 'home',
    needs: 'product-features:catalog',
    summary: 'Remove a feature from a product',
    description:
      'Expires the link, so that new subscriptions to the product do not get the feature. Existing ' +
      'subscriptions keep it.',
    tag,
    params: z.object({ id: ProductFeatureId }),
    returns: z.object({ success: z.literal(true) }),
    refuses: ['productFeatureNotFound'],
    handle: async (work, { params }) => {
      await expireProductFeature(work, params.id);
      return { success: true as const };
    },
  }),
];

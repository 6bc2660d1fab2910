import { z } from 'zod';
import { TimestampInput } from '../kernel/json.ts';
import { booleanFilter, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { createProductFeature, getProductFeature, listProductFeatures } from './actions-product-features.ts';
import { createProduct, getProduct, listProducts } from './actions-products.ts';
import { FeatureId } from './feature.ts';
import { FirstPriceInput } from './price-input.ts';
import { ProductWithPrices } from './pricing-model.ts';
import { Product, ProductId } from './product.ts';
import { ProductFeature, ProductFeatureId } from './product-feature.ts';
import { FeatureIds, ProductInput } from './product-input.ts';

const tag = 'Products';
const linkTag = 'Product features';

export const productRoutes = [
  route({
    method: 'POST',
    path: '/products',
    summary: 'Create a product',
    description: 'With its default price and the features that it gives.',
    tag,
    body: z.object({ product: ProductInput, price: FirstPriceInput, featureIds: FeatureIds.optional() }),
    returns: z.object({ product: Product }),
    refuses: [
      'defaultProductNotCreatable',
      'pricingModelNotFound',
      'defaultPricingModelNotFound',
      'featureNotFound',
      'otherPricingModel',
      'toggleOnSinglePayment',
      'slugTaken',
    ],
    handle: async (work, { body }) => ({ product: await createProduct(work, body) }),
  }),
  route({
    method: 'GET',
    path: '/products',
    summary: 'List the products',
    tag,
    query: pageQuery({ pricingModelId: textFilter, active: booleanFilter, default: booleanFilter, slug: textFilter }),
    returns: pageOf(Product),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listProducts(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/products/{id}',
    summary: 'Get a product',
    description: 'The answer is the product itself, with its active prices and the features that it gives.',
    tag,
    params: z.object({ id: ProductId }),
    returns: ProductWithPrices,
    refuses: ['productNotFound'],
    handle: (work, { params }) => getProduct(work, params.id),
  }),
  route({
    method: 'POST',
    path: '/product-features',
    summary: 'Make a product give a feature',
    description: 'A link that has expired is revived under its old id. Existing subscriptions are not changed.',
    tag: linkTag,
    body: z.object({
      productFeature: z.object({
        productId: ProductId,
        featureId: FeatureId,
        expiredAt: TimestampInput.nullish().meta({ description: 'When a new link ends; null or absent: never.' }),
      }),
    }),
    returns: z.object({
      productFeature: z.object({
        ...ProductFeature.shape,
        createdByCommit: z.string().nullable(),
        updatedByCommit: z.string().nullable(),
      }),
    }),
    refuses: ['productNotFound', 'featureNotFound', 'otherPricingModel', 'toggleOnSinglePayment'],
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
    summary: 'List which products give which features',
    description: 'Expired links are included.',
    tag: linkTag,
    query: pageQuery({ pricingModelId: textFilter, productId: textFilter, featureId: textFilter }),
    returns: pageOf(ProductFeature),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listProductFeatures(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/product-features/{id}',
    summary: 'Get a link between a product and a feature',
    tag: linkTag,
    params: z.object({ id: ProductFeatureId }),
    returns: z.object({ productFeature: ProductFeature }),
    refuses: ['productFeatureNotFound'],
    handle: async (work, { params }) => ({ productFeature: await getProductFeature(work, params.id) }),
  }),
];

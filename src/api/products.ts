import { z } from 'zod';
import { updateProduct } from '../billing/update-product.ts';
import { route } from '../http/route.ts';
import { booleanFilter, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { createProduct, getProduct, listProducts } from '../pricing/actions-products.ts';
import { FirstPriceInput, ProductPriceChange } from '../pricing/price-input.ts';
import { ProductWithPrices } from '../pricing/pricing-model.ts';
import { Product, ProductId } from '../pricing/product.ts';
import { FeatureIds, ProductChange, ProductInput } from '../pricing/product-input.ts';

const tag = 'Products';

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
    method: 'PUT',
    path: '/products/{id}',
    summary: 'Update a product',
    description:
      'What is left out stays. Other terms in price make a new default price; the old one is deactivated. featureIds are all the features that the product gives from now on. Existing subscriptions keep their price and their features.',
    tag,
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
];

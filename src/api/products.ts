import { z } from 'zod';
import { updateProduct } from '../entitlements/actions-pricing.ts';
import { route } from '../http/route.ts';
import {
  booleanFilter,
  createdFilters,
  metadataFilter,
  pageOf,
  pageQuery,
  pageRequest,
  textFilter,
} from '../kernel/pagination.ts';
import {
  createProduct,
  deleteProduct,
  getProduct,
  listProducts,
  listUsesOfProduct,
} from '../pricing/actions-products.ts';
import { FirstPriceInput, ProductPriceChange } from '../pricing/price-input.ts';
import { ProductWithPrices } from '../pricing/pricing-model.ts';
import { FeatureIds, Product, ProductChange, ProductId, ProductInput } from '../pricing/product.ts';

const tag = 'Products';

export const productRoutes = [
  route({
    method: 'POST',
    path: '/products',
    cell: 'home',
    needs: 'products:catalog',
    summary: 'Create a product',
    description:
      'Creates a product with its default price and, through `featureIds`, the features that it grants. A slug ' +
      'that another active product has is refused with 409. A price of type `usage` is added to its usage meter ' +
      'as the default, and subscribing to the product is free. Toggles of a product that is paid once are shown ' +
      'with it and are not granted by a purchase.',
    tag,
    body: z.object({ product: ProductInput, price: FirstPriceInput, featureIds: FeatureIds.optional() }),
    returns: z.object({ product: Product }),
    refuses: [
      'tooManyRecords',
      'defaultProductNotCreatable',
      'pricingModelNotFound',
      'defaultPricingModelNotFound',
      'featureNotFound',
      'usageMeterNotFound',
      'otherPricingModel',
      'slugTaken',
    ],
    handle: async (work, { body }) => ({ product: await createProduct(work, body) }),
  }),
  route({
    method: 'GET',
    path: '/products',
    cell: 'home',
    needs: 'products:read',
    summary: 'List products',
    description: 'Returns the products of the environment, active and inactive ones.',
    tag,
    query: pageQuery({
      pricingModelId: textFilter,
      active: booleanFilter,
      default: booleanFilter,
      slug: textFilter,
      addOn: booleanFilter,
      metadata: metadataFilter,
      ...createdFilters,
    }),
    returns: pageOf(Product),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listProducts(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/products/{id}',
    cell: 'home',
    needs: 'products:read',
    summary: 'Get a product',
    description:
      'Returns a product with its active prices and its features. The answer is the product itself, without an ' +
      'envelope.',
    tag,
    params: z.object({ id: ProductId }),
    returns: ProductWithPrices,
    refuses: ['productNotFound'],
    handle: (work, { params }) => getProduct(work, params.id),
  }),
  route({
    method: 'PUT',
    path: '/products/{id}',
    cell: 'home',
    needs: 'products:catalog',
    summary: 'Update a product',
    description:
      'Changes the fields that are sent. Other terms in `price` create a new default price and deactivate the ' +
      'old one. `featureIds` replaces all features of the product. Existing subscriptions keep their price and ' +
      'features.',
    tag,
    params: z.object({ id: ProductId }),
    body: z.object({
      product: ProductChange,
      price: ProductPriceChange.optional(),
      featureIds: FeatureIds.optional(),
    }),
    returns: z.object({ product: Product }),
    refuses: [
      'tooManyRecords',
      'productNotFound',
      'idMismatch',
      'priceTypeFixed',
      'featureNotFound',
      'otherPricingModel',
      'slugTaken',
    ],
    handle: async (work, { params, body }) => ({ product: await updateProduct(work, params.id, body) }),
  }),
  route({
    method: 'DELETE',
    path: '/products/{id}',
    cell: 'home',
    needs: 'products:catalog',
    summary: 'Delete a product',
    description:
      'Deletes a product that was never used, with its prices and its links to features, and returns it as it was. A ' +
      'product in use is refused with 409, which names its subscriptions, purchases, checkout sessions and so on: set ' +
      '`active` to `false` instead. So is the default product. A dry run answers how much would go.',
    tag,
    params: z.object({ id: ProductId }),
    returns: z.object({
      product: Product,
      deleted: z
        .object({ prices: z.number(), productFeatures: z.number() })
        .meta({ description: 'How many records of each kind went with it.' }),
    }),
    refuses: ['productNotFound', 'defaultProductNotDeletable', 'productInUse'],
    asks: (work, { params }) => listUsesOfProduct(work, params.id),
    handle: (work, { params }, _, elsewhere) => deleteProduct(work, params.id, elsewhere),
  }),
];

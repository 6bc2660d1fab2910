import { z } from 'zod';
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
import { createPrice, getPrice, listPrices, quotePrices, updatePrice } from '../pricing/actions-prices.ts';
import { BillingTiming, Price, PriceId, PriceType, UsageInterval } from '../pricing/price.ts';
import { PriceChange, PriceInput, Quote, QuoteInput } from '../pricing/price-input.ts';

const tag = 'Prices';

export const priceRoutes = [
  route({
    method: 'POST',
    path: '/prices',
    cell: 'home',
    needs: 'prices:catalog',
    summary: 'Create a price',
    description:
      'Adds a price to a product or a usage meter. A price of a product becomes its default price and ' +
      'deactivates the others; their subscribers keep them. A usage price stands beside the other prices of its ' +
      'meter.',
    tag,
    body: z.object({ price: PriceInput }),
    returns: z.object({ price: Price }),
    refuses: [
      'tooManyRecords',
      'productNotFound',
      'usageMeterNotFound',
      'defaultProductProtected',
      'priceTypeFixed',
      'slugTaken',
    ],
    handle: async (work, { body }) => ({ price: await createPrice(work, body.price) }),
  }),
  route({
    method: 'GET',
    path: '/prices',
    cell: 'home',
    needs: 'prices:read',
    summary: 'List prices',
    description: 'Returns the prices of products and usage meters, active and inactive ones.',
    tag,
    query: pageQuery({
      pricingModelId: textFilter,
      productId: textFilter,
      usageMeterId: textFilter,
      type: PriceType.optional(),
      active: booleanFilter,
      isDefault: booleanFilter,
      slug: textFilter,
      billingTiming: BillingTiming.optional(),
      usageInterval: UsageInterval.optional(),
      metadata: metadataFilter,
      ...createdFilters,
    }),
    returns: pageOf(Price),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listPrices(work, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/prices/quote',
    cell: 'home',
    needs: 'prices:read',
    summary: 'Quote prices',
    description:
      'Computes the prices of up to 1,000 lines of units, without any customer: of prices by id or slug, or of a ' +
      '`pricing` that is not stored yet. Each line is rounded by itself. Nothing is stored.',
    tag,
    body: z.object({ quote: QuoteInput }),
    returns: z.object({ quote: Quote }),
    refuses: ['priceNotFound', 'defaultPricingModelNotFound'],
    handle: async (work, { body }) => ({ quote: await quotePrices(work, body.quote) }),
  }),
  route({
    method: 'GET',
    path: '/prices/{id}',
    cell: 'home',
    needs: 'prices:read',
    summary: 'Get a price',
    description: 'Returns one price with its amount, currency and interval.',
    tag,
    params: z.object({ id: PriceId }),
    returns: z.object({ price: Price }),
    refuses: ['priceNotFound'],
    handle: async (work, { params }) => ({ price: await getPrice(work, params.id) }),
  }),
  route({
    method: 'PUT',
    path: '/prices/{id}',
    cell: 'home',
    needs: 'prices:catalog',
    summary: 'Update a price',
    description:
      'Changes the name, slug, default flag or activity of a price. Its amount and interval cannot change: ' +
      'create another price instead. With `isDefault: false` the newest other active price of the product becomes ' +
      'the default; without one the price stays the default. For a usage meter it is the no-charge price.',
    tag,
    params: z.object({ id: PriceId }),
    body: z.object({ price: PriceChange.extend({ id: PriceId.optional() }) }),
    returns: z.object({ price: Price }),
    refuses: [
      'tooManyRecords',
      'priceNotFound',
      'idMismatch',
      'noChargePriceProtected',
      'defaultProductProtected',
      'slugTaken',
    ],
    handle: async (work, { params, body }) => ({ price: await updatePrice(work, params.id, body.price) }),
  }),
];

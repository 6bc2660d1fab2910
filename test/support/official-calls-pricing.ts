import { z } from 'zod';
import type { OfficialCall } from './official-calls-billing.ts';
import { pageOf } from './official-client.ts';
import { CountedDiscount, Discount } from './official-money-records.ts';
import {
  Price,
  PricingModel,
  PricingModelDetails,
  Product,
  ProductWithPrices,
  Resource,
  UsageMeter,
} from './official-records.ts';

// A clone says when in texts, by specification; otherwise it is what a look-up answers.
const TextStamps = z.object({ createdAt: z.iso.datetime(), updatedAt: z.iso.datetime() });
const ClonedModel = z.object({
  ...PricingModelDetails.shape,
  ...TextStamps.shape,
  products: z.array(TextStamps),
  usageMeters: z.array(TextStamps),
  defaultProduct: TextStamps,
});

/** One valid call of each method that has to do with what is sold. */
export const pricingCalls: Readonly<Record<string, OfficialCall>> = {
  'pricingModels.create': {
    call: (client) =>
      client.pricingModels.create({ pricingModel: { name: 'Second' }, defaultPlanIntervalUnit: 'month' }),
    answers: z.object({ pricingModel: PricingModel }),
    says: { pricingModel: { name: 'Second', isDefault: false, livemode: false } },
  },
  'pricingModels.retrieve': {
    call: (client, shop) => client.pricingModels.retrieve(shop.pricingModelId),
    answers: z.object({ pricingModel: PricingModelDetails }),
    says: { pricingModel: { defaultProduct: { slug: 'free', defaultPrice: { unitPrice: 0 } } } },
  },
  'pricingModels.update': {
    call: (client, shop) =>
      client.pricingModels.update(shop.pricingModelId, { pricingModel: { id: shop.pricingModelId, name: 'Shop 2' } }),
    answers: z.object({ pricingModel: PricingModel }),
    says: { pricingModel: { name: 'Shop 2', isDefault: true } },
  },
  'pricingModels.list': {
    call: (client) => client.pricingModels.list({ limit: '5' }),
    answers: pageOf(PricingModel),
  },
  'pricingModels.clone': {
    call: (client, shop) =>
      client.pricingModels.clone(shop.pricingModelId, { name: 'Copy', destinationEnvironment: 'testmode' }),
    answers: z.object({ pricingModel: ClonedModel }),
    says: { pricingModel: { name: 'Copy', isDefault: false, livemode: false } },
  },
  'pricingModels.retrieveDefault': {
    call: (client) => client.pricingModels.retrieveDefault(),
    answers: z.object({ pricingModel: PricingModelDetails }),
    says: { pricingModel: { isDefault: true } },
  },
  'products.create': {
    call: (client, shop) =>
      client.products.create({
        product: { name: 'Without slug', pricingModelId: shop.pricingModelId, active: true },
        price: { type: 'subscription', intervalUnit: 'week', intervalCount: 2, unitPrice: 700, isDefault: true },
        featureIds: [shop.featureIds.sso ?? ''],
      }),
    answers: z.object({ product: Product }),
    says: { product: { name: 'Without slug', default: false, active: true } },
  },
  'products.retrieve': {
    call: (client, shop) => client.products.retrieve(shop.products.team.id),
    answers: ProductWithPrices,
    says: { slug: 'team', defaultPrice: { slug: 'team-monthly', unitPrice: 2900 } },
  },
  'products.update': {
    call: (client, { products: { pro } }) =>
      client.products.update(pro.id, {
        product: { id: pro.id, name: 'Professional', active: true, description: null },
        price: {
          type: 'subscription',
          productId: pro.id,
          intervalUnit: 'month',
          intervalCount: 1,
          unitPrice: 6900,
          isDefault: true,
          slug: 'pro-monthly',
        },
      }),
    answers: z.object({ product: Product }),
    says: { product: { name: 'Professional', slug: 'pro', description: null } },
  },
  'products.list': {
    call: (client) => client.products.list({ limit: '100' }),
    answers: pageOf(Product),
  },
  'prices.create': {
    call: (client, shop) =>
      client.prices.create({
        price: {
          type: 'usage',
          usageMeterId: shop.meterId,
          intervalUnit: 'month',
          intervalCount: 1,
          unitPrice: 4,
          usageEventsPerUnit: 10,
          isDefault: false,
          slug: 'dear-call',
        },
      }),
    answers: z.object({ price: Price }),
    says: { price: { type: 'usage', productId: null, usageEventsPerUnit: 10, isDefault: false, currency: 'USD' } },
  },
  'prices.update': {
    call: (client, { products: { onboarding } }) =>
      client.prices.update(onboarding.defaultPrice.id, {
        price: { id: onboarding.defaultPrice.id, type: 'single_payment', isDefault: true, name: 'Once' },
      }),
    answers: z.object({ price: Price }),
    says: { price: { type: 'single_payment', name: 'Once', unitPrice: 10_000, intervalUnit: null } },
  },
  'prices.list': {
    call: (client) => client.prices.list({ limit: '100' }),
    answers: pageOf(Price),
  },
  'usageMeters.create': {
    call: (client, shop) =>
      client.usageMeters.create({
        usageMeter: {
          name: 'Active users',
          slug: 'active-users',
          pricingModelId: shop.pricingModelId,
          aggregationType: 'count_distinct_properties',
        },
        price: { type: 'usage', unitPrice: 3, usageEventsPerUnit: 1 },
      }),
    answers: z.object({ usageMeter: UsageMeter }),
    says: { usageMeter: { slug: 'active-users', aggregationType: 'count_distinct_properties' } },
  },
  'usageMeters.retrieve': {
    call: (client, shop) => client.usageMeters.retrieve(shop.meterId),
    answers: z.object({ usageMeter: UsageMeter }),
    says: { usageMeter: { slug: 'calls', aggregationType: 'sum' } },
  },
  'usageMeters.update': {
    call: (client, shop) =>
      client.usageMeters.update(shop.meterId, { usageMeter: { id: shop.meterId, name: 'API calls' } }),
    answers: z.object({ usageMeter: UsageMeter }),
    says: { usageMeter: { name: 'API calls', slug: 'calls' } },
  },
  'usageMeters.list': {
    call: (client) => client.usageMeters.list(),
    answers: pageOf(UsageMeter),
  },
  'resources.create': {
    call: (client, shop) =>
      client.resources.create({ resource: { name: 'Project', slug: 'project', pricingModelId: shop.pricingModelId } }),
    answers: z.object({ resource: Resource }),
    says: { resource: { slug: 'project', active: true } },
  },
  'resources.retrieve': {
    call: (client, shop) => client.resources.retrieve(shop.resourceId),
    answers: z.object({ resource: Resource }),
    says: { resource: { slug: 'seat', name: 'Seat' } },
  },
  'resources.update': {
    call: (client, shop) =>
      client.resources.update(shop.resourceId, { resource: { id: shop.resourceId, name: 'Chair' } }),
    answers: z.object({ resource: Resource }),
    says: { resource: { slug: 'seat', name: 'Chair' } },
  },
  'resources.list': {
    call: (client, shop) => client.resources.list({ pricingModelId: shop.pricingModelId }),
    answers: z.object({ resources: z.array(Resource).min(1) }),
  },
  'discounts.create': {
    call: (client, shop) =>
      client.discounts.create({
        discount: {
          name: 'Three months',
          code: 'three-months',
          amount: 500,
          amountType: 'fixed',
          duration: 'number_of_payments',
          numberOfPayments: 3,
          pricingModelId: shop.pricingModelId,
        },
      }),
    answers: z.object({ discount: Discount }),
    says: { discount: { code: 'THREE-MONTHS', numberOfPayments: 3, active: true } },
  },
  'discounts.retrieve': {
    call: (client, shop) => client.discounts.retrieve(shop.discountId),
    answers: z.object({ discount: CountedDiscount }),
    says: { discount: { code: 'LAUNCH', duration: 'once', redemptionCount: 0 } },
  },
  'discounts.update': {
    call: (client, shop) =>
      client.discounts.update(shop.discountId, {
        discount: { id: shop.discountId, code: 'launch', amount: 25, amountType: 'percent', duration: 'forever' },
      }),
    answers: z.object({ discount: Discount }),
    says: { discount: { code: 'LAUNCH', amount: 25, duration: 'forever', numberOfPayments: null, name: 'Launch' } },
  },
  'discounts.list': {
    call: (client) => client.discounts.list(),
    answers: pageOf(CountedDiscount),
  },
};

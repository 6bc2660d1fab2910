import { z } from 'zod';
import { SafeString } from '../kernel/json.ts';
import { booleanFilter, pageOf, pageQuery, pageRequest } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { createPricingModel, getDefaultPricingModel, getPricingModel, listPricingModels } from './actions-models.ts';
import { IntervalUnit } from './price.ts';
import { PricingModel, PricingModelDetails, PricingModelId } from './pricing-model.ts';

const tag = 'Pricing models';

export const modelRoutes = [
  route({
    method: 'POST',
    path: '/pricing-models',
    summary: 'Create a pricing model',
    description: 'It holds a default product, the free plan, and nothing else.',
    tag,
    body: z.object({
      pricingModel: z.object({
        name: SafeString,
        isDefault: z.boolean().optional().meta({ description: 'True: the former default is no longer one.' }),
      }),
      defaultPlanIntervalUnit: IntervalUnit.optional().meta({
        description: 'How often the free plan renews; absent: never.',
      }),
    }),
    returns: z.object({ pricingModel: PricingModel }),
    refuses: ['outsidePinnedPricingModel', 'conflictingRow'],
    handle: async (work, { body: { pricingModel, defaultPlanIntervalUnit } }) => ({
      pricingModel: await createPricingModel(work, { ...pricingModel, defaultPlanIntervalUnit }),
    }),
  }),
  route({
    method: 'GET',
    path: '/pricing-models',
    summary: 'List the pricing models',
    tag,
    query: pageQuery({ isDefault: booleanFilter }),
    returns: pageOf(PricingModel),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listPricingModels(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/pricing-models/default',
    summary: 'Get the default pricing model',
    description: 'With what can be bought. A key that is pinned to a pricing model gets that one.',
    tag,
    returns: z.object({ pricingModel: PricingModelDetails }),
    refuses: ['defaultPricingModelNotFound'],
    handle: async (work) => ({ pricingModel: await getDefaultPricingModel(work) }),
  }),
  route({
    method: 'GET',
    path: '/pricing-models/{id}',
    summary: 'Get a pricing model',
    description: 'With what can be bought: active products with active prices, and the usage meters.',
    tag,
    params: z.object({ id: PricingModelId }),
    returns: z.object({ pricingModel: PricingModelDetails }),
    refuses: ['pricingModelNotFound'],
    handle: async (work, { params }) => ({ pricingModel: await getPricingModel(work, params.id) }),
  }),
];

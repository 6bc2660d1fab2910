import { z } from 'zod';
import { updatePricingModel } from '../billing/update-pricing-model.ts';
import { route } from '../http/route.ts';
import { SafeString } from '../kernel/json.ts';
import { booleanFilter, pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';
import { clonePricingModel } from '../pricing/actions-clone.ts';
import { exportPricingModel } from '../pricing/actions-export.ts';
import {
  createPricingModel,
  getDefaultPricingModel,
  getPricingModel,
  listPricingModels,
} from '../pricing/actions-models.ts';
import { setUpPricingModel } from '../pricing/actions-setup.ts';
import { ClonedPricingModel, DestinationEnvironment, toClonedPricingModel } from '../pricing/cloned-pricing-model.ts';
import { IntervalUnit } from '../pricing/price.ts';
import { PricingModel, PricingModelDetails, PricingModelId } from '../pricing/pricing-model.ts';
import { SetupInput, UpdateInput } from '../pricing/structure.ts';
import { PricingModelExport } from '../pricing/structure-export.ts';

const tag = 'Pricing models';

export const pricingModelRoutes = [
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
  route({
    method: 'POST',
    path: '/pricing-models/setup',
    summary: 'Set up a whole pricing model',
    description:
      'Features, products, usage meters and resources, named by slugs; all of it is made, or nothing. Without a default product the Free Plan is added, and each usage meter gets its no-charge price.',
    tag,
    body: SetupInput,
    returns: z.object({ pricingModel: PricingModelDetails }),
    refuses: [
      'featureNotFound',
      'usageMeterNotFound',
      'resourceNotFound',
      'outsidePinnedPricingModel',
      'conflictingRow',
    ],
    handle: async (work, { body }) => ({ pricingModel: await setUpPricingModel(work, body) }),
  }),
  route({
    method: 'GET',
    path: '/pricing-models/{id}/export',
    summary: 'Export a pricing model',
    description:
      'As the body of a setup that makes the same, and of an update that changes nothing. What is null is left out.',
    tag,
    params: z.object({ id: PricingModelId }),
    returns: PricingModelExport,
    refuses: ['pricingModelNotFound'],
    handle: (work, { params }) => exportPricingModel(work, params.id),
  }),
  route({
    method: 'POST',
    path: '/pricing-models/{id}/clone',
    summary: 'Clone a pricing model',
    description:
      'Copies everything that it holds, with new ids and the same slugs and codes, in the same mode or into the other one. Customers and subscriptions are not copied.',
    tag,
    params: z.object({ id: PricingModelId }),
    body: z.object({
      name: SafeString,
      destinationEnvironment: DestinationEnvironment.optional().meta({
        description: 'Where the copy is made; absent: where the source is.',
      }),
    }),
    returns: z.object({ pricingModel: ClonedPricingModel }),
    refuses: ['pricingModelNotFound', 'outsidePinnedPricingModel', 'otherCurrency'],
    handle: async (work, { params, body }) => ({
      pricingModel: toClonedPricingModel(await clonePricingModel(work, params.id, body)),
    }),
  }),
  route({
    method: 'PUT',
    path: '/pricing-models/{id}',
    summary: 'Update a pricing model',
    description:
      'Its name and whether it is the default one; or, when features, products, usageMeters and resources are given, all four, everything that it holds from then on: what has a new slug is made, what is left out is deactivated. A price on other terms replaces the old one, which existing subscriptions keep. Usage meters cannot be removed, and the default product stays.',
    tag,
    params: z.object({ id: PricingModelId }),
    body: z.object({ pricingModel: UpdateInput }),
    returns: z.object({ pricingModel: PricingModel }),
    refuses: [
      'pricingModelNotFound',
      'idMismatch',
      'featureNotFound',
      'usageMeterNotFound',
      'resourceNotFound',
      'slugTaken',
      'outsidePinnedPricingModel',
      'conflictingRow',
    ],
    handle: async (work, { params, body }) => ({
      pricingModel: await updatePricingModel(work, params.id, body.pricingModel),
    }),
  }),
];

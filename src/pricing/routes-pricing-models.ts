import { z } from 'zod';
import { SafeString } from '../kernel/json.ts';
import { route } from '../platform/route.ts';
import { clonePricingModel } from './actions-clone.ts';
import { exportPricingModel } from './actions-export.ts';
import { setUpPricingModel } from './actions-setup.ts';
import { ClonedPricingModel, DestinationEnvironment, toClonedPricingModel } from './cloned-pricing-model.ts';
import { PricingModelDetails, PricingModelId } from './pricing-model.ts';
import { SetupInput } from './structure.ts';
import { PricingModelExport } from './structure-export.ts';

const tag = 'Pricing models';

export const pricingModelRoutes = [
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
];

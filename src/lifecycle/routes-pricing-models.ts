import { z } from 'zod';
import { route } from '../platform/route.ts';
import { PricingModel, PricingModelId } from '../pricing/pricing-model.ts';
import { UpdateInput } from '../pricing/structure.ts';
import { updatePricingModel } from './update-pricing-model.ts';

export const lifecyclePricingModelRoutes = [
  route({
    method: 'PUT',
    path: '/pricing-models/{id}',
    summary: 'Update a pricing model',
    description:
      'Its name and whether it is the default one; or, when features, products, usageMeters and resources are given, all four, everything that it holds from then on: what has a new slug is made, what is left out is deactivated. A price on other terms replaces the old one, which existing subscriptions keep. Usage meters cannot be removed, and the default product stays.',
    tag: 'Pricing models',
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

import { z } from 'zod';
import { applyPricingModel, applyToPricingModel, updatePricingModel } from '../entitlements/actions-pricing.ts';
import { route } from '../http/route.ts';
import { SafeString } from '../kernel/json.ts';
import { largeLimits } from '../kernel/json-weight.ts';
import { booleanFilter, createdFilters, pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';
import {
  clonePricingModel,
  createPricingModel,
  deletePricingModel,
  exportPricingModel,
  getDefaultPricingModel,
  getPricingModel,
  listPricingModels,
  listUsesOfModel,
  setUpPricingModel,
} from '../pricing/actions-models.ts';
import { ClonedPricingModel, DestinationEnvironment, toClonedPricingModel } from '../pricing/cloned-pricing-model.ts';
import { IntervalUnit } from '../pricing/price.ts';
import { PricingModel, PricingModelDetails, PricingModelId } from '../pricing/pricing-model.ts';
import { SetupInput, UpdateInput } from '../pricing/structure.ts';
import { PricingChange, PricingModelExport } from '../pricing/structure-copy.ts';

const tag = 'Pricing models';

export const pricingModelRoutes = [
  route({
    method: 'POST',
    path: '/pricing-models',
    cell: 'home',
    needs: 'pricing-models:catalog',
    summary: 'Create a pricing model',
    description:
      'Creates a pricing model with a default product, the free plan, and nothing else. `isDefault` makes it ' +
      'the model of customers that name none.',
    tag,
    body: z.object({
      pricingModel: z.object({
        name: SafeString,
        isDefault: z
          .boolean()
          .optional()
          .meta({ description: 'If true, this becomes the default pricing model in place of the present one.' }),
      }),
      defaultPlanIntervalUnit: IntervalUnit.optional().meta({
        description: 'The billing period of the free plan. Without it, the plan never renews.',
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
    cell: 'home',
    needs: 'pricing-models:read',
    summary: 'List pricing models',
    description: 'Returns the pricing models of the environment, without their contents.',
    tag,
    query: pageQuery({ isDefault: booleanFilter, ...createdFilters }),
    returns: pageOf(PricingModel),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listPricingModels(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/pricing-models/default',
    cell: 'home',
    needs: 'pricing-models:read',
    summary: 'Get the default pricing model',
    description:
      'Returns the default pricing model with its active products, prices and usage meters. A key that is ' +
      'pinned to a pricing model gets that model.',
    tag,
    returns: z.object({ pricingModel: PricingModelDetails }),
    refuses: ['defaultPricingModelNotFound'],
    handle: async (work) => ({ pricingModel: await getDefaultPricingModel(work) }),
  }),
  route({
    method: 'GET',
    path: '/pricing-models/{id}',
    cell: 'home',
    needs: 'pricing-models:read',
    summary: 'Get a pricing model',
    description: 'Returns a pricing model with its active products, their active prices, and its usage meters.',
    tag,
    params: z.object({ id: PricingModelId }),
    returns: z.object({ pricingModel: PricingModelDetails }),
    refuses: ['pricingModelNotFound'],
    handle: async (work, { params }) => ({ pricingModel: await getPricingModel(work, params.id) }),
  }),
  route({
    method: 'POST',
    path: '/pricing-models/setup',
    cell: 'home',
    needs: 'pricing-models:catalog',
    summary: 'Set up a whole pricing model',
    description:
      'Creates a pricing model with features, products, prices, usage meters and resources, linked by their ' +
      'slugs. All of it is created, or nothing. A Free Plan is added if no product is the default one, and each ' +
      'usage meter gets a no-charge price. A repeat creates another pricing model, and moves the default to it if ' +
      '`isDefault` is true: use `POST /pricing-models/apply` for what is sent more than once.',
    tag,
    body: SetupInput,
    bodyLimits: largeLimits,
    returns: z.object({
      pricingModel: PricingModelDetails,
      formerDefaultPricingModelId: z
        .string()
        .nullable()
        .meta({ description: 'The pricing model that was the default until now; null if the default did not move.' }),
    }),
    refuses: [
      'tooManyRecords',
      'featureNotFound',
      'usageMeterNotFound',
      'resourceNotFound',
      'outsidePinnedPricingModel',
      'conflictingRow',
    ],
    handle: (work, { body }) => setUpPricingModel(work, body),
  }),
  route({
    method: 'POST',
    path: '/pricing-models/apply',
    cell: 'home',
    needs: 'pricing-models:catalog',
    summary: 'Create or update a pricing model by its name',
    description:
      'Takes the body of a setup. Creates the pricing model if none has this name, and updates it otherwise, so a ' +
      'repeat changes nothing. Missing slugs are deactivated, as in an update, and never deleted. Returns each difference; with ' +
      '`dryRun=true` the differences that there would be. `isDefault: true` makes the model the default one, and ' +
      '`false` leaves the flag as it is.',
    tag,
    body: SetupInput,
    bodyLimits: largeLimits,
    returns: z.object({
      pricingModel: PricingModel,
      isNew: z.boolean().meta({ description: 'True if there was no pricing model with this name.' }),
      changes: z.array(PricingChange),
    }),
    refuses: [
      'tooManyRecords',
      'pricingModelNameAmbiguous',
      'featureNotFound',
      'usageMeterNotFound',
      'resourceNotFound',
      'slugTaken',
      'outsidePinnedPricingModel',
      'conflictingRow',
    ],
    asks: (work, { body }) => applyPricingModel(work, body, []),
    handle: (work, { body }, _, others) => applyPricingModel(work, body, others),
  }),
  route({
    method: 'POST',
    path: '/pricing-models/{id}/apply',
    cell: 'home',
    needs: 'pricing-models:catalog',
    summary: 'Apply many changes of a pricing model',
    description:
      'Takes the whole pricing model as its export says it, and makes all differences in one transaction, or none. ' +
      'Missing slugs are deactivated, as in an update. Returns each difference with the number of customers who have ' +
      'the record; with `dryRun=true` the differences that there would be. `base` is the export from which the changes ' +
      'were drawn. If the model has changed since then, the answer is 409 with the differences in `changes`. A repeat ' +
      'changes nothing. `isDefault: false` leaves the flag as it is.',
    tag,
    params: z.object({ id: PricingModelId }),
    body: z.object({
      pricingModel: SetupInput,
      base: SetupInput.optional().meta({
        description:
          'The `pricingModel` of the export from which the changes were drawn. Without it, nothing is compared.',
      }),
    }),
    bodyLimits: largeLimits,
    returns: z.object({ pricingModel: PricingModel, changes: z.array(PricingChange) }),
    refuses: [
      'tooManyRecords',
      'pricingModelNotFound',
      'pricingModelChanged',
      'featureNotFound',
      'usageMeterNotFound',
      'resourceNotFound',
      'slugTaken',
      'outsidePinnedPricingModel',
      'conflictingRow',
    ],
    asks: (work, { params, body }) => applyToPricingModel(work, params.id, body, []),
    handle: (work, { params, body }, _, others) => applyToPricingModel(work, params.id, body, others),
  }),
  route({
    method: 'GET',
    path: '/pricing-models/{id}/export',
    cell: 'home',
    needs: 'pricing-models:read',
    summary: 'Export a pricing model',
    description:
      'Returns a pricing model in the form that setup and update accept. A setup with it creates the same ' +
      'model; an update with it changes nothing.',
    tag,
    params: z.object({ id: PricingModelId }),
    returns: PricingModelExport,
    refuses: ['pricingModelNotFound'],
    handle: (work, { params }) => exportPricingModel(work, params.id),
  }),
  route({
    method: 'POST',
    path: '/pricing-models/{id}/clone',
    cell: 'home',
    needs: 'pricing-models:catalog',
    summary: 'Clone a pricing model',
    description:
      'Copies a pricing model and its contents, with new ids and the same slugs and codes. ' +
      '`destinationEnvironment` chooses test or live mode. Customers and subscriptions are not copied. A copy ' +
      'into a mode with another currency is refused with 400.',
    tag,
    params: z.object({ id: PricingModelId }),
    body: z.object({
      name: SafeString,
      destinationEnvironment: DestinationEnvironment.optional().meta({
        description: 'The mode of the copy, by default that of the source.',
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
    cell: 'home',
    needs: 'pricing-models:catalog',
    summary: 'Update a pricing model',
    description:
      'Changes the name of a pricing model, or makes it the default one. With `features`, `products`, ' +
      '`usageMeters` and `resources`, all four, it replaces the contents. New slugs are created and missing ' +
      'ones are deactivated. A price with other terms replaces the old one, which existing subscriptions keep. ' +
      'Usage meters and the default product cannot be removed.',
    tag,
    params: z.object({ id: PricingModelId }),
    body: z.object({ pricingModel: UpdateInput }),
    bodyLimits: largeLimits,
    returns: z.object({ pricingModel: PricingModel }),
    refuses: [
      'tooManyRecords',
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
  route({
    method: 'DELETE',
    path: '/pricing-models/{id}',
    cell: 'home',
    needs: 'pricing-models:catalog',
    summary: 'Delete a pricing model',
    description:
      'Deletes a pricing model that nothing uses, with all its products, prices, usage meters, credit pools, features, ' +
      'resources and discounts. Returns it as it was. A model with customers, checkout sessions, webhooks or API keys is refused with ' +
      '409, which names them. So is the default model. A dry run answers how much would go.',
    tag,
    params: z.object({ id: PricingModelId }),
    returns: z.object({
      pricingModel: PricingModel,
      deleted: z
        .object({
          products: z.number(),
          prices: z.number(),
          usageMeters: z.number(),
          creditPools: z.number(),
          features: z.number(),
          productFeatures: z.number(),
          resources: z.number(),
          discounts: z.number(),
        })
        .meta({ description: 'How many records of each kind went with it.' }),
    }),
    refuses: [
      'pricingModelNotFound',
      'defaultPricingModelNotDeletable',
      'pricingModelInUse',
      'outsidePinnedPricingModel',
    ],
    asks: (work, { params }) => listUsesOfModel(work, params.id),
    handle: (work, { params }, _, elsewhere) => deletePricingModel(work, params.id, elsewhere),
  }),
];

import { z } from 'zod';
import { route } from '../http/route.ts';
import { booleanFilter, createdFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { createFeature, getFeature, listFeatures, updateFeature } from '../pricing/actions-features.ts';
import { Feature, FeatureChange, FeatureId, FeatureInput, FeatureType, RenewalFrequency } from '../pricing/feature.ts';

const tag = 'Features';

export const featureRoutes = [
  route({
    method: 'POST',
    path: '/features',
    cell: 'home',
    needs: 'features:catalog',
    summary: 'Create a feature',
    description:
      'Creates a feature that products and subscriptions can grant. A slug that another active feature has is ' +
      'refused with 409.',
    tag,
    body: z.object({ feature: FeatureInput }),
    returns: z.object({ feature: Feature }),
    refuses: [
      'tooManyRecords',
      'pricingModelNotFound',
      'defaultPricingModelNotFound',
      'usageMeterNotFound',
      'resourceNotFound',
      'otherPricingModel',
      'slugTaken',
    ],
    handle: async (work, { body }) => ({ feature: await createFeature(work, body.feature) }),
  }),
  route({
    method: 'GET',
    path: '/features',
    cell: 'home',
    needs: 'features:read',
    summary: 'List features',
    description: 'Returns the features of the environment, active and inactive ones.',
    tag,
    query: pageQuery({
      pricingModelId: textFilter,
      type: FeatureType.optional(),
      active: booleanFilter,
      slug: textFilter,
      usageMeterId: textFilter,
      resourceId: textFilter,
      renewalFrequency: RenewalFrequency.optional(),
      ...createdFilters,
    }),
    returns: pageOf(Feature),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listFeatures(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/features/{id}',
    cell: 'home',
    needs: 'features:read',
    summary: 'Get a feature',
    description: 'Returns one feature with its type, and the amount and the usage meter or resource that belong to it.',
    tag,
    params: z.object({ id: FeatureId }),
    returns: z.object({ feature: Feature }),
    refuses: ['featureNotFound'],
    handle: async (work, { params }) => ({ feature: await getFeature(work, params.id) }),
  }),
  route({
    method: 'PUT',
    path: '/features/{id}',
    cell: 'home',
    needs: 'features:catalog',
    summary: 'Update a feature',
    description:
      'Changes the fields that are sent. The type cannot change, and subscriptions keep what the feature has ' +
      'granted them.',
    tag,
    params: z.object({ id: FeatureId }),
    body: z.object({ feature: FeatureChange }),
    returns: z.object({ feature: Feature }),
    refuses: [
      'tooManyRecords',
      'featureNotFound',
      'idMismatch',
      'usageMeterNotFound',
      'resourceNotFound',
      'otherPricingModel',
      'slugTaken',
    ],
    handle: async (work, { params, body }) => ({ feature: await updateFeature(work, params.id, body.feature) }),
  }),
];

import type { z } from 'zod';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import {
  longPageQuery,
  maxLongPageLimit,
  type PageRequest,
  page,
  pageRequest,
  textFilter,
} from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import {
  only,
  refuseOtherId,
  required,
  requiredLocked,
  resolveLockedPricingModel,
  resolvePricingModel,
} from './actions.ts';
import {
  decideFeatureChange,
  type Feature,
  type FeatureChange,
  type FeatureInput,
  grantSubject,
  type NewFeature,
} from './feature.ts';
import type { Resource, ResourceChange, ResourceInput } from './resource.ts';
import { findCreditPool } from './store-credit-pools.ts';
import * as store from './store-features.ts';
import * as resources from './store-resources.ts';
import { findUsageMeter } from './store-usage-meters.ts';
import { isMeasured, noCreditsOfMeasured, noLimitOfMeasured } from './usage-meter.ts';

/** Creates a feature. Its usage meter, credit pool or resource must belong to the same pricing model. */
export async function createFeature(work: Work, requested: FeatureInput): Promise<Feature> {
  const pricingModelId = await resolveLockedPricingModel(work, requested.pricingModelId);
  const feature = newFeature(newId('feature'), pricingModelId, requested);
  await refuseOtherGrants(work, feature);
  return only(await store.insertFeatures(work, [feature]));
}

function newFeature(id: string, pricingModelId: string, requested: FeatureInput): NewFeature {
  const { slug, name, description, active } = requested;
  const feature = { id, pricingModelId, slug, name, description, active };
  const noRhythm = { renewalFrequency: null, grantInterval: null, rolloverMaximum: null, rolloverPeriods: null };
  switch (requested.type) {
    case 'toggle':
      return {
        ...feature,
        type: requested.type,
        amount: null,
        usageMeterId: null,
        resourceId: null,
        ...noRhythm,
      };
    case 'usage_credit_grant': {
      const { type, amount, renewalFrequency, grantInterval, rolloverMaximum, rolloverPeriods } = requested;
      const rhythm = { renewalFrequency, grantInterval, rolloverMaximum, rolloverPeriods };
      const subject = grantSubject(requested.creditPoolId ?? requested.usageMeterId ?? '');
      return { ...feature, type, amount, ...subject, resourceId: null, ...rhythm };
    }
    case 'resource': {
      const { type, amount, resourceId } = requested;
      return { ...feature, type, amount, usageMeterId: null, ...noRhythm, resourceId };
    }
    case 'value': {
      const { type, value } = requested;
      return { ...feature, type, amount: null, usageMeterId: null, ...noRhythm, resourceId: null, value };
    }
    case 'spend_limit': {
      const { type, amount, spendLimit } = requested;
      return { ...feature, type, amount, usageMeterId: null, ...noRhythm, resourceId: null, spendLimit };
    }
    default:
      return requested satisfies never;
  }
}

/** Refuses a usage meter, credit pool or resource that does not exist or belongs to another pricing model. */
async function refuseOtherGrants(work: Work, feature: NewFeature): Promise<void> {
  const limited = feature.type === 'spend_limit' ? feature.spendLimit.usageMeterId : null;
  const usageMeterId = feature.usageMeterId ?? limited;
  if (usageMeterId !== null) {
    const meter = await required(work, findUsageMeter, usageMeterId, 'usageMeterNotFound');
    if (meter.pricingModelId !== feature.pricingModelId) {
      throw new Problem('otherPricingModel', { record: 'usage meter', id: meter.id });
    }
    if (isMeasured(meter))
      throw limited === null
        ? invalid(['feature', 'usageMeterId'], noCreditsOfMeasured)
        : invalid(['feature', 'spendLimit', 'usageMeterId'], noLimitOfMeasured);
  }
  const { creditPoolId } =
    feature.type === 'spend_limit' ? feature.spendLimit : { creditPoolId: undefined, ...feature };
  if (creditPoolId !== undefined) {
    const pool = await required(work, findCreditPool, creditPoolId, 'creditPoolNotFound');
    if (pool.pricingModelId !== feature.pricingModelId)
      throw new Problem('otherPricingModel', { record: 'credit pool', id: pool.id });
  }
  if (feature.resourceId !== null) {
    const resource = await required(work, resources.findResource, feature.resourceId, 'resourceNotFound');
    if (resource.pricingModelId !== feature.pricingModelId) {
      throw new Problem('otherPricingModel', { record: 'resource', id: resource.id });
    }
  }
}

/** Returns a feature, active or not. */
export async function getFeature(work: Work, id: string): Promise<Feature> {
  return required(work, store.findFeature, id, 'featureNotFound');
}

/** Lists features, inactive ones included. */
export async function listFeatures(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfFeatures(work, request);
  return page(request, rows, total);
}

/** Changes a feature. Features already granted to subscriptions keep their values. */
export async function updateFeature(work: Work, id: string, change: FeatureChange): Promise<Feature> {
  refuseOtherId(id, change.id);
  const feature = await requiredLocked(work, store.findFeature, id, 'featureNotFound');
  const changed = decideFeatureChange(feature, change);
  await refuseOtherGrants(work, changed);
  return only(await store.saveFeatures(work, [changed]));
}

export async function createResource(work: Work, requested: ResourceInput): Promise<Resource> {
  const pricingModelId = await resolveLockedPricingModel(work, requested.pricingModelId);
  const { slug, name, active } = requested;
  return only(await resources.insertResources(work, [{ id: newId('resource'), pricingModelId, slug, name, active }]));
}

/** Returns a resource, active or not. */
export async function getResource(work: Work, id: string): Promise<Resource> {
  return required(work, resources.findResource, id, 'resourceNotFound');
}

/** The query for a page of resources. */
export const ResourcesQuery = longPageQuery({ pricingModelId: textFilter });

/** Lists resources, inactive ones included: of the given pricing model, or of all that the key can see. */
export async function listResources(work: Work, query: z.output<typeof ResourcesQuery>) {
  const request = pageRequest({ ...query, limit: query.limit ?? maxLongPageLimit });
  const { pricingModelId } = query;
  const modelId = pricingModelId === undefined ? null : await resolvePricingModel(work, pricingModelId);
  const { data, hasMore, nextCursor } = page(request, await resources.pageOfResources(work, modelId, request), 0);
  return { resources: data, hasMore, ...(nextCursor === undefined ? {} : { nextCursor }) };
}

/** Changes a resource. An inactive one can no longer be claimed; existing claims stay. */
export async function updateResource(work: Work, id: string, change: ResourceChange): Promise<Resource> {
  refuseOtherId(id, change.id);
  const resource = await requiredLocked(work, resources.findResource, id, 'resourceNotFound');
  const { slug = resource.slug, name = resource.name, active = resource.active } = change;
  return only(await resources.saveResources(work, [{ ...resource, slug, name, active }]));
}

import type { Feature, NewFeature } from './feature.ts';
import type { NewResource, Resource } from './resource.ts';
import type { FeatureStructure, ResourceStructure, Structure } from './structure.ts';
import { type FeaturePlan, known, type PlanContext, type StructureChanges, withFields } from './structure-changes.ts';
import { type PricingModelContents, representatives } from './structure-contents.ts';
import { planProducts } from './structure-plan-products.ts';
import { planUsageMeters } from './structure-plan-usage-meters.ts';

/**
 * The difference between the contents of a pricing model and a complete, checked structure (see `completeStructure`).
 * Records missing in `wanted` are deactivated. Records match by slug: the active one, else the newest inactive one,
 * which is activated again. A setup is the difference to nothing.
 */
export function planStructure(
  current: PricingModelContents,
  wanted: Structure,
  context: PlanContext,
): StructureChanges {
  const resources = planResources(current.resources, wanted.resources, context);
  const usageMeters = planUsageMeters(current, wanted.usageMeters, context);
  const targets = { usageMeterIds: usageMeters.ids, resourceIds: resources.ids };
  const features = planFeatures(current, wanted.features, targets, context);
  const products = planProducts(current, wanted.products, features, context);
  return {
    resources: { made: resources.made, changed: resources.changed },
    usageMeters: { made: usageMeters.made, changed: usageMeters.changed },
    features: { made: features.made, changed: features.changed },
    products: { made: products.made, changed: products.changed },
    prices: {
      made: [...products.prices.made, ...usageMeters.prices.made],
      changed: [...products.prices.changed, ...usageMeters.prices.changed],
      renamed: products.renamedPrices,
    },
    productFeatures: products.links,
  };
}

function planResources(current: readonly Resource[], wanted: readonly ResourceStructure[], context: PlanContext) {
  const standing = representatives(current);
  const ids = new Map<string, string>();
  const made: NewResource[] = [];
  const changed: Resource[] = [];
  for (const { slug, name, active } of wanted) {
    const row = standing.get(slug);
    const id = row?.id ?? context.newId('resource');
    ids.set(slug, id);
    const change = row && withFields(row, { name, active });
    if (row === undefined) made.push({ id, pricingModelId: context.pricingModelId, slug, name, active });
    if (change) changed.push(change);
  }
  const removed = [...standing.values()].filter(({ slug, active }) => active && !ids.has(slug));
  changed.push(...removed.map((row) => ({ ...row, active: false })));
  return { made, changed, ids };
}

interface FeatureTargets {
  readonly usageMeterIds: ReadonlyMap<string, string>;
  readonly resourceIds: ReadonlyMap<string, string>;
}

function planFeatures(
  current: PricingModelContents,
  wanted: readonly FeatureStructure[],
  targets: FeatureTargets,
  context: PlanContext,
): FeaturePlan {
  const standing = representatives(current.features);
  const resourceSlugs = new Map(current.resources.map(({ id, slug }) => [id, slug]));
  const ids = new Map<string, string>();
  const made: NewFeature[] = [];
  const changed: Feature[] = [];
  for (const feature of wanted) {
    const row = standing.get(feature.slug);
    // A record of another type is another feature: an inactive one stays, an active one was refused before.
    const match =
      row === undefined || row.type === feature.type ? row : newestOfType(current.features, feature.slug, feature.type);
    const fields = featureFields(feature, targets);
    const id = match?.id ?? context.newId('feature');
    ids.set(feature.slug, id);
    if (match === undefined) {
      made.push({ id, pricingModelId: context.pricingModelId, ...fields });
      continue;
    }
    if (fields.type === 'resource' && match.type === 'resource' && feature.type === 'resource') {
      // Several resources may have had the slug. A feature that stays keeps its resource.
      const goesOn = match.active === fields.active && resourceSlugs.get(match.resourceId) === feature.resourceSlug;
      if (goesOn) fields.resourceId = match.resourceId;
    }
    const { createdAt, updatedAt, livemode, organizationId, pricingModelId } = match;
    const stored = { id, createdAt, updatedAt, livemode, organizationId, pricingModelId };
    if (withFields<Feature, Partial<Feature>>(match, fields) !== null) changed.push({ ...stored, ...fields });
  }
  const removed = [...standing.values()].filter(({ slug, active }) => active && !ids.has(slug));
  changed.push(...removed.map((row) => ({ ...row, active: false })));
  return {
    made,
    changed,
    ids,
    spokenOf: new Set([...[...standing.values()].map(({ id }) => id), ...ids.values()]),
    removed: new Set(removed.map(({ id }) => id)),
  };
}

function newestOfType(features: readonly Feature[], slug: string, type: Feature['type']): Feature | undefined {
  return features.findLast((feature) => feature.slug === slug && feature.type === type && !feature.active);
}

function featureFields(feature: FeatureStructure, { usageMeterIds, resourceIds }: FeatureTargets) {
  const { slug, name, description, active } = feature;
  const text = { slug, name, description, active };
  const noRollover = { rolloverMaximum: null, rolloverPeriods: null };
  switch (feature.type) {
    case 'toggle': {
      const nothing = { amount: null, usageMeterId: null, renewalFrequency: null, resourceId: null };
      return { type: feature.type, ...text, ...nothing, ...noRollover };
    }
    case 'usage_credit_grant': {
      const { type, amount, renewalFrequency, rolloverMaximum, rolloverPeriods } = feature;
      const usageMeterId = known(usageMeterIds, feature.usageMeterSlug);
      const rollover = { rolloverMaximum, rolloverPeriods };
      return { type, ...text, amount, renewalFrequency, usageMeterId, resourceId: null, ...rollover };
    }
    case 'resource': {
      const { type, amount } = feature;
      const resourceId = known(resourceIds, feature.resourceSlug);
      return { type, ...text, amount, usageMeterId: null, renewalFrequency: null, resourceId, ...noRollover };
    }
    default:
      return feature satisfies never;
  }
}

import { z } from 'zod';
import { amountInput, FreeText, SafeString, Unused } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';
import { type Feature, FeatureId, FeatureType, RenewalFrequency } from './feature.ts';
import { ResourceId } from './resource.ts';
import { changedRollover, RolloverMaximum, RolloverPeriods, refineRollover, rolloverIssue } from './rollover.ts';
import { UsageMeterId } from './usage-meter.ts';

const Amount = amountInput(1);

const anyFeature = {
  slug: SafeString,
  name: SafeString,
  description: FreeText.default(''),
  pricingModelId: z.string().nullish(),
  active: z.boolean().default(true),
};

const noRollover = { rolloverMaximum: Unused, rolloverPeriods: Unused };

/** A request for a feature. Fields that its type does not use must be absent or null. */
export const FeatureInput = z.discriminatedUnion(
  'type',
  [
    z.object({
      ...anyFeature,
      type: z.literal('toggle'),
      amount: Unused,
      usageMeterId: Unused,
      renewalFrequency: Unused,
      resourceId: Unused,
      ...noRollover,
    }),
    z
      .object({
        ...anyFeature,
        type: z.literal('usage_credit_grant'),
        amount: Amount,
        usageMeterId: UsageMeterId,
        renewalFrequency: RenewalFrequency,
        resourceId: Unused,
        rolloverMaximum: RolloverMaximum.default(null),
        rolloverPeriods: RolloverPeriods.default(null),
      })
      .superRefine(refineRollover),
    z.object({
      ...anyFeature,
      type: z.literal('resource'),
      amount: Amount,
      usageMeterId: Unused,
      renewalFrequency: Unused,
      resourceId: ResourceId,
      ...noRollover,
    }),
  ],
  { error: ({ code }) => (code === 'invalid_union' ? 'must be toggle, usage_credit_grant or resource' : undefined) },
);
export type FeatureInput = z.output<typeof FeatureInput>;

/** A change of a feature. Absent fields keep their value. */
export const FeatureChange = z.object({
  id: FeatureId.optional(),
  type: FeatureType.optional(),
  slug: SafeString.optional(),
  name: SafeString.optional(),
  description: FreeText.optional(),
  amount: Amount.nullish(),
  usageMeterId: UsageMeterId.nullish(),
  renewalFrequency: RenewalFrequency.nullish(),
  resourceId: ResourceId.nullish(),
  rolloverMaximum: RolloverMaximum.optional(),
  rolloverPeriods: RolloverPeriods.optional(),
  active: z.boolean().optional(),
});
export type FeatureChange = z.output<typeof FeatureChange>;

const typeFields = ['amount', 'usageMeterId', 'renewalFrequency', 'resourceId'] as const;
const rolloverFields = ['rolloverMaximum', 'rolloverPeriods'] as const;

/** The feature after a change. The type is fixed, and with it the fields that are null. */
export function decideFeatureChange(feature: Feature, change: FeatureChange): Feature {
  if (change.type !== undefined && change.type !== feature.type) {
    throw invalid(['feature', 'type'], `must be ${feature.type}: the type of a feature cannot change`);
  }
  for (const field of typeFields) {
    const sent = change[field];
    if (sent === undefined) continue;
    if (feature[field] === null && sent !== null) {
      throw invalid(['feature', field], `must be absent or null for a ${feature.type} feature`);
    }
    if (feature[field] !== null && sent === null) {
      throw invalid(['feature', field], `must not be null for a ${feature.type} feature`);
    }
  }
  for (const field of rolloverFields) {
    if (feature.type !== 'usage_credit_grant' && change[field] != null) {
      throw invalid(['feature', field], `must be absent or null for a ${feature.type} feature`);
    }
  }
  const {
    slug = feature.slug,
    name = feature.name,
    description = feature.description,
    active = feature.active,
  } = change;
  const texts = { slug, name, description, active };
  switch (feature.type) {
    case 'toggle':
      return { ...feature, ...texts };
    case 'usage_credit_grant':
      return { ...feature, ...texts, ...changedGrant(feature, change) };
    case 'resource':
      return {
        ...feature,
        ...texts,
        amount: change.amount ?? feature.amount,
        resourceId: change.resourceId ?? feature.resourceId,
      };
    default:
      return feature satisfies never;
  }
}

type CreditGrant = Extract<Feature, { type: 'usage_credit_grant' }>;

function changedGrant(grant: CreditGrant, change: FeatureChange) {
  const renewalFrequency = change.renewalFrequency ?? grant.renewalFrequency;
  const rollover = changedRollover(grant, change);
  const issue = rolloverIssue(rollover, renewalFrequency);
  if (issue) throw invalid(['feature', issue.field], issue.message);
  return {
    amount: change.amount ?? grant.amount,
    usageMeterId: change.usageMeterId ?? grant.usageMeterId,
    renewalFrequency,
    ...rollover,
  };
}

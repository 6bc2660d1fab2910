import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { amountInput, FreeText, SafeString, Unused, WholeNumber } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';
import { ResourceId } from './resource.ts';
import {
  changedRollover,
  noRolloverFields,
  RolloverMaximum,
  RolloverPeriods,
  refineRollover,
  rolloverFields,
  rolloverIssue,
} from './rollover.ts';
import { UsageMeterId } from './usage-meter.ts';

export const FeatureId = idSchema('feature');

export const FeatureType = z.enum(['toggle', 'usage_credit_grant', 'resource']).meta({ id: 'FeatureType' });
export type FeatureType = z.infer<typeof FeatureType>;
export const RenewalFrequency = z.enum(['once', 'every_billing_period']).meta({ id: 'RenewalFrequency' });

/** Fields shared by a feature and a customer's copy of it, by type; the types differ in which are null. */
export const toggleFields = {
  type: z.literal('toggle'),
  amount: z.null(),
  usageMeterId: z.null(),
  renewalFrequency: z.null(),
  resourceId: z.null(),
};
export const creditGrantFields = {
  type: z.literal('usage_credit_grant'),
  amount: WholeNumber,
  usageMeterId: z.string(),
  renewalFrequency: RenewalFrequency,
  resourceId: z.null(),
};
export const resourceFields = {
  type: z.literal('resource'),
  amount: WholeNumber,
  usageMeterId: z.null(),
  renewalFrequency: z.null(),
  resourceId: z.string(),
};

const shared = {
  id: FeatureId,
  ...stamps,
  livemode: z.boolean(),
  organizationId: z.string(),
  pricingModelId: z.string(),
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  active: z.boolean(),
};

/** A benefit of a product: a toggle, credits on a meter, or capacity of a resource. */
export const Feature = z
  .discriminatedUnion('type', [
    z.object({ ...shared, ...toggleFields, ...noRolloverFields }),
    z.object({ ...shared, ...creditGrantFields, ...rolloverFields }),
    z.object({ ...shared, ...resourceFields, ...noRolloverFields }),
  ])
  .meta({ id: 'Feature' });
export type Feature = z.infer<typeof Feature>;
/** A feature to insert. The type decides which fields are null, as in the record. */
export type NewFeature = NewRecord<Feature>;

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
const rolloverNames = ['rolloverMaximum', 'rolloverPeriods'] as const;

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
  for (const field of rolloverNames) {
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

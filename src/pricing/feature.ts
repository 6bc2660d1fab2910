import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { WholeNumber } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import type { NewRecord } from './new-record.ts';
import { noRolloverFields, rolloverFields } from './rollover.ts';

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

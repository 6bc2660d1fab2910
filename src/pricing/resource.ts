import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { freeText, SafeString } from '../kernel/json.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';

export const ResourceId = idSchema('resource');

/** A countable thing that subscriptions have capacity for, such as a seat. */
export const Resource = z
  .object({
    id: ResourceId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    slug: z.string(),
    name: z.string(),
    active: z.boolean(),
  })
  .meta({ id: 'Resource' });
export type Resource = z.infer<typeof Resource>;
export type NewResource = NewRecord<Resource>;

/** A request for a resource. */
export const ResourceInput = z.object({
  slug: SafeString,
  name: SafeString,
  active: z.boolean().default(true),
  pricingModelId: freeText('name').nullish(),
});
export type ResourceInput = z.output<typeof ResourceInput>;

/** A change of a resource. Absent fields keep their value. */
export const ResourceChange = z.object({
  id: ResourceId.optional(),
  slug: SafeString.optional(),
  name: SafeString.optional(),
  active: z.boolean().optional(),
});
export type ResourceChange = z.output<typeof ResourceChange>;

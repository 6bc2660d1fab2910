import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { stamps } from '../kernel/record.ts';
import type { NewRecord } from './new-record.ts';

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

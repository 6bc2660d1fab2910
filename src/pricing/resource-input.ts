import { z } from 'zod';
import { SafeString } from '../kernel/json.ts';
import { ResourceId } from './resource.ts';

/** A request for a resource. */
export const ResourceInput = z.object({
  slug: SafeString,
  name: SafeString,
  active: z.boolean().default(true),
  pricingModelId: z.string().nullish(),
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

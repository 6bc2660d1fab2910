import { z } from 'zod';
import { SafeString } from '../kernel/json.ts';
import { ResourceId } from './resource.ts';

/** A resource to make. */
export const ResourceInput = z.object({
  slug: SafeString,
  name: SafeString,
  active: z.boolean().default(true),
  pricingModelId: z.string().nullish(),
});
export type ResourceInput = z.output<typeof ResourceInput>;

/** What can change of a resource: what is left out stays. */
export const ResourceChange = z.object({
  id: ResourceId.optional(),
  slug: SafeString.optional(),
  name: SafeString.optional(),
  active: z.boolean().optional(),
});
export type ResourceChange = z.output<typeof ResourceChange>;

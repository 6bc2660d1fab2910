import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { stamps } from '../kernel/record.ts';
import type { NewRecord } from './new-record.ts';

export const UsageMeterId = idSchema('usageMeter');

export const AggregationType = z.enum(['sum', 'count_distinct_properties']).meta({
  id: 'UsageMeterAggregationType',
  description:
    'How the amounts of events become usage: added up, or once for each distinct set of properties in a period.',
});

/** What is counted. */
export const UsageMeter = z
  .object({
    id: UsageMeterId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    name: z.string(),
    slug: z.string(),
    aggregationType: AggregationType,
  })
  .meta({ id: 'UsageMeter' });
export type UsageMeter = z.infer<typeof UsageMeter>;
export type NewUsageMeter = NewRecord<UsageMeter>;

import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { amountInput, WholeNumber } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import type { NewRecord } from './new-record.ts';

export const UsageMeterId = idSchema('usageMeter');

export const AggregationType = z.enum(['sum', 'count_distinct_properties']).meta({
  id: 'UsageMeterAggregationType',
  description:
    '`sum` adds up the amounts of events. `count_distinct_properties` counts each distinct set of properties once in a period.',
});

const lowBalanceThreshold = {
  description: 'A balance that falls below this number of units causes the event `usage_balance.low`. Null: no event.',
};
/** The threshold in a request. */
export const LowBalanceThreshold = amountInput(1).nullable().meta(lowBalanceThreshold);

/** A quantity that is metered. */
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
    lowBalanceThreshold: WholeNumber.nullable().meta(lowBalanceThreshold),
  })
  .meta({ id: 'UsageMeter' });
export type UsageMeter = z.infer<typeof UsageMeter>;
export type NewUsageMeter = NewRecord<UsageMeter>;

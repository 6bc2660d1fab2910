import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { amountInput, countInput, freeText, SafeString, WholeNumber } from '../kernel/json.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';
import { maxUnitPrice, Pricing, refinePricing } from './pricing.ts';

/** The most usage meters of a pricing model. The tables have the same limit. */
export const maxUsageMeters = 200;

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

/** A request for a usage meter. */
export const UsageMeterInput = z.object({
  name: SafeString,
  slug: SafeString,
  aggregationType: AggregationType.default('sum'),
  lowBalanceThreshold: LowBalanceThreshold.default(null),
  pricingModelId: freeText('name').nullish(),
});
export type UsageMeterInput = z.output<typeof UsageMeterInput>;

/** The price of a new usage meter's usage; without any field only the no-charge price is created. */
export const FirstUsagePrice = z
  .object({
    type: z.literal('usage').optional(),
    unitPrice: amountInput(0, maxUnitPrice).optional(),
    usageEventsPerUnit: countInput(1).optional(),
    pricing: Pricing.nullish(),
  })
  .superRefine((price, context) => {
    if (price.pricing) refinePricing(price, context);
  });
export type FirstUsagePrice = z.output<typeof FirstUsagePrice>;

/** A change of a usage meter. Absent fields keep their value. */
export const UsageMeterChange = z.object({
  id: UsageMeterId.optional(),
  name: SafeString.optional(),
  slug: SafeString.optional(),
  aggregationType: AggregationType.optional(),
  lowBalanceThreshold: LowBalanceThreshold.optional(),
});
export type UsageMeterChange = z.output<typeof UsageMeterChange>;

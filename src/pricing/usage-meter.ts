import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { amountInput, countInput, freeText, SafeString, WholeNumber } from '../kernel/json.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';
import { textLimits } from '../kernel/text-limits.ts';
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

// More properties than a price list has columns, and more values than it has rows of one kind.
const maxConditions = 5;
const maxValues = 50;

/** The conditions under which a price rates an event. The values are a set, in order, so that equal conditions are equal. */
export const Where = z
  .record(
    freeText('name').min(1),
    z
      .array(freeText('name'))
      .min(1)
      .max(maxValues)
      .overwrite((values) => [...new Set(values)].sort()),
  )
  .refine((where) => Object.keys(where).length > 0, { message: 'must name a property, or be null' })
  .refine((where) => Object.keys(where).length <= maxConditions, {
    message: `must name at most ${maxConditions} properties`,
  })
  .refine((where) => JSON.stringify(where).length <= textLimits.properties, {
    message: `must have at most ${textLimits.properties} characters as JSON`,
  })
  .meta({
    id: 'Where',
    description:
      `The values that properties of an event may have: up to ${maxConditions} properties with up to ${maxValues} values each. ` +
      'A number or boolean of an event is compared as a text.',
    example: { model: ['gpt-5', 'gpt-5-mini'], region: ['eu'] },
  });
export type Where = z.infer<typeof Where>;

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

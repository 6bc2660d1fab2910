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

/** The conditions under which a price rates an event, or a meter counts it. The values are a set, in order, so that equal conditions are equal. */
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

const eventTexts = {
  eventName:
    'Events that name it, in place of a price or meter, count on every meter of the pricing model that they match.',
  where: 'The events with this name that count on the meter; null: all.',
  valueProperty: 'The property of such events with the units; null: their `amount`, by default 1.',
} as const;

/** The fields of a request that say which named events count on a meter. */
export const eventFields = {
  eventName: SafeString.nullable().default(null).meta({ description: eventTexts.eventName }),
  where: Where.nullable().default(null).meta({ description: eventTexts.where }),
  valueProperty: freeText('name').min(1).nullable().default(null).meta({ description: eventTexts.valueProperty }),
};

/** The named events that count on a meter. */
type EventTerms = Pick<UsageMeter, 'eventName' | 'where' | 'valueProperty'>;

/** The most meters of a pricing model that an event counts on. One request stores no more events than without them. */
export const maxMetersPerEvent = 10;

/** The field of a meter that needs an event name, and why; null: it has one, or needs none. */
export function eventIssue({ eventName, where, valueProperty }: EventTerms): { field: string; message: string } | null {
  if (eventName !== null || (where === null && valueProperty === null)) return null;
  const field = where === null ? 'valueProperty' : 'where';
  return { field, message: 'must be absent or null without eventName: events that name the meter always count on it' };
}

export function refineEvents(meter: EventTerms, context: z.RefinementCtx): void {
  const issue = eventIssue(meter);
  if (issue !== null) context.addIssue({ code: 'custom', path: [issue.field], message: issue.message });
}

/** The message where an event name belongs to as many other meters as an event may count on; null: to fewer. */
export function eventNameIssue(
  eventName: string | null,
  others: readonly Pick<UsageMeter, 'eventName'>[],
): string | null {
  if (eventName === null || others.filter((meter) => meter.eventName === eventName).length < maxMetersPerEvent)
    return null;
  return `must be another: ${maxMetersPerEvent} usage meters count events of this name, which is the most`;
}

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
    eventName: z.string().nullable().meta({ description: eventTexts.eventName }),
    where: Where.nullable().meta({ description: eventTexts.where }),
    valueProperty: z.string().nullable().meta({ description: eventTexts.valueProperty }),
  })
  .meta({ id: 'UsageMeter' });
export type UsageMeter = z.infer<typeof UsageMeter>;
export type NewUsageMeter = NewRecord<UsageMeter>;

/** A request for a usage meter. */
export const UsageMeterInput = z
  .object({
    name: SafeString,
    slug: SafeString,
    aggregationType: AggregationType.default('sum'),
    lowBalanceThreshold: LowBalanceThreshold.default(null),
    ...eventFields,
    pricingModelId: freeText('name').nullish(),
  })
  .superRefine(refineEvents);
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
  eventName: SafeString.nullish(),
  where: Where.nullish(),
  valueProperty: freeText('name').min(1).nullish(),
});
export type UsageMeterChange = z.output<typeof UsageMeterChange>;

import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { amountInput, countInput, freeText, SafeString, WholeNumber } from '../kernel/json.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';
import { textLimits } from '../kernel/text-limits.ts';
import { maxUnitPrice, Pricing, refinePricing } from './pricing.ts';

/** The most usage meters of a pricing model. The tables have the same limit. */
export const maxUsageMeters = 200;

export const UsageMeterId = idSchema('usageMeter');

export const AggregationType = z
  .enum(['sum', 'count', 'count_distinct_properties', 'max', 'latest', 'unit_hours'])
  .meta({
    id: 'UsageMeterAggregationType',
    description:
      '`sum` adds up the amounts of events. `count` counts events: the amount of each is 1. `count_distinct_properties` counts ' +
      'each distinct set of properties once in a period. `max` and `latest` take the largest amount of a period, and that of ' +
      'the latest usage date. `unit_hours` is a value that each event sets, times the hours for which it is held.',
  });

export const MeterProration = z.enum(['none', 'day', 'second']).meta({
  id: 'UsageMeterProration',
  description:
    'How the units of a recurring meter count. `none`: the value at the end of the period. `day`: the share of days at whose ' +
    'end they are held. `second`: the exact share of the time.',
});

const recurring = {
  description:
    'Whether the sum of amounts is kept over billing periods. Events add to it, and take away where their amount is negative.',
};

const lowBalanceThreshold = {
  description: 'A balance that falls below this number of units causes the event `usage_balance.low`. Null: no event.',
};
/** The threshold in a request. */
const LowBalanceThreshold = amountInput(1).nullable().meta(lowBalanceThreshold);

// More properties than a price list has columns, and more values than it has rows of one kind.
const maxConditions = 5;
const maxValues = 50;

/**
 * The conditions under which a price rates an event, or a meter counts it. The values are a set, in order, so that
 * equal conditions are equal.
 */
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
const eventFields = {
  eventName: SafeString.nullable().default(null).meta({ description: eventTexts.eventName }),
  where: Where.nullable().default(null).meta({ description: eventTexts.where }),
  valueProperty: freeText('name').min(1).nullable().default(null).meta({ description: eventTexts.valueProperty }),
};

/** The named events that count on a meter. */
type EventTerms = Pick<UsageMeter, 'eventName' | 'where' | 'valueProperty'>;

/** The most meters of a pricing model that an event counts on. One request stores no more events than without them. */
export const maxMetersPerEvent = 10;

/** The field of a meter that needs an event name, and why; none: it has one, or needs none. */
function eventIssues({
  eventName,
  where,
  valueProperty,
  aggregationType,
}: EventTerms & Pick<UsageMeter, 'aggregationType'>): MeterIssue[] {
  if (aggregationType === 'count' && valueProperty !== null)
    return [
      { field: 'valueProperty', message: 'must be absent or null: the usage meter counts events, each of them once' },
    ];
  if (eventName !== null || (where === null && valueProperty === null)) return [];
  const field = where === null ? 'valueProperty' : 'where';
  return [
    { field, message: 'must be absent or null without eventName: events that name the meter always count on it' },
  ];
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
    recurring: z.boolean().meta(recurring),
    proration: MeterProration,
    lowBalanceThreshold: WholeNumber.nullable().meta(lowBalanceThreshold),
    eventName: z.string().nullable().meta({ description: eventTexts.eventName }),
    where: Where.nullable().meta({ description: eventTexts.where }),
    valueProperty: z.string().nullable().meta({ description: eventTexts.valueProperty }),
  })
  .meta({ id: 'UsageMeter' });
export type UsageMeter = z.infer<typeof UsageMeter>;
export type NewUsageMeter = NewRecord<UsageMeter>;

type Terms = Pick<UsageMeter, 'aggregationType' | 'recurring' | 'proration' | 'lowBalanceThreshold'> & EventTerms;

/** Whether its units are measured from the events of a period when they are billed. The table decides the same. */
export function isMeasured({
  aggregationType,
  recurring: isRecurring,
}: Pick<UsageMeter, 'aggregationType' | 'recurring'>) {
  return isRecurring || aggregationType === 'max' || aggregationType === 'latest' || aggregationType === 'unit_hours';
}

/** Why a measured meter has neither credits nor a balance. */
export const noLimitOfMeasured =
  'must be of a usage meter that adds up: the units of a measured one are known when its period is billed';
export const noCreditsOfMeasured =
  'must be of a usage meter that counts units as they come: the units of this one are measured when its period is billed, so ' +
  'no credit can cover them (`freeUnits` of a pricing can)';

/** Why a measured meter cannot have a price: all units of a period have one, and no events are priced. Or null. */
export function issueOfMeasuredPrice({
  pricing,
  where,
}: {
  readonly pricing: Pricing | null;
  readonly where?: object | null | undefined;
}): { readonly path: string[]; readonly message: string } | null {
  if (where) return { path: ['where'], message: 'must be absent: all units of a measured period have one price' };
  if (pricing?.model === 'dynamic' || (pricing && 'fixedAmountPerEvent' in pricing && pricing.fixedAmountPerEvent))
    return {
      path: ['pricing', 'model'],
      message: 'must price units: the usage meter measures them, and counts no events',
    };
  return null;
}

/** A field of a usage meter that does not fit the others. */
interface MeterIssue {
  readonly field: keyof Terms;
  readonly message: string;
}

export function meterIssues(meter: Terms): MeterIssue[] {
  const issues: MeterIssue[] = [];
  if (meter.recurring && meter.aggregationType !== 'sum')
    issues.push({ field: 'recurring', message: 'must be false: only the type sum keeps its value over periods' });
  if (!meter.recurring && meter.proration !== 'none')
    issues.push({ field: 'proration', message: 'must be none: only the units of a recurring meter are prorated' });
  if (meter.lowBalanceThreshold !== null && isMeasured(meter))
    issues.push({
      field: 'lowBalanceThreshold',
      message: 'must be null: a meter whose units are measured has no balance',
    });
  return [...issues, ...eventIssues(meter)];
}

/** The issue of a change that would count other units than the events of present periods were recorded for, or null. */
export function changedKind(before: Terms, after: Terms): MeterIssue | null {
  for (const field of ['aggregationType', 'recurring', 'proration'] as const)
    if (before[field] !== after[field] && (isMeasured(before) || isMeasured(after)))
      return { field, message: `must stay ${before[field]}: make another usage meter, whose periods begin anew` };
  return null;
}

/** The fields of a request that say how a meter counts. */
export const meterFields = {
  aggregationType: AggregationType.default('sum'),
  recurring: z.boolean().default(false).meta(recurring),
  proration: MeterProration.default('none'),
  lowBalanceThreshold: LowBalanceThreshold.default(null),
  ...eventFields,
};

export function refineMeter(meter: Terms, context: z.RefinementCtx): void {
  for (const { field, message } of meterIssues(meter)) context.addIssue({ code: 'custom', path: [field], message });
}

/** A request for a usage meter. */
export const UsageMeterInput = z
  .object({ name: SafeString, slug: SafeString, ...meterFields, pricingModelId: freeText('name').nullish() })
  .superRefine(refineMeter);
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
  recurring: z.boolean().optional(),
  proration: MeterProration.optional(),
  lowBalanceThreshold: LowBalanceThreshold.optional(),
  eventName: SafeString.nullish(),
  where: Where.nullish(),
  valueProperty: freeText('name').min(1).nullish(),
});
export type UsageMeterChange = z.output<typeof UsageMeterChange>;

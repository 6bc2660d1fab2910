import { z } from 'zod';
import { type IntervalUnit as IntervalUnitName, intervalUnits } from '../kernel/calendar.ts';
import { CurrencyCode, chargedStep } from '../kernel/currency.ts';
import { idSchema } from '../kernel/id.ts';
import { countInput, Metadata, WholeNumber } from '../kernel/json.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';
import { textLimits } from '../kernel/text-limits.ts';
import { amountOf, Pricing } from './pricing.ts';
import { Where } from './usage-meter.ts';

export const PriceId = idSchema('price');

/** The maximum trial length of the API specification. */
export const maxTrialPeriodDays = 4_503_599_627_370_495;

/** The slug ending of each usage meter's no-charge price. */
export const noChargeSuffix = '_no_charge';

export const IntervalUnit = z.enum(intervalUnits).meta({ id: 'IntervalUnit' });
export const PriceType = z.enum(['subscription', 'single_payment', 'usage']).meta({ id: 'PriceType' });
export type PriceType = z.infer<typeof PriceType>;

export const UsageInterval = z.enum(['own', 'subscription']).meta({
  id: 'UsageInterval',
  description:
    'The interval by which usage at the price is billed. `own`: by the interval of the price, counted from the billing ' +
    'anchor of the subscription. `subscription`: by that of the subscription.',
});
export type UsageInterval = z.infer<typeof UsageInterval>;

/** The interval of a usage price in a request. One that names none is billed with the subscription. */
export const usageIntervalInput = {
  intervalUnit: IntervalUnit.nullish(),
  intervalCount: countInput(1).nullish(),
  usageInterval: UsageInterval.nullish().meta({
    description: 'By default `own` where the price names an interval, else `subscription`.',
  }),
};

/** The interval of a usage price. A price always shows one, as in the API that we are compatible with. */
export function usageIntervalOf({
  intervalUnit,
  intervalCount,
  usageInterval,
}: {
  readonly intervalUnit?: IntervalUnitName | null | undefined;
  readonly intervalCount?: number | null | undefined;
  readonly usageInterval?: UsageInterval | null | undefined;
}) {
  const isNamed = (intervalUnit ?? intervalCount ?? null) !== null;
  return {
    intervalUnit: intervalUnit ?? 'month',
    intervalCount: intervalCount ?? 1,
    usageInterval: usageInterval ?? (isNamed ? 'own' : 'subscription'),
  } as const;
}

export const Overage = z.enum(['bill', 'none']).meta({
  id: 'Overage',
  description:
    'The treatment of usage that no credit covers. `bill`: it is billed at the price of its usage meter. `none`: it is ' +
    'recorded and shown on the invoice, and costs nothing.',
});
export type Overage = z.infer<typeof Overage>;

export const BillingTiming = z.enum(['in_advance', 'in_arrears']).meta({
  id: 'BillingTiming',
  description:
    'When the price of a billing period is billed. `in_advance`: at its start. `in_arrears`: at its end, with its usage, ' +
    'each quantity for its share of the time.',
});
export type BillingTiming = z.infer<typeof BillingTiming>;

/** Customers are put on the default product without being asked for a way to pay, so they are billed nothing for usage. */
export function usualOverage(product: { readonly default: boolean }): Overage {
  return product.default ? 'none' : 'bill';
}

const shared = {
  id: PriceId,
  ...stamps,
  livemode: z.boolean(),
  pricingModelId: z.string(),
  name: z.string().nullable(),
  slug: z.string().nullable(),
  unitPrice: WholeNumber.meta({ description: 'The price of one; 0 where `pricing` says how units become money.' }),
  currency: CurrencyCode,
  isDefault: z.boolean(),
  active: z.boolean(),
  metadata: Metadata.nullable(),
};

const SubscriptionPrice = z.object({
  ...shared,
  type: z.literal('subscription'),
  productId: z.string(),
  usageMeterId: z.null(),
  usageEventsPerUnit: z.null(),
  intervalUnit: IntervalUnit,
  intervalCount: z.int(),
  trialPeriodDays: z.int().nullable(),
  overage: Overage,
  pricing: Pricing.nullable(),
  setupFeeAmount: WholeNumber.nullable().meta({
    description: 'Billed once, with the first invoice of a subscription, whatever its quantity.',
  }),
  minimumCommitment: WholeNumber.nullable().meta({
    description:
      'The least that a billing period costs, plan and usage together, before discounts and tax, whatever the quantity. ' +
      'What is missing at its end is billed then. A part of a period has its share by time.',
  }),
  billingTiming: BillingTiming,
  where: z.null(),
  usageInterval: z.null(),
});
const SinglePaymentPrice = z.object({
  ...shared,
  type: z.literal('single_payment'),
  productId: z.string(),
  usageMeterId: z.null(),
  usageEventsPerUnit: z.null(),
  intervalUnit: z.null(),
  intervalCount: z.null(),
  trialPeriodDays: z.null(),
  overage: z.null(),
  pricing: z.null(),
  setupFeeAmount: z.null(),
  minimumCommitment: z.null(),
  billingTiming: z.null(),
  where: z.null(),
  usageInterval: z.null(),
});
const UsagePrice = z.object({
  ...shared,
  type: z.literal('usage'),
  productId: z.null(),
  usageMeterId: z.string(),
  usageEventsPerUnit: z.int(),
  intervalUnit: IntervalUnit,
  intervalCount: z.int(),
  trialPeriodDays: z.null(),
  overage: z.null(),
  pricing: Pricing.nullable(),
  setupFeeAmount: z.null(),
  minimumCommitment: z.null(),
  billingTiming: z.null(),
  where: Where.nullable().meta({ description: 'The events that it rates; null: those that no other price rates.' }),
  usageInterval: UsageInterval,
});

/** The price of a unit: of a product (per interval or once), or of metered usage (per number of events). */
export const Price = z
  .discriminatedUnion('type', [SubscriptionPrice, SinglePaymentPrice, UsagePrice])
  .meta({ id: 'Price' });
export type Price = z.infer<typeof Price>;

/** The amount of a quantity at a price, for a whole billing period. */
export function amountAt(price: Price, quantity: number): bigint {
  return amountOf(price, quantity, chargedStep(price.currency));
}

/** The list amount of the first invoice of a quantity at a price: a whole billing period and the setup fee. */
export function firstAmountAt(price: Price, quantity: number): bigint {
  return amountAt(price, quantity) + (price.setupFeeAmount ?? 0n);
}

/** A price to insert. The type decides which fields are null, as in the record. */
export type NewPrice = NewRecord<Price>;

/**
 * The no-charge price of a usage meter: a price of 0, so that usage always has a price. It is the default unless
 * another price of the meter is, and becomes the default again when that one is unset or deactivated.
 */
export function noChargePrice(
  priceId: string,
  meter: { readonly id: string; readonly pricingModelId: string; readonly name: string; readonly slug: string },
  { isDefault, currency }: { readonly isDefault: boolean; readonly currency: CurrencyCode },
): NewPrice {
  return {
    id: priceId,
    pricingModelId: meter.pricingModelId,
    productId: null,
    usageMeterId: meter.id,
    type: 'usage',
    name: noChargeName(meter.name),
    slug: noChargeSlug(meter.slug),
    unitPrice: 0n,
    usageEventsPerUnit: 1,
    intervalUnit: 'month',
    intervalCount: 1,
    trialPeriodDays: null,
    overage: null,
    pricing: null,
    setupFeeAmount: null,
    minimumCommitment: null,
    billingTiming: null,
    where: null,
    usageInterval: 'subscription',
    currency,
    isDefault,
    active: true,
    metadata: null,
  };
}

const noChargeEnding = ' - No Charge';

/** The name of a usage meter's no-charge price. A long name is cut, but not within a character. */
function noChargeName(meterName: string): string {
  return meterName.slice(0, textLimits.name - noChargeEnding.length).replace(/[\ud800-\udbff]$/, '') + noChargeEnding;
}

/** The slug of a usage meter's no-charge price. */
export function noChargeSlug(meterSlug: string): string {
  return meterSlug + noChargeSuffix;
}

/** Whether a slug has the ending that is reserved for no-charge prices. */
export function isReservedPriceSlug(slug: string | null | undefined): boolean {
  return slug?.endsWith(noChargeSuffix) ?? false;
}

/** Whether a price is its meter's no-charge price: only that can have the reserved ending. */
export function isNoChargePrice(price: { readonly type: PriceType; readonly slug: string | null }): boolean {
  return price.type === 'usage' && isReservedPriceSlug(price.slug);
}

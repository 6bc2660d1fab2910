import { z } from 'zod';
import { intervalUnits } from '../kernel/calendar.ts';
import { CurrencyCode } from '../kernel/currency.ts';
import { idSchema } from '../kernel/id.ts';
import { WholeNumber } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import type { NewRecord } from './new-record.ts';

export const PriceId = idSchema('price');

/** The maximum unit price and trial length of the API specification. */
export const maxUnitPrice = 4_503_599_627_370_495;
export const maxTrialPeriodDays = 4_503_599_627_370_495;

/** The slug ending of each usage meter's no-charge price. */
export const noChargeSuffix = '_no_charge';

export const IntervalUnit = z.enum(intervalUnits).meta({ id: 'IntervalUnit' });
export const PriceType = z.enum(['subscription', 'single_payment', 'usage']).meta({ id: 'PriceType' });
export type PriceType = z.infer<typeof PriceType>;

const shared = {
  id: PriceId,
  ...stamps,
  livemode: z.boolean(),
  pricingModelId: z.string(),
  name: z.string().nullable(),
  slug: z.string().nullable(),
  unitPrice: WholeNumber,
  currency: CurrencyCode,
  isDefault: z.boolean(),
  active: z.boolean(),
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
});

/** The price of a unit: of a product (per interval or once), or of metered usage (per number of events). */
export const Price = z
  .discriminatedUnion('type', [SubscriptionPrice, SinglePaymentPrice, UsagePrice])
  .meta({ id: 'Price' });
export type Price = z.infer<typeof Price>;
/** A price to insert. The type decides which fields are null, as in the record. */
export type NewPrice = NewRecord<Price>;

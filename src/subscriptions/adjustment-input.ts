import { z } from 'zod';
import { amountInput, countInput, freeText, Metadata, TimestampInput } from '../kernel/json.ts';
import { maxUnitPrice, Pricing } from '../pricing/pricing.ts';
import { maxQuantity } from '../pricing/product.ts';
import { BillingAnchor } from './billing-period.ts';
import { ChangedPriceOverrides } from './price-override.ts';

// Each item is a line on every invoice, which must stay readable.
export const maxItems = 100;
const Reference = z.string().min(1).max(255);

export const AdjustmentTiming = z.enum(['immediately', 'at_end_of_current_billing_period', 'auto']).meta({
  id: 'AdjustmentTiming',
  description:
    'The time of the change. `auto`: a cheaper plan waits for the end of the period, a dearer one does not. At the end ' +
    'the renewal makes the change and bills the new price. An immediate change to another ' +
    'interval ends the period and begins a new one: its price is charged, less the unused paid value of the old one.',
});
export type AdjustmentTiming = z.infer<typeof AdjustmentTiming>;

/** The decided timing of a change. */
export const ResolvedTiming = AdjustmentTiming.exclude(['auto']).meta({ id: 'ResolvedAdjustmentTiming' });
export type ResolvedTiming = z.infer<typeof ResolvedTiming>;

/**
 * An item of the new set: a price and a quantity, the same with overrides, or an existing item by its id. Absent fields
 * of an existing item keep their value.
 */
export const AdjustedItem = z
  .object({
    id: Reference.optional().meta({
      description: 'An item of the subscription to keep or change. Without it, the item is new.',
    }),
    type: z.literal('static').optional(),
    subscriptionId: Reference.optional().meta({ description: 'Checked if given.' }),
    priceId: Reference.nullish(),
    priceSlug: Reference.nullish().meta({
      description: 'The slug or id of an active price, instead of `priceId`.',
    }),
    quantity: countInput(0, maxQuantity).optional().meta({ description: '1 by default.' }),
    unitPrice: amountInput(0, maxUnitPrice).optional().meta({
      description: 'By default that of the price. Above 0 it takes the place of a `pricing`.',
    }),
    pricing: Pricing.nullish().meta({
      description: 'The pricing of the price, or absent. Null: `unitPrice` takes its place.',
    }),
    // By default a name of the price with the quantity, which may be sent back.
    name: freeText('longName').trim().min(1).nullish(),
    externalId: Reference.nullish(),
    metadata: Metadata.nullish(),
    addedDate: TimestampInput.optional().meta({ description: 'Ignored: a new item begins with the change.' }),
    expiredAt: TimestampInput.nullish().meta({
      description:
        'An item that has expired by the time of the change is left out. A later instant is refused: schedule a ' +
        'change without the item.',
    }),
    manuallyCreated: z
      .boolean()
      .optional()
      .meta({ description: 'If true, the item is ignored. The item with features added by hand stays as it is.' }),
  })
  .refine(({ priceId, priceSlug }) => !priceId || !priceSlug, {
    path: ['priceSlug'],
    message: 'send either priceId or priceSlug, not both',
  })
  .meta({ id: 'AdjustedSubscriptionItem' });
export type AdjustedItem = z.output<typeof AdjustedItem>;

/** A request to change a subscription. */
export const NewAdjustment = z
  .object({
    timing: AdjustmentTiming,
    newSubscriptionItems: z
      .array(AdjustedItem)
      .min(1)
      .max(maxItems)
      .optional()
      .meta({
        description:
          'The complete new set of items. Items of the subscription that are missing here end. It may be absent beside ' +
          '`priceOverrides`: the items stay.',
      }),
    priceOverrides: ChangedPriceOverrides.optional(),
    prorateCurrentBillingPeriod: z
      .boolean()
      .optional()
      .meta({ description: 'If false, the rest of the current period costs nothing more. True by default.' }),
    billingAnchor: BillingAnchor.optional(),
    collectRefunded: z.boolean().optional().meta({
      description:
        'If true, an immediate change also charges what was refunded or voided for the current period. False by default.',
    }),
  })
  .refine(({ newSubscriptionItems, priceOverrides }) => newSubscriptionItems !== undefined || priceOverrides?.length, {
    path: ['newSubscriptionItems'],
    message: 'must be given, unless priceOverrides changes something',
  })
  .refine((requested) => !requested.collectRefunded || requested.prorateCurrentBillingPeriod !== false, {
    path: ['collectRefunded'],
    message: 'must be false when prorateCurrentBillingPeriod is false, because nothing is charged then',
  })
  .meta({ id: 'NewAdjustment' });
export type NewAdjustment = z.output<typeof NewAdjustment>;

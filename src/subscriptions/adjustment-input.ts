import { z } from 'zod';
import { amountInput, countInput, Metadata, SafeString, TimestampInput } from '../kernel/json.ts';
import { maxUnitPrice } from '../pricing/price.ts';
import { maxQuantity } from './subscription-start.ts';

// Each item is a line on every invoice, which must stay readable.
const maxItems = 100;
const Reference = z.string().min(1).max(255);

export const AdjustmentTiming = z
  .enum(['immediately', 'at_end_of_current_billing_period', 'auto'])
  .meta({ id: 'AdjustmentTiming', description: 'When the change is to be made; auto: a cheaper plan waits.' });
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
      description: 'An item of the subscription, to keep or to change; absent: a new one.',
    }),
    type: z.literal('static').optional(),
    subscriptionId: Reference.optional().meta({ description: 'Checked when given.' }),
    priceId: Reference.nullish(),
    priceSlug: Reference.nullish().meta({
      description: 'The slug (or the id) of an active price, in place of priceId.',
    }),
    quantity: countInput(0, maxQuantity).optional().meta({ description: '1 when absent.' }),
    unitPrice: amountInput(0, maxUnitPrice).optional().meta({ description: "The price's when absent." }),
    name: SafeString.nullish(),
    externalId: Reference.nullish(),
    metadata: Metadata.nullish(),
    addedDate: TimestampInput.optional().meta({ description: 'Not looked at: a new item begins with the change.' }),
    expiredAt: z.null().optional().meta({ description: 'An item ends when a change leaves it out.' }),
    manuallyCreated: z
      .boolean()
      .optional()
      .meta({ description: 'True: not looked at. What holds features added by hand stays as it is.' }),
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
      .meta({ description: 'The complete new set: what the subscription has and is not named here ends.' }),
    prorateCurrentBillingPeriod: z
      .boolean()
      .optional()
      .meta({ description: 'False: the rest of the current period costs nothing more. True when absent.' }),
  })
  .meta({ id: 'NewAdjustment' });
export type NewAdjustment = z.output<typeof NewAdjustment>;

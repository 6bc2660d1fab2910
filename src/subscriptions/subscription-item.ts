import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { Metadata, Timestamp, WholeNumber } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import { Pricing } from '../pricing/pricing.ts';

const SubscriptionItemId = idSchema('subscriptionItem');

const itemFields = {
  id: SubscriptionItemId,
  ...stamps,
  livemode: z.boolean(),
  pricingModelId: z.string(),
  subscriptionId: z.string(),
  type: z.literal('static'),
  name: z.string().nullable(),
  priceId: z.string().nullable(),
  unitPrice: WholeNumber.meta({ description: 'The price of one; 0 where there is a `pricing`.' }),
  pricing: Pricing.nullable().meta({ description: 'How the quantity becomes money, in place of `unitPrice`.' }),
  quantity: z.int(),
  addedDate: Timestamp,
  expiredAt: Timestamp.nullable(),
  externalId: z.string().nullable(),
  metadata: Metadata.nullable(),
  manuallyCreated: z
    .boolean()
    .meta({ description: 'True for the item with features that were added by hand, which costs nothing.' }),
};

/** A quantity of a price within a subscription. */
export const SubscriptionItem = z.object(itemFields).meta({ id: 'SubscriptionItem' });
export type SubscriptionItem = z.infer<typeof SubscriptionItem>;

/** An item without the fields of its environment. */
export type SubscriptionItemRow = Omit<SubscriptionItem, 'livemode'>;

/** The default name of an item: its price's name, with the quantity if more than one. */
export function itemName(priceName: string, quantity: number): string {
  return quantity > 1 ? `${priceName} x ${quantity}` : priceName;
}

import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { Metadata, Timestamp, WholeNumber } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';

export const SubscriptionItemId = idSchema('subscriptionItem');

const itemFields = {
  id: SubscriptionItemId,
  ...stamps,
  livemode: z.boolean(),
  pricingModelId: z.string(),
  subscriptionId: z.string(),
  type: z.literal('static'),
  name: z.string().nullable(),
  priceId: z.string().nullable(),
  unitPrice: WholeNumber,
  quantity: z.int(),
  addedDate: Timestamp,
  expiredAt: Timestamp.nullable(),
  externalId: z.string().nullable(),
  metadata: Metadata.nullable(),
  manuallyCreated: z
    .boolean()
    .meta({ description: 'True for the item with features that were added by hand, which costs nothing.' }),
};

/** So many units of a price that a subscription has. */
export const SubscriptionItem = z.object(itemFields).meta({ id: 'SubscriptionItem' });
export type SubscriptionItem = z.infer<typeof SubscriptionItem>;

/** An item without what the environment knows. */
export type SubscriptionItemRow = Omit<SubscriptionItem, 'livemode'>;

/** What an item is called: its price's name, with the quantity when it is more than one. */
export function itemName(priceName: string, quantity: number): string {
  return quantity > 1 ? `${priceName} x ${quantity}` : priceName;
}

/** Whether the item counts at the instant: it was added by then and has not expired. */
export function isActiveItem(item: Pick<SubscriptionItemRow, 'addedDate' | 'expiredAt'>, at: Instant): boolean {
  return item.addedDate <= at && (item.expiredAt === null || item.expiredAt > at);
}

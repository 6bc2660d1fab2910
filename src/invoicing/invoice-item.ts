import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { Timestamp, WholeNumber } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import type { LineExplanation, NewLine } from './invoice-line-item.ts';
import { priceLine } from './invoice-line-item.ts';
import { WrittenLine } from './one-off.ts';

export const InvoiceItemId = idSchema('invoiceItem');
const Reference = z.string().min(1).max(255);

export const InvoiceItemStatus = z.enum(['pending', 'invoiced']).meta({
  id: 'InvoiceItemStatus',
  description: '`pending`: it waits for the next invoice. `invoiced`: it is a line of `invoiceId`.',
});

/** A line that waits for the next invoice of a period, or that is on one. */
export const InvoiceItem = z
  .object({
    id: InvoiceItemId,
    ...stamps,
    livemode: z.boolean(),
    pricingModelId: z.string(),
    customerId: z.string(),
    subscriptionId: z.string().nullable().meta({
      description: 'The subscription for whose next invoice it waits. Null: any of its customer.',
    }),
    status: InvoiceItemStatus,
    invoiceId: z.string().nullable(),
    priceId: z.string().nullable(),
    description: z.string().nullable(),
    quantity: z.int(),
    price: WholeNumber.meta({ description: 'The price of one.' }),
    amount: WholeNumber.meta({ description: 'The product of price and quantity.' }),
    taxable: z.boolean(),
    servicePeriod: z.object({ start: Timestamp, end: Timestamp }).nullable(),
  })
  .meta({ id: 'InvoiceItem' });
export type InvoiceItem = z.infer<typeof InvoiceItem>;

/** A request for an invoice item: a line with its customer or subscription. */
export const NewInvoiceItem = WrittenLine.safeExtend({
  customerId: Reference.optional(),
  customerExternalId: Reference.optional(),
  subscriptionId: Reference.optional().meta({
    description: 'The subscription whose next invoice takes it. By default the next invoice of any of the customer.',
  }),
})
  .refine(
    (given) =>
      [given.customerId, given.customerExternalId, given.subscriptionId].filter((each) => each !== undefined).length ===
      1,
    {
      path: ['customerId'],
      message: 'send exactly one of customerId, customerExternalId and subscriptionId',
    },
  )
  .meta({ id: 'NewInvoiceItem' });
export type NewInvoiceItem = z.output<typeof NewInvoiceItem>;

/** The line of an invoice item after a change: all of it. */
export const InvoiceItemChange = WrittenLine.safeExtend({ id: Reference.optional() }).meta({ id: 'InvoiceItemChange' });
export type InvoiceItemChange = z.output<typeof InvoiceItemChange>;

/** An invoice item as it is stored. Money in minor units. */
export interface InvoiceItemRow {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly subscriptionId: string | null;
  readonly invoiceId: string | null;
  readonly priceId: string | null;
  readonly description: string | null;
  readonly quantity: number;
  readonly price: bigint;
  readonly taxable: boolean;
  readonly serviceStartAt: Instant | null;
  readonly serviceEndAt: Instant | null;
  readonly explanation: LineExplanation;
}

/** The fields of an item that its line decides. */
export function fieldsOf(
  line: NewLine,
): Pick<
  InvoiceItemRow,
  'priceId' | 'description' | 'quantity' | 'price' | 'taxable' | 'serviceStartAt' | 'serviceEndAt' | 'explanation'
> {
  const { priceId, description, quantity, price, taxable, serviceStartAt, serviceEndAt, explanation } = priceLine(line);
  return { priceId, description, quantity, price, taxable, serviceStartAt, serviceEndAt, explanation };
}

/** The line of an invoice that an item becomes. */
export function lineOfItem({ id, serviceStartAt: start, serviceEndAt: end, ...item }: InvoiceItemRow): NewLine {
  const { priceId, description, quantity, price, taxable, explanation } = item;
  const known = { priceId, description, quantity, price, taxable, subscriptionItemId: null };
  return {
    type: 'static',
    ...known,
    service: start === null || end === null ? null : { start, end },
    explanation: { ...explanation, invoiceItemId: id } as LineExplanation,
  };
}

/** An item that waits. */
export interface PendingItem extends InvoiceItemRow {
  /** Its subscription has ended: any invoice of the customer takes it. */
  readonly hasEnded: boolean;
}

/** A bill that may take items. */
export interface TakingBill {
  readonly customerId: string;
  readonly subscriptionId: string;
  /** Whether it takes the items of its customer as well. */
  readonly takesAll: boolean;
}

// Items and tax on top of everything else stay within what one payment can carry.
const mostTaken = 1_000_000_000_000_000n;

/**
 * The items that each bill takes, in order: those of its subscription, and where it may those of its customer. An item
 * goes onto one bill. A bill leaves to the next what it cannot carry. Worked example: of two bills of a customer, the first
 * takes the item that names no subscription.
 */
export function itemsOfBills(bills: readonly TakingBill[], pending: readonly PendingItem[]): PendingItem[][] {
  const ofCustomers = Map.groupBy(pending, ({ customerId }) => customerId);
  const taken = new Set<string>();
  return bills.map(({ customerId, subscriptionId, takesAll }) => {
    let sum = 0n;
    return (ofCustomers.get(customerId) ?? []).filter((item) => {
      const isOwn =
        item.subscriptionId === subscriptionId || (takesAll && (item.subscriptionId === null || item.hasEnded));
      const amount = item.price * BigInt(item.quantity);
      if (!isOwn || taken.has(item.id) || sum + amount > mostTaken) return false;
      sum += amount;
      taken.add(item.id);
      return true;
    });
  });
}

import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { WholeNumber } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';

export const InvoiceLineItemId = idSchema('invoiceLineItem');

const everyLine = {
  id: InvoiceLineItemId,
  ...stamps,
  livemode: z.boolean(),
  pricingModelId: z.string(),
  invoiceId: z.string(),
  priceId: z.string().nullable(),
  description: z.string().nullable(),
  quantity: z.int(),
  price: WholeNumber.meta({ description: 'What one costs.' }),
  amount: WholeNumber.meta({ description: 'price x quantity' }),
};

const StaticLine = z.object({
  ...everyLine,
  type: z.literal('static'),
  ledgerAccountId: z.null(),
  ledgerAccountCredit: z.null(),
});
const UsageLine = z.object({
  ...everyLine,
  type: z.literal('usage'),
  ledgerAccountId: z.string().meta({ description: 'The account of the subscription and the meter.' }),
  ledgerAccountCredit: WholeNumber.meta({ description: 'The units that the line bills.' }),
  billingRunId: z.string().meta({ description: 'What billed the units: the id of the invoice.' }),
});

/** A line of an invoice: so many of an item, or used units of a meter as one sum. */
export const InvoiceLineItem = z.discriminatedUnion('type', [StaticLine, UsageLine]).meta({ id: 'InvoiceLineItem' });
export type InvoiceLineItem = z.infer<typeof InvoiceLineItem>;

/** A line of an invoice to be made. Money in minor units. */
export type NewLine =
  | {
      readonly type: 'static';
      readonly quantity: number;
      readonly price: bigint;
      readonly priceId: string | null;
      readonly subscriptionItemId: string | null;
      readonly description: string | null;
    }
  | {
      readonly type: 'usage';
      /** What is billed, in units of the meter; `amount` is what they cost together. */
      readonly units: bigint;
      readonly amount: bigint;
      readonly priceId: string;
      readonly ledgerAccountId: string;
      readonly description: string | null;
    };

/** A line as it is kept, without what every line of its invoice shares. */
export interface PricedLine {
  readonly type: 'static' | 'usage';
  readonly quantity: number;
  readonly price: bigint;
  readonly amount: bigint;
  readonly priceId: string | null;
  readonly subscriptionItemId: string | null;
  readonly description: string | null;
  readonly ledgerAccountId: string | null;
  readonly ledgerAccountCredit: bigint | null;
}

/**
 * A line with its amount, price x quantity. The units of a usage line are priced together and rounded once, so such a
 * line is one of the rounded sum; the units stand beside it.
 */
export function priceLine(line: NewLine): PricedLine {
  if (line.type === 'static') {
    const { type, quantity, price, priceId, subscriptionItemId, description } = line;
    const amount = price * BigInt(quantity);
    const noUsage = { ledgerAccountId: null, ledgerAccountCredit: null };
    return { type, quantity, price, amount, priceId, subscriptionItemId, description, ...noUsage };
  }
  const { type, units, amount, priceId, ledgerAccountId, description } = line;
  return {
    type,
    quantity: 1,
    price: amount,
    amount,
    priceId,
    subscriptionItemId: null,
    description,
    ledgerAccountId,
    ledgerAccountCredit: units,
  };
}

/** The text of a usage line: `Usage: API calls, 250 units at 50 per 100`. The price is in minor units. */
export function describeUsage(usage: {
  readonly meterName: string;
  readonly units: bigint;
  readonly unitPrice: bigint;
  readonly usageEventsPerUnit: number;
}): string {
  return `Usage: ${usage.meterName}, ${usage.units} units at ${usage.unitPrice} per ${usage.usageEventsPerUnit}`;
}

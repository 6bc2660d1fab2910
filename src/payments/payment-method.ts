import { z } from 'zod';
import { BillingAddress } from '../customers/customer.ts';
import { boundary, type Instant, instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { Metadata, MetadataInput } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';

export const PaymentMethodId = idSchema('paymentMethod');

export const PaymentMethodType = z
  .enum(['card', 'link', 'us_bank_account', 'sepa_debit', 'bacs_debit'])
  .meta({ id: 'PaymentMethodType' });
export type PaymentMethodType = z.infer<typeof PaymentMethodType>;

/** The kinds of debits of a bank account. They take days, and need a mandate of the holder. */
export type BankDebit = Extract<PaymentMethodType, 'us_bank_account' | 'sepa_debit' | 'bacs_debit'>;

/** Data by which a customer recognizes a payment method: for a card its brand, last four digits and expiry. */
export const PaymentMethodData = z.record(z.string(), z.union([z.string(), z.number()]));
export type PaymentMethodData = z.infer<typeof PaymentMethodData>;

/** A customer's means of payment. Card numbers never reach this service: the processor's token represents them. */
export const PaymentMethod = z
  .object({
    id: PaymentMethodId,
    ...stamps,
    livemode: z.boolean(),
    customerId: z.string(),
    pricingModelId: z.string(),
    billingDetails: BillingAddress,
    type: PaymentMethodType,
    default: z
      .boolean()
      .meta({ description: 'True for the payment method that is charged unless a subscription names another.' }),
    paymentMethodData: PaymentMethodData,
    metadata: Metadata.nullable(),
  })
  .meta({ id: 'PaymentMethod' });
export type PaymentMethod = z.infer<typeof PaymentMethod>;

/** A request to attach a payment method. */
export const NewPaymentMethod = z.object({
  customerId: z.string().min(1).max(255).optional(),
  customerExternalId: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .meta({ description: 'Your own id of the customer, instead of `customerId`.' }),
  type: PaymentMethodType.optional().meta({ description: 'The type of the payment method, checked if given.' }),
  token: z
    .string()
    .min(1)
    .max(255)
    .meta({ description: 'The id of the payment method at the processor, such as `pm_card_visa`.' }),
  default: z.boolean().optional().meta({
    description: 'If true, the payment method becomes the default of the customer. The first one always does.',
  }),
  automaticallyUpdateSubscriptions: z.boolean().optional().meta({
    description: 'If true, all subscriptions of the customer are charged on this payment method from now on.',
  }),
  billingDetails: BillingAddress.optional().meta({ description: 'By default the billing address of the customer.' }),
  metadata: Metadata.nullish(),
});
export type NewPaymentMethod = z.infer<typeof NewPaymentMethod>;

/** How a customer on a page of ours has agreed to the mandate of a bank debit. */
export interface MandateAcceptance {
  readonly ipAddress: string;
  readonly userAgent: string;
}

/** A request to attach a payment method, perhaps of a customer on a page of ours. */
export interface AttachedOnPage extends NewPaymentMethod {
  readonly acceptance?: MandateAcceptance;
  /** Whether the token came from a browser. */
  readonly isOnPage?: boolean;
}

/** A change of a payment method. Absent fields keep their value. Its number and expiry are the processor's. */
export const PaymentMethodChange = z.object({
  id: z.string().max(255).optional(),
  default: z.boolean().optional().meta({
    description: 'If true, it becomes the default of the customer. The default cannot be given up, only to another.',
  }),
  automaticallyUpdateSubscriptions: z.boolean().optional().meta({
    description: 'If true, all subscriptions of the customer are charged on this payment method from now on.',
  }),
  billingDetails: BillingAddress.optional(),
  metadata: MetadataInput,
});
export type PaymentMethodChange = z.infer<typeof PaymentMethodChange>;

/** The payer's details from the customer's record and the payment method. */
export function billingDetailsOf(
  customer: { readonly name: string; readonly email: string; readonly billingAddress: BillingAddress | null },
  country: string,
): BillingAddress {
  return {
    name: customer.billingAddress?.name ?? customer.name,
    email: customer.billingAddress?.email ?? customer.email,
    address: customer.billingAddress?.address ?? { country },
  };
}

/**
 * The instant at which the expiry of a card is announced: the beginning of the month at whose end it expires, in UTC. Null
 * for a card that has expired at `now`, and for whatever has no expiry. Worked example: for 12/2030 it is 1 December 2030.
 */
export function expiryNoticeAt({ expMonth, expYear }: PaymentMethodData, now: Instant): Instant | null {
  const month = Number(expMonth);
  const year = Number(expYear);
  if (!Number.isInteger(month) || month < 1 || month > 12 || !Number.isInteger(year) || year < 2000 || year > 9000)
    return null;
  const begin = instant(`${year}-${String(month).padStart(2, '0')}-01`);
  return boundary(begin, { unit: 'month', count: 1 }, 1) <= now ? null : begin;
}

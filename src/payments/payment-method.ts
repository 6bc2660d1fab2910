import { z } from 'zod';
import { BillingAddress } from '../customers/customer.ts';
import { idSchema } from '../kernel/id.ts';
import { Metadata } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';

export const PaymentMethodId = idSchema('paymentMethod');

export const PaymentMethodType = z
  .enum(['card', 'link', 'us_bank_account', 'sepa_debit'])
  .meta({ id: 'PaymentMethodType' });
export type PaymentMethodType = z.infer<typeof PaymentMethodType>;

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
    default: z.boolean().meta({ description: 'True for the one that is charged where nothing else is said.' }),
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
    .meta({ description: "The caller's own id of the customer, in place of customerId." }),
  type: PaymentMethodType.optional().meta({ description: 'What the token stands for; checked when given.' }),
  token: z.string().min(1).max(255).meta({ description: 'What the processor calls it, such as pm_card_visa.' }),
  default: z
    .boolean()
    .optional()
    .meta({ description: "Whether it becomes the customer's default; the first one always does." }),
  automaticallyUpdateSubscriptions: z.boolean().optional().meta({
    description: "Whether the customer's subscriptions are charged on it from now on, whatever they were charged on.",
  }),
  billingDetails: BillingAddress.optional().meta({ description: "The customer's own when absent." }),
  metadata: Metadata.nullish(),
});
export type NewPaymentMethod = z.infer<typeof NewPaymentMethod>;

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

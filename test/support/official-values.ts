import { z } from 'zod';

// Of what the records are made that the official clients read (see official-records.ts).

export const text = z.string();
export const textOrNull = text.nullable();
/** Epoch milliseconds. */
export const instant = z.int();
export const instantOrNull = instant.nullable();
export const count = z.int().min(0);
export const positive = z.int().min(1);
export const signedOrNull = z.int().min(-1).max(2_147_483_647).nullable();
export const url = z.url();
export const slug = text.min(1).max(255);
export const currency = text.regex(/^[A-Z]{3}$/);
export const interval = z.enum(['day', 'week', 'month', 'year']);
export const metadata = z.record(text, z.union([text, z.number(), z.boolean()])).nullable();
export const paymentMethodType = z.enum(['card', 'link', 'us_bank_account', 'sepa_debit']);
export const nothing = z.null();

export const common = { id: text.min(1), createdAt: instant, updatedAt: instant, livemode: z.boolean() };
export const inModel = { ...common, pricingModelId: text };

export const BillingAddress = z.object({
  name: textOrNull.optional(),
  firstName: textOrNull.optional(),
  lastName: textOrNull.optional(),
  phone: textOrNull.optional(),
  email: z.email().nullable().optional(),
  address: z.object({
    country: text,
    name: textOrNull.optional(),
    line1: textOrNull.optional(),
    line2: textOrNull.optional(),
    city: textOrNull.optional(),
    state: textOrNull.optional(),
    postal_code: textOrNull.optional(),
  }),
});

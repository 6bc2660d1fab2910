import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { amountInput, countInput, freeText, SafeString, Unused, WholeNumber } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';

export const DiscountId = idSchema('discount');

const DiscountAmountType = z.enum(['percent', 'fixed']).meta({ id: 'DiscountAmountType' });

const fields = {
  id: DiscountId,
  ...stamps,
  livemode: z.boolean(),
  organizationId: z.string(),
  pricingModelId: z.string(),
  name: z.string(),
  code: z.string().meta({ description: 'The code in upper case, unique in the pricing model.' }),
  amount: WholeNumber.meta({
    description: 'A whole percentage, or money in the smallest unit. Above 100 percent, the whole amount is taken off.',
  }),
  amountType: DiscountAmountType,
  active: z
    .boolean()
    .meta({ description: 'True if customers can redeem the discount. Discounts redeemed before continue to apply.' }),
};
const once = { duration: z.literal('once'), numberOfPayments: z.null() };
const forever = { duration: z.literal('forever'), numberOfPayments: z.null() };
const numberOfPayments = { duration: z.literal('number_of_payments'), numberOfPayments: z.int() };

/** A reduction of the invoices of the subscription, or of the single-payment purchase, that redeems its code. */
export const Discount = z
  .discriminatedUnion('duration', [
    z.object({ ...fields, ...once }),
    z.object({ ...fields, ...forever }),
    z.object({ ...fields, ...numberOfPayments }),
  ])
  .meta({ id: 'Discount' });
export type Discount = z.infer<typeof Discount>;

const redeemed = {
  redemptionCount: z
    .int()
    .meta({ description: 'The number of subscriptions and single purchases that have redeemed the discount.' }),
};

/** A discount with the number of its redemptions. */
export const RedeemedDiscount = z
  .discriminatedUnion('duration', [
    z.object({ ...fields, ...once, ...redeemed }),
    z.object({ ...fields, ...forever, ...redeemed }),
    z.object({ ...fields, ...numberOfPayments, ...redeemed }),
  ])
  .meta({ id: 'RedeemedDiscount' });
export type RedeemedDiscount = z.infer<typeof RedeemedDiscount>;

/** A stored discount, without the fields of its environment. */
export type DiscountRow = Omit<z.infer<(typeof Discount.options)[number]>, 'livemode' | 'organizationId'>;

const minCodeLength = 3;
const maxCodeLength = 20;

/** The stored and compared form of a code: ` Spring ` and `SPRING` are the same. */
export function normalizeCode(text: string): string {
  return text.trim().toUpperCase();
}

const Code = z
  .string()
  .max(255)
  .transform(normalizeCode)
  .refine((code) => [...code].length >= minCodeLength && [...code].length <= maxCodeLength, {
    message: `must have ${minCodeLength} to ${maxCodeLength} characters`,
  })
  .meta({ description: `The code, with ${minCodeLength} to ${maxCodeLength} characters. It is stored in upper case.` });

const requested = {
  name: SafeString,
  code: Code.optional().meta({
    description:
      `The code, with ${minCodeLength} to ${maxCodeLength} characters, stored in upper case. Absent: one is generated ` +
      'that nobody can guess.',
  }),
  amount: amountInput(1).meta({ description: 'A whole percentage, or money in the smallest unit.' }),
  amountType: DiscountAmountType,
  active: z.boolean().default(true),
  pricingModelId: freeText('name').nullish(),
};
const Payments = countInput(1).meta({ description: 'The number of paid invoices that the discount applies to.' });

/** A request for a discount. `numberOfPayments` must be absent or null unless the duration is number_of_payments. */
export const DiscountInput = z.discriminatedUnion(
  'duration',
  [
    z.object({ ...requested, duration: z.literal('once'), numberOfPayments: Unused }),
    z.object({ ...requested, duration: z.literal('forever'), numberOfPayments: Unused }),
    z.object({ ...requested, duration: z.literal('number_of_payments'), numberOfPayments: Payments }),
  ],
  { error: ({ code }) => (code === 'invalid_union' ? 'must be once, forever or number_of_payments' : undefined) },
);
export type DiscountInput = z.output<typeof DiscountInput>;

/** A change of a discount. Absent fields keep their value. */
export const DiscountChange = z.object({
  id: DiscountId.optional(),
  name: SafeString.optional(),
  code: Code.optional(),
  amount: amountInput(1).optional(),
  amountType: DiscountAmountType.optional(),
  active: z.boolean().optional(),
  duration: z.enum(['once', 'forever', 'number_of_payments']).optional(),
  numberOfPayments: Payments.nullish(),
});
export type DiscountChange = z.output<typeof DiscountChange>;

/** The discount after a change. Refuses with `invalidRequest` a number of payments that does not fit the duration. */
export function decideDiscountChange(discount: DiscountRow, change: DiscountChange): DiscountRow {
  const duration = change.duration ?? discount.duration;
  const changed = {
    ...discount,
    name: change.name ?? discount.name,
    code: change.code ?? discount.code,
    amount: change.amount ?? discount.amount,
    amountType: change.amountType ?? discount.amountType,
    active: change.active ?? discount.active,
  };
  const path = ['discount', 'numberOfPayments'];
  if (duration !== 'number_of_payments') {
    if (change.numberOfPayments) throw invalid(path, `must be absent or null when the duration is ${duration}`);
    return { ...changed, duration, numberOfPayments: null };
  }
  const payments = change.numberOfPayments === undefined ? discount.numberOfPayments : change.numberOfPayments;
  if (payments === null) throw invalid(path, 'is required when the duration is number_of_payments');
  return { ...changed, duration, numberOfPayments: payments };
}

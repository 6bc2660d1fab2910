import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import {
  amountInput,
  countInput,
  freeText,
  SafeString,
  Timestamp,
  TimestampInput,
  Unused,
  WholeNumber,
} from '../kernel/json.ts';
import { moneyText } from '../kernel/money-text.ts';
import { invalid } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import { firstAmountAt, type Price } from './price.ts';

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
  expiresAt: Timestamp.optional().meta({
    description: 'The instant from which nobody can redeem the discount. Absent: it does not expire.',
  }),
  maximumRedemptions: z
    .int()
    .optional()
    .meta({ description: 'The number of redemptions in all that there may be. Absent: any number.' }),
  maximumRedemptionsPerCustomer: z.int().optional().meta({
    description: 'The number of times that one customer may redeem it. Absent: once, or as the settings allow.',
  }),
  productIds: z.array(z.string()).optional().meta({
    description: 'The products whose lines it lowers, and one of which an order must have. Absent: all lines.',
  }),
  minimumAmount: WholeNumber.optional().meta({
    description: 'The least that an order must come to before discounts and tax. Absent: there is none.',
  }),
  firstPurchaseOnly: z
    .literal(true)
    .optional()
    .meta({ description: 'True: only customers that have never had an invoice to pay can redeem it.' }),
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

/** The discount with the redemptions that others of its copies count too. */
export function addRedemptions(discount: RedeemedDiscount, others: readonly RedeemedDiscount[]): RedeemedDiscount {
  const copies = [discount, ...others.filter(({ id }) => id === discount.id)];
  return { ...discount, redemptionCount: copies.reduce((sum, { redemptionCount }) => sum + redemptionCount, 0) };
}

export const SubscriptionDiscountId = idSchema('discountRedemption');

/** A discount as a subscription has it: a copy of its terms when it was put on. */
export const SubscriptionDiscount = z
  .object({
    id: SubscriptionDiscountId,
    ...stamps,
    livemode: z.boolean(),
    pricingModelId: z.string(),
    subscriptionId: z.string(),
    customerId: z.string(),
    discountId: z.string(),
    name: z.string(),
    code: z.string(),
    amount: WholeNumber.meta({ description: 'A whole percentage, or money in the smallest unit.' }),
    amountType: DiscountAmountType,
    duration: z.enum(['once', 'forever', 'number_of_payments']),
    numberOfPayments: z.int().nullable(),
    productIds: z
      .array(z.string())
      .optional()
      .meta({ description: 'The products whose lines it lowers. Absent: all lines.' }),
    position: z.int().meta({
      description: 'Its place: each discount is computed on what those with a lower position leave.',
    }),
    paymentsMade: z.int().meta({ description: 'The number of paid billing periods that it has lowered.' }),
    fullyRedeemed: z.boolean().meta({ description: 'True if it lowers no further invoice, by its duration.' }),
    removedAt: Timestamp.optional().meta({ description: 'Since when the subscription does not have it any more.' }),
  })
  .meta({ id: 'SubscriptionDiscount' });
export type SubscriptionDiscount = z.infer<typeof SubscriptionDiscount>;

/** A discount to put on a subscription, by its id or its code. */
export const GivenDiscount = z
  .object({
    discountId: freeText('name').optional().meta({ description: 'The id of an active discount. Or send `code`.' }),
    code: z
      .string()
      .min(1)
      .max(255)
      .transform(normalizeCode)
      .optional()
      .meta({ description: 'The code of an active discount. Upper and lower case are the same.' }),
  })
  .refine(({ discountId, code }) => (discountId === undefined) !== (code === undefined), {
    message: 'send either discountId or code',
    path: ['discountId'],
  });
export type GivenDiscount = z.output<typeof GivenDiscount>;

/** The limits of a discount for future redemptions. Null: there is none. */
interface DiscountLimits {
  readonly expiresAt: Instant | null;
  readonly maximumRedemptions: number | null;
  readonly maximumRedemptionsPerCustomer: number | null;
  readonly productIds: string[] | null;
  readonly minimumAmount: bigint | null;
  readonly firstPurchaseOnly: boolean;
}

/** A stored discount, without the fields of its environment. */
export type DiscountRow = Omit<
  z.infer<(typeof Discount.options)[number]>,
  'livemode' | 'organizationId' | keyof DiscountLimits
> &
  DiscountLimits;

/** The limits that a discount has, as a record shows them. */
export function shownLimits(row: DiscountLimits): Partial<z.infer<(typeof Discount.options)[number]>> {
  const { expiresAt, maximumRedemptions, maximumRedemptionsPerCustomer, productIds, minimumAmount } = row;
  return {
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(maximumRedemptions === null ? {} : { maximumRedemptions }),
    ...(maximumRedemptionsPerCustomer === null ? {} : { maximumRedemptionsPerCustomer }),
    ...(productIds === null ? {} : { productIds }),
    ...(minimumAmount === null ? {} : { minimumAmount }),
    ...(row.firstPurchaseOnly ? { firstPurchaseOnly: true } : {}),
  };
}

// A count of the database.
const maxSafeCount = 2_147_483_647;
const maxUsesOfCustomer = 1000;

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

// As many as a seller can oversee; each is compared with each line.
const maxProducts = 50;

const limits = {
  expiresAt: TimestampInput.nullish().meta({ description: 'The instant from which nobody can redeem the discount.' }),
  maximumRedemptions: countInput(1, maxSafeCount).nullish().meta({
    description: 'The number of redemptions in all that there may be.',
  }),
  maximumRedemptionsPerCustomer: countInput(1, maxUsesOfCustomer).nullish().meta({
    description: 'The number of times that one customer may redeem it, in place of the setting.',
  }),
  productIds: z
    .array(freeText('name'))
    .min(1)
    .max(maxProducts)
    .nullish()
    .meta({
      description: `The ids of 1 to ${maxProducts} products of the pricing model. Usage belongs to no product.`,
    }),
  minimumAmount: amountInput(1)
    .nullish()
    .meta({
      description:
        'The least that an order must come to, before discounts and tax, in the smallest unit. With `productIds`, the ' +
        'lines of these count.',
    }),
  firstPurchaseOnly: z
    .boolean()
    .nullish()
    .meta({ description: 'True: only customers that have never had an invoice to pay can redeem it.' }),
};

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
  ...limits,
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

/** A change of a discount. Absent fields keep their value. A limit of null is taken away. */
export const DiscountChange = z.object({
  id: DiscountId.optional(),
  name: SafeString.optional(),
  code: Code.optional(),
  amount: amountInput(1).optional(),
  amountType: DiscountAmountType.optional(),
  active: z.boolean().optional(),
  duration: z.enum(['once', 'forever', 'number_of_payments']).optional(),
  numberOfPayments: Payments.nullish(),
  ...limits,
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
    ...decideLimits(change, discount),
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

type RequestedLimits = Pick<DiscountChange, keyof DiscountLimits>;

/** The limits after a request: absent ones stay, and null takes one away. Products are named once each. */
export function decideLimits(requested: RequestedLimits, before: DiscountLimits = noLimits): DiscountLimits {
  const { productIds: products = before.productIds } = requested;
  return {
    expiresAt: requested.expiresAt === undefined ? before.expiresAt : requested.expiresAt,
    maximumRedemptions:
      requested.maximumRedemptions === undefined ? before.maximumRedemptions : requested.maximumRedemptions,
    maximumRedemptionsPerCustomer:
      requested.maximumRedemptionsPerCustomer === undefined
        ? before.maximumRedemptionsPerCustomer
        : requested.maximumRedemptionsPerCustomer,
    productIds: products === null ? null : [...new Set(products)],
    minimumAmount: requested.minimumAmount === undefined ? before.minimumAmount : requested.minimumAmount,
    firstPurchaseOnly:
      requested.firstPurchaseOnly === undefined ? before.firstPurchaseOnly : requested.firstPurchaseOnly === true,
  };
}

const noLimits: DiscountLimits = {
  expiresAt: null,
  maximumRedemptions: null,
  maximumRedemptionsPerCustomer: null,
  productIds: null,
  minimumAmount: null,
  firstPurchaseOnly: false,
};

/** A part of an order. Its amount is before discounts and tax, in minor units; null: it is not known yet. */
export interface Ordered {
  readonly productId: string | null;
  readonly amount: bigint | null;
}

/** The items of an order as a discount counts them: each at the list amount of its first invoice. */
export function orderedOf(items: readonly { readonly price: Price; readonly quantity: number }[]) {
  return items.map(({ price, quantity }) => ({
    productId: price.productId ?? null,
    amount: firstAmountAt(price, quantity),
  }));
}

/** The state on which a redemption depends. */
export interface RedemptionState {
  readonly now: Instant;
  readonly currency: string;
  readonly ordered: readonly Ordered[];
  /** Whether it has been redeemed as often as it may be. */
  readonly isUsedUp: boolean;
  /** Whether the customer has had an invoice to pay, or has one coming. */
  readonly hasBought: boolean;
}

/** Whether nobody can redeem the discount any more, whatever the order. */
export function hasEnded(
  { active, expiresAt }: Pick<DiscountRow, 'active' | 'expiresAt'>,
  { now, isUsedUp }: Pick<RedemptionState, 'now' | 'isUsedUp'>,
): boolean {
  return !active || isExpired(expiresAt, now) || isUsedUp;
}

function isExpired(expiresAt: Instant | null, now: Instant): boolean {
  return expiresAt !== null && expiresAt <= now;
}

/**
 * The reason why an order cannot redeem the discount, as the rest of a sentence; null: it can. Worked example: with a minimum of 5000, an order
 * of 3000 and 2000 can. If only the first is of its products, it cannot.
 */
export function decideRefusal(discount: DiscountRow, state: RedemptionState): string | null {
  const { expiresAt, productIds, minimumAmount, firstPurchaseOnly } = discount;
  const { now, isUsedUp, ordered, currency, hasBought } = state;
  if (isExpired(expiresAt, now)) return 'has expired';
  if (isUsedUp) return 'has been redeemed as often as it may be';
  const counted = productIds === null ? ordered : ordered.filter((each) => productIds.includes(each.productId ?? ''));
  if (productIds !== null && counted.length === 0) return 'is for other products';
  if (minimumAmount !== null && counted.every(({ amount }) => amount !== null)) {
    const sum = counted.reduce((sumSoFar, { amount }) => sumSoFar + (amount ?? 0n), 0n);
    if (sum < minimumAmount) return `is for orders of at least ${moneyText(minimumAmount, currency)}`;
  }
  return firstPurchaseOnly && hasBought ? 'is for a first purchase only' : null;
}

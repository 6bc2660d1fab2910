import { z } from 'zod';
import { BillingAddress } from '../customers/customer.ts';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { countInput, Metadata, SafeString, Timestamp, WholeNumber } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import { AnchorRule, FirstPeriod } from '../organizations/setting.ts';
import { IntervalUnit } from '../pricing/price.ts';
import { maxQuantity } from '../pricing/product.ts';
import { NewItems, onePriceOrItems, quantityOfOnePrice } from '../subscriptions/subscription-start.ts';

export const PurchaseId = idSchema('purchase');

export const PurchaseStatus = z
  .enum(['open', 'pending', 'failed', 'paid', 'refunded', 'partial_refund', 'fraudulent'])
  .meta({ id: 'PurchaseStatus' });
export type PurchaseStatus = z.infer<typeof PurchaseStatus>;

/** Events of a purchase. */
export type PurchaseTrigger =
  /** Its invoice is paid, or the total was 0. */
  | 'paid'
  /** Payment failed, and none is expected any more. */
  | 'failed'
  /** Another attempt is made after a declined first payment. */
  | 'tried_again'
  /** The payment was reversed and is collected again. */
  | 'owed_again'
  /** The payment was reversed and is not collected automatically. */
  | 'taken_back'
  | 'refunded_in_part'
  | 'refunded';

/** The life cycle of a purchase. Missing entries are impossible. */
export const purchaseTransitions: Readonly<
  Record<PurchaseStatus, Readonly<Partial<Record<PurchaseTrigger, PurchaseStatus>>>>
> = {
  // Invoiced under net terms.
  open: { paid: 'paid', failed: 'failed' },
  // A charge was requested.
  pending: { paid: 'paid', failed: 'failed' },
  // Money may arrive late, or after a manual retry.
  failed: { paid: 'paid', tried_again: 'pending' },
  paid: { owed_again: 'pending', taken_back: 'failed', refunded_in_part: 'partial_refund', refunded: 'refunded' },
  partial_refund: {
    owed_again: 'pending',
    taken_back: 'failed',
    refunded_in_part: 'partial_refund',
    refunded: 'refunded',
  },
  refunded: {},
  fraudulent: {},
};

/** The status after the event, or null if it is impossible in this status. */
export function nextPurchaseStatus(status: PurchaseStatus, trigger: PurchaseTrigger): PurchaseStatus | null {
  return purchaseTransitions[status][trigger] ?? null;
}

/** Statuses of a completed purchase: paid and not fully refunded. */
export const boughtStatuses = ['paid', 'partial_refund'] as const satisfies readonly PurchaseStatus[];

/** An add-on that is bought with the plan of a purchase. */
interface PurchasedAddOn {
  readonly priceId: string;
  readonly quantity: number;
}

const everyPurchase = {
  id: PurchaseId,
  ...stamps,
  livemode: z.boolean(),
  organizationId: z.string(),
  pricingModelId: z.string(),
  customerId: z.string(),
  priceId: z.string(),
  quantity: z.int(),
  addOns: z
    .array(z.object({ priceId: z.string(), quantity: z.int() }))
    .meta({ description: 'The add-ons that are bought beside `priceId`.' }),
  name: z.string(),
  status: PurchaseStatus,
  invoiceId: z
    .string()
    .nullable()
    .meta({
      description:
        'The invoice of the purchase. For a subscription, its first invoice. Null if nothing was due, and until the ' +
        'first payment has arrived or is on its way.',
    }),
  checkoutSessionId: z.string().nullable(),
  billingCycleAnchor: Timestamp.nullable(),
  firstInvoiceValue: WholeNumber.meta({ description: 'The total of the first invoice, or 0 if there was none.' }),
  bankPaymentOnly: z.boolean().nullable(),
  purchaseDate: Timestamp.nullable().meta({ description: 'The time of the first payment.' }),
  endDate: Timestamp.nullable(),
  proposal: z.string().nullable(),
  archived: z.boolean().nullable(),
  billingAddress: BillingAddress.nullable(),
  metadata: Metadata.nullable(),
  position: z.number(),
};
const noInterval = {
  subscriptionId: z.null(),
  trialPeriodDays: z.null(),
  pricePerBillingCycle: z.null(),
  intervalUnit: z.null(),
  intervalCount: z.null(),
  totalPurchaseValue: WholeNumber,
};

const SubscriptionPurchase = z.object({
  ...everyPurchase,
  priceType: z.literal('subscription'),
  subscriptionId: z.string().nullable().meta({
    description: 'Null until the first payment has arrived or is on its way. A declined one makes no subscription.',
  }),
  trialPeriodDays: z.int(),
  pricePerBillingCycle: WholeNumber.meta({
    description: 'The price of a whole period with the add-ons, before discount and tax.',
  }),
  intervalUnit: IntervalUnit,
  intervalCount: z.int(),
  totalPurchaseValue: z.null(),
});
const SinglePaymentPurchase = z.object({ ...everyPurchase, ...noInterval, priceType: z.literal('single_payment') });

/** A customer's attempt to buy a subscription or a single-payment product, with as many cards as it takes. */
export const Purchase = z
  .discriminatedUnion('priceType', [SubscriptionPurchase, SinglePaymentPurchase])
  .meta({ id: 'Purchase' });
export type Purchase = z.infer<typeof Purchase>;

/** A stored purchase: money in minor units. */
export interface PurchaseRow {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly priceId: string;
  readonly priceType: Purchase['priceType'];
  readonly quantity: number;
  readonly addOns: readonly PurchasedAddOn[];
  readonly subscriptionId: string | null;
  readonly invoiceId: string | null;
  readonly checkoutSessionId: string | null;
  readonly name: string;
  readonly status: PurchaseStatus;
  readonly trialPeriodDays: number | null;
  readonly pricePerBillingCycle: bigint | null;
  readonly intervalUnit: z.infer<typeof IntervalUnit> | null;
  readonly intervalCount: number | null;
  readonly billingCycleAnchor: Instant | null;
  /** The count of the periods of its subscription; null: it is paid once. */
  readonly billingAnchor: AnchorRule | null;
  readonly firstPeriod: FirstPeriod | null;
  readonly firstInvoiceValue: bigint;
  readonly totalPurchaseValue: bigint | null;
  readonly purchaseDate: Instant | null;
  readonly billingAddress: BillingAddress | null;
  readonly metadata: z.infer<typeof Metadata> | null;
  /** The name of the subscription to make; null: there is one already, or none. */
  readonly subscriptionName: string | null;
  /** Whether it is to be the only paid plan of its customer. */
  readonly exclusive: boolean;
  /** Whether prices include the tax of the first payment. */
  readonly taxInclusive: boolean;
}

/** A purchase as returned by the API; `known` are the fields of its environment. */
export function toPurchase(known: { livemode: boolean; organizationId: string }, row: PurchaseRow): Purchase {
  const { subscriptionName: _, exclusive: _1, taxInclusive: _2, billingAnchor: _3, firstPeriod: _4, ...shown } = row;
  // The constraint purchases_variant holds each row to the variant of its price type.
  return {
    ...shown,
    livemode: known.livemode,
    organizationId: known.organizationId,
    bankPaymentOnly: null,
    endDate: null,
    proposal: null,
    archived: null,
    position: 0,
  } as Purchase;
}

const Reference = z.string().min(1).max(255);

/** A request to sell something to a customer in one call. */
export const NewPurchase = z
  .object({
    customerId: Reference.optional(),
    customerExternalId: Reference.optional().meta({
      description: 'Your own id of the customer, instead of `customerId`.',
    }),
    priceId: Reference.optional(),
    priceSlug: Reference.optional().meta({ description: 'The slug of an active price, instead of `priceId`.' }),
    quantity: countInput(1, maxQuantity).optional().meta({ description: '1 by default.' }),
    items: NewItems,
    discountCode: z.string().min(1).max(255).nullish().meta({ description: 'The code of an active discount.' }),
    paymentMethodId: Reference.nullish().meta({
      description: 'A payment method of the customer, by default its default one.',
    }),
    billingAnchor: AnchorRule.nullish().meta({
      description: 'For a subscription. By default that of the settings.',
    }),
    firstPeriod: FirstPeriod.nullish().meta({ description: 'For a subscription. By default that of the settings.' }),
    name: SafeString.nullish().meta({ description: 'By default the name of the product.' }),
    metadata: Metadata.nullish().meta({ description: 'Copied to the subscription, if one is bought.' }),
  })
  .refine((given) => (given.customerId === undefined) !== (given.customerExternalId === undefined), {
    path: ['customerId'],
    message: 'send exactly one of customerId and customerExternalId',
  })
  .refine(...onePriceOrItems)
  .refine(...quantityOfOnePrice);
export type NewPurchase = z.infer<typeof NewPurchase>;

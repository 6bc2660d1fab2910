import { z } from 'zod';
import {
  BillingAddress,
  common,
  count,
  currency,
  inModel,
  instant,
  instantOrNull,
  interval,
  metadata,
  nothing,
  paymentMethodType,
  positive,
  signedOrNull,
  text,
  textOrNull,
  url,
} from './official-values.ts';

// What the official clients were promised of payments, invoices and purchases: as in official-records.ts.

const tax = {
  taxAmount: signedOrNull,
  subtotal: signedOrNull,
  taxType: z
    .enum([
      'amusement_tax',
      'communications_tax',
      'gst',
      'hst',
      'igst',
      'jct',
      'lease_tax',
      'pst',
      'qst',
      'rst',
      'sales_tax',
      'vat',
      'none',
    ])
    .nullable(),
  taxCountry: text.length(2).nullable(),
  taxState: textOrNull,
  taxRatePercentage: textOrNull,
  applicationFee: signedOrNull,
};

export const Payment = z.object({
  ...inModel,
  ...tax,
  invoiceId: text,
  amount: count,
  paymentMethod: paymentMethodType,
  currency,
  status: z.enum([
    'canceled',
    'failed',
    'refunded',
    'processing',
    'succeeded',
    'requires_confirmation',
    'requires_action',
  ]),
  chargeDate: instant,
  settlementDate: instantOrNull,
  description: textOrNull,
  receiptNumber: textOrNull,
  receiptURL: url.nullable(),
  organizationId: text,
  customerId: text,
  purchaseId: textOrNull,
  subscriptionId: textOrNull,
  paymentMethodId: textOrNull,
  billingPeriodId: textOrNull,
  refunded: z.boolean(),
  refundedAmount: signedOrNull,
  refundedAt: instantOrNull,
  failureMessage: textOrNull,
  failureCode: textOrNull,
});

export const PaymentMethod = z.object({
  ...inModel,
  customerId: text,
  billingDetails: z.object({
    name: textOrNull,
    email: textOrNull,
    address: z.record(text, z.unknown()),
  }),
  type: paymentMethodType,
  default: z.boolean(),
  paymentMethodData: z.record(text, z.unknown()),
  metadata,
});

const invoice = {
  ...inModel,
  ...tax,
  invoiceNumber: text,
  invoiceDate: instant,
  dueDate: instantOrNull,
  customerId: text,
  organizationId: text,
  status: z.enum([
    'draft',
    'open',
    'paid',
    'uncollectible',
    'void',
    'refunded',
    'partially_refunded',
    'awaiting_payment_confirmation',
  ]),
  billingRunId: textOrNull,
  ownerMembershipId: textOrNull,
  pdfURL: url.nullable(),
  receiptPdfURL: url.nullable(),
  memo: textOrNull,
  bankPaymentOnly: z.boolean().nullable(),
  currency,
};
const ofNoPeriod = {
  billingPeriodId: nothing,
  subscriptionId: nothing,
  billingPeriodStartDate: nothing,
  billingPeriodEndDate: nothing,
};
export const Invoice = z.discriminatedUnion('type', [
  z.object({
    ...invoice,
    type: z.literal('subscription'),
    purchaseId: nothing,
    billingPeriodId: text,
    subscriptionId: text,
    billingPeriodStartDate: instantOrNull,
    billingPeriodEndDate: instantOrNull,
  }),
  z.object({ ...invoice, ...ofNoPeriod, type: z.literal('purchase'), purchaseId: text }),
  z.object({
    ...invoice,
    ...ofNoPeriod,
    type: z.literal('standalone'),
    purchaseId: nothing,
    stripePaymentIntentId: textOrNull,
    stripeTaxCalculationId: textOrNull,
    stripeTaxTransactionId: textOrNull,
  }),
]);

const lineItem = {
  ...inModel,
  invoiceId: text,
  quantity: z.int(),
  priceId: textOrNull,
  description: textOrNull,
  price: z.int(),
};
export const InvoiceLineItem = z.discriminatedUnion('type', [
  z.object({ ...lineItem, type: z.literal('static'), ledgerAccountId: nothing, ledgerAccountCredit: nothing }),
  z.object({
    ...lineItem,
    type: z.literal('usage'),
    ledgerAccountId: text,
    ledgerAccountCredit: z.number(),
    billingRunId: text,
  }),
]);
export const InvoiceWithLines = z.object({ invoice: Invoice, invoiceLineItems: z.array(InvoiceLineItem) });

const purchase = {
  ...inModel,
  name: text,
  status: z.enum(['open', 'pending', 'failed', 'paid', 'refunded', 'partial_refund', 'fraudulent']),
  customerId: text,
  organizationId: text,
  billingCycleAnchor: instantOrNull,
  priceId: text,
  quantity: positive,
  firstInvoiceValue: count,
  bankPaymentOnly: z.boolean().nullable(),
  purchaseDate: instantOrNull,
  endDate: instantOrNull,
  proposal: textOrNull,
  archived: z.boolean().nullable(),
  billingAddress: BillingAddress.nullable(),
  metadata,
  position: z.number(),
};
const boughtOnce = {
  ...purchase,
  trialPeriodDays: nothing,
  pricePerBillingCycle: nothing,
  intervalUnit: nothing,
  intervalCount: nothing,
  totalPurchaseValue: count,
};
export const Purchase = z.discriminatedUnion('priceType', [
  z.object({
    ...purchase,
    priceType: z.literal('subscription'),
    trialPeriodDays: count,
    pricePerBillingCycle: positive,
    intervalUnit: interval,
    intervalCount: positive,
    totalPurchaseValue: nothing,
  }),
  z.object({ ...boughtOnce, priceType: z.literal('single_payment') }),
  z.object({ ...boughtOnce, priceType: z.literal('usage') }),
]);

const checkoutSession = {
  ...inModel,
  status: z.enum(['open', 'pending', 'succeeded', 'failed', 'expired']),
  billingAddress: BillingAddress.nullable(),
  quantity: z.int(),
  organizationId: text,
  customerName: textOrNull,
  customerEmail: textOrNull,
  customerId: textOrNull,
  paymentMethodType: paymentMethodType.nullable(),
  discountId: textOrNull,
  successUrl: url.nullable(),
  cancelUrl: url.nullable(),
  preserveBillingCycleAnchor: z.boolean(),
  outputMetadata: metadata,
  outputName: textOrNull,
  expires: instant,
};
export const CheckoutSession = z.discriminatedUnion('type', [
  z.object({
    ...checkoutSession,
    type: z.literal('product'),
    priceId: text,
    purchaseId: textOrNull,
    invoiceId: nothing,
    targetSubscriptionId: nothing,
    automaticallyUpdateSubscriptions: nothing,
  }),
  z.object({
    ...checkoutSession,
    type: z.literal('activate_subscription'),
    priceId: textOrNull,
    purchaseId: nothing,
    invoiceId: nothing,
    targetSubscriptionId: text,
    automaticallyUpdateSubscriptions: z.boolean().nullable(),
  }),
  z.object({
    ...checkoutSession,
    type: z.literal('add_payment_method'),
    priceId: textOrNull,
    purchaseId: textOrNull,
    invoiceId: textOrNull,
    customerId: text,
    targetSubscriptionId: textOrNull,
    automaticallyUpdateSubscriptions: z.boolean().nullable(),
  }),
]);
export const CheckoutSessionWithUrl = z.object({ checkoutSession: CheckoutSession, url });

const discount = {
  ...inModel,
  organizationId: text,
  name: text,
  code: text.min(3).max(20),
  amount: positive,
  amountType: z.enum(['percent', 'fixed']),
  active: z.boolean(),
};
const durations = [
  { ...discount, duration: z.literal('once'), numberOfPayments: nothing },
  { ...discount, duration: z.literal('forever'), numberOfPayments: nothing },
  { ...discount, duration: z.literal('number_of_payments'), numberOfPayments: positive },
] as const;
const redemptions = { redemptionCount: z.int() };
export const Discount = z.discriminatedUnion('duration', [
  z.object(durations[0]),
  z.object(durations[1]),
  z.object(durations[2]),
]);
/** As lists and look-ups answer it. */
export const CountedDiscount = z.discriminatedUnion('duration', [
  z.object({ ...durations[0], ...redemptions }),
  z.object({ ...durations[1], ...redemptions }),
  z.object({ ...durations[2], ...redemptions }),
]);

export const ApiKey = z.object({
  ...common,
  // The reference ties every key to one pricing model; ours are tied to none unless they were made so.
  pricingModelId: textOrNull,
  organizationId: text,
  name: text,
  token: text,
  active: z.boolean(),
  type: z.enum(['secret', 'publishable']),
  expiresAt: instantOrNull,
  stackAuthHostedBillingUserId: textOrNull,
  hashText: textOrNull,
});

export const Webhook = z.object({
  ...inModel,
  filterTypes: z.array(text),
  organizationId: text,
  url,
  name: text,
  active: z.boolean(),
});

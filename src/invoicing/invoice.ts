import assert from 'node:assert/strict';
import { z } from 'zod';
import type { TermsOfBuyer } from '../customers/billing-terms.ts';
import type { BillingAddress } from '../customers/customer.ts';
import { addDays, type Instant } from '../kernel/calendar.ts';
import { CountryCode } from '../kernel/country.ts';
import { CurrencyCode } from '../kernel/currency.ts';
import { idSchema } from '../kernel/id.ts';
import { Metadata, Timestamp, WholeNumber } from '../kernel/json.ts';
import { Problem } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';

export const InvoiceId = idSchema('invoice');

export const InvoiceStatus = z
  .enum([
    'draft',
    'open',
    'awaiting_payment_confirmation',
    'paid',
    'partially_refunded',
    'refunded',
    'void',
    'uncollectible',
  ])
  .meta({ id: 'InvoiceStatus' });
export type InvoiceStatus = z.infer<typeof InvoiceStatus>;

/** Events of an invoice. */
export type InvoiceTrigger =
  | 'finalized'
  | 'payment_begun'
  | 'payment_failed'
  | 'paid'
  /** A payment of it was reversed. */
  | 'payment_reversed'
  | 'voided'
  | 'given_up'
  | 'refunded_in_part'
  | 'refunded';

/** The life cycle of an invoice. Missing entries are impossible. */
export const invoiceTransitions: Readonly<
  Record<InvoiceStatus, Readonly<Partial<Record<InvoiceTrigger, InvoiceStatus>>>>
> = {
  draft: { finalized: 'open', voided: 'void' },
  open: { payment_begun: 'awaiting_payment_confirmation', paid: 'paid', voided: 'void', given_up: 'uncollectible' },
  awaiting_payment_confirmation: { paid: 'paid', payment_failed: 'open' },
  paid: { refunded_in_part: 'partially_refunded', refunded: 'refunded', payment_reversed: 'open' },
  partially_refunded: { refunded_in_part: 'partially_refunded', refunded: 'refunded', payment_reversed: 'open' },
  refunded: {},
  void: {},
  uncollectible: {},
};

/** The status after the event, or null if it is impossible in this status. */
export function nextInvoiceStatus(status: InvoiceStatus, trigger: InvoiceTrigger): InvoiceStatus | null {
  return invoiceTransitions[status][trigger] ?? null;
}

/** Events about invoices. */
export type InvoiceEventType =
  | 'invoice.created'
  | 'invoice.finalized'
  | 'invoice.paid'
  | 'invoice.payment_failed'
  | 'invoice.overdue'
  | 'invoice.voided'
  | 'invoice.uncollectible'
  | 'invoice.sent';

const paidStatuses: ReadonlySet<InvoiceStatus> = new Set(['paid', 'partially_refunded', 'refunded']);

/**
 * The events of a change of status, in order; `before` is null for a new invoice. Worked examples: a draft is `created`,
 * and `finalized` and `paid` when a balance pays all of it. An open invoice that is paid, or credited in full, is `paid`.
 */
export function invoiceEvents(before: InvoiceStatus | null, after: InvoiceStatus): InvoiceEventType[] {
  if (before === after) return [];
  const events: InvoiceEventType[] = before === null ? ['invoice.created'] : [];
  if ((before === null || before === 'draft') && after !== 'draft' && after !== 'void')
    events.push('invoice.finalized');
  if (paidStatuses.has(after) && (before === null || !paidStatuses.has(before))) events.push('invoice.paid');
  if (after === 'void') events.push('invoice.voided');
  if (after === 'uncollectible') events.push('invoice.uncollectible');
  return events;
}

/**
 * The instant from which an open invoice is overdue; null without a due date. One that is due at once is charged first,
 * so it has a day. Worked example: dated and due on 1 May it is overdue on 2 May; due on 15 May, on 15 May.
 */
export function overdueFrom({
  invoiceDate,
  dueDate,
}: {
  readonly invoiceDate: Instant;
  readonly dueDate: Instant | null;
}): Instant | null {
  return dueDate === null ? null : Math.max(dueDate, addDays(invoiceDate, 1));
}

/** The discount on an invoice, redeemed by its subscription or purchase. */
export interface InvoiceDiscount {
  readonly redemptionId: string;
  readonly code: string;
  readonly kind: 'percent' | 'fixed';
  /** A whole percentage, or minor units. */
  readonly amount: bigint;
  /** The prices whose lines it is for. Null or absent: all lines. */
  readonly priceIds?: readonly string[] | null;
}

/** A discount on an invoice, with the amount that it takes off. */
export interface AppliedDiscount extends InvoiceDiscount {
  /** In minor units. */
  readonly takenOff: bigint;
}

/** The tax of a buyer on an invoice. */
export interface TaxQuote {
  readonly type: TaxType;
  readonly country: CountryCode;
  readonly state: string | null;
  /** Decimal text with at most six decimal places: `19` or `8.875`. */
  readonly percentage: string;
  /** True when prices include the tax. */
  readonly inclusive: boolean;
}

/** The billed party, as stored on the invoice. */
export interface Buyer {
  readonly name: string;
  readonly email: string;
  readonly billingAddress: BillingAddress | null;
  /** Absent: the buyer has none of its own. */
  readonly terms?: TermsOfBuyer;
}

/**
 * The reason for an invoice. A billing period has one invoice per reason, except adjustments and usage within the period:
 * of the interval of its price, or at a threshold.
 */
export const InvoiceReason = z
  .enum([
    'subscription_start',
    'renewal',
    'usage',
    'final_usage',
    'usage_threshold',
    'adjustment',
    'purchase',
    'one_off',
  ])
  .meta({ id: 'InvoiceReason' });
export type InvoiceReason = z.infer<typeof InvoiceReason>;

/** The limit of a single payment in minor units, and so of an invoice. */
export const maxInvoiceTotal = 4_503_599_627_370_495n;

/** The kind of a tax. */
export const TaxType = z
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
  .meta({ id: 'TaxType' });
export type TaxType = z.infer<typeof TaxType>;

/** The tax of an invoice or a payment; null if unknown. */
export const taxFields = {
  subtotal: WholeNumber.nullable().meta({ description: 'The sum of the lines less the discounts, without tax.' }),
  taxAmount: WholeNumber.nullable(),
  taxType: TaxType.nullable(),
  taxCountry: CountryCode.nullable(),
  taxState: z.string().nullable(),
  taxRatePercentage: z.string().nullable().meta({ description: 'A decimal number as text: `19` or `8.875`.' }),
  applicationFee: WholeNumber.nullable(),
};

const everyInvoice = {
  id: InvoiceId,
  ...stamps,
  livemode: z.boolean(),
  organizationId: z.string(),
  customerId: z.string(),
  pricingModelId: z.string(),
  invoiceNumber: z.string().nullable().meta({
    description:
      'The number of the invoice, the next one of its series. A series has no gaps. Null until a draft is finalized.',
  }),
  invoiceDate: Timestamp,
  dueDate: Timestamp.nullable(),
  status: InvoiceStatus,
  currency: CurrencyCode,
  ...taxFields,
  discountAmount: WholeNumber.meta({ description: 'The amount that the discounts take off the sum of the lines.' }),
  total: WholeNumber.meta({ description: 'The sum of subtotal and tax.' }),
  amountPaid: WholeNumber.meta({ description: 'The amount that was paid, before refunds.' }),
  amountRefunded: WholeNumber,
  creditedAmount: WholeNumber.optional().meta({
    description: 'The total of the credit notes that are not void. Absent without any.',
  }),
  offsetAmount: WholeNumber.optional().meta({
    description: 'The part of it that lowers the amount due instead of going back. Absent without any.',
  }),
  balanceCredited: WholeNumber.optional().meta({
    description: 'The part of `creditedAmount` that went to the balance of the customer. Absent if that is nothing.',
  }),
  balanceApplied: WholeNumber.optional().meta({
    description: "What the customer's balance paid of it when it was made. Absent where that was nothing.",
  }),
  billingRunId: z.string().nullable(),
  ownerMembershipId: z.string().nullable(),
  pdfURL: z.string().nullable(),
  receiptPdfURL: z.string().nullable().meta({
    description: 'The receipt of its last payment as PDF, for requests with a key. Null before money has come.',
  }),
  memo: z.string().nullable(),
  metadata: Metadata.optional().meta({ description: 'Your own data, on no document. Absent if there is none.' }),
  footer: z.string().optional().meta({ description: 'The text below the totals. Absent without one.' }),
  purchaseOrderNumber: z.string().optional().meta({ description: "The buyer's reference. Absent without one." }),
  hostedInvoiceUrl: z.string().optional().meta({
    description:
      'A page on which anyone who has the link can pay it. Present where one finalized invoice is read or sent, and not in events.',
  }),
  finalizesAt: Timestamp.optional().meta({
    description: 'The time at which the draft of a renewal is finalized by itself. Absent on every other invoice.',
  }),
  consolidatedInvoiceId: z.string().optional().meta({
    description:
      'The consolidated invoice that this one is a part of, which has the number and is paid. Absent on every other invoice.',
  }),
  sentAt: Timestamp.optional().meta({ description: 'The time at which it was sent last. Absent before.' }),
  nextAttemptAt: Timestamp.optional().meta({
    description: 'The time of the next attempt to collect it. Absent where none is planned.',
  }),
  bankPaymentOnly: z.boolean().nullable(),
};

const SubscriptionInvoice = z.object({
  ...everyInvoice,
  type: z.literal('subscription'),
  subscriptionId: z.string(),
  billingPeriodId: z.string().nullable().meta({ description: 'Null if the subscription has no billing periods.' }),
  billingPeriodStartDate: Timestamp.nullable(),
  billingPeriodEndDate: Timestamp.nullable(),
  purchaseId: z.null(),
});
const PurchaseInvoice = z.object({
  ...everyInvoice,
  type: z.literal('purchase'),
  subscriptionId: z.null(),
  billingPeriodId: z.null(),
  billingPeriodStartDate: z.null(),
  billingPeriodEndDate: z.null(),
  purchaseId: z.string(),
});
const StandaloneInvoice = z.object({
  ...everyInvoice,
  type: z.literal('standalone'),
  subscriptionId: z.null(),
  billingPeriodId: z.null(),
  billingPeriodStartDate: z.null(),
  billingPeriodEndDate: z.null(),
  purchaseId: z.null(),
  netTermsDays: z.int().optional().meta({
    description: 'The days from its finalization to its due date. Absent: those of the settings, or a date was given.',
  }),
  autoCollect: z.boolean().optional().meta({
    description: "If true, finalization charges the customer's default payment method. Absent: false.",
  }),
  stripePaymentIntentId: z.string().nullable(),
  stripeTaxCalculationId: z.string().nullable(),
  stripeTaxTransactionId: z.string().nullable(),
});

/** A request for payment to a customer, line by line. */
export const Invoice = z
  .discriminatedUnion('type', [SubscriptionInvoice, PurchaseInvoice, StandaloneInvoice])
  .meta({ id: 'Invoice' });
export type Invoice = z.infer<typeof Invoice>;

/** An invoice preview: without id, number, document and billing period. */
export const UpcomingInvoice = SubscriptionInvoice.extend({
  id: z.null(),
  invoiceNumber: z.null(),
  status: z.literal('draft'),
  billingPeriodId: z.null(),
  pdfURL: z.null(),
}).meta({ id: 'UpcomingInvoice' });
export type UpcomingInvoice = z.infer<typeof UpcomingInvoice>;

/** The amounts of an invoice, in minor units. */
export interface InvoiceMoney {
  readonly status: InvoiceStatus;
  readonly total: bigint;
  readonly amountPaid: bigint;
  readonly amountRefunded: bigint;
  /** The total of its credit notes that are not void. */
  readonly creditedAmount: bigint;
  /** The part of it that lowers the amount due. */
  readonly offsetAmount: bigint;
  /** The part that the customer's balance paid. */
  readonly balanceApplied: bigint;
  /** The part of the credited amount that went to that balance. */
  readonly balanceCredited: bigint;
}

/** The amounts that determine the amount due. */
type InvoiceDue = Pick<InvoiceMoney, 'total' | 'offsetAmount' | 'balanceApplied' | 'amountPaid'>;

/**
 * The unpaid amount in minor units. Worked example I7: of 5000, 2000 are paid, so 3000 are due. Credit notes that offset
 * lower it, and so does the part that a balance paid.
 */
export function amountDue(invoice: InvoiceDue): bigint {
  return invoice.total - invoice.balanceApplied - invoice.offsetAmount - invoice.amountPaid;
}

/**
 * The amounts of a new invoice with this total, in minor units, and its initial status: a total of 0 is paid at once
 * (worked examples I4 and I8). Refuses with `invoiceTooLarge` a total that no single payment can carry.
 */
export function decideNewInvoice(total: bigint): InvoiceMoney {
  assert(total >= 0n, 'an invoice never owes the customer');
  if (total > maxInvoiceTotal) throw new Problem('invoiceTooLarge', { total, limit: maxInvoiceTotal });
  const nothing = {
    ...{ amountPaid: 0n, amountRefunded: 0n, creditedAmount: 0n },
    ...{ offsetAmount: 0n, balanceApplied: 0n, balanceCredited: 0n },
  };
  return { total, ...nothing, status: total === 0n ? 'paid' : 'open' };
}

/**
 * The invoice after a payment of `paid` minor units, at most the amount due. A payment for a final invoice (void,
 * uncollectible) is recorded too, so that it can be refunded; the status stays.
 */
export function decidePaid(invoice: InvoiceMoney, paid: bigint): Pick<InvoiceMoney, 'status' | 'amountPaid'> {
  assert(paid > 0n && paid <= amountDue(invoice), 'a payment is at most what is due');
  const amountPaid = invoice.amountPaid + paid;
  return { amountPaid, status: statusWhenDue({ ...invoice, amountPaid }) };
}

/** A new invoice after the balance of its customer has paid `applied` minor units of it, or all. */
export function decideBalanceApplied(
  invoice: InvoiceMoney,
  applied: bigint,
): Pick<InvoiceMoney, 'status' | 'balanceApplied'> {
  assert(applied >= 0n && applied <= amountDue(invoice), 'a balance pays at most what is due');
  return { balanceApplied: applied, status: statusWhenDue({ ...invoice, balanceApplied: applied }) };
}

/** The status of an invoice that owes less than before: paid if nothing is due any more. */
function statusWhenDue(invoice: InvoiceMoney): InvoiceStatus {
  const settled = amountDue(invoice) === 0n ? nextInvoiceStatus(invoice.status, 'paid') : null;
  if (settled === null) return invoice.status;
  // Part of an earlier payment may already have been refunded, or all of it.
  if (invoice.amountRefunded === 0n) return settled;
  const trigger = invoice.amountRefunded === invoice.amountPaid ? 'refunded' : 'refunded_in_part';
  return nextInvoiceStatus(settled, trigger) ?? settled;
}

/**
 * The invoice after a credit note of `credited` minor units, at most what is not yet credited. One that offsets takes at
 * most the amount due, and pays the invoice when nothing else is due: of 5000 with 2000 paid, 1000 are offset, so 2000
 * are due.
 */
export function decideCredited(
  invoice: InvoiceMoney,
  credited: bigint,
  settle: 'refund' | 'offset' | 'balance',
): Credited {
  const creditedAmount = invoice.creditedAmount + credited;
  assert(credited > 0n && creditedAmount <= invoice.total, 'a credit is at most what is left of its invoice');
  const { status, offsetAmount, balanceCredited } = invoice;
  switch (settle) {
    case 'refund':
      return { status, creditedAmount, offsetAmount, balanceCredited };
    case 'balance':
      return { status, creditedAmount, offsetAmount, balanceCredited: balanceCredited + credited };
    case 'offset': {
      assert(credited <= amountDue(invoice), 'an offset is at most what is due');
      const offset = { creditedAmount, offsetAmount: offsetAmount + credited, balanceCredited };
      return { status: statusWhenDue({ ...invoice, ...offset }), ...offset };
    }
    default:
      return settle satisfies never;
  }
}

type Credited = Pick<InvoiceMoney, 'status' | 'creditedAmount' | 'offsetAmount' | 'balanceCredited'>;

/** The invoice after such a credit note was voided. */
export function decideUncredited(
  invoice: InvoiceMoney,
  credited: bigint,
  settle: 'refund' | 'offset' | 'balance',
): Credited {
  const creditedAmount = invoice.creditedAmount - credited;
  const offsetAmount = invoice.offsetAmount - (settle === 'offset' ? credited : 0n);
  const balanceCredited = invoice.balanceCredited - (settle === 'balance' ? credited : 0n);
  const isCounted = offsetAmount >= 0n && balanceCredited >= 0n && creditedAmount >= offsetAmount + balanceCredited;
  assert(isCounted, 'the credit note was counted');
  return { status: invoice.status, creditedAmount, offsetAmount, balanceCredited };
}

/**
 * The part of an invoice that may still be given back while refunds of `refunding` minor units are in flight. Worked
 * example: of 100 paid, 30 went to the balance of the customer and 20 were refunded, so 50 may be.
 */
export function returnable(invoice: InvoiceMoney, refunding: bigint): bigint {
  const { amountPaid, balanceApplied, amountRefunded, balanceCredited } = invoice;
  const left = amountPaid + balanceApplied - amountRefunded - refunding - balanceCredited;
  return left > 0n ? left : 0n;
}

/** The invoice after a refund of `refunded` minor units, at most the paid and not yet refunded amount. */
export function decideRefunded(
  invoice: InvoiceMoney,
  refunded: bigint,
): Pick<InvoiceMoney, 'status' | 'amountRefunded'> {
  const amountRefunded = invoice.amountRefunded + refunded;
  assert(refunded > 0n && amountRefunded <= invoice.amountPaid, 'a refund is at most what was paid');
  const trigger = amountRefunded === invoice.amountPaid ? 'refunded' : 'refunded_in_part';
  return { amountRefunded, status: nextInvoiceStatus(invoice.status, trigger) ?? invoice.status };
}

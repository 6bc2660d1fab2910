import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { newId } from '../database/new-id.ts';
import { instantOf, type Work } from '../database/work.ts';
import { attemptBegun } from '../invoicing/collection.ts';
import { amountDue, nextInvoiceStatus } from '../invoicing/invoice.ts';
import type { InvoiceDraft } from '../invoicing/new-invoice.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { lockInvoices, saveCollections } from '../invoicing/store-collecting.ts';
import { requestEffect } from '../jobs/queue.ts';
import type { Instant } from '../kernel/calendar.ts';
import { mulDiv } from '../kernel/money.ts';
import { Problem } from '../kernel/problem.ts';
import { chargeTask } from './actions.ts';
import type { PaymentMethodType } from './payment-method.ts';
import { manualProcessor } from './processor-manual.ts';
import type { PaymentRow } from './store.ts';
import * as store from './store.ts';
import type { PaymentMethodRow } from './store-payment-methods.ts';
import { findPaymentMethods } from './store-payment-methods.ts';

// Charges per task: applying the outcomes locks as many customers.
const paymentsPerTask = 500;

/** A charge of the amount due on an invoice to a payment method. */
export interface ChargeOrder {
  readonly invoice: { readonly id: string };
  readonly paymentMethodId: string;
  /** Whether somebody asked to pay this invoice: a decline does not take it back. */
  readonly onRequest?: boolean;
}

/**
 * Requests the amount due on each invoice: creates a processing payment, and a task that charges it after the commit.
 * Until it has ended, no other attempt is made. Refuses an invoice that is not open or is being paid, and a payment
 * method of another customer. A dry run runs `assume` instead and returns the resulting payments. The number of
 * statements does not depend on the number of orders.
 */
export async function requestCharges(
  work: Work,
  orders: readonly ChargeOrder[],
  assume: (work: Work, payments: readonly PaymentRow[]) => Promise<void>,
): Promise<PaymentRow[]> {
  if (orders.length === 0) return [];
  const invoiceIds = orders.map((order) => order.invoice.id);
  const invoices = new Map((await lockInvoices(work, invoiceIds)).map((invoice) => [invoice.id, invoice]));
  const beingPaid = await store.listInvoicesBeingPaid(work, invoiceIds);
  const methodIds = [...new Set(orders.map((order) => order.paymentMethodId))];
  const methods = new Map((await findPaymentMethods(work, methodIds)).map((method) => [method.id, method]));
  const payments = orders.map((order) => {
    const invoice = payable(order.invoice.id, invoices.get(order.invoice.id), beingPaid);
    return { ...newPayment(work, invoice, methodOf(order, invoice, methods)), onRequest: order.onRequest ?? false };
  });
  await store.insertPayments(work, payments);
  const waiting = [...invoices.values()].filter((invoice) => invoice.nextAttemptAt !== null);
  await saveCollections(work, waiting.map(attemptBegun));
  await requestOutcomes(work, payments, assume);
  if (!work.dryRun) return payments;
  const settled = await store.findPayments(
    work,
    payments.map((payment) => payment.id),
  );
  return payments.map((payment) => settled.find((each) => each.id === payment.id) ?? payment);
}

/** Returns the invoice if it can be paid. */
function payable(id: string, invoice: InvoiceRow | undefined, beingPaid: ReadonlySet<string>): InvoiceRow {
  if (invoice === undefined) throw new Problem('invoiceNotFound', { id });
  if (beingPaid.has(id)) throw new Problem('invoiceAlreadyBeingPaid', { invoiceId: id });
  const { status } = invoice;
  if (nextInvoiceStatus(status, 'payment_begun') === null) throw new Problem('invoiceNotOpen', { id, status });
  return invoice;
}

function methodOf(
  { paymentMethodId: id }: ChargeOrder,
  invoice: InvoiceRow,
  methods: ReadonlyMap<string, PaymentMethodRow>,
): PaymentMethodRow {
  const method = methods.get(id);
  if (method?.customerId !== invoice.customerId) throw new Problem('paymentMethodNotFound', { id });
  return method;
}

/** A purchase, or a change of plan, to charge before anything of it is made. */
interface FirstCharge {
  readonly purchaseId: string | null;
  readonly adjustmentId: string | null;
  /** The subscription that waits for it, or changes; null: there is none yet. */
  readonly subscriptionId: string | null;
  readonly paymentMethodId: string;
  readonly description: string;
  /** The invoice that is made when the money has arrived or is on its way. */
  readonly draft: InvoiceDraft;
}

/**
 * Requests the first payment of a purchase or of a change of plan, whose invoice is not made yet: a declined card leaves
 * this payment and nothing else. Each has one such payment at a time. Like `requestCharges`.
 */
export async function requestFirstCharge(
  work: Work,
  { purchaseId, adjustmentId, subscriptionId, paymentMethodId: id, description, draft }: FirstCharge,
  assume: (work: Work, payments: readonly PaymentRow[]) => Promise<void>,
): Promise<void> {
  const { request, total, taxAmount } = draft;
  const { pricingModelId, customerId, currency, tax } = request;
  const [method] = await findPaymentMethods(work, [id]);
  if (method?.customerId !== customerId) throw new Problem('paymentMethodNotFound', { id });
  const payable: Payable = {
    ...{ id: null, subscriptionId, billingPeriodId: null, purchaseId, pricingModelId, customerId, currency },
    adjustmentId,
    ...{
      total,
      taxAmount,
      amountPaid: 0n,
      offsetAmount: 0n,
      balanceApplied: 0n,
      balanceCredited: 0n,
      attemptCount: 0,
      description,
    },
    taxType: tax?.type ?? null,
    taxCountry: tax?.country ?? null,
    taxState: tax?.state ?? null,
    taxRatePercentage: tax?.percentage ?? null,
  };
  const payment = charged(paymentOf(work, payable, total, method.type), method);
  await store.insertPayments(work, [payment]);
  await requestOutcomes(work, [payment], assume);
}

/** Requests the status of the payments' charges after the commit. A dry run runs `assume` instead. */
export async function requestChecks(
  work: Work,
  paymentIds: readonly string[],
  assume: (work: Work, payments: readonly { readonly id: string }[]) => Promise<void>,
): Promise<void> {
  await requestOutcomes(
    work,
    paymentIds.map((id) => ({ id })),
    assume,
  );
}

async function requestOutcomes<Asked extends { readonly id: string }>(
  work: Work,
  payments: readonly Asked[],
  assume: (work: Work, payments: readonly Asked[]) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < payments.length; start += paymentsPerTask) {
    const requested = payments.slice(start, start + paymentsPerTask);
    const paymentIds = requested.map((payment) => payment.id);
    await requestEffect(work, {
      task: chargeTask,
      payload: { paymentIds, requestedAt: work.now },
      // The key covers exactly these payments: a job with the same key would replace this one.
      key: `${chargeTask}:${createHash('sha256').update(paymentIds.join()).digest('hex')}`,
      assume: (dryWork) => assume(dryWork, requested),
    });
  }
}

function newPayment(work: Work, invoice: InvoiceRow, method: PaymentMethodRow): PaymentRow {
  return charged(paymentOf(work, payableOf(invoice), amountDue(invoice), method.type), method);
}

function charged(
  payment: PaymentRow,
  { id: paymentMethodId, processor, processorToken }: PaymentMethodRow,
): PaymentRow {
  return { ...payment, paymentMethodId, processor, processorToken, status: 'processing' };
}

/** Money received outside every processor. */
interface ManualMoney {
  /** In minor units, at most the amount due. */
  readonly amount: bigint;
  readonly paidAt: Instant;
  readonly paymentMethod: PaymentMethodType;
  readonly description: string | null;
}

/**
 * Inserts a payment received outside, pending until its success is recorded. The caller has locked the invoice. Refuses
 * one that is not open or is being paid.
 */
export async function insertManualPayment(work: Work, invoice: InvoiceRow, money: ManualMoney): Promise<PaymentRow> {
  payable(invoice.id, invoice, await store.listInvoicesBeingPaid(work, [invoice.id]));
  const known = paymentOf(work, payableOf(invoice), money.amount, money.paymentMethod);
  const payment: PaymentRow = {
    ...known,
    status: 'requires_confirmation',
    chargeDate: money.paidAt,
    description: money.description ?? known.description,
  };
  await store.insertPayments(work, [payment]);
  return payment;
}

/** The part of an invoice, made or not, that its payment needs. */
type Payable = Pick<
  InvoiceRow,
  | 'pricingModelId'
  | 'customerId'
  | 'subscriptionId'
  | 'billingPeriodId'
  | 'purchaseId'
  | 'currency'
  | 'total'
  | 'taxAmount'
  | 'amountPaid'
  | 'offsetAmount'
  | 'balanceApplied'
  | 'attemptCount'
  | 'taxType'
  | 'taxCountry'
  | 'taxState'
  | 'taxRatePercentage'
> & { readonly id: string | null; readonly adjustmentId: string | null; readonly description: string };

function payableOf(invoice: InvoiceRow): Payable {
  return { ...invoice, adjustmentId: null, description: describePayment(invoice) };
}

/** The description of a payment of this invoice. */
export function describePayment({ invoiceNumber }: Pick<InvoiceRow, 'invoiceNumber'>): string {
  return `Invoice ${invoiceNumber}`;
}

/** The common fields of a payment of `amount` minor units for the invoice. */
function paymentOf(work: Work, invoice: Payable, amount: bigint, paymentMethod: PaymentMethodType): PaymentRow {
  assert(amount > 0n && amount <= amountDue(invoice), 'a payment is at most what is due');
  const now = instantOf(work, invoice.customerId);
  const taxAmount = taxUpTo(invoice, invoice.amountPaid + amount) - taxUpTo(invoice, invoice.amountPaid);
  return {
    id: newId('payment', invoice.customerId),
    createdAt: now,
    updatedAt: now,
    pricingModelId: invoice.pricingModelId,
    customerId: invoice.customerId,
    invoiceId: invoice.id,
    subscriptionId: invoice.subscriptionId,
    billingPeriodId: invoice.billingPeriodId,
    purchaseId: invoice.purchaseId,
    adjustmentId: invoice.adjustmentId,
    paymentMethodId: null,
    paymentMethod,
    processor: manualProcessor.name,
    processorToken: null,
    processorReference: null,
    checkAt: null,
    amount,
    subtotal: amount - taxAmount,
    taxAmount,
    taxType: invoice.taxType,
    taxCountry: invoice.taxCountry,
    taxState: invoice.taxState,
    taxRatePercentage: invoice.taxRatePercentage,
    currency: invoice.currency,
    status: 'processing',
    attemptNumber: invoice.attemptCount + 1,
    customerPresent: work.attended,
    onRequest: false,
    chargeDate: now,
    settlementDate: null,
    description: invoice.description,
    receiptNumber: null,
    receiptUrl: null,
    nextAction: null,
    failureCode: null,
    failureMessage: null,
    refundedAmount: 0n,
    refundingAmount: 0n,
    refundedAt: null,
  };
}

/** The tax in the first `paid` minor units of an invoice, so that the tax of its payments adds up. */
function taxUpTo({ taxAmount, total }: Pick<Payable, 'taxAmount' | 'total'>, paid: bigint): bigint {
  return mulDiv(taxAmount, paid, total);
}

import assert from 'node:assert/strict';
import { findCustomer } from '../customers/store.ts';
import { markInvoicePaid, recordPaymentProgress } from '../invoicing/actions.ts';
import { amountDue, nextInvoiceStatus } from '../invoicing/invoice.ts';
import { type InvoiceRow, lockInvoice } from '../invoicing/store.ts';
import type { Instant } from '../kernel/calendar.ts';
import { mulDiv } from '../kernel/money.ts';
import { type PageRequest, page } from '../kernel/page.ts';
import { Problem } from '../kernel/problem.ts';
import type { Database } from '../platform/database.ts';
import { requestEffect } from '../platform/jobs.ts';
import { newId } from '../platform/new-id.ts';
import { publish } from '../platform/outbox.ts';
import type { Work } from '../platform/work.ts';
import { decideCharge, type Payment } from './payment.ts';
import type { PaymentMethod } from './payment-method.ts';
import type { ChargeOutcome, Processors } from './processor.ts';
import { manualProcessor } from './processor-manual.ts';
import { createTestProcessor } from './processor-test.ts';
import type { PaymentRow } from './store.ts';
import * as store from './store.ts';
import type { PaymentMethodRow } from './store-payment-methods.ts';
import * as methods from './store-payment-methods.ts';
import { createTestNetworkMemory } from './store-test-processor.ts';

// Nobody has more cards; the list of payment methods goes further, page by page.
const maxMethodsOfCustomer = 100;

/** The task that performs a charge. It belongs to the life cycle, because what follows a charge does. */
export const chargeTask = 'charge_payment';

/** The processors that there are. `database` is for the one that remembers by itself; it needs no transaction. */
export function createProcessors(database: Database): Processors {
  const test = createTestProcessor(createTestNetworkMemory(database));
  const processors = [test, manualProcessor];
  return {
    named(name) {
      const processor = processors.find((each) => each.name === name);
      assert(processor, `no processor ${name}`);
      return processor;
    },
    // The test network moves no money, so live mode must never take its word for a payment.
    defaultIn: ({ livemode }) => (livemode ? manualProcessor : test),
  };
}

/** A payment as clients see it. */
export function renderPayment(work: Work, row: PaymentRow): Payment {
  const { processor: _, processorToken: _token, processorReference: _reference, checkAt: _check, ...kept } = row;
  const { attemptNumber: _attempt, refundingAmount: _refunding, ...shown } = kept;
  return {
    ...shown,
    livemode: work.livemode,
    organizationId: work.organizationId,
    purchaseId: null,
    receiptURL: null,
    taxType: null,
    taxCountry: null,
    taxState: null,
    taxRatePercentage: null,
    applicationFee: null,
    refunded: row.status === 'refunded',
    refundedAmount: row.refundedAmount === 0n ? null : row.refundedAmount,
  };
}

export async function getPayment(work: Work, id: string): Promise<Payment> {
  const payment = await store.findPayment(work, id);
  if (payment === null) throw new Problem('paymentNotFound', { id });
  return renderPayment(work, payment);
}

export async function listPayments(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfPayments(work, request);
  const payments = rows.map((row) => renderPayment(work, row));
  return page(request, payments, total);
}

export function findPayment(work: Work, id: string): Promise<PaymentRow | null> {
  return store.findPayment(work, id);
}

/** Charges that take their time and whose processor is to be asked again by `until`, the longest due first. */
export function listPaymentsToCheck(work: Work, until: Instant, limit: number): Promise<PaymentRow[]> {
  return store.listPaymentsToCheck(work, until, limit);
}

export function findPaymentMethod(work: Work, id: string): Promise<PaymentMethodRow | null> {
  return methods.findPaymentMethod(work, id);
}

/** What the customer is charged on where nothing else is said: the default, else the first; null without any. */
export async function defaultPaymentMethod(work: Work, customerId: string): Promise<PaymentMethodRow | null> {
  const [first] = await methods.listPaymentMethodsOfCustomer(work, customerId, 1);
  return first ?? null;
}

/** The customer's payment methods, the default first. */
export async function listPaymentMethodsOfCustomer(work: Work, customerId: string): Promise<PaymentMethod[]> {
  const rows = await methods.listPaymentMethodsOfCustomer(work, customerId, maxMethodsOfCustomer);
  return rows.map((row) => renderPaymentMethod(work, row));
}

/** A payment method as clients see it. */
export function renderPaymentMethod(work: Work, row: PaymentMethodRow): PaymentMethod {
  const { isDefault, processor: _, processorToken: _token, ...shown } = row;
  return { ...shown, default: isDefault, livemode: work.livemode };
}

export interface ChargeOrder {
  readonly invoice: InvoiceRow;
  readonly paymentMethodId: string;
  /** Which try at the invoice it is, counted from 1. */
  readonly attemptNumber?: number;
  /** What a dry run takes for granted of the charge's consequences; by default that it succeeds, and no more. */
  readonly assume?: (work: Work, paymentId: string) => Promise<void>;
}

/**
 * Asks for the money that is due on the invoice: a payment that is being processed, and the task that charges it after
 * the commit. Refuses an invoice that is not open or is being paid already.
 */
export async function requestCharge(work: Work, order: ChargeOrder): Promise<PaymentRow> {
  const { paymentMethodId, attemptNumber = 1, assume = assumeSuccess } = order;
  const invoice = await lockInvoice(work, order.invoice.id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id: order.invoice.id });
  const { id: invoiceId, customerId, status } = invoice;
  if ((await store.findLivePayment(work, invoiceId)) !== null)
    throw new Problem('invoiceAlreadyBeingPaid', { invoiceId });
  if (nextInvoiceStatus(status, 'payment_begun') === null)
    throw new Problem('invoiceNotOpen', { id: invoiceId, status });
  const method = await methods.findPaymentMethod(work, paymentMethodId);
  if (method?.customerId !== customerId) throw new Problem('paymentMethodNotFound', { id: paymentMethodId });

  const payment = newPayment(work, invoice, method, attemptNumber);
  await store.insertPayment(work, payment);
  await requestEffect(work, {
    task: chargeTask,
    payload: { paymentId: payment.id },
    key: `${chargeTask}:${payment.id}`,
    assume: (dryWork) => assume(dryWork, payment.id),
  });
  // In a dry run the charge has ended by now.
  return work.dryRun ? ((await store.findPayment(work, payment.id)) ?? payment) : payment;
}

async function assumeSuccess(work: Work, paymentId: string): Promise<void> {
  await applyChargeOutcome(work, paymentId, assumedSuccess(work));
}

/** What a dry run puts in place of the processor's answer. */
export function assumedSuccess(work: Work): ChargeOutcome {
  return { result: 'succeeded', reference: 'dry_run', settledAt: work.now, receiptNumber: null };
}

function newPayment(work: Work, invoice: InvoiceRow, method: PaymentMethodRow, attemptNumber: number): PaymentRow {
  const amount = amountDue(invoice);
  assert(amount > 0n, 'an open invoice has something due');
  const taxAmount = mulDiv(invoice.taxAmount, amount, invoice.total);
  return {
    id: newId('payment'),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: invoice.pricingModelId,
    customerId: invoice.customerId,
    invoiceId: invoice.id,
    subscriptionId: invoice.subscriptionId,
    billingPeriodId: invoice.billingPeriodId,
    paymentMethodId: method.id,
    paymentMethod: method.type,
    processor: method.processor,
    processorToken: method.processorToken,
    processorReference: null,
    checkAt: null,
    amount,
    subtotal: amount - taxAmount,
    taxAmount,
    currency: invoice.currency,
    status: 'processing',
    attemptNumber,
    chargeDate: work.now,
    settlementDate: null,
    description: `Invoice ${invoice.invoiceNumber}`,
    receiptNumber: null,
    failureCode: null,
    failureMessage: null,
    refundedAmount: 0n,
    refundingAmount: 0n,
    refundedAt: null,
  };
}

/**
 * Charges the payment, or asks how its charge stands at `now` when the processor has it already. Outside of any
 * transaction. The payment's id is the idempotency key, so a second call never charges again.
 */
export async function performCharge(
  processors: Processors,
  payment: PaymentRow,
  now: Instant = payment.chargeDate,
): Promise<ChargeOutcome> {
  const processor = processors.named(payment.processor);
  if (payment.processorReference !== null) return processor.retrieve(payment.processorReference, now);
  return processor.charge({
    idempotencyKey: payment.id,
    amount: payment.amount,
    currency: payment.currency,
    token: payment.processorToken,
    description: payment.description,
    now: payment.chargeDate,
  });
}

/** Holds a payment and its invoice until the work ends, the invoice first, as everyone does who needs both. */
export async function lockWithInvoice(
  work: Work,
  paymentId: string,
): Promise<{ payment: PaymentRow; invoice: InvoiceRow }> {
  const found = await store.findPayment(work, paymentId);
  if (found === null) throw new Problem('paymentNotFound', { id: paymentId });
  const invoice = await lockInvoice(work, found.invoiceId);
  const payment = await store.lockPayment(work, paymentId);
  assert(invoice && payment, 'invoices and payments are never deleted');
  return { payment, invoice };
}

export interface AppliedCharge {
  readonly payment: PaymentRow;
  readonly invoice: InvoiceRow;
  /** Whether the payment has another status now: false when it is told again, or is still under way. */
  readonly changed: boolean;
}

/**
 * Writes down how a charge ended, or how far it is, on the payment and its invoice, and publishes `payment.succeeded`
 * or `payment.failed`. What is told twice, or after the payment has ended, changes nothing.
 */
export async function applyChargeOutcome(
  work: Work,
  paymentId: string,
  outcome: ChargeOutcome,
): Promise<AppliedCharge> {
  const { payment, invoice } = await lockWithInvoice(work, paymentId);
  const change = decideCharge(payment, outcome);
  if (change === null) return { payment, invoice, changed: false };
  const changedPayment = await store.updatePayment(work, paymentId, change);
  const changedInvoice = await applyToInvoice(work, changedPayment);
  const changed = changedPayment.status !== payment.status;
  await publishEnd(work, changedPayment);
  return { payment: changedPayment, invoice: changedInvoice, changed };
}

async function applyToInvoice(work: Work, { status, invoiceId, amount }: PaymentRow): Promise<InvoiceRow> {
  if (status === 'succeeded') return markInvoicePaid(work, invoiceId, amount);
  const hasEnded = status === 'failed' || status === 'canceled';
  return recordPaymentProgress(work, invoiceId, hasEnded ? 'payment_failed' : 'payment_begun');
}

/** A payment that was called off brought no money either: it is told as failed. */
async function publishEnd(work: Work, payment: PaymentRow): Promise<void> {
  const hasEnded = payment.status === 'succeeded' || payment.status === 'failed' || payment.status === 'canceled';
  if (!hasEnded) return;
  const customer = await findCustomer(work, payment.customerId);
  assert(customer, 'a payment has its customer');
  await publish(work, [
    {
      type: payment.status === 'succeeded' ? 'payment.succeeded' : 'payment.failed',
      object: 'payment',
      objectId: payment.id,
      pricingModelId: payment.pricingModelId,
      customer: { id: customer.id, externalId: customer.externalId },
    },
  ]);
}

import assert from 'node:assert/strict';
import { listExternalIds } from '../customers/store.ts';
import { publish } from '../customers/store-events.ts';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import { type InvoiceRow, lockInvoice } from '../invoicing/store.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import type { Payment } from './payment.ts';
import type { PaymentMethod } from './payment-method.ts';
import type { PaymentProcessor, Processors } from './processor.ts';
import { manualProcessor } from './processor-manual.ts';
import type { StripeProcessor } from './processor-stripe.ts';
import { createTestProcessor } from './processor-test.ts';
import type { PaymentRow } from './store.ts';
import * as store from './store.ts';
import type { PaymentMethodRow } from './store-payment-methods.ts';
import * as methods from './store-payment-methods.ts';
import { createTestNetworkMemory } from './store-test-processor.ts';

// More cards than customers have; the list of payment methods goes further.
const maxMethodsOfCustomer = 100;

/**
 * The task that performs charges and queries their status. Billing implements it, because the consequences of a charge
 * belong there.
 */
export const chargeTask = 'charge_payments';

/** The part of the external services that moves money. */
export interface WithStripe {
  /** The accounts at Stripe: one for each mode at the most. */
  readonly stripe?: readonly StripeProcessor[];
}

/** The accounts at Stripe that the service was started with. */
export function stripeOf({ stripe = [] }: WithStripe = {}): readonly StripeProcessor[] {
  return stripe;
}

/** The processors that there are. `database` is for the one that stores its own state; it needs no transaction. */
export function createProcessors(database: Database, services: WithStripe = {}): Processors {
  const test = createTestProcessor(createTestNetworkMemory(database));
  const processors: readonly PaymentProcessor[] = [test, manualProcessor, ...stripeOf(services)];
  return {
    named(name) {
      const processor = processors.find((each) => each.name === name);
      if (processor === undefined) throw new Problem('processorNotConfigured', { processor: name });
      return processor;
    },
    defaultIn({ livemode }) {
      const account = stripeOf(services).find((each) => each.livemode === livemode);
      // The test network moves no money, so live mode must never take its word for a payment.
      return account ?? (livemode ? manualProcessor : test);
    },
  };
}

/** A payment as returned by the API. */
export function renderPayment(work: Work, row: PaymentRow): Payment {
  const { processor: _, processorToken: _token, processorReference: _reference, checkAt: _check, ...kept } = row;
  const {
    attemptNumber: _attempt,
    refundingAmount: _refunding,
    customerPresent: _present,
    onRequest: _asked,
    adjustmentId: _change,
    receiptUrl,
    ...shown
  } = kept;
  return {
    ...shown,
    livemode: work.livemode,
    organizationId: work.organizationId,
    receiptURL: receiptUrl,
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

export function findPaymentMethod(work: Work, id: string): Promise<PaymentMethodRow | null> {
  return methods.findPaymentMethod(work, id);
}

/** The customer's default payment method, else its first; null without any. */
export async function defaultPaymentMethod(work: Work, customerId: string): Promise<PaymentMethodRow | null> {
  const [first] = await methods.listPaymentMethodsOfCustomer(work, customerId, 1);
  return first ?? null;
}

/** The fields of a subscription that determine its payment method. */
interface Chargeable {
  readonly id: string;
  readonly customerId: string;
  readonly defaultPaymentMethodId: string | null;
}

/**
 * The payment method of each subscription, by subscription id: its own default, else the customer's default, else the
 * customer's first. Subscriptions without any are missing.
 */
export async function listChargeableMethods(
  work: Work,
  subscriptions: readonly Chargeable[],
): Promise<Map<string, string>> {
  const without = subscriptions.filter((subscription) => subscription.defaultPaymentMethodId === null);
  const customerIds = [...new Set(without.map((subscription) => subscription.customerId))];
  const stored = await methods.listDefaultMethods(work, customerIds);
  const charged = subscriptions.flatMap(({ id, customerId, defaultPaymentMethodId }) => {
    const methodId = defaultPaymentMethodId ?? stored.get(customerId);
    return methodId === undefined ? [] : [[id, methodId] as const];
  });
  return new Map(charged);
}

/** The customer's payment methods, the default first. */
export async function listPaymentMethodsOfCustomer(
  work: Work,
  customerId: string,
  limit = maxMethodsOfCustomer,
): Promise<PaymentMethod[]> {
  const rows = await methods.listPaymentMethodsOfCustomer(work, customerId, limit);
  return rows.map((row) => renderPaymentMethod(work, row));
}

/** Publishes that these cards expire, once for each expiry. The caller has locked them. */
export async function publishExpiring(work: Work, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const expiring = await methods.findPaymentMethods(work, ids);
  const externalIds = await listExternalIds(work, [...new Set(expiring.map(({ customerId }) => customerId))]);
  await publish(
    work,
    expiring.map((method) => {
      const { id, pricingModelId, customerId, paymentMethodData } = method;
      const externalId = externalIds.get(customerId);
      assert(externalId !== undefined, 'a payment method has its customer');
      const about = { type: 'payment_method.expiring', object: 'paymentMethod', objectId: id, pricingModelId };
      const cause = `${paymentMethodData.expMonth}/${paymentMethodData.expYear}`;
      const data = renderPaymentMethod(work, method);
      return { ...about, customer: { id: customerId, externalId }, data, cause };
    }),
  );
  await methods.endExpiryNotices(work, ids);
}

/** A payment method as returned by the API. */
export function renderPaymentMethod(work: Work, row: PaymentMethodRow): PaymentMethod {
  const { isDefault, processor: _, processorToken: _token, fingerprint: _same, ...shown } = row;
  return { ...shown, default: isDefault, livemode: work.livemode };
}

/**
 * Locks a payment and its invoice until the work ends, the invoice first, as everywhere. Refuses with
 * `paymentNotRefundable` one without an invoice, which has brought no money.
 */
export async function lockWithInvoice(
  work: Work,
  paymentId: string,
): Promise<{ payment: PaymentRow; invoice: InvoiceRow }> {
  const found = await store.findPayment(work, paymentId);
  if (found === null) throw new Problem('paymentNotFound', { id: paymentId });
  const { invoiceId, status } = found;
  if (invoiceId === null) throw new Problem('paymentNotRefundable', { id: paymentId, status });
  const invoice = await lockInvoice(work, invoiceId);
  const payment = await store.lockPayment(work, paymentId);
  assert(invoice && payment, 'invoices and payments are never deleted');
  return { payment, invoice };
}

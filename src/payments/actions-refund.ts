import assert from 'node:assert/strict';
import { listExternalIds, lockCustomer } from '../customers/store.ts';
import { publish } from '../customers/store-events.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { recordInvoiceRefund } from '../invoicing/actions.ts';
import { returnable } from '../invoicing/invoice.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { requestEffect } from '../jobs/queue.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { recordPurchaseRefund } from '../purchases/actions.ts';
import { type RefundedCredit, readRefundedCredits, takeBackBought } from '../usage/actions-bought.ts';
import { getPayment, lockWithInvoice } from './actions.ts';
import { decideRefund, decideRefunded, type Payment, type Refund } from './payment.ts';
import type { Processors, RefundOutcome } from './processor.ts';
import type { PaymentRow } from './store.ts';
import * as payments from './store.ts';
import * as refunds from './store-refunds.ts';

/** The task that sends a refund to the processor and records its outcome. */
export const refundTask = 'refund_payment';

/** Records the assumed outcome of a refund in a dry run. */
type AssumeRefunded = (work: Work, refundId: string, outcome: RefundOutcome) => Promise<unknown>;

/** Makes the credit note of a refund, and returns its id; null if there is nothing that it could credit. */
export type CreditRefund = (
  work: Work,
  refund: { readonly invoiceId: string; readonly paymentId: string; readonly amount: bigint },
) => Promise<string | null>;

/** The response of a refund request. */
export interface RefundAnswer {
  readonly payment: Payment;
  readonly refundId: string;
  /** The credits that the refunded purchase bought. */
  readonly credits: RefundedCredit[];
}

/**
 * Refunds part of a payment, or with null the whole remainder: reserves the amount and requests the refund, which is
 * sent to the processor after the commit. Returns the payment as before the refund, in a dry run as after it, where
 * `assume` applies the consequences of a success. The caller has locked the customer and the subscription.
 */
export async function refundPayment(
  work: Work,
  id: string,
  {
    partialAmount,
    assume,
    credit,
  }: {
    readonly partialAmount: number | null;
    readonly assume: AssumeRefunded;
    readonly credit: CreditRefund;
  },
): Promise<RefundAnswer> {
  const { payment, invoice } = await lockRefunded(work, id);
  const amount = decideRefund(payment, partialAmount);
  await refuseGivenBack(work, invoice, amount);
  const refund: Refund = {
    id: newId('refund', id),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: payment.pricingModelId,
    paymentId: id,
    creditNoteId: await credit(work, { invoiceId: invoice.id, paymentId: id, amount }),
    amount,
    status: 'pending',
    processorReference: null,
    failureMessage: null,
  };
  await refunds.insertRefund(work, refund);
  const isReserved = await payments.reserveRefund(work, id, amount);
  assert(isReserved, 'what remains of a locked payment stays');
  await publishRefund(work, refund);
  await requestEffect(work, {
    task: refundTask,
    payload: { refundId: refund.id },
    key: `${refundTask}:${refund.id}`,
    async assume(dryWork) {
      await assume(dryWork, refund.id, { result: 'succeeded', reference: 'dry_run' });
    },
  });
  return answerOf(work, refund);
}

/** Publishes `refund.created` with the payment as the API returns it now. */
export async function publishRefund(work: Work, { id, amount, paymentId }: Refund): Promise<void> {
  const payment = await getPayment(work, paymentId);
  const { customerId, pricingModelId } = payment;
  const externalId = (await listExternalIds(work, [customerId])).get(customerId);
  assert(externalId !== undefined, 'a payment has its customer');
  const customer = { id: customerId, externalId };
  const about = { type: 'refund.created', object: 'payment', objectId: paymentId, pricingModelId, customer };
  await publish(work, [{ ...about, data: payment, refund: { id, amount }, cause: id }]);
}

/** Refuses to refund what credit notes have added to the balance of the customer. */
async function refuseGivenBack(work: Work, invoice: InvoiceRow, amount: bigint): Promise<void> {
  if (invoice.balanceCredited === 0n) return;
  const left = returnable(invoice, await payments.refundingOf(work, invoice.id));
  if (amount <= left) return;
  const reason = `must be at most ${left}: ${invoice.balanceCredited} went to the balance of the customer by credit notes`;
  throw invalid(['partialAmount'], reason);
}

/** The payment after its refund, for the original request. Refuses with the reason of a failed refund. */
export async function reportRefund(work: Work, { refundId }: Pick<RefundAnswer, 'refundId'>): Promise<RefundAnswer> {
  const refund = await refunds.findRefund(work, refundId);
  assert(refund, 'refunds are never deleted');
  if (refund.status === 'failed') throw new Problem('refundFailed', { reason: refund.failureMessage ?? '' });
  return answerOf(work, refund);
}

async function answerOf(work: Work, { id: refundId, paymentId }: Refund): Promise<RefundAnswer> {
  const payment = await getPayment(work, paymentId);
  const { purchaseId } = payment;
  return {
    payment,
    refundId,
    credits: purchaseId === null ? [] : await readRefundedCredits(work, { purchaseId, refundId }),
  };
}

/**
 * Locks a payment and its invoice until the work ends. The customer of a purchase is locked before, because a refund
 * takes its credits back, which must not be transferred meanwhile.
 */
export async function lockRefunded(
  work: Work,
  paymentId: string,
): Promise<{ readonly payment: PaymentRow; readonly invoice: InvoiceRow }> {
  const found = await payments.findPayment(work, paymentId);
  if (found !== null && found.purchaseId !== null) await lockCustomer(work, found.customerId);
  return lockWithInvoice(work, paymentId);
}

/** A refund to send to the processor. */
interface PendingRefund {
  readonly refund: Refund;
  readonly payment: PaymentRow;
}

/** The refund with its payment, or null if it has ended. */
export async function findPendingRefund(work: Work, refundId: string): Promise<PendingRefund | null> {
  const refund = await refunds.findRefund(work, refundId);
  if (refund?.status !== 'pending') return null;
  const payment = await payments.findPayment(work, refund.paymentId);
  assert(payment, 'a refund has its payment');
  return { refund, payment };
}

/**
 * Sends the refund to the processor, outside any transaction. The refund's id is the idempotency key, so a repeated
 * call after a crash never refunds twice.
 */
export async function performRefund(
  processors: Processors,
  { refund, payment }: PendingRefund,
): Promise<RefundOutcome> {
  return processors.named(payment.processor).refund({
    idempotencyKey: refund.id,
    reference: payment.processorReference,
    amount: refund.amount,
    currency: payment.currency,
    now: refund.createdAt,
  });
}

/**
 * Records the outcome of a refund on the payment, its invoice and its purchase, whose unused credits are taken back.
 * Returns the invoice as before; null if the refund failed or has ended before, which stays as it is.
 */
export async function applyRefundOutcome(
  work: Work,
  refundId: string,
  outcome: RefundOutcome,
): Promise<InvoiceRow | null> {
  const found = await findPendingRefund(work, refundId);
  if (found === null) return null;
  const { payment, invoice } = await lockRefunded(work, found.payment.id);
  const refund = await refunds.findRefund(work, refundId);
  if (refund?.status !== 'pending') return null;

  const change = decideRefunded(payment, refund.amount, outcome.result);
  if (outcome.result === 'failed') {
    const failureMessage = `${outcome.code}: ${outcome.message}`;
    await payments.updatePayment(work, payment.id, change);
    await refunds.updateRefund(work, refundId, { status: 'failed', processorReference: null, failureMessage });
    return null;
  }
  await payments.updatePayment(work, payment.id, { ...change, refundedAt: work.now });
  await refunds.updateRefund(work, refundId, {
    status: 'succeeded',
    processorReference: outcome.reference,
    failureMessage: null,
  });
  await recordRefunded(work, refundId, { payment, amount: refund.amount });
  return invoice;
}

/** Records a succeeded refund on the invoice and the purchase of its payment. */
export async function recordRefunded(
  work: Work,
  refundId: string,
  { payment, amount }: { readonly payment: PaymentRow; readonly amount: bigint },
): Promise<void> {
  assert(payment.invoiceId !== null, 'money has its invoice');
  const invoice = await recordInvoiceRefund(work, payment.invoiceId, amount);
  await recordPurchaseRefund(work, invoice);
  const { purchaseId } = payment;
  if (purchaseId === null) return;
  await takeBackBought(work, {
    refundId,
    purchaseId,
    refunded: invoice.amountRefunded,
    price: invoice.total - invoice.offsetAmount,
  });
}

/**
 * Applies the refunds of an invoice, which was paid in parts, to its purchase that has just been completed. Each takes back
 * its share of the credits, as if it had come later. The caller has locked the customer.
 */
export async function recordEarlierRefunds(work: Work, invoice: InvoiceRow): Promise<void> {
  await recordPurchaseRefund(work, invoice);
  let refunded = 0n;
  for (const { id: refundId, purchaseId, amount } of await refunds.listRefundsOfPurchase(work, invoice.id)) {
    refunded += amount;
    await takeBackBought(work, { refundId, purchaseId, refunded, price: invoice.total - invoice.offsetAmount });
  }
}

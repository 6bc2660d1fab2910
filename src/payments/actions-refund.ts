import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { recordInvoiceRefund } from '../invoicing/actions.ts';
import { requestEffect } from '../jobs/queue.ts';
import { Problem } from '../kernel/problem.ts';
import { recordPurchaseRefund } from '../purchases/actions.ts';
import { getPayment, lockWithInvoice } from './actions.ts';
import { decideRefund, decideRefunded, type Payment, type Refund } from './payment.ts';
import type { Processors, RefundOutcome } from './processor.ts';
import type { PaymentRow } from './store.ts';
import * as payments from './store.ts';
import * as refunds from './store-refunds.ts';

/** The task that sends a refund to the processor and records its outcome. */
export const refundTask = 'refund_payment';

/** The response of a refund request. */
interface RefundAnswer {
  readonly payment: Payment;
}

// The response has no field for its refund, but reporting the outcome needs it.
const refundOfAnswer = new WeakMap<RefundAnswer, string>();

/**
 * Refunds part of a payment, or with null the whole remainder: reserves the amount and requests the refund, which is
 * sent to the processor after the commit. Returns the payment as before the refund, in a dry run as after it.
 */
export async function refundPayment(work: Work, id: string, partialAmount: number | null): Promise<RefundAnswer> {
  const { payment } = await lockWithInvoice(work, id);
  const amount = decideRefund(payment, partialAmount);
  const refund: Refund = {
    id: newId('refund'),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: payment.pricingModelId,
    paymentId: id,
    amount,
    status: 'pending',
    processorReference: null,
    failureMessage: null,
  };
  await refunds.insertRefund(work, refund);
  const isReserved = await payments.reserveRefund(work, id, amount);
  assert(isReserved, 'what remains of a locked payment stays');
  await requestEffect(work, {
    task: refundTask,
    payload: { refundId: refund.id },
    key: `${refundTask}:${refund.id}`,
    assume: (dryWork) => applyRefundOutcome(dryWork, refund.id, { result: 'succeeded', reference: 'dry_run' }),
  });
  const answer = { payment: await getPayment(work, id) };
  refundOfAnswer.set(answer, refund.id);
  return answer;
}

/** The payment after its refund, for the original request. Refuses with the reason of a failed refund. */
export async function reportRefund(work: Work, answer: RefundAnswer): Promise<RefundAnswer> {
  const refund = await refunds.findRefund(work, refundOfAnswer.get(answer) ?? '');
  if (refund?.status === 'failed') throw new Problem('refundFailed', { reason: refund.failureMessage ?? '' });
  return { payment: await getPayment(work, answer.payment.id) };
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

/** Records the outcome of a refund on the payment and its invoice. A refund that has ended stays as it is. */
export async function applyRefundOutcome(work: Work, refundId: string, outcome: RefundOutcome): Promise<void> {
  const found = await findPendingRefund(work, refundId);
  if (found === null) return;
  const { payment } = await lockWithInvoice(work, found.payment.id);
  const refund = await refunds.findRefund(work, refundId);
  if (refund?.status !== 'pending') return;

  const change = decideRefunded(payment, refund.amount, outcome.result);
  if (outcome.result === 'failed') {
    const failureMessage = `${outcome.code}: ${outcome.message}`;
    await payments.updatePayment(work, payment.id, change);
    await refunds.updateRefund(work, refundId, { status: 'failed', processorReference: null, failureMessage });
    return;
  }
  await payments.updatePayment(work, payment.id, { ...change, refundedAt: work.now });
  await refunds.updateRefund(work, refundId, {
    status: 'succeeded',
    processorReference: outcome.reference,
    failureMessage: null,
  });
  await recordPurchaseRefund(work, await recordInvoiceRefund(work, payment.invoiceId, refund.amount));
}

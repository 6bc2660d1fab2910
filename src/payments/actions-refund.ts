import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { recordInvoiceRefund } from '../invoicing/actions.ts';
import { requestEffect } from '../jobs/queue.ts';
import { Problem } from '../kernel/problem.ts';
import { recordPurchaseRefund } from '../purchases/actions.ts';
import { getPayment, lockWithInvoice } from './actions.ts';
import { decideRefund, decideRefunded, type Payment } from './payment.ts';
import type { Processors, RefundOutcome } from './processor.ts';
import type { Refund } from './refund.ts';
import type { PaymentRow } from './store.ts';
import * as payments from './store.ts';
import * as refunds from './store-refunds.ts';

/** The task that takes a refund to the processor and writes down how it ended. */
export const refundTask = 'refund_payment';

/** What a refund request answers. */
export interface RefundAnswer {
  readonly payment: Payment;
}

// An answer has no room for the refund it is about, and the request needs to know how that one ended.
const refundOfAnswer = new WeakMap<RefundAnswer, string>();

/**
 * Refunds part of a payment, or with null all that remains: reserves the amount and asks for the refund, which the
 * processor is told of after the commit. The answer is the payment before that, in a dry run after it.
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

/** The payment after its refund, for the request that asked for it. Refuses with the reason when there was none. */
export async function reportRefund(work: Work, answer: RefundAnswer): Promise<RefundAnswer> {
  const refund = await refunds.findRefund(work, refundOfAnswer.get(answer) ?? '');
  if (refund?.status === 'failed') throw new Problem('refundFailed', { reason: refund.failureMessage ?? '' });
  return { payment: await getPayment(work, answer.payment.id) };
}

/** A refund that the processor is to be told of. */
export interface PendingRefund {
  readonly refund: Refund;
  readonly payment: PaymentRow;
}

/** The refund with its payment, or null when it has ended already. */
export async function findPendingRefund(work: Work, refundId: string): Promise<PendingRefund | null> {
  const refund = await refunds.findRefund(work, refundId);
  if (refund?.status !== 'pending') return null;
  const payment = await payments.findPayment(work, refund.paymentId);
  assert(payment, 'a refund has its payment');
  return { refund, payment };
}

/**
 * Tells the processor. Outside of any transaction. The refund's id is the idempotency key, so that a second call, after
 * a crash before the first was written down, never gives money back twice.
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

/** Writes down how a refund ended, on the payment and its invoice. A refund that has ended already stays as it is. */
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

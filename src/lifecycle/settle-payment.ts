import { voidInvoice } from '../invoicing/actions.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import type { Instant } from '../kernel/calendar.ts';
import { applyChargeOutcome, chargeTask, findPayment, listPayments, performCharge } from '../payments/actions.ts';
import type { ChargeOutcome, Processors } from '../payments/processor.ts';
import type { PaymentRow } from '../payments/store.ts';
import { enqueue, type JobContext } from '../platform/jobs.ts';
import { runInEnvironment, type Work } from '../platform/work.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { saveSubscription } from '../subscriptions/store.ts';
import { isTerminal, statusAfter } from '../subscriptions/subscription.ts';
import { endSubscription, type Held, holdSubscription } from './cancel.ts';
import { recordPaid } from './record-paid.ts';

/**
 * Takes one payment as far as it goes: asks the processor, outside of any transaction, then writes down in one what it
 * said and what follows from it. Safe to run twice and twice at once: the processor charges once for each payment,
 * and what is told twice changes nothing.
 */
export async function settlePayment(
  { database }: JobContext,
  processors: Processors,
  environmentId: number,
  paymentId: string,
): Promise<void> {
  const entry = { environmentId };
  const found = await runInEnvironment(database, entry, async (work) => ({
    payment: await findPayment(work, paymentId),
    now: work.now,
  }));
  if (found === null || found.answer.payment === null || hasEnded(found.answer.payment)) return;
  const outcome = await performCharge(processors, found.answer.payment, found.answer.now);
  await runInEnvironment(database, entry, (work) => settleCharge(work, paymentId, outcome));
}

function hasEnded({ status }: PaymentRow): boolean {
  return status !== 'processing' && status !== 'requires_confirmation' && status !== 'requires_action';
}

/** Writes down how a charge ended, or how far it is, and does what follows. Telling it again changes nothing. */
export async function settleCharge(work: Work, paymentId: string, outcome: ChargeOutcome): Promise<void> {
  const before = await findPayment(work, paymentId);
  if (before === null) return;
  // Customer and subscription first, then invoice and payment: the order in which everyone takes them.
  const held = before.subscriptionId === null ? null : await holdSubscription(work, before.subscriptionId);
  const { payment, invoice, changed } = await applyChargeOutcome(work, paymentId, outcome);
  if (payment.checkAt !== null && !hasEnded(payment)) await askAgain(work, payment.id, payment.checkAt);
  if (!changed) return;
  if (payment.status === 'succeeded') return recordPaid(work, invoice, payment.paymentMethodId);
  if (hasEnded(payment) && held !== null) await recordFailed(work, held, invoice);
}

// The environment's clock may stand still while real time goes on, so a check that changes nothing must not come back
// at once.
const shortestWaitMs = 60_000;

async function askAgain(work: Work, paymentId: string, checkAt: Instant): Promise<void> {
  const runAt = new Date(Date.now() + Math.max(checkAt - work.now, shortestWaitMs));
  await enqueue(work, chargeTask, { paymentId }, { key: `${chargeTask}:${paymentId}`, runAt });
}

/**
 * What follows when an invoice could not be collected. A subscription that was never paid for ends with its first
 * payment; any other is past due.
 */
async function recordFailed(work: Work, held: Held, invoice: InvoiceRow): Promise<void> {
  const { subscription, customer } = held;
  // A change that was to be paid for has not been made, so there is nothing to take back.
  if (invoice.reason === 'adjustment') return;
  if (isTerminal(subscription.status)) {
    // It ended while its first payment was under way: nobody owes a period that never was.
    if (invoice.reason === 'subscription_start') await voidInvoice(work, invoice.id);
    return;
  }
  if (!subscription.isFreePlan && !(await hasEverPaid(work, subscription.id))) {
    await voidInvoice(work, invoice.id);
    await endSubscription(work, held, { at: work.now, reason: 'non_payment' });
    return;
  }
  const status = statusAfter(subscription.status, 'payment_failed');
  if (status === null || status === subscription.status) return;
  const saved = await saveSubscription(work, subscription.id, { status });
  await publishSubscription(work, 'subscription.updated', saved, customer);
}

async function hasEverPaid(work: Work, subscriptionId: string): Promise<boolean> {
  for (const status of ['succeeded', 'refunded']) {
    const filters = { subscriptionId, status };
    const { total } = await listPayments(work, { cursor: null, after: null, direction: 'forward', limit: 1, filters });
    if (total > 0) return true;
  }
  return false;
}

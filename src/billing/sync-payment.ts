import { type JobContext, runInJob } from '../jobs/queue.ts';
import { recordOutsideRefunds } from '../payments/actions-outside-refunds.ts';
import type { ChargeOutcome, Processors } from '../payments/processor.ts';
import { findPayment } from '../payments/store.ts';
import { settlePayments, settleTold } from './settle-payment.ts';

/**
 * Queries the processor about a payment after an event, and applies changes: a completed charge, refunds made there,
 * reversals. Runs outside any transaction; idempotent.
 */
export async function lookAtPayment(
  context: JobContext,
  processors: Processors,
  environmentId: number,
  paymentId: string,
): Promise<void> {
  await settlePayments(context, processors, environmentId, [paymentId]);
  const found = await runInJob(context, environmentId, async (work) => ({
    payment: await findPayment(work, paymentId),
    now: work.now,
  }));
  if (found === null || found.payment === null) return;
  const { status, processor: name, processorReference: reference, currency } = found.payment;
  if (status !== 'succeeded' || reference === null) return;
  const processor = processors.named(name);
  const refunds = (await processor.listRefunds?.(reference, currency)) ?? [];
  const outcome = await processor.retrieve(reference, found.now);
  await runInJob(context, environmentId, (work) => recordOutsideRefunds(work, paymentId, refunds));
  await settleTold(context, environmentId, [{ paymentId, outcome: sinceItSucceeded(outcome) }]);
}

/** A failure after an earlier success means that the payment was reversed. */
function sinceItSucceeded(outcome: ChargeOutcome): ChargeOutcome {
  if (outcome.result !== 'failed') return outcome;
  return { result: 'reversed', code: outcome.code, message: outcome.message };
}

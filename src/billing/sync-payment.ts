import { type JobContext, runInJob } from '../jobs/queue.ts';
import { recordOutsideRefunds } from '../payments/actions-outside-refunds.ts';
import type { ChargeOutcome, Processors } from '../payments/processor.ts';
import { findPayment } from '../payments/store.ts';
import { settlePayments, settleTold } from './settle-payment.ts';

/**
 * Asks the processor how a payment stands, because it told that something has changed, and does what follows: a charge
 * that has ended, refunds that were made there, money that was taken back. Outside of any transaction; what is found
 * twice changes nothing.
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

/** A charge that had succeeded and has failed by now has lost its money since. */
function sinceItSucceeded(outcome: ChargeOutcome): ChargeOutcome {
  if (outcome.result !== 'failed') return outcome;
  return { result: 'reversed', code: outcome.code, message: outcome.message };
}

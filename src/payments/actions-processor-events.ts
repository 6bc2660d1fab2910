import type { Database } from '../database/database.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import { enqueue } from '../jobs/queue.ts';
import { Problem } from '../kernel/problem.ts';
import type { StripeNotice, StripeProcessor } from './processor-stripe.ts';
import { findPayment } from './store.ts';
import * as store from './store-processor-events.ts';

/** The task that asks a processor how a payment stands. It belongs to the life cycle, because what follows does. */
export const lookTask = 'look_at_payment';

/**
 * Takes an event of Stripe. It carries nothing into our records: it only makes us ask Stripe how the payment stands now,
 * so events may come in any order, late, and several times. Refuses with `signatureInvalid` what none of the accounts
 * has signed, and with `processorNotConfigured` while no account takes events: Stripe sends it again later.
 */
export async function takeStripeEvent(
  database: Database,
  accounts: readonly StripeProcessor[],
  body: Buffer,
  signature: string | undefined,
): Promise<void> {
  const takers = accounts.filter((account) => account.takesEvents);
  if (takers.length === 0) throw new Problem('processorNotConfigured', { processor: 'stripe' });
  const read = await readSigned(takers, body, signature);
  if (read === null) return;
  const { account, notice } = read;
  const { environmentId } = notice;
  // Null for an environment that is not here: another service may share the account.
  await runInEnvironment(database, { environmentId }, (work) => takeNotice(work, account, notice));
}

/** The event, and the account that has signed it; null when it is about no payment of ours. */
async function readSigned(
  accounts: readonly StripeProcessor[],
  body: Buffer,
  signature: string | undefined,
): Promise<{ account: StripeProcessor; notice: StripeNotice } | null> {
  let refusal: unknown;
  for (const account of accounts) {
    try {
      const notice = await account.readEvent(body, signature);
      return notice === null ? null : { account, notice };
    } catch (error) {
      if (!(error instanceof Problem) || error.problem !== 'signatureInvalid') throw error;
      refusal = error;
    }
  }
  throw refusal;
}

async function takeNotice(work: Work, { name }: StripeProcessor, notice: StripeNotice): Promise<void> {
  const { id, paymentId, saysPaid } = notice;
  const payment = await findPayment(work, paymentId);
  if (payment?.processor !== name) return;
  // Each charge has this event, and mostly its answer has come first.
  if (saysPaid && payment.status === 'succeeded') return;
  if (!(await store.insertProcessorEvent(work, name, id))) return;
  // Several events that wait are one look.
  await enqueue(work, lookTask, { paymentId }, { key: `${lookTask}:${paymentId}` });
}

// Stripe sends an event again for three days, and lets people do so for thirty.
const eventLifetimeMs = 31 * 24 * 60 * 60 * 1000;
// A busy day's events, in portions that hold no lock for long.
const forgetAtOnce = 10_000;

/** Deletes events that nobody tells again any more, a portion at a time. Answers how many. */
export function forgetProcessorEventsOnce(database: Database): Promise<number> {
  return store.forgetProcessorEvents(database, Date.now() - eventLifetimeMs, forgetAtOnce);
}

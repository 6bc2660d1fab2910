import { databaseOfRecord, type WithCells } from '../database/cells.ts';
import type { Database } from '../database/database.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import { enqueue, type JobContext } from '../jobs/queue.ts';
import { Problem } from '../kernel/problem.ts';
import { stripeOf } from './actions.ts';
import type { StripeNotice, StripeProcessor } from './processor-stripe.ts';
import { findPayment } from './store.ts';
import * as store from './store-processors.ts';

/**
 * The task that queries a payment's status at its processor. Billing implements it, because the consequences belong
 * there.
 */
export const syncPaymentTask = 'look_at_payment';

/**
 * Handles a Stripe event. Its content is not stored: it only triggers a query of the payment's current status, so
 * events may arrive in any order, late, and repeatedly. Refuses with `signatureInvalid` an event that no account has
 * signed, and with `processorNotConfigured` while no account takes events: Stripe retries later.
 */
export async function takeStripeEvent(
  { database, services }: JobContext,
  body: Buffer,
  signature: string | undefined,
): Promise<void> {
  const takers = stripeOf(services).filter((account) => account.takesEvents);
  if (takers.length === 0) throw new Problem('processorNotConfigured', { processor: 'stripe' });
  const read = await readSigned(takers, body, signature);
  if (read === null) return;
  const { account, notice } = read;
  const { environmentId, paymentId } = notice;
  const take = async () => {
    const there = await databaseOfRecord(database, services, paymentId);
    // Null for an unknown environment: another service may share the account.
    return runInEnvironment(there, { environmentId }, (work) => takeNotice(work, account, notice));
  };
  const { cells }: WithCells = services ?? {};
  if ((await take())?.answer !== 'unknown' || cells === undefined) return;
  // The payment may have moved a moment ago.
  await cells.refresh();
  await take();
}

/** The event and the account that signed it; null if it is not about one of our payments. */
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

async function takeNotice(work: Work, { name }: StripeProcessor, notice: StripeNotice): Promise<'taken' | 'unknown'> {
  const { id, paymentId, saysPaid } = notice;
  const payment = await findPayment(work, paymentId);
  if (payment === null) return 'unknown';
  if (payment.processor !== name) return 'taken';
  // Every charge has this event, and usually its response came first.
  if (saysPaid && payment.status === 'succeeded') return 'taken';
  if (!(await store.insertProcessorEvent(work, name, id))) return 'taken';
  // Several pending events lead to one query.
  await enqueue(work, syncPaymentTask, { paymentId }, { key: `${syncPaymentTask}:${paymentId}` });
  return 'taken';
}

// Stripe retries an event for three days, and lets people resend it for thirty.
const eventLifetimeMs = 31 * 24 * 60 * 60 * 1000;
// A batch size that deletes a busy day's events without holding locks for long.
const forgetAtOnce = 10_000;

/** Deletes a batch of events that are no longer resent. Returns their number. */
export function forgetProcessorEventsOnce(database: Database): Promise<number> {
  return store.forgetProcessorEvents(database, Date.now() - eventLifetimeMs, forgetAtOnce);
}

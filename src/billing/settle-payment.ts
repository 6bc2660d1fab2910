import { creditRefund, lockCreditNote, settleCreditNote, takeBackCreditNote } from '../credit-notes/actions.ts';
import { lockCustomers } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { countDiscounts } from '../invoicing/actions-discounts.ts';
import { type InvoiceRow, withParts } from '../invoicing/store.ts';
import { type JobContext, runInJob } from '../jobs/queue.ts';
import type { Instant } from '../kernel/calendar.ts';
import { readClock } from '../organizations/store-clock.ts';
import { getPayment } from '../payments/actions.ts';
import { requestChecks } from '../payments/actions-charge.ts';
import { recordOutsideRefunds } from '../payments/actions-outside-refunds.ts';
import {
  applyRefundOutcome,
  type CreditRefund,
  findPendingRefund,
  performRefund,
  type RefundAnswer,
  refundPayment,
} from '../payments/actions-refund.ts';
import {
  applyChargeOutcomes,
  type ChangedCharge,
  findChargedPayments,
  performCharges,
  type ReportedCharge,
  reportCharges,
} from '../payments/actions-settle.ts';
import type { ChargeOutcome, Processors, RefundOutcome } from '../payments/processor.ts';
import { findPayment, findPayments, isInFlight, type PaymentRow, takePaymentsToCheck } from '../payments/store.ts';
import { lockLivingSubscriptionsOf, lockSubscriptions } from '../subscriptions/store.ts';
import { reopenPaidPeriods } from '../subscriptions/store-billing-periods.ts';
import type { DueWorkHandler } from './due-work-runner.ts';
import { assumeMade, leaveUnbought, makePaidFor } from './make-bought.ts';
import { recountKeptValue } from './paused-time.ts';
import { type FailedAttempt, leaveUnchanged, recordFailed } from './record-failed.ts';
import { recordPaid } from './record-paid.ts';

/**
 * Advances payments: queries the processor outside any transaction, then records the response and its consequences.
 * Safe to repeat and to run concurrently: the processor charges each payment once, and repeated outcomes change
 * nothing. All errors are thrown together at the end. `requestedAt` is the environment's time at which that was asked for.
 */
export async function settlePayments(
  context: JobContext,
  processors: Processors,
  environmentId: number,
  paymentIds: readonly string[],
  requestedAt?: Instant,
): Promise<void> {
  const found = await runInJob(context, environmentId, async (work) => {
    const inFlight = (await findChargedPayments(work, paymentIds)).filter(isInFlight);
    return { inFlight, now: work.now, requested: await requestedInMove(work, inFlight, requestedAt ?? work.now) };
  });
  if (found === null || found.inFlight.length === 0) return;
  const { inFlight, requested } = found;
  const now = requested.size === 0 ? found.now : (requestedAt ?? found.now);
  await performCharges(processors, inFlight, now, (reported) =>
    settleReported(context, environmentId, reported, requested),
  );
}

/** The instant at which a payment was requested, or the look at it. */
interface Requested extends Pick<PaymentRow, 'customerId' | 'subscriptionId'> {
  readonly at: Instant;
}

/**
 * The payments that were requested while the test clock moves. The clock may have passed several of these instants at once, and
 * each payment is settled as of its own.
 */
async function requestedInMove(
  work: Work,
  payments: readonly PaymentRow[],
  requestedAt: Instant,
): Promise<ReadonlyMap<string, Requested>> {
  const { target, from } = work.livemode ? noMove : await readClock(work);
  if (target === null || from === null) return new Map();
  return new Map(
    payments.flatMap(({ id, customerId, subscriptionId, processorReference, chargeDate }) => {
      const at = processorReference === null ? chargeDate : requestedAt;
      return at < from ? [] : [[id, { customerId, subscriptionId, at }]];
    }),
  );
}

const noMove = { target: null, from: null } as const;

// A failure may end a subscription, which takes many statements: this batch size bounds how long customers stay locked.
const failuresAtOnce = 50;

/**
 * Settles reported outcomes: failures in batches, all others in one transaction. If that fails, each individually, so
 * that none blocks another. Payments that are `requested` are settled as of their request, others as of the present.
 */
export async function settleReported(
  context: JobContext,
  environmentId: number,
  reported: readonly ReportedCharge[],
  requested: ReadonlyMap<string, Requested> = new Map(),
): Promise<void> {
  const settle = async (some: readonly ReportedCharge[]) => {
    const settled = await runInJob(context, environmentId, async (work) => ({
      scope: { organizationId: work.organizationId, environmentId },
      changed: await settleCharges(asRequested(work, some, requested), some),
    }));
    if (settled !== null) reportCharges(context.services, settled.scope, settled.changed);
    return true;
  };
  const isFailure = ({ outcome: { result } }: ReportedCharge) => result === 'failed' || result === 'canceled';
  const { failed = [], others = [] } = Object.groupBy(reported, (each) => (isFailure(each) ? 'failed' : 'others'));
  const requestOf = ({ paymentId }: ReportedCharge) => requested.get(paymentId);
  const byInstant = (some: readonly ReportedCharge[]) => [...Map.groupBy(some, (each) => requestOf(each)?.at).values()];
  const customers = new Set(others.map((each) => requestOf(each)?.customerId));
  const portions = requested.size === 0 || customers.size === others.length ? [others] : byInstant(others);
  for (const together of byInstant(failed))
    for (let start = 0; start < together.length; start += failuresAtOnce)
      portions.push(together.slice(start, start + failuresAtOnce));
  const failures: unknown[] = [];
  for (const portion of portions) {
    if (portion.length > 1 && (await settle(portion).catch(() => false))) continue;
    for (const each of portion) await settle([each]).catch((error: unknown) => failures.push(error));
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} payments: ${failures[0]}`);
}

/** The work, as of the instants at which these payments were requested. */
function asRequested(work: Work, reported: readonly ReportedCharge[], requested: ReadonlyMap<string, Requested>): Work {
  const payments = reported.flatMap(({ paymentId }) => requested.get(paymentId) ?? []);
  const [first, ...others] = payments;
  if (first === undefined) return work;
  if (payments.length === reported.length && others.every(({ at }) => at === first.at))
    return { ...work, now: first.at };
  const instants = payments.flatMap(({ customerId, subscriptionId, at }) =>
    [customerId, ...(subscriptionId === null ? [] : [subscriptionId])].map((id) => [id, at] as const),
  );
  return { ...work, instants: new Map(instants) };
}

/**
 * Records outcomes or progress of charges and applies the consequences. Returns those that changed. Idempotent. The number of statements does not
 * depend on the number of successful charges.
 */
export async function settleCharges(
  work: Work,
  reported: readonly ReportedCharge[],
): Promise<readonly ChangedCharge[]> {
  const payments = await findPayments(
    work,
    reported.map(({ paymentId }) => paymentId),
  );
  // Customers and subscriptions first, then invoices and payments: the common lock order.
  await lockPayers(work, payments);
  await makePaidFor(work, reported, payments);
  const changed = await applyChargeOutcomes(work, reported);
  const ofInvoices = changed.filter(hasInvoice);
  const succeeded = ofInvoices.filter(({ payment }) => payment.status === 'succeeded');
  await recordPaid(
    work,
    succeeded.map(({ invoice, payment }) => ({ invoice, paymentMethodId: payment.paymentMethodId })),
  );
  const failed = ofInvoices.filter(hasFailed);
  await recordReversed(
    work,
    failed.filter(wasReversed).map(({ invoice }) => invoice),
  );
  await recordFailed(work, failed.map(toFailedAttempt));
  const unmade = changed.filter((change) => change.invoice === null && hasFailed(change)).map(({ payment }) => payment);
  await leaveUnbought(work, unmade);
  await leaveUnchanged(work, unmade);
  return changed;
}

/** A changed charge of an invoice. */
type ChangedInvoice = ChangedCharge & { readonly invoice: InvoiceRow };

function hasInvoice(change: ChangedCharge): change is ChangedInvoice {
  return change.invoice !== null;
}

function hasFailed({ payment: { status } }: ChangedCharge): boolean {
  return status === 'failed' || status === 'canceled';
}

/**
 * Queries slow charges at their processors after the commit. The response sets the next query, at the earliest a minute
 * later; a charge that the processor calls pending never counts as failed.
 */
export const checkHandler: DueWorkHandler = {
  name: 'check',
  take: takePaymentsToCheck,
  perform: (work, ids) => requestChecks(work, ids, assumeMade),
};

/** A payer, and the subscription that it pays for; null: a single-payment purchase. */
interface Payer {
  readonly customerId: string;
  readonly subscriptionId: string | null;
}

/**
 * Locks customers and the subscriptions that they pay for until the work ends: customers first, each in order of id. A
 * single-payment purchase may add credits to any subscription of its customer.
 */
export async function lockPayers(work: Work, payers: readonly Payer[]): Promise<void> {
  if (payers.length === 0) return;
  await lockCustomers(work, [...new Set(payers.map(({ customerId }) => customerId))]);
  await lockSubscriptions(work, [...new Set(payers.flatMap(({ subscriptionId }) => subscriptionId ?? []))]);
  const ofPurchases = payers.flatMap((payer) => (payer.subscriptionId === null ? payer.customerId : []));
  await lockLivingSubscriptionsOf(work, [...new Set(ofPurchases)]);
}

function wasReversed({ before }: ChangedCharge): boolean {
  return before === 'succeeded';
}

/**
 * Applies the consequences of reversed payments, besides reopening their invoices: their periods are owed again, and
 * their discounts no longer count. Usage stays settled, because the reopened invoice bills it; credits and features
 * stay.
 */
async function recordReversed(work: Work, reversed: readonly InvoiceRow[]): Promise<void> {
  const invoices = await withParts(work, reversed);
  await reopenPaidPeriods(
    work,
    invoices.flatMap(({ billingPeriodId }) => billingPeriodId ?? []),
  );
  await countDiscounts(work, invoices);
}

function toFailedAttempt(change: ChangedInvoice): FailedAttempt {
  const { invoice, payment } = change;
  const isReversed = wasReversed(change);
  const cause = isReversed ? 'reversed' : 'declined';
  const isOnRequest = payment.onRequest && !isReversed;
  return { invoice, cause, isOnRequest, code: payment.failureCode, message: payment.failureMessage };
}

/**
 * Queries the processor about a payment after an event, and applies changes: a completed charge, refunds made there,
 * reversals. Runs outside any transaction; idempotent.
 */
export async function syncPayment(
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
  const { payment } = found;
  await runInJob(context, environmentId, async (work) => {
    await lockPayers(work, [payment]);
    const invoice = await recordOutsideRefunds(work, paymentId, refunds, creditSettledRefund);
    if (invoice !== null) await recountKeptValue(work, invoice);
  });
  await settleReported(context, environmentId, [{ paymentId, outcome: sinceItSucceeded(outcome) }]);
}

/** A failure after an earlier success means that the payment was reversed. */
function sinceItSucceeded(outcome: ChargeOutcome): ChargeOutcome {
  if (outcome.result !== 'failed') return outcome;
  return { result: 'reversed', code: outcome.code, message: outcome.message };
}

/** Refunds part of a payment, or with null the whole remainder. It is sent to the processor after the commit. */
export async function refund(work: Work, id: string, partialAmount: number | null): Promise<RefundAnswer> {
  await lockPayers(work, [await getPayment(work, id)]);
  return refundPayment(work, id, { partialAmount, assume: recordRefund, credit: creditRefund });
}

/** The credit note of a refund that has succeeded at the processor is settled at once. */
const creditSettledRefund: CreditRefund = async (work, refunded) => {
  const id = await creditRefund(work, refunded);
  if (id !== null) await settleCreditNote(work, id);
  return id;
};

/**
 * Records the outcome of a refund, and settles the credit note that asked for it, or voids it if the refund failed.
 * Paused time that it refunds is no longer kept.
 */
export async function recordRefund(work: Work, refundId: string, outcome: RefundOutcome): Promise<void> {
  const pending = await findPendingRefund(work, refundId);
  if (pending === null) return;
  await lockPayers(work, [pending.payment]);
  const invoice = await applyRefundOutcome(work, refundId, outcome);
  if (invoice !== null) await recountKeptValue(work, invoice);
  const { creditNoteId } = pending.refund;
  if (creditNoteId !== null) await recordNoteRefund(work, creditNoteId, outcome);
}

/** A repeat finds the credit note settled or void, and changes nothing. */
async function recordNoteRefund(work: Work, creditNoteId: string, { result }: RefundOutcome): Promise<void> {
  if (result === 'succeeded') return settleCreditNote(work, creditNoteId);
  const locked = await lockCreditNote(work, creditNoteId);
  if (locked.note.status === 'issued') await takeBackCreditNote(work, locked);
}

/** Processes one refund: reads it, calls the processor, records the outcome. Each step may be repeated. */
export async function settleRefund(
  context: JobContext,
  processors: Processors,
  environmentId: number,
  refundId: string,
): Promise<void> {
  const pending = await runInJob(context, environmentId, (work) => findPendingRefund(work, refundId));
  if (pending === null) return;
  const outcome = await performRefund(processors, pending);
  await runInJob(context, environmentId, (work) => recordRefund(work, refundId, outcome));
}

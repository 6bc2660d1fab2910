import assert from 'node:assert/strict';
import { listExternalIds } from '../customers/store.ts';
import { publish } from '../customers/store-events.ts';
import { instantOf, type Work } from '../database/work.ts';
import { onceInItsLife, publishInvoiceChanges, publishInvoices } from '../invoicing/actions.ts';
import {
  attemptFailed,
  attemptInFlight,
  earlyAttemptFailed,
  isEarly,
  moneyArrived,
  moneyTakenBack,
} from '../invoicing/collection.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { lockInvoices, saveCollections } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { renderPayment } from './actions.ts';
import { decideCharge, livePaymentStatuses, outcomeSeen } from './payment.ts';
import type { ChargeOutcome, ChargeRequest, PaymentProcessor, Processors } from './processor.ts';
import type { PaymentRow } from './store.ts';
import * as store from './store.ts';
import { listCustomerReferences } from './store-processors.ts';
import { sumCreditNoteRefunds } from './store-refunds.ts';

/** The outcome of a payment, reported by a processor. */
export interface ReportedCharge {
  readonly paymentId: string;
  readonly outcome: ChargeOutcome;
}

/** The assumed outcome in a dry run. */
export function assumedSuccess(work: Work, paymentId: string): ReportedCharge {
  return {
    paymentId,
    outcome: { result: 'succeeded', reference: 'dry_run', settledAt: work.now, receiptNumber: null },
  };
}

/** A payment with the customer data that its processor needs. */
interface ChargedPayment extends PaymentRow {
  readonly environmentId: number;
  /** The customer's id at the processor; null if the processor has no customers. */
  readonly customerReference: string | null;
}

/** Loads payments for their processors. */
export async function findChargedPayments(work: Work, ids: readonly string[]): Promise<ChargedPayment[]> {
  const payments = await store.findPayments(work, ids);
  const customerIds = [...new Set(payments.map((payment) => payment.customerId))];
  const processors = [...new Set(payments.map((payment) => payment.processor))];
  const known = await listCustomerReferences(work, customerIds, processors);
  const references = new Map(known.map((each) => [`${each.processor} ${each.customerId}`, each.reference]));
  return payments.map((payment) => ({
    ...payment,
    environmentId: work.environmentId,
    customerReference: references.get(`${payment.processor} ${payment.customerId}`) ?? null,
  }));
}

// Concurrent charges at an external processor, which is slow and rate-limited.
const chargesAtOnce = 10;

/**
 * Charges the payments, or queries charges that the processor already has, outside any transaction. Each outcome is
 * passed to `tell` as soon as it is known, so a slow charge delays no other. Unknown outcomes are not reported, and all
 * errors are thrown at the end. A payment's id is its idempotency key, so a repeated call never charges again.
 */
export async function performCharges(
  processors: Processors,
  payments: readonly ChargedPayment[],
  now: Instant,
  report: (reported: readonly ReportedCharge[]) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  const attempt = async (ask: () => Promise<readonly ReportedCharge[]>) => {
    try {
      await report(await ask());
    } catch (error) {
      failures.push(error);
    }
  };
  for (const [name, requested] of Map.groupBy(payments, (payment) => payment.processor)) {
    const processor = findProcessor(processors, name, failures);
    if (processor === null) continue;
    const isTogether = ({ processorReference }: PaymentRow) => processor.chargeAll && processorReference === null;
    const together = requested.filter(isTogether);
    if (together.length > 0) await attempt(() => chargeTogether(processor, together));
    const single = requested.filter((payment) => !isTogether(payment)).values();
    const takeTurns = async () => {
      for (const payment of single) await attempt(() => chargeOne(processor, payment, now));
    };
    await Promise.all(Array.from({ length: chargesAtOnce }, takeTurns));
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} of ${payments.length} charges: ${failures[0]}`);
}

/** Payments of a processor without keys wait; those of others continue. */
function findProcessor(processors: Processors, name: string, failures: unknown[]): PaymentProcessor | null {
  try {
    return processors.named(name);
  } catch (error) {
    failures.push(error);
    return null;
  }
}

async function chargeTogether(
  processor: PaymentProcessor,
  payments: readonly ChargedPayment[],
): Promise<ReportedCharge[]> {
  assert(processor.chargeAll, 'the processor charges many at once');
  const outcomes = await processor.chargeAll(payments.map(requestOf));
  return payments.map(({ id: paymentId }, index) => {
    const outcome = outcomes[index];
    assert(outcome, 'each charge has an outcome');
    return { paymentId, outcome };
  });
}

async function chargeOne(
  processor: PaymentProcessor,
  payment: ChargedPayment,
  now: Instant,
): Promise<ReportedCharge[]> {
  const { id: paymentId, processorReference } = payment;
  const outcome =
    processorReference === null
      ? await processor.charge(requestOf(payment))
      : await processor.retrieve(processorReference, now);
  return [{ paymentId, outcome }];
}

function requestOf(payment: ChargedPayment): ChargeRequest {
  return {
    idempotencyKey: payment.id,
    amount: payment.amount,
    currency: payment.currency,
    token: payment.processorToken,
    description: payment.description,
    environmentId: payment.environmentId,
    customerReference: payment.customerReference,
    customerPresent: payment.customerPresent && payment.paymentMethod === 'card',
    now: payment.chargeDate,
  };
}

/** A charge that ended, for the log and the metrics of the process. */
export interface ChargeReport {
  readonly organizationId: string;
  readonly environmentId: number;
  readonly paymentId: string;
  readonly customerId: string;
  readonly processor: string;
  readonly result: PaymentRow['status'];
  readonly code: string | null;
}

/** The part of the external services that receives ended charges. */
export interface WithChargeReports {
  readonly onCharge?: (report: ChargeReport) => void;
}

/** Reports charges whose new status was stored. */
export function reportCharges(
  { onCharge = () => undefined }: WithChargeReports = {},
  { organizationId, environmentId }: Pick<ChargeReport, 'organizationId' | 'environmentId'>,
  changed: readonly ChangedCharge[],
): void {
  for (const { payment } of changed) {
    const { id: paymentId, customerId, processor, status: result, failureCode: code } = payment;
    if (livePaymentStatuses.some((each) => each === result)) continue;
    onCharge({ organizationId, environmentId, paymentId, customerId, processor, result, code });
  }
}

/** A charge whose status changed, with its invoice afterwards. */
export interface ChangedCharge {
  readonly payment: PaymentRow;
  /** Null for the first payment of a purchase or a change that has brought no money. */
  readonly invoice: InvoiceRow | null;
  readonly before: PaymentRow['status'];
}

/**
 * Records the outcome or progress of charges on the payments and their invoices, and publishes `payment.succeeded`,
 * `payment.failed` and `payment.action_required`. Returns those whose status changed: a repeated or late report changes nothing. The number of
 * statements does not depend on the number of charges.
 */
export async function applyChargeOutcomes(work: Work, reported: readonly ReportedCharge[]): Promise<ChangedCharge[]> {
  const found = await store.findPayments(
    work,
    reported.map((each) => each.paymentId),
  );
  if (found.length === 0) return [];
  const invoiceIds = [...new Set(found.flatMap((payment) => payment.invoiceId ?? []))];
  const locked = byId(await lockInvoices(work, invoiceIds));
  const invoices = new Map(locked);
  const paymentIds = found.map((payment) => payment.id);
  const payments = byId(await store.lockPayments(work, paymentIds));
  const isReversal = reported.some(({ outcome }) => outcome.result === 'reversed');
  const credited = isReversal ? await sumCreditNoteRefunds(work, paymentIds) : new Map<string, bigint>();
  const waiting: PaymentRow[] = [];
  const changes = reported.flatMap(({ paymentId, outcome: told }) => {
    const payment = payments.get(paymentId);
    if (payment === undefined) return [];
    const outcome = outcomeSeen(payment, told);
    const now = instantOf(work, payment.customerId);
    const changed = decideCharge(payment, outcome, now);
    if (changed === null) return [];
    payments.set(paymentId, changed);
    if (stillWaits(payment, outcome, now)) waiting.push(changed);
    if (payment.invoiceId !== null) {
      const invoice = invoices.get(payment.invoiceId);
      assert(invoice, 'invoices are never deleted');
      const counted = { ...changed, creditedAmount: credited.get(paymentId) ?? 0n };
      invoices.set(invoice.id, invoiceAfter(invoice, counted, outcome, now));
    }
    return { paymentId, before: payment.status };
  });
  const changedPayments = [...new Set(changes.map((change) => change.paymentId))].flatMap(
    (id) => payments.get(id) ?? [],
  );
  await saveCollections(
    work,
    changedPayments.flatMap(({ invoiceId }) => invoices.get(invoiceId ?? '') ?? []),
  );
  await store.savePayments(work, changedPayments);
  const ended = changes.flatMap(({ paymentId, before }) => {
    const payment = payments.get(paymentId);
    if (payment === undefined || payment.status === before) return [];
    return { payment, invoice: invoices.get(payment.invoiceId ?? '') ?? null, before };
  });
  await publishPayments(work, [
    ...ended.map(({ payment }) => ({ type: endOf(payment), payment })),
    ...waiting.map(waits),
  ]);
  await publishOfInvoices(work, ended, locked);
  return ended;
}

/** The events of the invoices: that it is paid, or that a charge of it brought no money. */
async function publishOfInvoices(
  work: Work,
  ended: readonly ChangedCharge[],
  before: ReadonlyMap<string, InvoiceRow>,
): Promise<void> {
  // A bank that asks its customer first has not refused.
  const failed = ended.flatMap(({ payment, invoice }) =>
    invoice === null || endOf(payment) !== 'payment.failed'
      ? []
      : { type: 'invoice.payment_failed' as const, invoice, cause: payment.id },
  );
  await publishInvoices(work, failed);
  const paid = ended.flatMap(({ payment: { id: cause, status }, invoice }) => {
    const known = before.get(invoice?.id ?? '');
    return invoice && known && status === 'succeeded' ? { before: known.status, invoice, cause } : [];
  });
  // Several payments of one batch may complete an invoice, which is paid once: by the last.
  await publishInvoiceChanges(work, [...new Map(paid.map((change) => [change.invoice.id, change])).values()]);
}

function byId<Row extends { readonly id: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

function invoiceAfter(
  invoice: InvoiceRow,
  payment: PaymentRow & { readonly creditedAmount: bigint },
  outcome: ChargeOutcome,
  now: Instant,
): InvoiceRow {
  switch (outcome.result) {
    case 'succeeded':
      return moneyArrived(invoice, payment.amount);
    case 'failed':
    case 'canceled':
      return payment.onRequest && isEarly(invoice, now) ? earlyAttemptFailed(invoice) : attemptFailed(invoice);
    case 'reversed':
      return moneyTakenBack(invoice, payment);
    case 'processing':
    case 'requires_action':
    case 'awaiting':
      return attemptInFlight(invoice);
    default:
      assert.fail(`unknown outcome: ${outcome satisfies never}`);
  }
}

type PaymentEvent = 'payment.succeeded' | 'payment.failed' | 'payment.action_required';

/** The event of an end; null: it has not ended. A canceled or reversed payment brought no money either. */
function endOf({ status }: PaymentRow): PaymentEvent | null {
  if (status === 'succeeded') return 'payment.succeeded';
  return status === 'failed' || status === 'canceled' ? 'payment.failed' : null;
}

/** Whether a look that was due finds that the customer has not confirmed the charge yet. */
function stillWaits({ status, checkAt }: PaymentRow, { result }: ChargeOutcome, now: Instant): boolean {
  return status === 'requires_action' && result === 'requires_action' && checkAt !== null && checkAt <= now;
}

interface ToldPayment {
  readonly type: PaymentEvent | null;
  readonly payment: PaymentRow;
  readonly cause?: string;
}

/** A customer is reminded of a payment once, however often it is looked at. */
function waits(payment: PaymentRow): ToldPayment {
  return { type: 'payment.action_required', payment, cause: onceInItsLife };
}

async function publishPayments(work: Work, told: readonly ToldPayment[]): Promise<void> {
  if (told.every(({ type }) => type === null)) return;
  const externalIds = await listExternalIds(work, [...new Set(told.map(({ payment }) => payment.customerId))]);
  await publish(
    work,
    told.flatMap(({ type, payment, cause }) => {
      const { id, pricingModelId, customerId } = payment;
      if (type === null) return [];
      const externalId = externalIds.get(customerId);
      assert(externalId !== undefined, 'a payment has its customer');
      return {
        ...{ type, object: 'payment', objectId: id, pricingModelId },
        ...(cause === undefined ? {} : { cause }),
        customer: { id: customerId, externalId },
        data: renderPayment(work, payment),
      };
    }),
  );
}

import assert from 'node:assert/strict';
import { listExternalIds } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { attemptFailed, attemptUnderWay, moneyArrived, moneyTakenBack } from '../invoicing/collection.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { lockInvoices, saveCollections } from '../invoicing/store-collecting.ts';
import { publish } from '../jobs/outbox.ts';
import type { Instant } from '../kernel/calendar.ts';
import { decideCharge } from './payment.ts';
import type { ChargeOutcome, ChargeRequest, PaymentProcessor, Processors } from './processor.ts';
import type { PaymentRow } from './store.ts';
import * as store from './store.ts';
import { listCustomerReferences } from './store-processor-customers.ts';

/** What a processor told of a payment. */
export interface ToldCharge {
  readonly paymentId: string;
  readonly outcome: ChargeOutcome;
}

/** What a dry run puts in place of the processor's answer. */
export function assumedSuccess(work: Work, paymentId: string): ToldCharge {
  return {
    paymentId,
    outcome: { result: 'succeeded', reference: 'dry_run', settledAt: work.now, receiptNumber: null },
  };
}

/** A payment, with what its processor is told of whose it is. */
export interface ChargedPayment extends PaymentRow {
  readonly environmentId: number;
  /** Who the customer is at the processor; null where it keeps none. */
  readonly customerReference: string | null;
}

/** These payments, ready to be taken to their processors. */
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

// A processor elsewhere is asked for so many charges at a time: it answers slowly, and bounds how fast it is asked.
const chargesAtOnce = 10;

/**
 * Charges the payments, or asks how their charges stand at `now` where the processor has them already. Outside of any
 * transaction. Whatever is known is handed to `tell` as soon as it is there, so a slow charge holds up no other; of what
 * could not be found out nothing is told, and at the end all that went wrong is thrown. A payment's id is its idempotency
 * key, so a second call never charges again.
 */
export async function performCharges(
  processors: Processors,
  payments: readonly ChargedPayment[],
  now: Instant,
  tell: (told: readonly ToldCharge[]) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  const attempt = async (ask: () => Promise<readonly ToldCharge[]>) => {
    try {
      await tell(await ask());
    } catch (error) {
      failures.push(error);
    }
  };
  for (const [name, asked] of Map.groupBy(payments, (payment) => payment.processor)) {
    const processor = findProcessor(processors, name, failures);
    if (processor === null) continue;
    const isTogether = ({ processorReference }: PaymentRow) => processor.chargeAll && processorReference === null;
    const together = asked.filter(isTogether);
    if (together.length > 0) await attempt(() => chargeTogether(processor, together));
    const single = asked.filter((payment) => !isTogether(payment)).values();
    const takeTurns = async () => {
      for (const payment of single) await attempt(() => chargeOne(processor, payment, now));
    };
    await Promise.all(Array.from({ length: chargesAtOnce }, takeTurns));
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} of ${payments.length} charges: ${failures[0]}`);
}

/** The payments of a processor that has no keys any more wait; those of the others do not. */
function findProcessor(processors: Processors, name: string, failures: unknown[]): PaymentProcessor | null {
  try {
    return processors.named(name);
  } catch (error) {
    failures.push(error);
    return null;
  }
}

async function chargeTogether(processor: PaymentProcessor, payments: readonly ChargedPayment[]): Promise<ToldCharge[]> {
  assert(processor.chargeAll, 'the processor charges many at once');
  const outcomes = await processor.chargeAll(payments.map(requestOf));
  return payments.map(({ id: paymentId }, index) => {
    const outcome = outcomes[index];
    assert(outcome, 'each charge has an outcome');
    return { paymentId, outcome };
  });
}

async function chargeOne(processor: PaymentProcessor, payment: ChargedPayment, now: Instant): Promise<ToldCharge[]> {
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

/** A charge that has another status now, with the invoice as it is then. */
export interface ChangedCharge {
  readonly payment: PaymentRow;
  readonly invoice: InvoiceRow;
  readonly before: PaymentRow['status'];
}

/**
 * Writes down how charges ended, or how far they are, on the payments and their invoices, and publishes
 * `payment.succeeded` and `payment.failed`. Answers those whose status changed: what is told twice, or after the payment
 * has ended, changes nothing. As many statements for five hundred as for one.
 */
export async function applyChargeOutcomes(work: Work, told: readonly ToldCharge[]): Promise<ChangedCharge[]> {
  const found = await store.findPayments(
    work,
    told.map((each) => each.paymentId),
  );
  if (found.length === 0) return [];
  const invoiceIds = [...new Set(found.map((payment) => payment.invoiceId))];
  const invoices = byId(await lockInvoices(work, invoiceIds));
  const paymentIds = found.map((payment) => payment.id);
  const payments = byId(await store.lockPayments(work, paymentIds));
  const changes = told.flatMap(({ paymentId, outcome }) => {
    const payment = payments.get(paymentId);
    const changed = payment === undefined ? null : decideCharge(payment, outcome, work.now);
    if (payment === undefined || changed === null) return [];
    const invoice = invoices.get(payment.invoiceId);
    assert(invoice, 'a payment has its invoice');
    payments.set(paymentId, changed);
    invoices.set(invoice.id, invoiceAfter(invoice, changed, outcome));
    return { paymentId, before: payment.status };
  });
  const changedPayments = [...new Set(changes.map((change) => change.paymentId))].flatMap(
    (id) => payments.get(id) ?? [],
  );
  await saveCollections(
    work,
    changedPayments.flatMap(({ invoiceId }) => invoices.get(invoiceId) ?? []),
  );
  await store.savePayments(work, changedPayments);
  const ended = changes.flatMap(({ paymentId, before }) => {
    const payment = payments.get(paymentId);
    const invoice = payment === undefined ? undefined : invoices.get(payment.invoiceId);
    return payment && invoice && payment.status !== before ? { payment, invoice, before } : [];
  });
  await publishEnds(
    work,
    ended.map((change) => change.payment),
  );
  return ended;
}

function byId<Row extends { readonly id: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

function invoiceAfter(invoice: InvoiceRow, payment: PaymentRow, outcome: ChargeOutcome): InvoiceRow {
  switch (outcome.result) {
    case 'succeeded':
      return moneyArrived(invoice, payment.amount);
    case 'failed':
    case 'canceled':
      return attemptFailed(invoice);
    case 'reversed':
      return moneyTakenBack(invoice, payment);
    case 'processing':
    case 'requires_action':
    case 'awaiting':
      return attemptUnderWay(invoice);
    default:
      assert.fail(`unknown outcome: ${outcome satisfies never}`);
  }
}

/** A payment that was called off, or whose money was taken back, brought none either: it is told as failed. */
async function publishEnds(work: Work, payments: readonly PaymentRow[]): Promise<void> {
  const ended = payments.filter(({ status }) => status === 'succeeded' || status === 'failed' || status === 'canceled');
  if (ended.length === 0) return;
  const externalIds = await listExternalIds(work, [...new Set(ended.map((payment) => payment.customerId))]);
  await publish(
    work,
    ended.map(({ id, status, pricingModelId, customerId }) => {
      const externalId = externalIds.get(customerId);
      assert(externalId !== undefined, 'a payment has its customer');
      return {
        type: status === 'succeeded' ? 'payment.succeeded' : 'payment.failed',
        object: 'payment',
        objectId: id,
        pricingModelId,
        customer: { id: customerId, externalId },
      };
    }),
  );
}

import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { findInvoice, type InvoiceRow } from '../../src/invoicing/store.ts';
import { createProcessors, findPayment } from '../../src/payments/actions.ts';
import { type ChargeOrder, requestCharges } from '../../src/payments/actions-charge.ts';
import { applyChargeOutcomes, performCharges, type ReportedCharge } from '../../src/payments/actions-settle.ts';
import type { ChargeOutcome } from '../../src/payments/processor.ts';
import type { PaymentRow } from '../../src/payments/store.ts';
import { insertFixture } from './fixtures.ts';
import type { TestApp } from './harness.ts';
import { newInvoice } from './invoice-fixture.ts';

/** Who is billed, and through which payment method. */
export interface Payer {
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly paymentMethodId: string;
}

/** A customer of its own, with a payment method of this token. */
export async function newPayer(app: TestApp, token = 'pm_card_visa'): Promise<Payer> {
  const { pricingModelId, customerId } = await insertFixture(app);
  const { paymentMethod } = await app.post('/payment-methods', { paymentMethod: { customerId, token } });
  return { pricingModelId, customerId, paymentMethodId: paymentMethod.id };
}

/** Asks for the charge of an invoice, and nothing more. */
export async function askForCharge(app: TestApp, order: ChargeOrder): Promise<PaymentRow> {
  const [payment] = await app.inEnvironment((work) => requestCharges(work, [order], () => assert.fail('no dry run')));
  assert(payment);
  return payment;
}

/** Charges an invoice as the task does: ask, perform outside of any transaction, write down. */
export async function charge(app: TestApp, invoice: InvoiceRow, paymentMethodId: string) {
  return settle(app, await askForCharge(app, { invoice, paymentMethodId }));
}

/** What the processor says of a payment. */
export async function outcomeOf(app: TestApp, payment: PaymentRow, now = payment.chargeDate): Promise<ChargeOutcome> {
  const told: ReportedCharge[] = [];
  const requested = { ...payment, environmentId: app.testEnvironmentId, customerReference: null };
  await performCharges(createProcessors(app.database), [requested], now, async (some) => void told.push(...some));
  assert(told[0]);
  return told[0].outcome;
}

/** Asks the processor about a payment and writes its answer down. */
export async function settle(app: TestApp, payment: PaymentRow, now?: number) {
  return tell(app, payment, await outcomeOf(app, payment, now));
}

/** Writes down what is told of a payment, and nothing that follows. */
export async function tell(app: TestApp, { id }: { id: string }, outcome: ChargeOutcome) {
  return app.inEnvironment(async (work) => {
    const changes = await applyChargeOutcomes(work, [{ paymentId: id, outcome }]);
    const payment = await findPayment(work, id);
    const invoice = payment === null ? null : await findInvoice(work, payment.invoiceId ?? '');
    assert(payment && invoice);
    return { payment, invoice, changed: changes.length > 0 };
  });
}

/** The id of a payment of `amount` minor units that has succeeded. */
export async function newPaidPayment(app: TestApp, amount: bigint, token = 'pm_card_visa'): Promise<string> {
  const payer = await newPayer(app, token);
  const { payment } = await charge(app, await newInvoice(app, payer, amount), payer.paymentMethodId);
  assert.equal(payment.status, 'succeeded');
  return payment.id;
}

/** What the test network did for a payment: 'charge', and a 'refund' for each time it gave money back. */
export async function operationsOf(app: TestApp, paymentId: string): Promise<string[]> {
  const { rows } = await sql<{ kind: string }>`
    select kind from test_processor_operations where reference = ${`test_charge_${paymentId}`} order by kind`.execute(
    app.owner,
  );
  return rows.map((row) => row.kind);
}

/** The types of the events that were published about a record, in their order. */
export async function eventsOf(app: TestApp, objectId: string): Promise<string[]> {
  const rows = await app.owner
    .selectFrom('events')
    .select('type')
    .where('objectId', '=', objectId)
    .orderBy('id')
    .execute();
  return rows.map((row) => row.type);
}

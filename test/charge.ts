import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { createInvoice } from '../src/invoicing/actions.ts';
import type { InvoiceRow } from '../src/invoicing/store.ts';
import { applyChargeOutcome, createProcessors, performCharge, requestCharge } from '../src/payments/actions.ts';
import type { PaymentRow } from '../src/payments/store.ts';
import { newId } from '../src/platform/new-id.ts';
import { insertFixture } from './fixtures.ts';
import type { TestApp } from './harness.ts';

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

/** An open invoice of one line. */
export function newInvoice(app: TestApp, payer: Omit<Payer, 'paymentMethodId'>, price: bigint): Promise<InvoiceRow> {
  const { pricingModelId, customerId } = payer;
  return app.inEnvironment((work) =>
    createInvoice(work, {
      customerId,
      pricingModelId,
      subscriptionId: null,
      billingPeriod: null,
      reason: 'adjustment',
      currency: 'USD',
      lines: [{ type: 'static', quantity: 1, price, priceId: null, subscriptionItemId: null, description: 'Once' }],
    }),
  );
}

/** Charges an invoice as the task does: ask, perform outside of any transaction, write down. */
export async function charge(app: TestApp, invoice: InvoiceRow, paymentMethodId: string, attemptNumber = 1) {
  const payment = await app.inEnvironment((work) => requestCharge(work, { invoice, paymentMethodId, attemptNumber }));
  return settle(app, payment);
}

/** Asks the processor about a payment and writes its answer down. */
export async function settle(app: TestApp, payment: PaymentRow, now?: number) {
  const outcome = await performCharge(createProcessors(app.database), payment, now);
  return app.inEnvironment((work) => applyChargeOutcome(work, payment.id, outcome));
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
    select kind from test_processor.operations where reference = ${`test_charge_${paymentId}`} order by kind`.execute(
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

/** A ledger account for usage lines to name. */
export async function newLedgerAccount(
  app: TestApp,
  fixture: { pricingModelId: string; subscriptionId: string; meterId: string },
): Promise<string> {
  const id = newId('ledgerAccount');
  await app.owner
    .insertInto('ledgerAccounts')
    .values({
      environmentId: app.testEnvironmentId,
      id,
      pricingModelId: fixture.pricingModelId,
      subscriptionId: fixture.subscriptionId,
      usageMeterId: fixture.meterId,
      createdAt: 0,
      updatedAt: 0,
    })
    .execute();
  return id;
}

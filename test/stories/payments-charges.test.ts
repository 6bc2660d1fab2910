import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInEnvironment } from '../../src/database/work.ts';
import { problemOf } from '../../src/http/server.ts';
import { voidInvoice } from '../../src/invoicing/actions.ts';
import { requestCharges } from '../../src/payments/actions-charge.ts';
import { applyChargeOutcomes, assumedSuccess } from '../../src/payments/actions-settle.ts';
import type { ChargeOutcome } from '../../src/payments/processor.ts';
import { takePaymentsToCheck } from '../../src/payments/store.ts';
import { anyId } from '../support/any-id.ts';
import {
  askForCharge,
  charge,
  eventsOf,
  newPaidPayment,
  newPayer,
  operationsOf,
  outcomeOf,
  settle,
  tell,
} from '../support/charge.ts';
import { startTestApp } from '../support/harness.ts';
import { newInvoice } from '../support/invoice-fixture.ts';

const app = await startTestApp();
const hourMs = 3_600_000;

/** An open invoice of 3000 and who is to pay it. */
async function billed(token = 'pm_card_visa') {
  const payer = await newPayer(app, token);
  return { payer, invoice: await newInvoice(app, payer, 3000n) };
}
const invoiceOf = async (id: string) => (await app.get(`/invoices/${id}`)).invoice;

test('a charge that succeeds pays the invoice and is told once', async () => {
  const { payer, invoice } = await billed();
  const { payment, changed } = await charge(app, invoice, payer.paymentMethodId);
  assert.equal(changed, true);
  const { payment: shown } = await app.get(`/payments/${payment.id}`);
  const { createdAt, updatedAt, chargeDate, receiptNumber, organizationId, ...rest } = shown;
  assert.deepEqual(rest, {
    id: payment.id,
    livemode: false,
    pricingModelId: payer.pricingModelId,
    customerId: payer.customerId,
    invoiceId: invoice.id,
    subscriptionId: null,
    billingPeriodId: null,
    purchaseId: null,
    paymentMethodId: payer.paymentMethodId,
    paymentMethod: 'card',
    amount: 3000,
    subtotal: 3000,
    taxAmount: 0,
    currency: 'USD',
    status: 'succeeded',
    taxType: null,
    taxCountry: null,
    taxState: null,
    taxRatePercentage: null,
    applicationFee: null,
    settlementDate: chargeDate,
    description: `Invoice ${invoice.invoiceNumber}`,
    receiptURL: null,
    nextAction: null,
    failureCode: null,
    failureMessage: null,
    refunded: false,
    refundedAmount: null,
    refundedAt: null,
  });
  assert.equal(organizationId, app.id);
  assert.ok(createdAt <= updatedAt);
  assert.match(receiptNumber, /^\d{4}-\d{4}$/);
  const paid = await invoiceOf(invoice.id);
  assert.deepEqual([paid.status, paid.amountPaid], ['paid', 3000]);
  assert.deepEqual(await eventsOf(app, payment.id), ['payment.succeeded']);
});

test('a charge that is performed and written down three times is made once and told once', async () => {
  const { payer, invoice } = await billed();
  const first = await charge(app, invoice, payer.paymentMethodId);
  // As after a crash: the row of the time before the first charge is all that is known.
  const requested = { ...first.payment, status: 'processing', processorReference: null } as const;
  const [second, third] = await Promise.all([settle(app, requested), settle(app, first.payment)]);
  assert.deepEqual([second.changed, third.changed], [false, false]);
  assert.deepEqual(second.payment, first.payment);
  assert.deepEqual(await operationsOf(app, first.payment.id), ['charge']);
  assert.deepEqual(await eventsOf(app, first.payment.id), ['payment.succeeded']);
  assert.equal((await invoiceOf(invoice.id)).amountPaid, 3000);
});

test('two that perform one charge at the same time charge once', async () => {
  const { payer, invoice } = await billed();
  const payment = await askForCharge(app, { invoice, ...payer });
  const outcomes = await Promise.all([1, 2, 3].map(() => outcomeOf(app, payment)));
  assert.deepEqual(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size, 1);
  assert.deepEqual(await operationsOf(app, payment.id), ['charge']);
});

for (const [token, code, message] of [
  ['pm_card_chargeCustomerFail', 'card_declined', 'Your card was declined.'],
  [
    'pm_card_authenticationRequired',
    'authentication_required',
    'Your card was declined. This transaction requires authentication.',
  ],
] as const) {
  test(`${token} fails with ${code}; the invoice stays open and another method can pay it`, async () => {
    const { payer, invoice } = await billed(token);
    const { payment } = await charge(app, invoice, payer.paymentMethodId);
    assert.deepEqual([payment.status, payment.failureCode, payment.failureMessage], ['failed', code, message]);
    assert.equal(payment.settlementDate, null);
    assert.deepEqual(await eventsOf(app, payment.id), ['payment.failed']);
    assert.equal((await invoiceOf(invoice.id)).status, 'open');

    const good = { customerId: payer.customerId, token: 'pm_card_visa' };
    const { paymentMethod } = await app.post('/payment-methods', { paymentMethod: good });
    const second = await charge(app, invoice, paymentMethod.id);
    assert.deepEqual([second.payment.status, second.payment.attemptNumber], ['succeeded', 2]);
    assert.deepEqual([second.invoice.status, second.invoice.amountPaid], ['paid', 3000n]);
  });
}

test('pm_card_processing is under way for an hour, and settles then', async () => {
  const { payer, invoice } = await billed('pm_card_processing');
  const { payment, changed } = await charge(app, invoice, payer.paymentMethodId);
  const dueAt = payment.chargeDate + hourMs;
  assert.deepEqual([payment.status, payment.checkAt, changed], ['processing', dueAt, false]);
  assert.equal((await invoiceOf(invoice.id)).status, 'awaiting_payment_confirmation');
  const toCheck = (now: number) => app.inEnvironment((work) => takePaymentsToCheck({ ...work, now }, 10));
  assert.deepEqual(await toCheck(dueAt - 1), []);
  assert.deepEqual(await toCheck(dueAt), [payment.id]);

  const early = await settle(app, payment, dueAt - 1);
  assert.deepEqual([early.payment.status, early.changed], ['processing', false]);
  const due = await settle(app, payment, dueAt);
  assert.deepEqual([due.payment.status, due.payment.settlementDate, due.changed], ['succeeded', dueAt, true]);
  assert.equal(due.invoice.status, 'paid');
  assert.deepEqual(await toCheck(dueAt), []);
  assert.deepEqual(await operationsOf(app, payment.id), ['charge']);
  assert.deepEqual(await eventsOf(app, payment.id), ['payment.succeeded']);
});

test('a payment that was under way and failed opens the invoice again', async () => {
  const { payer, invoice } = await billed('pm_card_processing');
  const { payment } = await charge(app, invoice, payer.paymentMethodId);
  const outcome: ChargeOutcome = { result: 'failed', reference: null, code: 'bank_refused', message: 'No funds.' };
  const failed = await tell(app, payment, outcome);
  assert.deepEqual([failed.payment.status, failed.payment.checkAt], ['failed', null]);
  assert.equal(failed.payment.processorReference, payment.processorReference);
  assert.equal(failed.invoice.status, 'open');
});

test('a payment by hand waits until somebody says that the money came', async () => {
  const { payer, invoice } = await billed();
  await app.owner
    .updateTable('paymentMethods')
    .set({ processor: 'manual' })
    .where('id', '=', payer.paymentMethodId)
    .execute();
  const { payment } = await charge(app, invoice, payer.paymentMethodId);
  assert.equal(payment.status, 'requires_confirmation');
  assert.equal((await invoiceOf(invoice.id)).status, 'awaiting_payment_confirmation');
  assert.deepEqual(await eventsOf(app, payment.id), []);
  const arrived: ChargeOutcome = { result: 'succeeded', reference: 'transfer 17', settledAt: 5, receiptNumber: null };
  const settled = await tell(app, payment, arrived);
  assert.deepEqual([settled.payment.status, settled.payment.settlementDate], ['succeeded', 5]);
  assert.equal(settled.invoice.status, 'paid');
});

test('a payment that was called off counts as failed and leaves the invoice open', async () => {
  const { payer, invoice } = await billed('pm_card_processing');
  const { payment } = await charge(app, invoice, payer.paymentMethodId);
  const canceled: ChargeOutcome = { result: 'canceled', reference: 'test' };
  const applied = await tell(app, payment, canceled);
  assert.deepEqual([applied.payment.status, applied.invoice.status], ['canceled', 'open']);
  assert.deepEqual(await eventsOf(app, payment.id), ['payment.failed']);
});

test('of ten charges of one invoice at once, one is made', async () => {
  const { payer, invoice } = await billed();
  const order = { invoice, paymentMethodId: payer.paymentMethodId };
  const attempts = Array.from({ length: 10 }, () => askForCharge(app, order));
  const settled = await Promise.allSettled(attempts);
  const refused = settled.filter((each) => each.status === 'rejected');
  assert.equal(refused.length, 9);
  for (const { reason } of refused) assert.deepEqual([reason.problem, reason.status], ['invoiceAlreadyBeingPaid', 409]);
});

test('the database itself refuses a second payment under way, as the same 409', async () => {
  const { payer, invoice } = await billed('pm_card_processing');
  const { payment } = await charge(app, invoice, payer.paymentMethodId);
  const row = await app.owner.selectFrom('payments').selectAll().where('id', '=', payment.id).executeTakeFirstOrThrow();
  const second = app.owner.insertInto('payments').values({ ...row, id: anyId('payment') });
  const error = await second.execute().then(
    () => null,
    (reason: unknown) => problemOf(reason),
  );
  assert.equal(error?.problem, 'invoiceAlreadyBeingPaid');
  assert.equal(error.status, 409);
});

test('an invoice that is paid or void, and the method of somebody else, are not charged', async () => {
  const { payer, invoice } = await billed();
  const stranger = await newPayer(app);
  const wrongMethod = charge(app, invoice, stranger.paymentMethodId);
  await assert.rejects(wrongMethod, { problem: 'paymentMethodNotFound' });
  await charge(app, invoice, payer.paymentMethodId);
  await assert.rejects(charge(app, invoice, payer.paymentMethodId), { problem: 'invoiceNotOpen', status: 400 });
  const taken = await newInvoice(app, payer, 100n);
  await app.inEnvironment((work) => voidInvoice(work, taken.id));
  await assert.rejects(charge(app, taken, payer.paymentMethodId), { problem: 'invoiceNotOpen', status: 400 });
  const nothing = await newInvoice(app, payer, 0n);
  await assert.rejects(charge(app, nothing, payer.paymentMethodId), { problem: 'invoiceNotOpen' });
});

test('I7: of 5000, 2000 are paid already, so 3000 are charged and the invoice is paid', async () => {
  const { payer } = await billed();
  const invoice = await newInvoice(app, payer, 5000n);
  await app.owner.updateTable('invoices').set({ amountPaid: 2000n }).where('id', '=', invoice.id).execute();
  const applied = await charge(app, invoice, payer.paymentMethodId);
  assert.equal(applied.payment.amount, 3000n);
  assert.deepEqual([applied.invoice.status, applied.invoice.amountPaid], ['paid', 5000n]);
});

test('money that arrives for an invoice that was voided meanwhile is written down and can be refunded', async () => {
  const { payer, invoice } = await billed();
  const payment = await askForCharge(app, { invoice, ...payer });
  await app.inEnvironment((work) => voidInvoice(work, invoice.id));
  const applied = await settle(app, payment);
  assert.deepEqual([applied.payment.status, applied.invoice.status], ['succeeded', 'void']);
  assert.equal(applied.invoice.amountPaid, 3000n);
  await app.post(`/payments/${payment.id}/refund`, {});
  const { status, amountRefunded } = await invoiceOf(invoice.id);
  assert.deepEqual([status, amountRefunded], ['void', 3000]);
});

test('a dry run takes for granted that the charge succeeds, and asks nothing of the processor', async () => {
  const { payer, invoice } = await billed('pm_card_chargeCustomerFail');
  const dryRun = await runInEnvironment(
    app.database,
    { environmentId: app.testEnvironmentId },
    async (work) => {
      const [assumed] = await requestCharges(work, [{ invoice, ...payer }], async (dryWork, payments) => {
        await applyChargeOutcomes(
          dryWork,
          payments.map(({ id }) => assumedSuccess(dryWork, id)),
        );
      });
      assert(assumed);
      return assumed;
    },
    { dryRun: true },
  );
  assert.equal(dryRun?.answer.status, 'succeeded');
  assert.deepEqual(dryRun.effects, []);
  assert.deepEqual(await operationsOf(app, dryRun.answer.id), []);
  assert.equal((await invoiceOf(invoice.id)).status, 'open');
  assert.equal((await app.get(`/payments?invoiceId=${invoice.id}`)).total, 0);
});

test('payments are listed by status and customer, and those of another environment are not there', async () => {
  const { payer, invoice } = await billed('pm_card_chargeCustomerFail');
  const { payment } = await charge(app, invoice, payer.paymentMethodId);
  const ids = async (query: string) =>
    (await app.get(`/payments?${query}`)).data.map((each: { id: string }) => each.id);
  assert.deepEqual(await ids(`customerId=${payer.customerId}`), [payment.id]);
  assert.deepEqual(await ids(`customerId=${payer.customerId}&status=failed`), [payment.id]);
  assert.deepEqual(await ids(`customerId=${payer.customerId}&status=succeeded`), []);
  assert.deepEqual(await ids('subscriptionId=sub_none'), []);
  assert.equal((await app.get('/payments', { key: app.liveKey })).total, 0);
  const other = await app.request('GET', `/payments/${payment.id}`, undefined, { key: app.liveKey });
  assert.equal(other.status, 404);
});

test('an amount at the upper bound travels whole', async () => {
  const id = await newPaidPayment(app, 4_503_599_627_370_495n);
  assert.equal((await app.get(`/payments/${id}`)).payment.amount, 4_503_599_627_370_495);
});

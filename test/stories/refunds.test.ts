import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { billingTasks } from '../../src/billing/jobs.ts';
import { refund as requestRefund } from '../../src/billing/settle-payment.ts';
import { createProcessors } from '../../src/payments/actions.ts';
import { applyRefundOutcome, findPendingRefund, performRefund } from '../../src/payments/actions-refund.ts';
import { decideRefund, decideRefunded, type PaymentMoney, refundable } from '../../src/payments/payment.ts';
import { charge, newPaidPayment, newPayer, operationsOf } from '../support/charge.ts';
import { startTestApp } from '../support/harness.ts';
import { newInvoice } from '../support/invoice-fixture.ts';

const app = await startTestApp();

const refund = (id: string, body?: unknown, query = '') => app.request('POST', `/payments/${id}/refund${query}`, body);
/** Status of the answer, and of the payment then: what was refunded, whether all of it, and its status. */
async function refunded(id: string, partialAmount?: unknown) {
  const { status } = await refund(id, partialAmount === undefined ? {} : { partialAmount });
  return [status, ...(await stateOf(id))];
}
async function stateOf(id: string) {
  const { payment } = await app.get(`/payments/${id}`);
  return [payment.refundedAmount, payment.refunded, payment.status];
}
const rowOf = (id: string) =>
  app.owner.selectFrom('payments').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const refundsOf = (id: string) =>
  app.owner.selectFrom('refunds').selectAll().where('paymentId', '=', id).orderBy('id').execute();

test('a payment of 10000 gives back 3000, 2000, not 6000, the rest, and nothing more', async () => {
  const id = await newPaidPayment(app, 10_000n);
  assert.deepEqual(await stateOf(id), [null, false, 'succeeded']);
  assert.deepEqual(await refunded(id, 3000), [200, 3000, false, 'succeeded']);
  assert.deepEqual(await refunded(id, 2000), [200, 5000, false, 'succeeded']);
  assert.deepEqual(await refunded(id, 6000), [400, 5000, false, 'succeeded']);
  assert.deepEqual(await refunded(id), [200, 10_000, true, 'refunded']);
  assert.deepEqual(await refunded(id, 1), [400, 10_000, true, 'refunded']);
  assert.deepEqual(await refunded(id), [400, 10_000, true, 'refunded']);
  assert.deepEqual(await operationsOf(app, id), ['charge', 'refund', 'refund', 'refund']);
});

test('a fresh 10000 cannot be refunded by 10001, and can by 10000', async () => {
  const id = await newPaidPayment(app, 10_000n);
  assert.deepEqual(await refunded(id, 10_001), [400, null, false, 'succeeded']);
  assert.deepEqual(await refunded(id, 10_000), [200, 10_000, true, 'refunded']);
});

test('a wrong amount is refused with what remains', async () => {
  const id = await newPaidPayment(app, 10_000n);
  await refund(id, { partialAmount: 4000 });
  for (const partialAmount of [0, -1, 1.5, 6001, 9_007_199_254_740_991, '0', '6001']) {
    const { status, body } = await refund(id, { partialAmount });
    assert.equal(status, 400, String(partialAmount));
    assert.deepEqual(body.issues[0].path, ['partialAmount']);
    assert.ok(body.message.includes('from 1 to 6000'), body.message);
  }
  for (const partialAmount of ['much', true, [], {}]) {
    assert.equal((await refund(id, { partialAmount })).status, 400, JSON.stringify(partialAmount));
  }
  assert.deepEqual(await stateOf(id), [4000, false, 'succeeded']);
});

test('nothing, an empty body, {} and null all mean the whole payment', async () => {
  for (const body of [undefined, '', {}, { partialAmount: null }]) {
    const id = await newPaidPayment(app, 700n);
    const answer = await refund(id, body);
    assert.equal(answer.status, 200);
    assert.deepEqual([Object.keys(answer.body), answer.body.credits], [['payment', 'refundId', 'credits'], []]);
    const { refundedAmount, refunded: isWhole, status, refundedAt, updatedAt } = answer.body.payment;
    assert.deepEqual([refundedAmount, isWhole, status], [700, true, 'refunded']);
    assert.equal(refundedAt, updatedAt);
  }
});

test('a refund is kept as a record, and the invoice says what went back', async () => {
  const id = await newPaidPayment(app, 100n);
  const { invoiceId } = await rowOf(id);
  const invoice = async () => {
    const { status, amountPaid, amountRefunded } = (await app.get(`/invoices/${invoiceId}`)).invoice;
    return { status, amountPaid, amountRefunded };
  };
  await refund(id, { partialAmount: 30 });
  assert.deepEqual(await invoice(), { status: 'partially_refunded', amountPaid: 100, amountRefunded: 30 });
  await refund(id);
  assert.deepEqual(await invoice(), { status: 'refunded', amountPaid: 100, amountRefunded: 100 });
  const kept = (await refundsOf(id)).map(({ amount, status, failureMessage }) => [amount, status, failureMessage]);
  assert.deepEqual(kept, [
    [30n, 'succeeded', null],
    [70n, 'succeeded', null],
  ]);
});

test('only a payment that has succeeded can be refunded', async () => {
  const failing = await newPayer(app, 'pm_card_chargeCustomerFail');
  const slow = await newPayer(app, 'pm_card_processing');
  for (const payer of [failing, slow]) {
    const { payment } = await charge(app, await newInvoice(app, payer, 100n), payer.paymentMethodId);
    const { status, body } = await refund(payment.id);
    assert.deepEqual([status, body.code], [400, 'BAD_REQUEST']);
    assert.ok(body.message.includes(payment.status), body.message);
  }
  const money = { id: 'pym', amount: 100n, currency: 'USD' as const, refundedAmount: 0n, refundingAmount: 0n };
  for (const status of ['processing', 'requires_confirmation', 'requires_action', 'failed', 'canceled'] as const)
    assert.throws(() => decideRefund({ ...money, status }, null), { problem: 'paymentNotRefundable' });
});

test('a payment that does not exist, or belongs to another environment or organization, is not there', async () => {
  const id = await newPaidPayment(app, 100n);
  const other = await app.newOrganization();
  for (const key of [app.liveKey, other.testKey, other.liveKey]) {
    const answer = await app.request('POST', `/payments/${id}/refund`, {}, { key });
    assert.deepEqual([answer.status, answer.body.code], [404, 'NOT_FOUND']);
  }
  assert.equal((await refund('pym_none')).status, 404);
  assert.deepEqual(await stateOf(id), [null, false, 'succeeded']);
});

test('fifty full refunds at once refund once', async () => {
  const id = await newPaidPayment(app, 5000n);
  const answers = await Promise.all(Array.from({ length: 50 }, () => refund(id)));
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, ...Array.from({ length: 49 }, () => 400)]);
  assert.deepEqual(await stateOf(id), [5000, true, 'refunded']);
  assert.deepEqual(await operationsOf(app, id), ['charge', 'refund']);
});

test('of ten refunds of 30 out of 100 at once, three succeed', async () => {
  const id = await newPaidPayment(app, 100n);
  const answers = await Promise.all(Array.from({ length: 10 }, () => refund(id, { partialAmount: 30 })));
  assert.equal(answers.filter(({ status }) => status === 200).length, 3);
  assert.equal(answers.filter(({ status }) => status === 400).length, 7);
  assert.deepEqual(await stateOf(id), [90, false, 'succeeded']);
  assert.deepEqual(await operationsOf(app, id), ['charge', 'refund', 'refund', 'refund']);
  assert.equal((await rowOf(id)).refundingAmount, 0n);
});

test('a process that dies between processor and commit is repaired by the job, and nothing goes back twice', async () => {
  const id = await newPaidPayment(app, 100n);
  const refundId = await app.inEnvironment(async (work) => {
    await requestRefund(work, id, 60);
    return String(work.effects[0]?.payload.refundId);
  });
  const pending = await app.inEnvironment((work) => findPendingRefund(work, refundId));
  assert(pending);
  const outcome = await performRefund(createProcessors(app.database), pending);
  assert.equal(outcome.result, 'succeeded');
  // Here the process dies. The money is reserved, so nobody can refund more than the other 40.
  assert.deepEqual(await stateOf(id), [null, false, 'succeeded']);
  assert.ok((await refund(id, { partialAmount: 41 })).body.message.includes('from 1 to 40'));

  const payload = { environmentId: app.testEnvironmentId, refundId };
  const run = () => billingTasks.refund_payment?.(app, payload);
  await Promise.all([run(), run()]);
  await run();
  assert.deepEqual(await stateOf(id), [60, false, 'succeeded']);
  assert.equal((await rowOf(id)).refundingAmount, 0n);
  assert.deepEqual(await operationsOf(app, id), ['charge', 'refund']);
  assert.deepEqual(
    (await refundsOf(id)).map((each) => each.status),
    ['succeeded'],
  );
  const { invoice } = await app.get(`/invoices/${(await rowOf(id)).invoiceId}`);
  assert.equal(invoice.amountRefunded, 60);
});

test('a process that dies before the processor was told leaves a job that tells it', async () => {
  const id = await newPaidPayment(app, 100n);
  const answer = await app.inEnvironment((work) => requestRefund(work, id, null));
  assert.equal(answer.payment.refundedAmount, null);
  const { status, body } = await refund(id);
  assert.equal(status, 400);
  assert.ok(body.message.includes('already being refunded'), body.message);
  const { refundId } = { refundId: (await refundsOf(id))[0]?.id };
  await billingTasks.refund_payment?.(app, { environmentId: app.testEnvironmentId, refundId });
  assert.deepEqual(await stateOf(id), [100, true, 'refunded']);
  assert.deepEqual(await operationsOf(app, id), ['charge', 'refund']);
});

test('when the processor refuses, the request says why and the money is there to be refunded again', async () => {
  const id = await newPaidPayment(app, 100n, 'pm_card_refundFail');
  const { status, body } = await refund(id, { partialAmount: 40 });
  assert.deepEqual([status, body.code], [400, 'BAD_REQUEST']);
  assert.ok(body.message.includes('expired_or_canceled_card'), body.message);
  assert.deepEqual(await stateOf(id), [null, false, 'succeeded']);
  const row = await rowOf(id);
  assert.deepEqual([row.refundingAmount, row.refundedAt], [0n, null]);
  const [kept] = await refundsOf(id);
  assert.deepEqual([kept?.status, kept?.amount], ['failed', 40n]);
  const late = { result: 'succeeded', reference: 'late' } as const;
  await app.inEnvironment((work) => applyRefundOutcome(work, kept?.id ?? '', late));
  assert.deepEqual(await stateOf(id), [null, false, 'succeeded']);
});

test('a dry run answers the refunded payment, changes nothing and asks nothing of the processor', async () => {
  const id = await newPaidPayment(app, 100n);
  const partial = await refund(id, { partialAmount: 30 }, '?dryRun=true');
  assert.deepEqual([partial.status, partial.headers.get('dry-run')], [200, 'true']);
  assert.deepEqual([partial.body.payment.refundedAmount, partial.body.payment.status], [30, 'succeeded']);
  const whole = await refund(id, {}, '?dryRun=true');
  assert.deepEqual([whole.body.payment.refundedAmount, whole.body.payment.status], [100, 'refunded']);
  assert.equal((await refund(id, { partialAmount: 101 }, '?dryRun=true')).status, 400);
  assert.deepEqual(await stateOf(id), [null, false, 'succeeded']);
  assert.deepEqual(await refundsOf(id), []);
  assert.deepEqual(await operationsOf(app, id), ['charge']);
});

test('a refund that is sent again under its key is answered from the first and made once', async () => {
  const id = await newPaidPayment(app, 100n);
  const send = (partialAmount: number) =>
    app.request('POST', `/payments/${id}/refund`, { partialAmount }, { headers: { 'Idempotency-Key': 'refund-1' } });
  const first = await send(30);
  const second = await send(30);
  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.equal(first.body.payment.refundedAmount, 30);
  assert.deepEqual(second.body, first.body);
  assert.equal(second.headers.get('idempotent-replayed'), 'true');
  assert.equal((await send(40)).status, 409);
  assert.deepEqual(await stateOf(id), [30, false, 'succeeded']);
  assert.deepEqual(await operationsOf(app, id), ['charge', 'refund']);
});

test('the test network itself gives back no more than it took', async () => {
  const id = await newPaidPayment(app, 100n);
  const { processorReference: reference } = await rowOf(id);
  const network = createProcessors(app.database).named('test');
  const ask = (idempotencyKey: string, amount: bigint) =>
    network.refund({ idempotencyKey, reference, amount, currency: 'USD', now: 0 });
  const [first, again, more] = [await ask('one', 60n), await ask('one', 60n), await ask('two', 60n)];
  assert.deepEqual([first.result, again, more.result], ['succeeded', first, 'failed']);
});

test('refunds of any amounts never add up to more than the payment, and it is refunded exactly when they add up to it', () => {
  const steps = fc.array(fc.record({ amount: fc.nat(60), succeeds: fc.boolean() }), { maxLength: 12 });
  fc.assert(
    fc.property(steps, (requested) => {
      let payment: PaymentMoney = {
        id: 'p',
        status: 'succeeded',
        amount: 100n,
        currency: 'USD',
        refundedAmount: 0n,
        refundingAmount: 0n,
      };
      for (const { amount: partialAmount, succeeds } of requested) {
        const isPossible = payment.status === 'succeeded' && partialAmount > 0 && partialAmount <= refundable(payment);
        if (!isPossible) {
          const before = payment;
          assert.throws(() => decideRefund(before, partialAmount), { status: 400 });
          continue;
        }
        const amount = decideRefund(payment, partialAmount);
        const reserved = { ...payment, refundingAmount: payment.refundingAmount + amount };
        payment = { ...reserved, ...decideRefunded(reserved, amount, succeeds ? 'succeeded' : 'failed') };
        assert.ok(payment.refundedAmount <= payment.amount);
        assert.equal(payment.refundingAmount, 0n);
        assert.equal(payment.status === 'refunded', payment.refundedAmount === payment.amount);
      }
    }),
  );
});

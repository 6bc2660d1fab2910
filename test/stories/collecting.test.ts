import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settleCharges } from '../../src/billing/settle-payment.ts';
import { runInEnvironment } from '../../src/database/work.ts';
import { instant } from '../../src/kernel/calendar.ts';
import type { ChargeOutcome } from '../../src/payments/processor.ts';
import { type Debtor, newDebtor } from '../support/debtor.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const declines = 'pm_card_chargeCustomerFail';

/** A customer who owes 30.75 for February, of which 0.75 are for 150 calls in January, and whose card fails. */
async function lapsed(): Promise<Debtor & { invoiceId: string }> {
  const debtor = await newDebtor(app);
  await debtor.swapCard(declines);
  await debtor.moveTo('2026-02-01');
  return { ...debtor, invoiceId: await openInvoiceOf(debtor) };
}

async function openInvoiceOf({ caller, subscriptionId }: Debtor): Promise<string> {
  return (await caller.get(`/invoices?status=open&subscriptionId=${subscriptionId}`)).data[0].id;
}

const retryPath = ({ subscriptionId }: Debtor) => `/subscriptions/${subscriptionId}/retry-payment`;

/** The last payment of the customer. */
async function lastPayment({ caller, customerId }: Debtor): Promise<Body> {
  return (await caller.get(`/payments?customerId=${customerId}&limit=100`)).data.at(-1);
}

/** What the customer's balance of calls says. */
async function callsLeft({ caller, subscriptionId }: Debtor): Promise<number> {
  const path = `/customers/ada/usage-balances?subscriptionId=${subscriptionId}`;
  return (await caller.get(path)).usageMeterBalances[0].availableBalance;
}

/** Writes down what a processor tells of a payment of its own accord. */
async function tell({ environmentId }: Debtor, paymentId: string, outcome: ChargeOutcome): Promise<void> {
  await runInEnvironment(app.database, { environmentId }, (work) => settleCharges(work, [{ paymentId, outcome }]));
}

test("an operator's retry that fails is answered with 402 and its reason, and counts as an attempt", async () => {
  const debtor = await lapsed();
  await debtor.moveTo('2026-02-02');
  const answer = await debtor.send(retryPath(debtor), {});
  assert.equal(answer.status, 402);
  assert.match(answer.body.message, /card_declined: Your card was declined\./);
  // The second attempt has been made, so the third follows after five days.
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075, again on 2026-02-07']);
  assert.equal((await lastPayment(debtor)).status, 'failed');
});

test('a retry can name another payment method of the customer, and changes nothing about the usual one', async () => {
  const debtor = await lapsed();
  const usual = (await debtor.subscription()).defaultPaymentMethodId;
  const paymentMethodId = await debtor.attach('pm_card_mastercard');
  const { subscription, payment } = await debtor.caller.post(retryPath(debtor), { paymentMethodId });
  assert.deepEqual([payment.status, payment.paymentMethodId], ['succeeded', paymentMethodId]);
  assert.deepEqual([subscription.status, subscription.defaultPaymentMethodId], ['active', usual]);
});

test('a retry is refused where nothing is owed, nothing is charged, nobody can be charged, or all is over', async () => {
  const refuse = async (debtor: Debtor, status: number, message: RegExp, body: Body = {}) => {
    const answer = await debtor.send(retryPath(debtor), body);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.match(answer.body.message, message);
  };
  const paid = await newDebtor(app);
  await refuse(paid, 400, /has no unpaid invoice/);
  const stranger = await lapsed();
  const paymentMethodId = (await lastPayment(paid)).paymentMethodId;
  await refuse(stranger, 400, /must be a payment method of customer/, { paymentMethodId });
  await stranger.caller.post(`/subscriptions/${stranger.subscriptionId}/cancel`, {
    cancellation: { timing: 'immediately' },
  });
  await refuse(stranger, 400, /has ended/);
  await refuse(await newDebtor(app, { doNotCharge: true }), 400, /is not charged/);
  const cardless = await newDebtor(app, { plan: 'trial', token: undefined });
  await cardless.moveTo('2026-01-15');
  await refuse(cardless, 400, /the customer has no payment method/);
  const busy = await newDebtor(app);
  await busy.swapCard('pm_card_processing');
  await busy.moveTo('2026-02-01');
  await refuse(busy, 409, /A payment of invoice \S+ is in progress/);
});

test('a dry run of a retry answers as though it succeeded, and charges nothing', async () => {
  const debtor = await lapsed();
  const { subscription, payment } = await debtor.caller.post(`${retryPath(debtor)}?dryRun=true`);
  assert.deepEqual([subscription.status, payment.status], ['active', 'succeeded']);
  assert.equal((await debtor.subscription()).status, 'past_due');
  assert.equal((await debtor.payments()).length, 2);
});

test('a void invoice is not tried again, its subscription recovers, and its usage is on the next invoice', async () => {
  const debtor = await lapsed();
  const { invoice } = await debtor.caller.post(`/invoices/${debtor.invoiceId}/void`);
  assert.equal(invoice.status, 'void');
  assert.equal((await debtor.subscription()).status, 'active');
  await debtor.swapCard('pm_card_visa');
  await debtor.moveTo('2026-03-01');
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal void 3075', 'renewal paid 0']);
  assert.deepEqual((await debtor.payments()).slice(2), ['2026-03-01 3075 succeeded']);
});

test('what is written off stays billed: its subscription recovers and the next invoice is for the month alone', async () => {
  const debtor = await lapsed();
  const { invoice } = await debtor.caller.post(`/invoices/${debtor.invoiceId}/mark-uncollectible`);
  assert.equal(invoice.status, 'uncollectible');
  assert.equal((await debtor.subscription()).status, 'active');
  await debtor.swapCard('pm_card_visa');
  await debtor.moveTo('2026-03-01');
  assert.deepEqual((await debtor.payments()).slice(2), ['2026-03-01 3000 succeeded']);
});

test('with another invoice open after a failed attempt the subscription stays past due', async () => {
  const debtor = await lapsed();
  await debtor.moveTo('2026-02-13');
  const settings = { dunning: { retryDays: [60, 60, 60, 60], terminalAction: 'unpaid' } };
  await debtor.caller.put('/settings', { settings });
  await debtor.moveTo('2026-03-01');
  await debtor.caller.post(`/invoices/${debtor.invoiceId}/mark-uncollectible`);
  assert.equal((await debtor.subscription()).status, 'past_due');
  await debtor.caller.post(`/invoices/${await openInvoiceOf(debtor)}/mark-uncollectible`);
  assert.equal((await debtor.subscription()).status, 'active');
});

test('an invoice that is paid, void or being paid is neither made void nor written off', async () => {
  const busy = await newDebtor(app);
  await busy.swapCard('pm_card_processing');
  await busy.moveTo('2026-02-01');
  const { data } = await busy.caller.get(`/invoices?subscriptionId=${busy.subscriptionId}`);
  for (const verb of ['void', 'mark-uncollectible']) {
    const statuses: number[] = [];
    for (const { id } of data) statuses.push((await busy.send(`/invoices/${id}/${verb}`, {})).status);
    assert.deepEqual(statuses, [400, 409], verb);
  }
});

test('I7: of 3075, 1075 come by bank transfer, so 2000 are charged next', async () => {
  const debtor = await lapsed();
  const path = `/invoices/${debtor.invoiceId}`;
  const { payment, invoice } = await debtor.caller.post(`${path}/record-payment`, {
    payment: { amount: 1075, paidAt: '2026-01-31T12:00:00Z', reference: 'transfer 17', description: 'First part' },
  });
  assert.deepEqual([invoice.status, invoice.amountPaid], ['open', 1075]);
  assert.deepEqual([payment.status, payment.amount, payment.description], ['succeeded', 1075, 'First part']);
  assert.deepEqual([payment.paymentMethodId, payment.settlementDate], [null, instant('2026-01-31T12:00:00')]);
  assert.equal((await debtor.subscription()).status, 'past_due');
  const isVoid = await debtor.send(`${path}/void`, {});
  assert.equal(isVoid.status, 400);
  assert.match(isVoid.body.message, /1075 of invoice \S+ has been paid and not refunded/);
  await debtor.swapCard('pm_card_visa');
  await debtor.moveTo('2026-02-04');
  assert.deepEqual((await debtor.payments()).slice(2), [
    '2026-01-31T12:00Z 1075 succeeded',
    '2026-02-04 2000 succeeded',
  ]);
  assert.equal((await debtor.subscription()).status, 'active');
});

test('money that pays all of it has every consequence of a charge; a repeat under the same key records nothing', async () => {
  const debtor = await lapsed();
  const path = `/invoices/${debtor.invoiceId}/record-payment`;
  const options = { headers: { 'idempotency-key': 'transfer-18' } };
  // What is null is taken as left out.
  const all = { payment: { amount: null, paidAt: null, paymentMethodType: null } };
  const first = await debtor.send(path, all, options);
  assert.deepEqual([first.body.invoice.status, first.body.payment.amount], ['paid', 3075]);
  const again = await debtor.send(path, all, options);
  assert.deepEqual(again.body, first.body);
  assert.deepEqual((await debtor.payments()).slice(2), ['2026-02-01 3075 succeeded']);
  assert.equal((await debtor.subscription()).status, 'active');
  assert.deepEqual((await debtor.events()).slice(-2), ['payment.succeeded', 'subscription.updated']);
  const third = await debtor.send(path, {});
  assert.equal(third.status, 400);
  assert.match(third.body.message, /Only an open invoice can be paid/);
});

test('more than what is due, money of the future, and money beside a charge under way are refused', async () => {
  const debtor = await lapsed();
  const path = `/invoices/${debtor.invoiceId}/record-payment`;
  const refusal = async (payment: Body) => {
    const { status, body } = await debtor.send(path, { payment });
    return `${status} ${body.message}`;
  };
  assert.match(await refusal({ amount: 3076 }), /^400 payment.amount: must be at most 3075/);
  assert.match(await refusal({ paidAt: '2026-02-02' }), /^400 payment.paidAt: must not be in the future/);
  for (const amount of [0, -1, 0.5]) assert.match(await refusal({ amount }), /^400 payment.amount/);
  await debtor.swapCard('pm_card_processing');
  await debtor.moveTo('2026-02-04');
  assert.match(await refusal({}), /^409 .* is in progress/);
});

test('money that the bank takes back is due again: the subscription is past due and the invoice tried again', async () => {
  const debtor = await newDebtor(app);
  await debtor.moveTo('2026-02-10');
  const { id } = await lastPayment(debtor);
  const reversed: ChargeOutcome = { result: 'reversed', code: 'debit_returned', message: 'Returned by the bank.' };
  await tell(debtor, id, reversed);
  await tell(debtor, id, reversed);
  const { status, failureCode, settlementDate } = await lastPayment(debtor);
  assert.deepEqual([status, failureCode, settlementDate], ['failed', 'debit_returned', instant('2026-02-01')]);
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075, again on 2026-02-13']);
  assert.equal((await debtor.subscription()).status, 'past_due');
  assert.deepEqual((await debtor.events()).slice(-2), ['payment.failed', 'subscription.updated']);
  await debtor.moveTo('2026-02-13');
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal paid 0']);
  assert.equal((await debtor.subscription()).status, 'active');
});

test('a first payment that is taken back does not end the subscription: it was paid for once', async () => {
  const debtor = await newDebtor(app);
  const { id } = await lastPayment(debtor);
  await debtor.caller.post(`/payments/${id}/refund`, { partialAmount: 500 });
  await tell(debtor, id, { result: 'reversed', code: 'dispute_lost', message: 'The customer disputed it.' });
  assert.equal((await debtor.subscription()).status, 'past_due');
  assert.deepEqual(await debtor.invoices(), ['subscription_start open 3000, again on 2026-01-04']);
});

test('who tries cards for money that was taken back late has the time of the retries all the same', async () => {
  const debtor = await newDebtor(app, {}, { dunning: { retryDays: [3, 5], terminalAction: 'canceled' } });
  await debtor.moveTo('2026-02-20');
  const { id } = await lastPayment(debtor);
  await tell(debtor, id, { result: 'reversed', code: 'debit_returned', message: 'Returned by the bank.' });
  await debtor.swapCard(declines);
  const paymentMethodId = await debtor.attach(declines);
  const pay = async () =>
    (await debtor.send(`/invoices/${await openInvoiceOf(debtor)}/pay`, { paymentMethodId })).status;
  for (let card = 1; card <= 3; card++) assert.equal(await pay(), 402);
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075, again on 2026-02-28']);
  // No later card puts it off.
  await debtor.moveTo('2026-02-24');
  assert.equal(await pay(), 402);
  assert.equal((await debtor.subscription()).status, 'past_due');
  await debtor.moveTo('2026-02-28');
  assert.equal((await debtor.subscription()).status, 'canceled');
});

test('failures before money that was taken back do not bring the last attempt forward', async () => {
  const debtor = await newDebtor(app, {}, { dunning: { retryDays: [3, 5], terminalAction: 'canceled' } });
  await debtor.swapCard(declines);
  await debtor.moveTo('2026-02-02');
  await debtor.swapCard('pm_card_visa');
  await debtor.moveTo('2026-02-20');
  const { id } = await lastPayment(debtor);
  await tell(debtor, id, { result: 'reversed', code: 'debit_returned', message: 'Returned by the bank.' });
  // The processor has removed the card, so the next attempt has none.
  const { customerId } = debtor;
  const none = { defaultPaymentMethodId: null };
  await app.owner.updateTable('subscriptions').set(none).where('customerId', '=', customerId).execute();
  const { data } = await debtor.caller.get(`/payment-methods?customerId=${customerId}`);
  for (const method of data) await debtor.caller.delete(`/payment-methods/${method.id}`);
  await debtor.moveTo('2026-02-24');
  const paymentMethodId = await debtor.attach(declines);
  assert.equal((await debtor.send(`/invoices/${await openInvoiceOf(debtor)}/pay`, { paymentMethodId })).status, 402);
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075, again on 2026-02-28']);
});

test('money that came at the last attempt and is taken back is asked for again by the whole schedule', async () => {
  const debtor = await lapsed();
  await debtor.moveTo('2026-02-10');
  await debtor.swapCard('pm_card_visa');
  await debtor.moveTo('2026-02-14');
  assert.equal((await debtor.subscription()).status, 'active');
  await tell(debtor, (await lastPayment(debtor)).id, {
    result: 'reversed',
    code: 'debit_returned',
    message: 'Returned.',
  });
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075, again on 2026-02-17']);
  assert.equal((await debtor.subscription()).status, 'past_due');
  await debtor.swapCard(declines);
  await debtor.moveTo('2026-02-28');
  assert.deepEqual((await debtor.payments()).slice(5), [
    '2026-02-17 3075 failed',
    '2026-02-22 3075 failed',
    '2026-02-27 3075 failed',
  ]);
  assert.equal((await debtor.subscription()).status, 'unpaid');
});

test('a void invoice whose money was taken back owes its usage to the next one, which is paid as any other', async () => {
  const debtor = await newDebtor(app);
  await debtor.moveTo('2026-02-10');
  await tell(debtor, (await lastPayment(debtor)).id, {
    result: 'reversed',
    code: 'debit_returned',
    message: 'Returned.',
  });
  await debtor.caller.post(`/invoices/${await openInvoiceOf(debtor)}/void`);
  // The 100 of February, less the 150 of January that are owed again.
  assert.equal(await callsLeft(debtor), 100 - 150);
  await debtor.moveTo('2026-03-01');
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal void 3075', 'renewal paid 0']);
  assert.deepEqual((await debtor.payments()).slice(2), ['2026-03-01 3075 succeeded']);
  assert.equal(await callsLeft(debtor), 100);
});

test('a change of plan takes over the usage of an invoice whose money was taken back', async () => {
  const debtor = await newDebtor(app);
  await debtor.moveTo('2026-02-10');
  await tell(debtor, (await lastPayment(debtor)).id, {
    result: 'reversed',
    code: 'debit_returned',
    message: 'Returned.',
  });
  await debtor.caller.post(`/subscriptions/${debtor.subscriptionId}/adjust`, {
    adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'month-price', quantity: 2 }] },
  });
  assert.deepEqual(
    (await debtor.invoices()).map((text) => text.split(' ').slice(0, 2).join(' ')),
    ['subscription_start paid', 'renewal void', 'adjustment paid'],
  );
  // For the 19 of 28 days that are left twice the credits, 200 * 19 / 28 = 135.7; the 150 of January are paid for.
  assert.equal(await callsLeft(debtor), 136);
});

test('a change of plan bills the difference only beside an owed invoice of which a balance was credited', async () => {
  const debtor = await newDebtor(app);
  const { caller, subscriptionId } = debtor;
  await debtor.moveTo('2026-02-15');
  const { id, invoiceId } = await lastPayment(debtor);
  const { invoiceLineItems } = await caller.get(`/invoices/${invoiceId}`);
  const plan = invoiceLineItems.find(({ type }: Body) => type === 'static');
  await caller.post(`/invoices/${invoiceId}/credit-notes`, {
    creditNote: { lines: [{ invoiceLineItemId: plan.id, amount: 500 }], settle: 'balance' },
  });
  await tell(debtor, id, { result: 'reversed', code: 'dispute_lost', message: 'The customer disputed it.' });
  // That invoice stays owed, because the balance has part of its money. Half of February is left of 60.00 - 30.00.
  await caller.post(`/subscriptions/${subscriptionId}/adjust`, {
    adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'month-price', quantity: 2 }] },
  });
  await debtor.moveTo('2026-02-28');
  assert.deepEqual((await debtor.payments()).slice(1), [
    '2026-02-01 3075 failed',
    '2026-02-15 1500 succeeded',
    '2026-02-18 3075 succeeded',
  ]);
});

test('money that is taken back during a pause is owed when the subscription goes on', async () => {
  const statusAfterPauseUntil = async (day: string) => {
    const debtor = await newDebtor(app);
    await debtor.moveTo('2026-01-10');
    await debtor.caller.post(`/subscriptions/${debtor.subscriptionId}/pause`);
    await tell(debtor, (await lastPayment(debtor)).id, { result: 'reversed', code: 'returned', message: 'Returned.' });
    await debtor.swapCard(declines);
    assert.equal((await debtor.subscription()).status, 'paused');
    await debtor.moveTo(day);
    return (await debtor.caller.post(`/subscriptions/${debtor.subscriptionId}/resume`)).subscription.status;
  };
  assert.equal(await statusAfterPauseUntil('2026-01-10'), 'past_due');
  assert.equal(await statusAfterPauseUntil('2026-01-12'), 'past_due');
  // Failed on the 10th, the 13th, the 18th and the 23rd.
  assert.equal(await statusAfterPauseUntil('2026-01-24'), 'unpaid');
});

test('what a credit note takes off an invoice whose money was taken back is not kept for paused time too', async () => {
  const debtor = await newDebtor(app);
  const { caller, subscriptionId } = debtor;
  const kept = async () => {
    const row = app.owner.selectFrom('subscriptions').select('pausedCredit').where('id', '=', subscriptionId);
    return Number((await row.executeTakeFirstOrThrow()).pausedCredit);
  };
  await debtor.moveTo('2026-01-11T12:00');
  await caller.post(`/subscriptions/${subscriptionId}/pause`);
  // 20.5 of 31 days of 30.00 are left.
  assert.equal(await kept(), 1984);
  await tell(debtor, (await lastPayment(debtor)).id, { result: 'reversed', code: 'returned', message: 'Returned.' });
  const id = await openInvoiceOf(debtor);
  const [line] = (await caller.get(`/invoices/${id}`)).invoiceLineItems;
  const offset = (more: Body) =>
    caller.post(`/invoices/${id}/credit-notes`, {
      creditNote: { lines: [{ invoiceLineItemId: line.id, ...more }], settle: 'offset' },
    });
  // 20.00 are owed, and 10.16 of them were used.
  await offset({ amount: 1000 });
  assert.equal(await kept(), 984);
  await offset({});
  assert.equal((await caller.get(`/invoices/${id}`)).invoice.status, 'paid');
  assert.equal(await kept(), 0);
});

test('an offset of the rest of an invoice whose part payment was refunded ends what its subscription owes', async () => {
  const debtor = await lapsed();
  const { caller, invoiceId } = debtor;
  const { payment } = await caller.post(`/invoices/${invoiceId}/record-payment`, { payment: { amount: 1075 } });
  await caller.post(`/payments/${payment.id}/refund`, {});
  const { invoiceLineItems } = await caller.get(`/invoices/${invoiceId}`);
  const lines = invoiceLineItems.flatMap(({ id, amount, creditedAmount = 0 }: Body) =>
    amount > creditedAmount ? { invoiceLineItemId: id } : [],
  );
  await caller.post(`/invoices/${invoiceId}/credit-notes`, { creditNote: { lines, settle: 'offset' } });
  assert.equal((await caller.get(`/invoices/${invoiceId}`)).invoice.status, 'refunded');
  assert.equal((await debtor.subscription()).status, 'active');
});

test('a charge that its processor calls off is a failed attempt', async () => {
  const debtor = await newDebtor(app);
  await debtor.swapCard('pm_card_processing');
  await debtor.moveTo('2026-02-01');
  const { id } = await lastPayment(debtor);
  await tell(debtor, id, { result: 'canceled', reference: 'test' });
  assert.equal((await lastPayment(debtor)).status, 'canceled');
  assert.equal((await debtor.subscription()).status, 'past_due');
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075, again on 2026-02-04']);
});

test('a charge that needs the customer says what he has to do, and is no failure', async () => {
  const debtor = await newDebtor(app);
  await debtor.swapCard('pm_card_processing');
  await debtor.moveTo('2026-02-01');
  const { id } = await lastPayment(debtor);
  const nextAction = { type: 'redirect_to_url', redirect_to_url: { url: 'https://bank.example/confirm' } };
  const checkAt = instant('2026-02-01T06:00:00');
  await tell(debtor, id, { result: 'requires_action', reference: `test_charge_${id}`, nextAction, checkAt });
  const waiting = await lastPayment(debtor);
  assert.deepEqual([waiting.status, waiting.nextAction], ['requires_action', nextAction]);
  assert.equal((await debtor.subscription()).status, 'active');
  await debtor.moveTo('2026-02-01T06:00:00');
  const paid = await lastPayment(debtor);
  assert.deepEqual([paid.status, paid.nextAction], ['succeeded', null]);
});

test('after all of this the books are in order', async () => {
  await assertSound(app);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adjustSubscription } from '../../src/billing/adjust.ts';
import { lockCurrent } from '../../src/billing/catch-up.ts';
import { settleCharges } from '../../src/billing/settle-payment.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { NewAdjustment } from '../../src/subscriptions/adjustment-input.ts';
import { day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { databaseDigest } from '../support/digest.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const { subscribe, adjust, invoices, items } = changes;
const hour = 3_600_000;

/** A customer on p3000 since 1 April whose card is another one by 11 April. */
async function newCard(token: string) {
  const customer = await subscribe('p3000');
  const paymentMethodId = await changes.attach(customer.customerId, token);
  await changes.chargeOn(customer.id, paymentMethodId);
  await app.setClock(day(10));
  return { ...customer, paymentMethodId };
}

test('a charge that fails changes nothing: 402 with the reason, the failed payment is all it leaves, and another try is free', async () => {
  const { id, externalId, customerId } = await newCard('pm_card_chargeCustomerFail');
  const before = await changes.subscription(id);
  const message = await changes.refused(id, 'p6000', 402);
  assert.match(message, /^Nothing was changed because the charge for the change failed\. .*card_declined/);
  assert.deepEqual(await changes.subscription(id), before);
  assert.deepEqual(await items(externalId), [[3000, 1]]);
  assert.deepEqual(await invoices(id), [['paid', 3000]]);
  const [failed] = (await app.get(`/payments?subscriptionId=${id}&status=failed`)).data;
  assert.deepEqual(
    [failed.amount, failed.invoiceId, failed.description],
    [2000, null, 'Change to p6000 - Monthly, 11 Apr – 1 May 2026'],
  );
  assert.deepEqual(await changes.events(id), ['subscription.created']);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
  await adjust(id, 'p6000');
  assert.deepEqual(await items(externalId), [[6000, 1]]);
});

test('eight declined changes are eight failed payments of one change, and the next invoice has number 2', async () => {
  const { id, customerId } = await newCard('pm_card_chargeCustomerFail');
  for (const plan of ['p6000', 'p9000', 'yearly', 'p6000', 'p9000', 'yearly', 'p6000', 'p9000'])
    await changes.refused(id, plan, 402);
  const rows = () =>
    app.owner
      .selectFrom('subscriptionAdjustments')
      .select(['status', 'bill'])
      .where('subscriptionId', '=', id)
      .execute();
  assert.deepEqual(await rows(), [{ status: 'failed', bill: null }]);
  assert.equal((await app.get(`/payments?subscriptionId=${id}&status=failed`)).total, 8);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
  await adjust(id, 'p6000');
  assert.deepEqual(await rows(), [{ status: 'applied', bill: null }]);
  const { data } = await app.get(`/invoices?subscriptionId=${id}`);
  assert.deepEqual(
    data.map((invoice: Body) => [invoice.status, invoice.total, /2$/.test(invoice.invoiceNumber)]),
    [
      ['paid', 3000, false],
      ['paid', 2000, true],
    ],
  );
});

/** A change to 60.00 on 11 April, from 30.00 or another plan, whose first payment has been requested and not answered. */
async function underWay(from: string | null = null) {
  const customer = await newCard('pm_card_visa');
  if (from !== null) await adjust(customer.id, from);
  const requested = NewAdjustment.parse(changes.adjustmentOf('p6000').adjustment);
  await app.inEnvironment((work) => adjustSubscription(work, customer.id, requested));
  assert.deepEqual(await invoices(customer.id), [['paid', 3000]]);
  return customer;
}

test('the amounts of a change are those of its payment, whatever changes before the bank has said yes', async () => {
  const { id, externalId } = await underWay();
  await app.put('/settings', { settings: { taxProvider: 'rates' } });
  await app.post('/tax-rates', { taxRate: { country: 'FR', type: 'vat', percentage: '10' } });
  await app.put(`/customers/${externalId}`, { customer: { billingAddress: { address: { country: 'FR' } } } });
  const preview = await changes.preview(id, 'p9000');
  assert.match(preview.reason, /is waiting for its payment \(invoice not made yet\)/);
  await app.setClock(day(20));
  await assertSound(app);
  await app.runJobs({ all: true });
  const { data } = await app.get(`/invoices?subscriptionId=${id}`);
  const { status, total, taxAmount, invoiceDate } = data.at(-1);
  assert.deepEqual([status, total, taxAmount, invoiceDate], ['paid', 2000, 0, day(10)]);
  assert.deepEqual(await items(externalId), [[6000, 1]]);
  await app.put('/settings', { settings: { taxProvider: 'none' } });
});

test('who has left before the bank says yes gets the money of the change back', async () => {
  const { id } = await underWay();
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  await assertSound(app);
  await app.runJobs({ all: true });
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['refunded', 2000],
  ]);
});

test('while a free plan is being changed into a paid one, no other is bought or booked, and the change is made', async () => {
  const { id, customerId } = await underWay('zero');
  for (const startDate of [null, may]) {
    const other = { customerId, ...changes.item('p9000'), startDate };
    const { status, body } = await app.request('POST', '/subscriptions', other);
    assert.deepEqual([status, body.reason], [409, 'current_subscription_exists']);
  }
  await app.runJobs({ all: true });
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 2000]);
  const slow = await subscribe('p3000', { token: 'pm_card_processing' });
  assert.match(await changes.refused(slow.id, 'zero', 409), /already has a current subscription/);
  assert.equal((await changes.preview(slow.id, 'zero')).canAdjust, false);
});

test('a pause waits for the bank too: what is kept of the period would not have the change in it', async () => {
  const { id, externalId } = await underWay();
  const pause = () => app.request('POST', `/subscriptions/${id}/pause`, { pause: {} });
  const { status, body } = await pause();
  assert.equal(status, 400);
  assert.match(body.message, /it must be paid for first/);
  await app.runJobs({ all: true });
  assert.deepEqual(await items(externalId), [[6000, 1]]);
  assert.equal((await pause()).status, 200);
  // Of 50.00, ten days of 1.00 are used, so 40.00 are taken off the 60.00 of May.
  await app.setClock(may);
  await app.post(`/subscriptions/${id}/resume`, {});
  await app.runJobs({ all: true });
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 2000]);
});

/** A change to the yearly plan with usage of 1.00, whose first payment has been requested and not answered. */
async function billedUnderWay() {
  const customer = await subscribe('p3000');
  await app.setClock(day(15));
  await changes.use(customer.id, 200);
  const requested = NewAdjustment.parse(changes.adjustmentOf('yearly').adjustment);
  await app.inEnvironment((work) => adjustSubscription(work, customer.id, requested));
  const { data } = await app.get(`/payments?customerId=${customer.customerId}&status=processing`);
  const [{ id: paymentId, amount, invoiceId }] = data;
  assert.deepEqual([amount, invoiceId, await invoices(customer.id)], [28_600, null, [['paid', 3000]]]);
  await changes.use(customer.id, 200);
  await assertSound(app);
  const declined = { result: 'failed', reference: null, code: 'card_declined', message: 'Declined.' } as const;
  const decline = () => app.inEnvironment((work) => settleCharges(work, [{ paymentId, outcome: declined }]));
  return { ...customer, paymentId, decline };
}

test('usage that comes after a change was shown is on another bill, and that of a declined one on the next', async () => {
  const made = await billedUnderWay();
  await app.runJobs({ all: true });
  assert.deepEqual((await invoices(made.id)).at(-1), ['paid', 28_600]);
  const declined = await billedUnderWay();
  await declined.decline();
  await declined.decline();
  await assertSound(app);
  assert.deepEqual(await invoices(declined.id), [['paid', 3000]]);
  await changes.moveTo(may);
  // 400 calls at 50 for 100, and the month.
  assert.deepEqual((await invoices(declined.id)).at(-1), ['paid', 3200]);
  await changes.moveTo(instant('2027-04-16'));
  assert.deepEqual((await invoices(made.id)).slice(2), [
    ['paid', 100],
    ['paid', 30_000],
  ]);
});

test('of a change whose month ends before its money comes, the usage is kept and the rest given back', async () => {
  const { id } = await billedUnderWay();
  await app.setClock(may);
  await app.inEnvironment(async (work) => lockCurrent(work, id));
  await assertSound(app);
  await app.runJobs({ all: true });
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['paid', 3100],
    ['partially_refunded', 28_600],
  ]);
  const [, , change] = (await app.get(`/invoices?limit=100&subscriptionId=${id}`)).data;
  assert.equal(change.amountRefunded, 28_500);
  assert.equal((await changes.subscription(id)).interval, 'month');
});

test('a year is not begun for who is to leave at the end of the month: its money is given back, but for the usage', async () => {
  const { id } = await billedUnderWay();
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'at_end_of_current_billing_period' } });
  await app.runJobs({ all: true });
  const { status, interval, cancelScheduledAt } = await changes.subscription(id);
  assert.deepEqual([status, interval, cancelScheduledAt], ['cancellation_scheduled', 'month', may]);
  await changes.moveTo(may);
  assert.equal((await changes.subscription(id)).status, 'canceled');
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['partially_refunded', 28_600],
    ['paid', 100],
  ]);
});

test('usage of a change that is declined after its subscription has ended is on a last bill, once', async () => {
  const { id, decline } = await billedUnderWay();
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  await assertSound(app);
  await decline();
  await app.runJobs({ all: true });
  const bills = await invoices(id);
  assert.deepEqual(
    bills.map(([, total]) => total),
    [3000, 100, 100],
  );
});

test('a repeat under the Idempotency-Key of a failed charge tries again', async () => {
  const { id, externalId, customerId } = await newCard('pm_card_chargeCustomerFail');
  const request = () =>
    app.request('POST', `/subscriptions/${id}/adjust`, changes.adjustmentOf('p6000'), {
      headers: { 'idempotency-key': 'change-1' },
    });
  assert.equal((await request()).status, 402);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
  assert.equal((await request()).status, 200);
  assert.equal((await request()).headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(await items(externalId), [[6000, 1]]);
});

test('a payment that takes its time: nothing changes until it has arrived, and another change is refused meanwhile', async () => {
  const { id, externalId } = await newCard('pm_card_processing');
  const answer = await adjust(id, 'p6000');
  assert.deepEqual([answer.adjustment.status, answer.isUpgrade], ['awaiting_payment', true]);
  assert.deepEqual(
    answer.subscriptionItems.map((item: { unitPrice: number }) => item.unitPrice),
    [3000],
  );
  assert.match(await changes.refused(id, 'p9000', 409), /is waiting for its payment/);
  assert.equal((await changes.preview(id, 'p9000')).canAdjust, false);
  await changes.moveTo(day(10) + 2 * hour);
  assert.deepEqual(await items(externalId), [[6000, 1]]);
  const [item] = await changes.itemsOf(externalId);
  assert.equal(item.addedDate, day(10), 'it was paid for since the change was asked for');
  assert.deepEqual(await changes.events(id), ['subscription.created', 'subscription.updated']);
});

test('money that arrives when the next period has begun: the new plan begins with it, and the difference is billed', async () => {
  const { id, externalId, customerId } = await newCard('pm_card_processing');
  await app.setClock(may - hour / 2);
  await adjust(id, 'p6000');
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
  await changes.moveTo(may + hour);
  const [item] = await changes.itemsOf(externalId);
  assert.deepEqual([item.unitPrice, item.addedDate], [6000, may]);
  assert.deepEqual((await invoices(id)).slice(1), [
    ['paid', 2],
    ['paid', 3000],
    ['paid', 3000],
  ]);
  assert.equal((await changes.preview(id, 'p1000')).totalDue, 0, 'so a change to less asks for nothing');
});

test('a difference that cannot be charged is owed, is asked for once, and does not hold up the plan', async () => {
  const { id, externalId, customerId } = await newCard('pm_card_processing');
  await app.setClock(may - hour / 2);
  await adjust(id, 'p6000');
  const good = await changes.attach(customerId, 'pm_card_visa');
  await changes.chargeOn(id, good);
  await changes.moveTo(may);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  await changes.moveTo(may + hour);
  const expected = [
    ['paid', 2],
    ['paid', 3000],
    ['open', 3000],
  ];
  assert.deepEqual((await invoices(id)).slice(1), expected);
  await changes.moveTo(may + 100 * hour);
  assert.deepEqual((await invoices(id)).slice(1), expected);
  assert.deepEqual([await items(externalId), (await changes.subscription(id)).status], [[[6000, 1]], 'active']);
  assert.equal((await changes.preview(id, 'p1000')).totalDue, 0);
  const [owed] = (await app.get(`/invoices?subscriptionId=${id}&status=open`)).data;
  const payments = (await app.get(`/payments?invoiceId=${owed.id}`)).data;
  assert.deepEqual(
    payments.map((payment: { status: string }) => payment.status),
    ['failed'],
  );
  await app.post(`/invoices/${owed.id}/record-payment`, {});
  assert.equal((await changes.preview(id, 'p1000')).totalDue, 0);
});

test('a change whose subscription ends while it waits is not made, and its money is given back when it arrives', async () => {
  const { id } = await newCard('pm_card_processing');
  await adjust(id, 'p6000');
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  await changes.moveTo(day(10) + 2 * hour);
  const row = await app.owner
    .selectFrom('subscriptionAdjustments')
    .select('status')
    .where('subscriptionId', '=', id)
    .executeTakeFirstOrThrow();
  assert.equal(row.status, 'canceled');
  const rows = app.owner.selectFrom('subscriptionItems').select('unitPrice').where('subscriptionId', '=', id);
  assert.deepEqual(await rows.execute(), [{ unitPrice: 3000n }]);
  assert.deepEqual((await invoices(id)).at(-1), ['refunded', 2000]);
  assert.deepEqual((await changes.events(id)).slice(1), ['subscription.canceled']);
});

test('money that arrives after the end in place of an unpaid invoice pays for that, usage included, and nobody pays twice', async () => {
  const { id, customerId } = await subscribe('p100');
  await changes.use(id, 250);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  await changes.moveTo(may);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
  await adjust(id, 'p200');
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  const unpaid = (await app.get(`/invoices?subscriptionId=${id}&status=open`)).data[0];
  assert.equal((await app.request('POST', `/invoices/${unpaid.id}/record-payment`, {})).status, 409);
  await assertSound(app);
  await changes.moveTo(may + 2 * hour);
  assert.deepEqual(await invoices(id), [
    ['paid', 100],
    ['void', 225],
    ['partially_refunded', 325],
  ]);
  // The month of 1.00 more is of a plan that the customer never had.
  const [, , change] = (await app.get(`/invoices?subscriptionId=${id}`)).data;
  assert.equal(change.amountRefunded, 100);
});

test('while a change takes the place of an unpaid invoice, nobody else collects or closes that', async () => {
  const { id, externalId, customerId } = await subscribe('p100');
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  await changes.moveTo(may);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
  assert.equal((await adjust(id, 'p200')).adjustment.status, 'awaiting_payment');
  const unpaid = (await app.get(`/invoices?subscriptionId=${id}&status=open`)).data[0];
  for (const path of [`/subscriptions/${id}/retry-payment`, `/invoices/${unpaid.id}/void`]) {
    assert.equal((await app.request('POST', path, {})).status, 409, path);
  }
  await changes.moveTo(may + hour);
  assert.deepEqual(await invoices(id), [
    ['paid', 100],
    ['void', 100],
    ['paid', 200],
  ]);
  assert.deepEqual(await items(externalId), [[200, 1]]);
});

test('the default payment method is charged, else the backup, else that of the customer; without any: 400', async () => {
  const { id, customerId, paymentMethodId: backup } = await newCard('pm_card_visa');
  const charged = async () =>
    (await app.get(`/payments?customerId=${customerId}&limit=100`)).data.at(-1).paymentMethodId;
  await app.owner
    .updateTable('subscriptions')
    .set({ defaultPaymentMethodId: null, backupPaymentMethodId: backup })
    .where('id', '=', id)
    .execute();
  const customers = await changes.attach(customerId, 'pm_card_visa');
  await adjust(id, 'p6000');
  assert.equal(await charged(), backup);
  await app.owner.updateTable('subscriptions').set({ backupPaymentMethodId: null }).where('id', '=', id).execute();
  const preview = await changes.preview(id, 'p9000');
  assert.deepEqual(preview.paymentMethod, { id: customers, type: 'card', last4: '4242', brand: 'visa' });
  await adjust(id, 'p9000');
  assert.equal(await charged(), customers);

  const poor = await subscribe('trial', { token: null });
  await changes.moveTo(day(14));
  assert.match(await changes.refused(poor.id, 'p6000', 400), /has no payment method/);
});

test('a dry run answers what would be, and stores nothing', async () => {
  const { id } = await newCard('pm_card_visa');
  const digest = await databaseDigest(app);
  const path = `/subscriptions/${id}/adjust?dryRun=true`;
  const answer = await app.post(path, changes.adjustmentOf('p6000'));
  assert.deepEqual([answer.adjustment.status, answer.subscription.priceId], ['applied', changes.priceIdOf('p6000')]);
  assert.equal(await databaseDigest(app), digest);
});

test('five changes at once are one change: the others are refused or find it made', async () => {
  const { id, externalId } = await newCard('pm_card_visa');
  const path = `/subscriptions/${id}/adjust`;
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => app.request('POST', path, changes.adjustmentOf('p6000'))),
  );
  assert.ok(answers.every(({ status }) => status === 200 || status === 409));
  assert.deepEqual(await items(externalId), [[6000, 1]]);
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['paid', 2000],
  ]);
});

test('after all of it the data is sound', () => assertSound(app));

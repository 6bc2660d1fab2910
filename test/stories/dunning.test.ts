import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newDebtor } from '../support/debtor.ts';
import { startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const declines = 'pm_card_chargeCustomerFail';

/** A customer whose card fails from February on: 30.00 for the month and 0.75 for 150 calls in January are due. */
async function lapsed(settings?: object, more?: object) {
  const debtor = await newDebtor(app, more, settings);
  await debtor.swapCard(declines);
  await debtor.moveTo('2026-02-01');
  return debtor;
}

test('a charge that fails is made again after 3, 5 and 5 days; after the last the subscription is unpaid', async () => {
  const debtor = await lapsed();
  assert.equal((await debtor.subscription()).status, 'past_due');
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075, again on 2026-02-04']);
  await debtor.moveTo('2026-02-03T23:59:59');
  assert.equal((await debtor.payments()).length, 2);
  await debtor.moveTo('2026-02-14');
  assert.deepEqual(await debtor.payments(), [
    '2026-01-01 3000 succeeded',
    '2026-02-01 3075 failed',
    '2026-02-04 3075 failed',
    '2026-02-09 3075 failed',
    '2026-02-14 3075 failed',
  ]);
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075']);
  const { status, current } = await debtor.subscription();
  assert.deepEqual([status, current], ['unpaid', true]);
  const renewed = ['payment.failed', 'subscription.updated', 'subscription.updated'];
  const events = (await debtor.events()).slice(-6).toSorted();
  assert.deepEqual(events, [...renewed, 'payment.failed', 'payment.failed', 'payment.failed'].toSorted());
});

test('it makes no difference whether the clock comes by on each day or once', async () => {
  const [daily, once] = [await lapsed(), await lapsed()];
  for (let day = 2; day <= 20; day++) await daily.moveTo(`2026-02-${String(day).padStart(2, '0')}`);
  await once.moveTo('2026-02-20');
  assert.deepEqual(await once.payments(), await daily.payments());
  assert.deepEqual(await once.invoices(), await daily.invoices());
});

test('from the third attempt on the backup payment method is charged', async () => {
  const debtor = await newDebtor(app);
  const backup = await debtor.attach('pm_card_mastercard');
  const subscription = { backupPaymentMethodId: backup };
  await app.owner.updateTable('subscriptions').set(subscription).where('id', '=', debtor.subscriptionId).execute();
  await debtor.swapCard(declines);
  await debtor.moveTo('2026-02-20');
  assert.deepEqual(await debtor.payments(), [
    '2026-01-01 3000 succeeded',
    '2026-02-01 3075 failed',
    '2026-02-04 3075 failed',
    '2026-02-09 3075 succeeded',
  ]);
  assert.equal((await debtor.subscription()).status, 'active');
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal paid 0']);
});

test('an unpaid subscription is billed and not charged; once the old invoice is paid, the new ones are collected', async () => {
  const debtor = await lapsed();
  await debtor.moveTo('2026-04-02');
  assert.deepEqual(await debtor.invoices(), [
    'subscription_start paid 0',
    'renewal open 3075',
    'renewal open 3000',
    'renewal open 3000',
  ]);
  assert.equal((await debtor.payments()).length, 5);
  await debtor.swapCard('pm_card_visa');
  const { subscription, payment } = await debtor.caller.post(`/subscriptions/${debtor.subscriptionId}/retry-payment`);
  assert.deepEqual([subscription.status, payment.status, payment.amount], ['active', 'succeeded', 3075]);
  await debtor.moveTo('2026-04-03');
  assert.deepEqual((await debtor.payments()).slice(5), [
    '2026-04-02 3075 succeeded',
    '2026-04-02 3000 succeeded',
    '2026-04-02 3000 succeeded',
  ]);
  assert.equal((await debtor.invoices()).filter((text) => text.includes('open')).length, 0);
});

test('the last failure cancels the subscription where the settings say so, and the invoice stays open', async () => {
  const debtor = await lapsed({ dunning: { retryDays: [1, 1], terminalAction: 'canceled' } });
  await debtor.moveTo('2026-03-15');
  assert.deepEqual((await debtor.payments()).slice(1), [
    '2026-02-01 3075 failed',
    '2026-02-02 3075 failed',
    '2026-02-03 3075 failed',
  ]);
  const { status, cancellationReason, canceledAt } = await debtor.subscription();
  assert.deepEqual([status, cancellationReason], ['canceled', 'non_payment']);
  assert.equal(new Date(canceledAt).toISOString(), '2026-02-03T00:00:00.000Z');
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075']);
  assert.equal((await debtor.events()).filter((type) => type === 'subscription.canceled').length, 1);
});

test('the last failure leaves the subscription past due where the settings say so, and the next month is charged', async () => {
  const debtor = await lapsed({ dunning: { retryDays: [], terminalAction: 'past_due' } });
  assert.equal((await debtor.subscription()).status, 'past_due');
  await debtor.swapCard('pm_card_visa');
  await debtor.moveTo('2026-03-01');
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075', 'renewal paid 0']);
  assert.equal((await debtor.subscription()).status, 'past_due', 'February is still owed');
});

test('without a retry the first failure is the last', async () => {
  const debtor = await lapsed({ dunning: { retryDays: [], terminalAction: 'unpaid' } });
  assert.equal((await debtor.subscription()).status, 'unpaid');
});

test('a retry that succeeds makes the subscription active, the invoice paid and its period completed if it is over', async () => {
  const debtor = await lapsed({ dunning: { retryDays: [40], terminalAction: 'unpaid' } });
  const periods = async () => {
    const rows = await app.owner
      .selectFrom('billingPeriods')
      .select('status')
      .where('subscriptionId', '=', debtor.subscriptionId)
      .orderBy('startAt')
      .execute();
    return rows.map(({ status }) => status);
  };
  await debtor.moveTo('2026-03-02');
  assert.deepEqual(await periods(), ['completed', 'past_due', 'active']);
  await debtor.swapCard('pm_card_visa');
  // The forty days after the failure in February are over on 13 March; March itself failed on its first day.
  await debtor.moveTo('2026-03-13');
  assert.deepEqual(await periods(), ['completed', 'completed', 'active']);
  assert.equal((await debtor.subscription()).status, 'past_due', 'March is still owed');
  await debtor.moveTo('2026-04-10');
  assert.equal((await debtor.subscription()).status, 'active');
});

test('a first payment that fails after a trial ends the subscription, and nobody owes its invoice', async () => {
  const debtor = await newDebtor(app, { plan: 'trial', token: declines });
  assert.equal((await debtor.subscription()).status, 'trialing');
  await debtor.moveTo('2026-01-15');
  const { status, cancellationReason } = await debtor.subscription();
  assert.deepEqual([status, cancellationReason], ['canceled', 'non_payment']);
  assert.deepEqual(await debtor.payments(), ['2026-01-15 3075 failed']);
  // The 150 calls of the trial that no credit covered are owed all the same.
  assert.deepEqual(await debtor.invoices(), ['renewal void 3075', 'final_usage open 75']);
  const { data } = await debtor.caller.get('/subscriptions?status=active');
  assert.deepEqual(
    data.map(({ name }: { name: string }) => name),
    ['free Subscription'],
  );
});

test('a trial that ends without a payment method is past due from then on, and is charged when there is one', async () => {
  const debtor = await newDebtor(app, { plan: 'trial', token: undefined });
  await debtor.moveTo('2026-01-15');
  assert.equal((await debtor.subscription()).status, 'past_due');
  assert.deepEqual(await debtor.invoices(), ['renewal open 3075, again on 2026-01-18']);
  await debtor.attach('pm_card_visa');
  await debtor.moveTo('2026-01-18');
  assert.deepEqual(await debtor.payments(), ['2026-01-18 3075 succeeded']);
  assert.equal((await debtor.subscription()).status, 'active');
});

test('with net terms nobody is past due before the due date has come without a payment', async () => {
  const debtor = await newDebtor(app, { plan: 'trial', token: undefined }, { netTermsDays: 10 });
  await debtor.moveTo('2026-01-15');
  assert.equal((await debtor.subscription()).status, 'active');
  assert.deepEqual(await debtor.invoices(), ['renewal open 3075, again on 2026-01-25']);
  await debtor.moveTo('2026-01-25');
  assert.equal((await debtor.subscription()).status, 'past_due');
  assert.deepEqual(await debtor.invoices(), ['renewal open 3075, again on 2026-01-28']);
});

test('a charge that takes an hour is asked for again then, and the subscription is active all the while', async () => {
  const debtor = await newDebtor(app);
  await debtor.swapCard('pm_card_processing');
  await debtor.moveTo('2026-02-01');
  assert.deepEqual(await debtor.invoices(), [
    'subscription_start paid 0',
    'renewal awaiting_payment_confirmation 3075',
  ]);
  await debtor.moveTo('2026-02-01T00:59:59');
  assert.deepEqual((await debtor.payments()).slice(1), ['2026-02-01 3075 processing']);
  await debtor.moveTo('2026-02-01T01:00:00');
  assert.deepEqual((await debtor.payments()).slice(1), ['2026-02-01 3075 succeeded']);
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal paid 0']);
  assert.equal((await debtor.subscription()).status, 'active');
});

test('who cancels is not charged any more for what failed', async () => {
  const debtor = await lapsed();
  await debtor.caller.post(`/subscriptions/${debtor.subscriptionId}/cancel`, {
    cancellation: { timing: 'immediately' },
  });
  await debtor.moveTo('2026-02-20');
  assert.equal((await debtor.payments()).length, 2);
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'renewal open 3075']);
});

test('after all of this the books are in order', async () => {
  await assertSound(app);
});

test('the queue of dunning names the next attempt, attention counts it, and neither tells of another tenant', async () => {
  const debtor = await lapsed();
  const [invoice, ...others] = (await debtor.caller.get('/invoices?pastDue=true')).data;
  assert.equal(others.length, 0);
  assert.equal(invoice.nextAttemptAt, Date.UTC(2026, 1, 4));
  const paid = (await debtor.caller.get('/invoices?pastDue=false')).data;
  assert.deepEqual(
    paid.map((each: { status: string; nextAttemptAt?: number }) => [each.status, each.nextAttemptAt]),
    [['paid', undefined]],
  );
  assert.equal((await debtor.caller.get(`/invoices?invoiceNumber=${invoice.invoiceNumber}`)).data[0].id, invoice.id);
  const { attention } = await debtor.caller.get('/analytics/attention');
  const { pastDueInvoices, pastDueSubscriptions, failedPayments, brokenInvariants } = attention;
  assert.deepEqual([pastDueInvoices, pastDueSubscriptions, failedPayments, brokenInvariants], [1, 1, 1, null]);
  const { health } = await debtor.caller.get('/analytics/health');
  assert.deepEqual(health.work, {
    periodsDue: 0,
    attemptsDue: 0,
    stuckSubscriptions: 0,
    messagesPending: 0,
    oldestMessageAt: null,
  });
  assert.equal(health.checks, null);
  const other = await app.newOrganization();
  const seen = await app.get('/analytics/attention', { key: other.testKey });
  assert.deepEqual(Object.values(seen.attention), [0, 0, 0, 0, 0, 0, 0, 0, null]);
});

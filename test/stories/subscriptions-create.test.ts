import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settleCharges } from '../../src/billing/settle-payment.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const april = instant('2026-04-01');
await app.setClock(april);

const refused = async (body: Body, status: number) => {
  const answer = await app.request('POST', '/subscriptions', body);
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  return answer.body.message as string;
};
const invoicesOf = async (externalId: string): Promise<Body[]> =>
  (await app.get(`/customers/${externalId}/billing`)).invoices;
const paymentsOf = async (customerId: string): Promise<Body[]> =>
  (await app.get(`/payments?customerId=${customerId}`)).data;
const periodsOf = (subscriptionId: string) =>
  app.owner
    .selectFrom('billingPeriods')
    .select(['startAt', 'endAt', 'status', 'trialPeriod'])
    .where('subscriptionId', '=', subscriptionId)
    .execute();

test('with a named card the subscription is active, paid and has its credits in the answer', async () => {
  const { customerId, externalId, paymentMethodId, freeId } = await plans.newCustomer('pm_card_visa');
  const subscription = await plans.subscribe({
    customerId,
    priceSlug: 'pro-monthly',
    quantity: 2,
    defaultPaymentMethodId: paymentMethodId,
    metadata: { seats: 2 },
  });
  assert.equal(subscription.status, 'active');
  assert.equal(subscription.name, 'Pro - Monthly');
  assert.equal(subscription.priceId, plans.priceOf('pro-monthly').id);
  assert.equal(subscription.defaultPaymentMethodId, paymentMethodId);
  assert.deepEqual(subscription.metadata, { seats: 2 });
  assert.deepEqual(
    [subscription.startDate, subscription.currentBillingPeriodStart, subscription.currentBillingPeriodEnd],
    [april, april, instant('2026-05-01')],
  );
  assert.equal(subscription.billingCycleAnchorDate, april);
  assert.equal(subscription.runBillingAtPeriodStart, true);

  const [paid] = await invoicesOf(externalId);
  assert.deepEqual([paid.invoice.status, paid.invoice.total, paid.invoice.amountPaid], ['paid', 6000, 6000]);
  assert.match(paid.invoice.invoiceNumber, /^[A-F0-9]{7}-00001$/);
  const [line] = paid.invoiceLineItems;
  assert.deepEqual([line.description, line.quantity, line.price], ['Pro x 2, 1 Apr – 1 May 2026', 2, 3000]);
  const [payment] = await paymentsOf(customerId);
  assert.deepEqual([payment.status, payment.amount], ['succeeded', 6000]);
  // A quantity of 2 doubles the credits: 1000 of the month and 500 to begin with.
  assert.equal(await plans.calls(externalId, subscription.id), 3000);
  assert.deepEqual(await plans.events(subscription.id), ['subscription.created']);
  assert.deepEqual(await plans.events(payment.id), ['payment.succeeded']);

  const free = await plans.subscription(freeId);
  assert.deepEqual(
    [free.status, free.cancellationReason, free.replacedBySubscriptionId, free.canceledAt],
    ['canceled', 'upgraded_to_paid', subscription.id, april],
  );
  assert.deepEqual(await plans.events(freeId), ['subscription.created'], 'the upgrade is told by the new one');
});

test("with the customer's card it is incomplete until the charge succeeds, and keeps that card", async () => {
  const { customerId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const subscription = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  assert.deepEqual([subscription.status, subscription.defaultPaymentMethodId], ['active', paymentMethodId]);
  assert.deepEqual(await plans.events(subscription.id), ['subscription.created', 'subscription.updated']);
});

test('without any card it is incomplete, has no period and no credits, and blocks nothing', async () => {
  const { customerId, externalId } = await plans.newCustomer();
  const subscription = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  assert.deepEqual(
    [subscription.status, subscription.current, subscription.currentBillingPeriodStart],
    ['incomplete', false, null],
  );
  assert.deepEqual(await periodsOf(subscription.id), []);
  assert.deepEqual(await invoicesOf(externalId), []);
  assert.equal(await plans.calls(externalId, subscription.id), 0);
  assert.equal((await plans.subscribe({ customerId, priceSlug: 'pro-monthly' })).status, 'incomplete');
});

test('a first payment that fails is 402 with the canceled subscription, and the free plan goes on', async () => {
  const { customerId, externalId, paymentMethodId, freeId } = await plans.newCustomer('pm_card_chargeCustomerFail');
  const body = { customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId: paymentMethodId };
  const answer = await app.request('POST', '/subscriptions', body);
  assert.deepEqual([answer.status, answer.body.code], [402, 'PAYMENT_REQUIRED']);
  const { subscription } = answer.body;
  assert.deepEqual(await plans.subscription(subscription.id), subscription);
  assert.deepEqual(
    [subscription.status, subscription.cancellationReason, subscription.canceledAt, subscription.current],
    ['canceled', 'non_payment', april, false],
  );
  const [only] = await invoicesOf(externalId);
  assert.equal(only.invoice.status, 'void');
  const [payment] = await paymentsOf(customerId);
  assert.equal(payment.status, 'failed');
  assert.equal(await plans.calls(externalId, subscription.id), 0);
  assert.deepEqual(await plans.events(payment.id), ['payment.failed']);
  assert.deepEqual(await plans.events(subscription.id), ['subscription.created', 'subscription.canceled']);
  const billing = await app.get(`/customers/${externalId}/billing`);
  assert.equal(billing.currentSubscriptions.length, 1);
  assert.equal(billing.currentSubscription.name, 'Free Subscription');
  assert.equal(billing.currentSubscription.id, freeId);
});

test('a charge that takes its time keeps the subscription waiting, and a second one out', async () => {
  const { customerId, externalId } = await plans.newCustomer('pm_card_processing');
  const waiting = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  assert.equal(waiting.status, 'incomplete');
  assert.equal(await plans.calls(externalId, waiting.id), 0);
  await refused({ customerId, priceSlug: 'pro-monthly' }, 409);
  await app.setClock(april + 2 * 3_600_000);
  await app.runJobs({ all: true });
  await app.setClock(april);
  assert.equal((await plans.subscription(waiting.id)).status, 'active');
  assert.equal(await plans.calls(externalId, waiting.id), 1500);
});

test('what ended while its first payment was under way stays ended, however that payment ends', async () => {
  const failed = { result: 'failed', reference: null, code: 'card_declined', message: 'Declined.' } as const;
  const succeeded = { result: 'succeeded', reference: 'x', settledAt: april, receiptNumber: null } as const;
  for (const [outcome, invoiceStatus] of [
    [failed, 'void'],
    [succeeded, 'paid'],
  ] as const) {
    const { customerId, externalId } = await plans.newCustomer('pm_card_processing');
    const { id } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
    await plans.cancel(id, 'immediately');
    const [payment] = await paymentsOf(customerId);
    await app.inEnvironment((work) => settleCharges(work, [{ paymentId: payment.id, outcome }]));
    const [only] = await invoicesOf(externalId);
    assert.equal(only.invoice.status, invoiceStatus);
    assert.equal((await plans.subscription(id)).status, 'canceled');
    assert.equal(await plans.calls(externalId, id), 0);
    assert.deepEqual(await plans.events(id), ['subscription.created', 'subscription.canceled']);
  }
});

test('worked example T1: a trial of 14 days is a period of its own, with credits and without an invoice', async () => {
  const { customerId, externalId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'team-monthly', defaultPaymentMethodId: paymentMethodId };
  const trial = await plans.subscribe(body);
  const end = instant('2026-04-15');
  assert.deepEqual([trial.status, trial.trialEnd, trial.currentBillingPeriodEnd], ['trialing', end, end]);
  assert.deepEqual(await periodsOf(trial.id), [{ startAt: april, endAt: end, status: 'active', trialPeriod: true }]);
  assert.deepEqual(await invoicesOf(externalId), []);
  assert.equal(await plans.calls(externalId, trial.id), 1000);

  await plans.cancel(trial.id, 'immediately');
  const second = await plans.subscribe(body);
  assert.deepEqual([second.status, second.trialEnd], ['active', null], 'a price gives one trial to each customer');
});

test('a trialEnd is obeyed after an earlier trial too, and nothing is charged', async () => {
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'team-monthly' };
  await plans.cancel((await plans.subscribe(body)).id, 'immediately');
  const trialEnd = instant('2026-04-08');
  const again = await plans.subscribe({ ...body, trialEnd });
  assert.deepEqual([again.status, again.trialEnd, again.currentBillingPeriodEnd], ['trialing', trialEnd, trialEnd]);
  assert.deepEqual(await invoicesOf(externalId), []);
  assert.match(await refused({ ...body, doNotCharge: true, trialEnd }, 400), /trialEnd: must be omitted/);
});

test('a price gives its trial again where the settings allow repeated trials', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'team-monthly' };
  await plans.cancel((await plans.subscribe(body)).id, 'immediately');
  const environment = app.owner.updateTable('environments').where('id', '=', app.testEnvironmentId);
  await environment.set({ allowRepeatedTrials: true }).execute();
  const again = await plans.subscribe(body);
  await environment.set({ allowRepeatedTrials: false }).execute();
  assert.deepEqual([again.status, again.trialEnd], ['trialing', instant('2026-04-15')]);
});

test('what is given away is active at once, costs nothing and is not a free plan', async () => {
  const { customerId, externalId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'team-monthly', doNotCharge: true };
  await refused({ ...body, defaultPaymentMethodId: paymentMethodId }, 400);
  const given = await plans.subscribe(body);
  assert.deepEqual(
    [given.status, given.trialEnd, given.isFreePlan, given.doNotCharge, given.defaultPaymentMethodId],
    ['active', null, false, true, null],
  );
  const billing = await app.get(`/customers/${externalId}/billing`);
  assert.deepEqual([billing.invoices, billing.currentSubscription.subscriptionItems[0].unitPrice], [[], 0]);
  assert.equal(await plans.calls(externalId, given.id), 1000);
});

test('another plan of 0 is active without a card; a second subscription of 0 is refused', async () => {
  const { customerId } = await plans.newCustomer();
  assert.match(await refused({ customerId, priceSlug: 'community' }, 409), /already has a current subscription/);
  await app.post('/subscriptions', { customerId, priceSlug: 'pro-monthly', doNotCharge: true });
  await refused({ customerId, priceSlug: 'free-monthly' }, 409);
  await refused({ customerId, priceSlug: 'pro-monthly', doNotCharge: true }, 409);
});

test('twenty subscriptions asked for at once are one subscription', async () => {
  const { customerId, paymentMethodId, externalId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId: paymentMethodId };
  const answers = await Promise.all(Array.from({ length: 20 }, () => app.request('POST', '/subscriptions', body)));
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array(19).fill(409)]);
  const lost = answers.find((answer) => answer.status === 409);
  assert.deepEqual([lost?.body.code, lost?.headers.get('x-should-retry')], ['CONFLICT', 'false']);
  assert.equal((await paymentsOf(customerId)).length, 1);
  const billing = await app.get(`/customers/${externalId}/billing`);
  assert.equal(billing.currentSubscriptions.length, 1);
});

test('twenty trials asked for at once are one trial', async () => {
  const { customerId } = await plans.newCustomer();
  const body = { customerId, priceSlug: 'team-monthly' };
  const answers = await Promise.all(Array.from({ length: 20 }, () => app.request('POST', '/subscriptions', body)));
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array(19).fill(409)]);
});

test('an environment that allows several lets a customer have several', async () => {
  const environment = app.owner.updateTable('environments').where('id', '=', app.testEnvironmentId);
  await environment.set({ allowMultipleSubscriptions: true }).execute();
  const { customerId, freeId } = await plans.newCustomer('pm_card_visa');
  const first = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  const second = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  assert.deepEqual([first.status, second.status], ['active', 'active']);
  assert.equal((await plans.subscription(freeId)).replacedBySubscriptionId, first.id);
  await environment.set({ allowMultipleSubscriptions: false }).execute();
});

test('the first period begins at startDate, also in the past, with the interval that is asked for', async () => {
  const past = await plans.newCustomer('pm_card_visa');
  const given = { customerId: past.customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId: past.paymentMethodId };
  const begun = await plans.subscribe({ ...given, startDate: '2026-01-31' });
  assert.equal(begun.currentBillingPeriodStart, instant('2026-01-31'));
  assert.equal(begun.currentBillingPeriodEnd, instant('2026-02-28'));
  // The credits of a month that is over are over too: 500 to begin with are left.
  assert.equal(await plans.calls(past.externalId, begun.id), 500);
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'pro-monthly', interval: 'week', intervalCount: 2, startDate: april };
  const fortnightly = await plans.subscribe(body);
  assert.deepEqual([fortnightly.interval, fortnightly.intervalCount], ['week', 2]);
  assert.equal(fortnightly.currentBillingPeriodEnd, instant('2026-04-15'));
});

test('what cannot be is refused with a reason', async () => {
  const { customerId } = await plans.newCustomer();
  const other = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'pro-monthly' };
  const cases: [Body, number, RegExp][] = [
    [{ customerId: 'cust_none', priceSlug: 'pro-monthly' }, 404, /cust_none/],
    [{ customerExternalId: 'nobody', priceSlug: 'pro-monthly' }, 404, /nobody/],
    [{ customerId, priceSlug: 'nothing' }, 404, /nothing/],
    [{ customerId, priceId: 'price_none' }, 404, /price_none/],
    [{ customerId, priceSlug: 'call-overage' }, 400, /type usage/],
    [{ ...body, defaultPaymentMethodId: other.paymentMethodId }, 400, /defaultPaymentMethodId/],
    [{ ...body, backupPaymentMethodId: 'pm_none' }, 400, /backupPaymentMethodId/],
    [{ ...body, trialEnd: april - 1 }, 400, /trialEnd/],
    [{ ...body, startDate: 9007199254740991 }, 400, /startDate/],
    [{ ...body, startDate: 'soon' }, 400, /startDate/],
    [{ ...body, quantity: 0 }, 400, /quantity/],
    [{ ...body, quantity: 1_000_001 }, 400, /quantity.*1000000/],
    [{ ...body, interval: 'decade' }, 400, /interval/],
    [{ ...body, metadata: { deep: {} } }, 400, /metadata/],
    [{ customerId, customerExternalId: other.externalId, priceSlug: 'pro-monthly' }, 400, /exactly one/],
    [{}, 400, /exactly one of priceId/],
  ];
  for (const [given, status, reason] of cases) assert.match(await refused(given, status), reason);
});

test('a dry run answers the subscription as it would be, charged and active, and keeps nothing', async () => {
  const { customerId, externalId, freeId } = await plans.newCustomer('pm_card_visa');
  const answer = await app.request('POST', '/subscriptions?dryRun=true', { customerId, priceSlug: 'pro-monthly' });
  assert.deepEqual([answer.status, answer.body.subscription?.status], [200, 'active']);
  assert.equal((await app.request('GET', `/subscriptions/${answer.body.subscription.id}`)).status, 404);
  assert.deepEqual(await invoicesOf(externalId), []);
  assert.equal((await plans.subscription(freeId)).status, 'active');
});

test('a repeat under one Idempotency-Key charges once and answers the same', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const headers = { 'idempotency-key': 'once' };
  const body = { customerId, priceSlug: 'pro-monthly' };
  const first = await app.request('POST', '/subscriptions', body, { headers });
  const again = await app.request('POST', '/subscriptions', body, { headers });
  assert.deepEqual([first.body.subscription.status, again.body], ['active', first.body]);
  assert.equal((await paymentsOf(customerId)).length, 1);
});

test('a payment that is settled twice, and twice at once, has its consequences once', async () => {
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const subscription = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  const [payment] = await paymentsOf(customerId);
  const outcome = { result: 'succeeded', reference: 'x', settledAt: april, receiptNumber: null } as const;
  await Promise.all(
    [1, 2, 3].map(() => app.inEnvironment((work) => settleCharges(work, [{ paymentId: payment.id, outcome }]))),
  );
  assert.equal(await plans.calls(externalId, subscription.id), 1500);
  assert.deepEqual(await plans.events(payment.id), ['payment.succeeded']);
});

test('what must be true of the data still is', async () => {
  await assertSound(app);
});

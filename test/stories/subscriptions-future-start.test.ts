import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant, msPerDay } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const april = instant('2026-04-01');
const may = instant('2026-05-01');
const june = instant('2026-06-01');
const july = instant('2026-07-01');

const moveClock = (now: number): Promise<Body> => app.put('/test-clock', { testClock: { now } });
const billingOf = (externalId: string): Promise<Body> => app.get(`/customers/${externalId}/billing`);
const namesOf = (subscriptions: readonly Body[]) => subscriptions.map(({ name }) => name);

async function invoicesOf(externalId: string): Promise<Body[]> {
  const { invoices } = await billingOf(externalId);
  return invoices.map(({ invoice }: Body) => [invoice.invoiceDate, invoice.total, invoice.status]).reverse();
}

/** On 1 April, a customer who is to be on the Pro plan from 1 May. */
async function newLater({ token = 'pm_card_visa', ...more }: Body = {}) {
  await app.setClock(april);
  const customer = await plans.newCustomer(token ?? undefined);
  const body = { customerId: customer.customerId, priceSlug: 'pro-monthly', startDate: may, ...more };
  const subscription = await plans.subscribe({ defaultPaymentMethodId: customer.paymentMethodId, ...body });
  return { ...customer, subscription, id: subscription.id as string };
}

test('until it starts nothing is charged or given, and the customer keeps its free plan', async () => {
  const { id, externalId, customerId, subscription } = await newLater();
  assert.deepEqual(
    [subscription.status, subscription.current, subscription.startDate, subscription.billingCycleAnchorDate],
    ['active', false, may, may],
  );
  assert.deepEqual([subscription.currentBillingPeriodStart, subscription.currentBillingPeriodEnd], [may, may]);
  const { currentSubscriptions, invoices } = await billingOf(externalId);
  assert.deepEqual([namesOf(currentSubscriptions), invoices], [['Free Subscription'], []]);
  assert.equal(await plans.calls(externalId, id), 0);
  const again = await app.request('POST', '/subscriptions', { customerId, priceSlug: 'pro-monthly' });
  assert.equal(again.status, 409);
  const paused = await app.request('POST', `/subscriptions/${id}/pause`, {});
  assert.match(paused.body.message, /has not started/);
});

test('when it starts it is charged, gives what it gives, and takes the place of the free plan', async () => {
  const { id, externalId, freeId } = await newLater();
  await moveClock(may - 1);
  assert.deepEqual(await invoicesOf(externalId), []);
  await moveClock(may);
  const started = await plans.subscription(id);
  assert.deepEqual(
    [started.status, started.current, started.currentBillingPeriodStart, started.currentBillingPeriodEnd],
    ['active', true, may, june],
  );
  assert.deepEqual(await invoicesOf(externalId), [[may, 3000, 'paid']]);
  assert.equal(await plans.calls(externalId, id), 1500);
  const free = await plans.subscription(freeId);
  assert.deepEqual(
    [free.status, free.canceledAt, free.cancellationReason, free.replacedBySubscriptionId],
    ['canceled', may, 'upgraded_to_paid', id],
  );
  assert.deepEqual(namesOf((await billingOf(externalId)).currentSubscriptions), ['Pro - Monthly']);
  assert.deepEqual(await plans.events(id), ['subscription.created', 'subscription.updated']);
});

test('noticed two months late it has been charged for each month, as of its first day', async () => {
  const { externalId, freeId } = await newLater();
  await moveClock(july + 5);
  assert.deepEqual(
    await invoicesOf(externalId),
    [may, june, july].map((at) => [at, 3000, 'paid']),
  );
  assert.equal((await plans.subscription(freeId)).canceledAt, may);
});

test("without a card of its own it is charged to the customer's when it starts", async () => {
  const { id, externalId, subscription } = await newLater({ defaultPaymentMethodId: null });
  assert.equal(subscription.status, 'active');
  await moveClock(may);
  assert.deepEqual(await invoicesOf(externalId), [[may, 3000, 'paid']]);
  assert.equal((await plans.subscription(id)).status, 'active');
});

test('what cannot be paid for when it starts ends then, and the customer stands on the default plan', async () => {
  const { id, externalId } = await newLater({ token: 'pm_card_chargeCustomerFail' });
  await moveClock(may);
  const ended = await plans.subscription(id);
  assert.deepEqual([ended.status, ended.cancellationReason], ['canceled', 'non_payment']);
  assert.deepEqual(await invoicesOf(externalId), [[may, 3000, 'void']]);
  const { currentSubscriptions } = await billingOf(externalId);
  assert.deepEqual(namesOf(currentSubscriptions), ['Free Subscription']);
});

test('with nothing to charge it is past due from its start, as after a trial, and has no credits yet', async () => {
  const { id, externalId } = await newLater({ token: null });
  await moveClock(may);
  assert.equal((await plans.subscription(id)).status, 'past_due');
  assert.deepEqual(await invoicesOf(externalId), [[may, 3000, 'open']]);
  assert.equal(await plans.calls(externalId, id), 0);
});

test('under net terms it starts as a plan that begins now does: with an open invoice, its credits and no free plan', async () => {
  await app.put('/settings', { settings: { netTermsDays: 60 } });
  const { id, externalId, freeId } = await newLater({ token: null });
  await moveClock(may);
  assert.deepEqual(await invoicesOf(externalId), [[may, 3000, 'open']]);
  assert.equal((await plans.subscription(id)).status, 'active');
  assert.equal(await plans.calls(externalId, id), 1500);
  const { status, replacedBySubscriptionId } = await plans.subscription(freeId);
  assert.deepEqual([status, replacedBySubscriptionId], ['canceled', id]);
  // A card is charged at once, so the credits come with its payment.
  const charged = await newLater({ token: 'pm_card_chargeCustomerFail' });
  await moveClock(may);
  assert.equal((await plans.subscription(charged.id)).status, 'canceled');
  assert.deepEqual(namesOf((await billingOf(charged.externalId)).currentSubscriptions), ['Free Subscription']);
  await app.put('/settings', { settings: { netTermsDays: 0 } });
});

test('the invoice that it will begin with is shown before; a trial begins with none', async () => {
  const { id } = await newLater();
  const { invoice } = await app.get(`/invoices/upcoming?subscriptionId=${id}`);
  assert.deepEqual([invoice.total, invoice.billingPeriodStartDate, invoice.billingPeriodEndDate], [3000, may, june]);
  const trial = await newLater({ priceSlug: 'team-monthly' });
  assert.equal((await app.get(`/invoices/upcoming?subscriptionId=${trial.id}`)).invoice.total, 0);
});

test('usage that is told before the start is billed in arrears, with the second month, and the first is what was shown', async () => {
  const { id, externalId } = await newLater();
  const usageEvent = { subscriptionId: id, priceSlug: 'call-overage', transactionId: `early-${id}`, amount: 250 };
  await app.post('/usage-events', { usageEvent });
  assert.equal((await app.get(`/invoices/upcoming?subscriptionId=${id}`)).invoice.total, 3000);
  await moveClock(may);
  assert.equal(await plans.calls(externalId, id), 1250);
  await moveClock(june);
  // 250 calls at 50 per 100 are 125.
  assert.deepEqual(await invoicesOf(externalId), [
    [may, 3000, 'paid'],
    [june, 3125, 'paid'],
  ]);
});

test('a trial begins at the future start and is charged for nothing, its end is the first charge', async () => {
  const { id, externalId, subscription } = await newLater({ priceSlug: 'team-monthly' });
  const trialEnd = may + 14 * msPerDay;
  assert.deepEqual([subscription.status, subscription.trialEnd], ['trialing', trialEnd]);
  await moveClock(may);
  const started = await plans.subscription(id);
  assert.deepEqual(
    [started.status, started.currentBillingPeriodStart, started.currentBillingPeriodEnd],
    ['trialing', may, trialEnd],
  );
  assert.equal(await plans.calls(externalId, id), 1000);
  await moveClock(trialEnd);
  assert.deepEqual(await invoicesOf(externalId), [[trialEnd, 3000, 'paid']]);
  const paid = await plans.subscription(id);
  assert.deepEqual([paid.status, paid.currentBillingPeriodEnd], ['active', instant('2026-06-15')]);
});

test('given away, it starts without an invoice', async () => {
  const { id, externalId } = await newLater({ defaultPaymentMethodId: null, doNotCharge: true });
  await moveClock(may);
  assert.deepEqual(await invoicesOf(externalId), []);
  assert.equal((await plans.subscription(id)).currentBillingPeriodEnd, june);
  assert.equal(await plans.calls(externalId, id), 1500);
});

test('canceled before it starts it never does; at a date after its start it lasts until then', async () => {
  const { id, externalId } = await newLater();
  const canceled = await plans.cancel(id, 'immediately');
  assert.deepEqual([canceled.status, canceled.canceledAt], ['canceled', april]);
  await moveClock(june);
  assert.deepEqual(await invoicesOf(externalId), []);
  assert.deepEqual(namesOf((await billingOf(externalId)).currentSubscriptions), ['Free Subscription']);

  const other = await newLater();
  const cancelAt = (endDate: number) =>
    app.request('POST', `/subscriptions/${other.id}/cancel`, { cancellation: { timing: 'at_future_date', endDate } });
  assert.equal((await cancelAt(may)).status, 400);
  assert.equal((await cancelAt(may + msPerDay)).body.subscription.status, 'cancellation_scheduled');
  await moveClock(june);
  const ended = await plans.subscription(other.id);
  assert.deepEqual([ended.status, ended.canceledAt], ['canceled', may + msPerDay]);
  assert.deepEqual(await invoicesOf(other.externalId), [[may, 3000, 'paid']]);
});

test('after all of this, everything that must be true of the data is', async () => {
  await assertSound(app);
});

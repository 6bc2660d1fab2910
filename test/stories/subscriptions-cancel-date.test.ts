import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DueWorkHandler } from '../../src/billing/due-work-runner.ts';
import { cancelHandler } from '../../src/billing/end-subscription.ts';
import { renewHandler } from '../../src/billing/renew.ts';
import { instant, msPerDay } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const april = instant('2026-04-01');
const day11 = instant('2026-04-11');
const may = instant('2026-05-01');
const june = instant('2026-06-01');
const june16 = instant('2026-06-16');
const july = instant('2026-07-01');

const cancelAt = async (id: string, endDate: number | string): Promise<Body> =>
  (await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'at_future_date', endDate } })).subscription;
const uncancel = async (id: string): Promise<Body> => (await app.post(`/subscriptions/${id}/uncancel`)).subscription;
const refused = async (id: string, cancellation: Body, status: number): Promise<string> => {
  const answer = await app.request('POST', `/subscriptions/${id}/cancel`, { cancellation });
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  return answer.body.message;
};

/** Moves the clock and does what is due of one kind for a subscription, its charges included. Answers whether it was. */
async function moveTo(at: number, step: DueWorkHandler, id: string): Promise<boolean> {
  await app.setClock(at);
  const done = await app.inEnvironment(async (work) => {
    const ids = await step.take(work, 1, [id]);
    await step.perform(work, ids);
    return ids.length === 1;
  });
  await app.runJobs({ all: true });
  return done;
}

async function totalsOf(externalId: string): Promise<number[]> {
  const { invoices } = await app.get(`/customers/${externalId}/billing`);
  return invoices.map(({ invoice }: Body) => invoice.total).reverse();
}

/** A customer with a card on the Pro plan since 1 April, 3000 paid. */
async function newPro() {
  await app.setClock(april);
  const customer = await plans.newCustomer('pm_card_visa');
  const body = { customerId: customer.customerId, priceSlug: 'pro-monthly' };
  const subscription = await plans.subscribe({ ...body, defaultPaymentMethodId: customer.paymentMethodId });
  return { ...customer, id: subscription.id as string };
}

test('a cancel for the middle of June bills May and June whole, and gives nothing back', async () => {
  const { id, externalId } = await newPro();
  const scheduled = await cancelAt(id, '2026-06-16T00:00:00Z');
  assert.deepEqual(
    [scheduled.status, scheduled.cancelScheduledAt, scheduled.canceledAt, scheduled.current],
    ['cancellation_scheduled', june16, null, true],
  );
  assert.equal(await moveTo(may, renewHandler, id), true);
  assert.equal(await moveTo(june, renewHandler, id), true);
  const renewed = await plans.subscription(id);
  assert.deepEqual(
    [renewed.status, renewed.currentBillingPeriodStart, renewed.currentBillingPeriodEnd],
    ['cancellation_scheduled', june, july],
  );
  assert.equal(await moveTo(june16 - 1, cancelHandler, id), false);
  assert.equal(await moveTo(june16, cancelHandler, id), true);
  const ended = await plans.subscription(id);
  assert.deepEqual(
    [ended.status, ended.canceledAt, ended.currentBillingPeriodEnd, ended.current],
    ['canceled', june16, june16, false],
  );
  assert.deepEqual(await totalsOf(externalId), [3000, 3000, 3000]);
  assert.equal((await app.get(`/customers/${externalId}/billing`)).currentSubscription.startDate, june16);
});

test('a cancel for the end of a period makes that period the last', async () => {
  const { id, externalId } = await newPro();
  await cancelAt(id, june);
  await moveTo(may, renewHandler, id);
  assert.equal(await moveTo(june, renewHandler, id), false);
  assert.equal(await moveTo(june, cancelHandler, id), true);
  assert.deepEqual(await totalsOf(externalId), [3000, 3000]);
});

test('whoever asks late finds it ended as of its date, with the periods before it billed', async () => {
  const { id, externalId } = await newPro();
  await cancelAt(id, june16);
  await app.setClock(july + 5);
  const ended = await plans.cancel(id, 'immediately');
  await app.runJobs();
  assert.deepEqual([ended.status, ended.canceledAt, ended.currentBillingPeriodStart], ['canceled', june16, june]);
  assert.deepEqual(await totalsOf(externalId), [3000, 3000, 3000]);
});

test('another date takes the place of the one before, and so does the end of the period', async () => {
  const { id } = await newPro();
  await cancelAt(id, june16);
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', externalIds: ['ada'] });
  const moved = await cancelAt(id, july);
  assert.equal(moved.cancelScheduledAt, july);
  const [claim] = (await app.get(`/resource-claims/${id}/claims`)).claims;
  assert.equal(claim.expiredAt, july, 'a claim on loan ends with the subscription');
  assert.deepEqual(await cancelAt(id, july), moved);
  const atEnd = await plans.cancel(id, 'at_end_of_current_billing_period');
  assert.equal(atEnd.cancelScheduledAt, may);
});

test('taken back: as it was before, and claims last again', async () => {
  const { id } = await newPro();
  const before = await plans.subscription(id);
  await cancelAt(id, june16);
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', externalIds: ['ada'] });
  assert.deepEqual(await uncancel(id), before);
  const [claim] = (await app.get(`/resource-claims/${id}/claims`)).claims;
  assert.equal(claim.expiredAt, null);
});

test('taken back after a failed renewal: it is past due, or unpaid after the last attempt', async () => {
  for (const [days, status] of [
    [0, 'past_due'],
    [14, 'unpaid'],
  ] as const) {
    const { id, customerId } = await newPro();
    const method = { customerId, type: 'card', token: 'pm_card_chargeCustomerFail' };
    const { paymentMethod } = await app.post('/payment-methods', { paymentMethod: method });
    const fails = app.owner.updateTable('subscriptions').set({ defaultPaymentMethodId: paymentMethod.id });
    await fails.where('id', '=', id).execute();
    await app.put('/test-clock', { testClock: { now: may + days * msPerDay } });
    const before = await plans.subscription(id);
    assert.equal(before.status, status);
    const { status: until, updatedAt } = await cancelAt(id, july);
    assert.equal(until, 'cancellation_scheduled');
    assert.deepEqual(await uncancel(id), { ...before, updatedAt });
  }
});

test('a trial that is to end at a date after it is active no more than it is canceled', async () => {
  await app.setClock(april);
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const { id } = await plans.subscribe({ customerId, priceSlug: 'team-monthly' });
  const trialEnd = instant('2026-04-15');
  await cancelAt(id, may);
  assert.equal((await uncancel(id)).status, 'trialing');
  await cancelAt(id, may);
  await moveTo(trialEnd, renewHandler, id);
  const { status, currentBillingPeriodEnd } = await plans.subscription(id);
  assert.deepEqual([status, currentBillingPeriodEnd], ['cancellation_scheduled', instant('2026-05-15')]);
  assert.deepEqual(await totalsOf(externalId), [3000]);
});

test('a cancel is refused for a date that has come, no date, a date with another timing, and an unknown timing', async () => {
  const { id } = await newPro();
  await app.setClock(day11);
  for (const endDate of [day11, april, 8_640_000_000_000_000]) {
    assert.match(await refused(id, { timing: 'at_future_date', endDate }, 400), /endDate/);
  }
  for (const cancellation of [
    { timing: 'at_future_date' },
    { timing: 'at_future_date', endDate: null },
    { timing: 'at_future_date', endDate: 'soon' },
    { timing: 'immediately', endDate: may },
    { timing: 'at_end_of_current_billing_period', endDate: may },
    { timing: 'tomorrow', endDate: may },
    { endDate: may },
  ]) {
    await refused(id, cancellation, 400);
  }
  assert.equal((await plans.subscription(id)).status, 'active');
});

test('after all of this, everything that must be true of the data is', async () => {
  await assertSound(app);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { day, invoicesOf, periodsOf, renewDue, renewUntil } from '../support/renewing.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);

/** A customer with a card and a subscription that begins on the day. */
async function subscribe(start: string, priceSlug: string, body: Body = {}) {
  await app.setClock(instant(start));
  const customer = await plans.newCustomer('pm_card_visa');
  const { customerId, paymentMethodId: defaultPaymentMethodId } = customer;
  const subscription = await plans.subscribe({ customerId, priceSlug, defaultPaymentMethodId, ...body });
  return { ...customer, id: subscription.id as string };
}

const use = (subscriptionId: string, amount: number) =>
  app.post('/usage-events', {
    usageEvent: {
      subscriptionId,
      priceSlug: 'call-overage',
      transactionId: `${subscriptionId} ${Math.random()}`,
      amount,
    },
  });

test('a year of a monthly plan is twelve invoices, each paid on the day it is for', async () => {
  const { id } = await subscribe('2026-01-31', 'pro-monthly');
  await renewUntil(app, instant('2026-12-31T12:00:00'));
  const invoices = await invoicesOf(app, id);
  assert.deepEqual(
    invoices.map((invoice) => invoice.day),
    [
      '2026-01-31',
      '2026-02-28',
      '2026-03-31',
      '2026-04-30',
      '2026-05-31',
      '2026-06-30',
      '2026-07-31',
      '2026-08-31',
      '2026-09-30',
      '2026-10-31',
      '2026-11-30',
      '2026-12-31',
    ],
  );
  assert(invoices.every(({ status, lines }) => status === 'paid' && lines.join() === '3000'));
  const { subscription } = await app.get(`/subscriptions/${id}`);
  assert.deepEqual(
    [subscription.status, day(subscription.currentBillingPeriodStart), day(subscription.currentBillingPeriodEnd)],
    ['active', '2026-12-31', '2027-01-31'],
  );
  const statuses = (await periodsOf(app, id)).map((period) => period.status);
  assert.deepEqual(statuses, [...Array(11).fill('completed'), 'active']);
  await assertSound(app);
});

test('worked example T1: a trial of 14 days, then 3000 on 15 January and on 15 February', async () => {
  const { id, externalId } = await subscribe('2025-01-01', 'team-monthly');
  assert.equal((await plans.subscription(id)).status, 'trialing');
  await renewUntil(app, instant('2025-02-20'));
  const periods = (await periodsOf(app, id)).map(({ startAt, endAt, trialPeriod, status }) => {
    return [day(startAt), day(endAt), trialPeriod, status];
  });
  assert.deepEqual(periods, [
    ['2025-01-01', '2025-01-15', true, 'completed'],
    ['2025-01-15', '2025-02-15', false, 'completed'],
    ['2025-02-15', '2025-03-15', false, 'active'],
  ]);
  const invoices = (await invoicesOf(app, id)).map((invoice) => [invoice.day, invoice.total, invoice.status]);
  assert.deepEqual(invoices, [
    ['2025-01-15', 3000, 'paid'],
    ['2025-02-15', 3000, 'paid'],
  ]);
  assert.equal((await plans.subscription(id)).status, 'active');
  assert.equal(await plans.calls(externalId, id), 1000, 'the credits of one month, those before are gone');
});

test('a trial that ends without a payment method: the period begins, its invoice is open, the subscription past due', async () => {
  await app.setClock(instant('2025-01-01'));
  const { customerId, externalId } = await plans.newCustomer();
  const { id } = await plans.subscribe({ customerId, priceSlug: 'team-monthly' });
  await renewUntil(app, instant('2025-01-15'));
  const subscription = await plans.subscription(id);
  assert.deepEqual([subscription.status, day(subscription.currentBillingPeriodEnd)], ['past_due', '2025-02-15']);
  assert.deepEqual(
    (await invoicesOf(app, id)).map(({ status, total }) => [status, total]),
    [['open', 3000]],
  );
  assert.equal(await plans.calls(externalId, id), 1000, 'credits are granted all the same');
  await renewUntil(app, instant('2025-02-15'));
  const statuses = (await periodsOf(app, id)).map((period) => period.status);
  assert.deepEqual(statuses, ['completed', 'past_due', 'active']);
});

test('a free plan stays active for a year, is never invoiced and gets its credits of once only once', async () => {
  await app.setClock(instant('2026-03-15'));
  const { freeId, externalId } = await plans.newCustomer();
  await renewUntil(app, instant('2027-03-15'));
  assert.equal((await plans.subscription(freeId)).status, 'active');
  assert.equal((await periodsOf(app, freeId)).length, 13);
  assert.deepEqual(await invoicesOf(app, freeId), []);
  assert.equal(await plans.calls(externalId, freeId), 500);
});

test('who is not charged renews without invoices', async () => {
  const { id } = await subscribe('2026-01-01', 'pro-monthly', { doNotCharge: true, defaultPaymentMethodId: undefined });
  await use(id, 2000);
  await renewUntil(app, instant('2026-03-01'));
  assert.equal((await periodsOf(app, id)).length, 3);
  assert.deepEqual(await invoicesOf(app, id), []);
});

test('worked example L1: what credits do not cover is billed with the next period, and paid', async () => {
  const { id, externalId } = await subscribe('2026-05-01', 'pro-monthly');
  assert.equal(await plans.calls(externalId, id), 1500, '1000 of the month and 500 to begin with');
  await use(id, 1600);
  assert.equal(await plans.calls(externalId, id), -100);
  await renewUntil(app, instant('2026-06-01'));
  const [, renewal] = await invoicesOf(app, id);
  assert.deepEqual([renewal?.reason, renewal?.lines, renewal?.status], ['renewal', [3000, 50], 'paid']);
  assert.equal(await plans.calls(externalId, id), 1000, '-100 are paid for, 1000 are new');
});

test('worked example L2: of 1000 credits 300 are used, 700 end with the month, 1000 come', async () => {
  const { id, externalId } = await subscribe('2026-05-01', 'team-monthly', { trialEnd: instant('2026-05-31') });
  await use(id, 300);
  assert.equal(await plans.calls(externalId, id), 700);
  await renewUntil(app, instant('2026-05-31'));
  assert.equal(await plans.calls(externalId, id), 1000);
  const [account] = await app.owner
    .selectFrom('ledgerAccounts')
    .select(['granted', 'used', 'expired'])
    .where('subscriptionId', '=', id)
    .execute();
  assert.deepEqual(account, { granted: 2000n, used: 300n, expired: 700n });
});

test('three months of usage are billed month by month: 100, 50 and 80 units above the credits, at 50 per 100', async () => {
  const { id } = await subscribe('2026-05-01', 'pro-monthly');
  // 1500 credits in the first month, 1000 in each later one.
  for (const [month, amount] of [1600, 1050, 1080].entries()) {
    await use(id, amount);
    await renewUntil(app, Date.UTC(2026, 5 + month, 1));
  }
  const invoices = (await invoicesOf(app, id)).map(({ day: of, lines, status }) => [of, lines, status]);
  assert.deepEqual(invoices, [
    ['2026-05-01', [3000], 'paid'],
    ['2026-06-01', [3000, 50], 'paid'],
    ['2026-07-01', [3000, 25], 'paid'],
    ['2026-08-01', [3000, 40], 'paid'],
  ]);
  await assertSound(app);
});

test('usage that costs nothing makes an invoice of 0, which is paid without a payment, and is owed no longer', async () => {
  await app.setClock(instant('2026-05-01'));
  const { freeId, externalId, customerId } = await plans.newCustomer();
  await app.post('/usage-events', {
    usageEvent: {
      subscriptionId: freeId,
      priceSlug: 'api-calls_no_charge',
      transactionId: `free ${freeId}`,
      amount: 507,
    },
  });
  assert.equal(await plans.calls(externalId, freeId), -7, 'there are 500 credits to begin with');
  await renewUntil(app, instant('2026-06-01'));
  assert.deepEqual(
    (await invoicesOf(app, freeId)).map(({ reason, status, total }) => [reason, status, total]),
    [['renewal', 'paid', 0]],
  );
  assert.equal(await plans.calls(externalId, freeId), 0);
  assert.equal((await app.get(`/payments?customerId=${customerId}`)).total, 0);
  assert.equal((await plans.subscription(freeId)).status, 'active');
});

test('what was paid for paused time is taken off, as far as there is something to take it off', async () => {
  const { id } = await subscribe('2026-05-01', 'pro-monthly');
  await app.owner.updateTable('subscriptions').set({ pausedCredit: 4000n }).where('id', '=', id).execute();
  await renewUntil(app, instant('2026-07-01'));
  const [, june, july] = await invoicesOf(app, id);
  // 4000 are kept: 3000 pay for June, 1000 for a part of July.
  assert.deepEqual([june?.lines, june?.total, june?.status], [[3000, -3000], 0, 'paid']);
  assert.deepEqual([july?.lines, july?.total, july?.status], [[3000, -1000], 2000, 'paid']);
});

test('each renewal is told once, and renewing again changes nothing', async () => {
  const { id } = await subscribe('2026-05-01', 'pro-monthly');
  const before = await plans.events(id);
  await renewUntil(app, instant('2026-06-01'));
  assert.equal(await renewDue(app), 0);
  const after = await plans.events(id);
  assert.deepEqual(after.slice(before.length), ['subscription.updated']);
  assert.equal((await invoicesOf(app, id)).length, 2);
});

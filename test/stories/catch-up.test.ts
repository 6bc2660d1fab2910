import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catchUp, lockCurrent } from '../../src/billing/catch-up.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { day, invoicesOf, periodsOf, renewDue } from '../support/renewing.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);

/** A paid subscription that began on 1 May and that nobody has worked on since. */
async function forgotten() {
  await app.setClock(instant('2026-05-01'));
  const customer = await plans.newCustomer('pm_card_visa');
  const { customerId, paymentMethodId: defaultPaymentMethodId } = customer;
  const { id } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId });
  return { ...customer, id: id as string };
}

const event = (subscriptionId: string, transactionId: string, amount = 1) => ({
  subscriptionId,
  priceSlug: 'call-overage',
  transactionId,
  amount,
});

test('usage of the time after the period is counted to the period that it is in', async () => {
  const { id, externalId } = await forgotten();
  await app.post('/usage-events', { usageEvent: event(id, `may ${id}`, 1600) });
  await app.setClock(instant('2026-06-10'));
  const { usageEvent } = await app.post('/usage-events', { usageEvent: event(id, `june ${id}`, 10) });
  const periods = await app.owner
    .selectFrom('billingPeriods')
    .selectAll()
    .where('subscriptionId', '=', id)
    .orderBy('startAt')
    .execute();
  assert.deepEqual([periods.length, usageEvent.billingPeriodId], [2, periods[1]?.id]);
  // Whoever tells of usage does not wait for the charge of a renewal.
  await app.runJobs({ all: true });
  const [, renewal] = await invoicesOf(app, id);
  // 1600 in May, of which 1500 were covered; the 10 of June come out of the credits of June.
  assert.deepEqual([renewal?.day, renewal?.lines, renewal?.status], ['2026-06-01', [3000, 50], 'paid']);
  assert.equal(await plans.calls(externalId, id), 990);
});

test('of several subscriptions in one request those that are behind are brought up to date', async () => {
  const behind = await forgotten();
  const other = await forgotten();
  await app.setClock(instant('2026-06-02'));
  await app.inEnvironment((work) => catchUp(work, other.id));
  const { usageEvents } = await app.post('/usage-events/bulk', {
    usageEvents: [behind, other, behind].map(({ id }, index) => event(id, `bulk ${id} ${index}`)),
  });
  assert.deepEqual(
    usageEvents.map((each: Body) => each.subscriptionId),
    [behind.id, other.id, behind.id],
  );
  for (const { id } of [behind, other]) assert.equal((await periodsOf(app, id)).length, 2);
});

test('usage of an unknown subscription is refused as ever', async () => {
  const { status } = await app.request('POST', '/usage-events', { usageEvent: event('sub_unknown', 'lost') });
  assert.equal(status, 404);
});

test('a subscription that was to end before the usage came has ended', async () => {
  const { id } = await forgotten();
  await plans.cancel(id, 'at_end_of_current_billing_period');
  await app.setClock(instant('2026-06-10'));
  const { status } = await app.request('POST', '/usage-events', { usageEvent: event(id, `too late ${id}`) });
  assert.equal(status, 400);
});

test('a cancel at the end of the period means the period of now', async () => {
  const { id } = await forgotten();
  await app.setClock(instant('2026-08-10'));
  const canceled = await plans.cancel(id, 'at_end_of_current_billing_period');
  assert.deepEqual([canceled.status, day(canceled.cancelScheduledAt)], ['cancellation_scheduled', '2026-09-01']);
  const days = (await invoicesOf(app, id)).map((invoice) => invoice.day);
  assert.deepEqual(days, ['2026-05-01', '2026-06-01', '2026-07-01', '2026-08-01']);
});

test('what is held has been brought up to date, and a second time changes nothing', async () => {
  const { id } = await forgotten();
  await app.setClock(instant('2026-07-15'));
  for (let times = 0; times < 2; times++) {
    const { subscription } = await app.inEnvironment((work) => lockCurrent(work, id));
    assert.equal(day(subscription.currentBillingPeriodStart ?? 0), '2026-07-01');
  }
  assert.equal((await periodsOf(app, id)).length, 3);
  await renewDue(app);
});

test('where the first payment fails late, nobody owes the periods that had begun by then', async () => {
  await app.setClock(instant('2026-05-01'));
  const { customerId, externalId } = await plans.newCustomer('pm_card_chargeCustomerFail');
  const { id } = await plans.subscribe({ customerId, priceSlug: 'team-monthly' });
  await app.post('/usage-events', { usageEvent: event(id, `trial ${id}`, 1200) });
  // The trial was over on 15 May.
  await app.setClock(instant('2026-07-20'));
  const { subscription } = await app.post(`/subscriptions/${id}/uncancel`, {});
  assert.equal(subscription.id, id);
  const ended = await plans.subscription(id);
  assert.deepEqual([ended.status, ended.cancellationReason], ['canceled', 'non_payment']);
  const { invoices } = await app.get(`/customers/${externalId}/billing`);
  // Of 1200 calls 200 were not covered; they are owed all the same.
  const owed = invoices.map(({ invoice }: Body) => [day(invoice.invoiceDate), invoice.total, invoice.status]);
  assert.deepEqual(owed.sort(), [
    ['2026-05-15', 3100, 'void'],
    ['2026-06-15', 3000, 'void'],
    ['2026-07-15', 3000, 'void'],
    ['2026-07-20', 100, 'open'],
  ]);
});

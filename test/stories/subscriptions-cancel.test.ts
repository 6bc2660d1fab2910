import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { cancelIfDue, expireHandler } from '../../src/billing/end-subscription.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const april = instant('2026-04-01');
const may = instant('2026-05-01');
const day11 = instant('2026-04-11');
await app.setClock(april);

const atEnd = 'at_end_of_current_billing_period';
const refused = async (id: string, body: Body, status: number): Promise<string> => {
  const answer = await app.request('POST', `/subscriptions/${id}/cancel`, body);
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  return answer.body.message;
};
const billingOf = (externalId: string): Promise<Body> => app.get(`/customers/${externalId}/billing`);
const claim = (id: string, body: Body): Promise<Body> =>
  app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', ...body });
const use = (subscriptionId: string, amount: number): Promise<Body> =>
  app.post('/usage-events/bulk', {
    usageEvents: [{ subscriptionId, priceSlug: 'call-overage', transactionId: `t-${subscriptionId}`, amount }],
  });

/** A customer with a card on the Pro plan since 1 April. */
async function newPro(token = 'pm_card_visa') {
  await app.setClock(april);
  const customer = await plans.newCustomer(token);
  const body = { customerId: customer.customerId, priceSlug: 'pro-monthly' };
  const subscription = await plans.subscribe({ ...body, defaultPaymentMethodId: customer.paymentMethodId });
  return { ...customer, id: subscription.id as string };
}

test('immediately: everything ends now, and the customer stands on the default plan again', async () => {
  const { id, externalId, customerId } = await newPro();
  await claim(id, { externalIds: ['ada', 'bob'] });
  await app.setClock(day11);
  const canceled = await plans.cancel(id, 'immediately');
  assert.deepEqual(
    [canceled.status, canceled.canceledAt, canceled.cancelScheduledAt, canceled.cancellationReason, canceled.current],
    ['canceled', day11, day11, null, false],
  );
  assert.equal(canceled.currentBillingPeriodEnd, day11);

  const periods = app.owner.selectFrom('billingPeriods').select(['status', 'endAt']).where('subscriptionId', '=', id);
  assert.deepEqual(await periods.execute(), [{ status: 'completed', endAt: day11 }]);
  for (const table of ['subscriptionItems', 'subscriptionItemFeatures'] as const) {
    const { rows } = await sql<{ expiredAt: number }>`
      select distinct expired_at from ${sql.table(table)} where subscription_id = ${id}`.execute(app.owner);
    assert.deepEqual(rows, [{ expiredAt: day11 }]);
  }
  const claims = app.owner
    .selectFrom('resourceClaims')
    .select(['externalId', 'releasedAt', 'releaseReason'])
    .where('subscriptionId', '=', id)
    .orderBy('externalId');
  assert.deepEqual(
    await claims.execute(),
    ['ada', 'bob'].map((externalId) => ({ externalId, releasedAt: day11, releaseReason: 'subscription_canceled' })),
  );

  const { currentSubscriptions, invoices } = await billingOf(externalId);
  assert.deepEqual(
    currentSubscriptions.map((row: Body) => [row.name, row.startDate]),
    [['Free Subscription', day11]],
  );
  assert.equal(invoices.length, 1, 'nothing is refunded, credited or billed');
  assert.deepEqual(await plans.events(id), ['subscription.created', 'subscription.canceled']);
  assert.deepEqual(await plans.events(currentSubscriptions[0].id), ['subscription.created']);

  assert.deepEqual(await plans.cancel(id, 'immediately'), canceled);
  assert.deepEqual(await plans.cancel(id, atEnd), canceled);
  assert.equal((await app.get(`/subscriptions?customerId=${customerId}`)).total, 3);
});

test('twenty cancels at once are one cancel', async () => {
  const { id, customerId } = await newPro();
  const answers = await Promise.all(Array.from({ length: 20 }, () => plans.cancel(id, 'immediately')));
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  assert.deepEqual(await plans.events(id), ['subscription.created', 'subscription.canceled']);
  assert.equal((await app.get(`/subscriptions?customerId=${customerId}&status=active`)).total, 1);
});

test('usage that no credit covers is invoiced and charged at the end: 250 units at 50 per 100 are 125', async () => {
  const { id, externalId } = await newPro();
  await use(id, 1750);
  assert.equal(await plans.calls(externalId, id), -250);
  await app.setClock(day11);
  await plans.cancel(id, 'immediately');
  const { invoices } = await billingOf(externalId);
  const [last, first] = invoices;
  assert.deepEqual([last.invoice.total, last.invoice.status], [125, 'paid']);
  assert.deepEqual(
    [last.invoice.billingPeriodStartDate, last.invoice.billingPeriodEndDate, last.invoice.subscriptionId],
    [april, day11, id],
  );
  assert.equal(last.invoice.invoiceNumber.slice(-5), '00002');
  const [line] = last.invoiceLineItems;
  assert.deepEqual([line.type, line.ledgerAccountCredit, line.price], ['usage', 250, 125]);
  assert.equal(first.invoice.total, 3000);
  assert.equal(await plans.calls(externalId, id), 0);
});

test('without a card the last invoice stays open; what is given away owes nothing', async () => {
  await app.setClock(april);
  const [poor, guest] = [await plans.newCustomer(), await plans.newCustomer()];
  const trial = await plans.subscribe({ customerId: poor.customerId, priceSlug: 'team-monthly' });
  await use(trial.id, 1200);
  await plans.cancel(trial.id, 'immediately');
  const [open] = (await billingOf(poor.externalId)).invoices;
  assert.deepEqual([open.invoice.total, open.invoice.status], [100, 'open']);

  const body = { customerId: guest.customerId, priceSlug: 'pro-monthly', doNotCharge: true };
  const given = await plans.subscribe(body);
  await use(given.id, 5000);
  await plans.cancel(given.id, 'immediately');
  assert.deepEqual((await billingOf(guest.externalId)).invoices, []);
});

test('a cancel at the end of the period changes nothing until then, and is told', async () => {
  const { id, externalId } = await newPro();
  const scheduled = await plans.cancel(id, atEnd);
  assert.deepEqual(
    [scheduled.status, scheduled.cancelScheduledAt, scheduled.canceledAt, scheduled.current],
    ['cancellation_scheduled', may, null, true],
  );
  assert.deepEqual(await plans.cancel(id, atEnd), scheduled);
  assert.deepEqual(await plans.events(id), ['subscription.created', 'subscription.updated']);
  const { currentSubscription } = await billingOf(externalId);
  assert.equal(currentSubscription.id, id);
  assert.equal(currentSubscription.experimental.featureItems.length, 4);
});

test('a cancel may name one of eight reasons of the customer, which stays with another date and goes when it is undone', async () => {
  const { id } = await newPro();
  const cancel = async (cancellation: Body) =>
    (await app.post(`/subscriptions/${id}/cancel`, { cancellation })).subscription.cancellationReason;
  assert.match(await refused(id, { cancellation: { timing: atEnd, reason: 'mood' } }, 400), /too_expensive/);
  assert.equal((await plans.subscription(id)).status, 'active');
  assert.equal(await cancel({ timing: atEnd, reason: 'unused' }), 'unused');
  assert.equal(await cancel({ timing: atEnd, reason: 'other' }), 'other');
  assert.equal(await cancel({ timing: atEnd, reason: 'other' }), 'other');
  assert.equal(await cancel({ timing: 'at_future_date', endDate: may + 1 }), 'other');
  // The first three requests are two changes, and another date is the third.
  assert.deepEqual(await plans.events(id), ['subscription.created', ...Array(3).fill('subscription.updated')]);
  assert.equal((await app.post(`/subscriptions/${id}/uncancel`)).subscription.cancellationReason, null);
  assert.equal(await cancel({ timing: 'immediately', reason: 'low_quality' }), 'low_quality');
  assert.equal(await cancel({ timing: 'immediately', reason: 'unused' }), 'low_quality', 'what has ended stays');
});

test('a cancel may have a comment of the customer, which stays until it is undone and is kept when the subscription ends', async () => {
  const { id } = await newPro();
  const cancel = async (cancellation: Body) =>
    (await app.post(`/subscriptions/${id}/cancel`, { cancellation })).subscription.cancellationComment;
  assert.match(await refused(id, { cancellation: { timing: atEnd, comment: ' ' } }, 400), /comment/);
  assert.match(await refused(id, { cancellation: { timing: atEnd, comment: 'x'.repeat(2001) } }, 400), /2000/);
  assert.equal(await cancel({ timing: atEnd }), undefined);
  assert.equal(await cancel({ timing: atEnd, comment: 'Too dear.' }), 'Too dear.');
  assert.equal(await cancel({ timing: atEnd, reason: 'other' }), 'Too dear.');
  assert.deepEqual(await plans.events(id), ['subscription.created', ...Array(3).fill('subscription.updated')]);
  assert.equal('cancellationComment' in (await app.post(`/subscriptions/${id}/uncancel`)).subscription, false);
  assert.equal(await cancel({ timing: 'immediately', comment: 'Goodbye' }), 'Goodbye');
});

test('when the date has come the subscription ends as of that date, however late that is noticed', async () => {
  const { id, externalId, customerId } = await newPro();
  await plans.cancel(id, atEnd);
  await app.setClock(may - 1);
  assert.equal(await app.inEnvironment((work) => cancelIfDue(work, id)), false);
  await app.setClock(may + 5000);
  const done = await Promise.all([1, 2, 3].map(() => app.inEnvironment((work) => cancelIfDue(work, id))));
  assert.deepEqual(done.sort(), [false, false, true]);
  const ended = await plans.subscription(id);
  assert.deepEqual([ended.status, ended.canceledAt, ended.cancelScheduledAt], ['canceled', may, may]);
  assert.deepEqual(await plans.events(id), ['subscription.created', 'subscription.updated', 'subscription.canceled']);
  const { currentSubscription } = await billingOf(externalId);
  assert.deepEqual([currentSubscription.name, currentSubscription.startDate], ['Free Subscription', may]);
  assert.equal((await app.get(`/subscriptions?customerId=${customerId}&status=active`)).total, 1);
});

test('a scheduled cancel can be taken back, with the claims made meanwhile, or be made to happen now', async () => {
  const { id } = await newPro();
  await claim(id, { externalId: 'before' });
  await plans.cancel(id, atEnd);
  const { claims: temporary } = await claim(id, { externalId: 'meanwhile' });
  assert.equal(temporary[0].expiredAt, may);
  const back = (await app.post(`/subscriptions/${id}/uncancel`)).subscription;
  assert.deepEqual([back.status, back.cancelScheduledAt], ['active', null]);
  const { claims } = await app.get(`/resource-claims/${id}/claims`);
  assert.deepEqual(
    claims.map((row: Body) => [row.externalId, row.expiredAt]),
    [
      ['before', null],
      ['meanwhile', null],
    ],
  );
  assert.deepEqual((await app.post(`/subscriptions/${id}/uncancel`, {})).subscription, back);
  assert.deepEqual(await plans.events(id), ['subscription.created', 'subscription.updated', 'subscription.updated']);
  await plans.cancel(id, atEnd);
  const now = await plans.cancel(id, 'immediately');
  assert.deepEqual([now.status, now.canceledAt], ['canceled', april]);
  assert.equal((await app.post(`/subscriptions/${id}/uncancel`)).subscription.status, 'canceled');
});

test('a canceled trial ends with the trial; taken back it is a trial again, if it can be paid', async () => {
  await app.setClock(april);
  const [rich, poor] = [await plans.newCustomer('pm_card_visa'), await plans.newCustomer()];
  for (const { customerId } of [rich, poor]) {
    const trial = await plans.subscribe({ customerId, priceSlug: 'team-monthly' });
    const scheduled = await plans.cancel(trial.id, atEnd);
    assert.equal(scheduled.cancelScheduledAt, instant('2026-04-15'));
    const answer = await app.request('POST', `/subscriptions/${trial.id}/uncancel`);
    if (customerId === rich.customerId) assert.equal(answer.body.subscription.status, 'trialing');
    else assert.deepEqual([answer.status, answer.body.code], [400, 'BAD_REQUEST']);
  }
});

test('the default plan and wrong requests are refused', async () => {
  const { freeId } = await plans.newCustomer();
  const { id } = await newPro();
  for (const timing of ['immediately', atEnd]) {
    assert.match(await refused(freeId, { cancellation: { timing } }, 400), /default plan/);
  }
  for (const body of [{ cancellation: { timing: 'at_future_date' } }, { cancellation: {} }, {}]) {
    const message = await refused(id, body, 400);
    assert.match(message, /cancellation/);
  }
  const message = await refused(id, { cancellation: { timing: 'now' } }, 400);
  assert.match(message, /cancellation\.timing/);
  assert.match(message, /at_end_of_current_billing_period.*immediately/);
  await refused('sub_none', { cancellation: { timing: 'immediately' } }, 404);
  const other = await app.newOrganization();
  const body = { cancellation: { timing: 'immediately' } };
  const foreign = await app.request('POST', `/subscriptions/${id}/cancel`, body, { key: other.testKey });
  assert.equal(foreign.status, 404);
});

test('one that waits for its first payment has no period to end with; immediately it goes', async () => {
  const { customerId } = await plans.newCustomer();
  const waiting = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  await refused(waiting.id, { cancellation: { timing: atEnd } }, 404);
  assert.equal((await plans.cancel(waiting.id, 'immediately')).status, 'canceled');
});

test('a cancel that is due and not done yet can no longer be taken back', async () => {
  const { id } = await newPro();
  await plans.cancel(id, atEnd);
  await app.setClock(may + 5000);
  const late = (await app.post(`/subscriptions/${id}/uncancel`)).subscription;
  assert.deepEqual([late.status, late.canceledAt], ['canceled', may]);
});

test('a subscription waits 23 hours for its first payment, and the free plan goes on beside it', async () => {
  await app.setClock(april);
  const { customerId, externalId, freeId } = await plans.newCustomer();
  const waiting = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  const hour = 3_600_000;
  const expire = () =>
    app.inEnvironment(async (work) => {
      const ids = await expireHandler.take(work, 100);
      await expireHandler.perform(work, ids);
      return ids;
    });
  await app.setClock(april + 23 * hour - 1);
  assert.deepEqual(await expire(), []);
  await app.setClock(april + 30 * hour);
  assert.deepEqual((await Promise.all([expire(), expire()])).flat(), [waiting.id]);
  const ended = await plans.subscription(waiting.id);
  assert.deepEqual([ended.status, ended.canceledAt, ended.current], ['incomplete_expired', null, false]);
  assert.deepEqual(await plans.events(waiting.id), ['subscription.created', 'subscription.updated']);
  const { currentSubscription } = await billingOf(externalId);
  assert.deepEqual([currentSubscription.id, currentSubscription.startDate], [freeId, april]);
});

test('the free plan does not come back beside a plan whose first payment is under way', async () => {
  await app.setClock(april);
  const { customerId, externalId } = await plans.newCustomer();
  const unpaid = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  await app.post('/payment-methods', { paymentMethod: { customerId, token: 'pm_card_processing' } });
  const paying = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  assert.deepEqual([unpaid.status, paying.status], ['incomplete', 'incomplete']);
  await plans.cancel(unpaid.id, 'immediately');
  await app.setClock(april + 2 * 3_600_000);
  await app.runJobs({ all: true });
  const { currentSubscriptions } = await billingOf(externalId);
  assert.deepEqual(
    currentSubscriptions.map((each: Body) => each.id),
    [paying.id],
  );
});

test('a change that is scheduled has to be undone before a cancel', async () => {
  const { id } = await newPro();
  await app.owner.updateTable('subscriptions').set({ scheduledAdjustmentAt: may }).where('id', '=', id).execute();
  assert.match(await refused(id, { cancellation: { timing: 'immediately' } }, 400), /cancel-scheduled-adjustment/);
  await app.owner.updateTable('subscriptions').set({ scheduledAdjustmentAt: null }).where('id', '=', id).execute();
});

test('an archive and a cancel at once end a subscription once', async () => {
  const { id, externalId, customerId } = await newPro();
  await Promise.all([
    app.post(`/customers/${externalId}/archive`),
    app.request('POST', `/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } }),
    app.post(`/customers/${externalId}/archive`),
  ]);
  const events = await plans.events(id);
  assert.deepEqual(events, ['subscription.created', 'subscription.canceled']);
  const rows: Body[] = (await app.get(`/subscriptions?customerId=${customerId}`)).data;
  assert(rows.every((row) => row.status === 'canceled'));
});

test('what must be true of the data still is', async () => {
  await assertSound(app);
});

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { settleCharges } from '../../src/billing/settle-payment.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { april, day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const { subscribe, adjust, preview, invoices, items, calls, moveTo } = changes;
const half = day(15);
const yearLater = instant('2027-04-16');

after(() => assertSound(app));

/** A customer on `plan` since 1 April, at half of it. */
async function atHalf(plan: string, more: Body = {}) {
  const customer = await subscribe(plan, more);
  await app.setClock(half);
  return customer;
}

const termsOf = async (id: string) => {
  const subscription = await changes.subscription(id);
  const { interval, billingCycleAnchorDate: anchor } = subscription;
  return [interval, anchor, subscription.currentBillingPeriodStart, subscription.currentBillingPeriodEnd];
};

const linesOf = async (id: string, index = -1): Promise<[string, number][]> => {
  const { data } = await app.get(`/invoices?limit=100&subscriptionId=${id}`);
  const { invoiceLineItems } = await app.get(`/invoices/${data.at(index).id}`);
  return invoiceLineItems.map(({ description, amount }: Body) => [description, amount]);
};

test('30.00 a month become 300.00 a year half-way: the unused 15.00 are taken off, and the year begins', async () => {
  const { id, externalId } = await atHalf('p3000');
  const shown = await preview(id, 'yearly', { timing: 'auto' });
  assert.deepEqual(
    [shown.totalDue, shown.prorationAmount, shown.takenOffAmount, shown.keptAmount, shown.newBillingPeriodEnd],
    [28_500, 28_500, 1500, 0, yearLater],
  );
  const answer = await adjust(id, 'yearly', { timing: 'auto' });
  assert.deepEqual([answer.resolvedTiming, answer.adjustment.status], ['immediately', 'applied']);
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['paid', 28_500],
  ]);
  assert.deepEqual(await linesOf(id), [
    ['yearly, 16 Apr 2026 – 16 Apr 2027', 30_000],
    ['Paid and unused time', -1500],
  ]);
  assert.deepEqual(await termsOf(id), ['year', half, half, yearLater]);
  assert.deepEqual(await items(externalId), [[30_000, 1]]);
  assert.deepEqual(await changes.events(id), ['subscription.created', 'subscription.updated']);
  await moveTo(yearLater);
  assert.deepEqual((await invoices(id)).slice(2), [['paid', 30_000]]);
});

test('with an unchanged anchor the new period is the rest of the year, at its share of the price', async () => {
  const { id } = await atHalf('p3000');
  const more = { billingAnchor: 'unchanged' };
  // 350 of 365 days of 300.00 are 287.67.
  assert.equal((await preview(id, 'yearly', more)).totalDue, 28_767 - 1500);
  await adjust(id, 'yearly', more);
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 28_767 - 1500]);
  assert.deepEqual(await termsOf(id), ['year', april, half, instant('2027-04-01')]);
  await moveTo(instant('2027-04-01'));
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 30_000]);
});

test('a year that becomes months keeps the rest of its value for the next months', async () => {
  const { id } = await subscribe('yearly');
  await app.setClock(day(146));
  // 219 of 365 days of 300.00 are 180.00.
  assert.equal((await preview(id, 'p3000', { timing: 'auto' })).resolvedTiming, 'at_end_of_current_billing_period');
  const shown = await preview(id, 'p3000');
  assert.deepEqual([shown.totalDue, shown.takenOffAmount, shown.keptAmount], [0, 3000, 15_000]);
  await adjust(id, 'p3000');
  await moveTo(instant('2027-02-25'));
  assert.deepEqual(
    (await invoices(id)).map(([, total]) => total),
    [30_000, 0, 0, 0, 0, 0, 0, 3000],
  );
});

test('open usage is billed with the change, as at the end of a period', async () => {
  const { id } = await atHalf('p3000');
  await changes.use(id, 200);
  const shown = await preview(id, 'yearly');
  assert.deepEqual([shown.totalDue, shown.prorationAmount, shown.carriedOverAmount], [28_600, 28_500, 100]);
  await adjust(id, 'yearly');
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 28_600]);
  await moveTo(yearLater);
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 30_000]);
});

test('a charge that fails changes nothing, and its usage is billed with the next one', async () => {
  const { id, externalId, customerId } = await atHalf('p3000');
  await changes.use(id, 200);
  const card = (await changes.subscription(id)).defaultPaymentMethodId;
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  const before = await changes.subscription(id);
  assert.match(await changes.refused(id, 'yearly', 402), /^Nothing was changed/);
  assert.deepEqual(await changes.subscription(id), before);
  assert.deepEqual(await items(externalId), [[3000, 1]]);
  assert.deepEqual((await invoices(id)).at(-1), ['void', 28_600]);
  await changes.chargeOn(id, card);
  await adjust(id, 'yearly');
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 28_600]);
  assert.deepEqual(await termsOf(id), ['year', half, half, yearLater]);
});

test('money that takes its time: the new period begins as of the change when it is there', async () => {
  const { id, externalId, customerId } = await atHalf('p3000');
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
  assert.equal((await adjust(id, 'yearly')).adjustment.status, 'awaiting_payment');
  assert.deepEqual(await termsOf(id), ['month', april, april, may]);
  assert.match(await changes.refused(id, 'p6000', 409), /is waiting for its payment/);
  await moveTo(day(16));
  assert.deepEqual(await termsOf(id), ['year', half, half, yearLater]);
  assert.deepEqual(await items(externalId), [[30_000, 1]]);
});

test('money that comes after the next period has begun is given back, except for usage, and the plan stays', async () => {
  const { id, externalId, customerId } = await subscribe('p3000');
  const card = (await changes.subscription(id)).defaultPaymentMethodId;
  await changes.use(id, 200);
  await app.setClock(may - 1);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
  await adjust(id, 'yearly');
  await changes.chargeOn(id, card);
  await moveTo(may + 86_400_000);
  assert.deepEqual(await items(externalId), [[3000, 1]]);
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['partially_refunded', 30_100],
    ['paid', 3000],
  ]);
  const { data } = await app.get(`/payments?customerId=${customerId}&limit=100`);
  assert.deepEqual(
    data.map(({ amount, refundedAmount }: Body) => [amount, refundedAmount ?? 0]),
    [
      [3000, 0],
      [30_100, 30_000],
      [3000, 0],
    ],
  );
  assert.equal((await adjust(id, 'p6000')).adjustment.status, 'applied');
});

test('where the plan has ended before a slow charge fails, the usage on its invoice is invoiced anew', async () => {
  const { id, customerId } = await subscribe('p3000');
  await changes.use(id, 200);
  await app.setClock(half);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
  await adjust(id, 'yearly');
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  const { data } = await app.get(`/payments?customerId=${customerId}&limit=100`);
  const outcome = {
    result: 'failed',
    reference: null,
    code: 'debit_returned',
    message: 'Returned by the bank.',
  } as const;
  await app.inEnvironment((work) => settleCharges(work, [{ paymentId: data.at(-1).id, outcome }]));
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['void', 28_600],
    ['open', 100],
  ]);
});

test('unused credits are given up with the time, and those used ahead of it are not granted again', async () => {
  const { id, externalId } = await atHalf('pro');
  await changes.use(id, 300);
  // Half of 360 are ahead: 60 are unused and taken back, 120 were used.
  await adjust(id, 'pro-year');
  assert.equal(await calls(externalId, id), 3600 - 120 + 500);
  // To and fro in one instant gives nothing: all 3600 of the year are ahead, of which 120 are gone.
  await adjust(id, 'pro');
  assert.equal(await calls(externalId, id), 360 - 120 + 500);
  await adjust(id, 'pro-year');
  assert.equal(await calls(externalId, id), 3600 - 120 + 500);
});

test('credits of a plan that was left for another interval do not count against a later change', async () => {
  const { id, externalId } = await subscribe('pro');
  await adjust(id, 'pro-year');
  await adjust(id, 'pro');
  await adjust(id, 'mega');
  assert.equal(await calls(externalId, id), 900 + 500, 'all in the instant in which the month began');

  const other = await atHalf('pro');
  await adjust(other.id, 'pro-year', { billingAnchor: 'unchanged' });
  // 350 of 365 days of 3600 are 3452.
  assert.equal(await calls(other.externalId, other.id), 3452 + 500);
  await adjust(other.id, 'pro-year x 2');
  assert.equal(await calls(other.externalId, other.id), 6904 + 500, 'the month before is not counted');
});

test('credits used ahead lower the value that is taken off where the next plan grants too few', async () => {
  const { id } = await atHalf('pro');
  await changes.use(id, 300);
  // 120 of 180 are missing, so a third of 15.00 is left.
  const shown = await preview(id, 'bare-year');
  assert.deepEqual([shown.takenOffAmount, shown.totalDue], [500, 29_500]);
  await adjust(id, 'bare-year');
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 29_500]);
});

test('credits that the seller took back by hand were not used ahead: the whole unused value is taken off', async () => {
  for (const [used, takenOff] of [
    // 100 of the 180 for half a month were used.
    [100, 1500],
    // 120 of 180 are missing, as above.
    [300, 500],
  ] as const) {
    const { id } = await atHalf('pro');
    await changes.use(id, used);
    const { data } = await app.get(`/usage-credits?subscriptionId=${id}`);
    await app.post(`/usage-credits/${data[0].id}/take-back`, {});
    assert.equal((await preview(id, 'bare-year')).takenOffAmount, takenOff);
    await adjust(id, 'bare-year');
    assert.deepEqual((await invoices(id)).at(-1), ['paid', 30_000 - takenOff]);
  }
});

test('credits that the seller took back by hand before a pause were not used ahead after it', async () => {
  const { id } = await subscribe('pro');
  const { data } = await app.get(`/usage-credits?subscriptionId=${id}`);
  await app.post(`/usage-credits/${data[0].id}/take-back`, { amount: 200 });
  await app.setClock(day(10));
  await app.post(`/subscriptions/${id}/pause`, { pause: {} });
  await app.setClock(half);
  await app.post(`/subscriptions/${id}/resume`);
  // 160 were left at the pause, and 100 of them come back for half of the month.
  await changes.use(id, 100);
  // 5.00 are kept for the paused days, and 15.00 unused: 100 of the 120 for ten days were used.
  assert.equal((await preview(id, 'bare-year')).takenOffAmount, 2000);
  await adjust(id, 'bare-year');
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 28_000]);
});

test('a month and the rest of a year from one anchor are two uses of a discount for two payments', async () => {
  const discount = { name: 'Two', code: 'TWO', amount: 50, amountType: 'percent', duration: 'number_of_payments' };
  await app.post('/discounts', { discount: { ...discount, numberOfPayments: 2 } });
  const { id } = await atHalf('p3000', { discountCode: 'TWO' });
  await adjust(id, 'yearly', { billingAnchor: 'unchanged' });
  // Half of 287.67 for 350 of 365 days, less half of the 15.00 that were paid.
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 14_383 - 750]);
  // A pause splits the year, and is no third use: half of the 205.48 for 250 days.
  await app.setClock(day(65));
  await app.post(`/subscriptions/${id}/pause`, { pause: {} });
  await app.setClock(day(115));
  await app.post(`/subscriptions/${id}/resume`);
  const { data } = await app.get(`/invoices?limit=100&subscriptionId=${id}`);
  assert.equal(data.at(-1).discountAmount, 10_274);
  await moveTo(instant('2027-04-01'));
  assert.equal((await app.get(`/invoices?limit=100&subscriptionId=${id}`)).data.at(-1).discountAmount, 0);
});

test('a percentage is off the new period as well, and the unused value is what was paid after it', async () => {
  const discount = { name: 'Half', code: 'HALF', amount: 50, amountType: 'percent', duration: 'forever' };
  await app.post('/discounts', { discount });
  const { id } = await atHalf('p3000', { discountCode: 'HALF' });
  // 300.00 less 150.00, less half of the 15.00 that were paid.
  const shown = await preview(id, 'yearly');
  assert.deepEqual([shown.discountAmount, shown.takenOffAmount, shown.totalDue], [15_000, 750, 14_250]);
  await adjust(id, 'yearly');
  assert.deepEqual(await invoices(id), [
    ['paid', 1500],
    ['paid', 14_250],
  ]);
  await moveTo(yearLater);
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 15_000]);
});

test('a fixed discount is off a whole new period, and off the rest of an interval at its share', async () => {
  const discount = { name: 'Ten', code: 'TEN', amount: 1000, amountType: 'fixed', duration: 'forever' };
  await app.post('/discounts', { discount });
  const { id } = await atHalf('p3000', { discountCode: 'TEN' });
  // 300.00 less 10.00, less half of the 20.00 that were paid.
  assert.equal((await preview(id, 'yearly')).totalDue, 28_000);
  // 350 of 365 days: 287.67 less 9.59, less 10.00. So going to and fro does not give the discount again and again.
  const more = { billingAnchor: 'unchanged' };
  const shown = await preview(id, 'yearly', more);
  assert.deepEqual([shown.discountAmount, shown.takenOffAmount, shown.totalDue], [959, 1000, 26_808]);
  await adjust(id, 'yearly', more);
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 26_808]);
});

test('a change in the instant in which a period began takes all of it off', async () => {
  const { id } = await subscribe('p3000');
  await adjust(id, 'yearly');
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 27_000]);
  assert.deepEqual(await termsOf(id), ['year', april, april, instant('2027-04-01')]);
  await changes.use(id, 100);
  await adjust(id, 'p3000');
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 0]);
  await app.setClock(day(10));
  assert.equal((await preview(id, 'p6000')).totalDue, 2000, 'and within the month it is a plan like any other');
});

test('a trial goes on, and the new interval begins at its end', async () => {
  const { id } = await subscribe('trial');
  assert.equal((await adjust(id, 'yearly')).adjustment.status, 'applied');
  assert.deepEqual((await termsOf(id)).slice(2), [april, day(14)]);
  await moveTo(day(14));
  assert.deepEqual(await invoices(id), [['paid', 30_000]]);
  assert.deepEqual((await termsOf(id)).slice(2), [day(14), instant('2027-04-15')]);
});

test('a free plan that becomes a paid one of another interval costs its whole price', async () => {
  const { id } = await atHalf('p3000');
  await adjust(id, 'zero', { timing: 'at_end_of_current_billing_period' });
  await moveTo(may);
  await adjust(id, 'yearly');
  assert.deepEqual((await invoices(id)).slice(1), [['paid', 30_000]]);
  assert.deepEqual(await termsOf(id), ['year', may, may, instant('2027-05-01')]);
});

test('a paid plan that becomes a free one at once keeps its value for later periods', async () => {
  const { id } = await subscribe('yearly');
  await app.setClock(day(146));
  assert.equal((await preview(id, 'zero')).keptAmount, 18_000);
  await adjust(id, 'zero');
  await adjust(id, 'p3000');
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 3000]);
  await moveTo(instant('2026-09-25'));
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 0]);
});

test('while an invoice is owed, without proration, or with an anchor that has no effect, the change is refused', async () => {
  const { id, customerId } = await subscribe('p3000');
  await app.setClock(half);
  const more = { prorateCurrentBillingPeriod: false };
  assert.match(await changes.refused(id, 'yearly', 400, more), /prorateCurrentBillingPeriod.*begins a new period now/);
  assert.match(await changes.refused(id, 'p6000', 400, { billingAnchor: 'now' }), /billingAnchor/);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  await moveTo(may + 1);
  assert.match(await changes.refused(id, 'yearly', 400), /must be paid before the interval changes/);
  const shown = await preview(id, 'yearly');
  assert.deepEqual([shown.canAdjust, shown.totalDue], [false, undefined]);
});

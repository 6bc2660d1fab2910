import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { settleCharges } from '../../src/billing/settle-payment.ts';
import { boundary, instant } from '../../src/kernel/calendar.ts';
import { april, day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { seededRandom } from '../support/seed.ts';
import { newCustomer } from '../support/shop.ts';
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
  assert.deepEqual(await invoices(id), [['paid', 3000]]);
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

/** Charged, taken off, kept, and the end of the period that begins. */
const amountsOf = ({ adjustment }: Body) =>
  ['totalDue', 'prorationAmount', 'takenOffAmount', 'keptAmount', 'newBillingPeriodEnd'].map((key) => adjustment[key]);

test('30.00 for 30 days, cut on day 10 to end on day 20: nothing is due, and 10.00 are kept for the next period', async () => {
  const { id } = await subscribe('thirty');
  await app.setClock(day(10));
  const dry = await changes.moveAnchor(id, day(20), '?dryRun=true');
  // 10.00 for ten days, less 20.00 unused.
  assert.deepEqual(amountsOf(dry.body), [0, 0, 1000, 1000, day(20)]);
  assert.deepEqual(await termsOf(id), ['day', april, april, day(30)], 'a dry run changes nothing');
  const { body } = await changes.moveAnchor(id, day(20));
  assert.deepEqual(amountsOf(body), amountsOf(dry.body));
  assert.deepEqual([body.adjustment.status, body.subscription.billingCycleAnchorDate], ['applied', day(20)]);
  assert.deepEqual(await termsOf(id), ['day', day(20), day(10), day(20)]);
  assert.deepEqual(await linesOf(id), [
    ['thirty, 11 Apr – 21 Apr 2026', 1000],
    ['Paid and unused time', -1000],
  ]);
  assert.deepEqual(await changes.events(id), ['subscription.created', 'subscription.updated']);
  const again = await changes.moveAnchor(id, day(20));
  assert.deepEqual([again.status, again.body.adjustment], [200, undefined], 'the anchor is there already');
  await moveTo(day(50));
  // 50 days are 50.00; and 30.00 for the next 30 days.
  assert.deepEqual(
    (await invoices(id)).map(([, total]) => total),
    [3000, 0, 2000, 3000],
  );
});

test('30.00 for 30 days, extended on day 20 to end on day 45: the 15 days more cost 15.00', async () => {
  const { id } = await subscribe('thirty');
  await app.setClock(day(20));
  const dry = await changes.moveAnchor(id, day(45), '?dryRun=true');
  // 25.00 for 25 days, less 10.00 unused.
  assert.deepEqual(amountsOf(dry.body), [1500, 1500, 1000, 0, day(45)]);
  const { body } = await changes.moveAnchor(id, day(45));
  assert.deepEqual(amountsOf(body), amountsOf(dry.body));
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 1500]);
  await moveTo(day(45));
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['paid', 1500],
    ['paid', 3000],
  ]);
  assert.deepEqual(await termsOf(id), ['day', day(45), day(45), day(75)]);
});

test('a failed charge of an anchor changes nothing, and the usage on it is billed once, with the next one', async () => {
  const { id, customerId } = await subscribe('p3000');
  await changes.use(id, 200);
  // April has 30 days, so the 20 days until 6 May cost 20.00. 15.00 are unused, and the usage is 1.00.
  await app.setClock(half);
  const card = (await changes.subscription(id)).defaultPaymentMethodId;
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  const before = await changes.subscription(id);
  const failed = await changes.moveAnchor(id, day(35));
  assert.deepEqual([failed.status, failed.body.reason], [402, 'adjustment_not_paid']);
  assert.deepEqual(await changes.subscription(id), before);
  assert.deepEqual(await invoices(id), [['paid', 3000]]);
  await changes.chargeOn(id, card);
  const { body } = await changes.moveAnchor(id, day(35));
  assert.deepEqual([body.adjustment.totalDue, body.adjustment.carriedOverAmount], [600, 100]);
  await moveTo(day(35));
  assert.deepEqual((await invoices(id)).slice(1), [
    ['paid', 600],
    ['paid', 3000],
  ]);
});

test('an anchor whose money takes its time moves as of the request, and another change waits until then', async () => {
  const { id, customerId } = await subscribe('thirty');
  await app.setClock(day(20));
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
  const { body } = await changes.moveAnchor(id, day(45));
  assert.deepEqual([body.adjustment.status, body.subscription.billingCycleAnchorDate], ['awaiting_payment', april]);
  const meanwhile = await changes.moveAnchor(id, day(40));
  assert.deepEqual([meanwhile.status, meanwhile.body.reason], [409, 'billing_anchor_fixed']);
  await moveTo(day(21));
  assert.deepEqual(await termsOf(id), ['day', day(45), day(20), day(45)]);
});

test('money for an anchor that comes after the next period has begun is given back, and the anchor stays', async () => {
  const { id, customerId } = await subscribe('thirty');
  const card = (await changes.subscription(id)).defaultPaymentMethodId;
  await app.setClock(day(30) - 1);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
  await changes.moveAnchor(id, day(45));
  await changes.chargeOn(id, card);
  await moveTo(day(31));
  assert.deepEqual(await termsOf(id), ['day', april, day(30), day(60)]);
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['refunded', 1500],
    ['paid', 3000],
  ]);
});

test('a discount goes on in the period that begins with an anchor, and is used once', async () => {
  const discount = { name: 'First', code: 'FIRST', amount: 50, amountType: 'percent', duration: 'once' };
  await app.post('/discounts', { discount });
  const { id } = await subscribe('thirty', { discountCode: 'FIRST' });
  await app.setClock(day(10));
  const { body } = await changes.moveAnchor(id, day(20));
  // Ten days at 10.00, less half, less 5.00 of the unused 10.00.
  assert.deepEqual(amountsOf(body), [0, 500, 500, 500, day(20)]);
  await app.setClock(day(12));
  await app.post(`/subscriptions/${id}/pause`, {});
  await app.post(`/subscriptions/${id}/resume`, {});
  await moveTo(day(20));
  // Twenty days at half price, and then 30.00 a period.
  const totals = (await invoices(id)).map(([, total]) => total);
  assert.equal(
    totals.reduce((sum, total) => sum + total),
    1000 + 3000,
  );
});

test('credits end and come with the time: of 360, 300 were used half-way', async () => {
  const shorter = await subscribe('thirty');
  const longer = await subscribe('thirty');
  await app.setClock(half);
  for (const { id } of [shorter, longer]) await changes.use(id, 300);
  // 60 of the 180 that are ahead are unused. The next five days bring 60, so 60 stay missing: a third of 15.00.
  const { body } = await changes.moveAnchor(shorter.id, day(20));
  assert.deepEqual(amountsOf(body), [0, 0, 500, 500, day(20)]);
  assert.equal(await calls(shorter.externalId, shorter.id), 0);
  await changes.moveAnchor(longer.id, day(45));
  assert.deepEqual((await invoices(longer.id)).at(-1), ['paid', 1500]);
  assert.equal(await calls(longer.externalId, longer.id), 360 - 120);
});

test('the end of the current period as the anchor costs nothing, and later periods count from it', async () => {
  await app.setClock(instant('2026-05-31'));
  const { customerId } = await newCustomer(app, 'last-day', { token: 'pm_card_visa' });
  const { subscription } = await app.post('/subscriptions', { customerId, priceSlug: 'p3000-monthly' });
  const end = instant('2026-06-30');
  assert.equal(subscription.currentBillingPeriodEnd, end);
  const { body } = await changes.moveAnchor(subscription.id, end);
  assert.deepEqual([body.adjustment, body.subscription.billingCycleAnchorDate], [undefined, end]);
  await moveTo(end);
  assert.deepEqual(await termsOf(subscription.id), ['month', end, end, instant('2026-07-30')]);
});

test('with another anchor at the end of the period, months of usage within the period end by it too', async () => {
  const { id } = await subscribe('thirty');
  // From 1 April on the third 30 days are those from 31 May, in which a month of usage ends on 1 June.
  await moveTo(instant('2026-05-31'));
  const end = instant('2026-06-30');
  assert.equal((await changes.subscription(id)).currentBillingPeriodEnd, end);
  await changes.moveAnchor(id, end);
  await assertSound(app);
  await changes.use(id, 200 + 360);
  await moveTo(instant('2026-06-02'));
  assert.deepEqual((await invoices(id)).length, 3);
});

test('an anchor is refused by name where it cannot move, and nothing changes', async () => {
  const refused = async (id: string, at: number, more: Body = {}) => {
    const before = await changes.subscription(id);
    const body = { subscription: { billingCycleAnchorDate: at, ...more } };
    const answer = await app.request('PUT', `/subscriptions/${id}`, body);
    assert.deepEqual(await changes.subscription(id), before);
    assert.deepEqual(answer.body.issues?.[0]?.path, ['subscription', 'billingCycleAnchorDate'], answer.body.message);
    return [answer.status, answer.body.message];
  };
  const expect = async (id: string, status: number, words: RegExp, at = day(20), more: Body = {}) => {
    const [answered, message] = await refused(id, at, more);
    assert.equal(answered, status, message);
    assert.match(message, words);
  };
  const { id, customerId } = await subscribe('thirty');
  await app.setClock(day(5));
  await expect(id, 400, /later than now .* one interval ahead/, day(5));
  await expect(id, 400, /later than now .* one interval ahead/, day(35) + 1);
  await expect(id, 400, /must be changed alone/, day(20), { name: 'Other' });
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'at_end_of_current_billing_period' } });
  await expect(id, 409, /an end is scheduled/);
  await app.post(`/subscriptions/${id}/uncancel`);
  await adjust(id, 'p6000', { timing: 'at_end_of_current_billing_period' });
  await expect(id, 409, /another change waits/);
  await app.post(`/subscriptions/${id}/cancel-scheduled-adjustment`);
  await app.post(`/subscriptions/${id}/pause`, {});
  await expect(id, 409, /its status is paused/);
  await app.post(`/subscriptions/${id}/resume`, {});
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  await moveTo(day(31));
  await expect(id, 409, /an invoice is owed/, day(40));
  const ended = await subscribe('thirty');
  await app.post(`/subscriptions/${ended.id}/cancel`, { cancellation: { timing: 'immediately' } });
  await expect(ended.id, 409, /its status is canceled/);
  const trial = await subscribe('trial');
  await expect(trial.id, 409, /a trial runs/);
});

test('over any series of anchors the preview is the charge, and all of it is the value of the time, rounded once', async () => {
  const draw = seededRandom();
  const month = { unit: 'month', count: 1 } as const;
  for (let round = 0; round < 2; round++) {
    const { id } = await subscribe('p999');
    let [now, worth] = [april, 0];
    let [end, whole] = [may, 30 * 86_400_000];
    for (let step = 0; step < 8; step++) {
      const [at, random] = [now + 1 + Math.floor(draw() * 0.9 * (end - now)), draw()];
      await app.setClock(at);
      const anchor = at + 1 + Math.floor(random * (boundary(at, month, 1) - at));
      const dry = await changes.moveAnchor(id, anchor, '?dryRun=true');
      const { status, body } = await changes.moveAnchor(id, anchor);
      assert.deepEqual([status, amountsOf(body)], [200, amountsOf(dry.body)], `${at} ${anchor}`);
      assert.deepEqual((await invoices(id)).at(-1), ['paid', body.adjustment.totalDue]);
      worth += (999 * (at - now)) / whole;
      [now, end, whole] = [at, anchor, anchor - boundary(anchor, month, -1)];
    }
    worth += (999 * (end - now)) / whole;
    const paid = (await invoices(id)).reduce((sum, [, total]) => sum + total, 0);
    const { kept } = await app.owner
      .selectFrom('subscriptions')
      .select('pausedCredit as kept')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    // Once for the time that has passed, and once for the period that runs.
    assert.ok(Math.abs(paid - Number(kept) - worth) <= 1, `${paid} - ${kept} for ${worth}`);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { april, day, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newCustomer } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const plans = await setUpChanges(app);
const [may, june] = [instant('2026-05-01'), instant('2026-06-01')];

let made = 0;
/** A customer with a card, since 11 April. */
async function buyer() {
  await app.setClock(day(10));
  made += 1;
  return newCustomer(app, `buyer-${made}`, { token: 'pm_card_visa' });
}

/** Subscribes on 11 April, ten days into the month, with a card. */
async function onTheEleventh(plan: string, terms: Body) {
  const { customerId, externalId, paymentMethodId } = await buyer();
  const wish = { customerId, ...plans.item(plan), defaultPaymentMethodId: paymentMethodId, ...terms };
  const { subscription } = await app.post('/subscriptions', wish);
  return { id: subscription.id as string, customerId, externalId, subscription };
}

const periodOf = ({ currentBillingPeriodStart, currentBillingPeriodEnd }: Body) => [
  currentBillingPeriodStart,
  currentBillingPeriodEnd,
];
const totals = async (id: string) => (await plans.invoices(id)).map(([, total]) => total);

test('a plan by the calendar pays 20 of 30 days of April, and then each month on the first', async () => {
  const { id, subscription } = await onTheEleventh('p3000', { billingAnchor: 'calendar' });
  assert.deepEqual(periodOf(subscription), [day(10), may]);
  assert.deepEqual([subscription.billingAnchor, subscription.firstPeriod], ['calendar', 'short']);
  assert.equal(subscription.billingCycleAnchorDate, april);
  await plans.moveTo(june);
  assert.deepEqual(await totals(id), [2000, 3000, 3000]);
  assert.deepEqual(periodOf(await plans.subscription(id)), [june, instant('2026-07-01')]);
});

test('a long first period costs 20 days of April at the rate of May with it, and nothing on 1 May', async () => {
  const { id, subscription } = await onTheEleventh('p3000', { billingAnchor: 'calendar', firstPeriod: 'long' });
  assert.deepEqual(periodOf(subscription), [day(10), june]);
  // 51 days at 30.00 for the 31 of May.
  assert.deepEqual(await totals(id), [4935]);
  await plans.moveTo(june);
  assert.deepEqual(await totals(id), [4935, 3000]);
});

test('a code of 30.00 covers a month, and not a long first period: that waits for a card', async () => {
  await app.setClock(day(10));
  const { pricingModelId } = plans;
  const terms = { name: 'One month', amountType: 'fixed', amount: 3000, duration: 'once', pricingModelId };
  await app.post('/discounts', { discount: { ...terms, code: 'MONTH' } });
  const subscribe = async (firstPeriod: string) => {
    const { customerId } = await newCustomer(app, `covered-${firstPeriod}`, { token: null });
    const wish = { customerId, ...plans.item('p3000'), discountCode: 'MONTH', billingAnchor: 'calendar', firstPeriod };
    return (await app.post('/subscriptions', wish)).subscription;
  };
  const short = await subscribe('short');
  assert.deepEqual([short.status, await plans.invoices(short.id)], ['active', [['paid', 0]]]);
  const long = await subscribe('long');
  assert.deepEqual([long.status, await plans.invoices(long.id)], ['incomplete', []]);
});

test('credits of a short or long first period come in its share', async () => {
  const short = await onTheEleventh('pro', { billingAnchor: 'calendar' });
  assert.equal(await plans.calls(short.externalId, short.id), 240, '20 of 30 days of 360');
  const long = await onTheEleventh('pro', { billingAnchor: 'calendar', firstPeriod: 'long' });
  assert.equal(await plans.calls(long.externalId, long.id), 592, '51 of 31 days of 360');
});

test('a change in the middle of a short or long first period is charged by its share of time', async () => {
  const short = await onTheEleventh('p3000', { billingAnchor: 'calendar' });
  await plans.moveTo(day(20));
  await plans.adjust(short.id, 'p6000');
  // Ten days of 2.00 in place of 1.00.
  assert.deepEqual(await totals(short.id), [2000, 1000]);

  const long = await onTheEleventh('p3000', { billingAnchor: 'calendar', firstPeriod: 'long' });
  await plans.moveTo(may);
  await plans.adjust(long.id, 'p6000');
  assert.deepEqual(await totals(long.id), [4935, 3000]);
});

test('a pause in a long first period gives back its rest, and the period goes on to its end', async () => {
  const { id, externalId } = await onTheEleventh('pro', { billingAnchor: 'calendar', firstPeriod: 'long' });
  await plans.moveTo(day(20));
  await app.post(`/subscriptions/${id}/pause`);
  await plans.moveTo(may);
  const { subscription } = await app.post(`/subscriptions/${id}/resume`);
  assert.deepEqual(periodOf(subscription), [may, june]);
  // Of 49.35 ten days are used, so 39.67 were kept: 30.00 pay for May, and 9.67 are left for June.
  assert.deepEqual(await totals(id), [4935, 0]);
  assert.equal(await plans.calls(externalId, id), 475, '592 less ten of 51 days, rounded up');
  await plans.moveTo(june);
  assert.deepEqual(await totals(id), [4935, 0, 2033]);
});

test('a change after a pause in a long first period grants what no part of it has granted', async () => {
  const { id, externalId } = await onTheEleventh('pro', { billingAnchor: 'calendar', firstPeriod: 'long' });
  await plans.moveTo(day(20));
  await app.post(`/subscriptions/${id}/pause`);
  await plans.moveTo(may);
  await app.post(`/subscriptions/${id}/resume`);
  assert.equal(await plans.calls(externalId, id), 475);
  await plans.moveTo(day(46));
  // 15 of 31 days of 900 are 435: fewer than the 475 of both parts.
  await plans.adjust(id, 'mega');
  assert.equal(await plans.calls(externalId, id), 475);
  await plans.moveTo(day(51));
});

test('credits of a long first period that was left for another interval do not count in a later one', async () => {
  const { id, externalId } = await onTheEleventh('pro', { billingAnchor: 'calendar', firstPeriod: 'long' });
  await plans.moveTo(day(20));
  await app.post(`/subscriptions/${id}/pause`);
  await plans.moveTo(day(25));
  await app.post(`/subscriptions/${id}/resume`);
  await plans.moveTo(may);
  await plans.adjust(id, 'bare-year', { billingAnchor: 'unchanged' });
  await plans.adjust(id, 'p3000', { billingAnchor: 'unchanged' });
  const before = await plans.calls(externalId, id);
  await plans.moveTo(day(46));
  await plans.adjust(id, 'mega');
  assert.equal((await plans.calls(externalId, id)) - before, 435, '15 of 31 days of 900');
});

test('after a trial the calendar counts from its end, also when the end moves', async () => {
  const { id, subscription } = await onTheEleventh('trial', { billingAnchor: { day: 1 } });
  assert.deepEqual(periodOf(subscription), [day(10), day(24)]);
  await app.request('PUT', `/subscriptions/${id}`, { subscription: { trialEnd: day(20) } });
  const upcoming = (await app.get(`/invoices/upcoming?subscriptionId=${id}`)).invoice;
  assert.equal(upcoming.total, 1000);
  await plans.moveTo(june);
  assert.deepEqual(await totals(id), [1000, 3000, 3000]);
});

test('a plan that starts later begins with the rest of its month', async () => {
  const { id } = await onTheEleventh('p3000', { billingAnchor: { day: 16 }, startDate: day(24) });
  await plans.moveTo(june);
  // 21 of the 30 days from 16 April to 16 May, and then a month.
  assert.deepEqual(await totals(id), [2100, 3000]);
});

test('a moved anchor and another interval are counted from their own instant', async () => {
  const moved = await onTheEleventh('p3000', { billingAnchor: 'calendar' });
  await plans.moveAnchor(moved.id, day(20));
  const { billingAnchor, billingCycleAnchorDate } = await plans.subscription(moved.id);
  assert.deepEqual([billingAnchor, billingCycleAnchorDate], ['anniversary', day(20)]);

  const yearly = await onTheEleventh('p3000', { billingAnchor: 'calendar' });
  await plans.adjust(yearly.id, 'bare-year', { billingAnchor: 'unchanged' });
  const kept = await plans.subscription(yearly.id);
  assert.deepEqual([kept.billingAnchor, kept.currentBillingPeriodEnd], ['calendar', instant('2027-01-01')]);

  const now = await onTheEleventh('p3000', { billingAnchor: 'calendar' });
  await plans.adjust(now.id, 'bare-year', { billingAnchor: 'now' });
  const begun = await plans.subscription(now.id);
  assert.deepEqual([begun.billingAnchor, begun.currentBillingPeriodEnd], ['anniversary', instant('2027-04-11')]);
});

test('the setting counts where a request says nothing, for the free plan too', async () => {
  const set = (settings: Body) => app.put('/settings', { settings });
  await set({ billingAnchor: { day: 31 }, firstPeriod: 'long' });
  const { subscription, customerId } = await onTheEleventh('p3000', {});
  assert.equal(subscription.currentBillingPeriodEnd, instant('2026-05-31'));
  const { data } = await app.get(`/subscriptions?customerId=${customerId}`);
  assert.deepEqual(
    data.map(({ billingAnchor }: Body) => billingAnchor),
    [{ day: 31 }, { day: 31 }],
  );
  const days = await onTheEleventh('thirty', {});
  assert.equal(days.subscription.billingAnchor, 'anniversary', 'thirty days have no 31st');
  const asked = await onTheEleventh('p3000', { billingAnchor: 'anniversary', firstPeriod: 'short' });
  assert.equal(asked.subscription.currentBillingPeriodEnd, instant('2026-05-11'));
  await set({ billingAnchor: 'anniversary', firstPeriod: 'short' });
});

test('a purchase on a page and one by the API show and charge the share of the first period', async () => {
  const { externalId, customerId } = await buyer();
  const sold = { priceSlug: 'p3000-monthly', billingAnchor: 'calendar', firstPeriod: 'long' };
  const { purchase } = await app.post('/purchases', { purchase: { customerId, ...sold } });
  assert.equal(purchase.firstInvoiceValue, 4935);
  const { subscription } = await app.get(`/subscriptions/${purchase.subscriptionId}`);
  assert.deepEqual([subscription.billingAnchor, subscription.firstPeriod], ['calendar', 'long']);
  const urls = { successUrl: 'https://example.com/paid', cancelUrl: 'https://example.com/cart' };
  const { checkoutSession } = await app.post('/checkout-sessions', {
    checkoutSession: { ...urls, type: 'product', customerExternalId: externalId, ...sold },
  });
  assert.deepEqual([checkoutSession.billingAnchor, checkoutSession.firstPeriod], ['calendar', 'long']);
});

test('a bad anchor is refused by its name, and nothing is stored', async () => {
  const { customerId } = await buyer();
  const refused: [Body, string][] = [
    [{ ...plans.item('p3000'), billingAnchor: { day: 32 } }, 'billingAnchor.day: '],
    [{ ...plans.item('p3000'), billingAnchor: 'monday' }, 'billingAnchor: must be anniversary, calendar or'],
    [{ ...plans.item('thirty'), billingAnchor: { day: 5 } }, 'billingAnchor.day: must be omitted'],
    [{ ...plans.item('p3000'), firstPeriod: 'medium' }, 'firstPeriod'],
  ];
  for (const [terms, message] of refused) {
    const answer = await app.request('POST', '/subscriptions', { customerId, ...terms });
    assert.equal(answer.status, 400);
    assert(JSON.stringify(answer.body).includes(message), JSON.stringify(answer.body));
  }
  assert.equal((await app.get(`/subscriptions?customerId=${customerId}`)).data.length, 1);
});

const arrears = (slug: string, unitPrice: number, more: Body = {}) => ({
  product: { name: slug, slug, pricingModelId: plans.pricingModelId },
  price: {
    ...{ type: 'subscription', name: slug, slug: `${slug}-monthly`, unitPrice, intervalUnit: 'month' },
    ...{ billingTiming: 'in_arrears', trialPeriodDays: null, ...more },
  },
});
const late: Body = await app.post('/products', arrears('late', 3000));
await app.post('/products', arrears('later', 6000));
await app.post('/products', arrears('late-fee', 3000, { setupFeeAmount: 500 }));
await app.post('/products', arrears('late-trial', 3000, { trialPeriodDays: 10 }));
await app.post('/products', arrears('late-year', 36_500, { intervalUnit: 'year' }));
const inArrears = (plan: string, terms: Body = {}) => plans.subscribe(plan, terms);

test('a plan in arrears takes no money at its start, and bills each month at its end, on one invoice with the usage', async () => {
  const { id, externalId, subscription } = await inArrears('late');
  assert.deepEqual([subscription.status, await totals(id)], ['active', []]);
  assert.deepEqual(await plans.features(externalId), []);
  await plans.use(id, 200);
  const { invoice: next } = await app.get(`/invoices/upcoming?subscriptionId=${id}`);
  await plans.moveTo(may);
  // 200 calls at 0.50 for 100 cost 1.00.
  assert.deepEqual(await totals(id), [3100]);
  assert.equal(next.total, 3100, 'the upcoming invoice said so before');
  await plans.moveTo(june);
  assert.deepEqual(await totals(id), [3100, 3000]);
});

test('a change in a period in arrears costs nothing now, and each quantity its share at the end', async () => {
  const { id } = await inArrears('late');
  await plans.moveTo(day(10));
  const preview = await plans.preview(id, 'late x 3');
  assert.deepEqual([preview.totalDue, preview.newPlanTotal], [0, 9000]);
  const { resolvedTiming } = await plans.adjust(id, 'late x 3');
  assert.equal(resolvedTiming, 'immediately');
  await plans.moveTo(day(20));
  await plans.adjust(id, 'later');
  await plans.moveTo(may);
  // Ten days each of 1.00, 3.00 and 2.00.
  assert.deepEqual(await totals(id), [6000]);
  const [invoice] = (await app.get(`/invoices?subscriptionId=${id}`)).data;
  const explained = await app.get(`/invoices/${invoice.id}/explain`);
  const [line] = (explained.explanation ?? explained).lines;
  assert.deepEqual([line.kind, line.fairValue, line.segments.length], ['arrears', 6000, 3]);
});

test('a cancellation bills the time that was used, now or at the end', async () => {
  const now = await inArrears('late');
  await plans.moveTo(day(10));
  await app.post(`/subscriptions/${now.id}/cancel`, { cancellation: { timing: 'immediately' } });
  assert.deepEqual(await totals(now.id), [1000]);

  const atEnd = await inArrears('late');
  await app.post(`/subscriptions/${atEnd.id}/cancel`, { cancellation: { timing: 'at_end_of_current_billing_period' } });
  await plans.moveTo(may);
  assert.deepEqual(await totals(atEnd.id), [3000]);
});

test('a pause bills what was used with the invoice of the resume, and paused time costs nothing', async () => {
  const { id } = await inArrears('late');
  await plans.moveTo(day(10));
  await app.post(`/subscriptions/${id}/pause`);
  await plans.moveTo(day(20));
  await app.post(`/subscriptions/${id}/resume`);
  assert.deepEqual(await totals(id), [1000]);
  await plans.moveTo(may);
  assert.deepEqual(await totals(id), [1000, 1000]);
});

test('a trial in arrears costs nothing, and the first month after it is billed at its end', async () => {
  const { id } = await inArrears('late-trial');
  await plans.moveTo(day(10));
  assert.deepEqual(await totals(id), []);
  await plans.moveTo(day(40));
  assert.deepEqual(await totals(id), [3000]);
});

test('a setup fee is charged at the start, and the plan in arrears at the end', async () => {
  const { id } = await inArrears('late-fee');
  assert.deepEqual(await totals(id), [500]);
  await plans.moveTo(may);
  assert.deepEqual(await totals(id), [500, 3000]);
});

test('the setup fee of an add-on in arrears is charged at the start too, and is not lost with an early end', async () => {
  await app.post('/products', {
    ...arrears('late-device', 500, { setupFeeAmount: 7000 }),
    product: { name: 'Device', slug: 'late-device', pricingModelId: plans.pricingModelId, addOn: true },
  });
  const items = [plans.item('late'), plans.item('late-device')];
  const { id } = await inArrears('late', { priceSlug: undefined, items });
  assert.deepEqual(await totals(id), [7000]);
  await plans.moveTo(day(10));
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  assert.deepEqual(await totals(id), [7000, 1167]);
});

test('a first period by the calendar is billed by its share at its end', async () => {
  const short = await onTheEleventh('late', { billingAnchor: 'calendar' });
  assert.deepEqual(await totals(short.id), []);
  await plans.moveTo(june);
  assert.deepEqual(await totals(short.id), [2000, 3000]);
  const long = await onTheEleventh('late', { billingAnchor: 'calendar', firstPeriod: 'long' });
  await plans.moveTo(june);
  assert.deepEqual(await totals(long.id), [4935]);
});

test('another interval or anchor bills the time so far, and keeps nothing', async () => {
  const yearly = await inArrears('late');
  await plans.moveTo(day(10));
  await plans.adjust(yearly.id, 'late-year');
  assert.deepEqual(await totals(yearly.id), [1000]);
  const moved = await inArrears('late');
  await plans.moveTo(day(10));
  assert.equal((await plans.moveAnchor(moved.id, day(20))).status, 200);
  await plans.moveTo(day(20));
  // The period that ends at the new anchor is ten of the 31 days before it.
  assert.deepEqual(await totals(moved.id), [1000, 968]);
});

test('a plan in advance gives way to one in arrears at the end of its period only', async () => {
  const { id } = await inArrears('p3000');
  await plans.moveTo(day(10));
  assert.match(await plans.refused(id, 'later', 400), /timing/);
  const { resolvedTiming } = await plans.adjust(id, 'later', { timing: 'auto' });
  assert.equal(resolvedTiming, 'at_end_of_current_billing_period');
  await plans.moveTo(june);
  assert.deepEqual(await totals(id), [3000, 6000]);

  const back = await inArrears('late');
  await plans.moveTo(day(10));
  await plans.adjust(back.id, 'p6000');
  // Twenty days of 2.00 now, and at the end ten days of 1.00 with the next month.
  assert.deepEqual(await totals(back.id), [4000]);
  await plans.moveTo(may);
  assert.deepEqual(await totals(back.id), [4000, 7000]);
  const waived = await inArrears('late');
  assert.match(await plans.refused(waived.id, 'later', 400, { prorateCurrentBillingPeriod: false }), /prorate/);
});

test('half for ever is half of all that the first period in arrears costs, however it goes on', async () => {
  const half = { name: 'Half', code: 'HALF', amountType: 'percent', amount: 50, duration: 'forever' };
  await app.post('/discounts', { discount: { ...half, pricingModelId: plans.pricingModelId } });
  const begin = async () => {
    const { id } = await inArrears('late', { discountCode: 'HALF' });
    await plans.moveTo(day(10));
    return id;
  };
  const changed = await begin();
  assert.equal((await plans.preview(changed, 'p6000')).totalDue, 2000);
  await plans.adjust(changed, 'p6000');
  await plans.moveTo(may);
  assert.deepEqual(await totals(changed), [2000, 3500]);
  const paused = await begin();
  await app.post(`/subscriptions/${paused}/pause`);
  await plans.moveTo(day(20));
  await app.post(`/subscriptions/${paused}/resume`);
  await plans.moveTo(may);
  assert.deepEqual(await totals(paused), [500, 500]);
  const moved = await begin();
  assert.equal((await plans.moveAnchor(moved, day(20))).status, 200);
  await plans.moveTo(day(20));
  assert.deepEqual(await totals(moved), [500, 484]);
});

test('a failed charge at the end of a period is dunned, and an end after it bills the rest', async () => {
  const { id, customerId } = await inArrears('late');
  await plans.attach(customerId, 'pm_card_chargeCustomerFail');
  await plans.chargeOn(id, null);
  await plans.moveTo(may);
  assert.deepEqual(await plans.invoices(id), [['open', 3000]]);
  assert.equal((await plans.subscription(id)).status, 'past_due');
  await plans.moveTo(may + 15 * 86_400_000);
  assert.equal((await plans.subscription(id)).status, 'unpaid');
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  // 15 of the 31 days of May.
  assert.deepEqual(await totals(id), [3000, 1452]);
});

test('a plan in arrears asks for a way to pay, on a page and by the API, and charges nothing there', async () => {
  await app.setClock(april);
  const { customerId, externalId } = await newCustomer(app, 'cardless', { token: null });
  const bare = await app.request('POST', '/subscriptions', { customerId, ...plans.item('late') });
  assert.deepEqual([bare.status, bare.body.issues[0].path], [400, ['defaultPaymentMethodId']]);
  const sold = await app.request('POST', '/purchases', { purchase: { customerId, ...plans.item('late') } });
  assert.equal(sold.status, 400);
  assert(JSON.stringify(sold.body).includes('paymentMethodId'));
  const { purchase } = await app.post('/purchases', {
    purchase: { customerId: (await buyer()).customerId, ...plans.item('late') },
  });
  assert.deepEqual([purchase.status, purchase.firstInvoiceValue, purchase.invoiceId], ['paid', 0, null]);
  await app.post('/products', {
    ...arrears('late-seats', 500),
    product: { name: 'Seats', slug: 'late-seats', pricingModelId: plans.pricingModelId, addOn: true },
  });
  const mixed = { customerId, items: [plans.item('p3000'), plans.item('late-seats')] };
  const { status, body } = await app.request('POST', '/subscriptions', mixed);
  assert.deepEqual([status, body.issues[0].path], [400, ['items']], 'one in advance, the other in arrears');
  assert.equal(externalId, 'cardless');
  const { subscription } = await app.post('/subscriptions', { customerId, ...plans.item('trial') });
  await plans.adjust(subscription.id, 'zero');
  await plans.moveTo(may);
  assert.match(await plans.refused(subscription.id, 'late', 400), /payment method/);
  assert.equal((await plans.preview(subscription.id, 'late')).canAdjust, false);
  await plans.attach(customerId, 'pm_card_visa');
  await plans.adjust(subscription.id, 'late');
});

test('the timing is a term of the price: it is exported, and never changes', async () => {
  const { id } = late.product;
  const [price] = (await app.get(`/prices?productId=${id}`)).data;
  assert.equal(price.billingTiming, 'in_arrears');
  const put = { id: price.id, type: 'subscription', billingTiming: 'in_advance' };
  assert.equal((await app.request('PUT', `/prices/${price.id}`, { price: put })).status, 400);
});

test('a jump of the clock over a year bills a plan in arrears as each step would', async () => {
  const lives = async (steps: readonly number[]) => {
    const { id } = await inArrears('late');
    await plans.moveTo(day(12));
    await plans.adjust(id, 'late x 2');
    for (const at of steps) await plans.moveTo(at);
    return plans.invoices(id);
  };
  const months = Array.from({ length: 12 }, (_, index) => Date.UTC(2026, 4 + index, 1));
  const end = Date.UTC(2027, 3, 2);
  assert.deepEqual(await lives([end]), await lives([...months, end]));
});

test('every invariant holds of all of this', () => assertSound(app));

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

test('every invariant holds of all of this', () => assertSound(app));

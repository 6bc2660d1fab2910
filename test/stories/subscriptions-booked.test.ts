import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import {
  capacity,
  credits,
  eventTypes,
  firstBalance,
  meter,
  newCustomer,
  plan,
  resource,
  toggle,
} from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

// Pro is 30.00 a month and gives 1000 calls; Team is 50.00 and gives 2000. Pro is scheduled to end on 1 December.
const november = instant('2026-11-01');
const middle = instant('2026-11-16');
const december = instant('2026-12-01');
const tenth = instant('2026-12-10');
const january = instant('2027-01-01');

const units = (upTo: number | null, unitAmount: string) => ({ upTo, unitAmount });
const app = await startTestApp();
await app.post('/pricing-models/setup', {
  name: 'Booked',
  isDefault: true,
  features: [
    toggle('sso'),
    credits('pro-calls', 1000, 'calls'),
    credits('team-calls', 2000, 'calls'),
    capacity('pro-seats', 3, 'seat'),
    capacity('team-seats', 10, 'seat'),
  ],
  products: [
    plan('free', 0),
    plan('pro', 3000, ['pro-calls', 'pro-seats']),
    plan('team', 5000, ['team-calls', 'sso', 'team-seats']),
    plan('community', 0),
    plan('tiered', 0, [], { pricing: { model: 'graduated', tiers: [units(5, '0'), units(null, '700')] } }),
  ],
  usageMeters: [meter('calls', 'Calls', { slug: 'call', unitPrice: 1 })],
  resources: [resource('seat', 'Seat')],
});

const moveClock = (now: number): Promise<Body> => app.put('/test-clock', { testClock: { now } });
const billingOf = (externalId: string): Promise<Body> => app.get(`/customers/${externalId}/billing`);
const namesOf = (subscriptions: readonly Body[]) => subscriptions.map(({ name }) => name);

async function statusOf(id: string): Promise<unknown[]> {
  const { subscription } = await app.get(`/subscriptions/${id}`);
  return [subscription.status, subscription.current, subscription.canceledAt, subscription.cancellationReason];
}

async function invoicesOf(externalId: string): Promise<Body[]> {
  const { invoices } = await billingOf(externalId);
  return invoices.map(({ invoice }: Body) => [invoice.invoiceDate, invoice.total, invoice.status]).reverse();
}

async function plansOf(externalId: string): Promise<Body[]> {
  const { subscriptions } = await billingOf(externalId);
  return subscriptions.map(({ name, startDate, canceledAt }: Body) => [name, startDate, canceledAt]).reverse();
}

let made = 0;

/** In November, a customer on Pro, which is scheduled to end on 1 December. */
async function leaving({ token = 'pm_card_visa' } = {}) {
  made += 1;
  await app.setClock(november);
  const customer = await newCustomer(app, `booker-${made}`, { token });
  const { customerId } = customer;
  const pro: string = (await app.post('/subscriptions', { customerId, priceSlug: 'pro-monthly' })).subscription.id;
  await app.setClock(middle);
  const cancel = (id: string, cancellation: Body) =>
    app.request('POST', `/subscriptions/${id}/cancel`, { cancellation });
  await cancel(pro, { timing: 'at_end_of_current_billing_period' });
  return {
    ...customer,
    pro,
    cancel,
    uncancel: () => app.request('POST', `/subscriptions/${pro}/uncancel`, {}),
    /** Books Team, or as `more` says. */
    book: (more: Body = {}, query = '') =>
      app.request('POST', `/subscriptions${query}`, {
        customerId,
        priceSlug: 'team-monthly',
        startDate: december,
        ...more,
      }),
  };
}

/** The same, with Team booked from 1 December. */
async function booked(options: { token?: string; more?: Body } = {}) {
  const customer = await leaving(options);
  const { status, body } = await customer.book(options.more);
  assert.equal(status, 200);
  return { ...customer, team: body.subscription.id as string };
}

test('the next plan is booked for the end of the present one, and nothing of it counts before', async () => {
  const { externalId, pro, book } = await leaving();
  const dry = await book({}, '?dryRun=true');
  assert.deepEqual([dry.status, (await billingOf(externalId)).subscriptions.length], [200, 2]);
  const { body } = await book();
  const { id: team, status, current, startDate } = body.subscription;
  assert.deepEqual([status, current, startDate], ['active', false, december]);
  const { subscriptions, currentSubscriptions, currentSubscription } = await billingOf(externalId);
  assert.deepEqual([namesOf(currentSubscriptions), currentSubscription.id], [['pro - Monthly'], pro]);
  const shown = subscriptions.find(({ id }: Body) => id === team);
  assert.deepEqual([shown.current, shown.experimental.featureItems], [false, []]);
  const check = { checks: [{ customerExternalId: externalId, featureSlug: 'sso' }] };
  assert.equal((await app.post('/entitlements/check', check)).results[0].allowed, false);
  const { usageMeterBalances } = await app.get(`/customers/${externalId}/usage-balances`);
  assert.deepEqual(
    usageMeterBalances.map((each: Body) => each.subscriptionId),
    [pro],
  );
  assert.equal((await app.get(`/invoices/upcoming?subscriptionId=${team}`)).invoice.total, 5000);
  assert.equal((await app.request('GET', `/invoices/upcoming?subscriptionId=${pro}`)).status, 400);
});

test('on 1 December Pro ends, Team begins with one invoice of 50.00, and the free plan is not in between', async () => {
  const { externalId, pro, team, freeId } = await booked();
  await app.post(`/resource-claims/${pro}/claim`, { resourceSlug: 'seat', quantity: 2 });
  await moveClock(december);
  assert.deepEqual(await invoicesOf(externalId), [
    [november, 3000, 'paid'],
    [december, 5000, 'paid'],
  ]);
  assert.deepEqual(await plansOf(externalId), [
    ['free Subscription', november, november],
    ['pro - Monthly', november, december],
    ['team - Monthly', december, null],
  ]);
  assert.deepEqual(await statusOf(pro), ['canceled', false, december, null]);
  assert.deepEqual(await statusOf(team), ['active', true, null, null]);
  assert.deepEqual((await app.get(`/subscriptions/${freeId}`)).subscription.replacedBySubscriptionId, pro);
  assert.deepEqual([await firstBalance(app, externalId, team), await firstBalance(app, externalId, pro)], [2000, 0]);
  const { usage } = await app.get(`/resource-claims/${team}/usage?resourceSlug=seat`);
  assert.deepEqual([usage.capacity, usage.claimed], [10, 0]);
  assert.deepEqual(await eventTypes(app, team), ['subscription.created', 'subscription.updated']);
  assert.deepEqual((await eventTypes(app, pro)).at(-1), 'subscription.canceled');
});

test('a clock that jumps to January leads to the same as one that stops at each hour around the change', async () => {
  const jumped = await booked();
  await moveClock(january);
  const stepped = await booked();
  for (const at of [december - 1, december, december + 1, january]) await moveClock(at);
  const both = [await invoicesOf(jumped.externalId), await invoicesOf(stepped.externalId)];
  assert.deepEqual(both[0], [
    [november, 3000, 'paid'],
    [december, 5000, 'paid'],
    [january, 5000, 'paid'],
  ]);
  assert.deepEqual(both[1], both[0]);
  assert.deepEqual(await plansOf(stepped.externalId), await plansOf(jumped.externalId));
});

test('a request about either one, before any worker, ends Pro before Team begins', async () => {
  for (const which of ['pro', 'team'] as const) {
    const customer = await booked();
    await app.setClock(december + 1);
    await app.post(`/subscriptions/${customer[which]}/uncancel`, {});
    await moveClock(december + 2);
    assert.deepEqual(await invoicesOf(customer.externalId), [
      [november, 3000, 'paid'],
      [december, 5000, 'paid'],
    ]);
    assert.equal((await plansOf(customer.externalId)).length, 3);
  }
});

test('one instant earlier, and without a start, it is refused by the field and the instant', async () => {
  const { book, pro } = await leaving();
  for (const startDate of [december - 1, null]) {
    const { status, body } = await book({ startDate });
    assert.deepEqual([status, body.reason], [409, 'next_subscription_too_early']);
    assert.match(body.message, new RegExp(`${pro} .* startDate ${december} or later`));
  }
});

test('while Team is booked nothing else is, and Pro keeps its end; a canceled booking frees both', async () => {
  const { book, uncancel, cancel, pro, team } = await booked();
  const later = () => cancel(pro, { timing: 'at_future_date', endDate: december + 1 });
  for (const refused of [await book(), await book({ startDate: january }), await uncancel(), await later()]) {
    assert.deepEqual([refused.status, refused.body.reason], [409, 'next_subscription_booked']);
    assert.match(refused.body.message, new RegExp(team));
  }
  // An earlier end leaves a gap, which is allowed.
  assert.equal((await cancel(pro, { timing: 'at_future_date', endDate: december - 1 })).status, 200);
  assert.equal((await cancel(team, { timing: 'immediately' })).body.subscription.canceledAt, middle);
  assert.equal((await uncancel()).body.subscription.status, 'active');
  assert.equal((await book()).body.reason, 'current_subscription_exists');
});

test('the portal shows the start of the booked plan, and does not offer to keep Pro', async () => {
  const { externalId } = await booked();
  const { portalSession } = await app.post(`/customers/${externalId}/portal-sessions`, { portalSession: {} });
  const opened = await fetch(portalSession.url, { redirect: 'manual' });
  const cookie = opened.headers
    .getSetCookie()
    .map((each) => each.split(';')[0] ?? '')
    .join('; ');
  const page = await (await fetch(`${app.url}/portal`, { headers: { cookie } })).text();
  assert.match(page, /team - Monthly<\/bdi> <span class="tag">Starts soon/);
  assert.match(page, /Starts on .*December/);
  assert.match(page, /Ends on .*December/);
  assert.doesNotMatch(page, /Keep subscription|Cancel subscription/);
});

test('a booked plan that has an end of its own lets another one follow it', async () => {
  const { book, cancel, team, externalId } = await booked();
  assert.equal((await cancel(team, { timing: 'at_future_date', endDate: tenth })).status, 200);
  assert.equal((await book({ startDate: tenth - 1 })).body.reason, 'next_subscription_too_early');
  assert.equal((await book({ startDate: tenth, priceSlug: 'pro-monthly' })).status, 200);
  const later = await cancel(team, { timing: 'at_future_date', endDate: tenth + 1 });
  assert.equal(later.body.reason, 'next_subscription_booked');
  await moveClock(tenth);
  assert.deepEqual((await invoicesOf(externalId)).slice(1), [
    [december, 5000, 'paid'],
    [tenth, 3000, 'paid'],
  ]);
});

test('after an end at once the free plan fills the gap until Team begins', async () => {
  const { externalId, pro, team, cancel, book } = await booked();
  await cancel(pro, { timing: 'immediately' });
  assert.deepEqual(namesOf((await billingOf(externalId)).currentSubscriptions), ['free Subscription']);
  assert.equal((await book({ startDate: null })).body.reason, 'next_subscription_booked');
  await moveClock(december);
  assert.deepEqual((await plansOf(externalId)).slice(1), [
    ['pro - Monthly', november, middle],
    ['team - Monthly', december, null],
    ['free Subscription', middle, december],
  ]);
  assert.deepEqual(await statusOf(team), ['active', true, null, null]);
});

test('a booked start after the end leaves a gap for the free plan, also when both are noticed at once', async () => {
  const { externalId } = await booked({ more: { startDate: tenth } });
  await moveClock(january);
  assert.deepEqual((await plansOf(externalId)).slice(1), [
    ['pro - Monthly', november, december],
    ['team - Monthly', tenth, null],
    ['free Subscription', december, tenth],
  ]);
});

test('a first payment that fails at the booked start leaves the customer on the free plan', async () => {
  const { externalId, customerId, book } = await leaving();
  const { paymentMethod } = await app.post('/payment-methods', {
    paymentMethod: { customerId, type: 'card', token: 'pm_card_chargeCustomerFail' },
  });
  const { body } = await book({ defaultPaymentMethodId: paymentMethod.id });
  await moveClock(december);
  assert.deepEqual(await statusOf(body.subscription.id), ['canceled', false, december, 'non_payment']);
  const { currentSubscriptions } = await billingOf(externalId);
  assert.deepEqual(namesOf(currentSubscriptions), ['free Subscription']);
  assert.equal(currentSubscriptions[0].startDate, december);
  assert.deepEqual((await invoicesOf(externalId)).at(-1), [december, 5000, 'void']);
});

test('a free plan does not become a paid one while Team is booked: nothing is charged', async () => {
  made += 1;
  await app.setClock(november);
  const { customerId } = await newCustomer(app, `booker-${made}`, { token: 'pm_card_visa' });
  const { subscription } = await app.post('/subscriptions', { customerId, priceSlug: 'pro-monthly' });
  await app.setClock(middle);
  const changeTo = (priceSlug: string, path = 'adjust') =>
    app.request('POST', `/subscriptions/${subscription.id}/${path}`, {
      adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug }] },
    });
  assert.equal((await changeTo('community-monthly')).status, 200);
  await app.post('/subscriptions', { customerId, priceSlug: 'team-monthly', startDate: december });
  const { status, body } = await changeTo('pro-monthly');
  assert.deepEqual([status, body.reason], [409, 'next_subscription_booked']);
  assert.equal((await changeTo('pro-monthly', 'preview-adjust')).body.canAdjust, false);
  assert.equal((await app.get(`/payments?customerId=${customerId}`)).total, 1);
  // Its first five units cost nothing, and it is a paid plan all the same.
  const later = { timing: 'at_end_of_current_billing_period', newSubscriptionItems: [{ priceSlug: 'tiered-monthly' }] };
  const scheduled = await app.request('POST', `/subscriptions/${subscription.id}/adjust`, { adjustment: later });
  assert.equal(scheduled.status, 400, JSON.stringify(scheduled.body));
  await moveClock(tenth);
  assert.deepEqual(namesOf((await billingOf(`booker-${made}`)).currentSubscriptions), ['team - Monthly']);
});

test('a plan that costs nothing can be booked too; then nothing fills the gap', async () => {
  const { externalId, pro, cancel } = await booked({ more: { priceSlug: 'community-monthly' } });
  await cancel(pro, { timing: 'immediately' });
  assert.deepEqual((await billingOf(externalId)).currentSubscriptions, []);
  await moveClock(december);
  assert.deepEqual(namesOf((await billingOf(externalId)).currentSubscriptions), ['community - Monthly']);
});

test('bought credits go from Pro to Team, and an archived customer loses both plans', async () => {
  const { externalId, customerId, pro, team } = await booked();
  const grant = { subscriptionId: pro, usageMeterSlug: 'calls', amount: 70 };
  await app.post('/usage-credits', { usageCredit: grant });
  await moveClock(december);
  assert.equal(await firstBalance(app, externalId, team), 2070);
  assert.equal((await app.get(`/subscriptions?customerId=${customerId}`)).data.length, 3);
  const other = await booked();
  await app.post(`/customers/${other.externalId}/archive`, {});
  assert.deepEqual((await statusOf(other.team))[3], 'customer_archived');
});

test('after all of this, everything that must be true of the data is', async () => {
  await assertSound(app);
});

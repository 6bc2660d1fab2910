import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { defaultPaymentMethod, listPaymentMethodsOfCustomer } from '../../src/payments/actions.ts';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { eventTypes } from '../support/shop.ts';
import { beginYears, callerOf, hour, subscribeFor } from '../support/years.ts';

const app = await startTestApp();

const attach = (paymentMethod: object) => app.request('POST', '/payment-methods', { paymentMethod });
const attached = async (paymentMethod: object) => (await app.post('/payment-methods', { paymentMethod })).paymentMethod;
const listed = async (customerId: string, rest = '') =>
  (await app.get(`/payment-methods?customerId=${customerId}${rest}`)).data;

test('a card is attached by its token and shows what its owner knows it by', async () => {
  const { customerId, pricingModelId } = await insertFixture(app);
  const method = await attached({ customerId, token: 'pm_card_visa', metadata: { source: 'import' } });
  const { id, createdAt, updatedAt, ...shown } = method;
  assert.match(id, /^pm_/);
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(shown, {
    livemode: false,
    customerId,
    pricingModelId,
    type: 'card',
    default: true,
    paymentMethodData: { brand: 'visa', last4: '4242', expMonth: 12, expYear: 2099 },
    billingDetails: { name: 'Acme', email: 'a@acme.test', address: { country: 'US' } },
    metadata: { source: 'import' },
  });
  assert.deepEqual(await app.get(`/payment-methods/${id}`), { paymentMethod: method });
});

test('billing details are the ones that were sent', async () => {
  const { customerId } = await insertFixture(app);
  const billingDetails = { name: 'Ada', email: 'ada@acme.test', address: { country: 'DE', city: 'Kiel' } };
  const method = await attached({ customerId, token: 'pm_card_amex', billingDetails });
  assert.deepEqual(method.billingDetails, billingDetails);
  assert.equal(method.metadata, null);
});

test('the customer can be named by its external id', async () => {
  const { customerId } = await insertFixture(app);
  const externalId = anyId('customer');
  await app.owner.updateTable('customers').set({ externalId }).where('id', '=', customerId).execute();
  assert.equal((await attached({ customerExternalId: externalId, token: 'pm_card_visa' })).customerId, customerId);
});

test('the first method is the default, a later one only when it says so', async () => {
  const { customerId } = await insertFixture(app);
  const first = await attached({ customerId, token: 'pm_card_visa', default: false });
  const second = await attached({ customerId, token: 'pm_card_mastercard' });
  assert.deepEqual([first.default, second.default], [true, false]);
  const third = await attached({ customerId, token: 'pm_card_amex', default: true });
  const flags = (await listed(customerId)).map((each: Body) => [each.id, each.default]);
  assert.deepEqual(flags, [
    [first.id, false],
    [second.id, false],
    [third.id, true],
  ]);
  assert.deepEqual(
    (await listed(customerId, '&default=true')).map((each: Body) => each.id),
    [third.id],
  );
});

test('the same card added ten times at once is one payment method, and two more that want to be the default leave one', async () => {
  const { customerId } = await insertFixture(app);
  const tokens = [...Array(10).fill('pm_card_visa'), 'pm_card_amex', 'pm_card_mastercard'];
  const all = await Promise.all(tokens.map((token) => attached({ customerId, token, default: true })));
  assert.equal(new Set(all.map(({ id }) => id)).size, 3);
  const flags = (await listed(customerId)).map((each: Body) => each.default);
  assert.equal(flags.length, 3);
  assert.equal(flags.filter(Boolean).length, 1);
});

test('a card that is added again keeps its id, and takes what was sent now', async () => {
  const { customerId } = await insertFixture(app);
  const first = await attached({ customerId, token: 'pm_card_visa', metadata: { from: 'app' } });
  await attached({ customerId, token: 'pm_card_amex', default: true });
  const again = await attached({ customerId, token: 'pm_card_visa' });
  assert.deepEqual([again.id, again.default, again.metadata], [first.id, false, { from: 'app' }]);
  const chosen = await attached({ customerId, token: 'pm_card_visa', default: true, metadata: { from: 'web' } });
  assert.deepEqual([chosen.id, chosen.default, chosen.metadata], [first.id, true, { from: 'web' }]);
  const other = await insertFixture(app);
  assert.notEqual((await attached({ customerId: other.customerId, token: 'pm_card_visa' })).id, first.id);
});

test('what is charged where nothing else is said is the default, and nothing without any method', async () => {
  const { customerId } = await insertFixture(app);
  const read = () => app.inEnvironment((work) => defaultPaymentMethod(work, customerId));
  assert.equal(await read(), null);
  await attached({ customerId, token: 'pm_card_visa' });
  const second = await attached({ customerId, token: 'pm_card_amex', default: true });
  assert.equal((await read())?.id, second.id);
  // Without a default, as after an import, it is the first.
  await app.owner
    .updateTable('paymentMethods')
    .set({ isDefault: false })
    .where('customerId', '=', customerId)
    .execute();
  assert.equal((await read())?.paymentMethodData.brand, 'visa');
  const all = await app.inEnvironment((work) => listPaymentMethodsOfCustomer(work, customerId));
  assert.deepEqual(all, await listed(customerId));
});

for (const [token, text] of [
  ['pm_card_chargeDeclined', 'card_declined (generic_decline): Your card was declined.'],
  ['pm_card_chargeDeclinedInsufficientFunds', 'card_declined (insufficient_funds): Your card has insufficient funds.'],
] as const) {
  test(`${token} is declined when it is attached, and nothing is kept`, async () => {
    const { customerId } = await insertFixture(app);
    const { status, body } = await attach({ customerId, token });
    assert.equal(status, 402);
    assert.equal(body.code, 'PAYMENT_REQUIRED');
    assert.ok(body.message.startsWith(text), body.message);
    assert.deepEqual(await listed(customerId), []);
  });
}

test('an unknown token is refused with the tokens that there are', async () => {
  const { customerId } = await insertFixture(app);
  for (const token of ['pm_card_gold', 'constructor', '4242424242424242']) {
    const { status, body } = await attach({ customerId, token });
    assert.equal(status, 400);
    assert.deepEqual(body.issues[0].path, ['paymentMethod', 'token']);
    for (const known of ['pm_card_visa', 'pm_card_chargeCustomerFail', 'pm_card_processing'])
      assert.ok(body.message.includes(known), body.message);
  }
});

test('the type is that of the token: saying so is fine, saying otherwise is not', async () => {
  const { customerId } = await insertFixture(app);
  assert.equal((await attached({ customerId, token: 'pm_card_visa', type: 'card' })).type, 'card');
  assert.equal((await attached({ customerId, token: 'pm_usBankAccount_success' })).type, 'us_bank_account');
  const { status, body } = await attach({ customerId, token: 'pm_usBankAccount_success', type: 'card' });
  assert.equal(status, 400);
  assert.deepEqual(body.issues[0].path, ['paymentMethod', 'type']);
});

test('of several customers with one external id the query says which pricing model’s is meant', async () => {
  const here = await insertFixture(app);
  await insertFixture(app);
  const body = { paymentMethod: { customerExternalId: 'acme', token: 'pm_card_visa' } };
  const ambiguous = await app.request('POST', '/payment-methods', body);
  assert.equal(ambiguous.status, 400);
  assert.match(ambiguous.body.message, /add pricingModelId to the query/);
  const { paymentMethod } = await app.post(`/payment-methods?pricingModelId=${here.pricingModelId}`, body);
  assert.equal(paymentMethod.customerId, here.customerId);
});

test('exactly one customer is named, and it is there and not archived', async () => {
  const { customerId } = await insertFixture(app);
  const token = 'pm_card_visa';
  assert.equal((await attach({ token })).status, 400);
  assert.equal((await attach({ token, customerId, customerExternalId: 'acme' })).status, 400);
  assert.equal((await attach({ token, customerId: 'cust_none' })).status, 404);
  assert.equal((await attach({ token, customerExternalId: 'nobody' })).status, 404);
  assert.equal((await attach({ customerId })).status, 400);
  await app.owner.updateTable('customers').set({ archived: true }).where('id', '=', customerId).execute();
  assert.equal((await attach({ token, customerId })).status, 400);
});

test('the customer and the methods of another environment are not there', async () => {
  const { customerId } = await insertFixture(app);
  const { id } = await attached({ customerId, token: 'pm_card_visa' });
  const live = { key: app.liveKey };
  const body = { paymentMethod: { customerId, token: 'pm_card_visa' } };
  assert.equal((await app.request('POST', '/payment-methods', body, live)).status, 404);
  assert.equal((await app.request('GET', `/payment-methods/${id}`, undefined, live)).status, 404);
  assert.equal((await app.get('/payment-methods', live)).total, 0);
});

test('a dry run answers the method and keeps nothing', async () => {
  const { customerId } = await insertFixture(app);
  const body = { paymentMethod: { customerId, token: 'pm_card_visa' } };
  const answer = await app.post('/payment-methods?dryRun=true', body);
  assert.equal(answer.paymentMethod.default, true);
  assert.deepEqual(await listed(customerId), []);
});

test('a new method takes over the subscriptions where it says so, and not otherwise', async () => {
  const { customerId, subscriptionId } = await insertFixture(app);
  const chargedOn = async () => (await app.get(`/subscriptions/${subscriptionId}`)).subscription.defaultPaymentMethodId;
  const beside = await attached({ customerId, token: 'pm_card_visa', default: true });
  assert.notEqual(await chargedOn(), beside.id);
  const instead = await attached({ customerId, token: 'pm_card_visa', automaticallyUpdateSubscriptions: true });
  assert.equal(await chargedOn(), instead.id);
  const told = await app.owner.selectFrom('events').select('type').where('objectId', '=', subscriptionId).execute();
  assert.deepEqual(told, [{ type: 'subscription.updated' }]);
});

test('a payment method changes its details, and becomes the default in place of the former one', async () => {
  const { customerId } = await insertFixture(app);
  const first = await attached({ customerId, token: 'pm_card_visa' });
  const second = await attached({ customerId, token: 'pm_card_mastercard' });
  const put = (id: string, paymentMethod: object) => app.request('PUT', `/payment-methods/${id}`, { paymentMethod });
  const billingDetails = { name: 'Ada', address: { country: 'AT' } };
  const { body } = await put(second.id, { default: true, billingDetails, metadata: { label: 'Work' } });
  const { updatedAt } = body.paymentMethod;
  assert.deepEqual(body.paymentMethod, {
    ...second,
    default: true,
    billingDetails,
    metadata: { label: 'Work' },
    updatedAt,
  });
  assert.deepEqual(
    (await listed(customerId)).map((each: Body) => [each.id, each.default]),
    [
      [first.id, false],
      [second.id, true],
    ],
  );
  const given = await put(second.id, { default: false });
  assert.equal(given.status, 400);
  assert.match(given.body.message, /paymentMethod\.default: must be true/);
});

test('a deleted payment method is found no more, the oldest other one is the default, and the card can be added again', async () => {
  const { customerId } = await insertFixture(app);
  const first = await attached({ customerId, token: 'pm_card_visa' });
  const second = await attached({ customerId, token: 'pm_card_mastercard' });
  const remove = (id: string) => app.request('DELETE', `/payment-methods/${id}`);
  const { body } = await remove(first.id);
  assert.deepEqual([body.paymentMethod.id, body.defaultPaymentMethodId], [first.id, second.id]);
  assert.deepEqual(
    (await listed(customerId)).map((each: Body) => [each.id, each.default]),
    [[second.id, true]],
  );
  assert.equal((await app.request('GET', `/payment-methods/${first.id}`)).status, 404);
  assert.equal((await remove(first.id)).status, 404);
  const again = await attached({ customerId, token: 'pm_card_visa' });
  assert.notEqual(again.id, first.id);
  assert.equal((await remove(second.id)).body.defaultPaymentMethodId, again.id);
  assert.equal((await remove(again.id)).body.defaultPaymentMethodId, null);
});

test('a payment method that a running subscription names is kept until the subscription names another', async () => {
  const { customerId, subscriptionId } = await insertFixture(app);
  const first = await attached({ customerId, token: 'pm_card_visa', automaticallyUpdateSubscriptions: true });
  const second = await attached({ customerId, token: 'pm_card_mastercard' });
  const refusal = await app.request('DELETE', `/payment-methods/${first.id}`);
  assert.deepEqual([refusal.status, refusal.body.code], [409, 'CONFLICT']);
  assert.match(refusal.body.message, new RegExp(subscriptionId));
  const change = { defaultPaymentMethodId: second.id, backupPaymentMethodId: null };
  await app.put(`/subscriptions/${subscriptionId}`, { subscription: change });
  assert.equal((await app.request('DELETE', `/payment-methods/${first.id}`)).status, 200);
});

test('a payment method that is being charged is kept, and renews the subscription that its money has begun', async () => {
  const organization = await app.newOrganization();
  const caller = callerOf(app, organization);
  const begin = instant('2026-01-01');
  await beginYears(app, organization, caller, begin);
  // The customer has it, and the subscription does not name it before its first payment has come.
  const subscriber = await subscribeFor(caller, 'ada', { plan: 'month', token: 'pm_card_processing' });
  const path = `/payment-methods/${subscriber.paymentMethodId}`;
  const refusal = await app.request('DELETE', path, undefined, { key: organization.testKey });
  assert.deepEqual([refusal.status, refusal.body.reason], [409, 'payment_method_being_charged']);
  await caller.moveTo(begin + 2 * hour);
  const { subscription } = await caller.get(`/subscriptions/${subscriber.subscriptionId}`);
  assert.deepEqual([subscription.status, subscription.defaultPaymentMethodId], ['active', subscriber.paymentMethodId]);
  await caller.moveTo(instant('2026-02-02'));
  const { data } = await caller.get('/payments');
  assert.deepEqual(
    data.map(({ status }: Body) => status),
    ['succeeded', 'succeeded'],
  );
});

test('an update of a subscription changes its name, metadata and payment methods, and is told once', async () => {
  const { customerId, subscriptionId } = await insertFixture(app);
  const method = await attached({ customerId, token: 'pm_card_visa' });
  const other = await insertFixture(app);
  const stranger = await attached({ customerId: other.customerId, token: 'pm_card_visa' });
  const { subscription: made } = await app.get(`/subscriptions/${subscriptionId}`);
  const put = (subscription: object) => app.request('PUT', `/subscriptions/${made.id}`, { subscription });
  const sent = { name: 'Team', metadata: { order: 'A-1' }, backupPaymentMethodId: method.id };
  const { body } = await put({ id: made.id, ...sent });
  assert.deepEqual(body.subscription, { ...made, ...sent, updatedAt: body.subscription.updatedAt });
  await put(sent);
  assert.deepEqual(await eventTypes(app, made.id), ['subscription.updated']);
  assert.equal((await put({ id: 'sub_other' })).status, 400);
  const foreign = await put({ defaultPaymentMethodId: stranger.id });
  assert.equal(foreign.status, 400);
  assert.match(foreign.body.message, /subscription\.defaultPaymentMethodId: must be a payment method of customer/);
});

test('a card that expires is told of once, when the month begins at whose end it expires', async () => {
  const { testKey: key } = await app.newOrganization();
  const moveTo = (now: string) => app.put('/test-clock', { testClock: { now: instant(now) } }, { key });
  await moveTo('2099-11-01');
  const { data } = await app.post(
    '/customers',
    { customer: { externalId: 'a', email: 'a@b.test', name: 'A' } },
    { key },
  );
  const add = async (token: string) => {
    const paymentMethod = { customerId: data.customer.id, token };
    return (await app.post('/payment-methods', { paymentMethod }, { key })).paymentMethod.id;
  };
  const kept = await add('pm_card_visa');
  const deleted = await add('pm_card_mastercard');
  await app.request('DELETE', `/payment-methods/${deleted}`, undefined, { key });
  await moveTo('2100-03-01');
  const { data: events } = await app.get('/events?type=payment_method.expiring', { key });
  assert.deepEqual(
    events.map(({ objectId, occurredAt }: Body) => [objectId, occurredAt]),
    [[kept, instant('2099-12-01')]],
  );
});

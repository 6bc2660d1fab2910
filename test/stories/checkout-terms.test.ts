import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { Problem } from '../../src/kernel/problem.ts';
import { openCheckout, returns, visa } from '../support/checkout-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newCard } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const checkout = await openCheckout(app);
const { plans } = checkout;
const declines = 'pm_card_chargeCustomerFail';

/** The message of the refusal about one field. */
async function refusalOf(field: string, act: Promise<unknown>): Promise<string> {
  const error = await act.then(
    () => assert.fail('nothing was refused'),
    (refused: unknown) => refused,
  );
  assert(error instanceof Problem, String(error));
  const issue = error.issues.find(({ path }) => path.join('.') === field);
  return issue?.message ?? assert.fail(error.message);
}

/** The session of a plan for a new customer. */
async function newOrder(terms: Body = {}, token?: string) {
  const customer = await plans.newCustomer(token);
  const session = { customerExternalId: customer.externalId, priceSlug: 'pro-monthly', ...terms };
  return { ...customer, id: await checkout.open(session) };
}

test('a quantity without limits is the seller’s; within limits it is the buyer’s', async () => {
  const fixed = await newOrder({ quantity: 2 });
  for (const quantity of [1, 3, 900_000_000]) {
    assert.equal(
      await refusalOf('quantity', checkout.view(fixed.id, { quantity })),
      'must be 2: the seller has set it',
    );
    await refusalOf('quantity', checkout.confirm(fixed.id, { ...visa, quantity }));
  }
  const limited = await newOrder({ minimumQuantity: 2, maximumQuantity: 10 });
  const view = await checkout.view(limited.id);
  assert.deepEqual([view.quantity, view.mayChangeQuantity, view.dueNow], [2, true, 6000n]);
  for (const quantity of [1, 11])
    assert.equal(
      await refusalOf('quantity', checkout.confirm(limited.id, { ...visa, quantity })),
      'must be from 2 to 10',
    );
  assert.equal((await checkout.confirm(limited.id, { ...visa, quantity: 10 })).dueNow, 30_000n);
  assert.deepEqual(await checkout.payments(limited.customerId), [['succeeded', 30_000]]);
});

test('limits, trial days, codes and addresses that contradict each other are refused by name', async () => {
  const { externalId } = await plans.newCustomer();
  const pro = { customerExternalId: externalId, priceSlug: 'pro-monthly' };
  const wrong: [string, Body][] = [
    ['maximumQuantity', { ...pro, minimumQuantity: 2 }],
    ['maximumQuantity', { ...pro, minimumQuantity: 3, maximumQuantity: 2 }],
    ['maximumQuantity', { ...pro, maximumQuantity: 1_000_001 }],
    ['quantity', { ...pro, quantity: 1_000_001 }],
    ['quantity', { ...pro, quantity: 5, maximumQuantity: 4 }],
    ['discountCode', { ...pro, discountCode: 'NOBODY' }],
    ['trialPeriodDays', { ...pro, trialPeriodDays: 731 }],
    ['trialPeriodDays', { customerExternalId: externalId, priceId: checkout.bookPriceId, trialPeriodDays: 7 }],
    ['customerEmail', { ...pro, customerEmail: 'other@acme.test' }],
    ['customerEmail', { anonymous: true, priceSlug: 'pro-monthly', customerEmail: 'nobody' }],
  ];
  for (const [field, session] of wrong) {
    const body = { checkoutSession: { ...returns, type: 'product', ...session } };
    const { status, body: refused } = await app.request('POST', '/checkout-sessions', body);
    assert.equal(status, 400, field);
    assert.match(JSON.stringify(refused), new RegExp(`"${field}"`));
  }
});

test('a session brings its code, trial, email address, notes, and its own id in the addresses', async () => {
  await checkout.discount('HALF', { amount: 50 });
  const half = await newOrder({ discountCode: 'half', metadata: { campaign: 'june' } });
  assert.equal((await checkout.view(half.id)).dueNow, 1500n);
  assert.deepEqual((await checkout.session(half.id)).metadata, { campaign: 'june' });
  const long = await newOrder({ trialPeriodDays: 30 });
  assert.deepEqual((await checkout.view(long.id)).trialEnd, instant('2026-07-01'));
  await checkout.confirm(long.id, visa);
  const { currentSubscription } = await checkout.billing(long.externalId);
  assert.deepEqual([currentSubscription.status, currentSubscription.trialEnd], ['trialing', instant('2026-07-01')]);
  // The price has a trial of 14 days.
  const none = await newOrder({ priceSlug: 'team-monthly', trialPeriodDays: 0 });
  const { trialEnd, dueNow } = await checkout.view(none.id);
  assert.deepEqual([trialEnd, dueNow], [null, 3000n]);
  const anonymous = await checkout.open({
    anonymous: true,
    priceSlug: 'pro-monthly',
    customerEmail: 'ada@acme.test',
    successUrl: 'https://app.test/paid?session={CHECKOUT_SESSION_ID}',
    cancelUrl: 'https://app.test/plans/%7BCHECKOUT_SESSION_ID%7D',
  });
  const view = await checkout.view(anonymous);
  assert.equal(view.customer.email, 'ada@acme.test');
  assert.deepEqual(
    [view.successUrl, view.cancelUrl],
    [`https://app.test/paid?session=${anonymous}`, `https://app.test/plans/${anonymous}`],
  );
});

test('a saved card is offered and charged; the card of somebody else is not', async () => {
  const { id, customerId, paymentMethodId } = await newOrder({}, 'pm_card_visa');
  const mastercard = await newCard(app, customerId, 'pm_card_mastercard');
  const { savedMethods } = await checkout.view(id);
  assert.deepEqual(
    savedMethods.map((method) => [method.id, method.data.last4]),
    [
      [paymentMethodId, '4242'],
      [mastercard, '4444'],
    ],
  );
  const stranger = await plans.newCustomer('pm_card_visa');
  const theirs = { token: null, paymentMethodId: stranger.paymentMethodId };
  await refusalOf('paymentMethodId', checkout.confirm(id, theirs));
  const after = await checkout.confirm(id, { token: null, paymentMethodId: mastercard });
  assert.equal(after.status, 'succeeded');
  const { data } = await app.get(`/payments?customerId=${customerId}`);
  assert.deepEqual(
    data.map((payment: Body) => [payment.status, payment.paymentMethodId]),
    [['succeeded', mastercard]],
  );
  const anonymous = await checkout.open({ anonymous: true, priceSlug: 'pro-monthly' });
  assert.deepEqual((await checkout.view(anonymous)).savedMethods, []);
});

test('the same card in two checkouts is one payment method', async () => {
  const { id, externalId } = await newOrder();
  await checkout.confirm(id, visa);
  const book = await checkout.open({ customerExternalId: externalId, priceId: checkout.bookPriceId });
  await checkout.confirm(book, visa);
  assert.equal((await checkout.billing(externalId)).paymentMethods.length, 1);
});

test('for a customer with a plan it is the change: on 11 June 20 of 30 days of 3000 more are 2000', async () => {
  const { externalId, customerId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId: paymentMethodId };
  const { id: subscriptionId } = await plans.subscribe(body);
  await app.setClock(instant('2026-06-11'));
  const pro = { customerExternalId: externalId, priceSlug: 'pro-monthly', quantity: 2 };
  const id = await checkout.open({ ...pro, discountCode: null });
  const view = await checkout.view(id);
  assert.deepEqual([view.refusal, view.dueNow, view.mayDiscount], [null, 2000n, false]);
  const { change } = view;
  assert(change !== null);
  assert.deepEqual([change.subscriptionId, change.isNow], [subscriptionId, true]);
  assert.deepEqual([change.currentTotal, change.newTotal], [3000n, 6000n]);

  // A page that showed a purchase does not make a change.
  const shown = { ...visa, dueNow: 3000n };
  await refusalOf('changedPlanId', checkout.confirm(id, { ...shown, changedPlanId: null }));
  const failed = await checkout.confirm(id, { token: declines });
  assert.equal(failed.status, 'open');
  assert.match(failed.failure ?? '', /declined/i);
  assert.equal((await checkout.billing(externalId)).currentSubscription.subscriptionItems[0].quantity, 1);

  const done = await checkout.confirm(id, { token: null, paymentMethodId, changedPlanId: subscriptionId });
  assert.deepEqual([done.status, done.total], ['succeeded', 2000n]);
  const { currentSubscription, subscriptions } = await checkout.billing(externalId);
  assert.deepEqual([currentSubscription.id, currentSubscription.subscriptionItems[0].quantity], [subscriptionId, 2]);
  // The card that was declined is not what later periods are charged to.
  assert.equal(currentSubscription.defaultPaymentMethodId, paymentMethodId);
  assert.equal(subscriptions.length, 2);
  assert.deepEqual(await checkout.payments(customerId), [
    ['succeeded', 3000],
    ['failed', 2000],
    ['succeeded', 2000],
  ]);
  const { status, purchaseId, adjustmentId } = await checkout.session(id);
  assert.deepEqual([status, purchaseId, typeof adjustmentId], ['succeeded', null, 'string']);
  await app.setClock(instant('2026-06-01'));
});

test('a cheaper plan waits for the period’s end and asks for no card; a code is not for a change', async () => {
  const { externalId, customerId } = await plans.newCustomer('pm_card_visa');
  await plans.subscribe({ customerId, priceSlug: 'pro-monthly', quantity: 2 });
  const pro = { customerExternalId: externalId, priceSlug: 'pro-monthly' };
  const coded = await checkout.open({ ...pro, discountCode: (await checkout.discount('EARLY', { amount: 10 })).code });
  assert.equal(
    (await checkout.view(coded)).refusal,
    'This code is for new subscriptions only, not for a change of plan.',
  );
  const id = await checkout.open(pro);
  const { dueNow, needsCard, change } = await checkout.view(id);
  assert.deepEqual([dueNow, needsCard, change?.isNow, change?.effectiveAt], [0n, false, false, instant('2026-07-01')]);
  assert.equal((await checkout.confirm(id, { token: null })).status, 'succeeded');
  const { currentSubscription } = await checkout.billing(externalId);
  assert.deepEqual(
    [currentSubscription.subscriptionItems[0].quantity, currentSubscription.scheduledAdjustmentAt],
    [2, instant('2026-07-01')],
  );
});

test('three declined tries in a row leave the free plan as it is: the same one, with its credits and seats', async () => {
  const { id, externalId, freeId } = await newOrder();
  await app.post(`/resource-claims/${freeId}/claim`, { resourceSlug: 'seat', quantity: 2 });
  const usageEvent = { subscriptionId: freeId, priceSlug: 'call-overage', transactionId: `try-${freeId}`, amount: 15 };
  await app.post('/usage-events', { usageEvent });
  const state = async () => {
    const { currentSubscription } = await checkout.billing(externalId);
    const { usage } = await app.get(`/resource-claims/${freeId}/usage?resourceSlug=seat`);
    return [currentSubscription.id, currentSubscription.status, await plans.calls(externalId, freeId), usage.claimed];
  };
  const before = await state();
  assert.deepEqual(before, [freeId, 'active', 485, 2]);
  for (let attempt = 1; attempt <= 3; attempt++) {
    const failed = await checkout.confirm(id, { token: declines });
    assert.equal(failed.status, 'open');
    assert.deepEqual(await state(), before);
  }
  assert.equal((await checkout.confirm(id, visa)).status, 'succeeded');
});

test('the books are right after all of this', () => assertSound(app));

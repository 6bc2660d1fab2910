import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openCheckout, visa } from '../support/checkout-fixture.ts';
import { startTestApp } from '../support/harness.ts';
import { startStripeServer } from '../support/stripe-server.ts';

const stripe = await startStripeServer();
const app = await startTestApp({ services: stripe.services });
const checkout = await openCheckout(app);
const { plans } = checkout;

const chargesAtStripe = () =>
  [...stripe.objects.intents.values()].filter((intent) => intent.status === 'succeeded').length;

test('a processor outside is asked about the card first, and then charges', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  const view = await checkout.view(id);
  assert.deepEqual([view.processor.name, view.needsCard, view.dueNow], ['stripe_test', true, 3000n]);
  assert.equal((await checkout.confirm(id, visa)).status, 'succeeded');
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 3000]]);
  const session = await checkout.session(id);
  assert.deepEqual([session.status, session.paymentMethodType], ['succeeded', 'card']);
  const { paymentMethods, currentSubscription } = await checkout.billing(externalId);
  assert.equal(currentSubscription.defaultPaymentMethodId, paymentMethods[0].id);
});

test('a card that is refused there leaves the session open, and the next one pays', async () => {
  const id = await checkout.open({ anonymous: true, priceId: checkout.bookPriceId });
  const ada = { name: 'Ada', email: 'ada@acme.test' };
  for (const [token, why] of [
    ['pm_card_chargeDeclined', /^Your card was declined\./],
    ['pm_card_threeDSecure2Required', /must confirm it first/],
  ] as const) {
    const refused = await checkout.confirm(id, { token, ...ada });
    assert.equal(refused.status, 'open', token);
    assert.match(refused.failure ?? '', why);
  }
  await assert.rejects(checkout.confirm(id, { token: 'pm_unknown', ...ada }), /^Problem: token: must be the id/);
  const failed = await checkout.confirm(id, { token: 'pm_card_chargeCustomerFail', ...ada });
  assert.deepEqual([failed.status, failed.failure], ['open', 'Your card was declined.']);
  assert.equal((await checkout.confirm(id, { ...visa, ...ada })).status, 'succeeded');
  const { customerId } = await checkout.session(id);
  assert.deepEqual(await checkout.payments(customerId), [
    ['failed', 999],
    ['succeeded', 999],
  ]);
});

test('a buyer who names the card of another customer at Stripe is declined, and its owner pays nothing', async () => {
  const owner = await plans.newCustomer('pm_card_visa');
  const { processorToken: token } = await app.owner
    .selectFrom('paymentMethods')
    .select('processorToken')
    .where('customerId', '=', owner.customerId)
    .executeTakeFirstOrThrow();
  const before = chargesAtStripe();
  const id = await checkout.open({ anonymous: true, priceId: checkout.bookPriceId });
  const refused = await checkout.confirm(id, { token, name: 'Eve', email: 'eve@acme.test' });
  assert.equal(refused.status, 'open');
  assert.match(refused.failure ?? '', /belongs to another customer/);
  assert.equal(chargesAtStripe(), before);
  assert.equal((await checkout.confirm(id, { ...visa, name: 'Eve', email: 'eve@acme.test' })).status, 'succeeded');
  assert.equal(chargesAtStripe(), before + 1);
});

test('six confirmations at once with one card are one payment method and one charge', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  const before = chargesAtStripe();
  const views = await Promise.all(Array.from({ length: 6 }, () => checkout.confirm(id, visa)));
  for (const { status } of views) assert(['pending', 'succeeded'].includes(status), status);
  await app.runJobs();
  assert.equal((await checkout.session(id)).status, 'succeeded');
  assert.equal((await checkout.billing(externalId)).paymentMethods.length, 1);
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 3000]]);
  assert.equal(chargesAtStripe(), before + 1);
});

test('with several cards at once one of them is charged', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceId: checkout.bookPriceId });
  const before = chargesAtStripe();
  const tokens = Array.from({ length: 3 }, () => stripe.objects.createMethod('pm_card_visa', null).id);
  await Promise.all(tokens.map((token) => checkout.confirm(id, { token })));
  await app.runJobs();
  assert.equal((await checkout.session(id)).status, 'succeeded');
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 999]]);
  assert.equal(chargesAtStripe(), before + 1);
});

test('a card is added there, for the subscription that it was asked for; the same one again is the one there was', async () => {
  const { externalId, customerId } = await plans.newCustomer('pm_card_mastercard');
  const pro = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  const session = { type: 'add_payment_method', customerExternalId: externalId, targetSubscriptionId: pro.id };
  const id = await checkout.open(session);
  assert.equal((await checkout.confirm(id, { token: 'pm_card_chargeDeclined' })).status, 'open');
  assert.equal((await checkout.confirm(id, visa)).status, 'succeeded');
  const { paymentMethods } = await checkout.billing(externalId);
  assert.equal(paymentMethods.length, 2);
  const added = paymentMethods.find((method: { default: boolean }) => !method.default);
  assert.equal((await plans.subscription(pro.id)).defaultPaymentMethodId, added.id);
  const again = await checkout.open(session);
  assert.equal((await checkout.confirm(again, visa)).status, 'succeeded');
  const { paymentMethods: after } = await checkout.billing(externalId);
  assert.deepEqual(
    after.map(({ id: methodId }: { id: string }) => methodId),
    paymentMethods.map(({ id: methodId }: { id: string }) => methodId),
  );
});

test('while the processor does not answer nothing is lost: the session goes on when it does', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceId: checkout.bookPriceId });
  stripe.trouble('server_error');
  const refused = await checkout.confirm(id, visa);
  assert.equal(refused.status, 'open');
  assert.match(refused.failure ?? '', /is not responding/);
  assert.equal((await checkout.confirm(id, visa)).status, 'succeeded');
  await app.runJobs({ all: true });
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 999]]);
  assert.equal((await checkout.billing(externalId)).paymentMethods.length, 1);
});

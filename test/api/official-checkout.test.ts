import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Flowglad } from '@flowglad/node';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertShape, officialClient, pageOf, watch } from '../support/official-client.ts';
import {
  CheckoutSession,
  CheckoutSessionWithUrl,
  CountedDiscount,
  Invoice,
  Payment,
  Purchase,
} from '../support/official-money-records.ts';
import { Subscription } from '../support/official-records.ts';
import { newCustomer, newIncomplete, newSubscriber, openShop, payBy, returns } from '../support/official-shop.ts';

const app = await startTestApp();
const client = officialClient(app, await watch(app));
const shop = await openShop(client);

type Input = Flowglad.CheckoutSessionCreateParams['checkoutSession'];

async function newSession(checkoutSession: Input) {
  const answer = await client.checkoutSessions.create({ checkoutSession });
  assertShape(CheckoutSessionWithUrl, answer);
  return answer;
}

const product = (customerExternalId: string, priceSlug: string, rest: object = {}): Input => ({
  ...returns,
  type: 'product',
  customerExternalId,
  priceSlug,
  ...rest,
});

const sessionOf = async (id: string): Promise<Body> => (await client.checkoutSessions.retrieve(id)).checkoutSession;
const billingOf = (externalId: string): Promise<Body> => client.customers.retrieveBilling(externalId);

describe('a session', () => {
  test('a session is open for 24 hours, and its link is a page', async () => {
    const { checkoutSession, url } = await newSession(product('ada', 'onboarding-once'));
    assert.partialDeepStrictEqual(checkoutSession, {
      ...returns,
      type: 'product',
      status: 'open',
      quantity: 1,
      customerId: shop.customerId,
      preserveBillingCycleAnchor: false,
    });
    assert.equal(checkoutSession.expires - checkoutSession.createdAt, 86_400_000);
    assert.match((await fetch(url)).headers.get('content-type') ?? '', /^text\/html/);
  });

  test('a session of somebody unknown names no customer before it is paid', async () => {
    const { checkoutSession } = await newSession({
      ...returns,
      type: 'product',
      anonymous: true,
      priceSlug: 'onboarding-once',
      quantity: 3,
    });
    assert.deepEqual([checkoutSession.customerId, checkoutSession.quantity], [null, 3]);
    await payBy(app, checkoutSession.id);
    const paid = await sessionOf(checkoutSession.id);
    assert.deepEqual([paid.status, paid.customerEmail], ['succeeded', 'buyer@shop.test']);
    assert.equal(typeof paid.customerId, 'string');
  });

  test('a session is listed as a plain record, without its link', async () => {
    const page = await client.checkoutSessions.list({ limit: '100' });
    assertShape(pageOf(CheckoutSession), page);
    for (const row of page.data) assert.equal('url' in row, false);
  });
});

describe('what comes of a session that is paid', () => {
  test('a session of a single payment that is paid becomes a purchase, its invoice and its payment', async () => {
    await newCustomer(client, 'buyer');
    const metadata = { campaign: 'spring', step: 2 };
    const outputs = { quantity: 2, outputName: 'Kick-off', outputMetadata: metadata };
    const { checkoutSession } = await newSession(product('buyer', 'onboarding-once', outputs));
    await payBy(app, checkoutSession.id);
    const { purchases, invoices } = await billingOf('buyer');
    assertShape(Purchase, purchases[0]);
    assert.partialDeepStrictEqual(purchases[0], {
      status: 'paid',
      name: 'Kick-off',
      quantity: 2,
      metadata,
      priceType: 'single_payment',
      totalPurchaseValue: 20_000,
    });
    assert.equal((await sessionOf(checkoutSession.id)).purchaseId, purchases[0].id);
    const { invoice } = invoices.at(0);
    assertShape(Invoice, invoice);
    assert.deepEqual([invoice.type, invoice.purchaseId, invoice.status], ['purchase', purchases[0].id, 'paid']);
    const payment = (await client.payments.list({ limit: '100' })).data.at(-1);
    assertShape(Payment, payment);
    assert.deepEqual([payment?.amount, payment?.purchaseId], [20_000, purchases[0].id]);
  });

  test('a session of a plan that is paid becomes a subscription in place of the free one, with the discount that was entered', async () => {
    await newCustomer(client, 'planner');
    const { checkoutSession } = await newSession(product('planner', 'team-monthly', { outputMetadata: { ref: 'x' } }));
    await payBy(app, checkoutSession.id, 'launch');
    const { currentSubscriptions, purchases } = await billingOf('planner');
    assert.equal(currentSubscriptions.length, 1);
    assert.partialDeepStrictEqual(currentSubscriptions[0], {
      status: 'active',
      isFreePlan: false,
      metadata: { ref: 'x' },
    });
    assertShape(Purchase, purchases[0]);
    assert.equal(purchases[0].priceType, 'subscription');
    const { discount }: Body = await client.discounts.retrieve(shop.discountId);
    assertShape(CountedDiscount, discount);
    assert.equal(discount.redemptionCount, 1);
    // 29.00 less 20 % is 23.20.
    assert.equal((await client.payments.list({ limit: '100' })).data.at(-1)?.amount, 2320);
  });

  test('a session of an activation that is paid makes the subscription active, and it is charged from then on', async () => {
    const subscription = await newIncomplete(client, 'waiting');
    assert.equal(subscription.status, 'incomplete');
    const targetSubscriptionId = subscription.id;
    const target = { customerExternalId: 'waiting', targetSubscriptionId };
    const { checkoutSession } = await newSession({ ...returns, ...target, type: 'activate_subscription' });
    await payBy(app, checkoutSession.id);
    const { subscription: active } = await client.subscriptions.retrieve(targetSubscriptionId);
    assertShape(Subscription, active);
    assert.equal(active.status, 'active');
    assert.equal(typeof active.defaultPaymentMethodId, 'string');
  });

  test('a payment method that a session brought is what the subscription is charged on', async () => {
    const { subscription, paymentMethodId } = await newSubscriber(client, 'changing');
    const target = { customerExternalId: 'changing', targetSubscriptionId: subscription.id };
    const { checkoutSession } = await newSession({ ...returns, ...target, type: 'add_payment_method' });
    await payBy(app, checkoutSession.id, null, 'pm_card_mastercard');
    const { subscription: after } = await client.subscriptions.retrieve(subscription.id);
    assert.notEqual(after.defaultPaymentMethodId, paymentMethodId);
    assert.equal((await billingOf('changing')).paymentMethods.length, 2);
  });
});

describe('a session that cannot be', () => {
  const refused: Readonly<Record<string, readonly [number, object]>> = {
    'a price and a slug': [400, { customerExternalId: 'ada', priceSlug: 'team-monthly', priceId: 'price_x' }],
    'no price': [400, { customerExternalId: 'ada' }],
    'somebody unknown who is named': [400, { anonymous: true, customerExternalId: 'ada', priceSlug: 'team-monthly' }],
    'a customer that does not exist': [404, { customerExternalId: 'nobody', priceSlug: 'team-monthly' }],
    'a price that does not exist': [404, { customerExternalId: 'ada', priceSlug: 'unknown' }],
    'a price of usage': [400, { customerExternalId: 'ada', priceSlug: 'call' }],
    'the default product': [400, { customerExternalId: 'ada', priceSlug: 'free' }],
    'no unit': [400, { customerExternalId: 'ada', priceSlug: 'team-monthly', quantity: 0 }],
    'a type that only the page knows': [400, { type: 'purchase', customerExternalId: 'ada' }],
  };
  for (const [what, [status, fields]] of Object.entries(refused)) {
    test(`${what}: ${status}`, async () => {
      const checkoutSession = { ...returns, type: 'product', ...fields } as Input;
      await assert.rejects(client.checkoutSessions.create({ checkoutSession }), { status });
    });
  }
});

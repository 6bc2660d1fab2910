import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { FlowgladServer, hybridRouteToHandlerMap, routeToHandlerMap } from '@flowglad/server';
import { expressRouter } from '@flowglad/server/express';
import express from 'express';
import { type Body, startTestApp } from '../support/harness.ts';
import { officialClient, watchAll } from '../support/official-client.ts';
import { newCustomer, newIncomplete, newSubscriber, openShop, returns } from '../support/official-shop.ts';

const app = await startTestApp();
const client = officialClient(app, await watchAll(app));
const shop = await openShop(client);

/** An application as the package's own documentation builds it: the browser's requests go to its Express router. */
const application = express();
application.use(express.json());
application.use(
  '/api/flowglad',
  expressRouter({
    apiKey: app.testKey,
    baseURL: app.url,
    getCustomerExternalId: async (request) => {
      const user = request.get('x-user');
      if (!user) throw new Error('not signed in');
      return user;
    },
    flowglad: (customerExternalId) =>
      new FlowgladServer({
        apiKey: app.testKey,
        baseURL: app.url,
        customerExternalId,
        getCustomerDetails: async (externalId) => ({ name: externalId, email: `${externalId}@shop.test` }),
      }),
  }),
);
const listening = application.listen(0, '127.0.0.1');
await new Promise((resolve) => listening.once('listening', resolve));
after(() => {
  listening.close();
  listening.closeAllConnections();
});
const origin = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;

const requested = new Set<string>();

/** Asks as the browser does: a POST of JSON to the application, never to the service. */
async function ask(action: string, input: object, user: string | null): Promise<{ status: number; body: Body }> {
  requested.add(action);
  const response = await fetch(`${origin}/api/flowglad/${action}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(user ? { 'x-user': user } : {}) },
    body: JSON.stringify(input),
  });
  return { status: response.status, body: await response.json() };
}

async function data(action: string, input: object, user: string): Promise<Body> {
  const { status, body } = await ask(action, input, user);
  assert.equal(status, 200, `${action}: ${JSON.stringify(body)}`);
  assert.equal(body.error, undefined);
  return body.data;
}

describe('customers', () => {
  test('the page of a new user makes its customer, whom the package gives an empty name and e-mail address', async () => {
    await data('customers/find-or-create', { externalId: 'new' }, 'new');
    const { customer } = await client.customers.retrieve('new');
    assert.deepEqual([customer.name, customer.email], ['', '']);
    const again = await data('customers/find-or-create', { externalId: 'new' }, 'new');
    assert.equal(again.customer.externalId, 'new');
  });

  test('a first look at billing makes one too', async () => {
    const billing = await data('customers/billing', { externalId: 'looking' }, 'looking');
    assert.equal(billing.customer.email, 'looking@shop.test');
    assert.equal(billing.currentSubscriptions.length, 1);
    assert.equal(billing.pricingModel.id, shop.pricingModelId);
    assert.equal(typeof billing.billingPortalUrl, 'string');
  });

  test('a customer is updated, with what else the browser sends', async () => {
    await newCustomer(client, 'updated');
    const customer = { id: 'cust_ignored', name: 'Updated', email: 'updated@shop.test', phone: '+49 1' };
    const updated = await data('customers/update', { customer, externalId: 'updated' }, 'updated');
    assert.deepEqual([updated.customer.name, updated.customer.email], ['Updated', 'updated@shop.test']);
  });
});

describe('subscriptions', () => {
  test('subscriptions are adjusted, canceled and uncanceled', async () => {
    const { subscription } = await newSubscriber(client, 'browser');
    const adjusted = await data('subscriptions/adjust', { priceSlug: 'pro-monthly' }, 'browser');
    assert.equal(adjusted.isUpgrade, true);
    const cancellation = { timing: 'at_end_of_current_billing_period' };
    const canceled = await data('subscriptions/cancel', { id: subscription.id, cancellation }, 'browser');
    assert.equal(canceled.subscription.status, 'cancellation_scheduled');
    const uncanceled = await data('subscriptions/uncancel', { id: subscription.id }, 'browser');
    assert.equal(uncanceled.subscription.status, 'active');
  });

  test('subscriptions are not made by the browser: the package itself answers 501', async () => {
    assert.equal((await ask('subscriptions/create', {}, 'browser')).status, 501);
  });

  test('what the service refuses, the browser reads', async () => {
    await newSubscriber(client, 'refused');
    const { status, body } = await ask('subscriptions/adjust', { priceSlug: 'nothing' }, 'refused');
    assert.equal(status, 500);
    assert.equal(body.error.code, 'subscription_adjust_failed');
    assert.match(body.error.json.message, /^404 .*nothing/);
  });
});

test('usage and its balances', async () => {
  const { subscription } = await newSubscriber(client, 'user');
  const { usageEvent } = await data('usage-events/create', { usageMeterSlug: 'calls', amount: 25 }, 'user');
  assert.deepEqual([usageEvent.amount, usageEvent.subscriptionId], [25, subscription.id]);
  await data('usage-events/create', { priceSlug: 'call' }, 'user');
  const { usageMeterBalances } = await data('usage-meters/balances', { subscriptionId: subscription.id }, 'user');
  assert.equal(usageMeterBalances[0].availableBalance, 74);
  const { status, body } = await ask('usage-events/create', { usageMeterSlug: 'unknown' }, 'user');
  assert.equal(status, 500);
  assert.equal(body.error.code, '404');
});

test('resources are listed and claimed', async () => {
  await newSubscriber(client, 'seated');
  const claimed = await data('resources/claim', { resourceSlug: 'seat', externalId: 'ada' }, 'seated');
  assert.equal(claimed.usage.claimed, 1);
  const { resources } = await data('resources/usages', {}, 'seated');
  assert.deepEqual(resources.map(({ resourceSlug }: Body) => resourceSlug).sort(), ['desk', 'seat']);
  const { usage } = await data('resources/usages/retrieve', { resourceSlug: 'seat' }, 'seated');
  assert.deepEqual([usage.capacity, usage.available], [3, 2]);
  const { claims } = await data('resources/claims', { resourceSlug: 'seat' }, 'seated');
  assert.equal(claims[0].externalId, 'ada');
  const released = await data('resources/release', { resourceSlug: 'seat', externalId: 'ada' }, 'seated');
  assert.equal(released.usage.available, 3);
});

test('a pricing page: the customer’s own model when signed in, the default one when not', async () => {
  const own = await data('pricing-models/retrieve', {}, 'looking');
  assert.deepEqual([own.source, own.pricingModel.id], ['customer', shop.pricingModelId]);
  const { status, body } = await ask('pricing-models/retrieve', {}, null);
  assert.equal(status, 200);
  assert.deepEqual([body.data.source, body.data.pricingModel.id], ['default', shop.pricingModelId]);
});

test('checkout sessions of each kind answer where to send the browser', async () => {
  const targetSubscriptionId = (await newIncomplete(client, 'shopper')).id;
  const inputs = {
    'checkout-sessions/create': { ...returns, priceSlug: 'onboarding-once' },
    'checkout-sessions/create-add-payment-method': returns,
    'checkout-sessions/create-activate-subscription': { ...returns, targetSubscriptionId },
  };
  for (const [action, input] of Object.entries(inputs)) {
    const { url } = await data(action, input, 'shopper');
    assert.equal(new URL(url).origin, app.url);
    assert.equal((await fetch(url)).status, 200);
  }
});

test('every action of the handler has been asked for', () => {
  const actions = Object.keys({ ...routeToHandlerMap, ...hybridRouteToHandlerMap });
  assert.equal(actions.length, 18);
  assert.deepEqual(
    actions.filter((action) => !requested.has(action)),
    [],
  );
});

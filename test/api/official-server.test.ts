import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FlowgladServer } from '@flowglad/server';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertShape, noting, officialClient, watchAll } from '../support/official-client.ts';
import { CheckoutSessionWithUrl } from '../support/official-money-records.ts';
import { newCustomer, newIncomplete, openShop, payBy, post, returns } from '../support/official-shop.ts';

const app = await startTestApp();
const watched = await watchAll(app);
const client = officialClient(app, watched);
const shop = await openShop(client);
const called = new Set<string>();

/** What an application makes for the user who is signed in. */
function serverFor(customerExternalId: string): FlowgladServer {
  const server = new FlowgladServer({
    apiKey: app.testKey,
    baseURL: app.url,
    customerExternalId,
    getCustomerDetails: async (externalId) => ({ name: `User ${externalId}`, email: `${externalId}@shop.test` }),
  });
  return noting(server, called);
}

/** A user with a card who has subscribed to the plan `team`. */
async function subscriberFor(externalId: string): Promise<FlowgladServer> {
  await newCustomer(client, externalId);
  const server = serverFor(externalId);
  await server.createSubscription({ priceSlug: 'team-monthly', quantity: 1 });
  return server;
}

async function requestsOf(act: () => Promise<unknown>): Promise<string[]> {
  const before = watched.exchanges.length;
  await act();
  return watched.exchanges
    .slice(before)
    .map(({ method, path, status }) => `${method} ${path.replace('/api/v1', '')} ${status}`);
}

describe('who the customer is', () => {
  const found = serverFor('found');

  test('a user without a customer becomes one on the first look, and is found on the next', async () => {
    const first = await requestsOf(async () => {
      const { externalId, name, email } = await found.findOrCreateCustomer();
      assert.deepEqual([externalId, name, email], ['found', 'User found', 'found@shop.test']);
    });
    assert.deepEqual(first, ['GET /customers/found 404', 'POST /customers 200']);
    assert.deepEqual(await requestsOf(() => found.findOrCreateCustomer()), ['GET /customers/found 200']);
  });

  test('the session and the record', async () => {
    assert.equal(await found.getRequestingCustomerId(), 'found');
    assert.equal((await found.getSession())?.externalId, 'found');
    const { customer } = await found.getCustomer();
    assert.equal(customer.name, 'User found');
    const updated = await found.updateCustomer({ customer: { name: 'Renamed' } });
    assert.equal(updated.customer.name, 'Renamed');
    const { data } = await found.createCustomer({
      customer: { externalId: 'other', name: 'Other', email: 'o@shop.test' },
    });
    assert.equal(data.customer.externalId, 'other');
  });

  test('an application that says who asks instead gets the same', async () => {
    const user = { externalId: 'asking', name: 'Asking', email: 'asking@shop.test' };
    const server = new FlowgladServer({
      apiKey: app.testKey,
      baseURL: app.url,
      getRequestingCustomer: async () => user,
    });
    assert.equal((await server.findOrCreateCustomer()).name, 'Asking');
    assert.equal((await server.getBilling()).customer.externalId, 'asking');
  });

  test('an archived customer is not found any more: the user starts anew', async () => {
    const server = serverFor('archived');
    const first = await server.findOrCreateCustomer();
    assert.equal((await server.archiveCustomer('archived')).archived, true);
    const second = await server.findOrCreateCustomer();
    assert.notEqual(second.id, first.id);
    assert.equal(second.archived, false);
  });
});

describe('billing and its helpers', () => {
  test('a user on the free plan sees the shop and has nothing yet', async () => {
    const billing = await serverFor('free').getBilling();
    assert.equal(billing.currentSubscriptions?.length, 1);
    assert.equal(billing.currentSubscription?.isFreePlan, true);
    assert.equal(billing.checkFeatureAccess('sso'), false);
    assert.equal(billing.checkUsageBalance('unknown'), null);
    assert.equal(billing.getProduct('team')?.name, 'team');
    assert.equal(billing.getProduct('unknown'), null);
    assert.equal(billing.getPrice('team-monthly')?.unitPrice, 2900);
    assert.equal(billing.getPrice('unknown'), null);
    assert.equal(billing.hasPurchased('team'), false);
    assert.match(billing.billingPortalUrl, /^https?:/);
    assert.equal(billing.catalog.id, billing.pricingModel.id);
  });

  test('a subscriber has what the plan gives, and usage takes from the balance', async () => {
    const server = await subscriberFor('subscriber');
    const billing = await server.getBilling();
    const subscriptionId = billing.currentSubscription?.id ?? '';
    assert.deepEqual(
      billing.subscriptions.map(({ status }) => status),
      ['active', 'canceled'],
    );
    assert.equal(billing.checkFeatureAccess('sso'), true);
    assert.equal(billing.checkFeatureAccess('sso', { subscriptionId }), true);
    assert.equal(billing.checkFeatureAccess('audit'), false);
    assert.equal(billing.checkUsageBalance('calls')?.availableBalance, 100);
    const usage = { subscriptionId, usageMeterSlug: 'calls' };
    const { usageEvent } = await server.createUsageEvent({ ...usage, amount: 30, transactionId: 'one' });
    assert.equal(usageEvent.amount, 30);
    const { usageEvents } = await server.bulkCreateUsageEvents({
      usageEvents: [
        { ...usage, amount: 4, transactionId: 'two' },
        { subscriptionId, priceSlug: 'call', amount: 6, transactionId: 'three' },
      ],
    });
    assert.deepEqual(
      usageEvents.map(({ amount }) => amount),
      [4, 6],
    );
    assert.equal((await server.getBilling()).checkUsageBalance('calls')?.availableBalance, 60);
    const [balance] = (await server.getUsageMeterBalances({ subscriptionId })).usageMeterBalances;
    assert.deepEqual([balance?.slug, balance?.availableBalance], ['calls', 60]);
    assert.equal((await server.getUsageMeterBalances()).usageMeterBalances.length, 1);
  });

  test('balances of an external id that the package leaves as it is: a space is found, a slash is not', async () => {
    for (const externalId of ['Ada Lovelace', 'ada@shop.test']) {
      const { usageMeterBalances } = await serverFor(externalId).getUsageMeterBalances();
      assert.equal(usageMeterBalances.length, 1);
    }
    await assert.rejects(serverFor('shop/ada').getUsageMeterBalances(), { status: 404 });
    assert.equal((await serverFor('shop/ada').getBilling()).checkUsageBalance('calls')?.availableBalance, 0);
  });

  test('events of a subscription of somebody else are not even sent', async () => {
    const server = serverFor('free');
    const event = { subscriptionId: shop.subscriptionId, usageMeterSlug: 'calls', amount: 1, transactionId: 'theirs' };
    const requests = await requestsOf(() =>
      assert.rejects(server.bulkCreateUsageEvents({ usageEvents: [event] }), /not found among/),
    );
    assert.deepEqual(
      requests.filter((request) => request.startsWith('POST')),
      [],
    );
  });

  test('the pricing model is the customer’s own', async () => {
    const { pricingModel } = await serverFor('free').getPricingModel();
    assert.equal(pricingModel.id, shop.pricingModelId);
  });
});

describe('changes of a subscription', () => {
  test('up by slug at once, down at the end of the period, each item as named', async () => {
    const server = await subscriberFor('changer');
    const up = await server.adjustSubscription({ priceSlug: 'pro-monthly' });
    assert.deepEqual([up.isUpgrade, up.resolvedTiming], [true, 'immediately']);
    const billing = await server.getBilling();
    assert.equal(billing.checkFeatureAccess('audit'), true);
    assert.deepEqual(
      billing.invoices.map(({ invoice }) => invoice.status),
      ['paid', 'paid'],
    );
    const subscriptionId = up.subscription.id;
    const down: Body = await server.adjustSubscription({ priceId: shop.products.team.defaultPrice.id, subscriptionId });
    assert.deepEqual([down.isUpgrade, down.resolvedTiming], [false, 'at_end_of_current_billing_period']);
    assert.equal(down.subscription.scheduledAdjustmentAt, down.subscription.currentBillingPeriodEnd);
    await post(client, `/subscriptions/${subscriptionId}/cancel-scheduled-adjustment`, {});
    const items = await server.adjustSubscription({
      subscriptionItems: [{ priceSlug: 'pro-monthly', quantity: 3 }],
      timing: 'immediately',
      prorate: false,
    });
    assert.deepEqual(
      items.subscriptionItems.map(({ quantity }) => quantity),
      [3],
    );
  });

  test('canceled for later it keeps what it gives, and uncanceled it is as before', async () => {
    const server = await subscriberFor('waverer');
    const { currentSubscription } = await server.getBilling();
    const id = currentSubscription?.id ?? '';
    const timing = 'at_end_of_current_billing_period';
    const { subscription } = await server.cancelSubscription({ id, cancellation: { timing } });
    assert.equal(subscription.status, 'cancellation_scheduled');
    assert.equal((await server.getBilling()).checkFeatureAccess('sso'), true);
    const requests = await requestsOf(async () => {
      assert.equal((await server.uncancelSubscription({ id })).subscription.status, 'active');
      assert.equal((await server.uncancelSubscription({ id })).subscription.status, 'active');
    });
    assert.equal(requests.filter((request) => request.startsWith('POST')).length, 1);
  });

  test('canceled at once the user is on the free plan again', async () => {
    const server = await subscriberFor('leaver');
    const { currentSubscription } = await server.getBilling();
    const id = currentSubscription?.id ?? '';
    const { subscription } = await server.cancelSubscription({ id, cancellation: { timing: 'immediately' } });
    assert.equal(subscription.status, 'canceled');
    const after = await server.getBilling();
    assert.equal(after.currentSubscription?.isFreePlan, true);
    assert.equal(after.checkFeatureAccess('sso'), false);
  });

  test('a subscription of somebody else is refused by its customer', async () => {
    const change = { id: shop.subscriptionId, cancellation: { timing: 'immediately' as const } };
    await assert.rejects(serverFor('free').cancelSubscription(change), /not owned/);
  });
});

test('resources are claimed, counted, listed and released', async () => {
  const server = await subscriberFor('claimer');
  const { claims, usage } = await server.claimResource({ resourceSlug: 'seat', externalIds: ['ada', 'grace'] });
  assert.deepEqual([claims.length, usage.claimed, usage.available], [2, 2, 1]);
  await server.claimResource({ resourceSlug: 'desk', quantity: 1, metadata: { floor: 3 } });
  await assert.rejects(server.claimResource({ resourceSlug: 'seat', quantity: 2 }), /^Error: 400 /);
  const { resources } = await server.getResourceUsages();
  assert.deepEqual(resources.map(({ resourceSlug, capacity, claimed }) => [resourceSlug, capacity, claimed]).sort(), [
    ['desk', 2, 1],
    ['seat', 3, 2],
  ]);
  const seat = await server.getResourceUsage({ resourceSlug: 'seat' });
  assert.deepEqual(seat.claims.map(({ externalId }) => externalId).sort(), ['ada', 'grace']);
  const named = (list: Body) => list.claims.map(({ externalId }: Body) => externalId).sort();
  assert.deepEqual(named(await server.listResourceClaims({ resourceSlug: 'desk' })), [null]);
  assert.equal(named(await server.listResourceClaims()).length, 3);
  const released = await server.releaseResource({ resourceSlug: 'seat', externalId: 'ada' });
  assert.deepEqual([released.releasedClaims[0]?.releaseReason, released.usage.available], ['released', 2]);
});

describe('checkout sessions', () => {
  test('checkout sessions of each kind that the package makes are made', async () => {
    const targetSubscriptionId = (await newIncomplete(client, 'shopper')).id;
    const server = serverFor('shopper');
    const answers = [
      await server.createCheckoutSession({ ...returns, priceSlug: 'onboarding-once' }),
      await server.createAddPaymentMethodCheckoutSession(returns),
      await server.createActivateSubscriptionCheckoutSession({ ...returns, targetSubscriptionId }),
    ];
    for (const answer of answers) assertShape(CheckoutSessionWithUrl, answer);
    assert.deepEqual(
      answers.map(({ checkoutSession }) => checkoutSession.type),
      ['product', 'add_payment_method', 'activate_subscription'],
    );
  });

  test('what was paid for has been purchased', async () => {
    await newCustomer(client, 'purchaser');
    const server = serverFor('purchaser');
    const { checkoutSession } = await server.createCheckoutSession({ ...returns, priceSlug: 'onboarding-once' });
    assert.equal((await server.getBilling()).hasPurchased('onboarding'), false);
    await payBy(app, checkoutSession.id);
    const billing = await server.getBilling();
    assert.deepEqual([billing.hasPurchased('onboarding'), billing.hasPurchased('team')], [true, false]);
  });

  test('a plan that was bought is the current one, in place of the free one', async () => {
    const server = serverFor('planner');
    await server.findOrCreateCustomer();
    const { checkoutSession } = await server.createCheckoutSession({ ...returns, priceSlug: 'team-monthly' });
    await payBy(app, checkoutSession.id);
    const billing = await server.getBilling();
    assert.equal(billing.currentSubscriptions?.length, 1);
    assert.equal(billing.checkFeatureAccess('sso'), true);
    assert.equal(billing.hasPurchased('team'), true);
  });
});

test('every method of FlowgladServer has been called', () => {
  const internal = new Set(['deriveSubscriptionId']);
  const methods = Object.entries(serverFor('free'))
    .filter(([name, value]) => typeof value === 'function' && !internal.has(name))
    .map(([name]) => name);
  assert.equal(methods.length, 24);
  assert.deepEqual(
    methods.filter((method) => !called.has(method)),
    [],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CustomerBilling, getBilling } from '../../src/billing/customer-billing.ts';
import { readPortalKey } from '../../src/customers/portal-link.ts';
import { encryptionOf } from '../../src/jobs/encryption.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { countStatements } from '../support/statements.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const encryption = encryptionOf(app.services);
const slugs = (subscription: Body): string[] =>
  subscription.experimental.featureItems.map((item: Body) => item.slug).sort();

test('the answer holds everything about the customer', async () => {
  const { customerId, externalId, freeId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const pro = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId: paymentMethodId });
  const billing = await app.get(`/customers/${externalId}/billing`);
  assert.deepEqual(Object.keys(billing).sort(), Object.keys(CustomerBilling.shape).sort());
  assert.equal(billing.customer.id, customerId);
  assert.deepEqual(
    billing.subscriptions.map((row: Body) => row.id),
    [pro.id, freeId],
    'newest first',
  );
  assert.deepEqual(billing.currentSubscriptions, [billing.currentSubscription]);
  assert.deepEqual(billing.catalog, billing.pricingModel);
  assert.equal(billing.pricingModel.id, plans.pricingModelId);
  assert.equal(billing.pricingModel.defaultProduct.slug, 'free');
  assert.deepEqual(
    billing.paymentMethods.map((row: Body) => [row.id, row.default]),
    [[paymentMethodId, true]],
  );
  assert.deepEqual(billing.purchases, []);
  assert.match(billing.billingPortalUrl, new RegExp(`^${app.url}/portal\\?key=`));
  const [{ invoice, invoiceLineItems }] = billing.invoices;
  assert.deepEqual([invoice.subscriptionId, invoice.total, invoiceLineItems.length], [pro.id, 3000, 1]);
});

test('a subscription is answered with its items and their prices, its features and its balances', async () => {
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const pro = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', quantity: 3 });
  const { currentSubscription } = await app.get(`/customers/${externalId}/billing`);
  const { subscriptionItems, experimental, ...subscription } = currentSubscription;
  assert.deepEqual(subscription, pro, 'the subscription itself is answered as elsewhere');
  const [item] = subscriptionItems;
  assert.deepEqual([item.name, item.quantity, item.unitPrice, item.type], ['Monthly x 3', 3, 3000, 'static']);
  assert.deepEqual(item.price, plans.priceOf('pro-monthly'));
  assert.deepEqual(slugs(currentSubscription), ['monthly-calls', 'seats', 'sso', 'welcome-calls']);
  const [balance] = experimental.usageMeterBalances;
  assert.deepEqual([balance.slug, balance.availableBalance, balance.subscriptionId], ['api-calls', 4500, pro.id]);
});

test('a feature that has expired is left out, and so is the item that holds features added by hand', async () => {
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const team = await plans.subscribe({ customerId, priceSlug: 'team-monthly' });
  await app.post(`/subscriptions/${team.id}/add-feature`, { featureSlug: 'sso' });
  const billing = async () => (await app.get(`/customers/${externalId}/billing`)).currentSubscription;
  const before = await billing();
  assert.deepEqual(slugs(before), ['monthly-calls', 'sso']);
  assert.equal(before.subscriptionItems.length, 1);
  const sso = before.experimental.featureItems.find((item: Body) => item.slug === 'sso');
  await app.post(`/subscription-item-features/${sso.id}/expire`, {});
  assert.deepEqual(slugs(await billing()), ['monthly-calls']);
});

test('the number of statements does not grow with the subscriptions', async () => {
  const statements = async (externalId: string) => {
    await app.get(`/customers/${externalId}`);
    const { answer: billing, count } = await app.inEnvironment((work) =>
      countStatements(work, (counted) => getBilling(counted, encryption, externalId, undefined)),
    );
    return { count, subscriptions: billing.subscriptions.length, invoices: billing.invoices.length };
  };
  const [one, many] = [await plans.newCustomer('pm_card_visa'), await plans.newCustomer('pm_card_visa')];
  await plans.subscribe({ customerId: one.customerId, priceSlug: 'pro-monthly' });
  for (let round = 0; round < 3; round++) {
    const { id } = await plans.subscribe({ customerId: many.customerId, priceSlug: 'pro-monthly' });
    await plans.cancel(id, 'immediately');
  }
  const few = await statements(one.externalId);
  assert.deepEqual(await statements(many.externalId), { count: few.count, subscriptions: 7, invoices: 3 });
});

test('the billing portal stands where the service says that it is reached, and its link is a pass of a day', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const url = async (publicUrl: string): Promise<string> =>
    (await app.inEnvironment((work) => getBilling({ ...work, publicUrl }, encryption, externalId, undefined)))
      .billingPortalUrl;
  const [address, key = ''] = (await url('https://billing.acme.test')).split('?key=');
  assert.equal(address, 'https://billing.acme.test/portal');
  assert.match(await url('https://acme.test/billing/'), /^https:\/\/acme\.test\/billing\/portal\?key=/);
  const [dayMs, hourMs] = [86_400_000, 3_600_000];
  const pass = readPortalKey(encryption, key, Date.now());
  assert.equal(pass?.customerId, customerId);
  assert.equal(pass?.environmentId, app.testEnvironmentId);
  assert(pass.expiresAt > Date.now() + dayMs - hourMs && pass.expiresAt <= Date.now() + dayMs + hourMs);
  assert.equal(readPortalKey(encryption, key, pass.expiresAt), null);
  // A client that compares two answers finds the same link.
  assert.equal(await url('https://billing.acme.test'), `${address}?key=${key}`);
});

test('an archived customer, or one of another environment, is not found', async () => {
  const { externalId } = await plans.newCustomer();
  const other = await app.request('GET', `/customers/${externalId}/billing`, undefined, { key: app.liveKey });
  assert.equal(other.status, 404);
  await app.post(`/customers/${externalId}/archive`);
  const gone = await app.request('GET', `/customers/${externalId}/billing`);
  assert.deepEqual([gone.status, gone.body.code], [404, 'NOT_FOUND']);
});

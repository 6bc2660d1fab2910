import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catchUpAll } from '../../src/billing/catch-up.ts';
import { readEntitlements } from '../../src/entitlements/actions-entitlements.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { pinnedKey } from '../support/pricing-models.ts';
import { countStatements } from '../support/statements.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const [meter] = (await app.get(`/pricing-models/${plans.pricingModelId}`)).pricingModel.usageMeters;
const [seat] = (await app.get(`/resources?pricingModelId=${plans.pricingModelId}`)).resources;
const { data: features } = await app.get(`/features?limit=100&pricingModelId=${plans.pricingModelId}`);
const featureId = (slug: string): string => features.find((row: Body) => row.slug === slug).id;

const look = async (externalId: string, query = ''): Promise<Body> =>
  (await app.get(`/customers/${externalId}/entitlements${query}`)).entitlements;
const slugsOf = ({ features: rows }: Body): string[] => rows.map(({ slug }: Body) => slug);
const nothing = {
  features: [],
  usageMeterBalances: [],
  creditPoolBalances: [],
  resources: [],
  unpaidSubscriptionIds: [],
};

async function newPro() {
  const customer = await plans.newCustomer('pm_card_visa');
  const { id } = await plans.subscribe({ customerId: customer.customerId, priceSlug: 'pro-monthly' });
  return { ...customer, id: id as string };
}

test('the features, balances and resources of a plan in one answer', async () => {
  const { externalId, customerId, id } = await newPro();
  const usageEvent = { subscriptionId: id, usageMeterSlug: 'api-calls', transactionId: 'look', amount: 100 };
  await app.post('/usage-events', { usageEvent });
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', quantity: 2 });
  const given = { subscriptionIds: [id] };
  const calls = { type: 'usage_credit_grant', usageMeterId: meter.id, resourceId: null, ...given };
  const [sso, monthly, welcome, seats] = ['sso', 'monthly-calls', 'welcome-calls', 'seats'].map(featureId);
  assert.deepEqual(await look(externalId), {
    customerId,
    externalId,
    pricingModelId: plans.pricingModelId,
    features: [
      {
        ...{ featureId: sso, slug: 'sso', name: 'SSO', type: 'toggle', ...given },
        ...{ amount: null, usageMeterId: null, resourceId: null },
      },
      { featureId: monthly, slug: 'monthly-calls', name: 'Calls of a month', amount: 1000, ...calls },
      { featureId: welcome, slug: 'welcome-calls', name: 'Calls to begin with', amount: 500, ...calls },
      {
        ...{ featureId: seats, slug: 'seats', name: 'Seats', type: 'resource', ...given },
        ...{ amount: 5, usageMeterId: null, resourceId: seat.id },
      },
    ],
    // 1000 + 500 granted, 100 used.
    usageMeterBalances: [
      {
        ...{ usageMeterId: meter.id, slug: 'api-calls', subscriptionId: id, availableBalance: 1400, held: 0 },
        ...{ usableCredits: 1400, pooledUnits: 0 },
      },
    ],
    creditPoolBalances: [],
    resources: [
      {
        ...{ resourceId: seat.id, slug: 'seat', subscriptionId: id, active: true },
        ...{ capacity: 5, claimed: 2, available: 3 },
      },
    ],
    unpaidSubscriptionIds: [],
  });
});

test('what a hold sets aside is held and not available, until the hold has ended', async () => {
  const { externalId, id } = await newPro();
  const expiresAt = Date.now() + 3_600_000;
  await app.post('/holds', { hold: { subscriptionId: id, usageMeterSlug: 'api-calls', amount: 300, expiresAt } });
  const held = async () => {
    const [{ availableBalance, held: units }] = (await look(externalId)).usageMeterBalances;
    return { availableBalance, units };
  };
  assert.deepEqual(await held(), { availableBalance: 1200, units: 300 });
  await app.owner
    .updateTable('usageHolds')
    .set({ expiresAt: Date.now() - 1 })
    .execute();
  assert.deepEqual(await held(), { availableBalance: 1500, units: 0 });
});

test('the numbers are those of usage-balances and of the usages of each subscription', async () => {
  const { externalId, id } = await newPro();
  const { usageMeterBalances, resources } = await look(externalId);
  const { usageMeterBalances: balances } = await app.get(`/customers/${externalId}/usage-balances`);
  const usages: Body[] = await app.get(`/resource-claims/${id}/usages`);
  assert.deepEqual(
    usageMeterBalances.map(({ usageMeterId, availableBalance }: Body) => [usageMeterId, availableBalance]),
    balances.map(({ id: usageMeterId, availableBalance }: Body) => [usageMeterId, availableBalance]),
  );
  assert.deepEqual(
    resources.map(({ slug, subscriptionId: _, active: _active, ...usage }: Body) => ({ resourceSlug: slug, ...usage })),
    usages.map(({ usage }) => usage),
  );
});

test('a subscription that is paused gives nothing until it goes on', async () => {
  const { externalId, customerId, id } = await newPro();
  await app.post(`/subscriptions/${id}/pause`, {});
  const { pricingModelId } = plans;
  assert.deepEqual(await look(externalId), { customerId, externalId, pricingModelId, ...nothing });
  await app.post(`/subscriptions/${id}/resume`, {});
  assert.deepEqual(slugsOf(await look(externalId)), ['sso', 'monthly-calls', 'welcome-calls', 'seats']);
});

test('one that has not begun gives nothing yet, and one that was replaced nothing any more', async () => {
  const { externalId, customerId, freeId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const startDate = Date.now() + 86_400_000;
  const body = { customerId, priceSlug: 'pro-monthly', startDate, defaultPaymentMethodId: paymentMethodId };
  const { id } = await plans.subscribe(body);
  const before = await look(externalId);
  assert.deepEqual(slugsOf(before), ['welcome-calls', 'seats']);
  assert.deepEqual(
    [...before.usageMeterBalances, ...before.resources].map((row: Body) => row.subscriptionId),
    [freeId, freeId],
  );
  assert.deepEqual((await look(externalId, `?subscriptionId=${id}`)).usageMeterBalances, []);
  const pro = await newPro();
  assert.deepEqual((await look(pro.externalId, `?subscriptionId=${pro.freeId}`)).features, []);
});

test('a feature that has ended is gone, and places that are taken beyond the capacity show', async () => {
  const { externalId, id } = await newPro();
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', quantity: 2 });
  const billing = await app.get(`/customers/${externalId}/billing`);
  for (const { id: itemFeatureId, slug } of billing.currentSubscription.experimental.featureItems) {
    if (['sso', 'seats'].includes(slug)) await app.post(`/subscription-item-features/${itemFeatureId}/expire`, {});
  }
  const after = await look(externalId);
  assert.deepEqual(slugsOf(after), ['monthly-calls', 'welcome-calls']);
  const [{ capacity, claimed, available }] = after.resources;
  assert.deepEqual({ capacity, claimed, available }, { capacity: 0, claimed: 2, available: -2 });
});

test('of two subscriptions a feature is there once, and balances and resources are there for each', async () => {
  const environment = app.owner.updateTable('environments').where('id', '=', app.testEnvironmentId);
  await environment.set({ allowMultipleSubscriptions: true }).execute();
  const { externalId, customerId, id: first } = await newPro();
  const { id: second } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  await environment.set({ allowMultipleSubscriptions: false }).execute();
  const both = await look(externalId);
  assert.deepEqual(
    both.features.map(({ slug, amount, subscriptionIds }: Body) => [slug, amount, subscriptionIds]),
    [
      ['sso', null, [second, first]],
      ['monthly-calls', 2000, [second, first]],
      ['welcome-calls', 1000, [second, first]],
      ['seats', 10, [second, first]],
    ],
  );
  const owners = (rows: readonly Body[]) => rows.map(({ subscriptionId }) => subscriptionId);
  assert.deepEqual(owners(both.usageMeterBalances), [second, first]);
  assert.deepEqual(owners(both.resources), [second, first]);
  const one = await look(externalId, `?subscriptionId=${first}`);
  assert.deepEqual(owners([...one.usageMeterBalances, ...one.resources]), [first, first]);
  assert.deepEqual(one.features[3].subscriptionIds, [first]);
});

test('a slug that is used again stands for the new feature, and the old one goes on for who has it', async () => {
  const { externalId: had } = await newPro();
  await app.put(`/features/${featureId('sso')}`, { feature: { id: featureId('sso'), active: false } });
  const sent = { type: 'toggle', slug: 'sso', name: 'SSO again', description: '', active: true };
  const { feature } = await app.post('/features', { feature: { ...sent, pricingModelId: plans.pricingModelId } });
  const names = async () =>
    (await look(had)).features.filter((row: Body) => row.slug === 'sso').map((row: Body) => [row.featureId, row.name]);
  assert.deepEqual(await names(), [[featureId('sso'), 'SSO']]);
  const { currentSubscription } = await app.get(`/customers/${had}/billing`);
  await app.post(`/subscriptions/${currentSubscription.id}/add-feature`, { featureId: feature.id });
  assert.deepEqual(await names(), [[feature.id, 'SSO again']]);
});

test('an answer that the caller has already is not sent again', async () => {
  const { externalId, id } = await plans.newCustomer().then((customer) => ({ ...customer, id: customer.freeId }));
  const path = `/customers/${externalId}/entitlements`;
  const first = await app.request('GET', path);
  const headers = { 'if-none-match': first.headers.get('etag') ?? 'none' };
  const again = await app.request('GET', path, undefined, { headers });
  assert.deepEqual([again.status, again.body], [304, '']);
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', quantity: 1 });
  const changed = await app.request('GET', path, undefined, { headers });
  assert.deepEqual([changed.status, changed.body.entitlements.resources[0].claimed], [200, 1]);
});

test('who is not a customer, or not here, or has not the subscription, is not found', async () => {
  const { externalId, customerId } = await newPro();
  const stranger = await plans.newCustomer();
  const statusOf = async (path: string, key = app.testKey) =>
    (await app.request('GET', `/customers/${path}`, undefined, { key })).status;
  const path = `${externalId}/entitlements`;
  assert.equal(await statusOf('nobody/entitlements'), 404);
  assert.equal(await statusOf(`${path}?subscriptionId=${stranger.freeId}`), 404);
  assert.equal(await statusOf(path, app.liveKey), 404);
  assert.equal(await statusOf(path, (await app.newOrganization()).testKey), 404);
  assert.equal(await statusOf(path), 200);
  await app.owner.updateTable('customers').set({ archived: true }).where('id', '=', customerId).execute();
  assert.equal(await statusOf(path), 404);
});

test('of two customers with one external id the one of the named pricing model is meant, or of the pinned key', async () => {
  const [one, other] = [await insertFixture(app), await insertFixture(app)];
  const path = '/customers/acme/entitlements';
  const unclear = await app.request('GET', path);
  assert.equal(unclear.status, 400);
  assert.match(unclear.body.message, /pricingModelId/);
  assert.equal((await look('acme', `?pricingModelId=${other.pricingModelId}`)).customerId, other.customerId);
  const key = await pinnedKey(app, one.pricingModelId);
  assert.equal((await app.get(path, { key })).entitlements.customerId, one.customerId);
});

test('all of it is one statement', async () => {
  const { externalId } = await newPro();
  const { count, answer } = await app.inEnvironment((work) =>
    countStatements(work, (counted) => readEntitlements(counted, externalId, {}, catchUpAll)),
  );
  assert.deepEqual([count, answer.resources.length], [1, 1]);
});

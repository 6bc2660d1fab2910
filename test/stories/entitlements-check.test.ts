import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tollkeeper } from '../../client/src/client.ts';
import { catchUpAll } from '../../src/billing/catch-up.ts';
import { checkEntitlements } from '../../src/entitlements/actions-entitlements.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { anyId } from '../support/any-id.ts';
import { databaseDigest } from '../support/digest.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, type RequestOptions, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { pinnedKey } from '../support/pricing-models.ts';
import { countStatements } from '../support/statements.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);

/** [customer, feature] or [customer, feature, amount]. */
type Pair = readonly [customerExternalId: string, featureSlug: string, amount?: number];
const bodyOf = (pairs: readonly Pair[]) => ({
  checks: pairs.map(([customerExternalId, featureSlug, amount]) => ({ customerExternalId, featureSlug, amount })),
});

async function check(pairs: readonly Pair[], more: Body = {}, options: RequestOptions = {}): Promise<Body[]> {
  return (await app.post('/entitlements/check', { ...bodyOf(pairs), ...more }, options)).results;
}

/** Of each answer what it says, without what was asked. */
async function outcomes(pairs: readonly Pair[], more: Body = {}, options: RequestOptions = {}): Promise<Body[]> {
  const results = await check(pairs, more, options);
  return results.map(({ customerExternalId: _, featureSlug: __, ...outcome }) => outcome);
}

const reasons = async (pairs: readonly Pair[], options: RequestOptions = {}) =>
  (await check(pairs, {}, options)).map(({ reason }) => reason);

const allowed = { allowed: true, reason: null };
const toggle = { type: 'toggle', availableBalance: null, capacity: null, claimed: null };
const credits = (availableBalance: number | null) => ({ ...toggle, type: 'usage_credit_grant', availableBalance });
const places = (capacity: number, claimed: number) => ({ ...toggle, type: 'resource', capacity, claimed });
const refused = (reason: string) => ({ allowed: false, reason });

async function newPro() {
  const customer = await plans.newCustomer('pm_card_visa');
  const { id } = await plans.subscribe({ customerId: customer.customerId, priceSlug: 'pro-monthly' });
  return { ...customer, id: id as string };
}

test('a toggle is allowed when it is given; an unknown customer or feature is an answer', async () => {
  const { externalId: free } = await plans.newCustomer();
  const { externalId: pro } = await newPro();
  const none = { ...toggle, type: null };
  assert.deepEqual(
    await outcomes([
      [pro, 'sso'],
      [pro, 'sso', 1000],
      [free, 'sso'],
      [pro, 'no-feature'],
      ['nobody', 'sso'],
      ['nobody', 'no-feature'],
    ]),
    [
      { ...allowed, ...toggle },
      { ...allowed, ...toggle },
      { ...refused('not_granted'), ...toggle },
      { ...refused('feature_not_found'), ...none },
      { ...refused('customer_not_found'), ...none },
      { ...refused('customer_not_found'), ...none },
    ],
  );
});

test('credits are allowed up to the balance of their meter, whichever feature granted them', async () => {
  const { externalId, id } = await newPro();
  const { externalId: free } = await plans.newCustomer();
  // 1000 a month and 500 to begin with, of which 400 are used and 100 are held.
  const use = { subscriptionId: id, usageMeterSlug: 'api-calls', amount: 400 };
  await app.post('/usage-events', { usageEvent: { ...use, transactionId: 'check' } });
  const expiresAt = Date.now() + 3_600_000;
  await app.post('/holds', { hold: { subscriptionId: id, usageMeterSlug: 'api-calls', amount: 100, expiresAt } });
  assert.deepEqual(
    await outcomes([
      [externalId, 'monthly-calls'],
      [externalId, 'monthly-calls', 1000],
      [externalId, 'welcome-calls', 1000],
      [externalId, 'monthly-calls', 1001],
      [free, 'monthly-calls', 1],
    ]),
    [
      { ...allowed, ...credits(1000) },
      { ...allowed, ...credits(1000) },
      { ...allowed, ...credits(1000) },
      { ...refused('insufficient_balance'), ...credits(1000) },
      { ...refused('not_granted'), ...credits(null) },
    ],
  );
  await app.post('/usage-events', { usageEvent: { ...use, transactionId: 'more', amount: 1200 } });
  assert.deepEqual(await outcomes([[externalId, 'monthly-calls']]), [
    { ...refused('insufficient_balance'), ...credits(-200) },
  ]);
});

test('places are allowed as long as enough are free, and none of a resource that is not at work', async () => {
  const { externalId, id } = await newPro();
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', externalIds: ['ada', 'bob', 'cy'] });
  const requested: Pair[] = [
    [externalId, 'seats'],
    [externalId, 'seats', 2],
    [externalId, 'seats', 3],
  ];
  const five = places(5, 3);
  assert.deepEqual(await outcomes(requested), [
    { ...allowed, ...five },
    { ...allowed, ...five },
    { ...refused('insufficient_capacity'), ...five },
  ]);
  const resource = app.owner.updateTable('resources').where('pricingModelId', '=', plans.pricingModelId);
  await resource.set({ active: false }).execute();
  assert.deepEqual(await outcomes([[externalId, 'seats']]), [{ ...refused('resource_inactive'), ...five }]);
  const reader = new Tollkeeper({ key: app.testKey, baseUrl: app.url }).entitlementReader();
  assert.equal(await reader.may(externalId, 'seats'), false);
  await resource.set({ active: true }).execute();
});

test('what a change of plan leaves counts from its instant on, before it is carried out', async () => {
  const { externalId, id } = await newPro();
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', quantity: 3 });
  const [seat] = (await app.get(`/resources?pricingModelId=${plans.pricingModelId}`)).resources;
  const now = Date.now();
  const stamps = { environmentId: app.testEnvironmentId, createdAt: now, updatedAt: now };
  const plan = (effectiveAt: number) => ({
    ...{ pricingModelId: plans.pricingModelId, subscriptionId: id, status: 'scheduled', effectiveAt },
    ...{ items: '[]', capacities: JSON.stringify({ [seat.id]: 4 }) },
  });
  const change = { id: anyId('subscriptionAdjustment'), ...stamps, ...plan(now + 3_600_000) };
  await app.owner.insertInto('subscriptionAdjustments').values(change).execute();
  assert.deepEqual(await outcomes([[externalId, 'seats', 2]]), [{ ...allowed, ...places(5, 3) }]);
  await app.owner
    .updateTable('subscriptionAdjustments')
    .set({ effectiveAt: now })
    .where('id', '=', change.id)
    .execute();
  assert.deepEqual(await outcomes([[externalId, 'seats', 2]]), [
    { ...refused('insufficient_capacity'), ...places(4, 3) },
  ]);
});

test('answers stand in the order asked, each with its own amount, also where a pair is asked about again', async () => {
  const [{ externalId: one }, { externalId: other }] = [await newPro(), await plans.newCustomer()];
  const requested: Pair[] = [
    [one, 'welcome-calls', 1501],
    [other, 'welcome-calls', 500],
    [one, 'welcome-calls', 1500],
    [other, 'sso'],
    [other, 'welcome-calls', 501],
    [one, 'welcome-calls', 1501],
  ];
  const results = await check(requested);
  assert.deepEqual(
    results.map((row) => [row.customerExternalId, row.featureSlug, row.allowed]),
    [
      [one, 'welcome-calls', false],
      [other, 'welcome-calls', true],
      [one, 'welcome-calls', true],
      [other, 'sso', false],
      [other, 'welcome-calls', false],
      [one, 'welcome-calls', false],
    ],
  );
});

test('what is paused, has ended, was replaced or has not begun gives nothing', async () => {
  const paused = await newPro();
  await app.post(`/subscriptions/${paused.id}/pause`, {});
  const canceled = await newPro();
  await plans.cancel(canceled.id, 'immediately');
  const expired = await newPro();
  const { currentSubscription } = await app.get(`/customers/${expired.externalId}/billing`);
  const { featureItems } = currentSubscription.experimental;
  for (const { id } of featureItems) await app.post(`/subscription-item-features/${id}/expire`, {});
  const later = await plans.newCustomer('pm_card_visa');
  const startDate = Date.now() + 86_400_000;
  const terms = { customerId: later.customerId, defaultPaymentMethodId: later.paymentMethodId, startDate };
  await plans.subscribe({ ...terms, priceSlug: 'pro-monthly' });
  const customers = [paused, canceled, expired, later];
  const notGranted = customers.map(() => 'not_granted');
  for (const slug of ['sso', 'monthly-calls']) {
    assert.deepEqual(await reasons(customers.map(({ externalId }): Pair => [externalId, slug])), notGranted);
  }
  // The free plan that goes on gives its own.
  assert.deepEqual(await reasons([[later.externalId, 'seats']]), [null]);
});

test('two subscriptions that give a feature are counted together, credits that come once only once', async () => {
  const environment = app.owner.updateTable('environments').where('id', '=', app.testEnvironmentId);
  await environment.set({ allowMultipleSubscriptions: true }).execute();
  const { externalId, customerId, id } = await newPro();
  await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  await environment.set({ allowMultipleSubscriptions: false }).execute();
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', quantity: 5 });
  const [sso, calls, seats] = await outcomes([
    [externalId, 'sso'],
    [externalId, 'monthly-calls', 2500],
    [externalId, 'seats', 5],
  ]);
  assert.deepEqual(sso, { ...allowed, ...toggle });
  assert.deepEqual(calls, { ...allowed, ...credits(2500) });
  assert.deepEqual(seats, { ...allowed, ...places(10, 5) });
});

test('an archived customer and one of another environment are none', async () => {
  const { externalId, customerId } = await newPro();
  const stranger = await app.newOrganization();
  assert.deepEqual(await reasons([[externalId, 'sso']], { key: stranger.testKey }), ['customer_not_found']);
  assert.deepEqual(await reasons([[externalId, 'sso']], { key: app.liveKey }), ['customer_not_found']);
  await app.owner.updateTable('customers').set({ archived: true }).where('id', '=', customerId).execute();
  assert.deepEqual(await reasons([[externalId, 'sso']]), ['customer_not_found']);
});

test('an external id of two pricing models is refused by its index; a named model or a pinned key makes it clear', async () => {
  const [one] = [await insertFixture(app), await insertFixture(app)];
  const { externalId } = await newPro();
  const requested: Pair[] = [
    [externalId, 'sso'],
    ['acme', 'sso'],
  ];
  const unclear = await app.request('POST', '/entitlements/check', bodyOf(requested));
  assert.equal(unclear.status, 400);
  assert.match(unclear.body.message, /^checks\.1\.customerExternalId: /);
  const { pricingModelId } = one;
  const own = ['customer_not_found', 'feature_not_found'];
  assert.deepEqual(
    (await check(requested, { pricingModelId })).map(({ reason }) => reason),
    own,
  );
  const key = await pinnedKey(app, pricingModelId);
  assert.deepEqual(await reasons(requested, { key }), own);
});

test('1 to 1,000 checks at a time, of amounts of 1 and more', async () => {
  const { externalId } = await newPro();
  const statusOf = async (pairs: readonly Pair[]) =>
    (await app.request('POST', '/entitlements/check', bodyOf(pairs))).status;
  const pair: Pair = [externalId, 'sso'];
  assert.deepEqual([await statusOf([]), await statusOf(Array(1001).fill(pair))], [400, 400]);
  assert.deepEqual([await statusOf([[externalId, 'sso', 0]]), await statusOf([['', 'sso']])], [400, 400]);
  const results = await check(Array(1000).fill(pair));
  assert.deepEqual([results.length, results.every((result) => result.allowed)], [1000, true]);
});

test('texts that a list of texts could be confused by are just texts', async () => {
  const { externalId } = await newPro();
  const odd = ['a,b', '"', '\\', '{}', 'null', 'NULL', ' sso', "'", 'sso '];
  assert.deepEqual(
    await reasons(
      odd.flatMap((text): Pair[] => [
        [externalId, text],
        [text, 'sso'],
        [externalId, 'sso'],
      ]),
    ),
    odd.flatMap(() => ['feature_not_found', 'customer_not_found', null]),
  );
});

test('a renewal and an end that are due are done before the answer, and their charge is left to its job', async () => {
  const may = instant('2026-05-01');
  await app.setClock(may);
  const { externalId, id } = await newPro();
  const { externalId: leaving, id: leavingId } = await newPro();
  await plans.cancel(leavingId, 'at_end_of_current_billing_period');
  await app.post('/usage-events', {
    usageEvent: { subscriptionId: id, priceSlug: 'call-overage', transactionId: `all of may ${id}`, amount: 1500 },
  });
  const asked: Pair[] = [
    [externalId, 'sso'],
    [externalId, 'monthly-calls', 1000],
    [leaving, 'sso'],
  ];
  assert.deepEqual(await reasons(asked), [null, 'insufficient_balance', null]);
  // Nobody has worked on what came due since.
  await app.setClock(instant('2026-06-01T00:01'));
  assert.deepEqual(await reasons(asked), [null, null, 'not_granted']);
  const { entitlements } = await app.get(`/customers/${externalId}/entitlements`);
  assert.equal(entitlements.usageMeterBalances[0].availableBalance, 1000);
  const { data } = await app.get(`/audit-log?recordId=${leavingId}&limit=100`);
  assert.equal(data[0].action, 'POST /entitlements/check');
});

test('it stores nothing, and an answer that the caller has already is not sent again', async () => {
  const { externalId } = await newPro();
  const body = bodyOf([[externalId, 'monthly-calls', 1500]]);
  const digest = await databaseDigest(app);
  const first = await app.request('POST', '/entitlements/check', body);
  const headers = { 'if-none-match': first.headers.get('etag') ?? 'none' };
  const again = await app.request('POST', '/entitlements/check', body, { headers });
  assert.deepEqual([again.status, again.body], [304, '']);
  const dry = await app.request('POST', '/entitlements/check?dryRun=true', body);
  assert.deepEqual([dry.status, dry.body], [200, first.body]);
  assert.equal(await databaseDigest(app), digest);
});

test('two pairs and two hundred take one statement', async () => {
  const customers = [await newPro(), await newPro()].map(({ externalId }) => externalId);
  const slugs = ['sso', 'monthly-calls', 'seats', ...Array.from({ length: 97 }, (_, index) => `none-${index}`)];
  const pairs = customers.flatMap((customerExternalId) =>
    slugs.map((featureSlug) => ({ customerExternalId, featureSlug })),
  );
  const count = async (checks: typeof pairs) => {
    const counted = await app.inEnvironment((work) =>
      countStatements(work, (counting) => checkEntitlements(counting, { checks }, catchUpAll)),
    );
    return { statements: counted.count, allowed: counted.answer.filter((result) => result.allowed).length };
  };
  assert.deepEqual(await count(pairs.slice(0, 2)), { statements: 1, allowed: 2 });
  assert.deepEqual(await count(pairs), { statements: 1, allowed: 6 });
});

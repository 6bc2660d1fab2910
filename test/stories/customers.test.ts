import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);

const path = (externalId: string) => `/customers/${encodeURIComponent(externalId)}`;
const customer = (externalId: string) => ({ customer: { externalId, email: 'a@acme.test', name: 'Acme' } });
const count = (externalId: string) =>
  app.owner.selectFrom('customers').select('id').where('externalId', '=', externalId).execute();

test('a new customer gets the default plan in the same answer', async () => {
  const { data } = await app.post('/customers', customer('new'));
  assert.equal(data.customer.externalId, 'new');
  assert.match(data.customer.invoiceNumberBase, /^[A-F0-9]{7}$/);
  assert.equal(data.customer.organizationId, app.id);
  assert.equal(data.customer.livemode, false);
  assert.equal(data.customer.billingAddress, null);
  assert.equal(data.subscription.name, 'Free Subscription');
  assert.equal(data.subscription.status, 'active');
  assert.equal(data.subscription.current, true);
  assert.equal(data.subscription.isFreePlan, true);
  assert.equal(data.subscription.interval, 'month');
  assert.deepEqual(
    data.subscriptionItems.map((item: { name: string; quantity: number }) => [item.name, item.quantity]),
    [['Monthly', 1]],
  );
  assert.deepEqual(await plans.events(data.customer.id), ['customer.created']);
  assert.deepEqual(await plans.events(data.subscription.id), ['subscription.created']);
  assert.equal(await plans.calls('new', data.subscription.id), 500);
});

test('an external id may hold anything, percent-encoded in the path', async () => {
  const externalId = 'team/Zoë @ 100%?#.. ';
  await app.post('/customers', customer(externalId));
  assert.equal((await app.get(path(externalId))).customer.externalId, externalId);
  const longest = '€'.repeat(255);
  await app.post('/customers', customer(longest));
  assert.equal((await app.get(path(longest))).customer.externalId, longest);
  for (const wrong of ['', 'x'.repeat(256)]) {
    assert.equal((await app.request('POST', '/customers', customer(wrong))).status, 400);
  }
});

test('an unknown external id is answered with the code NOT_FOUND', async () => {
  for (const [method, tail] of [
    ['GET', ''],
    ['PUT', ''],
    ['GET', '/billing'],
    ['POST', '/archive'],
  ] as const) {
    const answer = await app.request(
      method,
      `/customers/nobody${tail}`,
      method === 'GET' ? undefined : tail === '' ? { customer: {} } : {},
    );
    assert.deepEqual([answer.status, answer.body.code], [404, 'NOT_FOUND'], `${method} ${tail}`);
  }
});

test('twenty customers made at once with one external id are one customer', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => app.request('POST', '/customers', customer('rush'))),
  );
  const [first, ...others] = answers.map(({ status, body }) => [status, body.data]);
  assert.equal(first?.[0], 200);
  for (const other of others) assert.deepEqual(other, first);
  assert.equal((await count('rush')).length, 1);
});

test('a customer with other data under a taken external id is refused', async () => {
  await app.post('/customers', customer('taken'));
  const { customer: same } = customer('taken');
  const lost = await app.request('POST', '/customers', { customer: { ...same, domain: 'other.test' } });
  assert.deepEqual([lost.status, lost.body.code], [409, 'CONFLICT']);
  assert.match(lost.body.message, /external id taken /);
  assert.equal(lost.headers.get('x-should-retry'), 'false');
  assert.equal((await app.get('/customers/taken')).customer.domain, null);
});

test('without its plan a customer is not made either', async () => {
  const table = sql.table('subscription_items');
  await sql`alter table ${table} add constraint nothing_is_free check (unit_price > 0) not valid`.execute(app.owner);
  const answer = await app.request('POST', '/customers', customer('half'));
  await sql`alter table ${table} drop constraint nothing_is_free`.execute(app.owner);
  assert.equal(answer.status, 500);
  assert.equal((await count('half')).length, 0);
});

test('a dry run answers the customer that would be made, and makes none', async () => {
  const answer = await app.request('POST', '/customers?dryRun=true', customer('dry'));
  assert.equal(answer.status, 200);
  assert.equal(answer.body.data.subscription.status, 'active');
  assert.equal((await app.request('GET', '/customers/dry')).status, 404);
});

test('an update changes what it names, and tells of it when something did change', async () => {
  const { data } = await app.post('/customers', customer('change'));
  const billingAddress = { name: 'Acme Ltd', address: { country: 'AT', line1: 'Graben 1', city: 'Wien' } };
  const sent = { id: 'other', name: 'Acme Ltd', logoURL: 'https://acme.test/logo.png', billingAddress };
  const { customer: changed } = await app.put('/customers/change', { customer: sent, externalId: 'change' });
  assert.deepEqual(changed, { ...data.customer, ...sent, id: data.customer.id, updatedAt: changed.updatedAt });
  await app.put('/customers/change', { customer: sent });
  await app.put('/customers/change', { customer: {} });
  assert.deepEqual(await plans.events(data.customer.id), ['customer.created', 'customer.updated']);
  const { customer: cleared } = await app.put('/customers/change', { customer: { logoURL: null, archived: true } });
  assert.deepEqual([cleared.logoURL, cleared.name, cleared.archived], [null, 'Acme Ltd', false]);
});

test('an upsert creates the customer with its plan, and then updates it', async () => {
  const upsert = (body: object) => app.put('/customers/upserted?upsert=true', { customer: body });
  const incomplete = await app.request('PUT', '/customers/upserted?upsert=true', { customer: { name: 'Acme' } });
  assert.equal(incomplete.status, 400);
  assert.match(incomplete.body.message, /customer\.email/);
  const { customer: made } = await upsert({ email: 'a@acme.test', name: 'Acme', metadata: { crm: 'a-1' } });
  assert.deepEqual([made.externalId, made.name, made.metadata], ['upserted', 'Acme', { crm: 'a-1' }]);
  assert.equal((await app.get('/customers/upserted/billing')).currentSubscription.isFreePlan, true);
  const { customer: changed } = await upsert({ name: 'Acme Ltd' });
  assert.deepEqual([changed.id, changed.name, changed.email], [made.id, 'Acme Ltd', 'a@acme.test']);
  await upsert({ name: 'Acme Ltd' });
  assert.deepEqual(await plans.events(made.id), ['customer.created', 'customer.updated']);
});

test('ten upserts at once make one customer, with what one of them sent last', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `Acme ${index}`);
  const answers = await Promise.all(
    names.map((name) => app.request('PUT', '/customers/crowd?upsert=true', { customer: { name, email: 'a@b.test' } })),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    Array(10).fill(200),
  );
  assert.deepEqual(answers.map(({ body }) => body.customer.name).sort(), names);
  assert.equal((await count('crowd')).length, 1);
});

test('a customer gets another external id, which must be free', async () => {
  const { data } = await app.post('/customers', customer('before'));
  await app.post('/customers', customer('occupied'));
  const rename = (externalId: string, to: string, query = '') =>
    app.request('PUT', `/customers/${externalId}${query}`, { customer: { externalId: to } });
  const taken = await rename('before', 'occupied');
  assert.deepEqual([taken.status, taken.body.code], [409, 'CONFLICT']);
  const { body } = await rename('before', 'after');
  assert.deepEqual([body.customer.id, body.customer.externalId], [data.customer.id, 'after']);
  assert.equal((await app.get('/customers/after/billing')).currentSubscription.id, data.subscription.id);
  assert.equal((await app.request('GET', '/customers/before')).status, 404);
  assert.equal((await rename('before', 'after')).status, 404);
  assert.deepEqual(await plans.events(data.customer.id), ['customer.created', 'customer.updated']);
  assert.equal((await rename('after', 'later', '?upsert=true')).status, 400);
  await app.post('/customers', customer('before'));

  const free = await Promise.all([rename('before', 'wanted'), rename('after', 'wanted')]);
  assert.deepEqual(free.map(({ status }) => status).sort(), [200, 409]);
});

test('a billing address without a country is refused', async () => {
  await app.post('/customers', customer('nowhere'));
  const billingAddress = { address: { line1: 'Graben 1' } };
  const answer = await app.request('PUT', '/customers/nowhere', { customer: { billingAddress } });
  assert.equal(answer.status, 400);
  assert.match(answer.body.message, /customer\.billingAddress\.address\.country/);
});

test('the list filters by email, external id and archived', async () => {
  await app.post('/customers', { customer: { externalId: 'listed', email: 'listed@acme.test', name: 'Acme' } });
  const ids = async (query: string) =>
    (await app.get(`/customers?${query}`)).data.map((row: { externalId: string }) => row.externalId);
  assert.deepEqual(await ids('email=listed@acme.test'), ['listed']);
  assert.deepEqual(await ids('externalId=listed&archived=false'), ['listed']);
  assert.deepEqual(await ids('externalId=listed&archived=true'), []);
});

test('archiving ends every subscription, frees the external id and is told once', async () => {
  const { data } = await app.post('/customers', customer('leaving'));
  const { customer: archived } = await app.post('/customers/leaving/archive');
  assert.equal(archived.archived, true);
  const ended = await plans.subscription(data.subscription.id);
  assert.deepEqual([ended.status, ended.cancellationReason, ended.current], ['canceled', 'customer_archived', false]);
  const again = await app.post('/customers/leaving/archive', {});
  assert.deepEqual(again.customer, archived);
  assert.deepEqual(await plans.events(data.customer.id), ['customer.created', 'customer.updated']);
  assert.deepEqual(await plans.events(ended.id), ['subscription.created', 'subscription.canceled']);
  const rows = await app.get(`/subscriptions?customerId=${data.customer.id}`);
  assert.equal(rows.total, 1, 'no default plan is given back');

  for (const [method, tail] of [
    ['GET', ''],
    ['GET', '/billing'],
    ['PUT', ''],
  ] as const) {
    const answer = await app.request(
      method,
      `/customers/leaving${tail}`,
      method === 'GET' ? undefined : { customer: {} },
    );
    assert.equal(answer.status, 404);
  }
  const refused = { customerExternalId: 'leaving', priceSlug: 'pro-monthly' };
  assert.equal((await app.request('POST', '/subscriptions', refused)).status, 400);

  const { data: next } = await app.post('/customers', customer('leaving'));
  assert.notEqual(next.customer.id, data.customer.id);
  assert.equal((await app.get('/customers/leaving')).customer.id, next.customer.id);
  assert.equal((await app.post('/customers/leaving/archive')).customer.id, next.customer.id);
});

test('a customer that is made archived is on record only', async () => {
  const { data } = await app.post('/customers', { customer: { ...customer('record').customer, archived: true } });
  assert.equal(data.customer.archived, true);
  assert.equal(data.subscription, undefined);
  assert.equal((await app.request('GET', '/customers/record')).status, 404);
});

test('a default plan that is paid once does not renew and has no periods', async () => {
  const { pricingModel } = await app.post('/pricing-models', { pricingModel: { name: 'Bare' } });
  const made = { ...customer('bare').customer, pricingModelId: pricingModel.id };
  const { data } = await app.post('/customers', { customer: made });
  const { subscription } = data;
  assert.deepEqual([subscription.renews, subscription.status, subscription.current], [false, 'active', true]);
  for (const field of ['interval', 'intervalCount', 'billingCycleAnchorDate', 'currentBillingPeriodEnd', 'trialEnd']) {
    assert.equal(subscription[field], null, field);
  }
  assert.deepEqual((await app.get('/customers/bare/billing')).currentSubscription.id, subscription.id);
});

test('one external id in two pricing models asks which is meant', async () => {
  const { pricingModelId } = await insertFixture(app);
  await app.post('/customers', customer('acme'));
  const ambiguous = await app.request('GET', '/customers/acme');
  assert.equal(ambiguous.status, 400);
  assert.match(ambiguous.body.message, /pricingModelId/);
  const named = await app.get(`/customers/acme?pricingModelId=${pricingModelId}`);
  assert.equal(named.customer.pricingModelId, pricingModelId);
  const made = { ...customer('chosen').customer, pricingModelId };
  const { data } = await app.post('/customers', { customer: made });
  assert.equal(data.customer.pricingModelId, pricingModelId);
  assert.equal(data.subscription, undefined, 'that pricing model has no default product');
});

test('another organization does not see the customer', async () => {
  await app.post('/customers', customer('private'));
  const other = await app.newOrganization();
  for (const key of [other.testKey, app.liveKey]) {
    assert.equal((await app.request('GET', '/customers/private', undefined, { key })).status, 404);
  }
});

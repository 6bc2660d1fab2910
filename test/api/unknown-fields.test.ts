import assert from 'node:assert/strict';
import { test } from 'node:test';
import { databaseDigest } from '../support/digest.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { newCustomer } from '../support/shop.ts';

const app = await startTestApp();
const messages = ({ status, body }: Answer) => {
  assert.equal(status, 400, JSON.stringify(body));
  return Object.fromEntries(body.issues.map((issue: Body) => [issue.path.join('.'), issue.message]));
};

test('fields and parameters that an operation does not have are refused with the nearest known one', async () => {
  const digest = await databaseDigest(app);
  assert.deepEqual(messages(await app.request('GET', '/subscriptions?customerid=cust_1&limit=1')), {
    customerid: 'is not a parameter of this operation: did you mean customerId?',
  });
  const customer = { externalId: 'acme', emial: 'a@acme.test', name: 'Acme', colour: 'red' };
  const found = messages(await app.request('POST', '/customers', { customer }));
  assert.equal(found['customer.emial'], 'is not a field of this operation: did you mean email?');
  assert.match(found['customer.colour'] ?? '', /^is not a field of this operation: known here are email, name, /);
  assert.match(found['customer.email'] ?? '', /must be a string/);
  assert.equal(Object.keys(found).length, 3);
  assert.match(
    messages(await app.request('POST', '/subscriptions/sub_1/uncancel', { now: true })).now ?? '',
    /no fields/,
  );
  assert.match(messages(await app.request('GET', '/utils/ping?loud=1')).loud ?? '', /has no parameters/);
  assert.equal(await databaseDigest(app), digest);
});

test('an unknown field of a nested object or of one variant is named by its path', async () => {
  const price = { type: 'single_payment', productId: 'prod_1', unitPrice: 1, tiers: [{ upTo: 5 }] };
  assert.deepEqual(Object.keys(messages(await app.request('POST', '/prices', { price }))), ['price.tiers']);
  const address = { country: 'AT', postcode: '1010' };
  const customer = { externalId: 'a', email: 'a', name: 'A', billingAddress: { address } };
  const found = messages(await app.request('POST', '/customers', { customer }));
  assert.match(found['customer.billingAddress.address.postcode'] ?? '', /postal_code/);
});

test('an unknown field of a usage event is named with its position, as JSON and as lines', async () => {
  const { freeId: subscriptionId } = await newCustomer(app, 'user');
  const event = (n: number, more: object = {}) => ({
    subscriptionId,
    usageMeterSlug: 'calls',
    transactionId: `t${n}`,
    amount: 1,
    ...more,
  });
  const usageEvents = [event(0), event(1, { amuont: 2 }), event(2, { properties: { anything: { goes: 1 } } })];
  const expected = { 'usageEvents.1.amuont': 'is not a field of this operation: did you mean amount?' };
  assert.deepEqual(messages(await app.request('POST', '/usage-events/bulk', { usageEvents })), expected);
  const headers = { 'content-type': 'application/x-ndjson' };
  const lines = usageEvents.map((each) => JSON.stringify(each)).join('\n');
  assert.deepEqual(messages(await app.request('POST', '/usage-events/bulk', lines, { headers })), expected);
});

test('an environment may ignore unknown fields: each answer names them', async () => {
  const { testKey: key } = await app.newOrganization();
  await app.put('/settings', { settings: { unknownFields: 'ignore' } }, { key });
  const customer = { externalId: 'acme', email: 'a@acme.test', name: 'Acme', größe: 5, nested: { a: 1 } };
  const created = await app.request('POST', '/customers', { customer, note: 'x' }, { key });
  assert.equal(created.status, 200);
  assert.equal(created.headers.get('tollkeeper-ignored'), 'customer.gr%C3%B6%C3%9Fe, customer.nested, note');
  const listed = await app.request('GET', '/subscriptions?customerName=acme', undefined, { key });
  assert.equal(listed.headers.get('tollkeeper-ignored'), 'customerName');
  const subscriptionId = created.body.data.subscription.id;
  const usageEvent = { subscriptionId, usageMeterSlug: 'none', transactionId: 't', amount: 1, note: 'x' };
  const used = await app.request('POST', '/usage-events', { usageEvent }, { key });
  assert.deepEqual([used.status, used.body.code], [404, 'NOT_FOUND']);
  assert.equal(used.headers.get('tollkeeper-ignored'), 'usageEvent.note');
  await app.put('/settings', { settings: { unknownFields: 'refuse' } }, { key });
  assert.equal((await app.request('POST', '/usage-events', { usageEvent }, { key })).status, 400);
});

test('a field that clients of the reference send is ignored everywhere, and named', async () => {
  await newCustomer(app, 'kept');
  const customer = { name: 'Kept', archived: true };
  const { status, body, headers } = await app.request('PUT', '/customers/kept', { customer });
  assert.deepEqual(
    [status, body.customer.archived, headers.get('tollkeeper-ignored')],
    [200, false, 'customer.archived'],
  );
});

test('a cursor of another list is refused, because its filters would be lost', async () => {
  await newCustomer(app, 'first');
  await newCustomer(app, 'second');
  const { nextCursor } = await app.get('/customers?archived=false&limit=1');
  const { status, body } = await app.request('GET', `/subscriptions?cursor=${encodeURIComponent(nextCursor)}`);
  assert.deepEqual([status, body.code], [400, 'BAD_REQUEST']);
});

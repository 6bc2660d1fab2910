import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { queueSchemaOf } from '../../src/database/database.ts';
import type { Outbound } from '../../src/jobs/outbound.ts';
import { Dispatcher } from '../../src/webhooks/jobs-sending.ts';
import { type Body, startTestApp, testWebhookServices } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { meet } from '../support/race.ts';
import { newCard, newCustomer } from '../support/shop.ts';
import { assertSound, brokenInvariants } from '../support/sound.ts';

// A customer who used everything there is, and then asks for its personal data to be erased.

const app = await startTestApp();
const plans = await setUpPlans(app);
const returns = { successUrl: 'https://app.test/paid?who=quuxUrl', cancelUrl: 'https://app.test/plans' };

/** Texts that occur nowhere but in what the customer or its seller told of it. */
const personal = ['quux', '17 Zebra Lane', '"4242"'];
const externalId = 'quux-1';
const address = { line1: '17 Zebra Lane', city: 'Springfield', country: 'DE' };

const schemas = app.cells.flatMap(({ name }) => [name, queueSchemaOf(name)]);
/** The tables in which one of the texts stands, in any cell and whatever the column. */
async function tablesWith(texts: readonly string[]): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname = any(${schemas}) order by 1`.execute(app.owner);
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await sql<{ text: string }>`select row_to_json(r)::text as text from ${sql.raw(name)} r`.execute(
      app.owner,
    );
    const all = rows.map(({ text }) => text.toLowerCase()).join('\n');
    if (texts.some((text) => all.includes(text.toLowerCase()))) found.push(name.replace(/^.*\./, ''));
  }
  return found;
}

const cancelNow = (id: string) => app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
const erase = (of: string) => app.request('POST', `/customers/${of}/erase`, {});
const useCalls = (subscriptionId: string, transactionId: string) =>
  app.request('POST', '/usage-events', {
    usageEvent: {
      subscriptionId,
      priceSlug: 'call-overage',
      amount: 7,
      transactionId,
      properties: { user: 'quuxUser' },
    },
  });

const webhook = { name: 'All', url: 'https://app.test/hook', filterTypes: [], pricingModelId: plans.pricingModelId };
await app.post('/webhooks', { webhook });
const person = { email: 'zelda@quux.test', name: 'Zelda Quux', userId: 'quuxId', billingAddress: { address } };
const { customerId } = await newCustomer(app, externalId, { ...person, metadata: { note: 'quuxNote' } });
await newCard(app, customerId, 'pm_card_visa', { metadata: { bank: 'quuxBank' } });
const own = { name: 'Plan of Quux', metadata: { po: 'quuxOrder' } };
const { id: subscriptionId } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', ...own });
await useCalls(subscriptionId, 'call-1');
await app.post(`/resource-claims/${subscriptionId}/claim`, { resourceSlug: 'seat', externalId: 'quux-seat' });
const session = { ...returns, type: 'product', customerExternalId: externalId, priceSlug: 'team-monthly' };
const { checkoutSession } = await app.post('/checkout-sessions', {
  checkoutSession: { ...session, outputName: 'For Quux', metadata: { from: 'quuxMail' } },
});
// A draft and an item that are deleted stay in the log, and the draft in an event.
const line = { description: 'Visit of Quux', unitAmount: 500 };
const { invoice: draft } = await app.post('/invoices', {
  invoice: { customerExternalId: externalId, memo: 'Dear Quux', lines: [line, line] },
});
await app.put(`/invoices/${draft.id}`, { invoice: { lines: [{ ...line, description: 'Call of Quux' }] } });
await app.request('DELETE', `/invoices/${draft.id}`);
const { invoiceItem } = await app.post('/invoice-items', { invoiceItem: { customerExternalId: externalId, ...line } });
await app.request('DELETE', `/invoice-items/${invoiceItem.id}`);
const change = { customer: { name: 'Zelda Quux-Byron' } };
const key = { headers: { 'idempotency-key': 'rename' } };
await app.put(`/customers/${externalId}`, change, key);
const { portalSession } = await app.post(`/customers/${externalId}/portal-sessions`, {});

test('a customer with a paid plan is refused, and a dry run erases nothing', async () => {
  const { status, body } = await erase(externalId);
  assert.deepEqual([status, body.reason], [409, 'customer_subscribed']);
  assert.match(body.message, new RegExp(subscriptionId));
  await cancelNow(subscriptionId);
  const { erasure } = await app.post(`/customers/${externalId}/erase?dryRun=true`, {});
  assert.deepEqual(erasure.kept[0], {
    record: 'invoice',
    count: 1,
    reason: 'Tax and commercial law require invoices as they were issued, with the name and address of the buyer.',
  });
  assert.equal((await app.get(`/customers/${externalId}`)).customer.name, 'Zelda Quux-Byron');
});

test('an erasure leaves personal data in the invoice only, and a repeat by either id tells when it is done', async () => {
  const invoices = await app.get(`/invoices?customerId=${customerId}`);
  const { erasure } = (await erase(externalId)).body;
  const counts = (records: Body[]) => Object.fromEntries(records.map(({ record, count }) => [record, count]));
  assert.deepEqual([erasure.customerId, erasure.completedAt], [customerId, null]);
  const { paymentMethod, subscription, resourceClaim, checkoutSession: sessions } = counts(erasure.erased);
  // The paid plan, and the free one before and after it.
  assert.deepEqual([paymentMethod, subscription, resourceClaim, sessions], [1, 3, 1, 1]);
  assert.equal(counts(erasure.pending).usageEvent, 1);
  await app.runJobs();
  const repeated = (await erase(externalId)).body.erasure;
  assert.deepEqual((await erase(customerId)).body.erasure, repeated);
  assert.notEqual(repeated.completedAt, null);
  assert.deepEqual(repeated.pending, []);
  assert.deepEqual(repeated.kept, erasure.kept);
  assert.deepEqual(await tablesWith(personal), ['invoices']);
  assert.deepEqual((await app.get(`/invoices?customerId=${customerId}`)).data, invoices.data);
  await assertSound(app);
});

test('the audit log tells who erased the customer, and which columns changed, but no value', async () => {
  const { data } = await app.get('/audit-log?action=POST%20/customers/%7BexternalId%7D/erase&record=customer');
  const [entry] = data;
  assert.equal(entry.actor.type, 'api_key');
  assert.deepEqual([entry.before.name, entry.after.name, entry.after.archived], ['(erased)', '(erased)', true]);
  assert.equal(typeof entry.after.erasedAt, 'number');
});

test('events stay in place, without the record and the former external id', async () => {
  const events = (await app.get(`/events?objectId=${customerId}&limit=100`)).data;
  assert.deepEqual(
    events.map(({ type, payload }: Body) => [type, payload.customer.externalId, payload.data?.name ?? null]),
    [
      ['customer.created', customerId, null],
      ['customer.updated', customerId, null],
      ['customer.updated', customerId, 'Erased customer'],
      ['customer.erased', customerId, 'Erased customer'],
    ],
  );
});

test('nothing that comes late brings personal data back', async () => {
  const [invoice] = (await app.get(`/invoices?customerId=${customerId}`)).data;
  const { invoiceLineItems } = await app.get(`/invoices/${invoice.id}`);
  const lines = [{ invoiceLineItemId: invoiceLineItems[0].id, amount: 100 }];
  const credit = (creditNote: Body) =>
    app.request('POST', `/invoices/${invoice.id}/credit-notes`, {
      creditNote: { lines, settle: 'refund', ...creditNote },
    });
  const late: [string, Promise<{ status: number; body: Body }>, number][] = [
    ['a repeated request', app.request('PUT', `/customers/${externalId}`, change, key), 409],
    ['a change', app.request('PUT', `/customers/${customerId}`, change), 404],
    ['usage', useCalls(subscriptionId, 'call-2'), 400],
    ['metadata', app.request('PUT', `/subscriptions/${subscriptionId}`, { subscription: own }), 400],
    [
      'metadata of an invoice',
      app.request('PUT', `/invoices/${invoice.id}`, { invoice: { metadata: own.metadata } }),
      400,
    ],
    ['a reason', credit({ reason: 'Quux was ill.' }), 400],
    ['a credit note', credit({}), 200],
    ['a card', app.request('POST', '/payment-methods', { paymentMethod: { customerId, token: 'pm_card_visa' } }), 400],
  ];
  for (const [what, answer, status] of late) assert.equal((await answer).status, status, what);
  assert.equal((await fetch(portalSession.url)).status, 403);
  assert.equal((await app.get(`/checkout-sessions/${checkoutSession.id}`)).checkoutSession.status, 'expired');
  assert.deepEqual(await tablesWith(personal), ['invoices']);
});

test('the external id is free for a new customer, whom the key of another organization cannot erase', async () => {
  await newCustomer(app, externalId, { ...person });
  const { testKey } = await app.newOrganization();
  const foreign = await app.request('POST', `/customers/${externalId}/erase`, {}, { key: testKey });
  assert.equal(foreign.status, 404);
  const { body } = await erase(externalId);
  assert.notEqual(body.erasure.customerId, customerId);
});

test('a customer that owes is refused by the invoice, and two erasures at once are one', async () => {
  await app.put('/settings', { settings: { netTermsDays: 14 } });
  const debtor = await plans.newCustomer();
  const owed = await plans.subscribe({ customerId: debtor.customerId, priceSlug: 'pro-monthly' });
  await cancelNow(owed.id);
  const [invoice] = (await app.get(`/invoices?customerId=${debtor.customerId}`)).data;
  const refused = await erase(debtor.externalId);
  assert.deepEqual([refused.status, refused.body.reason], [409, 'customer_owes']);
  await app.post(`/invoices/${invoice.id}/void`, {});
  const rename = app.request('PUT', `/customers/${debtor.externalId}`, { customer: { name: 'Zelda Quux' } });
  const [first, second] = await Promise.all([erase(debtor.externalId), erase(debtor.externalId), rename]);
  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.equal(first.body.erasure.erasedAt, second.body.erasure.erasedAt);
  await app.runJobs();
  assert.deepEqual(await tablesWith(['quux']), ['invoices']);
  await assertSound(app);
});

test('money for the balance that waits for an erasure is refused', async () => {
  const late = await plans.newCustomer();
  const adjustment = { customerExternalId: late.externalId, amount: 500, description: 'For Quux' };
  const [erased, refused] = await meet(
    app,
    { table: 'customers', on: 'update', when: 'new.erased_at is not null' },
    () => erase(late.externalId),
    () => app.request('POST', '/customer-balances/adjust', { adjustment }),
  );
  assert.deepEqual([erased.status, refused?.status], [200, 404]);
  await app.runJobs();
  assert.deepEqual(await tablesWith(['quux']), ['invoices']);
});

test('the answer to a message that was in flight during an erasure is not kept', async () => {
  const { externalId: late } = await plans.newCustomer();
  await app.put(`/customers/${late}`, { customer: { name: 'Zelda Quux' } });
  let erased: Promise<unknown> | undefined;
  const post: Outbound['post'] = async ({ body }) => {
    if (body.includes('Zelda Quux')) {
      erased ??= erase(late).then(() => app.runJobs());
      await erased;
    }
    return { statusCode: 200, retryAfter: null, body, durationMs: 1 };
  };
  const usual = testWebhookServices();
  const services = { ...usual, outbound: { ...usual.outbound, post } };
  for (const { owner } of app.cells)
    await new Dispatcher({ database: owner, services, onError: assert.ifError }).drain();
  assert(erased);
  assert.deepEqual(await tablesWith(['quux']), ['invoices']);
});

test('the invariant finds properties of a usage event that an erasure has left', async () => {
  await app.request('GET', `/customers/${customerId}`);
  const client = await app.cell.ownerPool.connect();
  try {
    await client.query(`begin; update usage_events set properties = '{}'`);
    assert.deepEqual(await brokenInvariants(client, app.owner), ['erasedCustomersLeaveNothing']);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

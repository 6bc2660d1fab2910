import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { assertSound } from '../support/sound.ts';

// Money that arrives outside: no card anywhere, an invoice a month, fourteen days to pay it.

const app = await startTestApp();
const moveTo = (now: string) => app.put('/test-clock', { testClock: { now } });
await moveTo('2026-01-01');
await app.put('/settings', { settings: { netTermsDays: 14 } });
const plans = await setUpPlans(app);
const { customerId, externalId } = await plans.newCustomer();
const { id, status } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });

const invoices = async (): Promise<Body[]> => (await app.get(`/invoices?subscriptionId=${id}`)).data;
const day = (at: number) => new Date(at).toISOString().slice(0, 10);
const facts = ({ invoiceDate, dueDate, status: state, total }: Body) =>
  `${day(invoiceDate)} due ${day(dueDate)}: ${total} ${state}`;

test('where there are terms, a subscription without a card begins, with an open invoice and its credits', async () => {
  assert.equal(status, 'active');
  assert.deepEqual((await invoices()).map(facts), ['2026-01-01 due 2026-01-15: 3000 open']);
  assert.equal(await plans.calls(externalId, id), 1500);
});

test('money that was recorded pays the invoice, and gives no credits again', async () => {
  await moveTo('2026-01-10');
  const [invoice] = await invoices();
  await app.post(`/invoices/${invoice.id}/record-payment`, { payment: { description: 'Bank transfer' } });
  assert.deepEqual((await invoices()).map(facts), ['2026-01-01 due 2026-01-15: 3000 paid']);
  assert.equal(await plans.calls(externalId, id), 1500);
});

test('a cancellation at the end of the period is taken back without a card, because there are terms', async () => {
  const atEnd = { cancellation: { timing: 'at_end_of_current_billing_period' } };
  await app.post(`/subscriptions/${id}/cancel`, atEnd);
  assert.equal((await app.post(`/subscriptions/${id}/uncancel`, {})).subscription.status, 'active');
  await app.post(`/subscriptions/${id}/cancel`, atEnd);
  await app.put('/settings', { settings: { netTermsDays: 0 } });
  assert.equal((await app.request('POST', `/subscriptions/${id}/uncancel`, {})).status, 400);
  await app.put('/settings', { settings: { netTermsDays: 14 } });
  await app.post(`/subscriptions/${id}/uncancel`, {});
});

test('an invoice that is not paid by its due date makes the subscription past due, and money makes it good', async () => {
  await moveTo('2026-02-14');
  assert.equal((await plans.subscription(id)).status, 'active');
  await moveTo('2026-02-15');
  assert.equal((await plans.subscription(id)).status, 'past_due');
  const invoice = (await invoices()).at(-1);
  await app.post(`/invoices/${invoice.id}/record-payment`, { payment: {} });
  assert.equal((await plans.subscription(id)).status, 'active');
  await assertSound(app);
});

test('terms of a customer take the place of those of the settings, and its documents bear them', async () => {
  await moveTo('2026-03-01');
  const billingTerms = {
    ...{
      netTermsDays: 45,
      purchaseOrderNumber: 'PO-7',
      memo: 'Thank you.',
      timeZone: 'Pacific/Auckland',
      language: 'de',
    },
    customFields: [{ name: 'Cost centre', value: '4711' }],
  };
  const named = await plans.newCustomer();
  const { customer: fresh } = (
    await app.post('/customers', {
      customer: {
        externalId: 'terms',
        email: 'a@b.test',
        name: 'Terms',
        reviewHours: 5,
        billingTerms: { netTermsDays: 0 },
      },
    })
  ).data;
  assert.deepEqual([fresh.reviewHours, fresh.billingTerms], [5, { netTermsDays: 0 }]);
  const put = (customer: object) => app.request('PUT', `/customers/${named.externalId}`, { customer });
  assert.deepEqual((await put({ billingTerms })).body.customer.billingTerms, billingTerms);
  const made = await plans.subscribe({ customerId: named.customerId, priceSlug: 'pro-monthly' });
  const [invoice] = (await app.get(`/invoices?subscriptionId=${made.id}`)).data;
  assert.equal(facts(invoice), '2026-03-01 due 2026-04-15: 3000 open');
  assert.deepEqual([invoice.purchaseOrderNumber, invoice.memo], ['PO-7', 'Thank you.']);
  const page = String((await app.request('GET', `/invoices/${invoice.id}/html`)).body);
  // At midnight in UTC it is noon in Auckland, in summer 13:00.
  for (const part of ['PO-7', 'Thank you.', 'Cost centre', '4711', 'Rechnung', '1. März 2026', '15. April 2026'])
    assert(page.includes(part), part);
  // An invoice that somebody writes keeps its own, and the customer's where it has none.
  const lines = [{ description: 'Workshop', unitAmount: 100 }];
  const write = async (more: object) => {
    const { invoice: draft } = await app.post('/invoices', {
      invoice: { customerId: named.customerId, lines, ...more },
    });
    return (await app.post(`/invoices/${draft.id}/finalize`, {})).invoice;
  };
  const own = await write({ purchaseOrderNumber: 'PO-8', netTermsDays: 5 });
  assert.deepEqual([own.purchaseOrderNumber, own.memo, day(own.dueDate)], ['PO-8', 'Thank you.', '2026-03-06']);
  assert.equal(day((await write({})).dueDate), '2026-04-15');

  // None are left of terms that say nothing, and an invoice that is made keeps its buyer.
  assert.equal((await put({ billingTerms: { memo: null, customFields: [] } })).body.customer.billingTerms, undefined);
  assert(String((await app.request('GET', `/invoices/${invoice.id}/html`)).body).includes('4711'));
  for (const bad of [
    { netTermsDays: 366 },
    { language: 'xx' },
    { timeZone: 'Mars' },
    { invoiceEmails: ['nobody'] },
    { fee: 1 },
  ]) {
    const { status: code, body } = await put({ billingTerms: bad });
    assert.equal(code, 400, JSON.stringify(bad));
    assert.match(body.message, new RegExp(Object.keys(bad)[0] ?? ''));
  }
  await assertSound(app);
});

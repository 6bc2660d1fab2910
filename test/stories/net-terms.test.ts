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

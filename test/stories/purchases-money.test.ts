import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settleCharges } from '../../src/billing/settle-payment.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpShop } from '../support/purchases-fixture.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const shop = await setUpShop(app);
const { plans, packId, bookId, proId } = shop;

const statusOf = async ({ id }: Body) => (await shop.purchase(id)).status;

/** What the bank says of the purchase's only payment. */
async function reverse(purchase: Body): Promise<void> {
  const [payment] = await shop.payments(purchase.invoiceId);
  const outcome = { result: 'reversed', code: 'debit_returned', message: 'Returned by the bank.' } as const;
  await app.inEnvironment((work) => settleCharges(work, [{ paymentId: payment?.id, outcome }]));
}

test('a refund of a part and then of the rest shows on the purchase, and takes its credits back', async () => {
  const { customerId, externalId, freeId } = await plans.newCustomer('pm_card_visa');
  const bought = await shop.buy({ customerId, productId: packId });
  const [payment] = await shop.payments(bought.invoiceId);
  await app.post(`/payments/${payment?.id}/refund`, { partialAmount: 300 });
  assert.equal(await statusOf(bought), 'partial_refund');
  const billing = async () => (await app.get(`/customers/${externalId}/billing`)).purchases.length;
  assert.equal(await billing(), 1);
  await app.post(`/payments/${payment?.id}/refund`, {});
  assert.equal(await statusOf(bought), 'refunded');
  assert.equal(await billing(), 0, 'what was given back was not bought');
  assert.equal((await shop.invoice(bought.invoiceId)).invoice.status, 'refunded');
  assert.equal(await plans.calls(externalId, freeId), 500);
});

test('money that is taken back for what is paid once: it has failed, and is owed until somebody pays it', async () => {
  const { customerId, externalId, freeId } = await plans.newCustomer('pm_card_visa');
  const bought = await shop.buy({ customerId, productId: packId });
  await reverse(bought);
  assert.equal(await statusOf(bought), 'failed');
  assert.equal((await shop.invoice(bought.invoiceId)).invoice.status, 'open');
  await app.post(`/invoices/${bought.invoiceId}/record-payment`, { payment: {} });
  assert.equal(await statusOf(bought), 'paid');
  assert.deepEqual(await shop.events(bought.id), ['purchase.completed'], 'it is told once');
  assert.equal(await plans.calls(externalId, freeId), 1500, 'and gives its credits once');
});

test('money that comes late, when the session has bought again, is money all the same: the later purchase keeps the session', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const checkoutSessionId = 'chckt_session_late';
  const first = await shop.buy({ customerId, productId: bookId, checkoutSessionId });
  await reverse(first);
  const second = await shop.buy({ customerId, productId: bookId, checkoutSessionId });
  assert.notEqual(second.id, first.id);
  await app.post(`/invoices/${first.invoiceId}/record-payment`, { payment: {} });
  const sessionsOf = async (purchase: Body) => {
    const { status, checkoutSessionId: session } = await shop.purchase(purchase.id);
    return [status, session];
  };
  assert.deepEqual(await sessionsOf(first), ['paid', null]);
  assert.deepEqual(await sessionsOf(second), ['paid', checkoutSessionId]);
});

test('money that is taken back for a plan is collected again: the purchase is under way until then', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const bought = await shop.buy({ customerId, productId: proId });
  await reverse(bought);
  assert.equal(await statusOf(bought), 'pending');
  assert.equal((await plans.subscription(bought.subscriptionId)).status, 'past_due');
  await app.post(`/subscriptions/${bought.subscriptionId}/retry-payment`, {});
  assert.equal(await statusOf(bought), 'paid');
  assert.deepEqual(await shop.events(bought.id), ['purchase.completed']);
});

test('a charge that takes its time: nothing is given until the money is there', async () => {
  const { customerId, externalId, freeId } = await plans.newCustomer('pm_card_processing');
  const bought = await shop.buy({ customerId, productId: packId });
  assert.equal(bought.status, 'pending');
  assert.equal((await shop.invoice(bought.invoiceId)).invoice.status, 'awaiting_payment_confirmation');
  assert.equal(await plans.calls(externalId, freeId), 500);
  await app.put('/test-clock', { testClock: { now: instant('2026-06-01T02:00') } });
  assert.equal(await statusOf(bought), 'paid');
  assert.equal(await plans.calls(externalId, freeId), 1500);
});

test('a pack whose payment arrives after its customer was archived is granted on the last plan', async () => {
  const { customerId, externalId, freeId } = await plans.newCustomer('pm_card_processing');
  const bought = await shop.buy({ customerId, productId: packId });
  await app.post(`/customers/${externalId}/archive`, {});
  await app.put('/test-clock', { testClock: { now: instant('2026-06-01T04:00') } });
  assert.equal(await statusOf(bought), 'paid');
  const { data } = await app.get(`/usage-credits?subscriptionId=${freeId}&source=purchase`);
  assert.deepEqual(
    data.map(({ remainingAmount }: Body) => remainingAmount),
    [1000],
  );
});

test('within terms to pay in, what is bought without a card is open until its money is recorded', async () => {
  await app.put('/settings', { settings: { netTermsDays: 30 } });
  const { customerId, externalId, freeId } = await plans.newCustomer();
  const bought = await shop.buy({ customerId, productId: packId });
  assert.equal(bought.status, 'open');
  const { invoice } = await shop.invoice(bought.invoiceId);
  assert.deepEqual([invoice.status, invoice.dueDate - invoice.invoiceDate], ['open', 30 * 86_400_000]);
  await app.post(`/invoices/${invoice.id}/record-payment`, { payment: { amount: 400 } });
  assert.equal(await statusOf(bought), 'open');
  await app.post(`/invoices/${invoice.id}/record-payment`, { payment: {} });
  assert.equal(await statusOf(bought), 'paid');
  assert.equal(await plans.calls(externalId, freeId), 1500);
});

test('where the invoice of a change of plan takes the place of the first one, paying that buys the plan', async () => {
  const { customerId, externalId } = await plans.newCustomer();
  const bought = await shop.buy({ customerId, productId: proId });
  assert.equal(bought.status, 'open');
  await shop.addCard(customerId);
  const newSubscriptionItems = [{ priceSlug: 'pro-monthly', quantity: 2 }];
  await app.post(`/subscriptions/${bought.subscriptionId}/adjust`, {
    adjustment: { timing: 'immediately', newSubscriptionItems },
  });
  assert.equal((await shop.invoice(bought.invoiceId)).invoice.status, 'void');
  assert.equal(await statusOf(bought), 'paid');
  assert.equal((await shop.current(externalId)).subscriptionItems[0].quantity, 2);
});

test('an invoice that is made void or written off has bought nothing', async () => {
  for (const how of ['void', 'mark-uncollectible']) {
    const { customerId } = await plans.newCustomer();
    const bought = await shop.buy({ customerId, productId: bookId });
    await app.post(`/invoices/${bought.invoiceId}/${how}`, {});
    assert.equal(await statusOf(bought), 'failed', how);
  }
  await app.put('/settings', { settings: { netTermsDays: 0 } });
});

test('ten customers pay at once, each for several packs: each gets what it paid for', async () => {
  const buyers = await Promise.all(Array.from({ length: 10 }, () => plans.newCustomer('pm_card_visa')));
  const orders = buyers.flatMap(({ customerId }) => [1, 2, 3].map((quantity) => ({ customerId, quantity })));
  await Promise.all(orders.map((order) => shop.buyOnly({ ...order, productId: packId })));
  await app.runJobs({ all: true });
  for (const { externalId, freeId } of buyers) assert.equal(await plans.calls(externalId, freeId), 6500);
});

test('all invariants hold', () => assertSound(app));

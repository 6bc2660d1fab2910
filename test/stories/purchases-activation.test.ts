import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Activation, activateSubscription } from '../../src/billing/buy.ts';
import { quoteActivation } from '../../src/billing/quote.ts';
import { findCustomer } from '../../src/customers/store.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpShop } from '../support/purchases-fixture.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const shop = await setUpShop(app);
const { plans } = shop;

/** A customer whose paid subscription waits for its first payment. */
async function waiting() {
  const { customerId, externalId } = await plans.newCustomer();
  const subscription = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', quantity: 2 });
  assert.deepEqual([subscription.status, subscription.currentBillingPeriodStart], ['incomplete', null]);
  return { customerId, externalId, id: subscription.id as string };
}

async function activate(activation: Omit<Activation, 'checkoutSessionId'> & Partial<Activation>): Promise<Body> {
  const { purchase } = await app.inCellOf(activation.subscriptionId, (work) =>
    activateSubscription(work, { checkoutSessionId: null, ...activation }),
  );
  await app.runJobs({ all: true });
  return shop.purchase(purchase.id);
}

test('a subscription that waits begins when it is activated: 2 x 3000 are charged, and its credits are there', async () => {
  const { customerId, externalId, id } = await waiting();
  const at = instant('2026-06-01T05:00');
  await app.setClock(at);
  const quoted = await app.inEnvironment(async (work) => {
    const customer = await findCustomer(work, customerId);
    assert(customer);
    return quoteActivation(work, { subscriptionId: id }, customer);
  });
  assert.deepEqual([quoted.total, quoted.dueNow], [6000n, 6000n]);
  const paymentMethodId = await shop.addCard(customerId);
  const bought = await activate({ subscriptionId: id, paymentMethodId });
  assert.deepEqual(
    [bought.status, bought.firstInvoiceValue, bought.pricePerBillingCycle, bought.quantity, bought.subscriptionId],
    ['paid', 6000, 6000, 2, id],
  );
  const current = await shop.current(externalId);
  assert.deepEqual([current.id, current.status, current.defaultPaymentMethodId], [id, 'active', paymentMethodId]);
  assert.deepEqual(
    [current.currentBillingPeriodStart, current.currentBillingPeriodEnd, current.billingCycleAnchorDate],
    [at, instant('2026-07-01T05:00'), at],
  );
  assert.equal(await plans.calls(externalId, id), 3000);
  assert.deepEqual(await shop.events(bought.id), ['purchase.completed']);
  await app.setClock(instant('2026-06-01'));
});

test('a failed charge leaves it waiting, not canceled; it is tried again at the same instant, and later', async () => {
  const { customerId, externalId, id } = await waiting();
  const bad = await shop.addCard(customerId, 'pm_card_chargeCustomerFail');
  for (const _ of ['first', 'second']) {
    const failed = await activate({ subscriptionId: id, paymentMethodId: bad });
    assert.equal(failed.status, 'failed');
    assert.deepEqual([failed.invoiceId, failed.subscriptionId], [null, id]);
    assert.equal((await shop.counts(customerId)).invoices, 0);
    const { status, currentBillingPeriodStart } = await plans.subscription(id);
    assert.deepEqual([status, currentBillingPeriodStart], ['incomplete', null]);
    assert.equal((await shop.current(externalId)).isFreePlan, true, 'it stands on the free plan meanwhile');
  }
  const bought = await activate({ subscriptionId: id, paymentMethodId: await shop.addCard(customerId) });
  assert.equal(bought.status, 'paid');
  assert.deepEqual(await shop.counts(customerId), { subscriptions: 2, invoices: 1, payments: 3, purchases: 1 });
  const current = await shop.current(externalId);
  assert.deepEqual([current.id, current.status], [id, 'active']);
  assert.equal(await plans.calls(externalId, id), 3000);
});

test('the setup fee of a plan that waits is charged with its first payment, once, and after a failed attempt too', async () => {
  const setFee = (setupFeeAmount: bigint | null) =>
    app.owner.updateTable('prices').set({ setupFeeAmount }).where('slug', '=', 'pro-monthly').execute();
  await setFee(5000n);
  const { customerId, id } = await waiting();
  const failed = await activate({
    subscriptionId: id,
    paymentMethodId: await shop.addCard(customerId, 'pm_card_chargeCustomerFail'),
  });
  assert.deepEqual([failed.status, failed.firstInvoiceValue], ['failed', 11_000]);
  const bought = await activate({ subscriptionId: id, paymentMethodId: await shop.addCard(customerId) });
  assert.deepEqual([bought.status, bought.firstInvoiceValue, bought.pricePerBillingCycle], ['paid', 11_000, 6000]);
  const { invoice } = await app.get(`/invoices/upcoming?subscriptionId=${id}`);
  assert.equal(invoice.total, 6000);
  await setFee(null);
});

test('a session activates once, however many ask at once', async () => {
  const { customerId, id } = await waiting();
  const paymentMethodId = await shop.addCard(customerId);
  const requested = { subscriptionId: id, paymentMethodId, checkoutSessionId: 'chckt_session_activate' };
  const bought = await Promise.all(Array.from({ length: 5 }, () => activate(requested)));
  assert.equal(new Set(bought.map((purchase) => purchase.id)).size, 1);
  const { data } = await app.get(`/payments?subscriptionId=${id}`);
  assert.deepEqual(
    data.map(({ amount, status }: Body) => [amount, status]),
    [[6000, 'succeeded']],
  );
});

test('a discount that takes everything off leaves nothing to wait for: the plan is active without a card', async () => {
  const { code } = await shop.discount({ amount: 100 });
  const { customerId, externalId } = await plans.newCustomer();
  const { id } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', discountCode: code });
  const { id: currentId, status } = await shop.current(externalId);
  assert.deepEqual([currentId, status], [id, 'active']);
});

test('what does not wait for its first payment is not activated, nor with the card of somebody else', async () => {
  const { customerId, id } = await waiting();
  const other = await plans.newCustomer('pm_card_visa');
  const refuses = (subscriptionId: string, paymentMethodId: string | null, message: RegExp) =>
    assert.rejects(activate({ subscriptionId, paymentMethodId: paymentMethodId ?? '' }), { message });
  await refuses(id, other.paymentMethodId, /must be a payment method of customer/);
  await refuses(other.freeId, other.paymentMethodId, /cannot be activated: its status is active/);
  await refuses('sub_none', other.paymentMethodId, /No subscription/);
  const slow = await shop.addCard(customerId, 'pm_card_processing');
  assert.equal((await activate({ subscriptionId: id, paymentMethodId: slow })).status, 'pending');
  await refuses(id, slow, /its first payment is in progress/);
});

for (const [when, canceledAt] of [
  ['at the instant of its request', instant('2026-06-01')],
  ['a day later', instant('2026-06-02')],
] as const)
  test(`a subscription that is canceled while its first payment is under way, ${when}, stays so, and its invoice is paid`, async () => {
    const { customerId, id } = await waiting();
    const paymentMethodId = await shop.addCard(customerId);
    const { purchase } = await app.inEnvironment((work) =>
      activateSubscription(work, { subscriptionId: id, paymentMethodId, checkoutSessionId: null }),
    );
    await app.setClock(canceledAt);
    assert.equal((await plans.subscription(id)).status, 'incomplete', 'it does not expire meanwhile');
    await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
    await app.runJobs({ all: true });
    const paid = await shop.purchase(purchase.id);
    assert.equal((await plans.subscription(id)).status, 'canceled');
    const { invoice } = await shop.invoice(paid.invoiceId);
    assert.deepEqual([paid.status, invoice.status, invoice.total], ['paid', 'paid', 6000]);
    assert.deepEqual(
      [invoice.billingPeriodStartDate, invoice.billingPeriodEndDate],
      [instant('2026-06-01'), instant('2026-07-01')],
    );
  });

test('all invariants hold', () => assertSound(app));

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { april, day } from '../support/adjust-fixture.ts';
import { eventsOf } from '../support/charge.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { newCustomer as customerOf, meter, plan } from '../support/shop.ts';
import { startStripeWorld } from '../support/stripe-world.ts';

const { stripe, app, intentsOf, intent: onlyIntent, payment: onlyPayment, ...world } = await startStripeWorld();
const { newCustomer, subscribe, subscriptionStatus, runDueWork } = world;

test('a subscription of 30.00 is paid by an off-session payment intent that carries our ids', async () => {
  const customer = await newCustomer('pm_card_visa');
  const { status, body } = await subscribe(customer);
  assert.deepEqual([status, body.subscription?.status], [200, 'active']);
  const payment = await onlyPayment(customer);
  const { amount, settlementDate, receiptNumber, receiptURL } = payment;
  assert.deepEqual([payment.status, amount, receiptNumber], ['succeeded', 3000, '1234-5678']);
  assert.ok(settlementDate >= payment.chargeDate && receiptURL.startsWith('https://'));
  const intent = onlyIntent(payment.id);
  assert.deepEqual([intent.amount, intent.currency, intent.status], [3000, 'usd', 'succeeded']);
  assert.deepEqual(intent.metadata, { environment_id: String(app.testEnvironmentId), payment_id: payment.id });
  assert.equal(stripe.calls.find((call) => call.path === '/v1/payment_intents')?.key, payment.id);
});

test('dinars reach Stripe in fils, and every charge and refund is a whole ten of them', async () => {
  const { testKey: key } = await app.newOrganization();
  const send = { post: (path: string, body?: unknown) => app.post(path, body, { key }) };
  const moveTo = (now: number) => app.put('/test-clock', { testClock: { now } }, { key });
  await moveTo(april);
  await app.put('/settings', { settings: { currency: 'KWD' } }, { key });
  await send.post('/pricing-models/setup', {
    name: 'In dinars',
    isDefault: true,
    features: [],
    products: [plan('free', 0), plan('basic', 9990), plan('pro', 20_000)],
    usageMeters: [meter('calls', 'Calls', { slug: 'calls-price', unitPrice: 4, usageEventsPerUnit: 1 })],
    resources: [],
  });
  const { customerId } = await customerOf(send, 'kuwait', { token: 'pm_card_visa' });
  const { subscription } = await send.post('/subscriptions', { customerId, priceSlug: 'basic-monthly' });
  // 12 fils of usage are billed as 10.
  const usageEvent = { subscriptionId: subscription.id, priceSlug: 'calls-price', amount: 3, transactionId: 'one' };
  await send.post('/usage-events', { usageEvent });
  // 9.990 for 10 of 30 days and 20.000 for 20 are 16.663; 9.990 is paid.
  await moveTo(day(10));
  const adjustment = { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'pro-monthly' }] };
  await send.post(`/subscriptions/${subscription.id}/adjust`, { adjustment });
  await moveTo(day(30));
  const { data } = await app.get(`/payments?customerId=${customerId}`, { key });
  assert.deepEqual(
    data.map(({ id }: Body) => [onlyIntent(id).amount, onlyIntent(id).currency]),
    [
      [9990, 'kwd'],
      [6670, 'kwd'],
      [20_010, 'kwd'],
    ],
  );
  await send.post(`/payments/${data[0].id}/refund`, { partialAmount: 1230 });
  assert.deepEqual(
    stripe.objects.refunds.slice(-1).map(({ amount }) => amount),
    [1230],
  );
});

describe('a charge that does not go well at once', () => {
  test('a declined card fails the payment with Stripe’s code and the bank’s reason', async () => {
    const customer = await newCustomer('pm_card_chargeDeclinedInsufficientFunds');
    await subscribe(customer);
    const { id, status, failureCode, failureMessage } = await onlyPayment(customer);
    assert.deepEqual(
      [status, failureCode, failureMessage],
      ['failed', 'card_declined (insufficient_funds)', 'Your card has insufficient funds.'],
    );
    // Nobody can pay it later, when the next attempt has taken the money already.
    assert.equal(onlyIntent(id).status, 'canceled');
  });

  test('a card that wants its holder fails as authentication_required', async () => {
    const customer = await newCustomer('pm_card_authenticationRequired');
    await subscribe(customer);
    const { status, failureCode } = await onlyPayment(customer);
    assert.deepEqual([status, failureCode], ['failed', 'authentication_required']);
  });

  test('a payment method that is gone from Stripe fails the payment, as asking again would', async () => {
    const customer = await newCustomer('pm_card_visa');
    const gone = [...stripe.objects.methods.keys()].at(-1) ?? '';
    stripe.objects.methods.delete(gone);
    await subscribe(customer);
    const { id, status, failureCode, failureMessage } = await onlyPayment(customer);
    const message = `No such payment_method: '${gone}'`;
    assert.deepEqual([status, failureCode, failureMessage], ['failed', 'resource_missing', message]);
    assert.deepEqual(intentsOf(id), []);
  });

  test('an action that the customer has to take is shown, and the subscription is active once it was taken', async () => {
    const customer = await newCustomer('pm_card_needsAction');
    const { body } = await subscribe(customer);
    assert.equal(body.subscription.status, 'incomplete');
    const payment = await onlyPayment(customer);
    const intent = onlyIntent(payment.id);
    assert.equal(payment.status, 'requires_action');
    assert.deepEqual(payment.nextAction, {
      type: 'redirect_to_url',
      url: `https://hooks.stripe.example/${intent.id}`,
      clientSecret: `${intent.id}_secret`,
    });
    stripe.objects.succeed(intent.id);
    // No event comes; the check does.
    await app.setClock(Date.now() + 2 * 60 * 60 * 1000);
    await runDueWork();
    assert.equal((await onlyPayment(customer)).status, 'succeeded');
    assert.equal(await subscriptionStatus(body.subscription.id), 'active');
  });

  test('an action that nobody takes within 22 hours is taken no more: the charge is called off and has failed', async () => {
    const customer = await newCustomer('pm_card_needsAction');
    await subscribe(customer);
    const payment = await onlyPayment(customer);
    const intent = onlyIntent(payment.id);
    const hour = 60 * 60 * 1000;
    let clock = Date.now();
    const statusAfter = async (hours: number) => {
      intent.created = Math.floor((Date.now() - hours * hour) / 1000);
      // The next check is an hour after the one before, and sees the age of the intent by Stripe's time.
      clock += 2 * hour;
      await app.setClock(clock);
      await runDueWork();
      return [(await onlyPayment(customer)).status, intent.status];
    };
    assert.deepEqual(await statusAfter(2), ['requires_action', 'requires_action']);
    assert.deepEqual(await statusAfter(21.9), ['requires_action', 'requires_action']);
    // Its customer is reminded once.
    assert.deepEqual(await eventsOf(app, payment.id), ['payment.action_required']);
    assert.deepEqual(await statusAfter(22.1), ['failed', 'canceled']);
    assert.equal((await onlyPayment(customer)).failureCode, 'authentication_required');
  });

  test('a bank debit is processing for days and then paid', async () => {
    const customer = await newCustomer('pm_usBankAccount_success');
    const { body } = await subscribe(customer);
    const payment = await onlyPayment(customer);
    assert.deepEqual([payment.status, payment.paymentMethod], ['processing', 'us_bank_account']);
    const day = 24 * 60 * 60 * 1000;
    const now = Date.now() + 3 * 60 * 60 * 1000;
    await app.setClock(now);
    await runDueWork();
    assert.equal((await onlyPayment(customer)).status, 'processing');
    stripe.objects.succeed(onlyIntent(payment.id).id);
    await app.setClock(now + 2 * day);
    await runDueWork();
    assert.equal((await onlyPayment(customer)).status, 'succeeded');
    assert.equal(await subscriptionStatus(body.subscription.id), 'active');
  });
});

describe('an answer that never comes', () => {
  for (const trouble of ['breaks_after', 'hangs_after'] as const) {
    test(`the money is taken once when the connection ${trouble.replace('_', ' ')} the charge`, async () => {
      const customer = await newCustomer('pm_card_visa');
      // The client itself asks a second time when a connection breaks.
      stripe.trouble(trouble, ...(trouble === 'breaks_after' ? [trouble] : []));
      const headers = { 'idempotency-key': `subscribe-${trouble}` };
      const first = await subscribe(customer, headers);
      assert.deepEqual([first.status, first.headers.get('retry-after')], [503, '1']);
      assert.match(first.body.message, /will be retried automatically/);
      const payment = await onlyPayment(customer);
      assert.equal(payment.status, 'processing');
      assert.equal(intentsOf(payment.id).length, 1);
      // The caller asks again under its own key, and the service under the payment's.
      const second = await subscribe(customer, headers);
      assert.deepEqual([second.status, second.body.subscription?.status], [200, 'active']);
      assert.equal((await onlyPayment(customer)).status, 'succeeded');
      assert.equal(intentsOf(payment.id).length, 1);
    });
  }

  for (const trouble of ['rate_limit', 'server_error', 'key_in_use'] as const) {
    test(`after ${trouble.replaceAll('_', ' ')} the queue asks again`, async () => {
      const customer = await newCustomer('pm_card_visa');
      stripe.trouble(trouble);
      assert.equal((await subscribe(customer)).status, 503);
      await app.runJobs({ all: true });
      const payment = await onlyPayment(customer);
      assert.equal(payment.status, 'succeeded');
      assert.equal(intentsOf(payment.id).length, 1);
    });
  }

  test('a charge that is asked for again after days, when Stripe has forgotten the key, is found', async () => {
    const other = await startTestApp({ services: stripe.services });
    const othersPlans = await setUpPlans(other);
    await other.setClock(Date.now() - 3 * 24 * 60 * 60 * 1000);
    const { customerId } = await othersPlans.newCustomer('pm_card_visa');
    stripe.trouble('breaks_after', 'breaks_after');
    const body = { customerId, priceId: othersPlans.priceOf('pro-monthly').id };
    assert.equal((await other.request('POST', '/subscriptions', body)).status, 503);
    stripe.forgetKeys();
    await other.runJobs({ all: true });
    const { data } = await other.get(`/payments?customerId=${customerId}`);
    assert.deepEqual([data.length, data[0].status], [1, 'succeeded']);
    assert.equal(intentsOf(data[0].id).length, 1);
  });
});

describe('refunds', () => {
  test('a refund gives money back at Stripe under the refund’s id', async () => {
    const customer = await newCustomer('pm_card_visa');
    await subscribe(customer);
    const { id } = await onlyPayment(customer);
    const { payment } = await app.post(`/payments/${id}/refund`, { partialAmount: 1000 });
    assert.deepEqual([payment.status, payment.refundedAmount], ['succeeded', 1000]);
    const [refund] = stripe.objects.refunds.filter((each) => each.payment_intent === onlyIntent(id).id);
    assert.equal(refund?.amount, 1000);
    assert.equal(stripe.calls.findLast((call) => call.path === '/v1/refunds')?.key, refund?.metadata?.refund_id);
  });

  test('a refund whose answer was lost is made once', async () => {
    const customer = await newCustomer('pm_card_visa');
    await subscribe(customer);
    const { id } = await onlyPayment(customer);
    stripe.trouble('breaks_after', 'breaks_after');
    assert.equal((await app.request('POST', `/payments/${id}/refund`, {})).status, 503);
    await app.runJobs({ all: true });
    const payment = await onlyPayment(customer);
    assert.deepEqual([payment.status, payment.refundedAmount], ['refunded', 3000]);
    assert.equal(stripe.objects.refunds.filter((each) => each.payment_intent === onlyIntent(id).id).length, 1);
  });

  test('what Stripe refuses to refund is refused, and stays refundable here', async () => {
    const customer = await newCustomer('pm_card_visa');
    await subscribe(customer);
    const { id } = await onlyPayment(customer);
    // Somebody has given it back on Stripe's own pages, and no event has come yet.
    stripe.objects.refund(onlyIntent(id).id, 3000);
    const { status, body } = await app.request('POST', `/payments/${id}/refund`, {});
    assert.equal(status, 400);
    assert.match(body.message, /charge_already_refunded/);
    assert.equal((await onlyPayment(customer)).refundedAmount, null);
  });
});

test('an invoice that falls due waits for the charge of its subscription that Stripe did not answer', async () => {
  const { testKey: key } = await app.newOrganization();
  const request = (method: string, path: string, body?: unknown) => app.request(method, path, body, { key });
  const send = { post: (path: string, body?: unknown) => app.post(path, body, { key }) };
  const listOf = async (path: string): Promise<Body[]> => (await app.get(path, { key })).data;
  await request('PUT', '/test-clock', { testClock: { now: '2026-01-01' } });
  await request('PUT', '/settings', { settings: { netTermsDays: 31 } });
  const products = [plan('free', 0), plan('basic', 3000)];
  const nothing = { features: [], usageMeters: [], resources: [] };
  await send.post('/pricing-models/setup', { name: 'On terms', isDefault: true, products, ...nothing });
  const { customerId } = await customerOf(send, 'late');
  await send.post('/subscriptions', { customerId, priceSlug: 'basic-monthly' });
  await send.post('/payment-methods', { paymentMethod: { customerId, token: 'pm_card_chargeCustomerFail' } });
  // The first invoice falls due with the renewal, whose charge gets no answer.
  stripe.trouble('rate_limit');
  assert.equal((await request('PUT', '/test-clock', { testClock: { now: '2026-02-01' } })).status, 503);
  const states = async () => (await listOf(`/payments?customerId=${customerId}`)).map(({ status }) => status);
  assert.deepEqual(await states(), ['processing']);
  // Declined, it ends the subscription, which was never paid. So nothing charges the first invoice.
  await app.runJobs({ all: true });
  assert.deepEqual(await states(), ['failed']);
  const invoices = await listOf(`/invoices?customerId=${customerId}`);
  assert.deepEqual(
    invoices.map(({ status }) => status),
    ['open', 'void'],
  );
});

test('a payment of an account whose keys are gone waits for them', async () => {
  const customer = await newCustomer('pm_card_visa');
  stripe.trouble('rate_limit');
  await subscribe(customer);
  const { id } = await onlyPayment(customer);
  const task = app.tasks.charge_payments;
  assert(task);
  const payload = { environmentId: app.testEnvironmentId, paymentIds: [id] };
  await assert.rejects(
    task({ database: app.database, tasks: app.tasks }, payload),
    /stripe_test processor has no API keys/,
  );
  assert.equal((await onlyPayment(customer)).status, 'processing');
  await task(app, payload);
  assert.equal((await onlyPayment(customer)).status, 'succeeded');
});

test('a purchase whose bank asks its customer first is a payment and nothing else, until the bank has said yes or no', async () => {
  for (const [word, outcome] of [
    ['yes', { status: 'paid', plans: 2, invoices: 1 }],
    ['no', { status: 'failed', plans: 1, invoices: 0 }],
  ] as const) {
    const customerId = await newCustomer('pm_card_needsAction');
    const sale = { purchase: { customerId, priceSlug: 'pro-monthly' } };
    const { purchase } = await app.post('/purchases', sale);
    assert.deepEqual([purchase.status, purchase.subscriptionId, purchase.invoiceId], ['pending', null, null]);
    const payment = await onlyPayment(customerId);
    assert.deepEqual([payment.status, payment.purchaseId, payment.invoiceId], ['requires_action', purchase.id, null]);
    assert.equal((await app.request('POST', '/purchases', sale)).status, 409);
    const intent = onlyIntent(payment.id);
    if (word === 'yes') stripe.objects.succeed(intent.id);
    else stripe.objects.fail(intent.id, { code: 'payment_intent_authentication_failure', message: 'Not confirmed.' });
    if (word === 'no') intent.created = Math.floor(Date.now() / 1000) - 23 * 3600;
    await app.setClock(payment.chargeDate + 2 * 60 * 60 * 1000);
    await runDueWork();
    const counts = async (kind: string) => (await app.get(`/${kind}?customerId=${customerId}`)).total;
    assert.deepEqual(
      {
        status: (await app.get(`/purchases/${purchase.id}`)).purchase.status,
        plans: await counts('subscriptions'),
        invoices: await counts('invoices'),
      },
      outcome,
    );
  }
});

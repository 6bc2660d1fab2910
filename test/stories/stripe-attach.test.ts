import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Body } from '../support/harness.ts';
import { startStripeWorld } from '../support/stripe-world.ts';

const { stripe, app, newCustomerWithout, subscribe, payment } = await startStripeWorld();

const attach = (customerId: string, token: string, rest: object = {}, headers: Record<string, string> = {}) =>
  app.request('POST', '/payment-methods', { paymentMethod: { customerId, token, ...rest } }, { headers });
const listed = async (customerId: string): Promise<Body[]> =>
  (await app.get(`/payment-methods?customerId=${customerId}`)).data;
const customersAtStripe = (customerId: string) =>
  [...stripe.objects.customers.values()].filter((customer) => customer.metadata?.customer_id === customerId);

test('a card is set up for charges without the customer, and shows what its owner knows it by', async () => {
  const customerId = await newCustomerWithout();
  const { status, body } = await attach(customerId, 'pm_card_visa');
  assert.equal(status, 200);
  const { type, default: isDefault, paymentMethodData, billingDetails } = body.paymentMethod;
  assert.deepEqual([type, isDefault], ['card', true]);
  assert.deepEqual(paymentMethodData, { brand: 'visa', last4: '4242', expMonth: 12, expYear: 2099 });
  assert.deepEqual(billingDetails.address, { country: 'DE' });
  assert.deepEqual(await listed(customerId), [body.paymentMethod]);
  const setUp = stripe.calls.findLast((call) => call.path === '/v1/setup_intents');
  assert.equal(setUp?.key, body.paymentMethod.id);
});

test('a customer is made once at Stripe, for however many payment methods', async () => {
  const customerId = await newCustomerWithout();
  const tokens = ['pm_card_visa', 'pm_usBankAccount_success', 'pm_card_visa'];
  const answers = await Promise.all(tokens.map((token) => attach(customerId, token)));
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 200, 200],
  );
  assert.equal((await listed(customerId)).filter((method) => method.default).length, 1);
  const [made, ...others] = customersAtStripe(customerId);
  assert.deepEqual([made?.name, others], ['Acme', []]);
});

test('a bank account is kept by its bank and last digits', async () => {
  const customerId = await newCustomerWithout();
  const { body } = await attach(customerId, 'pm_usBankAccount_success', { type: 'us_bank_account' });
  assert.deepEqual(body.paymentMethod.paymentMethodData, { bankName: 'STRIPE TEST BANK', last4: '6789' });
});

test('what the customer has confirmed on the seller’s page already is taken as it is', async () => {
  const customerId = await newCustomerWithout();
  const holder = stripe.objects.createCustomer({});
  const { id: token } = stripe.objects.createMethod('pm_card_threeDSecure2Required', holder.id);
  const { status, body } = await attach(customerId, token);
  assert.equal(status, 200, body.message);
  assert.deepEqual(customersAtStripe(customerId), []);
  assert.equal((await subscribe(customerId)).body.subscription?.status, 'active');
  assert.equal((await payment(customerId)).status, 'succeeded');
});

test('an erased customer is deleted at Stripe, and what is gone there already stops nothing', async () => {
  const [customerId, goneId] = [await newCustomerWithout(), await newCustomerWithout()];
  for (const id of [customerId, goneId]) assert.equal((await attach(id, 'pm_card_visa')).status, 200);
  for (const { id } of customersAtStripe(goneId)) stripe.objects.deleteCustomer(String(id));
  for (const id of [customerId, goneId]) {
    const { data } = await app.get('/customers?limit=100');
    const { externalId } = data.find((customer: Body) => customer.id === id);
    const { pending } = (await app.post(`/customers/${externalId}/erase`, {})).erasure;
    assert.ok(pending.some(({ record }: Body) => record === 'processorCustomer'));
    await app.runJobs();
    assert.notEqual((await app.post(`/customers/${externalId}/erase`, {})).erasure.completedAt, null);
    assert.deepEqual(customersAtStripe(id), []);
  }
});

test('a deleted payment method is detached at Stripe, once and also when the job runs again', async () => {
  const customerId = await newCustomerWithout();
  const { body } = await attach(customerId, 'pm_card_visa');
  const atStripe = [...stripe.objects.methods.values()].at(-1);
  assert.notEqual(atStripe?.customer, null);
  assert.equal((await app.request('DELETE', `/payment-methods/${body.paymentMethod.id}`)).status, 200);
  await app.runJobs();
  assert.equal(atStripe?.customer, null);
  const payload = { environmentId: app.testEnvironmentId, paymentMethodId: body.paymentMethod.id };
  await app.tasks.detach_payment_method?.(app, payload);
});

/** The failed attempts of all customers. */
async function countedFailures(): Promise<number> {
  const counts = app.owner.selectFrom('attemptCounts').select('failures').where('scope', '=', 'environment');
  return (await counts.execute()).reduce((sum, { failures }) => sum + failures, 0);
}

describe('refused, and nothing is kept', () => {
  const refusals = [
    [
      'a card that is declined',
      'pm_card_chargeDeclined',
      402,
      /card_declined \(generic_decline\): Your card was declined/,
    ],
    ['a card that its holder has to confirm', 'pm_card_threeDSecure2Required', 402, /authentication_required/],
    ['a token that Stripe does not know', 'pm_unknown', 400, /must be the id of a payment method at stripe_test/],
  ] as const;
  for (const [claim, token, status, message] of refusals) {
    test(claim, async () => {
      const customerId = await newCustomerWithout();
      const headers = { 'idempotency-key': `attach-${token}` };
      const before = await countedFailures();
      const answer = await attach(customerId, token, {}, headers);
      assert.equal(answer.status, status);
      assert.match(answer.body.message, message);
      await app.runJobs({ all: true });
      assert.deepEqual(await listed(customerId), []);
      // The key is free again: a repeat asks anew.
      assert.equal((await attach(customerId, token, {}, headers)).headers.get('idempotent-replayed'), null);
      // Two cards were declined. An unknown token is no card that was tried.
      assert.equal((await countedFailures()) - before, status === 402 ? 2 : 0);
    });
  }

  test('a token that stands for something else than was said', async () => {
    const customerId = await newCustomerWithout();
    const { status, body } = await attach(customerId, 'pm_card_visa', { type: 'us_bank_account' });
    assert.deepEqual([status, body.issues?.[0]?.path], [400, ['paymentMethod', 'type']]);
    assert.deepEqual(await listed(customerId), []);
  });

  test('a payment method of another customer at Stripe', async () => {
    const customerId = await newCustomerWithout();
    await attach(customerId, 'pm_card_visa');
    const { id: token } = stripe.objects.createMethod('pm_card_visa', stripe.objects.createCustomer({}).id);
    const { status, body } = await attach(customerId, token);
    assert.equal(status, 402);
    assert.match(body.message, /payment_method_of_other_customer/);
  });

  test('the payment method of a customer that is not there, before Stripe is asked', async () => {
    const before = stripe.calls.length;
    assert.equal((await attach('cust_none', 'pm_card_visa')).status, 404);
    assert.equal(stripe.calls.length, before);
  });
});

test('a dry run asks Stripe nothing and keeps nothing', async () => {
  const customerId = await newCustomerWithout();
  const before = stripe.calls.length;
  const body = { paymentMethod: { customerId, token: 'pm_card_visa', type: 'card' } };
  const answer = await app.request('POST', '/payment-methods?dryRun=true', body);
  assert.deepEqual([answer.status, answer.body.paymentMethod.default], [200, true]);
  assert.equal(stripe.calls.length, before);
  assert.deepEqual(await listed(customerId), []);
});

describe('when Stripe does not answer', () => {
  // Two requests write: one makes the customer, one sets the payment method up.
  for (const [lost, troubles] of [
    ['that the customer was made', ['hangs_after']],
    ['that the payment method was set up', ['none', 'hangs_after']],
  ] as const) {
    test(`when Stripe does not answer and the answer was lost ${lost}, the queue attaches the card, with one customer at Stripe`, async () => {
      const customerId = await newCustomerWithout();
      stripe.trouble(...troubles);
      assert.equal((await attach(customerId, 'pm_card_visa')).status, 503);
      assert.deepEqual(await listed(customerId), []);
      await app.runJobs({ all: true });
      assert.deepEqual(
        (await listed(customerId)).map((method) => method.default),
        [true],
      );
      assert.equal(customersAtStripe(customerId).length, 1);
    });
  }

  test('the same request under the same key ends with the payment method', async () => {
    const customerId = await newCustomerWithout();
    const headers = { 'idempotency-key': 'attach-again' };
    stripe.trouble('rate_limit');
    assert.equal((await attach(customerId, 'pm_card_visa', {}, headers)).status, 503);
    const { status, body } = await attach(customerId, 'pm_card_visa', {}, headers);
    assert.equal(status, 200);
    assert.deepEqual(await listed(customerId), [body.paymentMethod]);
    assert.equal(customersAtStripe(customerId).length, 1);
  });
});

test('in live mode, which has no account here, there is nothing to attach to', async () => {
  const customer = { externalId: 'live', email: 'live@acme.test', name: 'Live' };
  const { data } = await app.post('/customers', { customer }, { key: app.liveKey });
  const body = { paymentMethod: { customerId: data.customer.id, token: 'pm_card_visa' } };
  const answer = await app.request('POST', '/payment-methods', body, { key: app.liveKey });
  assert.equal(answer.status, 400);
  assert.match(answer.body.message, /manual processor/);
});

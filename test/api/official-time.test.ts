import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Flowglad } from '@flowglad/node';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertShape, officialClient, pageOf, watch } from '../support/official-client.ts';
import { Invoice, InvoiceLineItem, InvoiceWithLines, Payment } from '../support/official-money-records.ts';
import { Subscription, SubscriptionDetails } from '../support/official-records.ts';
import { newCustomer, newSubscriber, openShop, post } from '../support/official-shop.ts';

const app = await startTestApp();
const client = officialClient(app, await watch(app));
await openShop(client);

const dayMs = 86_400_000;
const all = { limit: '100' };
let user: Awaited<ReturnType<typeof newSubscriber>>;
let failing: Awaited<ReturnType<typeof newSubscriber>>;

const billingOf = (externalId: string): Promise<Body> => client.customers.retrieveBilling(externalId);

/** Two subscribers, and the month that follows: one has used more than the plan gives, the other's card declines. */
before(async () => {
  user = await newSubscriber(client, 'user');
  failing = await newSubscriber(client, 'failing');
  // 100 calls are free; the other 250 are 50 cents per 100: 1.25.
  await client.usageEvents.create({
    usageEvent: { subscriptionId: user.subscription.id, usageMeterSlug: 'calls', amount: 350, transactionId: 'much' },
  });
  const { paymentMethod } = await post(client, '/payment-methods', {
    paymentMethod: { customerId: failing.customerId, type: 'card', token: 'pm_card_chargeCustomerFail' },
  });
  const method = { defaultPaymentMethodId: paymentMethod.id, backupPaymentMethodId: null };
  await app.owner.updateTable('subscriptions').set(method).where('id', '=', failing.subscription.id).execute();
  await client.put('/api/v1/test-clock', { body: { testClock: { now: Date.now() + 32 * dayMs } } });
});

test('usage beyond what the plan gives is a line of the next invoice', async () => {
  const { currentSubscription, invoices } = await billingOf('user');
  const lines = invoices.flatMap(({ invoiceLineItems }: Body) => invoiceLineItems);
  const [line] = lines.filter(({ type }: Body) => type === 'usage');
  assertShape(InvoiceLineItem, line);
  assert.equal(line.price * line.quantity, 125);
  assertShape(InvoiceLineItem, await client.invoiceLineItems.retrieve(line.id));
  assertShape(InvoiceWithLines, await client.invoices.retrieve(line.invoiceId));
  assert(currentSubscription.currentBillingPeriodStart > (user.subscription.currentBillingPeriodStart ?? 0));
  assert.equal(currentSubscription.experimental.usageMeterBalances[0].availableBalance, 100);
});

test('a charge that fails makes a failed payment, an open invoice and a subscription that is past due', async () => {
  const billing = await billingOf('failing');
  assert.equal(billing.currentSubscription.status, 'past_due');
  assertShape(SubscriptionDetails, billing.currentSubscription);
  const { data } = await client.payments.list(all);
  const payment = data.find(({ status }) => status === 'failed');
  assertShape(Payment, payment);
  assert.equal(payment?.customerId, failing.customerId);
  assert.equal(typeof payment?.failureMessage, 'string');
  const open = billing.invoices.find(({ invoice }: Body) => invoice.status === 'open');
  assertShape(InvoiceWithLines, open);
});

test('every row of the lists has every key, whatever became of it', async () => {
  assertShape(pageOf(Subscription), await client.subscriptions.list(all));
  assertShape(pageOf(Invoice), await client.invoices.list(all));
  assertShape(pageOf(InvoiceLineItem), await client.invoiceLineItems.list(all));
  assertShape(pageOf(Payment), await client.payments.list(all));
});

describe('states that have keys of their own', () => {
  test('a payment that was refunded in parts, then whole', async () => {
    const { data } = await client.payments.list(all);
    const id =
      data.find(({ customerId, status }) => customerId === user.customerId && status === 'succeeded')?.id ?? '';
    const part = await client.payments.refund(id, { partialAmount: 400 });
    assertShape(Payment, part.payment);
    assert.deepEqual([part.payment.refunded, part.payment.refundedAmount], [false, 400]);
    const whole = await client.payments.refund(id, {});
    assertShape(Payment, whole.payment);
    assert.deepEqual([whole.payment.status, whole.payment.refunded], ['refunded', true]);
    assert.equal(whole.payment.refundedAmount, whole.payment.amount);
  });

  test('a trial', async () => {
    const { id } = await newCustomer(client, 'trying');
    const now = (await client.get<Body>('/api/v1/test-clock')).testClock.now;
    const order = { customerId: id, priceSlug: 'pro-monthly', trialEnd: now + 7 * dayMs, metadata: { source: 'ad' } };
    const { subscription } = await client.subscriptions.create(order);
    assertShape(Subscription, subscription);
    assert.partialDeepStrictEqual(subscription, {
      status: 'trialing',
      trialEnd: now + 7 * dayMs,
      currentBillingPeriodEnd: now + 7 * dayMs,
      metadata: { source: 'ad' },
    });
  });

  test('a start as an ISO date-time, and a quantity', async () => {
    const { id } = await newCustomer(client, 'dated');
    const startDate = new Date((await client.get<Body>('/api/v1/test-clock')).testClock.now).toISOString();
    const { subscription } = await client.subscriptions.create({
      customerId: id,
      priceSlug: 'team-monthly',
      quantity: 2,
      startDate,
    });
    assert.equal(subscription.startDate, Date.parse(startDate));
    const { currentSubscription } = await billingOf('dated');
    assert.equal(currentSubscription.subscriptionItems[0].quantity, 2);
  });

  test('a subscription to a free plan that never renews', async () => {
    const { pricingModel } = await client.pricingModels.create({ pricingModel: { name: 'Never', isDefault: true } });
    const { data } = await client.customers.create({
      customer: { externalId: 'standing', email: 's@shop.test', name: 'Standing' },
    });
    assert.equal(data.customer.pricingModelId, pricingModel.id);
    assert.equal(data.subscription?.renews, false);
    assertShape(Subscription, data.subscription);
    const { currentSubscription } = await billingOf('standing');
    assertShape(SubscriptionDetails, currentSubscription);
    await assert.rejects(cancelOf(client, currentSubscription.id), { status: 400 });
  });
});

function cancelOf(of: Flowglad, id: string) {
  return of.subscriptions.cancel(id, { cancellation: { timing: 'immediately' } });
}

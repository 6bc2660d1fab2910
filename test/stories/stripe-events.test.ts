import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { forgetProcessorEvents } from '../../src/payments/store-processors.ts';
import { eventsOf } from '../support/charge.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { stripeEvent } from '../support/stripe-server.ts';
import { startStripeWorld } from '../support/stripe-world.ts';

const { stripe, app, newCustomer, subscribe, subscriptionStatus, payment, intent, intentsOf } =
  await startStripeWorld();
const { objects } = stripe;

/** A subscription whose payment is on its way, with the intent that it waits for. */
async function subscribed(token: string) {
  const customerId = await newCustomer(token);
  const { body } = await subscribe(customerId);
  const { id: paymentId } = await payment(customerId);
  return { customerId, subscriptionId: body.subscription?.id as string, paymentId, intentId: intent(paymentId).id };
}

const kept = async (): Promise<number> => {
  const tasks = await app.owner.selectFrom('processorEvents').select('id').execute();
  return tasks.length;
};

async function send(...events: { id: string }[]): Promise<void> {
  for (const event of events) assert.equal(await stripe.send(app.url, event), 200);
}

test('a debit that settles is paid when its event comes', async () => {
  const { customerId, subscriptionId, intentId } = await subscribed('pm_usBankAccount_success');
  await send(stripeEvent('payment_intent.processing', objects.intent(intentId)));
  await app.runJobs();
  assert.equal((await payment(customerId)).status, 'processing');
  objects.succeed(intentId);
  await send(stripeEvent('payment_intent.succeeded', objects.intent(intentId)));
  await app.runJobs();
  assert.equal((await payment(customerId)).status, 'succeeded');
  assert.equal(await subscriptionStatus(subscriptionId), 'active');
});

test('a debit that fails after days fails the payment', async () => {
  const { customerId, intentId } = await subscribed('pm_usBankAccount_success');
  objects.fail(intentId, { code: 'payment_method_customer_decline', message: 'The bank declined it.' });
  await send(stripeEvent('payment_intent.payment_failed', objects.intent(intentId)));
  await app.runJobs();
  const { status, failureCode } = await payment(customerId);
  assert.deepEqual([status, failureCode], ['failed', 'payment_method_customer_decline']);
});

test('what the customer pays while a failure is being found out counts as paid', async () => {
  const { customerId, subscriptionId, intentId } = await subscribed('pm_card_needsAction');
  objects.fail(intentId, { code: 'payment_intent_authentication_failure', message: 'Not confirmed.' });
  objects.paidBeforeCancel(intentId);
  await send(stripeEvent('payment_intent.payment_failed', objects.intent(intentId)));
  await app.runJobs();
  assert.equal((await payment(customerId)).status, 'succeeded');
  assert.equal(await subscriptionStatus(subscriptionId), 'active');
});

test('an intent that was canceled at Stripe cancels the payment', async () => {
  const { customerId, intentId } = await subscribed('pm_usBankAccount_success');
  objects.cancel(intentId);
  await send(stripeEvent('payment_intent.canceled', objects.intent(intentId)));
  await app.runJobs();
  assert.equal((await payment(customerId)).status, 'canceled');
});

test('an action that the customer has taken pays the subscription, and no payment has failed', async () => {
  const { customerId, subscriptionId, intentId } = await subscribed('pm_card_needsAction');
  await send(stripeEvent('payment_intent.requires_action', objects.intent(intentId)));
  await app.runJobs();
  const { status, invoiceId } = await payment(customerId);
  assert.equal(status, 'requires_action');
  objects.succeed(intentId);
  await send(stripeEvent('payment_intent.succeeded', objects.intent(intentId)));
  await app.runJobs();
  assert.equal((await payment(customerId)).nextAction, null);
  assert.equal(await subscriptionStatus(subscriptionId), 'active');
  assert.deepEqual(await eventsOf(app, invoiceId), ['invoice.created', 'invoice.finalized', 'invoice.paid']);
});

test('an event that overtakes the answer of its charge settles the one charge there is', async () => {
  const customerId = await newCustomer('pm_card_visa');
  stripe.trouble('hangs_after');
  assert.equal((await subscribe(customerId)).status, 503);
  const { id } = await payment(customerId);
  await send(stripeEvent('payment_intent.succeeded', intent(id)));
  await app.runJobs();
  assert.equal((await payment(customerId)).status, 'succeeded');
  assert.equal(intentsOf(id).length, 1);
});

test('events in any order, and each of them twice, end the same', async () => {
  const orders = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ];
  for (const order of orders) {
    const { customerId, paymentId, intentId } = await subscribed('pm_usBankAccount_success');
    const events = [stripeEvent('payment_intent.processing', objects.intent(intentId))];
    objects.succeed(intentId);
    events.push(stripeEvent('payment_intent.succeeded', objects.intent(intentId)));
    objects.refund(intentId, 1000);
    events.push(stripeEvent('charge.refunded', objects.charge(intentId)));
    for (const index of [...order, ...order]) {
      const event = events[index];
      assert(event);
      await send(event);
      await app.runJobs();
    }
    // Each look sees the charge as it is, not as its event says; a refund is seen once the charge is known to have succeeded.
    const { status, refundedAmount } = await payment(customerId);
    assert.deepEqual([order, status, refundedAmount], [order, 'succeeded', 1000]);
    assert.deepEqual(await eventsOf(app, paymentId), ['payment.succeeded', 'refund.created']);
  }
});

describe('refunds and disputes at Stripe', () => {
  test('money that was given back on Stripe’s own pages is a refund here', async () => {
    const { customerId, intentId } = await subscribed('pm_card_visa');
    objects.refund(intentId, 1000);
    await send(stripeEvent('charge.refunded', objects.charge(intentId)));
    const rest = objects.refund(intentId, 2000);
    await send(stripeEvent('refund.updated', rest));
    await app.runJobs();
    const { status, refundedAmount, refundedAt, invoiceId } = await payment(customerId);
    assert.deepEqual([status, refundedAmount], ['refunded', 3000]);
    assert.ok(refundedAt > 0);
    assert.equal((await app.get(`/invoices/${invoiceId}`)).invoice.status, 'refunded');
    const { data } = await app.get(`/credit-notes?invoiceId=${invoiceId}`);
    const notes = data.map(({ status: of, settle, total }: Body) => [of, settle, total]);
    assert.deepEqual(notes, [
      ['settled', 'refund', 1000],
      ['settled', 'refund', 2000],
    ]);
  });

  test('a refund of our own comes back as an event and is no second one', async () => {
    const { customerId, paymentId, intentId } = await subscribed('pm_card_visa');
    await app.post(`/payments/${paymentId}/refund`, { partialAmount: 1000 });
    await send(stripeEvent('charge.refunded', objects.charge(intentId)));
    await app.runJobs();
    const { status, refundedAmount } = await payment(customerId);
    assert.deepEqual([status, refundedAmount], ['succeeded', 1000]);
  });

  test('a dispute takes the money back when it is lost, and not before', async () => {
    const { customerId, subscriptionId, paymentId, intentId } = await subscribed('pm_card_visa');
    await send(stripeEvent('charge.dispute.created', objects.dispute(intentId, 'needs_response')));
    await app.runJobs();
    assert.equal((await payment(customerId)).status, 'succeeded');
    await send(stripeEvent('charge.dispute.closed', objects.dispute(intentId, 'lost')));
    await app.runJobs();
    const { status, failureCode, invoiceId } = await payment(customerId);
    assert.deepEqual([status, failureCode], ['failed', 'dispute_lost (fraudulent)']);
    assert.equal((await app.get('/analytics/attention')).attention.reversedPayments, 1);
    assert.equal((await app.get(`/invoices/${invoiceId}`)).invoice.status, 'open');
    assert.equal(await subscriptionStatus(subscriptionId), 'past_due');
    assert.deepEqual(await eventsOf(app, paymentId), ['payment.succeeded', 'payment.failed']);
  });

  test('money that came and was lost in a dispute before anybody asked has never arrived', async () => {
    const { customerId, subscriptionId, paymentId, intentId } = await subscribed('pm_usBankAccount_success');
    objects.succeed(intentId);
    await send(stripeEvent('charge.dispute.closed', objects.dispute(intentId, 'lost')));
    await app.runJobs();
    const { status, failureCode, invoiceId } = await payment(customerId);
    assert.deepEqual([status, failureCode], ['failed', 'dispute_lost (fraudulent)']);
    // The first payment of a subscription has failed, as if the bank had refused it.
    assert.equal((await app.get(`/invoices/${invoiceId}`)).invoice.status, 'void');
    assert.equal(await subscriptionStatus(subscriptionId), 'canceled');
    assert.deepEqual(await eventsOf(app, paymentId), ['payment.failed']);
  });

  test('a dispute that is won changes nothing', async () => {
    const { customerId, intentId } = await subscribed('pm_card_visa');
    await send(stripeEvent('charge.dispute.created', objects.dispute(intentId, 'needs_response')));
    await send(stripeEvent('charge.dispute.closed', objects.dispute(intentId, 'won')));
    await app.runJobs();
    assert.equal((await payment(customerId)).status, 'succeeded');
  });

  test('a debit that is returned after it had settled is money taken back', async () => {
    const { customerId, subscriptionId, intentId } = await subscribed('pm_usBankAccount_success');
    objects.succeed(intentId);
    await send(stripeEvent('payment_intent.succeeded', objects.intent(intentId)));
    await app.runJobs();
    objects.fail(intentId, { code: 'insufficient_funds', message: 'The account has too little.' });
    await send(stripeEvent('charge.failed', objects.charge(intentId)));
    await app.runJobs();
    const { status, failureCode } = await payment(customerId);
    assert.deepEqual([status, failureCode], ['failed', 'insufficient_funds']);
    assert.equal(await subscriptionStatus(subscriptionId), 'past_due');
  });
});

describe('an event that is none', () => {
  test('an event that is none is refused when Stripe has not signed it, and nothing is kept of it', async () => {
    const { intentId } = await subscribed('pm_usBankAccount_success');
    const before = await kept();
    const event = stripeEvent('payment_intent.succeeded', objects.intent(intentId));
    assert.equal(await stripe.send(app.url, event, { secret: 'whsec_other' }), 400);
    assert.equal(await stripe.send(app.url, event, { at: Date.now() - 6 * 60 * 1000 }), 400);
    assert.equal(await stripe.send(app.url, event, { body: JSON.stringify({ ...event, id: 'evt_changed' }) }), 400);
    const unsigned = await fetch(`${app.url}/processor-events/stripe`, { method: 'POST', body: JSON.stringify(event) });
    assert.equal(unsigned.status, 400);
    assert.match(await unsigned.text(), /signature of the event/);
    assert.equal(await kept(), before);
  });

  test('an event that is none is taken and passed over when it is of no interest, or of no payment that is here', async () => {
    const { intentId } = await subscribed('pm_usBankAccount_success');
    const before = await kept();
    const mine = objects.intent(intentId);
    const elsewhere = (metadata: Record<string, string>) =>
      stripeEvent('payment_intent.succeeded', { ...mine, metadata });
    await send(
      stripeEvent('invoice.paid', mine),
      stripeEvent('payment_intent.created', mine),
      elsewhere({}),
      elsewhere({ environment_id: '999', payment_id: 'pym_none' }),
      elsewhere({ environment_id: String(app.testEnvironmentId), payment_id: 'pym_none' }),
      elsewhere({ ...mine.metadata, environment_id: String(app.liveEnvironmentId) }),
      elsewhere({ ...mine.metadata, environment_id: 'x' }),
      { ...stripeEvent('payment_intent.succeeded', mine), livemode: true } as { id: string },
    );
    assert.equal(await kept(), before);
  });

  test('an event that is none is refused when it is larger than any event', async () => {
    const body = 'x'.repeat(1024 * 1024 + 1);
    const answer = await fetch(`${app.url}/processor-events/stripe`, { method: 'POST', body });
    assert.equal(answer.status, 413);
  });

  test('an event that is none waits at Stripe while the service has no secret for it', async () => {
    const { intentId } = await subscribed('pm_usBankAccount_success');
    const without = await startTestApp();
    const event = stripeEvent('payment_intent.succeeded', objects.intent(intentId));
    assert.equal(await stripe.send(without.url, event), 503);
  });
});

test('events are forgotten when nobody sends them again any more', async () => {
  const { intentId } = await subscribed('pm_usBankAccount_success');
  await send(stripeEvent('payment_intent.processing', objects.intent(intentId)));
  const count = await kept();
  assert.equal(await forgetProcessorEvents(app.database, 0, 1000), 0);
  assert.equal(await forgetProcessorEvents(app.database, Date.now(), count - 1), count - 1);
  assert.equal(await forgetProcessorEvents(app.database, Date.now(), 1000), 1);
  assert.equal(await kept(), 0);
});

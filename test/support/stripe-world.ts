import assert from 'node:assert/strict';
import { type Body, startTestApp } from './harness.ts';
import { setUpPlans } from './plans.ts';
import { startStripeServer } from './stripe-server.ts';

/** A service that takes payments by the stand-in for Stripe, with plans to subscribe to. */
export async function startStripeWorld() {
  const stripe = await startStripeServer();
  const app = await startTestApp({ services: stripe.services });
  const plans = await setUpPlans(app);
  const intentsOf = (paymentId: string) =>
    [...stripe.objects.intents.values()].filter((intent) => intent.metadata.payment_id === paymentId);
  const paymentsOf = async (customerId: string): Promise<Body[]> =>
    (await app.get(`/payments?customerId=${customerId}`)).data;
  return {
    stripe,
    app,
    intentsOf,
    /** The id of a customer with this payment method. */
    async newCustomer(token: string): Promise<string> {
      const { customerId } = await plans.newCustomer();
      await app.post('/payment-methods', { paymentMethod: { customerId, token } });
      return customerId;
    },
    /** The id of a customer with no payment method. */
    async newCustomerWithout(): Promise<string> {
      return (await plans.newCustomer()).customerId;
    },
    /** Asks for the plan of 30.00 a month. */
    subscribe(customerId: string, headers: Readonly<Record<string, string>> = {}) {
      const body = { customerId, priceId: plans.priceOf('pro-monthly').id };
      return app.request('POST', '/subscriptions', body, { headers });
    },
    async subscriptionStatus(id: string): Promise<string> {
      return (await app.get(`/subscriptions/${id}`)).subscription.status;
    },
    /** The customer's payment: it has exactly one. */
    async payment(customerId: string): Promise<Body> {
      const [payment, ...others] = await paymentsOf(customerId);
      assert.deepEqual(others, []);
      return payment;
    },
    /** The payment's intent: Stripe has exactly one. */
    intent(paymentId: string) {
      const [intent, ...others] = intentsOf(paymentId);
      assert(intent);
      assert.deepEqual(others, []);
      return intent;
    },
    /** What the queue does each minute. */
    async runDueWork(): Promise<void> {
      const task = app.tasks.find_due_work;
      assert(task);
      await task(app, {});
      await app.runJobs();
    },
  };
}

export type StripeWorld = Awaited<ReturnType<typeof startStripeWorld>>;

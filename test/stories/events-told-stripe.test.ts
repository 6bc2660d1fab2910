import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWitness } from '../support/events-witness.ts';
import { stripeEvent } from '../support/stripe-server.ts';
import { startStripeWorld } from '../support/stripe-world.ts';

const { stripe, app, newCustomer, subscribe, payment, intent } = await startStripeWorld();
const witness = await startWitness(app);
const { objects } = stripe;
type StripeEvent = ReturnType<typeof stripeEvent>;

/** What Stripe tells, and every event that is told for it, in order. */
interface Path {
  readonly path: string;
  readonly token: string;
  /** What happens at Stripe, and how it tells of it. */
  readonly happens: (intentId: string) => StripeEvent[];
  readonly tells: readonly string[];
}

const debit = 'pm_usBankAccount_success';
const paid = ['payment.succeeded', 'invoice.paid', 'subscription.updated'];
const succeed = (intentId: string) => {
  objects.succeed(intentId);
  return stripeEvent('payment_intent.succeeded', objects.intent(intentId));
};

const paths: readonly Path[] = [
  { path: 'a debit settles', token: debit, happens: (id) => [succeed(id)], tells: paid },
  {
    path: 'a debit is on its way',
    token: debit,
    happens: (id) => [stripeEvent('payment_intent.processing', objects.intent(id))],
    tells: [],
  },
  {
    path: 'the first debit fails: the plan ends',
    token: debit,
    happens: (id) => {
      objects.fail(id, { code: 'payment_method_customer_decline', message: 'The bank declined it.' });
      return [stripeEvent('payment_intent.payment_failed', objects.intent(id))];
    },
    tells: ['payment.failed', 'invoice.payment_failed', 'invoice.voided', 'subscription.canceled'],
  },
  {
    path: 'somebody cancels the charge at Stripe: the plan ends',
    token: debit,
    happens: (id) => {
      objects.cancel(id);
      return [stripeEvent('payment_intent.canceled', objects.intent(id))];
    },
    tells: ['payment.failed', 'invoice.payment_failed', 'invoice.voided', 'subscription.canceled'],
  },
  {
    path: 'the customer is asked to confirm, and does',
    token: 'pm_card_needsAction',
    happens: (id) => [stripeEvent('payment_intent.requires_action', objects.intent(id)), succeed(id)],
    tells: paid,
  },
  {
    path: 'money is given back on the pages of Stripe',
    token: 'pm_card_visa',
    happens: (id) => {
      objects.refund(id, 1000);
      return [stripeEvent('charge.refunded', objects.charge(id))];
    },
    tells: ['credit_note.created', 'credit_note.settled', 'refund.created'],
  },
  {
    path: 'a dispute is lost',
    token: 'pm_card_visa',
    happens: (id) => [stripeEvent('charge.dispute.closed', objects.dispute(id, 'lost'))],
    tells: ['payment.failed', 'invoice.payment_failed', 'subscription.updated'],
  },
  {
    path: 'a dispute is won',
    token: 'pm_card_visa',
    happens: (id) => [stripeEvent('charge.dispute.closed', objects.dispute(id, 'won'))],
    tells: [],
  },
];

/** The types of what has been told of a customer and its records, oldest first. */
async function eventsOf(customerId: string): Promise<string[]> {
  const rows = await app.owner.selectFrom('events').select(['type', 'payload']).orderBy('id').execute();
  const ours = rows.filter(({ payload }) => (payload as { customer: { id: string } }).customer.id === customerId);
  return ours.map(({ type }) => type);
}

async function send(events: readonly StripeEvent[]): Promise<void> {
  for (const event of events) assert.equal(await stripe.send(app.url, event), 200);
  await app.runJobs();
}

for (const { path, token, happens, tells } of paths) {
  test(`${path}: ${tells.join(', ') || 'nothing'}; and Stripe telling it twice tells nothing more`, async () => {
    const customerId = await newCustomer(token);
    assert.equal((await subscribe(customerId)).status, 200);
    const before = await eventsOf(customerId);
    const events = happens(intent((await payment(customerId)).id).id);
    await send(events);
    assert.deepEqual((await eventsOf(customerId)).slice(before.length), tells);
    // As Stripe does: the same event again, and the same news in another event.
    await send(events);
    await send(events.map((event) => stripeEvent(event.type, event.data.object)));
    assert.deepEqual((await eventsOf(customerId)).slice(before.length), tells);
  });
}

test('all the while each commit told what it changed, and nothing else', async () => {
  assert((await witness.assertTold()) > paths.length);
});

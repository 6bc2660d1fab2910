import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';

// One customer, one year, told in order: each test goes on where the one before it ended.

const app = await startTestApp();

const monthly = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, isDefault: true };
const plan = (name: string, unitPrice: number, features: string[], trialPeriodDays?: number) => ({
  product: { name, slug: name.toLowerCase(), active: true },
  price: { ...monthly, slug: name.toLowerCase(), name: 'Monthly', unitPrice, trialPeriodDays: trialPeriodDays ?? null },
  features,
});
const credits = (slug: string, amount: number) => ({
  type: 'usage_credit_grant',
  slug,
  name: slug,
  description: '',
  amount,
  renewalFrequency: 'every_billing_period',
  usageMeterSlug: 'calls',
});

await app.put('/test-clock', { testClock: { now: '2025-01-17T00:00:00Z' } });
await app.post('/pricing-models/setup', {
  name: 'Story',
  isDefault: true,
  features: [credits('basic-calls', 1000), credits('plus-calls', 2000)],
  products: [plan('Basic', 3000, ['basic-calls'], 14), plan('Plus', 6000, ['plus-calls']), plan('Max', 12_000, [])],
  usageMeters: [
    {
      usageMeter: { name: 'Calls', slug: 'calls' },
      prices: [{ ...monthly, type: 'usage', slug: 'call', unitPrice: 50, usageEventsPerUnit: 100 }],
    },
  ],
});
const { data } = await app.post('/customers', { customer: { externalId: 'ada', email: 'ada@acme.test', name: 'Ada' } });
const customerId: string = data.customer.id;
const { subscription: begun } = await attachAnd('pm_card_visa', () =>
  app.post('/subscriptions', { customerId, priceSlug: 'basic' }),
);
const path = `/subscriptions/${begun.id}`;

async function attachAnd<Answer>(token: string, act: () => Promise<Answer>): Promise<Answer> {
  await app.post('/payment-methods', {
    paymentMethod: { customerId, type: 'card', token, default: true, automaticallyUpdateSubscriptions: true },
  });
  return act();
}

const moveTo = (now: string): Promise<Body> => app.put('/test-clock', { testClock: { now: `${now}T00:00:00Z` } });
const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
const use = (transactionId: string, amount: number) =>
  app.post('/usage-events', { usageEvent: { subscriptionId: begun.id, priceSlug: 'call', transactionId, amount } });
const adjust = (priceSlug: string, timing: string): Promise<Body> =>
  app.post(`${path}/adjust`, { adjustment: { timing, newSubscriptionItems: [{ priceSlug }] } });

/** The subscription in a few words: status, and the days on which its period begins and ends. */
async function present(): Promise<string> {
  const { subscription } = await app.get(path);
  const { status, currentBillingPeriodStart: start, currentBillingPeriodEnd: end } = subscription;
  return `${status} ${day(start)}..${day(end)}`;
}

/** The invoices so far, oldest first: day, status and total. */
async function invoices(): Promise<string[]> {
  const { data: rows } = await app.get(`/invoices?subscriptionId=${begun.id}&limit=100`);
  return rows.map((row: Body) => `${day(row.invoiceDate)} ${row.status} ${row.total}`);
}

async function balance(): Promise<number> {
  const { usageMeterBalances } = await app.get(`/customers/ada/usage-balances?subscriptionId=${begun.id}`);
  return usageMeterBalances[0].availableBalance;
}

test('January: fourteen days of trial cost nothing and give the credits of the plan', async () => {
  assert.equal(await present(), 'trialing 2025-01-17..2025-01-31');
  assert.deepEqual(await invoices(), []);
  assert.equal(await balance(), 1000);
});

test('31 January: the trial is over, the first month is paid and its credits are new', async () => {
  await use('in-trial', 400);
  const { work } = await moveTo('2025-01-31');
  assert.deepEqual([work.periodsRenewed, work.invoicesCreated, work.paymentsSucceeded], [1, 1, 1]);
  assert.equal(await present(), 'active 2025-01-31..2025-02-28');
  assert.deepEqual(await invoices(), ['2025-01-31 paid 3000']);
  assert.equal(await balance(), 1000);
});

test('February: two upgrades in one period are charged what the period is worth, no more', async () => {
  await moveTo('2025-02-07');
  // A quarter at 3000 and three at 6000 are 750 + 4500; 3000 are paid.
  const preview = await app.post(`${path}/preview-adjust`, {
    adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'plus' }] },
  });
  assert.equal(preview.prorationAmount, 2250);
  await adjust('plus', 'immediately');
  // 2000 calls for three quarters of the period are 1500; 1000 were there.
  assert.equal(await balance(), 1500);
  await moveTo('2025-02-14');
  // A quarter at 3000, one at 6000, two at 12000: 750 + 1500 + 6000; 5250 are paid.
  await adjust('max', 'immediately');
  assert.deepEqual((await invoices()).slice(1), ['2025-02-07 paid 2250', '2025-02-14 paid 3000']);
});

test('March: the month ends on its 31st again, and usage is billed with the next month', async () => {
  await moveTo('2025-02-28');
  assert.equal(await present(), 'active 2025-02-28..2025-03-31');
  assert.equal(await balance(), 0);
  await use('march', 250);
  await moveTo('2025-03-31');
  // 250 calls at 50 per 100 are 125.
  assert.deepEqual((await invoices()).slice(3), ['2025-02-28 paid 12000', '2025-03-31 paid 12125']);
  assert.equal(await present(), 'active 2025-03-31..2025-04-30');
});

test('April: a downgrade that was scheduled and undone leaves no trace', async () => {
  await moveTo('2025-04-10');
  const scheduled = await adjust('basic', 'auto');
  assert.equal(scheduled.resolvedTiming, 'at_end_of_current_billing_period');
  assert.equal(day(scheduled.subscription.scheduledAdjustmentAt), '2025-04-30');
  await moveTo('2025-04-15');
  const undone = await app.post(`${path}/cancel-scheduled-adjustment`);
  assert.equal(undone.subscription.scheduledAdjustmentAt, null);
  await moveTo('2025-04-30');
  assert.deepEqual((await invoices()).slice(5), ['2025-04-30 paid 12000']);
});

test('May: the downgrade is meant this time, and costs less from the next month on', async () => {
  await adjust('basic', 'auto');
  await moveTo('2025-05-31');
  assert.equal(await present(), 'active 2025-05-31..2025-06-30');
  assert.deepEqual((await invoices()).slice(6), ['2025-05-31 paid 3000']);
  assert.equal((await app.get(path)).subscription.scheduledAdjustmentAt, null);
});

test('June: a card that fails makes the subscription past due, and a good one recovers it', async () => {
  await attachAnd('pm_card_chargeCustomerFail', () => moveTo('2025-06-30'));
  assert.equal(await present(), 'past_due 2025-06-30..2025-07-31');
  const { work } = await moveTo('2025-07-04');
  assert.equal(work.paymentsFailed, 1);
  const { subscription, payment } = await attachAnd('pm_card_visa', () => app.post(`${path}/retry-payment`));
  assert.deepEqual([subscription.status, payment.status, payment.amount], ['active', 'succeeded', 3000]);
  assert.deepEqual((await invoices()).slice(7), ['2025-06-30 paid 3000']);
  const { data: payments } = await app.get(`/payments?subscriptionId=${begun.id}&status=failed`);
  assert.equal(payments.length, 2);
});

test('August: a cancel ends it with its month, bills the last usage and gives the free plan back', async () => {
  await moveTo('2025-08-10');
  assert.equal(await present(), 'active 2025-07-31..2025-08-31');
  await use('august', 1100);
  await app.post(`${path}/cancel`, { cancellation: { timing: 'at_end_of_current_billing_period' } });
  await moveTo('2025-08-31');
  assert.equal(await present(), 'canceled 2025-07-31..2025-08-31');
  // 1000 of 1100 calls were included; 100 cost 50.
  assert.deepEqual((await invoices()).slice(8), ['2025-07-31 paid 3000', '2025-08-31 paid 50']);
  const { currentSubscription } = await app.get('/customers/ada/billing');
  assert.deepEqual([currentSubscription.isFreePlan, currentSubscription.status], [true, 'active']);
});

test('until January: the free plan stays active, month after month, and nothing more is billed', async () => {
  const { work } = await moveTo('2026-01-17');
  assert.deepEqual([work.periodsRenewed, work.invoicesCreated], [4, 0]);
  assert.equal((await invoices()).length, 10);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { buyNow } from '../support/buying.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, firstBalance, meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

// Credits that were bought or granted by hand belong to the customer: they outlive every plan. A first payment that fails
// changes nothing.

const app = await startTestApp();
const { pricingModel } = await app.post('/pricing-models/setup', {
  name: 'Chat',
  isDefault: true,
  features: [
    credits('free-messages', 20, 'messages'),
    credits('pro-messages', 1000, 'messages'),
    credits('welcome', 100, 'messages', { renewalFrequency: 'once' }),
    credits('pack', 500, 'messages', { renewalFrequency: 'once' }),
  ],
  products: [
    plan('free', 0, ['free-messages']),
    plan('pro', 2900, ['pro-messages']),
    plan('plus', 3900, ['pro-messages', 'welcome']),
    plan('pack', 1000, ['pack'], { type: 'single_payment', intervalUnit: undefined, intervalCount: undefined }),
  ],
  usageMeters: [meter('messages', 'Messages', { slug: 'message', unitPrice: 1, usageEventsPerUnit: 1 })],
});
const packId: string = pricingModel.products.find(({ slug }: Body) => slug === 'pack').id;
const priceSlug = 'pro-monthly';

const balance = async (externalId: string, id: string) => firstBalance(app, externalId, id);
const subscription = async (id: string) => (await app.get(`/subscriptions/${id}`)).subscription;
const current = async (externalId: string) => (await app.get(`/customers/${externalId}/billing`)).currentSubscription;

/** A customer on the free plan who has bought 500 messages for 10.00. */
async function newBuyer(externalId: string) {
  await app.setClock(instant('2026-06-01'));
  const customer = await newCustomer(app, externalId, { token: 'pm_card_visa' });
  await app.inEnvironment((work) => buyNow(work, { customerId: customer.customerId, productId: packId }));
  await app.runJobs({ all: true });
  assert.equal(await balance(externalId, customer.freeId), 520);
  return customer;
}

test('500 bought messages are there after the upgrade: 520 become 1500', async () => {
  const { externalId, customerId, freeId } = await newBuyer('upgrading');
  const { id } = (await app.post('/subscriptions', { customerId, priceSlug })).subscription;
  assert.equal(await balance(externalId, id), 1500);
  const { data: before } = await app.get(`/usage-credits?subscriptionId=${freeId}&source=purchase`);
  const { data: after } = await app.get(`/usage-credits?subscriptionId=${id}&source=purchase`);
  const fields = ({ issuedAmount, takenBackAmount, transferredAmount, remainingAmount, status }: Body) => [
    issuedAmount,
    takenBackAmount,
    transferredAmount,
    remainingAmount,
    status,
  ];
  assert.deepEqual(before.map(fields), [[500, 0, 500, 0, 'transferred']]);
  assert.deepEqual(after.map(fields), [[500, 0, 0, 500, 'active']]);
  assert.equal(after[0].transferredFrom, before[0].id);
  // They can be consumed, all of them.
  const usageEvent = { subscriptionId: id, priceSlug: 'message', transactionId: 'all', amount: 1500 };
  await app.post('/usage-events/consume', { usageEvent });
  await assertSound(app);
});

test('they are there after a cancel, and after the same plan again a day later: 1500, 520, 1500', async () => {
  const { externalId, customerId } = await newBuyer('returning');
  const first = (await app.post('/subscriptions', { customerId, priceSlug })).subscription;
  await app.post(`/subscriptions/${first.id}/cancel`, { cancellation: { timing: 'immediately' } });
  const free = await current(externalId);
  assert.equal(await balance(externalId, free.id), 520);
  await app.setClock(instant('2026-06-02'));
  const second = (await app.post('/subscriptions', { customerId, priceSlug })).subscription;
  assert.equal(await balance(externalId, second.id), 1500);
  // Checks count them, and holds set them aside.
  const check = { customerExternalId: externalId, featureSlug: 'pro-messages', amount: 1500 };
  const { results } = await app.post('/entitlements/check', { checks: [check] });
  assert.deepEqual([results[0].allowed, results[0].availableBalance], [true, 1500]);
  const expiresAt = instant('2026-06-03');
  await app.post('/holds', { hold: { subscriptionId: second.id, priceSlug: 'message', amount: 1500, expiresAt } });
  assert.equal(await balance(externalId, second.id), 0);
  await assertSound(app);
});

test('credits granted by hand keep their end, priority and reason, and those of the plan end with it', async () => {
  await app.setClock(instant('2026-06-01'));
  const { externalId, customerId, freeId } = await newCustomer(app, 'gifted', { token: 'pm_card_visa' });
  const expiresAt = instant('2026-07-15');
  const usageCredit = {
    subscriptionId: freeId,
    usageMeterSlug: 'messages',
    amount: 100,
    expiresAt,
    priority: 7,
    reason: 'sorry',
  };
  await app.post('/usage-credits', { usageCredit });
  const { id } = (await app.post('/subscriptions', { customerId, priceSlug })).subscription;
  assert.equal(await balance(externalId, id), 1100);
  const { data } = await app.get(`/usage-credits?subscriptionId=${id}&source=manual_adjustment`);
  assert.deepEqual(
    data.map((each: Body) => [each.remainingAmount, each.expiresAt, each.priority, each.reason]),
    [[100, expiresAt, 7, 'sorry']],
  );
});

test('a first payment that fails is 402, and the free plan goes on, the very same, with all of its credits', async () => {
  const { externalId, customerId, freeId } = await newBuyer('declined');
  const usageEvent = { subscriptionId: freeId, priceSlug: 'message', transactionId: 'some', amount: 15 };
  await app.post('/usage-events/consume', { usageEvent });
  const defaultPaymentMethodId = await newCard(app, customerId, 'pm_card_chargeCustomerFail');
  for (let attempt = 1; attempt <= 4; attempt++) {
    const body = { customerId, priceSlug, defaultPaymentMethodId };
    const answer = await app.request('POST', '/subscriptions', body);
    assert.equal(answer.status, 402);
    assert.match(answer.body.error, /first payment failed/);
    assert.deepEqual(
      [answer.body.subscription.status, answer.body.subscription.cancellationReason],
      ['canceled', 'non_payment'],
    );
    assert.equal((await current(externalId)).id, freeId);
    assert.equal((await subscription(freeId)).status, 'active');
    assert.equal(await balance(externalId, freeId), 505);
  }
  await assertSound(app);
});

test('of four subscriptions that are asked for at once each is 402 or 409, and the free plan goes on', async () => {
  const { externalId, customerId, freeId } = await newBuyer('hurried');
  const defaultPaymentMethodId = await newCard(app, customerId, 'pm_card_chargeCustomerFail');
  const body = { customerId, priceSlug, defaultPaymentMethodId };
  const answers = await Promise.all([1, 2, 3, 4].map(() => app.request('POST', '/subscriptions', body)));
  const statuses = answers.map(({ status }) => status);
  assert(statuses.includes(402) && statuses.every((status) => status === 402 || status === 409), statuses.join());
  assert.equal((await current(externalId)).id, freeId);
  assert.equal(await balance(externalId, freeId), 520);
  await assertSound(app);
});

test('while a slow first payment is pending the free plan goes on; when it arrives, it is replaced', async () => {
  const { externalId, customerId, freeId } = await newBuyer('patient');
  const defaultPaymentMethodId = await newCard(app, customerId, 'pm_card_processing');
  const { id } = (await app.post('/subscriptions', { customerId, priceSlug, defaultPaymentMethodId })).subscription;
  assert.equal((await subscription(freeId)).status, 'active');
  assert.equal(await balance(externalId, freeId), 520);
  await app.setClock(instant('2026-06-01') + 2 * 3_600_000);
  await app.runJobs({ all: true });
  const [free, paid] = [await subscription(freeId), await subscription(id)];
  assert.deepEqual([free.status, free.replacedBySubscriptionId, paid.status], ['canceled', id, 'active']);
  assert.equal(await balance(externalId, id), 1500);
  await assertSound(app);
});

/** The last payment of a customer. */
const lastPayment = async (customerId: string): Promise<Body> =>
  (await app.get(`/payments?customerId=${customerId}&limit=100`)).data.at(-1);

test('a refund of a top-up takes its unused credits back and says how many were used: 500 bought, 120 used', async () => {
  const { externalId, customerId, freeId } = await newBuyer('regretful');
  const usageEvent = { subscriptionId: freeId, priceSlug: 'message', transactionId: 'regret', amount: 140 };
  await app.post('/usage-events/consume', { usageEvent });
  const payment = await lastPayment(customerId);
  const dry = await app.post(`/payments/${payment.id}/refund?dryRun=true`, {});
  const answer = await app.post(`/payments/${payment.id}/refund`, {});
  const [credit] = answer.credits;
  const { usageMeterId, ...amounts } = credit;
  assert.deepEqual(amounts, { boughtAmount: 500, usedAmount: 120, takenBackAmount: 380, remainingAmount: 0 });
  assert.deepEqual([dry.credits, typeof usageMeterId], [answer.credits, 'string']);
  assert.equal(await balance(externalId, freeId), 0);
  await assertSound(app);
});

test('refunds of 3.33 and 6.67 of 10.00 take back 167 and 333 of 500 credits, where an upgrade has moved them', async () => {
  const { externalId, customerId } = await newBuyer('moving');
  const payment = await lastPayment(customerId);
  const { id } = (await app.post('/subscriptions', { customerId, priceSlug })).subscription;
  const [part] = (await app.post(`/payments/${payment.id}/refund`, { partialAmount: 333 })).credits;
  assert.deepEqual([part.takenBackAmount, part.remainingAmount], [167, 333]);
  assert.equal(await balance(externalId, id), 1333);
  const [rest] = (await app.post(`/payments/${payment.id}/refund`, {})).credits;
  assert.deepEqual([rest.boughtAmount, rest.takenBackAmount, rest.remainingAmount], [500, 333, 0]);
  assert.equal(await balance(externalId, id), 1000);
  await assertSound(app);
});

test('a refund leaves the credits that a hold sets aside: of 520 with 100 held it takes 420', async () => {
  const { externalId, customerId, freeId } = await newBuyer('holding');
  const expiresAt = instant('2026-06-02');
  const hold = { subscriptionId: freeId, priceSlug: 'message', amount: 100, expiresAt };
  await app.post('/holds', { hold });
  const [credit] = (await app.post(`/payments/${(await lastPayment(customerId)).id}/refund`, {})).credits;
  assert.deepEqual([credit.takenBackAmount, credit.remainingAmount], [420, 80]);
  assert.equal(await balance(externalId, freeId), 0);
  await assertSound(app);
});

test('money of a top-up that is refunded before the rest is paid grants nothing: 300 of 500 for 6.00 of 10.00', async () => {
  await app.put('/settings', { settings: { netTermsDays: 30 } });
  await app.setClock(instant('2026-06-01'));
  const { externalId, customerId, freeId } = await newCustomer(app, 'paying in parts');
  const { purchase } = await app.post('/purchases', { purchase: { customerId, priceSlug: 'pack-monthly' } });
  const pay = async (amount: number) =>
    (await app.post(`/invoices/${purchase.invoiceId}/record-payment`, { payment: { amount } })).payment.id;
  const first = await pay(700);
  for (const partialAmount of [150, 250])
    assert.deepEqual((await app.post(`/payments/${first}/refund`, { partialAmount })).credits, []);
  await pay(300);
  await app.put('/settings', { settings: { netTermsDays: 0 } });
  // 1.50 and 2.50 of 10.00 take back 75 and 125 of 500.
  assert.equal(await balance(externalId, freeId), 320);
  const [credit] = (await app.get(`/usage-credits?subscriptionId=${freeId}&source=purchase`)).data;
  assert.deepEqual([credit.issuedAmount, credit.takenBackAmount, credit.remainingAmount], [500, 200, 300]);
  assert.equal((await app.get(`/purchases/${purchase.id}`)).purchase.status, 'partial_refund');
  // The next refund takes its own share only.
  const [next] = (await app.post(`/payments/${first}/refund`, { partialAmount: 100 })).credits;
  assert.deepEqual([next.takenBackAmount, next.remainingAmount], [50, 250]);
  await assertSound(app);
});

test('two refunds of halves at once take back 250 credits each', async () => {
  const { customerId } = await newBuyer('doubled');
  const payment = await lastPayment(customerId);
  const halve = () => app.post(`/payments/${payment.id}/refund`, { partialAmount: 500 });
  const answers = await Promise.all([halve(), halve()]);
  assert.deepEqual(
    answers.map(({ credits: [credit] }) => credit.takenBackAmount),
    [250, 250],
  );
  await assertSound(app);
});

/** Uses messages on a subscription. */
async function consume(subscriptionId: string, amount: number) {
  const usageEvent = { subscriptionId, priceSlug: 'message', transactionId: `${subscriptionId} ${amount}`, amount };
  await app.post('/usage-events/consume', { usageEvent });
}

test('a return to the free plan in its period grants what was left unused: 15 of 20 are used, 5 come, 20 after the month', async () => {
  await app.setClock(instant('2026-06-01'));
  const { externalId, customerId, freeId } = await newCustomer(app, 'cycling', { token: 'pm_card_visa' });
  await consume(freeId, 15);
  for (const [from, left] of [
    ['2026-06-02', 5],
    ['2026-06-03', 0],
    ['2026-07-03', 20],
  ] as const) {
    await app.setClock(instant(from));
    const { id } = (await app.post('/subscriptions', { customerId, priceSlug })).subscription;
    await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
    const free = await current(externalId);
    assert.equal(await balance(externalId, free.id), left, from);
    if (left === 5) await consume(free.id, 5);
    await assertSound(app);
  }
});

test('one-time credits come once for a customer: 100 with the plan, the 40 unused ones with the same plan again', async () => {
  await app.setClock(instant('2026-06-01'));
  const { externalId, customerId } = await newCustomer(app, 'welcomed', { token: 'pm_card_visa' });
  // One-time credits do not expire, so they are used after the 1000 of the month.
  for (const [expected, used] of [
    [1100, 1060],
    [1040, 1040],
    [1000, 0],
  ] as const) {
    const { id } = (await app.post('/subscriptions', { customerId, priceSlug: 'plus-monthly' })).subscription;
    assert.equal(await balance(externalId, id), expected);
    if (used > 0) await consume(id, used);
    await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  }
  await assertSound(app);
});

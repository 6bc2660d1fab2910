import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { buyNow } from '../support/buying.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, firstBalance, meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

// Credits that were bought or granted by hand belong to the customer: they outlive every plan. A first payment that fails
// changes nothing.

const app = await startTestApp();
after(() => assertSound(app));
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
});

/** The last payment of a customer. */
const lastPayment = async (customerId: string): Promise<Body> =>
  (await app.get(`/payments?customerId=${customerId}&limit=100`)).data.at(-1);

const firstPayment = async (customerId: string): Promise<Body> =>
  (await app.get(`/payments?customerId=${customerId}&limit=100`)).data[0];

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
});

test('a refund leaves the credits that a hold sets aside: of 520 with 100 held it takes 420', async () => {
  const { externalId, customerId, freeId } = await newBuyer('holding');
  const expiresAt = instant('2026-06-02');
  const hold = { subscriptionId: freeId, priceSlug: 'message', amount: 100, expiresAt };
  await app.post('/holds', { hold });
  const [credit] = (await app.post(`/payments/${(await lastPayment(customerId)).id}/refund`, {})).credits;
  assert.deepEqual([credit.takenBackAmount, credit.remainingAmount], [420, 80]);
  assert.equal(await balance(externalId, freeId), 0);
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
});

const creditBalance = async (externalId: string, asOf?: number) => {
  const query = asOf === undefined ? '' : `?asOf=${asOf}`;
  const [row, ...others] = (await app.get(`/customers/${externalId}/credit-balances${query}`)).creditBalances;
  assert.deepEqual([row.slug, row.kind, row.unit, others.length], ['messages', 'meter', 'units', 0]);
  const { availableBalance, granted, paid, held, expiringNext } = row;
  return { availableBalance, granted, paid, held, next: expiringNext?.amount ?? 0 };
};

test('a free user buys 500, upgrades, cancels and comes back: 150 of them are used, and 350 are there', async () => {
  const { externalId, customerId, freeId } = await newBuyer('accounted');
  const pictures: [at: number, was: object][] = [];
  const expectCredits = async (at: string, was: object) => {
    assert.deepEqual(await creditBalance(externalId), was, at);
    pictures.push([instant(at), was]);
  };
  await app.setClock(instant('2026-06-02'));
  // The 20 of the month expire, so they are used first, and 100 bought ones then.
  await consume(freeId, 120);
  await expectCredits('2026-06-02', { availableBalance: 400, granted: 0, paid: 400, held: 0, next: 0 });
  await app.setClock(instant('2026-06-03'));
  const pro = (await app.post('/subscriptions', { customerId, priceSlug })).subscription;
  await expectCredits('2026-06-03', { availableBalance: 1400, granted: 1000, paid: 400, held: 0, next: 1000 });
  await app.setClock(instant('2026-06-04'));
  await consume(pro.id, 1050);
  const hold = { subscriptionId: pro.id, priceSlug: 'message', amount: 30, expiresAt: instant('2026-06-20') };
  await app.post('/holds', { hold });
  await expectCredits('2026-06-04', { availableBalance: 320, granted: 0, paid: 350, held: 30, next: 0 });
  await app.setClock(instant('2026-06-05'));
  await app.post(`/subscriptions/${pro.id}/cancel`, { cancellation: { timing: 'immediately' } });
  await expectCredits('2026-06-05', { availableBalance: 350, granted: 0, paid: 350, held: 0, next: 0 });
  await app.setClock(instant('2026-06-07'));
  const again = (await app.post('/subscriptions', { customerId, priceSlug })).subscription;
  assert.equal(await balance(externalId, again.id), 1350);
  await expectCredits('2026-06-07', { availableBalance: 1350, granted: 1000, paid: 350, held: 0, next: 1000 });
  for (const [at, was] of pictures) assert.deepEqual(await creditBalance(externalId, at), was, `as of ${at}`);
  const [credit] = (await app.post(`/payments/${(await firstPayment(customerId)).id}/refund?dryRun=true`, {})).credits;
  const { boughtAmount, usedAmount, takenBackAmount } = credit;
  assert.deepEqual([boughtAmount, usedAmount, takenBackAmount], [500, 150, 350]);
});

const prepaid = await app.post('/pricing-models/setup', {
  name: 'Prepaid',
  features: [credits('pro-messages', 1000, 'messages')],
  products: [plan('pro', 2900, ['pro-messages'])],
  usageMeters: [meter('messages', 'Messages', { slug: 'message', unitPrice: 1, usageEventsPerUnit: 1 })],
});
const priceId: string = prepaid.pricingModel.products.find(({ slug }: Body) => slug === 'pro').defaultPrice.id;

/** A customer without a subscription, made while its pricing model had no default product. */
async function newGuest(externalId: string) {
  await app.setClock(instant('2026-06-01'));
  const pricingModelId = prepaid.pricingModel.id;
  const [product] = await app.owner
    .updateTable('products')
    .set({ isDefault: false })
    .where('pricingModelId', '=', pricingModelId)
    .where('isDefault', '=', true)
    .returning('id')
    .execute();
  const guest = await newCustomer(app, externalId, { token: 'pm_card_visa', pricingModelId });
  await app.owner
    .updateTable('products')
    .set({ isDefault: true })
    .where('id', '=', product?.id ?? '')
    .execute();
  return guest;
}

test('credits granted to a customer without a subscription wait: of 100 with 30 taken back the next plan gets 70, once', async () => {
  const { externalId, customerId } = await newGuest('waiting');
  const usageCredit = {
    customerExternalId: externalId,
    usageMeterSlug: 'messages',
    amount: 100,
    expiresAt: instant('2026-08-01'),
    priority: 7,
    transactionId: 'a gift',
  };
  const first = (await app.post('/usage-credits', { usageCredit })).usageCredit;
  assert.deepEqual([first.customerId, first.subscriptionId, first.remainingAmount], [customerId, null, 100]);
  const { usageCredit: repeated } = await app.post('/usage-credits', { usageCredit: { ...usageCredit, amount: 1 } });
  assert.equal(repeated.id, first.id);
  await app.post(`/usage-credits/${first.id}/take-back`, { amount: 30 });
  const waiting = { availableBalance: 70, granted: 70, paid: 0, held: 0, next: 70 };
  assert.deepEqual(await creditBalance(externalId), waiting);
  const ledger = await app.get(`/customers/${externalId}/ledger`);
  assert.deepEqual(
    ledger.data.slice(-2).map((row: Body) => [row.subscriptionId, row.type, row.amount, row.availableAfter]),
    [
      [null, 'grant', 100, 100],
      [null, 'take_back', -30, 70],
    ],
  );
  assert.equal(ledger.balances.at(-1).availableBalance, 70);
  const listed = async (filter: string) =>
    (await app.get(`/usage-credits?usageMeterId=${first.usageMeterId}&${filter}`)).data;
  for (const filter of [`customerId=${customerId}`, `customerExternalId=${externalId}`])
    assert(
      (await listed(filter)).some(({ id }: Body) => id === first.id),
      filter,
    );
  await assertSound(app);

  // Two requests at once: one plan begins, with all that waited.
  const order = () => app.request('POST', '/subscriptions', { customerId, priceId });
  const answers = await Promise.all([order(), order()]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  const { id } = await current(externalId);
  assert.equal(await balance(externalId, id), 1070);
  const moved = (await listed(`customerId=${customerId}`)).filter(
    ({ transferredFrom }: Body) => transferredFrom === first.id,
  );
  assert.deepEqual(
    moved.map((each: Body) => [each.subscriptionId, each.issuedAmount, each.expiresAt, each.priority]),
    [[id, 70, usageCredit.expiresAt, 7]],
  );
  // A repeat is still the first grant, whose units have gone over.
  const { usageCredit: again } = await app.post('/usage-credits', { usageCredit });
  assert.deepEqual(
    [again.id, again.status, again.transferredAmount, again.takenBackAmount],
    [first.id, 'taken_back', 70, 30],
  );
  assert.deepEqual(await creditBalance(externalId), {
    availableBalance: 1070,
    granted: 1070,
    paid: 0,
    held: 0,
    next: 1000,
  });
});

test('credits granted to a customer with a plan are on it at once, and are used before those that it bought', async () => {
  const { externalId, customerId, freeId } = await newBuyer('favoured');
  const usageCredit = { customerId, usageMeterSlug: 'messages', amount: 50, transactionId: 'favour' };
  const { subscriptionId } = (await app.post('/usage-credits', { usageCredit })).usageCredit;
  assert.equal(subscriptionId, freeId);
  // 20 expire with the month. Then 50 that were granted pay, although the 500 that were bought are older.
  await consume(freeId, 80);
  assert.deepEqual(await creditBalance(externalId), {
    availableBalance: 490,
    granted: 0,
    paid: 490,
    held: 0,
    next: 0,
  });
});

test('a grant names one of a subscription and a customer, and a customer that exists', async () => {
  const { externalId, customerId, freeId } = await newBuyer('named');
  const ask = (to: object) =>
    app.request('POST', '/usage-credits', { usageCredit: { ...to, usageMeterSlug: 'messages', amount: 1 } });
  for (const to of [{}, { subscriptionId: freeId, customerId }, { customerId, customerExternalId: externalId }]) {
    const { status, body } = await ask(to);
    assert.deepEqual([status, /exactly one of subscriptionId, customerId/.test(body.error)], [400, true]);
  }
  assert.equal((await ask({ customerExternalId: 'nobody' })).status, 404);
  const first = await app.request('POST', '/usage-credits', {
    usageCredit: { customerId, usageMeterSlug: 'messages', amount: 1, transactionId: 'shared' },
  });
  const other = await newBuyer('other named');
  const taken = await app.request('POST', '/usage-credits', {
    usageCredit: { customerId: other.customerId, usageMeterSlug: 'messages', amount: 1, transactionId: 'shared' },
  });
  assert.deepEqual([first.status, taken.status, taken.body.reason], [200, 409, 'transaction_id_taken']);
  const future = await app.request('GET', `/customers/${externalId}/credit-balances?asOf=${instant('2026-06-02')}`);
  assert.deepEqual([future.status, /asOf/.test(future.body.error)], [400, true]);
});

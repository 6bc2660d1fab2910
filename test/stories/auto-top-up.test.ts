import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { topUpHandler } from '../../src/billing/buy.ts';
import { enqueueInDueEnvironments } from '../../src/billing/store-due.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { findPayment } from '../../src/payments/actions.ts';
import { operationsOf, outcomeOf } from '../support/charge.ts';
import type { Body } from '../support/harness.ts';
import { startTestApp } from '../support/harness.ts';
import { newProduct, refused } from '../support/pricing-fixture.ts';
import { setUpShop } from '../support/purchases-fixture.ts';
import { meet } from '../support/race.ts';
import { newCard } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
after(() => assertSound(app));
const shop = await setUpShop(app);
const { plans } = shop;
const pack = await app.get(`/products/${shop.packId}`);
// Packs of 1000 calls for 10.00.
await newProduct(app, plans.pricingModelId, {
  product: { name: 'Refill' },
  price: { type: 'single_payment', slug: 'refill', unitPrice: 1000 },
  featureIds: pack.features.map(({ id }: Body) => id),
});
const june = instant('2026-06-01');
const refill = { priceSlug: 'refill', below: 300, upTo: 2000, maximumAmountPerMonth: 100_000 };

const pathOf = (externalId: string) => `/customers/${externalId}/spend-controls`;
async function set(externalId: string, autoTopUp: Body | null): Promise<Body> {
  const { spendControls } = await app.put(pathOf(externalId), { spendControls: { autoTopUp } });
  await app.runJobs({ all: true });
  return spendControls.autoTopUp;
}
const read = async (externalId: string): Promise<Body> => (await app.get(pathOf(externalId))).spendControls.autoTopUp;

/** A customer on the free plan with 500 calls, and with a top-up. */
async function newRefilled(token = 'pm_card_visa', terms: Body = {}) {
  await app.setClock(june);
  const customer = await plans.newCustomer(token);
  await set(customer.externalId, { ...refill, ...terms });
  return customer;
}

let sent = 0;
function use(subscriptionId: string, amount: number, path = '/usage-events') {
  sent += 1;
  const usageEvent = { subscriptionId, priceSlug: 'call-overage', transactionId: `use-${sent}`, amount };
  return app.post(path, { usageEvent });
}

async function purchasesOf(customerId: string): Promise<[string, number][]> {
  const { data } = await app.get(`/purchases?customerId=${customerId}&limit=100`);
  return data.map(({ status, quantity }: Body) => [status, quantity]);
}

test('two hundred events that cross the line at once make one purchase, which closes the gap', async () => {
  const { customerId, externalId, freeId } = await newRefilled();
  await Promise.all(Array.from({ length: 200 }, () => use(freeId, 2)));
  assert.deepEqual(await purchasesOf(customerId), [], 'the charge waits for the commit');
  // Several workers look at once.
  await Promise.all([app.runJobs({ all: true }), app.runJobs({ all: true }), app.runJobs({ all: true })]);
  await app.runJobs({ all: true });
  // 100 are left of 500, and 2 packs of 1000 reach 2000.
  assert.deepEqual(await purchasesOf(customerId), [['paid', 2]]);
  assert.equal(await plans.calls(externalId, freeId), 2100);
  const { failures, amountThisMonth, openPurchaseId, stoppedAt } = await read(externalId);
  assert.deepEqual([failures, amountThisMonth, openPurchaseId, stoppedAt], [0, 2000, null, null]);
});

test('a balance at the line buys nothing, below it a consume and a hold do, and so does a setting', async () => {
  const { customerId, externalId, freeId } = await newRefilled('pm_card_visa', { upTo: undefined, quantity: 1 });
  await use(freeId, 200, '/usage-events/consume');
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), []);
  await use(freeId, 1, '/usage-events/consume');
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [['paid', 1]]);
  assert.equal(await plans.calls(externalId, freeId), 1299);
  const hold = { subscriptionId: freeId, usageMeterSlug: 'api-calls', amount: 1000, expiresAt: june + 3_600_000 };
  await app.post('/holds', { hold });
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [
    ['paid', 1],
    ['paid', 1],
  ]);
  await set(externalId, { ...refill, below: 5000, upTo: 5000 });
  assert.deepEqual((await purchasesOf(customerId)).at(-1), ['paid', 4]);
});

test('a top-up that is set while the first use opens an account has its line there', async () => {
  await app.setClock(june);
  const bare = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 700, slug: 'bare' };
  await newProduct(app, plans.pricingModelId, { product: { name: 'Bare' }, price: bare });
  const { customerId, externalId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const { id } = await plans.subscribe({ customerId, priceSlug: 'bare', defaultPaymentMethodId: paymentMethodId });
  await meet(
    app,
    { table: 'usage_events', on: 'insert' },
    () => use(id, 1),
    () => set(externalId, refill),
  );
  await app.runJobs({ all: true });
  await use(id, (await plans.calls(externalId, id)) ?? 0);
  await app.runJobs({ all: true });
  assert.deepEqual((await purchasesOf(customerId)).at(-1), ['paid', 2], 'the use after it crosses the line');
});

test('a hold that takes the place of one that has ended triggers a purchase where it crosses the line', async () => {
  const { customerId, freeId } = await newRefilled('pm_card_visa', { upTo: undefined, quantity: 1 });
  const hold = { subscriptionId: freeId, usageMeterSlug: 'api-calls', amount: 200 };
  await app.post('/holds', { hold: { ...hold, expiresAt: june + 3_600_000 } });
  await app.setClock(june + 2 * 3_600_000);
  await use(freeId, 1);
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [], '499 of 500 are left');
  await app.post('/holds', { hold: { ...hold, expiresAt: june + 3 * 3_600_000 } });
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [['paid', 1]], '299 are left');
});

test('credits that ended since the last use count with the next one', async () => {
  const { customerId, externalId, freeId } = await newRefilled();
  const usageCredit = { subscriptionId: freeId, usageMeterSlug: 'api-calls', amount: 400 };
  await app.post('/usage-credits', { usageCredit: { ...usageCredit, expiresAt: june + 86_400_000 } });
  await use(freeId, 600);
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [], '300 of 900 are left');
  await app.post('/usage-credits', { usageCredit: { ...usageCredit, expiresAt: june + 2 * 86_400_000 } });
  await app.setClock(june + 3 * 86_400_000);
  // 300 are left, beside 400 whose end is not booked yet.
  await use(freeId, 1);
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [['paid', 2]]);
  assert.equal(await plans.calls(externalId, freeId), 2299);
});

/** Moves the test clock, with the work that is due on the way. */
async function moveTo(now: number): Promise<void> {
  await app.put('/test-clock', { testClock: { now } });
  await app.runJobs({ all: true });
}

test('credits that all end by time alone bring one purchase, and after its refund another end brings none', async () => {
  const { customerId, externalId, freeId } = await newRefilled();
  const end = june + 86_400_000;
  const of = { subscriptionId: freeId, usageMeterSlug: 'api-calls' };
  await app.post('/usage-credits', { usageCredit: { ...of, amount: 400, priority: 200, expiresAt: end } });
  await use(freeId, 600);
  await moveTo(end - 1);
  assert.deepEqual(await purchasesOf(customerId), [], '300 of 900 are left');
  await moveTo(end);
  assert.deepEqual(await purchasesOf(customerId), [['paid', 2]]);
  assert.equal(await plans.calls(externalId, freeId), 2000);
  await app.post('/usage-credits', { usageCredit: { ...of, amount: 10, priority: 200, expiresAt: end + 1000 } });
  const { data } = await app.get(`/payments?customerId=${customerId}`);
  await app.post(`/payments/${data[0].id}/refund`, {});
  await moveTo(end + 1000);
  assert.equal(await plans.calls(externalId, freeId), 0);
  assert.deepEqual(await purchasesOf(customerId), [['refunded', 2]]);
});

test('a refund between the end of other credits and its booking brings no purchase, and neither does the next use', async () => {
  const { customerId, externalId, freeId } = await newRefilled();
  await use(freeId, 300);
  await app.runJobs({ all: true });
  const of = { subscriptionId: freeId, usageMeterSlug: 'api-calls' };
  await app.post('/usage-credits', {
    usageCredit: { ...of, amount: 400, priority: 200, expiresAt: june + 86_400_000 },
  });
  await use(freeId, 1700);
  await app.setClock(june + 2 * 86_400_000);
  assert.equal(await plans.calls(externalId, freeId), 500, 'the rest of what was bought');
  const { data } = await app.get(`/payments?customerId=${customerId}`);
  await app.post(`/payments/${data[0].id}/refund`, {});
  assert.equal(await plans.calls(externalId, freeId), 0);
  await app.runJobs({ all: true });
  await use(freeId, 1);
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [['refunded', 2]]);
});

test('a plan that begins below the line after another one has ended brings one purchase', async () => {
  await app.setClock(june);
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const { id: proId } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  await app.runJobs({ all: true });
  await set(externalId, { ...refill, below: 1000 });
  assert.deepEqual(await purchasesOf(customerId), [], '1500 of the plan are left');
  await plans.cancel(proId, 'immediately');
  await app.runJobs({ all: true });
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [['paid', 2]], 'the free plan begins with 500 at most');
});

test('a service that dies between the charge and the credits gives them once', async () => {
  const { customerId, externalId, freeId } = await newRefilled();
  await use(freeId, 300);
  await app.inEnvironment(async (work) => topUpHandler.perform(work, await topUpHandler.take(work, 10)));
  assert.deepEqual(await purchasesOf(customerId), [['pending', 2]]);
  assert.equal(await plans.calls(externalId, freeId), 200, 'there are no credits before the money is there');
  const {
    data: [{ id: paymentId }],
  } = await app.get(`/payments?customerId=${customerId}`);
  // The processor has charged, and nobody wrote it down.
  const payment = await app.inEnvironment((work) => findPayment(work, paymentId));
  assert(payment);
  assert.equal((await outcomeOf(app, payment)).result, 'succeeded');
  assert.equal(await plans.calls(externalId, freeId), 200);
  await app.runJobs({ all: true });
  await app.runJobs({ all: true });
  assert.equal(await plans.calls(externalId, freeId), 2200);
  assert.deepEqual(await operationsOf(app, paymentId), ['charge']);
  assert.deepEqual(await purchasesOf(customerId), [['paid', 2]]);
});

test('a refund and a take-back trigger none, however low they bring the balance', async () => {
  const { customerId, externalId, freeId } = await newRefilled();
  await use(freeId, 300);
  await app.runJobs({ all: true });
  const {
    data: [payment],
  } = await app.get(`/payments?customerId=${customerId}`);
  await app.post(`/payments/${payment.id}/refund`, {});
  await app.runJobs({ all: true });
  assert.equal(await plans.calls(externalId, freeId), 200);
  const { data: credits } = await app.get(`/usage-credits?subscriptionId=${freeId}`);
  for (const { id } of credits) await app.request('POST', `/usage-credits/${id}/take-back`, {});
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [['refunded', 2]]);
});

test('a declined card is tried again after an hour and a day, and then the top-up stops and says so', async () => {
  const { customerId, externalId, freeId } = await newRefilled('pm_card_chargeCustomerFail');
  const tries = async () => (await app.get(`/payments?customerId=${customerId}`)).total;
  await use(freeId, 300);
  await app.runJobs({ all: true });
  assert.deepEqual([await tries(), (await read(externalId)).failures], [1, 1]);
  await use(freeId, 10);
  await app.runJobs({ all: true });
  assert.equal(await tries(), 1, 'more usage does not hurry it');
  for (const [hours, count] of [
    [1, 2],
    [26, 3],
    [60, 3],
  ] as const) {
    await app.setClock(june + hours * 3_700_000);
    await app.inEnvironment(async (work) => topUpHandler.perform(work, await topUpHandler.take(work, 10)));
    await app.runJobs({ all: true });
    assert.equal(await tries(), count);
  }
  const { failures, stoppedAt } = await read(externalId);
  assert.equal(failures, 3);
  assert.notEqual(stoppedAt, null);
  assert.equal((await shop.events(customerId)).filter((type) => type === 'auto_top_up.stopped').length, 1);
  assert.equal(await plans.calls(externalId, freeId), 190);
  // Setting it again starts it again.
  assert.deepEqual((await set(externalId, refill)).stoppedAt, null);
  assert.equal(await tries(), 4);
});

test('a bank that wants the customer to confirm a top-up is told of once, before the top-up is tried again', async () => {
  const { customerId, externalId, freeId } = await newRefilled('pm_card_authenticationRequired');
  const told = async () =>
    (await shop.events(customerId)).filter((type) => type === 'auto_top_up.action_required').length;
  await use(freeId, 300);
  await app.runJobs({ all: true });
  assert.deepEqual([await told(), (await read(externalId)).failures], [1, 1]);
  // The customer saves another card, which the next attempt charges.
  await newCard(app, customerId, 'pm_card_visa', { default: true });
  await app.setClock(june + 3_700_000);
  await app.inEnvironment(async (work) => topUpHandler.perform(work, await topUpHandler.take(work, 10)));
  await app.runJobs({ all: true });
  assert.equal(await plans.calls(externalId, freeId), 2200);
  assert.deepEqual([await told(), (await read(externalId)).failures], [1, 0]);
});

/** As each minute: asks for the work that is due, which a worker may have found locked, and does it. */
async function aMinuteLater(): Promise<void> {
  for (const { owner } of app.cells) await enqueueInDueEnvironments(owner, 'do_due_work', Date.now(), 0);
  await app.runJobs({ all: true });
}

test('a worker that finds the customer locked leaves its top-up to the next minute', async () => {
  const { customerId, freeId } = await newRefilled();
  await use(freeId, 300);
  await app.owner.transaction().execute(async (transaction) => {
    const customer = transaction.selectFrom('customers').select('id').where('id', '=', customerId);
    await customer.forNoKeyUpdate().executeTakeFirstOrThrow();
    await app.runJobs({ all: true });
  });
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [], 'the job is done');
  await aMinuteLater();
  assert.deepEqual(await purchasesOf(customerId), [['paid', 2]]);
});

test('several workers and consumers at once never spend more than the maximum of the month', async () => {
  const { customerId, externalId, freeId } = await newRefilled('pm_card_visa', {
    maximumAmountPerMonth: 3500,
    upTo: 1000,
  });
  for (let round = 0; round < 5; round++) {
    const uses = Array.from({ length: 8 }, () => use(freeId, 150));
    const workers = Array.from({ length: 4 }, () => app.runJobs({ all: true }));
    await Promise.all([...uses, ...workers]);
  }
  // A worker may have found the customer locked by another that only repeats a charge.
  await aMinuteLater();
  const bought = await purchasesOf(customerId);
  assert.deepEqual(
    bought.map(([status]) => status),
    bought.map(() => 'paid'),
  );
  assert.equal(
    bought.reduce((sum, [, quantity]) => sum + quantity, 0),
    3,
    '3 packs cost 30.00 of 35.00',
  );
  assert.equal((await read(externalId)).amountThisMonth, 3000);
  assert.equal(await plans.calls(externalId, freeId), 500 + 3000 - 6000);
});

test('the purchases of a month stay within its maximum, and the next month goes on', async () => {
  const { customerId, externalId, freeId } = await newRefilled('pm_card_visa', {
    upTo: 5000,
    maximumAmountPerMonth: 2500,
  });
  await use(freeId, 300);
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [['paid', 2]], '5 packs would reach 5000; 2 cost 20.00 of 25.00');
  await use(freeId, 2150);
  await app.runJobs({ all: true });
  await use(freeId, 10);
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [['paid', 2]]);
  assert.equal((await shop.events(customerId)).filter((type) => type === 'auto_top_up.limit_reached').length, 1);
  await app.setClock(instant('2026-07-01'));
  await app.inEnvironment(async (work) => topUpHandler.perform(work, await topUpHandler.take(work, 10)));
  await app.runJobs({ all: true });
  assert.deepEqual(await purchasesOf(customerId), [
    ['paid', 2],
    ['paid', 2],
  ]);
  assert.equal((await read(externalId)).amountThisMonth, 2000);
});

test('a top-up that could not buy is refused by its field, and null removes it', async () => {
  const { externalId } = await newRefilled();
  const put = (change: Body) =>
    app.request('PUT', pathOf(externalId), { spendControls: { autoTopUp: { ...refill, ...change } } });
  refused(await put({ priceSlug: 'none' }), 404, /none/);
  refused(await put({ priceSlug: 'pro-monthly' }), 400, /autoTopUp\.priceSlug: must be the slug of an active price/);
  refused(await put({ quantity: 2 }), 400, /autoTopUp\.upTo: send exactly one/);
  refused(await put({ upTo: undefined }), 400, /autoTopUp\.upTo: send exactly one/);
  refused(await put({ upTo: 200 }), 400, /autoTopUp\.upTo: must be at least below/);
  refused(await put({ below: 0 }), 400, /autoTopUp\.below/);
  refused(await put({ maximumAmountPerMonth: 0 }), 400, /autoTopUp\.maximumAmountPerMonth/);
  assert.equal((await read(externalId)).priceSlug, 'refill');
  assert.equal(await set(externalId, null), null);
  assert.equal(await read(externalId), null);
});

test('a top-up after a renewal is dated as it, although the clock passes the next renewal of another customer', async () => {
  await moveTo(instant('2026-06-16'));
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  // 1500 calls until 10 August, and 1000 from then on, beside the 500 of once.
  const long = { billingAnchor: { day: 10 }, firstPeriod: 'long' };
  await plans.subscribe({ customerId, priceSlug: 'pro-monthly', ...long });
  await app.runJobs({ all: true });
  await set(externalId, { ...refill, below: 1600 });
  await moveTo(instant('2026-07-10T12:00'));
  const other = await plans.newCustomer('pm_card_visa');
  await plans.subscribe({ customerId: other.customerId, priceSlug: 'pro-monthly' });
  await app.runJobs({ all: true });
  await moveTo(instant('2026-08-11'));
  const { data } = await app.get(`/purchases?customerId=${customerId}`);
  const topUps = data.filter(({ priceType }: Body) => priceType === 'single_payment');
  assert.deepEqual(
    topUps.map(({ purchaseDate }: Body) => purchaseDate),
    [instant('2026-08-10')],
  );
});

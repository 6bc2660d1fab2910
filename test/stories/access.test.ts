import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settleCharges } from '../../src/billing/settle-payment.ts';
import { runInEnvironment } from '../../src/database/work.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { capacity, credits, meter, newCustomer, plan, resource, toggle } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();
const organization = await app.newOrganization();
const caller = callerOf(app, organization);
const moveTo = (at: string) => caller.moveTo(instant(at));
const send = (path: string, body: Body) => app.request('POST', path, body, { key: organization.testKey });

await moveTo('2026-01-01');
await caller.post('/pricing-models/setup', {
  name: 'Access',
  isDefault: true,
  features: [credits('calls', 1000, 'calls'), toggle('sso'), capacity('seats', 5, 'seat')],
  products: [plan('free', 0), plan('pro', 3000, ['calls', 'sso', 'seats'])],
  usageMeters: [meter('calls', 'Calls', { slug: 'call', unitPrice: 1 })],
  resources: [resource('seat', 'Seat')],
});

async function newSubscriber(externalId: string) {
  const customer = await newCustomer(caller, externalId, { token: 'pm_card_visa' });
  const { customerId } = customer;
  const { subscription } = await caller.post('/subscriptions', { customerId, priceSlug: 'pro-monthly' });
  return { ...customer, id: subscription.id as string };
}
type Subscriber = Awaited<ReturnType<typeof newSubscriber>>;

const [ada, bea] = [await newSubscriber('ada'), await newSubscriber('bea')];

async function swapCards(processorToken: string) {
  await app.owner.updateTable('paymentMethods').set({ processorToken }).execute();
}

/** The answer to a check of each feature. */
async function check({ externalId: customerExternalId }: Subscriber): Promise<string[]> {
  const checks = ['sso', 'calls', 'seats'].map((featureSlug) => ({ customerExternalId, featureSlug }));
  const { results } = await caller.post('/entitlements/check', { checks });
  return results.map(({ allowed, reason }: Body) => reason ?? String(allowed));
}

const usage = ({ id }: Subscriber, transactionId: string, amount: number) => ({
  usageEvent: { subscriptionId: id, priceSlug: 'call', transactionId, amount },
});

async function statusOf({ id }: Subscriber): Promise<string> {
  return (await caller.get(`/subscriptions/${id}`)).subscription.status;
}

async function balanceOf({ id, externalId }: Subscriber): Promise<number> {
  const { usageMeterBalances } = await caller.get(`/customers/${externalId}/usage-balances?subscriptionId=${id}`);
  return usageMeterBalances[0].availableBalance;
}

const entitlements = ({ externalId }: Subscriber, headers: Record<string, string> = {}) =>
  app.request('GET', `/customers/${externalId}/entitlements`, undefined, { key: organization.testKey, headers });
const setAccess = (access: Body) => caller.put('/settings', { settings: { access } });

const allAllowed = ['true', 'true', 'true'];
const allUnpaid = ['unpaid', 'unpaid', 'unpaid'];
let holdId = '';
let etag = '';

test('while dunning runs the customer has full access, unless the settings say none', async () => {
  await swapCards('pm_card_chargeCustomerFail');
  await moveTo('2026-02-13');
  assert.deepEqual([await statusOf(ada), await check(ada)], ['past_due', allAllowed]);
  await setAccess({ pastDue: 'none' });
  assert.deepEqual(await check(ada), allUnpaid);
  assert.equal((await send('/usage-events/consume', usage(ada, 'refused', 1))).status, 402);
  await setAccess({ pastDue: 'full' });
  const hold = { subscriptionId: ada.id, meter: 'calls', amount: 10, expiresAt: instant('2026-03-10') };
  holdId = (await caller.post('/holds', { hold })).hold.id;
  etag = (await entitlements(ada)).headers.get('etag') ?? '';
  assert.equal((await entitlements(ada, { 'if-none-match': etag })).status, 304);
});

test('after the last attempt a hold of before can be settled, and nothing new is held, consumed or claimed', async () => {
  await moveTo('2026-02-14');
  assert.deepEqual([await statusOf(ada), await check(ada)], ['unpaid', allUnpaid]);
  const { status, body } = await entitlements(ada, { 'if-none-match': etag });
  assert.deepEqual([status, body.entitlements.features], [200, []]);
  assert.deepEqual(body.entitlements.unpaidSubscriptionIds, [ada.id]);
  const { currentSubscription } = await caller.get('/customers/ada/billing');
  assert.deepEqual(currentSubscription.experimental, { featureItems: [], usageMeterBalances: [] });

  const settled = await send(`/holds/${holdId}/settle`, { amount: 10 });
  assert.equal(settled.body.usageBalance.availableBalance, 990);
  const hold = { subscriptionId: ada.id, meter: 'calls', amount: 1, expiresAt: instant('2026-02-20') };
  const refused = [
    await send('/usage-events/consume', usage(ada, 'refused', 1)),
    await send('/holds', { hold }),
    await send(`/resource-claims/${ada.id}/claim`, { resourceSlug: 'seat', quantity: 1 }),
  ];
  assert.deepEqual(
    refused.map(({ status }) => status),
    [402, 402, 402],
  );
});

test('130 days and four open invoices after the last payment nothing was granted, and usage is stored', async () => {
  await caller.post(`/subscriptions/${bea.id}/cancel`, {
    cancellation: { timing: 'at_future_date', endDate: instant('2027-01-01') },
  });
  await moveTo('2026-05-11');
  const { data } = await caller.get(`/invoices?subscriptionId=${ada.id}&status=open`);
  assert.deepEqual([data.length, await check(ada)], [4, allUnpaid]);
  await caller.post('/usage-events', usage(ada, 'stored', 50));
  assert.equal(await balanceOf(ada), -50);
  await setAccess({ unpaid: 'full' });
  assert.deepEqual(await check(ada), ['true', 'insufficient_balance', 'true']);
  await setAccess({ unpaid: 'none' });
  assert.deepEqual([await statusOf(bea), await check(bea)], ['cancellation_scheduled', allUnpaid]);
});

test('the first payment gives access at once, and the payment of May its 1,000 credits', async () => {
  await swapCards('pm_card_visa');
  await caller.post(`/subscriptions/${ada.id}/retry-payment`);
  assert.deepEqual([await statusOf(ada), await check(ada)], ['active', ['true', 'insufficient_balance', 'true']]);
  await moveTo('2026-05-12');
  assert.deepEqual([await balanceOf(ada), await check(ada)], [950, allAllowed]);
  assert.equal((await send('/usage-events/consume', usage(ada, 'consumed', 950))).status, 200);
});

test('a scheduled cancellation hides no debt, and its payment gives access too', async () => {
  const { data } = await caller.get(`/invoices?subscriptionId=${bea.id}&status=open`);
  for (const { id, total } of data) await caller.post(`/invoices/${id}/record-payment`, { payment: { amount: total } });
  assert.deepEqual([await statusOf(bea), await check(bea)], ['cancellation_scheduled', allAllowed]);
  assert.equal(await balanceOf(bea), 1000);
});

test('credits that a pause took come back when the reversed payment has been made again, not at the resume', async () => {
  await setAccess({ pastDue: 'none', unpaid: 'none' });
  const cleo = await newSubscriber('cleo');
  const creditsOf = async () => {
    const { data } = await caller.get(`/usage-credits?subscriptionId=${cleo.id}`);
    return data.map(({ issuedAmount, takenBackAmount }: Body) => [issuedAmount, takenBackAmount]);
  };
  await moveTo('2026-05-22');
  await caller.post(`/subscriptions/${cleo.id}/pause`);
  const { data } = await caller.get(`/payments?customerId=${cleo.customerId}`);
  await swapCards('pm_card_chargeCustomerFail');
  const outcome = { result: 'reversed', code: 'dispute_lost', message: 'The customer disputed it.' } as const;
  await runInEnvironment(app.database, { environmentId: organization.testEnvironmentId }, (work) =>
    settleCharges(work, [{ paymentId: data[0].id, outcome }]),
  );
  await moveTo('2026-05-23');
  await caller.post(`/subscriptions/${cleo.id}/resume`);
  assert.equal(await statusOf(cleo), 'past_due');
  // 21 of 31 days are 677 of 1000.
  assert.deepEqual(await creditsOf(), [[1000, 677]]);
  const open = await caller.get(`/invoices?subscriptionId=${cleo.id}&status=open`);
  for (const { id, total } of open.data) {
    await caller.post(`/invoices/${id}/record-payment`, { payment: { amount: total } });
  }
  assert.equal(await statusOf(cleo), 'active');
  const paid = await creditsOf();
  assert.deepEqual(paid, [
    [1000, 677],
    [644, 0],
  ]);
});

test('after all of this the books are in order', async () => {
  await assertSound(app);
});

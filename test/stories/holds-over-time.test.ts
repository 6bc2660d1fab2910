import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { assertBooksAreRight, atOnce, insertSpender } from '../support/spending.ts';

const app = await startTestApp();
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
let now = Date.now();

/** Moves the clock of the test environment. */
async function moveTo(at: number): Promise<void> {
  now = at;
  await app.setClock(at);
}
await moveTo(now);

const spenderWith = (credits: number) => insertSpender(app, { credits, now });
const left = ({ body }: Answer): number => body.usageBalance.availableBalance;

async function take(answer: Promise<Answer>): Promise<Body> {
  const { status, body } = await answer;
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const statusOf = (id: string): Promise<string> => app.get(`/holds/${id}`).then(({ hold }) => hold.status);

describe('when its end has come', () => {
  test('it is expired and holds nothing, everywhere at once, without any job', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    await moveTo(hold.expiresAt - 1);
    assert.deepEqual([await statusOf(hold.id), await spender.balance()], ['open', 40]);
    await moveTo(hold.expiresAt);
    const expired = { ...hold, status: 'expired', updatedAt: hold.expiresAt };
    assert.deepEqual((await app.get(`/holds/${hold.id}`)).hold, expired);
    assert.equal(await spender.balance(), 100);
    assert.equal(left(await spender.consume({ amount: 100 })), 0);
    await assertBooksAreRight(app);
    // The next who changes the holds of the account writes it down, and it reads as before.
    await spender.grant(1);
    await take(spender.hold(1, { expiresAt: now + 1 }));
    assert.deepEqual((await app.get(`/holds/${hold.id}`)).hold, expired);
    await assertBooksAreRight(app);
  });

  test('it can still be settled, before and after its end was written down: the use was real', async () => {
    const spender = await spenderWith(100);
    const [first, second] = [await take(spender.hold(60)), await take(spender.hold(20))];
    await moveTo(now + hourMs);
    assert.equal(left(await spender.settle(first.hold.id, 60)), 40);
    assert.equal(await statusOf(second.hold.id), 'expired');
    const late = await take(spender.settle(second.hold.id, 50));
    assert.deepEqual([late.hold.status, late.usageBalance.availableBalance], ['settled', -10]);
    assert.deepEqual(await take(spender.settle(second.hold.id, 50)), late);
    await assertBooksAreRight(app);
  });

  test('it can be released, so that nobody settles it', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    await moveTo(now + hourMs);
    assert.equal(left(await spender.release(hold.id)), 100);
    assert.equal((await spender.settle(hold.id, 1)).status, 409);
  });

  test('many that have ended are written down together with the next change', async () => {
    const spender = await spenderWith(100);
    await atOnce(30, () => take(spender.hold(3, { expiresAt: now + 5 })));
    const { hold } = await take(spender.hold(10));
    await moveTo(now + 5);
    assert.equal(left(await spender.release(hold.id)), 100);
    const { held } = await app.owner
      .selectFrom('ledgerAccounts')
      .select('held')
      .where('subscriptionId', '=', spender.subscriptionId)
      .executeTakeFirstOrThrow();
    assert.equal(held, 0n);
  });
});

describe('over time', () => {
  test('credits that end while it is open are gone: what counts is what is there when it is settled', async () => {
    const spender = await spenderWith(0);
    await spender.grant(100, { expiresAt: now + 1000 });
    const { hold } = await take(spender.hold(60));
    await moveTo(now + 1000);
    assert.equal(await spender.balance(), -60);
    assert.equal(left(await spender.settle(hold.id, 60)), -60);
    await assertBooksAreRight(app);
  });

  test('it stays open when a period ends, and its use is counted in the period in which it is settled', async () => {
    const planned = await startTestApp();
    const to = (at: number) => planned.put('/test-clock', { testClock: { now: at } });
    const start = Date.UTC(2030, 0, 1);
    await to(start);
    const plans = await setUpPlans(planned);
    const customer = await plans.newCustomer('pm_card_visa');
    const { id, currentBillingPeriodEnd } = await plans.subscribe({
      customerId: customer.customerId,
      priceId: plans.priceOf('pro-monthly').id,
    });
    const balance = () => plans.calls(customer.externalId, id);
    // 1,000 of the month and 500 for ever; what ends first is used first.
    const usageEvent = { subscriptionId: id, usageMeterSlug: 'api-calls', transactionId: 'use', amount: 300 };
    await planned.post('/usage-events', { usageEvent });
    await to(currentBillingPeriodEnd - 1000);
    const expiresAt = currentBillingPeriodEnd + dayMs;
    const requested = { subscriptionId: id, meter: 'api-calls', amount: 1100, expiresAt };
    const { hold } = await planned.post('/holds', { hold: requested });
    assert.equal(await balance(), 100);
    await to(currentBillingPeriodEnd);
    // 700 of the month have ended, and the 1,000 of the next one are there.
    assert.equal(await balance(), 500 + 1000 - 1100);
    const settled = await planned.post(`/holds/${hold.id}/settle`, { amount: 1000 });
    assert.equal(settled.usageBalance.availableBalance, 500);
    const { data } = await planned.get(`/usage-events?subscriptionId=${id}`);
    assert.notEqual(settled.usageEvent.billingPeriodId, data[0].billingPeriodId);
    await assertBooksAreRight(planned);
  });

  test('a settlement meets the subscription as it is now, also when nobody has renewed it yet', async () => {
    const planned = await startTestApp();
    const start = Date.UTC(2030, 0, 1);
    await planned.put('/test-clock', { testClock: { now: start } });
    const plans = await setUpPlans(planned);
    const { customerId } = await plans.newCustomer('pm_card_visa');
    const subscription = await plans.subscribe({ customerId, priceId: plans.priceOf('pro-monthly').id });
    const { id, currentBillingPeriodEnd } = subscription;
    await planned.setClock(currentBillingPeriodEnd - 1);
    const requested = { subscriptionId: id, meter: 'api-calls', amount: 1200, expiresAt: currentBillingPeriodEnd + 1 };
    const { hold } = await planned.post('/holds', { hold: requested });
    await planned.setClock(currentBillingPeriodEnd);
    const { usageEvent, usageBalance } = await planned.post(`/holds/${hold.id}/settle`, { amount: 1200 });
    assert.equal(usageBalance.availableBalance, 300);
    const period = await planned.owner
      .selectFrom('billingPeriods')
      .select('startAt')
      .where('id', '=', usageEvent.billingPeriodId)
      .executeTakeFirstOrThrow();
    assert.equal(period.startAt, currentBillingPeriodEnd);
  });
});

describe('what others see', () => {
  test('the balance among the entitlements is lower by what is held', async () => {
    const spender = await spenderWith(100);
    await take(spender.hold(60));
    const { subscriptionId, pricingModelId, meterId } = spender;
    const query = `subscriptionId=${subscriptionId}&pricingModelId=${pricingModelId}`;
    const { entitlements } = await app.get(`/customers/acme/entitlements?${query}`);
    const calls = entitlements.usageMeterBalances.find((meter: Body) => meter.usageMeterId === meterId);
    assert.deepEqual([calls.availableBalance, calls.held], [40, 60]);
    await moveTo(now + hourMs);
    const later = await app.get(`/customers/acme/entitlements?${query}`);
    const free = later.entitlements.usageMeterBalances.find((meter: Body) => meter.usageMeterId === meterId);
    assert.deepEqual([free.availableBalance, free.held], [100, 0]);
  });

  test('a balance that falls below its threshold is told once, by the hold or by its settlement', async () => {
    const spender = await spenderWith(100);
    await app.put(`/usage-meters/${spender.meterId}`, { usageMeter: { lowBalanceThreshold: 50 } });
    const told = async () =>
      (await app.get('/events?limit=100')).data.filter(
        ({ type, objectId }: Body) => type === 'usage_balance.low' && objectId === spender.subscriptionId,
      ).length;
    const small = await take(spender.hold(50));
    assert.equal(await told(), 0);
    const large = await take(spender.hold(1));
    assert.equal(await told(), 1);
    await take(spender.settle(large.hold.id, 1));
    assert.equal(await told(), 1, 'it was low already');
    await take(spender.settle(small.hold.id, 20));
    await take(spender.consume({ amount: 30 }));
    assert.equal(await told(), 2, 'it was 79 in between, and is 49 now');
  });
});

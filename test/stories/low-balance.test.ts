import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renewHandler } from '../../src/billing/renew.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { setUpCredits } from '../support/credits-fixture.ts';
import { startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';
import { countStatements } from '../support/statements.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp();
const [may, june, july] = ['2026-05-01', '2026-06-01', '2026-07-01'].map(instant) as [number, number, number];
await app.setClock(may);
const threshold = 20;
const plan = await setUpCredits(app, { meter: { lowBalanceThreshold: threshold } });

test('who uses 81 of 100 where the threshold is 20 is told once: at the use that takes the balance from 20 to 19', async () => {
  const customer = await plan.subscribe();
  await customer.use(80);
  assert.equal(await customer.timesTold(), 0, 'a balance at the threshold is not below it');
  await customer.use(1);
  assert.equal(await customer.timesTold(), 1);
  await customer.use(50);
  assert.equal(await customer.timesTold(), 1, 'what was low is not told again, also not below zero');
  const { data } = await app.get(`/events?type=usage_balance.low&objectId=${customer.id}`);
  const [{ id, payload: whole, object }] = data;
  const { data: record, ...payload } = whole;
  assert.equal(object, 'subscription');
  assert.deepEqual(record, (await app.get(`/subscriptions/${customer.id}`)).subscription);
  assert.deepEqual(payload, {
    id: customer.id,
    object: 'subscription',
    usageMeterId: plan.meterId,
    customer: { id: customer.customerId, externalId: customer.externalId },
    pricingModelId: plan.pricingModelId,
    type: 'usage_balance.low',
    eventId: id,
    occurredAt: may,
    livemode: false,
  });
});

test('a balance that rose to the threshold and falls again is told again', async () => {
  const customer = await plan.subscribe();
  await customer.use(90);
  await customer.grant({ amount: 10 });
  await customer.use(1);
  assert.equal(await customer.timesTold(), 2);
});

test('many events of one request that cross the threshold are told once for each subscription, and an earlier one not again', async () => {
  const [one, other, third] = [await plan.subscribe(), await plan.subscribe(), await plan.subscribe()];
  await third.use(81);
  const usageEvents = [one, other, third].flatMap(({ id }) =>
    Array.from({ length: 90 }, (_, n) => ({
      subscriptionId: id,
      usageMeterSlug: 'calls',
      transactionId: `bulk ${id} ${n}`,
      amount: 1,
    })),
  );
  await app.post('/usage-events/bulk', { usageEvents });
  await app.post('/usage-events/bulk', { usageEvents });
  for (const customer of [one, other, third]) assert.equal(await customer.timesTold(), 1);
});

test('consumption tells too, a refused one and a dry run do not', async () => {
  const customer = await plan.subscribe();
  const consume = (amount: number, query = '') =>
    app.request('POST', `/usage-events/consume${query}`, {
      usageEvent: { subscriptionId: customer.id, usageMeterSlug: 'calls', transactionId: `consumed ${amount}`, amount },
    });
  assert.equal((await consume(101)).status, 402);
  assert.equal((await consume(90, '?dryRun=true')).status, 200);
  assert.equal(await customer.timesTold(), 0);
  assert.equal((await consume(90)).status, 200);
  assert.equal(await customer.timesTold(), 1);
});

test('a take-back that goes below the threshold is told', async () => {
  const customer = await plan.subscribe();
  const [credit] = await customer.credits();
  await customer.takeBack(credit.id, { amount: 80 });
  assert.equal(await customer.timesTold(), 0);
  await customer.takeBack(credit.id);
  assert.equal(await customer.timesTold(), 1);
});

describe('at the end of a period', () => {
  test('credits that end are not told where as many come', async () => {
    await app.setClock(may);
    const customer = await plan.subscribe();
    await customer.liveUntil(july);
    assert.equal(await customer.balance(), 100);
    assert.equal(await customer.timesTold(), 0);
  });

  test('credits that end and leave too few are told, once', async () => {
    await app.setClock(may);
    const customer = await plan.subscribe();
    await customer.grant({ amount: 60, expiresAt: june });
    await customer.expireFeature();
    await customer.liveUntil(june);
    assert.equal(await customer.balance(), 0);
    assert.equal(await customer.timesTold(), 1);
    await customer.liveUntil(july);
    assert.equal(await customer.timesTold(), 1);
  });

  test('where nothing comes for a meter, what rolls over counts', async () => {
    await app.setClock(may);
    const grant = { rolloverMaximum: 50, rolloverPeriods: 1 };
    const other = await setUpCredits(app, { grant, meter: { lowBalanceThreshold: threshold } });
    const customer = await other.subscribe();
    await customer.expireFeature();
    await customer.liveUntil(june);
    assert.equal(await customer.balance(), 50);
    assert.equal(await customer.timesTold(), 0);
    await customer.liveUntil(july);
    assert.equal(await customer.balance(), 0);
    assert.equal(await customer.timesTold(), 1);
  });
});

describe('at the end of credits that were granted by hand', () => {
  const end = may + 10 * 86_400_000;

  /** 100 of the plan are left, and 60 that are used last and end on 11 May. */
  async function granted() {
    await app.setClock(may);
    const customer = await plan.subscribe();
    await customer.grant({ amount: 60, priority: 200, expiresAt: end });
    return customer;
  }

  test('a balance that falls is told in the commit that books it, once', async () => {
    const customer = await granted();
    await customer.use(120);
    await app.setClock(end - 1);
    await app.runJobs({ all: true });
    assert.deepEqual([await customer.balance(), await customer.timesTold()], [40, 0]);
    await app.put('/test-clock', { testClock: { now: end } });
    await app.runJobs({ all: true });
    assert.deepEqual([await customer.balance(), await customer.timesTold()], [0, 1]);
    const { data: told } = await app.get(`/events?type=usage_balance.low&objectId=${customer.id}`);
    assert.equal(told[0].payload.occurredAt, end);
    await customer.liveUntil(july);
    assert.equal(await customer.timesTold(), 1);
  });

  test('a use after it that lets the balance fall is told, and the end is not told again', async () => {
    const customer = await granted();
    await customer.use(70);
    await app.setClock(end + 1);
    await customer.use(15);
    assert.deepEqual([await customer.balance(), await customer.timesTold()], [15, 1]);
    await app.put('/test-clock', { testClock: { now: end + 2 } });
    await app.runJobs({ all: true });
    assert.equal(await customer.timesTold(), 1);
  });

  test('a take-back after it is not told for the fall by the end, which is told once', async () => {
    const customer = await granted();
    await customer.grant({ amount: 5 });
    await customer.use(90);
    await app.setClock(end + 1);
    const [, , given] = await customer.credits();
    assert.equal((await customer.takeBack(given.id, { amount: 1 })).status, 200);
    assert.deepEqual([await customer.balance(), await customer.timesTold()], [14, 1]);
    await app.put('/test-clock', { testClock: { now: end + 2 } });
    await app.runJobs({ all: true });
    assert.equal(await customer.timesTold(), 1);
  });
});

test('a meter without a threshold tells nothing, and a threshold holds from the next use on', async () => {
  await app.setClock(may);
  const silent = await setUpCredits(app);
  const customer = await silent.subscribe();
  await customer.use(90);
  assert.equal(await customer.timesTold(), 0);
  await app.put(`/usage-meters/${silent.meterId}`, { usageMeter: { id: silent.meterId, lowBalanceThreshold: 10 } });
  await customer.use(1);
  assert.equal(await customer.timesTold(), 1);
});

test('the renewal of a subscription whose meter has a threshold takes one statement more than of another', async () => {
  await app.setClock(may);
  const counts: number[] = [];
  for (const meter of [{}, { lowBalanceThreshold: threshold }]) {
    await app.setClock(may);
    const { id } = await (await setUpCredits(app, { meter })).subscribe();
    await app.setClock(june);
    const { count } = await app.inEnvironment((work) =>
      countStatements(work, async (counted) =>
        renewHandler.perform(counted, await renewHandler.take(counted, 1, [id])),
      ),
    );
    counts.push(count);
  }
  const [without, withThreshold] = counts as [number, number];
  assert.equal(withThreshold - without, 1);
});

test('an endpoint receives it where it names it, and not where it names nothing', async () => {
  await app.setClock(may);
  const [named, all] = [await startReceiver(), await startReceiver()];
  const webhook = { name: 'Ours', pricingModelId: plan.pricingModelId, active: true };
  await app.post('/webhooks', { webhook: { ...webhook, url: named.url, filterTypes: ['usage_balance.low'] } });
  await app.post('/webhooks', { webhook: { ...webhook, url: all.url, filterTypes: [] } });
  const customer = await plan.subscribe();
  await customer.use(100);
  await app.sendWebhooks();
  assert.deepEqual(named.types(), ['usage_balance.low']);
  assert.equal(all.types().includes('subscription.created'), true);
  assert.equal(all.types().includes('usage_balance.low'), false);
});

test('all that holds of the data at any time does', () => assertSound(app));

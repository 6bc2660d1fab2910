import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environmentLines } from '../support/digest.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { beginYears, callerOf, day, subscribeFor } from '../support/years.ts';

const app = await startTestApp();
const on = (day: number) => Date.UTC(2026, 10, day);
const clock = (now: number) => app.put('/test-clock', { testClock: { now } });

await clock(on(1));
await app.post('/pricing-models/setup', {
  name: 'Trials',
  isDefault: true,
  features: [credits('credits', 500, 'calls')],
  products: [plan('free', 0), plan('build', 3000, ['credits'], { trialPeriodDays: 14 }), plan('other', 4000)],
  usageMeters: [meter('calls', 'Calls', { slug: 'call', unitPrice: 1, usageEventsPerUnit: 1 })],
  resources: [],
});

/** A customer in a trial from 1 to 15 November, who has used 100 of 500 credits. */
async function inTrial(externalId: string) {
  const { customerId } = await newCustomer(app, externalId, { token: 'pm_card_visa' });
  const { subscription } = await app.post('/subscriptions', { customerId, priceSlug: 'build-monthly' });
  assert.deepEqual([subscription.status, subscription.trialEnd], ['trialing', on(15)]);
  const { id } = subscription;
  await app.post('/usage-events', {
    usageEvent: { subscriptionId: id, priceSlug: 'call', amount: 100, transactionId: externalId },
  });
  // Granted by hand until the end of the trial that was known then: these keep their end.
  const { data: meters } = await app.get('/usage-meters');
  await app.post('/usage-credits', {
    usageCredit: { subscriptionId: id, usageMeterId: meters[0].id, amount: 7, expiresAt: on(15) },
  });
  const put = (trialEnd: number, query = '') =>
    app.request('PUT', `/subscriptions/${id}${query}`, { subscription: { trialEnd } });
  /** Status, credits left, what was paid, and the days of the current period. */
  const state = async () => {
    const { subscription: now } = await app.get(`/subscriptions/${id}`);
    const balances = await app.get(`/customers/${externalId}/usage-balances?subscriptionId=${id}`);
    const { data } = await app.get(`/payments?customerId=${customerId}`);
    const paid = data.reduce((sum: number, payment: Body) => sum + payment.amount, 0);
    const days = [now.currentBillingPeriodStart, now.currentBillingPeriodEnd].map((at) => new Date(at).getUTCDate());
    return [now.status, balances.usageMeterBalances[0]?.availableBalance ?? 0, paid, ...days];
  };
  return { id, put, state };
}

test('a trial is extended or shortened: its credits go with it, and the first payment comes at the new end', async () => {
  const [extended, shortened, scheduled] = [
    await inTrial('extended'),
    await inTrial('shortened'),
    await inTrial('leaving'),
  ];
  const adjustment = {
    timing: 'at_end_of_current_billing_period',
    newSubscriptionItems: [{ priceSlug: 'other-monthly', quantity: 1 }],
  };
  await clock(on(3));
  const dry = await extended.put(on(20), '?dryRun=true');
  assert.deepEqual([dry.status, dry.body.subscription.trialEnd], [200, on(20)]);
  assert.deepEqual(await extended.state(), ['trialing', 407, 0, 1, 15]);
  for (let count = 0; count < 2; count++) assert.equal((await extended.put(on(20))).status, 200);
  assert.equal((await shortened.put(on(5))).status, 200);
  assert.deepEqual(await extended.state(), ['trialing', 407, 0, 1, 20]);
  assert.deepEqual(await shortened.state(), ['trialing', 407, 0, 1, 5]);
  const past = await extended.put(on(3));
  assert.deepEqual([past.status, past.body.issues?.[0]?.path], [400, ['subscription', 'trialEnd']]);
  await app.post(`/subscriptions/${scheduled.id}/cancel`, {
    cancellation: { timing: 'at_end_of_current_billing_period' },
  });
  const leaving = await scheduled.put(on(20));
  assert.deepEqual([leaving.status, leaving.body.reason], [409, 'trial_end_fixed']);
  await app.post(`/subscriptions/${scheduled.id}/uncancel`, {});
  await app.post(`/subscriptions/${scheduled.id}/adjust`, { adjustment });
  assert.match((await scheduled.put(on(20))).body.message, /a change of plan is scheduled/);

  const told = async ({ id }: { readonly id: string }) => {
    const { data } = await app.get(`/events?objectId=${id}&type=subscription.trial_will_end`);
    return data.map(({ occurredAt, payload }: Body) =>
      [occurredAt, payload.data.trialEnd].map((at) => new Date(at).getUTCDate()),
    );
  };

  await clock(on(5));
  assert.deepEqual(await shortened.state(), ['active', 507, 3000, 5, 5]);
  const late = await shortened.put(on(20));
  assert.deepEqual([late.status, late.body.reason], [409, 'trial_end_fixed']);
  await clock(on(15));
  assert.deepEqual(await extended.state(), ['trialing', 400, 0, 1, 20]);
  await clock(on(20));
  assert.deepEqual(await extended.state(), ['active', 500, 3000, 20, 20]);
  // Three days ahead of the end that it had then; the shorter one has less than that.
  assert.deepEqual([await told(extended), await told(shortened)], [[[17, 20]], [[3, 5]]]);
  await assertSound(app);
});

test('a jump over a moved end of a trial and a moved anchor is the same as steps of days', async () => {
  const start = on(1);
  const environments = [await app.newOrganization(), await app.newOrganization()];
  const lines: (readonly string[])[] = [];
  for (const [index, organization] of environments.entries()) {
    const caller = callerOf(app, organization);
    await beginYears(app, organization, caller, start);
    const extended = await subscribeFor(caller, 'extended', { plan: 'trial', token: 'pm_card_visa' });
    const moving = await subscribeFor(caller, 'moving', { plan: 'month', token: 'pm_card_visa' });
    await caller.moveTo(start + 3 * day);
    await caller.put(`/subscriptions/${extended.subscriptionId}`, { subscription: { trialEnd: on(21) } });
    const subscription = { billingCycleAnchorDate: on(16) };
    await caller.put(`/subscriptions/${moving.subscriptionId}`, { subscription });
    for (let at = index === 0 ? on(55) : on(5); at <= on(55); at += day) await caller.moveTo(at);
    lines.push(await environmentLines(app.owner, organization.testEnvironmentId));
  }
  assert.deepEqual(lines[0], lines[1]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DueWorkHandler } from '../../src/billing/due-work-runner.ts';
import { renewHandler } from '../../src/billing/renew.ts';
import { resumeHandler } from '../../src/billing/resume-paused.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const april = instant('2026-04-01');
const day11 = instant('2026-04-11');
const day21 = instant('2026-04-21');
const may = instant('2026-05-01');
const june = instant('2026-06-01');
const june16 = instant('2026-06-16');
const july = instant('2026-07-01');

const pause = async (id: string, body: Body = {}): Promise<Body> =>
  (await app.post(`/subscriptions/${id}/pause`, { pause: body })).subscription;
const resume = async (id: string): Promise<Body> => (await app.post(`/subscriptions/${id}/resume`)).subscription;
const refused = async (method: string, path: string, body: Body, status: number): Promise<string> => {
  const answer = await app.request(method, path, body);
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  return answer.body.message;
};
const billingOf = (externalId: string): Promise<Body> => app.get(`/customers/${externalId}/billing`);
const use = (subscriptionId: string, amount: number): Promise<Body> =>
  app.post('/usage-events/bulk', {
    usageEvents: [{ subscriptionId, priceSlug: 'call-overage', transactionId: `${subscriptionId}-${amount}`, amount }],
  });

/** Totals and lines of the invoices, oldest first. */
async function invoicesOf(externalId: string): Promise<Body[]> {
  const { invoices } = await billingOf(externalId);
  return invoices
    .map(({ invoice, invoiceLineItems }: Body) => ({
      status: invoice.status,
      total: invoice.total,
      lines: invoiceLineItems.map((line: Body) => line.amount),
    }))
    .reverse();
}

/** What is kept of paid value. */
async function keptOf(id: string): Promise<number> {
  const row = await app.owner
    .selectFrom('subscriptions')
    .select('pausedCredit')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return Number(row.pausedCredit);
}

/** Moves the clock and does what is due of one kind for a subscription, its charges included. Answers whether it was. */
async function moveTo(at: number, step: DueWorkHandler, id: string): Promise<boolean> {
  await app.setClock(at);
  const done = await app.inCellOf(id, async (work) => {
    const ids = await step.take(work, 1, [id]);
    await step.perform(work, ids);
    return ids.length === 1;
  });
  await app.runJobs({ all: true });
  return done;
}

/** A customer with a card on the Pro plan since 1 April, 3000 paid. */
async function newPro(token = 'pm_card_visa') {
  await app.setClock(april);
  const customer = await plans.newCustomer(token);
  const body = { customerId: customer.customerId, priceSlug: 'pro-monthly' };
  const subscription = await plans.subscribe({ ...body, defaultPaymentMethodId: customer.paymentMethodId });
  return { ...customer, id: subscription.id as string };
}

test('paused after 10 of 30 days and on after 20: nothing is due now, and 1000 less for May', async () => {
  const { id, externalId } = await newPro();
  await app.setClock(day11);
  const paused = await pause(id);
  assert.deepEqual(
    [paused.status, paused.current, paused.pausedAt, paused.resumesAt, paused.currentBillingPeriodEnd],
    ['paused', false, day11, null, day11],
  );
  assert.equal(await keptOf(id), 2000);

  await app.setClock(day21);
  const resumed = await resume(id);
  assert.deepEqual(
    [resumed.status, resumed.current, resumed.pausedAt, resumed.billingCycleAnchorDate],
    ['active', true, null, april],
  );
  assert.deepEqual([resumed.currentBillingPeriodStart, resumed.currentBillingPeriodEnd], [day21, may]);
  assert.equal(await keptOf(id), 1000);

  assert.equal(await moveTo(may, renewHandler, id), true);
  assert.deepEqual(await invoicesOf(externalId), [
    { status: 'paid', total: 3000, lines: [3000] },
    { status: 'paid', total: 0, lines: [1000, -1000] },
    { status: 'paid', total: 2000, lines: [3000, -1000] },
  ]);
  assert.equal(await keptOf(id), 0);
  const told = ['subscription.created', 'subscription.updated', 'subscription.updated', 'subscription.updated'];
  assert.deepEqual(await plans.events(id), told);
  assert.equal((await plans.subscription(id)).currentBillingPeriodEnd, june);
});

test('a subscription that goes on in the middle of June owes half of it, and the day of the month stays', async () => {
  const { id, externalId } = await newPro();
  await app.setClock(day11);
  await pause(id);
  assert.equal(await moveTo(june, renewHandler, id), false, 'what is paused does not renew');
  await app.setClock(june16);
  const resumed = await resume(id);
  assert.deepEqual([resumed.currentBillingPeriodStart, resumed.currentBillingPeriodEnd], [june16, july]);
  await moveTo(july, renewHandler, id);
  const [, first, second] = await invoicesOf(externalId);
  assert.deepEqual(first, { status: 'paid', total: 0, lines: [1500, -1500] });
  assert.deepEqual(second, { status: 'paid', total: 2500, lines: [3000, -500] });
  const periods = await app.owner
    .selectFrom('billingPeriods')
    .select(['startAt', 'endAt', 'wholeStartAt', 'status'])
    .where('subscriptionId', '=', id)
    .orderBy('startAt')
    .execute();
  assert.deepEqual(periods, [
    { startAt: april, endAt: day11, wholeStartAt: null, status: 'completed' },
    { startAt: june16, endAt: july, wholeStartAt: june, status: 'completed' },
    { startAt: july, endAt: instant('2026-08-01'), wholeStartAt: null, status: 'active' },
  ]);
});

test('paused twice in one interval: 10 days are used, then 5, and 1500 of 3000 is kept', async () => {
  const { id, externalId } = await newPro();
  await app.setClock(day11);
  await pause(id);
  await app.setClock(day21);
  await resume(id);
  await app.setClock(instant('2026-04-26'));
  await pause(id);
  assert.equal(await keptOf(id), 1500);
  await app.setClock(may);
  const resumed = await resume(id);
  assert.deepEqual([resumed.currentBillingPeriodStart, resumed.currentBillingPeriodEnd], [may, june]);
  assert.deepEqual((await invoicesOf(externalId)).at(-1), { status: 'paid', total: 1500, lines: [3000, -1500] });
});

test('while it is paused it gives nothing: no features, no places, no balance, and no other plan beside it', async () => {
  const { id, externalId, customerId } = await newPro();
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', externalIds: ['ada', 'bob'] });
  await app.setClock(day11);
  await pause(id);

  const { subscriptions, currentSubscriptions } = await billingOf(externalId);
  assert.deepEqual(currentSubscriptions, []);
  const [paused] = subscriptions.filter((row: Body) => row.id === id);
  assert.deepEqual([paused.experimental.featureItems, paused.subscriptionItems.length], [[], 1]);
  const { usage, claims } = await app.get(`/resource-claims/${id}/usage?resourceSlug=seat`);
  assert.deepEqual([usage.capacity, usage.claimed, claims.length], [0, 2, 2]);
  const more = { resourceSlug: 'seat', quantity: 1 };
  assert.match(await refused('POST', `/resource-claims/${id}/claim`, more, 400), /is paused/);
  assert.deepEqual((await app.get(`/customers/${externalId}/usage-balances`)).usageMeterBalances, []);
  for (const priceSlug of ['pro-monthly', 'community']) {
    await refused('POST', '/subscriptions', { customerId, priceSlug }, 409);
  }

  await app.setClock(day21);
  await resume(id);
  const again = await app.get(`/resource-claims/${id}/usage?resourceSlug=seat`);
  assert.deepEqual([again.usage.capacity, again.usage.claimed], [5, 2]);
  assert.equal((await billingOf(externalId)).currentSubscription.experimental.featureItems.length, 4);
});

test('usage that is told during the pause is not lost: it is billed when the subscription goes on', async () => {
  const { id, externalId } = await newPro();
  await app.setClock(day11);
  await pause(id);
  // 333 of the month's 1000 and 500 to begin with cover 833 of it; 917 at 50 per 100 are 459.
  await use(id, 1750);
  await app.setClock(day21);
  await resume(id);
  assert.deepEqual((await invoicesOf(externalId)).at(-1), { status: 'paid', total: 0, lines: [1000, 459, -1459] });
  assert.equal(await keptOf(id), 541);
});

test('credits: those of paused time are taken back, come again with the rest, and half a month grants half of them', async () => {
  const { id, externalId } = await newPro();
  assert.equal(await plans.calls(externalId, id), 1500);
  await app.setClock(day11);
  await pause(id);
  await resume(id);
  assert.equal(await plans.calls(externalId, id), 1500, 'a pause of no time takes nothing');
  await pause(id);
  await app.setClock(day21);
  await resume(id);
  // 500 to begin with, 333 for ten days and 333 for the last ten.
  assert.equal(await plans.calls(externalId, id), 1166);
  await pause(id);
  await app.setClock(june16);
  await resume(id);
  // The 1000 of April are gone; 500 came to begin with and 500 for half of June.
  assert.equal(await plans.calls(externalId, id), 1000);
});

test('credits: what was used ahead of a pause is withheld from the next ones until it is paid back', async () => {
  const { id, externalId } = await newPro();
  // The month's 1000 end first, so they are used first. 500 to begin with stay.
  await use(id, 1000);
  await app.setClock(april + 3 * 86_400_000);
  await pause(id);
  // A pause of no time changes nothing: all that comes back is owed.
  await resume(id);
  assert.equal(await plans.calls(externalId, id), 500);
  await pause(id);
  await app.setClock(day21);
  await resume(id);
  assert.equal(await plans.calls(externalId, id), 500, '333 for the last ten days are withheld of the 900 used ahead');
  await pause(id);
  await app.setClock(june16);
  await resume(id);
  assert.equal(await plans.calls(externalId, id), 500, '500 for half of June are withheld');
  await moveTo(july, renewHandler, id);
  // 100 were for three days. 900 less 500 leave 400 owed.
  assert.equal(await plans.calls(externalId, id), 500 + 600);
  const { data } = await app.get(`/usage-credits?subscriptionId=${id}`);
  const recurring = data.filter(({ expiresAt }: Body) => expiresAt !== null);
  const [owed, withheld] = ['owedAmount', 'withheldAmount'].map((field) =>
    recurring.reduce((sum: number, credit: Body) => sum + credit[field], 0),
  );
  assert.equal(owed, withheld, 'all is paid back');
  assert.deepEqual(
    [recurring.at(-1).issuedAmount, recurring.at(-1).withheldAmount, recurring.at(-1).takenBackAmount],
    [1000, 400, 400],
  );
  await app.setClock(july + 86_400_000);
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
});

const day4 = april + 3 * 86_400_000;

/** A customer who has used the month's 1000 and paused on day 4: 900 are owed. */
async function newOwing(body: Body = {}) {
  const made = await newPro();
  await use(made.id, 1000);
  await app.setClock(day4);
  await pause(made.id, body);
  return made;
}

test('credits: an end in a pause ends the debt, for the paid rest is lost as well', async () => {
  const { id, externalId, customerId } = await newOwing();
  await plans.cancel(id, 'immediately');
  const again = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  assert.equal(await plans.calls(externalId, again.id), 1500);
});

test('credits: a change of plan keeps the debt', async () => {
  const { id, externalId } = await newOwing();
  await app.setClock(day21);
  await resume(id);
  const twice = { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'pro-monthly', quantity: 2 }] };
  await app.post(`/subscriptions/${id}/adjust`, { adjustment: twice });
  // 333 for the last ten days, and 234 for a second one of them (667 less 100 less 333), pay back 567.
  assert.equal(await plans.calls(externalId, id), 500);
  await moveTo(may, renewHandler, id);
  assert.equal(await plans.calls(externalId, id), 500 + 2000 - 333);
});

test('credits: what is left of others on the same meter pays back first what was used ahead', async () => {
  const { id, externalId } = await newPro();
  const both = [{ priceSlug: 'pro-monthly' }, { priceSlug: 'team-monthly' }];
  await app.post(`/subscriptions/${id}/adjust`, { adjustment: { timing: 'immediately', newSubscriptionItems: both } });
  await use(id, 1000);
  await app.setClock(day4);
  await pause(id);
  await resume(id);
  assert.equal(await plans.calls(externalId, id), 1500, 'a pause of no time changes nothing');
  await pause(id);
  await app.setClock(june16);
  await resume(id);
  // 1000 were used, of 200 for three days: 800 of the 1000 for half of June are withheld.
  assert.equal(await plans.calls(externalId, id), 500 + 200);
});

test('credits: a jump of the clock over the resume and a renewal withholds as much as small steps', async () => {
  const [stepped, jumped] = [await newOwing({ resumesAt: june16 }), await newOwing({ resumesAt: june16 })];
  await moveTo(june16, resumeHandler, stepped.id);
  await moveTo(july, renewHandler, stepped.id);
  await moveTo(july + 60_000, resumeHandler, jumped.id);
  await moveTo(july + 60_000, renewHandler, jumped.id);
  for (const { id, externalId } of [stepped, jumped]) assert.equal(await plans.calls(externalId, id), 500 + 600);
});

test('credits: a pause leaves nothing owing for those that the seller took back by hand', async () => {
  const { id, externalId } = await newPro();
  await use(id, 100);
  const creditsOf = async (): Promise<Body[]> => (await app.get(`/usage-credits?subscriptionId=${id}`)).data;
  const recurring = (await creditsOf()).find(({ expiresAt }) => expiresAt !== null);
  await app.post(`/usage-credits/${recurring?.id}/take-back`, {});
  await app.setClock(day11);
  await pause(id);
  await app.setClock(day21);
  await resume(id);
  assert.equal(await plans.calls(externalId, id), 500);
  await moveTo(may, renewHandler, id);
  assert.equal(await plans.calls(externalId, id), 1500, '100 of 333 were used in the first ten days: nothing is owed');
});

test('credits: after a pause in the month, those that the seller took back by hand before are still not owed', async () => {
  const { id, externalId } = await newPro();
  const { data } = await app.get(`/usage-credits?subscriptionId=${id}`);
  const recurring = data.find(({ expiresAt }: Body) => expiresAt !== null);
  await app.post(`/usage-credits/${recurring.id}/take-back`, { amount: 400 });
  await app.setClock(day11);
  await pause(id);
  await app.setClock(day21);
  await resume(id);
  // 600 were taken back, of the 667 for twenty days. 334 for the ten paused days do not come again.
  assert.equal(await plans.calls(externalId, id), 500 + 266);
  await use(id, 266);
  await app.setClock(instant('2026-04-26'));
  await pause(id);
  await app.setClock(may);
  await resume(id);
  assert.equal(await plans.calls(externalId, id), 1500, '266 of the 500 for fifteen days were used');
});

test('credits: a change after a pause grants what it does without one, for the month has granted its own already', async () => {
  const [paused, other] = [await newPro(), await newPro()];
  await app.setClock(day11);
  await pause(paused.id);
  await app.setClock(day11 + 60_000);
  await resume(paused.id);
  const twice = { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'pro-monthly', quantity: 2 }] };
  for (const { id, externalId } of [paused, other]) {
    await app.post(`/subscriptions/${id}/adjust`, { adjustment: twice });
    // 2 x 1000 for twenty days of thirty are 1333 (less a minute), of which the month has granted 1000, and 500 came to begin with.
    assert.equal(await plans.calls(externalId, id), 1833);
  }
});

test('with a date it goes on by itself, as of that date even when that is noticed late', async () => {
  const [onTime, late] = [await newPro(), await newPro()];
  await app.setClock(day11);
  const paused = await pause(onTime.id, { resumesAt: '2026-06-16T00:00:00Z' });
  assert.equal(paused.resumesAt, june16);
  assert.equal(await moveTo(june16 - 1, resumeHandler, onTime.id), false);
  assert.equal(await moveTo(june16, resumeHandler, onTime.id), true);
  assert.equal(await moveTo(june16, resumeHandler, onTime.id), false);

  await app.setClock(day11);
  await pause(late.id, { resumesAt: june16 });
  assert.equal(await moveTo(june16 + 5 * 86_400_000, resumeHandler, late.id), true);
  for (const { id, externalId } of [onTime, late]) {
    const { status, currentBillingPeriodStart, resumesAt } = await plans.subscription(id);
    assert.deepEqual([status, currentBillingPeriodStart, resumesAt], ['active', june16, null]);
    assert.deepEqual((await invoicesOf(externalId)).at(-1), { status: 'paid', total: 0, lines: [1500, -1500] });
  }
});

test('a pause that is over is over for whoever asks, before the worker comes by', async () => {
  const { id } = await newPro();
  await app.setClock(day11);
  await pause(id, { resumesAt: day21 });
  await app.setClock(day21 + 1000);
  const resumed = await resume(id);
  assert.deepEqual([resumed.status, resumed.currentBillingPeriodStart], ['active', day21]);
});

test('pausing what is paused moves its date only, and a repeat changes nothing', async () => {
  const { id } = await newPro();
  await app.setClock(day11);
  const first = await pause(id, { resumesAt: june16 });
  assert.deepEqual(await pause(id, { resumesAt: june16 }), first);
  assert.deepEqual(await pause(id), first);
  assert.deepEqual((await app.post(`/subscriptions/${id}/pause`)).subscription, first);
  const moved = await pause(id, { resumesAt: july });
  assert.deepEqual([moved.status, moved.pausedAt, moved.resumesAt], ['paused', day11, july]);
  assert.equal((await pause(id, { resumesAt: null })).resumesAt, null);
  assert.equal(await keptOf(id), 2000);
});

test('what is not paused is answered as it is by resume, also when it has ended', async () => {
  const { id } = await newPro();
  const active = await plans.subscription(id);
  assert.deepEqual(await resume(id), active);
  const canceled = await plans.cancel(id, 'immediately');
  assert.deepEqual(await resume(id), canceled);
  await refused('POST', '/subscriptions/sub_nothing/resume', undefined, 404);
});

test('a pause of no time has not been: the period goes on as it was', async () => {
  const { id, externalId } = await newPro();
  const before = await plans.subscription(id);
  await pause(id);
  assert.equal(await keptOf(id), 3000);
  assert.deepEqual(await resume(id), before);
  assert.equal(await keptOf(id), 0);
  await app.setClock(day11);
  await pause(id);
  await resume(id);
  await pause(id);
  assert.equal(await keptOf(id), 2000);
  await resume(id);
  await moveTo(may, renewHandler, id);
  assert.deepEqual(
    (await invoicesOf(externalId)).map(({ total }) => total),
    [3000, 3000],
  );
});

test('pausing is refused for the default plan, a trial, what is to end, what has ended or not begun, and what owes money', async () => {
  await app.setClock(april);
  const poor = await plans.newCustomer();
  assert.match(await refused('POST', `/subscriptions/${poor.freeId}/pause`, {}, 400), /default plan/);
  const trial = await plans.subscribe({ customerId: poor.customerId, priceSlug: 'team-monthly' });
  assert.match(await refused('POST', `/subscriptions/${trial.id}/pause`, {}, 400), /free trial/);
  const { id } = await newPro();
  for (const resumesAt of [april, april - 1, 8_640_000_000_000_000, 'soon']) {
    await refused('POST', `/subscriptions/${id}/pause`, { pause: { resumesAt } }, 400);
  }
  await plans.cancel(id, 'at_end_of_current_billing_period');
  assert.match(await refused('POST', `/subscriptions/${id}/pause`, {}, 400), /cancellation is scheduled/);
  await plans.cancel(id, 'immediately');
  assert.match(await refused('POST', `/subscriptions/${id}/pause`, {}, 400), /has ended/);
  const waiting = await plans.newCustomer();
  const incomplete = await plans.subscribe({ customerId: waiting.customerId, priceSlug: 'pro-monthly' });
  assert.match(await refused('POST', `/subscriptions/${incomplete.id}/pause`, {}, 400), /paid for first/);
  await refused('POST', '/subscriptions/sub_nothing/pause', {}, 404);

  const slow = await newPro('pm_card_processing');
  assert.match(await refused('POST', `/subscriptions/${slow.id}/pause`, {}, 400), /paid for first/);
});

test('canceled while it is paused: what was kept is lost, but for the last usage', async () => {
  const { id, externalId } = await newPro();
  await app.setClock(day11);
  await pause(id, { resumesAt: june16 });
  await use(id, 2000);
  await app.setClock(day21);
  const canceled = await plans.cancel(id, 'immediately');
  assert.deepEqual(
    [canceled.status, canceled.canceledAt, canceled.pausedAt, canceled.resumesAt, canceled.currentBillingPeriodEnd],
    ['canceled', day21, null, null, day11],
  );
  assert.deepEqual(await invoicesOf(externalId), [
    { status: 'paid', total: 3000, lines: [3000] },
    { status: 'paid', total: 0, lines: [584, -584] },
  ]);
  assert.equal(await keptOf(id), 0);
  const { currentSubscription } = await billingOf(externalId);
  assert.equal(currentSubscription.name, 'Free Subscription');
  await refused(
    'POST',
    `/subscriptions/${(await newPaused()).id}/cancel`,
    { cancellation: { timing: 'at_end_of_current_billing_period' } },
    404,
  );
});

async function newPaused() {
  const made = await newPro();
  await app.setClock(day11);
  await pause(made.id);
  return made;
}

test('archiving its customer ends a paused subscription too', async () => {
  const { id, externalId } = await newPaused();
  await app.post(`/customers/${externalId}/archive`);
  const ended = await plans.subscription(id);
  assert.deepEqual([ended.status, ended.cancellationReason], ['canceled', 'customer_archived']);
});

test('a dry run of a pause says what would be, and does nothing', async () => {
  const { id } = await newPro();
  const { subscription } = await app.post(`/subscriptions/${id}/pause?dryRun=true`, {});
  assert.equal(subscription.status, 'paused');
  assert.equal((await plans.subscription(id)).status, 'active');
});

test('twenty resumes at once are one', async () => {
  const { id, externalId } = await newPaused();
  await app.setClock(day21);
  await Promise.all(Array.from({ length: 20 }, () => resume(id)));
  assert.equal((await invoicesOf(externalId)).length, 2);
});

test('after all of this, everything that must be true of the data is', async () => {
  await assertSound(app);
});

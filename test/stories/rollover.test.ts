import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renewHandler } from '../../src/billing/renew.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { setUpCredits } from '../support/credits-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { day } from '../support/renewing.ts';
import { firstBalance } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { countStatements } from '../support/statements.ts';

const app = await startTestApp();
const [may, june, july, august] = ['2026-05-01', '2026-06-01', '2026-07-01', '2026-08-01'].map(instant) as [
  number,
  number,
  number,
  number,
];

const rollover = (rolloverMaximum: number, rolloverPeriods: number) => ({
  grant: { rolloverMaximum, rolloverPeriods },
});

/** What rolled over, the oldest first: what was issued, what of it remains, until when. */
const rolled = (credits: Body[]) =>
  credits
    .filter(({ source }) => source === 'rollover')
    .map(({ issuedAmount, remainingAmount, expiresAt }) => [issuedAmount, remainingAmount, day(expiresAt)]);

test('100 a month, at most 50 for one period: of 70 left 50 go over, are used first in the next month and end with it', async () => {
  await app.setClock(may);
  const plan = await setUpCredits(app, rollover(50, 1));
  const customer = await plan.subscribe();
  await customer.use(30);
  await customer.liveUntil(june);
  assert.equal(await customer.balance(), 150);
  const [first, ...later] = await customer.credits();
  assert.deepEqual(
    [first.issuedAmount, first.appliedAmount, first.expiredAmount, first.remainingAmount, first.status],
    [100, 30, 70, 0, 'expired'],
  );
  const over = later.find(({ source }) => source === 'rollover');
  assert.deepEqual(
    [over.issuedAmount, over.featureId, over.priority, over.status, day(over.expiresAt)],
    [50, plan.featureId, 100, 'active', '2026-07-01'],
  );
  await customer.use(60);
  assert.deepEqual(rolled(await customer.credits()), [[50, 0, '2026-07-01']]);
  // 90 of June are left, of which 50 go over; what had gone over before is used up.
  await customer.liveUntil(july);
  assert.equal(await customer.balance(), 150);
  // Nothing was used in July, so 50 of its 100 go over; the 50 that had gone over do not a second time.
  await customer.liveUntil(august);
  assert.equal(await customer.balance(), 150);
  assert.deepEqual(rolled(await customer.credits()), [
    [50, 0, '2026-07-01'],
    [50, 0, '2026-08-01'],
    [50, 50, '2026-09-01'],
  ]);
});

test('with a roll-over of at most 50 for three periods, what went over and can still be used is never more than 50', async () => {
  await app.setClock(may);
  const customer = await (await setUpCredits(app, rollover(50, 3))).subscribe();
  await customer.use(80);
  await customer.liveUntil(june);
  assert.deepEqual(rolled(await customer.credits()), [[20, 20, '2026-09-01']]);
  // The credits of June end first, so they are used first: 60 of them are left, and there is room for 30.
  await customer.use(40);
  await customer.liveUntil(july);
  assert.deepEqual(rolled(await customer.credits()), [
    [20, 20, '2026-09-01'],
    [30, 30, '2026-10-01'],
  ]);
  await customer.liveUntil(august);
  assert.equal(await customer.balance(), 150, 'no room is left');
  await customer.use(120);
  assert.deepEqual(rolled(await customer.credits()), [
    [20, 0, '2026-09-01'],
    [30, 30, '2026-10-01'],
  ]);
  // All 100 of August and 20 more are used: nothing of August is left to go over.
  await customer.liveUntil(instant('2026-09-01'));
  assert.equal(await customer.balance(), 130);
});

test('periods are counted from the anchor: from 31 January, two of them end on 31 March and on 30 April', async () => {
  await app.setClock(instant('2026-01-31'));
  const customer = await (await setUpCredits(app, rollover(1000, 2))).subscribe();
  await customer.liveUntil(instant('2026-03-31'));
  assert.deepEqual(rolled(await customer.credits()), [
    [100, 100, '2026-04-30'],
    [100, 100, '2026-05-31'],
  ]);
});

test('several renewals in one move, of the test clock or of who asks first, are as many one after the other', async () => {
  await app.setClock(may);
  const plan = await setUpCredits(app, rollover(150, 2));
  const [atOnce, stepwise, moved] = [await plan.subscribe(), await plan.subscribe(), await plan.subscribe()];
  await atOnce.liveUntil(august);
  for (const at of [june, july, august]) await stepwise.liveUntil(at);
  await app.setClock(may);
  await app.put('/test-clock', { testClock: { now: august } });
  for (const customer of [atOnce, stepwise, moved]) {
    // 100 of May until July's end, 50 of June until August's, for which there was room; 100 of July, where May's are gone.
    assert.deepEqual(rolled(await customer.credits()), [
      [100, 0, '2026-08-01'],
      [50, 50, '2026-09-01'],
      [100, 100, '2026-10-01'],
    ]);
    assert.equal(await customer.balance(), 250);
  }
});

test('twenty renewals that roll over take as many statements as two', async () => {
  await app.setClock(may);
  const plan = await setUpCredits(app, { ...rollover(50, 1), meter: { lowBalanceThreshold: 10 } });
  const customers = await Promise.all(Array.from({ length: 22 }, () => plan.subscribe()));
  const ids = customers.map(({ id }) => id);
  await app.setClock(june);
  const counts: number[] = [];
  for (const some of [ids.slice(0, 2), ids.slice(2)]) {
    const { count } = await app.inEnvironment((work) =>
      countStatements(work, async (counted) =>
        renewHandler.perform(counted, await renewHandler.take(counted, 100, some)),
      ),
    );
    counts.push(count);
  }
  assert.equal(counts[0], counts[1]);
  for (const customer of customers) assert.equal(await customer.balance(), 150);
});

test('three units bring 300, and the maximum is of the feature, not of each unit', async () => {
  await app.setClock(may);
  const customer = await (await setUpCredits(app, rollover(50, 1))).subscribe({ quantity: 3 });
  assert.equal(await customer.balance(), 300);
  await customer.liveUntil(june);
  assert.equal(await customer.balance(), 350);
});

test('two credits of one feature that end together share its maximum, the oldest first', async () => {
  await app.setClock(may);
  const plan = await setUpCredits(app, rollover(120, 1));
  const customer = await plan.subscribe();
  const body = { featureId: plan.featureId, grantCreditsImmediately: true };
  await app.post(`/subscriptions/${customer.id}/add-feature`, body);
  assert.equal(await customer.balance(), 200);
  await customer.liveUntil(june);
  assert.deepEqual(
    rolled(await customer.credits()).map(([issued]) => issued),
    [100, 20],
  );
});

test('a roll-over that is taken off lets nothing more go over, and what went over stays', async () => {
  await app.setClock(may);
  const plan = await setUpCredits(app, rollover(50, 2));
  const customer = await plan.subscribe();
  await customer.liveUntil(june);
  const off = { type: 'usage_credit_grant', rolloverMaximum: null, rolloverPeriods: null };
  await app.put(`/features/${plan.featureId}`, { feature: { id: plan.featureId, ...off } });
  await customer.liveUntil(july);
  assert.equal(await customer.balance(), 150);
  assert.deepEqual(rolled(await customer.credits()), [[50, 50, '2026-08-01']]);
  await customer.liveUntil(august);
  assert.equal(await customer.balance(), 100);
});

test('a maximum that is lowered below what went over leaves no room, and takes nothing away', async () => {
  await app.setClock(may);
  const plan = await setUpCredits(app, rollover(50, 2));
  const customer = await plan.subscribe();
  await customer.liveUntil(june);
  const lower = { type: 'usage_credit_grant', rolloverMaximum: 20, rolloverPeriods: 2 };
  await app.put(`/features/${plan.featureId}`, { feature: { id: plan.featureId, ...lower } });
  await customer.liveUntil(july);
  assert.deepEqual(rolled(await customer.credits()), [[50, 50, '2026-08-01']]);
});

test('what was granted by hand, and what a feature without a roll-over brought, does not go over', async () => {
  await app.setClock(may);
  const byHand = await (await setUpCredits(app, rollover(500, 1))).subscribe();
  await byHand.grant({ amount: 40, expiresAt: june });
  await byHand.use(100);
  const plain = await (await setUpCredits(app)).subscribe();
  for (const customer of [byHand, plain]) {
    await customer.liveUntil(june);
    assert.deepEqual(rolled(await customer.credits()), []);
    assert.equal(await customer.balance(), 100);
  }
});

test('what was taken back does not go over', async () => {
  await app.setClock(may);
  const customer = await (await setUpCredits(app, rollover(500, 1))).subscribe();
  const [credit] = await customer.credits();
  await customer.takeBack(credit.id, { amount: 60 });
  await customer.liveUntil(june);
  assert.deepEqual(rolled(await customer.credits()), [[40, 40, '2026-07-01']]);
});

test('a subscription that ends with its period rolls nothing over', async () => {
  await app.setClock(may);
  const customer = await (await setUpCredits(app, rollover(50, 1))).subscribe();
  const cancellation = { timing: 'at_end_of_current_billing_period' };
  await app.post(`/subscriptions/${customer.id}/cancel`, { cancellation });
  await customer.liveUntil(june);
  assert.deepEqual(rolled(await customer.credits()), []);
});

test('what came from a subscription that ended ends at its time, told as a low balance, and does not come back with a renewal', async () => {
  await app.setClock(may);
  const customer = await (
    await setUpCredits(app, { ...rollover(50, 1), meter: { lowBalanceThreshold: 10 } })
  ).subscribe();
  const added = { featureSlug: 'monthly-calls', grantCreditsImmediately: true };
  await app.post(`/subscriptions/${customer.id}/add-feature`, added);
  await customer.liveUntil(instant('2026-05-10'));
  await app.post(`/subscriptions/${customer.id}/cancel`, { cancellation: { timing: 'immediately' } });
  const { data } = await app.get(`/subscriptions?customerId=${customer.customerId}&status=active`);
  const next: string = data[0].id;
  const balance = () => firstBalance(app, customer.externalId, next);
  const told = async () => (await app.get(`/events?type=usage_balance.low&objectId=${next}`)).total;
  assert.deepEqual([await balance(), await told()], [100, 0]);
  // They end with the period for which they came, and the default plan renews on the 10th.
  for (const at of ['2026-06-05', '2026-06-12']) {
    await app.setClock(instant(at));
    await app.doDueWork();
    assert.deepEqual([await balance(), await told()], [0, 1]);
  }
});

test('what ended in a pause goes over when the subscription goes on, and not before', async () => {
  await app.setClock(may);
  const customer = await (await setUpCredits(app, rollover(50, 1))).subscribe();
  // The pause takes the credits of its half of May back.
  await customer.liveUntil(instant('2026-05-16T12:00'));
  await app.post(`/subscriptions/${customer.id}/pause`, { pause: {} });
  await customer.liveUntil(instant('2026-06-16'));
  assert.equal(await customer.balance(), 0);
  assert.deepEqual(rolled(await customer.credits()), []);
  await app.post(`/subscriptions/${customer.id}/resume`, {});
  // Half of June is left, and with it 50 of its 100.
  assert.deepEqual(rolled(await customer.credits()), [[50, 50, '2026-07-01']]);
  assert.equal(await customer.balance(), 100);
});

test('what went over ends at its time in a pause too, and the balance is told to be low then', async () => {
  await app.setClock(may);
  const customer = await (
    await setUpCredits(app, { ...rollover(50, 1), meter: { lowBalanceThreshold: 10 } })
  ).subscribe();
  await customer.liveUntil(june);
  await app.post(`/subscriptions/${customer.id}/pause`, { pause: {} });
  await customer.liveUntil(instant('2026-06-30'));
  const told = async () => (await app.get(`/events?type=usage_balance.low&objectId=${customer.id}`)).total;
  assert.deepEqual([await customer.balance(), await told()], [50, 0]);
  await app.setClock(july);
  await app.doDueWork();
  assert.deepEqual([await customer.balance(), await told()], [0, 1]);
});

test('what goes over keeps the priority of the credit that it is of, and is booked as a grant', async () => {
  await app.setClock(may);
  const customer = await (await setUpCredits(app, rollover(50, 1))).subscribe();
  await app.owner.updateTable('usageCredits').set({ priority: 7 }).execute();
  await customer.liveUntil(june);
  const [over] = await customer.credits('&source=rollover');
  assert.equal(over.priority, 7);
  const entry = await app.owner
    .selectFrom('ledgerEntries')
    .innerJoin('ledgerTransactions', 'ledgerTransactions.id', 'ledgerTransactionId')
    .select(['debitSide', 'amount', 'type'])
    .where('usageCreditId', '=', over.id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(entry, { debitSide: 'granted', amount: 50n, type: 'billing_period_transition' });
});

test('all that holds of the data at any time does', () => assertSound(app));

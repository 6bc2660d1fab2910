import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const { subscribe, adjust, preview, invoices, items, moveTo } = changes;
const atEnd = { timing: 'at_end_of_current_billing_period' };
const auto = { timing: 'auto' };
const undo = (id: string) => app.request('POST', `/subscriptions/${id}/cancel-scheduled-adjustment`);

test('worked example A7: a cheaper plan waits for the end of the period, and then it is the plan', async () => {
  const { id, externalId } = await subscribe('p3000');
  await app.setClock(day(10));
  const answer = await adjust(id, 'p1000', auto);
  assert.deepEqual(
    [answer.resolvedTiming, answer.isUpgrade, answer.adjustment.status],
    [atEnd.timing, false, 'scheduled'],
  );
  assert.equal(answer.subscription.scheduledAdjustmentAt, may);
  assert.deepEqual(await items(externalId), [[3000, 1]]);
  await moveTo(may);
  assert.deepEqual(await items(externalId), [[1000, 1]]);
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['paid', 1000],
  ]);
  const { scheduledAdjustmentAt, priceId, name } = await changes.subscription(id);
  assert.deepEqual([scheduledAdjustmentAt, priceId, name], [null, changes.priceIdOf('p1000'), 'p1000 - Monthly']);
  // The change was told when it was scheduled, and once more with the renewal that made it.
  assert.deepEqual(await changes.events(id), ['subscription.created', 'subscription.updated', 'subscription.updated']);
  assert.equal((await adjust(id, 'p3000')).adjustment.status, 'applied', 'and it can be changed again');
});

test('auto: a dearer plan now, an equal one now, a cheaper one at the end', async () => {
  for (const [plan, timing] of [
    ['p6000', 'immediately'],
    ['p1000 x 3', 'immediately'],
    ['p1000', atEnd.timing],
  ] as const) {
    const { id } = await subscribe('p3000');
    assert.equal((await adjust(id, plan, auto)).resolvedTiming, timing, plan);
  }
});

test('while a change is scheduled another one and a cancel are refused; undone, everything is as it was', async () => {
  const { id, externalId } = await subscribe('p3000');
  const before = await changes.itemsOf(externalId);
  assert.equal((await undo(id)).status, 400);
  await adjust(id, ['p1000', 'p100'], atEnd);
  assert.match(await changes.refused(id, 'p6000', 400), /cancel-scheduled-adjustment/);
  const cancel = { cancellation: { timing: 'immediately' } };
  assert.equal((await app.request('POST', `/subscriptions/${id}/cancel`, cancel)).status, 400);
  const undone = await undo(id);
  assert.deepEqual([undone.status, undone.body.canceledItemCount], [200, 2]);
  assert.equal(undone.body.subscription.scheduledAdjustmentAt, null);
  assert.equal((await undo(id)).status, 400);
  assert.deepEqual(await changes.itemsOf(externalId), before);
  await moveTo(may);
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 3000]);
});

test('a dearer plan is scheduled for the end: nothing is charged now, and 60.00 at the renewal', async () => {
  const { id, externalId } = await subscribe('p3000');
  await app.setClock(day(10));
  const { resolvedTiming, effectiveDate, totalDue, isUpgrade } = await preview(id, 'p6000', atEnd);
  assert.deepEqual([resolvedTiming, effectiveDate, totalDue, isUpgrade], [atEnd.timing, may, 0, true]);
  assert.equal((await adjust(id, 'p6000', atEnd)).adjustment.status, 'scheduled');
  assert.deepEqual([await items(externalId), await invoices(id)], [[[3000, 1]], [['paid', 3000]]]);
  await moveTo(may);
  const billed = [
    ['paid', 3000],
    ['paid', 6000],
  ];
  assert.deepEqual([await items(externalId), await invoices(id)], [[[6000, 1]], billed]);
});

test('a trial becomes a dearer plan at its end, which is billed then', async () => {
  const { id } = await subscribe('trial');
  await adjust(id, 'p6000', atEnd);
  await moveTo(day(14));
  assert.deepEqual(await invoices(id), [['paid', 6000]]);
});

test('a paid plan is not scheduled on one that costs nothing, and the preview says so', async () => {
  const { id } = await subscribe('p3000');
  await adjust(id, 'zero');
  for (const plan of ['p3000', 'yearly']) {
    const reason = await changes.refused(id, plan, 400, atEnd);
    assert.match(reason, /must be made immediately/);
    assert.equal((await preview(id, plan, atEnd)).reason, reason);
  }
});

test('a change to two intervals is refused', async () => {
  const { id } = await subscribe('p3000');
  assert.match(
    await changes.refused(id, [changes.item('yearly'), 'p100'], 400, atEnd),
    /have the same billing interval/,
  );
});

test('another interval begins with the next period, and boundaries are counted from there', async () => {
  const { id, externalId } = await subscribe('p3000');
  await app.setClock(day(10));
  const answer = await adjust(id, 'yearly', atEnd);
  assert.deepEqual([answer.resolvedTiming, answer.isUpgrade], [atEnd.timing, true]);
  await moveTo(may);
  const subscription = await changes.subscription(id);
  assert.deepEqual([subscription.interval, subscription.intervalCount], ['year', 1]);
  assert.deepEqual(
    [subscription.billingCycleAnchorDate, subscription.currentBillingPeriodStart, subscription.currentBillingPeriodEnd],
    [may, may, instant('2027-05-01')],
  );
  assert.deepEqual(await items(externalId), [[30_000, 1]]);
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 30_000]);
});

test('after a trial the new interval is counted from the end of the trial', async () => {
  const { id } = await subscribe('trial');
  await adjust(id, 'yearly', atEnd);
  await moveTo(day(14));
  const { currentBillingPeriodStart, currentBillingPeriodEnd, status } = await changes.subscription(id);
  assert.deepEqual([currentBillingPeriodStart, currentBillingPeriodEnd], [day(14), instant('2027-04-15')]);
  assert.equal(status, 'active');
});

test('a subscription that renews at an interval of its own is changed to prices of its price at once', async () => {
  const { id, subscription } = await subscribe('p3000', { interval: 'week', intervalCount: 2 });
  assert.deepEqual([subscription.interval, subscription.currentBillingPeriodEnd], ['week', day(14)]);
  await app.setClock(day(7));
  const changed = (await adjust(id, 'p6000')).subscription;
  assert.deepEqual([changed.interval, changed.intervalCount], ['week', 2]);
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 1500]);
});

test('many scheduled changes are carried out together, each as it was asked for', async () => {
  const customers = await Promise.all(
    ['p1000', 'p999', 'p200'].map(async (plan) => {
      const customer = await subscribe('p3000');
      await adjust(customer.id, plan, atEnd);
      return { ...customer, plan };
    }),
  );
  await moveTo(may);
  for (const { externalId, plan } of customers) {
    const [item]: Body[] = await changes.itemsOf(externalId);
    assert.deepEqual([item?.unitPrice, item?.addedDate], [Number(plan.slice(1)), may]);
  }
});

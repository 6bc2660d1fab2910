import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calendarEnd, type Instant, instant } from '../kernel/calendar.ts';
import type { Problem } from '../kernel/problem.ts';
import {
  arrearsOf,
  Cancellation,
  type CancelTiming,
  cancelDueAt,
  decideCancel,
  decideUncancel,
} from './cancellation.ts';
import { type Arrears, type SubscriptionRow, subscriptionStatuses } from './subscription.ts';

const now = instant('2026-04-11');
const end = instant('2026-05-01');
const subscription = {
  id: 'sub_1',
  status: 'active',
  arrears: 'none',
  renews: true,
  isDefaultPlan: false,
  isFreePlan: false,
  doNotCharge: false,
  startDate: instant('2026-04-01'),
  trialEnd: null,
  currentBillingPeriodStart: instant('2026-04-01'),
  currentBillingPeriodEnd: end,
  cancelScheduledAt: null,
  scheduledAdjustmentAt: null,
  scheduledByCustomer: false,
  // Nothing else in a row decides about canceling.
} as unknown as SubscriptionRow;

const decide = (change: Partial<SubscriptionRow>, timing: CancelTiming = 'at_end_of_current_billing_period') =>
  decideCancel({ ...subscription, ...change }, { timing }, now);
const decideOn = (endDate: Instant, change: Partial<SubscriptionRow> = {}) =>
  decideCancel({ ...subscription, ...change }, { timing: 'at_future_date', endDate }, now);
const refuses = (problem: string, act: () => unknown) =>
  assert.throws(act, (error: Problem) => error.problem === problem);

test('canceling immediately ends whatever has not ended', () => {
  for (const status of subscriptionStatuses) {
    const ends = status !== 'canceled' && status !== 'incomplete_expired';
    assert.deepEqual(decide({ status }, 'immediately'), ends ? { does: 'end', at: now } : { does: 'nothing' });
  }
});

test('canceling at the end of the period schedules the end of what the customer has', () => {
  for (const status of ['trialing', 'active', 'past_due', 'unpaid'] as const) {
    assert.deepEqual(decide({ status }), { does: 'schedule', at: end });
  }
  assert.deepEqual(decide({ status: 'canceled' }), { does: 'nothing' });
});

test('canceling a second time changes nothing', () => {
  const scheduled = { status: 'cancellation_scheduled', cancelScheduledAt: end } as const;
  assert.deepEqual(decide(scheduled), { does: 'nothing' });
  assert.deepEqual(decideOn(end, scheduled), { does: 'nothing' });
});

test('canceling at a date schedules the end of what the customer has, in this period or in a later one', () => {
  for (const at of [now + 1, end, instant('2027-01-15')]) assert.deepEqual(decideOn(at), { does: 'schedule', at });
  const trialing = { status: 'trialing', trialEnd: end } as const;
  assert.deepEqual(decideOn(end + 1, trialing), { does: 'schedule', at: end + 1 });
  assert.deepEqual(decideOn(end, { status: 'canceled' }), { does: 'nothing' });
});

test('canceling at a date that has come, lies beyond the calendar or before the start is refused', () => {
  for (const at of [now - 1, now, calendarEnd]) refuses('invalidRequest', () => decideOn(at));
  const later = { startDate: end, currentBillingPeriodStart: end };
  refuses('invalidRequest', () => decideOn(end, later));
  assert.deepEqual(decideOn(end + 1, later), { does: 'schedule', at: end + 1 });
  assert.deepEqual(decideOn(now, { status: 'canceled' }), { does: 'nothing' }, 'a repeat after the end');
});

test('canceling at a date is refused for what waits for its first payment or is paused, and not yet possible with a change scheduled', () => {
  refuses('currentBillingPeriodNotFound', () => decideOn(end, { status: 'incomplete' }));
  refuses('currentBillingPeriodNotFound', () => decideOn(end, { status: 'paused' }));
  refuses('currentBillingPeriodNotFound', () => decide({ status: 'paused' }));
  refuses('adjustmentScheduled', () => decideOn(end, { scheduledAdjustmentAt: end }));
});

test('another date, or the end of the period, takes the place of the one before', () => {
  const scheduled = { status: 'cancellation_scheduled', cancelScheduledAt: end + 7 } as const;
  assert.deepEqual(decideOn(end + 9, scheduled), { does: 'schedule', at: end + 9 });
  assert.deepEqual(decide(scheduled), { does: 'schedule', at: end });
});

test('a date goes with its timing, and only with it', () => {
  const isAccepted = (given: unknown) => Cancellation.safeParse(given).success;
  assert(isAccepted({ timing: 'at_future_date', endDate: end }));
  assert(isAccepted({ timing: 'at_future_date', endDate: '2026-05-01T00:00:00Z' }));
  assert(isAccepted({ timing: 'immediately', endDate: null }));
  assert(!isAccepted({ timing: 'at_future_date' }));
  assert(!isAccepted({ timing: 'at_future_date', endDate: null }));
  assert(!isAccepted({ timing: 'at_future_date', endDate: 'soon' }));
  for (const timing of ['immediately', 'at_end_of_current_billing_period', 'tomorrow']) {
    assert(!isAccepted({ timing, endDate: end }));
  }
});

test('what has no current period cannot end with it', () => {
  for (const change of [
    { currentBillingPeriodStart: null, currentBillingPeriodEnd: null },
    { currentBillingPeriodStart: now + 1 },
    { status: 'incomplete' },
  ] as const) {
    refuses('currentBillingPeriodNotFound', () => decide(change));
  }
  refuses('subscriptionDoesNotRenew', () => decide({ renews: false }));
});

test('the default plan is refused, even when it has ended; another plan without a price is not', () => {
  for (const timing of ['immediately', 'at_end_of_current_billing_period'] as const) {
    refuses('defaultPlanCannotBeCanceled', () => decide({ isDefaultPlan: true, isFreePlan: true }, timing));
    refuses('defaultPlanCannotBeCanceled', () => decide({ isDefaultPlan: true, status: 'canceled' }, timing));
  }
  assert.deepEqual(decide({ isFreePlan: true }, 'immediately'), { does: 'end', at: now });
});

test('a scheduled change has to be undone first, unless the subscription has ended', () => {
  refuses('adjustmentScheduled', () => decide({ scheduledAdjustmentAt: end }, 'immediately'));
  assert.deepEqual(decide({ scheduledAdjustmentAt: end, status: 'canceled' }), { does: 'nothing' });
});

const uncancel = (change: Partial<SubscriptionRow>, isPayable = true, arrears: Arrears = 'none') =>
  decideUncancel(
    { ...subscription, status: 'cancellation_scheduled', cancelScheduledAt: end, ...change },
    { isPayable, arrears, now },
  );

test('taking it back gives the status of before: on trial while the trial lasts, else active', () => {
  assert.equal(uncancel({}), 'active');
  assert.equal(uncancel({ trialEnd: end }), 'trialing');
  assert.equal(uncancel({ trialEnd: now }), 'active');
});

test('what owes money is past due or unpaid again', () => {
  assert.equal(uncancel({}, true, 'past_due'), 'past_due');
  assert.equal(uncancel({}, true, 'unpaid'), 'unpaid');
  const dunning = { retries: 3, terminalAction: 'unpaid' } as const;
  const after = (...attempts: number[]) =>
    arrearsOf(
      attempts.map((attemptCount) => ({ attemptCount })),
      dunning,
    );
  assert.deepEqual(
    [after(), after(0), after(0, 1), after(3), after(4, 1)],
    ['none', 'none', 'past_due', 'past_due', 'unpaid'],
  );
  assert.equal(arrearsOf([{ attemptCount: 4 }], { retries: 3, terminalAction: 'past_due' }), 'past_due');
});

test('taking it back where nothing is scheduled changes nothing', () => {
  for (const status of subscriptionStatuses.filter((each) => each !== 'cancellation_scheduled')) {
    assert.equal(uncancel({ status }, false), null);
  }
});

test('taking it back needs a payment method, unless nothing is to be paid', () => {
  refuses('paymentMethodRequired', () => uncancel({}, false));
  assert.equal(uncancel({ isFreePlan: true }, false), 'active');
  assert.equal(uncancel({ doNotCharge: true }, false), 'active');
});

test('a scheduled cancel is due from its instant on, and a cancel after that ends it as of then', () => {
  const scheduled = { ...subscription, status: 'cancellation_scheduled', cancelScheduledAt: end } as const;
  assert.deepEqual(
    [end - 1, end, end + 1].map((at) => cancelDueAt(scheduled, at)),
    [null, end, end],
  );
  assert.equal(cancelDueAt({ ...scheduled, status: 'canceled' }, end), null);
  const later = { ...scheduled, cancelScheduledAt: end + 1 };
  assert.equal(cancelDueAt(later, end + 5), null, 'the period that begins before comes first');
  assert.equal(cancelDueAt({ ...later, currentBillingPeriodEnd: instant('2026-06-01') }, end + 5), end + 1);
  assert.deepEqual(decideCancel(scheduled, { timing: 'immediately' }, end + 5), { does: 'end', at: end });
});

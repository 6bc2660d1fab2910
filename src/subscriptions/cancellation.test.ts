import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../kernel/calendar.ts';
import type { Problem } from '../kernel/problem.ts';
import { type CancelTiming, cancelDueAt, decideCancel, decideUncancel } from './cancellation.ts';
import { type SubscriptionRow, subscriptionStatuses } from './subscription.ts';

const now = instant('2026-04-11');
const end = instant('2026-05-01');
const subscription = {
  id: 'sub_1',
  status: 'active',
  renews: true,
  isDefaultPlan: false,
  isFreePlan: false,
  doNotCharge: false,
  trialEnd: null,
  currentBillingPeriodStart: instant('2026-04-01'),
  currentBillingPeriodEnd: end,
  cancelScheduledAt: null,
  scheduledAdjustmentAt: null,
  // Nothing else in a row decides about canceling.
} as unknown as SubscriptionRow;

const decide = (change: Partial<SubscriptionRow>, timing: CancelTiming = 'at_end_of_current_billing_period') =>
  decideCancel({ ...subscription, ...change }, timing, now);
const refuses = (problem: string, act: () => unknown) =>
  assert.throws(act, (error: Problem) => error.problem === problem);

test('immediately ends whatever has not ended', () => {
  for (const status of subscriptionStatuses) {
    const ends = status !== 'canceled' && status !== 'incomplete_expired';
    assert.deepEqual(decide({ status }, 'immediately'), ends ? { does: 'end', at: now } : { does: 'nothing' });
  }
});

test('at the end of the period schedules what the customer has', () => {
  for (const status of ['trialing', 'active', 'past_due', 'unpaid'] as const) {
    assert.deepEqual(decide({ status }), { does: 'schedule', at: end });
  }
  assert.deepEqual(decide({ status: 'canceled' }), { does: 'nothing' });
});

test('a second time changes nothing', () => {
  assert.deepEqual(decide({ status: 'cancellation_scheduled', cancelScheduledAt: end }), { does: 'nothing' });
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

const uncancel = (change: Partial<SubscriptionRow>, hasPaymentMethod = true) =>
  decideUncancel(
    { ...subscription, status: 'cancellation_scheduled', cancelScheduledAt: end, ...change },
    { hasPaymentMethod, now },
  );

test('taking it back gives the status of before: on trial while the trial lasts, else active', () => {
  assert.equal(uncancel({}), 'active');
  assert.equal(uncancel({ trialEnd: end }), 'trialing');
  assert.equal(uncancel({ trialEnd: now }), 'active');
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
  assert.deepEqual(decideCancel(scheduled, 'immediately', end + 5), { does: 'end', at: end });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  currentStatuses,
  isCurrent,
  isInTheWay,
  isTerminal,
  type SubscriptionStatus,
  statusAfter,
  subscriptionStatuses,
  terminalStatuses,
  triggers,
} from './subscription.ts';

// Written independently of the table, by trigger, so that each finds a slip in the other.
const expected: Record<(typeof triggers)[number], Partial<Record<SubscriptionStatus, SubscriptionStatus>>> = {
  paid: {
    incomplete: 'active',
    active: 'active',
    past_due: 'active',
    unpaid: 'active',
    cancellation_scheduled: 'cancellation_scheduled',
  },
  payment_failed: {
    active: 'past_due',
    past_due: 'past_due',
    unpaid: 'unpaid',
    cancellation_scheduled: 'cancellation_scheduled',
  },
  payment_method_missing: {
    trialing: 'past_due',
    active: 'past_due',
    past_due: 'past_due',
    unpaid: 'unpaid',
    cancellation_scheduled: 'cancellation_scheduled',
  },
  trial_ended: { trialing: 'active', cancellation_scheduled: 'cancellation_scheduled' },
  retries_exhausted: { past_due: 'unpaid', cancellation_scheduled: 'cancellation_scheduled' },
  cancel_scheduled: {
    trialing: 'cancellation_scheduled',
    active: 'cancellation_scheduled',
    past_due: 'cancellation_scheduled',
    unpaid: 'cancellation_scheduled',
    cancellation_scheduled: 'cancellation_scheduled',
  },
  uncanceled: { cancellation_scheduled: 'active' },
  uncanceled_in_trial: { cancellation_scheduled: 'trialing' },
  uncanceled_past_due: { cancellation_scheduled: 'past_due' },
  uncanceled_unpaid: { cancellation_scheduled: 'unpaid' },
  paused: { active: 'paused' },
  resumed: { paused: 'active' },
  canceled: {
    incomplete: 'canceled',
    trialing: 'canceled',
    active: 'canceled',
    past_due: 'canceled',
    unpaid: 'canceled',
    cancellation_scheduled: 'canceled',
    paused: 'canceled',
  },
  expired: { incomplete: 'incomplete_expired' },
};

for (const status of subscriptionStatuses) {
  for (const trigger of triggers) {
    const next = expected[trigger][status] ?? null;
    test(`${status}, ${trigger}: ${next ?? 'cannot happen'}`, () => {
      assert.equal(statusAfter(status, trigger), next);
    });
  }
}

test('every status but the terminal ones can be left by canceling, and nothing leaves a terminal one', () => {
  for (const status of subscriptionStatuses) {
    assert.equal(statusAfter(status, 'canceled'), isTerminal(status) ? null : 'canceled');
    if (isTerminal(status)) assert(triggers.every((trigger) => statusAfter(status, trigger) === null));
  }
});

test('a subscription that has ended, waits for its first payment or is paused is not current', () => {
  const others = subscriptionStatuses.filter((status) => !isCurrent(status));
  assert.deepEqual(others, ['incomplete', 'incomplete_expired', 'canceled', 'paused']);
  assert.deepEqual([...terminalStatuses].sort(), ['canceled', 'incomplete_expired']);
  assert.equal(currentStatuses.length, 5);
});

test('in the way of another are those the customer has, or will have without doing more', () => {
  const inTheWay = (currentBillingPeriodStart: number | null) =>
    subscriptionStatuses.filter((status) => isInTheWay({ status, currentBillingPeriodStart }));
  assert.deepEqual(inTheWay(null), [...currentStatuses, 'paused']);
  assert.deepEqual(inTheWay(0), [...currentStatuses, 'incomplete', 'paused']);
});

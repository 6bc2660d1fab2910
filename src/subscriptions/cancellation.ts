import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { isTerminal, requireStatusAfter, type SubscriptionRow, statusAfter } from './subscription.ts';

export const CancelTiming = z
  .enum(['at_end_of_current_billing_period', 'immediately'])
  .meta({ id: 'CancelTiming', description: 'When the subscription is to end.' });
export type CancelTiming = z.infer<typeof CancelTiming>;

/** What a request to cancel comes to. */
export type CancelDecision =
  | { readonly does: 'nothing' }
  | { readonly does: 'end'; readonly at: Instant }
  | { readonly does: 'schedule'; readonly at: Instant };

/**
 * What a caller's cancel does. A subscription that has ended stays as it is, and one whose end is scheduled already too;
 * if that end has come and nobody has noticed yet, it ends as of then. Refuses the default plan, which every customer stands on, and a subscription with a scheduled change, which has to
 * be undone first. At the end of the period: refuses one that does not renew, and one that is in no period now.
 */
export function decideCancel(subscription: SubscriptionRow, timing: CancelTiming, now: Instant): CancelDecision {
  const { id, status } = subscription;
  if (subscription.isDefaultPlan) throw new Problem('defaultPlanCannotBeCanceled', { id });
  if (isTerminal(status)) return { does: 'nothing' };
  const dueAt = cancelDueAt(subscription, now);
  if (dueAt !== null) return { does: 'end', at: dueAt };
  if (subscription.scheduledAdjustmentAt !== null) throw new Problem('adjustmentScheduled', { id });
  switch (timing) {
    case 'immediately':
      return { does: 'end', at: now };
    case 'at_end_of_current_billing_period': {
      if (!subscription.renews) throw new Problem('subscriptionDoesNotRenew', { id });
      const at = currentPeriodEnd(subscription, now);
      if (at === null) throw new Problem('currentBillingPeriodNotFound', { id });
      return subscription.cancelScheduledAt === at ? { does: 'nothing' } : { does: 'schedule', at };
    }
    default:
      assert.fail(`unknown timing ${timing satisfies never}`);
  }
}

/** The end of the period that the subscription is in; null before its start, and while its first payment is awaited. */
function currentPeriodEnd(subscription: SubscriptionRow, now: Instant): Instant | null {
  const { status, currentBillingPeriodStart: start, currentBillingPeriodEnd: end } = subscription;
  const isUnderWay = start !== null && start <= now && statusAfter(status, 'cancel_scheduled') !== null;
  return isUnderWay ? end : null;
}

/**
 * What taking back a scheduled cancel does: the new status, or null when none is scheduled. What costs something needs
 * a way to be paid: refuses with `paymentMethodRequired` where there is none.
 */
export function decideUncancel(
  subscription: SubscriptionRow,
  { hasPaymentMethod, now }: { hasPaymentMethod: boolean; now: Instant },
): SubscriptionRow['status'] | null {
  const { status, isFreePlan, doNotCharge, trialEnd, id } = subscription;
  if (status !== 'cancellation_scheduled') return null;
  if (!isFreePlan && !doNotCharge && !hasPaymentMethod) throw new Problem('paymentMethodRequired', { id });
  const isInTrial = trialEnd !== null && trialEnd > now;
  return requireStatusAfter(status, isInTrial ? 'uncanceled_in_trial' : 'uncanceled');
}

/** The end that was scheduled, when it has come; else null. */
export function cancelDueAt({ status, cancelScheduledAt }: SubscriptionRow, now: Instant): Instant | null {
  const isDue = status === 'cancellation_scheduled' && cancelScheduledAt !== null && cancelScheduledAt <= now;
  return isDue ? cancelScheduledAt : null;
}

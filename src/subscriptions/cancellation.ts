import assert from 'node:assert/strict';
import { z } from 'zod';
import { calendarEnd, type Instant } from '../kernel/calendar.ts';
import { TimestampInput } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { isTerminal, requireStatusAfter, type SubscriptionRow, statusAfter } from './subscription.ts';

export const CancelTiming = z
  .enum(['at_end_of_current_billing_period', 'at_future_date', 'immediately'])
  .meta({ id: 'CancelTiming', description: 'The time at which the subscription ends.' });
export type CancelTiming = z.infer<typeof CancelTiming>;

/** What a caller says of a cancellation. */
export const Cancellation = z
  .object({
    timing: CancelTiming,
    endDate: TimestampInput.nullish().meta({
      description:
        'The end, only with `at_future_date`. Periods that begin before it are billed whole and not refunded.',
    }),
  })
  .refine(({ timing, endDate }) => (timing === 'at_future_date') === (typeof endDate === 'number'), {
    path: ['endDate'],
    message: 'goes with the timing at_future_date, and only with it',
  })
  .meta({ id: 'Cancellation' });
export type Cancellation = z.infer<typeof Cancellation>;

/** What a request to cancel comes to. */
export type CancelDecision =
  | { readonly does: 'nothing' }
  | { readonly does: 'end'; readonly at: Instant }
  | { readonly does: 'schedule'; readonly at: Instant };

/**
 * What a caller's cancel does. A subscription that has ended stays as it is, and so does one whose end is scheduled for
 * that very date; another date takes its place. If the scheduled end has come and nobody has noticed yet, it ends as of
 * then. Refuses the default plan, which every customer stands on, and a subscription with a scheduled change, which has
 * to be undone first. At the end of the period: refuses one that does not renew. At a later time of any kind: refuses
 * one that the customer does not have now, and a date that does not lie ahead.
 */
export function decideCancel(
  subscription: SubscriptionRow,
  { timing, endDate }: Cancellation,
  now: Instant,
): CancelDecision {
  const { id, status } = subscription;
  if (subscription.isDefaultPlan) throw new Problem('defaultPlanCannotBeCanceled', { id });
  if (isTerminal(status)) return { does: 'nothing' };
  const dueAt = cancelDueAt(subscription, now);
  if (dueAt !== null) return { does: 'end', at: dueAt };
  if (subscription.scheduledAdjustmentAt !== null) throw new Problem('adjustmentScheduled', { id });
  switch (timing) {
    case 'immediately':
      return { does: 'end', at: now };
    case 'at_end_of_current_billing_period':
      if (!subscription.renews) throw new Problem('subscriptionDoesNotRenew', { id });
      return schedule(subscription, currentPeriodEnd(subscription, now));
    case 'at_future_date':
      assert(typeof endDate === 'number', 'the schema asks for a date with this timing');
      return schedule(subscription, endOnDate(subscription, endDate, now));
    default:
      assert.fail(`unknown timing ${timing satisfies never}`);
  }
}

function schedule({ id, cancelScheduledAt }: SubscriptionRow, at: Instant | null): CancelDecision {
  if (at === null) throw new Problem('currentBillingPeriodNotFound', { id });
  return cancelScheduledAt === at ? { does: 'nothing' } : { does: 'schedule', at };
}

/** The end of the period that the subscription is in; null before its start, and while its first payment is awaited. */
function currentPeriodEnd(subscription: SubscriptionRow, now: Instant): Instant | null {
  const { status, currentBillingPeriodStart: start, currentBillingPeriodEnd: end } = subscription;
  const isUnderWay = start !== null && start <= now && statusAfter(status, 'cancel_scheduled') !== null;
  return isUnderWay ? end : null;
}

/** The date; null for what the customer does not have now and is not to have by itself: it waits, or is paused. */
function endOnDate({ status, startDate }: SubscriptionRow, endDate: Instant, now: Instant): Instant | null {
  const after = Math.max(now, startDate);
  if (endDate <= after || endDate >= calendarEnd) {
    throw invalid(['cancellation', 'endDate'], `must be later than ${after} and at most ${calendarEnd - 1}`);
  }
  return statusAfter(status, 'cancel_scheduled') === null ? null : endDate;
}

/** What taking back a scheduled cancel depends on, besides the subscription. */
export interface UncancelFacts {
  readonly hasPaymentMethod: boolean;
  /** What became of the attempts to collect its invoices. */
  readonly arrears: Arrears;
  readonly now: Instant;
}

/** Whether an invoice is open after a failed attempt (`past_due`), or after the last one that there was (`unpaid`). */
export type Arrears = 'none' | 'past_due' | 'unpaid';

/**
 * What taking back a scheduled cancel does: the status that it would have without, or null when none is scheduled. What
 * costs something needs a way to be paid: refuses with `paymentMethodRequired` where there is none.
 */
export function decideUncancel(
  subscription: SubscriptionRow,
  { hasPaymentMethod, arrears, now }: UncancelFacts,
): SubscriptionRow['status'] | null {
  const { status, isFreePlan, doNotCharge, trialEnd, id } = subscription;
  if (status !== 'cancellation_scheduled') return null;
  if (!isFreePlan && !doNotCharge && !hasPaymentMethod) throw new Problem('paymentMethodRequired', { id });
  if (trialEnd !== null && trialEnd > now) return requireStatusAfter(status, 'uncanceled_in_trial');
  return requireStatusAfter(status, arrears === 'none' ? 'uncanceled' : `uncanceled_${arrears}`);
}

/** An invoice that is not paid, as far as it tells of attempts to collect it. */
export interface Attempted {
  readonly attemptCount: number;
}

/**
 * What open invoices come to for the status of their subscription. `retries` is how many attempts follow the first, and
 * `terminalAction` what becomes of the subscription after the last one.
 */
export function arrearsOf(
  open: readonly Attempted[],
  { retries, terminalAction }: { retries: number; terminalAction: 'unpaid' | 'canceled' | 'past_due' },
): Arrears {
  const most = Math.max(0, ...open.map((invoice) => invoice.attemptCount));
  if (most === 0) return 'none';
  return most > retries && terminalAction === 'unpaid' ? 'unpaid' : 'past_due';
}

/** The end that was scheduled, when it has come; else null. The periods that begin before it have to begin first. */
export function cancelDueAt(subscription: SubscriptionRow, now: Instant): Instant | null {
  const { status, cancelScheduledAt: at, renews, currentBillingPeriodEnd: end } = subscription;
  if (status !== 'cancellation_scheduled' || at === null || at > now) return null;
  return !renews || end === null || at <= end ? at : null;
}

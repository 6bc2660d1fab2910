import assert from 'node:assert/strict';
import { z } from 'zod';
import { calendarEnd, type Instant } from '../kernel/calendar.ts';
import { freeText, TimestampInput } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import {
  type Arrears,
  isTerminal,
  isWaitingForStart,
  requireStatusAfter,
  type SubscriptionRow,
  statusAfter,
} from './subscription.ts';

export const CancelTiming = z
  .enum(['at_end_of_current_billing_period', 'at_future_date', 'immediately'])
  .meta({ id: 'CancelTiming', description: 'The time at which the subscription ends.' });
export type CancelTiming = z.infer<typeof CancelTiming>;

/** The reasons of a customer for its cancellation, which are kept as `cancellationReason`. */
export const customerReasons = [
  'too_expensive',
  'missing_features',
  'switched_service',
  'unused',
  'low_quality',
  'too_complex',
  'customer_service',
  'other',
] as const;
export type CustomerReason = (typeof customerReasons)[number];

/** A request to cancel. */
export const Cancellation = z
  .object({
    timing: CancelTiming,
    endDate: TimestampInput.nullish().meta({
      description:
        'The end, only with `at_future_date`. Periods that begin before it are billed whole and not refunded.',
    }),
    reason: z.enum(customerReasons).nullish().meta({
      description:
        'The reason of the customer, kept as `cancellationReason`. Without one, that of an earlier request stays.',
    }),
    comment: freeText('description').trim().min(1).nullish().meta({
      description:
        'The own words of the customer, kept as `cancellationComment`. Without any, those of an earlier request stay.',
    }),
  })
  .refine(({ timing, endDate }) => (timing === 'at_future_date') === (typeof endDate === 'number'), {
    path: ['endDate'],
    message: 'is required when timing is at_future_date, and not allowed otherwise',
  })
  .meta({ id: 'Cancellation' });
export type Cancellation = z.infer<typeof Cancellation>;

/** The decision on a request to cancel. */
type CancelDecision =
  | { readonly does: 'nothing' }
  | { readonly does: 'end'; readonly at: Instant }
  | { readonly does: 'schedule'; readonly at: Instant };

/**
 * Decides a cancellation. An ended subscription stays as it is, and so does one scheduled for the same date; another
 * date replaces the scheduled one. If the scheduled end has passed unprocessed, it ends as of then.
 *
 * Refuses the default plan, which every customer has, and a subscription with a scheduled change, which must be undone
 * first. At the end of the period: refuses one that does not renew. At any later time: refuses a subscription that the
 * customer does not have now, and a date that is not in the future.
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

/** The end of the current period; null before the start, and while the first payment is pending. */
function currentPeriodEnd(subscription: SubscriptionRow, now: Instant): Instant | null {
  const { status, currentBillingPeriodStart: start, currentBillingPeriodEnd: end } = subscription;
  const isRunning = start !== null && start <= now && statusAfter(status, 'cancel_scheduled') !== null;
  return isRunning ? end : null;
}

/**
 * The date; null for a subscription that is not current and does not become so by itself: it is incomplete or paused.
 */
function endOnDate({ status, startDate }: SubscriptionRow, endDate: Instant, now: Instant): Instant | null {
  const after = Math.max(now, startDate);
  if (endDate <= after || endDate >= calendarEnd) {
    throw invalid(['cancellation', 'endDate'], `must be later than ${after} and at most ${calendarEnd - 1}`);
  }
  return statusAfter(status, 'cancel_scheduled') === null ? null : endDate;
}

/** The facts that undoing a cancellation depends on, besides the subscription. */
interface UncancelFacts {
  /** Whether its renewals can be collected: by a payment method, or under net terms. */
  readonly isPayable: boolean;
  /** The state of collecting its invoices. */
  readonly arrears: Arrears;
  readonly now: Instant;
}

/**
 * Decides to undo a scheduled cancellation: the status without it, or null if none is scheduled. A paid plan needs a
 * payment method or net terms: refuses with `paymentMethodRequired` without either.
 */
export function decideUncancel(
  subscription: SubscriptionRow,
  { isPayable, arrears, now }: UncancelFacts,
): SubscriptionRow['status'] | null {
  const { status, isFreePlan, doNotCharge, trialEnd, id } = subscription;
  if (status !== 'cancellation_scheduled') return null;
  if (!isFreePlan && !doNotCharge && !isPayable) throw new Problem('paymentMethodRequired', { id });
  if (trialEnd !== null && trialEnd > now) return requireStatusAfter(status, 'uncanceled_in_trial');
  return requireStatusAfter(status, arrears === 'none' ? 'uncanceled' : `uncanceled_${arrears}`);
}

/**
 * Refuses with `nextSubscriptionBooked` to let a subscription last until `until` (null: for good) if the next one of its
 * customer is booked from an earlier instant.
 */
export function refuseOverlapWithNext(
  { id, isFreePlan, startDate }: SubscriptionRow,
  living: readonly SubscriptionRow[],
  until: Instant | null,
): void {
  const next = living.find(
    (each) =>
      each.id !== id &&
      isWaitingForStart(each) &&
      each.exclusive &&
      each.isFreePlan === isFreePlan &&
      each.startDate > startDate &&
      (until === null || each.startDate < until),
  );
  if (next !== undefined) throw new Problem('nextSubscriptionBooked', { id: next.id, startDate: next.startDate });
}

/** An unpaid invoice and its collection attempts. */
interface Attempted {
  readonly attemptCount: number;
}

/**
 * The arrears of a subscription with these open invoices. `retries` is the number of attempts after the first, and
 * `terminalAction` the action after the last one.
 */
export function arrearsOf(
  open: readonly Attempted[],
  { retries, terminalAction }: { retries: number; terminalAction: 'unpaid' | 'canceled' | 'past_due' },
): Arrears {
  const most = Math.max(0, ...open.map((invoice) => invoice.attemptCount));
  if (most === 0) return 'none';
  return most > retries && terminalAction === 'unpaid' ? 'unpaid' : 'past_due';
}

/** The scheduled end, if it has come; else null. Periods that begin before it must begin first. */
export function cancelDueAt(subscription: SubscriptionRow, now: Instant): Instant | null {
  const { status, cancelScheduledAt: at, renews, currentBillingPeriodEnd: end } = subscription;
  if (status !== 'cancellation_scheduled' || at === null || at > now) return null;
  return !renews || end === null || at <= end ? at : null;
}

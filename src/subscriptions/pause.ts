import { z } from 'zod';
import { calendarEnd, type Instant, type Period, periodAt } from '../kernel/calendar.ts';
import { TimestampInput } from '../kernel/json.ts';
import { smallerOf } from '../kernel/money.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { type BillingPeriodRow, billingAnchor, billingInterval } from './billing-period.ts';
import { isTerminal, type SubscriptionRow, statusAfter } from './subscription.ts';

/** A request to pause. */
export const Pause = z
  .object({
    resumesAt: TimestampInput.nullish().meta({
      description:
        'The time of the resume. Null: the subscription stays paused. By default null, or the value of an earlier request.',
    }),
  })
  .meta({ id: 'SubscriptionPause' });
export type Pause = z.infer<typeof Pause>;

/** The decision on a request to pause. `resumesAt` null: until resumed by request. */
type PauseDecision =
  | { readonly does: 'nothing' }
  | { readonly does: 'pause'; readonly resumesAt: Instant | null }
  | { readonly does: 'reschedule'; readonly resumesAt: Instant | null };

/**
 * Decides a pause. A paused subscription gets the new resume date. `owes` says whether an invoice of the subscription
 * is open or being charged. Refuses subscriptions that have ended or are about to change, that are not paid per period,
 * that have not started or are in trial, and that owe money.
 */
export function decidePause(
  subscription: SubscriptionRow,
  { resumesAt }: Pause,
  { owes, now }: { owes: boolean; now: Instant },
): PauseDecision {
  const { id, status } = subscription;
  if (isTerminal(status)) throw new Problem('subscriptionTerminal', { id, status });
  if (typeof resumesAt === 'number' && (resumesAt <= now || resumesAt >= calendarEnd)) {
    throw invalid(['pause', 'resumesAt'], `must be later than ${now} and at most ${calendarEnd - 1}`);
  }
  if (status === 'paused') {
    const isSame = resumesAt === undefined || resumesAt === subscription.resumesAt;
    return isSame ? { does: 'nothing' } : { does: 'reschedule', resumesAt };
  }
  if (subscription.scheduledAdjustmentAt !== null) throw new Problem('adjustmentScheduled', { id });
  const reason = whyNotPausable(subscription, { owes, now });
  if (reason !== null) throw new Problem('subscriptionNotPausable', { id, reason });
  return { does: 'pause', resumesAt: resumesAt ?? null };
}

function whyNotPausable(subscription: SubscriptionRow, { owes, now }: { owes: boolean; now: Instant }): string | null {
  const { status, renews, currentBillingPeriodStart: start, currentBillingPeriodEnd: end } = subscription;
  if (subscription.isDefaultPlan) return 'it is the default plan, which every customer has';
  if (!renews) return 'it does not renew';
  if (status === 'trialing') return 'it is in its free trial';
  if (status === 'cancellation_scheduled') return 'its cancellation is scheduled: undo it first';
  if (owes || statusAfter(status, 'paused') === null) return 'it must be paid for first';
  if (start === null || end === null || start > now) return 'it has not started';
  return end <= now ? 'its billing period is over and the next one is about to start' : null;
}

/** Kept value of paid, unused time, and the part of it whose credits were used ahead and are owed. In minor units. */
interface Kept {
  readonly kept: bigint;
  readonly owed: bigint;
}

/** The other lines of an invoice, after discount: all of them, and those of the plan. In minor units. */
interface BilledLines {
  readonly billed: bigint;
  readonly ofPlan: bigint;
}

/**
 * The amount that paid, unused time takes off an invoice, in minor units: never more than either. Value of owed credits
 * pays for a plan only, because the plan's next credits pay them back. It is a multiple of `step`, as the lines are. The
 * rest is kept for the next invoice.
 */
export function pausedTimeTakenOff({ kept, owed }: Kept, { billed, ofPlan }: BilledLines, step = 1n): bigint {
  const most = notNegative(ofPlan) + notNegative(kept - owed);
  const usable = smallerOf(kept, most);
  return notNegative(smallerOf(usable - (usable % step), billed));
}

function notNegative(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

/** The period that a pause has cut short. */
type PausedPeriod = Pick<BillingPeriodRow, 'startAt' | 'wholeStartAt' | 'wholeEndAt'>;

/** The period that begins when a paused subscription resumes. */
interface ResumedPeriod extends Period {
  /** The start of the interval of which the period is the rest; null: it is whole. */
  readonly wholeStartAt: Instant | null;
  /** True for the rest of the paused period itself, which has already granted its credits. */
  readonly isRestOfPaused: boolean;
}

/**
 * The period of a subscription that resumes at `at`: until the next boundary counted from the unchanged anchor, so the
 * day of the month stays. A long first period that was paused goes on to its end. `pausedPeriod` is the paused one.
 */
export function resumedPeriod(
  subscription: SubscriptionRow,
  { startAt: pausedPeriodStart, wholeStartAt, wholeEndAt }: PausedPeriod,
  at: Instant,
): ResumedPeriod {
  const [anchor, interval] = [billingAnchor(subscription), billingInterval(subscription)];
  if (wholeStartAt !== null && wholeStartAt > pausedPeriodStart && wholeEndAt !== null && at < wholeEndAt)
    return { start: at, end: wholeEndAt, wholeStartAt, isRestOfPaused: true };
  const whole = periodAt(anchor, interval, at);
  const paused = periodAt(anchor, interval, pausedPeriodStart);
  return {
    start: at,
    end: whole.end,
    wholeStartAt: whole.start < at ? whole.start : null,
    isRestOfPaused: whole.index === paused.index,
  };
}

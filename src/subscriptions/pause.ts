import { z } from 'zod';
import { calendarEnd, type Instant, type Period, periodAt } from '../kernel/calendar.ts';
import { TimestampInput } from '../kernel/json.ts';
import { smallerOf } from '../kernel/money.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { fairValue, type PlanSegment } from '../rating/proration.ts';
import { billingAnchor, billingInterval } from './billing-period.ts';
import { isTerminal, type SubscriptionRow, statusAfter } from './subscription.ts';

/** What a caller says of a pause. */
export const Pause = z
  .object({
    resumesAt: TimestampInput.nullish().meta({
      description:
        'The time of the resume. Null: the subscription stays paused. By default null, or the value of an earlier request.',
    }),
  })
  .meta({ id: 'SubscriptionPause' });
export type Pause = z.infer<typeof Pause>;

/** What a request to pause comes to. `resumesAt` null: until somebody resumes it. */
export type PauseDecision =
  | { readonly does: 'nothing' }
  | { readonly does: 'pause'; readonly resumesAt: Instant | null }
  | { readonly does: 'reschedule'; readonly resumesAt: Instant | null };

/**
 * What a caller's pause does. One that is paused already gets the new end of its pause. `owes` says whether an invoice
 * of the subscription is open or being charged. Refuses what has ended or is to change, what was never to be paid for
 * in periods, what has not begun or is on trial, and what owes money: that comes first.
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
  if (subscription.isDefaultPlan) return 'it is the default plan, which every customer stands on';
  if (!renews) return 'it does not renew';
  if (status === 'trialing') return 'it is on trial, which costs nothing';
  if (status === 'cancellation_scheduled') return 'it is to be canceled: take that back first';
  if (owes || statusAfter(status, 'paused') === null) return 'it has to be paid for first';
  if (start === null || end === null || start > now) return 'it has not begun';
  return end <= now ? 'its period is over, and the next one is about to begin' : null;
}

/** What is known of the money of a period. In minor units, list value: before discount and tax. */
export interface PeriodWorth {
  /** What the items are worth for the whole interval, each for the time that it is there; to the end of the period. */
  readonly segments: readonly PlanSegment[];
  /** What was paid or waived for the period, less refunds. */
  readonly paid: bigint;
}

/**
 * What is kept, in minor units, of a period that is paused at `at`: what was paid and not used up until then, but no
 * more than its rest is worth now, because a cheaper plan gives nothing back. Worked example: 30 days at 3000, paid,
 * paused after 10 days: 1000 is used up, 2000 is kept.
 */
export function keptOfPeriod({ segments, paid }: PeriodWorth, whole: Period, at: Instant): bigint {
  const used = fairValue(clip(segments, { start: whole.start, end: at }), whole);
  const rest = fairValue(clip(segments, { start: at, end: whole.end }), whole);
  const kept = smallerOf(paid - used, rest);
  return kept > 0n ? kept : 0n;
}

function clip(segments: readonly PlanSegment[], to: Period): PlanSegment[] {
  return segments.flatMap(({ start, end, value }) => {
    const part = { start: Math.max(start, to.start), end: Math.min(end, to.end) };
    return part.start < part.end ? { ...part, value } : [];
  });
}

/**
 * What is taken off an invoice whose other lines add up to `billed`, in minor units, for paused time that was paid for:
 * never more than either. The rest is kept for the next invoice.
 */
export function pausedTimeTakenOff(kept: bigint, billed: bigint): bigint {
  return billed > 0n ? smallerOf(kept, billed) : 0n;
}

/** A period that begins when a paused subscription goes on. */
export interface ResumedPeriod extends Period {
  /** Where the interval begins that the period is the rest of; null: it is whole. */
  readonly wholeStartAt: Instant | null;
  /** True for the rest of the very period that was paused, which has granted its credits already. */
  readonly isRestOfPaused: boolean;
}

/**
 * The period of a subscription that goes on at `at`: from then to the next boundary, counted from the anchor as ever,
 * so the day of the month stays. `pausedPeriodStart` is where the period began that was paused.
 */
export function resumedPeriod(subscription: SubscriptionRow, pausedPeriodStart: Instant, at: Instant): ResumedPeriod {
  const [anchor, interval] = [billingAnchor(subscription), billingInterval(subscription)];
  const whole = periodAt(anchor, interval, at);
  const paused = periodAt(anchor, interval, pausedPeriodStart);
  return {
    start: at,
    end: whole.end,
    wholeStartAt: whole.start < at ? whole.start : null,
    isRestOfPaused: whole.index === paused.index,
  };
}

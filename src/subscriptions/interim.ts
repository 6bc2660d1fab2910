import { type Instant, type Interval, periodAt } from '../kernel/calendar.ts';
import { billingAnchor, type PeriodSchedule } from './billing-period.ts';
import type { SubscriptionRow } from './subscription.ts';

/** The fields that determine the instants within a billing period at which something else is due. */
export type InterimSchedule = PeriodSchedule &
  Pick<SubscriptionRow, 'currentBillingPeriodStart' | 'currentBillingPeriodEnd' | 'interimAt'>;

/**
 * The first boundary of these intervals after an instant, within the current billing period; null: none. Boundaries
 * count from the billing anchor, so they do not drift. A trial has none, because nothing is billed before its end.
 * Worked example: a year from 31 January with the interval of a month has 28 February, 31 March, and so on to 31
 * December.
 */
export function nextInterim(schedule: InterimSchedule, intervals: readonly Interval[], after: Instant): Instant | null {
  const { trialEnd, intervalUnit, currentBillingPeriodStart: start, currentBillingPeriodEnd: end } = schedule;
  if (intervalUnit === null || start === null || end === null || end <= after) return null;
  if (trialEnd !== null && after < trialEnd) return null;
  const others = intervals.filter((interval) => !isOwnInterval(schedule, interval));
  const ends = others.map((interval) => periodAt(billingAnchor(schedule), interval, after).end);
  const next = Math.min(...ends);
  return next < end ? next : null;
}

/** The intervals that end at an instant, the end of the billing period or an interim. */
export function intervalsEndingAt(schedule: InterimSchedule, intervals: readonly Interval[], at: Instant): Interval[] {
  return intervals.filter((interval) => {
    // The billing periods of the same interval have the same boundaries.
    if (isOwnInterval(schedule, interval)) return at === schedule.currentBillingPeriodEnd;
    return periodAt(billingAnchor(schedule), interval, at).start === at;
  });
}

/**
 * The start of the usage period of this interval that is open: the one around the time before the next boundary. So it
 * is the same however late it is asked for, and while the subscription is paused. No usage period begins before the
 * subscription.
 */
export function openPeriodStart(schedule: InterimSchedule, interval: Interval): Instant {
  const { intervalUnit, currentBillingPeriodStart: start, currentBillingPeriodEnd: end, interimAt } = schedule;
  const next = interimAt ?? end;
  if (intervalUnit === null || next === null) return start ?? 0;
  return Math.max(periodAt(billingAnchor(schedule), interval, next - 1).start, schedule.startDate);
}

function isOwnInterval({ intervalUnit, intervalCount }: PeriodSchedule, { unit, count }: Interval): boolean {
  return unit === intervalUnit && count === intervalCount;
}

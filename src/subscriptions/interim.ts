import { boundary, type Instant, type Interval, type Period, periodAt } from '../kernel/calendar.ts';
import type { IntervalSpan } from '../rating/credits.ts';
import { type BillingPeriodRow, billingAnchor, intervalOf, type PeriodSchedule } from './billing-period.ts';
import type { SubscriptionRow } from './subscription.ts';

/** The fields that determine the instants within a billing period at which something else is due. */
export type InterimSchedule = PeriodSchedule &
  Pick<SubscriptionRow, 'currentBillingPeriodStart' | 'currentBillingPeriodEnd' | 'interimAt'>;

/**
 * The first boundary of these intervals of usage and of credits after an instant, within the current billing period; null:
 * none. Boundaries count from the billing anchor, so they do not drift. A trial has none, because nothing is billed before
 * its end. Usage by the interval of the plan is billed with it, also in a long first period, but its credits come each time.
 * Worked example: a year from 31 January with the interval of a month has 28 February, 31 March, and so on to 31
 * December.
 */
export function nextInterim(
  schedule: InterimSchedule,
  { ofUsage, ofCredits = [] }: { readonly ofUsage: readonly Interval[]; readonly ofCredits?: readonly Interval[] },
  after: Instant,
): Instant | null {
  const { trialEnd, intervalUnit, currentBillingPeriodStart: start, currentBillingPeriodEnd: end } = schedule;
  if (intervalUnit === null || start === null || end === null || end <= after) return null;
  if (trialEnd !== null && after < trialEnd) return null;
  const others = [...ofUsage.filter((interval) => !isOwnInterval(schedule, interval)), ...ofCredits];
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

/** Whether an interval of credits begins at an instant. */
export function beginsAt(schedule: PeriodSchedule, interval: Interval, at: Instant): boolean {
  return periodAt(billingAnchor(schedule), interval, at).start === at;
}

/**
 * The start of the usage period of this interval that is open: the one around the time before the next boundary. So it
 * is the same however late it is asked for, and while the subscription is paused. No usage period begins before the
 * subscription.
 */
export function openPeriodStart(schedule: InterimSchedule, interval: Interval): Instant {
  const open = openPeriod(schedule, interval);
  if (open === null) return schedule.currentBillingPeriodStart ?? 0;
  return Math.max(open.start, schedule.startDate);
}

function openPeriod(schedule: InterimSchedule, interval: Interval): Period | null {
  const { intervalUnit, currentBillingPeriodEnd: end, interimAt } = schedule;
  const next = interimAt ?? end;
  if (intervalUnit === null || next === null) return null;
  return periodAt(billingAnchor(schedule), interval, next - 1);
}

/**
 * The usage period of a measured meter that is open when its first event comes, and the interval that its price is for.
 * Without one, the subscription does not renew. The interval of the price is `own`; null: it follows the subscription. A
 * trial has no boundaries within it.
 */
export function measuredPeriod(
  schedule: InterimSchedule,
  own: Interval | null,
  current: Pick<BillingPeriodRow, 'startAt' | 'wholeStartAt'>,
): { readonly start: Instant; readonly whole: Period | null } {
  const { trialEnd } = schedule;
  const { startAt } = current;
  const isTrial = trialEnd !== null && startAt < trialEnd;
  const open = own === null || isTrial || isOwnInterval(schedule, own) ? null : openPeriod(schedule, own);
  if (open !== null) return { start: Math.max(open.start, schedule.startDate), whole: open };
  return { start: startAt, whole: intervalOf(schedule, current) };
}

/** A billing period in which credits are granted. */
type GrantPeriod = Pick<BillingPeriodRow, 'startAt' | 'endAt'>;

/**
 * The parts of a billing period for which credits of this interval are granted, each at its start: those whose interval
 * begins in the given time. An interval that the period cuts has a part in each of its periods. A trial is one interval.
 * Worked example: of a year from 31 January with the interval of a month, the second part begins on 28 February.
 */
export function grantSpans(
  schedule: PeriodSchedule,
  period: GrantPeriod,
  interval: Interval,
  { from, upTo }: { readonly from: Instant; readonly upTo: Instant },
): IntervalSpan[] {
  const spans: IntervalSpan[] = [];
  for (let at = Math.max(period.startAt, from); at <= upTo && at < period.endAt; ) {
    const span = grantSpanAt(schedule, period, interval, at);
    if (span.whole.start >= from && span.start <= upTo) spans.push(span);
    at = span.end;
  }
  return spans;
}

/** The part of a billing period around an instant, for which credits of this interval are granted. */
export function grantSpanAt(
  schedule: PeriodSchedule,
  { startAt, endAt }: GrantPeriod,
  interval: Interval,
  at: Instant,
): IntervalSpan {
  const { trialEnd, startDate } = schedule;
  const isTrial = trialEnd !== null && startAt < trialEnd;
  const whole = isTrial
    ? { start: Math.min(startDate, startAt), end: trialEnd }
    : periodAt(billingAnchor(schedule), interval, at);
  return spanOf(whole, { start: startAt, end: endAt });
}

/** The part of an interval that lies in a period. */
export function spanOf({ start, end }: Period, within: Period): IntervalSpan {
  return {
    start: Math.max(start, within.start),
    end: Math.min(end, within.end),
    whole: { start, end },
  };
}

/** The end of the last of `count` (1 or more) intervals, the first of which is around an instant. */
export function grantIntervalsEnd(schedule: PeriodSchedule, interval: Interval, at: Instant, count: number): Instant {
  const anchor = billingAnchor(schedule);
  return boundary(anchor, interval, periodAt(anchor, interval, at).index + count);
}

function isOwnInterval({ intervalUnit, intervalCount }: PeriodSchedule, { unit, count }: Interval): boolean {
  return unit === intervalUnit && count === intervalCount;
}

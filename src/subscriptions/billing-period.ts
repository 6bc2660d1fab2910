import assert from 'node:assert/strict';
import { z } from 'zod';
import { boundary, calendarEnd, type Instant, type Interval, type Period, periodAt } from '../kernel/calendar.ts';
import { anchorOf, type PartPeriod, periodFrom } from './billing-anchor.ts';
import type { SubscriptionRow } from './subscription.ts';

const billingPeriodStatuses = [
  'upcoming',
  'active',
  'completed',
  'canceled',
  'past_due',
  'scheduled_to_cancel',
] as const;
export type BillingPeriodStatus = (typeof billingPeriodStatuses)[number];

/** A stretch of time that is paid for at once: from `startAt` (in it) to `endAt` (not in it). */
export interface BillingPeriodRow {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly subscriptionId: string;
  readonly startAt: Instant;
  readonly endAt: Instant;
  readonly status: BillingPeriodStatus;
  readonly trialPeriod: boolean;
  /**
   * The start of the interval of which the period is the rest; null: the period is whole. Later than its own start: a
   * long first period, which is priced by the interval with which it ends.
   */
  readonly wholeStartAt: Instant | null;
  /** The end of the interval whose rest was paused; null: it was not paused. */
  readonly wholeEndAt: Instant | null;
  /** The amount really paid for its paused rest, and not refunded since. In minor units. */
  readonly keptValue: bigint;
  /** Paused time that its invoices took off, and that was refunded afterwards. In minor units. */
  readonly pausedTimeRefunded: bigint;
  /** List value of changes without proration, in minor units. Treated as paid. */
  readonly prorationWaived: bigint;
  /** Whether its credits are granted only when its pending payment arrives. */
  readonly creditsAwaitPayment: boolean;
  /** The interval whose discount it carries on, as one use of it; null: its own interval. */
  readonly discountStartAt: Instant | null;
  readonly discountEndAt: Instant | null;
  /** Value of earlier periods that rounding left out of their charges, in trillionths of a minor unit. */
  readonly roundingCarried: bigint;
}

/** The interval whose discount a period carries. A period that goes on with it carries it on. */
export function discountIntervalOf(
  period: BillingPeriodRow,
): Pick<BillingPeriodRow, 'discountStartAt' | 'discountEndAt'> {
  const { wholeStartAt, wholeEndAt, startAt, endAt } = period;
  return {
    discountStartAt: period.discountStartAt ?? Math.min(wholeStartAt ?? startAt, startAt),
    discountEndAt: period.discountEndAt ?? wholeEndAt ?? endAt,
  };
}

/** The start of the long first period of which a period is a part, also after a pause; null: it is of none. */
export function longStartOf(period: BillingPeriodRow): Instant | null {
  const { discountStartAt, discountEndAt } = discountIntervalOf(period);
  const { wholeStartAt, wholeEndAt, endAt } = period;
  const isLong = wholeStartAt !== null && discountStartAt !== null && discountStartAt < wholeStartAt;
  return isLong && discountEndAt === (wholeEndAt ?? endAt) ? discountStartAt : null;
}

/**
 * The trial, or the interval of its price, whose share a period of usage is; null: it does not renew. A long first
 * period is more than the interval that begins within it.
 */
export function intervalOf(
  schedule: PeriodSchedule,
  { startAt, wholeStartAt }: Pick<BillingPeriodRow, 'startAt' | 'wholeStartAt'>,
): Period | null {
  const { trialEnd, billingCycleAnchorDate: start } = schedule;
  if (start === null) return null;
  if (trialEnd !== null && startAt < trialEnd) return { start: startAt, end: trialEnd };
  const at = Math.max(startAt, wholeStartAt ?? startAt);
  const { start: from, end } = periodAt(billingAnchor(schedule), billingInterval(schedule), at);
  return { start: from, end };
}

/** The fields that determine the periods of a subscription. */
export type PeriodSchedule = Pick<
  SubscriptionRow,
  | 'startDate'
  | 'trialEnd'
  | 'billingAnchor'
  | 'firstPeriod'
  | 'billingCycleAnchorDate'
  | 'intervalUnit'
  | 'intervalCount'
>;
type Schedule = PeriodSchedule & Pick<SubscriptionRow, 'currentBillingPeriodEnd'>;

/**
 * The anchor of the boundaries. After a trial it is the trial's end, so the first paid day sets the day of the month
 * until a later change sets another anchor. An anchor in the calendar is found when the trial gets its end.
 */
export function billingAnchor(schedule: PeriodSchedule): Instant {
  const { trialEnd, billingCycleAnchorDate, billingAnchor: rule } = schedule;
  assert(billingCycleAnchorDate !== null, 'only what renews has an anchor');
  if (rule !== 'anniversary') return billingCycleAnchorDate;
  return Math.max(billingCycleAnchorDate, trialEnd ?? billingCycleAnchorDate);
}

/** The anchor with another interval. An anchor in the calendar is the one of that interval around `at`. */
export function unchangedAnchor(schedule: PeriodSchedule, interval: Interval, at: Instant): Instant {
  const isOfCalendar = schedule.billingAnchor === 'calendar' && (schedule.trialEnd ?? at) <= at;
  return (isOfCalendar ? anchorOf('calendar', interval, at) : null) ?? billingAnchor(schedule);
}

export function billingInterval({ intervalUnit, intervalCount }: PeriodSchedule): Interval {
  assert(intervalUnit !== null && intervalCount !== null, 'only what renews has an interval');
  return { unit: intervalUnit, count: intervalCount };
}

/**
 * The period after the current one; the first one for a subscription that awaits its start. It begins at the end of the
 * current one and ends at the next boundary counted from the anchor, so it does not drift: 31 January, 28 February, 31
 * March. The first paid one may be the rest of an interval, or longer. Null at the end of the calendar, and if the
 * subscription has no period or does not renew.
 */
export function nextPeriod(subscription: Schedule): PartPeriod | null {
  const { currentBillingPeriodEnd: start, trialEnd } = subscription;
  if (start === null || subscription.intervalUnit === null || start >= calendarEnd) return null;
  if (trialEnd !== null && start < trialEnd) return { start, end: trialEnd, wholeStartAt: null };
  return paidPeriod(subscription, start);
}

/** The period that begins at `start`, after any trial. Only the first paid one may be a long one. */
function paidPeriod(schedule: PeriodSchedule, start: Instant): PartPeriod {
  const isFirst = start === (schedule.trialEnd ?? schedule.startDate);
  const first = isFirst ? schedule.firstPeriod : 'short';
  return periodFrom(start, billingAnchor(schedule), billingInterval(schedule), first);
}

/** The start of the count of billing periods when a change takes another interval at once. */
export const BillingAnchor = z.enum(['now', 'unchanged']).meta({
  id: 'BillingAnchor',
  description:
    'For an immediate change to another interval. `now` (the default): the new period is whole, and later ones are ' +
    'counted from the change. `unchanged`: the new period is the rest of the interval around the change, counted from ' +
    'the present anchor, at its share of the price.',
});
export type BillingAnchor = z.infer<typeof BillingAnchor>;

/** The period that begins with a change to another interval or anchor. */
export type IntervalPeriod = PartPeriod;

/** The anchor that later periods count from after such a change. */
export function anchorAfter(
  schedule: PeriodSchedule,
  interval: Interval,
  { anchor, at }: { readonly anchor: BillingAnchor | Instant; readonly at: Instant },
): Instant {
  if (anchor === 'now') return at;
  return anchor === 'unchanged' ? unchangedAnchor(schedule, interval, at) : anchor;
}

/**
 * The period that begins at `at` with another interval. Worked example: a monthly plan since 1 April becomes
 * yearly on 16 April. The year ends on 16 April, or with an unchanged anchor on 1 April. With an instant as its anchor the
 * period ends a whole number of intervals from that.
 */
export function intervalPeriod(
  schedule: PeriodSchedule,
  interval: Interval,
  change: { readonly anchor: BillingAnchor | Instant; readonly at: Instant },
): IntervalPeriod {
  const { anchor, at } = change;
  if (anchor === 'now') return { start: at, end: boundary(at, interval, 1), wholeStartAt: null };
  return periodFrom(at, anchorAfter(schedule, interval, change), interval, 'short');
}

/**
 * The end of the last of `count` (1 or more) periods, the first of which begins at `start`. If `start` is no boundary,
 * the first period is the rest of an interval. Clamped to the end of the calendar.
 */
export function periodsEnd(schedule: PeriodSchedule, start: Instant, count: number): Instant {
  if (start >= calendarEnd) return calendarEnd;
  const { trialEnd } = schedule;
  if (trialEnd !== null && start < trialEnd) return count === 1 ? trialEnd : periodsEnd(schedule, trialEnd, count - 1);
  const [anchor, interval] = [billingAnchor(schedule), billingInterval(schedule)];
  const { end } = paidPeriod(schedule, start);
  if (end >= calendarEnd) return calendarEnd;
  return boundary(anchor, interval, periodAt(anchor, interval, end).index + count - 1);
}

import assert from 'node:assert/strict';
import { boundary, calendarEnd, type Instant, type Interval, type Period, periodAt } from '../kernel/calendar.ts';
import type { SubscriptionRow } from './subscription.ts';

export const billingPeriodStatuses = [
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
  /** Where the interval begins that the period is the rest of; null: the period is whole. */
  readonly wholeStartAt: Instant | null;
  /** List value of changes that were made without proration, in minor units: as good as paid. */
  readonly prorationWaived: bigint;
  /** Its credits come with the money for it, which has not arrived. */
  readonly creditsAwaitPayment: boolean;
}

/** The first period: the trial, or one interval from the start. `start` lies in the calendar. */
export function firstPeriod(start: Instant, trialEnd: Instant | null, interval: Interval): Period {
  return { start, end: trialEnd ?? boundary(start, interval, 1) };
}

/** How the periods of a subscription are counted. */
export type PeriodSchedule = Pick<
  SubscriptionRow,
  'trialEnd' | 'billingCycleAnchorDate' | 'intervalUnit' | 'intervalCount'
>;
type Schedule = PeriodSchedule & Pick<SubscriptionRow, 'currentBillingPeriodEnd'>;

/**
 * What the boundaries are counted from. After a trial that is its end: the first paid day gives the day of the month,
 * until a later change sets another anchor.
 */
export function billingAnchor({ trialEnd, billingCycleAnchorDate }: PeriodSchedule): Instant {
  assert(billingCycleAnchorDate !== null, 'only what renews has an anchor');
  return Math.max(billingCycleAnchorDate, trialEnd ?? billingCycleAnchorDate);
}

export function billingInterval({ intervalUnit, intervalCount }: PeriodSchedule): Interval {
  assert(intervalUnit !== null && intervalCount !== null, 'only what renews has an interval');
  return { unit: intervalUnit, count: intervalCount };
}

/**
 * The period after the current one; the first one for a subscription that waits for its start. It begins where the current one ends, and ends at the next boundary counted from
 * the anchor, so it does not drift: 31 January, 28 February, 31 March. Null at the end of the calendar, and when the
 * subscription has no period or does not renew.
 */
export function nextPeriod(subscription: Schedule): Period | null {
  const start = subscription.currentBillingPeriodEnd;
  if (start === null || subscription.intervalUnit === null || start >= calendarEnd) return null;
  return { start, end: periodsEnd(subscription, start, 1) };
}

/**
 * Where the last of `count` (1 or more) periods ends, the first of which begins at `start`: the rest of an interval, where
 * that is no boundary, is the first one. The end of the calendar where they would go beyond it.
 */
export function periodsEnd(schedule: PeriodSchedule, start: Instant, count: number): Instant {
  if (start >= calendarEnd) return calendarEnd;
  const { trialEnd } = schedule;
  if (trialEnd !== null && start < trialEnd) return count === 1 ? trialEnd : periodsEnd(schedule, trialEnd, count - 1);
  const [anchor, interval] = [billingAnchor(schedule), billingInterval(schedule)];
  return boundary(anchor, interval, periodAt(anchor, interval, start).index + count);
}

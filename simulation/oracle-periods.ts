import { type Interval, ownIntervals, type Terms, type UsagePrice } from './catalogue-usage.ts';
import { intervalAt, isSameInterval, type Span } from './oracle-arithmetic.ts';
import { isBooked, isCurrent, type Period, type Subscription } from './oracle-records.ts';

/** Usage periods: those of a price's own interval, or of the subscription, and the terms in them. */

/** The instant from which the intervals of a subscription count. */
export function anchorOf({ anchor, trialEnd }: Subscription): number {
  return Math.max(anchor, trialEnd ?? anchor);
}

/** The next instant within its period at which an own interval of usage or credits ends; null: none, as in a pause. */
export function interimAt(each: Subscription): number | null {
  return isCurrent(each) && !isBooked(each) ? nextInterim(each, each.period) : null;
}

function nextInterim(each: Subscription, period: Subscription['period']): number | null {
  const { plan, interimDone } = each;
  if (period === null || period.isTrial) return null;
  const after = Math.max(period.start, interimDone);
  const ofUsage = ownIntervals.filter((interval) => !isSameInterval(plan, interval));
  const all = [...ofUsage, ...(plan.grantInterval ? [plan.grantInterval] : [])];
  const ends = all.map((interval) => intervalAt(anchorOf(each), interval, after).end);
  const next = Math.min(...ends);
  return next < period.end ? next : null;
}

/** Whether usage of the price is billed by an interval of its own: not on a plan that does not bill it. */
export function ownIntervalOf({ plan }: Subscription, { interval }: UsagePrice): Interval | null {
  return plan.billsOverage ? interval : null;
}

/** Whether a usage period of the price ends at an instant within the billing period, or at its end. */
export function endsUsage(subscription: Subscription, price: UsagePrice, at: number): boolean {
  const { period, plan } = subscription;
  const isEnd = at === period?.end;
  const interval = ownIntervalOf(subscription, price);
  if (interval === null || isSameInterval(plan, interval)) return isEnd;
  return intervalAt(anchorOf(subscription), interval, at).start === at;
}

/** The next instant at which a usage period ends: within the billing period, or with it. It stays open in a pause. */
export function nextUsageBoundary(subscription: Subscription): number {
  const { period, pausedParts, status } = subscription;
  const whole = status === 'paused' ? (pausedParts.at(-1)?.period ?? period) : period;
  return nextInterim(subscription, whole) ?? whole?.end ?? 0;
}

/** The start of the usage period that is open. */
export function openUsageStart(subscription: Subscription, price: UsagePrice): number {
  const { period, createdAt, startsAt } = subscription;
  const interval = ownIntervalOf(subscription, price);
  if (interval === null) return period?.start ?? 0;
  const { start } = intervalAt(anchorOf(subscription), interval, nextUsageBoundary(subscription) - 1);
  return Math.max(start, startsAt ?? createdAt);
}

/** The terms of a usage period: those in force at its start. */
export function termsAt({ ownTerms }: Subscription, { slug, terms }: UsagePrice, start: number): Terms {
  const own = ownTerms.get(slug) ?? [];
  return own.find(({ from, until }) => from <= start && (until === null || start < until))?.terms ?? terms;
}

/** The part of an interval that lies in a period. */
export interface Part extends Span {
  readonly whole: Span;
}

/** The parts of a period, one for each interval from the billing anchor. A trial is one interval. */
export function partsOf(subscription: Subscription, period: Period, interval: Interval): Part[] {
  const { start, end, isTrial } = period;
  if (isTrial) return [{ start, end, whole: { start, end } }];
  const parts: Part[] = [];
  for (let at = start; at < end; at = parts.at(-1)?.end ?? end) {
    const whole = intervalAt(anchorOf(subscription), interval, at);
    parts.push({ start: at, end: Math.min(whole.end, end), whole });
  }
  return parts;
}

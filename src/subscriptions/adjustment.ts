import assert from 'node:assert/strict';
import type { Instant, Interval, Period } from '../kernel/calendar.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import type { PlanSegment } from '../rating/proration.ts';
import type { AdjustmentTiming, ResolvedTiming } from './adjustment-input.ts';
import type { BillingPeriodRow } from './billing-period.ts';
import { isTerminal, type SubscriptionRow } from './subscription.ts';
import type { SubscriptionItemRow } from './subscription-item.ts';

/** What has become of a change that was asked for. */
export const adjustmentStatuses = ['awaiting_payment', 'scheduled', 'applied', 'canceled', 'failed'] as const;
export type AdjustmentStatus = (typeof adjustmentStatuses)[number];

/** An item as a change leaves it. */
export interface PlanItem {
  /** The item that is kept or changed; null: a new one. */
  readonly id: string | null;
  readonly priceId: string;
  readonly productId: string;
  /** In minor units. */
  readonly unitPrice: bigint;
  readonly quantity: number;
  readonly name: string | null;
  readonly externalId: string | null;
  readonly metadata: SubscriptionItemRow['metadata'];
  /** What the subscription is called when this item heads it. */
  readonly planName: string;
  /** The interval that the subscription takes over with the item; null: it keeps its own. */
  readonly interval: Interval | null;
}

/** A change of plan that was asked for: it waits for its money or for its time, and is carried out once. */
export interface AdjustmentRow {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly subscriptionId: string;
  readonly status: AdjustmentStatus;
  readonly effectiveAt: Instant;
  /** The complete new set. */
  readonly items: readonly PlanItem[];
  /** Capacity of each resource, by its id, once the change has been made; 0 of what is not named. */
  readonly capacities: Readonly<Record<string, number>>;
  /** What has to be paid first; null: nothing. */
  readonly invoiceId: string | null;
  /** The period's own invoice, which was never paid and which the change's invoice takes the place of. */
  readonly replacedInvoiceId: string | null;
  /** When that one was to be tried again, as nobody does while the change waits for its money. */
  readonly replacedNextAttemptAt: Instant | null;
  /** List value that the change adds to its period and that nobody is charged for, in minor units. */
  readonly prorationWaived: bigint;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
}

/**
 * Refuses to change a subscription that has ended, does not renew, is not charged, is the default plan, has a change or
 * its end scheduled, or is in no period now.
 */
export function refuseUnadjustable(subscription: SubscriptionRow, pending: AdjustmentRow | null, now: Instant): void {
  const { id, status, currentBillingPeriodStart: start, currentBillingPeriodEnd: end } = subscription;
  const refuse = (reason: string) => new Problem('subscriptionNotAdjustable', { id, reason });
  if (isTerminal(status)) throw new Problem('subscriptionTerminal', { id, status });
  if (!subscription.renews) throw refuse('it does not renew');
  if (subscription.doNotCharge) throw refuse('it is not charged (doNotCharge)');
  if (subscription.isDefaultPlan) throw refuse("it is the customer's default plan; subscribe to another plan");
  if (subscription.scheduledAdjustmentAt !== null) throw new Problem('adjustmentScheduled', { id });
  if (pending !== null) throw new Problem('adjustmentAwaitsPayment', { id, invoiceId: pending.invoiceId ?? '' });
  if (status === 'cancellation_scheduled') throw refuse('its cancellation is scheduled; undo it with uncancel first');
  if (status === 'paused') throw new Problem('subscriptionPaused', { id });
  if (start === null || end === null || start > now || end <= now) throw new Problem('adjustmentNeedsPeriod', { id });
  if (status === 'incomplete') throw refuse('its first payment is in progress');
}

/** What the items cost for a whole period, in minor units. */
export function planTotal(items: readonly Pick<PlanItem, 'unitPrice' | 'quantity'>[]): bigint {
  return items.reduce((sum, { unitPrice, quantity }) => sum + unitPrice * BigInt(quantity), 0n);
}

/** The item that names a plan: the one that costs most, and of several the newest. They are handed in oldest first. */
export function headOf<Item extends Pick<PlanItem, 'unitPrice' | 'quantity'>>(items: readonly Item[]): Item {
  const head = items.reduce<Item | undefined>(
    (best, item) => (best === undefined || planTotal([item]) >= planTotal([best]) ? item : best),
    undefined,
  );
  assert(head, 'a plan has an item');
  return head;
}

/**
 * When a change is made. Auto: a dearer plan now, a cheaper one at the end of the period, because what was paid is not
 * given back; another interval at the end too, because it begins a new count. Refuses a dearer plan at the end of the
 * period and another interval now.
 */
export function decideTiming(
  asked: AdjustmentTiming,
  { currentTotal, newTotal, takesInterval }: { currentTotal: bigint; newTotal: bigint; takesInterval: boolean },
): ResolvedTiming {
  const path = ['adjustment', 'timing'];
  switch (asked) {
    case 'immediately':
      if (takesInterval)
        throw invalid(
          path,
          'a price with another interval starts with a new period: use at_end_of_current_billing_period',
        );
      return asked;
    case 'at_end_of_current_billing_period':
      if (newTotal > currentTotal && !takesInterval)
        throw invalid(path, `a change to a higher total (${currentTotal} to ${newTotal}) must be made immediately`);
      return asked;
    case 'auto':
      return takesInterval || newTotal < currentTotal ? 'at_end_of_current_billing_period' : 'immediately';
    default:
      assert.fail(`unknown timing ${asked satisfies never}`);
  }
}

/** A price and a quantity that an item had from `startAt` on, until `endAt` or (null) until now. */
export interface ItemSpan {
  readonly subscriptionId: string;
  readonly unitPrice: bigint;
  readonly quantity: number;
  readonly startAt: Instant;
  readonly endAt: Instant | null;
}

/**
 * What the plan of a period was worth until `at`, by its history, and is worth from then on with the new items: one
 * segment for each stretch, its value the sum of what was there. Worked examples A1 to A5.
 */
export function changeSegments(
  history: readonly ItemSpan[],
  items: readonly Pick<PlanItem, 'unitPrice' | 'quantity'>[],
  period: Pick<BillingPeriodRow, 'startAt' | 'endAt'>,
  at: Instant,
): PlanSegment[] {
  const past = history.map((span) => ({
    start: Math.max(span.startAt, period.startAt),
    end: Math.min(span.endAt ?? at, at),
    value: planTotal([span]),
  }));
  return mergeSegments([...past, { start: at, end: period.endAt, value: planTotal(items) }]);
}

/** The same worth with one segment for each stretch of time in which nothing changes. */
function mergeSegments(segments: readonly PlanSegment[]): PlanSegment[] {
  const real = segments.filter(({ start, end, value }) => start < end && value > 0n);
  const cuts = [...new Set(real.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const stretches = cuts.slice(1).map((end, index) => {
    const start = cuts[index] ?? end;
    const covering = real.filter((segment) => segment.start <= start && segment.end >= end);
    return { start, end, value: covering.reduce((sum, { value }) => sum + value, 0n) };
  });
  return stretches.filter(({ value }) => value > 0n);
}

/** The interval that a price is for: longer than the period when that is the rest of one. */
export function wholeOf({
  wholeStartAt,
  startAt,
  endAt,
}: Pick<BillingPeriodRow, 'wholeStartAt' | 'startAt' | 'endAt'>): Period {
  return { start: wholeStartAt ?? startAt, end: endAt };
}

/** What a change does to the items that there are. */
export interface ItemChanges {
  readonly added: readonly PlanItem[];
  readonly changed: readonly { readonly before: SubscriptionItemRow; readonly item: PlanItem }[];
  readonly ended: readonly SubscriptionItemRow[];
}

/** Compares the new set with the items of the plan as they are. What the new set does not name ends. */
export function decideItemChanges(current: readonly SubscriptionItemRow[], items: readonly PlanItem[]): ItemChanges {
  const wanted = new Map(items.flatMap((item) => (item.id === null ? [] : [[item.id, item] as const])));
  return {
    added: items.filter((item) => item.id === null || !current.some((before) => before.id === item.id)),
    changed: current.flatMap((before) => {
      const item = wanted.get(before.id);
      return item === undefined || isSame(before, item) ? [] : [{ before, item }];
    }),
    ended: current.filter((before) => !wanted.has(before.id)),
  };
}

function isSame(before: SubscriptionItemRow, item: PlanItem): boolean {
  return (
    !isRevalued(before, item) &&
    before.name === item.name &&
    before.externalId === item.externalId &&
    JSON.stringify(before.metadata) === JSON.stringify(item.metadata)
  );
}

/** Whether the item has another price or quantity now, so that what it was before has to be remembered. */
export function isRevalued(before: SubscriptionItemRow, item: PlanItem): boolean {
  return before.priceId !== item.priceId || before.unitPrice !== item.unitPrice || before.quantity !== item.quantity;
}

/**
 * The subscription with the new items: its price and name are those of the item that heads it, and what all items cost
 * says whether it is free. A name of its own stays while the price does. An interval that it takes over is counted from
 * the change.
 */
export function subscriptionAfter(
  subscription: SubscriptionRow,
  items: readonly PlanItem[],
  at: Instant,
): SubscriptionRow {
  const head = headOf(items);
  return {
    ...subscription,
    priceId: head.priceId,
    name: head.priceId === subscription.priceId ? subscription.name : head.planName,
    isFreePlan: planTotal(items) === 0n,
    scheduledAdjustmentAt: null,
    ...(head.interval === null
      ? {}
      : { intervalUnit: head.interval.unit, intervalCount: head.interval.count, billingCycleAnchorDate: at }),
  };
}

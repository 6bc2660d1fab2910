import assert from 'node:assert/strict';
import { boundary, calendarEnd, type Instant, type Interval, type Period, periodAt } from '../kernel/calendar.ts';
import { isSameJson } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { amountOf, mayCost, type Priced } from '../pricing/pricing.ts';
import { type LinePart, partsByWorth } from '../rating/discount.ts';
import { type PlanSegment, worthOf } from '../rating/proration.ts';
import type { AdjustmentTiming, NewAdjustment, ResolvedTiming } from './adjustment-input.ts';
import { anchorOf, suits } from './billing-anchor.ts';
import {
  type BillingAnchor,
  type BillingPeriodRow,
  billingAnchor,
  billingInterval,
  intervalPeriod,
  unchangedAnchor,
} from './billing-period.ts';
import { type OverrideChange, overridesAfter } from './price-override.ts';
import { isTerminal, type SubscriptionRow } from './subscription.ts';
import type { SubscriptionItemRow } from './subscription-item.ts';

/** The state of a requested change. */
export const adjustmentStatuses = ['awaiting_payment', 'scheduled', 'applied', 'canceled', 'failed'] as const;
export type AdjustmentStatus = (typeof adjustmentStatuses)[number];

/** An item after a change. */
export interface PlanItem extends Priced {
  /** The existing item; null: a new one. */
  readonly id: string | null;
  readonly priceId: string;
  readonly productId: string;
  /** Whether its product is sold beside a plan only. */
  readonly addOn: boolean;
  readonly quantity: number;
  readonly name: string | null;
  readonly externalId: string | null;
  readonly metadata: SubscriptionItemRow['metadata'];
  /** The name of the subscription when this item is its head. */
  readonly planName: string;
  /** The interval that the subscription adopts with the item; null: it keeps its own. */
  readonly interval: Interval | null;
}

/** A requested plan change. It awaits its payment or its date, and is applied once. */
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
  /** The changes of own prices that are made with it. The items have them already. */
  readonly priceOverrides: readonly OverrideChange[];
  /** The capacity of each resource, by id, after the change; 0 for missing ones. */
  readonly capacities: Readonly<Record<string, number>>;
  /** The invoice of the change, which is paid first unless it is due later; null: none, or it is not made yet. */
  readonly invoiceId: string | null;
  /** The request for its invoice, as JSON, until its first payment has arrived or is on its way; null: none. */
  readonly bill: string | null;
  /** The period's own unpaid invoice, which the change's invoice replaces. */
  readonly replacedInvoiceId: string | null;
  /** The suspended retry date of the replaced invoice: it is not retried while the change awaits its payment. */
  readonly replacedNextAttemptAt: Instant | null;
  /** For a change to another interval that begins a period at once; null: it begins none. */
  readonly billingAnchor: BillingAnchor | null;
  /** For a move of the billing anchor, which begins a period at once: the new anchor; null: the change is of items. */
  readonly billingCycleAnchorDate: Instant | null;
  /** List value that the change adds to its period without charging it, in minor units. */
  readonly prorationWaived: bigint;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
}

/** Whether the change begins a period at once: with another interval, or another billing anchor. */
export function beginsPeriod({
  billingAnchor,
  billingCycleAnchorDate,
}: Pick<AdjustmentRow, 'billingAnchor' | 'billingCycleAnchorDate'>): boolean {
  return billingAnchor !== null || billingCycleAnchorDate !== null;
}

/** The effect of a requested billing anchor. */
export type AnchorMove = 'none' | 'counts_on' | 'begins_period';

const anchorPath = ['subscription', 'billingCycleAnchorDate'] as const;

/**
 * Decides what a requested billing anchor does: nothing if it is there already. The end of the current period is a new
 * count of the later ones only, unless it gives the credits of an interval that runs another end. Then, and with any other
 * instant, a period begins now that ends there. Refuses with `billingAnchorFixed`
 * a subscription that is not active in a period, or has a pending change. Refuses an instant that is not ahead, or more
 * than one interval ahead: the period would end before it.
 */
export function decideAnchorMove(
  subscription: SubscriptionRow,
  anchor: Instant | undefined,
  requested: {
    readonly now: Instant;
    readonly hasPendingChange: boolean;
    readonly isOwing: boolean;
    readonly grantIntervals: readonly Interval[];
  },
): AnchorMove {
  const { now, hasPendingChange, isOwing, grantIntervals } = requested;
  const { id, status, currentBillingPeriodStart: start, currentBillingPeriodEnd: end } = subscription;
  if (anchor === undefined || anchor === subscription.billingCycleAnchorDate) return 'none';
  const refuse = (reason: string) =>
    new Problem('billingAnchorFixed', { id, reason }, [{ path: anchorPath, message: reason, code: 'custom' }]);
  if (!subscription.renews) throw refuse('it does not renew');
  if (status === 'trialing') throw refuse('a trial runs, and periods count from its end: send trialEnd');
  if (status === 'cancellation_scheduled') throw refuse('an end is scheduled: undo that first');
  if (isOwing) throw refuse('an invoice is owed or under review: it must be paid first');
  if (status !== 'active') throw refuse(`its status is ${status}, and only that of an active subscription moves`);
  if (hasPendingChange) throw refuse('another change waits for its payment or its time');
  if (start === null || end === null || start > now || end <= now) throw refuse('it is in no billing period');
  const endFrom = (from: Instant, interval: Interval) => periodAt(from, interval, now).end;
  const present = billingAnchor(subscription);
  if (anchor === end && grantIntervals.every((each) => endFrom(present, each) === endFrom(anchor, each)))
    return 'counts_on';
  const last = boundary(now, billingInterval(subscription), 1);
  if (anchor <= now || anchor > last || anchor >= calendarEnd)
    throw invalid(anchorPath, `must be later than now (${now}) and at most one interval ahead (${last})`);
  return 'begins_period';
}

/**
 * Refuses to change a subscription that has ended, does not renew, is not charged, is the default plan, has a scheduled
 * change or cancellation, or has no current period.
 */
export function refuseUnadjustable(subscription: SubscriptionRow, pending: AdjustmentRow | null, now: Instant): void {
  const { id, status, currentBillingPeriodStart: start, currentBillingPeriodEnd: end } = subscription;
  const refuse = (reason: string) => new Problem('subscriptionNotAdjustable', { id, reason });
  if (isTerminal(status)) throw new Problem('subscriptionTerminal', { id, status });
  if (!subscription.renews) throw refuse('it does not renew');
  if (subscription.doNotCharge) throw refuse('it is not charged (doNotCharge)');
  if (subscription.isDefaultPlan) throw refuse("it is the customer's default plan; subscribe to another plan");
  if (subscription.scheduledAdjustmentAt !== null) throw new Problem('adjustmentScheduled', { id });
  if (pending !== null)
    throw new Problem('adjustmentAwaitsPayment', { id, invoiceId: pending.invoiceId ?? 'not made yet' });
  if (status === 'cancellation_scheduled') throw refuse('its cancellation is scheduled; undo it with uncancel first');
  if (status === 'paused') throw new Problem('subscriptionPaused', { id });
  if (start === null || end === null || start > now || end <= now) throw new Problem('adjustmentNeedsPeriod', { id });
  if (status === 'incomplete') throw refuse('its first payment is in progress');
}

/** A quantity of something priced. */
type PricedQuantity = Priced & { readonly quantity: number };

/** The price of the items for a whole period, in minor units. Each is rounded to a multiple of `step` by itself. */
export function planTotal(items: readonly PricedQuantity[], step: bigint): bigint {
  return items.reduce((sum, item) => sum + amountOf(item, item.quantity, step), 0n);
}

/**
 * The head item of a plan, which names it: the most expensive one that is no add-on, of several the newest. Items are
 * passed oldest first.
 */
export function headOf<Item extends PricedQuantity & { readonly addOn: boolean }>(items: readonly Item[]): Item {
  const head = items
    .filter(({ addOn }) => !addOn)
    .reduce<Item | undefined>(
      (best, item) => (best === undefined || planTotal([item], 1n) >= planTotal([best], 1n) ? item : best),
      undefined,
    );
  assert(head, 'a plan has an item');
  return head;
}

/**
 * Decides the timing of a change. Timing `auto` applies an upgrade now, and a downgrade at the end of the period,
 * because payments are not given back. A paid plan may schedule either: the renewal then bills the new price. A plan
 * that is paid in advance gives way to one in arrears at the end of the period, because its rest is not given back.
 * Refuses to schedule a paid plan on one that costs nothing: its customer may book another by then, or have no payment
 * method.
 */
export function decideTiming(
  requested: AdjustmentTiming,
  {
    currentTotal,
    newTotal,
    becomesPaid = false,
    movesToArrears = false,
  }: {
    readonly currentTotal: bigint;
    readonly newTotal: bigint;
    /** Whether a free plan becomes one that may cost something, whatever its quantities cost. */
    readonly becomesPaid?: boolean;
    readonly movesToArrears?: boolean;
  },
): ResolvedTiming {
  if (movesToArrears && requested === 'immediately') {
    const reason =
      'must not be immediately: the present plan is paid in advance until the end of the period, and the new one is ' +
      'billed in arrears; send at_end_of_current_billing_period or auto';
    throw invalid(['adjustment', 'timing'], reason);
  }
  const costsMore = becomesPaid || (currentTotal === 0n && newTotal > 0n);
  if (requested === 'at_end_of_current_billing_period' && costsMore) {
    const reason = 'a change from a plan that costs nothing to a paid one must be made immediately';
    throw invalid(['adjustment', 'timing'], reason);
  }
  if (requested !== 'auto') return requested;
  return movesToArrears || newTotal < currentTotal ? 'at_end_of_current_billing_period' : 'immediately';
}

/**
 * Decides whether a change begins a period at once, and how later ones are counted. Null: it begins none. A trial goes
 * on, and the new interval begins at its end. Refuses an anchor that has no effect, and such a change without a charge.
 */
export function decideAnchor(
  { billingAnchor, prorateCurrentBillingPeriod }: Pick<NewAdjustment, 'billingAnchor' | 'prorateCurrentBillingPeriod'>,
  { takesInterval, timing, isTrial }: { takesInterval: boolean; timing: ResolvedTiming; isTrial: boolean },
): BillingAnchor | null {
  const isNow = takesInterval && timing === 'immediately';
  if (billingAnchor !== undefined && !isNow && !(takesInterval && billingAnchor === 'now')) {
    throw invalid(['adjustment', 'billingAnchor'], 'is for an immediate change to another interval: leave it out');
  }
  if (!isNow || isTrial) return null;
  if (prorateCurrentBillingPeriod === false) {
    const path = ['adjustment', 'prorateCurrentBillingPeriod'];
    throw invalid(path, 'must be true or absent: another interval begins a new period now, which is charged');
  }
  return billingAnchor ?? 'now';
}

/** The price and quantity of an item from `startAt` until `endAt`, or until now when null. */
export interface ItemSpan extends Priced {
  readonly subscriptionId: string;
  readonly priceId: string | null;
  readonly quantity: number;
  readonly startAt: Instant;
  readonly endAt: Instant | null;
}

/** An item within a segment. `value` is its price for a whole period, in minor units. */
interface SegmentItem {
  readonly priceId: string | null;
  readonly unitPrice: bigint;
  readonly quantity: number;
  readonly value: bigint;
}

/** A segment of a plan. `items` are present where one of them has a pricing, and their values add up to that of the segment. */
export interface ItemizedSegment extends PlanSegment {
  readonly items?: readonly SegmentItem[];
}

/**
 * The plan's value over a period: its history until `at`, then the new items. One segment per stretch; its value is the
 * sum of the items. Worked examples A1 to A5.
 */
export function changeSegments(
  history: readonly ItemSpan[],
  items: readonly (PricedQuantity & { readonly priceId: string | null })[],
  period: Pick<BillingPeriodRow, 'startAt' | 'endAt'>,
  at: Instant,
  step: bigint,
): ItemizedSegment[] {
  const past = history.map((span) => ({
    start: Math.max(span.startAt, period.startAt),
    end: Math.min(span.endAt ?? at, at),
    items: [itemizedIn(span, step)],
  }));
  const next = { start: at, end: period.endAt, items: items.map((item) => itemizedIn(item, step)) };
  const isPriced = [...history, ...items].some(({ pricing }) => pricing !== null);
  return stretchesOf([...past, next]).map(({ items: within, ...stretch }) =>
    isPriced ? { ...stretch, items: within } : stretch,
  );
}

function itemizedIn(item: PricedQuantity & { readonly priceId: string | null }, step: bigint): SegmentItem {
  const { priceId, unitPrice, quantity } = item;
  return { priceId, unitPrice, quantity, value: amountOf(item, quantity, step) };
}

/** One segment for each stretch of time without changes, with the items that cost something in it. */
function stretchesOf(spans: readonly (Period & { readonly items: readonly SegmentItem[] })[]) {
  const real = spans.filter(({ start, end, items }) => start < end && items.some(({ value }) => value > 0n));
  const cuts = [...new Set(real.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const stretches = cuts.slice(1).map((end, index) => {
    const start = cuts[index] ?? end;
    const covering = real.filter((span) => span.start <= start && span.end >= end);
    const items = covering.flatMap((span) => span.items.filter(({ value }) => value > 0n));
    return { start, end, value: items.reduce((sum, { value }) => sum + value, 0n), items };
  });
  return stretches.filter(({ value }) => value > 0n);
}

/** The charge for a change of items in a period. */
interface ChargedChange {
  readonly amount: bigint;
  readonly items: readonly PlanItem[];
  readonly period: BillingPeriodRow;
  readonly at: Instant;
  /** The items so far, and those from `at` on, which are paid in advance. */
  readonly history: readonly ItemSpan[];
  readonly next: readonly PlanItem[];
}

/**
 * The part of a charge that each price has, because a discount may be for some products only. Its weight is the worth of the period at
 * the price above what was `billed` for it. Undefined if all of it is for the price that heads the plan. Worked example: a plan of
 * 3000 and a seat of 1000 are paid. Two more seats for half of the period are 1000, all for seats.
 */
export function partsOfChange(
  { amount, items, period, at, history, next }: ChargedChange,
  billed: readonly LinePart[],
  step: bigint,
): readonly LinePart[] | undefined {
  const whole = wholeOf(period);
  const worths = pricesOfChange({ history, next }).map((priceId) => {
    const isOf = (each: { readonly priceId: string | null }) => each.priceId === priceId;
    const worth = worthOf(changeSegments(history.filter(isOf), next.filter(isOf), period, at, step));
    const paid = billed.filter(isOf).reduce((sum, { value }) => sum + value, 0n);
    return [priceId, worth - paid * BigInt(whole.end - whole.start)] as const;
  });
  return partsByWorth({ amount, priceId: headOf(items).priceId }, new Map(worths), step);
}

/** The prices of the items before and after a change. */
export function pricesOfChange({ history, next }: Pick<ChargedChange, 'history' | 'next'>): (string | null)[] {
  return [...new Set([...history, ...next].map(({ priceId }) => priceId))];
}

/** The interval that a price covers: longer than the period if the period is the rest of one, or its rest was paused. */
export function wholeOf({
  wholeStartAt,
  wholeEndAt,
  startAt,
  endAt,
}: Pick<BillingPeriodRow, 'wholeStartAt' | 'wholeEndAt' | 'startAt' | 'endAt'>): Period {
  return { start: wholeStartAt ?? startAt, end: wholeEndAt ?? endAt };
}

/** The effect of a change on existing items. */
export interface ItemChanges {
  readonly added: readonly PlanItem[];
  readonly changed: readonly { readonly before: SubscriptionItemRow; readonly item: PlanItem }[];
  readonly ended: readonly SubscriptionItemRow[];
}

/** Compares the new set with the current items. Items missing in the new set end. */
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

/** Whether the item's price or quantity changes, so that its old version must be stored. */
export function isRevalued(before: SubscriptionItemRow, item: PlanItem): boolean {
  const keys = ['priceId', 'unitPrice', 'quantity'] as const;
  return keys.some((key) => before[key] !== item[key]) || !isSameJson(before.pricing, item.pricing);
}

/** The time at which own prices change. They reach the period that the change begins, also at the start of the one before. */
export function overrideTime(
  { currentBillingPeriodStart }: Pick<SubscriptionRow, 'currentBillingPeriodStart'>,
  { billingAnchor }: Pick<AdjustmentRow, 'billingAnchor'>,
  at: Instant,
): { readonly at: Instant; readonly periodStart: Instant | null } {
  return { at, periodStart: billingAnchor === null ? currentBillingPeriodStart : null };
}

/**
 * The subscription with the new items. Its price and name are those of the head item, and it is free if nothing in it may
 * cost anything. A custom name stays while the price does. A new interval is counted from the change, unless the anchor stays.
 */
export function subscriptionAfter(
  subscription: SubscriptionRow,
  { items, billingAnchor, priceOverrides }: Pick<AdjustmentRow, 'items' | 'billingAnchor' | 'priceOverrides'>,
  at: Instant,
): SubscriptionRow {
  const head = headOf(items);
  return {
    ...subscription,
    priceId: head.priceId,
    name: head.priceId === subscription.priceId ? subscription.name : head.planName,
    isFreePlan: !items.some(mayCost),
    scheduledAdjustmentAt: null,
    priceOverrides: overridesAfter(
      subscription.priceOverrides,
      priceOverrides,
      overrideTime(subscription, { billingAnchor }, at),
    ),
    ...(head.interval === null ? {} : { intervalUnit: head.interval.unit, intervalCount: head.interval.count }),
    ...(head.interval === null ? {} : anchorAfter(subscription, head.interval, { billingAnchor, at })),
  };
}

/** The anchor with another interval. Until the end of a trial the terms of the start count. */
function anchorAfter(
  subscription: SubscriptionRow,
  interval: Interval,
  { billingAnchor, at }: Pick<AdjustmentRow, 'billingAnchor'> & { readonly at: Instant },
): Pick<SubscriptionRow, 'billingAnchor' | 'billingCycleAnchorDate'> {
  const { billingAnchor: rule, trialEnd } = subscription;
  const ofTrial = trialEnd !== null && at <= trialEnd ? anchorOf(rule, interval, trialEnd) : null;
  if (ofTrial !== null) return { billingAnchor: rule, billingCycleAnchorDate: ofTrial };
  if (billingAnchor === 'unchanged' && suits(rule, interval)) {
    const isInCalendar = rule !== 'anniversary';
    const { billingCycleAnchorDate: same } = subscription;
    const date = isInCalendar ? unchangedAnchor(subscription, interval, at) : same;
    return { billingAnchor: rule, billingCycleAnchorDate: date };
  }
  // A boundary ahead, so that the end of an earlier trial does not count instead.
  const { end } = intervalPeriod(subscription, interval, { anchor: billingAnchor ?? 'now', at });
  return { billingAnchor: 'anniversary', billingCycleAnchorDate: billingAnchor === 'unchanged' ? end : at };
}

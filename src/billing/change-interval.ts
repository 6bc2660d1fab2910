import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { listCreditFeatures } from '../entitlements/store-item-features.ts';
import { type BilledItem, type NewLine, priceLine } from '../invoicing/invoice-line-item.ts';
import { attachInvoices } from '../invoicing/store.ts';
import { listDraftsOf, listOwedInvoices, listPausedTime } from '../invoicing/store-collecting.ts';
import { type Instant, type Interval, periodAt } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { mulDiv, smallerOf } from '../kernel/money.ts';
import { Problem } from '../kernel/problem.ts';
import { attachPayments } from '../payments/store.ts';
import { shareOfInterval } from '../rating/credits.ts';
import { creditsGivenUp, type GivenUpCredits, unitsOwed, unusedAfterCredits } from '../rating/interval-change.ts';
import { newBillingPeriod } from '../subscriptions/actions.ts';
import { type AdjustmentRow, wholeOf } from '../subscriptions/adjustment.ts';
import {
  anchorAfter,
  type BillingAnchor,
  type BillingPeriodRow,
  billingInterval,
  discountIntervalOf,
  type IntervalPeriod,
  intervalPeriod,
} from '../subscriptions/billing-period.ts';
import { grantSpanAt, spanOf } from '../subscriptions/interim.ts';
import { saveSubscription } from '../subscriptions/store.ts';
import {
  endPeriodEarly,
  findCurrentBillingPeriod,
  insertBillingPeriod,
} from '../subscriptions/store-billing-periods.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { endMeasuredPeriodsAt, endPlanCredits, takeBackPlanCredits } from '../usage/actions-ledger.ts';
import { tellingLowBalances } from '../usage/actions-low-balance.ts';
import { listCreditsOfPeriod } from '../usage/store-credits.ts';
import { listOwedUnits } from '../usage/store-subscriptions.ts';
import {
  type Bill,
  draftUsageLines,
  paidInAdvance,
  periodEndLines,
  periodLines,
  type Resumption,
  takeUsageLines,
  withInterims,
} from './bill-subscription.ts';
import { grantPeriodCredits, shareOf } from './grant-period-credits.ts';
import { pausedCreditLeft, refundTakenOff, takeOffPausedTime, unusedValueOf } from './paused-time.ts';

/** A period that begins with a change to another interval or billing anchor. */
export interface IntervalStart {
  readonly anchor: Pick<AdjustmentRow, 'billingAnchor' | 'billingCycleAnchorDate'>;
  readonly period: IntervalPeriod;
  readonly resumption: Resumption;
}

/** The price of a change to another interval or billing anchor. Money in minor units at list value. */
interface IntervalCharge {
  readonly begins: IntervalStart;
  readonly lines: readonly NewLine[];
  /** The new period's price, less what is taken off. */
  readonly amount: bigint;
  readonly waived: bigint;
  /** The usage of the old period, and what is missing to its commitment, that the invoice bills too. */
  readonly carriedOver: bigint;
  readonly replacedInvoiceId: null;
  /** The unused paid value that is taken off, and the rest that stays for later invoices. */
  readonly takenOff: bigint;
  readonly kept: bigint;
}

/** A requested change to another interval, or a move of the billing anchor. */
interface RequestedInterval {
  readonly subscription: SubscriptionRow;
  readonly period: BillingPeriodRow;
  readonly items: readonly BilledItem[];
  readonly interval: Interval;
  /** With an instant the plan stays, and the period ends there. */
  readonly anchor: BillingAnchor | Instant;
  /** The features after the change. */
  readonly features: readonly CreditGiving[];
  /** Whether the usage is marked as invoiced: the caller then issues the lines in the same commit. */
  readonly takesUsage: boolean;
}

/** A feature that may grant credits. */
interface CreditGiving {
  readonly usageMeterId: string | null;
  readonly amount: bigint | null;
  readonly renewalFrequency: string | null;
  readonly grantInterval: Interval | null;
}

/** Refuses a change to another interval while an invoice is owed or under review, because nothing is known to be paid then. */
export async function refuseOwing(work: Work, { id }: SubscriptionRow): Promise<void> {
  if (!(await isOwing(work, id))) return;
  const reason =
    'an invoice that is owed or under review must be paid before the interval changes now; a change at the end of the period is possible';
  throw new Problem('subscriptionNotAdjustable', { id, reason });
}

export async function isOwing(work: Work, subscriptionId: string): Promise<boolean> {
  if ((await listOwedInvoices(work, [subscriptionId])).length > 0) return true;
  return (await listDraftsOf(work, [subscriptionId])).some(({ total }) => total > 0n);
}

/**
 * Prices a change to another interval or billing anchor: the price of the period that begins now, and open usage, less
 * the unused paid value of the present period. The caller has refused it while an invoice is owed.
 */
export async function priceInterval(work: Work, requested: RequestedInterval): Promise<IntervalCharge> {
  const { subscription, period: old, items, interval, anchor, features, takesUsage } = requested;
  const movesAnchor = typeof anchor === 'number';
  const period = intervalPeriod(subscription, interval, { anchor, at: work.now });
  const left = await readLeft(work, subscription, old, work.now);
  const nextAnchor = anchorAfter(subscription, interval, { anchor, at: work.now });
  const kept = left.pausedCredit + unusedOf(left, grantsOf(features, period, nextAnchor));
  const usage = await (takesUsage ? takeUsageLines : draftUsageLines)(work, [subscription]);
  const used = usage.get(subscription.id) ?? [];
  const cut = { ...old, endAt: work.now, wholeEndAt: old.endAt };
  const missing = (await periodEndLines(work, [{ subscription, usage: used, period: cut }])).get(subscription.id) ?? [];
  const step = chargedStep(work.currency);
  const listed = periodLines(subscription, period, await paidInAdvance(work, items), [...used, ...missing], step);
  // The same plan carries the discount of the interval on.
  const resumption = { ...wholeInterval(period), pausedPeriodId: movesAnchor ? old.id : null };
  const bill: Bill = {
    subscription: { ...subscription, pausedCredit: kept },
    period: { id: null, startAt: period.start, endAt: period.end },
    reason: 'adjustment',
    lines: listed,
    at: work.now,
    beginsPeriod: true,
    resumption,
  };
  const lines = (await takeOffPausedTime(work, [bill])).flatMap((each) => each.lines).map(inWords);
  const rest = pausedCreditLeft(lines, kept);
  const carriedOver = sumOf(lines.map((line) => (isOfOldPeriod(line) ? priceLine(line).amount : 0n)));
  const ofPlan = sumOf(lines.map((line) => (isOfOldPeriod(line) ? 0n : priceLine(line).amount)));
  return {
    begins: {
      anchor: { billingAnchor: movesAnchor ? null : anchor, billingCycleAnchorDate: movesAnchor ? anchor : null },
      period,
      resumption,
    },
    lines,
    amount: ofPlan,
    waived: 0n,
    carriedOver,
    replacedInvoiceId: null,
    takenOff: kept - rest,
    kept: rest,
  };
}

/** The interval of which a fixed discount counts for its part only. */
function wholeInterval({ start, end, wholeStartAt }: IntervalPeriod): Resumption {
  return { whole: { start: wholeStartAt ?? start, end }, pausedPeriodId: null };
}

function isOfOldPeriod({ type, explanation }: NewLine): boolean {
  return type === 'usage' || explanation.kind === 'minimum_commitment' || explanation.kind === 'arrears';
}

function inWords(line: NewLine): NewLine {
  const isTakenOff = line.type === 'static' && line.explanation.kind === 'paused_time';
  return isTakenOff ? { ...line, description: 'Paid and unused time' } : line;
}

/** The plan of a period that is left for another interval. */
interface LeftPlan {
  readonly period: BillingPeriodRow;
  /** Value that was kept before, and the unused paid value of the period. */
  readonly pausedCredit: bigint;
  readonly unused: bigint;
  /** The used value that rounding left out, for the next period. */
  readonly roundingCarried: bigint;
  /** The credits of its unused time, by usage meter. */
  readonly givenUp: ReadonlyMap<string, GivenUpCredits>;
  /** The units that are owed for a pause, by usage meter: the next grant pays them back first. */
  readonly owed: ReadonlyMap<string, bigint>;
}

async function readLeft(
  work: Work,
  subscription: SubscriptionRow,
  period: BillingPeriodRow,
  at: Instant,
): Promise<LeftPlan> {
  const { id: subscriptionId, pausedCredit } = subscription;
  const whole = wholeOf(period);
  const { unused, roundingCarried } = await unusedValueOf(work, { ...period, endAt: at, wholeEndAt: period.endAt });
  const features = await listCreditFeatures(work, [{ subscriptionId, at }]);
  // Intervals of several lengths are compared until the first end of one.
  const soonUntil = Math.min(
    whole.end,
    ...features.flatMap(({ grantInterval }) =>
      grantInterval === null ? [] : grantSpanAt(subscription, period, grantInterval, at).end,
    ),
  );
  const entitledUntil = (end: Instant) =>
    sumsOf(features, ({ amount, grantInterval }) => {
      const span = grantInterval && grantSpanAt(subscription, period, grantInterval, at);
      const [granted, { start, end: until }] = span ? [shareOfInterval(amount, span), span] : [amount, whole];
      const soon = mulDiv(granted, BigInt(soonUntil - at), BigInt(until - start));
      // Paid value is by time, so the intervals to come count by theirs.
      return end === soonUntil ? soon : mulDiv(soon, BigInt(end - at), BigInt(soonUntil - at));
    });
  const [soon, all] = [entitledUntil(soonUntil), entitledUntil(whole.end)];
  const credits = Map.groupBy(await listCreditsOfPeriod(work, period.id), ({ usageMeterId }) => usageMeterId);
  const givenUp = [...credits].map(([meterId, ofMeter]): [string, GivenUpCredits] => {
    const [ofSoon, ofAll] = [soon.get(meterId) ?? 0n, all.get(meterId) ?? 0n];
    return [meterId, creditsGivenUp({ soon: ofSoon, later: ofAll - ofSoon }, ofMeter, { at, soonUntil })];
  });
  const owing = Map.groupBy(await listOwedUnits(work, [subscriptionId]), ({ usageMeterId }) => usageMeterId);
  const owed = new Map([...owing].map(([meterId, times]) => [meterId, unitsOwed(times)]));
  return { period, pausedCredit, unused, roundingCarried, givenUp: new Map(givenUp), owed };
}

function unusedOf({ unused, givenUp, owed }: LeftPlan, nextGrants: ReadonlyMap<string, bigint>): bigint {
  const meters = [...givenUp].map(([meterId, given]) => {
    const nextGrant = nextGrants.get(meterId) ?? 0n;
    return { ...given, nextGrant: nextGrant - smallerOf(nextGrant, owed.get(meterId) ?? 0n) };
  });
  return unusedAfterCredits(unused, meters);
}

/** The credits that these features grant at the start of the period, which counts from the anchor. */
function grantsOf(features: readonly CreditGiving[], { start, end, wholeStartAt }: IntervalPeriod, anchor: Instant) {
  return sumsOf(features, ({ amount, grantInterval }) => {
    if (grantInterval === null) return shareOf(amount, { startAt: start, endAt: end, wholeStartAt });
    return shareOfInterval(amount, spanOf(periodAt(anchor, grantInterval, start), { start, end }));
  });
}

function sumsOf(
  features: readonly CreditGiving[],
  amountOf: (feature: Pick<CreditGiving, 'grantInterval'> & { readonly amount: bigint }) => bigint,
): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { usageMeterId, amount, renewalFrequency, grantInterval } of features) {
    if (usageMeterId === null || amount === null || amount <= 0n || renewalFrequency === 'once') continue;
    sums.set(usageMeterId, (sums.get(usageMeterId) ?? 0n) + amountOf({ amount, grantInterval }));
  }
  return sums;
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}

/** A change to another interval or anchor that is made now, with the plan that it leaves. */
export interface LeavingChange {
  readonly adjustment: AdjustmentRow;
  readonly left: LeftPlan;
}

/** Reads the plan that a change leaves. Called before its items change. */
export async function leavePlan(
  work: Work,
  { adjustment, subscription }: { readonly adjustment: AdjustmentRow; readonly subscription: SubscriptionRow },
): Promise<LeavingChange> {
  const period = await findCurrentBillingPeriod(work, subscription);
  assert(period, 'a change now is made in a period');
  return { adjustment, left: await readLeft(work, subscription, period, adjustment.effectiveAt) };
}

/** A subscription in the period that has begun with its change. */
interface BegunInterval {
  readonly subscription: SubscriptionRow;
  readonly period: BillingPeriodRow;
}

/**
 * Ends the old period of a changed subscription and begins the new one, as of the change. The invoice of the change
 * becomes that of the new period. The old plan's unused credits end, and the new period's are granted. The caller has
 * changed the items or the anchor.
 */
export async function beginInterval(
  work: Work,
  { adjustment, left }: LeavingChange,
  changed: SubscriptionRow,
): Promise<BegunInterval> {
  const { billingAnchor, billingCycleAnchorDate, effectiveAt: at, invoiceId } = adjustment;
  const anchor = billingCycleAnchorDate ?? billingAnchor;
  assert(anchor !== null, 'the change begins a period');
  const begins = intervalPeriod(changed, billingInterval(changed), { anchor, at });
  const nextAnchor = anchorAfter(changed, billingInterval(changed), { anchor, at });
  const features = await listCreditFeatures(work, [{ subscriptionId: changed.id, at }]);
  const nextGrants = grantsOf(features, begins, nextAnchor);
  const unused = unusedOf(left, nextGrants);
  await endPeriodEarly(work, left.period, at, unused);
  const period = newBillingPeriod(work, changed, {
    ...begins,
    roundingCarried: left.roundingCarried,
    ...(billingCycleAnchorDate === null ? {} : discountIntervalOf(left.period)),
  });
  await insertBillingPeriod(work, period);
  await endMeasuredPeriodsAt(work, [period]);
  const span = { currentBillingPeriodStart: period.startAt, currentBillingPeriodEnd: period.endAt };
  const kept = left.pausedCredit + unused;
  const taken = await takenOffBy(work, invoiceId);
  const [next] = await withInterims(work, [{ ...changed, ...span }], () => period.startAt);
  const subscription = await saveSubscription(work, changed.id, {
    interimAt: next?.interimAt ?? null,
    ...span,
    billingCycleAnchorDate: changed.billingCycleAnchorDate,
    billingAnchor: changed.billingAnchor,
    pausedCredit: kept > taken ? kept - taken : 0n,
  });
  if (invoiceId !== null) {
    await attachInvoices(work, [invoiceId], period.id);
    await attachPayments(work, [invoiceId], period.id);
    // A refund since the request has lowered what is kept.
    await refundTakenOff(work, period, taken > kept ? taken - kept : 0n);
  }
  await tellingLowBalances(work, [changed.id], () => changeCredits(work, { subscription, period }, left));
  return { subscription, period };
}

/** The kept value that the invoice of a change took off; null: it has none. */
async function takenOffBy(work: Work, invoiceId: string | null): Promise<bigint> {
  return sumOf((await listPausedTime(work, invoiceId === null ? [] : [invoiceId])).map(({ amount }) => amount));
}

/**
 * Ends the old plan's credits and grants the new period's. Units that were used ahead of time are taken back from
 * the new ones, so that the new period's credits show it as well.
 */
async function changeCredits(
  work: Work,
  { subscription, period }: BegunInterval,
  { period: old, givenUp }: LeftPlan,
): Promise<void> {
  const unitsOf = (key: 'takenBack' | 'usedAhead') =>
    new Map([...givenUp].map(([meterId, given]) => [meterId, given[key]]));
  const ofOld = { subscriptionId: subscription.id, billingPeriodId: old.id };
  await takeBackPlanCredits(work, ofOld, unitsOf('takenBack'));
  await endPlanCredits(work, ofOld, subscription);
  await grantPeriodCredits(work, [{ subscription, period, isFirst: false, at: period.startAt }]);
  await takeBackPlanCredits(work, { ...ofOld, billingPeriodId: period.id }, unitsOf('usedAhead'));
}

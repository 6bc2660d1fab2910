import assert from 'node:assert/strict';
import { instantOf, type Work } from '../database/work.ts';
import { type CreditFeature, listCreditFeatures, listGrantIntervals } from '../entitlements/store-item-features.ts';
import { listOwedPeriods } from '../invoicing/store-collecting.ts';
import { calendarStart, type Instant, type Period } from '../kernel/calendar.ts';
import { mulDiv, smallerOf } from '../kernel/money.ts';
import { accessOf } from '../organizations/setting.ts';
import { type IntervalSpan, lessTaken, shareOfInterval } from '../rating/credits.ts';
import { grantedByOthers } from '../rating/plan-change.ts';
import { wholeOf } from '../subscriptions/adjustment.ts';
import { type BillingPeriodRow, longStartOf } from '../subscriptions/billing-period.ts';
import { beginsAt, grantSpans } from '../subscriptions/interim.ts';
import {
  findCurrentBillingPeriods,
  listPeriodsAwaitingCredits,
  listResumedRests,
  noteCreditsGranted,
} from '../subscriptions/store-billing-periods.ts';
import { hasAccess, isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { expireCredits, grantCredits } from '../usage/actions-ledger.ts';
import { tellingLowBalances } from '../usage/actions-low-balance.ts';
import { giveBackPausedCredits } from '../usage/actions-paused-credits.ts';
import type { CreditGrant } from '../usage/ledger.ts';
import { listGrantedCredits, listTakenCredits } from '../usage/store-granted.ts';

/** A period that begins, or (null) the time of a subscription that does not renew. */
interface BegunPeriod {
  readonly subscription: SubscriptionRow;
  readonly period: BillingPeriodRow | null;
  readonly isFirst: boolean;
  /** Features that grant access at this instant count, and intervals that have begun by then. */
  readonly at: Instant;
  /**
   * With an instant, only credits of intervals that begin from it on are granted, less those that an earlier plan granted
   * for their time.
   */
  readonly intervalsFrom?: Instant;
}

/**
 * Grants the credits of a period. Credits of `every_billing_period` last until its end, and those of `every_interval` until
 * the end of their interval in it. The first period grants those of `once` too, which never expire. A subscription that does not renew has no period and gets both once, without expiry. A
 * period that is the rest of an interval grants its share, rounded once. Idempotent per period.
 *
 * One-time credits come once for each customer and feature, and those of a free plan once per period. A first period
 * grants what its customer has not used of them before (`lessTaken`).
 */
export async function grantPeriodCredits(work: Work, begun: readonly BegunPeriod[]): Promise<void> {
  if (begun.length === 0) return;
  const requested = begun.map(({ subscription, at }) => ({ subscriptionId: subscription.id, at }));
  const features = Map.groupBy(await listCreditFeatures(work, requested), (feature) => feature.subscriptionId);
  const offered = begun.flatMap((each) =>
    (features.get(each.subscription.id) ?? [])
      .filter(isGrantedIn(each))
      .flatMap((feature) => spansOf(each, feature).map((span) => ({ each, feature, span }))),
  );
  const limited = offered.filter(isLimited);
  const left = await leftOf(
    work,
    limited.map(({ each: { subscription, period, at }, feature: { featureId, amount, renewalFrequency } }) => {
      return { subscription, at, featureId, amount, isOnce: period === null || renewalFrequency === 'once' };
    }),
  );
  const grants = offered.map((offer) => grantOf(offer, left[limited.indexOf(offer)] ?? offer.feature.amount));
  await grantCredits(work, lessGrantedBefore(offered, grants, await readGrantedBefore(work, begun, features)));
}

/**
 * Grants the credits of intervals that begin within the period of each subscription, at its instant, and ends those that
 * end there. A period whose payment is awaited grants them with it. Idempotent per interval.
 */
export async function grantInterimCredits(
  work: Work,
  due: readonly { readonly subscription: SubscriptionRow; readonly at: Instant }[],
): Promise<void> {
  const requested = due.map(({ subscription: { id: subscriptionId }, at }) => ({ subscriptionId, at }));
  const intervals = await listGrantIntervals(work, requested);
  const granting = due.filter(({ subscription, at }) =>
    intervals.get(subscription.id)?.some((interval) => beginsAt(subscription, interval, at)),
  );
  if (granting.length === 0) return;
  const found = await findCurrentBillingPeriods(
    work,
    granting.map(({ subscription }) => subscription),
  );
  const periods = new Map(found.map((period) => [period.subscriptionId, period]));
  const paid = granting.flatMap(({ subscription, at }) => {
    const period = periods.get(subscription.id);
    return period === undefined || period.creditsAwaitPayment ? [] : { subscription, period, at };
  });
  const ids = paid.map(({ subscription }) => subscription.id);
  await tellingLowBalances(work, ids, async () => {
    const ends = paid.map(({ subscription, at }) => ({ subscriptionId: subscription.id, at, goesOn: subscription }));
    await expireCredits(work, ends);
    await grantPeriodCredits(
      work,
      paid.map((each) => ({ ...each, isFirst: false, intervalsFrom: each.at })),
    );
  });
}

/** The credits of features that a subscription no longer has, on the meter of an offer and for its time. */
type GrantedBefore = (offer: Offered, span: IntervalSpan) => bigint;

async function readGrantedBefore(
  work: Work,
  begun: readonly BegunPeriod[],
  features: ReadonlyMap<string, readonly CreditFeature[]>,
): Promise<GrantedBefore> {
  const requested = begun.flatMap(({ subscription: { id: subscriptionId }, period, at, intervalsFrom }) =>
    period === null || intervalsFrom === undefined ? [] : { subscriptionId, interval: grantedIn(period), at },
  );
  const granted = Map.groupBy(await listGrantedCredits(work, requested), ({ subscriptionId }) => subscriptionId);
  return ({ each: { subscription, intervalsFrom }, feature: { usageMeterId } }, span) => {
    if (intervalsFrom === undefined) return 0n;
    const kept = features.get(subscription.id) ?? [];
    return grantedByOthers(granted.get(subscription.id) ?? [], usageMeterId, kept, span);
  };
}

/** A feature that grants credits in a period. */
interface Offered {
  readonly each: BegunPeriod;
  readonly feature: CreditFeature;
  /** The part of the period that the credits are for. Null: all of it, or all time. */
  readonly span: IntervalSpan | null;
}

function isGrantedIn({ isFirst, intervalsFrom }: BegunPeriod): (feature: CreditFeature) => boolean {
  // An amount may be set below zero, which grants nothing.
  return ({ amount, renewalFrequency, grantInterval }) =>
    amount > 0n && (isFirst || renewalFrequency !== 'once') && (intervalsFrom === undefined || grantInterval !== null);
}

/** The parts of the period for which the feature grants credits, one for each interval; `[null]`: no parts. */
function spansOf({ subscription, period, at, intervalsFrom }: BegunPeriod, feature: CreditFeature) {
  const { grantInterval } = feature;
  if (grantInterval === null || period === null) return [null];
  const upTo = Math.max(at, period.startAt);
  return grantSpans(subscription, period, grantInterval, { from: intervalsFrom ?? calendarStart, upTo });
}

/** The grants, less what earlier plans granted on their meters for the same time. Each unit of that counts once. */
function lessGrantedBefore(
  offered: readonly Offered[],
  grants: readonly CreditGrant[],
  grantedBefore: GrantedBefore,
): CreditGrant[] {
  const counted = new Map<string, bigint>();
  return grants.map((grant, index) => {
    const offer = offered[index];
    if (!offer?.span) return grant;
    const key = `${grant.subscriptionId} ${grant.usageMeterId} ${offer.span.start}`;
    const before = grantedBefore(offer, offer.span) - (counted.get(key) ?? 0n);
    const off = before > 0n ? smallerOf(before, grant.amount) : 0n;
    counted.set(key, (counted.get(key) ?? 0n) + off);
    return { ...grant, amount: grant.amount - off };
  });
}

/** Whether earlier grants count: for credits that never expire, and where a free plan begins. */
function isLimited({ each: { isFirst, period, subscription }, feature }: Offered): boolean {
  return isFirst && (period === null || feature.renewalFrequency === 'once' || subscription.isFreePlan);
}

/** Credits that a customer gets once, or once in a period. */
interface LimitedOffer {
  readonly subscription: Pick<SubscriptionRow, 'id' | 'customerId'>;
  readonly featureId: string;
  readonly amount: bigint;
  readonly isOnce: boolean;
  readonly at: Instant;
}

/** The amount of each offer less what its customer has had of it from other subscriptions. */
export async function leftOf(work: Work, offers: readonly LimitedOffer[]): Promise<bigint[]> {
  const takers = new Map(offers.map(({ subscription, at }) => [subscription.id, { subscription, at }]));
  const taken = await listTakenCredits(
    work,
    [...takers.values()].map(({ subscription: { id: subscriptionId, customerId }, at }) => {
      return { subscriptionId, customerId, at };
    }),
  );
  const left = new Map(offers.map((offer) => [offer, offer.amount]));
  for (const { subscriptionId, featureId, isOnce, units } of taken) {
    const same = offers.filter(
      (offer) => offer.subscription.id === subscriptionId && offer.featureId === featureId && offer.isOnce === isOnce,
    );
    const amounts = same.map(({ amount }) => amount);
    for (const [index, amount] of lessTaken(amounts, units).entries()) {
      const offer = same[index];
      if (offer !== undefined) left.set(offer, amount);
    }
  }
  return offers.map((offer) => left.get(offer) ?? 0n);
}

/**
 * Grants the credits of periods that have waited for their payment. A period grants them once nothing is owed for it and
 * its customer has access. Credits of a period that is over have ended, and roll over where the feature says so.
 * The number of statements does not depend on the number of subscriptions.
 */
export async function grantAwaitedCredits(work: Work, subscriptions: readonly SubscriptionRow[]): Promise<void> {
  const access = accessOf(work);
  const usable = new Map(
    subscriptions
      .filter((each) => each.status !== 'incomplete' && !isTerminal(each.status) && hasAccess(each, access))
      .map((each) => [each.id, each]),
  );
  const waiting = await listPeriodsAwaitingCredits(work, [...usable.keys()]);
  if (waiting.length === 0) return;
  const owed = await listOwedPeriods(work, [...usable.keys()]);
  const paid = waiting.filter(({ id }) => !owed.has(id));
  const begun = paid.map(({ isFirst, ...period }): BegunPeriod => {
    const subscription = usable.get(period.subscriptionId);
    assert(subscription, 'each period is of one that was asked for');
    // A future start grants nothing yet, but is paid for now.
    return { subscription, period, isFirst, at: Math.max(instantOf(work, subscription.id), subscription.startDate) };
  });
  // The rest of a paused interval gets its credits back instead of new ones.
  const rests = await listResumedRests(
    work,
    paid.map(({ id }) => id),
  );
  const restIds = new Set(rests.map(({ billingPeriodId }) => billingPeriodId));
  await giveBackPausedCredits(work, rests);
  await grantPeriodCredits(work, [
    ...begun.filter(({ period }) => period === null || !restIds.has(period.id)),
    ...begun.flatMap((each) => sincePause(each, rests)),
  ]);
  await noteCreditsGranted(
    work,
    paid.map(({ id }) => id),
  );
}

/** The rest of a paused interval grants the credits of those intervals that have begun since the pause. */
function sincePause(
  begun: BegunPeriod,
  rests: readonly { readonly billingPeriodId: string; readonly pausedAt: Instant }[],
): BegunPeriod[] {
  const rest = rests.find(({ billingPeriodId }) => billingPeriodId === begun.period?.id);
  return rest === undefined ? [] : [{ ...begun, isFirst: false, intervalsFrom: rest.pausedAt + 1 }];
}

function grantOf({ each: { subscription, period }, feature, span }: Offered, left: bigint): CreditGrant {
  const isRecurring = feature.renewalFrequency !== 'once';
  const part = span === null ? '' : `:${span.start}`;
  return {
    subscriptionId: subscription.id,
    pricingModelId: subscription.pricingModelId,
    usageMeterId: feature.usageMeterId,
    featureId: feature.featureId,
    billingPeriodId: period?.id ?? null,
    amount: isRecurring ? shareLeft(feature.amount, left, period, span) : left,
    expiresAt: isRecurring && period !== null ? (span?.end ?? period.endAt) : null,
    intervalStartAt: span?.start ?? null,
    source: 'billing_period_transition',
    // Identifies the grant: this feature of this item, in this period or this part of it.
    sourceId: `${period?.id ?? subscription.id}:${feature.id}${part}`,
  };
}

/** The time in which credits of a period were granted: also before a pause, and before the interval of a long first period. */
export function grantedIn(period: BillingPeriodRow): Period {
  const { start, end } = wholeOf(period);
  return { start: longStartOf(period) ?? Math.min(start, period.startAt), end };
}

/** The share of an amount less what the customer has had of it. A long first period grants more than the amount. */
function shareLeft(amount: bigint, left: bigint, period: BillingPeriodRow | null, span: IntervalSpan | null): bigint {
  const share = span === null ? shareOf(amount, period) : shareOfInterval(amount, span);
  return share > amount ? share - (amount - left) : smallerOf(share, left);
}

/** The amount granted for a period: all of it, or its share if the period is the rest of an interval. */
export function shareOf(
  amount: bigint,
  period: Pick<BillingPeriodRow, 'wholeStartAt' | 'startAt' | 'endAt'> | null,
): bigint {
  if (period === null || period.wholeStartAt === null) return amount;
  const { wholeStartAt, startAt, endAt } = period;
  return mulDiv(amount, BigInt(endAt - startAt), BigInt(endAt - wholeStartAt));
}

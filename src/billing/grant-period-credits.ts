import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { type CreditFeature, listCreditFeatures } from '../entitlements/store-item-features.ts';
import { listOwedPeriods } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { mulDiv, smallerOf } from '../kernel/money.ts';
import { accessOf } from '../organizations/setting.ts';
import { lessTaken } from '../rating/credits.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import {
  listPeriodsAwaitingCredits,
  listResumedRests,
  noteCreditsGranted,
} from '../subscriptions/store-billing-periods.ts';
import { hasAccess, isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { grantCredits } from '../usage/actions-ledger.ts';
import { giveBackPausedCredits } from '../usage/actions-paused-credits.ts';
import type { CreditGrant } from '../usage/ledger.ts';
import { listTakenCredits } from '../usage/store-credits.ts';

/** A period that begins, or (null) the time of a subscription that does not renew. */
interface BegunPeriod {
  readonly subscription: SubscriptionRow;
  readonly period: BillingPeriodRow | null;
  readonly isFirst: boolean;
  /** Features that grant access at this instant count. */
  readonly at: Instant;
}

/**
 * Grants the credits of a period: those of `every_billing_period` until its end, and in the first period those of
 * `once`, which never expire. A subscription that does not renew has no period and gets both once, without expiry. A
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
    (features.get(each.subscription.id) ?? []).filter(isGrantedIn(each)).map((feature) => ({ each, feature })),
  );
  const limited = offered.filter(isLimited);
  const left = await leftOf(
    work,
    limited.map(({ each: { subscription, period, at }, feature: { featureId, amount, renewalFrequency } }) => {
      return { subscription, at, featureId, amount, isOnce: period === null || renewalFrequency === 'once' };
    }),
  );
  await grantCredits(
    work,
    offered.map((offer) => grantOf(offer, left[limited.indexOf(offer)] ?? offer.feature.amount)),
  );
}

/** A feature that grants credits in a period. */
interface Offered {
  readonly each: BegunPeriod;
  readonly feature: CreditFeature;
}

function isGrantedIn({ isFirst }: BegunPeriod): (feature: CreditFeature) => boolean {
  // An amount may be set below zero, which grants nothing.
  return ({ amount, renewalFrequency }) => amount > 0n && (isFirst || renewalFrequency === 'every_billing_period');
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
    return { subscription, period, isFirst, at: Math.max(work.now, subscription.startDate) };
  });
  // The rest of a paused interval gets its credits back instead of new ones.
  const rests = await listResumedRests(
    work,
    paid.map(({ id }) => id),
  );
  const restIds = new Set(rests.map(({ billingPeriodId }) => billingPeriodId));
  await giveBackPausedCredits(work, rests);
  await grantPeriodCredits(
    work,
    begun.filter(({ period }) => period === null || !restIds.has(period.id)),
  );
  await noteCreditsGranted(
    work,
    paid.map(({ id }) => id),
  );
}

function grantOf({ each: { subscription, period }, feature }: Offered, left: bigint): CreditGrant {
  const isRecurring = feature.renewalFrequency === 'every_billing_period';
  return {
    subscriptionId: subscription.id,
    pricingModelId: subscription.pricingModelId,
    usageMeterId: feature.usageMeterId,
    featureId: feature.featureId,
    billingPeriodId: period?.id ?? null,
    amount: isRecurring ? shareLeft(feature.amount, left, period) : left,
    expiresAt: isRecurring && period !== null ? period.endAt : null,
    source: 'billing_period_transition',
    // Identifies the grant: this feature of this item, in this period.
    sourceId: `${period?.id ?? subscription.id}:${feature.id}`,
  };
}

/** The share of an amount less what the customer has had of it. A long first period grants more than the amount. */
function shareLeft(amount: bigint, left: bigint, period: BillingPeriodRow | null): bigint {
  const share = shareOf(amount, period);
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

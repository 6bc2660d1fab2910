import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { type CreditFeature, listCreditFeatures } from '../entitlements/store-item-features.ts';
import { listOwedPeriods } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { mulDiv } from '../kernel/money.ts';
import { accessOf } from '../organizations/setting.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { listPeriodsAwaitingCredits, noteCreditsGranted } from '../subscriptions/store-billing-periods.ts';
import { hasAccess, isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { grantCredits } from '../usage/actions-ledger.ts';
import type { CreditGrant } from '../usage/ledger.ts';

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
 */
export async function grantPeriodCredits(work: Work, begun: readonly BegunPeriod[]): Promise<void> {
  if (begun.length === 0) return;
  const requested = begun.map(({ subscription, at }) => ({ subscriptionId: subscription.id, at }));
  const features = Map.groupBy(await listCreditFeatures(work, requested), (feature) => feature.subscriptionId);
  const grants = begun.flatMap((each) =>
    (features.get(each.subscription.id) ?? []).flatMap((feature) => grantOf(each, feature) ?? []),
  );
  await grantCredits(work, grants);
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
  await grantPeriodCredits(work, begun);
  await noteCreditsGranted(
    work,
    paid.map(({ id }) => id),
  );
}

function grantOf({ subscription, period, isFirst }: BegunPeriod, feature: CreditFeature): CreditGrant | null {
  const isRecurring = feature.renewalFrequency === 'every_billing_period';
  // An amount may be set below zero, which grants nothing.
  if (feature.amount <= 0n || (!isFirst && !isRecurring)) return null;
  return {
    subscriptionId: subscription.id,
    pricingModelId: subscription.pricingModelId,
    usageMeterId: feature.usageMeterId,
    featureId: feature.featureId,
    billingPeriodId: period?.id ?? null,
    amount: isRecurring ? shareOf(feature.amount, period) : feature.amount,
    expiresAt: isRecurring && period !== null ? period.endAt : null,
    source: 'billing_period_transition',
    // Identifies the grant: this feature of this item, in this period.
    sourceId: `${period?.id ?? subscription.id}:${feature.id}`,
  };
}

/** The amount granted for a period: all of it, or its share if the period is the rest of an interval. */
function shareOf(amount: bigint, period: BillingPeriodRow | null): bigint {
  if (period === null || period.wholeStartAt === null) return amount;
  const { wholeStartAt, startAt, endAt } = period;
  return mulDiv(amount, BigInt(endAt - startAt), BigInt(endAt - wholeStartAt));
}

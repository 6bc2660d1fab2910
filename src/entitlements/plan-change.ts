import type { Instant, Period } from '../kernel/calendar.ts';
import { allocate, smallerOf } from '../kernel/money.ts';
import type { FeatureType } from '../pricing/feature.ts';
import { proratedCredit } from '../rating/proration.ts';
import { saturated } from './subscription-item-feature.ts';

/** What an item gives, as far as a change of plan asks. */
export interface GivenFeature {
  readonly subscriptionItemId: string;
  readonly featureId: string;
  readonly type: FeatureType;
  readonly amount: bigint | null;
  readonly usageMeterId: string | null;
  readonly renewalFrequency: 'once' | 'every_billing_period' | null;
  readonly resourceId: string | null;
  readonly expiredAt: Instant | null;
}

/** A change of plan as far as features go: items by their ids. */
export interface FeatureChange {
  /** Items whose features end: those that end themselves, and those that go over to another product. */
  readonly endingItemIds: ReadonlySet<string>;
  /** Items for features that were added by hand. */
  readonly manualItemIds: ReadonlySet<string>;
  /** What new and changed items give. */
  readonly granted: readonly GivenFeature[];
  readonly at: Instant;
}

/**
 * What a subscription has once the change has been made. An item that stays keeps what it gives, in the new amounts; a
 * feature that was added by hand ends when the plan gives it now.
 */
export function featuresAfter(features: readonly GivenFeature[], change: FeatureChange): GivenFeature[] {
  const { endingItemIds, manualItemIds, granted, at } = change;
  const isGrantedAnew = (feature: GivenFeature) =>
    granted.some((each) => pairOf(each) === pairOf(feature) && each.expiredAt === feature.expiredAt);
  const staying = features.filter(
    (feature) =>
      !endingItemIds.has(feature.subscriptionItemId) &&
      !isGrantedAnew(feature) &&
      (feature.expiredAt === null || feature.expiredAt > at),
  );
  const ofPlan = [...staying.filter((feature) => !manualItemIds.has(feature.subscriptionItemId)), ...granted];
  const byPlan = new Set(ofPlan.map((feature) => feature.featureId));
  const byHand = staying.filter(
    (feature) => manualItemIds.has(feature.subscriptionItemId) && !byPlan.has(feature.featureId),
  );
  return [...ofPlan, ...byHand];
}

function pairOf({ subscriptionItemId, featureId }: GivenFeature): string {
  return `${subscriptionItemId} ${featureId}`;
}

/** The capacity of each resource that the features are about, by its id: 0 to 2^53-1. */
export function capacitiesOf(features: readonly GivenFeature[]): Record<string, number> {
  const sums = new Map<string, bigint>();
  for (const { resourceId, amount } of features) {
    if (resourceId !== null) sums.set(resourceId, (sums.get(resourceId) ?? 0n) + (amount ?? 0n));
  }
  return Object.fromEntries([...sums].map(([id, sum]) => [id, Number(saturated(sum > 0n ? sum : 0n))]));
}

/** Credits of a feature that were granted on a subscription. */
export interface GrantedCredits {
  readonly usageMeterId: string;
  readonly featureId: string;
  /** Of the current period, those that end with it. */
  readonly inPeriod: bigint;
}

/** What a change of plan grants of a feature, in units of the meter. */
export interface ExtraCredits<Feature extends GivenFeature> {
  readonly feature: Feature;
  readonly usageMeterId: string;
  readonly amount: bigint;
  /** Null: they last. */
  readonly expiresAt: Instant | null;
}

/**
 * The credits that come with a change of plan in the middle of a period. Recurring ones come for the rest of the period,
 * less what the period has granted on the meter already; what items that did not change brought is theirs and is not
 * counted. Those of `once` come in full where the feature was never granted. So changing to and fro gives nothing more,
 * and nothing is taken back.
 *
 * `features` are those after the change, `changedItemIds` the items that are new or changed, `whole` the interval that
 * amounts are for.
 */
export function creditsOfChange<Feature extends GivenFeature>(
  features: readonly Feature[],
  changedItemIds: ReadonlySet<string>,
  granted: readonly GrantedCredits[],
  { at, whole }: { at: Instant; whole: Period },
): ExtraCredits<Feature>[] {
  const giving = features.filter(({ type, amount }) => type === 'usage_credit_grant' && amount !== null && amount > 0n);
  const changed = giving.filter((feature) => changedItemIds.has(feature.subscriptionItemId));
  const isRecurring = (feature: GivenFeature) => feature.renewalFrequency === 'every_billing_period';
  const byMeter = Map.groupBy(changed.filter(isRecurring), (feature) => feature.usageMeterId ?? '');
  const recurring = [...byMeter].flatMap(([usageMeterId, ofMeter]) => {
    const kept = giving.filter(
      (each) => isRecurring(each) && each.usageMeterId === usageMeterId && !changedItemIds.has(each.subscriptionItemId),
    );
    const amounts = ofMeter.map(({ amount }) => amount ?? 0n);
    const extra = proratedCredit({
      amount: sumOf(amounts),
      remaining: { start: at, end: whole.end },
      period: whole,
      alreadyGranted: grantedByOthers(granted, usageMeterId, kept),
    });
    const shares = allocate(extra, amounts);
    return ofMeter.map((feature, index) => ({
      feature,
      usageMeterId,
      amount: shares[index] ?? 0n,
      expiresAt: whole.end,
    }));
  });
  const known = new Set(granted.map((each) => each.featureId));
  const once = changed
    .filter((feature) => feature.renewalFrequency === 'once' && !known.has(feature.featureId))
    .map((feature) => ({
      feature,
      usageMeterId: feature.usageMeterId ?? '',
      amount: feature.amount ?? 0n,
      expiresAt: null,
    }));
  return [...recurring, ...once].filter(({ amount }) => amount > 0n);
}

/** What the period has granted on the meter, without what the kept features account for. */
function grantedByOthers(
  granted: readonly GrantedCredits[],
  usageMeterId: string,
  kept: readonly GivenFeature[],
): bigint {
  const ofMeter = granted.filter((each) => each.usageMeterId === usageMeterId);
  return sumOf(
    ofMeter.map(({ featureId, inPeriod }) => {
      const own = sumOf(kept.filter((each) => each.featureId === featureId).map(({ amount }) => amount ?? 0n));
      return inPeriod - smallerOf(inPeriod, own);
    }),
  );
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}

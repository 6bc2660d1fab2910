import type { Instant, Period } from '../kernel/calendar.ts';
import { allocate, saturated, smallerOf } from '../kernel/money.ts';
import { proratedCredit } from './proration.ts';

/** The fields of a granted feature that a plan change needs. */
export interface GivenFeature {
  readonly subscriptionItemId: string;
  readonly featureId: string;
  readonly type: 'toggle' | 'usage_credit_grant' | 'resource';
  readonly amount: bigint | null;
  readonly usageMeterId: string | null;
  readonly renewalFrequency: 'once' | 'every_billing_period' | null;
  readonly resourceId: string | null;
  readonly expiredAt: Instant | null;
}

/** The effect of a plan change on features: items by id. */
interface FeatureChange {
  /** Items whose features end: ending items, and items that move to another product. */
  readonly endingItemIds: ReadonlySet<string>;
  /** Items of manually added features. */
  readonly manualItemIds: ReadonlySet<string>;
  /** The features granted by new and changed items. */
  readonly granted: readonly GivenFeature[];
  readonly at: Instant;
}

/**
 * The features of a subscription after the change. A kept item keeps its features with the new amounts; a manually
 * added feature ends if the plan now grants it.
 */
export function featuresAfter(features: readonly GivenFeature[], change: FeatureChange): GivenFeature[] {
  const { endingItemIds, manualItemIds, granted, at } = change;
  const isGrantedAgain = (feature: GivenFeature) =>
    granted.some((each) => pairOf(each) === pairOf(feature) && each.expiredAt === feature.expiredAt);
  const staying = features.filter(
    (feature) =>
      !endingItemIds.has(feature.subscriptionItemId) &&
      !isGrantedAgain(feature) &&
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

/** The total capacity of each resource by id: 0 to 2^53-1. */
export function capacitiesOf(features: readonly GivenFeature[]): Record<string, number> {
  const sums = new Map<string, bigint>();
  for (const { resourceId, amount } of features) {
    if (resourceId !== null) sums.set(resourceId, (sums.get(resourceId) ?? 0n) + (amount ?? 0n));
  }
  return Object.fromEntries([...sums].map(([id, sum]) => [id, Number(saturated(sum > 0n ? sum : 0n))]));
}

/** Credits granted to a subscription by a feature. */
export interface GrantedCredits {
  readonly usageMeterId: string;
  readonly featureId: string;
  /** The part granted in the current period that expires with it. */
  readonly inPeriod: bigint;
}

/** The credits that a plan change grants for a feature, in units of the meter. */
interface ExtraCredits<Feature extends GivenFeature> {
  readonly feature: Feature;
  readonly usageMeterId: string;
  readonly amount: bigint;
  /** Null: no expiry. */
  readonly expiresAt: Instant | null;
}

/**
 * Decides the credits of a plan change within a period. Recurring credits are granted for the rest of the period, minus
 * those already granted on the meter in this period by changed items. One-time credits are granted in full if the
 * feature was never granted. Changing back and forth therefore grants nothing more, and nothing is taken back.
 *
 * `features` are those after the change, `changedItemIds` the new or changed items, `whole` the interval that amounts
 * refer to.
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

/** The amount granted in the period on the meter, minus the share of kept features. */
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

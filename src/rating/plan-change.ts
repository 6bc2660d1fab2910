import { calendarStart, type Instant, type Interval, type Period } from '../kernel/calendar.ts';
import { allocate, mulDiv, saturated } from '../kernel/money.ts';
import type { IntervalSpan } from './credits.ts';
import { proratedCredit } from './proration.ts';

/** The fields of a granted feature that a plan change needs. Credits are as the ledger counts them. */
export interface GivenFeature {
  readonly subscriptionItemId: string;
  readonly featureId: string;
  readonly type: 'toggle' | 'usage_credit_grant' | 'resource' | 'value' | 'spend_limit';
  readonly amount: bigint | null;
  /** The usage meter or credit pool. */
  readonly usageMeterId: string | null;
  readonly renewalFrequency: 'once' | 'every_billing_period' | 'every_interval' | null;
  readonly grantInterval: Interval | null;
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
 * added feature ends if the plan now grants it. A value does not, because it replaces that of the plan.
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
    (feature) =>
      manualItemIds.has(feature.subscriptionItemId) && (feature.type === 'value' || !byPlan.has(feature.featureId)),
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
  /** The part granted in the current period that still runs. */
  readonly inPeriod: bigint;
  /** The time that it is for. Absent or null: the period. */
  readonly startAt?: Instant | null;
  readonly endAt?: Instant | null;
}

/** The credits that a plan change grants for a feature, in units of the meter. */
interface ExtraCredits<Feature extends GivenFeature> {
  readonly feature: Feature;
  readonly usageMeterId: string;
  readonly amount: bigint;
  /** Null: no expiry. */
  readonly expiresAt: Instant | null;
  readonly intervalStartAt: Instant | null;
}

/** The time of a plan change. */
interface ChangeTime {
  readonly at: Instant;
  /** The interval of the billing period, which the amounts refer to. */
  readonly whole: Period;
  /** The part of a grant interval that is around the change. */
  readonly spanOf: (interval: Interval) => IntervalSpan;
}

/**
 * Decides the credits of a plan change within a period. Recurring credits are granted for the rest of the period or of
 * their interval, minus those already granted on the meter for that time by changed items. One-time credits are granted in full if the
 * feature was never granted. Changing back and forth therefore grants nothing more, and nothing is taken back.
 *
 * `features` are those after the change, `changedItemIds` the new or changed items.
 */
export function creditsOfChange<Feature extends GivenFeature>(
  features: readonly Feature[],
  changedItemIds: ReadonlySet<string>,
  granted: readonly GrantedCredits[],
  { at, whole, spanOf }: ChangeTime,
): ExtraCredits<Feature>[] {
  const giving = features.filter(({ type, amount }) => type === 'usage_credit_grant' && amount !== null && amount > 0n);
  const changed = giving.filter((feature) => changedItemIds.has(feature.subscriptionItemId));
  const isRecurring = (feature: GivenFeature) => feature.renewalFrequency !== 'once';
  const kept = giving.filter((each) => isRecurring(each) && !changedItemIds.has(each.subscriptionItemId));
  const byRhythm = Map.groupBy(changed.filter(isRecurring), rhythmOf);
  // Units that count against the credits of one rhythm do not count against those of another.
  const counted = new Map<string, bigint>();
  const recurring = [...byRhythm.values()].flatMap((alike) => {
    const [first] = alike;
    if (first === undefined) return [];
    const { usageMeterId, grantInterval } = first;
    const meterId = usageMeterId ?? '';
    const span = grantInterval === null ? null : spanOf(grantInterval);
    const period = span?.whole ?? whole;
    const remaining = { start: Math.max(at, span?.start ?? at), end: span?.end ?? whole.end };
    const amounts = alike.map(({ amount }) => amount ?? 0n);
    const amount = sumOf(amounts);
    // A long first period begins before the interval that its amounts refer to, and all that it granted counts.
    const from = span === null ? calendarStart : period.start;
    const before = grantedByOthers(granted, meterId, kept, { start: from, end: remaining.end });
    const alreadyGranted = atLeastZero(before - (counted.get(meterId) ?? 0n));
    const extra = proratedCredit({ amount, remaining, period, alreadyGranted });
    const share = proratedCredit({ amount, remaining, period, alreadyGranted: 0n });
    counted.set(meterId, (counted.get(meterId) ?? 0n) + share - extra);
    const shares = allocate(extra, amounts);
    return alike.map((feature, index) => ({
      feature,
      usageMeterId: meterId,
      amount: shares[index] ?? 0n,
      expiresAt: remaining.end,
      intervalStartAt: span === null ? null : remaining.start,
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
      intervalStartAt: null,
    }));
  return [...recurring, ...once].filter(({ amount }) => amount > 0n);
}

/** The meter of a feature, and how often it grants credits. */
function rhythmOf({ usageMeterId, grantInterval }: GivenFeature): string {
  return `${usageMeterId} ${grantInterval?.unit} ${grantInterval?.count}`;
}

/**
 * The amount granted on the meter for a time, minus the share of features that stay. Credits that run longer count by the
 * share of that time. Worked example: 12,000 of a year, whose feature has ended, count as 1,000 in a twelfth of it.
 */
export function grantedByOthers(
  granted: readonly GrantedCredits[],
  usageMeterId: string,
  kept: readonly Pick<GivenFeature, 'featureId' | 'usageMeterId' | 'amount'>[],
  time: Period,
): bigint {
  const ofMeter = granted.filter((each) => each.usageMeterId === usageMeterId);
  const byFeature = Map.groupBy(ofMeter, ({ featureId }) => featureId);
  const ofOthers = [...byFeature].map(([featureId, credits]) => {
    const same = kept.filter((each) => each.featureId === featureId && each.usageMeterId === usageMeterId);
    return atLeastZero(
      sumOf(credits.map((credit) => partIn(credit, time))) - sumOf(same.map(({ amount }) => amount ?? 0n)),
    );
  });
  return sumOf(ofOthers);
}

function partIn({ inPeriod, startAt = null, endAt = null }: GrantedCredits, { start, end }: Period): bigint {
  if (startAt === null || endAt === null) return inPeriod;
  const length = Math.min(endAt, end) - Math.max(startAt, start);
  return length <= 0 ? 0n : mulDiv(inPeriod, BigInt(length), BigInt(endAt - startAt));
}

function atLeastZero(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}

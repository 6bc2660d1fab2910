import { allocate, divHalfAway, smallerOf } from '../kernel/money.ts';

/** A fine amount counts 10^-12 of a minor unit, or of a percent: the decimals of a `unitAmount` or a `rate`. */
export const fineDigits = 12;
const fine = 10n ** BigInt(fineDigits);

/** A part of the units with a rate of its own. `upTo` is inclusive; null has no end. Fine amounts. */
export interface Tier {
  readonly upTo: bigint | null;
  /** The price of a unit. */
  readonly unitAmount: bigint;
  /** Percent of a unit, where a unit is money. */
  readonly rate: bigint;
  /** Added once, as soon as a unit is in the tier. */
  readonly flatAmount: bigint;
}

/** How units become money. Tiers ascend, and the last one has no end. Fine amounts. */
export type PriceModel = {
  /** Units that cost nothing. Tiers and packages begin behind them. */
  readonly freeUnits: bigint;
  readonly minimumAmount: bigint | null;
  readonly maximumAmount: bigint | null;
} & (
  | {
      /** `graduated`: each unit at the rate of its own tier. `volume`: all units at the rate of the tier of the last one. */
      readonly kind: 'graduated' | 'volume';
      readonly tiers: readonly Tier[];
      readonly amountPerEvent: bigint;
    }
  /** Whole packages, the last one counted in full. */
  | { readonly kind: 'package'; readonly packageSize: bigint; readonly packageAmount: bigint }
  /** Each event has brought its own price. */
  | { readonly kind: 'dynamic' }
);

/** Usage of `units / per` units, as `events` events, whose own prices add up to `ownAmount` (fine). */
export interface PricedUsage {
  readonly units: bigint;
  readonly per: bigint;
  readonly events: bigint;
  readonly ownAmount: bigint;
}

/** The units of one tier. `units` is in parts of a unit, as in `PricedUsage`. `amount` is in minor units. */
export interface TierAmount {
  readonly tier: Tier;
  readonly units: bigint;
  readonly amount: bigint;
}

interface PricedAmount {
  /** In minor units. */
  readonly amount: bigint;
  /** The amount before it is rounded: `numerator` / `denominator` minor units. */
  readonly exact: { readonly numerator: bigint; readonly denominator: bigint };
  /** The tiers that were used. */
  readonly tiers: readonly TierAmount[];
  /** The part that belongs to no tier: packages, amounts per event, own prices, and what a minimum or maximum changes. */
  readonly otherAmount: bigint;
}

/**
 * The price of the usage of one period, in minor units. It is exact, and rounded once, half away from zero, to a multiple
 * of `step` (see `chargedStep`). Nothing used costs nothing: `minimumAmount` is owed from the first unit or event on. A part
 * of a period is worth the price of all units so far less what was billed, so that the parts add up to the whole.
 */
export function priceUsage(model: PriceModel, usage: PricedUsage, step = 1n): PricedAmount {
  // All sums below count 10^-12 of a percent of a part of a unit.
  const whole = fine * 100n * usage.per;
  const scaled = (amount: bigint) => amount * 100n * usage.per;
  const { tiers, other } = exactAmounts(model, usage, scaled);
  const parts = [...tiers.map(({ exact }) => exact), other];
  const exact = parts.reduce((sum, part) => sum + part, 0n);
  const isUsed = usage.units > 0n || usage.events > 0n;
  const least = isUsed && model.minimumAmount !== null ? largerOf(exact, scaled(model.minimumAmount)) : exact;
  const bounded = model.maximumAmount === null ? least : smallerOf(least, scaled(model.maximumAmount));
  const amount = divHalfAway(bounded, whole, step);
  // The largest remainder method keeps the rounded tiers within one step of their exact amounts, and their sum right.
  const shares = exact === 0n ? [] : allocate(divHalfAway(exact, whole, step) / step, parts);
  const tierAmounts = tiers.map(({ tier, units }, index) => ({ tier, units, amount: (shares[index] ?? 0n) * step }));
  return {
    amount,
    exact: { numerator: bounded, denominator: whole },
    tiers: tierAmounts,
    otherAmount: tierAmounts.reduce((rest, tier) => rest - tier.amount, amount),
  };
}

interface ExactTier {
  readonly tier: Tier;
  readonly units: bigint;
  readonly exact: bigint;
}

/** The exact amounts of the tiers that hold units, and of everything else. */
function exactAmounts(
  model: PriceModel,
  { units, per, events, ownAmount }: PricedUsage,
  scaled: (amount: bigint) => bigint,
): { tiers: readonly ExactTier[]; other: bigint } {
  if (model.kind === 'dynamic') return { tiers: [], other: scaled(ownAmount) };
  const charged = largerOf(units - model.freeUnits * per, 0n);
  if (model.kind === 'package') {
    const size = model.packageSize * per;
    return { tiers: [], other: scaled(((charged + size - 1n) / size) * model.packageAmount) };
  }
  const tiers = unitsByTier(model, charged, per).map(({ tier, units: within }) => {
    const exact = within * (tier.unitAmount * 100n + tier.rate) + scaled(tier.flatAmount);
    return { tier, units: within, exact };
  });
  return { tiers, other: scaled(events * model.amountPerEvent) };
}

/** The tiers that hold units, with these. */
function unitsByTier(
  { kind, tiers }: { readonly kind: 'graduated' | 'volume'; readonly tiers: readonly Tier[] },
  units: bigint,
  per: bigint,
): { tier: Tier; units: bigint }[] {
  if (units === 0n) return [];
  const reaches = ({ upTo }: Tier) => upTo === null || units <= upTo * per;
  if (kind === 'volume')
    return tiers
      .filter(reaches)
      .slice(0, 1)
      .map((tier) => ({ tier, units }));
  const found: { tier: Tier; units: bigint }[] = [];
  let below = 0n;
  for (const tier of tiers) {
    const end = tier.upTo === null ? units : smallerOf(units, tier.upTo * per);
    if (end > below) found.push({ tier, units: end - below });
    below = largerOf(below, end);
  }
  return found;
}

function largerOf(a: bigint, b: bigint): bigint {
  return a < b ? b : a;
}

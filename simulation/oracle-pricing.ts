import type { Terms, TierOfPrice } from './catalogue-usage.ts';
import { rounded } from './oracle-arithmetic.ts';

/** The cost of usage, by the rules of each model: exact, and rounded once. */

/** Amounts and rates have up to this many decimals. */
const decimals = 12;
const one = 10n ** BigInt(decimals);

/** Usage that a price counts. */
export interface Used {
  /** `units` / `per` units. */
  readonly units: bigint;
  readonly per: bigint;
  readonly events: bigint;
  /** The sum of the events' own prices, in 10^-12 of a minor unit. */
  readonly own: bigint;
}

export const nothing: Used = { units: 0n, per: 1n, events: 0n, own: 0n };

export function plus(a: Used, b: Used, sign = 1n): Used {
  return { units: a.units + sign * b.units, per: a.per, events: a.events + sign * b.events, own: a.own + sign * b.own };
}

/** A decimal text in 10^-12. */
export function exactOf(text: string): bigint {
  const [whole = '', part = ''] = text.split('.');
  return BigInt(whole) * one + BigInt(part.padEnd(decimals, '0').slice(0, decimals));
}

/** The decimal text of a number in 10^-12. */
export function decimalOf(exact: bigint): string {
  const [whole, part] = [exact / one, String(exact % one).padStart(decimals, '0')];
  return `${whole}.${part}`;
}

/** In minor units. */
export function costOf(terms: Terms, used: Used): number {
  const { amount, of } = exactCostOf(terms, used);
  return rounded(amount, of);
}

/** In minor units, as a fraction. */
export function exactCostOf(terms: Terms, { units, per, events, own }: Used): { amount: bigint; of: bigint } {
  if (!('pricing' in terms)) return { amount: BigInt(terms.unitPrice) * units, of: BigInt(terms.units) * per };
  const { pricing } = terms;
  const { freeUnits = 0, minimumAmount, maximumAmount, fixedAmountPerEvent = '0' } = pricing;
  const rest = units - BigInt(freeUnits) * per;
  const charged = rest > 0n ? rest : 0n;
  // Everything below is 10^-12 of a minor unit, times `per`, times 100 because of percents.
  const fixed = 100n * per;
  const byTier = (isWhole: boolean) => costOfTiers(pricing.tiers ?? [], isWhole, charged, per);
  const models: Readonly<Record<string, () => bigint>> = {
    per_unit: () => charged * exactOf(pricing.unitAmount ?? '0') * 100n,
    package: () => {
      const size = BigInt(pricing.packageSize ?? 1) * per;
      const packages = charged / size + (charged % size === 0n ? 0n : 1n);
      return packages * exactOf(pricing.packageAmount ?? '0') * fixed;
    },
    graduated: () => byTier(false),
    volume: () => byTier(true),
    stairstep: () => byTier(true),
    percentage: () => charged * exactOf(pricing.rate ?? '0') + events * exactOf(fixedAmountPerEvent) * fixed,
    graduated_percentage: () => byTier(false),
    dynamic: () => own * fixed,
  };
  let cost = models[pricing.model]?.() ?? 0n;
  const isUsed = units > 0n || events > 0n;
  const least = minimumAmount === undefined || !isUsed ? cost : exactOf(minimumAmount) * fixed;
  if (cost < least) cost = least;
  const most = maximumAmount === undefined ? cost : exactOf(maximumAmount) * fixed;
  if (cost > most) cost = most;
  return { amount: cost, of: one * fixed };
}

/** By tiers, each for the units within it, or the tier of the last unit for all of them. `upTo` is inclusive. */
function costOfTiers(tiers: readonly TierOfPrice[], isWhole: boolean, units: bigint, per: bigint): bigint {
  const costIn = ({ unitAmount = '0', rate = '0', flatAmount = '0' }: TierOfPrice, part: bigint) =>
    part * (exactOf(unitAmount) * 100n + exactOf(rate)) + exactOf(flatAmount) * 100n * per;
  if (units === 0n) return 0n;
  let below = 0n;
  let sum = 0n;
  for (const tier of tiers) {
    const end = tier.upTo === null ? units : BigInt(tier.upTo) * per;
    const isLast = tier.upTo === null || units <= end;
    if (isWhole && isLast) return costIn(tier, units);
    if (!isWhole) sum += costIn(tier, (isLast ? units : end) - below);
    if (isLast) return sum;
    below = end;
  }
  return sum;
}

import type { Instant } from '../kernel/calendar.ts';
import { type PriceModel, priceUsage } from './price-model.ts';

/** The usage of one usage period at one price that invoices bill so far. */
export interface UsageCharge {
  readonly periodStart: Instant;
  /** The units that were taken to be billed. */
  readonly units: bigint;
  /** The part of them that no invoice bills any more: the next bill takes it. */
  readonly released: bigint;
  /** The amount that invoices bill for the period, in minor units. */
  readonly amount: bigint;
}

/** A part of a usage period to bill now. */
interface UsagePart {
  readonly periodStart: Instant;
  readonly units: bigint;
  /** All units of the period, this part included. */
  readonly unitsSoFar: bigint;
  readonly billedBefore: bigint;
  /** The price of all units so far, less what was billed: negative where more units are cheaper as a whole. */
  readonly amount: bigint;
}

/** Usage to be billed at one price: `units`, of which the released ones of `charges` belong to their own periods. */
interface UnbilledUsage {
  readonly units: bigint;
  readonly charges: readonly UsageCharge[];
  /** The start of the usage period to which all other units belong. */
  readonly periodStart: Instant;
}

/**
 * Decides the parts to bill now. Each is worth the price of the units of its period so far, less what was billed. So
 * the parts of a period add up to its price, however it is cut. Worked example: 100 units at 3, and more at
 * 2. 80 units are billed 240, then 50 more are billed 100 x 3 + 30 x 2 - 240 = 120.
 */
export function billParts(
  { units, charges, periodStart }: UnbilledUsage,
  model: PriceModel,
  step: bigint,
): UsagePart[] {
  const released = charges.reduce((sum, charge) => sum + charge.released, 0n);
  const present = charges.find((charge) => charge.periodStart === periodStart);
  const parts = charges
    .filter((charge) => charge !== present && charge.released > 0n)
    .map((charge) => partOf(charge, charge.released, model, step));
  const fresh = units - released;
  const { released: again = 0n } = present ?? {};
  const charge = present ?? { periodStart, units: 0n, released: 0n, amount: 0n };
  return fresh + again === 0n
    ? parts
    : [...parts, partOf({ ...charge, units: charge.units + fresh }, fresh + again, model, step)];
}

function partOf(
  { periodStart, units: unitsSoFar, amount: billedBefore }: UsageCharge,
  units: bigint,
  model: PriceModel,
  step: bigint,
): UsagePart {
  const amount = priceOfUnits(model, unitsSoFar, step) - billedBefore;
  return { periodStart, units, unitsSoFar, billedBefore, amount };
}

/** The charge of a usage period after its part is billed. */
export function chargeAfter({ periodStart, unitsSoFar: units, billedBefore, amount }: UsagePart): UsageCharge {
  return { periodStart, units, released: 0n, amount: billedBefore + amount };
}

/** The part with as many of its units as cost at most `room` minor units; null: none. The others are billed later. */
export function partWithin(part: UsagePart, room: bigint, model: PriceModel, step: bigint): UsagePart | null {
  const rest = part.unitsSoFar - part.units;
  const amountOf = (units: bigint) => priceOfUnits(model, rest + units, step) - part.billedBefore;
  if (amountOf(0n) > room) return null;
  // Bisection keeps `fitting` within the room whatever the shape of the price is.
  let [fitting, tooMany] = [0n, part.units];
  while (tooMany - fitting > 1n) {
    const middle = (fitting + tooMany) / 2n;
    if (amountOf(middle) <= room) fitting = middle;
    else tooMany = middle;
  }
  return fitting === 0n ? null : { ...part, units: fitting, unitsSoFar: rest + fitting, amount: amountOf(fitting) };
}

function priceOfUnits(model: PriceModel, units: bigint, step: bigint): bigint {
  return priceUnits(model, units, step).amount;
}

/** The price of whole units that carry no price of their own. */
export function priceUnits(model: PriceModel, units: bigint, step = 1n) {
  return priceUsage(model, { units, per: 1n, events: 0n, ownAmount: 0n }, step);
}

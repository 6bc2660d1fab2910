import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import { type PriceModel, priceUsage } from './price-model.ts';

/** Usage that a price counts. Prices without an amount for each event count units only, and have 0 events. */
export interface Quantities {
  readonly units: bigint;
  readonly events: bigint;
  /** The sum of the events' own prices: a fine amount. */
  readonly ownAmount: bigint;
}

/** The usage of one usage period at one price that invoices bill so far. */
export interface UsageCharge extends Quantities {
  readonly periodStart: Instant;
  /** The part of the units, events and own prices that no invoice bills any more: the next bill takes it. */
  readonly released: bigint;
  readonly releasedEvents: bigint;
  readonly releasedOwnAmount: bigint;
  /** The amount that invoices bill for the period, in minor units. */
  readonly amount: bigint;
}

/** A part of a usage period to bill now. */
export interface UsagePart extends Quantities {
  readonly periodStart: Instant;
  /** All of the period, this part included. */
  readonly unitsSoFar: bigint;
  readonly eventsSoFar: bigint;
  readonly ownAmountSoFar: bigint;
  readonly billedBefore: bigint;
  /** The price of all units so far, less what was billed: negative where more units are cheaper as a whole. */
  readonly amount: bigint;
}

/** Usage to be billed at one price, of which the released part of `charges` belongs to its own periods. */
interface UnbilledUsage extends Quantities {
  readonly charges: readonly UsageCharge[];
  /** The start of the usage period to which all other usage belongs. */
  readonly periodStart: Instant;
}

/** A usage period of which nothing is billed. */
const unbilled = { units: 0n, released: 0n, events: 0n, releasedEvents: 0n, ownAmount: 0n, releasedOwnAmount: 0n };

/**
 * Decides the parts to bill now. Each is worth the price of the usage of its period so far, less what was billed. So
 * the parts of a period add up to its price, however it is cut. Worked example: 100 units at 3, and more at
 * 2. 80 units are billed 240, then 50 more are billed 100 x 3 + 30 x 2 - 240 = 120. A usage period has one model for
 * good; null for the present one: its usage is `freshUsage`, each unit of which is priced by itself.
 */
export function billParts(
  { charges, periodStart, ...usage }: UnbilledUsage,
  modelOf: (periodStart: Instant) => PriceModel | null,
  step: bigint,
): UsagePart[] {
  const present = charges.find((charge) => charge.periodStart === periodStart);
  const parts = charges
    .filter((charge) => charge !== present)
    .map((charge) => {
      const priced = modelOf(charge.periodStart);
      assert(priced, 'a period with a charge has a model');
      return partOf(charge, releasedOf(charge), priced, step);
    });
  const model = modelOf(periodStart);
  if (model === null) return parts.filter(isUsed);
  const fresh = freshUsage({ charges, ...usage });
  const charge = present ?? { ...unbilled, periodStart, amount: 0n };
  const taken = {
    units: charge.units + fresh.units,
    events: charge.events + fresh.events,
    ownAmount: charge.ownAmount + fresh.ownAmount,
  };
  const again = releasedOf(charge);
  const now = {
    units: fresh.units + again.units,
    events: fresh.events + again.events,
    ownAmount: fresh.ownAmount + again.ownAmount,
  };
  return [...parts, partOf({ ...charge, ...taken }, now, model, step)].filter(isUsed);
}

/** The usage that belongs to no earlier period. */
export function freshUsage({ charges, ...usage }: Omit<UnbilledUsage, 'periodStart'>): Quantities {
  return charges.map(releasedOf).reduce(less, usage);
}

function isUsed({ units, events }: Quantities): boolean {
  return units > 0n || events > 0n;
}

/** The part of a period that no invoice bills any more. */
export function releasedOf({
  released: units,
  releasedEvents: events,
  releasedOwnAmount: ownAmount,
}: UsageCharge): Quantities {
  return { units, events, ownAmount };
}

function less(one: Quantities, other: Quantities): Quantities {
  return {
    units: one.units - other.units,
    events: one.events - other.events,
    ownAmount: one.ownAmount - other.ownAmount,
  };
}

function partOf(charge: UsageCharge, now: Quantities, model: PriceModel, step: bigint): UsagePart {
  const {
    periodStart,
    units: unitsSoFar,
    events: eventsSoFar,
    ownAmount: ownAmountSoFar,
    amount: billedBefore,
  } = charge;
  const amount = priceQuantities(model, charge, step).amount - billedBefore;
  return { periodStart, ...now, unitsSoFar, eventsSoFar, ownAmountSoFar, billedBefore, amount };
}

/** The charge of a usage period after its part is billed. */
export function chargeAfter(part: UsagePart): UsageCharge {
  const { periodStart, unitsSoFar: units, eventsSoFar: events, ownAmountSoFar: ownAmount, billedBefore, amount } = part;
  return { ...unbilled, periodStart, units, events, ownAmount, amount: billedBefore + amount };
}

/** The charge without what is released, because it is not to be billed any more. */
export function withoutReleased({ released, releasedEvents, releasedOwnAmount, ...charge }: UsageCharge): UsageCharge {
  return {
    ...charge,
    ...less(charge, { units: released, events: releasedEvents, ownAmount: releasedOwnAmount }),
    ...{ released: 0n, releasedEvents: 0n, releasedOwnAmount: 0n },
  };
}

/**
 * The part with as many of its units as cost at most `room` minor units, and all of its events; null: none. The other
 * units are billed later.
 */
export function partWithin(part: UsagePart, room: bigint, model: PriceModel, step: bigint): UsagePart | null {
  const rest = part.unitsSoFar - part.units;
  const { eventsSoFar: events, ownAmountSoFar: ownAmount, billedBefore } = part;
  const amountOf = (units: bigint) =>
    priceQuantities(model, { units: rest + units, events, ownAmount }, step).amount - billedBefore;
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

/** The price of usage in whole units. */
export function priceQuantities(model: PriceModel, { units, events, ownAmount }: Quantities, step = 1n) {
  return priceUsage(model, { units, per: 1n, events, ownAmount }, step);
}

/** The price of whole units that are no events. */
export function priceUnits(model: PriceModel, units: bigint, step = 1n) {
  return priceQuantities(model, { units, events: 0n, ownAmount: 0n }, step);
}

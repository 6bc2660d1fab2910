import { divHalfAway } from '../kernel/money.ts';
import { smallestPerUnit } from './pool-units.ts';
import { priceUsage } from './price-model.ts';
import { addUsage, noUsage, type SpendPrice } from './spending.ts';
import type { Quantities } from './usage-parts.ts';

/** The usage of one usage period at one price that a credit pool paid for, and what it drew for it, in its smallest units. */
export interface PoolDraw extends Quantities {
  readonly amount: bigint;
}

export const noDraw: PoolDraw = { ...noUsage, amount: 0n };

/** A price in a currency with `digits` digits of a minor unit, from a pool in that currency. */
export interface DrawPrice extends SpendPrice {
  readonly digits: number;
}

/**
 * Whether a pool can pay for a part of the usage of a period, and an invoice for the rest: their amounts are counted apart.
 * So more units must never cost less, the first one must cost something, and nothing may be said of the period in all.
 */
export function isDrawable({ model, per }: SpendPrice): boolean {
  const { freeUnits, minimumAmount, maximumAmount } = model;
  if (freeUnits > 0n || minimumAmount !== null || maximumAmount !== null) return false;
  if (model.kind === 'dynamic') return true;
  if (model.kind === 'graduated' || model.kind === 'package')
    return priceUsage(model, { units: 1n, per, events: 1n, ownAmount: 0n }).exact.numerator > 0n;
  return false;
}

/**
 * The price of usage in smallest units of a pool: exact, and rounded once. Worked example: in tiers of 100 units at 3 cents,
 * and more at 2, 150 units are 4 dollars.
 */
export function worthInPool({ model, per, digits }: DrawPrice, usage: Quantities): bigint {
  const { numerator, denominator } = priceUsage(model, { ...usage, per }, 1n).exact;
  return divHalfAway(numerator * smallestPerUnit, denominator * 10n ** BigInt(digits));
}

/**
 * The cost of more usage behind a draw: the price of all of it, less the amount of the draw. So the parts of a period add up
 * to the price of the whole, however it is cut.
 */
export function costOfMore(price: DrawPrice, drawn: PoolDraw, more: Quantities): bigint {
  return worthInPool(price, addUsage(drawn, more)) - drawn.amount;
}

/** The draw with more usage and its cost. */
export function drawMore(price: DrawPrice, drawn: PoolDraw, more: Quantities): PoolDraw {
  const usage = addUsage(drawn, more);
  return { ...usage, amount: worthInPool(price, usage) };
}

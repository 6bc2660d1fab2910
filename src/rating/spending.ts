import { type Instant, type Period, periodAt } from '../kernel/calendar.ts';
import { type PriceModel, priceUsage } from './price-model.ts';
import type { Quantities } from './usage-parts.ts';

/** A price at which usage is worth money: `model` says what `per` parts of a unit cost. */
export interface SpendPrice {
  readonly model: PriceModel;
  readonly per: bigint;
}

/** No usage. */
export const noUsage: Quantities = { units: 0n, events: 0n, ownAmount: 0n };

export function addUsage(one: Quantities, other: Quantities): Quantities {
  return {
    units: one.units + other.units,
    events: one.events + other.events,
    ownAmount: one.ownAmount + other.ownAmount,
  };
}

/** The usage with its sign turned. */
export function takeUsage({ units, events, ownAmount }: Quantities): Quantities {
  return { units: -units, events: -events, ownAmount: -ownAmount };
}

/**
 * The worth of usage at one price, in minor units: the price of all of it, rounded once, as a bill of it would say. Credits
 * do not lower it. Worked example: in tiers of 100 units at 3, and more at 2, 150 units are worth 400.
 */
export function worthOf({ model, per }: SpendPrice, usage: Quantities, step: bigint): bigint {
  return priceUsage(model, { ...usage, per }, step).amount;
}

/**
 * The thresholds, in percent of the limit, that a change of the used amount crosses. Worked example: with a limit of 200, a
 * change from 99 to 160 crosses 50 and 80.
 */
export function crossedThresholds(
  { amount, thresholds }: { readonly amount: bigint; readonly thresholds: readonly number[] },
  before: bigint,
  after: bigint,
): number[] {
  const isReached = (used: bigint, percent: number) => used * 100n >= amount * BigInt(percent);
  return thresholds.filter((percent) => !isReached(before, percent) && isReached(after, percent));
}

// A Monday, which also begins a month and a day.
const calendarAnchor: Instant = Date.UTC(2001, 0, 1);

/** The day, the week from Monday on, or the month in UTC in which an instant lies. */
export function calendarPeriod(unit: 'day' | 'week' | 'month', at: Instant): Period {
  const { start, end } = periodAt(calendarAnchor, { unit, count: 1 }, at);
  return { start, end };
}

import { smallestPerUnit } from './catalogue-pools.ts';
import type { Terms, UsagePrice } from './catalogue-usage.ts';
import { intervalAt, nearest } from './oracle-arithmetic.ts';
import { anchorOf, nextUsageBoundary, termsAt } from './oracle-periods.ts';
import { exactCostOf, nothing, plus, type Used } from './oracle-pricing.ts';
import type { Subscription } from './oracle-records.ts';

/** Draws of a pool in money: in each usage period the price of all that it paid for, rounded once. */

/** The usage of one usage period at one price that the pool paid for, and the terms of the first of it. */
export interface PriceDraw {
  readonly terms: Terms;
  readonly used: Used;
}

/** Whether the parts that a pool and an invoice pay for can be priced apart. */
export function isDrawable(subscription: Subscription, price: UsagePrice): boolean {
  const { terms } = drawOf(subscription, price);
  const isFree = exactCostOf(terms, { ...nothing, units: 1n, events: 1n }).amount === 0n;
  if (!('pricing' in terms)) return !isFree;
  const { model, freeUnits = 0, minimumAmount, maximumAmount } = terms.pricing;
  if (freeUnits > 0 || minimumAmount !== undefined || maximumAmount !== undefined) return false;
  return model === 'dynamic' || (!isFree && model !== 'volume' && model !== 'stairstep');
}

/** The smallest units that more usage costs in its period. */
export function costOfMore(subscription: Subscription, price: UsagePrice, more: Used): bigint {
  const { terms, used } = drawOf(subscription, price);
  return worthOf(terms, plus(used, more)) - worthOf(terms, used);
}

/** Notes usage that the pool paid for. */
export function noteDraw(subscription: Subscription, price: UsagePrice, more: Used): void {
  const { terms, used } = drawOf(subscription, price);
  subscription.draws.set(keyOf(subscription, price), { terms, used: plus(used, more) });
}

function drawOf(subscription: Subscription, price: UsagePrice): PriceDraw {
  const known = subscription.draws.get(keyOf(subscription, price));
  return known ?? { terms: termsAt(subscription, price, periodStart(subscription, price)), used: nothing };
}

function keyOf(subscription: Subscription, price: UsagePrice): string {
  return `${price.slug} ${periodStart(subscription, price)}`;
}

/** The start of the usage period of the price, also on plans that do not bill it. */
function periodStart(subscription: Subscription, { interval }: UsagePrice): number {
  const { period, startsAt, createdAt } = subscription;
  if (interval === null) return period?.start ?? 0;
  const { start } = intervalAt(anchorOf(subscription), interval, nextUsageBoundary(subscription) - 1);
  return Math.max(start, startsAt ?? createdAt);
}

/** Prices are in cents. */
function worthOf(terms: Terms, used: Used): bigint {
  const { amount, of } = exactCostOf(terms, used);
  return nearest(amount * smallestPerUnit, of * 100n);
}

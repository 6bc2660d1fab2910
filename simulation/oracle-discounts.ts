import type { Discount } from './catalogue.ts';
import { share } from './oracle-arithmetic.ts';
import {
  discountKeyOf,
  type Invoice,
  invoicesOf,
  isForPeriod,
  type Period,
  type Redemption,
  type Subscription,
} from './oracle-records.ts';
import { discountsOfLines } from './oracle-tax.ts';

/** The discounts of subscriptions, one after the other. */

/** An invoice to make. */
export interface Asked extends Pick<Invoice, 'reason' | 'at' | 'period' | 'lines' | 'usageStarts'> {
  /** A change that begins a period and is paid first. */
  readonly beginsPeriod?: boolean;
  /** The period whose discount it carries on: that of a pause in the interval, or before another anchor. */
  readonly carriesOn?: Period | null;
  /** The discounts that its draft has. Absent: it was none. */
  readonly redemptions?: readonly Redemption[];
}

/** The discounts of an invoice: each of what the ones before it leave, and none of nothing. */
export function discountsOf(subscription: Subscription, requested: Asked): Invoice['discounts'] {
  const { lines } = requested;
  const discounts: Invoice['discounts'][number][] = [];
  for (const redemption of redemptionsOf(subscription, requested)) {
    const off = discountsOfLines({ lines, discounts });
    const base = lines.reduce((sum, { amount }, index) => sum + Math.max(0, amount - (off[index] ?? 0)), 0);
    const amount = takenOff(partOfDiscount(redemption.discount, requested), base);
    if (base > 0) discounts.push({ redemption, amount });
  }
  return discounts;
}

function takenOff({ type, amount }: Discount, base: number): number {
  return type === 'percent' ? share(base, amount, 100) : Math.min(amount, base);
}

/** The rest of an interval after a pause gets its share of a fixed discount. */
function partOfDiscount(discount: Discount, { reason, period }: Pick<Invoice, 'reason' | 'period'>): Discount {
  // The first invoice has all of it, however short its period is.
  const isWhole = reason === 'final_usage' || reason === 'subscription_start';
  if (discount.type === 'percent' || period === null || isWhole) return discount;
  const { start, end, wholeStart, discountStart = wholeStart } = period;
  return { ...discount, amount: share(discount.amount, end - start, end - discountStart) };
}

/**
 * A start and a renewal carry each discount while it lasts; usage alone and changes carry percentages. The rest of a
 * paused interval carries on those of its beginning, as a period with another anchor does. An interval counts once. One
 * that was taken off counts where it is carried on, and for changes of its period.
 */
function redemptionsOf(
  subscription: Subscription,
  { reason, period, beginsPeriod = false, carriesOn = null, redemptions }: Asked,
): readonly Redemption[] {
  if (redemptions !== undefined) return redemptions;
  const invoices = invoicesOf(subscription).filter(isForPeriod);
  return subscription.discounts.filter((redemption) => {
    const { discount, isOff } = redemption;
    const carried = invoices.filter(({ discounts }) => discounts.some((each) => each.redemption === redemption));
    // A period without an invoice of its own, such as the first one in arrears, has the percentages that last.
    const isBilled = (one: Invoice['period']) => invoices.some((each) => each.period === one);
    const lasts = !isOff && discount.type === 'percent' && discount.times === null;
    if (reason === 'adjustment' && !beginsPeriod)
      return isBilled(period) ? discount.type === 'percent' && carried.some((each) => each.period === period) : lasts;
    if (carriesOn !== null)
      return isBilled(carriesOn) ? carried.some((each) => each.period === carriesOn && each.status !== 'void') : lasts;
    const live = carried.filter(({ status }) => status !== 'void' && status !== 'uncollectible');
    // An interval is its start and its end: a month and the rest of a year from one anchor are two.
    const turns = new Set(live.map((each) => each.period && discountKeyOf(each.period))).size;
    if (isOff || (discount.times !== null && turns >= discount.times)) return false;
    const isOfUsage = reason === 'usage' || reason === 'final_usage' || reason === 'usage_threshold';
    return !isOfUsage || discount.type === 'percent';
  });
}

import type { CurrencyCode } from '../kernel/currency.ts';
import { type NewPrice, noChargeSuffix, type PriceType } from './price.ts';

/**
 * The no-charge price of a usage meter: a price of 0, so that usage always has a price. It is the default unless
 * another price of the meter is, and becomes the default again when that one is unset or deactivated.
 */
export function noChargePrice(
  priceId: string,
  meter: { readonly id: string; readonly pricingModelId: string; readonly name: string; readonly slug: string },
  { isDefault, currency }: { readonly isDefault: boolean; readonly currency: CurrencyCode },
): NewPrice {
  return {
    id: priceId,
    pricingModelId: meter.pricingModelId,
    productId: null,
    usageMeterId: meter.id,
    type: 'usage',
    name: `${meter.name} - No Charge`,
    slug: noChargeSlug(meter.slug),
    unitPrice: 0n,
    usageEventsPerUnit: 1,
    intervalUnit: 'month',
    intervalCount: 1,
    trialPeriodDays: null,
    currency,
    isDefault,
    active: true,
  };
}

/** The slug of a usage meter's no-charge price. */
export function noChargeSlug(meterSlug: string): string {
  return meterSlug + noChargeSuffix;
}

/** Whether a slug has the ending that is reserved for no-charge prices. */
export function isReservedPriceSlug(slug: string | null | undefined): boolean {
  return slug?.endsWith(noChargeSuffix) ?? false;
}

/** Whether a price is its meter's no-charge price: only that can have the reserved ending. */
export function isNoChargePrice(price: { readonly type: PriceType; readonly slug: string | null }): boolean {
  return price.type === 'usage' && isReservedPriceSlug(price.slug);
}

import type { IntervalUnit } from '../kernel/calendar.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { NewPrice } from './price.ts';
import { type NewProduct, reservedProductSlug } from './product.ts';

export interface FreePlanRequest {
  readonly pricingModelId: string;
  readonly productId: string;
  readonly priceId: string;
  readonly currency: CurrencyCode;
  /** The billing interval; null: the plan does not renew. */
  readonly intervalUnit: IntervalUnit | null;
}

/** The product that becomes the default of a pricing model without one: customers start on it, and it is free. */
export function freePlan(request: FreePlanRequest): { product: NewProduct; price: NewPrice } {
  const { pricingModelId, productId, priceId, currency, intervalUnit } = request;
  const product: NewProduct = {
    id: productId,
    pricingModelId,
    name: 'Free Plan',
    slug: reservedProductSlug,
    description: null,
    imageURL: null,
    singularQuantityLabel: null,
    pluralQuantityLabel: null,
    default: true,
    active: true,
  };
  const price = {
    id: priceId,
    pricingModelId,
    productId,
    usageMeterId: null,
    name: product.name,
    slug: reservedProductSlug,
    unitPrice: 0n,
    usageEventsPerUnit: null,
    trialPeriodDays: null,
    currency,
    isDefault: true,
    active: true,
  };
  if (intervalUnit === null) {
    return { product, price: { ...price, type: 'single_payment', intervalUnit: null, intervalCount: null } };
  }
  return { product, price: { ...price, type: 'subscription', intervalUnit, intervalCount: 1 } };
}

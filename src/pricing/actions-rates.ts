import type { Work } from '../database/work.ts';
import type { NewPrice } from './price.ts';
import { decideUsagePrices, type Product, type ProductUsagePrice, type UsagePricesInput } from './product.ts';
import { listActivePricesBySlug } from './store-prices.ts';
import { listUsageMeters } from './store-usage-meters.ts';
import { isSold, standingPrice } from './structure-contents.ts';

/** The rates that are requested of a product, by the active prices of its pricing model. */
export async function findRates(
  work: Work,
  pricingModelId: string,
  requested: UsagePricesInput,
): Promise<ProductUsagePrice[]> {
  if (requested.length === 0) return [];
  const slugs = requested.map(({ priceSlug }) => priceSlug);
  const meters = await listUsageMeters(work, [pricingModelId]);
  return decideUsagePrices(requested, meters, await listActivePricesBySlug(work, pricingModelId, slugs));
}

/** A product with its prices, of which one at least is there. */
interface OnSale {
  readonly product: Product;
  readonly prices: readonly NewPrice[];
}

/** The rates of a product after a change. Sold again, it takes the prices that have their slugs now: its own may have ended. */
export async function ratesAfter(work: Work, before: OnSale, after: OnSale): Promise<ProductUsagePrice[]> {
  const { pricingModelId, usagePrices } = after.product;
  const isForSale = ({ product, prices }: OnSale) => isSold(product, standingPrice(prices));
  if (isForSale(before) || !isForSale(after)) return usagePrices;
  const names = usagePrices.map(({ usageMeterSlug, priceSlug }) => ({ usageMeterSlug, priceSlug }));
  return findRates(work, pricingModelId, names);
}

/** The prices of a family after some of them are saved and others are added. */
export function pricesAfter(
  prices: readonly NewPrice[],
  { save, insert = [] }: { readonly save: readonly NewPrice[]; readonly insert?: readonly NewPrice[] },
): NewPrice[] {
  const saved = new Map(save.map((price) => [price.id, price]));
  return [...prices.map((price) => saved.get(price.id) ?? price), ...insert];
}

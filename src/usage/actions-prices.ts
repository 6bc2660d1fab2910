import { LRUCache } from 'lru-cache';
import type { Work } from '../platform/work.ts';
import { type PriceReference, resolvePrices } from './store.ts';
import { type NewUsageEvent, referenceOf, type UsagePrice, type UsageSubscription } from './usage-event.ts';

// What references of a pricing model lead to, at one version of it. The version is read in the unit of work that asks, and
// changes in the commit that changes a price or a meter, so nothing that is remembered can be out of date.
const known = new LRUCache<string, Map<string, UsagePrice>>({ max: 2_000 });

function pricesOf({ pricingModelId, catalogVersion }: UsageSubscription): Map<string, UsagePrice> {
  const key = `${pricingModelId} ${catalogVersion}`;
  const prices = known.get(key) ?? new Map<string, UsagePrice>();
  known.set(key, prices);
  return prices;
}

/** An event, of whose subscription the pricing model is. */
interface Asked {
  readonly event: NewUsageEvent;
  readonly subscription: UsageSubscription;
}

/** Looks up what references lead to. One statement for all that are not remembered, and none when all are. */
export async function findPrices(
  work: Work,
  asked: readonly Asked[],
): Promise<(asked: Asked) => UsagePrice | undefined> {
  const prices = new Map<string, Map<string, UsagePrice>>();
  const missing = new Map<string, PriceReference>();
  for (const { event, subscription } of asked) {
    const { pricingModelId } = subscription;
    const ofModel = prices.get(pricingModelId) ?? pricesOf(subscription);
    prices.set(pricingModelId, ofModel);
    const { kind, value } = referenceOf(event);
    const key = `${kind} ${value}`;
    if (!ofModel.has(key)) missing.set(`${pricingModelId} ${key}`, { pricingModelId, kind, value });
  }
  if (missing.size > 0) {
    const references = [...missing.values()];
    const found = await resolvePrices(work, references);
    for (const [index, { pricingModelId, kind, value }] of references.entries()) {
      const price = found[index];
      if (price !== undefined) prices.get(pricingModelId)?.set(`${kind} ${value}`, price);
    }
  }
  return ({ event, subscription }) => {
    const { kind, value } = referenceOf(event);
    return prices.get(subscription.pricingModelId)?.get(`${kind} ${value}`);
  };
}

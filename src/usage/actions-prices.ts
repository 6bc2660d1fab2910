import { LRUCache } from 'lru-cache';
import type { Work } from '../database/work.ts';
import { type PriceReference, resolvePrices } from './store.ts';
import {
  type NewUsageEvent,
  type ReferenceKind,
  referenceOf,
  type UsagePrice,
  type UsageSubscription,
} from './usage-event.ts';

// What references of a pricing model lead to, at one version of it. The version is read in the unit of work that asks, and
// changes in the commit that changes a price or a meter, so nothing that is remembered can be out of date.
const known = new LRUCache<string, PricesByReference>({ max: 2_000 });

/** Prices by kind of reference, then by its value: to put both together for each event would take longer. */
type PricesByReference = Readonly<Record<ReferenceKind, Map<string, UsagePrice>>>;

function pricesOf({ pricingModelId, catalogVersion }: UsageSubscription): PricesByReference {
  const key = `${pricingModelId} ${catalogVersion}`;
  const remembered = known.get(key);
  if (remembered !== undefined) return remembered;
  const none = { priceId: new Map(), priceSlug: new Map(), usageMeterId: new Map(), usageMeterSlug: new Map() };
  known.set(key, none);
  return none;
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
  const prices = new Map<string, PricesByReference>();
  const missing = new Map<string, PriceReference>();
  for (const { event, subscription } of asked) {
    const { pricingModelId } = subscription;
    let ofModel = prices.get(pricingModelId);
    if (ofModel === undefined) {
      ofModel = pricesOf(subscription);
      prices.set(pricingModelId, ofModel);
    }
    const { kind, value } = referenceOf(event);
    if (!ofModel[kind].has(value)) missing.set(`${pricingModelId} ${kind} ${value}`, { pricingModelId, kind, value });
  }
  if (missing.size > 0) {
    const references = [...missing.values()];
    const found = await resolvePrices(work, references);
    for (const [index, { pricingModelId, kind, value }] of references.entries()) {
      const price = found[index];
      if (price !== undefined) prices.get(pricingModelId)?.[kind].set(value, price);
    }
  }
  return ({ event, subscription }) => {
    const { kind, value } = referenceOf(event);
    return prices.get(subscription.pricingModelId)?.[kind].get(value);
  };
}

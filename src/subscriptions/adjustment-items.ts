import type { Instant, Interval } from '../kernel/calendar.ts';
import { refuseFineAmount } from '../kernel/currency.ts';
import { isSameJson } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import type { Price } from '../pricing/price.ts';
import type { Priced } from '../pricing/pricing.ts';
import { type PlanItem, planTotal } from './adjustment.ts';
import type { AdjustedItem } from './adjustment-input.ts';
import { isRemoval, type OverrideChange, termsOf } from './price-override.ts';
import type { SubscriptionRow } from './subscription.ts';
import { itemName, type SubscriptionItemRow } from './subscription-item.ts';
import { maxPeriodAmount, subscriptionName } from './subscription-start.ts';

/** The possible targets of a change: what the pricing model sells. */
export interface Catalog {
  readonly prices: readonly Price[];
  readonly products: ReadonlyMap<
    string,
    { readonly id: string; readonly name: string; readonly active: boolean; readonly addOn: boolean }
  >;
}

/** The context that a request is resolved against. */
interface Context {
  readonly subscription: SubscriptionRow;
  /** The current items, including the item of manually added features. */
  readonly current: readonly SubscriptionItemRow[];
  readonly catalog: Catalog;
  /** The time of the change. */
  readonly at: Instant;
  /** Own prices of the customer after the change, and the prices that have their own terms again. */
  readonly overrides: readonly Pick<OverrideChange, 'priceId' | 'unitPrice' | 'pricing'>[];
}

const itemsPath = ['adjustment', 'newSubscriptionItems'] as const;

/**
 * Resolves the complete new set of items. Items without a price, expired and manual ones are skipped. Refuses, in this order,
 * unknown items, prices that are not for sale, and then values out of range, prices of another type, and mixed billing
 * intervals.
 */
export function resolveItems(given: readonly AdjustedItem[], context: Context): PlanItem[] {
  const named = given.map((item, index) => findNamed(item, index, context)).filter((item) => item !== null);
  refuseRepeats(named);
  const items = named.map((item) => toPlanItem(item, context)).sort(byAge);
  if (items.length === 0) {
    throw invalid(itemsPath, 'must name at least one item with a price; to end the subscription, cancel it');
  }
  if (items.every(({ addOn }) => addOn)) throw invalid(itemsPath, 'must name a plan: add-ons are sold beside one');
  refuseTooMuch(items);
  const [first, ...others] = items.map(({ interval }) => intervalText(interval));
  if (others.some((text) => text !== first)) throw invalid(itemsPath, 'must all have the same billing interval');
  return items;
}

/** Sorts existing items first, oldest first, then new ones in the given order. */
function byAge(a: PlanItem, b: PlanItem): number {
  if (a.id === null || b.id === null) return Number(a.id === null) - Number(b.id === null);
  return a.id < b.id ? -1 : 1;
}

function refuseRepeats(named: readonly Named[]): void {
  const seen = new Set<string>();
  for (const { existing, index } of named) {
    if (existing !== null && seen.has(existing.id)) throw invalid([...itemsPath, index, 'id'], 'must appear only once');
    if (existing !== null) seen.add(existing.id);
  }
}

/** An item of the request with its resolved references. */
interface Named {
  readonly given: AdjustedItem;
  readonly index: number;
  readonly existing: SubscriptionItemRow | null;
  readonly price: Price;
  readonly product: { readonly id: string; readonly name: string; readonly addOn: boolean };
}

function findNamed(given: AdjustedItem, index: number, context: Context): Named | null {
  const { subscription, current, at } = context;
  const path = [...itemsPath, index];
  if (given.subscriptionId !== undefined && given.subscriptionId !== subscription.id) {
    throw invalid([...path, 'subscriptionId'], `must be ${subscription.id}, the subscription in the path`);
  }
  const existing = current.find((item) => item.id === given.id) ?? null;
  if (given.manuallyCreated === true || existing?.manuallyCreated) return null;
  if (given.expiredAt != null) {
    if (given.expiredAt <= at) return null;
    throw invalid([...path, 'expiredAt'], 'must not be later than the change; to end the item then, schedule a change');
  }
  if (given.id !== undefined && existing === null) throw new Problem('subscriptionItemNotFound', { id: given.id });
  const reference = given.priceSlug ?? given.priceId ?? existing?.priceId ?? null;
  if (reference === null) {
    // A full record states that it has no price, so it is not a plan item; a short one is missing the price.
    if (given.priceId === null || given.subscriptionId !== undefined) return null;
    throw invalid([...path, 'priceId'], 'send priceId or priceSlug');
  }
  const price = findPrice(reference, { ...context, bySlug: Boolean(given.priceSlug) });
  const product = price?.productId ? context.catalog.products.get(price.productId) : undefined;
  // An item may keep its price after that price is withdrawn from sale.
  const isSold = price?.active && product?.active !== false;
  if (price === undefined || (!isSold && price.id !== existing?.priceId)) {
    throw new Problem('activePriceNotFound', { id: reference });
  }
  if (price.type !== 'subscription' || product === undefined) {
    throw new Problem('priceNotSubscribable', { id: price.id, type: price.type });
  }
  return { given, index, existing, price, product };
}

function findPrice(reference: string, { subscription, catalog, bySlug }: Context & { bySlug: boolean }) {
  const prices = catalog.prices.filter((price) => price.pricingModelId === subscription.pricingModelId);
  const named = bySlug ? prices.find((price) => price.active && price.slug === reference) : undefined;
  return named ?? prices.find((price) => price.id === reference);
}

function toPlanItem({ given, index, existing, price, product }: Named, context: Context): PlanItem {
  const quantity = given.quantity ?? existing?.quantity ?? 1;
  if (quantity === 0) {
    throw invalid([...itemsPath, index, 'quantity'], 'must be at least 1; to end an item, omit it');
  }
  const isSamePrice = existing?.priceId === price.id;
  const name = itemName(price.name ?? product.name, quantity);
  return {
    id: existing?.id ?? null,
    priceId: price.id,
    productId: product.id,
    addOn: product.addOn,
    ...pricedAs(given, { price, existing: isSamePrice ? existing : null }, context, [...itemsPath, index]),
    quantity,
    name: given.name === undefined || given.name === existing?.name ? nameAfter(existing, name, context) : given.name,
    externalId: given.externalId === undefined ? (existing?.externalId ?? null) : given.externalId,
    metadata: given.metadata === undefined ? (existing?.metadata ?? null) : given.metadata,
    planName: subscriptionName(product, price),
    interval: otherInterval(price, context),
  };
}

/**
 * The terms of an item. A price with own terms of the customer has those; a record of the item from before may be sent
 * back beside them.
 */
function pricedAs(
  given: AdjustedItem,
  { price, existing }: { readonly price: Price; readonly existing: SubscriptionItemRow | null },
  { overrides }: Context,
  path: readonly (string | number)[],
): Pick<PlanItem, 'unitPrice' | 'pricing'> {
  const own = overrides.find(({ priceId }) => priceId === price.id);
  if (own === undefined) {
    const terms = requestedTerms(given, existing ?? price, path);
    // An item from before keeps its amount.
    if (terms.unitPrice !== existing?.unitPrice)
      refuseFineAmount([...path, 'unitPrice'], terms.unitPrice, price.currency);
    return terms;
  }
  const { unitPrice, pricing } = isRemoval(own) ? price : termsOf(own);
  const known = existing === null ? [{ unitPrice, pricing }] : [{ unitPrice, pricing }, existing];
  if (given.unitPrice !== undefined && !known.some((terms) => terms.unitPrice === given.unitPrice))
    throw invalid([...path, 'unitPrice'], `must be ${unitPrice} or absent: priceOverrides says the price of this item`);
  if (given.pricing != null && !known.some((terms) => isSameJson(terms.pricing, given.pricing)))
    throw invalid([...path, 'pricing'], 'must be absent: priceOverrides says the price of this item');
  return { unitPrice, pricing };
}

/**
 * The requested unit price, else what `usual` says: the item at the same price, or the price. A record that is sent back has
 * `unitPrice: 0` beside its pricing, so that 0 takes no pricing away.
 */
function requestedTerms(
  { unitPrice, pricing }: AdjustedItem,
  usual: Priced,
  path: readonly (string | number)[],
): Pick<PlanItem, 'unitPrice' | 'pricing'> {
  const same = { unitPrice: usual.unitPrice, pricing: usual.pricing };
  if (pricing != null) {
    if (!isSameJson(pricing, usual.pricing))
      throw invalid([...path, 'pricing'], 'must be that of the price, or absent: make another price for other terms');
    if (unitPrice) throw invalid([...path, 'unitPrice'], 'must be 0 or absent beside pricing');
    return same;
  }
  if (usual.pricing === null) return { ...same, unitPrice: unitPrice ?? usual.unitPrice };
  if (pricing === null && unitPrice === undefined)
    throw invalid([...path, 'unitPrice'], 'must be given where the pricing is taken away');
  const takesPlace = unitPrice !== undefined && (unitPrice > 0n || pricing === null);
  return takesPlace ? { unitPrice, pricing: null } : same;
}

/** An item keeps a custom name; a name that came from its price changes with the price. */
function nameAfter(existing: SubscriptionItemRow | null, name: string, { catalog }: Context): string | null {
  if (existing === null) return name;
  const price = catalog.prices.find((each) => each.id === existing.priceId);
  const product = price?.productId ? catalog.products.get(price.productId) : undefined;
  const calledByPrice = itemName(price?.name ?? product?.name ?? '', existing.quantity);
  return existing.name === calledByPrice ? name : existing.name;
}

/** The price's interval if it differs from both the subscription's and its head price's; else null. */
function otherInterval(price: Price, { subscription, catalog }: Context): Interval | null {
  const interval = intervalOf(price);
  const header = catalog.prices.find((each) => each.id === subscription.priceId);
  const known = [
    { intervalUnit: subscription.intervalUnit, intervalCount: subscription.intervalCount },
    ...(header === undefined ? [] : [header]),
  ];
  return known.some((each) => intervalText(intervalOf(each)) === intervalText(interval)) ? null : interval;
}

function intervalOf(priced: Pick<Price, 'intervalUnit' | 'intervalCount'>): Interval | null {
  const { intervalUnit: unit, intervalCount: count } = priced;
  return unit === null || count === null ? null : { unit, count };
}

function intervalText(interval: Interval | null): string {
  return interval === null ? '' : `${interval.count} ${interval.unit}`;
}

/** The limit of a single payment also bounds a period. */
function refuseTooMuch(items: readonly PlanItem[]): void {
  const total = planTotal(items, 1n);
  if (total > maxPeriodAmount) throw invalid(itemsPath, `must cost at most ${maxPeriodAmount} in total, not ${total}`);
}

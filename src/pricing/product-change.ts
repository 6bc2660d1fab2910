import type { Instant } from '../kernel/calendar.ts';
import { refuseFineAmount } from '../kernel/currency.ts';
import { isSameJson } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import type { Feature } from './feature.ts';
import type { NewPrice, Price } from './price.ts';
import { type ProductPriceChange, refuseBadSlug } from './price-input.ts';
import { extraAmounts, extraOfFreePrice } from './pricing.ts';
import {
  decideQuantityLimits,
  isReservedProductSlug,
  type Product,
  type ProductChange,
  type ProductFeature,
} from './product.ts';

/** Fields of the default product that cannot change. */
const fixedOnDefault = ['slug', 'singularQuantityLabel', 'pluralQuantityLabel', 'maximumQuantity'] as const;

/**
 * The product after a change. The default product can change only its texts and rates, and stays active. `usagePrices` are
 * the rates that are requested.
 */
export function decideProductChange(
  product: Product,
  { id: _, ...change }: ProductChange,
  usagePrices = product.usagePrices,
): Product {
  if (change.default !== undefined && change.default !== product.default) {
    throw invalid(['product', 'default'], `must be ${product.default}: the default product cannot change`);
  }
  if (change.addOn !== undefined && change.addOn !== product.addOn)
    throw invalid(['product', 'addOn'], `must be ${product.addOn}: make another product`);
  const changed: Product = {
    ...product,
    name: change.name ?? product.name,
    slug: change.slug ?? product.slug,
    description: sentOr(change.description, product.description),
    imageURL: sentOr(change.imageURL, product.imageURL),
    singularQuantityLabel: sentOr(change.singularQuantityLabel, product.singularQuantityLabel),
    pluralQuantityLabel: sentOr(change.pluralQuantityLabel, product.pluralQuantityLabel),
    ...decideQuantityLimits(product, change),
    usagePrices,
    active: change.active ?? product.active,
    metadata: sentOr(change.metadata, product.metadata),
  };
  if (product.default) {
    const field = fixedOnDefault.find((each) => changed[each] !== product[each]);
    if (field !== undefined) throw invalid(['product', field], 'cannot change for the default product');
    return { ...changed, active: true };
  }
  if (changed.slug !== product.slug && isReservedProductSlug(changed.slug)) {
    throw invalid(['product', 'slug'], 'is reserved for the default product');
  }
  return changed;
}

function sentOr<Value>(sent: Value | undefined, stored: Value): Value {
  return sent === undefined ? stored : sent;
}

/** Product prices to save and to insert. */
interface PricesToWrite {
  readonly save: readonly Price[];
  readonly insert: readonly NewPrice[];
}

/**
 * Decides the prices of a changed product. The slug of its default price follows the product's. New terms create a new
 * default price and deactivate the old one, so existing subscribers keep their terms. Prices are deactivated with their
 * product; the default one is also activated with it.
 */
export function decideProductPrices(
  before: Product,
  after: Product,
  prices: readonly Price[],
  requested: ProductPriceChange | undefined,
  newPriceId: string,
): PricesToWrite {
  const current = prices.find((price) => price.isDefault) ?? prices.at(-1);
  if (current === undefined || before.default) return { save: [], insert: [] };
  const followed = after.slug !== before.slug && current.active ? after.slug : current.slug;
  const name = sentOr(requested?.name, current.name);
  const metadata = sentOr(requested?.metadata, current.metadata);
  const slug = sentOr(requested?.slug, followed);
  if (slug !== current.slug)
    refuseBadSlug(slug, requested?.slug === undefined ? ['product', 'slug'] : ['price', 'slug']);
  const terms = requested === undefined ? current : termsAskedFor(current, before, requested);
  const active = after.active && (current.active || !before.active);
  const others = after.active
    ? []
    : prices.filter((price) => price.active && price !== current).map((price) => ({ ...price, active: false }));
  if (haveSameTerms(terms, current)) {
    const changed = { ...current, name, slug, active, metadata };
    return { save: isSameJson(changed, current) ? others : [{ ...changed, isDefault: true }, ...others], insert: [] };
  }
  const { createdAt: _, updatedAt: __, livemode: ___, ...made } = { ...terms, name, slug, metadata, id: newPriceId };
  return {
    save: [{ ...current, isDefault: false, active: false }, ...others],
    insert: [{ ...made, isDefault: true, active: after.active }],
  };
}

function haveSameTerms(a: Price, b: Price): boolean {
  return (
    a.unitPrice === b.unitPrice &&
    a.intervalUnit === b.intervalUnit &&
    a.intervalCount === b.intervalCount &&
    a.overage === b.overage &&
    a.billingTiming === b.billingTiming &&
    isSameJson(a.pricing, b.pricing) &&
    extraAmounts.every((field) => (a[field] ?? 0n) === (b[field] ?? 0n)) &&
    // The absence of a trial or a fee can be stored as null or 0.
    (a.trialPeriodDays ?? 0) === (b.trialPeriodDays ?? 0)
  );
}

const onlyOfSubscriptions = [
  'intervalUnit',
  'intervalCount',
  'trialPeriodDays',
  'overage',
  'billingTiming',
  'pricing',
  ...extraAmounts,
  'usageInterval',
] as const;

function termsAskedFor(current: Price, { id }: Product, requested: ProductPriceChange): Price {
  if (requested.productId !== undefined && requested.productId !== id) {
    throw invalid(['price', 'productId'], `must be ${id}, the product itself`);
  }
  if (requested.type !== undefined && requested.type !== current.type) {
    throw new Problem('priceTypeFixed', { id, type: current.type });
  }
  const { unitPrice, pricing } = amountAskedFor(current, requested);
  for (const field of ['unitPrice', ...extraAmounts] as const)
    refuseFineAmount(['price', field], requested[field] ?? 0n, current.currency);
  if (current.type !== 'subscription') {
    for (const field of onlyOfSubscriptions) {
      if (requested[field] != null)
        throw invalid(['price', field], `must be absent or null for a ${current.type} price`);
    }
    return { ...current, unitPrice };
  }
  for (const field of ['intervalUnit', 'intervalCount'] as const) {
    if (requested[field] === null) throw invalid(['price', field], 'must not be null for a subscription price');
  }
  const setupFeeAmount = sentOr(requested.setupFeeAmount, current.setupFeeAmount);
  const minimumCommitment = sentOr(requested.minimumCommitment, current.minimumCommitment);
  const extra = { setupFeeAmount, minimumCommitment };
  for (const field of extraAmounts) {
    if (extra[field] && unitPrice === 0n && pricing === null) throw invalid(['price', field], extraOfFreePrice);
  }
  return {
    ...current,
    unitPrice,
    ...extra,
    intervalUnit: requested.intervalUnit ?? current.intervalUnit,
    intervalCount: requested.intervalCount ?? current.intervalCount,
    trialPeriodDays: sentOr(requested.trialPeriodDays, current.trialPeriodDays),
    overage: requested.overage ?? current.overage,
    billingTiming: requested.billingTiming ?? current.billingTiming,
    pricing,
  };
}

/** A unit price or a pricing: one takes the place of the other. A repeated `unitPrice: 0` takes no pricing away. */
function amountAskedFor(current: Price, requested: ProductPriceChange): Pick<Price, 'unitPrice' | 'pricing'> {
  const { unitPrice = current.unitPrice, pricing = current.pricing } = requested;
  if (pricing !== null && requested.pricing) return { unitPrice: 0n, pricing };
  if (pricing !== null && unitPrice !== 0n)
    throw invalid(['price', 'unitPrice'], 'must be 0 or absent: send pricing: null with it to take the pricing away');
  if (pricing === null && current.pricing !== null && requested.unitPrice === undefined)
    throw invalid(['price', 'unitPrice'], 'must be given where the pricing is taken away');
  return { unitPrice, pricing };
}

/** Whether a link still gives its feature to new subscriptions. */
export function isLinkActive(link: { readonly expiredAt: Instant | null }, at: Instant): boolean {
  return link.expiredAt === null || link.expiredAt > at;
}

/** Decides how a product gets exactly these features: the links to create or revive, and the links to expire. */
export function decideFeatureLinks(
  links: readonly ProductFeature[],
  featureIds: readonly string[],
  at: Instant,
): { readonly featureIdsToLink: string[]; readonly linkIdsToExpire: string[] } {
  const active = links.filter((link) => isLinkActive(link, at));
  const given = new Set(active.map((link) => link.featureId));
  const wanted = new Set(featureIds);
  return {
    featureIdsToLink: [...wanted].filter((id) => !given.has(id)),
    linkIdsToExpire: active.filter((link) => !wanted.has(link.featureId)).map((link) => link.id),
  };
}

/** Refuses features of another pricing model. */
export function refuseForeignFeatures(
  { pricingModelId }: { readonly pricingModelId: string },
  features: readonly Feature[],
): void {
  const foreign = features.find((feature) => feature.pricingModelId !== pricingModelId);
  if (foreign !== undefined) throw new Problem('otherPricingModel', { record: 'feature', id: foreign.id });
}

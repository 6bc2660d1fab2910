import type { NewPrice, Price } from './price.ts';
import type { NewProduct, Product } from './product.ts';
import { isLinkActive } from './product-change.ts';
import type { NewProductFeature } from './product-feature.ts';
import type { ProductPriceStructure, ProductStructure } from './structure.ts';
import { type Changes, type FeaturePlan, known, type PlanContext, withFields } from './structure-changes.ts';
import {
  isSold,
  type PricingModelContents,
  type ProductPrice,
  pricesByOwner,
  representatives,
  standingPrice,
} from './structure-contents.ts';

export interface ProductPlan extends Changes<NewProduct, Product> {
  readonly prices: Changes<NewPrice, Price>;
  readonly renamedPrices: readonly Price[];
  readonly links: { readonly linked: readonly NewProductFeature[]; readonly expired: readonly string[] };
}

/** A product that the structure names, and the stored one it is, if any. */
interface Wanted extends ProductStructure {
  readonly id: string;
  readonly row: Product | undefined;
}

interface PriceChanges {
  readonly made: NewPrice[];
  readonly changed: Price[];
  readonly renamed: Price[];
}

/** Products are made or changed, and deactivated when they are missing in `wanted`; prices and links follow. */
export function planProducts(
  current: PricingModelContents,
  wanted: readonly ProductStructure[],
  features: FeaturePlan,
  context: PlanContext,
): ProductPlan {
  const { ofProduct } = pricesByOwner(current.prices);
  const pricesOf = (product: Product) => ofProduct.get(product.id) ?? [];
  const matched = wanted.map((each): Wanted => {
    const row = matchProduct(current.products, each, (product) => standingPrice(pricesOf(product)).type);
    return { ...each, row, id: row?.id ?? context.newId('product') };
  });
  const made: NewProduct[] = [];
  const changed: Product[] = [];
  const prices: PriceChanges = { made: [], changed: [], renamed: [] };
  for (const { id, row, product, price } of matched) {
    if (row === undefined) {
      made.push({ id, pricingModelId: context.pricingModelId, ...product });
      prices.made.push(newPrice(id, price, product.active, context));
      continue;
    }
    const change = changeProduct(row, product, pricesOf(row));
    if (change) changed.push(change);
    changePrices({ row, product, price }, pricesOf(row), prices, context);
  }
  const names = new Set(wanted.map(({ product }) => product.slug));
  const standing = [...representatives(current.products).values()];
  const removed = standing.filter(({ slug, active }) => active && !names.has(slug));
  changed.push(...removed.map((row) => ({ ...row, active: false })));
  prices.changed.push(...removed.flatMap((row) => ended(pricesOf(row))));
  return {
    made,
    changed,
    prices: { made: prices.made, changed: prices.changed },
    renamedPrices: prices.renamed,
    links: planLinks(current, matched, new Set(removed.map(({ id }) => id)), features, context),
  };
}

/**
 * The active product with the slug, else the newest inactive one that is sold in the same way: a product keeps the type of
 * its price for life.
 */
function matchProduct(
  products: readonly Product[],
  { product: { slug }, price }: ProductStructure,
  typeOf: (product: Product) => ProductPrice['type'],
): Product | undefined {
  const named = products.filter((product) => product.slug === slug);
  return named.find(({ active }) => active) ?? named.findLast((product) => typeOf(product) === price.type);
}

function changeProduct(row: Product, wanted: ProductStructure['product'], prices: readonly ProductPrice[]) {
  const { name, description, imageURL, singularQuantityLabel, pluralQuantityLabel } = wanted;
  const text = { name, description, imageURL, singularQuantityLabel, pluralQuantityLabel };
  const isAsWanted = isSold(row, standingPrice(prices)) === wanted.active;
  return withFields(row, { ...text, active: isAsWanted ? row.active : wanted.active });
}

/** The product's price gets its name, slug and state; on other terms it ends, and a new one takes its place. */
function changePrices(
  { row, product, price }: { row: Product } & Pick<ProductStructure, 'product' | 'price'>,
  prices: readonly ProductPrice[],
  changes: PriceChanges,
  context: PlanContext,
): void {
  const standing = standingPrice(prices);
  const isAsWanted = isSold(row, standing) === product.active;
  const active = isAsWanted ? standing.active : product.active;
  if (hasTerms(standing, price)) {
    const { name, slug } = price;
    const change = withFields<ProductPrice, Partial<ProductPrice>>(standing, { name, slug, active });
    if (change) changes.changed.push(change);
    if (change && slug !== standing.slug) changes.renamed.push(change);
  } else {
    changes.changed.push({ ...standing, active: false, isDefault: false });
    changes.made.push(newPrice(row.id, price, product.active, context));
  }
  if (!product.active && !isAsWanted) changes.changed.push(...ended(prices.filter((other) => other !== standing)));
}

/** The prices that can be bought, no longer so. */
function ended(prices: readonly ProductPrice[]): ProductPrice[] {
  return prices.filter(({ active }) => active).map((price) => ({ ...price, active: false }));
}

function newPrice(productId: string, price: ProductPriceStructure, active: boolean, context: PlanContext): NewPrice {
  const { pricingModelId, currency } = context;
  const owner = { pricingModelId, productId, usageMeterId: null, usageEventsPerUnit: null };
  return { id: context.newId('price'), ...owner, currency, isDefault: true, active, ...price };
}

/** Whether the price is agreed on these terms, which no price ever changes. No trial may be written as 0 or as null. */
function hasTerms(price: ProductPrice, wanted: ProductPriceStructure): boolean {
  return (
    price.type === wanted.type &&
    price.unitPrice === wanted.unitPrice &&
    price.intervalUnit === wanted.intervalUnit &&
    price.intervalCount === wanted.intervalCount &&
    (price.trialPeriodDays ?? 0) === (wanted.trialPeriodDays ?? 0)
  );
}

/**
 * What each wanted product gives is what the structure says; a removed product gives nothing, and nobody gives a removed
 * feature. Links to features that only shared a slug with a newer one are left as they are.
 */
function planLinks(
  current: PricingModelContents,
  wanted: readonly Wanted[],
  removedProducts: ReadonlySet<string>,
  features: FeaturePlan,
  context: PlanContext,
): ProductPlan['links'] {
  const given = new Map<string, Set<string>>();
  for (const { id, features: slugs } of wanted) given.set(id, new Set(slugs.map((slug) => known(features.ids, slug))));
  const expired: string[] = [];
  for (const { id, productId, featureId } of current.productFeatures.filter((link) =>
    isLinkActive(link, context.now),
  )) {
    const featureIds = given.get(productId);
    const goes =
      featureIds === undefined
        ? removedProducts.has(productId) || features.removed.has(featureId)
        : features.spokenOf.has(featureId) && !featureIds.has(featureId);
    if (goes) expired.push(id);
    featureIds?.delete(featureId);
  }
  const linked = [...given].flatMap(([productId, featureIds]) =>
    [...featureIds].map((featureId) => {
      const { newId, pricingModelId } = context;
      return { id: newId('productFeature'), pricingModelId, productId, featureId, expiredAt: null };
    }),
  );
  return { linked, expired };
}

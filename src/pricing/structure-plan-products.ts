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

/** A product of the structure, and its stored product, if any. */
interface Wanted extends ProductStructure {
  readonly id: string;
  readonly row: Product | undefined;
}

interface PriceChanges {
  readonly made: NewPrice[];
  readonly changed: Price[];
  readonly renamed: Price[];
}

/** Products are created, changed, or deactivated if missing in `wanted`; prices and links follow. */
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
 * The active product with the slug, else the newest inactive one with the same price type: the price type of a product
 * is fixed.
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

/** Updates the name, slug and state of the product's price. New terms end it and create another. */
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

/** The active prices, deactivated. */
function ended(prices: readonly ProductPrice[]): ProductPrice[] {
  return prices.filter(({ active }) => active).map((price) => ({ ...price, active: false }));
}

function newPrice(productId: string, price: ProductPriceStructure, active: boolean, context: PlanContext): NewPrice {
  const { pricingModelId, currency } = context;
  const owner = { pricingModelId, productId, usageMeterId: null, usageEventsPerUnit: null };
  return { id: context.newId('price'), ...owner, currency, isDefault: true, active, ...price };
}

/** Whether the price has these terms, which never change on a price. The absence of a trial may be 0 or null. */
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
 * Links follow the structure: a removed product loses all its features, and a removed feature all its products. Links
 * of features that only share a slug with a newer one stay.
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

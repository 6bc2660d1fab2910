import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import {
  currencyOf,
  describeUses,
  joinUses,
  keepElsewhere,
  only,
  refuseOtherId,
  removeElsewhere,
  required,
  requiredLocked,
  resolveLockedPricingModel,
} from './actions.ts';
import { addUsagePrice, findRates, pricesAfter, ratesAfter } from './actions-prices.ts';
import { type Feature, type FeatureValue, givenFeature, valueIssue } from './feature.ts';
import {
  type FirstPriceInput,
  freePriceOf,
  newProductPrice,
  type ProductPriceChange,
  type UsagePriceInput,
} from './price-input.ts';
import { type ProductWithPrices, withPrices } from './pricing-model.ts';
import {
  addOnPriceIssue,
  decideQuantityLimits,
  isReservedProductSlug,
  type Product,
  type ProductChange,
  type ProductFeature,
  type ProductInput,
  slugOfName,
} from './product.ts';
import {
  decideFeatureLinks,
  decideProductChange,
  decideProductPrices,
  isLinkActive,
  refuseForeignFeatures,
} from './product-change.ts';
import { findFeature, findFeatures } from './store-features.ts';
import { insertPrices, listPricesOfProducts, savePrices } from './store-prices.ts';
import * as store from './store-products.ts';
import {
  type DeletedParts,
  deleteProduct as deleteRowsOfProduct,
  lockProductAgainstUse,
  type Use,
  usesOfCustomers,
} from './store-structure.ts';
import { findUsageMeter } from './store-usage-meters.ts';

interface ProductRequest {
  readonly product: ProductInput;
  readonly price: FirstPriceInput;
  readonly featureIds?: readonly string[] | undefined;
}

/**
 * Creates a product with its default price and its features. With a usage price, that one is added to its usage meter, and
 * the product itself costs nothing.
 */
export async function createProduct(
  work: Work,
  { product: requested, price, featureIds = [] }: ProductRequest,
): Promise<Product> {
  if (requested.default) throw new Problem('defaultProductNotCreatable');
  const id = newId('product');
  const slug = requested.slug ?? slugOfName(requested.name) ?? id;
  if (requested.addOn && price.type !== 'subscription') throw invalid(['price', 'type'], addOnPriceIssue);
  if (isReservedProductSlug(slug)) throw invalid(['product', 'slug'], 'is reserved for the default product');
  const pricingModelId = await resolveLockedPricingModel(work, requested.pricingModelId);
  refuseForeignFeatures({ pricingModelId }, await requireFeatures(work, featureIds));
  const row = {
    id,
    pricingModelId,
    name: requested.name,
    slug,
    description: requested.description ?? null,
    imageURL: requested.imageURL ?? null,
    singularQuantityLabel: requested.singularQuantityLabel ?? null,
    pluralQuantityLabel: requested.pluralQuantityLabel ?? null,
    ...decideQuantityLimits({ minimumQuantity: null, maximumQuantity: null }, requested),
    usagePrices: await findRates(work, pricingModelId, requested.usagePrices ?? []),
    addOn: requested.addOn ?? false,
    default: false,
    active: true,
    metadata: requested.metadata ?? null,
  };
  const product = only(await store.insertProducts(work, [row]));
  const own = price.type === 'usage' ? await sellByUsage(work, product, price) : price;
  await insertPrices(work, [newProductPrice(newId('price'), product, own, currencyOf(work))]);
  await link(work, product, featureIds);
  return product;
}

/** Adds the price to its usage meter, and returns the product's own price. */
async function sellByUsage(work: Work, { pricingModelId }: Product, price: UsagePriceInput) {
  const meter = await required(work, findUsageMeter, price.usageMeterId, 'usageMeterNotFound');
  if (meter.pricingModelId !== pricingModelId) {
    throw new Problem('otherPricingModel', { record: 'usage meter', id: meter.id });
  }
  await addUsagePrice(work, meter, {
    ...price,
    isDefault: price.isDefault ?? (price.active !== false && !price.where),
  });
  return freePriceOf(price);
}

/** Returns the features with these ids, which must all exist. */
async function requireFeatures(work: Work, ids: readonly string[]): Promise<Feature[]> {
  const features = await findFeatures(work, ids);
  const found = new Set(features.map((feature) => feature.id));
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) throw new Problem('featureNotFound', { id: missing });
  return features;
}

async function link(work: Work, product: { id: string; pricingModelId: string }, featureIds: readonly string[]) {
  const { id: productId, pricingModelId } = product;
  const links = featureIds.map((featureId) => ({
    id: newId('productFeature'),
    pricingModelId,
    productId,
    featureId,
    expiredAt: null,
  }));
  await store.linkFeatures(work, links);
}

/** Returns a product with its prices and features. */
export async function getProduct(work: Work, id: string): Promise<ProductWithPrices> {
  const product = await required(work, store.findProduct, id, 'productNotFound');
  const prices = await listPricesOfProducts(work, [id]);
  const links = await store.listProductFeatures(work, [id]);
  const active = new Map(links.filter((each) => isLinkActive(each, work.now)).map((each) => [each.featureId, each]));
  const features = await findFeatures(work, [...active.keys()]);
  return withPrices(
    product,
    prices,
    features.map((feature) => givenFeature(feature, active.get(feature.id)?.value)),
  );
}

/** Lists products without their prices. */
export async function listProducts(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfProducts(work, request);
  return page(request, rows, total);
}

export interface ProductUpdate {
  readonly product: ProductChange;
  readonly price?: ProductPriceChange | undefined;
  /** The complete new set of features; undefined: unchanged. */
  readonly featureIds?: readonly string[] | undefined;
}

/**
 * Changes a product, its default price and its features. Also returns the links that expired; the caller updates the
 * subscriptions that have those features.
 */
export async function updateProduct(
  work: Work,
  id: string,
  { product: change, price, featureIds }: ProductUpdate,
): Promise<{ product: Product; expiredProductFeatureIds: string[] }> {
  refuseOtherId(id, change.id);
  const before = await requiredLocked(work, store.findProduct, id, 'productNotFound');
  const { usagePrices: requested } = change;
  const rates = requested && (await findRates(work, before.pricingModelId, requested));
  const after = decideProductChange(before, change, rates);
  const prices = await listPricesOfProducts(work, [id]);
  const toWrite = decideProductPrices(before, after, prices, price, newId('price'));
  const sale = { product: after, prices: pricesAfter(prices, toWrite) };
  const usagePrices = rates ?? (await ratesAfter(work, { product: before, prices }, sale));
  const product = only(await store.saveProducts(work, [{ ...after, usagePrices }]));
  await savePrices(work, toWrite.save);
  await insertPrices(work, toWrite.insert);
  if (featureIds === undefined) return { product, expiredProductFeatureIds: [] };
  const features = await requireFeatures(work, featureIds);
  refuseForeignFeatures(product, features);
  const links = await store.listProductFeatures(work, [id]);
  const { featureIdsToLink, linkIdsToExpire } = decideFeatureLinks(links, featureIds, work.now);
  await link(work, product, featureIdsToLink);
  await store.expireProductFeatures(work, linkIdsToExpire);
  return { product, expiredProductFeatureIds: linkIdsToExpire };
}

/**
 * Deletes a product that nothing uses, with its prices and its links to features. Returns it as it was, and how many
 * records went with it. Refuses the default product, and one in use with `productInUse`.
 */
export async function deleteProduct(
  work: Work,
  id: string,
  elsewhere: readonly (readonly Use[])[],
): Promise<{ product: Product; deleted: Pick<DeletedParts, 'prices' | 'productFeatures'> } | Problem> {
  const removal = { table: 'products', id } as const;
  const product = await requiredLocked(work, store.findProduct, id, 'productNotFound');
  if (product.default) throw new Problem('defaultProductNotDeletable', { id });
  const uses = joinUses([await lockProductAgainstUse(work, id), ...elsewhere]);
  if (uses.length > 0) {
    await keepElsewhere(work, removal);
    return new Problem('productInUse', { id, uses: describeUses(uses) });
  }
  await removeElsewhere(work, removal);
  return { product, deleted: await deleteRowsOfProduct(work, id) };
}

/** The records of this cell's customers that use a product. */
export async function listUsesOfProduct(work: Work, id: string): Promise<Use[]> {
  return usesOfCustomers(await lockProductAgainstUse(work, id));
}

interface ProductFeatureRequest {
  readonly productId: string;
  readonly featureId: string;
  readonly expiredAt?: Instant | null | undefined;
  /** Absent: the product gives that of the feature. */
  readonly value?: FeatureValue | null | undefined;
}

/**
 * Adds a feature to a product. An expired link is revived, whatever `expiredAt` says, and a link that exists gets the
 * value. Existing subscriptions do not get the feature, and keep their value.
 */
export async function createProductFeature(work: Work, requested: ProductFeatureRequest): Promise<ProductFeature> {
  const product = await requiredLocked(work, store.findProduct, requested.productId, 'productNotFound');
  const feature = await required(work, findFeature, requested.featureId, 'featureNotFound');
  refuseForeignFeatures(product, [feature]);
  const issue = valueIssue(feature, requested.value);
  if (issue) throw invalid(['productFeature', 'value'], issue);
  return only(
    await store.linkFeatures(work, [
      {
        id: newId('productFeature'),
        pricingModelId: product.pricingModelId,
        productId: product.id,
        featureId: feature.id,
        expiredAt: requested.expiredAt ?? null,
        ...(requested.value == null ? {} : { value: requested.value }),
      },
    ]),
  );
}

/** Returns the link between a product and a feature. */
export async function getProductFeature(work: Work, id: string): Promise<ProductFeature> {
  return required(work, store.findProductFeature, id, 'productFeatureNotFound');
}

/** Lists the links between products and features, expired ones included. */
export async function listProductFeatures(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfProductFeatures(work, request);
  return page(request, rows, total);
}

/** Expires a link now: later subscriptions do not get the feature. An expired link keeps its date. */
export async function expireProductFeature(work: Work, id: string): Promise<void> {
  await requiredLocked(work, store.findProductFeature, id, 'productFeatureNotFound');
  await store.expireProductFeatures(work, [id]);
}

import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import type { Feature } from './feature.ts';
import { isNoChargePrice } from './no-charge-price.ts';
import type { Price } from './price.ts';
import type { Product } from './product.ts';
import { isLinkActive } from './product-change.ts';
import type { ProductFeature } from './product-feature.ts';
import type { Resource } from './resource.ts';
import type {
  FeatureStructure,
  ProductPriceStructure,
  ProductStructure,
  Structure,
  UsageMeterStructure,
  UsagePriceStructure,
} from './structure.ts';
import type { UsageMeter } from './usage-meter.ts';

/** The records of one pricing model, active or not, expired or not; each list in order of creation. */
export interface PricingModelContents {
  readonly resources: readonly Resource[];
  readonly usageMeters: readonly UsageMeter[];
  readonly features: readonly Feature[];
  readonly products: readonly Product[];
  readonly prices: readonly Price[];
  readonly productFeatures: readonly ProductFeature[];
}

export const noContents: PricingModelContents = {
  resources: [],
  usageMeters: [],
  features: [],
  products: [],
  prices: [],
  productFeatures: [],
};

export type UsagePrice = Extract<Price, { type: 'usage' }>;
export type ProductPrice = Exclude<Price, UsagePrice>;

/**
 * The record that owns each slug: the active one, else the newest. Several records may have had a slug, because
 * deactivation frees it. In order of creation.
 */
export function representatives<Row extends { id: string; slug: string; active: boolean }>(
  rows: readonly Row[],
): Map<string, Row> {
  const found = new Map<string, Row>();
  for (const row of rows) {
    if (found.get(row.slug)?.active) continue;
    found.delete(row.slug);
    found.set(row.slug, row);
  }
  return found;
}

/** The price that represents a product: its default one. */
export function standingPrice(prices: readonly ProductPrice[]): ProductPrice {
  const price = prices.find(({ isDefault }) => isDefault) ?? prices.at(-1);
  assert(price, 'every product has a price');
  return price;
}

/** Whether the product is for sale: not while its price is inactive. The default product always is. */
export function isSold(product: Product, price: ProductPrice): boolean {
  return product.default || (product.active && price.active);
}

/** The prices of each product and each usage meter, by id. */
export function pricesByOwner(prices: readonly Price[]) {
  const ofProduct = new Map<string, ProductPrice[]>();
  const ofUsageMeter = new Map<string, UsagePrice[]>();
  for (const price of prices) {
    if (price.type === 'usage') append(ofUsageMeter, price.usageMeterId, price);
    else append(ofProduct, price.productId, price);
  }
  return { ofProduct, ofUsageMeter };
}

function append<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** Describes records by slugs. Setting the result up creates the same again; updating with it changes nothing. */
export function describeContents(contents: PricingModelContents, now: Instant): Structure {
  const { ofProduct, ofUsageMeter } = pricesByOwner(contents.prices);
  const features = representatives(contents.features);
  const slugOfUsageMeter = new Map(contents.usageMeters.map(({ id, slug }) => [id, slug]));
  const slugOfResource = new Map(contents.resources.map(({ id, slug }) => [id, slug]));
  const given = new Map<string, Set<string>>();
  for (const link of contents.productFeatures) {
    if (!isLinkActive(link, now)) continue;
    given.set(link.productId, (given.get(link.productId) ?? new Set()).add(link.featureId));
  }
  return {
    features: [...features.values()].map((feature) => describeFeature(feature, slugOfUsageMeter, slugOfResource)),
    products: [...representatives(contents.products).values()].map((product) => {
      const featureIds = given.get(product.id);
      const slugs = [...features.values()].filter(({ id }) => featureIds?.has(id)).map(({ slug }) => slug);
      return describeProduct(product, standingPrice(ofProduct.get(product.id) ?? []), slugs);
    }),
    usageMeters: contents.usageMeters.map((meter) => describeUsageMeter(meter, ofUsageMeter.get(meter.id) ?? [])),
    resources: [...representatives(contents.resources).values()].map(({ slug, name, active }) => ({
      slug,
      name,
      active,
    })),
  };
}

function describeFeature(
  feature: Feature,
  slugOfUsageMeter: ReadonlyMap<string, string>,
  slugOfResource: ReadonlyMap<string, string>,
): FeatureStructure {
  const { slug, name, description, active } = feature;
  const text = { slug, name, description, active };
  switch (feature.type) {
    case 'toggle':
      return { type: feature.type, ...text };
    case 'usage_credit_grant': {
      const { type, amount, renewalFrequency, rolloverMaximum, rolloverPeriods } = feature;
      const usageMeterSlug = slugOfUsageMeter.get(feature.usageMeterId);
      assert(usageMeterSlug !== undefined, 'a credit grant is for a usage meter of its own pricing model');
      return { type, ...text, amount, renewalFrequency, usageMeterSlug, rolloverMaximum, rolloverPeriods };
    }
    case 'resource': {
      const resourceSlug = slugOfResource.get(feature.resourceId);
      assert(resourceSlug !== undefined, 'a resource feature is for a resource of its own pricing model');
      return { type: feature.type, ...text, amount: feature.amount, resourceSlug };
    }
    default:
      return feature satisfies never;
  }
}

/** Describes a product with its price and features. */
export function describeProduct(product: Product, price: ProductPrice, features: readonly string[]): ProductStructure {
  return {
    product: {
      name: product.name,
      slug: product.slug,
      description: product.description,
      imageURL: product.imageURL,
      singularQuantityLabel: product.singularQuantityLabel,
      pluralQuantityLabel: product.pluralQuantityLabel,
      default: product.default,
      active: isSold(product, price),
    },
    price: describeProductPrice(price),
    features,
  };
}

function describeProductPrice(price: ProductPrice): ProductPriceStructure {
  const { name, slug, unitPrice } = price;
  if (price.type === 'single_payment') {
    const { type, intervalUnit, intervalCount, trialPeriodDays } = price;
    return { type, name, slug, unitPrice, intervalUnit, intervalCount, trialPeriodDays };
  }
  const { type, intervalUnit, intervalCount, trialPeriodDays } = price;
  return { type, name, slug, unitPrice, intervalUnit, intervalCount, trialPeriodDays };
}

function describeUsageMeter(meter: UsageMeter, prices: readonly UsagePrice[]): UsageMeterStructure {
  const { name, slug, aggregationType, lowBalanceThreshold } = meter;
  const own = prices.filter((price) => !isNoChargePrice(price));
  const named = representatives(own.filter(hasSlug));
  // An inactive price without a slug is history: no structure can refer to it.
  const shown = own.filter((price) =>
    hasSlug(price) ? named.get(price.slug) === price || price.active : price.active,
  );
  const usageMeter = { name, slug, aggregationType, lowBalanceThreshold };
  return { usageMeter, prices: shown.map(describeUsagePrice) };
}

function hasSlug(price: UsagePrice): price is UsagePrice & { slug: string } {
  return price.slug !== null;
}

function describeUsagePrice(price: UsagePrice): UsagePriceStructure {
  const { name, slug, unitPrice, intervalUnit, intervalCount, usageEventsPerUnit, active } = price;
  const isDefault = price.isDefault && active;
  return { name, slug, unitPrice, intervalUnit, intervalCount, usageEventsPerUnit, isDefault, active };
}

import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { SharedIdKind } from '../kernel/id.ts';
import { isSameJson } from '../kernel/json.ts';
import type { CreditPool, NewCreditPool } from './credit-pool.ts';
import { type Feature, type FeatureValue, kindOfFeature, type NewFeature, subjectIdOf } from './feature.ts';
import { isNoChargePrice, type NewPrice, type Price } from './price.ts';
import type { NewProduct, NewProductFeature, Product, ProductFeature } from './product.ts';
import { isLinkActive } from './product-change.ts';
import type { NewResource, Resource } from './resource.ts';
import type {
  FeatureStructure,
  ProductPriceStructure,
  ProductStructure,
  Structure,
  UsageMeterStructure,
  UsagePriceStructure,
} from './structure.ts';
import type { NewUsageMeter, UsageMeter } from './usage-meter.ts';

/** The records of one pricing model, active or not, expired or not; each list in order of creation. */
export interface PricingModelContents {
  readonly resources: readonly Resource[];
  readonly usageMeters: readonly UsageMeter[];
  readonly features: readonly Feature[];
  readonly products: readonly Product[];
  readonly prices: readonly Price[];
  readonly productFeatures: readonly ProductFeature[];
  readonly creditPools: readonly CreditPool[];
}

export const noContents: PricingModelContents = {
  resources: [],
  usageMeters: [],
  features: [],
  products: [],
  prices: [],
  productFeatures: [],
  creditPools: [],
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
export function standingPrice<Standing extends Pick<ProductPrice, 'isDefault'>>(prices: readonly Standing[]): Standing {
  const price = prices.find(({ isDefault }) => isDefault) ?? prices.at(-1);
  assert(price, 'every product has a price');
  return price;
}

/** Whether the product is for sale: not while its price is inactive. The default product always is. */
export function isSold(product: Pick<Product, 'default' | 'active'>, price: Pick<ProductPrice, 'active'>): boolean {
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

/** The slugs of usage meters and credit pools, by id. */
export function slugsOfSubjects({
  usageMeters,
  creditPools,
}: Pick<PricingModelContents, 'usageMeters' | 'creditPools'>): ReadonlyMap<string, string> {
  return new Map([...usageMeters, ...creditPools].map(({ id, slug }) => [id, slug]));
}

/** Describes records by slugs. Setting the result up creates the same again; updating with it changes nothing. */
export function describeContents(contents: PricingModelContents, now: Instant): Structure {
  const { ofProduct, ofUsageMeter } = pricesByOwner(contents.prices);
  const features = representatives(contents.features);
  const slugOfSubject = slugsOfSubjects(contents);
  const slugOfResource = new Map(contents.resources.map(({ id, slug }) => [id, slug]));
  const placeOfFeature = new Map([...features.values()].map(({ id, slug }, place) => [id, { place, slug }]));
  const given = new Map<string, { place: number; slug: string; value: FeatureValue | null }[]>();
  for (const link of contents.productFeatures) {
    const feature = placeOfFeature.get(link.featureId);
    if (feature !== undefined && isLinkActive(link, now))
      append(given, link.productId, { ...feature, value: link.value ?? null });
  }
  const usageMeters = contents.usageMeters.map((meter) => describeUsageMeter(meter, ofUsageMeter.get(meter.id) ?? []));
  return {
    features: [...features.values()].map((feature) => describeFeature(feature, slugOfSubject, slugOfResource)),
    products: [...representatives(contents.products).values()].map((product) => {
      const granted = (given.get(product.id) ?? [])
        .sort((a, b) => a.place - b.place)
        .map(({ slug, value }) => ({ slug, value }));
      const described = describeProduct(product, standingPrice(ofProduct.get(product.id) ?? []), granted);
      return described.product.active ? described : withoutLostRates(described, usageMeters);
    }),
    usageMeters,
    resources: [...representatives(contents.resources).values()].map(({ slug, name, active }) => ({
      slug,
      name,
      active,
    })),
    creditPools: contents.creditPools.map(({ slug, name, unit, drawAtPrice, lowBalanceThreshold, rates }) => {
      return { slug, name, unit, drawAtPrice, lowBalanceThreshold, rates };
    }),
  };
}

function describeFeature(
  feature: Feature,
  slugOfSubject: ReadonlyMap<string, string>,
  slugOfResource: ReadonlyMap<string, string>,
): FeatureStructure {
  const { slug, name, description, active } = feature;
  const text = { slug, name, description, active };
  switch (feature.type) {
    case 'toggle':
      return { type: feature.type, ...text };
    case 'usage_credit_grant': {
      const { type, amount, renewalFrequency, grantInterval, rolloverMaximum, rolloverPeriods } = feature;
      const subjectSlug = slugOfSubject.get(subjectIdOf(feature) ?? '');
      assert(subjectSlug !== undefined, 'a credit grant is for a usage meter or credit pool of its own pricing model');
      const isOfPool = feature.creditPoolId !== undefined;
      const subject = isOfPool
        ? { usageMeterSlug: null, creditPoolSlug: subjectSlug }
        : { usageMeterSlug: subjectSlug, creditPoolSlug: null };
      const rhythm = { renewalFrequency, grantInterval, rolloverMaximum, rolloverPeriods };
      return { type, ...text, amount, ...subject, ...rhythm };
    }
    case 'resource': {
      const resourceSlug = slugOfResource.get(feature.resourceId);
      assert(resourceSlug !== undefined, 'a resource feature is for a resource of its own pricing model');
      return { type: feature.type, ...text, amount: feature.amount, resourceSlug };
    }
    case 'value':
      return { type: feature.type, ...text, value: feature.value };
    case 'spend_limit': {
      const { usageMeterId, creditPoolId, ...terms } = feature.spendLimit;
      const subjectId = creditPoolId ?? usageMeterId;
      const subjectSlug = subjectId === null ? null : slugOfSubject.get(subjectId);
      assert(subjectSlug !== undefined, 'a spend limit is for a usage meter or credit pool of its own pricing model');
      const subject =
        creditPoolId === undefined || subjectSlug === null
          ? { usageMeterSlug: subjectSlug }
          : { usageMeterSlug: null, creditPoolSlug: subjectSlug };
      return { type: feature.type, ...text, amount: feature.amount, spendLimit: { ...subject, ...terms } };
    }
    default:
      return feature satisfies never;
  }
}

/** The part of a feature that cannot change, of one in a structure. */
export function kindOfStructure(feature: FeatureStructure): string {
  if (feature.type !== 'spend_limit') return kindOfFeature(feature);
  const { usageMeterSlug, creditPoolSlug } = feature.spendLimit;
  return kindOfFeature(feature, creditPoolSlug === undefined ? usageMeterSlug : nameOfPool(creditPoolSlug));
}

/** The same of a stored feature. */
export function kindOfStored(feature: Feature, slugOfSubject: ReadonlyMap<string, string>): string {
  if (feature.type !== 'spend_limit') return kindOfFeature(feature);
  const slug = slugOfSubject.get(subjectIdOf(feature.spendLimit) ?? '') ?? null;
  return kindOfFeature(
    feature,
    slug === null || feature.spendLimit.creditPoolId === undefined ? slug : nameOfPool(slug),
  );
}

/** A pool and a meter may have the same slug. */
function nameOfPool(slug: string): string {
  return `credit pool ${slug}`;
}

/** Describes a product with its price and features. */
function describeProduct(
  product: Product,
  price: ProductPrice,
  features: ProductStructure['features'],
): ProductStructure {
  return {
    product: {
      name: product.name,
      slug: product.slug,
      description: product.description,
      imageURL: product.imageURL,
      singularQuantityLabel: product.singularQuantityLabel,
      pluralQuantityLabel: product.pluralQuantityLabel,
      minimumQuantity: product.minimumQuantity,
      maximumQuantity: product.maximumQuantity,
      usagePrices: product.usagePrices.map(({ usageMeterSlug, priceSlug }) => ({ usageMeterSlug, priceSlug })),
      addOn: product.addOn,
      default: product.default,
      active: isSold(product, price),
      metadata: product.metadata,
    },
    price: describeProductPrice(price),
    features,
  };
}

/** A product that is not sold keeps its rates, though a price with conditions, which is none, may have got the slug. */
function withoutLostRates(described: ProductStructure, usageMeters: readonly UsageMeterStructure[]): ProductStructure {
  const conditional = conditionalPrices(usageMeters);
  const usagePrices = described.product.usagePrices.filter((rate) => !conditional.has(nameOfRate(rate)));
  return { ...described, product: { ...described.product, usagePrices } };
}

/** The prices with conditions, which are no rates, named as rates are. */
export function conditionalPrices(usageMeters: readonly UsageMeterStructure[]): ReadonlySet<string> {
  return new Set(
    usageMeters.flatMap(({ usageMeter: { slug: usageMeterSlug }, prices }) =>
      prices.filter(({ where }) => where !== null).map(({ slug }) => nameOfRate({ usageMeterSlug, priceSlug: slug })),
    ),
  );
}

export function nameOfRate({ usageMeterSlug, priceSlug }: { usageMeterSlug: string; priceSlug: string | null }) {
  return `${usageMeterSlug} ${priceSlug}`;
}

function describeProductPrice(price: ProductPrice): ProductPriceStructure {
  const { name, slug, unitPrice, metadata } = price;
  const text = { name, slug, unitPrice, metadata };
  if (price.type === 'single_payment') {
    const { type, intervalUnit, intervalCount, trialPeriodDays, overage, pricing } = price;
    const { setupFeeAmount, minimumCommitment, usageInterval, billingTiming } = price;
    const terms = { intervalUnit, intervalCount, trialPeriodDays, overage, pricing };
    return { type, ...text, ...terms, setupFeeAmount, minimumCommitment, usageInterval, billingTiming };
  }
  const { type, intervalUnit, intervalCount, trialPeriodDays, overage, pricing } = price;
  const { setupFeeAmount, minimumCommitment, usageInterval, billingTiming } = price;
  const terms = { intervalUnit, intervalCount, trialPeriodDays, overage, pricing };
  return { type, ...text, ...terms, setupFeeAmount, minimumCommitment, usageInterval, billingTiming };
}

function describeUsageMeter(meter: UsageMeter, prices: readonly UsagePrice[]): UsageMeterStructure {
  const { name, slug, aggregationType, recurring, proration, lowBalanceThreshold, eventName, where, valueProperty } =
    meter;
  const own = prices.filter((price) => !isNoChargePrice(price));
  const named = representatives(own.filter(hasSlug));
  // An inactive price without a slug is history: no structure can refer to it.
  const shown = own.filter((price) =>
    hasSlug(price) ? named.get(price.slug) === price || price.active : price.active,
  );
  const usageMeter = {
    name,
    slug,
    aggregationType,
    recurring,
    proration,
    lowBalanceThreshold,
    eventName,
    where,
    valueProperty,
  };
  return { usageMeter, prices: shown.map(describeUsagePrice) };
}

function hasSlug(price: UsagePrice): price is UsagePrice & { slug: string } {
  return price.slug !== null;
}

function describeUsagePrice(price: UsagePrice): UsagePriceStructure {
  const { name, slug, unitPrice, pricing, metadata, usageEventsPerUnit, active } = price;
  const { intervalUnit, intervalCount, usageInterval } = price;
  const text = { name, slug, unitPrice, pricing, where: price.where, metadata };
  const interval = { intervalUnit, intervalCount, usageInterval };
  return { ...text, ...interval, usageEventsPerUnit, isDefault: price.isDefault && active, active };
}

/** Records to insert, and existing records with their new values. */
export interface Changes<Made, Kept> {
  readonly made: readonly Made[];
  readonly changed: readonly Kept[];
}

/** The writes that give a pricing model another structure. Without changes, every list is empty. */
export interface StructureChanges {
  readonly resources: Changes<NewResource, Resource>;
  readonly usageMeters: Changes<NewUsageMeter, UsageMeter>;
  readonly creditPools: Changes<NewCreditPool, NewCreditPool>;
  readonly features: Changes<NewFeature, Feature>;
  readonly products: Changes<NewProduct, Product>;
  /** The members of `changed` with a new slug: another price may be about to take the old one. */
  readonly prices: Changes<NewPrice, Price> & { readonly renamed: readonly Price[] };
  /** `linked` are inserted, or revived if the pair has an expired link, or get their value; `expired` are ids. */
  readonly productFeatures: { readonly linked: readonly NewProductFeature[]; readonly expired: readonly string[] };
}

/** The values of new records that a structure does not contain. */
export interface PlanContext {
  readonly pricingModelId: string;
  readonly currency: CurrencyCode;
  readonly now: Instant;
  readonly newId: (kind: SharedIdKind) => string;
}

/** The planned features: their ids by slug, and those that no longer own their slugs. */
export interface FeaturePlan extends Changes<NewFeature, Feature> {
  readonly ids: ReadonlyMap<string, string>;
  /** All features that the structure affects: those it contains, and those it removes by omission. */
  readonly spokenOf: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

/** The number of records that the changes insert or update. */
export function countChanges(changes: StructureChanges): number {
  const { resources, usageMeters, features, products, prices, productFeatures, creditPools } = changes;
  const records = [resources, usageMeters, features, products, prices, creditPools].reduce(
    (count, { made, changed }) => count + made.length + changed.length,
    0,
  );
  return records + productFeatures.linked.length + productFeatures.expired.length;
}

/** The record with the given fields, or null if it has them already. */
export function withFields<Row extends object, Fields extends Partial<Row>>(row: Row, fields: Fields): Row | null {
  const isSame = Object.entries(fields).every(([key, value]) => isSameJson(row[key as keyof Row], value));
  return isSame ? null : { ...row, ...fields };
}

/** The id of a slug, which has been checked to be in the structure. */
export function known<Found = string>(ids: ReadonlyMap<string, Found>, slug: string): Found {
  const id = ids.get(slug);
  assert(id !== undefined, `the structure contains ${slug}`);
  return id;
}

import { refuseFineAmount } from '../kernel/currency.ts';
import { isSameJson } from '../kernel/json.ts';
import type { CreditPool, NewCreditPool } from './credit-pool.ts';
import { type Feature, type FeatureValue, grantSubject, type NewFeature } from './feature.ts';
import { isNoChargePrice, type NewPrice, noChargePrice, noChargeSlug, type Price } from './price.ts';
import { extraAmounts } from './pricing.ts';
import type { NewProduct, NewProductFeature, Product, ProductUsagePrice } from './product.ts';
import { isLinkActive } from './product-change.ts';
import type { NewResource, Resource } from './resource.ts';
import type {
  CreditPoolStructure,
  FeatureStructure,
  ProductPriceStructure,
  ProductStructure,
  ResourceStructure,
  Structure,
  UsageMeterStructure,
  UsagePriceStructure,
} from './structure.ts';
import {
  type Changes,
  type FeaturePlan,
  isSold,
  kindOfStored,
  kindOfStructure,
  known,
  type PlanContext,
  type PricingModelContents,
  type ProductPrice,
  pricesByOwner,
  representatives,
  type StructureChanges,
  slugsOfSubjects,
  standingPrice,
  type UsagePrice,
  withFields,
} from './structure-contents.ts';
import type { NewUsageMeter, UsageMeter } from './usage-meter.ts';

/**
 * The difference between the contents of a pricing model and a complete, checked structure (see `completeStructure`).
 * Records missing in `wanted` are deactivated. Records match by slug: the active one, else the newest inactive one,
 * which is activated again. A setup is the difference to nothing.
 */
export function planStructure(
  current: PricingModelContents,
  wanted: Structure,
  context: PlanContext,
): StructureChanges {
  const resources = planResources(current.resources, wanted.resources, context);
  const usageMeters = planUsageMeters(current, wanted.usageMeters, context);
  const creditPools = planCreditPools(current.creditPools, wanted.creditPools, usageMeters.ids, context);
  const targets = { usageMeterIds: usageMeters.ids, creditPoolIds: creditPools.ids, resourceIds: resources.ids };
  const features = planFeatures(current, wanted.features, targets, context);
  const products = planProducts(current, wanted.products, { features, rates: usageMeters.rates }, context);
  return {
    resources: { made: resources.made, changed: resources.changed },
    usageMeters: { made: usageMeters.made, changed: usageMeters.changed },
    creditPools: { made: creditPools.made, changed: creditPools.changed },
    features: { made: features.made, changed: features.changed },
    products: { made: products.made, changed: products.changed },
    prices: {
      made: [...products.prices.made, ...usageMeters.prices.made],
      changed: [...products.prices.changed, ...usageMeters.prices.changed],
      renamed: products.renamedPrices,
    },
    productFeatures: products.links,
  };
}

function planResources(current: readonly Resource[], wanted: readonly ResourceStructure[], context: PlanContext) {
  const standing = representatives(current);
  const ids = new Map<string, string>();
  const made: NewResource[] = [];
  const changed: Resource[] = [];
  for (const { slug, name, active } of wanted) {
    const row = standing.get(slug);
    const id = row?.id ?? context.newId('resource');
    ids.set(slug, id);
    const change = row && withFields(row, { name, active });
    if (row === undefined) made.push({ id, pricingModelId: context.pricingModelId, slug, name, active });
    if (change) changed.push(change);
  }
  const removed = [...standing.values()].filter(({ slug, active }) => active && !ids.has(slug));
  changed.push(...removed.map((row) => ({ ...row, active: false })));
  return { made, changed, ids };
}

interface FeatureTargets {
  readonly usageMeterIds: ReadonlyMap<string, string>;
  readonly creditPoolIds: ReadonlyMap<string, string>;
  readonly resourceIds: ReadonlyMap<string, string>;
}

function planFeatures(
  current: PricingModelContents,
  wanted: readonly FeatureStructure[],
  targets: FeatureTargets,
  context: PlanContext,
): FeaturePlan {
  const standing = representatives(current.features);
  const resourceSlugs = new Map(current.resources.map(({ id, slug }) => [id, slug]));
  const slugOfSubject = slugsOfSubjects(current);
  const ids = new Map<string, string>();
  const made: NewFeature[] = [];
  const changed: Feature[] = [];
  for (const feature of wanted) {
    const row = standing.get(feature.slug);
    // A record of another type is another feature: an inactive one stays, an active one was refused before.
    const kind = kindOfStructure(feature);
    const kindOf = (stored: Feature) => kindOfStored(stored, slugOfSubject);
    const isSame = row === undefined || kindOf(row) === kind;
    const match = isSame ? row : newestOfKind(current.features, feature.slug, (stored) => kindOf(stored) === kind);
    const fields = featureFields(feature, targets);
    const id = match?.id ?? context.newId('feature');
    ids.set(feature.slug, id);
    if (match === undefined) {
      made.push({ id, pricingModelId: context.pricingModelId, ...fields });
      continue;
    }
    if (fields.type === 'resource' && match.type === 'resource' && feature.type === 'resource') {
      // Several resources may have had the slug. A feature that stays keeps its resource.
      const goesOn = match.active === fields.active && resourceSlugs.get(match.resourceId) === feature.resourceSlug;
      if (goesOn) fields.resourceId = match.resourceId;
    }
    const { createdAt, updatedAt, livemode, organizationId, pricingModelId } = match;
    const stored = { id, createdAt, updatedAt, livemode, organizationId, pricingModelId };
    if (withFields<Feature, Partial<Feature>>(match, fields) !== null) changed.push({ ...stored, ...fields });
  }
  const removed = [...standing.values()].filter(({ slug, active }) => active && !ids.has(slug));
  changed.push(...removed.map((row) => ({ ...row, active: false })));
  return {
    made,
    changed,
    ids,
    spokenOf: new Set([...[...standing.values()].map(({ id }) => id), ...ids.values()]),
    removed: new Set(removed.map(({ id }) => id)),
  };
}

function newestOfKind(
  features: readonly Feature[],
  slug: string,
  isOfKind: (feature: Feature) => boolean,
): Feature | undefined {
  return features.findLast((feature) => feature.slug === slug && isOfKind(feature) && !feature.active);
}

function featureFields(feature: FeatureStructure, { usageMeterIds, creditPoolIds, resourceIds }: FeatureTargets) {
  const { slug, name, description, active } = feature;
  const text = { slug, name, description, active };
  const noRhythm = { renewalFrequency: null, grantInterval: null, rolloverMaximum: null, rolloverPeriods: null };
  switch (feature.type) {
    case 'toggle': {
      const nothing = { amount: null, usageMeterId: null, resourceId: null };
      return { type: feature.type, ...text, ...nothing, ...noRhythm };
    }
    case 'usage_credit_grant': {
      const { type, amount, renewalFrequency, grantInterval, rolloverMaximum, rolloverPeriods } = feature;
      const { usageMeterSlug, creditPoolSlug } = feature;
      const subject = grantSubject(
        creditPoolSlug === null ? known(usageMeterIds, usageMeterSlug ?? '') : known(creditPoolIds, creditPoolSlug),
      );
      const rhythm = { renewalFrequency, grantInterval, rolloverMaximum, rolloverPeriods };
      return { type, ...text, amount, ...subject, resourceId: null, ...rhythm };
    }
    case 'resource': {
      const { type, amount } = feature;
      const resourceId = known(resourceIds, feature.resourceSlug);
      return { type, ...text, amount, usageMeterId: null, resourceId, ...noRhythm };
    }
    case 'value': {
      const nothing = { amount: null, usageMeterId: null, resourceId: null };
      return { type: feature.type, ...text, ...nothing, ...noRhythm, value: feature.value };
    }
    case 'spend_limit': {
      const { usageMeterSlug, creditPoolSlug, ...terms } = feature.spendLimit;
      const usageMeterId = usageMeterSlug === null ? null : known(usageMeterIds, usageMeterSlug);
      const subject =
        creditPoolSlug === undefined ? { usageMeterId } : grantSubject(known(creditPoolIds, creditPoolSlug));
      const nothing = { usageMeterId: null, resourceId: null };
      const { type, amount } = feature;
      return { type, ...text, amount, ...nothing, ...noRhythm, spendLimit: { ...subject, ...terms } };
    }
    default:
      return feature satisfies never;
  }
}

interface ProductPlan extends Changes<NewProduct, Product> {
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
function planProducts(
  current: PricingModelContents,
  wanted: readonly ProductStructure[],
  { features, rates }: { readonly features: FeaturePlan; readonly rates: Rates },
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
    const usagePrices = product.usagePrices.map((rate) => known(rates, rateKey(rate)));
    if (row === undefined) {
      made.push({ id, pricingModelId: context.pricingModelId, ...product, usagePrices });
      prices.made.push(newPrice(id, price, product.active, context));
      continue;
    }
    const change = changeProduct(row, { ...product, usagePrices }, pricesOf(row));
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
 * The active product with the slug, else the newest inactive one with the same price type. The price type of a product
 * is fixed, and so is whether it is an add-on.
 */
function matchProduct(
  products: readonly Product[],
  { product: { slug, addOn }, price }: ProductStructure,
  typeOf: (product: Product) => ProductPrice['type'],
): Product | undefined {
  const named = products.filter((product) => product.slug === slug && product.addOn === addOn);
  return named.find(({ active }) => active) ?? named.findLast((product) => typeOf(product) === price.type);
}

function changeProduct(
  row: Product,
  wanted: Omit<ProductStructure['product'], 'usagePrices'> & Pick<Product, 'usagePrices'>,
  prices: readonly ProductPrice[],
) {
  const { slug: _slug, default: _default, active: _active, ...rest } = wanted;
  const isAsWanted = isSold(row, standingPrice(prices)) === wanted.active;
  // Subscribers of a plan that is no longer sold keep its rates.
  const usagePrices = wanted.active ? wanted.usagePrices : row.usagePrices;
  return withFields(row, { ...rest, usagePrices, active: isAsWanted ? row.active : wanted.active });
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
    const { name, slug, metadata } = price;
    const change = withFields<ProductPrice, Partial<ProductPrice>>(standing, { name, slug, active, metadata });
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
  refuseFineAmount(['products', price.slug ?? productId, 'price', 'unitPrice'], price.unitPrice, currency);
  for (const field of extraAmounts)
    refuseFineAmount(['products', price.slug ?? productId, 'price', field], price[field] ?? 0n, currency);
  const owner = { pricingModelId, productId, usageMeterId: null, usageEventsPerUnit: null, where: null };
  return { id: context.newId('price'), ...owner, isDefault: true, active, ...price, currency };
}

/** Whether the price has these terms, which never change on a price. The absence of a trial or a fee may be 0 or null. */
function hasTerms(price: ProductPrice, wanted: ProductPriceStructure): boolean {
  return (
    price.type === wanted.type &&
    price.unitPrice === wanted.unitPrice &&
    price.intervalUnit === wanted.intervalUnit &&
    price.intervalCount === wanted.intervalCount &&
    price.overage === wanted.overage &&
    price.billingTiming === wanted.billingTiming &&
    extraAmounts.every((field) => (price[field] ?? 0n) === (wanted[field] ?? 0n)) &&
    isSameJson(price.pricing, wanted.pricing) &&
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
  const given = new Map<string, Map<string, FeatureValue | null>>();
  for (const { id, features: each } of wanted)
    given.set(id, new Map(each.map(({ slug, value }) => [known(features.ids, slug), value])));
  const expired: string[] = [];
  for (const { id, productId, featureId, value = null } of current.productFeatures.filter((link) =>
    isLinkActive(link, context.now),
  )) {
    const featureIds = given.get(productId);
    const goes =
      featureIds === undefined
        ? removedProducts.has(productId) || features.removed.has(featureId)
        : features.spokenOf.has(featureId) && !featureIds.has(featureId);
    if (goes) expired.push(id);
    if (isSameJson(featureIds?.get(featureId) ?? null, value)) featureIds?.delete(featureId);
  }
  const linked = [...given].flatMap(([productId, featureIds]) =>
    [...featureIds].map(([featureId, value]) => {
      const { newId, pricingModelId } = context;
      const link = { id: newId('productFeature'), pricingModelId, productId, featureId, expiredAt: null };
      return value === null ? link : { ...link, value };
    }),
  );
  return { linked, expired };
}

/** The usage prices that a product may name, by `rateKey`. */
type Rates = ReadonlyMap<string, ProductUsagePrice>;

function rateKey({ usageMeterSlug, priceSlug }: Pick<ProductUsagePrice, 'usageMeterSlug' | 'priceSlug'>): string {
  return `${usageMeterSlug} ${priceSlug}`;
}

/** Credit pools are created or changed, never removed. */
function planCreditPools(
  current: readonly CreditPool[],
  wanted: readonly CreditPoolStructure[],
  usageMeterIds: ReadonlyMap<string, string>,
  context: PlanContext,
): Changes<NewCreditPool, NewCreditPool> & { readonly ids: ReadonlyMap<string, string> } {
  const stored = new Map(current.map((pool) => [pool.slug, pool]));
  const ids = new Map<string, string>();
  const made: NewCreditPool[] = [];
  const changed: NewCreditPool[] = [];
  for (const { slug, name, unit, drawAtPrice, lowBalanceThreshold, rates } of wanted) {
    const row = stored.get(slug);
    const found = rates.map((rate) => ({ ...rate, usageMeterId: known(usageMeterIds, rate.usageMeterSlug) }));
    const id = row?.id ?? context.newId('creditPool');
    ids.set(slug, id);
    const fields = { slug, name, unit, drawAtPrice, lowBalanceThreshold, rates: found };
    const pool = { id, pricingModelId: context.pricingModelId, ...fields };
    if (row === undefined) made.push(pool);
    else if (withFields(row, { name, lowBalanceThreshold, rates: [...rates] }) !== null) changed.push(pool);
  }
  return { made, changed, ids };
}

interface UsageMeterPlan extends Changes<NewUsageMeter, UsageMeter> {
  readonly ids: ReadonlyMap<string, string>;
  readonly rates: Rates;
  readonly prices: Changes<NewPrice, Price>;
}

/** Usage meters are created or changed, never removed; their prices follow. */
function planUsageMeters(
  current: PricingModelContents,
  wanted: readonly UsageMeterStructure[],
  context: PlanContext,
): UsageMeterPlan {
  const stored = new Map(current.usageMeters.map((meter) => [meter.slug, meter]));
  const { ofUsageMeter } = pricesByOwner(current.prices);
  const ids = new Map<string, string>();
  const rates = new Map<string, ProductUsagePrice>();
  const made: NewUsageMeter[] = [];
  const changed: UsageMeter[] = [];
  const prices = { made: [] as NewPrice[], changed: [] as Price[] };
  for (const { usageMeter, prices: wantedPrices } of wanted) {
    const row = stored.get(usageMeter.slug);
    const meter = row ?? { id: context.newId('usageMeter'), pricingModelId: context.pricingModelId, ...usageMeter };
    ids.set(usageMeter.slug, meter.id);
    const change = row && withFields(row, usageMeter);
    if (row === undefined) made.push(meter);
    if (change) changed.push(change);
    const plan = planUsagePrices({ ...meter, ...usageMeter }, ofUsageMeter.get(meter.id) ?? [], wantedPrices, context);
    prices.made.push(...plan.made);
    prices.changed.push(...plan.changed);
    for (const [priceSlug, priceId] of plan.ids) {
      const rate = { usageMeterSlug: usageMeter.slug, priceSlug, usageMeterId: meter.id, priceId };
      rates.set(rateKey(rate), rate);
    }
  }
  return { made, changed, ids, rates, prices };
}

/**
 * Plans the prices of one meter: those missing in `wanted` end, and the no-charge price is the default if no other is.
 */
function planUsagePrices(
  meter: NewUsageMeter,
  current: readonly UsagePrice[],
  wanted: readonly UsagePriceStructure[],
  context: PlanContext,
): Changes<NewPrice, Price> & { readonly ids: ReadonlyMap<string, string> } {
  const made: NewPrice[] = [];
  const changed: Price[] = [];
  const ids = new Map<string, string>();
  const free = new Set(current.filter((price) => !isNoChargePrice(price)));
  for (const price of wanted) {
    const row = matchUsagePrice([...free], price);
    const { name, isDefault, active, metadata } = price;
    if (row !== undefined && hasUsageTerms(row, price)) {
      free.delete(row);
      if (row.slug !== null) ids.set(row.slug, row.id);
      const change = withFields<UsagePrice, Partial<UsagePrice>>(row, { name, isDefault, active, metadata });
      if (change) changed.push(change);
    } else {
      // A row with the same slug and other terms stays unmatched and ends below: agreed terms are never rewritten.
      const usagePrice = newUsagePrice(meter, price, context);
      made.push(usagePrice);
      if (price.slug !== null) ids.set(price.slug, usagePrice.id);
    }
  }
  const ended = [...free].filter(({ active, isDefault }) => active || isDefault);
  changed.push(...ended.map((row) => ({ ...row, active: false, isDefault: false })));

  const isDefault = !wanted.some((price) => price.isDefault);
  const noCharge = current.find((price) => isNoChargePrice(price) && price.active);
  const change = noCharge && withFields<UsagePrice, Partial<UsagePrice>>(noCharge, { isDefault });
  const noChargeId = noCharge?.id ?? context.newId('price');
  if (noCharge === undefined) made.push(noChargePrice(noChargeId, meter, { isDefault, currency: context.currency }));
  if (change) changed.push(change);
  ids.set(noChargeSlug(meter.slug), noChargeId);
  return { made, changed, ids };
}

function newUsagePrice(meter: NewUsageMeter, price: UsagePriceStructure, context: PlanContext): NewPrice {
  return {
    id: context.newId('price'),
    pricingModelId: context.pricingModelId,
    productId: null,
    usageMeterId: meter.id,
    type: 'usage',
    trialPeriodDays: null,
    overage: null,
    setupFeeAmount: null,
    minimumCommitment: null,
    billingTiming: null,
    ...price,
    currency: context.currency,
  };
}

/**
 * The stored price that matches a wanted one. With a slug: the active one, else the newest with the same terms. Without
 * a slug: by terms only; among equals, one that needs no change comes first.
 */
function matchUsagePrice(candidates: readonly UsagePrice[], wanted: UsagePriceStructure): UsagePrice | undefined {
  const named = candidates.filter(({ slug }) => slug === wanted.slug);
  if (wanted.slug !== null) {
    return named.find(({ active }) => active) ?? named.findLast((price) => hasUsageTerms(price, wanted));
  }
  const alike = named.filter((price) => hasUsageTerms(price, wanted));
  return (
    alike.find((price) => isLike(price, wanted)) ?? alike.find(({ active }) => active) ?? alike.findLast(() => true)
  );
}

/** Whether the price has these terms, which never change on a price. */
function hasUsageTerms(price: UsagePrice, wanted: UsagePriceStructure): boolean {
  return (
    price.unitPrice === wanted.unitPrice &&
    price.usageEventsPerUnit === wanted.usageEventsPerUnit &&
    isSameJson(price.pricing, wanted.pricing) &&
    isSameJson(price.where, wanted.where) &&
    price.intervalUnit === wanted.intervalUnit &&
    price.intervalCount === wanted.intervalCount &&
    price.usageInterval === wanted.usageInterval
  );
}

function isLike(price: UsagePrice, { name, isDefault, active, metadata }: UsagePriceStructure): boolean {
  return withFields<UsagePrice, Partial<UsagePrice>>(price, { name, isDefault, active, metadata }) === null;
}

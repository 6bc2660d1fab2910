import type { Instant } from '../kernel/calendar.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import { isSameJson } from '../kernel/json.ts';
import { type Issue, Problem, type ProblemName } from '../kernel/problem.ts';
import { drawIssue, rateIssue } from './credit-pool.ts';
import { valueIssue } from './feature.ts';
import { isReservedPriceSlug, noChargeSlug } from './price.ts';
import { ambiguityOf, defaultWithConditions, reservedPriceSlugMessage } from './price-input.ts';
import { isReservedProductSlug, rateWithConditions, reservedProductSlug } from './product.ts';
import {
  maxProductFeatures,
  maxProducts,
  type ProductStructure,
  type Structure,
  type UpdatedStructure,
} from './structure.ts';
import {
  conditionalPrices,
  describeContents,
  kindOfStored,
  kindOfStructure,
  nameOfRate,
  type PricingModelContents,
  representatives,
  slugsOfSubjects,
} from './structure-contents.ts';
import {
  changedKind,
  eventNameIssue,
  isMeasured,
  issueOfMeasuredPrice,
  noCreditsOfMeasured,
  noLimitOfMeasured,
} from './usage-meter.ts';

/** The keys that lead to a value of the request. */
type Path = readonly (string | number)[];

interface Named {
  readonly slug: string | null;
  readonly path: Path;
}

/** The plan of a pricing model without a default product: customers start on it, and it is free. */
const freePlan: ProductStructure = {
  product: {
    name: 'Free Plan',
    slug: reservedProductSlug,
    description: null,
    imageURL: null,
    singularQuantityLabel: null,
    pluralQuantityLabel: null,
    minimumQuantity: null,
    maximumQuantity: null,
    usagePrices: [],
    addOn: false,
    default: true,
    active: true,
    metadata: null,
  },
  price: {
    type: 'subscription',
    name: 'Free Plan',
    slug: reservedProductSlug,
    unitPrice: 0n,
    pricing: null,
    intervalUnit: 'month',
    intervalCount: 1,
    trialPeriodDays: null,
    overage: 'none',
    setupFeeAmount: null,
    minimumCommitment: null,
    usageInterval: null,
    billingTiming: 'in_advance',
    metadata: null,
  },
  features: [],
};

interface CompletionOptions {
  /** The currency of the environment, if prices may name one. */
  readonly currency?: CurrencyCode;
  /** The existing default product, if the request omits it. */
  readonly kept?: ProductStructure;
  /** Issues found earlier, to be reported together with those found here. */
  readonly issues?: readonly Issue[];
}

/**
 * Returns the structure with a default product (its own, else the kept one, else the Free Plan), checked as a whole.
 * `path` leads to the structure in the request.
 *
 * Refuses with all issues of slugs and rules at once (400), and then with all references to records that the structure
 * does not contain (404).
 */
export function completeStructure(given: Structure, path: Path, options: CompletionOptions = {}): Structure {
  const hasDefault = given.products.some(({ product }) => product.default);
  const added = hasDefault ? null : (options.kept ?? freePlan);
  const issues = [
    ...(options.issues ?? []),
    ...slugIssues(given, added),
    ...productIssues(given),
    ...givenValueIssues(given),
  ];
  // Counts the added one, so that an exported structure can be set up again.
  if (added !== null && given.products.length >= maxProducts)
    issues.push(structureIssue(['products'], `must be fewer than ${maxProducts} because the default product is added`));
  refuse(
    [
      ...issues,
      ...usagePriceIssues(given),
      ...eventNameIssues(given),
      ...rateIssues(given),
      ...measuredIssues(given),
      ...poolRateIssues(given),
      ...poolDrawIssues(given, options.currency),
      ...currencyIssues(given, options.currency),
    ],
    path,
  );
  refuseUnknown(given, path);
  return added === null ? given : { ...given, products: [...given.products, added] };
}

/** Refuses with all issues, if any. Their paths begin at the structure. */
function refuse(issues: readonly Issue[], path: Path): void {
  if (issues.length === 0) return;
  const located = issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
  throw new Problem('invalidRequest', { reason: reasonOf(located) }, located.slice(0, maxIssues));
}

// A thousand issues are no more helpful than a hundred.
const maxIssues = 100;
const maxReasonLength = 2000;

function reasonOf(issues: readonly Issue[]): string {
  const reason = issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
  return reason.slice(0, maxReasonLength);
}

/** An issue of a structure. */
function structureIssue(path: Path, message: string): Issue {
  return { path, message, code: 'custom' };
}

function slugIssues(structure: Structure, added: ProductStructure | null): Issue[] {
  const { features, products, usageMeters, resources, creditPools } = structure;
  const named = (list: string, items: readonly { slug: string }[]): Named[] =>
    items.map(({ slug }, index) => ({ slug, path: [list, index, 'slug'] }));
  return [
    ...repeated(named('features', features), 'feature'),
    ...repeated(
      products.map(({ product }, index) => ({ slug: product.slug, path: ['products', index, 'product', 'slug'] })),
      'product',
    ),
    ...repeated(
      usageMeters.map(({ usageMeter }, index) => ({
        slug: usageMeter.slug,
        path: ['usageMeters', index, 'usageMeter', 'slug'],
      })),
      'usage meter',
    ),
    ...repeated(named('resources', resources), 'resource'),
    ...repeated(named('creditPools', creditPools), 'credit pool'),
    ...priceSlugIssues(structure, added),
  ];
}

/** Issues of price slugs: unique among prices for sale in the whole structure, and among all prices of a meter. */
function priceSlugIssues({ products, usageMeters }: Structure, added: ProductStructure | null): Issue[] {
  const productPrices = products.map(({ product, price }, index) => ({
    slug: price.slug,
    active: product.active,
    path: ['products', index, 'price', 'slug'],
  }));
  const usagePrices = usageMeters.map(({ prices }, index) =>
    prices.map(({ slug, active }, priceIndex) => ({
      slug,
      active,
      path: ['usageMeters', index, 'prices', priceIndex, 'slug'],
    })),
  );
  const all = [...productPrices, ...usagePrices.flat()];
  const issues = repeated(
    all.filter((price) => price.active),
    'price',
    added === null ? [] : [added.price.slug],
  );
  const reported = new Set(issues.map((issue) => issue.path.join('.')));
  const within = usagePrices.flatMap((prices) => repeated(prices, 'price'));
  const reserved = all.filter((price) => isReservedPriceSlug(price.slug));
  return [
    ...issues,
    ...within.filter((issue) => !reported.has(issue.path.join('.'))),
    ...reserved.map(({ path }) => structureIssue(path, reservedPriceSlugMessage)),
  ];
}

/** An issue for each item whose slug is taken, by `taken` or by an earlier item. */
function repeated(items: readonly Named[], record: string, taken: readonly (string | null)[] = []): Issue[] {
  const seen = new Set(taken);
  const issues: Issue[] = [];
  for (const { slug, path } of items) {
    if (slug === null) continue;
    if (seen.has(slug)) issues.push(structureIssue(path, `is the slug of another ${record}: ${slug}`));
    seen.add(slug);
  }
  return issues;
}

function productIssues({ products }: Structure): Issue[] {
  const issues: Issue[] = [];
  let defaults = 0;
  for (const [index, { product, price }] of products.entries()) {
    const tell = (path: Path, message: string) => issues.push(structureIssue(['products', index, ...path], message));
    if (product.default) {
      defaults += 1;
      if (defaults > 1)
        tell(['product', 'default'], 'is already true for another product: there is one default product');
      if (!product.active) tell(['product', 'active'], 'must be true for the default product: customers start on it');
      if (price.unitPrice !== 0n) tell(['price', 'unitPrice'], 'must be 0 for the default product');
      if (price.pricing !== null) tell(['price', 'pricing'], 'must be absent or null for the default product');
      if (price.trialPeriodDays)
        tell(['price', 'trialPeriodDays'], 'must be absent, null or 0 for the default product');
    } else if (isReservedProductSlug(product.slug)) {
      tell(['product', 'slug'], `is reserved for the default product: ${product.slug}`);
    }
    const meters = product.usagePrices.map(({ usageMeterSlug }) => usageMeterSlug);
    const again = meters.findIndex((slug, position) => meters.indexOf(slug) < position);
    if (again >= 0)
      tell(['product', 'usagePrices', again, 'usageMeterSlug'], 'has a price already: a usage meter has one');
  }
  const links = products.reduce((count, { features }) => count + features.length, 0);
  if (links > maxProductFeatures)
    issues.push(structureIssue(['products'], `have more than ${maxProductFeatures} features in total`));
  return issues;
}

/** An issue for each value of a product that its feature cannot have, and for a second one of a feature. */
function givenValueIssues({ features, products }: Structure): Issue[] {
  const bySlug = new Map(features.map((feature) => [feature.slug, feature]));
  return products.flatMap(({ features: given }, index) => {
    const values = new Map<string, ProductStructure['features'][number]['value']>();
    return given.flatMap(({ slug, value }, position) => {
      const feature = bySlug.get(slug);
      const isOther = values.has(slug) && !isSameJson(values.get(slug), value);
      values.set(slug, value);
      const message = isOther
        ? `differs from the earlier value of the feature: ${slug}`
        : feature && valueIssue(feature, value);
      return message ? [structureIssue(['products', index, 'features', position, 'value'], message)] : [];
    });
  });
}

/** An issue for each credit grant and each price that a usage meter whose units are measured cannot have. */
function measuredIssues({ features, usageMeters }: Structure): Issue[] {
  const measured = new Set(usageMeters.filter(({ usageMeter }) => isMeasured(usageMeter)));
  const slugs = new Set([...measured].map(({ usageMeter }) => usageMeter.slug));
  const ofFeatures = features.flatMap((feature, index) => {
    if (feature.type === 'usage_credit_grant' && slugs.has(feature.usageMeterSlug ?? ''))
      return [structureIssue(['features', index, 'usageMeterSlug'], noCreditsOfMeasured)];
    if (feature.type === 'spend_limit' && slugs.has(feature.spendLimit.usageMeterSlug ?? ''))
      return [structureIssue(['features', index, 'spendLimit', 'usageMeterSlug'], noLimitOfMeasured)];
    return [];
  });
  const ofPrices = usageMeters.flatMap((meter, index) =>
    meter.prices.flatMap((price, position) => {
      const issue = measured.has(meter) ? issueOfMeasuredPrice(price) : null;
      return issue === null
        ? []
        : [structureIssue(['usageMeters', index, 'prices', position, ...issue.path], issue.message)];
    }),
  );
  return [...ofFeatures, ...ofPrices];
}

/** An issue for each price that names another currency than that of the environment. */
function currencyIssues({ products, usageMeters }: Structure, currency: CurrencyCode | undefined): Issue[] {
  const priced = [
    ...products.map(({ price }, index) => ({ price, path: ['products', index, 'price', 'currency'] })),
    ...usageMeters.flatMap(({ prices }, index) =>
      prices.map((price, priceIndex) => ({ price, path: ['usageMeters', index, 'prices', priceIndex, 'currency'] })),
    ),
  ];
  return priced.flatMap(({ price, path }) =>
    price.currency === undefined || currency === undefined || price.currency === currency
      ? []
      : [structureIssue(path, `must be ${currency}, the currency of the environment, or absent`)],
  );
}

function usagePriceIssues(structure: Structure): Issue[] {
  return structure.usageMeters.flatMap(({ prices }, index) => {
    let defaults = 0;
    const ofDefaults = prices.flatMap((price, priceIndex) => {
      if (!price.isDefault) return [];
      defaults += 1;
      const path = ['usageMeters', index, 'prices', priceIndex, 'isDefault'];
      const issues: Issue[] = [];
      if (!price.active) issues.push(structureIssue(path, 'must not be true for an inactive price'));
      if (defaults > 1) issues.push(structureIssue(path, 'is already true for another price of the usage meter'));
      if (price.where !== null) issues.push(structureIssue(path, defaultWithConditions));
      return issues;
    });
    const conditional = prices.flatMap(({ slug, active, where }, position) =>
      active && where !== null ? [{ position, name: slug ?? `price ${position}`, where }] : [],
    );
    const ambiguity = ambiguityOf(conditional);
    if (ambiguity === null) return ofDefaults;
    const path = ['usageMeters', index, 'prices', ambiguity.price.position, 'where'];
    return [...ofDefaults, structureIssue(path, ambiguity.message)];
  });
}

/** Issues of rates in credit pools: for units that are measured, and one that ties with another. */
function poolRateIssues({ creditPools, usageMeters }: Structure): Issue[] {
  const measured = new Set(usageMeters.flatMap(({ usageMeter }) => (isMeasured(usageMeter) ? usageMeter.slug : [])));
  const rates = creditPools.flatMap((pool, index) =>
    pool.rates.map((rate, position) => ({ ...rate, path: ['creditPools', index, 'rates', position] })),
  );
  const tie = rateIssue(rates);
  return [
    ...rates.flatMap(({ usageMeterSlug, path }) =>
      measured.has(usageMeterSlug) ? [structureIssue([...path, 'usageMeterSlug'], noCreditsOfMeasured)] : [],
    ),
    ...(tie === null ? [] : [structureIssue(tie.path, tie.message)]),
  ];
}

/** An issue for each credit pool that cannot draw at the price. */
function poolDrawIssues({ creditPools }: Structure, currency?: CurrencyCode): Issue[] {
  return creditPools.flatMap((pool, index) => {
    const issue = drawIssue(pool, currency ?? null, creditPools.slice(0, index));
    return issue === null ? [] : [structureIssue(['creditPools', index, 'drawAtPrice'], issue)];
  });
}

/** An issue for each usage meter whose events would count on too many. */
function eventNameIssues({ usageMeters }: Structure): Issue[] {
  const meters = usageMeters.map(({ usageMeter }) => usageMeter);
  return meters.flatMap(({ eventName }, index) => {
    const message = eventNameIssue(eventName, meters.slice(0, index));
    return message === null ? [] : [structureIssue(['usageMeters', index, 'usageMeter', 'eventName'], message)];
  });
}

/** An issue for each rate of a plan that is a price with conditions. */
function rateIssues({ products, usageMeters }: Structure): Issue[] {
  const conditional = conditionalPrices(usageMeters);
  return products.flatMap(({ product: { usagePrices } }, index) =>
    usagePrices.flatMap((rate, position) => {
      const path = ['products', index, 'product', 'usagePrices', position, 'priceSlug'];
      return conditional.has(nameOfRate(rate)) ? [structureIssue(path, rateWithConditions)] : [];
    }),
  );
}

function refuseUnknown({ features, products, usageMeters, resources, creditPools }: Structure, path: Path): void {
  const known = {
    featureNotFound: new Set(features.map(({ slug }) => slug)),
    usageMeterNotFound: new Set(usageMeters.map(({ usageMeter }) => usageMeter.slug)),
    resourceNotFound: new Set(resources.map(({ slug }) => slug)),
    creditPoolNotFound: new Set(creditPools.map(({ slug }) => slug)),
    priceNotFound: new Set<string>(),
  } satisfies Partial<Record<ProblemName, Set<string>>>;
  const unknown: { problem: keyof typeof known; slug: string; issue: Issue }[] = [];
  const look = (problem: keyof typeof known, slug: string, at: Path, record: string) => {
    if (known[problem].has(slug)) return;
    const issue = structureIssue([...path, ...at], `is not a ${record} of this pricing model: ${slug}`);
    unknown.push({ problem, slug, issue });
  };
  for (const [index, feature] of features.entries()) {
    if (feature.type === 'usage_credit_grant' && feature.creditPoolSlug !== null)
      look('creditPoolNotFound', feature.creditPoolSlug, ['features', index, 'creditPoolSlug'], 'credit pool');
    else if (feature.type === 'usage_credit_grant')
      look('usageMeterNotFound', feature.usageMeterSlug ?? '', ['features', index, 'usageMeterSlug'], 'usage meter');
    if (feature.type === 'spend_limit') {
      const { usageMeterSlug, creditPoolSlug } = feature.spendLimit;
      const at = ['features', index, 'spendLimit'];
      if (usageMeterSlug !== null) look('usageMeterNotFound', usageMeterSlug, [...at, 'usageMeterSlug'], 'usage meter');
      if (creditPoolSlug !== undefined)
        look('creditPoolNotFound', creditPoolSlug, [...at, 'creditPoolSlug'], 'credit pool');
    }
    if (feature.type === 'resource')
      look('resourceNotFound', feature.resourceSlug, ['features', index, 'resourceSlug'], 'resource');
  }
  for (const [index, { rates }] of creditPools.entries())
    for (const [position, { usageMeterSlug }] of rates.entries())
      look(
        'usageMeterNotFound',
        usageMeterSlug,
        ['creditPools', index, 'rates', position, 'usageMeterSlug'],
        'usage meter',
      );
  const usagePrices = new Set(
    usageMeters.flatMap(({ usageMeter: { slug: meter }, prices }) =>
      [noChargeSlug(meter), ...prices.map(({ slug }) => slug)].map((slug) => `${meter} ${slug}`),
    ),
  );
  for (const [index, { product, features: granted }] of products.entries()) {
    for (const [position, { slug }] of granted.entries())
      look('featureNotFound', slug, ['products', index, 'features', position], 'feature');
    for (const [position, { usageMeterSlug: meter, priceSlug }] of product.usagePrices.entries()) {
      const at = ['products', index, 'product', 'usagePrices', position];
      look('usageMeterNotFound', meter, [...at, 'usageMeterSlug'], 'usage meter');
      if (known.usageMeterNotFound.has(meter) && !usagePrices.has(`${meter} ${priceSlug}`))
        look('priceNotFound', priceSlug, [...at, 'priceSlug'], `price of ${meter}, and`);
    }
  }
  const [first] = unknown;
  if (first === undefined) return;
  const issues = unknown.slice(0, maxIssues).map(({ issue }) => issue);
  throw new Problem(first.problem, { id: first.slug }, issues);
}

/**
 * The checked structure of a pricing model after an update: the given one, with the default product's slug, price,
 * state and labels unchanged.
 *
 * Refuses with all issues at once. They are those of a setup, a second default product, a missing usage meter, and a
 * new type for an active feature or the price of an active product.
 */
export function prepareUpdate(
  contents: PricingModelContents,
  sent: UpdatedStructure,
  path: Path,
  { now, currency }: { readonly now: Instant; readonly currency?: CurrencyCode },
): Structure {
  const stored = describeContents(contents, now);
  const given = { ...sent, creditPools: sent.creditPools ?? stored.creditPools };
  const isDefault = ({ product }: ProductStructure) => product.default;
  const standing = stored.products.find(isDefault);
  const issues = [
    ...removedUsageMeterIssues(stored, given),
    ...fixedPoolIssues(stored, given),
    ...typeIssues(contents, stored, given),
  ];
  const options = { issues, ...(currency === undefined ? {} : { currency }) };
  if (standing === undefined) return completeStructure(given, path, options);
  const activeSlugs = new Set(contents.products.filter(({ active }) => active).map(({ slug }) => slug));
  const index = findDefault(given.products, standing, activeSlugs);
  const products = given.products.map((each, position) => {
    if (position === index) return protect(standing, each);
    if (!each.product.default) return each;
    const message = `must be false: the default product is ${standing.product.slug} and cannot change`;
    issues.push(structureIssue(['products', position, 'product', 'default'], message));
    return { ...each, product: { ...each.product, default: false } };
  });
  return completeStructure({ ...given, products }, path, { ...options, kept: standing });
}

/**
 * The index of the default product among the given ones, or -1 if it is missing. It is the one with its slug, else the
 * only one marked as default, whose slug is then new (unless another product already has that slug).
 */
function findDefault(
  products: readonly ProductStructure[],
  standing: ProductStructure,
  activeSlugs: ReadonlySet<string>,
): number {
  const bySlug = products.findIndex(({ product }) => product.slug === standing.product.slug);
  if (bySlug >= 0) return bySlug;
  const marked = products.findIndex(({ product }) => product.default);
  return activeSlugs.has(products[marked]?.product.slug ?? '') ? -1 : marked;
}

/** The default product with the given texts and features; everything else is fixed. */
function protect(standing: ProductStructure, given: ProductStructure): ProductStructure {
  const { name, description, imageURL, usagePrices, metadata } = given.product;
  return {
    product: { ...standing.product, name, description, imageURL, usagePrices, metadata },
    price: { ...standing.price, metadata: given.price.metadata },
    features: given.features,
  };
}

function removedUsageMeterIssues(stored: Structure, given: Structure): Issue[] {
  const slugs = new Set(given.usageMeters.map(({ usageMeter }) => usageMeter.slug));
  const removed = stored.usageMeters.filter(({ usageMeter }) => !slugs.has(usageMeter.slug));
  return removed.map(({ usageMeter }) =>
    structureIssue(['usageMeters'], `must contain ${usageMeter.slug}: a usage meter cannot be removed`),
  );
}

function fixedPoolIssues(stored: Structure, given: Structure): Issue[] {
  const pools = new Map(given.creditPools.map((pool, index) => [pool.slug, { pool, index }]));
  return stored.creditPools.flatMap(({ slug, unit, drawAtPrice }) => {
    const found = pools.get(slug);
    if (found === undefined)
      return [
        structureIssue(['creditPools'], `must contain ${slug}: a credit pool cannot be removed, but its rates can`),
      ];
    const fixed = { unit, drawAtPrice };
    return (['unit', 'drawAtPrice'] as const).flatMap((field) => {
      const message = `must be ${fixed[field]}: the ${field} of a credit pool cannot change`;
      return found.pool[field] === fixed[field] ? [] : [structureIssue(['creditPools', found.index, field], message)];
    });
  });
}

function typeIssues(contents: PricingModelContents, stored: Structure, given: Structure): Issue[] {
  const features = representatives(contents.features);
  const sold = new Map(stored.products.map(({ product, price }) => [product.slug, price.type]));
  const products = representatives(contents.products);
  const meters = new Map(contents.usageMeters.map((meter) => [meter.slug, meter]));
  const slugOfSubject = slugsOfSubjects(contents);
  return [
    ...given.usageMeters.flatMap(({ usageMeter }, index) => {
      const row = meters.get(usageMeter.slug);
      const issue = row === undefined ? null : changedKind(row, usageMeter);
      return issue === null ? [] : [structureIssue(['usageMeters', index, 'usageMeter', issue.field], issue.message)];
    }),
    ...given.features.flatMap((feature, index) => {
      const row = features.get(feature.slug);
      const kind = row === undefined ? null : kindOfStored(row, slugOfSubject);
      if (!row?.active || kind === kindOfStructure(feature)) return [];
      const field = row.type !== feature.type ? 'type' : feature.type === 'spend_limit' ? 'spendLimit' : 'value';
      const message = `must be ${kind}: the type of a feature cannot change`;
      return [structureIssue(['features', index, field], message)];
    }),
    ...given.products.flatMap(({ product, price }, index) => {
      const row = products.get(product.slug);
      const type = sold.get(product.slug);
      // The default product's price is restored whatever is sent.
      if (!row?.active || row.default || type === undefined || type === price.type) return [];
      const message = `must be ${type}: the type of a product's price cannot change`;
      return [structureIssue(['products', index, 'price', 'type'], message)];
    }),
    ...given.products.flatMap(({ product: { slug, addOn } }, index) => {
      const row = products.get(slug);
      if (!row?.active || row.default || row.addOn === addOn) return [];
      return [structureIssue(['products', index, 'product', 'addOn'], `must be ${row.addOn}: make another product`)];
    }),
  ];
}

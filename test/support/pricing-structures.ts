import fc from 'fast-check';
import { isSameJson } from '../../src/kernel/json.ts';
import type { Structure } from '../../src/pricing/structure.ts';

/**
 * Random pricing models, as bodies of setup. Slugs come from small pools, so that two of them have much in common, and
 * the slugs of prices wander from one owner to another.
 */

const text = fc.constantFrom('Basic', 'Pro', 'Größe M', '席', 'a "quoted" name');
const label = fc.option(fc.constantFrom('seat', 'seats', ''), { nil: undefined });
const amount = fc.constantFrom(1, 5, 10_000, 9_007_199_254_740_991);
const unitPrice = fc.constantFrom(1, 50, 2000, 4_503_599_627_370_495);
const interval = fc.record({
  intervalUnit: fc.constantFrom('day', 'week', 'month', 'year'),
  intervalCount: fc.constantFrom(1, 3),
});
const renewal = fc.oneof(
  fc.record({ renewalFrequency: fc.constantFrom('once', 'every_billing_period') }),
  fc.record({
    renewalFrequency: fc.constant('every_billing_period'),
    rolloverMaximum: amount,
    rolloverPeriods: fc.constantFrom(1, 12, 100),
  }),
  fc.record({
    renewalFrequency: fc.constant('every_interval'),
    grantInterval: fc.record({ unit: fc.constantFrom('day', 'month'), count: fc.constantFrom(1, 3) }),
  }),
);

const resourceSlugs = ['seat', 'site', 'robot'];
const meterSlugs = ['calls', 'tokens', 'users'];
const featureSlugs = ['sso', 'limit', 'most', 'credits', 'bonus', 'seats', 'more'];
const productSlugs = ['basic', 'pro', 'team', 'once', 'Ünïcode'];
const priceSlugs = Array.from({ length: 10 }, (_, index) => `price-${index}`);

const bySlug = fc.record({ slug: fc.constant(''), name: text, active: fc.boolean() });
const mostly = fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) });

/** Some of the slugs, in any order. */
function some(slugs: readonly string[]) {
  return fc.shuffledSubarray([...slugs]);
}

function feature(slug: string, meters: readonly string[], resources: readonly string[]) {
  const words = { slug: fc.constant(slug), name: text, description: text, active: mostly };
  const toggle = fc.record({ type: fc.constant('toggle'), ...words });
  const grant = () =>
    fc
      .tuple(
        fc.record({
          type: fc.constant('usage_credit_grant'),
          ...words,
          amount,
          usageMeterSlug: fc.constantFrom(...meters),
        }),
        renewal,
      )
      .map(([given, often]) => ({ ...given, ...often }));
  const capacity = () =>
    fc.record({
      type: fc.constant('resource'),
      ...words,
      amount,
      resourceSlug: fc.constantFrom(...resources),
    });
  if (slug === 'seats' && resources.length > 0) return capacity();
  const valued = fc.record({ type: fc.constant('value'), ...words, value: fc.constantFrom(...valuesOfKind.flat()) });
  const limit = fc.record({ type: fc.constant('spend_limit'), ...words, amount, spendLimit: limitTerms(meters) });
  if (slug === 'limit') return valued;
  if (slug === 'most') return limit;
  if (['credits', 'bonus'].includes(slug) && meters.length > 0) return grant();
  // The last slug is now of one type and now of another.
  return slug === featureSlugs.at(-1) && meters.length > 0
    ? fc.oneof<fc.Arbitrary<object>[]>(grant(), toggle, valued, limit)
    : toggle;
}

/** The terms of a spend limit, of which only action and thresholds may change. */
function limitTerms(meters: readonly string[]) {
  return fc.record({
    usageMeterSlug: fc.constant(meters[0] ?? null),
    period: fc.constant('month'),
    unit: fc.constant('units'),
    action: fc.constantFrom('block', 'notify'),
    thresholds: fc.constantFrom([], [50, 80]),
  });
}

/** Values by their kind: a value of a product has the kind of its feature. */
const valuesOfKind = [
  [10, 25, 0.5],
  ['eu', 'us', 'Größe M'],
  [['eu'], ['us', 'eu'], []],
] as const;

/** Some of the features of a structure as a product gives them: those of type `value` now and then with one of its own. */
function asGiven(slugs: readonly string[], features: readonly object[], own: number) {
  return slugs.map((slug) => {
    const feature = features.find((each) => (each as { slug: string }).slug === slug) as { value?: unknown };
    const kind = valuesOfKind.find((values) => values.some((value) => isSameJson(value, feature.value)));
    return kind === undefined || own >= kind.length ? slug : { slug, value: kind[own] };
  });
}

const metadata = fc.option(fc.constantFrom({ crm: 'a-1' }, { crm: 'a-2', seats: 5, beta: true }), { nil: undefined });

function productPrice(slug: string) {
  if (slug === 'once') return fc.record({ type: fc.constant('single_payment'), unitPrice, name: text });
  const trialPeriodDays = fc.option(fc.constantFrom(0, 14), { nil: undefined });
  const overage = fc.option(fc.constantFrom('bill', 'none'), { nil: undefined });
  return fc
    .tuple(interval, fc.record({ type: fc.constant('subscription'), unitPrice, trialPeriodDays, overage, metadata }))
    .map(([every, price]) => ({ ...price, ...every }));
}

const product = (slug: string, features: readonly string[]) =>
  fc.record({
    product: fc.record({
      name: text,
      slug: fc.constant(slug),
      description: label,
      imageURL: label,
      active: mostly,
      metadata,
    }),
    price: productPrice(slug),
    features: some(features),
    own: fc.nat(5),
  });

const usagePrice = fc
  .tuple(
    interval,
    fc.record({ unitPrice, usageEventsPerUnit: fc.constantFrom(1, 100), active: mostly, name: text, metadata }),
  )
  .map(([every, price]) => ({ type: 'usage', ...price, ...every }));

const usageMeter = (slug: string) =>
  fc.record({
    usageMeter: fc.record({
      name: text,
      slug: fc.constant(slug),
      aggregationType: fc.constantFrom('sum', 'count_distinct_properties'),
      lowBalanceThreshold: fc.option(amount),
    }),
    prices: fc.array(usagePrice, { maxLength: 3 }),
    defaultIndex: fc.nat(3),
  });

interface Priced {
  slug?: string;
  isDefault?: boolean;
  active?: boolean;
}

/** Gives prices slugs of their own, or none; and to at most one active price of a meter the default flag. */
function finish(
  products: readonly { price: object }[],
  meters: readonly { usageMeter: object; prices: Priced[]; defaultIndex: number }[],
  slugs: readonly (string | undefined)[],
) {
  const left = [...slugs];
  const named = <Price extends object>(price: Price) => {
    const slug = left.pop();
    return slug === undefined ? price : { ...price, slug };
  };
  return {
    products: products.map((each) => ({ ...each, price: named(each.price) })),
    usageMeters: meters.map(({ usageMeter: meter, prices, defaultIndex }) => ({
      usageMeter: meter,
      prices: prices.map((price, index) =>
        named({ ...price, isDefault: index === defaultIndex && price.active !== false }),
      ),
    })),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a body of a request, of every shape that setup reads.
export type StructureBody = any;

/** The four lists of a pricing model, ready to be sent. */
export const structureBodies: fc.Arbitrary<StructureBody> = fc
  .tuple(some(resourceSlugs), some(meterSlugs), some(featureSlugs), some(productSlugs))
  .chain(([resources, meters, features, products]) =>
    fc.record({
      resources: fc.tuple(...resources.map((slug) => bySlug.map((each) => ({ ...each, slug })))),
      features: fc.tuple(...features.map((slug) => feature(slug, meters, resources))),
      products: fc.tuple(...products.map((slug) => product(slug, features))),
      meters: fc.tuple(...meters.map(usageMeter)),
      slugs: fc
        .shuffledSubarray(priceSlugs, { minLength: 10 })
        .chain((all) => fc.tuple(...all.map((slug) => fc.option(fc.constant(slug), { nil: undefined, freq: 4 })))),
      default: fc.boolean(),
    }),
  )
  .map(({ resources, features, products: drawn, meters, slugs, default: hasDefault }) => {
    const products = drawn.map(({ own, ...each }) => ({ ...each, features: asGiven(each.features, features, own) }));
    const plan = { product: { name: 'Start', slug: 'start', default: true }, features: [] };
    const price = { type: 'subscription', intervalUnit: 'year', unitPrice: 0 };
    const started = hasDefault ? [{ ...plan, price }] : [];
    return { resources, features, ...finish([...started, ...products], meters, slugs) };
  });

/** The same price, its keys in a settled order. */
function inOrder<Price extends object>(price: Price): Price {
  return Object.fromEntries(Object.entries(price).sort(([a], [b]) => (a < b ? -1 : 1))) as Price;
}

/** A structure without what is inactive, and with sets in a settled order: what a pricing model offers. */
export function offered(structure: Structure) {
  const order = <Value>(values: readonly Value[], keyOf: (value: Value) => string | null) =>
    [...values].sort((a, b) => ((keyOf(a) ?? '') < (keyOf(b) ?? '') ? -1 : 1));
  const features = order(
    structure.features.filter(({ active }) => active),
    ({ slug }) => slug,
  );
  return {
    resources: order(
      structure.resources.filter(({ active }) => active),
      ({ slug }) => slug,
    ),
    features,
    products: order(
      structure.products
        .filter(({ product: { active } }) => active)
        .map(({ features: given, price, ...rest }) => ({
          ...rest,
          // No trial can be written as null and as 0.
          price: { ...price, trialPeriodDays: price.trialPeriodDays || null },
          features: order(
            [...new Map(given.map((each) => [each.slug, each])).values()].filter(({ slug }) =>
              features.some((each) => each.slug === slug),
            ),
            ({ slug }) => slug,
          ),
        })),
      ({ product: { slug } }) => slug,
    ),
    usageMeters: order(
      structure.usageMeters.map(({ prices, ...rest }) => ({
        ...rest,
        prices: order(prices.filter(({ active }) => active).map(inOrder), (price) => Object.values(price).join(' ')),
      })),
      ({ usageMeter: { slug } }) => slug,
    ),
  };
}

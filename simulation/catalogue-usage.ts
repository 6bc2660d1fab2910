import { isDeepStrictEqual } from 'node:util';

/** The usage meters of the simulated world, and what their usage costs. */

export interface Interval {
  readonly unit: 'day' | 'week' | 'month' | 'year';
  readonly count: number;
}

export interface TierOfPrice {
  readonly upTo: number | null;
  readonly unitAmount?: string;
  readonly rate?: string;
  readonly flatAmount?: string;
}

/** As the service takes it. */
export interface Pricing {
  readonly model: string;
  readonly unitAmount?: string;
  readonly packageSize?: number;
  readonly packageAmount?: string;
  readonly tiers?: readonly TierOfPrice[];
  readonly rate?: string;
  readonly fixedAmountPerEvent?: string;
  readonly freeUnits?: number;
  readonly minimumAmount?: string;
  readonly maximumAmount?: string;
}

/** The cost of usage: so many minor units for so many units, or by a model. */
export type Terms = { readonly unitPrice: number; readonly units: number } | { readonly pricing: Pricing };

/** The values of its properties that an event may have. */
export type Where = Readonly<Record<string, readonly string[]>>;

export interface UsagePrice {
  readonly slug: string;
  readonly meter: string;
  readonly terms: Terms;
  /** Null: it is billed with the subscription. */
  readonly interval: Interval | null;
  readonly where?: Where;
  /** It rates events that match no other price, on plans without a rate of their own. */
  readonly isDefault?: boolean;
}

/** The meter with the credits of the plans. */
export const meterSlug = 'calls';
/** Counts distinct properties, at the no-charge price only. */
export const usersSlug = 'users';

/** A meter without credits. */
export interface Meter {
  readonly slug: string;
  readonly aggregationType: 'sum' | 'count' | 'max' | 'latest' | 'unit_hours';
  /** Its value is held over periods, and events add to it or take away. */
  readonly recurring?: true;
  readonly proration?: 'none' | 'day' | 'second';
  readonly eventName?: string;
  readonly valueProperty?: string;
  readonly where?: Where;
}

/** An answer of a language model counts on two meters. */
export const answerName = 'answer';
export const meters: readonly Meter[] = [
  { slug: 'tokens', aggregationType: 'sum', eventName: answerName, valueProperty: 'tokens' },
  { slug: 'answers', aggregationType: 'count', eventName: answerName, where: { size: ['large', 'huge'] } },
  { slug: 'payments', aggregationType: 'sum' },
  { slug: 'resale', aggregationType: 'sum' },
  { slug: 'compute', aggregationType: 'sum' },
  { slug: 'longest', aggregationType: 'max', eventName: answerName, valueProperty: 'tokens' },
  { slug: 'stock', aggregationType: 'latest' },
  { slug: 'storage', aggregationType: 'unit_hours' },
  { slug: 'numbers', aggregationType: 'sum', recurring: true, proration: 'none' },
  { slug: 'desks', aggregationType: 'sum', recurring: true, proration: 'day' },
  { slug: 'machines', aggregationType: 'sum', recurring: true, proration: 'second' },
];

/** Whether its units are measured when a period is billed. */
export function isMeasured({ aggregationType, recurring }: Meter): boolean {
  return (
    recurring === true || aggregationType === 'max' || aggregationType === 'latest' || aggregationType === 'unit_hours'
  );
}

/** The interval of the price that is billed most often. */
export const monthly: Interval = { unit: 'month', count: 1 };
const twoMonths: Interval = { unit: 'month', count: 2 };

/** In the order in which they are made. */
export const usagePrices: readonly UsagePrice[] = [
  { slug: 'calls-overage', meter: meterSlug, terms: { unitPrice: 50, units: 100 }, interval: monthly, isDefault: true },
  {
    slug: 'calls-large',
    meter: meterSlug,
    where: { size: ['large'] },
    interval: null,
    terms: {
      pricing: {
        model: 'graduated',
        freeUnits: 30,
        tiers: [
          { upTo: 200, unitAmount: '1.5' },
          { upTo: 900, unitAmount: '0.123456789012', flatAmount: '99' },
          { upTo: null, unitAmount: '0.75' },
        ],
      },
    },
  },
  {
    slug: 'calls-eu',
    meter: meterSlug,
    where: { size: ['large', 'huge'], region: ['eu'] },
    interval: twoMonths,
    terms: {
      pricing: {
        model: 'volume',
        tiers: [
          { upTo: 500, unitAmount: '2' },
          { upTo: 1500, unitAmount: '1.2', flatAmount: '10.5' },
          { upTo: null, unitAmount: '1.1' },
        ],
      },
    },
  },
  {
    slug: 'calls-max',
    meter: meterSlug,
    interval: monthly,
    terms: { pricing: { model: 'package', packageSize: 150, packageAmount: '70.5', maximumAmount: '900' } },
  },
  {
    slug: 'calls-quarter',
    meter: meterSlug,
    interval: null,
    terms: {
      pricing: {
        model: 'stairstep',
        minimumAmount: '75',
        tiers: [
          { upTo: 100, flatAmount: '40' },
          { upTo: 1000, flatAmount: '333.3' },
          { upTo: null, flatAmount: '1200' },
        ],
      },
    },
  },
  {
    slug: 'tokens',
    meter: 'tokens',
    isDefault: true,
    interval: monthly,
    terms: {
      pricing: {
        model: 'graduated',
        maximumAmount: '2500',
        tiers: [
          { upTo: 1000, unitAmount: '0.25' },
          { upTo: null, unitAmount: '0.000000000001', flatAmount: '0.5' },
        ],
      },
    },
  },
  {
    slug: 'tokens-huge',
    meter: 'tokens',
    where: { size: ['huge'] },
    interval: twoMonths,
    terms: { pricing: { model: 'per_unit', unitAmount: '0.3333', freeUnits: 100 } },
  },
  {
    slug: 'answers',
    meter: 'answers',
    isDefault: true,
    interval: null,
    terms: { pricing: { model: 'per_unit', unitAmount: '7.77', minimumAmount: '50' } },
  },
  {
    slug: 'payments',
    meter: 'payments',
    isDefault: true,
    interval: monthly,
    terms: { pricing: { model: 'percentage', rate: '2.9', fixedAmountPerEvent: '30', maximumAmount: '5000' } },
  },
  {
    slug: 'payments-amex',
    meter: 'payments',
    where: { card: ['amex'] },
    interval: null,
    terms: {
      pricing: {
        model: 'graduated_percentage',
        tiers: [
          { upTo: 10_000, rate: '3.5' },
          { upTo: null, rate: '2.125', flatAmount: '11' },
        ],
      },
    },
  },
  {
    slug: 'resale',
    meter: 'resale',
    isDefault: true,
    interval: null,
    terms: { pricing: { model: 'dynamic', minimumAmount: '60' } },
  },
  {
    slug: 'resale-amex',
    meter: 'resale',
    where: { card: ['amex'] },
    interval: monthly,
    terms: { pricing: { model: 'dynamic' } },
  },
  {
    slug: 'compute',
    meter: 'compute',
    isDefault: true,
    interval: monthly,
    terms: {
      pricing: {
        model: 'graduated',
        tiers: [
          { upTo: 100, unitAmount: '3' },
          { upTo: null, unitAmount: '0.123456789012', flatAmount: '7' },
        ],
      },
    },
  },
  {
    slug: 'compute-large',
    meter: 'compute',
    where: { size: ['large'] },
    interval: null,
    terms: { pricing: { model: 'package', packageSize: 10, packageAmount: '25.5' } },
  },
  {
    slug: 'compute-huge',
    meter: 'compute',
    where: { size: ['huge'] },
    interval: twoMonths,
    terms: { pricing: { model: 'percentage', rate: '2.9', fixedAmountPerEvent: '3' } },
  },
  {
    slug: 'compute-eu',
    meter: 'compute',
    where: { size: ['large', 'huge'], region: ['eu'] },
    interval: null,
    terms: { pricing: { model: 'volume', tiers: [{ upTo: null, unitAmount: '1.5' }] } },
  },
  {
    slug: 'longest',
    meter: 'longest',
    isDefault: true,
    interval: monthly,
    terms: { pricing: { model: 'per_unit', unitAmount: '0.35', minimumAmount: '20' } },
  },
  {
    slug: 'stock',
    meter: 'stock',
    isDefault: true,
    interval: null,
    terms: {
      pricing: {
        model: 'volume',
        tiers: [
          { upTo: 20, unitAmount: '31' },
          { upTo: null, unitAmount: '11.5' },
        ],
      },
    },
  },
  { slug: 'storage', meter: 'storage', isDefault: true, interval: monthly, terms: { unitPrice: 2, units: 1000 } },
  { slug: 'storage-max', meter: 'storage', interval: null, terms: { unitPrice: 1, units: 1000 } },
  { slug: 'numbers', meter: 'numbers', isDefault: true, interval: twoMonths, terms: { unitPrice: 123, units: 1 } },
  { slug: 'desks', meter: 'desks', isDefault: true, interval: null, terms: { unitPrice: 777, units: 1 } },
  {
    slug: 'machines',
    meter: 'machines',
    isDefault: true,
    interval: monthly,
    terms: {
      pricing: {
        model: 'graduated',
        tiers: [
          { upTo: 5, unitAmount: '300' },
          { upTo: null, unitAmount: '99.9' },
        ],
      },
    },
  },
  {
    slug: 'machines-quarter',
    meter: 'machines',
    interval: twoMonths,
    terms: { pricing: { model: 'per_unit', unitAmount: '250.5', maximumAmount: '4000' } },
  },
];

export type Properties = Readonly<Record<string, string | number | boolean>>;

export function isMatch(where: Where | undefined, properties: Properties): boolean {
  return Object.entries(where ?? {}).every(([name, values]) => values.includes(String(properties[name] ?? '')));
}

/** The price with this slug. */
export function usagePriceOf(slug: string): UsagePrice {
  const price = usagePrices.find((each) => each.slug === slug);
  if (price === undefined) throw new Error(`there is no usage price ${slug}`);
  return price;
}

/**
 * The price of an event that names a meter: the one with conditions that it matches with the most properties, else the
 * rate of the plan, else the default.
 */
export function priceFor(rates: readonly string[] | undefined, meter: string, properties: Properties): UsagePrice {
  const of = usagePrices.filter((each) => each.meter === meter);
  const matching = of.filter(({ where }) => where !== undefined && isMatch(where, properties));
  const most = Math.max(...matching.map(({ where }) => Object.keys(where ?? {}).length));
  const found =
    matching.find(({ where }) => Object.keys(where ?? {}).length === most) ??
    of.find(({ slug }) => rates?.includes(slug)) ??
    of.find(({ isDefault }) => isDefault);
  if (found === undefined) throw new Error(`${meter} has no price`);
  return found;
}

/** The meters as a part of the body of `POST /pricing-models/setup`. */
export function metersOf() {
  const calls = { slug: meterSlug, aggregationType: 'sum' };
  return [
    ...[calls, ...meters].map((meter) => ({
      usageMeter: { name: meter.slug, ...meter },
      prices: usagePrices.filter((price) => price.meter === meter.slug).map(bodyOf),
    })),
    { usageMeter: { name: 'Users', slug: usersSlug, aggregationType: 'count_distinct_properties' } },
  ];
}

function bodyOf({ slug, terms, interval, where, isDefault = false }: UsagePrice) {
  const costs = 'pricing' in terms ? terms : { unitPrice: terms.unitPrice, usageEventsPerUnit: terms.units };
  const rhythm = interval === null ? {} : { intervalUnit: interval.unit, intervalCount: interval.count };
  return { type: 'usage', slug, ...costs, ...rhythm, ...(where === undefined ? {} : { where }), isDefault };
}

/** The different intervals by which usage is billed within periods of a subscription. */
export const ownIntervals: readonly Interval[] = usagePrices
  .flatMap(({ interval }) => interval ?? [])
  .filter((interval, index, all) => all.findIndex((each) => isDeepStrictEqual(each, interval)) === index);

import { type PoolGrants, poolsOf } from './catalogue-pools.ts';
import { type Interval, meterSlug, metersOf, usagePriceOf } from './catalogue-usage.ts';

/** The catalog of the simulated world: the only data that the service and the oracle share. */

export interface Plan {
  readonly slug: string;
  /** In minor units per interval. */
  readonly unitPrice: number;
  /** The price of each of more than `above`, where all of them cost less (volume tiers). May be part of a minor unit. */
  readonly many?: { readonly above: number; readonly unitPrice: number };
  readonly unit: 'day' | 'week' | 'month' | 'year';
  readonly count: number;
  readonly trialDays: number;
  /** Billed once, with the first invoice. */
  readonly setupFee?: number;
  /** The least that a period costs, with its usage. */
  readonly commitment?: number;
  /** Whether it is billed at the end of its periods. */
  readonly billsAtEnd?: boolean;
  /**
   * Credits per unit of the plan: of the first period, which never expire, and of each period, which expire with it.
   */
  readonly once: number;
  readonly recurring: number;
  /** The recurring ones come with each of these intervals and expire with it. Absent: with each period. */
  readonly grantInterval?: Interval;
  /** The limit of a period's or interval's credits that roll over, and the number of these. */
  readonly rollover?: { readonly maximum: number; readonly periods: number };
  readonly seats: number;
  /** Whether usage without credit is billed. */
  readonly billsOverage: boolean;
  /** The credits of pools that it grants as those of the meter, by slug. */
  readonly pools?: Readonly<Record<string, PoolGrants>>;
  /** The limits of the use of its subscription, for each unit of it. */
  readonly limits?: readonly PlanLimit[];
  /** The usage prices of its rate card. */
  readonly rates?: readonly string[];
  /** The quantities that buyers may choose. Absent: none. */
  readonly quantities?: { readonly least: number; readonly most: number };
}

export interface PlanLimit {
  /** Null: all, or a pool. */
  readonly meter: string | null;
  /** The pool whose payments it counts. Absent: none. The amount is in its units. */
  readonly pool?: string;
  readonly period: 'day' | 'week' | 'month' | 'billing_period';
  readonly unit: 'units' | 'money';
  readonly amount: number;
  readonly action: 'block' | 'notify';
}

export const freePlan: Plan = {
  slug: 'free',
  unitPrice: 0,
  unit: 'month',
  count: 1,
  trialDays: 0,
  once: 100,
  recurring: 40,
  pools: { ai: { recurring: 2 } },
  seats: 1,
  billsOverage: false,
};

export const paidPlans: readonly Plan[] = [
  {
    slug: 'pro',
    unitPrice: 3000,
    unit: 'month',
    count: 1,
    trialDays: 0,
    once: 500,
    recurring: 1000,
    quantities: { least: 1, most: 5 },
    rollover: { maximum: 700, periods: 1 },
    pools: { ai: { recurring: 20, rollover: { maximum: 9, periods: 1 } }, money: { once: 1 } },
    limits: [
      { meter: 'calls', period: 'month', unit: 'units', amount: 2500, action: 'block' },
      { meter: null, pool: 'ai', period: 'week', unit: 'units', amount: 8, action: 'block' },
    ],
    seats: 5,
    billsOverage: true,
  },
  {
    slug: 'max',
    unitPrice: 9001,
    // 2 cost 18,002 and 3 cost 18,000.75: a cheaper change to more.
    many: { above: 2, unitPrice: 6000.25 },
    commitment: 15_000,
    unit: 'month',
    count: 1,
    trialDays: 0,
    once: 90,
    recurring: 2500,
    rates: ['calls-max', 'storage-max'],
    pools: { money: { recurring: 3 } },
    limits: [
      { meter: null, period: 'billing_period', unit: 'money', amount: 1500, action: 'block' },
      { meter: null, pool: 'money', period: 'billing_period', unit: 'units', amount: 2, action: 'block' },
    ],
    seats: 8,
    billsOverage: true,
  },
  {
    slug: 'annual',
    unitPrice: 29_999,
    unit: 'year',
    count: 1,
    trialDays: 0,
    once: 0,
    recurring: 5000,
    pools: { ai: { once: 5, recurring: 100 } },
    seats: 10,
    billsOverage: true,
  },
  {
    slug: 'team',
    unitPrice: 4501,
    unit: 'month',
    count: 1,
    trialDays: 14,
    setupFee: 1999,
    once: 0,
    recurring: 300,
    quantities: { least: 1, most: 4 },
    rollover: { maximum: 500, periods: 3 },
    pools: { ai: { recurring: 7, rollover: { maximum: 4, periods: 2 } } },
    limits: [{ meter: 'calls', period: 'month', unit: 'units', amount: 700, action: 'notify' }],
    seats: 3,
    billsOverage: false,
  },
  {
    slug: 'sprint',
    unitPrice: 777,
    unit: 'week',
    count: 2,
    trialDays: 0,
    setupFee: 250,
    once: 20,
    recurring: 50,
    rollover: { maximum: 60, periods: 2 },
    pools: { ai: { recurring: 3 }, money: { recurring: 1, rollover: { maximum: 2, periods: 3 } } },
    seats: 2,
    billsOverage: true,
  },
  {
    slug: 'rent',
    unitPrice: 2499,
    unit: 'month',
    count: 1,
    trialDays: 0,
    commitment: 4000,
    billsAtEnd: true,
    once: 0,
    recurring: 0,
    seats: 2,
    billsOverage: true,
  },
  {
    slug: 'quarter',
    unitPrice: 10_007,
    unit: 'month',
    count: 3,
    trialDays: 7,
    once: 70,
    rates: ['calls-quarter', 'machines-quarter'],
    recurring: 0,
    pools: { ai: { recurring: 31 } },
    limits: [{ meter: null, pool: 'ai', period: 'day', unit: 'units', amount: 5, action: 'notify' }],
    seats: 0,
    billsOverage: true,
  },
  {
    slug: 'steady',
    unitPrice: 24_001,
    unit: 'year',
    count: 1,
    trialDays: 0,
    once: 30,
    recurring: 401,
    grantInterval: { unit: 'month', count: 1 },
    rollover: { maximum: 150, periods: 2 },
    quantities: { least: 1, most: 3 },
    pools: { money: { recurring: 4, rollover: { maximum: 3, periods: 1 } } },
    seats: 4,
    billsOverage: true,
  },
  {
    slug: 'weekly',
    unitPrice: 2003,
    unit: 'month',
    count: 1,
    trialDays: 10,
    once: 0,
    // A month cuts its weeks, so a week's credits come in two parts.
    recurring: 75,
    grantInterval: { unit: 'week', count: 1 },
    pools: { ai: { recurring: 5 } },
    limits: [{ meter: 'calls', period: 'week', unit: 'units', amount: 500, action: 'block' }],
    seats: 2,
    billsOverage: true,
  },
];

/** Calls or credits of a pool, sold for a single payment. */
export interface Pack {
  readonly slug: string;
  readonly unitPrice: number;
  readonly calls: number;
  readonly pool: string;
  readonly credits: number;
  /** After this its credits of a pool end, and what is left rolls over into the next purchase. Absent: never. */
  readonly lasts?: {
    readonly unit: 'week' | 'month';
    readonly count: number;
    readonly rollover: { readonly maximum: number; readonly periods: number };
  };
}
export const pack: Pack = { slug: 'pack', unitPrice: 1250, calls: 200, pool: '', credits: 0 };
export const packs: readonly Pack[] = [
  pack,
  { slug: 'pack-ai', unitPrice: 840, calls: 0, pool: 'ai', credits: 12 },
  { slug: 'pack-money', unitPrice: 333, calls: 0, pool: 'money', credits: 3 },
  { slug: 'pack-both', unitPrice: 1790, calls: 150, pool: 'ai', credits: 5 },
  {
    ...{ slug: 'pack-month', unitPrice: 910, calls: 0, pool: 'ai', credits: 14 },
    lasts: { unit: 'month', count: 1, rollover: { maximum: 6, periods: 2 } },
  },
  {
    ...{ slug: 'pack-weeks', unitPrice: 470, calls: 0, pool: 'money', credits: 4 },
    lasts: { unit: 'week', count: 2, rollover: { maximum: 3, periods: 1 } },
  },
];

/** The pack that an invoice of a purchase sells. */
export function packOf({ lines }: { readonly lines: readonly { readonly pack?: Pack }[] }): Pack {
  return lines.find((line) => line.pack !== undefined)?.pack ?? pack;
}

/** An add-on, sold beside plans of a month that are paid in advance. It gives no credits. */
export const addOn = { slug: 'support', unitPrice: 731, limit: 9 } as const;
export function takesAddOns({ unit, count, billsAtEnd = false }: Plan): boolean {
  return unit === 'month' && count === 1 && !billsAtEnd;
}

export interface Discount {
  readonly code: string;
  readonly type: 'percent' | 'fixed';
  readonly amount: number;
  /** The number of invoices that it applies to; null: all. */
  readonly times: number | null;
  /** The least list amount of a first order. Absent: none. */
  readonly minimum?: number;
  /** The redemptions of a customer. Absent: one. */
  readonly perCustomer?: number;
  readonly isFirstOnly?: boolean;
}

export const discounts: readonly Discount[] = [
  { code: 'QUARTER', type: 'percent', amount: 25, times: 1 },
  { code: 'FIVER', type: 'fixed', amount: 500, times: null },
  { code: 'TENTH', type: 'percent', amount: 10, times: 2 },
  { code: 'GIFT', type: 'percent', amount: 100, times: 1 },
  { code: 'BULK', type: 'percent', amount: 20, times: 3, minimum: 5000 },
  { code: 'TWICE', type: 'fixed', amount: 300, times: 2, perCustomer: 2 },
  { code: 'WELCOME', type: 'percent', amount: 30, times: 2, isFirstOnly: true },
];

/** A customer's place. */
export interface Place {
  readonly country: string;
  readonly state: string | null;
}

export interface TaxRate extends Place {
  readonly percentage: number;
  /** Whether prices include it. */
  readonly isInclusive: boolean;
}

export const taxRates: readonly TaxRate[] = [
  { country: 'DE', state: null, percentage: 19, isInclusive: false },
  { country: 'IE', state: null, percentage: 23, isInclusive: true },
  { country: 'US', state: 'NY', percentage: 8.875, isInclusive: false },
  { country: 'CA', state: null, percentage: 5, isInclusive: false },
  { country: 'CA', state: 'QC', percentage: 14.975, isInclusive: false },
];

/** Some of them have no rate. */
export const places: readonly Place[] = [
  ...taxRates,
  { country: 'US', state: 'OH' },
  { country: 'CA', state: 'ON' },
  { country: 'NZ', state: null },
].map(({ country, state }) => ({ country, state }));

export const seatSlug = 'seat';

/** A number that plans and the add-on give: the highest counts. */
export const limitSlug = 'limit';
export function limitOf({ seats }: Plan): number {
  return seats * 2 + 1;
}
const limitFeature = { type: 'value', slug: limitSlug, name: 'Limit', description: '', active: true, value: 0 };

/** Net terms in days for customers without a payment method; 0: no start without one. */
export const netTerms = [0, 10, 30] as const;
/** Days until the next collection attempt, after each failed one. */
export const retryDays = [3, 5, 5] as const;
export const incompleteHours = 23;
/** The failed attempts to pay or to enter a code in a day: few, so that they are reached. */
export const attemptLimits = { link: 4, customer: 6, environment: 20 } as const;
/** The minimum charge of the payment network, in minor units. */
export const smallestCharge = 50;

/** The pricing model as a body of `POST /pricing-models/setup`. */
export function structure() {
  const plans = [freePlan, ...paidPlans];
  return {
    name: 'Simulated',
    isDefault: true,
    features: [...plans.flatMap(featuresOf), ...packs.flatMap(featuresOfPack), limitFeature],
    products: [...plans.map(productOf), ...packs.map(productOfPack), addOnProduct],
    usageMeters: metersOf(),
    creditPools: poolsOf(),
    resources: [{ slug: seatSlug, name: 'Seat', active: true }],
  };
}

function productOf(plan: Plan) {
  return {
    product: {
      name: plan.slug,
      slug: plan.slug,
      active: true,
      default: plan === freePlan,
      ...(plan.rates && { usagePrices: plan.rates.map(rateOf) }),
      ...(plan.quantities && { minimumQuantity: plan.quantities.least, maximumQuantity: plan.quantities.most }),
    },
    price: {
      type: 'subscription',
      slug: plan.slug,
      intervalUnit: plan.unit,
      intervalCount: plan.count,
      ...amountOf(plan),
      isDefault: true,
      active: true,
      // The default: of the default product none, of any other bill.
      ...(plan.billsOverage === (plan !== freePlan) ? {} : { overage: plan.billsOverage ? 'bill' : 'none' }),
      ...(plan.trialDays > 0 ? { trialPeriodDays: plan.trialDays } : {}),
      ...(plan.commitment === undefined ? {} : { minimumCommitment: plan.commitment }),
      ...(plan.billsAtEnd ? { billingTiming: 'in_arrears' } : {}),
      ...(plan.setupFee === undefined ? {} : { setupFeeAmount: plan.setupFee }),
    },
    features: [...featuresOf(plan).map(({ slug }) => slug), { slug: limitSlug, value: limitOf(plan) }],
  };
}

function rateOf(priceSlug: string) {
  return { usageMeterSlug: usagePriceOf(priceSlug).meter, priceSlug };
}

function amountOf({ unitPrice, many }: Plan) {
  if (many === undefined) return { unitPrice };
  const tiers = [
    { upTo: many.above, unitAmount: String(unitPrice) },
    { upTo: null, unitAmount: String(many.unitPrice) },
  ];
  return { pricing: { model: 'volume', tiers } };
}

function featuresOfPack({ slug, calls, pool, credits, lasts }: Pack) {
  const terms = lasts && {
    renewalFrequency: 'every_interval',
    grantInterval: { unit: lasts.unit, count: lasts.count },
    rolloverMaximum: lasts.rollover.maximum,
    rolloverPeriods: lasts.rollover.periods,
  };
  const once = { type: 'usage_credit_grant', description: '', active: true, renewalFrequency: 'once' };
  const ofCalls = { ...once, slug: `${slug}-calls`, name: 'Calls of a pack', usageMeterSlug: meterSlug, amount: calls };
  const named = { ...once, slug: `${slug}-credits`, name: 'Credits of a pack' };
  const ofPool = { ...named, creditPoolSlug: pool, amount: credits, ...terms };
  return [...(calls > 0 ? [ofCalls] : []), ...(credits > 0 ? [ofPool] : [])];
}

function productOfPack(of: Pack) {
  const { slug, unitPrice } = of;
  return {
    product: { name: slug, slug, active: true, default: false },
    price: { type: 'single_payment', slug, unitPrice, isDefault: true, active: true },
    features: featuresOfPack(of).map((feature) => feature.slug),
  };
}

const addOnProduct = {
  product: { name: 'Support', slug: addOn.slug, active: true, default: false, addOn: true },
  price: {
    type: 'subscription',
    slug: addOn.slug,
    unitPrice: addOn.unitPrice,
    intervalUnit: 'month',
    intervalCount: 1,
    isDefault: true,
    active: true,
  },
  features: [{ slug: limitSlug, value: addOn.limit }],
};

function featuresOf(of: Plan) {
  const { slug: plan, seats, pools = {} } = of;
  const named = (what: string) => ({ slug: `${plan}-${what}`, name: `${plan} ${what}`, description: '', active: true });
  const limits = (of.limits ?? []).map(({ meter, pool, amount, ...terms }, index) => {
    const subject = pool === undefined ? { usageMeterSlug: meter } : { creditPoolSlug: pool };
    const spendLimit = { ...terms, ...subject, thresholds: [50, 80, 100] };
    return { ...named(`spending-${index}`), type: 'spend_limit', amount, spendLimit };
  });
  return [
    ...creditsOf(of, of, { usageMeterSlug: meterSlug }, named),
    ...Object.entries(pools).flatMap(([slug, grants]) =>
      creditsOf(of, grants, { creditPoolSlug: slug }, (what) => named(`${slug}-${what}`)),
    ),
    ...limits,
    ...(seats > 0 ? [{ ...named('seats'), type: 'resource', amount: seats, resourceSlug: seatSlug }] : []),
  ];
}

function creditsOf(
  { grantInterval }: Plan,
  { once = 0, recurring = 0, rollover }: PoolGrants,
  subject: object,
  named: (what: string) => { readonly slug: string },
) {
  const credits = { type: 'usage_credit_grant', ...subject };
  const goingOver =
    rollover === undefined ? {} : { rolloverMaximum: rollover.maximum, rolloverPeriods: rollover.periods };
  const often =
    grantInterval === undefined
      ? { renewalFrequency: 'every_billing_period' }
      : { renewalFrequency: 'every_interval', grantInterval };
  return [
    ...(once > 0 ? [{ ...named('once'), ...credits, amount: once, renewalFrequency: 'once' }] : []),
    ...(recurring > 0 ? [{ ...named('recurring'), ...credits, amount: recurring, ...often, ...goingOver }] : []),
  ];
}

/** What is sold in the simulated world. Both the service and the oracle are told this, and nothing else is shared. */

export interface Plan {
  readonly slug: string;
  /** In minor units, for an interval. */
  readonly unitPrice: number;
  readonly unit: 'day' | 'week' | 'month' | 'year';
  readonly count: number;
  readonly trialDays: number;
  /** Credits of the first period, which never end, and those of each period, which end with it. Of one unit of the plan. */
  readonly once: number;
  readonly recurring: number;
  readonly seats: number;
}

export const freePlan: Plan = {
  slug: 'free',
  unitPrice: 0,
  unit: 'month',
  count: 1,
  trialDays: 0,
  once: 100,
  recurring: 0,
  seats: 1,
};

export const paidPlans: readonly Plan[] = [
  { slug: 'pro', unitPrice: 3000, unit: 'month', count: 1, trialDays: 0, once: 500, recurring: 1000, seats: 5 },
  { slug: 'annual', unitPrice: 29_999, unit: 'year', count: 1, trialDays: 0, once: 0, recurring: 5000, seats: 10 },
  { slug: 'team', unitPrice: 4501, unit: 'month', count: 1, trialDays: 14, once: 0, recurring: 300, seats: 3 },
  { slug: 'sprint', unitPrice: 777, unit: 'week', count: 2, trialDays: 0, once: 20, recurring: 50, seats: 2 },
  { slug: 'quarter', unitPrice: 10_007, unit: 'month', count: 3, trialDays: 7, once: 70, recurring: 0, seats: 0 },
];

export interface Discount {
  readonly code: string;
  readonly type: 'percent' | 'fixed';
  readonly amount: number;
  /** Invoices that it is good for; null: all. */
  readonly times: number | null;
}

export const discounts: readonly Discount[] = [
  { code: 'QUARTER', type: 'percent', amount: 25, times: 1 },
  { code: 'FIVER', type: 'fixed', amount: 500, times: null },
  { code: 'TENTH', type: 'percent', amount: 10, times: 2 },
  { code: 'GIFT', type: 'percent', amount: 100, times: 1 },
];

/** The price of so many units of the one meter. */
export const overage = { unitPrice: 50, units: 100 } as const;
export const meterSlug = 'calls';
export const seatSlug = 'seat';

/** Days until the next attempt to collect, after each failed one. */
export const retryDays = [3, 5, 5] as const;
export const incompleteHours = 23;
/** The payment network takes no less, in minor units. */
export const smallestCharge = 50;

/** The pricing model as `POST /pricing-models/setup` takes it. */
export function structure() {
  const plans = [freePlan, ...paidPlans];
  return {
    name: 'Simulated',
    isDefault: true,
    features: plans.flatMap(featuresOf),
    products: plans.map((plan) => ({
      product: { name: plan.slug, slug: plan.slug, active: true, default: plan === freePlan },
      price: {
        type: 'subscription',
        slug: plan.slug,
        intervalUnit: plan.unit,
        intervalCount: plan.count,
        unitPrice: plan.unitPrice,
        isDefault: true,
        active: true,
        ...(plan.trialDays > 0 ? { trialPeriodDays: plan.trialDays } : {}),
      },
      features: featuresOf(plan).map(({ slug }) => slug),
    })),
    usageMeters: [
      {
        usageMeter: { name: 'Calls', slug: meterSlug, aggregationType: 'sum' },
        prices: [
          {
            type: 'usage',
            slug: 'calls-overage',
            intervalUnit: 'month',
            intervalCount: 1,
            unitPrice: overage.unitPrice,
            usageEventsPerUnit: overage.units,
            isDefault: true,
          },
        ],
      },
    ],
    resources: [{ slug: seatSlug, name: 'Seat', active: true }],
  };
}

function featuresOf({ slug: plan, once, recurring, seats }: Plan) {
  const credits = { type: 'usage_credit_grant', usageMeterSlug: meterSlug };
  const named = (what: string) => ({ slug: `${plan}-${what}`, name: `${plan} ${what}`, description: '', active: true });
  return [
    ...(once > 0 ? [{ ...named('once'), ...credits, amount: once, renewalFrequency: 'once' }] : []),
    ...(recurring > 0
      ? [{ ...named('recurring'), ...credits, amount: recurring, renewalFrequency: 'every_billing_period' }]
      : []),
    ...(seats > 0 ? [{ ...named('seats'), type: 'resource', amount: seats, resourceSlug: seatSlug }] : []),
  ];
}

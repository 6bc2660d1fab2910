export const month = { intervalUnit: 'month', intervalCount: 1 };

function credits(slug: string) {
  return {
    type: 'usage_credit_grant',
    slug: `${slug}-credits`,
    name: slug,
    description: '',
    // Enough for any load: uncovered usage is booked in another way.
    amount: 1_000_000_000,
    renewalFrequency: 'every_billing_period',
    usageMeterSlug: slug,
  };
}

function meter(slug: string) {
  const price = { type: 'usage', slug: `${slug}-overage`, ...month, unitPrice: 1, usageEventsPerUnit: 1000 };
  return { usageMeter: { name: slug, slug }, prices: [{ ...price, isDefault: true }] };
}

/** The default product: free, with all of these credits. */
export function freeProduct(features: readonly { slug: string }[]) {
  return {
    product: { name: 'Free', slug: 'free', active: true, default: true },
    price: { type: 'subscription', slug: 'free', ...month, unitPrice: 0, isDefault: true },
    features: features.map(({ slug }) => slug),
  };
}

const numbered = (word: string, size: number) => Array.from({ length: size }, (_, index) => `${word}-${index}`);

const meterSlugs = ['requests', 'tokens', 'storage'];

/** A free product with credits for three usage meters. */
export const meterPlan = {
  name: 'Bench',
  isDefault: true,
  features: meterSlugs.map(credits),
  products: [freeProduct(meterSlugs.map(credits))],
  usageMeters: meterSlugs.map(meter),
};

/** The same, with credits for the first meter only: usage of the others is paid as it goes. */
export const mixedPlan = {
  ...meterPlan,
  features: meterSlugs.slice(0, 1).map(credits),
  products: [freeProduct(meterSlugs.slice(0, 1).map(credits))],
};

const pooledCredits = {
  ...{ type: 'usage_credit_grant', slug: 'pool-credits', name: 'Pool', description: '', amount: 1_000_000 },
  ...{ renewalFrequency: 'every_billing_period', creditPoolSlug: 'pool' },
};

/** The same without credits of meters. All of them draw from one pool, at a rate that no decimal text tells. */
export const poolPlan = {
  ...meterPlan,
  features: [],
  products: [freeProduct([])],
  creditPools: [
    {
      slug: 'pool',
      name: 'Pool',
      unit: 'credit',
      rates: meterSlugs.map((usageMeterSlug) => ({ usageMeterSlug, per: 3600, cost: '1' })),
    },
  ],
};

/** Credits of the meters, and of a pool that they draw from behind these. */
export const pooledMeterPlan = {
  ...meterPlan,
  features: [...meterPlan.features, pooledCredits],
  products: [freeProduct([...meterPlan.features, pooledCredits])],
  creditPools: poolPlan.creditPools,
};

/** A plan with these spend limits beside its credits. */
export function limitedPlan(limits: readonly { readonly amount: number }[]) {
  const features = limits.map(({ amount, ...spendLimit }, index) => {
    return { type: 'spend_limit', slug: `limit-${index}`, name: `Limit ${index}`, description: '', amount, spendLimit };
  });
  const given = [...meterPlan.features, ...features];
  return { ...meterPlan, features: given, products: [freeProduct(given)] };
}

/** The models that have a price of their own on `pricedMeter`. */
export const models = numbered('model', 20);
const [pricedMeter = ''] = meterSlugs;

/** The same, with a price for each model on the first meter beside its own. */
export const pricedPlan = {
  ...meterPlan,
  usageMeters: meterSlugs.map((slug) => {
    const { usageMeter, prices } = meter(slug);
    const byModel = models.map((model) => {
      const own = { type: 'usage', slug: `${slug}-${model}`, ...month, unitPrice: 2, usageEventsPerUnit: 1000 };
      return { ...own, isDefault: false, where: { model: [model] } };
    });
    return { usageMeter, prices: slug === pricedMeter ? [...prices, ...byModel] : prices };
  }),
};

/** Events of these models on that meter. */
export const pricedByModel = { usageMeterSlug: pricedMeter, models };

/** The slugs of the prices of its meters. */
export const priceSlugs = meterSlugs.map((slug) => `${slug}-overage`);

const creditSlugs = numbered('calls', 30);
const resourceSlugs = numbered('seats', 30);
const features = [
  ...numbered('toggle', 40).map((slug) => ({ type: 'toggle', slug, name: slug, description: '' })),
  ...creditSlugs.map(credits),
  ...resourceSlugs.map((slug) => ({
    type: 'resource',
    slug: `${slug}-capacity`,
    name: slug,
    description: '',
    amount: 10,
    resourceSlug: slug,
  })),
];

/** A free product with a hundred features: 40 toggles, credits for 30 meters, capacity of 30 resources. */
export const featurePlan = {
  name: 'Bench',
  isDefault: true,
  features,
  products: [freeProduct(features)],
  usageMeters: creditSlugs.map(meter),
  resources: resourceSlugs.map((slug) => ({ slug, name: slug })),
};

export const featureSlugs = features.map(({ slug }) => slug);

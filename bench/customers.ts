import { ask, type BenchService } from './running.ts';

/** Customers with a subscription each, on a pricing model with three usage meters. */
export interface Population {
  readonly externalIds: readonly string[];
  readonly subscriptionIds: readonly string[];
  readonly priceSlugs: readonly string[];
}

const meterSlugs = ['requests', 'tokens', 'storage'];

/** Makes the population through the API. */
export async function makePopulation(service: BenchService, size: number): Promise<Population> {
  await ask(service, 'POST', '/pricing-models/setup', {
    name: 'Bench',
    isDefault: true,
    features: meterSlugs.map((slug) => ({
      type: 'usage_credit_grant',
      slug: `${slug}-credits`,
      name: slug,
      description: '',
      amount: 1_000_000_000,
      renewalFrequency: 'every_billing_period',
      usageMeterSlug: slug,
    })),
    products: [
      {
        product: { name: 'Free', slug: 'free', active: true, default: true },
        price: {
          type: 'subscription',
          slug: 'free',
          intervalUnit: 'month',
          intervalCount: 1,
          unitPrice: 0,
          isDefault: true,
        },
        features: meterSlugs.map((slug) => `${slug}-credits`),
      },
    ],
    usageMeters: meterSlugs.map((slug) => ({
      usageMeter: { name: slug, slug },
      prices: [
        {
          type: 'usage',
          slug: `${slug}-overage`,
          intervalUnit: 'month',
          intervalCount: 1,
          unitPrice: 1,
          usageEventsPerUnit: 1000,
          isDefault: true,
        },
      ],
    })),
  });
  const externalIds = Array.from({ length: size }, (_, index) => `customer-${index}`);
  const subscriptionIds: string[] = [];
  for (const externalId of externalIds) {
    const customer = { externalId, email: `${externalId}@bench.test`, name: externalId };
    const { data } = await ask<{ data: { subscription: { id: string } } }>(service, 'POST', '/customers', { customer });
    subscriptionIds.push(data.subscription.id);
  }
  return { externalIds, subscriptionIds, priceSlugs: meterSlugs.map((slug) => `${slug}-overage`) };
}

import { ask, type BenchService } from './running.ts';

/** Customers with one subscription each. */
export interface Population {
  readonly externalIds: readonly string[];
  readonly subscriptionIds: readonly string[];
}

const askedAtOnce = 16;

/** Sets up the plan and creates customers on it, through the API. */
export async function makePopulation(service: BenchService, plan: object, size: number): Promise<Population> {
  await ask(service, 'POST', '/pricing-models/setup', plan);
  return addCustomers(service, 'customer', size);
}

/** Creates customers on the default plan, with that word in their names. */
export async function addCustomers(service: BenchService, word: string, size: number): Promise<Population> {
  const externalIds = Array.from({ length: size }, (_, index) => `${word}-${index}`);
  const subscriptionIds: string[] = [];
  const waiting = externalIds.values();
  // The iterator is shared, so each worker takes the next waiting customer.
  const make = async () => {
    for (const externalId of waiting) {
      const customer = { externalId, email: `${externalId}@bench.test`, name: externalId };
      const { data } = await ask<{ data: { subscription: { id: string } } }>(service, 'POST', '/customers', {
        customer,
      });
      subscriptionIds.push(data.subscription.id);
    }
  };
  await Promise.all(Array.from({ length: askedAtOnce }, make));
  return { externalIds, subscriptionIds };
}

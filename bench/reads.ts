import { makePopulation } from './customers.ts';
import { duePlan, tieredUsage } from './due-population.ts';
import { selectsPerSecond } from './limits.ts';
import { measureLoad } from './load.ts';
import type { Measured, Row } from './measured.ts';
import { featurePlan, featureSlugs, meterPlan } from './plans.ts';
import { ask, type BenchService } from './running.ts';
import { connectionsOr, seconds } from './settings.ts';

async function usageBalances(service: BenchService): Promise<Measured> {
  const { externalIds } = await makePopulation(service, meterPlan, 1_000);
  const connections = connectionsOr(64);
  const paths = externalIds.map((externalId) => `/customers/${externalId}/usage-balances`);
  const clients = 16;
  const load = { connections, seconds, requests: { kind: 'get', paths } } as const;
  const figures = await measureLoad(service, load, () => selectsPerSecond(service.databaseUrl, clients));
  return {
    value: figures.requestsPerSecond,
    unit: 'requests/s',
    limit: figures.limit,
    note: `${connections} connections; limit: prepared select of one row, pgbench, ${clients} clients`,
    costs: figures.costs,
    each: 'request',
    count: figures.requests,
  };
}

const customersChecked = 100;
const customersPerRequest = 10;

/** Checks 100 features for 100 customers, in ten requests of 1,000 pairs over the given number of connections. */
function entitlementsRow(order: 'at once' | 'one after the other'): Row {
  return async (service) => {
    const { externalIds } = await makePopulation(service, featurePlan, customersChecked);
    const bodies: string[] = [];
    for (let first = 0; first < externalIds.length; first += customersPerRequest) {
      const checks = externalIds
        .slice(first, first + customersPerRequest)
        .flatMap((customerExternalId) => featureSlugs.map((featureSlug) => ({ customerExternalId, featureSlug })));
      bodies.push(JSON.stringify({ checks }));
    }
    await requireAllAllowed(service, bodies);
    const requests = { kind: 'post', path: '/entitlements/check', bodies } as const;
    const connections = order === 'at once' ? bodies.length : 1;
    const figures = await measureLoad(service, { connections, seconds, requests });
    return {
      value: (bodies.length / figures.requestsPerSecond) * 1000,
      unit: 'ms',
      limit: null,
      note: `${customersChecked} customers x ${featureSlugs.length} features, ${bodies.length} requests ${order}`,
      costs: figures.costs,
      each: 'request',
      count: figures.requests,
    };
  };
}

/** Checks that find nothing would make the figure worthless. */
async function requireAllAllowed(service: BenchService, bodies: readonly string[]): Promise<void> {
  for (const body of bodies) {
    const requested: unknown = JSON.parse(body);
    const { results } = await ask<{ results: { allowed: boolean }[] }>(
      service,
      'POST',
      '/entitlements/check',
      requested,
    );
    const refused = results.find(({ allowed }) => !allowed);
    if (refused !== undefined) throw new Error(`not allowed: ${JSON.stringify(refused)}`);
  }
}

/** Prices 1,000 lines at a stored price in three tiers, in each request. */
async function quotes(service: BenchService): Promise<Measured> {
  await ask(service, 'POST', '/pricing-models/setup', duePlan(tieredUsage));
  const lines = Array.from({ length: 1000 }, (_, units) => ({ priceSlug: 'calls-overage', units }));
  const requests = { kind: 'post', path: '/prices/quote', bodies: [JSON.stringify({ quote: { lines } })] } as const;
  const figures = await measureLoad(service, { connections: 1, seconds, requests });
  return {
    value: 1000 / figures.requestsPerSecond,
    unit: 'ms',
    limit: null,
    note: '1,000 lines a request, one after the other',
    costs: figures.costs,
    each: 'request',
    count: figures.requests,
  };
}

export const readRows: Readonly<Record<string, Row>> = {
  'usage-balances': usageBalances,
  'entitlements-check': entitlementsRow('at once'),
  'entitlements-check-in-turn': entitlementsRow('one after the other'),
  'price-quotes': quotes,
};

import { makePopulation, type Population } from './customers.ts';
import { manyConnections, subscriptions } from './ingest.ts';
import { measureLoad } from './load.ts';
import type { Row } from './measured.ts';
import { meterPlan, priceSlugs } from './plans.ts';
import type { Requests } from './requests.ts';
import { startSecond } from './running.ts';
import { connectionsOr, seconds } from './settings.ts';

/** A load that two processes on one database share, beside the same load on one of them. */
function sharedRow(size: number, requestsOf: (population: Population) => Requests): Row {
  return async (service) => {
    const requests = requestsOf(await makePopulation(service, meterPlan, size));
    const load = { connections: connectionsOr(manyConnections), seconds, requests };
    const alone = await measureLoad(service, load);
    const both = await startSecond(service);
    try {
      const figures = await measureLoad(both, load);
      return {
        value: figures.requestsPerSecond,
        unit: 'requests/s',
        limit: alone.requestsPerSecond,
        note: 'two processes on one database; limit: the same load on one of them',
        costs: figures.costs,
        each: 'request',
        count: figures.requests,
      };
    } finally {
      await both.stop();
    }
  };
}

const onOneAccount = (path: string) =>
  sharedRow(1, ({ subscriptionIds }) => {
    return { kind: 'event', path, sources: { subscriptionIds, priceSlugs: priceSlugs.slice(0, 1) } };
  });

export const twoProcessesRows: Readonly<Record<string, Row>> = {
  'two-processes-bulk': sharedRow(subscriptions, ({ subscriptionIds }) => {
    return { kind: 'events', size: 1_000, asLines: false, sources: { subscriptionIds, priceSlugs } };
  }),
  'two-processes-hot': onOneAccount('/usage-events'),
  'two-processes-spread': sharedRow(subscriptions, ({ subscriptionIds }) => {
    return { kind: 'event', path: '/usage-events', sources: { subscriptionIds, priceSlugs } };
  }),
  'two-processes-consume': onOneAccount('/usage-events/consume'),
  'two-processes-balances': sharedRow(subscriptions, ({ externalIds }) => {
    return { kind: 'get', paths: externalIds.map((externalId) => `/customers/${externalId}/usage-balances`) };
  }),
};

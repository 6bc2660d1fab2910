import { slots } from '../src/kernel/id.ts';
import { addCustomers, makePopulation, type Population } from './customers.ts';
import { manyConnections, subscriptions } from './ingest.ts';
import { measureLoad } from './load.ts';
import type { Row } from './measured.ts';
import { meterPlan, priceSlugs } from './plans.ts';
import type { Requests } from './requests.ts';
import { command } from './running.ts';
import { connectionsOr, seconds } from './settings.ts';

/**
 * A load on customers of several cells of one server, beside the same load on one cell. The customers of the first load stay at
 * home. Other cells get slots without customers, and the customers of the second load are spread over all cells.
 */
function cellsRow(cells: number, requestsOf: (population: Population) => Requests): Row {
  return async (service) => {
    const before = await makePopulation(service, meterPlan, subscriptions);
    const load = { connections: connectionsOr(manyConnections), seconds };
    const alone = await measureLoad(service, { ...load, requests: requestsOf(before) });
    for (let added = 1; added < cells; added++) {
      const name = `cell_${added}`;
      await command(service.databaseUrl, ['cells', 'add', name]);
      await command(service.databaseUrl, ['cells', 'assign', name, '--slots', String(Math.floor(slots / cells))]);
    }
    const spread = await addCustomers(service, 'spread', subscriptions);
    const figures = await measureLoad(service, { ...load, requests: requestsOf(spread) });
    return {
      value: figures.requestsPerSecond,
      unit: 'requests/s',
      limit: alone.requestsPerSecond,
      note: `${cells} cells in one database; limit: the same load on one cell`,
      costs: figures.costs,
      each: 'request',
      count: figures.requests,
    };
  };
}

const inBulk = ({ subscriptionIds }: Population): Requests => {
  return { kind: 'events', size: 1_000, asLines: false, sources: { subscriptionIds, priceSlugs } };
};
const oneByOne = ({ subscriptionIds }: Population): Requests => {
  return { kind: 'event', path: '/usage-events', sources: { subscriptionIds, priceSlugs } };
};

export const cellsRows: Readonly<Record<string, Row>> = {
  'two-cells-bulk': cellsRow(2, inBulk),
  'two-cells-spread': cellsRow(2, oneByOne),
  'four-cells-bulk': cellsRow(4, inBulk),
  'four-cells-spread': cellsRow(4, oneByOne),
};

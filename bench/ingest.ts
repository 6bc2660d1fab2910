import { makePopulation } from './customers.ts';
import { connected, emptyUsageEvents, readNumber } from './database.ts';
import { bookingOfLimit, copiedEventsPerSecond, insertsPerSecond, takingsPerSecond } from './limits.ts';
import { type LoadFigures, measureBeside, measureLoad } from './load.ts';
import type { Measured, Row } from './measured.ts';
import { limitedPlan, meterPlan, mixedPlan, models, poolPlan, pricedByModel, pricedPlan, priceSlugs } from './plans.ts';
import type { EventSources } from './requests.ts';
import { ask, type BenchService } from './running.ts';
import { connectionsOr, olderPartitions, seconds, storedEvents, storedPartitions } from './settings.ts';
import { fillOlderPartitions, storeEvents } from './stored-events.ts';

export const subscriptions = 1_000;
// Requests that wait at the same time share a batch: as many clients as a busy service has.
export const manyConnections = 64;

async function sourcesOf(service: BenchService, size: number): Promise<EventSources> {
  const { subscriptionIds } = await makePopulation(service, meterPlan, size);
  if (olderPartitions > 0) {
    const usageEvent = {
      subscriptionId: subscriptionIds[0],
      priceSlug: priceSlugs[0],
      transactionId: 'older',
      amount: 1,
    };
    await ask(service, 'POST', '/usage-events', { usageEvent });
    await fillOlderPartitions(service.databaseUrl, olderPartitions);
  }
  return { subscriptionIds, priceSlugs };
}

const countEvents = (service: BenchService) =>
  connected(service.databaseUrl, (client) =>
    readNumber(client, `select count(*) from usage_events where booking <> ${bookingOfLimit}`),
  );

interface Batches {
  /** Events per request. */
  readonly size: number;
  readonly asLines: boolean;
  readonly connections: number;
}

/**
 * Measures events sent in bulk. Verifies that every acknowledged event is stored, because a figure of undone work is
 * worthless.
 */
async function ingestInBulk(
  service: BenchService,
  sources: EventSources,
  { size, asLines, connections }: Batches,
  loadSeconds = seconds,
): Promise<LoadFigures> {
  const before = await countEvents(service);
  const figures = await measureLoad(service, {
    connections,
    seconds: loadSeconds,
    requests: { kind: 'events', size, asLines, sources },
  });
  await requireEvents(service, before + (figures.warmUpRequests + figures.requests) * size);
  return figures;
}

async function requireEvents(service: BenchService, expected: number): Promise<void> {
  const stored = await countEvents(service);
  if (stored !== expected) throw new Error(`${stored} events are stored where ${expected} should be`);
}

function bulkFigures({ requestsPerSecond, requests, costs }: LoadFigures, size: number) {
  return { value: requestsPerSecond * size, unit: 'events/s', costs, each: 'event', count: requests * size };
}

function bulkRow(batches: Batches): Row {
  const { size, connections } = batches;
  return async (service) => {
    const sources = await sourcesOf(service, subscriptions);
    const figures = await ingestInBulk(service, sources, batches);
    const limit = await copiedEventsPerSecond(service.databaseUrl);
    const note = `${connections} connections, ${size} events each; limit: COPY of the same rows into the same table`;
    return { ...bulkFigures(figures, size), limit, note };
  };
}

// After a checkpoint the first change of each page writes the whole page to the WAL. On a large table that dominates
// the first seconds, and does not represent the steady state.
const secondsWhenFull = 6 * seconds;

/** The same load on the empty table and on a full one. */
async function bulkAtStored(service: BenchService): Promise<Measured> {
  const batches = { size: 1_000, asLines: false, connections: connectionsOr(manyConnections) };
  const sources = await sourcesOf(service, subscriptions);
  // A discarded run: otherwise the full table would meet a service that has run longer than the empty one.
  await ingestInBulk(service, sources, batches);
  await connected(service.databaseUrl, emptyUsageEvents);
  const empty = await ingestInBulk(service, sources, batches);
  await storeEvents(service.databaseUrl, { size: storedEvents, partitions: storedPartitions });
  const full = await ingestInBulk(service, sources, batches, secondsWhenFull);
  const { costs, requests } = empty;
  const each = requests * batches.size;
  const whenEmpty = `${Math.round(costs.walBytes / each)} bytes of WAL and ${(((costs.cpu.database ?? 0) * 1_000_000) / each).toFixed(1)} µs of the database an event`;
  const note = `${storedEvents} events in ${storedPartitions} partitions stored before, ${secondsWhenFull} s; limit: the same when empty (${whenEmpty})`;
  return { ...bulkFigures(full, batches.size), limit: empty.requestsPerSecond * batches.size, note };
}

/** Measures events sent one per request, spread over the given number of subscriptions. */
function singleRow(size: number): Row {
  return async (service) => {
    const sources = await sourcesOf(service, size);
    const connections = connectionsOr(manyConnections);
    const before = await countEvents(service);
    // One account: a subscription and one of its meters.
    const used = size === 1 ? { ...sources, priceSlugs: priceSlugs.slice(0, 1) } : sources;
    const load = { connections, seconds, requests: { kind: 'event', path: '/usage-events', sources: used } } as const;
    const figures = await measureLoad(service, load, () => insertsPerSecond(service.databaseUrl, manyConnections));
    await requireEvents(service, before + figures.warmUpRequests + figures.requests);
    const note = `${connections} connections; limit: prepared inserts of one row into the same table, pgbench, ${manyConnections} clients`;
    return { ...bulkFigures(figures, 1), limit: figures.limit, note };
  };
}

async function consumeHot(service: BenchService): Promise<Measured> {
  const { subscriptionIds } = await sourcesOf(service, 1);
  return consumeOneMeter(service, subscriptionIds, 'one account');
}

/** The same from a credit pool: the meter has no credits of its own. */
async function consumePoolHot(service: BenchService): Promise<Measured> {
  const { subscriptionIds, externalIds } = await makePopulation(service, poolPlan, 1);
  const [customerExternalId] = externalIds;
  // Enough for any load, in parts as a customer has them.
  for (let part = 0; part < 10; part += 1)
    await ask(service, 'POST', '/usage-credits', {
      usageCredit: { customerExternalId, creditPoolSlug: 'pool', amount: 100_000_000 },
    });
  return consumeOneMeter(service, subscriptionIds, 'one credit pool');
}

// Both hold all of the load: a blocking one in units, and one in money that only notifies.
const limits = [
  { usageMeterSlug: pricedByModel.usageMeterSlug, period: 'month', amount: 10 ** 15 },
  { period: 'month', amount: 10 ** 15, unit: 'money', action: 'notify' },
];

async function consumeWithBudgetHot(service: BenchService): Promise<Measured> {
  const { subscriptionIds, externalIds } = await makePopulation(service, meterPlan, 1);
  await ask(service, 'PUT', `/customers/${externalIds[0]}/spend-controls`, { spendControls: { limits } });
  return consumeOneMeter(service, subscriptionIds, 'one account, two spend limits');
}

/** The same limits by the features of a plan. */
async function consumeWithPlanLimitHot(service: BenchService): Promise<Measured> {
  const { subscriptionIds } = await makePopulation(service, limitedPlan(limits), 1);
  return consumeOneMeter(service, subscriptionIds, 'one account, two spend limits of its plan');
}

async function consumeOneMeter(
  service: BenchService,
  subscriptionIds: readonly string[],
  subject: string,
): Promise<Measured> {
  const connections = connectionsOr(manyConnections);
  const sources = { subscriptionIds, priceSlugs: priceSlugs.slice(0, 1) };
  const before = await countEvents(service);
  const load = { connections, seconds, requests: { kind: 'event', path: '/usage-events/consume', sources } } as const;
  const figures = await measureLoad(service, load, () => takingsPerSecond(service.databaseUrl, manyConnections));
  await requireEvents(service, before + figures.warmUpRequests + figures.requests);
  const note = `${connections} connections, ${subject}; limit: update ... where balance >= 1 of one row, pgbench, ${manyConnections} clients`;
  return { ...bulkFigures(figures, 1), limit: figures.limit, note };
}

/**
 * Single events of accounts with credits and of accounts that pay as they go, a tenth of them dated an hour back. The limit is
 * the spread row's load on the same service.
 */
async function mixedEvents(service: BenchService): Promise<Measured> {
  const { subscriptionIds } = await makePopulation(service, mixedPlan, subscriptions);
  const connections = connectionsOr(manyConnections);
  const load = (sources: EventSources) =>
    ({ connections, requests: { kind: 'event', path: '/usage-events', sources } }) as const;
  const mixed = { ...load({ subscriptionIds, priceSlugs, shareOfLateEvents: 0.1 }), seconds };
  const figures = await measureBeside(service, mixed, load({ subscriptionIds, priceSlugs: priceSlugs.slice(0, 1) }));
  const note = `${connections} connections; limit: the same with credits for all and no late events`;
  return { ...bulkFigures(figures, 1), limit: figures.limit, note };
}

// Each has a series for each of 20 prices: as many series as the plain load has.
const pricedSubscriptions = 150;

/** Records an event of each subscription and model: a series is opened once in a period, and not by the load. */
async function openSeries(service: BenchService, subscriptionIds: readonly string[]) {
  const { usageMeterSlug } = pricedByModel;
  for (const model of models) {
    const usageEvents = subscriptionIds.map((subscriptionId) => {
      const use = { subscriptionId, usageMeterSlug, properties: { model }, amount: 1 };
      return { ...use, transactionId: `${model} ${subscriptionId}` };
    });
    await ask(service, 'POST', '/usage-events/bulk', { usageEvents });
  }
}

/** Events that name a meter with a price for each model. The limit is the load of the plain row, on the same service. */
function pricedRow(size: number): Row {
  return async (service) => {
    const { subscriptionIds } = await makePopulation(service, pricedPlan, subscriptions);
    const priced = subscriptionIds.slice(0, pricedSubscriptions);
    await openSeries(service, priced);
    const connections = connectionsOr(manyConnections);
    const load = (sources: EventSources) => {
      const single = { kind: 'event', path: '/usage-events', sources } as const;
      return {
        connections,
        requests: size > 1 ? ({ kind: 'events', size, asLines: false, sources } as const) : single,
      };
    };
    const byModel = { ...load({ subscriptionIds: priced, priceSlugs, byModel: pricedByModel }), seconds };
    const before = await countEvents(service);
    const figures = await measureBeside(service, byModel, load({ subscriptionIds, priceSlugs }));
    const { limit, warmUpRequests, requests, otherRequests } = figures;
    await requireEvents(service, before + (warmUpRequests + requests + otherRequests) * size);
    const note = `${connections} connections, ${models.length} prices by property; limit: the same on meters with one price`;
    return { ...bulkFigures(figures, size), limit: limit * size, note };
  };
}

export const ingestRows: Readonly<Record<string, Row>> = {
  'bulk-ingest': bulkRow({ size: 1_000, asLines: false, connections: connectionsOr(manyConnections) }),
  'bulk-ingest-ndjson': bulkRow({ size: 10_000, asLines: true, connections: connectionsOr(4) }),
  'bulk-ingest-at-20m': bulkAtStored,
  'single-events-hot': singleRow(1),
  'single-events-spread': singleRow(subscriptions),
  'single-events-mixed': mixedEvents,
  'bulk-ingest-priced': pricedRow(1_000),
  'single-events-priced': pricedRow(1),
  'consume-hot': consumeHot,
  'consume-pool-hot': consumePoolHot,
  'consume-with-budget-hot': consumeWithBudgetHot,
  'consume-with-plan-limit-hot': consumeWithPlanLimitHot,
};

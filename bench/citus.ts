import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { freePort } from '../src/embedded-postgres/server.ts';
import { makePopulation, type Population } from './customers.ts';
import { connected } from './database.ts';
import { manyConnections, subscriptions } from './ingest.ts';
import { type LoadFigures, measureLoad } from './load.ts';
import type { Row } from './measured.ts';
import { meterPlan, priceSlugs } from './plans.ts';
import type { Requests } from './requests.ts';
import { command, startOn } from './running.ts';
import { connectionsOr, seconds } from './settings.ts';

// A cluster is started by `cluster.sh` in the folder that this variable names, as in test/system/citus.test.ts.
const place = process.env.TOLLKEEPER_TEST_CITUS;
const schema = 'bench';

/** Runs `act` with a coordinator and one node. */
async function withCluster<Answer>(act: (urlOf: UrlOf) => Promise<Answer>): Promise<Answer> {
  const directory = await mkdtemp(join(tmpdir(), 'tollkeeper-citus-'));
  const port = await freePort(0);
  const cluster = (...words: readonly string[]) =>
    promisify(execFile)('bash', [join(String(place), 'cluster.sh'), words[0] ?? '', directory, ...words.slice(1)]);
  const urlOf: UrlOf = (node, database) => `postgres://postgres@127.0.0.1:${port + node}/${database}`;
  try {
    await cluster('start', '1', String(port));
    await cluster('database', 'placed');
    return await act(urlOf);
  } finally {
    await cluster('stop');
    await rm(directory, { recursive: true, force: true });
  }
}

type UrlOf = (node: number, database: string) => string;

/** Measures the load on a service of that database. */
async function measureOn(url: string, requestsOf: (population: Population) => Requests): Promise<LoadFigures> {
  const service = await startOn(url, { DATABASE_SCHEMA: schema });
  try {
    const requests = requestsOf(await makePopulation(service, meterPlan, subscriptions));
    const databaseUrl = `${url}?options=-csearch_path%3D${schema}`;
    return await measureLoad(
      { ...service, databaseUrl },
      { connections: connectionsOr(manyConnections), seconds, requests },
    );
  } finally {
    await service.stop();
  }
}

/** Processor time of the database for a load on a schema at a node, beside the same load on a plain database of the same server. */
function citusRow(events: number, requestsOf: (population: Population) => Requests): Row {
  const each = ({ costs, requests }: LoadFigures) => ((costs.cpu.database ?? 0) * 1_000_000) / requests / events;
  return () =>
    withCluster(async (urlOf) => {
      await connected(urlOf(1, 'postgres'), (client) => client.query('create database plain'));
      const plain = await measureOn(urlOf(1, 'plain'), requestsOf);
      const coordinator = urlOf(0, 'placed');
      const settings = { DATABASE_SCHEMA: schema };
      await command(coordinator, ['organizations', 'create', '--name', 'Bench'], settings);
      await command(coordinator, ['cells', 'place', schema], settings);
      const figures = await measureOn(urlOf(1, 'placed'), requestsOf);
      return {
        value: each(figures),
        unit: 'µs/event',
        limit: each(plain),
        note: 'processor time of the database, through the node of Citus; limit: the same server without Citus',
        costs: figures.costs,
        each: 'request',
        count: figures.requests,
      };
    });
}

const bulk = 1_000;

/** Rows that need a cluster of Citus; none without one. */
export const citusRows: Readonly<Record<string, Row>> = place
  ? {
      'citus-bulk': citusRow(bulk, ({ subscriptionIds }) => {
        return { kind: 'events', size: bulk, asLines: false, sources: { subscriptionIds, priceSlugs } };
      }),
      'citus-spread': citusRow(1, ({ subscriptionIds }) => {
        return { kind: 'event', path: '/usage-events', sources: { subscriptionIds, priceSlugs } };
      }),
    }
  : {};

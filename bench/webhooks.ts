import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { loopback } from '../src/jobs/address-guard.ts';
import { createOutbound } from '../src/jobs/outbound.ts';
import { withCosts } from './costs.ts';
import { connected } from './database.ts';
import type { Measured, Row } from './measured.ts';
import { meterPlan } from './plans.ts';
import { ask, type BenchService } from './running.ts';
import { seconds } from './settings.ts';

/** A local receiver that responds with 204 and records the arrival of each message. */
async function startReceiver() {
  const arrivals = new Map<string, number>();
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      arrivals.set(String(request.headers['webhook-id']), Date.now());
      response.writeHead(204).end();
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrivals,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A server that accepts connections and never responds. */
async function startDeadEndpoint() {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function register(service: BenchService, url: string): Promise<void> {
  await ask(service, 'POST', '/webhooks', { webhook: { name: 'bench', url, filterTypes: [] } });
}

/** Inserts events in one commit, about a thousand objects in turn, like the service. */
async function writeEvents(client: pg.Client, count: number, label: string): Promise<void> {
  await client.query(
    `insert into events (environment_id, id, pricing_model_id, type, object, object_id, payload, occurred_at, created_at)
     select m.environment_id, 'event_' || $2 || lpad(n::text, 12, '0'), m.id, 'customer.updated', 'customer', 'cust_' || n % 1000,
            jsonb_build_object('id', 'cust_' || n % 1000, 'object', 'customer', 'type', 'customer.updated',
              'customer', jsonb_build_object('id', 'cust_' || n % 1000, 'externalId', 'customer-' || n % 1000),
              'pricingModelId', m.id, 'eventId', 'event_' || $2 || lpad(n::text, 12, '0'), 'occurredAt', 0, 'livemode', false),
            0, 0
       from generate_series(1, $1::integer) n
       join pricing_models m on m.is_default
       join environments e on e.id = m.environment_id and not e.livemode`,
    [count, label.padEnd(9, '0')],
  );
}

const inOneCommit = 20_000;

/** From the commit of the events to the last response of the one endpoint. */
async function throughput(service: BenchService): Promise<Measured> {
  const receiver = await startReceiver();
  try {
    await ask(service, 'POST', '/pricing-models/setup', meterPlan);
    await register(service, receiver.url);
    return await connected(service.databaseUrl, async (client) => {
      await writeEvents(client, 2_000, 'warmup');
      await arrived(receiver.arrivals, 2_000);
      const { answer, costs } = await withCosts(service, async () => {
        await writeEvents(client, inOneCommit, 'bench');
        const startedAt = performance.now();
        await arrived(receiver.arrivals, 2_000 + inOneCommit);
        return (performance.now() - startedAt) / 1000;
      });
      return {
        value: inOneCommit / answer,
        unit: 'events/s',
        limit: await postsPerSecond(receiver.url),
        note: `${inOneCommit} events of one commit, 1,000 objects, one endpoint; limit: the same requests to it, 16 at once, nothing else`,
        costs,
        each: 'event',
        count: inOneCommit,
      };
    });
  } finally {
    receiver.close();
  }
}

async function arrived(arrivals: ReadonlyMap<string, number>, count: number): Promise<void> {
  for (const end = Date.now() + 120_000; arrivals.size < count; await sleep(5))
    if (Date.now() > end) throw new Error(`${arrivals.size} of ${count} events have arrived`);
}

/** Requests per second to the receiver without reading, signing or recording. */
async function postsPerSecond(url: string): Promise<number> {
  const outbound = createOutbound({ allow: [], allowInTestMode: loopback });
  const body = JSON.stringify({ id: 'cust_1', object: 'customer', text: 'x'.repeat(250) });
  const until = performance.now() + seconds * 1000;
  let sent = 0;
  const send = async () => {
    while (performance.now() < until) {
      await outbound.post({ url, livemode: false, headers: { 'webhook-id': 'limit' }, body });
      sent += 1;
    }
  };
  await Promise.all(Array.from({ length: 16 }, send));
  await outbound.close();
  return sent / seconds;
}

const eventsPerSecond = 100;

/** The time of events from commit to arrival, at a hundred single commits per second. */
function latencyRow(withDeadEndpoint: boolean): Row {
  return async (service) => {
    const receiver = await startReceiver();
    const dead = withDeadEndpoint ? await startDeadEndpoint() : null;
    try {
      await ask(service, 'POST', '/pricing-models/setup', meterPlan);
      if (dead) await register(service, dead.url);
      await register(service, receiver.url);
      const { answer: sorted, costs } = await connected(service.databaseUrl, (client) =>
        withCosts(service, async () => {
          const committed = await commitSteadily(client);
          await arrived(receiver.arrivals, committed.size);
          return [...committed].map(([id, at]) => (receiver.arrivals.get(id) ?? 0) - at).sort((a, b) => a - b);
        }),
      );
      const percentile = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
      return {
        value: percentile(0.99),
        unit: 'ms (p99)',
        limit: null,
        note: `p50 ${percentile(0.5)} ms; ${eventsPerSecond} commits a second${withDeadEndpoint ? ', a dead endpoint beside' : ''}`,
        costs,
        each: 'event',
        count: sorted.length,
      };
    } finally {
      receiver.close();
      dead?.close();
    }
  };
}

/** Commits one event per hundredth of a second, and returns the time just before each commit. */
async function commitSteadily(client: pg.Client): Promise<Map<string, number>> {
  const committed = new Map<string, number>();
  const startedAt = performance.now();
  for (let n = 0; n < seconds * eventsPerSecond; n++) {
    const waitMs = startedAt + (n * 1000) / eventsPerSecond - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const label = n.toString(36).padStart(9, '0');
    committed.set(`event_${label}000000000001`, Date.now());
    await writeEvents(client, 1, label);
  }
  return committed;
}

export const webhookRows: Readonly<Record<string, Row>> = {
  webhooks: throughput,
  'webhooks-latency': latencyRow(false),
  'webhooks-beside-dead': latencyRow(true),
};

import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type pg from 'pg';
import { makePopulation } from './customers.ts';
import { connected, readNumber } from './database.ts';
import { ask, type BenchService, startService } from './running.ts';
import { soakPlan } from './soak-lives.ts';
import { Load, Tally } from './soak-load.ts';
import { type Ending, judge, type Sample } from './soak-verdict.ts';

// npm run soak -- [--minutes 30] [--json]: a mixed load at half of the previously measured peak, on a separate service
// and database. Exits with 1 if a claim fails.

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, json: { type: 'boolean', default: false } },
});
const minutes = Number(values.minutes);
if (!(minutes > 0 && minutes <= 24 * 60)) throw new Error('--minutes must be a number above 0, and at most a day');

const customers = 500;
const [warmUpSeconds, peakSeconds] = [3, 10];
const sampleSeconds = Math.min(30, (minutes * 60) / 8);
const drainMs = 60_000;

const say = (line: string) => {
  if (!values.json) console.log(line);
};

/** A server that accepts and counts messages. */
async function startReceiver() {
  let received = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      received += 1;
      response.writeHead(204).end();
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    received: () => received,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Reads a metric without labels. */
async function readMetrics(service: BenchService): Promise<(name: string) => number> {
  const text = await (await fetch(`${service.address}/metrics`)).text();
  return (name) => Number(new RegExp(`^tollkeeper_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

/** The service's connections by state, without ours. */
async function connectionsOf(client: pg.Client): Promise<Record<string, number>> {
  const { rows } = await client.query<{ state: string; count: number }>(`
    select coalesce(state, 'none') as state, count(*)::integer as count from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' group by 1 order by 1`);
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

const someBytes = Buffer.alloc(2 ** 20);

/**
 * The duration of work unrelated to the service, in milliseconds: a shared machine is at times half as fast, and with
 * it everything on it.
 */
function machineMs(): number {
  const times = Array.from({ length: 5 }, () => {
    const startedAt = performance.now();
    hash('sha256', someBytes);
    return performance.now() - startedAt;
  });
  return Math.min(...times);
}

// Memory is measured after a garbage collection; otherwise it depends on when the last one was.
const collectOnSignal = new URL('../scripts/collect-on-signal.js', import.meta.url).href;
const collectWithinMs = 500;

async function takeSample(service: BenchService, client: pg.Client, tally: Tally, second: number, seconds: number) {
  process.kill(service.pid, 'SIGUSR2');
  await sleep(collectWithinMs);
  const metric = await readMetrics(service);
  return {
    second: Math.round(second),
    rss: metric('process_resident_memory_bytes'),
    heap: metric('nodejs_heap_size_used_bytes'),
    connections: await connectionsOf(client),
    queued: await readNumber(client, 'select count(*) from graphile_worker._private_jobs where run_at <= now()'),
    requestsPerSecond: tally.answered / seconds,
    p50: tally.percentile(0.5),
    p95: tally.percentile(0.95),
    p99: tally.percentile(0.99),
    refused: tally.refused,
    machineMs: machineMs(),
  } satisfies Sample;
}

function showSample({
  second,
  rss,
  heap,
  connections,
  queued,
  requestsPerSecond,
  p50,
  p95,
  p99,
  refused,
  machineMs,
}: Sample): void {
  const megabytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MB`.padStart(8);
  const states = Object.entries(connections).map(([state, count]) => `${count} ${state}`);
  const latencies = [p50, p95, p99].map((ms) => ms.toFixed(1).padStart(7)).join('');
  say(
    `${String(second).padStart(6)} s ${requestsPerSecond.toFixed(0).padStart(6)}/s ${latencies} ms ${megabytes(rss)} ${megabytes(heap)} ` +
      `${String(queued).padStart(6)} queued ${refused} refused  machine ${machineMs.toFixed(2)} ms  ${states.join(', ')}`,
  );
}

/** Runs the load at half of its peak, with periodic samples. */
async function soak(service: BenchService, client: pg.Client, load: Load, perSecond: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  let isOver = false;
  const all = new Tally();
  /** The counts since the last call. */
  const take = () => {
    const { tally } = load;
    load.tally = new Tally();
    all.addAll(tally);
    return tally;
  };
  const sampling = (async () => {
    for (let next = sampleSeconds; next <= minutes * 60 + 0.5; next += sampleSeconds) {
      take();
      const begun = elapsed();
      await sleep(Math.max(0, (next - elapsed()) * 1000));
      const tally = take();
      const sample = await takeSample(service, client, tally, elapsed(), elapsed() - begun);
      showSample(sample);
      samples.push(sample);
    }
    isOver = true;
  })();
  const loading = load.open(perSecond, () => isOver);
  await Promise.race([loading, sampling]);
  await Promise.all([loading, sampling]);
  take();
  load.tally = all;
  return samples;
}

/** The result of `tollkeeper check` for the database. */
function checkInvariants(service: BenchService): Promise<{ invariants: string; invariantsHold: boolean }> {
  const main = new URL('../src/main.ts', import.meta.url).pathname;
  const env = { ...process.env, DATABASE_URL: service.databaseUrl };
  return new Promise((resolve) =>
    execFile(process.execPath, [main, 'check'], { env, maxBuffer: 2 ** 24 }, (error, stdout, stderr) =>
      resolve({
        invariants: (stdout + stderr)
          .split('\n')
          .filter((line) => line !== '' && !line.startsWith('ok '))
          .join(' '),
        invariantsHold: error === null,
      }),
    ),
  );
}

const openDeliveries = "select count(*) from webhook_deliveries where status not in ('succeeded', 'failed')";

async function endOf(service: BenchService, client: pg.Client, tally: Tally, received: () => number): Promise<Ending> {
  const until = performance.now() + drainMs;
  while ((await readNumber(client, openDeliveries)) > 0 && performance.now() < until) await sleep(200);
  const connections = await connectionsOf(client);
  return {
    refused: tally.refused,
    refusal: tally.refusal,
    eventsAnswered: tally.events,
    eventsStored: await readNumber(client, 'select count(*) from usage_events'),
    connections,
    messagesReceived: received(),
    deliveriesOpen: await readNumber(client, openDeliveries),
    ...(await checkInvariants(service)),
  };
}

// All requests use one key, unlike real customers.
process.env.TOLLKEEPER_RATE_LIMIT ??= '0';
const service = await startService(['--expose-gc', '--import', collectOnSignal]);
const receiver = await startReceiver();
try {
  const people = await makePopulation(service, soakPlan, customers);
  await ask(service, 'POST', '/webhooks', { webhook: { name: 'soak', url: receiver.url, filterTypes: [] } });
  const featureSlugs = soakPlan.features.map(({ slug }) => slug);
  const load = new Load(service, { ...people, featureSlugs });
  await load.closed(warmUpSeconds);
  // Autovacuum does the same within a minute for any grown table.
  await connected(service.databaseUrl, (client) => client.query('vacuum (analyze)'));
  const peak = await load.closed(peakSeconds);
  say(`peak ${peak.toFixed(0)} requests/s; ${minutes} minutes at half of it:`);
  await connected(service.databaseUrl, async (client) => {
    const samples = await soak(service, client, load, peak / 2);
    const ending = await endOf(service, client, load.tally, receiver.received);
    const verdicts = judge(samples, ending);
    if (values.json)
      console.log(JSON.stringify({ minutes, peak, requests: load.tally.answered, samples, ending, verdicts }));
    for (const { claim, holds, figures } of verdicts)
      say(`${holds === null ? 'too short to tell' : holds ? 'yes' : 'NO'}: ${claim} (${figures})`);
    if (verdicts.some(({ holds }) => holds === false)) process.exitCode = 1;
  });
} finally {
  receiver.close();
  await service.stop();
}

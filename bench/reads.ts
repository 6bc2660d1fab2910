import { readFile } from 'node:fs/promises';
import { withCosts } from './costs.ts';
import { makePopulation } from './customers.ts';
import { connected } from './database.ts';
import { duePlan, duePopulation, tieredUsage } from './due-population.ts';
import { selectsPerSecond } from './limits.ts';
import { measureLoad } from './load.ts';
import type { Measured, Row } from './measured.ts';
import { featurePlan, featureSlugs, meterPlan, pooledMeterPlan } from './plans.ts';
import { ask, type BenchService } from './running.ts';
import { connectionsOr, exportedLines, seconds } from './settings.ts';

function usageBalances(service: BenchService): Promise<Measured> {
  return balancesOf(service, meterPlan, 'usage-balances');
}

/** The balances of three meters and of a credit pool. */
function creditBalances(service: BenchService): Promise<Measured> {
  return balancesOf(service, pooledMeterPlan, 'credit-balances');
}

async function balancesOf(service: BenchService, plan: object, read: string): Promise<Measured> {
  const { externalIds } = await makePopulation(service, plan, 1_000);
  const connections = connectionsOr(64);
  const paths = externalIds.map((externalId) => `/customers/${externalId}/${read}`);
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

// As many as an invoice has at most.
const linesOfInvoice = 1_000;

/** SQL that gives invoices of `duePopulation` more lines, as many on each. */
function moreLines(count: number, invoices: number): string {
  return `
    insert into invoice_line_items (environment_id, id, pricing_model_id, invoice_id, type, quantity, price, amount, description,
           explanation, created_at, updated_at)
    select l.environment_id, 'inv_li_x' || lpad(n::text, 20, '0'), l.pricing_model_id,
           'inv_' || lpad((n % ${invoices} + 1)::text, 21, '0'), 'static', 1, n, n, 'Work, part ' || n, '{}', l.created_at, l.updated_at
      from (select * from invoice_line_items limit 1) l, generate_series(1, ${count}) n`;
}

/** Exports the lines of all invoices as CSV, and watches the memory of the service meanwhile. */
async function exportLines(service: BenchService): Promise<Measured> {
  await ask(service, 'POST', '/pricing-models/setup', duePlan(tieredUsage));
  const invoices = Math.ceil(exportedLines / linesOfInvoice);
  await connected(service.databaseUrl, async (client) => {
    await client.query(duePopulation(invoices));
    await client.query(moreLines(exportedLines - 2 * invoices, invoices));
    await client.query('analyze invoice_line_items');
  });
  const taken = { bytes: 0, lines: 0 };
  const most = { firstHalf: 0, secondHalf: 0 };
  const watch = setInterval(async () => {
    const half = taken.lines < exportedLines / 2 ? 'firstHalf' : 'secondHalf';
    most[half] = Math.max(most[half], Math.round(await memoryOf(service.pid)));
  }, watchedEveryMs);
  const begunAt = performance.now();
  const { costs } = await withCosts(service, () => download(service, '/exports/invoice-line-items.csv', taken));
  const duration = (performance.now() - begunAt) / 1000;
  clearInterval(watch);
  // The first line has the names of the columns.
  if (taken.lines !== exportedLines + 1) throw new Error(`${taken.lines} lines of ${exportedLines + 1} are exported`);
  const size = `${Math.round(taken.bytes / megabyte)} MB in ${duration.toFixed(1)} s`;
  const note = `${exportedLines} lines, ${size}; memory at most ${most.firstHalf} MB in the first half, ${most.secondHalf} MB in the second`;
  return {
    value: exportedLines / duration,
    unit: 'lines/s',
    limit: null,
    note,
    costs,
    each: 'line',
    count: exportedLines,
  };
}

const watchedEveryMs = 100;
const megabyte = 1_000_000;
const bytesOfKilobyte = 1024;
const newline = 10;

/** The resident memory of a process in megabytes; 0 without procfs. */
async function memoryOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return (Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) * bytesOfKilobyte) / megabyte;
}

/** Reads a file, and counts what it has taken. */
async function download({ address, key }: BenchService, path: string, taken: { bytes: number; lines: number }) {
  const answer = await fetch(`${address}/api/v1${path}`, { headers: { authorization: key } });
  if (!answer.ok || answer.body === null) throw new Error(`${path} is answered ${answer.status}`);
  for await (const part of answer.body) {
    taken.bytes += part.length;
    for (let at = part.indexOf(newline); at >= 0; at = part.indexOf(newline, at + 1)) taken.lines += 1;
  }
}

export const readRows: Readonly<Record<string, Row>> = {
  'usage-balances': usageBalances,
  'credit-balances': creditBalances,
  'entitlements-check': entitlementsRow('at once'),
  'entitlements-check-in-turn': entitlementsRow('one after the other'),
  'price-quotes': quotes,
  export: exportLines,
};

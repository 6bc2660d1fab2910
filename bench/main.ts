import { makePopulation, type Population } from './customers.ts';
import { copiedEventsPerSecond, selectsPerSecond } from './limits.ts';
import { requestsPerSecond } from './load.ts';
import { renewDue, renewYear } from './renewals.ts';
import { type BenchService, startService } from './running.ts';

// npm run bench -- [row ...] [--json]: each row beside its limit, measured in the same run on the same machine.

interface Measured {
  readonly value: number;
  readonly unit: string;
  readonly limit: number;
  readonly note: string;
}

const seconds = 10;
const customers = 300;
// 1,000 to 100,000 show how the time grows with their number.
const subscriptions = Number(process.env.BENCH_SUBSCRIPTIONS ?? 10_000);
const copyOfRenewals = 'limit: COPY of the rows that they wrote into the same tables';

const rows: Readonly<Record<string, (service: BenchService) => Promise<Measured>>> = {
  async 'usage-balances'(service) {
    const { externalIds } = await makePopulation(service, customers);
    const connections = 16;
    let turn = 0;
    const next = () => ({
      method: 'GET' as const,
      path: `/customers/${externalIds[turn++ % externalIds.length]}/usage-balances`,
    });
    await requestsPerSecond(service, { connections, seconds: 2, next });
    const value = await requestsPerSecond(service, { connections, seconds, next });
    const limit = await selectsPerSecond(service.databaseUrl, { connections, seconds });
    return { value, unit: 'requests/s', limit, note: 'limit: prepared single-row select, pgbench, 16 clients' };
  },

  async 'bulk-ingest'(service) {
    const population = await makePopulation(service, customers);
    const batch = 1_000;
    let turn = 0;
    const next = () => ({
      method: 'POST' as const,
      path: '/usage-events/bulk',
      body: JSON.stringify({ usageEvents: events(population, batch, turn++) }),
    });
    await requestsPerSecond(service, { connections: 4, seconds: 2, next });
    const rate = await requestsPerSecond(service, { connections: 4, seconds, next });
    const limit = await copiedEventsPerSecond(service.databaseUrl);
    return { value: rate * batch, unit: 'events/s', limit, note: 'limit: COPY of the same rows into the same table' };
  },

  async renewals(service) {
    const { renewalsPerSecond, limit } = await renewDue(service, subscriptions);
    return {
      value: renewalsPerSecond,
      unit: 'renewals/s',
      limit,
      note: `${subscriptions} due at once; ${copyOfRenewals}`,
    };
  },

  async 'year-by-test-clock'(service) {
    const size = Math.ceil(subscriptions / 10);
    const { renewalsPerSecond, seconds: taken, limit } = await renewYear(service, size);
    const note = `${size} subscriptions, 12 months, ${taken.toFixed(1)} s; ${copyOfRenewals}`;
    return { value: renewalsPerSecond, unit: 'renewals/s', limit, note };
  },
};

function events({ subscriptionIds, priceSlugs }: Population, size: number, turn: number) {
  return Array.from({ length: size }, (_, index) => ({
    subscriptionId: subscriptionIds[index % subscriptionIds.length],
    priceSlug: priceSlugs[index % priceSlugs.length],
    transactionId: `t-${turn}-${index}`,
    amount: 1 + (index % 7),
  }));
}

const asked = process.argv.slice(2).filter((word) => word !== '--json');
const json = process.argv.includes('--json');
const unknown = asked.filter((row) => !(row in rows));
if (unknown.length > 0) throw new Error(`No row ${unknown.join(', ')}; there are ${Object.keys(rows).join(', ')}.`);

for (const [row, measure] of Object.entries(rows).filter(([name]) => asked.length === 0 || asked.includes(name))) {
  const service = await startService();
  try {
    const { value, unit, limit, note } = await measure(service);
    const ratio = value / limit;
    if (json)
      console.log(
        JSON.stringify({
          row,
          value: Math.round(value),
          unit,
          limit: Math.round(limit),
          ratio: Number(ratio.toFixed(3)),
          note,
        }),
      );
    else
      console.log(
        `${row.padEnd(16)} ${Math.round(value).toLocaleString('en-US').padStart(10)} ${unit.padEnd(11)} ${ratio.toFixed(2)} of ${Math.round(limit).toLocaleString('en-US')}  (${note})`,
      );
  } finally {
    await service.stop();
  }
}

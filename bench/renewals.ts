import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from, to } from 'pg-copy-streams';
import { advisoryLocks } from '../src/database/advisory-locks.ts';
import { withCosts } from './costs.ts';
import {
  atOnce,
  duePlan,
  duePopulation,
  plainUsage,
  type Schedule,
  spreadOver,
  tieredUsage,
} from './due-population.ts';
import type { Measured, Row } from './measured.ts';
import { ask, type BenchService, startService } from './running.ts';
import { comparedSubscriptions, renewalSubscriptions } from './settings.ts';

interface Population {
  readonly usagePrice?: object;
  readonly settings?: object;
  readonly schedule?: Schedule;
}

/** Fills the test environment with subscriptions that become due, after the clock's present. Not measured. */
async function populate(
  service: BenchService,
  client: pg.Client,
  { size, usagePrice = plainUsage, settings = {}, schedule = atOnce }: Population & { size: number },
): Promise<void> {
  await ask(service, 'PUT', '/settings', { settings });
  await ask(service, 'PUT', '/test-clock', { testClock: { now: schedule.start + schedule.spreadMs } });
  await ask(service, 'POST', '/pricing-models/setup', duePlan(usagePrice));
  await client.query(duePopulation(size, schedule));
  await client.query('vacuum analyze');
}

/** Tables that a renewal inserts into, in an order in which they can be refilled. Updates are not counted. */
const filledTables = [
  'billing_periods',
  'invoices',
  'invoice_line_items',
  'payments',
  'events',
  'ledger_transactions',
  'ledger_entries',
  'test_processor_operations',
];

/**
 * Rows per second that COPY writes back to the tables that renewals fill, with indexes and keys, and their number.
 * Empties them first.
 */
async function copiedRows(client: pg.Client): Promise<{ rowsPerSecond: number; rows: number }> {
  const copies: { table: string; chunks: Buffer[] }[] = [];
  let rows = 0;
  for (const table of filledTables) {
    const chunks: Buffer[] = [];
    await pipeline(client.query(to(`copy ${table} to stdout`)), async (source) => {
      for await (const chunk of source) chunks.push(chunk as Buffer);
    });
    copies.push({ table, chunks });
    const { rows: counted } = await client.query<{ count: string }>(`select count(*) from ${table}`);
    rows += Number(counted[0]?.count);
  }
  // A check of the service's data would hold locks on these tables.
  await client.query('select pg_advisory_lock($1, hashtext(current_schema()))', [advisoryLocks.checks]);
  // The accounts stay. They may reference credits and series, which reference periods; here none does.
  await client.query(`
    alter table ledger_accounts
      drop constraint ledger_accounts_environment_id_pending_credit_id_fkey,
      drop constraint ledger_accounts_environment_id_open_series_id_fkey`);
  await client.query(`truncate ${filledTables.join(', ')} cascade`);
  const startedAt = performance.now();
  for (const { table, chunks } of copies) await pipeline(chunks, client.query(from(`copy ${table} from stdin`)));
  return { rows, rowsPerSecond: rows / ((performance.now() - startedAt) / 1000) };
}

/** Renews the given number of subscriptions for the given months, by one move of the test clock. */
async function measure(
  service: BenchService,
  size: number,
  months: number,
  population: Population = {},
): Promise<Measured> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  try {
    await populate(service, client, { ...population, size });
    const before = await countRows(client);
    const { schedule = atOnce } = population;
    const { seconds, costs } = await renewOnce(service, client, { size, months, schedule });
    const { rows, rowsPerSecond } = await copiedRows(client);
    const renewals = size * months;
    const limit = (rowsPerSecond * renewals) / (rows - before);
    const over = schedule.spreadMs === 0 ? 'at once' : `over ${(schedule.spreadMs / 3_600_000).toFixed(0)} hours`;
    const note = `${size} due ${over}, ${months} times, ${seconds.toFixed(1)} s; limit: COPY of the rows that they wrote into the same tables`;
    return { value: renewals / seconds, unit: 'renewals/s', limit, note, costs, each: 'renewal', count: renewals };
  } finally {
    await client.end();
  }
}

interface Renewals {
  readonly size: number;
  readonly months: number;
  readonly schedule: Schedule;
}

async function renewOnce(service: BenchService, client: pg.Client, { size, months, schedule }: Renewals) {
  const end = new Date(schedule.end);
  const target = end.setUTCMonth(end.getUTCMonth() + months - 1) + schedule.spreadMs;
  const { answer: seconds, costs } = await withCosts(service, async () => {
    const startedAt = performance.now();
    await moveClock(service, target);
    return (performance.now() - startedAt) / 1000;
  });
  await requireRenewed(client, size * months);
  return { seconds, costs };
}

/** Renewals a second of a population, each of one month. Without the rows written again by COPY, which take longer. */
async function measureRate(service: BenchService, population: Population): Promise<Pick<Measured, 'value' | 'costs'>> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  try {
    await populate(service, client, { ...population, size: comparedSubscriptions });
    const { seconds, costs } = await renewOnce(service, client, {
      size: comparedSubscriptions,
      months: 1,
      schedule: atOnce,
    });
    return { value: comparedSubscriptions / seconds, costs };
  } finally {
    await client.end();
  }
}

/** Moves the clock, and repeats the request while the move takes longer than a request may: a repeat joins it. */
async function moveClock(service: BenchService, now: number): Promise<void> {
  for (;;) {
    try {
      await ask(service, 'PUT', '/test-clock', { testClock: { now } });
      return;
    } catch (error) {
      if (!(error as Error).message.includes(': 503 ')) throw error;
    }
  }
}

async function countRows(client: pg.Client): Promise<number> {
  const sums = filledTables.map((table) => `(select count(*) from ${table})`).join(' + ');
  const { rows } = await client.query<{ count: string }>(`select ${sums} as count`);
  return Number(rows[0]?.count);
}

/** Verifies the renewals, because a figure of undone work is worthless. */
async function requireRenewed(client: pg.Client, renewals: number): Promise<void> {
  const { rows } = await client.query<{ paid: string }>(
    `select count(*) as paid from invoices where reason = 'renewal' and status = 'paid'`,
  );
  if (Number(rows[0]?.paid) !== renewals) throw new Error(`${rows[0]?.paid} of ${renewals} renewals are paid`);
}

/** Renewals of a population, beside those of the usual one in the same run. */
function besidePlain(population: Population, limitNote: string): Row {
  return async (service) => {
    const plain = await startService();
    const { value: limit } = await measureRate(plain, {}).finally(() => plain.stop());
    const { value, costs } = await measureRate(service, population);
    const note = `${comparedSubscriptions} due at once; limit: ${limitNote} just before`;
    return { value, unit: 'renewals/s', limit, note, costs, each: 'renewal', count: comparedSubscriptions };
  };
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const perEnvironment = { numbering: { invoices: { per: 'environment', yearly: true } } };

export const renewalRows: Readonly<Record<string, Row>> = {
  /** From due to invoiced and paid by the test processor. */
  renewals: (service) => measure(service, renewalSubscriptions, 1),
  'renewals-tiered': besidePlain({ usagePrice: tieredUsage }, 'renewals without tiers'),
  'finalize-per-environment': besidePlain({ settings: perEnvironment }, 'renewals numbered per customer'),
  'year-by-test-clock': (service) => measure(service, Math.ceil(renewalSubscriptions / 10), 12),
  /** The same at instants of their own, over 30 days and a minute apart. */
  'renewals-scattered': (service) => measure(service, renewalSubscriptions, 1, { schedule: spreadOver(30 * dayMs) }),
  'year-scattered': (service) => {
    const size = Math.ceil(renewalSubscriptions / 10);
    return measure(service, size, 12, { schedule: spreadOver(size * minuteMs) });
  },
};

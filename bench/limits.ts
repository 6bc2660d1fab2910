import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { from, to } from 'pg-copy-streams';
import { connected, emptyUsageEvents, readNumber } from './database.ts';

const runProgram = promisify(execFile);

/** The rate per second, measured over this many seconds. */
export type Limit = (seconds: number) => Promise<number>;

/** Transactions per second of a pgbench script with prepared statements. */
async function pgbench(url: string, script: string, clients: number, seconds: number): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'tollkeeper-pgbench-'));
  try {
    const file = join(directory, 'script.sql');
    await writeFile(file, script);
    // Reported per second: in the first one connections load catalogs, and the last one may be incomplete.
    const load = ['-c', String(clients), '-j', '2', '-T', String(seconds + 2), '-P', '1'];
    const { stderr } = await runProgram('pgbench', ['-n', '-M', 'prepared', ...load, '-f', file, url]);
    const rates = Array.from(stderr.matchAll(/^progress: .* ([\d.]+) tps/gm), ([, rate]) => Number(rate));
    const whole = rates.slice(1, 1 + seconds);
    if (whole.length < seconds) throw new Error(`pgbench told no rate of each second: ${stderr}`);
    return whole.reduce((sum, rate) => sum + rate, 0) / seconds;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Prepared selects of one row by its key per second: the throughput of PostgreSQL alone. */
export async function selectsPerSecond(url: string, clients: number): Promise<Limit> {
  await connected(url, (client) =>
    client.query(`
      create table bench_rows as select n::bigint as id, md5(n::text) as text from generate_series(1, 10000) n;
      alter table bench_rows add primary key (id);
      analyze bench_rows`),
  );
  const script = '\\set id random(1, 10000)\nselect id, text from bench_rows where id = :id;\n';
  return (seconds) => pgbench(url, script, clients, seconds);
}

/** Withdrawals from one balance per second, each a transaction: all clients wait for one another's commits. */
export async function takingsPerSecond(url: string, clients: number): Promise<Limit> {
  await connected(url, (client) =>
    client.query(`
      create table bench_balances (id integer primary key, balance bigint not null);
      insert into bench_balances values (1, 1000000000000)`),
  );
  const script = 'update bench_balances set balance = balance - 1 where id = 1 and balance >= 1;\n';
  return (seconds) => pgbench(url, script, clients, seconds);
}

/** The booking number of the limit's events, which the service never uses. */
export const bookingOfLimit = 0;

/** Single-row inserts of usage events into existing series per second, each a transaction. */
export async function insertsPerSecond(url: string, clients: number): Promise<Limit> {
  const { environment, first, last } = await longestRunOfSeries(url);
  // Ids have the length and the time order of the service's.
  const script = `\\set series random(${first}, ${last})
insert into usage_events (environment_id, series_id, booking, amount, usage_date, created_at, transaction_key, id, transaction_id)
select ${environment}, :series, ${bookingOfLimit}, 1, now.ms, now.ms, gen_random_uuid(), lpad(now.ms::text, 13, '0') || left(new.id, 8), new.id
  from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms) now, (select gen_random_uuid()::text as id) new;
`;
  return (seconds) => pgbench(url, script, clients, seconds);
}

/** pgbench draws from a range, so it gets the longest one without gaps. */
async function longestRunOfSeries(url: string) {
  const { rows } = await connected(url, (client) =>
    client.query<{ environment: string; first: string; last: string }>(`
      select environment_id as environment, min(id) as first, max(id) as last
        from (select environment_id, id, id - row_number() over (order by id) as run from usage_series) runs
       group by environment_id, run order by count(*) desc limit 1`),
  );
  const [run] = rows;
  if (run === undefined) throw new Error('there is no series to insert events of');
  return run;
}

/** Rows per second that COPY writes back to the usage events table, with its indexes and trigger. Empties it first. */
export async function copiedEventsPerSecond(url: string): Promise<number> {
  return connected(url, async (client) => {
    const count = await readNumber(client, 'select count(*) from usage_events');
    const chunks: Buffer[] = [];
    await pipeline(client.query(to('copy (select * from usage_events) to stdout')), async (source) => {
      for await (const chunk of source) chunks.push(chunk as Buffer);
    });
    await emptyUsageEvents(client);
    const startedAt = performance.now();
    await pipeline(chunks, client.query(from('copy usage_events from stdin')));
    return count / ((performance.now() - startedAt) / 1000);
  });
}

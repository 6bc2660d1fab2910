import type pg from 'pg';
import { advisoryLocks } from '../src/database/advisory-locks.ts';
import { formatId, idPrefixes } from '../src/kernel/id.ts';
import { connected, readNumber } from './database.ts';

const month = 30 * 24 * 3_600_000;

/** How many events there are, and in how many partitions: the last is the open one, and is compared with two older ones at most. */
interface Stored {
  readonly size: number;
  readonly partitions: number;
}

/**
 * Fills the usage events table with events of existing series over the last thirty days. Their transaction ids are
 * unordered. Writes directly to the table as its owner.
 */
export async function storeEvents(url: string, { size, partitions }: Stored): Promise<void> {
  await connected(url, async (client) => {
    // A check of the invariants reads for minutes, and no index can be added meanwhile.
    await client.query('select pg_advisory_lock($1, hashtext(current_schema()))', [advisoryLocks.checks]);
    // Checkpoints would only slow this down. The WAL needs no more space than the events.
    await client.query(`alter system set max_wal_size = '12GB'`);
    await client.query('select pg_reload_conf()');
    await client.query(`
      create temporary table series as
        select environment_id, id, row_number() over (order by id) - 1 as position from usage_series`);
    await client.query('analyze series');
    const series = await readNumber(client, 'select count(*) from series');
    for (let number = 0; number < partitions; number++) {
      if (number > 0) await openPartition(client, number);
      const unique = number === 0 ? 'usage_events_transaction_unique' : `events_${number}_transaction_unique`;
      await client.query(`alter table usage_events_${number} drop constraint ${unique}`);
      const first = Math.floor((size * number) / partitions);
      const last = Math.floor((size * (number + 1)) / partitions) - 1;
      await client.query(eventsOf({ first, last, size, series, number }));
      await client.query(transactionsIndexed(number, unique));
    }
    await client.query('alter system reset max_wal_size');
    await client.query('select pg_reload_conf()');
    await client.query('vacuum (analyze) usage_events');
    await client.query('checkpoint');
  });
}

const comparedWith = 2;

async function openPartition(client: pg.Client, number: number): Promise<void> {
  await client.query('select prepare_usage_partition()');
  await client.query('select open_usage_partition((extract(epoch from now()) * 1000)::bigint, null)');
  await client.query(
    'update usage_partitions set unique_from = greatest(0, number - $1)::bigint << 40 where number = $2',
    [comparedWith, number],
  );
}

/**
 * Creates the key of transactions at the end, in a fraction of the time, with a realistic fill factor. Pages of an index with
 * unordered keys are 69 % full, the natural logarithm of 2.
 */
function transactionsIndexed(number: number, unique: string): string {
  return `
    set maintenance_work_mem = '1GB';
    alter table usage_events_${number} add constraint ${unique} unique (transaction_key) with (fillfactor = 69);
    alter index ${unique} reset (fillfactor)`;
}

const eventsOfOlder = 200_000;

/** Fills the open partition and opens the next one, `count` times. New events are compared with all of them. */
export async function fillOlderPartitions(url: string, count: number): Promise<void> {
  await connected(url, async (client) => {
    for (let older = 0; older < count; older++) {
      await client.query(`
        insert into usage_events (environment_id, series_id, booking, amount, usage_date, created_at, transaction_key, id, transaction_id)
        select s.environment_id, s.id, nextval('usage_bookings'), 1, 0, 0, gen_random_uuid(),
               lpad('${older}' || n, 21, '0'), gen_random_uuid()::text
          from generate_series(1, ${eventsOfOlder}) n, (select environment_id, id from usage_series order by id limit 1) s`);
      await client.query('select prepare_usage_partition()');
      await client.query('select open_usage_partition((extract(epoch from now()) * 1000)::bigint, 0)');
    }
    await client.query('vacuum (analyze) usage_events');
  });
}

interface Filling {
  readonly first: number;
  readonly last: number;
  readonly size: number;
  readonly series: number;
  /** The partition. */
  readonly number: number;
}

function eventsOf({ first, last, size, series, number }: Filling): string {
  const now = Date.now();
  // After the existing ids and before future ones, as if stored just now.
  const idStart = formatId('usageEvent', now, 0, 0).slice(idPrefixes.usageEvent.length + 1, -13);
  // Into the partition itself: these events are right, so nothing has to look for their series and transactions.
  return `
    insert into usage_events_${number} (environment_id, series_id, booking, amount, usage_date, created_at, transaction_key, id, transaction_id)
    select s.environment_id, s.id, ${number}::bigint << 40, 1 + n % 7, at.ms, at.ms, md5('key ' || n)::uuid, '${idStart}' || lpad(n::text, 13, '0'),
           md5(n::text)::uuid::text
      from generate_series(${first}::bigint, ${last}) n
      join series s on s.position = n % ${series},
           lateral (select ${now - month} + (n::numeric * ${month} / ${size})::bigint as ms) at`;
}

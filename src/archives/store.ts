import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { isAscending, type PageRequest } from '../kernel/pagination.ts';
import type { StoredFile } from './store-files.ts';

/*
 * Partitions of usage events, over all environments. The functions of migration 0024 change them, as the owner of the tables.
 */

/** A partition that is or was in use. */
export interface Partition {
  readonly number: number;
  readonly state: 'ready' | 'open' | 'closed' | 'archived' | 'restored';
  readonly openedAt: Instant | null;
  readonly closedAt: Instant | null;
  readonly file: string | null;
  readonly bytes: number | null;
  readonly sha256: string | null;
  readonly events: number | null;
  readonly archivedAt: Instant | null;
  /** Customers have moved into or out of this restored partition. */
  readonly fileIsOld: boolean;
}

export async function listPartitions(worker: Database): Promise<Partition[]> {
  const { rows } = await sql<Partition>`
    select number, state, opened_at, closed_at, file, bytes, sha256, events, archived_at, file_is_old
      from usage_partitions order by number`.execute(worker);
  return rows;
}

/** Makes or moves a partition. On a node of Citus, the setting of the function itself does not reach the wait for a lock. */
async function changeTables(changing: Database, call: RawBuilder<unknown>): Promise<void> {
  await changing.transaction().execute(async (transaction) => {
    await sql`set local lock_timeout = '200ms'`.execute(transaction);
    await call.execute(transaction);
  });
}

export async function prepareNext(changing: Database): Promise<void> {
  await changeTables(changing, sql`select prepare_usage_partition()`);
}

export async function openNext(worker: Database, now: Instant, uniqueSince: Instant | null): Promise<void> {
  await sql`select open_usage_partition(${now}, ${uniqueSince}::bigint)`.execute(worker);
}

/** The partitions of a cell that have events, and the number that its events have reached. */
interface EventsOfCell {
  readonly reached: number;
  /** As JSON. */
  readonly partitions: string;
}

export async function findEventsOfCell(worker: Database): Promise<EventsOfCell> {
  const { rows: numbers } = await sql<{ reached: number }>`select last_value as reached from usage_bookings`.execute(
    worker,
  );
  const reached = numbers[0]?.reached ?? 0;
  const { rows } = await sql<{ partitions: string }>`
    select json_agg(json_build_object('number', number, 'unique_from', unique_from, 'opened_at', opened_at, 'closed_at', closed_at)
                    order by number)::text as partitions
      from usage_partitions where state <> 'archived' and number <= partition_of(${reached}::bigint)`.execute(worker);
  return { reached, partitions: rows[0]?.partitions ?? '[]' };
}

/** Lets events of another cell arrive. False: this one lacks partitions for that. */
export async function followEvents(
  worker: Database,
  { partitions, reached }: EventsOfCell,
  now: Instant,
  uniqueSince: Instant | null,
): Promise<boolean> {
  const { rows } = await sql<{ follows: boolean }>`
    select follow_usage_partitions(${partitions}::jsonb, ${reached}::bigint, ${now}::bigint, ${uniqueSince}::bigint) as follows`.execute(
    worker,
  );
  return rows[0]?.follows === true;
}

/** Makes the partitions that events of another cell need, and one behind them to be opened. */
export async function addPartitions(changing: Database, { partitions }: EventsOfCell, now: Instant): Promise<void> {
  await changeTables(changing, sql`select add_usage_partitions(${partitions}::jsonb, ${now}::bigint)`);
}

/** The closed partitions that may be archived, the oldest first: none of them is compared with new events any more. */
export async function listArchivable(worker: Database, closedBy: Instant): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`
    select number from usage_partitions
     where state = 'closed' and closed_at <= ${closedBy} and usage_partition_may_leave(number) order by number`.execute(
    worker,
  );
  return rows.map(({ number }) => number);
}

/** Sums up a closed partition by series. Answers how many events it has. */
export async function sumUp(worker: Database, number: number): Promise<number> {
  await sql`select sum_up_usage_partition(${number})`.execute(worker);
  const { rows } = await sql<{ events: number }>`
    select coalesce(sum(events), 0)::bigint as events from usage_archive_sums where number = ${number}`.execute(worker);
  return rows[0]?.events ?? 0;
}

export async function archive(
  changing: Database,
  number: number,
  { file, bytes, sha256 }: StoredFile & { readonly file: string },
  now: Instant,
): Promise<void> {
  await changeTables(changing, sql`select archive_usage_partition(${number}, ${file}, ${bytes}, ${sha256}, ${now})`);
}

export async function beginLoad(changing: Database, number: number): Promise<void> {
  await sql`select begin_usage_partition_load(${number})`.execute(changing);
}

export async function finishLoad(changing: Database, number: number): Promise<void> {
  await sql`select finish_usage_partition_load(${number})`.execute(changing);
}

export async function dropLoaded(changing: Database, number: number): Promise<void> {
  await sql`select drop_usage_partition_load(${number})`.execute(changing);
}

export async function attachLoaded(changing: Database, number: number): Promise<void> {
  await changeTables(changing, sql`select restore_usage_partition(${number})`);
}

export async function releaseRestored(changing: Database, number: number): Promise<void> {
  await changeTables(changing, sql`select release_usage_partition(${number})`);
}

/** An archive with properties of some series. */
interface ArchiveToErase {
  readonly number: number;
  readonly state: 'archived' | 'restored';
  readonly seriesIds: readonly number[];
}

/** The archives in which a customer's events have properties or a label. */
export async function listToErase(
  worker: Database,
  environmentId: number,
  customerId: string,
): Promise<ArchiveToErase[]> {
  const { rows } = await sql<ArchiveToErase>`
    select p.number, p.state, array_agg(s.id) as series_ids
      from usage_series s
      join usage_archive_sums sums on sums.environment_id = s.environment_id and sums.series_id = s.id
      join usage_partitions p on p.number = sums.number and p.file is not null
     where s.environment_id = ${environmentId} and s.customer_id = ${customerId} and sums.with_properties > 0
     group by p.number, p.state order by p.number`.execute(worker);
  return rows;
}

/** Erases properties and labels of loaded events. */
export async function eraseLoaded(
  worker: Database,
  number: number,
  environmentId: number,
  seriesIds: readonly number[],
) {
  await sql`
    update ${tableOf(number)} set properties = null, label = null
     where environment_id = ${environmentId} and series_id = any(${seriesIds}::bigint[])
       and (properties is not null or label is not null)`.execute(worker);
}

/** Erases properties and labels of restored events. */
export async function eraseRestored(
  worker: Database,
  number: number,
  environmentId: number,
  seriesIds: readonly number[],
): Promise<void> {
  await sql`select erase_restored_usage_partition(${number}, ${environmentId}, ${seriesIds}::bigint[])`.execute(worker);
}

export async function replaceFile(
  worker: Database,
  number: number,
  { file, bytes, sha256 }: StoredFile & { readonly file: string },
): Promise<void> {
  await sql`select replace_usage_partition_file(${number}, ${file}, ${bytes}, ${sha256})`.execute(worker);
}

/** Notes that the older files of a partition are deleted. */
export async function noteFiled(worker: Database, number: number): Promise<void> {
  await sql`select note_usage_partition_filed(${number})`.execute(worker);
}

export async function noteErased(
  worker: Database,
  number: number,
  environmentId: number,
  seriesIds: readonly number[],
) {
  await sql`select note_usage_partition_erased(${number}, ${environmentId}, ${seriesIds}::bigint[])`.execute(worker);
}

function tableOf(number: number): RawBuilder<unknown> {
  return sql.table(`usage_events_${number}`);
}

/** The statement that writes the events of a partition as CSV, with the names of its columns in the first line. */
export function copyOut(number: number): string {
  // Citus counts the first line too when it copies a table by its name.
  return `copy (select * from usage_events_${number}) to stdout with (format csv, header)`;
}

/** The statement that reads them back, without the first line. A column that was added since is empty. */
export function copyIn(number: number, firstLine: string): string {
  const columns = firstLine.split(',');
  const unexpected = columns.find((column) => !/^[a-z_]{1,63}$/.test(column));
  if (unexpected !== undefined) throw new Error(`The archive ${number} has no names of columns in its first line.`);
  return `copy usage_events_${number} (${columns.join(', ')}) from stdin with (format csv)`;
}

/** An archive as an environment sees it: its own events in it. */
interface ArchiveRow {
  readonly id: string;
  readonly state: 'archived' | 'restored';
  readonly createdAt: Instant;
  readonly arrivedFrom: Instant;
  readonly arrivedUntil: Instant;
  readonly usageDateFrom: Instant;
  readonly usageDateTo: Instant;
  readonly events: number;
}

/** A page of the archives that have events of this environment, plus one if there are more, and how many there are. */
export async function pageOfArchives(work: Work, request: PageRequest): Promise<{ rows: ArchiveRow[]; total: number }> {
  const { after, limit } = request;
  const upwards = isAscending(request);
  const [, number = '-1', cell = ''] = /^(\d{1,4})(?:-(.+))?$/.exec(after ?? '') ?? [];
  const beyond =
    after === null
      ? sql`true`
      : sql`(number, cell) ${upwards ? sql`>` : sql`<`} (${Number(number)}::integer, ${cell}::text)`;
  const { rows } = await sql<ArchiveRow & { total: number }>`
    with mine as (
      select p.number, c.name as cell, p.state, p.archived_at as created_at, p.opened_at as arrived_from, p.closed_at as arrived_until,
             min(s.first_usage_date) as usage_date_from, max(s.last_usage_date) as usage_date_to, sum(s.events)::bigint as events
        from usage_archive_sums s join usage_partitions p on p.number = s.number
       cross join (select case when is_home then '' else current_schema()::text end collate "C" as name from cell) c
       where s.environment_id = ${work.environmentId} and p.file is not null
       group by p.number, c.name
    )
    select number || case cell when '' then '' else '-' || cell end as id, state, created_at, arrived_from, arrived_until,
           usage_date_from, usage_date_to, events, (select count(*) from mine) as total
      from mine where ${beyond} order by number ${upwards ? sql`asc` : sql`desc`}, cell ${upwards ? sql`asc` : sql`desc`}
     limit ${limit + 1}`.execute(work.db);
  return { rows: rows.map(({ total: _, ...row }) => row), total: rows[0]?.total ?? 0 };
}

/** The arrival since which all events of this environment are there; null: no event is archived. */
export async function findKeptSince(work: Work): Promise<Instant | null> {
  const { rows } = await sql<{ keptSince: Instant | null }>`
    select max(p.closed_at) as kept_since from usage_partitions p
     where p.state = 'archived'
       and exists (select from usage_archive_sums a where a.environment_id = ${work.environmentId} and a.number = p.number)`.execute(
    work.db,
  );
  return rows[0]?.keptSince ?? null;
}

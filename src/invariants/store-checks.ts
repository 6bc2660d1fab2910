import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { Violations } from './store-invariants.ts';
import {
  appliedOfCredits,
  entriesOfCredits,
  entriesSince,
  eventsOfSeries,
  type Mark,
  type Since,
  sidesOfAccounts,
  usageOfPrices,
} from './store-invariants-sums.ts';

/*
 * Stored data of the checks over all environments: results of the last ones, and sums of healthy rows. The worker's
 * connections: the service role has no access.
 */

/** An invariant with its violations. */
interface FoundInvariant {
  readonly name: string;
  readonly violations: Violations;
}

/** A stored check. Its instants are real time. */
export interface KeptRun {
  readonly startedAt: Instant;
  readonly durationMs: number;
  /** Whether all rows were read, instead of only those after the last good mark. */
  readonly isFull: boolean;
  readonly result: readonly FoundInvariant[];
}

// A month of hourly checks.
const keptRuns = 720;

export async function insertRun(worker: Database, { startedAt, durationMs, isFull, result }: KeptRun): Promise<void> {
  await sql`
    with added as (
      insert into check_runs (started_at, duration_ms, is_full, result)
      values (${startedAt}, ${durationMs}, ${isFull}, ${JSON.stringify(result)}::jsonb) returning id
    )
    delete from check_runs where id <= (select id from added) - ${keptRuns}`.execute(worker);
}

/** The last check, or null before the first. */
export async function findLastRun(worker: Database): Promise<KeptRun | null> {
  const { rows } = await sql<KeptRun>`
    select started_at, duration_ms, is_full, result from check_runs order by id desc limit 1`.execute(worker);
  return rows[0] ?? null;
}

/** The number of rows that broke an invariant in the last check. */
interface InvariantCount {
  readonly name: string;
  readonly violations: number;
  readonly checkedAt: Instant;
  readonly durationMs: number;
}

/** The counts without tenant data, for a service connection. Empty before the first check. */
export async function listInvariantCounts(database: Database): Promise<InvariantCount[]> {
  const { rows } = await sql<InvariantCount>`select * from invariant_counts()`.execute(database);
  return rows;
}

/** The mark up to which all rows were healthy; null if none is stored. */
export async function readMark(worker: Database): Promise<Since> {
  const { rows } = await sql<{ entrySequence: number | null; booking: number | null }>`
    select entry_sequence, booking from check_marks`.execute(worker);
  const [mark] = rows;
  return mark?.entrySequence == null || mark.booking == null
    ? null
    : { entrySequence: mark.entrySequence, booking: mark.booking };
}

/** Deletes the stored sums: the next check reads everything. */
export async function forgetSums(worker: Database): Promise<void> {
  await worker.transaction().execute(async (db) => {
    await sql`update check_marks set entry_sequence = null, booking = null`.execute(db);
    await emptySums(db);
  });
}

async function emptySums(db: Database): Promise<void> {
  for (const table of ['account_sums', 'price_sums', 'credit_sums', 'series_sums'])
    await sql`delete from ${sql.table(`check_${table}`)}`.execute(db);
}

// A sequence number is allocated shortly before its transaction is visible as running; no gap takes this long.
const shortestWaitMs = 5 * 60_000;

/**
 * Moves the mark to the end of the tables as last seen, once every transaction of that time has ended, and adds up the
 * rows before it. Called when everything from `since` to there was healthy. Then records the current end of the tables.
 * Numbers of entries and events do not commit in order, so all rows before the mark must have committed.
 */
export async function advanceMark(
  worker: Database,
  since: Since,
  now: Instant,
  waitMs: number = shortestWaitMs,
): Promise<void> {
  await worker
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (db) => {
      const seen = await findSettledEnd(db, now - waitMs);
      if (seen === null) return;
      if (since === null) await emptySums(db);
      await addSums(db, since, seen);
      await sql`update check_marks set entry_sequence = ${seen.entrySequence}, booking = ${seen.booking}`.execute(db);
    });
  await lookWhereTablesEnd(worker, now);
}

/** Records the end of the tables, unless it is unknown whether the rows up to the previous one have committed. */
async function lookWhereTablesEnd(worker: Database, now: Instant): Promise<void> {
  const { rows } = await sql<{ waits: boolean }>`
    select (entry_sequence, booking) is distinct from (seen_entry_sequence, seen_booking)
           -- A copy of the database begins to number its transactions anew.
           and seen_transaction <= pg_snapshot_xmax(pg_current_snapshot()) as waits
      from check_marks`.execute(worker);
  if (rows[0]?.waits) return;
  // The entries first, in a separate statement: a booking with a later number has later entries.
  const { rows: ends } = await sql<{ sequence: number }>`
    select last_value as sequence from ledger_entries_sequence_seq`.execute(worker);
  await sql`
    insert into check_marks (seen_entry_sequence, seen_booking, seen_transaction, seen_at)
    select ${ends[0]?.sequence ?? 0}::bigint, last_value, pg_snapshot_xmax(pg_current_snapshot()), ${now} from usage_bookings
    on conflict (id) do update
       set seen_entry_sequence = excluded.seen_entry_sequence, seen_booking = excluded.seen_booking,
           seen_transaction = excluded.seen_transaction, seen_at = excluded.seen_at`.execute(worker);
}

/** The end of the tables as last seen, if that was by `before` and no transaction of that time still runs. */
async function findSettledEnd(db: Database, before: Instant): Promise<Mark | null> {
  const { rows } = await sql<Mark>`
    select seen_entry_sequence as entry_sequence, seen_booking as booking from check_marks
     where seen_at <= ${before} and pg_snapshot_xmin(pg_current_snapshot()) >= seen_transaction`.execute(db);
  return rows[0] ?? null;
}

/** Adds the sums between the marks to the stored ones. */
async function addSums(db: Database, since: Since, upTo: Mark): Promise<void> {
  const added = { entrySequence: since?.entrySequence ?? -1, booking: since?.booking ?? -1, upTo };
  await sql`
    insert into check_account_sums as kept
    select sides.*, last.created_at
      from (${sidesOfAccounts(added)}) sides
      join (select environment_id, ledger_account_id, max(created_at) as created_at
              from ${entriesSince(added)} e group by environment_id, ledger_account_id) last
        on last.environment_id = sides.environment_id and last.ledger_account_id = sides.ledger_account_id
    on conflict (environment_id, ledger_account_id) do update
       set granted = kept.granted + excluded.granted, used = kept.used + excluded.used, expired = kept.expired + excluded.expired,
           taken_back = kept.taken_back + excluded.taken_back, settled = kept.settled + excluded.settled,
           pooled = kept.pooled + excluded.pooled,
           last_created_at = excluded.last_created_at`.execute(db);
  await sql`
    insert into check_price_sums as kept select * from (${usageOfPrices(added)}) sums
    on conflict (environment_id, ledger_account_id, price_id) do update
       set used = kept.used + excluded.used, covered = kept.covered + excluded.covered`.execute(db);
  await sql`
    insert into check_credit_sums as kept
    select coalesce(e.environment_id, a.environment_id), coalesce(e.usage_credit_id, a.usage_credit_id), coalesce(e.granted, 0),
           coalesce(e.expired, 0), coalesce(e.taken_back, 0), coalesce(a.applied, 0)
      from (${entriesOfCredits(added)}) e
      full join (${appliedOfCredits(added)}) a on a.environment_id = e.environment_id and a.usage_credit_id = e.usage_credit_id
    on conflict (environment_id, usage_credit_id) do update
       set granted = kept.granted + excluded.granted, expired = kept.expired + excluded.expired,
           taken_back = kept.taken_back + excluded.taken_back, applied = kept.applied + excluded.applied`.execute(db);
  await sql`
    insert into check_series_sums as kept select * from (${eventsOfSeries(added)}) sums
    on conflict (environment_id, series_id) do update
       set events = kept.events + excluded.events, amount = kept.amount + excluded.amount,
           first_amount = kept.first_amount + excluded.first_amount, firsts = kept.firsts + excluded.firsts`.execute(
    db,
  );
}

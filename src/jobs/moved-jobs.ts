import type pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';

// A queue is in the database of the node that has the schema. When the schema has moved, its jobs follow.

/** The outcome of a move. */
export interface MovedJobs {
  readonly moved: number;
  /** Jobs that a worker of the former node still runs. */
  readonly left: number;
}

const batchSize = 5_000;

// Jobs of a dead worker come along, as if it had never had them.
const takeJobs = `
  with taken as (
    delete from _private_jobs where id in (
      select id from _private_jobs
       where locked_at is null or pg_try_advisory_xact_lock($1, hashtext(locked_by))
       order by id limit $2 for update skip locked)
    returning *
  )
  select t.identifier, to_jsonb(j) as job from taken j join _private_tasks t on t.id = j.task_id order by j.id`;

const addTasks = `
  insert into _private_tasks (identifier) select distinct identifier from unnest($1::text[]) identifier
  on conflict (identifier) do nothing`;

// A newer job of the same key takes the place of the moved one.
const addJobs = `
  insert into _private_jobs (task_id, payload, priority, run_at, attempts, max_attempts, last_error, key, flags)
  select t.id, j.payload, j.priority, j.run_at, j.attempts, j.max_attempts, j.last_error, j.key, j.flags
    from unnest($1::text[], $2::jsonb[]) as moved (identifier, job)
    join _private_tasks t on t.identifier = moved.identifier
   cross join jsonb_to_record(moved.job) as j (payload json, priority smallint, run_at timestamptz, attempts smallint,
     max_attempts smallint, last_error text, key text, flags jsonb)
  on conflict (key) do nothing`;

/**
 * Moves jobs between the queues of two servers. They are stored there before they are gone here, so an interruption may leave a
 * job in both, and its task runs twice.
 */
export async function moveJobs(from: pg.Pool, to: pg.Pool): Promise<MovedJobs> {
  const source = await from.connect();
  try {
    for (let moved = 0; ; ) {
      await source.query('begin');
      const { rows } = await source.query<{ identifier: string; job: object }>(takeJobs, [
        advisoryLocks.workers,
        batchSize,
      ]);
      const identifiers = rows.map(({ identifier }) => identifier);
      await to.query(addTasks, [identifiers]);
      await to.query(addJobs, [identifiers, rows.map(({ job }) => JSON.stringify(job))]);
      await source.query('commit');
      moved += rows.length;
      if (rows.length > 0) continue;
      const left = await source.query<{ count: number }>('select count(*) as count from _private_jobs');
      return { moved, left: left.rows[0]?.count ?? 0 };
    }
  } finally {
    source.release(true);
  }
}

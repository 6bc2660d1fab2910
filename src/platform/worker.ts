import { EventEmitter } from 'node:events';
import { Logger, run, type WorkerEvents } from 'graphile-worker';
import type pg from 'pg';
import type { JobContext } from './jobs.ts';

/** A worker that takes jobs from the queue until it is stopped. */
export interface Worker {
  /** Ends when the jobs under way have ended; no new one is begun. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  /** The queue belongs to the owner; the tasks' own transactions run as the restricted role. */
  readonly ownerPool: pg.Pool;
  readonly context: JobContext;
  readonly crontab: string;
  readonly log: (level: 'error' | 'warn' | 'info' | 'debug', message: string) => void;
}

// Jobs mostly wait: for the database or for somebody else's server.
const concurrency = 10;
// New jobs are announced by the database at once; polling only finds those whose time has come.
const pollIntervalMs = 1_000;

const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'debug' } as const;

// Advisory locks (this number, a worker's id) say which workers are alive.
const workerLockSpace = 7002;
const freeJobsEveryMs = 30_000;

/**
 * Says which workers of this process are alive, by locks that end with their connection, and gives the jobs of dead
 * ones back to the queue, which would by itself keep them for hours. Two processes free the jobs of a dead one at most
 * twice, which tasks bear.
 */
async function watchWorkers(ownerPool: pg.Pool): Promise<{ events: WorkerEvents; stop: () => Promise<void> }> {
  const client = await ownerPool.connect();
  const events: WorkerEvents = new EventEmitter();
  let locking = Promise.resolve();
  events.on('worker:create', ({ worker }) => {
    const lock = () => client.query('select pg_advisory_lock($1, hashtext($2))', [workerLockSpace, worker.workerId]);
    locking = locking.then(lock).then(ignore, ignore);
  });
  const free = () => ownerPool.query(freeJobsOfTheDead, [workerLockSpace]).then(ignore, ignore);
  await free();
  const timer = setInterval(free, freeJobsEveryMs);
  timer.unref();
  return {
    events,
    async stop() {
      clearInterval(timer);
      await locking;
      await client.query('select pg_advisory_unlock_all()').catch(ignore);
      client.release();
    },
  };
}

const freeJobsOfTheDead = `
  with locked as materialized (
    select distinct locked_by as id from graphile_worker._private_jobs where locked_at is not null and locked_by is not null
  )
  select graphile_worker.force_unlock_workers(array_agg(id)) from locked
   where pg_try_advisory_xact_lock($1, hashtext(id)) having count(*) > 0`;

function ignore(): void {
  // The database does not answer. The queue itself says so, and the next round tries again.
}

/** Starts taking jobs. Several workers may run beside each other: a job is given to one of them. */
export async function startWorker({ ownerPool, context, crontab, log }: WorkerOptions): Promise<Worker> {
  const taskList = Object.fromEntries(
    Object.entries(context.tasks).map(([name, task]) => [
      name,
      (payload: unknown) => task(context, payload as Readonly<Record<string, unknown>>),
    ]),
  );
  const watch = await watchWorkers(ownerPool);
  const runner = await run({
    events: watch.events,
    pgPool: ownerPool,
    taskList,
    crontab,
    concurrency,
    pollInterval: pollIntervalMs,
    noHandleSignals: true,
    logger: new Logger(() => (level, message) => log(levels[level], message)),
  });
  return {
    async stop() {
      await runner.stop();
      await watch.stop();
    },
  };
}

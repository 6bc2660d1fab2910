import { EventEmitter } from 'node:events';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, type Runner, run, type WorkerEvents } from 'graphile-worker';
import type pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { type JobContext, runTask } from './queue.ts';

/** A worker that runs jobs from the queue until it is stopped. */
export interface Worker {
  /** Stops taking jobs and resolves when the running ones have finished. */
  stop(): Promise<void>;
}

interface WorkerOptions {
  /** The pool `as: 'queue'`; transactions of tasks run as the restricted role. */
  readonly queuePool: pg.Pool;
  readonly queueSchema: string;
  readonly context: JobContext;
  readonly crontab: string;
  readonly log: (level: 'error' | 'warn' | 'info' | 'debug', message: string) => void;
}

// The queue stops with this exit code when a queue of any schema in the database is migrated. Its next start checks its own.
const exitOfMigration = 57;

// Jobs mostly wait for the database or an external server.
const concurrency = 10;
// The database announces new jobs immediately; polling only finds scheduled ones.
const pollIntervalMs = 1_000;

const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'debug' } as const;

// Advisory locks show which workers are alive: this number, and the id of the pool of workers, by which the queue locks jobs.
const workerLockSpace = advisoryLocks.workers;
const freeJobsEveryMs = 30_000;
// The interval at which lost locks are acquired again and a stopped queue is restarted.
const lookAgainEveryMs = 1_000;

const freeJobsOfTheDead = `
  with locked as materialized (
    select distinct locked_by as id from _private_jobs
     where locked_at is not null and locked_by is not null and locked_by <> all($2::text[])
  )
  select force_unlock_workers(array_agg(id)) from locked
   where pg_try_advisory_xact_lock($1, hashtext(id)) having count(*) > 0`;

// A job that is added again while it runs is another job, and the running one has no attempt left. When its worker dies, only
// its lost key and the lack of an error say that it did not fail. It runs again, because no one knows how far it came.
const runReplacedJobs = `
  select reschedule_jobs(array_agg(id), run_at => now(), attempts => 0) from _private_jobs
   where key is null and locked_at is null and attempts >= max_attempts and last_error is null having count(*) > 0`;

/**
 * Marks the workers of this process as alive, by locks that end with their connection. Returns the jobs of dead workers
 * to the queue, which would otherwise keep them for hours. Two processes may both free a dead worker's jobs; tasks
 * tolerate that.
 */
class LivingWorkers {
  readonly #pool: pg.Pool;
  readonly #alive = new Set<string>();
  readonly #locked = new Set<string>();
  #client: pg.PoolClient | null = null;
  #working: Promise<void> = Promise.resolve();
  readonly #timers: NodeJS.Timeout[];

  constructor(pool: pg.Pool) {
    this.#pool = pool;
    this.#timers = [
      setInterval(() => void this.#queue(() => this.#lock()), lookAgainEveryMs),
      setInterval(() => void this.#queue(() => this.freeJobsOfTheDead()), freeJobsEveryMs),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  add(id: string): void {
    this.#alive.add(id);
    void this.#queue(() => this.#lock());
  }

  /** Called when all workers of this process have ended. */
  async clear(): Promise<void> {
    this.#alive.clear();
    this.#locked.clear();
    await this.#queue(async () => void (await this.#client?.query('select pg_advisory_unlock_all()')));
  }

  async freeJobsOfTheDead(): Promise<void> {
    // Our own workers are alive even while the connection with their locks is lost.
    await this.#pool.query(freeJobsOfTheDead, [workerLockSpace, [...this.#alive]]);
    await this.#pool.query(runReplacedJobs);
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.clear();
    this.#letGo();
  }

  /** Runs actions in sequence. The next round repeats one that failed. */
  #queue(act: () => Promise<void>): Promise<void> {
    this.#working = this.#working.then(act).catch(ignore);
    return this.#working;
  }

  async #lock(): Promise<void> {
    const client = this.#client ?? (await this.#connect());
    for (const id of this.#alive) {
      if (this.#locked.has(id)) continue;
      // Until the database notices that the previous connection is gone, that connection still has the lock.
      const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1, hashtext($2)) as held', [
        workerLockSpace,
        id,
      ]);
      if (rows[0]?.held) this.#locked.add(id);
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    const client = await this.#pool.connect();
    this.#client = client;
    client.on('error', this.#letGo);
    return client;
  }

  /** Releases the connection, broken or not. Only the database knows which locks it had. */
  readonly #letGo = (error?: Error): void => {
    const client = this.#client;
    if (client === null) return;
    this.#client = null;
    this.#locked.clear();
    client.off('error', this.#letGo);
    client.release(error);
  };
}

function ignore(): void {
  // The database is not responding. The queue reports it, and the next round tries again.
}

/**
 * Starts running jobs. Several workers may run concurrently: each job goes to one of them. A queue that stopped during
 * an outage of the database restarts by itself.
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { queuePool, log } = options;
  const living = new LivingWorkers(queuePool);
  await living.freeJobsOfTheDead().catch(ignore);
  const stopped = new AbortController();
  let runner = await runQueue(options, living);

  const beginAgain = async (): Promise<Runner | null> => {
    while (!stopped.signal.aborted) {
      await sleep(lookAgainEveryMs, undefined, { signal: stopped.signal }).catch(ignore);
      if (stopped.signal.aborted) break;
      const begun = await runQueue(options, living).catch(ignore);
      if (begun) return begun;
    }
    return null;
  };
  const keepRunning = async () => {
    let wasStopped = false;
    for (let next: Runner | null = runner; next !== null; next = await beginAgain()) {
      runner = next;
      if (wasStopped) log('warn', 'the database is back: the queue works again');
      wasStopped = true;
      await runner.promise.catch(ignore);
      await living.clear();
      if (stopped.signal.aborted) return;
      if (process.exitCode === exitOfMigration) process.exitCode = undefined;
      log(
        'warn',
        'the queue has stopped because the database is not responding, or because a schema in it was migrated; it starts again when ' +
          'the database responds',
      );
    }
  };
  const running = keepRunning();
  return {
    async stop() {
      stopped.abort();
      // Stopping a runner that has already stopped throws.
      await runner.stop().catch(ignore);
      await running;
      await living.stop();
    },
  };
}

async function runQueue(
  { queuePool, queueSchema, context, crontab, log }: WorkerOptions,
  living: LivingWorkers,
): Promise<Runner> {
  const events: WorkerEvents = new EventEmitter();
  events.on('pool:create', ({ workerPool }) => living.add(workerPool.id));
  const taskList = Object.fromEntries(
    Object.keys(context.tasks).map((name) => [
      name,
      (payload: unknown) => runTask(context, name, payload as Readonly<Record<string, unknown>>),
    ]),
  );
  return run({
    events,
    pgPool: queuePool,
    schema: queueSchema,
    taskList,
    crontab,
    concurrency,
    pollInterval: pollIntervalMs,
    noHandleSignals: true,
    logger: new Logger(() => (level, message) => log(levels[level], message)),
  });
}

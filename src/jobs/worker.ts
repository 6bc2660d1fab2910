import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, type Runner, run, type WorkerEvents } from 'graphile-worker';
import type pg from 'pg';
import { advisoryLocks } from './advisory-locks.ts';
import { type JobContext, runTask } from './queue.ts';

/** A worker that takes jobs from the queue until it is stopped. */
export interface Worker {
  /** Ends when the jobs under way have ended; no new one is begun. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  /** The queue belongs to the owner (a pool `as: 'queue'`); the tasks' own transactions run as the restricted role. */
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
const workerLockSpace = advisoryLocks.workers;
const freeJobsEveryMs = 30_000;
// A lock that ended with its connection is taken again this soon; a queue that has stopped begins again.
const lookAgainEveryMs = 1_000;

const freeJobsOfTheDead = `
  with locked as materialized (
    select distinct locked_by as id from graphile_worker._private_jobs
     where locked_at is not null and locked_by is not null and locked_by <> all($2::text[])
  )
  select graphile_worker.force_unlock_workers(array_agg(id)) from locked
   where pg_try_advisory_xact_lock($1, hashtext(id)) having count(*) > 0`;

/**
 * Says which workers of this process are alive, by locks that end with their connection, and gives the jobs of dead
 * ones back to the queue, which would by itself keep them for hours. Two processes free the jobs of a dead one at most
 * twice, which tasks bear.
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

  /** All workers of this process have ended. */
  async clear(): Promise<void> {
    this.#alive.clear();
    this.#locked.clear();
    await this.#queue(async () => void (await this.#client?.query('select pg_advisory_unlock_all()')));
  }

  async freeJobsOfTheDead(): Promise<void> {
    // Ours are alive, also while the connection that says so is gone.
    await this.#pool.query(freeJobsOfTheDead, [workerLockSpace, [...this.#alive]]);
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.clear();
    this.#letGo();
  }

  /** One thing after the other. What fails is done again by the next round. */
  #queue(act: () => Promise<void>): Promise<void> {
    this.#working = this.#working.then(act).catch(ignore);
    return this.#working;
  }

  async #lock(): Promise<void> {
    const client = this.#client ?? (await this.#connect());
    for (const id of this.#alive) {
      if (this.#locked.has(id)) continue;
      // Where the database has not noticed yet that our last connection is gone, that one has the lock still.
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

  /** Gives the connection back, broken or not. What its locks were is known to the database only. */
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
  // The database does not answer. The queue itself says so, and the next round tries again.
}

/**
 * Starts taking jobs. Several workers may run beside each other: a job is given to one of them. A queue that stops because
 * the database was gone begins again by itself.
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { ownerPool, log } = options;
  const living = new LivingWorkers(ownerPool);
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
    for (let next: Runner | null = runner; next !== null; next = await beginAgain()) {
      runner = next;
      await runner.promise.catch(ignore);
      await living.clear();
      if (stopped.signal.aborted) return;
      log(
        'warn',
        'the queue has stopped because the database is not responding; it starts again when the database does',
      );
    }
  };
  const running = keepRunning();
  return {
    async stop() {
      stopped.abort();
      // One that has stopped already says so.
      await runner.stop().catch(ignore);
      await running;
      await living.stop();
    },
  };
}

async function runQueue({ ownerPool, context, crontab, log }: WorkerOptions, living: LivingWorkers): Promise<Runner> {
  const events: WorkerEvents = new EventEmitter();
  events.on('worker:create', ({ worker }) => living.add(worker.workerId));
  const taskList = Object.fromEntries(
    Object.keys(context.tasks).map((name) => [
      name,
      (payload: unknown) => runTask(context, name, payload as Readonly<Record<string, unknown>>),
    ]),
  );
  return run({
    events,
    pgPool: ownerPool,
    taskList,
    crontab,
    concurrency,
    pollInterval: pollIntervalMs,
    noHandleSignals: true,
    logger: new Logger(() => (level, message) => log(levels[level], message)),
  });
}

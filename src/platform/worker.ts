import { Logger, run } from 'graphile-worker';
import type pg from 'pg';
import type { JobContext, TaskList } from './jobs.ts';

/** A worker that takes jobs from the queue until it is stopped. */
export interface Worker {
  /** Ends when the jobs under way have ended; no new one is begun. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  /** The queue belongs to the owner; the tasks' own transactions run as the restricted role. */
  readonly ownerPool: pg.Pool;
  readonly context: JobContext;
  readonly tasks: TaskList;
  readonly crontab: string;
  readonly log: (level: 'error' | 'warn' | 'info' | 'debug', message: string) => void;
}

// Jobs mostly wait: for the database or for somebody else's server.
const concurrency = 10;
// New jobs are announced by the database at once; polling only finds those whose time has come.
const pollIntervalMs = 1_000;

const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'debug' } as const;

/** Starts taking jobs. Several workers may run beside each other: a job is given to one of them. */
export async function startWorker({ ownerPool, context, tasks, crontab, log }: WorkerOptions): Promise<Worker> {
  const taskList = Object.fromEntries(
    Object.entries(tasks).map(([name, task]) => [
      name,
      (payload: unknown) => task(context, payload as Readonly<Record<string, unknown>>),
    ]),
  );
  const runner = await run({
    pgPool: ownerPool,
    taskList,
    crontab,
    concurrency,
    pollInterval: pollIntervalMs,
    noHandleSignals: true,
    logger: new Logger(() => (level, message) => log(levels[level], message)),
  });
  return { stop: () => runner.stop() };
}

import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { advisoryLocks, releaseLock } from '../database/advisory-locks.ts';
import type { Database } from '../database/database.ts';
import { defaultMaxAttempts } from '../jobs/queue.ts';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { type CheckedInvariant, checkInvariants, invariants, readsSums } from './check-invariants.ts';
import { advanceMark, findLastRun, forgetSums, insertRun, type KeptRun, readMark } from './store-checks.ts';

/** The result of a check of all invariants. */
interface CheckReport {
  /** The start in real time. */
  readonly checkedAt: Instant;
  readonly durationMs: number;
  /** Whether all rows were read, instead of only those after the last good mark. */
  readonly full: boolean;
  readonly healthy: boolean;
  readonly invariants: readonly CheckedInvariant[];
}

interface CheckOptions {
  /** Reads everything, including previously checked rows. */
  readonly full: boolean;
  /** Waits for another process that is checking; otherwise refuses with `checkRunning`. */
  readonly waits: boolean;
}

/** The checks of a service. The worker's connections, because they cover every environment. */
export interface Checks {
  /** The last check by any process, or null before the first. */
  last(): Promise<CheckReport | null>;
  /** Runs a check now and stores its result. A concurrent call in this process gets the same result. */
  run(options: CheckOptions): Promise<CheckReport>;
}

/** The part of the external services that checks all data. It sees every environment; a process may go without. */
export interface WithChecks {
  readonly checks?: Checks;
}

/** The checks that the service was started with. */
export function checksOf({ checks }: WithChecks = {}): Checks | undefined {
  return checks;
}

export const checkTask = 'check_invariants';

// By then, work that became due while the service was down is done.
const firstCheckAfterMs = 2 * 60_000;
const oldestMs = 60 * 60_000;

/** Enqueues a check soon if the last one is older than an hour: a job, so that only one process runs it. */
export async function askForFirstCheck(worker: Database): Promise<void> {
  const last = await findLastRun(worker);
  if (last !== null && last.startedAt > Date.now() - oldestMs) return;
  const runAt = new Date(Date.now() + firstCheckAfterMs).toISOString();
  await sql`select enqueue_job(${checkTask}, '{}'::json, ${checkTask}, ${runAt}::timestamptz,
    ${defaultMaxAttempts}::integer)`.execute(worker);
}

export function createChecks(worker: Database): Checks {
  let inFlight: Promise<CheckReport> | null = null;
  return {
    async last() {
      const run = await findLastRun(worker);
      return run === null ? null : toReport(run);
    },
    run(options) {
      inFlight ??= runCheck(worker, options).finally(() => {
        inFlight = null;
      });
      return inFlight;
    },
  };
}

// One check at a time over all processes: it reads a lot, and a second one would find the same.
const checkLock = advisoryLocks.checks;
const lookAgainMs = 500;
// Longer than a full check of many millions of rows.
const longestWaitMs = 60 * 60_000;

/** Runs a check and stores its result, one process at a time. Refuses with `checkRunning` if it should not wait. */
async function runCheck(worker: Database, { full, waits }: CheckOptions): Promise<CheckReport> {
  return worker.connection().execute(async (connection) => {
    await takeTurn(connection, waits);
    try {
      return await checkAndKeep(connection, full);
    } finally {
      await releaseLock(connection, checkLock);
    }
  });
}

async function takeTurn(connection: Database, waits: boolean): Promise<void> {
  const until = Date.now() + (waits ? longestWaitMs : 0);
  for (;;) {
    const { rows } = await sql<{
      taken: boolean;
    }>`select pg_try_advisory_lock(${checkLock}, hashtext(current_schema())) as taken`.execute(connection);
    if (rows[0]?.taken) return;
    if (Date.now() >= until) throw new Problem('checkRunning');
    await sleep(lookAgainMs);
  }
}

/**
 * Healthy rows are summed up, so that the next check need not read them; broken ones are read each time until they are
 * fixed or gone.
 */
async function checkAndKeep(worker: Database, full: boolean): Promise<CheckReport> {
  const startedAt = Date.now();
  const since = full ? null : await readMark(worker);
  const checked = await checkInvariants(worker, since);
  const run: KeptRun = {
    startedAt,
    durationMs: Date.now() - startedAt,
    isFull: since === null,
    result: checked.map(({ name, violations }) => ({ name, violations })),
  };
  const summed = new Set(invariants.filter(readsSums).map(({ name }) => name));
  const isRight = checked.every(({ name, violations }) => violations.count === 0 || !summed.has(name));
  if (isRight) await advanceMark(worker, since, Date.now());
  else if (since === null) await forgetSums(worker);
  await insertRun(worker, run);
  return toReport(run);
}

const sentences = new Map(invariants.map(({ name, sentence }) => [name, sentence]));

/** Skips invariants of another version of the program, which have no description here. */
function toReport({ startedAt, durationMs, isFull, result }: KeptRun): CheckReport {
  const known = result.flatMap(({ name, violations }) => {
    const sentence = sentences.get(name);
    return sentence === undefined ? [] : { name, sentence, violations };
  });
  const healthy = known.every(({ violations }) => violations.count === 0);
  return { checkedAt: startedAt, durationMs, full: isFull, healthy, invariants: known };
}

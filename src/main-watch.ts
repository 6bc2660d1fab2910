import type pg from 'pg';
import { Counter, Gauge, Registry } from 'prom-client';
import { incompleteLifetimeMs } from './billing/end-subscription.ts';
import { readDueLag } from './billing/store-due.ts';
import type { Database } from './database/database.ts';
import type { ReadReplica } from './database/read-replica.ts';
import type { Log } from './http/log.ts';
import { gaugesOfDatabase, keptFor } from './http/metrics.ts';
import { findLastRun } from './invariants/store-checks.ts';
import { type QueueDepth, readQueueDepth } from './jobs/queue.ts';
import type { ChargeReport } from './payments/actions-settle.ts';
import type { AttemptReport as LimitedAttempt } from './payments/attempt.ts';
import type { AttemptReport } from './webhooks/jobs-sending.ts';
import { readDueDeliveries } from './webhooks/store-sending.ts';

/** The work that waits, over all tenants and processes. */
export interface Backlog {
  readonly queue: QueueDepth;
  readonly dueLagMs: number;
  readonly deliveries: { readonly due: number; readonly firstDueAt: number | null };
  /** The number of invariants that the last check of a cell found broken. Absent: the metrics of the checks show it. */
  readonly broken?: number;
}

// Due work is found every minute, so jobs that wait longer have no worker, or one that is too slow.
const longestJobWaitMs = 5 * 60_000;
// The grace of the invariants about due work.
const longestDueLagMs = 15 * 60_000;
const lookEveryMs = 60_000;
const repeatEveryMs = 10 * 60_000;
// A cell that does not respond for so long has no samples.
const knownForMs = 3 * lookEveryMs;
// Several scrapers read the database once.
const freshMs = 10_000;
// All gauges of one scrape are of one instant.
const shownMs = 1_000;

/** The last known backlog of a cell besides the home cell. */
interface KnownBacklog {
  readonly backlog: Backlog;
  readonly readAt: number;
}

/** The sentences that say what is stuck at `now`, by kind; empty when nothing is. */
export function stuckWork({ queue, dueLagMs, broken = 0 }: Backlog, now: number): ReadonlyMap<string, string> {
  const stuck = new Map<string, string>();
  const { ready, failed, firstReadyAt } = queue;
  if (firstReadyAt !== null && now - firstReadyAt > longestJobWaitMs) {
    const minutes = Math.floor((now - firstReadyAt) / 60_000);
    stuck.set('queue', `The queue is stuck: ${ready} jobs wait, the first for ${minutes} min.`);
  }
  if (dueLagMs > longestDueLagMs)
    stuck.set('due work', `Due work is late: the first piece has been due for ${Math.floor(dueLagMs / 60_000)} min.`);
  if (failed > 0)
    stuck.set('failed jobs', `${failed} jobs have failed for good. graphile_worker.jobs.last_error says why.`);
  if (broken > 0)
    stuck.set('checks', `The last check found ${broken} broken invariants. tollkeeper check prints their rows.`);
  return stuck;
}

/** Logs what is stuck: at once, then every ten minutes, and once when it is over. */
export class StuckLog {
  readonly #log: Pick<Log, 'warn'>;
  readonly #saidAt = new Map<string, number>();

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log;
  }

  note(backlog: Backlog, now: number): void {
    const stuck = stuckWork(backlog, now);
    for (const [kind, sentence] of stuck) {
      if (now - (this.#saidAt.get(kind) ?? Number.NEGATIVE_INFINITY) < repeatEveryMs) continue;
      this.#saidAt.set(kind, now);
      this.#log.warn(sentence);
    }
    for (const kind of this.#saidAt.keys()) {
      if (stuck.has(kind)) continue;
      this.#saidAt.delete(kind);
      this.#log.warn(`Nothing is stuck any more: ${kind}.`);
    }
  }
}

/** Turns reports of charges and webhooks into log lines and metrics. The counters are those of this process. */
export class Watch {
  readonly #log: Pick<Log, 'warn'>;
  /** The metrics. Without the database, those of this process. */
  readonly registry = new Registry();
  readonly #charges: Counter<string>;
  readonly #attempts: Counter<string>;
  readonly #limited: Counter<string>;
  readonly #readBacklog: () => Promise<Backlog>;
  readonly #cells = new Map<string, KnownBacklog>();

  constructor(log: Pick<Log, 'warn'>, worker: Database, pools: ReadonlyMap<string, pg.Pool>) {
    this.#log = log;
    this.#readBacklog = keptFor(freshMs, () => readBacklog(worker, Date.now()));
    const registers = [this.registry];
    this.#charges = new Counter({
      name: 'tollkeeper_charges_total',
      help: 'Charges that ended, by processor and result.',
      labelNames: ['processor', 'result'],
      registers,
    });
    this.#attempts = new Counter({
      name: 'tollkeeper_webhook_attempts_total',
      help: 'Attempts to send a webhook delivery, by result.',
      labelNames: ['result'],
      registers,
    });
    this.#limited = new Counter({
      name: 'tollkeeper_limited_attempts_total',
      help: 'Attempts to pay or to enter a discount code that were refused, or that reached a limit.',
      labelNames: ['kind', 'scope', 'result'],
      registers,
    });
    showPools(this.registry, pools);
    showBacklog(this.registry, this.#readBacklog, this.#cells);
  }

  readonly onCharge = (report: ChargeReport): void => {
    const { processor, result } = report;
    this.#charges.inc({ processor, result });
    if (result !== 'succeeded') this.#log.warn(report, `A charge has failed: ${report.code ?? result}.`);
  };

  readonly onLimitedAttempt = (report: LimitedAttempt): void => {
    const { kind, scope, result } = report;
    this.#limited.inc({ kind, scope, result });
    if (result === 'limit_reached')
      this.#log.warn(report, 'Failed attempts to pay or to enter codes have reached a limit.');
  };

  readonly onAttempt = ({ result, change, error, ...endpoint }: AttemptReport): void => {
    this.#attempts.inc({ result });
    if (change === 'recovered') this.#log.warn(endpoint, 'A webhook endpoint answers again.');
    else if (change === 'disabled') this.#log.warn({ ...endpoint, error }, 'A webhook endpoint was switched off.');
    else if (change === 'failing') this.#log.warn({ ...endpoint, error }, 'A webhook endpoint fails.');
    else if (result === 'failed') this.#log.warn({ ...endpoint, error }, 'A webhook delivery was given up.');
  };

  /** Looks every minute for work that is stuck. Returns the function that stops it. */
  start(): () => void {
    return lookEveryMinute(this.#log, this.#readBacklog);
  }

  /** The same for a cell besides the home cell. A scrape shows what the last look found, and never waits for a cell. */
  startCell(cell: string, worker: Database): () => void {
    const read = async () => {
      const last = await findLastRun(worker);
      const found = last?.result.filter(({ violations }) => violations.count > 0);
      const backlog = { ...(await readBacklog(worker, Date.now())), broken: found?.length ?? 0 };
      this.#cells.set(cell, { backlog, readAt: Date.now() });
      return backlog;
    };
    const stop = lookEveryMinute({ warn: (sentence: string) => this.#log.warn(`Cell ${cell}: ${sentence}`) }, read);
    void read().catch(() => undefined);
    return () => {
      stop();
      this.#cells.delete(cell);
    };
  }
}

function lookEveryMinute(log: Pick<Log, 'warn'>, read: () => Promise<Backlog>): () => void {
  const stuck = new StuckLog(log);
  const look = async () => {
    // An outage of the database has lines of its own.
    const backlog = await read().catch(() => null);
    if (backlog !== null) stuck.note(backlog, Date.now());
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}

async function readBacklog(worker: Database, now: number): Promise<Backlog> {
  return {
    queue: await readQueueDepth(worker),
    dueLagMs: await readDueLag(worker, now, incompleteLifetimeMs),
    deliveries: await readDueDeliveries(worker, now),
  };
}

/** The connections of the pools of this process. */
function showPools(registry: Registry, pools: ReadonlyMap<string, pg.Pool>): void {
  new Gauge({
    name: 'tollkeeper_pool_connections',
    help: 'Connections to the database, by pool and state.',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [pool, { totalCount, idleCount }] of pools) {
        this.set({ pool, state: 'used' }, totalCount - idleCount);
        this.set({ pool, state: 'idle' }, idleCount);
      }
    },
  });
  new Gauge({
    name: 'tollkeeper_pool_waiting',
    help: 'Requests and jobs that wait for a connection, by pool.',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      for (const [pool, { waitingCount }] of pools) this.set({ pool }, waitingCount);
    },
  });
}

/** The age that the state of the read replica may have. No sample while it is not known. */
export function showReplica(registry: Registry, replica: ReadReplica): void {
  new Gauge({
    name: 'tollkeeper_replica_lag_seconds',
    help: 'The state of the read replica is no older.',
    labelNames: ['never'],
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.reset();
      if (Number.isFinite(replica.lagMs)) this.set({}, replica.lagMs / 1000);
    },
  });
}

function showBacklog(registry: Registry, read: () => Promise<Backlog>, cells: ReadonlyMap<string, KnownBacklog>): void {
  const show = keptFor(shownMs, async () => {
    const backlog = await read().catch(() => null);
    for (const each of [jobs, jobWait, dueLag, deliveries, deliveryWait, broken]) each.reset();
    const now = Date.now();
    if (backlog !== null) showOne({}, backlog, now);
    for (const [cell, known] of cells) if (now - known.readAt <= knownForMs) showOne({ cell }, known.backlog, now);
  });
  const showOne = (labels: { readonly cell?: string }, backlog: Backlog, now: number) => {
    const { queue, dueLagMs, deliveries: sent } = backlog;
    const seconds = (since: number | null) => (since === null ? 0 : Math.max(0, now - since) / 1000);
    jobs.set({ ...labels, state: 'ready' }, queue.ready);
    jobs.set({ ...labels, state: 'failed' }, queue.failed);
    jobWait.set(labels, seconds(queue.firstReadyAt));
    dueLag.set(labels, dueLagMs / 1000);
    deliveries.set(labels, sent.due);
    deliveryWait.set(labels, seconds(sent.firstDueAt));
    if (backlog.broken !== undefined) broken.set(labels, backlog.broken);
  };
  const gauge = gaugesOfDatabase(registry, show);
  const jobs = gauge('queue_jobs', 'Jobs that wait for a worker (ready), and that failed for good (failed).', [
    'state',
    'cell',
  ]);
  // The home cell has no label. A gauge without labels would report 0 while the database does not respond.
  const jobWait = gauge('queue_oldest_job_seconds', 'How long the first ready job has waited.', ['cell']);
  const dueLag = gauge('due_work_lag_seconds', 'How long the first piece of undone work has been due.', ['cell']);
  const deliveries = gauge('webhook_deliveries_due', 'Webhook deliveries that are due.', ['cell']);
  const deliveryWait = gauge('webhook_oldest_delivery_seconds', 'How long the first of them has been due.', ['cell']);
  const broken = gauge('cell_broken_invariants', 'Invariants that the last check of a cell found broken.', ['cell']);
}

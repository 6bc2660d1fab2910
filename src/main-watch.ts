import type pg from 'pg';
import { Counter, Gauge, Registry } from 'prom-client';
import { incompleteLifetimeMs } from './billing/end-subscription.ts';
import { readDueLag } from './billing/store-due.ts';
import type { Database } from './database/database.ts';
import type { Log } from './http/log.ts';
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
}

// Due work is found every minute, so jobs that wait longer have no worker, or one that is too slow.
const longestJobWaitMs = 5 * 60_000;
// The grace of the invariants about due work.
const longestDueLagMs = 15 * 60_000;
const lookEveryMs = 60_000;
const repeatEveryMs = 10 * 60_000;
// Several scrapers read the database once.
const freshMs = 10_000;

/** The sentences that say what is stuck at `now`, by kind; empty when nothing is. */
export function stuckWork({ queue, dueLagMs }: Backlog, now: number): ReadonlyMap<string, string> {
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
  readonly #worker: Database;
  readonly #pools: ReadonlyMap<string, pg.Pool>;
  readonly #registry = new Registry();
  readonly #charges: Counter<string>;
  readonly #attempts: Counter<string>;
  readonly #limited: Counter<string>;
  readonly #gauges: ReturnType<typeof registerGauges>;
  #backlog: { readonly readAt: number; readonly read: Promise<Backlog> } | null = null;

  constructor(log: Pick<Log, 'warn'>, worker: Database, pools: ReadonlyMap<string, pg.Pool>) {
    this.#log = log;
    this.#worker = worker;
    this.#pools = pools;
    const registers = [this.#registry];
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
    this.#gauges = registerGauges(this.#registry);
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
    const stuck = new StuckLog(this.#log);
    const look = async () => {
      // An outage of the database has lines of its own.
      const backlog = await this.#readBacklog().catch(() => null);
      if (backlog !== null) stuck.note(backlog, Date.now());
    };
    const timer = setInterval(() => void look(), lookEveryMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  /** The metrics in Prometheus format. Without the database, those of this process. */
  async metrics(): Promise<string> {
    this.#gauges.show(this.#pools, await this.#readBacklog().catch(() => null), Date.now());
    return this.#registry.metrics();
  }

  #readBacklog(): Promise<Backlog> {
    const now = Date.now();
    if (this.#backlog === null || now - this.#backlog.readAt > freshMs)
      this.#backlog = { readAt: now, read: readBacklog(this.#worker, now) };
    return this.#backlog.read;
  }
}

async function readBacklog(worker: Database, now: number): Promise<Backlog> {
  return {
    queue: await readQueueDepth(worker),
    dueLagMs: await readDueLag(worker, now, incompleteLifetimeMs),
    deliveries: await readDueDeliveries(worker, now),
  };
}

function registerGauges(registry: Registry) {
  const gauge = (name: string, help: string, labelNames: readonly string[]) =>
    new Gauge({ name: `tollkeeper_${name}`, help, labelNames, registers: [registry] });
  const jobs = gauge('queue_jobs', 'Jobs that wait for a worker (ready), and that failed for good (failed).', [
    'state',
  ]);
  // An unused label: a gauge without labels would report 0 while the database does not respond.
  const jobWait = gauge('queue_oldest_job_seconds', 'How long the first ready job has waited.', ['never']);
  const dueLag = gauge('due_work_lag_seconds', 'How long the first piece of undone work has been due.', ['never']);
  const deliveries = gauge('webhook_deliveries_due', 'Webhook deliveries that are due.', ['never']);
  const deliveryWait = gauge('webhook_oldest_delivery_seconds', 'How long the first of them has been due.', ['never']);
  const connections = gauge('pool_connections', 'Connections to the database, by pool and state.', ['pool', 'state']);
  const waiting = gauge('pool_waiting', 'Requests and jobs that wait for a connection, by pool.', ['pool']);
  const seconds = (since: number | null, now: number) => (since === null ? 0 : Math.max(0, now - since) / 1000);
  return {
    show(pools: ReadonlyMap<string, pg.Pool>, backlog: Backlog | null, now: number): void {
      for (const [pool, { totalCount, idleCount, waitingCount }] of pools) {
        connections.set({ pool, state: 'used' }, totalCount - idleCount);
        connections.set({ pool, state: 'idle' }, idleCount);
        waiting.set({ pool }, waitingCount);
      }
      for (const each of [jobs, jobWait, dueLag, deliveries, deliveryWait]) each.reset();
      if (backlog === null) return;
      jobs.set({ state: 'ready' }, backlog.queue.ready);
      jobs.set({ state: 'failed' }, backlog.queue.failed);
      jobWait.set({}, seconds(backlog.queue.firstReadyAt, now));
      dueLag.set({}, backlog.dueLagMs / 1000);
      deliveries.set({}, backlog.deliveries.due);
      deliveryWait.set({}, seconds(backlog.deliveries.firstDueAt, now));
    },
  };
}

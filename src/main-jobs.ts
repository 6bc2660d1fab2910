import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { crontab, type ExternalServices, tasks } from './app.ts';
import { openArchives } from './archives/actions.ts';
import { auditCrontab } from './audit/jobs.ts';
import type { Config } from './config.ts';
import { createPool, patienceOfJobs, queueSchemaOf } from './database/database.ts';
import { problemOfOutage } from './database/database-problem.ts';
import { endSilentConnections } from './database/silent-connections.ts';
import type { Log } from './http/log.ts';
import { TroubleLog } from './http/trouble-log.ts';
import { askForFirstCheck, createChecks } from './invariants/run-checks.ts';
import type { Encryption } from './jobs/encryption.ts';
import { registerEncryptionKeys } from './jobs/encryption-keys.ts';
import { startWorker, type Worker } from './jobs/worker.ts';
import {
  archivesOfCell,
  connectWorker,
  type OpenedCell,
  openServicePool,
  reasonOf,
  runUndo,
  schemaOf,
  type Undo,
  type WorkerAccess,
} from './main-database.ts';
import { startFinishingMoves } from './main-mover.ts';
import type { Watch } from './main-watch.ts';
import { type Cell, findIdentity, listCells } from './organizations/store-cells.ts';
import type { WebhookServices } from './webhooks/actions.ts';
import { startSender } from './webhooks/jobs-sender.ts';

// One connection per concurrent job.
const jobsPoolSize = 10;
// One per concurrent job, one to listen, and one for liveness locks.
const queuePoolSize = 12;
// The wait of a cell that was added, or whose server responds again.
const lookForCellsEveryMs = 5_000;

type Services = ExternalServices & { readonly encryption: Encryption; readonly webhooks: WebhookServices };

interface JobsOptions {
  readonly config: Config;
  /** The ways to others. The checks and archives are those of the home cell. */
  readonly services: Services;
  readonly watch: Watch;
  /** The pools of this process by their names, to which those of the jobs are added. */
  readonly pools: Map<string, pg.Pool>;
  readonly log: Log;
}

/**
 * Runs jobs, sends webhooks, and watches for work that is stuck: in the home cell, and in each other cell as soon as it
 * responds. A cell that does not respond delays none of the others.
 */
export async function startJobs(home: OpenedCell, options: JobsOptions): Promise<Worker> {
  const { watch, log } = options;
  const ofHome = await startWhole(log, async (undo) => {
    await runJobs(home, options, { nameOf: (pool) => pool, prefix: '' }, undo);
    const stopWatching = watch.start();
    undo.push(async () => stopWatching());
  });
  const others = startCells(home.access, (cell, installation) => startCell(cell, { home, installation }, options), log);
  const moves = startFinishingMoves(home, options.config, log);
  return {
    async stop() {
      await Promise.all([moves.stop(), others.stop(), ofHome.stop()]);
    },
  };
}

/** The worker of all that `start` starts. When `start` fails, what it has started is stopped. */
async function startWhole(log: Log, start: (undo: Undo) => Promise<void>): Promise<Worker> {
  const undo: Undo = [];
  const stop = () => runUndo(undo, log);
  try {
    await start(undo);
    return { stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Names {
  readonly nameOf: (pool: string) => string;
  /** The beginning of log lines. */
  readonly prefix: string;
}

async function runJobs(
  { server, access }: OpenedCell,
  { config, services, watch, pools, log }: JobsOptions,
  { nameOf, prefix }: Names,
  undo: Undo,
): Promise<void> {
  const { url, schema } = server;
  const queuePool = createPool({ url, schema, size: queuePoolSize, as: 'queue' });
  undo.push(() => queuePool.end());
  endSilentConnections(queuePool, patienceOfJobs.statementMs);
  // Jobs do not wait for requests, nor requests for them.
  const jobs = openServicePool(server, { size: jobsPoolSize, patience: patienceOfJobs }, undo);
  const named = new Map([
    [nameOf('jobs'), jobs.pool],
    [nameOf('queue'), queuePool],
  ]);
  for (const [name, pool] of named) pools.set(name, pool);
  undo.push(async () => named.forEach((_, name) => void pools.delete(name)));
  const worker = await startWorker({
    queuePool,
    queueSchema: queueSchemaOf(schema),
    context: { database: jobs.database, tasks, services },
    crontab: jobTimes(config),
    log: (level, message) => log[level](prefix + message),
  });
  const sender = startSender({
    pool: access.workerPool,
    schema,
    services: services.webhooks,
    onError: webhookTrouble(log, prefix),
    onAttempt: watch.onAttempt,
  });
  undo.push(async () => void (await Promise.all([worker.stop(), sender.stop()])));
  await askForFirstCheck(access.worker);
}

/** Starts the jobs of a cell besides the home cell. */
function startCell(
  cell: Cell,
  { home, installation }: { readonly home: OpenedCell; readonly installation: string },
  options: JobsOptions,
): Promise<Worker> {
  const { config, watch, pools, log } = options;
  const { name } = cell;
  return startWhole(log, async (undo) => {
    const server = schemaOf(home.server, cell);
    const auditContext = { actor: 'system', action: 'serve' } as const;
    const access = await connectWorker(server, { access: 'read', cellOf: installation, auditContext });
    undo.push(() => access.workerPool.end());
    const nameOf = (pool: string) => `${pool} of ${name}`;
    pools.set(nameOf('worker'), access.workerPool);
    undo.push(async () => void pools.delete(nameOf('worker')));
    await registerEncryptionKeys(access.worker, options.services.encryption, Date.now());
    const services = {
      ...options.services,
      checks: createChecks(access.worker),
      archives: await openArchives(access, archivesOfCell(config, name)),
    };
    await runJobs({ server, access }, { ...options, services }, { nameOf, prefix: `Cell ${name}: ` }, undo);
    const stopWatching = watch.startCell(name, access.worker);
    undo.push(async () => stopWatching());
  });
}

/** Starts each cell besides the home cell, also those that are added later. A start that fails is repeated, and a cell that has moved is started again. */
function startCells(
  { worker }: WorkerAccess,
  start: (cell: Cell, installation: string) => Promise<Worker>,
  log: Log,
): Worker {
  const stopped = new AbortController();
  const { signal } = stopped;
  const running = new Map<string, Worker & Pick<Cell, 'address'>>();
  const failures = new Map<string, string>();

  const startOne = async (cell: Cell, installation: string) => {
    const { name } = cell;
    try {
      const { stop } = await start(cell, installation);
      running.set(name, { stop, address: cell.address });
      if (failures.delete(name)) log.warn(`Cell ${name}: its jobs run.`);
    } catch (error) {
      const reason = reasonOf(error);
      if (failures.get(name) !== reason) log.warn(`Cell ${name}: its jobs wait: ${reason}`);
      failures.set(name, reason);
    }
  };
  const look = async () => {
    const listed = await listCells(worker);
    for (const { name, address } of listed) {
      const moved = running.get(name);
      if (moved === undefined || moved.address === address) continue;
      running.delete(name);
      await moved.stop();
    }
    const cells = listed.filter(({ name }) => !running.has(name));
    if (cells.length === 0) return;
    const { installation } = await findIdentity(worker);
    await Promise.all(cells.map((cell) => startOne(cell, installation)));
  };
  const run = async () => {
    for (; !signal.aborted; await sleep(lookForCellsEveryMs, undefined, { signal }).catch(ignore))
      await look().catch(ignore);
  };
  const looking = run();
  return {
    async stop() {
      stopped.abort();
      await looking;
      await Promise.all([...running.values()].map((each) => each.stop()));
    },
  };
}

function ignore(): void {
  // The home cell is not responding, or the process stops. An outage has lines of its own.
}

/** Logs failures of the webhook sender. An outage affects every attempt, so it is logged at intervals. */
function webhookTrouble(log: Log, prefix: string): (error: unknown) => void {
  const words = `${prefix}webhooks are waiting`;
  const trouble = new TroubleLog({
    error: (details, message) => log.error(details, `${words}: ${message}`),
    warn: (details, message) => log.warn(details, `${words}: ${message}`),
  });
  return (error) => {
    const outage = problemOfOutage(error);
    if (outage === null) log.error({ err: error }, words);
    else trouble.note(outage, error);
  };
}

/** The schedule of periodic jobs, in cron syntax. */
function jobTimes({ auditDays }: Config): string {
  return crontab + auditCrontab(auditDays);
}

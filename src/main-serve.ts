import process from 'node:process';
import type pg from 'pg';
import { createApp, crontab, type ExternalServices, tasks } from './app.ts';
import { auditCrontab } from './audit/jobs.ts';
import { createFirstOrganization, ensureApiKeys } from './billing/create-organization.ts';
import type { Config } from './config.ts';
import {
  createDatabase,
  createPool,
  type Database,
  type Patience,
  patienceOfJobs,
  patienceOfRequests,
} from './database/database.ts';
import { problemOfOutage } from './database/database-problem.ts';
import { knownMigrations } from './database/migrate.ts';
import { endSilentConnections } from './database/silent-connections.ts';
import { TroubleLog } from './http/trouble-log.ts';
import { askForFirstCheck, createChecks } from './invariants/run-checks.ts';
import { loopback } from './jobs/address-guard.ts';
import { createEncryption } from './jobs/encryption.ts';
import { keyOfDataDirectory, registerEncryptionKeys } from './jobs/encryption-keys.ts';
import { createOutbound } from './jobs/outbound.ts';
import { startWorker, type Worker } from './jobs/worker.ts';
import { connectOwner, type OwnerAccess, openServer, openServerToServe, type Server } from './main-database.ts';
import { createStripeProcessor } from './payments/processor-stripe.ts';
import type { WebhookServices } from './webhooks/actions.ts';
import { startSender } from './webhooks/jobs-sender.ts';

// One connection per concurrent job.
const jobsPoolSize = 10;
// One per concurrent job, one to listen, and one for liveness locks.
const queuePoolSize = 12;

/** Cleanup steps, run in reverse order. */
type Undo = (() => Promise<void>)[];

/** Serves the API and runs jobs until the process is stopped. */
export async function serve(config: Config): Promise<void> {
  await untilStopped(async (undo, fail) => {
    const watching = { log: (message: string) => console.error(message), onLost: fail };
    const { server, access } = await openDatabase(
      config,
      await openServerToServe(config, (message) => console.log(message), watching),
      undo,
    );
    const services = await startExternalServices(config, access, undo);
    await greetFirstStart(config, access);
    const { limits } = config;
    const patience = patienceOfRequests(limits.statementTimeoutMs);
    const database = openServicePool(server, { size: limits.connections, patience }, undo);
    const app = await createApp({
      database,
      logLevel: config.logLevel,
      services,
      operatorToken: config.operatorToken,
      publicUrl: config.publicUrl,
      limits,
      migrated: () => isMigrated(access),
    });
    if (config.works) {
      const forJobs = openJobsPool(server, undo);
      const worker = await startJobs(access, forJobs, services, jobTimes(config), (level, message) =>
        app.log[level](message),
      );
      undo.push(() => worker.stop());
    } else {
      console.log('TOLLKEEPER_WORK is off: this service handles requests, but runs no jobs and sends no webhooks.');
    }
    undo.push(() => app.close());
    const address = await app.listen({ host: config.host, port: config.port });
    console.log(`Tollkeeper listens on ${address} (reference: ${address}/docs). Press Ctrl-C to stop.`);
  });
}

/** Runs jobs without serving the API. */
export async function work(config: Config): Promise<void> {
  if (!config.works) throw new Error('TOLLKEEPER_WORK is off, so this command has nothing to do.');
  await untilStopped(async (undo, fail) => {
    const watching = { log: (message: string) => console.error(message), onLost: fail };
    const { server, access } = await openDatabase(config, await openServer(config, watching), undo);
    const database = openJobsPool(server, undo);
    const services = await startExternalServices(config, access, undo);
    const worker = await startJobs(access, database, services, jobTimes(config), (level, message) => {
      if (level === 'error' || level === 'warn') console.error(message);
    });
    undo.push(() => worker.stop());
    console.log('Tollkeeper is running jobs. Press Ctrl-C to stop.');
  });
}

/**
 * Runs `start`, waits for SIGINT, SIGTERM or SIGHUP, then undoes the start: requests first, the database last. A signal
 * during the start undoes what was started so far. `fail` also stops, with a message and exit code 1, so that a
 * supervisor restarts the process.
 */
async function untilStopped(start: (undo: Undo, fail: (error: Error) => void) => Promise<void>): Promise<void> {
  const undo: Undo = [];
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop());
  const fail = (error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
    stop();
  };
  try {
    await start(undo, fail);
    await stopped;
    console.log('Stopping.');
  } finally {
    await runUndo(undo);
  }
}

/** The owner's database access of a long-running command. */
interface ServingAccess extends OwnerAccess {
  readonly queuePool: pg.Pool;
}

async function openDatabase(
  config: Config,
  server: Server,
  undo: Undo,
): Promise<{ server: Server; access: ServingAccess }> {
  undo.push(() => server.stop());
  const waiting = { waitMs: config.limits.startWaitMs, log: (message: string) => console.error(message) };
  const access = await connectOwner(server.url, { ...waiting, auditContext: { actor: 'system', action: 'serve' } });
  undo.push(() => access.ownerPool.end());
  const queuePool = createPool({ url: server.url, size: queuePoolSize, as: 'queue' });
  undo.push(() => queuePool.end());
  return { server, access: { ...access, queuePool } };
}

/** Jobs have their own connections: they do not wait for requests, nor requests for them. */
function openJobsPool(server: Server, undo: Undo): Database {
  return openServicePool(server, { size: jobsPoolSize, patience: patienceOfJobs }, undo);
}

function openServicePool({ url }: Server, options: { size: number; patience: Patience }, undo: Undo): Database {
  const pool = createPool({ url, as: 'service', ...options });
  undo.push(() => pool.end());
  return createDatabase(pool);
}

/** The ways to others. Throws when the database was written with an encryption key that is not here. */
async function startExternalServices(config: Config, { owner }: OwnerAccess, undo: Undo) {
  const encryption = createEncryption(config.encryptionKeys ?? [await keyOfDataDirectory(config.dataDirectory)]);
  await registerEncryptionKeys(owner, encryption, Date.now());
  // Without configuration and with the embedded database, this is a trial, whose webhook receiver is on the same
  // machine.
  const isTriedOut = config.webhookAllow === null && config.databaseUrl === null;
  const outbound = createOutbound({ allow: config.webhookAllow ?? [], allowInTestMode: isTriedOut ? loopback : [] });
  undo.push(() => outbound.close());
  return {
    encryption,
    stripe: config.stripe.map(createStripeProcessor),
    webhooks: { encryption, outbound },
    checks: createChecks(owner),
  } satisfies ExternalServices;
}

/** Runs jobs and sends webhooks. */
async function startJobs(
  access: ServingAccess,
  database: Database,
  services: ExternalServices & { readonly webhooks: WebhookServices },
  times: string,
  log: JobsLog,
): Promise<Worker> {
  const { ownerPool, queuePool } = access;
  endSilentConnections(queuePool, patienceOfJobs.statementMs);
  const context = { database, tasks, services };
  const worker = await startWorker({ ownerPool: queuePool, context, crontab: times, log });
  await askForFirstCheck(access.owner);
  const sender = startSender({ pool: ownerPool, services: services.webhooks, onError: webhookTrouble(log) });
  return {
    async stop() {
      await Promise.all([worker.stop(), sender.stop()]);
    },
  };
}

type JobsLog = (level: 'error' | 'warn' | 'info' | 'debug', message: string) => void;

/** Logs failures of the webhook sender. An outage affects every attempt, so it is logged at intervals. */
function webhookTrouble(log: JobsLog): (error: unknown) => void {
  const trouble = new TroubleLog({
    error: (_, message) => log('error', `webhooks are waiting: ${message}`),
    warn: (_, message) => log('warn', `webhooks are waiting: ${message}`),
  });
  return (error) => {
    const outage = problemOfOutage(error);
    if (outage === null) log('error', `webhooks: ${(error as Error).stack ?? error}`);
    else trouble.note(outage, error);
  };
}

/** The schedule of periodic jobs, in cron syntax. */
function jobTimes({ auditDays }: Config): string {
  return crontab + auditCrontab(auditDays);
}

/** Whether the database has every migration of this version. */
async function isMigrated({ ownerPool }: OwnerAccess): Promise<boolean> {
  const known = await knownMigrations();
  const { rows } = await ownerPool.query<{ name: string }>('select name from kysely_migration');
  const ran = new Set(rows.map((row) => row.name));
  return known.every((name) => ran.has(name));
}

async function greetFirstStart(config: Config, { owner }: OwnerAccess): Promise<void> {
  const founded = await createFirstOrganization(
    owner,
    { name: 'My organization', testKey: config.testKey, liveKey: config.liveKey },
    Date.now(),
  );
  if (founded === null) {
    await ensureApiKeys(owner, { testKey: config.testKey, liveKey: config.liveKey }, Date.now());
    return;
  }
  const address = config.publicUrl ?? `http://${config.host}:${config.port}`;
  console.log(`First start: created the organization "${founded.organization.name}" (${founded.organization.id}). Its keys are shown only this once:

  test key  ${founded.testKey.token}
  live key  ${founded.liveKey.token}

Try this next:

  curl ${address}/api/v1/pricing-models -H "Authorization: Bearer ${founded.testKey.token}"
`);
}

async function runUndo(undo: Undo): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    await step().catch((error: unknown) => console.error(error));
  }
}

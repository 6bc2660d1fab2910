import { once } from 'node:events';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import process from 'node:process';
import { createApp, type ExternalServices } from './app.ts';
import { openArchives } from './archives/actions.ts';
import { createFirstOrganization, ensureApiKeys } from './billing/create-organization.ts';
import type { Config } from './config.ts';
import { createDatabase, createPool, type Patience, patienceOfRequests } from './database/database.ts';
import { listMissingMigrations } from './database/migrate.ts';
import { PageShare } from './database/page-share.ts';
import { refuseUnboundPooler } from './database/pooler.ts';
import { ReadReplica } from './database/read-replica.ts';
import { connectionLimits } from './http/connections.ts';
import { readDashboard } from './http/dashboard.ts';
import { createLog, type Log, type ServiceLog } from './http/log.ts';
import { createChecks } from './invariants/run-checks.ts';
import { loopback } from './jobs/address-guard.ts';
import { createEncryption } from './jobs/encryption.ts';
import { keyOfDataDirectory, registerEncryptionKeys } from './jobs/encryption-keys.ts';
import { createOutbound } from './jobs/outbound.ts';
import type { WithMail } from './mail/actions.ts';
import {
  connectWorker,
  eachCell,
  type OpenedCell,
  openServer,
  openServerToServe,
  openServicePool,
  runUndo,
  type SchemaOfServer,
  type Server,
  type Undo,
  type WorkerAccess,
} from './main-database.ts';
import { startJobs } from './main-jobs.ts';
import {
  isOneOfSeveral,
  leaveProcesses,
  metricsOfAll,
  sharedPort,
  startProcesses,
  tellReady,
} from './main-processes.ts';
import { startCellsOfRequests } from './main-slots.ts';
import { showReplica, Watch } from './main-watch.ts';
import { createFirstLink } from './people/actions.ts';

const dashboardFolder = resolve(import.meta.dirname, '../dashboard/dist');
// A batch, a page, a check and one more at a time.
const leastConnections = 4;

// Few people sign in at a time, and a password takes longer to check than a row to find.
const signInPoolSize = 5;

/**
 * Serves the API and runs jobs until the process is stopped. With several processes, this one has the database, starts the
 * others and ends with them.
 */
export async function serve(config: Config): Promise<void> {
  const output = createLog(config.logLevel);
  const { log, notice } = output;
  await untilStopped(output, async (undo, fail) => {
    const watching = { log: (message: string) => log.warn(message), onLost: fail };
    const server = isOneOfSeveral
      ? await openServer(config, watching)
      : await openServerToServe(config, (message) => notice(message), watching);
    const opened = await openDatabase(config, server, { undo, log });
    const { access } = opened;
    if (isOneOfSeveral) {
      tellReady(await answerRequests(config, opened, { undo, log, works: false }));
      return;
    }
    await greetFirstStart(config, access, notice);
    if (!config.works)
      notice('TOLLKEEPER_WORK is off: this service handles requests, but runs no jobs and sends no webhooks.');
    const { processes: answering, works } = config;
    let address: string;
    if (answering > 1) {
      await requireFreePort(config);
      const processes = await startProcesses({ answering, works, log, fail });
      undo.push(() => processes.stop());
      address = processes.address;
    } else address = await answerRequests(config, opened, { undo, log, works });
    const firstLink = await createFirstLink(access.worker, Date.now());
    if (firstLink !== null)
      notice(
        `Become the owner, once and within a day: ${(config.publicUrl ?? address).replace(/\/+$/, '')}${firstLink}`,
      );
    notice(`Tollkeeper listens on ${address} (reference: ${address}/docs). Press Ctrl-C to stop.`);
  });
}

interface Answering {
  readonly undo: Undo;
  readonly log: Log;
  /** Whether this process also runs jobs. */
  readonly works: boolean;
}

/** Listens, and returns the address. */
async function answerRequests(config: Config, { server, access }: OpenedCell, { undo, log, works }: Answering) {
  const pools = new Map([['worker', access.workerPool]]);
  const watch = new Watch(log, access.worker, pools);
  // The processes of a machine share the connections that the database has for it.
  const connections = Math.max(leastConnections, Math.ceil(config.limits.connections / config.processes));
  const limits = { ...config.limits, connections };
  const patience = patienceOfRequests(limits.statementTimeoutMs);
  const cells = await startCellsOfRequests({ server, access }, { size: sizeOfCell(connections), patience, log });
  undo.push(() => cells.stop());
  const services = { ...(await startExternalServices(config, access, { undo, watch })), cells };
  const requests = await openRequestsPool(config, server, { size: connections, patience }, undo);
  pools.set('requests', requests.pool);
  const replica = await openReplica(config, access, { undo, log, size: connections });
  if (replica !== null) showReplica(watch.registry, replica);
  const people = createPool({ url: server.url, schema: server.schema, size: signInPoolSize, as: 'worker' });
  undo.push(() => people.end());
  pools.set('people', people);
  const app = await createApp({
    database: requests.database,
    cells,
    replica,
    people: createDatabase(people),
    log,
    metrics: { ofProcess: watch.registry, together: metricsOfAll },
    services,
    operatorToken: config.operatorToken,
    publicUrl: config.publicUrl,
    limits,
    pageShare: new PageShare(requests.pool, connections),
    connections: { ...connectionLimits, perAddress: limits.connectionsPerAddress },
    migrated: () => isMigrated(access),
    dashboard: await readDashboard(dashboardFolder),
  });
  if (works) {
    const worker = await startJobs({ server, access }, { config, services, watch, pools, log });
    undo.push(() => worker.stop());
  }
  undo.push(() => app.close());
  const listening = { host: config.host, port: config.port, ...sharedPort };
  return app.listen(listening).catch((error: unknown) => {
    throw listenProblem(error, config);
  });
}

/** The connections of requests to each cell besides home. */
function sizeOfCell(connections: number): number {
  return Math.max(leastConnections, Math.ceil(connections / 2));
}

/** The connections of requests: to the pooler of DATABASE_POOLER_URL, if there is one. */
async function openRequestsPool(
  { poolerUrl }: Config,
  server: SchemaOfServer,
  options: { readonly size: number; readonly patience: Patience },
  undo: Undo,
) {
  if (poolerUrl === null) return openServicePool(server, options, undo);
  const requests = openServicePool({ url: poolerUrl, schema: server.schema }, { ...options, isPooled: true }, undo);
  await refuseUnboundPooler(requests.pool, server.schema, options.patience);
  return requests;
}

/** The replica of DATABASE_READ_URL; null without one. A replica that cannot be used yet does not hold up the start. */
async function openReplica(
  { replica, schema, limits }: Config,
  { worker }: WorkerAccess,
  { undo, log, size }: { readonly undo: Undo; readonly log: Log; readonly size: number },
): Promise<ReadReplica | null> {
  if (replica === null) return null;
  const { url, mostLagMs } = replica;
  const { database } = openServicePool(
    { url, schema },
    { size, patience: patienceOfRequests(limits.statementTimeoutMs) },
    undo,
  );
  const watching = createPool({ url, schema, size: 1, as: 'worker' });
  undo.push(() => watching.end());
  const opened = new ReadReplica({
    database,
    primary: worker,
    watched: createDatabase(watching),
    mostLagMs,
    onChange: (isUsed, reason) => {
      if (isUsed) log.warn('The read replica answers lists, reports and exports.');
      else log.warn(`The read replica is not used: ${reason || `it is more than ${mostLagMs} ms behind`}.`);
    },
  });
  await opened.start();
  undo.push(() => opened.stop());
  return opened;
}

/** Runs jobs without serving the API. */
export async function work(config: Config): Promise<void> {
  if (!config.works) throw new Error('TOLLKEEPER_WORK is off, so this command has nothing to do.');
  const output = createLog(config.logLevel);
  const { log, notice } = output;
  await untilStopped(output, async (undo, fail) => {
    const watching = { log: (message: string) => log.warn(message), onLost: fail };
    const home = await openDatabase(config, await openServer(config, watching), { undo, log });
    const { worker: ofWorker, workerPool } = home.access;
    const pools = new Map([['worker', workerPool]]);
    const watch = new Watch(log, ofWorker, pools);
    metricsOfAll?.share([watch.registry]);
    const patience = patienceOfRequests(config.limits.statementTimeoutMs);
    const cells = await startCellsOfRequests(home, { size: leastConnections, patience, log });
    undo.push(() => cells.stop());
    const services = { ...(await startExternalServices(config, home.access, { undo, watch })), cells };
    const worker = await startJobs(home, { config, services, watch, pools, log });
    undo.push(() => worker.stop());
    if (isOneOfSeveral) tellReady();
    else notice('Tollkeeper is running jobs. Press Ctrl-C to stop.');
  });
}

/**
 * Runs `start`, waits for SIGINT, SIGTERM or SIGHUP, then undoes the start: requests first, the database last. A signal
 * during the start undoes what was started so far. `fail` also stops, with a message and exit code 1, so that a
 * supervisor restarts the process.
 */
async function untilStopped(
  { log, notice }: ServiceLog,
  start: (undo: Undo, fail: (error: Error) => void) => Promise<void>,
): Promise<void> {
  const undo: Undo = [];
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop());
  const fail = (error: Error) => {
    log.fatal(error.message);
    process.exitCode = 1;
    stop();
  };
  try {
    await start(undo, fail);
    await stopped;
    if (!isOneOfSeveral) notice('Stopping.');
  } finally {
    await runUndo(undo, log);
    leaveProcesses();
  }
}

async function openDatabase(
  config: Config,
  server: Server,
  { undo, log }: { readonly undo: Undo; readonly log: Log },
): Promise<OpenedCell> {
  undo.push(() => server.stop());
  const waiting = { waitMs: config.limits.startWaitMs, log: (message: string) => log.warn(message) };
  const access = await connectWorker(server, { ...waiting, auditContext: { actor: 'system', action: 'serve' } });
  undo.push(() => access.workerPool.end());
  // Refuses a start while a cell is older. One whose server does not respond holds up no start.
  await eachCell(access.worker, server, async () => undefined, {
    access: 'read',
    onUnreachable: (cell, reason) => log.warn(`Cell ${cell} is not responding: ${reason}`),
  });
  return { server, access };
}

/** The ways to others. Throws when the database was written with an encryption key that is not here. */
async function startExternalServices(
  config: Config,
  access: WorkerAccess,
  { undo, watch }: { readonly undo: Undo; readonly watch: Watch },
) {
  const { worker } = access;
  const encryption = createEncryption(config.encryptionKeys ?? [await keyOfDataDirectory(config.dataDirectory)]);
  await registerEncryptionKeys(worker, encryption, Date.now());
  // Without configuration and with the embedded database, this is a trial, whose webhook receiver is on the same
  // machine.
  const isTriedOut = config.webhookAllow === null && config.databaseUrl === null;
  const outbound = createOutbound({ allow: config.webhookAllow ?? [], allowInTestMode: isTriedOut ? loopback : [] });
  undo.push(() => outbound.close());
  return {
    encryption,
    stripe: await stripeProcessors(config),
    ...(await mailServices(config, undo)),
    webhooks: { encryption, outbound },
    checks: createChecks(worker),
    archives: await openArchives(access, config),
    onCharge: watch.onCharge,
    attemptLimits: config.limits.attempts,
    onLimitedAttempt: watch.onLimitedAttempt,
  } satisfies ExternalServices;
}

/** Stripe's client is a tenth of what a process loads, so it is loaded where there is an account. */
async function stripeProcessors({ stripe }: Config) {
  if (stripe.length === 0) return [];
  const { createStripeProcessor } = await import('./payments/processor-stripe.ts');
  return stripe.map(createStripeProcessor);
}

/** The mail program is loaded where there is a mail server. */
async function mailServices({ mail, publicUrl }: Config, undo: Undo): Promise<WithMail> {
  if (mail === null || publicUrl === null) return {};
  const { openSmtp } = await import('./jobs/smtp.ts');
  const smtp = openSmtp(mail);
  undo.push(async () => smtp.close());
  return { mail: { smtp, publicUrl } };
}

/** Refuses a port that somebody listens on. Processes that share a port would share it with those of another service, too. */
async function requireFreePort(config: Config): Promise<void> {
  const probe = createServer();
  try {
    await once(probe.listen({ host: config.host, port: config.port }), 'listening');
  } catch (error) {
    throw listenProblem(error, config);
  } finally {
    probe.close();
  }
}

/** The reason for which the service cannot listen, in a sentence that names the setting. */
export function listenProblem(error: unknown, { host, port }: Pick<Config, 'host' | 'port'>): unknown {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EADDRINUSE':
      return new Error(`PORT: ${port} is in use on ${host}. Stop the process that uses it, or choose another port.`);
    case 'EACCES':
      return new Error(`PORT: ${port} may not be used by this user. Choose a port from 1024 on.`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new Error(`HOST: ${host} is not an address of this machine.`);
    default:
      return error;
  }
}

/** Whether the database has every migration of this version. */
async function isMigrated({ workerPool }: WorkerAccess): Promise<boolean> {
  return (await listMissingMigrations(workerPool))?.length === 0;
}

async function greetFirstStart(config: Config, { worker }: WorkerAccess, notice: ServiceLog['notice']): Promise<void> {
  const founded = await createFirstOrganization(
    worker,
    { name: 'My organization', testKey: config.testKey, liveKey: config.liveKey },
    Date.now(),
  );
  if (founded === null) {
    await ensureApiKeys(worker, { testKey: config.testKey, liveKey: config.liveKey }, Date.now());
    return;
  }
  const address = config.publicUrl ?? `http://${config.host}:${config.port}`;
  const { organization, testKey, liveKey } = founded;
  notice(
    `First start: created the organization "${organization.name}" (${organization.id}). Generated keys are shown only this once.`,
    {
      ...(config.testKey === null ? { testKey: testKey.token } : {}),
      ...(config.liveKey === null ? { liveKey: liveKey.token } : {}),
    },
  );
  // A key that the operator chose is a secret of theirs, and logs are read by others.
  const key = config.testKey === null ? testKey.token : '$TOLLKEEPER_TEST_KEY';
  notice(`Try this next: curl ${address}/api/v1/pricing-models -H "Authorization: Bearer ${key}"`);
}

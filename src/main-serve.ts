import process from 'node:process';
import { createApp, crontab, tasks } from './app.ts';
import type { Config } from './config.ts';
import { ensureApiKeys, foundFirstOrganization } from './lifecycle/found-organization.ts';
import {
  connectOwner,
  type OwnerAccess,
  openServer,
  openServerToServe,
  ownerPoolSize,
  type Server,
} from './main-database.ts';
import { createStripeProcessor } from './payments/processor-stripe.ts';
import { loopback } from './platform/address-guard.ts';
import { createDatabase, createPool, type Database } from './platform/database.ts';
import { createEncryption } from './platform/encryption.ts';
import { claimEncryptionKeys, keyOfDataDirectory } from './platform/encryption-keys.ts';
import type { Outside } from './platform/jobs.ts';
import { knownMigrations } from './platform/migrate.ts';
import { createOutbound } from './platform/outbound.ts';
import { startWorker, type Worker } from './platform/worker.ts';
import type { WebhookOutside } from './webhooks/actions.ts';
import { startSender } from './webhooks/jobs-sender.ts';

// Requests at a time that may hold a transaction; more than this wait in line. PostgreSQL allows 100 connections by default.
const servicePoolSize = 40;

/** Steps to undo, last first. */
type Undo = (() => Promise<void>)[];

/** Serves the API and works the queue, until the process is told to stop. */
export async function serve(config: Config): Promise<void> {
  await untilStopped(async (undo) => {
    const { server, access } = await openDatabase(
      await openServerToServe(config, (message) => console.log(message)),
      undo,
    );
    const outside = await reachOutside(config, access, undo);
    await greetFirstStart(config, access);
    const database = openServicePool(server, servicePoolSize, undo);
    const app = await createApp({
      database,
      logLevel: config.logLevel,
      outside,
      publicUrl: config.publicUrl,
      migrated: () => isMigrated(access),
    });
    const worker = await startJobs(access, database, outside, (level, message) => app.log[level](message));
    undo.push(() => worker.stop());
    undo.push(() => app.close());
    const address = await app.listen({ host: config.host, port: config.port });
    console.log(`Tollkeeper listens on ${address} (reference: ${address}/docs). Ctrl-C stops it.`);
  });
}

/** Works the queue without serving. */
export async function work(config: Config): Promise<void> {
  await untilStopped(async (undo) => {
    const { server, access } = await openDatabase(await openServer(config), undo);
    const database = openServicePool(server, ownerPoolSize, undo);
    const outside = await reachOutside(config, access, undo);
    const worker = await startJobs(access, database, outside, (level, message) => {
      if (level === 'error' || level === 'warn') console.error(message);
    });
    undo.push(() => worker.stop());
    console.log('Tollkeeper works the queue. Ctrl-C stops it.');
  });
}

/**
 * Runs `start` and stays until SIGINT, SIGTERM or SIGHUP has come, then undoes what was started: requests first, the
 * database last. A signal that comes during the start stops what the start has made.
 */
async function untilStopped(start: (undo: Undo) => Promise<void>): Promise<void> {
  const undo: Undo = [];
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop());
  try {
    await start(undo);
    await stopped;
    console.log('Stopping.');
  } finally {
    await runUndo(undo);
  }
}

async function openDatabase(server: Server, undo: Undo): Promise<{ server: Server; access: OwnerAccess }> {
  undo.push(() => server.stop());
  const access = await connectOwner(server.url);
  undo.push(() => access.ownerPool.end());
  return { server, access };
}

function openServicePool({ url }: Server, size: number, undo: Undo): Database {
  const pool = createPool({ url, size, as: 'service' });
  undo.push(() => pool.end());
  return createDatabase(pool);
}

/** The ways to others. Throws when the database was written with an encryption key that is not here. */
async function reachOutside(config: Config, { owner }: OwnerAccess, undo: Undo) {
  const encryption = createEncryption(config.encryptionKeys ?? [await keyOfDataDirectory(config.dataDirectory)]);
  await claimEncryptionKeys(owner, encryption, Date.now());
  // Who has said nothing and tries it out on this machine has the receiver on it too.
  const isTriedOut = config.webhookAllow === null && config.databaseUrl === null;
  const outbound = createOutbound({ allow: config.webhookAllow ?? [], allowInTestMode: isTriedOut ? loopback : [] });
  undo.push(() => outbound.close());
  return {
    encryption,
    stripe: config.stripe.map(createStripeProcessor),
    webhooks: { encryption, outbound },
  } satisfies Outside;
}

/** Works the queue, and sends webhooks. */
async function startJobs(
  access: OwnerAccess,
  database: Database,
  outside: Outside & { readonly webhooks: WebhookOutside },
  log: (level: 'error' | 'warn' | 'info' | 'debug', message: string) => void,
): Promise<Worker> {
  const { ownerPool } = access;
  const worker = await startWorker({ ownerPool, context: { database, tasks, outside }, crontab, log });
  const onError = (error: unknown) => log('error', `webhooks: ${(error as Error).stack ?? error}`);
  const sender = startSender({ pool: ownerPool, outside: outside.webhooks, onError });
  return {
    async stop() {
      await Promise.all([worker.stop(), sender.stop()]);
    },
  };
}

/** True when the database has every migration that this version knows. */
async function isMigrated({ ownerPool }: OwnerAccess): Promise<boolean> {
  const known = await knownMigrations();
  const { rows } = await ownerPool.query<{ name: string }>('select name from kysely_migration');
  const ran = new Set(rows.map((row) => row.name));
  return known.every((name) => ran.has(name));
}

async function greetFirstStart(config: Config, { owner }: OwnerAccess): Promise<void> {
  const founded = await foundFirstOrganization(
    owner,
    { name: 'My organization', testKey: config.testKey, liveKey: config.liveKey },
    Date.now(),
  );
  if (founded === null) {
    await ensureApiKeys(owner, { testKey: config.testKey, liveKey: config.liveKey }, Date.now());
    return;
  }
  const address = config.publicUrl ?? `http://${config.host}:${config.port}`;
  console.log(`First start: made the organization "${founded.organization.name}" (${founded.organization.id}). Its keys are shown this once:

  test key  ${founded.testKey.token}
  live key  ${founded.liveKey.token}

Next, for example:

  curl ${address}/api/v1/pricing-models -H "Authorization: Bearer ${founded.testKey.token}"
`);
}

async function runUndo(undo: Undo): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    await step().catch((error: unknown) => console.error(error));
  }
}

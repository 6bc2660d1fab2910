import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Config } from './config.ts';
import { createDatabase, createPool, type Database } from './database/database.ts';
import { mayComeBack } from './database/database-problem.ts';
import { listMissingMigrations, migrate } from './database/migrate.ts';
import { findCluster } from './embedded-postgres/cluster.ts';
import { acquireServiceLock } from './embedded-postgres/process-lock.ts';
import { findEmbeddedPostgres, keepPostgresRunning, startEmbeddedPostgres } from './embedded-postgres/start.ts';

/** The database server of a command, and a function that releases it. */
export interface Server {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** Callbacks of a long-running command about its database. */
interface Watching {
  readonly log: (message: string) => void;
  /** The database is running, but this process can no longer use it. */
  readonly onLost: (error: Error) => void;
}

/**
 * The server of a service: that of DATABASE_URL, or the embedded one, which stops with the service. With `watching`,
 * the embedded server is restarted whenever it exits.
 */
export async function openServerToServe(
  config: Config,
  log: (message: string) => void,
  watching: Watching | null = null,
): Promise<Server> {
  if (config.databaseUrl !== null) return { url: config.databaseUrl, stop: async () => undefined };
  const lock = await acquireServiceLock(config.dataDirectory);
  try {
    const { dataDirectory, walArchive } = config;
    const start = (say: typeof log) => startEmbeddedPostgres({ dataDirectory, walArchive, log: say });
    const embedded = await start(log);
    const kept =
      watching &&
      keepPostgresRunning({
        dataDirectory,
        url: embedded.url,
        start: () => start(() => undefined),
        log: watching.log,
        onMoved: watching.onLost,
      });
    return {
      url: embedded.url,
      async stop() {
        await kept?.stop();
        await embedded.stop();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

function noDatabase(where: string): string {
  return `There is no database of Tollkeeper ${where} yet. Start the service, or run: tollkeeper organizations create`;
}

/**
 * The server of a command: that of the running service, or one started for the command. Without `creates`, refuses a
 * data directory that has no database yet.
 */
export async function openServer(
  config: Config,
  watching: Watching | null = null,
  { creates = true }: { readonly creates?: boolean } = {},
): Promise<Server> {
  if (config.databaseUrl === null) {
    const running = await findEmbeddedPostgres(config.dataDirectory);
    if (running !== null) return { url: running.url, stop: async () => undefined };
    if (!creates && (await findCluster(resolve(config.dataDirectory))) === null)
      throw new Error(noDatabase(`in ${config.dataDirectory}`));
  }
  return openServerToServe(config, () => undefined, watching);
}

/** Owner connections: the command line and the queue need few. */
const ownerPoolSize = 12;

/** The owner's access to a migrated database. */
export interface OwnerAccess {
  readonly owner: Database;
  readonly ownerPool: pg.Pool;
  readonly migrations: readonly string[];
}

// The retry interval for an unavailable server, and the interval of log lines about it.
const [askAgainMs, sayAgainMs] = [500, 10_000];

/** Waits until the server accepts connections, which it does not while it starts. Throws the reason after `waitMs`. */
async function untilConnected(ownerPool: pg.Pool, waitMs: number, log: (message: string) => void): Promise<void> {
  const begunAt = performance.now();
  for (let saidAt = Number.NEGATIVE_INFINITY; ; await sleep(askAgainMs)) {
    try {
      (await ownerPool.connect()).release();
      return;
    } catch (error) {
      const now = performance.now();
      // Waiting does not fix a wrong password or name.
      if (!mayComeBack(error) || now - begunAt > waitMs) throw error;
      if (now - saidAt < sayAgainMs) continue;
      saidAt = now;
      const seconds = Math.ceil((waitMs - (now - begunAt)) / 1000);
      log(`PostgreSQL is not responding yet (${reasonOf(error)}). Waiting for up to ${seconds} s.`);
    }
  }
}

/**
 * The reason of a failed connection. For a name with several addresses the message may be empty, but the code is set.
 */
function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}

interface ConnectOptions {
  /** The maximum wait for an unavailable server. */
  readonly waitMs?: number;
  readonly log?: (message: string) => void;
  /**
   * `create`: migrates any database, also an empty one. `change`: migrates one that Tollkeeper has created. `read`:
   * changes nothing.
   */
  readonly access?: 'create' | 'change' | 'read';
  /** The actor and action for the audit log. */
  readonly auditContext?: { readonly actor: 'operator' | 'system'; readonly action: string };
}

/** Connects as the owner, and migrates the database if the command may. */
export async function connectOwner(
  url: string,
  { waitMs = 0, log = () => undefined, access = 'create', auditContext }: ConnectOptions = {},
): Promise<OwnerAccess> {
  const ownerPool = createPool({ url, size: ownerPoolSize, as: 'owner', ...(auditContext && { auditContext }) });
  try {
    await untilConnected(ownerPool, waitMs, log);
    if (access !== 'create') await refuseForeign(ownerPool, access);
    const migrations = access === 'read' ? [] : await migrate(ownerPool);
    return { owner: createDatabase(ownerPool), ownerPool, migrations };
  } catch (error) {
    await ownerPool.end();
    throw error;
  }
}

/** Refuses a database that Tollkeeper has not created; for a command that reads, also one that lacks migrations. */
async function refuseForeign(ownerPool: pg.Pool, access: 'change' | 'read'): Promise<void> {
  const missing = await listMissingMigrations(ownerPool);
  if (missing === null) throw new Error(noDatabase('at this address'));
  if (access === 'read' && missing.length > 0)
    throw new Error('The database is older than this version. Run: tollkeeper migrate');
}

/** Runs a command on the database, by default a migrated one, and releases everything afterwards. */
export async function withOwner<Answer>(
  config: Config,
  act: (access: OwnerAccess) => Promise<Answer>,
  options: ConnectOptions = {},
): Promise<Answer> {
  const server = await openServer(config, null, { creates: (options.access ?? 'create') === 'create' });
  try {
    const access = await connectOwner(server.url, options);
    try {
      return await act(access);
    } finally {
      await access.ownerPool.end();
    }
  } finally {
    await server.stop();
  }
}

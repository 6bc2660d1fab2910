import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Config } from './config.ts';
import { createDatabase, createPool, type Database } from './database/database.ts';
import { mayComeBack } from './database/database-problem.ts';
import { migrate } from './database/migrate.ts';
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

/** The server of a command: that of the running service, or one started for the command. */
export async function openServer(config: Config, watching: Watching | null = null): Promise<Server> {
  if (config.databaseUrl === null) {
    const running = await findEmbeddedPostgres(config.dataDirectory);
    if (running !== null) return { url: running.url, stop: async () => undefined };
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
  /** The actor and action for the audit log. */
  readonly auditContext?: { readonly actor: 'operator' | 'system'; readonly action: string };
}

/** Connects as the owner and migrates the database. */
export async function connectOwner(
  url: string,
  { waitMs = 0, log = () => undefined, auditContext }: ConnectOptions = {},
): Promise<OwnerAccess> {
  const ownerPool = createPool({ url, size: ownerPoolSize, as: 'owner', ...(auditContext && { auditContext }) });
  try {
    await untilConnected(ownerPool, waitMs, log);
    const migrations = await migrate(ownerPool);
    return { owner: createDatabase(ownerPool), ownerPool, migrations };
  } catch (error) {
    await ownerPool.end();
    throw error;
  }
}

/** Runs a command on the migrated database and releases everything afterwards. */
export async function withOwner<Answer>(
  config: Config,
  act: (access: OwnerAccess) => Promise<Answer>,
  options: ConnectOptions = {},
): Promise<Answer> {
  const server = await openServer(config);
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

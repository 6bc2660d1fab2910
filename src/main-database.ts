import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Config } from './config.ts';
import { createDatabase, createPool, type Database } from './database/database.ts';
import { mayComeBack } from './database/database-problem.ts';
import { migrate } from './database/migrate.ts';
import { keepPostgresRunning } from './embedded-postgres/keep-running.ts';
import { acquireServiceLock } from './embedded-postgres/process-lock.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres/start.ts';

/** The database server that a command works with, and how to leave it. */
export interface Server {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** What somebody who stays is told of the database. */
export interface Watching {
  readonly log: (message: string) => void;
  /** The database is there, but not for this process any more. */
  readonly onLost: (error: Error) => void;
}

/**
 * The server for a service: that of DATABASE_URL, or our own, which ends with the service. Our own is started again
 * when it ends by itself, where somebody is `watching`.
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

/** The server for a command: beside a running service its own, else one that is started for the command. */
export async function openServer(config: Config, watching: Watching | null = null): Promise<Server> {
  if (config.databaseUrl === null) {
    const running = await findEmbeddedPostgres(config.dataDirectory);
    if (running !== null) return { url: running.url, stop: async () => undefined };
  }
  return openServerToServe(config, () => undefined, watching);
}

/** Connections for the owner: the command line and the queue need few. */
export const ownerPoolSize = 12;

/** The owner's side of a migrated database. */
export interface OwnerAccess {
  readonly owner: Database;
  readonly ownerPool: pg.Pool;
  readonly migrations: readonly string[];
}

// How often a server that is not there yet is asked again, and how often it is said that we wait for it.
const [askAgainMs, sayAgainMs] = [500, 10_000];

/** Waits until the server takes connections, as it does not while it starts. Throws what is in the way after `waitMs`. */
async function untilConnected(ownerPool: pg.Pool, waitMs: number, log: (message: string) => void): Promise<void> {
  const begunAt = performance.now();
  for (let saidAt = Number.NEGATIVE_INFINITY; ; await sleep(askAgainMs)) {
    try {
      (await ownerPool.connect()).release();
      return;
    } catch (error) {
      const now = performance.now();
      // A wrong password or name does not become right by waiting.
      if (!mayComeBack(error) || now - begunAt > waitMs) throw error;
      if (now - saidAt < sayAgainMs) continue;
      saidAt = now;
      const seconds = Math.ceil((waitMs - (now - begunAt)) / 1000);
      log(`PostgreSQL is not responding yet (${reasonOf(error)}). Waiting for up to ${seconds} s.`);
    }
  }
}

/** What is in the way. Where a name has several addresses, only the first of several errors says so. */
function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}

export interface ConnectOptions {
  /** How long to wait for a server that is not there yet. */
  readonly waitMs?: number;
  readonly log?: (message: string) => void;
  /** Who it is for, and what the audit log calls what they do. */
  readonly doing?: { readonly actor: 'operator' | 'system'; readonly action: string };
}

/** Connects as the owner and brings the database up to date. */
export async function connectOwner(
  url: string,
  { waitMs = 0, log = () => undefined, doing }: ConnectOptions = {},
): Promise<OwnerAccess> {
  const ownerPool = createPool({ url, size: ownerPoolSize, as: 'owner', ...(doing && { doing }) });
  try {
    await untilConnected(ownerPool, waitMs, log);
    const migrations = await migrate(ownerPool);
    return { owner: createDatabase(ownerPool), ownerPool, migrations };
  } catch (error) {
    await ownerPool.end();
    throw error;
  }
}

/** Runs a command on the migrated database and leaves everything as it was found. */
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

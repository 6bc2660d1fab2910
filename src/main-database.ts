import type pg from 'pg';
import type { Config } from './config.ts';
import { createDatabase, createPool, type Database } from './platform/database.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from './platform/embedded-postgres.ts';
import { migrate } from './platform/migrate.ts';
import { acquireServiceLock } from './platform/process-lock.ts';

/** The database server that a command works with, and how to leave it. */
export interface Server {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** The server for a service: that of DATABASE_URL, or our own, which ends with the service. */
export async function openServerToServe(config: Config, log: (message: string) => void): Promise<Server> {
  if (config.databaseUrl !== null) return { url: config.databaseUrl, stop: async () => undefined };
  const lock = await acquireServiceLock(config.dataDirectory);
  try {
    const embedded = await startEmbeddedPostgres({ dataDirectory: config.dataDirectory, log });
    return {
      url: embedded.url,
      async stop() {
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
export async function openServer(config: Config): Promise<Server> {
  if (config.databaseUrl === null) {
    const running = await findEmbeddedPostgres(config.dataDirectory);
    if (running !== null) return { url: running.url, stop: async () => undefined };
  }
  return openServerToServe(config, () => undefined);
}

/** Connections for the owner: the command line and the queue need few. */
export const ownerPoolSize = 12;

/** The owner's side of a migrated database. */
export interface OwnerAccess {
  readonly owner: Database;
  readonly ownerPool: pg.Pool;
  readonly migrations: readonly string[];
}

/** Connects as the owner and brings the database up to date. */
export async function connectOwner(url: string): Promise<OwnerAccess> {
  const ownerPool = createPool({ url, size: ownerPoolSize, as: 'owner' });
  try {
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
): Promise<Answer> {
  const server = await openServer(config);
  try {
    const access = await connectOwner(server.url);
    try {
      return await act(access);
    } finally {
      await access.ownerPool.end();
    }
  } finally {
    await server.stop();
  }
}

import { randomBytes } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import {
  type Access,
  accessPath,
  type EmbeddedUrls,
  logins,
  passwordOf,
  readAccess,
  saveAccess,
  urlOf,
  urlsOf,
} from './access.ts';
import { type Account, closedOnTheWay, postgresAccount } from './account.ts';
import { archivesAs, archiveTo } from './archive.ts';
import { packagedBinaries, reachableBinaries } from './binaries.ts';
import { createCluster, databaseName, findCluster, readServer } from './cluster.ts';
import { hasCode, makeDataDirectory } from './data-directory.ts';
import { alreadyServing, serviceLockHolder } from './process-lock.ts';
import {
  freePort,
  type Keeper,
  launch,
  logPathOf,
  ourSettings,
  quoteLog,
  sizeOf,
  startTimeoutMs,
  stop,
} from './server.ts';

/**
 * An embedded PostgreSQL. Its processes outlive this one unless they are stopped. `startedHere` is false if the server
 * was already running.
 */
export type EmbeddedPostgres = EmbeddedUrls & { startedHere: boolean; stop(): Promise<void> };

/**
 * Options of the embedded server:
 * - `dataDirectory` holds the data (`postgres/`), the password and port (`postgres.json`) and the log (`postgres.log`);
 * - `settings` override the default settings;
 * - `binaries` is a directory with the programs of another PostgreSQL;
 * - `sharedDirectory` stores data and programs when running as root, if PostgreSQL's account cannot reach the usual
 *   place;
 * - `walArchive` is the directory of the WAL archive; without it there is none.
 */
export type EmbeddedPostgresOptions = {
  dataDirectory: string;
  log: (message: string) => void;
  settings?: Record<string, string>;
  binaries?: string;
  sharedDirectory?: string;
  walArchive?: string | null;
};

// Workers of a killed server exit within moments, and losing a port to another program is rare.
const retryTimeoutMs = 30_000;
const pollMs = 50;
// The log of a healthy server grows by a few kilobytes a day.
const maximumLogBytes = 10 * 1024 * 1024;
// PostgreSQL's error code.
const wrongPassword = '28P01';

/**
 * Starts PostgreSQL on a data directory, or adopts the server that a killed service left running. The caller should
 * hold the service lock of the directory. Throws when another process holds it, and when PostgreSQL cannot start.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDirectory = await makeDataDirectory(options.dataDirectory);
  const holder = await serviceLockHolder(dataDirectory);
  if (holder !== null && holder !== process.pid) throw alreadyServing(holder, dataDirectory);
  refuseUnquotable(dataDirectory);
  await rotateLog(logPathOf(dataDirectory));
  const access = await loadAccess(dataDirectory);
  const keeper = await prepare(dataDirectory, options, access.password);
  const archiving = options.walArchive ? await archiveTo(options.walArchive, keeper.binaries.account) : {};
  const settings = { ...archiving, ...options.settings };
  const { port, startedHere } = await ensureRunning(keeper, access, settings);
  await saveAccess(dataDirectory, { ...access, port });
  let stopped: Promise<void> | undefined;
  const stopOnce = () => {
    stopped ??= stopServer(keeper);
    return stopped;
  };
  return { ...urlsOf(access.password, port), startedHere, stop: stopOnce };
}

/** The running server of a data directory, if it accepts connections. Read-only. */
export async function findEmbeddedPostgres(dataDirectory: string): Promise<EmbeddedUrls | null> {
  const directory = resolve(dataDirectory);
  const access = await readAccess(directory);
  const cluster = await findCluster(directory);
  if (access === null || cluster === null) return null;
  const server = await readServer(cluster);
  return server?.status === 'ready' ? urlsOf(access.password, server.port) : null;
}

/** Programs, account and cluster; the first start creates the cluster. */
async function prepare(dataDirectory: string, options: EmbeddedPostgresOptions, password: string): Promise<Keeper> {
  const sharedDirectory = options.sharedDirectory ?? '/var/lib/tollkeeper';
  const given = options.binaries ?? (await packagedBinaries());
  const logPath = logPathOf(dataDirectory);
  const existing = await findCluster(dataDirectory);
  const account = await postgresAccount(existing, options.log);
  const binaries = { directory: await reachableBinaries(given, account, sharedDirectory), account };
  if (existing !== null) {
    await refuseClosed(existing, account);
    return { dataDirectory, cluster: existing, binaries, logPath };
  }
  options.log(`Creating a PostgreSQL database in ${join(dataDirectory, 'postgres')}`);
  const creation = { password, sync: options.settings?.fsync !== 'off', logPath };
  const logged = await sizeOf(logPath);
  try {
    const cluster = await createCluster(dataDirectory, binaries, sharedDirectory, creation);
    if (cluster.startsWith(sharedDirectory))
      options.log(`Its files are in ${cluster}, where its system account can reach them`);
    return { dataDirectory, cluster, binaries, logPath };
  } catch (error) {
    const reason = await quoteLog(logPath, logged);
    throw new Error(`PostgreSQL's data could not be created. ${reason}`, { cause: error });
  }
}

/** Waits for a starting or stopping server, starts one if there is none, and returns it once the database exists. */
async function ensureRunning(
  keeper: Keeper,
  access: Access,
  settings: Record<string, string>,
): Promise<{ port: number; startedHere: boolean }> {
  const begunAt = performance.now();
  let startedHere = false;
  while (performance.now() - begunAt < startTimeoutMs) {
    const server = await readServer(keeper.cluster);
    let failure: Error | null = null;
    if (server?.status === 'ready') {
      failure = await ensureDatabase(keeper.dataDirectory, access.password, server.port);
      if (failure === null && (startedHere || (await archivesAs(settings, urlOf(access.password, server.port)))))
        return { port: server.port, startedHere };
      if (failure === null) await stop(keeper);
    } else if (server === null) {
      startedHere = true;
      failure = await launch(keeper, { ...ourSettings, port: String(await freePort(access.port)), ...settings });
    }
    if (failure !== null && performance.now() - begunAt > retryTimeoutMs) throw failure;
    await sleep(pollMs);
  }
  throw new Error(
    `PostgreSQL was not ready after ${startTimeoutMs / 1000} s; see ${keeper.logPath}. ` +
      'Recovery after a crash may take longer: try again to continue it.',
  );
}

/** Leaves the server running if another service depends on it by now. */
async function stopServer(keeper: Keeper): Promise<void> {
  const holder = await serviceLockHolder(keeper.dataDirectory);
  if (holder !== null && holder !== process.pid) return;
  await stop(keeper);
}

/**
 * Returns null, or a failure that a retry may avoid: a server that is being killed looks ready until it is gone. Throws
 * when the server rejects the password.
 */
async function ensureDatabase(dataDirectory: string, password: string, port: number): Promise<Error | null> {
  const client = new Client({ connectionString: urlOf(password, port, 'postgres') });
  // A broken connection also fails the query; without a listener the event would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await ensureLogins(client, password);
    const found = await client.query('select from pg_database where datname = $1', [databaseName]);
    if (found.rowCount === 0) await client.query(`create database ${databaseName} owner ${logins.owner}`);
    return null;
  } catch (cause) {
    const place = `PostgreSQL is running on port ${port}`;
    if (!hasCode(cause, wrongPassword)) return new Error(`${place} but does not accept connections.`, { cause });
    throw new Error(
      `${place} but rejects the password: does ${accessPath(dataDirectory)} belong to the data next to it?`,
      {
        cause,
      },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The owner may create the roles that the service works as; the migrations do. */
async function ensureLogins(client: Client, superuserPassword: string): Promise<void> {
  for (const [role, rights] of [
    [logins.owner, 'createrole'],
    [logins.service, ''],
  ] as const) {
    const found = await client.query('select from pg_roles where rolname = $1', [role]);
    const login = `role ${role} login ${rights} password '${passwordOf(role, superuserPassword)}'`;
    if (found.rowCount === 0) await client.query(`create ${login}`);
  }
}

/** Stored before the cluster is created, so that there is never data without a known password. */
async function loadAccess(dataDirectory: string): Promise<Access> {
  const known = await readAccess(dataDirectory);
  if (known !== null) return known;
  if ((await findCluster(dataDirectory)) !== null) {
    throw new Error(
      `${accessPath(dataDirectory)} is missing: it holds the password of the data in ${join(dataDirectory, 'postgres')}. Restore it from a backup.`,
    );
  }
  const access = { password: randomBytes(24).toString('base64url'), port: 0 };
  await saveAccess(dataDirectory, access);
  return access;
}

/** A running server keeps writing to the renamed file. */
async function rotateLog(logPath: string): Promise<void> {
  if ((await sizeOf(logPath)) > maximumLogBytes) await rename(logPath, `${logPath}.1`);
}

async function refuseClosed(cluster: string, account: Account | null): Promise<void> {
  const closed = account === null ? null : await closedOnTheWay(cluster, account);
  if (closed === null) return;
  throw new Error(
    `PostgreSQL runs as user ${account?.uid}, who owns the data in ${cluster} but cannot traverse ${closed}. ` +
      `Open it with: chmod o+x ${closed}`,
  );
}

function refuseUnquotable(path: string): void {
  // pg_ctl starts the server through a shell and puts the path in double quotes.
  if (process.platform === 'win32' || !/["$`\\]/.test(path)) return;
  throw new Error(
    `PostgreSQL's data cannot be stored in ${path}: the path must not contain any of " $ \` \\. Set TOLLKEEPER_DATA_DIR.`,
  );
}

/** A supervisor of the embedded PostgreSQL. */
interface KeptPostgres {
  /** Resolves when no further restart is attempted. */
  stop(): Promise<void>;
}

interface KeptPostgresOptions {
  readonly dataDirectory: string;
  /** The URL that all connections use. */
  readonly url: string;
  readonly start: () => Promise<EmbeddedPostgres>;
  readonly log: (message: string) => void;
  /** Called when the server runs again at another URL. */
  readonly onMoved: (error: Error) => void;
}

const lookEveryMs = 500;
// A server that cannot start for now, for example for lack of disk space, is retried with backoff.
const [firstPauseMs, longestPauseMs] = [1_000, 30_000];

/** Restarts the embedded PostgreSQL whenever it exits, until stopped. */
export function keepPostgresRunning({ dataDirectory, url, start, log, onMoved }: KeptPostgresOptions): KeptPostgres {
  const stopped = new AbortController();
  const { signal } = stopped;
  const pause = (forMs: number) => sleep(forMs, undefined, { signal }).catch(() => undefined);
  const isRunning = () => findEmbeddedPostgres(dataDirectory).then((found) => found !== null);

  const startAgain = async () => {
    log('PostgreSQL exited unexpectedly. Restarting it.');
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        const started = await start();
        log('PostgreSQL is running again.');
        if (started.url !== url)
          onMoved(
            new Error(
              'PostgreSQL is running again, but on another port because its old one was taken. Restart the service.',
            ),
          );
        return;
      } catch (error) {
        log(`${(error as Error).message}\nRetrying in ${pauseMs / 1000} s.`);
        await pause(pauseMs);
      }
    }
  };
  const keep = async () => {
    for (; !signal.aborted; await pause(lookEveryMs)) if (!(await isRunning())) await startAgain();
  };
  const keeping = keep();
  return {
    async stop() {
      stopped.abort();
      await keeping;
    },
  };
}

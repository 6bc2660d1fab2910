import { randomBytes, randomUUID } from 'node:crypto';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { z } from 'zod';
import { hasCode, isMissing, makeDataDirectory } from './data-directory.ts';
import { type Account, closedOnTheWay, postgresAccount } from './postgres-account.ts';
import { type Binaries, packagedBinaries, reachableBinaries, runBinary } from './postgres-binaries.ts';
import {
  createCluster,
  disarmStalePid,
  findCluster,
  ownerName,
  readServer,
  writeSettings,
} from './postgres-cluster.ts';
import { alreadyServing, serviceLockHolder } from './process-lock.ts';

/**
 * A real PostgreSQL of our own, in processes of its own that outlive ours unless they are stopped.
 * `url` connects to the database `tollkeeper` as its owner. `startedHere` is false when the server was running already.
 */
export type EmbeddedPostgres = { url: string; startedHere: boolean; stop(): Promise<void> };

/**
 * `dataDirectory` holds the data (`postgres/`), the password and port (`postgres.json`) and the server's log (`postgres.log`).
 * `settings` are PostgreSQL settings that win over ours. `binaries` is a directory with the programs of another PostgreSQL.
 * `sharedDirectory` is where data and programs go when we are root and PostgreSQL's account cannot get to the usual place.
 */
export type EmbeddedPostgresOptions = {
  dataDirectory: string;
  log: (message: string) => void;
  settings?: Record<string, string>;
  binaries?: string;
  sharedDirectory?: string;
};

type Keeper = { dataDirectory: string; cluster: string; binaries: Binaries; logPath: string };

const Access = z.object({ password: z.string(), port: z.number().int() });
type Access = z.infer<typeof Access>;

// What matters for durability (fsync, synchronous_commit, full_page_writes) stays as PostgreSQL has it: on.
const megabyte = 2 ** 20;
// A quarter of the memory, as PostgreSQL's manual advises; what is not used is not taken.
const sharedBuffers = Math.round(Math.min(Math.max(totalmem() / 4 / megabyte, 128), 4096));

const ourSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: `${sharedBuffers}MB`,
  // After a checkpoint the first change of each page writes the whole page to the journal, which for the index of
  // transactions is more than the events themselves: checkpoints that are far apart make a busy service write half as much.
  checkpoint_timeout: '15min',
  max_wal_size: '4GB',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

// Reading the journal again after a crash takes as long as writing it did; PostgreSQL writes at most about 4 GB between checkpoints.
const startTimeoutMs = 300_000;
// Workers of a killed server notice within moments; a port is lost to another program at most a few times.
const retryTimeoutMs = 30_000;
const pollMs = 50;
// A fast stop writes a checkpoint. When that takes longer something hangs, and the journal makes an immediate stop safe.
const fastStopSeconds = 60;
const immediateStopSeconds = 10;
// The log of a healthy server grows by a few kilobytes a day.
const maximumLogBytes = 10 * 1024 * 1024;
const quotedLogLines = 10;
// PostgreSQL's code for it.
const wrongPassword = '28P01';

/**
 * Starts PostgreSQL on that data directory, or takes over the server that a killed service left running.
 * The caller should hold the service lock of the directory; throws when another process does, and when PostgreSQL cannot start.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDirectory = await makeDataDirectory(options.dataDirectory);
  const holder = await serviceLockHolder(dataDirectory);
  if (holder !== null && holder !== process.pid) throw alreadyServing(holder, dataDirectory);
  refuseUnquotable(dataDirectory);
  await rotateLog(logPathOf(dataDirectory));
  const access = await loadAccess(dataDirectory);
  const keeper = await prepare(dataDirectory, options, access.password);
  const { port, startedHere } = await ensureRunning(keeper, access, options.settings ?? {});
  await saveAccess(dataDirectory, { ...access, port });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= stopServer(keeper);
    return stopped;
  };
  return { url: urlOf(access.password, port, ownerName), startedHere, stop };
}

/** The server that runs on that data directory, if there is one that takes connections. Starts and changes nothing. */
export async function findEmbeddedPostgres(dataDirectory: string): Promise<{ url: string } | null> {
  const directory = resolve(dataDirectory);
  const access = await readAccess(directory);
  const cluster = await findCluster(directory);
  if (access === null || cluster === null) return null;
  const server = await readServer(cluster);
  return server?.status === 'ready' ? { url: urlOf(access.password, server.port, ownerName) } : null;
}

/** Programs, account and cluster; the cluster is created on the first start. */
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
      options.log(`Its files are in ${cluster}, where its account can reach them`);
    return { dataDirectory, cluster, binaries, logPath };
  } catch (error) {
    const reason = await quoteLog(logPath, logged);
    throw new Error(`PostgreSQL's data could not be created. ${reason}`, { cause: error });
  }
}

/** Waits for a server that is coming or going, starts one when there is none, and answers it when the database is there. */
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
      if (failure === null) return { port: server.port, startedHere };
    } else if (server === null) {
      startedHere = true;
      failure = await launch(keeper, { ...ourSettings, port: String(await freePort(access.port)), ...settings });
    }
    if (failure !== null && performance.now() - begunAt > retryTimeoutMs) throw failure;
    await sleep(pollMs);
  }
  throw new Error(
    `PostgreSQL was not ready after ${startTimeoutMs / 1000} s; see ${keeper.logPath}. ` +
      'A start after a crash goes on where it was: try again.',
  );
}

/** Answers null, or a failure that another attempt may not meet. Throws when the server cannot start. */
async function launch(keeper: Keeper, settings: Record<string, string>): Promise<Error | null> {
  await disarmStalePid(keeper.cluster);
  await writeSettings(keeper.cluster, settings);
  const logged = await sizeOf(keeper.logPath);
  // pg_ctl gives the server a session of its own, so that Ctrl-C in our terminal does not reach it before we are done.
  const parameters = ['start', '--silent', '--wait', `--timeout=${startTimeoutMs / 1000}`];
  const code = await runBinary(
    keeper.binaries,
    'pg_ctl',
    [...parameters, `--pgdata=${keeper.cluster}`],
    keeper.logPath,
  );
  if (code === 0 || (await readServer(keeper.cluster)) !== null) return null;
  const reason = await quoteLog(keeper.logPath, logged);
  const failure = new Error(`PostgreSQL could not be started. ${reason}`);
  // Workers of a killed server that are still leaving, and a port that was taken since we looked.
  if (/shared memory block .* still in use|Address already in use/.test(reason)) return failure;
  throw failure;
}

/** Leaves the server alone when a service that is not ours has come to depend on it. */
async function stopServer(keeper: Keeper): Promise<void> {
  const holder = await serviceLockHolder(keeper.dataDirectory);
  if (holder !== null && holder !== process.pid) return;
  await stopWith(keeper, 'fast', fastStopSeconds);
  await stopWith(keeper, 'immediate', immediateStopSeconds);
  if ((await readServer(keeper.cluster)) === null) return;
  throw new Error(`PostgreSQL does not stop; see ${keeper.logPath}.`);
}

async function stopWith(keeper: Keeper, mode: 'fast' | 'immediate', timeoutSeconds: number): Promise<void> {
  // pg_ctl would signal whatever process has the number that it reads.
  if ((await readServer(keeper.cluster)) === null) return;
  const parameters = ['stop', '--silent', `--mode=${mode}`, '--wait', `--timeout=${timeoutSeconds}`];
  await runBinary(keeper.binaries, 'pg_ctl', [...parameters, `--pgdata=${keeper.cluster}`], keeper.logPath);
}

/**
 * Answers null, or a failure that another attempt may not meet: a server that is being killed looks ready until it is
 * gone. Throws when the server refuses our password.
 */
async function ensureDatabase(dataDirectory: string, password: string, port: number): Promise<Error | null> {
  const client = new Client({ connectionString: urlOf(password, port, 'postgres') });
  // A connection that breaks is told to the query as well; without a listener it would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const found = await client.query('select from pg_database where datname = $1', [ownerName]);
    if (found.rowCount === 0) await client.query(`create database ${ownerName}`);
    return null;
  } catch (cause) {
    const place = `PostgreSQL runs on port ${port}`;
    if (!hasCode(cause, wrongPassword)) return new Error(`${place} but takes no connection.`, { cause });
    throw new Error(`${place} but refuses us: does ${accessPath(dataDirectory)} belong to the data beside it?`, {
      cause,
    });
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The port that was used last if it is free, otherwise any free one. */
async function freePort(preferred: number): Promise<number> {
  return (await canListen(preferred)) ?? (await canListen(0)) ?? preferred;
}

async function canListen(port: number): Promise<number | null> {
  const probe = createServer();
  return new Promise((answer) => {
    probe.once('error', () => answer(null));
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address();
      const free = typeof address === 'object' ? (address?.port ?? null) : null;
      probe.close(() => answer(free));
    });
  });
}

/** Kept from the first start on; noted before the data exist, so that there are never data whose password nobody knows. */
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

async function readAccess(dataDirectory: string): Promise<Access | null> {
  try {
    return Access.parse(JSON.parse(await readFile(accessPath(dataDirectory), 'utf8')));
  } catch (error) {
    if (isMissing(error)) return null;
    throw new Error(`${accessPath(dataDirectory)} cannot be read.`, { cause: error });
  }
}

async function saveAccess(dataDirectory: string, access: Access): Promise<void> {
  const draft = `${accessPath(dataDirectory)}.${randomUUID()}`;
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(access)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, accessPath(dataDirectory));
}

/** A server that runs on keeps writing to the old file, which is still there under its other name. */
async function rotateLog(logPath: string): Promise<void> {
  if ((await sizeOf(logPath)) > maximumLogBytes) await rename(logPath, `${logPath}.1`);
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

/** The last lines of what was logged from `offset` on, with the name of the file. */
async function quoteLog(logPath: string, offset: number): Promise<string> {
  if ((await sizeOf(logPath)) === 0) return '';
  const text = (await readFile(logPath)).subarray(offset).toString('utf8').trim();
  return `The end of ${logPath}:\n${text.split('\n').slice(-quotedLogLines).join('\n')}`;
}

async function refuseClosed(cluster: string, account: Account | null): Promise<void> {
  const closed = account === null ? null : await closedOnTheWay(cluster, account);
  if (closed === null) return;
  throw new Error(
    `PostgreSQL runs as user ${account?.uid}, who owns the data in ${cluster} but may not pass ${closed}. ` +
      `Open it with: chmod o+x ${closed}`,
  );
}

function refuseUnquotable(path: string): void {
  // pg_ctl starts the server through a shell and writes the path between double quotes.
  if (process.platform === 'win32' || !/["$`\\]/.test(path)) return;
  throw new Error(
    `PostgreSQL's data cannot lie in ${path}: its path may not have any of " $ \` \\ in it. Set TOLLKEEPER_DATA_DIR.`,
  );
}

function urlOf(password: string, port: number, database: string): string {
  // Said here because PGSSLMODE in the environment would win otherwise.
  return `postgres://${ownerName}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;
}

function accessPath(dataDirectory: string): string {
  return join(dataDirectory, 'postgres.json');
}

function logPathOf(dataDirectory: string): string {
  return join(dataDirectory, 'postgres.log');
}

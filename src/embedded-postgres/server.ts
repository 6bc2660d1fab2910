import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { type Binaries, runBinary } from './binaries.ts';
import { disarmStalePid, readServer, writeSettings } from './cluster.ts';
import { isMissing } from './data-directory.ts';

// Starts and stops PostgreSQL on any cluster.

/** The parts of a server: cluster, programs and log file. */
export type Keeper = { dataDirectory: string; cluster: string; binaries: Binaries; logPath: string };

// Durability settings (fsync, synchronous_commit, full_page_writes) keep PostgreSQL's default: on.
const megabyte = 2 ** 20;
// A quarter of the memory, as PostgreSQL's manual advises; unused memory is not allocated.
const sharedBuffers = Math.round(Math.min(Math.max(totalmem() / 4 / megabyte, 128), 4096));

/** The default settings of the server. */
export const ourSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: `${sharedBuffers}MB`,
  // After a checkpoint the first change of each page writes the whole page to the WAL. For the transaction index that
  // exceeds the events themselves, so infrequent checkpoints halve the writes of a busy service.
  checkpoint_timeout: '15min',
  max_wal_size: '4GB',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

// Replaying WAL after a crash takes as long as writing it did; PostgreSQL writes at most about 4 GB between
// checkpoints.
export const startTimeoutMs = 300_000;
// A fast stop writes a checkpoint. If that takes longer, something hangs, and the WAL makes an immediate stop safe.
const fastStopSeconds = 60;
const immediateStopSeconds = 10;
const quotedLogLines = 10;

/** Returns null, or a failure that a retry may avoid. Throws when the server cannot start. */
export async function launch(keeper: Keeper, settings: Record<string, string>): Promise<Error | null> {
  await disarmStalePid(keeper.cluster);
  await writeSettings(keeper.cluster, settings);
  const logged = await sizeOf(keeper.logPath);
  // pg_ctl starts the server in its own session, so that Ctrl-C in the terminal does not reach it early.
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
  // Workers of a killed server that are still exiting, or a port that was taken since it was checked.
  if (/shared memory block .* still in use|Address already in use/.test(reason)) return failure;
  throw failure;
}

/** Stops the server on a cluster, if there is one. Throws when it does not stop. */
export async function stop(keeper: Keeper): Promise<void> {
  await stopWith(keeper, 'fast', fastStopSeconds);
  await stopWith(keeper, 'immediate', immediateStopSeconds);
  if ((await readServer(keeper.cluster)) === null) return;
  throw new Error(`PostgreSQL did not stop; see ${keeper.logPath}.`);
}

async function stopWith(keeper: Keeper, mode: 'fast' | 'immediate', timeoutSeconds: number): Promise<void> {
  // pg_ctl would signal any process that has the pid in the file.
  if ((await readServer(keeper.cluster)) === null) return;
  const parameters = ['stop', '--silent', `--mode=${mode}`, '--wait', `--timeout=${timeoutSeconds}`];
  await runBinary(keeper.binaries, 'pg_ctl', [...parameters, `--pgdata=${keeper.cluster}`], keeper.logPath);
}

/** The last used port if it is free, otherwise any free one. */
export async function freePort(preferred: number): Promise<number> {
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

/** The size of a file; 0 if it does not exist. */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

/** The last log lines written since `offset`, with the name of the file. */
export async function quoteLog(logPath: string, offset: number): Promise<string> {
  if ((await sizeOf(logPath)) === 0) return '';
  const text = (await readFile(logPath)).subarray(offset).toString('utf8').trim();
  return `The end of ${logPath}:\n${text.split('\n').slice(-quotedLogLines).join('\n')}`;
}

/** The log file of the server. */
export function logPathOf(dataDirectory: string): string {
  return join(dataDirectory, 'postgres.log');
}

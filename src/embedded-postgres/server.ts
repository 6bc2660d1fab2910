import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { type Binaries, runBinary } from './binaries.ts';
import { disarmStalePid, readServer, writeSettings } from './cluster.ts';
import { isMissing } from './data-directory.ts';

// Starting and stopping PostgreSQL on a cluster, whatever the cluster is for.

/** What a server is started with: its cluster, its programs, and the file that its log goes to. */
export type Keeper = { dataDirectory: string; cluster: string; binaries: Binaries; logPath: string };

// What matters for durability (fsync, synchronous_commit, full_page_writes) stays as PostgreSQL has it: on.
const megabyte = 2 ** 20;
// A quarter of the memory, as PostgreSQL's manual advises; what is not used is not taken.
const sharedBuffers = Math.round(Math.min(Math.max(totalmem() / 4 / megabyte, 128), 4096));

/** What a server is started with where nothing else is said. */
export const ourSettings = {
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
export const startTimeoutMs = 300_000;
// A fast stop writes a checkpoint. When that takes longer something hangs, and the journal makes an immediate stop safe.
const fastStopSeconds = 60;
const immediateStopSeconds = 10;
const quotedLogLines = 10;

/** Answers null, or a failure that another attempt may not meet. Throws when the server cannot start. */
export async function launch(keeper: Keeper, settings: Record<string, string>): Promise<Error | null> {
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

/** Stops the server on that cluster, if there is one. Throws when it does not stop. */
export async function stop(keeper: Keeper): Promise<void> {
  await stopWith(keeper, 'fast', fastStopSeconds);
  await stopWith(keeper, 'immediate', immediateStopSeconds);
  if ((await readServer(keeper.cluster)) === null) return;
  throw new Error(`PostgreSQL did not stop; see ${keeper.logPath}.`);
}

async function stopWith(keeper: Keeper, mode: 'fast' | 'immediate', timeoutSeconds: number): Promise<void> {
  // pg_ctl would signal whatever process has the number that it reads.
  if ((await readServer(keeper.cluster)) === null) return;
  const parameters = ['stop', '--silent', `--mode=${mode}`, '--wait', `--timeout=${timeoutSeconds}`];
  await runBinary(keeper.binaries, 'pg_ctl', [...parameters, `--pgdata=${keeper.cluster}`], keeper.logPath);
}

/** The port that was used last if it is free, otherwise any free one. */
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

/** Its bytes; none where there is no such file. */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

/** The last lines of what was logged from `offset` on, with the name of the file. */
export async function quoteLog(logPath: string, offset: number): Promise<string> {
  if ((await sizeOf(logPath)) === 0) return '';
  const text = (await readFile(logPath)).subarray(offset).toString('utf8').trim();
  return `The end of ${logPath}:\n${text.split('\n').slice(-quotedLogLines).join('\n')}`;
}

/** Where the server of that data directory writes its log. */
export function logPathOf(dataDirectory: string): string {
  return join(dataDirectory, 'postgres.log');
}

import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { findEmbeddedPostgres } from '../src/embedded-postgres/start.ts';
import { connected } from './database.ts';

/** The service under measurement: its own processes on a throw-away database with PostgreSQL's own durability. */
export interface BenchService {
  readonly address: string;
  /** All its processes. `address` is the first. */
  readonly addresses: readonly string[];
  readonly pids: readonly number[];
  readonly key: string;
  readonly databaseUrl: string;
  /** The first of `pids`. */
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

type Settings = Readonly<Record<string, string>>;

const key = 'sk_test_bench';
const main = new URL('../src/main.ts', import.meta.url).pathname;
// All processes of a database need the same one.
const encryptionKey = Buffer.alloc(32, 'bench').toString('base64');

// This process was started by the same launcher as a user's, so its options are the same.
const engineOptions = process.execArgv.filter((option) => option.startsWith('--max-semi-space-size='));

/** Starts `serve` as a user would, on its own port and data directory. `nodeOptions` precede the program. */
export async function startService(nodeOptions: readonly string[] = []): Promise<BenchService> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'tollkeeper-bench-'));
  const child = serve(dataDirectory, { DATABASE_URL: '' }, nodeOptions);
  const stop = async () => {
    await end(child);
    await rm(dataDirectory, { recursive: true, force: true });
  };
  try {
    const address = await addressOf(child);
    const { pid } = child;
    const database = await findEmbeddedPostgres(dataDirectory);
    if (database === null || pid === undefined) throw new Error('the service runs without its database');
    await makeWalFiles(database.url);
    return { address, addresses: [address], key, databaseUrl: database.url, pid, pids: [pid], stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The same service with a second process on its database. `stop` ends the second one only. */
export async function startSecond(service: BenchService): Promise<BenchService> {
  const second = await startOn(service.databaseUrl);
  return {
    ...second,
    addresses: [...service.addresses, ...second.addresses],
    pids: [...service.pids, ...second.pids],
    ...{ address: service.address, pid: service.pid },
  };
}

/** A service on that database, whose server runs already. `settings` are more variables of its environment. */
export async function startOn(databaseUrl: string, settings: Settings = {}): Promise<BenchService> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'tollkeeper-bench-'));
  const child = serve(dataDirectory, { DATABASE_URL: databaseUrl, ...settings });
  const stop = async () => {
    await end(child);
    await rm(dataDirectory, { recursive: true, force: true });
  };
  try {
    const address = await addressOf(child);
    const { pid } = child;
    if (pid === undefined) throw new Error('the process does not run');
    return { address, addresses: [address], key, databaseUrl, pid, pids: [pid], stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs a command of the program on that database to its end. */
export async function command(databaseUrl: string, words: readonly string[], settings: Settings = {}): Promise<void> {
  const env = { ...process.env, TOLLKEEPER_ENCRYPTION_KEY: encryptionKey, DATABASE_URL: databaseUrl, ...settings };
  await promisify(execFile)(process.execPath, [...engineOptions, main, ...words], { env });
}

function serve(dataDirectory: string, settings: Settings, nodeOptions: readonly string[] = []) {
  return spawn(process.execPath, [...engineOptions, ...nodeOptions, main, 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      PORT: '0',
      TOLLKEEPER_DATA_DIR: dataDirectory,
      TOLLKEEPER_TEST_KEY: key,
      TOLLKEEPER_ENCRYPTION_KEY: encryptionKey,
      // One key asks for all.
      TOLLKEEPER_RATE_LIMIT: '0',
      ...settings,
    },
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

// More than a row writes, but for that of 20 million events.
const walFiles = 128;

/**
 * Preallocates WAL files, as in a database that has run for a while: after a checkpoint it recycles old files. A new
 * database has none, and all commits wait whenever a file is created and zeroed.
 */
async function makeWalFiles(url: string): Promise<void> {
  await connected(url, async (client) => {
    await client.query("alter system set min_wal_size = '2GB'");
    await client.query('select pg_reload_conf()');
    for (let made = 0; made < walFiles; made++) {
      await client.query("select pg_logical_emit_message(false, 'bench', '')");
      await client.query('select pg_switch_wal()');
    }
    await client.query('checkpoint');
  });
}

/** The address of the service, once it prints that. */
function addressOf(child: ChildProcessByStdio<null, Readable, null>): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, found] = /listens on (http\S+)/.exec(line) ?? [];
      if (found) resolve(found);
    });
  });
}

/** Sends one request that must succeed. */
export async function ask<Answer>(
  service: BenchService,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(`${service.address}/api/v1${path}`, {
    method,
    headers: { authorization: service.key, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

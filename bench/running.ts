import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { findEmbeddedPostgres } from '../src/embedded-postgres/start.ts';
import { connected } from './database.ts';

/** The measured service: a separate process on a temporary database with PostgreSQL's default durability. */
export interface BenchService {
  readonly address: string;
  readonly key: string;
  readonly databaseUrl: string;
  /** The pid of its process. */
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

const key = 'sk_test_bench';

// This process was started by the same launcher as a user's, so its options are the same.
const engineOptions = process.execArgv.filter((option) => option.startsWith('--max-semi-space-size='));

/** Starts `serve` as a user would, on its own port and data directory. `nodeOptions` precede the program. */
export async function startService(nodeOptions: readonly string[] = []): Promise<BenchService> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'tollkeeper-bench-'));
  const main = new URL('../src/main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [...engineOptions, ...nodeOptions, main, 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      PORT: '0',
      TOLLKEEPER_DATA_DIR: dataDirectory,
      TOLLKEEPER_TEST_KEY: key,
      // All requests use one key.
      TOLLKEEPER_RATE_LIMIT: '0',
      DATABASE_URL: '',
    },
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(dataDirectory, { recursive: true, force: true });
  };
  try {
    const address = await addressOf(child);
    const { pid } = child;
    const database = await findEmbeddedPostgres(dataDirectory);
    if (database === null || pid === undefined) throw new Error('the service runs without its database');
    await makeJournalFiles(database.url);
    return { address, key, databaseUrl: database.url, pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

// More than any row writes, except the one with 20 million events.
const journalFiles = 128;

/**
 * Preallocates WAL files, as in a database that has run for a while: after a checkpoint it recycles old files. A new
 * database has none, and all commits wait whenever a file is created and zeroed.
 */
async function makeJournalFiles(url: string): Promise<void> {
  await connected(url, async (client) => {
    await client.query("alter system set min_wal_size = '2GB'");
    await client.query('select pg_reload_conf()');
    for (let made = 0; made < journalFiles; made++) {
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

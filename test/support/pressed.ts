import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool } from '../../src/database/database.ts';
import { findCluster, readServer } from '../../src/embedded-postgres/cluster.ts';
import { birthOf } from '../../src/embedded-postgres/process-lock.ts';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/start.ts';
import { testSchema } from './databases.ts';
import { type Answer, type RequestOptions, send } from './harness.ts';
import { program } from './program.ts';

// Not a measure of speed: what has not come by then will not come.
export const longestWaitMs = 60_000;

/** Waits for something to be so, and says what it was when it does not come. */
export async function until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  const begunAt = performance.now();
  while (!(await isSo())) {
    assert(performance.now() - begunAt < longestWaitMs, `${what}: not within ${longestWaitMs} ms`);
    await sleep(20);
  }
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** `tollkeeper serve` in a process of its own, with settings of its own. */
export class PressedService {
  readonly #child: Child;
  readonly #dataDirectory: string;
  #output = '';

  private constructor(child: Child, dataDirectory: string) {
    this.#child = child;
    this.#dataDirectory = dataDirectory;
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        this.#output += chunk;
      });
  }

  /** Starts it, or another version of the program, and does not wait for it. */
  static async spawn(
    settings: Readonly<Record<string, string>>,
    parameters: readonly string[] = [program],
  ): Promise<PressedService> {
    const dataDirectory = await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-pressed-'));
    const child = spawn(process.execPath, [...parameters, 'serve'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PORT: '0', DATABASE_URL: '', TOLLKEEPER_DATA_DIR: dataDirectory, ...settings },
    });
    return new PressedService(child, dataDirectory);
  }

  /** Starts it and waits until it listens. */
  static async start(
    settings: Readonly<Record<string, string>>,
    parameters?: readonly string[],
  ): Promise<PressedService> {
    const service = await PressedService.spawn(settings, parameters);
    await service.untilListening();
    return service;
  }

  /** What it has said so far. */
  get output(): string {
    return this.#output;
  }

  get address(): string {
    return /listens on (http\S+)/.exec(this.#output)?.[1] ?? '';
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async untilListening(): Promise<void> {
    await until('the service listens', () => {
      assert(this.isRunning, `the service has ended: ${this.#output}`);
      return this.address !== '';
    });
  }

  /** One request, which gets an answer. */
  request(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Answer> {
    return send(this.address, method, path, body, options);
  }

  /** The status of a path outside of the API. */
  async status(path: string): Promise<number> {
    const response = await fetch(this.address + path, { signal: AbortSignal.timeout(longestWaitMs) });
    await response.arrayBuffer();
    return response.status;
  }

  /** Waits until it has ended by itself, and answers with which code. */
  async ended(): Promise<number | null> {
    if (this.isRunning) await once(this.#child, 'exit');
    return this.#child.exitCode;
  }

  /** Ends it as an operator does, and leaves nothing. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const code = await this.ended();
    await rm(this.#dataDirectory, { recursive: true, force: true });
    assert.equal(code, 0, this.#output);
  }

  /** Ends it in any state. */
  async remove(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended();
    await rm(this.#dataDirectory, { recursive: true, force: true });
  }
}

/** How PostgreSQL is told to end: `pg_ctl stop` fast or immediate, or it is killed. */
export const endings = { fast: 'SIGINT', immediate: 'SIGQUIT', killed: 'SIGKILL' } as const;

/** A PostgreSQL server of one test's own, which it may end and start again, as durable as it is for users. */
export class OwnPostgres {
  readonly #dataDirectory: string;
  readonly #binaries: { readonly binaries?: string };
  #url = '';

  private constructor(dataDirectory: string, binaries: { readonly binaries?: string }) {
    this.#dataDirectory = dataDirectory;
    this.#binaries = binaries;
  }

  /** `binaries` selects another version's programs. */
  static async start(binaries: { readonly binaries?: string } = {}): Promise<OwnPostgres> {
    const dataDirectory = await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-own-postgres-'));
    const postgres = new OwnPostgres(dataDirectory, binaries);
    await postgres.startAgain();
    return postgres;
  }

  get url(): string {
    return this.#url;
  }

  async startAgain(): Promise<void> {
    const { url } = await startEmbeddedPostgres({
      dataDirectory: this.#dataDirectory,
      log: () => undefined,
      ...this.#binaries,
    });
    assert(this.#url === '' || this.#url === url, 'another program has taken its port');
    this.#url = url;
  }

  async end(how: keyof typeof endings): Promise<void> {
    const cluster = await findCluster(this.#dataDirectory);
    const server = cluster === null ? null : await readServer(cluster);
    if (server === null) return;
    process.kill(server.pid, endings[how]);
    while ((await birthOf(server.pid)) !== null) await sleep(5);
  }

  /** Rows of a statement by the owner, who sees everything. */
  async query(text: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    return queryAsOwner(this.#url, text, values);
  }

  async remove(): Promise<void> {
    await this.end('immediate');
    await rm(this.#dataDirectory, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

/** Rows of one statement by the owner of the database. */
export async function queryAsOwner(url: string, text: string, values: readonly unknown[] = []) {
  const pool = createPool({ schema: testSchema, url, size: 1, as: 'owner' });
  try {
    return (await pool.query<Record<string, unknown>>(text, [...values])).rows;
  } finally {
    await pool.end();
  }
}

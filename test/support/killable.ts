import assert from 'node:assert/strict';
import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { Client } from 'pg';
import { createDatabase, createPool, type Database } from '../../src/database/database.ts';
import { findEmbeddedPostgres } from '../../src/embedded-postgres/start.ts';
import { testSchema } from './databases.ts';
import { killAndWait, postmasterOf } from './kill.ts';
import { program } from './program.ts';

/** Kills at once, and ends when what it kills is gone. */
export type Kill = () => Promise<void>;

type Child = ChildProcessByStdio<null, Readable, Readable>;

/**
 * Tollkeeper as a user starts it, `serve` in a process of its own with its own PostgreSQL, both of which may be killed.
 * PostgreSQL is as durable as it is for users.
 */
export class Killable {
  readonly key = 'sk_test_killable';
  readonly dataDirectory: string;
  readonly #settings: Readonly<Record<string, string>>;
  #child: Child | null = null;
  #address = '';
  #output = '';

  constructor(dataDirectory: string, settings: Readonly<Record<string, string>> = {}) {
    this.dataDirectory = dataDirectory;
    this.#settings = settings;
  }

  /** With further settings, as environment variables. */
  static async create(settings: Readonly<Record<string, string>> = {}): Promise<Killable> {
    return new Killable(await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-killable-')), settings);
  }

  /** Where the service listens, or did last. */
  get address(): string {
    return this.#address;
  }

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts the service, which starts PostgreSQL or finds it running, and waits until it listens. */
  async start(): Promise<void> {
    assert(!this.isRunning, 'the service runs already');
    const child = spawn(process.execPath, [program, 'serve'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        PORT: '0',
        DATABASE_URL: '',
        TOLLKEEPER_DATA_DIR: this.dataDirectory,
        TOLLKEEPER_TEST_KEY: this.key,
        ...this.#settings,
      },
    });
    this.#child = child;
    this.#output = '';
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    child.once('close', () => reject(new Error(`the service ended: ${this.#output}`)));
    const read = (chunk: Buffer) => {
      this.#output += chunk;
      const [, address] = /listens on (http\S+)/.exec(this.#output) ?? [];
      if (address !== undefined) resolve(address);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    this.#address = await promise;
  }

  /** Ends the service with its PostgreSQL, as an operator does. */
  async stop(): Promise<void> {
    assert.equal(await this.#end('SIGTERM'), 0, this.#output);
  }

  /** kill -9 of the service alone. PostgreSQL lives on. */
  async killService(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /**
   * Takes aim at one process of PostgreSQL that works for the service, and answers how to kill -9 it, as the system does
   * when memory runs out. That ends when PostgreSQL has begun to end all others, whose memory may be damaged by then; it
   * recovers by itself.
   */
  async aimAtBackend(): Promise<Kill> {
    const server = await findEmbeddedPostgres(this.dataDirectory);
    const witness = new Client({ connectionString: server?.url });
    const ended = Promise.withResolvers<void>();
    witness.once('end', ended.resolve);
    // That it ends is what it is for.
    witness.on('error', () => undefined);
    await witness.connect();
    const { rows } = await witness.query<{ pid: number }>(`
      select pid from pg_stat_activity where application_name = 'tollkeeper-service'
       order by state = 'active' desc, random() limit 1`);
    const pids = rows.map(({ pid }) => pid);
    assert(pids.length === 1, 'the service is connected');
    return async () => {
      await killAndWait(pids);
      await ended.promise;
    };
  }

  /** The processes that the service has started for itself, by their command. */
  async processes(): Promise<{ pid: number; command: string }[]> {
    const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
    return stdout.split('\n').flatMap((line) => {
      const [, pid, parent, command] = /^\s*(\d+)\s+(\d+) .* (serve|work)$/.exec(line) ?? [];
      return Number(parent) === this.#child?.pid && command !== undefined ? [{ pid: Number(pid), command }] : [];
    });
  }

  /**
   * Takes aim at PostgreSQL, and answers how to kill -9 it: the postmaster first, so that it restarts nothing, then all of
   * its children.
   */
  async aimAtPostgres(): Promise<Kill> {
    const postmaster = await postmasterOf(this.dataDirectory);
    assert(postmaster !== null, 'PostgreSQL runs');
    const { rows } = await this.withOwner((owner) =>
      sql<{ pid: number }>`select pid from pg_stat_activity`.execute(owner),
    );
    return () => killAndWait([postmaster, ...rows.map(({ pid }) => pid)]);
  }

  /** Connects as the owner, who sees everything. */
  async withOwner<Answer>(act: (owner: Database) => Promise<Answer>): Promise<Answer> {
    const server = await findEmbeddedPostgres(this.dataDirectory);
    assert(server !== null, 'PostgreSQL runs');
    const pool = createPool({ schema: testSchema, url: server.url, size: 1, as: 'owner' });
    try {
      return await act(createDatabase(pool));
    } finally {
      await pool.end();
    }
  }

  /** Leaves no process and no file, whatever state everything is in. */
  async remove(): Promise<void> {
    await this.#end('SIGKILL');
    const postmaster = await postmasterOf(this.dataDirectory);
    if (postmaster !== null) await killAndWait([postmaster]);
    // Processes that have lost their postmaster end by themselves, and may write until they do.
    await rm(this.dataDirectory, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }

  /** Answers the code that the service ended with. */
  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const [child, isAlive] = [this.#child, this.isRunning];
    if (child === null) return null;
    this.#child = null;
    if (isAlive) {
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    }
    return child.exitCode;
  }
}

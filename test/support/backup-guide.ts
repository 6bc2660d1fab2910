import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after } from 'node:test';

// The commands of docs/backup.md, run as they stand there.

const guide = readFileSync(new URL('../../docs/backup.md', import.meta.url), 'utf8');

/** The commands under a heading: the first block of them, or another one. */
export function commandsUnder(heading: string, block = 0): string {
  const section = guide.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  const commands = [...(section ?? '').matchAll(/^```sh\n([\s\S]*?)^```$/gm)][block]?.[1];
  assert(commands !== undefined, `docs/backup.md has commands under "${heading}"`);
  return commands;
}

export type Variables = Readonly<Record<string, string>>;

export interface Ran {
  readonly code: number | null;
  readonly output: string;
}

// What npx finds in a project, without the second that it takes to look.
const npx = `npx() { shift; "${process.execPath}" "${new URL('../../src/main.ts', import.meta.url).pathname}" "$@"; }`;

function start(commands: string, variables: Variables): ChildProcess {
  return spawn('bash', ['-euo', 'pipefail', '-c', `${npx}\n${commands}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PORT: '0', DATABASE_URL: '', ...variables },
    // The shell and what it runs end together.
    detached: true,
  });
}

/** Runs commands to their end. */
export function run(commands: string, variables: Variables): Promise<Ran> {
  const child = start(commands, variables);
  let output = '';
  const read = (chunk: Buffer) => {
    output += chunk;
  };
  child.stdout?.on('data', read);
  child.stderr?.on('data', read);
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

/** Runs commands that have to succeed, and answers what they print. */
export async function succeed(commands: string, variables: Variables): Promise<string> {
  const { code, output } = await run(commands, variables);
  assert.equal(code, 0, `${commands}\n${output}`);
  return output;
}

export interface Serving {
  readonly address: string;
  readonly output: () => string;
  /** Ends it as an operator does. */
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
after(() => {
  for (const child of running) signal(child, 'SIGKILL');
});

/** Runs commands that serve, until they listen. */
export async function serve(commands: string, variables: Variables): Promise<Serving> {
  const child = start(commands, variables);
  running.add(child);
  let output = '';
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const ended = new Promise<void>((end) =>
    child.once('close', () => {
      reject(new Error(output));
      end();
    }),
  );
  const read = (chunk: Buffer) => {
    output += chunk;
    const [, address] = /listens on (http\S+)/.exec(output) ?? [];
    if (address !== undefined) resolve(address);
  };
  child.stdout?.on('data', read);
  child.stderr?.on('data', read);
  return {
    address: await promise,
    output: () => output,
    async stop() {
      running.delete(child);
      signal(child, 'SIGTERM');
      await ended;
      assert.match(output, /"Stopping\."\}\n$/, output);
    },
  };
}

function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    process.kill(-Number(pid), name);
  } catch {
    // All of them have ended.
  }
}

/** A directory of its own with what the guide takes for granted, gone when the test file ends. */
export async function guideDirectory() {
  const root = await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-backup-'));
  after(() => rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));
  // PostgreSQL's account has to pass.
  await chmod(root, 0o755);
  const variables = {
    BACKUPS: join(root, 'backups'),
    KEYS: join(root, 'keys'),
    TOLLKEEPER_DATA_DIR: join(root, 'data'),
    RESTORED: join(root, 'restored'),
    TOLLKEEPER_TEST_KEY: 'sk_test_backup',
  };
  await mkdir(variables.BACKUPS, { mode: 0o755 });
  await mkdir(variables.KEYS);
  return { root, variables };
}

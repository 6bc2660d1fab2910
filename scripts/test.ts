import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { staleFiles } from './generated.ts';
import { withScratchPostgres } from './scratch-postgres.ts';

// Runs all checks of npm test: types, lint and format, generated files, then every test on a real PostgreSQL. Arguments
// select test files; without any, all run.

const files = process.argv.slice(2);

// Ctrl-C ends the current step; its database is stopped on the way out.
let running: ChildProcess | null = null;
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted = true;
    running?.kill(signal);
  });
}

function step(
  title: string,
  command: string,
  args: readonly string[],
  variables: Record<string, string> = {},
): Promise<boolean> {
  if (interrupted) return Promise.resolve(false);
  console.log(`\n# ${title}`);
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...variables } });
    running = child;
    child.on('error', (error) => {
      console.error(error.message);
      resolve(false);
    });
    child.on('exit', (code) => resolve(code === 0));
  });
}

async function testFiles(): Promise<string[]> {
  const found: string[] = [];
  for (const directory of ['src', 'test']) {
    for (const file of await readdir(directory, { recursive: true })) {
      if (file.endsWith('.test.ts')) found.push(`${directory}/${file}`);
    }
  }
  return found.sort();
}

// Tests spend about half of the time waiting for the database, so one process more than cores keeps the cores busy.
const concurrency = availableParallelism() + 1;

/** The programs of the oldest supported version, on machines that have it. */
const oldestPostgres = ['/usr/lib/postgresql/15/bin', '/opt/homebrew/opt/postgresql@15/bin'].find((path) =>
  existsSync(path),
);
const onOldestPostgres = ['test/api/api.test.ts', 'test/stories/ledger.test.ts', 'test/api/requests.test.ts'];

function runTests(selected: readonly string[], title = 'Tests', binaries?: string): Promise<boolean> {
  const parameters = ['--test', '--test-reporter=spec', `--test-concurrency=${concurrency}`, ...selected];
  return withScratchPostgres(
    (url) => step(title, process.execPath, parameters, { TOLLKEEPER_TEST_POSTGRES: url }),
    binaries === undefined ? {} : { binaries },
  );
}

async function checkGeneratedFiles(): Promise<boolean> {
  console.log('\n# Generated files');
  const stale = await staleFiles();
  for (const file of stale) console.log(`${file} is stale: run npm run generate`);
  if (stale.length === 0) console.log('fresh');
  return stale.length === 0;
}

async function runEverything(): Promise<boolean> {
  const bin = (name: string) => `node_modules/.bin/${name}`;
  const results = [
    await step('Types', bin('tsc'), ['--noEmit', '-p', '.']),
    await step('Lint and format', bin('biome'), ['check', '--error-on-warnings', '.']),
    await checkGeneratedFiles(),
    oldestPostgres === undefined || (await runTests(onOldestPostgres, 'Tests on PostgreSQL 15', oldestPostgres)),
    await runTests(await testFiles()),
  ];
  return results.every(Boolean);
}

process.exitCode = (await (files.length > 0 ? runTests(files) : runEverything())) ? 0 : 1;

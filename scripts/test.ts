import { type ChildProcess, spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { staleFiles } from './generated.ts';
import { withScratchPostgres } from './scratch-postgres.ts';

// Everything that npm test checks: types, lint and format, generated files, then every test on a real PostgreSQL.
// Arguments name test files; without any, all run.

const files = process.argv.slice(2);

// Ctrl-C ends the step that runs; the database that was started for it is stopped on the way out.
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

// Tests wait for the database about half of the time, so one more than there are cores keeps them busy.
const concurrency = availableParallelism() + 1;

const runTests = (selected: readonly string[]) =>
  withScratchPostgres((url) =>
    step(
      'Tests',
      process.execPath,
      ['--test', '--test-reporter=spec', `--test-concurrency=${concurrency}`, ...selected],
      { TOLLKEEPER_TEST_POSTGRES: url },
    ),
  );

async function runEverything(): Promise<boolean> {
  const bin = (name: string) => `node_modules/.bin/${name}`;
  const types = await step('Types', bin('tsc'), ['--noEmit', '-p', '.']);
  const lint = await step('Lint and format', bin('biome'), ['check', '--error-on-warnings', '.']);
  console.log('\n# Generated files');
  const stale = await staleFiles();
  for (const file of stale) console.log(`${file} is stale: run npm run generate`);
  if (stale.length === 0) console.log('fresh');
  const tests = await runTests(await testFiles());
  return types && lint && stale.length === 0 && tests;
}

process.exitCode = (await (files.length > 0 ? runTests(files) : runEverything())) ? 0 : 1;

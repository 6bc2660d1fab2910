import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { seedVariable, testSeed } from '../test/support/seed.ts';
import { staleFiles } from './generated.ts';
import { oldestPostgres, settingsForTests, withScratchPostgres } from './scratch-postgres.ts';
import { longestFirst, readDurations, saveDurations, secondsOf } from './test-durations.ts';
import { processesOf, runsAlone } from './test-plan.ts';
import { cellsName, cellsVariables, serverVariables, titleOf, withQueue } from './test-queue.ts';
import { Report } from './test-report.ts';

// Runs all checks of npm test: types, lint and format, generated files, and every test on a real PostgreSQL. Arguments
// select test files; without any, all run. `--seed <number>` draws other random cases, and `--seed random` any. With
// `--cells <number>` the customers of tests live in so many cells.

const { values, positionals: named } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, cells: { type: 'string', default: '1' } },
});
const seed = values.seed === 'random' ? randomInt(2 ** 31) : Number(values.seed ?? testSeed);
if (!Number.isInteger(seed)) throw new Error(`--seed is a whole number or "random", not ${values.seed}`);
process.env[seedVariable] = String(seed);
const cells = Number(values.cells);
if (!(cells >= 1 && cells <= 9)) throw new Error(`--cells is a number from 1 to 9, not ${values.cells}`);
if (cells > 1) Object.assign(process.env, cellsVariables(cells));

// Ctrl-C ends all processes; their databases are stopped on the way out.
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interruption.abort());

// Tests wait for the database, for processes to start and for time to pass, so more processes than cores keep the cores busy.
const concurrency = availableParallelism() + 2;
const longestShown = 15;

const oldestName = 'PostgreSQL 15';
/** The files that also run with customers in several cells. */
const onCells = [
  'test/stories/first-month.test.ts',
  'test/stories/ledger.test.ts',
  'test/races/holds-parallel.test.ts',
];
const usualCells = 4;
const onOldestPostgres = ['test/api/api.test.ts', 'test/stories/ledger.test.ts', 'test/api/requests.test.ts'];

interface Task {
  /** The names of its files in the report. */
  readonly titles: readonly string[];
  run(): Promise<void>;
}

async function testFiles(): Promise<string[]> {
  const found: string[] = [];
  for (const directory of ['src', 'test']) {
    for (const file of await readdir(directory, { recursive: true })) {
      if (file.endsWith('.test.ts')) found.push(`${directory}/${file}`);
    }
  }
  return found;
}

const report = new Report();
const failedChecks: string[] = [];

/** Runs `act`, which answers what is wrong, and shows that in one piece. */
function check(title: string, act: () => Promise<string>): Task {
  return {
    titles: [],
    async run() {
      const wrong = await act().catch(String);
      if (wrong !== '') failedChecks.push(title);
      console.log(`# ${title}: ${wrong === '' ? 'nothing to say' : `\n${wrong}`}`);
    },
  };
}

/** Runs a program and answers its output if it fails, else an empty text. */
function complaints(name: string, parameters: readonly string[]): Promise<string> {
  const { signal } = interruption;
  return new Promise((resolve) => {
    execFile(`node_modules/.bin/${name}`, parameters, { signal, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve(error === null ? '' : `${stdout}${stderr}` || error.message),
    );
  });
}

function checks(databaseUrl: string): Task[] {
  return [
    // Several threads check many types twice, and the other cores are busy with tests.
    check('Types', () => complaints('tsc', ['--noEmit', '--singleThreaded', '-p', '.'])),
    check('Types of the dashboard', () => complaints('tsc', ['--noEmit', '--singleThreaded', '-p', 'dashboard'])),
    check('Lint and format', () => complaints('biome', ['check', '--error-on-warnings', '.'])),
    check('Generated files', async () =>
      (await staleFiles(databaseUrl)).map((file) => `${file} is stale: run npm run generate\n`).join(''),
    ),
  ];
}

function work(titles: readonly string[], files: readonly string[], variables: Record<string, string>): Task {
  return { titles, run: () => report.runWorker(files, variables, interruption.signal) };
}

/** Tests on the oldest supported PostgreSQL, which is started for them. */
function workOnOldest(binaries: string): Task {
  const variables = serverVariables(oldestName);
  const titles = onOldestPostgres.map((file) => titleOf(file, oldestName));
  const run = () =>
    withScratchPostgres(
      (url) => work(titles, onOldestPostgres, { ...variables, TOLLKEEPER_TEST_POSTGRES: url }).run(),
      { binaries, settings: settingsForTests },
    );
  return { titles, run };
}

/** Tests with customers in several cells. */
function workOnCells(databaseUrl: string): Task {
  const variables = { ...cellsVariables(usualCells), TOLLKEEPER_TEST_POSTGRES: databaseUrl };
  return work(
    onCells.map((file) => titleOf(file, cellsName(usualCells))),
    onCells,
    variables,
  );
}

/** Carries out the tasks in that order, as many at a time as `concurrency` allows. */
async function runTasks(tasks: readonly Task[]): Promise<void> {
  const waiting = [...tasks];
  const workThrough = async () => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
      if (!interruption.signal.aborted) await task.run();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, workThrough));
}

/**
 * Workers share the files that get on with each other. Beside them, and after them, what needs a process of its own is
 * done, the longest first.
 */
async function runFiles(files: readonly string[], isEverything: boolean): Promise<void> {
  const durations = await readDurations();
  const shared = longestFirst(
    durations,
    files.filter((file) => !runsAlone(file)),
  );
  const workers = Math.min(concurrency - 1, shared.length);
  const runAll = (url: string) =>
    withQueue(shared, async (queue) => {
      const server = { TOLLKEEPER_TEST_POSTGRES: url };
      const alone = processesOf(files).map((each) =>
        work(
          each.map((file) => titleOf(file)),
          each,
          server,
        ),
      );
      if (isEverything && cells === 1) alone.push(workOnCells(url));
      if (isEverything && oldestPostgres !== undefined) alone.push(workOnOldest(oldestPostgres));
      const seconds = ({ titles }: Task) => secondsOf(durations, titles);
      alone.sort((one, other) => seconds(other) - seconds(one));
      const sharing = Array.from({ length: workers }, () => work([], [], { ...server, ...queue }));
      await runTasks([...sharing, ...(isEverything ? checks(url) : []), ...alone]);
      for (const title of [...shared.map((file) => titleOf(file)), ...alone.flatMap(({ titles }) => titles)])
        if (!report.seconds.has(title)) report.lose(title);
    });
  await withScratchPostgres(runAll, { settings: settingsForTests });
  await saveDurations({ ...durations, ...Object.fromEntries(report.seconds) });
}

/** How long the cores of this machine have been busy, in seconds: with the tests, and with whatever else runs on it. */
function busySeconds(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000;
}

const busyBefore = busySeconds();
await runFiles(named.length > 0 ? named : await testFiles(), named.length === 0);
await report.end();
const seconds = Object.fromEntries(report.seconds);
console.log('\n# What took longest, in seconds');
for (const title of longestFirst(seconds, Object.keys(seconds)).slice(0, longestShown))
  console.log(`${seconds[title]?.toFixed(1).padStart(6)}  ${title}`);
console.log(`${(busySeconds() - busyBefore).toFixed(1).padStart(6)}  of all processor cores of this machine`);
console.log(`\nRandom cases came from --seed ${seed}`);
for (const title of failedChecks) console.log(`${title}: failed, see above`);
console.log(`${report.passed} passed, ${report.failed + failedChecks.length} failed`);
process.exitCode = report.failed + failedChecks.length > 0 || interruption.signal.aborted ? 1 : 0;

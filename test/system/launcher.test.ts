import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, realpath, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const root = dirname(dirname(import.meta.dirname));
const launcherFiles = [
  'bin/tollkeeper.js',
  'scripts/run.js',
  'scripts/launch.js',
  'scripts/install.js',
  'scripts/stop-with-parent.js',
];

// A program of our own that stands for the packages of a real project: installing it needs no network.
const toolLock = {
  name: 'project',
  version: '1.0.0',
  lockfileVersion: 3,
  packages: {
    '': { name: 'project', version: '1.0.0', devDependencies: { tool: 'file:tool' } },
    'node_modules/tool': { resolved: 'tool', link: true },
    tool: { version: '1.0.0', dev: true, bin: { tool: 'tool.js' } },
  },
};

const projectManifest = { name: 'project', version: '1.0.0', type: 'module', devDependencies: { tool: 'file:tool' } };

// Says each signal that it gets; ends a while after the first, so that a second arrival would be seen.
const countSignals = `
  let ends = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      console.log(signal);
      if (!ends) setTimeout(() => { console.log('the end'); process.exit(9); }, 400);
      ends = true;
    });
  }
  setInterval(() => {}, 1000);
  console.log('ready');
`;

test('the first command installs, development dependencies in production too; the second finds everything there', async (t) => {
  const project = await createProject(t, 'console.log("runs", process.argv.slice(2).join(" "));');
  const first = await run(t, project, ['src/main.ts', 'serve', '--now'], { NODE_ENV: 'production' });
  assert.equal(first.output, 'runs serve --now\n', 'what npm says is no output of the command');
  assert.match(first.messages, /node_modules is missing .* \(npm ci\)/);
  const second = await run(t, project, ['--bin', 'tool', 'check', '.']);
  assert.deepEqual(second, { code: 3, signal: null, output: 'tool check .\n', messages: '' });
});

test('a changed package-lock.json is installed; what npm installed by hand is found good', async (t) => {
  const project = await createProject(t, '');
  await run(t, project, ['src/main.ts']);
  const changed = structuredClone(toolLock);
  changed.packages.tool.version = '1.0.1';
  await writeFile(join(project, 'package-lock.json'), JSON.stringify(changed));
  await writeFile(join(project, 'tool', 'package.json'), JSON.stringify(toolManifest('1.0.1')));
  assert.match((await run(t, project, ['src/main.ts'])).messages, /not what package-lock.json asks for/);
  await rm(join(project, 'node_modules', '.tollkeeper-installed'));
  assert.equal((await run(t, project, ['src/main.ts'])).messages, '');
});

test('of two commands that start at once one installs and both run', async (t) => {
  const project = await createProject(t, 'console.log("runs");');
  const both = await Promise.all([run(t, project, ['src/main.ts']), run(t, project, ['src/main.ts'])]);
  assert.deepEqual(
    both.map(({ output }) => output),
    ['runs\n', 'runs\n'],
  );
  assert.equal(both.filter(({ messages }) => messages.includes('(npm ci)')).length, 1);
});

test('the lock of a command that was killed while it installed holds nobody up', async (t) => {
  const project = await createProject(t, 'console.log("runs");');
  const lock = join(project, '.install.lock');
  await writeFile(lock, '');
  await utimes(lock, new Date('2026-01-01'), new Date('2026-01-01'));
  assert.equal((await run(t, project, ['src/main.ts'])).output, 'runs\n');
});

test('when npm ci fails the command ends with its exit code and does not run', async (t) => {
  const project = await createProject(t, 'console.log("runs");');
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({ ...projectManifest, dependencies: { other: 'file:tool' } }),
  );
  const { code, output, messages } = await run(t, project, ['src/main.ts']);
  assert.deepEqual([code, output], [1, '']);
  assert.match(messages, /npm ci failed \(exit code 1\)/);
});

test('the exit code is that of the program, and a program that a signal ended ends the command by that signal', async (t) => {
  const project = await createProject(
    t,
    'if (process.argv[2] === "exit") process.exit(7); process.kill(process.pid, process.argv[2]);',
  );
  assert.equal((await run(t, project, ['src/main.ts', 'exit'])).code, 7);
  assert.equal((await run(t, project, ['src/main.ts', 'SIGTERM'])).signal, 'SIGTERM');
  assert.equal((await run(t, project, ['src/main.ts', 'SIGKILL'])).signal, 'SIGKILL');
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} reaches the program once, though it comes from the terminal and again from npm`, async (t) => {
    const project = await createProject(t, countSignals);
    const launched = await launch(t, project, ['scripts/run.js', 'src/main.ts']).ready();
    // The terminal signals the whole process group, and a moment later npm passes the signal on to its child.
    process.kill(-launched.pid, signal);
    await sleep(50);
    process.kill(launched.pid, signal);
    const { output, code } = await launched.finished;
    assert.deepEqual([output, code], [`ready\n${signal}\nthe end\n`, 9]);
  });
}

test('what the program started has the signal as well', async (t) => {
  const project = await createProject(
    t,
    `import { spawn } from 'node:child_process';
    process.on('SIGINT', () => {});
    spawn(process.execPath, ['--eval', ${JSON.stringify(countSignals)}], { stdio: 'inherit' }).once('exit', process.exit);`,
  );
  const launched = await launch(t, project, ['scripts/run.js', 'src/main.ts']).ready();
  process.kill(launched.pid, 'SIGINT');
  const { output, code } = await launched.finished;
  assert.deepEqual([output, code], ['ready\nSIGINT\nthe end\n', 9]);
});

test('a program whose launcher was killed is told to stop', async (t) => {
  const project = await createProject(t, countSignals);
  const launched = await launch(t, project, ['scripts/run.js', 'src/main.ts']).ready();
  process.kill(launched.pid, 'SIGKILL');
  assert.equal((await launched.finished).output, 'ready\nSIGTERM\nthe end\n');
});

test('a program stops when npm is told to stop, though the shell between npm and the launcher passes nothing on', async (t) => {
  const project = await createProject(t, countSignals);
  const script = `"${process.execPath}" scripts/run.js src/main.ts; exit 0`;
  const npm = { program: 'sh', environment: { npm_lifecycle_event: 'start' } };
  const launched = await launch(t, project, ['-c', script], npm).ready();
  process.kill(launched.pid, 'SIGTERM');
  assert.equal((await launched.finished).output, 'ready\nSIGTERM\nthe end\n');
});

test('the tollkeeper command runs the project that it belongs to, in the directory where it was called', async (t) => {
  const project = await createProject(t, 'console.log(process.cwd(), process.argv.slice(2).join(" "));');
  const script = join(project, 'bin', 'tollkeeper.js');
  const { output } = await launch(t, '/', [script, 'keys', 'list']).finished;
  assert.equal(output, '/ keys list\n');
});

test('the Node that the project pins is preferred to the one that is there', async (t) => {
  const project = await createProject(t, 'console.log("not pinned");');
  await run(t, project, ['src/main.ts']);
  const pinned = join(project, 'node_modules', 'node', 'bin');
  await mkdir(pinned, { recursive: true });
  await writeFile(join(pinned, 'node'), '#!/bin/sh\necho pinned "$@"\n', { mode: 0o755 });
  const { output } = await run(t, project, ['src/main.ts', 'serve']);
  assert.match(output, /^pinned --max-semi-space-size=64 --import \S+ \S+main\.ts serve\n$/);
});

type Ended = { code: number | null; signal: string | null; output: string; messages: string };

type Launched = { pid: number; finished: Promise<Ended>; ready(): Promise<Launched> };

type LaunchOptions = { program?: string; environment?: Record<string, string> };

function run(t: TestContext, project: string, parameters: string[], environment = {}): Promise<Ended> {
  return launch(t, project, ['scripts/run.js', ...parameters], { environment }).finished;
}

/** A process group of its own, as a terminal gives one to each command. */
function launch(t: TestContext, directory: string, parameters: string[], options: LaunchOptions = {}): Launched {
  const { npm_lifecycle_event: _ours, ...environment } = process.env;
  const child = spawn(options.program ?? process.execPath, parameters, {
    cwd: directory,
    env: { ...environment, ...options.environment },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [output, messages] = [text(child.stdout), text(child.stderr)];
  const finished = once(child, 'close').then(async ([code, signal]) => ({
    code,
    signal,
    output: await output,
    messages: await messages,
  }));
  assert(child.pid !== undefined);
  const launched = {
    pid: child.pid,
    finished,
    async ready() {
      await once(child.stdout, 'data');
      return launched;
    },
  };
  return launched;
}

async function createProject(t: TestContext, program: string): Promise<string> {
  const project = await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-launcher-'));
  t.after(() => rm(project, { recursive: true, force: true }));
  for (const file of launcherFiles) await cp(join(root, file), join(project, file));
  await Promise.all([mkdir(join(project, 'src')), mkdir(join(project, 'tool'))]);
  await writeFile(join(project, 'src', 'main.ts'), `const typed: boolean = true;\nvoid typed;\n${program}\n`);
  await writeFile(join(project, 'package.json'), JSON.stringify(projectManifest));
  await writeFile(join(project, 'package-lock.json'), JSON.stringify(toolLock));
  await writeFile(join(project, 'tool', 'package.json'), JSON.stringify(toolManifest('1.0.0')));
  const tool = '#!/usr/bin/env node\nconsole.log("tool", ...process.argv.slice(2));\nprocess.exitCode = 3;\n';
  await writeFile(join(project, 'tool', 'tool.js'), tool, { mode: 0o755 });
  return project;
}

function toolManifest(version: string) {
  return { name: 'tool', version, bin: { tool: 'tool.js' } };
}

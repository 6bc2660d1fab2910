// Runs on any Node from 18 on: plain JavaScript, no packages.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { installMissing, LauncherProblem } from './install.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const neededNode = 26;
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
// One Ctrl-C can arrive twice: from the terminal, and forwarded by npm.
const samePressMs = 500;
const parentCheckMs = 250;
// In MiB. Most request data then dies in the young generation: with Node's default of 16 it is copied twice as often,
// which pauses everything. Allocated only as far as the load needs it.
const youngGeneration = '--max-semi-space-size=64';

/**
 * Installs missing packages, runs a TypeScript file of the project (or a program of a package) on Node 26, and ends
 * with its exit code or signal.
 * @param {{ file: string, parameters: string[] } | { bin: string, parameters: string[] }} command
 */
export async function launch(command) {
  try {
    await installMissing(root);
    const { code, signal } = await run(command);
    if (signal === null) process.exit(code);
    process.exitCode = 1;
    process.kill(process.pid, signal);
  } catch (error) {
    if (!(error instanceof LauncherProblem)) throw error;
    console.error(`Tollkeeper: ${error.message}`);
    process.exit(error.code);
  }
}

function run(command) {
  const windows = process.platform === 'win32';
  const binDirectory = join(root, 'node_modules', '.bin');
  const program = 'bin' in command ? join(binDirectory, windows ? `${command.bin}.cmd` : command.bin) : findNode();
  const leading = 'bin' in command ? [] : [youngGeneration, '--import', stopWithParent(), resolve(root, command.file)];
  const child = spawn(program, [...leading, ...command.parameters], {
    env: {
      // Node caches compiled TypeScript files there by content, which speeds up the next start.
      NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'tollkeeper'),
      // A DNS lookup occupies a thread until its name server responds: a few dead ones must not block all others.
      UV_THREADPOOL_SIZE: '64',
      ...process.env,
      ...pathWith(binDirectory),
      TOLLKEEPER_LAUNCHER: String(process.pid),
    },
    stdio: 'bin' in command ? 'inherit' : ['inherit', 'inherit', 'inherit', 'ipc'],
    // A separate process group, so that the program gets signals only from us, and each once. On Windows that would
    // open a window.
    detached: !windows,
    shell: windows && 'bin' in command,
  });
  if (!windows) forwardSignals(child);
  // On Windows Ctrl-C reaches the child as well, and the child decides when we end.
  else for (const signal of stopSignals) process.on(signal, () => undefined);
  return new Promise((ended, failed) => {
    child.once('error', (error) =>
      failed(new LauncherProblem(`${program} cannot be run (${error.message}). ${advice()}`)),
    );
    child.once('exit', (code, signal) => {
      for (const name of stopSignals) process.removeAllListeners(name);
      ended({ code, signal });
    });
  });
}

function forwardSignals(child) {
  const lastAt = new Map();
  const forward = (signal) => {
    const now = performance.now();
    if (now - (lastAt.get(signal) ?? Number.NEGATIVE_INFINITY) < samePressMs) return;
    lastAt.set(signal, now);
    signalGroup(child, signal);
  };
  for (const signal of stopSignals) process.on(signal, forward);
  if (process.env.npm_lifecycle_event === undefined) return;
  // npm runs us in a shell and sends SIGTERM to the shell, which ends without notifying us.
  const parent = process.ppid;
  const check = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(check);
    if (lastAt.size === 0) forward('SIGTERM');
  }, parentCheckMs);
  check.unref();
}

/** Signals the program and its children, as a terminal does. */
function signalGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has already ended, which the signal asks for anyway.
  }
}

/** The Node that package.json pins, or the current one if new enough. */
function findNode() {
  const pinned = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(pinned)) return pinned;
  if (Number.parseInt(process.versions.node, 10) >= neededNode) return process.execPath;
  throw new LauncherProblem(`its Node ${neededNode} (the npm package "node") is not installed. ${advice()}`);
}

function advice() {
  return [
    'Do one of these:',
    '  npm rebuild node --ignore-scripts=false    (in the project; downloads it, where npm was told to run no scripts)',
    `  install Node ${neededNode} or newer from https://nodejs.org and run the command with that`,
  ].join('\n');
}

function pathWith(directory) {
  // Windows calls it Path, and a second entry in capitals would hide it.
  const name = Object.keys(process.env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  return { [name]: [directory, process.env[name]].filter(Boolean).join(delimiter) };
}

function stopWithParent() {
  return pathToFileURL(join(root, 'scripts', 'stop-with-parent.js')).href;
}

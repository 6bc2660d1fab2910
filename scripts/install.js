// Runs on any Node from 18 on, before anything is installed: plain JavaScript, no packages.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

// The lock's owner updates it every beat; after three missed beats the lock counts as abandoned.
const beatMs = 1000;
const deadAfterMs = 3 * beatMs;

/** A problem that the user must fix; `code` is the exit code. */
export class LauncherProblem extends Error {
  /**
   * @param {string} message
   * @param {number} code
   */
  constructor(message, code = 1) {
    super(message);
    this.code = code;
  }
}

/**
 * Installs node_modules from package-lock.json, unless it is up to date.
 * @param {string} root the project's directory
 */
export async function installMissing(root) {
  const wanted = await stampOf(root);
  if ((await findReason(root, wanted)) === null) return;
  const release = await lock(join(root, '.install.lock'));
  try {
    // Another command may have installed while this one waited.
    const reason = await findReason(root, wanted);
    if (reason === null) return;
    console.error(`Tollkeeper: ${reason}, so the packages are installed now (npm ci).`);
    await npmCi(root);
    await writeFile(stampPath(root), wanted);
  } finally {
    await release();
  }
}

/** The reason for an install, or null. A manual npm install is accepted too, and recorded. */
async function findReason(root, wanted) {
  const stamp = await readIfThere(stampPath(root));
  if (stamp === wanted) return null;
  if (stamp !== null && platformOf(stamp) !== platformOf(wanted)) {
    return `node_modules was installed on another kind of machine (${platformOf(stamp)})`;
  }
  const installed = await readIfThere(join(root, 'node_modules', '.package-lock.json'));
  if (installed === null) return 'node_modules is missing or was left half installed';
  const lockfile = await readFile(join(root, 'package-lock.json'), 'utf8');
  if (!covers(JSON.parse(installed).packages, JSON.parse(lockfile).packages)) {
    return 'node_modules is not what package-lock.json asks for';
  }
  // In a directory of another user the record cannot be written; it is then missing the next time as well.
  await writeFile(stampPath(root), wanted).catch(() => undefined);
  return null;
}

/** Optional packages may be missing: most of them are for other machines. */
function covers(installed, wanted) {
  return Object.entries(wanted).every(([path, { version, optional, devOptional }]) => {
    if (path === '') return true;
    const found = installed[path];
    return found === undefined ? optional === true || devOptional === true : found.version === version;
  });
}

async function npmCi(root) {
  // npm warns about the Node that it runs on, which is not the one for the packages. The runtime and the tools are
  // development dependencies, required even where NODE_ENV or npm's settings omit those.
  const parameters = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const ended = await runNpm(root, parameters);
  if (ended.error !== undefined) {
    throw new LauncherProblem(
      `npm could not be started (${ended.error.message}). It comes with Node: https://nodejs.org`,
    );
  }
  if (ended.code === 0) return;
  const how = ended.signal === null ? `exit code ${ended.code}` : ended.signal;
  throw new LauncherProblem(`npm ci failed (${how}); what it says about it stands above.`, ended.code ?? 1);
}

function runNpm(root, parameters) {
  const { command, leading, shell } = npmCommand();
  // npm's output goes to stderr: stdout belongs to the requested command.
  const child = spawn(command, [...leading, ...parameters], { cwd: root, stdio: ['ignore', 2, 2], shell });
  const forward = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward);
  return new Promise((ended) => {
    child.once('error', (error) => ended({ error }));
    child.once('exit', (code, signal) => ended({ code, signal }));
  }).finally(() => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, forward);
  });
}

/** The npm that started this process, if any: it need not be in the PATH. */
function npmCommand() {
  const running = process.env.npm_execpath;
  if (running !== undefined && basename(running) === 'npm-cli.js') {
    return { command: process.execPath, leading: [running], shell: false };
  }
  // On Windows npm is a script for the shell.
  return { command: 'npm', leading: [], shell: process.platform === 'win32' };
}

/** Waits until this process has created the lock file; returns the release function. */
async function lock(path) {
  let told = false;
  while (!(await create(path))) {
    const age = await ageOf(path);
    if (age !== null && age > deadAfterMs) await rm(path, { force: true });
    else if (!told) {
      console.error('Tollkeeper: another command is installing the packages; waiting for it.');
      told = true;
    }
    await sleep(100);
  }
  const beat = setInterval(() => utimes(path, new Date(), new Date()).catch(() => undefined), beatMs);
  return async () => {
    clearInterval(beat);
    await rm(path, { force: true });
  };
}

async function create(path) {
  try {
    await (await open(path, 'wx')).close();
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw new LauncherProblem(`The packages must be installed, but ${path} cannot be written (${error.code}).`);
  }
}

async function ageOf(path) {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch {
    return null;
  }
}

/** Identifies the lockfile and the platform: packages with native programs differ between machines. */
async function stampOf(root) {
  const lockfile = await readFile(join(root, 'package-lock.json'));
  return `${process.platform}-${process.arch} ${createHash('sha256').update(lockfile).digest('hex')}\n`;
}

function platformOf(stamp) {
  return stamp.split(' ')[0];
}

function stampPath(root) {
  return join(root, 'node_modules', '.tollkeeper-installed');
}

async function readIfThere(path) {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

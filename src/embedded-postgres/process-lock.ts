import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { hasCode, isMissing, makeDataDirectory } from './data-directory.ts';

/** A lock on a data directory, held by one service until it is released or its process ends. */
type ServiceLock = { release(): Promise<void> };

type Holder = { pid: number; birth: string };

// A contender that loses the race for a stale lock tries again; more than a few seconds of this means a bug or a broken
// disk.
const maximumRounds = 500;
const roundMs = 10;

/**
 * Makes this process the only service of a data directory (created if missing). A lock of a killed process does not
 * count, even if another process now has its pid. Throws when another service is alive.
 */
export async function acquireServiceLock(dataDirectory: string): Promise<ServiceLock> {
  const directory = await makeDataDirectory(dataDirectory);
  const path = lockPath(directory);
  const mine = JSON.stringify({ pid: process.pid, birth: await birthOf(process.pid) });
  for (let round = 0; round < maximumRounds; round += 1) {
    if (await createWhole(path, mine)) return { release: () => removeIfUnchanged(path, mine) };
    const found = await readIfThere(path);
    if (found === null) continue;
    const holder = await livingHolder(found);
    if (holder !== null) throw alreadyServing(holder, directory);
    await removeStale(path, found, mine);
  }
  throw new Error(`Cannot acquire the lock ${path}: it keeps changing.`);
}

/**
 * Removes the lock of a dead process, one contender at a time. The contender checks again, so that a lock taken by a
 * live process meanwhile is never touched. A turn file of a dead process does not count.
 */
async function removeStale(path: string, stale: string, mine: string): Promise<void> {
  const turn = `${path}.turn`;
  if (await createWhole(turn, mine)) {
    if ((await readIfThere(path)) === stale) await rm(path, { force: true });
    await rm(turn, { force: true });
    return;
  }
  const other = await readIfThere(turn);
  if (other !== null && (await livingHolder(other)) === null) await removeIfUnchanged(turn, other);
  else await sleep(roundMs);
}

/** The pid of the live process that holds the lock of a data directory, or null. */
export async function serviceLockHolder(dataDirectory: string): Promise<number | null> {
  const found = await readIfThere(lockPath(resolve(dataDirectory)));
  return found === null ? null : livingHolder(found);
}

/** The error for a second service. */
export function alreadyServing(pid: number, dataDirectory: string): Error {
  return new Error(
    `Another Tollkeeper (process ${pid}) is already serving from ${dataDirectory}; stop it or set TOLLKEEPER_DATA_DIR.`,
  );
}

/**
 * An identity that distinguishes a live process from an earlier one with the same pid, or null if there is none. A
 * zombie counts as dead: it stays listed until its parent collects it.
 */
export async function birthOf(pid: number): Promise<string | null> {
  if (process.platform === 'win32') return signalReaches(pid) ? 'running' : null;
  if (process.platform === 'linux') return birthOnLinux(pid);
  const line = await ps(pid, 'stat=,lstart=');
  return line === '' || line.startsWith('Z') ? null : line.replace(/^\S+\s+/, '');
}

/** The command line of a live process, or null if there is none or the system does not provide it. */
export async function commandLineOf(pid: number): Promise<string | null> {
  if (process.platform === 'win32') return null;
  if (process.platform !== 'linux') return (await ps(pid, 'command=')) || null;
  const raw = await readIfThere(`/proc/${pid}/cmdline`);
  return raw === null || raw === '' ? null : raw.replaceAll('\0', ' ');
}

/** Whether any process has this pid, including zombies and those of other users. */
export function signalReaches(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

async function birthOnLinux(pid: number): Promise<string | null> {
  const stat = await readIfThere(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The second field is the program name in parentheses, which may itself contain blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, startTicks] = [fields[0], fields[19]];
  if (state === 'Z' || state === 'X') return null;
  // Ticks count from boot, so they are only comparable within one boot.
  const boot = (await readIfThere('/proc/sys/kernel/random/boot_id')) ?? '';
  return `${boot.trim()} ${startTicks}`;
}

async function ps(pid: number, columns: string): Promise<string> {
  try {
    const requested = ['-ww', '-o', columns, '-p', String(pid)];
    return (await promisify(execFile)('ps', requested, { env: { ...process.env, LC_ALL: 'C' } })).stdout.trim();
  } catch {
    // ps fails if the process does not exist.
    return '';
  }
}

async function livingHolder(content: string): Promise<number | null> {
  const holder = parseHolder(content);
  if (holder === null) return null;
  return (await birthOf(holder.pid)) === holder.birth ? holder.pid : null;
}

function parseHolder(content: string): Holder | null {
  try {
    const { pid, birth } = JSON.parse(content);
    return Number.isInteger(pid) && typeof birth === 'string' ? { pid, birth } : null;
  } catch {
    // A torn file after a power failure has no holder.
    return null;
  }
}

/** Creates a file atomically with its content; false if it exists. */
async function createWhole(path: string, content: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, content, { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Renamed first, because another process may replace a stale lock between reading and removing it. */
async function removeIfUnchanged(path: string, content: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  const moved = await readFile(aside, 'utf8');
  if (moved !== content) await createWhole(path, moved);
  await rm(aside, { force: true });
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    // The process ended while its entry was being read.
    if (isMissing(error) || hasCode(error, 'ESRCH')) return null;
    throw error;
  }
}

function lockPath(directory: string): string {
  return join(directory, 'service.lock');
}

import { randomUUID } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readdir, readFile, realpath, rename, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { type Account, closedOnTheWay } from './account.ts';
import { type Binaries, runBinary, versionOf } from './binaries.ts';
import { isMissing, syncDirectory, writeDurably } from './data-directory.ts';
import { commandLineOf, signalReaches } from './process-lock.ts';

/** A live PostgreSQL server. `status` is PostgreSQL's own word: starting, ready, stopping. */
type Server = { pid: number; port: number; status: string };

/** The superuser of the cluster, and the name of its database. */
export const [superuserName, databaseName] = ['tollkeeper', 'tollkeeper'];

const settingsFile = 'tollkeeper.conf';

const draftPrefix = 'postgres.new.';

// Far above the pid limit of any system.
const impossiblePid = 2 ** 31 - 2;

/** The real path of a data directory's cluster, or null before the first start. */
export async function findCluster(dataDirectory: string): Promise<string | null> {
  const entry = clusterEntry(dataDirectory);
  try {
    await lstat(entry);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  try {
    return await realpath(entry);
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new Error(`${entry} points to data that is missing. Restore it, or remove ${entry} to start empty.`, {
      cause: error,
    });
  }
}

/** Creates the cluster of a data directory and returns its real path. */
export async function createCluster(
  dataDirectory: string,
  binaries: Binaries,
  sharedDirectory: string,
  options: { password: string; sync: boolean; logPath: string },
): Promise<string> {
  const place = { dataDirectory, account: binaries.account, sharedDirectory, sync: options.sync };
  return placeCluster(place, (draft) => initialize(draft, binaries, options));
}

/** The location of a new cluster, and the account that owns it. */
type ClusterPlace = { dataDirectory: string; account: Account | null; sharedDirectory: string; sync: boolean };

/**
 * Lets `fill` fill an empty directory, then makes it the cluster of the data directory and returns its real path. The
 * cluster appears atomically: an interrupted start leaves nothing that looks like data. If the account cannot reach the
 * data directory, the files are stored under `sharedDirectory` and a symlink points there.
 */
export async function placeCluster(place: ClusterPlace, fill: (draft: string) => Promise<void>): Promise<string> {
  const { dataDirectory, account } = place;
  const home = await clusterHome(dataDirectory, account, place.sharedDirectory);
  const cluster = join(home, 'postgres');
  await removeDrafts(home);
  const draft = join(home, `${draftPrefix}${randomUUID()}`);
  await mkdir(draft, { mode: 0o700 });
  await give(draft, account);
  await fill(draft);
  await rename(draft, cluster);
  if (home !== dataDirectory) await symlink(cluster, clusterEntry(dataDirectory));
  if (place.sync) await Promise.all([syncDirectory(home), syncDirectory(dataDirectory)]);
  return realpath(cluster);
}

/** Writes settings for the next start of the server; they override postgresql.conf. */
export async function writeSettings(cluster: string, settings: Record<string, string>): Promise<void> {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
  await writeDurably(join(cluster, settingsFile), lines.join(''), 'w');
}

/** The server that runs on the cluster, or null. A stale postmaster.pid does not count. */
export async function readServer(cluster: string): Promise<Server | null> {
  const lines = await readPidFile(cluster);
  if (lines === null) return null;
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  const status = lines[7]?.trim() ?? 'starting';
  return Number.isInteger(pid) && (await servesCluster(pid, cluster)) ? { pid, port, status } : null;
}

/**
 * A stale postmaster.pid blocks the start while any process has its pid: a new process with the same number, or an
 * uncollected zombie. The file is kept, because PostgreSQL uses it to detect workers of the killed server; only the pid
 * is replaced by an impossible one.
 */
export async function disarmStalePid(cluster: string): Promise<void> {
  const lines = await readPidFile(cluster);
  if (lines === null || !signalReaches(Number(lines[0]))) return;
  if (await servesCluster(Number(lines[0]), cluster)) return;
  await writeDurably(pidFile(cluster), [impossiblePid, ...lines.slice(1)].join('\n'), 'w');
}

async function servesCluster(pid: number, cluster: string): Promise<boolean> {
  // Windows has no cheap way to read a command line; PostgreSQL's own check must do.
  if (process.platform === 'win32') return signalReaches(pid);
  return `${await commandLineOf(pid)} `.includes(`-D ${cluster} `);
}

/**
 * Removes remains of interrupted starts. Each has a unique name, because its initdb may still be running, and cleans up
 * when its files are gone. A draft that cannot be removed now does no harm.
 */
async function removeDrafts(home: string): Promise<void> {
  const drafts = (await readdir(home)).filter((name) => name.startsWith(draftPrefix));
  await Promise.allSettled(drafts.map((name) => rm(join(home, name), { recursive: true, force: true })));
}

async function clusterHome(dataDirectory: string, account: Account | null, sharedDirectory: string): Promise<string> {
  if (account === null) return dataDirectory;
  // The files in the directory stay protected individually; the account only needs to traverse it.
  await chmod(dataDirectory, (await stat(dataDirectory)).mode | 0o011);
  if ((await closedOnTheWay(dataDirectory, account)) === null) return dataDirectory;
  const home = join(sharedDirectory, randomUUID());
  await mkdir(home, { recursive: true, mode: 0o755 });
  return home;
}

async function initialize(
  directory: string,
  binaries: Binaries,
  { password, sync, logPath }: { password: string; sync: boolean; logPath: string },
): Promise<void> {
  const passwordFile = `${directory}.password`;
  const parameters = [`--pgdata=${directory}`, `--username=${superuserName}`, `--pwfile=${passwordFile}`];
  parameters.push('--auth=scram-sha-256', '--encoding=UTF8', '--no-locale', '--no-instructions');
  // PostgreSQL 17 and later have a builtin locale provider with the same rules on every machine.
  if (Number.parseInt(await versionOf(binaries.directory), 10) >= 17) {
    parameters.push('--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  }
  if (!sync) parameters.push('--no-sync');
  try {
    await writeDurably(passwordFile, password, 'w');
    await give(passwordFile, binaries.account);
    const code = await runBinary(binaries, 'initdb', parameters, logPath);
    if (code !== 0) throw new Error(`initdb exited with ${code}`);
  } finally {
    await rm(passwordFile, { force: true });
  }
  await writeDurably(join(directory, 'postgresql.conf'), `\ninclude_if_exists = '${settingsFile}'\n`, 'a');
  await writeDurably(join(directory, settingsFile), '', 'w');
  await give(join(directory, settingsFile), binaries.account);
}

async function readPidFile(cluster: string): Promise<string[] | null> {
  try {
    return (await readFile(pidFile(cluster), 'utf8')).split('\n');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Changes the owner to the account, if PostgreSQL has a separate one. */
export async function give(path: string, account: Account | null): Promise<void> {
  if (account !== null) await chown(path, account.uid, account.gid);
}

function clusterEntry(dataDirectory: string): string {
  return join(dataDirectory, 'postgres');
}

function pidFile(cluster: string): string {
  return join(cluster, 'postmaster.pid');
}

import { randomUUID } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readdir, readFile, realpath, rename, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { type Account, closedOnTheWay } from './account.ts';
import { type Binaries, runBinary, versionOf } from './binaries.ts';
import { isMissing } from './data-directory.ts';
import { syncDirectory, writeDurably } from './durable-files.ts';
import { commandLineOf, signalReaches } from './process-lock.ts';

/** A PostgreSQL server that is alive. `status` is PostgreSQL's own word: starting, ready, stopping. */
export type Server = { pid: number; port: number; status: string };

/** The role that owns everything in the cluster, and the name of its database. */
export const ownerName = 'tollkeeper';

const settingsFile = 'tollkeeper.conf';

const draftPrefix = 'postgres.new.';

// No process has this number: the systems' limits are far lower.
const impossiblePid = 2 ** 31 - 2;

/** The real path of the cluster of a data directory, or null before the first start. */
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

/** Creates the cluster of a data directory and answers its real path. */
export async function createCluster(
  dataDirectory: string,
  binaries: Binaries,
  sharedDirectory: string,
  options: { password: string; sync: boolean; logPath: string },
): Promise<string> {
  const place = { dataDirectory, account: binaries.account, sharedDirectory, sync: options.sync };
  return placeCluster(place, (draft) => initialize(draft, binaries, options));
}

/** Where a cluster is to appear, and who it is for. */
export type ClusterPlace = { dataDirectory: string; account: Account | null; sharedDirectory: string; sync: boolean };

/**
 * Lets `fill` fill an empty directory, and makes that the cluster of the data directory; answers its real path. It appears
 * at once and complete: a start that is killed half way leaves nothing that the next one could mistake for data.
 * With an account that cannot get to the data directory the files lie under `sharedDirectory`, and a link leads there.
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

/** Writes the settings that the next start of the server uses; they win over postgresql.conf. */
export async function writeSettings(cluster: string, settings: Record<string, string>): Promise<void> {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
  await writeDurably(join(cluster, settingsFile), lines.join(''), 'w');
}

/** The server that runs on the cluster, or null. What PostgreSQL noted about one that is gone does not count. */
export async function readServer(cluster: string): Promise<Server | null> {
  const lines = await readPidFile(cluster);
  if (lines === null) return null;
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  const status = lines[7]?.trim() ?? 'starting';
  return Number.isInteger(pid) && (await servesCluster(pid, cluster)) ? { pid, port, status } : null;
}

/**
 * A note left by a killed server makes PostgreSQL refuse to start while any process has that server's number: one that
 * got it since, or the killed one itself where nobody collects it. The note is kept, because by it PostgreSQL finds out
 * whether workers of the killed server still use the data; only the number is replaced by one that no process has.
 */
export async function disarmStalePid(cluster: string): Promise<void> {
  const lines = await readPidFile(cluster);
  if (lines === null || !signalReaches(Number(lines[0]))) return;
  if (await servesCluster(Number(lines[0]), cluster)) return;
  await writeDurably(pidFile(cluster), [impossiblePid, ...lines.slice(1)].join('\n'), 'w');
}

async function servesCluster(pid: number, cluster: string): Promise<boolean> {
  // Windows tells no command line cheaply; there PostgreSQL's own check has to do.
  if (process.platform === 'win32') return signalReaches(pid);
  return `${await commandLineOf(pid)} `.includes(`-D ${cluster} `);
}

/**
 * What killed first starts left. Each has a name of its own, because their initdb may still be at work, and cleans up
 * after itself when it finds its files gone: a draft that cannot be removed now is not in the way.
 */
async function removeDrafts(home: string): Promise<void> {
  const drafts = (await readdir(home)).filter((name) => name.startsWith(draftPrefix));
  await Promise.allSettled(drafts.map((name) => rm(join(home, name), { recursive: true, force: true })));
}

async function clusterHome(dataDirectory: string, account: Account | null, sharedDirectory: string): Promise<string> {
  if (account === null) return dataDirectory;
  // The files in the directory stay closed each by itself; the account only has to pass through.
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
  const parameters = [`--pgdata=${directory}`, `--username=${ownerName}`, `--pwfile=${passwordFile}`];
  parameters.push('--auth=scram-sha-256', '--encoding=UTF8', '--no-locale', '--no-instructions');
  // From 17 on PostgreSQL knows the letters of all languages by itself, the same on every machine.
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

/** Makes it that account's, where PostgreSQL has one of its own. */
export async function give(path: string, account: Account | null): Promise<void> {
  if (account !== null) await chown(path, account.uid, account.gid);
}

function clusterEntry(dataDirectory: string): string {
  return join(dataDirectory, 'postgres');
}

function pidFile(cluster: string): string {
  return join(cluster, 'postmaster.pid');
}

import { readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { accessPath, readAccess, urlOf } from './access.ts';
import { closedOnTheWay, postgresAccount } from './account.ts';
import { commandFrom } from './archive.ts';
import { backupParts, copyFile, copyTree, readBackupNote } from './backup.ts';
import { type Binaries, packagedBinaries, reachableBinaries, versionOf } from './binaries.ts';
import { findCluster, give, placeCluster, readServer } from './cluster.ts';
import { makeDataDirectory, writeDurably } from './data-directory.ts';
import { freePort, type Keeper, launch, logPathOf, ourSettings, quoteLog, sizeOf, stop } from './server.ts';

/**
 * Options of a restore. The `backup` is a directory made by takeBackup; the `dataDirectory` is the target, which has no
 * data yet. The `wal` is the WAL archive to replay, to its end or to the instant `until` (epoch milliseconds).
 */
type RestoreOptions = {
  backup: string;
  dataDirectory: string;
  wal: string | null;
  until: number | null;
  log: (message: string) => void;
  settings?: Record<string, string>;
  binaries?: string;
  sharedDirectory?: string;
};

/** The time of the last replayed commit, in epoch milliseconds; null if none was replayed. */
type Restored = { lastCommitAt: number | null };

const pollMs = 50;
// Replaying WAL takes less time than writing it did. A backup that needs more hours than this is too old.
const recoveryTimeoutMs = 24 * 3_600_000;

const segmentsPerLog = 256;

/**
 * Restores a backup into a data directory and replays the WAL archive. The data appears there only after recovery has
 * succeeded. Throws when there is data already, when the archive ends before `until`, and when it has a gap.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const backup = resolve(options.backup);
  const note = await readBackupNote(backup);
  if (options.until !== null && options.until < note.endedAt) {
    throw new Error(`--until: this backup ends at ${new Date(note.endedAt).toISOString()}. Use an earlier backup.`);
  }
  const dataDirectory = await makeDataDirectory(options.dataDirectory);
  if ((await findCluster(dataDirectory)) !== null) {
    throw new Error(`${join(dataDirectory, 'postgres')} already exists: restore into an empty data directory.`);
  }
  const sharedDirectory = options.sharedDirectory ?? '/var/lib/tollkeeper';
  const account = await postgresAccount(null, options.log);
  const given = options.binaries ?? (await packagedBinaries());
  const binaries = { directory: await reachableBinaries(given, account, sharedDirectory), account };
  await requireVersion(binaries, note.postgresMajor);
  const recovery = await recoverySettings(options, binaries);
  if (options.wal !== null && options.until === null) await refuseGap(options.wal, note.lastWal);
  await rm(accessPath(dataDirectory), { force: true });
  await copyFile(join(backup, backupParts.access), accessPath(dataDirectory));
  let restored: Restored = { lastCommitAt: null };
  const sync = options.settings?.fsync !== 'off';
  await placeCluster({ dataDirectory, account, sharedDirectory, sync }, async (draft) => {
    const keeper = { dataDirectory, cluster: draft, binaries, logPath: logPathOf(dataDirectory) };
    try {
      await copyTree(join(backup, backupParts.cluster), draft, { made: (path) => give(path, account) });
      if (options.wal !== null) await writeSignal(draft, binaries);
      restored = await recover(keeper, { ...ourSettings, ...options.settings, ...recovery });
    } catch (error) {
      await stop(keeper);
      await rm(draft, { recursive: true, force: true });
      await rm(accessPath(dataDirectory), { force: true });
      throw error;
    }
  });
  return restored;
}

async function requireVersion({ directory }: Binaries, major: number): Promise<void> {
  const version = await versionOf(directory);
  if (Number.parseInt(version, 10) === major) return;
  throw new Error(
    `This backup was taken with PostgreSQL ${major}, and this is ${version}: use the Tollkeeper version that took it.`,
  );
}

async function recoverySettings({ wal, until }: RestoreOptions, { account }: Binaries) {
  // No connections before the end of recovery; a failed recovery stops the server.
  const settings: Record<string, string> = { hot_standby: 'off', archive_mode: 'off' };
  if (wal === null) {
    if (until !== null) throw new Error('--until requires the WAL archive: --wal <directory>');
    return settings;
  }
  if (!(await stat(wal).catch(() => null))?.isDirectory())
    throw new Error(`--wal: ${resolve(wal)} is not a directory.`);
  const closed = account === null ? null : await closedOnTheWay(resolve(wal), account);
  if (closed !== null)
    throw new Error(`--wal: PostgreSQL runs as user ${account?.uid}, who cannot traverse ${closed}.`);
  settings.restore_command = commandFrom(wal);
  settings.recovery_target_action = 'promote';
  if (until !== null)
    settings.recovery_target_time = new Date(until).toISOString().replace('T', ' ').replace('Z', '+00');
  return settings;
}

/** Without a target, PostgreSQL would take a gap for the end of the archive and silently skip everything after it. */
async function refuseGap(wal: string, lastOfBackup: string): Promise<void> {
  const timeline = lastOfBackup.slice(0, 8);
  const numberOf = (name: string) =>
    Number.parseInt(name.slice(8, 16), 16) * segmentsPerLog + Number.parseInt(name.slice(16), 16);
  const hexadecimal = (value: number) => value.toString(16).toUpperCase().padStart(8, '0');
  const names = (await readdir(wal)).filter((name) => /^[0-9A-F]{24}$/.test(name) && name.startsWith(timeline));
  let next = numberOf(lastOfBackup) + 1;
  for (const number of names.map(numberOf).sort((a, b) => a - b)) {
    if (number < next) continue;
    const missing = `${timeline}${hexadecimal(Math.floor(next / segmentsPerLog))}${hexadecimal(next % segmentsPerLog)}`;
    if (number > next) throw new Error(`--wal: ${missing} is missing, but later files exist. Add it, or use --until.`);
    next += 1;
  }
}

/** Tells PostgreSQL to continue with the archive after the backup. */
async function writeSignal(cluster: string, { account }: Binaries): Promise<void> {
  await writeDurably(join(cluster, 'recovery.signal'), '', 'wx');
  await give(join(cluster, 'recovery.signal'), account);
}

/** Starts the server, waits for the end of recovery, and stops it. */
async function recover(keeper: Keeper, settings: Record<string, string>): Promise<Restored> {
  const port = await freePort(0);
  const logged = await sizeOf(keeper.logPath);
  const failure = await launch(keeper, { ...settings, port: String(port) });
  if (failure !== null) throw failure;
  const begunAt = performance.now();
  for (;;) {
    const server = await readServer(keeper.cluster);
    if (server?.status === 'ready') break;
    if (server === null) throw new Error(`PostgreSQL did not recover. ${await quoteLog(keeper.logPath, logged)}`);
    if (performance.now() - begunAt > recoveryTimeoutMs)
      throw new Error(
        `PostgreSQL did not recover within ${recoveryTimeoutMs / 3_600_000} hours; see ${keeper.logPath}.`,
      );
    await sleep(pollMs);
  }
  const lastCommitAt = await readLastCommit(keeper.dataDirectory, port);
  await stop(keeper);
  return { lastCommitAt };
}

async function readLastCommit(dataDirectory: string, port: number): Promise<number | null> {
  const access = await readAccess(dataDirectory);
  const client = new Client({ connectionString: urlOf(access?.password ?? '', port) });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query(
      'select (extract(epoch from pg_last_xact_replay_timestamp()) * 1000)::bigint::text as at',
    );
    const at: unknown = rows[0]?.at;
    return at === null ? null : Number(at);
  } finally {
    await client.end();
  }
}

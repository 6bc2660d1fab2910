import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Client } from 'pg';
import { z } from 'zod';
import { accessPath } from './access.ts';
import { findCluster } from './cluster.ts';
import { isMissing, isThere, syncDirectory, writeDurably } from './data-directory.ts';

// Online backup of the embedded server: its files and the WAL that makes them consistent.

/** The description of a backup, in `backup.json`. Instants are epoch milliseconds. */
const BackupNote = z.object({
  startedAt: z.number().int(),
  /** The earliest instant that a restore can reach. */
  endedAt: z.number().int(),
  /** The PostgreSQL major version that can read it. */
  postgresMajor: z.number().int(),
  firstWal: z.string(),
  lastWal: z.string(),
  files: z.number().int(),
  bytes: z.number().int(),
});
type BackupNote = z.infer<typeof BackupNote>;

/** The paths within a backup. */
export const backupParts = { cluster: 'cluster', access: 'postgres.json', note: 'backup.json' } as const;

// Files that PostgreSQL recreates at startup, or that would mislead it.
const emptied = /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)[\\/]/;
const leftOut = /(^|[\\/])(postmaster\.(pid|opts)|pgsql_tmp[^\\/]*|pg_internal\.init[^\\/]*|current_logfiles)$/;
// Copied last, after every file that it describes.
const control = join('global', 'pg_control');

const walName = /^[0-9A-F]{24}$/;

/**
 * Copies the running embedded server of a data directory into a new directory. `url` is the owner's. Throws if the
 * directory is not empty. A completed backup is always whole: an interrupted one has a different name.
 */
export async function takeBackup(dataDirectory: string, url: string, destination: string): Promise<BackupNote> {
  const target = resolve(destination);
  if (await isThere(target)) throw new Error(`${target} already exists: a backup needs a new directory.`);
  const cluster = await findCluster(dataDirectory);
  if (cluster === null) throw new Error(`There is no data in ${dataDirectory}.`);
  const draft = `${target}.${randomUUID()}.partial`;
  await mkdir(draft, { recursive: true, mode: 0o700 });
  try {
    const note = await connected(url, (client) => copyRunning(client, cluster, draft));
    await copyFile(accessPath(dataDirectory), join(draft, backupParts.access));
    await writeDurably(join(draft, backupParts.note), `${JSON.stringify(note, null, 2)}\n`, 'wx');
    await syncDirectory(draft);
    await rename(draft, target);
    await syncDirectory(dirname(target));
    return note;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

/** Reads the description of a backup. Throws when there is none. */
export async function readBackupNote(directory: string): Promise<BackupNote> {
  const path = join(directory, backupParts.note);
  try {
    return BackupNote.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (cause) {
    if (isMissing(cause)) throw new Error(`${directory} is not a backup: ${path} is missing.`, { cause });
    throw new Error(`${path} cannot be read.`, { cause });
  }
}

async function copyRunning(client: Client, cluster: string, draft: string): Promise<BackupNote> {
  const spaces = await client.query("select from pg_tablespace where spcname not in ('pg_default', 'pg_global')");
  if (spaces.rowCount !== 0)
    throw new Error('The database has custom tablespaces, which this backup does not support.');
  // The slot keeps WAL from being recycled during the copy, with or without an archive; it ends with the connection.
  await client.query('select pg_create_physical_replication_slot($1, true, true)', [`backup_${process.pid}`]);
  const startedAt = Date.now();
  const first = await one(client, 'select pg_walfile_name(pg_backup_start($1, true)) as wal', ['tollkeeper backup']);
  const target = join(draft, backupParts.cluster);
  const takes = (path: string) => !emptied.test(path) && !leftOut.test(path) && path !== control;
  const copied = await copyTree(cluster, target, { takes });
  await copyFile(join(cluster, control), join(target, control));
  const end = await one(
    client,
    `select pg_walfile_name(lsn) as wal, labelfile as label, (extract(epoch from clock_timestamp()) * 1000)::bigint as at,
            current_setting('server_version_num')::integer / 10000 as major
       from pg_backup_stop(false)`,
  );
  await writeDurably(join(target, 'backup_label'), String(end.label), 'wx');
  const [firstWal, lastWal] = [String(first.wal), String(end.wal)];
  const wal = await copyWal(join(cluster, 'pg_wal'), join(target, 'pg_wal'), firstWal, lastWal);
  return {
    startedAt,
    endedAt: Number(end.at),
    postgresMajor: Number(end.major),
    firstWal,
    lastWal,
    files: copied.files + wal.files + 2,
    bytes: copied.bytes + wal.bytes,
  };
}

/** Copies the WAL files that the backup needs, and the timeline history files. */
async function copyWal(from: string, to: string, first: string, last: string) {
  const names = await readdir(from);
  const needed = names.filter((name) => walName.test(name) && name >= first && name <= last);
  if (!needed.includes(first) || !needed.includes(last))
    throw new Error(`The WAL from ${first} to ${last} is incomplete in ${from}.`);
  const taken = [...needed, ...names.filter((name) => name.endsWith('.history'))];
  let bytes = 0;
  for (const name of taken) bytes += (await copyFile(join(from, name), join(to, name))) ?? 0;
  await syncDirectory(to);
  return { files: taken.length, bytes };
}

async function one(client: Client, query: string, values: readonly unknown[] = []): Promise<Record<string, unknown>> {
  const { rows } = await client.query<Record<string, unknown>>(query, [...values]);
  const [row] = rows;
  if (row === undefined) throw new Error('PostgreSQL answered nothing');
  return row;
}

async function connected<Answer>(url: string, act: (client: Client) => Promise<Answer>): Promise<Answer> {
  const client = new Client({ connectionString: url });
  // A broken connection also fails the query; without a listener the event would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

// Durable file copies: synced to disk before they are reported as done.

const chunkBytes = 2 ** 20;
// Parallel copies keep the disk busy.
const copiedAtOnce = 16;

/** The size of a copied tree. */
interface Copied {
  readonly files: number;
  readonly bytes: number;
}

interface CopyOptions {
  /** Whether to copy a path, relative to the tree; a skipped directory is skipped with its contents. */
  readonly takes?: (path: string) => boolean;
  /** Called for every file and directory created. */
  readonly made?: (path: string) => Promise<void>;
}

/**
 * Copies a tree that others may be writing to. A file that disappears meanwhile is skipped; one that grows or shrinks
 * is copied as read. Throws on anything other than a file or directory.
 */
export async function copyTree(from: string, to: string, options: CopyOptions = {}): Promise<Copied> {
  const files: string[] = [];
  const directories = [''];
  for (const directory of directories) {
    for (const entry of await readdir(join(from, directory), { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (!(options.takes?.(path) ?? true)) continue;
      if (entry.isDirectory()) directories.push(path);
      else if (entry.isFile()) files.push(path);
      else throw new Error(`${join(from, path)} is neither a file nor a directory and cannot be copied`);
    }
  }
  for (const directory of directories) {
    await mkdir(join(to, directory), { recursive: true, mode: 0o700 });
    await options.made?.(join(to, directory));
  }
  const copied = await copyAll(from, to, files, options);
  for (const directory of directories) await syncDirectory(join(to, directory));
  return copied;
}

async function copyAll(from: string, to: string, files: readonly string[], { made }: CopyOptions): Promise<Copied> {
  const waiting = files.values();
  let [count, bytes] = [0, 0];
  const copy = async () => {
    // The iterator is shared, so each worker takes the next waiting path.
    for (const path of waiting) {
      const taken = await copyFile(join(from, path), join(to, path));
      if (taken === null) continue;
      await made?.(join(to, path));
      count += 1;
      bytes += taken;
    }
  };
  await Promise.all(Array.from({ length: copiedAtOnce }, copy));
  return { files: count, bytes };
}

/** Copies one file and returns its size, or null if it does not exist. Throws if the target exists. */
export async function copyFile(from: string, to: string): Promise<number | null> {
  const source = await open(from, 'r').catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (source === null) return null;
  try {
    const target = await open(to, 'wx', 0o600);
    try {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      let bytes = 0;
      for (;;) {
        const { bytesRead } = await source.read(chunk, 0, chunk.length, null);
        if (bytesRead === 0) break;
        await target.writeFile(chunk.subarray(0, bytesRead));
        bytes += bytesRead;
      }
      await target.sync();
      return bytes;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

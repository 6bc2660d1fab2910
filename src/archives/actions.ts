import assert from 'node:assert/strict';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { whereTablesChange } from '../database/citus.ts';
import { createDatabase, type Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import {
  archivedBefore,
  type EventSettings,
  fileOf,
  isBucket,
  isFull,
  partitionDays,
  uniqueSince,
  versionOf,
} from './archive.ts';
import * as store from './store.ts';
import {
  type ArchiveStorage,
  Digest,
  directoryStorage,
  refuseOther,
  type StoredFile,
  takeFirstLine,
  verifyFile,
} from './store-files.ts';

/** The partitions of usage events and their archives: of all environments, by the connections of the worker. */
export interface Archives {
  readonly settings: EventSettings;
  readonly worker: Database;
  readonly pool: pg.Pool;
  /** Null: nothing is archived. */
  readonly storage: ArchiveStorage | null;
}

/** The part of the external services that moves events. A process may go without. */
export interface WithArchives {
  readonly archives?: Archives;
}

/** Archives while no other process moves events. */
interface HeldArchives extends Archives {
  /** The connections that make, attach and drop partitions. */
  readonly changing: Database;
}

interface ArchiveConfig {
  readonly events: EventSettings;
  readonly archive: string | null;
  readonly archiveEndpoint: string | null;
}

/** The archives of a process with these settings. */
export async function openArchives(
  { worker, workerPool }: { readonly worker: Database; readonly workerPool: pg.Pool },
  config: ArchiveConfig,
): Promise<Archives> {
  return { settings: config.events, worker, pool: workerPool, storage: await openStorage(config) };
}

async function openStorage({ archive, archiveEndpoint }: ArchiveConfig): Promise<ArchiveStorage | null> {
  if (archive === null) return null;
  if (!isBucket(archive)) return directoryStorage(archive);
  // A client of many files, which only some installations load.
  const { objectStorage } = await import('./store-objects.ts');
  return objectStorage(archive, { endpoint: archiveEndpoint });
}

/** The archives that the service was started with. */
export function archivesOf({ archives }: WithArchives = {}): Archives | undefined {
  return archives;
}

// Pauses grow, because usage waits behind each attempt. After ten minutes the job gives up until its next time.
const lockWait = { pauseMs: 500, longestPauseMs: 10_000, totalMs: 600_000 };

/**
 * Runs `act` while no other process moves events. Null: another one does, and `waits` is false. The lock ends with its
 * connection, so a process that is killed leaves none.
 */
async function alone<Answer>(
  archives: Archives,
  waits: boolean,
  act: (archives: HeldArchives) => Promise<Answer>,
): Promise<Answer | null> {
  const { pool } = archives;
  const client = await pool.connect();
  try {
    for (;;) {
      const { rows } = await client.query<{ taken: boolean }>(
        'select pg_try_advisory_lock($1, hashtext(current_schema())) as taken',
        [advisoryLocks.archives],
      );
      if (rows[0]?.taken) break;
      if (!waits) return null;
      await sleep(lockWait.pauseMs);
    }
    return await whereTablesChange(pool, (changing) => act({ ...archives, changing: createDatabase(changing) }));
  } finally {
    await client
      .query('select pg_advisory_unlock($1, hashtext(current_schema()))', [advisoryLocks.archives])
      .catch(() => undefined);
    client.release();
  }
}

/** Repeats what gives up after a short wait for a lock, because usage would queue behind it. */
async function untilUnlocked(act: () => Promise<void>, totalMs = lockWait.totalMs): Promise<void> {
  const endsAt = performance.now() + totalMs;
  for (let { pauseMs } = lockWait; ; pauseMs = Math.min(pauseMs * 2, lockWait.longestPauseMs)) {
    try {
      await act();
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== '55P03' || performance.now() > endsAt) throw error;
      await sleep(pauseMs);
    }
  }
}

/**
 * Makes the next partition ahead, opens it when the open one is full, and archives those whose time is over. Safe to run
 * twice, and to be killed anywhere.
 */
export async function keepPartitions(archives: Archives, now: Instant): Promise<void> {
  const { settings, worker, storage } = archives;
  if (partitionDays(settings) === null) return;
  await alone(archives, false, async (held) => {
    const { changing } = held;
    const partitions = await store.listPartitions(worker);
    const open = partitions.find(({ state }) => state === 'open');
    assert(open?.openedAt != null, 'one partition is open');
    await untilUnlocked(() => store.prepareNext(changing));
    if (isFull(settings, open.openedAt, now))
      await untilUnlocked(() => store.openNext(worker, now, uniqueSince(settings, now)));
    const closedBy = archivedBefore(settings, now);
    if (closedBy === null || storage === null) return;
    // Tables that a killed process has loaded.
    for (const { number, state } of partitions) if (state === 'archived') await store.dropLoaded(changing, number);
    for (const number of await store.listArchivable(worker, closedBy)) await archivePartition(held, number, now);
    for (const { number, fileIsOld } of partitions) if (fileIsOld) await renewFile(held, number);
  });
}

/**
 * Lets the usage events of closed slots of `source` arrive in this cell. False: somebody moves events of this cell, or reads them
 * for longer than the slots may be closed.
 */
export async function letEventsArrive(
  archives: Archives,
  source: Database,
  { now, patienceMs }: { readonly now: Instant; readonly patienceMs: number },
): Promise<boolean> {
  const { settings, worker } = archives;
  const events = await store.findEventsOfCell(source);
  const since = uniqueSince(settings, now);
  const follows = () => store.followEvents(worker, events, now, since);
  if (await follows()) return true;
  const isReady = await alone(archives, false, async ({ changing }) => {
    await untilUnlocked(() => store.addPartitions(changing, events, now), patienceMs);
    await untilUnlocked(() => store.openNext(worker, now, since), patienceMs);
    return follows();
  });
  return isReady ?? false;
}

/**
 * Stores the events of a closed partition as a file, and drops them once it is there. It is summed up first: an erasure
 * that comes after that finds its customer among the sums, and erases the file too.
 */
async function archivePartition(archives: HeldArchives, number: number, now: Instant): Promise<void> {
  const { worker, changing } = archives;
  const events = await store.sumUp(worker, number);
  const file = fileOf(number);
  const stored = await writeFile(archives, number, file, events);
  await untilUnlocked(() => store.archive(changing, number, { file, ...stored }, now));
}

/** Writes the events of a partition, which are so many, and reads the file back. */
async function writeFile(archives: Archives, number: number, file: string, events: number): Promise<StoredFile> {
  const storage = storageOf(archives);
  const client = await archives.pool.connect();
  try {
    const source = client.query(copyTo(store.copyOut(number)));
    const digest = new Digest();
    const compressed = createGzip();
    await Promise.all([pipeline(source, compressed, digest), storage.write(file, digest)]);
    assert.equal(source.rowCount, events, 'every event of a closed partition is summed up and stored');
    const stored = digest.stored();
    await verifyFile(storage, file, stored);
    client.release();
    return stored;
  } catch (error) {
    client.release(error as Error);
    throw error;
  }
}

function storageOf({ storage }: Archives): ArchiveStorage {
  if (storage === null) throw new Error('Set TOLLKEEPER_ARCHIVE to the place of the archives.');
  return storage;
}

type Filed = store.Partition & { readonly file: string; readonly bytes: number; readonly sha256: string };

/** The partition of an archive. Refuses a number without one. */
async function findArchive({ worker }: Archives, number: number): Promise<Filed> {
  const found = (await store.listPartitions(worker)).find((partition) => partition.number === number);
  if (found === undefined || found.file === null || found.bytes === null || found.sha256 === null)
    throw new Error(`There is no archive ${number}. List them with: tollkeeper archives list`);
  return { ...found, file: found.file, bytes: found.bytes, sha256: found.sha256 };
}

/** Loads the events of an archive into a table of its own. */
async function loadFile(archives: HeldArchives, { number, file, bytes, sha256 }: Filed): Promise<void> {
  const storage = storageOf(archives);
  await store.beginLoad(archives.changing, number);
  const client = await archives.pool.connect();
  try {
    const digest = new Digest();
    await pipeline(await storage.read(file), digest, createGunzip(), async (text: AsyncIterable<Buffer>) => {
      const { line, rest } = await takeFirstLine(text);
      await pipeline(rest, client.query(copyFrom(store.copyIn(number, line))));
    });
    refuseOther(file, digest.stored(), { bytes, sha256 });
    client.release();
  } catch (error) {
    client.release(error as Error);
    await store.dropLoaded(archives.changing, number);
    throw error;
  }
}

/** Brings the events of an archive back, until they are released. False: they are there. */
export async function restoreArchive(archives: Archives, number: number): Promise<boolean> {
  const isDone = await alone(archives, true, async (held) => {
    const { changing } = held;
    const found = await findArchive(archives, number);
    if (found.state === 'restored') return false;
    await loadFile(held, found);
    try {
      await store.finishLoad(changing, number);
      await untilUnlocked(() => store.attachLoaded(changing, number));
    } catch (error) {
      await store.dropLoaded(changing, number);
      throw error;
    }
    return true;
  });
  return isDone ?? false;
}

/** Drops the events of a restored archive again. False: they are not there. */
export async function releaseArchive(archives: Archives, number: number): Promise<boolean> {
  const isDone = await alone(archives, true, async (held) => {
    const { state, fileIsOld } = await findArchive(archives, number);
    if (state !== 'restored') return false;
    if (fileIsOld) await renewFile(held, number);
    await untilUnlocked(() => store.releaseRestored(held.changing, number));
    return true;
  });
  return isDone ?? false;
}

/** Writes the file of a restored archive again, without the events of customers who have moved away. */
async function renewFile(archives: HeldArchives, number: number): Promise<void> {
  const found = await findArchive(archives, number);
  const events = await store.sumUp(archives.worker, number);
  await storeNext(archives, found, events);
  await store.noteFiled(archives.worker, number);
}

/** Stores the events that the table of an archive has, and deletes its older files. */
async function storeNext(archives: HeldArchives, { number, file: former }: Filed, events: number): Promise<void> {
  const version = versionOf(former) + 1;
  const file = fileOf(number, version);
  const stored = await writeFile(archives, number, file, events);
  await store.replaceFile(archives.worker, number, { file, ...stored });
  for (let older = 1; older < version; older++) await storageOf(archives).remove(fileOf(number, older));
}

/**
 * Erases the properties of a customer's events from every archive. May be repeated: an archive is done once the files with
 * the properties are deleted.
 */
export async function eraseFromArchives(archives: Archives, environmentId: number, customerId: string): Promise<void> {
  const { worker } = archives;
  await alone(archives, true, async (held) => {
    for (const { number, state, seriesIds } of await store.listToErase(worker, environmentId, customerId)) {
      const found = await findArchive(archives, number);
      if (state === 'restored') {
        // Events that were restored since the erasure began still have their properties.
        await store.eraseRestored(worker, number, environmentId, seriesIds);
        await renewFile(held, number);
      } else {
        await loadFile(held, found);
        await store.eraseLoaded(worker, number, environmentId, seriesIds);
        await storeNext(held, found, found.events ?? 0);
        await store.dropLoaded(held.changing, number);
      }
      await store.noteErased(worker, number, environmentId, seriesIds);
    }
  });
}

/** All partitions that are archived or restored, the oldest first. */
export async function listAllArchives({ worker }: Pick<Archives, 'worker'>): Promise<store.Partition[]> {
  return (await store.listPartitions(worker)).filter(({ file }) => file !== null);
}

/** The archives with events of the environment, and since when all of its events are there. */
export async function listArchives(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfArchives(work, request);
  return { ...page(request, rows, total), keptSince: await store.findKeptSince(work) };
}

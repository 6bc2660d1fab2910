import { z } from 'zod';
import type { Config } from './config.ts';
import { takeBackup } from './embedded-postgres/backup.ts';
import { acquireServiceLock } from './embedded-postgres/process-lock.ts';
import { restoreBackup } from './embedded-postgres/restore.ts';
import { findEmbeddedPostgres } from './embedded-postgres/start.ts';
import { openServer } from './main-database.ts';

interface BackupOptions {
  readonly json?: boolean;
}

interface RestoreCommandOptions extends BackupOptions {
  readonly wal?: string;
  readonly until?: string;
}

/** Backs up the embedded server, with or without a running service. */
export async function backup(config: Config, directory: string, { json = false }: BackupOptions): Promise<void> {
  if (config.databaseUrl !== null) throw ofDatabaseUrl('A backup', 'pg_basebackup or pg_dump');
  const server = await openServer(config, null, { creates: false });
  try {
    // Only a backup needs the superuser.
    const running = await findEmbeddedPostgres(config.dataDirectory);
    if (running === null) throw new Error('PostgreSQL has stopped. Try again.');
    const note = await takeBackup(config.dataDirectory, running.url, directory);
    const text = `Backed up ${note.files} files, ${Math.ceil(note.bytes / 2 ** 20)} MB, to ${directory}.
The backup does not contain the encryption key. Keep a copy of TOLLKEEPER_ENCRYPTION_KEY, or of encryption.key in
${config.dataDirectory}, in a separate place.`;
    console.log(json ? JSON.stringify({ directory, ...note }) : text);
  } finally {
    await server.stop();
  }
}

const Instant = z.iso.datetime({ offset: true });

/** Creates a data directory from a backup and replays the WAL archive to its end or to an instant. */
export async function restore(config: Config, directory: string, options: RestoreCommandOptions): Promise<void> {
  if (config.databaseUrl !== null) throw ofDatabaseUrl('A restore', 'pg_restore or the archive');
  if (options.until !== undefined && !Instant.safeParse(options.until).success) {
    throw new Error(
      `--until: ${options.until} is not a date-time with an offset, such as 2026-11-22T09:30:00Z or 2026-11-22T10:30:00+01:00`,
    );
  }
  const lock = await acquireServiceLock(config.dataDirectory);
  try {
    const { lastCommitAt } = await restoreBackup({
      backup: directory,
      dataDirectory: config.dataDirectory,
      wal: options.wal ?? null,
      until: options.until === undefined ? null : Date.parse(options.until),
      log: (message) => console.error(message),
    });
    const last = lastCommitAt === null ? null : new Date(lastCommitAt).toISOString();
    const text = `Restored to ${config.dataDirectory}.${last === null ? '' : ` Its last commit was at ${last}.`}
Restore its encryption key, inspect it with TOLLKEEPER_WORK=off, and run "tollkeeper check" before you turn work on.`;
    console.log(options.json ? JSON.stringify({ dataDirectory: config.dataDirectory, lastCommitAt }) : text);
  } finally {
    await lock.release();
  }
}

function ofDatabaseUrl(what: string, means: string): Error {
  return new Error(
    `${what} with this command requires the embedded server. For the server of DATABASE_URL use ${means}.`,
  );
}

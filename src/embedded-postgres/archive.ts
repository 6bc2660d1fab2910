import { chown, mkdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import process from 'node:process';
import { Client } from 'pg';
import { type Account, closedOnTheWay } from './account.ts';

// The WAL archive: PostgreSQL's WAL, copied file by file into the operator's directory for point-in-time recovery.

// A WAL file is archived when it is full or after this time, which bounds the data lost with a machine.
const archiveTimeoutSeconds = 60;

/**
 * The settings for archiving into a directory, which is created if missing. `account` is the account that PostgreSQL
 * runs as, or null for the current user. Throws when the account cannot write there.
 */
export async function archiveTo(directory: string, account: Account | null): Promise<Record<string, string>> {
  const path = resolve(directory);
  refuseForShell(path, 'TOLLKEEPER_WAL_ARCHIVE');
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (account !== null) {
    // Running as root: give the directory to PostgreSQL.
    if ((await stat(path)).uid !== account.uid) await chown(path, account.uid, account.gid);
    const closed = await closedOnTheWay(path, account);
    if (closed !== null) {
      throw new Error(
        `TOLLKEEPER_WAL_ARCHIVE: PostgreSQL runs as user ${account.uid}, who cannot traverse ${closed}. ` +
          `Choose another directory, or open it with: chmod o+x ${closed}`,
      );
    }
  }
  return { archive_mode: 'on', archive_timeout: String(archiveTimeoutSeconds), archive_command: commandTo(path) };
}

/**
 * Copies to a temporary name, syncs, then renames: files in the archive are always complete. An existing file is never
 * replaced; if it is identical, after a crash during archiving, the command succeeds.
 */
function commandTo(path: string): string {
  const [kept, draft] = [`"${path}/%f"`, `"${path}/%f.part"`];
  const copy = `cp "%p" ${draft} && sync ${draft} && mv ${draft} ${kept} && sync "${path}"`;
  return `if test -e ${kept}; then cmp -s "%p" ${kept}; else ${copy}; fi`;
}

/** The restore command that reads the archive in this directory. */
export function commandFrom(directory: string): string {
  const path = resolve(directory);
  refuseForShell(path, '--wal');
  return `cp "${path}/%f" "%p"`;
}

/** Whether the running server archives as `settings` require, if they require anything. */
export async function archivesAs(settings: Readonly<Record<string, string>>, url: string): Promise<boolean> {
  const wanted = settings.archive_command;
  if (wanted === undefined) return true;
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query("select current_setting('archive_command') as command");
    return rows[0]?.command === wanted;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function refuseForShell(path: string, setting: string): void {
  if (process.platform === 'win32') {
    throw new Error(`${setting}: the WAL archive requires a Unix shell. Set DATABASE_URL to a PostgreSQL of your own.`);
  }
  // The path is inside double quotes in a shell, and PostgreSQL replaces percent sequences.
  if (/["$`\\%\n]/.test(path)) {
    throw new Error(`${setting}: the path ${path} must not contain any of " $ \` \\ %.`);
  }
}

import { chown, mkdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import process from 'node:process';
import { Client } from 'pg';
import { type Account, closedOnTheWay } from './account.ts';

// PostgreSQL's journal, copied file by file into a directory of the operator's: what a restore to an instant reads.

// A file of the journal is copied when it is full, or after so long: what a lost machine takes with it at the most.
const archiveTimeoutSeconds = 60;

/**
 * The settings with which PostgreSQL archives into that directory, which is made if it is missing. `account` is who
 * PostgreSQL runs as, or null for the user we are. Throws when the account could not write there.
 */
export async function archiveTo(directory: string, account: Account | null): Promise<Record<string, string>> {
  const path = resolve(directory);
  refuseForShell(path, 'TOLLKEEPER_WAL_ARCHIVE');
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (account !== null) {
    // We are root, and the directory is for PostgreSQL alone.
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
 * Copies under another name first and gives it its own when it is on the disk: a file in the archive is whole. One that is
 * there already is never replaced; the same one again, after a crash between the copy and its note, is a success.
 */
function commandTo(path: string): string {
  const [kept, draft] = [`"${path}/%f"`, `"${path}/%f.part"`];
  const copy = `cp "%p" ${draft} && sync ${draft} && mv ${draft} ${kept} && sync "${path}"`;
  return `if test -e ${kept}; then cmp -s "%p" ${kept}; else ${copy}; fi`;
}

/** The command with which PostgreSQL reads the archive in that directory. */
export function commandFrom(directory: string): string {
  const path = resolve(directory);
  refuseForShell(path, '--wal');
  return `cp "${path}/%f" "%p"`;
}

/** Whether the server that runs archives as `settings` say, where they say it. */
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
  // The command stands between double quotes in a shell, in which PostgreSQL replaces what begins with a percent sign.
  if (/["$`\\%\n]/.test(path)) {
    throw new Error(`${setting}: the path ${path} must not contain any of " $ \` \\ %.`);
  }
}

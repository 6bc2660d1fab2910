import { access, mkdir, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import process from 'node:process';

/**
 * Creates the data directory and returns its absolute path. Throws with advice when it cannot be created or belongs to
 * another user.
 */
export async function makeDataDirectory(dataDirectory: string): Promise<string> {
  const path = resolve(dataDirectory);
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Error(
      `Cannot create the data directory ${path}: set TOLLKEEPER_DATA_DIR to a writable directory, ` +
        'or DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    );
  }
  const owner = (await stat(path)).uid;
  const ourselves = process.getuid?.() ?? owner;
  if (ourselves !== 0 && ourselves !== owner) {
    throw new Error(
      `The data directory ${path} belongs to another user (uid ${owner}), who started Tollkeeper first. ` +
        'Start it as that user, or set TOLLKEEPER_DATA_DIR to another directory.',
    );
  }
  return path;
}

/** Whether the error means a missing file or directory. */
export function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT');
}

/** Whether the error is a system error with this code, such as `EEXIST`. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** Whether a file or directory exists. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * Writes a file and syncs it to disk: a new file (`wx`, throws if it exists), a replacement (`w`) or an append (`a`).
 * Only its owner can read it.
 */
export async function writeDurably(path: string, content: string, flag: 'wx' | 'w' | 'a'): Promise<void> {
  const file = await open(path, flag, 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Syncs a directory, so that its entries survive a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open directories and needs no sync.
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

import { access, mkdir, stat } from 'node:fs/promises';
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

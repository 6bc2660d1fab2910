import { randomBytes, randomUUID } from 'node:crypto';
import { link, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import {
  hasCode,
  isMissing,
  makeDataDirectory,
  syncDirectory,
  writeDurably,
} from '../embedded-postgres/data-directory.ts';
import { type Encryption, keyBytes, parseEncryptionKeys } from './encryption.ts';

/** The database needs a key that this process does not have, or the key file is unusable. */
export class UnusableKey extends Error {}

/**
 * The key of the data directory, created if there is none. Concurrent starts get the same key. Throws UnusableKey when
 * the file is invalid: a new key could not decrypt existing secrets.
 */
export async function keyOfDataDirectory(dataDirectory: string): Promise<Buffer> {
  const path = join(await makeDataDirectory(dataDirectory).catch(refuseToKeep), 'encryption.key');
  return (await readKey(path)) ?? (await makeKey(path).catch(refuseToKeep));
}

function refuseToKeep(cause: unknown): never {
  throw new UnusableKey(
    'The data directory cannot store an encryption key: set TOLLKEEPER_ENCRYPTION_KEY to a key of your own ' +
      `(openssl rand -base64 ${keyBytes}), or TOLLKEEPER_DATA_DIR to a writable directory that outlives the process.`,
    { cause },
  );
}

async function readKey(path: string): Promise<Buffer | null> {
  try {
    const [key] = parseEncryptionKeys(await readFile(path, 'utf8'));
    return key ?? null;
  } catch (error) {
    if (isMissing(error)) return null;
    if (error instanceof Error && !('code' in error))
      throw new UnusableKey(`${path} contains no encryption key (${error.message}): restore the original file.`);
    throw error;
  }
}

/** Written completely under another name first: readers never see half a key, and an existing key is never replaced. */
async function makeKey(path: string): Promise<Buffer> {
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeDurably(draft, `${randomBytes(keyBytes).toString('base64')}\n`, 'wx');
    await link(draft, path).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    });
    // Encrypted data survives a power failure, so the directory entry of the key must too.
    await syncDirectory(dirname(path));
  } finally {
    await rm(draft, { force: true });
  }
  const key = await readKey(path);
  if (key === null) throw new Error(`${path} was removed while it was being created`);
  return key;
}

/**
 * Records that this database is written with the current key of `encryption`. Throws UnusableKey when the database
 * needs a key that `encryption` lacks. `worker` is the worker's connection.
 */
export async function registerEncryptionKeys(worker: Database, { keyIds }: Encryption, now: number): Promise<void> {
  await worker.transaction().execute(async (transaction) => {
    // The second of two concurrent starts with different keys sees the key of the first.
    await sql`lock table encryption_keys in share row exclusive mode`.execute(transaction);
    const rows = await transaction.selectFrom('encryptionKeys').select('id').orderBy('createdAt').execute();
    const lacking = rows.map(({ id }) => id).filter((id) => !keyIds.includes(id));
    if (lacking.length > 0) throw new UnusableKey(sayLacking(lacking));
    const [id] = keyIds;
    if (id === undefined || rows.some((row) => row.id === id)) return;
    await transaction.insertInto('encryptionKeys').values({ id, createdAt: now }).execute();
  });
}

function sayLacking(ids: readonly string[]): string {
  return (
    `This database contains secrets that only ${ids.length === 1 ? 'the encryption key' : 'the encryption keys'} ` +
    `${ids.join(', ')} can decrypt, and this process does not have ${ids.length === 1 ? 'it' : 'them'}. Set TOLLKEEPER_ENCRYPTION_KEY ` +
    'to the original key. To rotate it, write the new key first, then a comma and the old key. A key that ' +
    'Tollkeeper generated is in the file encryption.key of the data directory of the service that generated it.'
  );
}

import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ownerName } from './cluster.ts';
import { isMissing } from './data-directory.ts';

// Access data of the embedded server: the file postgres.json of a data directory.

/** The owner's password, and the port that the server last used. */
const Access = z.object({ password: z.string(), port: z.number().int() });
export type Access = z.infer<typeof Access>;

/** Reads the access data of a data directory, or null when there is none. */
export async function readAccess(dataDirectory: string): Promise<Access | null> {
  try {
    return Access.parse(JSON.parse(await readFile(accessPath(dataDirectory), 'utf8')));
  } catch (error) {
    if (isMissing(error)) return null;
    throw new Error(`${accessPath(dataDirectory)} cannot be read.`, { cause: error });
  }
}

/** Stores the access data, readable by its owner only. */
export async function saveAccess(dataDirectory: string, access: Access): Promise<void> {
  const draft = `${accessPath(dataDirectory)}.${randomUUID()}`;
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(access)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, accessPath(dataDirectory));
}

/** The connection URL of the owner. */
export function urlOf(password: string, port: number, database: string = ownerName): string {
  // Explicit, because PGSSLMODE in the environment would win otherwise.
  return `postgres://${ownerName}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;
}

/** The path of the access data. */
export function accessPath(dataDirectory: string): string {
  return join(dataDirectory, 'postgres.json');
}

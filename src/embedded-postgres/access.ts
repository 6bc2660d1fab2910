import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ownerName } from './cluster.ts';
import { isMissing } from './data-directory.ts';

// How the embedded server is reached: what the file postgres.json of a data directory says.

/** The password of the owner, and the port that the server listened on last. */
const Access = z.object({ password: z.string(), port: z.number().int() });
export type Access = z.infer<typeof Access>;

/** What is noted in that data directory, or null where nothing is. */
export async function readAccess(dataDirectory: string): Promise<Access | null> {
  try {
    return Access.parse(JSON.parse(await readFile(accessPath(dataDirectory), 'utf8')));
  } catch (error) {
    if (isMissing(error)) return null;
    throw new Error(`${accessPath(dataDirectory)} cannot be read.`, { cause: error });
  }
}

/** Notes it, to be read by its owner only. */
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

/** Where the owner connects to. */
export function urlOf(password: string, port: number, database: string = ownerName): string {
  // Said here because PGSSLMODE in the environment would win otherwise.
  return `postgres://${ownerName}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;
}

/** Where it is noted. */
export function accessPath(dataDirectory: string): string {
  return join(dataDirectory, 'postgres.json');
}

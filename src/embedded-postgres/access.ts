import { createHmac, randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { databaseName, superuserName } from './cluster.ts';
import { isMissing } from './data-directory.ts';

// Access data of the embedded server: the file postgres.json of a data directory.

/** The superuser's password, and the port that the server last used. */
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

/** The roles that log in, besides the superuser: one owns everything in the database, the other owns nothing. */
export const logins = { owner: 'tollkeeper_owner', service: 'tollkeeper_login' } as const;

/** The connection URLs of the embedded server. */
export interface EmbeddedUrls {
  /** The URL of the superuser, who starts the server and backs it up. */
  readonly url: string;
  /** The URL of the owner of the database, who migrates it. */
  readonly ownerUrl: string;
  /** The URL of the login that the service works with. It owns nothing. */
  readonly serviceUrl: string;
}

export function urlsOf(password: string, port: number): EmbeddedUrls {
  const urlFor = (role: string) => addressOf(role, passwordOf(role, password), port, databaseName);
  return { url: urlOf(password, port), ownerUrl: urlFor(logins.owner), serviceUrl: urlFor(logins.service) };
}

/** The connection URL of the superuser. */
export function urlOf(password: string, port: number, database: string = databaseName): string {
  return addressOf(superuserName, password, port, database);
}

/** The password of another role. It is derived, so that one file is enough, and it does not reveal the superuser's. */
export function passwordOf(role: string, superuserPassword: string): string {
  return createHmac('sha256', superuserPassword).update(role).digest('base64url');
}

function addressOf(role: string, password: string, port: number, database: string): string {
  // Explicit, because PGSSLMODE in the environment would win otherwise.
  return `postgres://${role}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;
}

/** The path of the access data. */
export function accessPath(dataDirectory: string): string {
  return join(dataDirectory, 'postgres.json');
}

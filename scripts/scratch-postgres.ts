import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { startEmbeddedPostgres } from '../src/embedded-postgres/start.ts';

// A temporary database need not survive a power failure, so it skips disk syncs.
const unsafeButFast = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', shared_buffers: '128MB' };

// A socket of the file system takes less time than one of the network, which Windows alone needs.
const socketDirectory = process.platform === 'win32' ? '' : tmpdir();

/**
 * The settings of a server for tests. Tables that were analyzed by chance would lead to other plans. PostgreSQL would plan a
 * statement for its values five times on each connection, and tests open more than a thousand connections.
 */
export const settingsForTests = {
  ...unsafeButFast,
  autovacuum: 'off',
  max_connections: '600',
  plan_cache_mode: 'force_generic_plan',
  unix_socket_directories: socketDirectory,
};

/** The programs of the oldest supported version, on machines that have it. */
export const oldestPostgres = ['/usr/lib/postgresql/15/bin', '/opt/homebrew/opt/postgresql@15/bin'].find((path) =>
  existsSync(path),
);

/**
 * Runs `act` with a real PostgreSQL server that is deleted afterwards. `binaries` selects another version's programs.
 */
export async function withScratchPostgres<Answer>(
  act: (url: string) => Promise<Answer>,
  { binaries, settings = unsafeButFast }: { binaries?: string; settings?: Readonly<Record<string, string>> } = {},
): Promise<Answer> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'tollkeeper-'));
  try {
    const server = await startEmbeddedPostgres({
      dataDirectory,
      settings,
      log: () => undefined,
      ...(binaries === undefined ? {} : { binaries }),
    });
    try {
      return await act(settings.unix_socket_directories ? throughSocket(server.url) : server.url);
    } finally {
      await server.stop();
    }
  } finally {
    await rm(dataDirectory, { recursive: true, force: true });
  }
}

/** The same server by its socket in the file system. */
function throughSocket(address: string): string {
  const url = new URL(address);
  url.searchParams.set('host', socketDirectory);
  return url.href;
}

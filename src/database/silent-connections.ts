import type { Socket } from 'node:net';
import type pg from 'pg';

// Checks per limit. A silent connection is found slightly later than the limit, which need not be exact.
const looksInLimit = 4;

/** A connection with the driver's undeclared field, which is false while a response is outstanding. */
type Client = pg.PoolClient & { readonly readyForQuery: boolean };

/**
 * Closes connections that await a response and have received nothing for `limitMs`. The database would have canceled
 * the statement by then, so the peer is gone: a machine or network that died silently. The operating system takes a
 * quarter of an hour to notice.
 */
export function endSilentConnections(pool: pg.Pool, limitMs: number): void {
  const heard = new Map<Client, { bytesRead: number; at: number }>();
  pool.on('acquire', (client) => void heard.set(client as Client, { bytesRead: -1, at: performance.now() }));
  pool.on('release', (_error, client) => void heard.delete(client as Client));
  pool.on('remove', (client) => void heard.delete(client as Client));
  const timer = setInterval(() => {
    if (pool.ended) return clearInterval(timer);
    const now = performance.now();
    for (const [client, last] of heard) {
      const stream = client.connection.stream as Socket;
      if (client.readyForQuery || stream.bytesRead !== last.bytesRead) {
        heard.set(client, { bytesRead: stream.bytesRead, at: now });
      } else if (now - last.at > limitMs) {
        stream.destroy(new Error('Connection terminated: the database has not answered for too long'));
      }
    }
  }, limitMs / looksInLimit);
  timer.unref();
}

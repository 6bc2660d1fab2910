import type { Socket } from 'node:net';
import type pg from 'pg';

// How often it is looked. What has gone silent is found a little later than the limit, which is no exact one.
const looksInLimit = 4;

/** A connection as the driver has it: false while an answer is outstanding, which is not declared. */
type Client = pg.PoolClient & { readonly readyForQuery: boolean };

/**
 * Closes connections of the pool that owe an answer and have sent nothing for so long. The database would have stopped the
 * statement by then, so there is nobody at the other end: a machine or a network that died without a word, which the
 * operating system takes a quarter of an hour to notice.
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

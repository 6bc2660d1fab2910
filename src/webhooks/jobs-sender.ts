import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { createDatabase } from '../database/database.ts';
import { advisoryLocks } from '../jobs/advisory-locks.ts';
import type { WebhookServices } from './actions.ts';
import { Dispatcher } from './jobs-sending.ts';

/** Sends webhook deliveries until it is stopped, or stands by while another process does. */
export interface Sender {
  stop(): Promise<void>;
}

export interface SenderOptions {
  /** The owner's. One connection of it is kept. */
  readonly pool: pg.Pool;
  readonly services: WebhookServices;
  readonly onError: (error: unknown) => void;
}

// Whoever holds this advisory lock sends. The lock ends with its connection, so a dead sender is followed within seconds.
const senderLock = advisoryLocks.sender;
// Attempts that have become due, and endpoints that were announced while nobody listened, are found this often.
const sweepEveryMs = 1_000;

/** Starts to send, or to wait for the process that does to end. */
export function startSender({ pool, services, onError }: SenderOptions): Sender {
  const stopped = new AbortController();
  const { signal } = stopped;
  const pause = () => sleep(sweepEveryMs, undefined, { signal }).catch(() => undefined);

  const run = async () => {
    for (; !signal.aborted; await pause()) {
      const client = await pool.connect().catch(onError);
      if (client) await tryToSend(client).catch(onError);
    }
  };

  const tryToSend = async (client: pg.PoolClient) => {
    let broken: Error | undefined;
    // Without a listener, the end of an idle connection would end the process.
    const onBroken = (error: Error) => {
      broken = error;
    };
    client.on('error', onBroken);
    try {
      const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [senderLock]);
      if (rows[0]?.held) await sendWhile(client, () => !signal.aborted && broken === undefined);
      client.off('error', onBroken);
      client.release(broken ?? rows[0]?.held);
    } catch (error) {
      client.off('error', onBroken);
      client.release(error as Error);
      throw error;
    }
  };

  /** Sends for as long as this connection, which holds the lock, is there. It is of no use to others afterwards. */
  const sendWhile = async (client: pg.PoolClient, goesOn: () => boolean) => {
    const dispatcher = new Dispatcher({ database: createDatabase(pool), services, onError });
    client.on('notification', ({ payload = '' }) => {
      const [environmentId, webhookId = '', what] = payload.split(' ');
      const endpoint = { environmentId: Number(environmentId), webhookId };
      if (what === 'changed') dispatcher.announceChange(endpoint);
      else dispatcher.announce(endpoint);
    });
    try {
      await client.query('listen webhook_deliveries');
      for (; goesOn(); await pause()) {
        // Fails when the connection is gone, and with it the lock.
        await client.query('select');
        await dispatcher.sweep().catch(onError);
      }
    } finally {
      await dispatcher.stop();
    }
  };

  const running = run();
  return {
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { createDatabase } from '../database/database.ts';
import type { WebhookServices } from './actions.ts';
import { type AttemptReport, Dispatcher } from './jobs-sending.ts';

/** Sends webhook deliveries until stopped, or stands by while another process does. */
export interface Sender {
  stop(): Promise<void>;
}

interface SenderOptions {
  /** The worker's pool. One of its connections is held permanently. */
  readonly pool: pg.Pool;
  readonly schema: string;
  readonly services: WebhookServices;
  readonly onError: (error: unknown) => void;
  readonly onAttempt?: (report: AttemptReport) => void;
}

// The holder of this advisory lock sends. The lock ends with its connection, so a dead sender is replaced within
// seconds.
const senderLock = advisoryLocks.sender;
// The interval for finding due retries, and announcements missed while nobody was listening.
const sweepEveryMs = 1_000;

/** Starts to send, or to wait for the process that does to end. */
export function startSender({ pool, schema, services, onError, onAttempt }: SenderOptions): Sender {
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
    // Without a listener, an error on an idle connection would end the process.
    const onBroken = (error: Error) => {
      broken = error;
    };
    client.on('error', onBroken);
    try {
      const { rows } = await client.query<{ held: boolean }>(
        'select pg_try_advisory_lock($1, hashtext(current_schema())) as held',
        [senderLock],
      );
      if (rows[0]?.held) await sendWhile(client, () => !signal.aborted && broken === undefined);
      client.off('error', onBroken);
      client.release(broken ?? rows[0]?.held);
    } catch (error) {
      client.off('error', onBroken);
      client.release(error as Error);
      throw error;
    }
  };

  /** Sends while this connection, which holds the lock, is alive. It cannot be reused afterwards. */
  const sendWhile = async (client: pg.PoolClient, goesOn: () => boolean) => {
    const dispatcher = new Dispatcher({ database: createDatabase(pool), services, onError, onAttempt });
    client.on('notification', ({ payload = '' }) => {
      const [environmentId, webhookId = '', what] = payload.split(' ');
      const endpoint = { environmentId: Number(environmentId), webhookId };
      if (what === 'changed') dispatcher.announceChange(endpoint);
      else dispatcher.announce(endpoint);
    });
    try {
      await client.query(`listen "${schema}.webhook_deliveries"`);
      for (; goesOn(); await pause()) {
        // Fails if the connection, and with it the lock, is gone.
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

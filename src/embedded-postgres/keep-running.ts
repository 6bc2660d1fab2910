import { setTimeout as sleep } from 'node:timers/promises';
import { type EmbeddedPostgres, findEmbeddedPostgres } from './start.ts';

/** A supervisor of the embedded PostgreSQL. */
export interface KeptPostgres {
  /** Resolves when no further restart is attempted. */
  stop(): Promise<void>;
}

export interface KeptPostgresOptions {
  readonly dataDirectory: string;
  /** The URL that all connections use. */
  readonly url: string;
  readonly start: () => Promise<EmbeddedPostgres>;
  readonly log: (message: string) => void;
  /** Called when the server runs again at another URL. */
  readonly onMoved: (error: Error) => void;
}

const lookEveryMs = 500;
// A server that cannot start for now, for example for lack of disk space, is retried with backoff.
const [firstPauseMs, longestPauseMs] = [1_000, 30_000];

/** Restarts the embedded PostgreSQL whenever it exits, until stopped. */
export function keepPostgresRunning({ dataDirectory, url, start, log, onMoved }: KeptPostgresOptions): KeptPostgres {
  const stopped = new AbortController();
  const { signal } = stopped;
  const pause = (forMs: number) => sleep(forMs, undefined, { signal }).catch(() => undefined);
  const isRunning = () => findEmbeddedPostgres(dataDirectory).then((found) => found !== null);

  const startAgain = async () => {
    log('PostgreSQL exited unexpectedly. Restarting it.');
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        const started = await start();
        log('PostgreSQL is running again.');
        if (started.url !== url)
          onMoved(
            new Error(
              'PostgreSQL is running again, but on another port because its old one was taken. Restart the service.',
            ),
          );
        return;
      } catch (error) {
        log(`${(error as Error).message}\nRetrying in ${pauseMs / 1000} s.`);
        await pause(pauseMs);
      }
    }
  };
  const keep = async () => {
    for (; !signal.aborted; await pause(lookEveryMs)) if (!(await isRunning())) await startAgain();
  };
  const keeping = keep();
  return {
    async stop() {
      stopped.abort();
      await keeping;
    },
  };
}

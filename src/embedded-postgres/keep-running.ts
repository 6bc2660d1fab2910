import { setTimeout as sleep } from 'node:timers/promises';
import { type EmbeddedPostgres, findEmbeddedPostgres } from './start.ts';

/** What sees to it that the embedded PostgreSQL runs. */
export interface KeptPostgres {
  /** Ends when it starts nothing more. */
  stop(): Promise<void>;
}

export interface KeptPostgresOptions {
  readonly dataDirectory: string;
  /** Where everybody expects it. */
  readonly url: string;
  readonly start: () => Promise<EmbeddedPostgres>;
  readonly log: (message: string) => void;
  /** It runs, but where nobody looks for it. */
  readonly onMoved: (error: Error) => void;
}

const lookEveryMs = 500;
// A server that cannot start for now, such as for want of disk, is tried again, and not all the time.
const [firstPauseMs, longestPauseMs] = [1_000, 30_000];

/** Starts the embedded PostgreSQL again whenever it has ended, until it is told to stop. */
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

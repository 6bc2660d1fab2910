import { sql } from 'kysely';
import { nameOfHash } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';

// Often enough to see which keys are in use, seldom enough to cost nothing.
const flushEveryMs = 5_000;

/** Remembers which keys were used and writes it down from time to time, many keys in one statement. */
export interface KeyUse {
  note(hash: Buffer): void;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts noting. Losing the last seconds in a crash is fine: the time of last use is for people to read. */
export function startKeyUse(database: Database): KeyUse {
  const used = new Map<string, Buffer>();
  async function flush(): Promise<void> {
    if (used.size === 0) return;
    const hashes = [...used.values()];
    used.clear();
    await sql`select touch_api_keys(${hashes}::bytea[], ${Date.now()})`.execute(database).catch(() => {
      // The time of last use is for people to read; the next use notes it again.
    });
  }
  const timer = setInterval(flush, flushEveryMs);
  timer.unref();
  return {
    note: (hash) => void used.set(nameOfHash(hash), hash),
    flush,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

import { sql } from 'kysely';
import { nameOfHash } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';

// Frequent enough to show which keys are in use, at negligible cost.
const flushEveryMs = 5_000;

/** Collects the use of keys and stores it periodically, many keys in one statement. */
export interface KeyUse {
  note(hash: Buffer): void;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts collecting. A crash may lose the last seconds: the time of last use is informational. */
export function startKeyUse(database: Database): KeyUse {
  const used = new Map<string, Buffer>();
  async function flush(): Promise<void> {
    if (used.size === 0) return;
    const hashes = [...used.values()];
    used.clear();
    await sql`select touch_api_keys(${hashes}::bytea[], ${Date.now()})`.execute(database).catch(() => {
      // The time of last use is informational, and the next use stores it again.
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

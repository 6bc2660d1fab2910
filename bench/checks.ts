import { withScratchPostgres } from '../scripts/scratch-postgres.ts';
import { createDatabase, createPool, defaultSchema } from '../src/database/database.ts';
import { migrate } from '../src/database/migrate.ts';
import { invariants } from '../src/invariants/check-invariants.ts';
import { advanceMark, readMark } from '../src/invariants/store-checks.ts';
import { findViolations } from '../src/invariants/store-invariants.ts';
import type { Since } from '../src/invariants/store-invariants-sums.ts';
import { storeCheckedUsage } from './checked-usage.ts';

// node bench/checks.ts [events]: measures each invariant, for a full check and for the rows since the last check. Runs
// on a server with the service's settings.

const events = Number(process.argv[2] ?? 10_000_000);
const subscriptions = Math.max(1, Math.floor(events / 5_000));
// An hour of thirty days of usage.
const hourShare = 720;
// Shorter ones are not printed.
const shortestToldMs = 100;

await withScratchPostgres(
  async (url) => {
    const pool = createPool({ schema: defaultSchema, url, size: 1, as: 'owner' });
    await migrate(pool, defaultSchema);
    await storeCheckedUsage(url, { events, subscriptions });
    const owner = createDatabase(pool);
    await pool.query(`select set_config('work_mem', '256MB', false), set_config('jit', 'off', false)`);
    const measure = async (name: string, since: Since) => {
      let all = 0;
      for (const invariant of invariants) {
        const begunAt = performance.now();
        await findViolations(owner, invariant, since);
        const took = performance.now() - begunAt;
        all += took;
        if (took > shortestToldMs)
          console.log(`${name.padEnd(12)}${invariant.name.padEnd(34)}${(took / 1000).toFixed(1)} s`);
      }
      console.log(`${name.padEnd(12)}${`all ${invariants.length} invariants`.padEnd(34)}${(all / 1000).toFixed(1)} s`);
    };
    await measure('everything', null);
    // Nothing else runs here, so no waiting time is needed.
    for (let look = 0; look < 2; look++) await advanceMark(owner, null, Date.now(), 0);
    const end = await readMark(owner);
    if (end === null) throw new Error('the mark did not come');
    await forgetLastHour(end);
    await measure('last hour', await readMark(owner));
    await pool.end();

    /** Moves the mark back by an hour. Its sums stay, so the invariants that use them fail, in the same time. */
    async function forgetLastHour({ entrySequence, booking }: NonNullable<Since>): Promise<void> {
      await pool.query('update check_marks set entry_sequence = $1, booking = $2', [
        Math.floor(entrySequence - events / hourShare),
        Math.floor(booking - booking / hourShare),
      ]);
    }
  },
  { settings: {} },
);

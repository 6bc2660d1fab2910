import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { StoredClock } from './clock.ts';

function select(work: Work) {
  return work.db
    .selectFrom('environments')
    .select(['clockNow as now', 'clockTarget as target', 'clockFrom as from', 'clockMovedAt as movedAt'])
    .where('id', '=', work.environmentId);
}

export async function readClock(work: Work): Promise<StoredClock> {
  const row = await select(work).executeTakeFirst();
  assert(row, 'the environment of the work exists');
  return row;
}

/** Locks the clock until the work ends. */
export async function lockClock(work: Work): Promise<StoredClock> {
  const row = await select(work).forNoKeyUpdate().executeTakeFirst();
  assert(row, 'the environment of the work exists');
  return row;
}

/** A change of the clock. */
interface ClockChange {
  readonly clockNow?: Instant;
  readonly clockTarget?: Instant | null;
  readonly clockFrom?: Instant;
  readonly clockMovedAt?: Instant;
}

/** The caller has locked the clock. */
export async function saveClock(work: Work, change: ClockChange): Promise<void> {
  await work.db
    .updateTable('environments')
    .set({ ...change, updatedAt: Date.now() })
    .where('id', '=', work.environmentId)
    .execute();
}

/** Advances a moving clock to an intermediate instant. It never goes back, even with concurrent movers. */
export async function advanceClock(work: Work, to: Instant): Promise<void> {
  await sql`
    update environments set clock_now = ${to}
     where id = ${work.environmentId} and clock_target is not null and clock_now < ${to}`.execute(work.db);
}

/** Ends the move to `target`. Returns false when the target has changed or another process has ended the move. */
export async function endClockMove(work: Work, target: Instant): Promise<boolean> {
  const ended = await sql`
    update environments set clock_now = clock_target, clock_target = null
     where id = ${work.environmentId} and clock_target = ${target}`.execute(work.db);
  return ended.numAffectedRows === 1n;
}

import { sql } from 'kysely';
import type { Database } from './database.ts';

// A look takes a millisecond, and a table that has grown in less time is small.
const everyMs = 1_000;
const lastLookAt = new WeakMap<Database, number>();

/**
 * Analyzes tables that have grown many times since the planner last looked at them, so that plans fit their size. Called
 * after each write. For one database it looks at most once a second.
 */
export async function refreshStatistics(database: Database): Promise<void> {
  const now = performance.now();
  if (now - (lastLookAt.get(database) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
  lastLookAt.set(database, now);
  await sql`select analyze_grown_tables()`.execute(database);
}

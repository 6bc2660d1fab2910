import { sql } from 'kysely';
import type { Database } from './database.ts';

// Checking costs a millisecond, and growth within a second is small.
const everyMs = 1_000;
let lookedAt = 0;

/**
 * Updates the planner's table sizes when tables have grown many times since the last check. Callers that write call it
 * after their writes. Runs at most once a second in this process.
 */
export async function refreshStatistics(database: Database): Promise<void> {
  if (Date.now() - lookedAt < everyMs) return;
  lookedAt = Date.now();
  await sql`select analyze_grown_tables()`.execute(database);
}

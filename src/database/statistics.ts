import { sql } from 'kysely';
import type { Database } from './database.ts';

// Looking costs a millisecond, and what has grown in less time is small.
const everyMs = 1_000;
let lookedAt = 0;

/**
 * Lets the database plan by the size that its tables have now, where they have grown many times since it last looked.
 * To be called by what writes, once it has. At most once a second in this process it does anything.
 */
export async function refreshStatistics(database: Database): Promise<void> {
  if (Date.now() - lookedAt < everyMs) return;
  lookedAt = Date.now();
  await sql`select analyze_grown_tables()`.execute(database);
}

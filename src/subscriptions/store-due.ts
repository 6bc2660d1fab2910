import { sql } from 'kysely';
import type { Instant } from '../kernel/calendar.ts';
import type { Database } from '../platform/database.ts';
import type { Work } from '../platform/work.ts';

/**
 * The environments in which a scheduled cancellation is due, or a subscription has waited too long for its first
 * payment, by their own time. `realNow` is the time of those without a test clock.
 */
export async function listEnvironmentsWithEndingsDue(
  database: Database,
  realNow: Instant,
  incompleteLifetimeMs: number,
): Promise<number[]> {
  const { rows } = await sql<{ environmentId: number }>`
    select environments_with_endings_due(${realNow}, ${incompleteLifetimeMs}) as environment_id`.execute(database);
  return rows.map((row) => row.environmentId);
}

/** The subscriptions whose scheduled cancellation is due, in the order of their dates. */
export async function listCancelDue(work: Work, limit: number): Promise<string[]> {
  const rows = await work.db
    .selectFrom('subscriptions')
    .select('id')
    .where('environmentId', '=', work.environmentId)
    .where('status', '=', 'cancellation_scheduled')
    .where('cancelScheduledAt', '<=', work.now)
    .orderBy('cancelScheduledAt')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

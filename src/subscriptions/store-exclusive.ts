import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import { terminalStatuses } from './subscription.ts';

/**
 * Makes the running subscriptions of the environment non-exclusive: they no longer prevent others of their customers.
 */
export async function liftExclusivity(work: Work): Promise<void> {
  // Locked in order of id, as everywhere, to avoid deadlocks.
  await sql`
    with living as (
      select id from subscriptions
       where environment_id = ${work.environmentId} and exclusive and status <> all(${terminalStatuses})
       order by id for no key update
    )
    update subscriptions set exclusive = false from living
     where subscriptions.environment_id = ${work.environmentId} and subscriptions.id = living.id`.execute(work.db);
}

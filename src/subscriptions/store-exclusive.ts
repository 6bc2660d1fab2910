import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import { terminalStatuses } from './subscription.ts';

/** From now on the living subscriptions of the environment stand in the way of no other one of their customers. */
export async function liftExclusivity(work: Work): Promise<void> {
  // Locked in the order of their ids, as everywhere, so that this waits for others and none waits in a circle.
  await sql`
    with living as (
      select id from subscriptions
       where environment_id = ${work.environmentId} and exclusive and status <> all(${terminalStatuses})
       order by id for no key update
    )
    update subscriptions set exclusive = false from living
     where subscriptions.environment_id = ${work.environmentId} and subscriptions.id = living.id`.execute(work.db);
}

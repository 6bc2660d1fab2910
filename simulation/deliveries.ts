import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { World } from './world.ts';

// A dead endpoint is paused for seconds at first; this is not a performance limit.
const longestWaitMs = 90_000;

/**
 * Waits until every committed event was received. Checks that none is missing, that none was received without a commit,
 * and that those about one object came in order. Returns their number.
 */
export async function assertDelivered({ database, inbox }: World): Promise<number> {
  inbox.failureRate = 0;
  const { owner } = database;
  for (const end = Date.now() + longestWaitMs; ; await sleep(50)) {
    const waiting = await sql<{ count: number }>`
      with hurried as (
        update webhook_deliveries set next_attempt_at = 0 where status = 'pending' and next_attempt_at > ${Date.now()})
      select count(*)::integer as count from webhook_deliveries where status <> 'succeeded'`.execute(owner);
    if (waiting.rows[0]?.count === 0) break;
    if (Date.now() > end) throw new Error(`${waiting.rows[0]?.count} deliveries are not made`);
  }
  const { rows } = await sql<{ eventId: string; objectId: string }>`
    select d.event_id, d.object_id from webhook_deliveries d where d.event_id is not null order by d.sequence`.execute(
    owner,
  );
  const lacking = await sql<{ id: string }>`
    select e.id from events e join webhooks w on w.environment_id = e.environment_id
       and w.pricing_model_id = e.pricing_model_id and w.created_at < e.created_at
     where webhook_wants(w.filter_types, e.type)
       and not exists (select from webhook_deliveries d where d.environment_id = e.environment_id and d.event_id = e.id)`.execute(
    owner,
  );
  if (lacking.rows.length > 0) throw new Error(`events without a delivery: ${lacking.rows.map(({ id }) => id).join()}`);
  // A set keeps the order of first insertion.
  const came = [...new Set(inbox.taken.map(({ objectId, eventId }) => `${objectId} ${eventId}`))];
  const told = rows.map(({ objectId, eventId }) => `${objectId} ${eventId}`);
  const [cameOf, toldOf] = [byObject(came), byObject(told)];
  for (const objectId of new Set([...cameOf.keys(), ...toldOf.keys()])) {
    const [is, should] = [cameOf.get(objectId)?.join(), toldOf.get(objectId)?.join()];
    if (is !== should) throw new Error(`messages about ${objectId} came as ${is}, and were told as ${should}`);
  }
  return told.length;
}

function byObject(messages: readonly string[]): Map<string, string[]> {
  return Map.groupBy(messages, (message) => message.split(' ')[0] ?? '');
}

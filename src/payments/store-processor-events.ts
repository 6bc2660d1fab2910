import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';

/** Records that the event has been handled. Returns false for a repeated event: all are delivered several times. */
export async function insertProcessorEvent(work: Work, processor: string, id: string): Promise<boolean> {
  const result = await work.db
    .insertInto('processorEvents')
    .values({ environmentId: work.environmentId, processor, id, receivedAt: Date.now() })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Deletes up to `limit` events handled before the instant, in real time, over all environments. */
export async function forgetProcessorEvents(database: Database, before: number, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select forget_processor_events(${before}, ${limit}) as count`.execute(database);
  return rows[0]?.count ?? 0;
}

import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';

/** Writes down that the event has been taken. Answers false when it had been before: everything is told several times. */
export async function insertProcessorEvent(work: Work, processor: string, id: string): Promise<boolean> {
  const result = await work.db
    .insertInto('processorEvents')
    .values({ environmentId: work.environmentId, processor, id, receivedAt: Date.now() })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Deletes up to `limit` events that were taken before the instant, in real time, of every environment. */
export async function forgetProcessorEvents(database: Database, before: number, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select forget_processor_events(${before}, ${limit}) as count`.execute(database);
  return rows[0]?.count ?? 0;
}

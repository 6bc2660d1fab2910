import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';

/** The customer's id at a processor; null if it has none yet. */
export async function findCustomerReference(work: Work, customerId: string, processor: string): Promise<string | null> {
  const [row] = await listCustomerReferences(work, [customerId], [processor]);
  return row?.reference ?? null;
}

interface CustomerReference {
  readonly customerId: string;
  readonly processor: string;
  readonly reference: string;
}

/** The known ids of these customers at these processors. */
export async function listCustomerReferences(
  work: Work,
  customerIds: readonly string[],
  processors: readonly string[],
): Promise<CustomerReference[]> {
  return work.db
    .selectFrom('processorCustomers')
    .select(['customerId', 'processor', 'reference'])
    .where('environmentId', '=', work.environmentId)
    .where('customerId', '=', sql<string>`any(${customerIds}::text[])`)
    .where('processor', '=', sql<string>`any(${processors}::text[])`)
    .execute();
}

/** The ids of a customer at all processors. */
export async function listReferencesOfCustomer(work: Work, customerId: string): Promise<CustomerReference[]> {
  return work.db
    .selectFrom('processorCustomers')
    .select(['customerId', 'processor', 'reference'])
    .where('environmentId', '=', work.environmentId)
    .where('customerId', '=', customerId)
    .execute();
}

/** Deletes the customer's id at a processor, which has erased the customer. */
export async function deleteCustomerReference(work: Work, customerId: string, processor: string): Promise<void> {
  await work.db
    .deleteFrom('processorCustomers')
    .where('environmentId', '=', work.environmentId)
    .where('customerId', '=', customerId)
    .where('processor', '=', processor)
    .execute();
}

/** Stores the customer's id at the processor. The first one stays: its payment methods belong to it. */
export async function insertCustomerReference(work: Work, row: CustomerReference): Promise<void> {
  await work.db
    .insertInto('processorCustomers')
    .values({ environmentId: work.environmentId, ...row, createdAt: work.now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

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

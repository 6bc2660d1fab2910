import { sql } from 'kysely';
import type { Work } from '../database/work.ts';

/** Who a customer is at a processor; null where it has not been there yet. */
export async function findCustomerReference(work: Work, customerId: string, processor: string): Promise<string | null> {
  const [row] = await listCustomerReferences(work, [customerId], [processor]);
  return row?.reference ?? null;
}

export interface CustomerReference {
  readonly customerId: string;
  readonly processor: string;
  readonly reference: string;
}

/** Who these customers are at these processors, as far as they have been there. */
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

/** Keeps who the customer is there. The first that is told stays: its payment methods are kept under that one. */
export async function insertCustomerReference(work: Work, row: CustomerReference): Promise<void> {
  await work.db
    .insertInto('processorCustomers')
    .values({ environmentId: work.environmentId, ...row, createdAt: work.now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

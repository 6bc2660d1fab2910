import assert from 'node:assert/strict';
import { PostgresDialect, Transaction } from 'kysely';
import type { DatabaseTransaction } from './database.ts';
import type { DB } from './database-types.ts';

// A transaction is made of these too, and never connects by itself.
const dialect = new PostgresDialect({ pool: async () => assert.fail('a transaction has its connection') });
const driver = dialect.createDriver();

/**
 * The same transaction, with statements that are sent as they come: Kysely's own sends none before the one before it was
 * answered. The database carries them out in the order in which they were sent.
 */
export async function pipelined(transaction: DatabaseTransaction): Promise<DatabaseTransaction> {
  const executor = transaction.getExecutor();
  const connection = await executor.provideConnection(async (own) => own);
  return new Transaction<DB>({
    config: { dialect },
    dialect,
    driver,
    executor: executor.withConnectionProvider({ provideConnection: (use) => use(connection) }),
  });
}

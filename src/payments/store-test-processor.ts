import { sql } from 'kysely';
import type { Database } from '../platform/database.ts';
import type { TestNetworkMemory, TestOperation } from './processor-test.ts';

/** The memory of the stand-in payment network, in commits of its own. It belongs to no environment. */
export function createTestNetworkMemory(database: Database): TestNetworkMemory {
  return {
    known: (reference) => listOperations(database, reference),
    once: (idempotencyKey, reference, decide) =>
      database.transaction().execute(async (db) => {
        await sql`select pg_advisory_xact_lock(hashtextextended(${reference}, 0))`.execute(db);
        const known = await listOperations(db, reference);
        const earlier = known.find((operation) => operation.idempotencyKey === idempotencyKey);
        if (earlier !== undefined) return earlier;
        const operation = decide(known);
        const { kind, amount, token, outcome, createdAt } = operation;
        await sql`
          insert into test_processor.operations (idempotency_key, kind, reference, amount, token, outcome, created_at)
          values (${idempotencyKey}, ${kind}, ${reference}, ${amount}, ${token}, ${JSON.stringify(outcome)}::jsonb,
                  ${createdAt})`.execute(db);
        return operation;
      }),
  };
}

async function listOperations(database: Database, reference: string): Promise<readonly TestOperation[]> {
  const { rows } = await sql<TestOperation>`
    select idempotency_key, kind, reference, amount, token, outcome, created_at from test_processor.operations
     where reference = ${reference} order by created_at, idempotency_key`.execute(database);
  return rows;
}

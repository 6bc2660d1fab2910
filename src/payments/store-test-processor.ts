import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { advisoryLocks } from '../database/advisory-locks.ts';
import type { Database } from '../database/database.ts';
import type { ChargeOutcome } from './processor.ts';
import type { TestCharge, TestNetworkMemory, TestOperation } from './processor-test.ts';

/** The storage of the simulated payment network, with separate commits. It belongs to no environment. */
export function createTestNetworkMemory(database: Database): TestNetworkMemory {
  return {
    known: (reference) => listOperations(database, reference),
    async chargeAll(charges) {
      const outcomes = await storeCharges(database, charges);
      return charges.map(({ idempotencyKey }) => {
        const outcome = outcomes.get(idempotencyKey);
        assert(outcome, `no charge ${idempotencyKey}`);
        return outcome;
      });
    },
    addOnce: <Added extends TestOperation>(
      idempotencyKey: string,
      reference: string,
      decide: (known: readonly TestOperation[]) => Added,
    ) =>
      database.transaction().execute(async (db) => {
        await sql`select pg_advisory_xact_lock(${advisoryLocks.testCharges}, hashtext(${reference}))`.execute(db);
        const known = await listOperations(db, reference);
        const earlier = known.find((operation) => operation.idempotencyKey === idempotencyKey);
        const decided = decide(known);
        assert(earlier === undefined || earlier.kind === decided.kind, 'two kinds never share a key');
        // The stored operation has the kind of the requested one.
        if (earlier !== undefined) return earlier as Added;
        const { kind, amount, token, outcome, createdAt } = decided;
        await sql`
          insert into test_processor_operations (idempotency_key, kind, reference, amount, token, outcome, created_at)
          values (${idempotencyKey}, ${kind}, ${reference}, ${amount}, ${token}, ${JSON.stringify(outcome)}::jsonb,
                  ${createdAt})`.execute(db);
        return decided;
      }),
  };
}

/** Stores new charges in one statement. Returns the first outcome of each, by key. */
async function storeCharges(
  database: Database,
  charges: readonly TestCharge[],
): Promise<ReadonlyMap<string, ChargeOutcome>> {
  const all = <Key extends keyof TestCharge>(key: Key) => charges.map((charge) => charge[key]);
  const inserted = await sql<{ idempotencyKey: string }>`
    insert into test_processor_operations (idempotency_key, kind, reference, amount, token, outcome, created_at)
    select asked.idempotency_key, 'charge', asked.reference, asked.amount, asked.token, asked.outcome, asked.created_at
      from one_row, unnest(
             ${all('idempotencyKey')}::text[], ${all('reference')}::text[], ${all('amount')}::numeric[],
             ${all('token')}::text[], ${all('outcome').map((outcome) => JSON.stringify(outcome))}::jsonb[],
             ${all('createdAt')}::bigint[]
           ) as asked (idempotency_key, reference, amount, token, outcome, created_at)
     order by asked.idempotency_key
    on conflict (idempotency_key) do nothing
    returning idempotency_key`.execute(database);
  const isNew = new Set(inserted.rows.map((row) => row.idempotencyKey));
  const outcomes = new Map(charges.map(({ idempotencyKey, outcome }) => [idempotencyKey, outcome]));
  const known = charges.flatMap(({ idempotencyKey }) => (isNew.has(idempotencyKey) ? [] : idempotencyKey));
  // A separate statement, because the first one does not see concurrent inserts.
  for (const { idempotencyKey, outcome } of await listCharges(database, known)) outcomes.set(idempotencyKey, outcome);
  return outcomes;
}

async function listCharges(database: Database, idempotencyKeys: readonly string[]): Promise<readonly TestCharge[]> {
  if (idempotencyKeys.length === 0) return [];
  const { rows } = await sql<TestCharge>`
    select idempotency_key, kind, reference, amount, token, outcome, created_at from test_processor_operations
     where idempotency_key = any(${idempotencyKeys}::text[]) and kind = 'charge'`.execute(database);
  return rows;
}

async function listOperations(database: Database, reference: string): Promise<readonly TestOperation[]> {
  const { rows } = await sql<TestOperation>`
    select idempotency_key, kind, reference, amount, token, outcome, created_at from test_processor_operations
     where reference = ${reference} order by created_at, idempotency_key`.execute(database);
  return rows;
}

import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type pg from 'pg';
import type { Database } from '../../src/database/database.ts';
import { checkInvariants, invariants } from '../../src/invariants/check-invariants.ts';
import type { TestApp } from './harness.ts';

// All invariants as one prepared statement. PostgreSQL takes a hundred times as long to plan them as to look at a small
// database, and tests look some hundred times.

/** The names of the invariants that do not hold, in their order. */
export async function brokenInvariants(client: pg.Pool | pg.ClientBase, owner: Database): Promise<string[]> {
  text ??= askAll(owner);
  const { rows } = await client.query<{ broken: string[] }>({ name: 'invariants', text });
  const [row] = rows;
  assert(row);
  return row.broken;
}

let text: string | undefined;

function askAll(owner: Database): string {
  const answers = invariants.map(({ name, query }) => {
    const violations = typeof query === 'function' ? query(null) : query;
    return sql`case when exists (${violations}) then ${sql.lit(name)} end`;
  });
  const requested = sql`select array_remove(array[${sql.join(answers)}], null) as broken`.compile(owner);
  assert.deepEqual(requested.parameters, []);
  return requested.sql;
}

/** Every invariant holds over all environments of each cell; what breaks one is shown with its rows. */
export async function assertSound({ cells }: Pick<TestApp, 'cells'>): Promise<void> {
  for (const { name, owner, ownerPool } of cells) {
    if ((await brokenInvariants(ownerPool, owner)).length === 0) continue;
    const broken = (await checkInvariants(owner)).filter(({ violations }) => violations.count > 0);
    assert.deepEqual(broken, [], name);
    assert.fail('an invariant did not hold, and does now');
  }
}

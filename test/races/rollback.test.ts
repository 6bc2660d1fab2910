import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { testSchema } from '../support/databases.ts';
import { startTestApp } from '../support/harness.ts';
import { until } from '../support/race.ts';

const lock = 41_414_141;

const app = await startTestApp();
// One connection: whoever comes next has the one of whoever was before.
const pool = createPool({ schema: testSchema, url: app.databaseUrl, as: 'service', size: 1 });
const database = createDatabase(pool);
after(() => pool.end());

function fails(): Promise<unknown> {
  return database.transaction().execute(async (db) => {
    await sql`select pg_advisory_xact_lock(${lock}::bigint)`.execute(db);
    throw new Error('undo it');
  });
}

async function isLocked(): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select exists (select from pg_locks where locktype = 'advisory' and objid = ${lock}) as locked`.execute(app.owner);
  return rows[0]?.locked ?? false;
}

test('a rollback that is not waited for reaches the database also when nobody follows', async () => {
  await assert.rejects(fails(), /undo it/);
  await until(async () => !(await isLocked()), 'the end of the transaction');
});

test('what follows on the connection comes after the rollback, in a transaction of its own', async () => {
  const first = await database.transaction().execute(async (db) => {
    const { rows } = await sql<{ id: string }>`select pg_current_xact_id()::text as id`.execute(db);
    return rows[0]?.id;
  });
  await assert.rejects(fails(), /undo it/);
  const { rows } = await sql<{ locked: boolean; id: string }>`
    select exists (select from pg_locks where locktype = 'advisory' and objid = ${lock}) as locked,
           pg_current_xact_id()::text as id`.execute(database);
  assert.equal(rows[0]?.locked, false);
  assert.notEqual(rows[0]?.id, first);
});

test('a statement that failed leaves a connection on which the next transaction works', async () => {
  await assert.rejects(
    database.transaction().execute((db) => sql`select 1 / 0`.execute(db)),
    /division by zero/,
  );
  const { rows } = await sql<{ one: number }>`select 1 as one`.execute(database);
  assert.equal(rows[0]?.one, 1);
});

test('a pool that is ended sends it first', async () => {
  const other = createPool({ schema: testSchema, url: app.databaseUrl, as: 'service', size: 1 });
  await assert.rejects(
    createDatabase(other)
      .transaction()
      .execute(async (db) => {
        await sql`select pg_advisory_xact_lock(${lock}::bigint)`.execute(db);
        throw new Error('undo it');
      }),
    /undo it/,
  );
  await other.end();
  await until(async () => !(await isLocked()), 'the end of the transaction');
});

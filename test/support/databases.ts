import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import pg from 'pg';
import { settingsForTests, withScratchPostgres } from '../../scripts/scratch-postgres.ts';
import type { Cells } from '../../src/database/cells.ts';
import {
  createDatabase,
  createPool,
  type Database,
  defaultSchema,
  patienceOfRequests,
  queueSchemaOf,
} from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import type { WebhookServices } from '../../src/webhooks/actions.ts';
import { addCells, otherCells, settingsOfAll } from './many-cells.ts';
import { atProcessEnd } from './process-end.ts';

// Databases of tests. A process runs many test files (scripts/test-worker.ts): a file takes an empty database, and the
// next file finds it empty again, with its connections open and its service started.

// A service that a test starts has the same setting.
export const testSchema = process.env.DATABASE_SCHEMA ?? defaultSchema;

/** The connections to a cell. */
export interface TestCell {
  /** The name of its schema. */
  readonly name: string;
  /** Bound by row-level security, as the service is. */
  readonly database: Database;
  /** The owner's connection: sees every environment. */
  readonly owner: Database;
  readonly ownerPool: pg.Pool;
}

/** A migrated database with nothing in it, and connections to it. */
export interface TestDatabase {
  readonly url: string;
  readonly home: TestCell;
  /** All cells, the home cell first. */
  readonly cells: readonly TestCell[];
  /** The owner's connection, which finds the customers of all cells. */
  readonly owner: Database;
  readonly ownerPool: pg.Pool;
  /** The service on it that reaches nobody outside, once there is one. */
  service: Service | null;
  readonly name: string;
  /** What `describeSchema` said when it was made. Null: no other file uses the database. */
  readonly schema: string | null;
}

/** The service, listening. */
export interface Service {
  readonly server: FastifyInstance;
  readonly address: string;
  readonly webhooks: WebhookServices;
  /** Absent: there is only the home cell. */
  readonly cells: Cells | undefined;
}

const unused: TestDatabase[] = [];

// The address of a database with a migrated installation, such as one on a node of Citus. All files share it, and it is not emptied.
const given = process.env.TOLLKEEPER_TEST_DATABASE;

/** Takes a database that is empty and that no other file uses, with so many cells. */
export async function takeDatabase(count: number): Promise<TestDatabase> {
  if (count > 1) return makeDatabase(count);
  if (given) {
    if (!isAnyMade) atProcessEnd(() => Promise.all(unused.splice(0).map(dropDatabase)));
    isAnyMade = true;
    return unused.pop() ?? connectTo('', given, 1);
  }
  for (let taken = unused.pop(); taken !== undefined; taken = unused.pop()) {
    if (await empty(taken)) return taken;
    await dropDatabase(taken);
  }
  return makeDatabase(1);
}

/** Keeps the database for the next file. Drops it if its schema changed or if it grew. */
export async function returnDatabase(taken: TestDatabase): Promise<void> {
  const stays =
    given ||
    (taken.schema !== null &&
      (await describeSchema(taken.owner)) === taken.schema &&
      (await sizeOf(taken.owner)) < largestKept);
  if (stays) unused.push(taken);
  else await dropDatabase(taken);
}

export async function dropDatabase(taken: TestDatabase): Promise<void> {
  await taken.service?.server.close();
  await taken.service?.webhooks.outbound.close();
  const { owner, cells } = taken;
  const databases = new Set([owner, ...cells.flatMap((cell) => [cell.database, cell.owner])]);
  await Promise.all([...databases].map((database) => database.destroy()));
  if (!given) await asAdministrator((client) => client.query(`drop database ${taken.name} with (force)`));
}

let found: Promise<string> | undefined;

/** The PostgreSQL server that the tests share: the one of `npm test`, or one of this process's own. */
function serverUrl(): Promise<string> {
  found ??= findServer();
  return found;
}

async function findServer(): Promise<string> {
  const given = process.env.TOLLKEEPER_TEST_POSTGRES;
  if (given) return given;
  return new Promise((resolve, reject) => {
    const serveUntilEnd = (url: string) => {
      resolve(url);
      return new Promise<void>((end) => {
        atProcessEnd(() => {
          end();
          return ended;
        });
      });
    };
    const ended = withScratchPostgres(serveUntilEnd, { settings: settingsForTests });
    ended.catch(reject);
  });
}

async function databaseUrl(name: string): Promise<string> {
  const url = new URL(await serverUrl());
  url.pathname = `/${name}`;
  return url.href;
}

async function asAdministrator<Answer>(act: (client: pg.Client) => Promise<Answer>): Promise<Answer> {
  const client = new pg.Client({ connectionString: await databaseUrl('postgres') });
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end();
  }
}

// A slow machine must not turn a storm of requests into refusals: tests of the limits set their own.
export const patienceOfTests = { ...patienceOfRequests(60_000), lockMs: 60_000, connectionMs: 60_000 };

let isAnyMade = false;

async function makeDatabase(count: number): Promise<TestDatabase> {
  if (!isAnyMade) {
    // Opened after the server, and so closed before it.
    await serverUrl();
    atProcessEnd(() => Promise.all(unused.splice(0).map(dropDatabase)));
  }
  isAnyMade = true;
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await asAdministrator(async (client) => {
    await client.query(`create database ${name} template ${await templateDatabase(client, count)} strategy file_copy`);
    // For connections that a test opens itself.
    await client.query(`alter database ${name} set search_path = ${testSchema}, ${queueSchemaOf(testSchema)}`);
  });
  return connectTo(name, await databaseUrl(name), count);
}

function openCell(url: string, schema: string): TestCell {
  const ownerPool = createPool({ schema, url, size: 4, as: 'owner' });
  const database = createDatabase(createPool({ schema, url, size: 20, as: 'service', patience: patienceOfTests }));
  return { name: schema, database, owner: createDatabase(ownerPool), ownerPool };
}

async function connectTo(name: string, url: string, count: number): Promise<TestDatabase> {
  const home = openCell(url, testSchema);
  if (count === 1) {
    const { owner, ownerPool } = home;
    return { name, url, home, cells: [home], owner, ownerPool, service: null, schema: await describeSchema(owner) };
  }
  const cells = [home, ...otherCells(count).map((schema) => openCell(url, schema))];
  const ownerPool = createPool({ schema: testSchema, url, size: 4, as: 'owner', settings: settingsOfAll(testSchema) });
  return { name, url, home, cells, owner: createDatabase(ownerPool), ownerPool, service: null, schema: null };
}

// What a database is made with: its migrations.
const keptTables = ['one_row', 'kysely_migration', 'kysely_migration_lock', 'migrations', 'usage_partitions', 'cell'];
// Bytes. Made anew it has 13 MB; to empty one that is full of events takes longer than to make another.
const largestKept = 64 * 1024 * 1024;
const othersDisconnectMs = 5_000;

// Pages. A table of more is vacuumed, so that the next file does not read the places of former rows.
const largestLeft = 32;

/**
 * Removes all rows and what the planner knows of them; false if the database cannot be used again. Sequences continue,
 * so no id is used twice and no cached record fits a new one. To truncate one table, with all that refer to it, takes
 * as long as to make another database.
 */
async function empty({ ownerPool }: TestDatabase): Promise<boolean> {
  const client = await ownerPool.connect();
  let isEmptied = false;
  try {
    const { rows } = await client.query<{ name: string; isLarge: boolean; isAnalyzed: boolean; canForget: boolean }>(
      `select format('%I.%I', n.nspname, c.relname) as name, pg_relation_size(c.oid) > $2 * 8192 as "isLarge",
              c.reltuples > $2 as "isAnalyzed",
              to_regprocedure('pg_clear_relation_stats(text, text)') is not null as "canForget"
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'r' and c.relpersistence = 'p' and c.oid >= 16384 and c.relname <> all($1)
          and pg_relation_size(c.oid) > 0`,
      [keptTables, largestLeft],
    );
    const isAnalyzed = rows.some((table) => table.isAnalyzed);
    // Statistics would lead to other plans. PostgreSQL forgets them on request from version 18 on.
    if (isAnalyzed && !rows[0]?.canForget) return isEmptied;
    const statements = [
      'begin',
      `set local lock_timeout = ${othersDisconnectMs}`,
      // Without triggers and constraints.
      'set local session_replication_role = replica',
      ...rows.map(({ name }) => `delete from ${name}`),
      'commit',
    ];
    await client.query(statements.join('; '));
    const vacuumed = rows.filter((table) => table.isLarge || table.isAnalyzed).map(({ name }) => name);
    if (vacuumed.length > 0) await client.query(`vacuum ${vacuumed.join(', ')}`);
    if (isAnalyzed) await client.query(forgetStatistics);
    isEmptied = true;
  } catch {
    // A transaction that a test left open holds rows.
  } finally {
    client.release(!isEmptied);
  }
  return isEmptied;
}

const forgetStatistics = `
  select pg_clear_relation_stats(current_schema(), relname) from pg_class
   where relnamespace = current_schema()::regnamespace and relkind in ('r', 'i') and reltuples >= 0;
  select pg_clear_attribute_stats(schemaname, tablename, attname, inherited) from pg_stats where schemaname = current_schema()`;

/** A digest of all tables, columns, constraints, indexes, triggers, functions, policies and settings, and of the count of deadlocks. */
async function describeSchema(owner: Database): Promise<string> {
  const { rows } = await sql<{ digest: string }>`
    select sum(hashtextextended(item, 0))::text as digest from (
      select 'class ' || row(oid, relname, relowner, relacl, relrowsecurity, relforcerowsecurity)::text as item
        from pg_class where oid >= 16384
      union all select 'column ' || attrelid || ' ' || attnum || ' ' || xmin from pg_attribute where attrelid >= 16384
      union all select 'trigger ' || oid || ' ' || xmin from pg_trigger
      union all select 'function ' || oid || ' ' || xmin from pg_proc where oid >= 16384
      union all select 'constraint ' || oid || ' ' || xmin from pg_constraint where oid >= 16384
      union all select 'policy ' || oid || ' ' || xmin from pg_policy
      union all select 'setting ' || setconfig::text from pg_db_role_setting
                 where setdatabase in (0, (select oid from pg_database where datname = current_database()))
      union all select 'deadlocks ' || deadlocks from pg_stat_database where datname = current_database()
    ) as items`.execute(owner);
  return String(rows[0]?.digest);
}

async function sizeOf(owner: Database): Promise<number> {
  const { rows } = await sql<{ size: number }>`select pg_database_size(current_database()) as size`.execute(owner);
  return Number(rows[0]?.size);
}

const migrationsDirectory = new URL('../../migrations/', import.meta.url);

/** The name of a migrated database to copy, with so many cells; it changes with the migrations. Made when it is missing. */
async function templateDatabase(client: pg.Client, count: number): Promise<string> {
  const hash = createHash('sha256').update(`${testSchema} ${count}`);
  for (const file of (await readdir(migrationsDirectory)).sort())
    hash.update(await readFile(new URL(file, migrationsDirectory)));
  const name = `template_${hash.digest('hex').slice(0, 16)}`;
  const oneCell = count === 1 ? 'template0' : await templateDatabase(client, 1);
  await client.query('select pg_advisory_lock(7001)');
  const existing = await client.query('select from pg_database where datname = $1', [name]);
  if (existing.rowCount === 0) {
    await client.query(`create database ${name}_new template ${oneCell} encoding 'UTF8'`);
    const url = await databaseUrl(`${name}_new`);
    if (count > 1) {
      await addCells(url, testSchema, count);
    } else {
      const pool = createPool({ schema: testSchema, url, size: 2, as: 'owner' });
      await migrate(pool, testSchema);
      await pool.end();
    }
    await client.query(`alter database ${name}_new rename to ${name}`);
  }
  await client.query('select pg_advisory_unlock(7001)');
  return name;
}

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { runMigrations as runQueueMigrations } from 'graphile-worker';
import { type DatabaseIntrospector, Kysely, PostgresDialect, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type pg from 'pg';
import {
  defineOnNodes,
  findLastDefined,
  findNode,
  isCoordinator,
  isPlacedHere,
  listNodes,
  onCoordinator,
  openOn,
  takeAwayWhatCitusRefuses,
  withCluster,
} from './citus.ts';
import { queueSchemaOf, serviceRole, workerRole } from './database.ts';
import { statementsOfPlaced } from './placed-migration.ts';

const migrationsDirectory = new URL('../../migrations/', import.meta.url);
const oldestServerVersion = 150_000;

// Requests wait behind a migration that waits for a table. So it waits a moment, lets them pass, and begins again. A migration that
// a deadlock has ended begins again too, because requests lock tables in another order.
const lockTimeoutMs = 1000;
const pauseMs = 500;
const mostAttempts = 40;
const [lockNotAvailable, deadlockDetected] = ['55P03', '40P01'];
const tableInUse = new Set<unknown>([lockNotAvailable, deadlockDetected]);

/**
 * A dialect whose introspection lists the tables of one schema, which is all that the migrator asks for. The introspection of Kysely
 * reads the columns of every schema, and fails when another installation renames or drops a table meanwhile.
 */
class DialectOfSchema extends PostgresDialect {
  readonly #schema: string;

  constructor(pool: pg.Pool, schema: string) {
    super({ pool });
    this.#schema = schema;
  }

  override createIntrospector(database: Kysely<unknown>): DatabaseIntrospector {
    const schema = this.#schema;
    return {
      async getSchemas() {
        return (await sql<{ name: string }>`select nspname as name from pg_namespace`.execute(database)).rows;
      },
      async getTables() {
        const { rows } = await sql<{ name: string }>`
          select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
           where n.nspname = ${schema} and c.relkind in ('r', 'p')`.execute(database);
        return rows.map(({ name }) => ({ schema, name, isView: false, isForeign: false, columns: [] }));
      },
    };
  }
}

/** A server that Tollkeeper cannot use. The message says what to do. */
class UnusableServer extends Error {}

/** The login that the service works with: the user and password of DATABASE_URL. */
export interface Login {
  readonly name: string;
  readonly password: string | null;
}

/**
 * Migrates the database: the queue's tables, the numbered migrations, the roles and row-level security. An advisory
 * lock allows several processes to start at once. A `login` that differs from the owner is made, if it is missing, and
 * gets the rights of the service. Returns the migrations that ran.
 */
export async function migrate(
  ownerPool: pg.Pool,
  schema: string,
  login: Login | null = null,
): Promise<readonly string[]> {
  // A separate Kysely instance without the camel-case plugin. It does not close the pool that it borrows.
  const database = new Kysely<unknown>({ dialect: new DialectOfSchema(ownerPool, schema) });
  if (!(await mayMigrate(database, schema))) {
    await refuseUnmigrated(ownerPool, schema);
    return [];
  }
  if (await isPlacedHere(ownerPool, schema)) return migratePlaced(ownerPool, schema);
  await createRoles(database);
  await createSchema(database, schema);
  const queueSchema = queueSchemaOf(schema);
  await runQueueMigrations({ pgPool: ownerPool, schema: queueSchema });
  const ran = await runMigrations(database, ownerPool, schema);
  await database.transaction().execute(async (transaction) => {
    // Several starts at once give these rights one after the other, and only the first has any to give.
    await sql`lock table ${sql.id(queueSchema, 'migrations')} in share row exclusive mode`.execute(transaction);
    await sql.raw(openQueue(queueSchema)).execute(transaction);
    if (login !== null) await admit(transaction, login);
  });
  return ran;
}

/**
 * Migrates a schema on a node of Citus. Only the coordinator changes tables, also those on nodes: all in one transaction. The functions
 * reach the nodes after it, and an interrupted call does that again.
 */
async function migratePlaced(ownerPool: pg.Pool, schema: string): Promise<readonly string[]> {
  if ((await listMissingMigrations(ownerPool))?.length === 0) return [];
  return withCluster(ownerPool, await listNodes(ownerPool), (cluster) =>
    onCoordinator(cluster, schema, async (client) => {
      for (const node of cluster.nodes) if (!isCoordinator(node)) await makeQueue(cluster.poolOf(node), schema);
      await client.query(takeAwayWhatCitusRefuses);
      const database = new Kysely<unknown>({ dialect: new DialectOfSchema(cluster.coordinator, schema) });
      const ran = await runMigrations(database, cluster.coordinator, schema, true);
      await defineOnNodes(client, schema);
      const node = await findNode(cluster.coordinator);
      assert(node, 'a placed schema has its tables on a node');
      await openOn(client, schema, node, (await knownMigrations()).at(-1) ?? '');
      return ran;
    }),
  );
}

/** Runs the numbered migrations that are missing, and returns their names. */
async function runMigrations(
  database: Kysely<unknown>,
  ownerPool: pg.Pool,
  schema: string,
  isPlaced = false,
): Promise<readonly string[]> {
  const known = await knownMigrations();
  const ran = await listRanMigrations(ownerPool);
  if (ran.length === known.length && known.every((name) => ran.includes(name))) return [];
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: () => readMigrations(schema, { isNew: ran.length === 0, isPlaced }) },
    migrationTableSchema: schema,
  });
  for (let attempt = 1; ; attempt++) {
    const { error, results } = await migrator.migrateToLatest();
    if (error === undefined)
      return (results ?? []).filter((result) => result.status === 'Success').map((result) => result.migrationName);
    if (!tableInUse.has((error as { code?: unknown }).code)) throw error;
    if (attempt === mostAttempts)
      throw new Error(
        `A migration could not lock the tables that it changes within ${mostAttempts} attempts: ${(error as Error).message}. ` +
          'Nothing was changed. Wait for the backup or the long statement that uses them, and migrate again.',
      );
    await sleep(pauseMs);
  }
}

/** Makes the queue of an installation on a node of a cluster, which has none by the migrations. */
export async function makeQueue(nodePool: pg.Pool, schema: string): Promise<void> {
  const queueSchema = queueSchemaOf(schema);
  // Citus has brought the types of the coordinator's queue alone. An interrupted call has left some tables.
  await nodePool.query(`do $$ begin
    if not exists (select from pg_policy where polrelid = to_regclass('${queueSchema}._private_jobs')) then
      drop schema if exists ${queueSchema} cascade;
    end if;
  end $$`);
  await runQueueMigrations({ pgPool: nodePool, schema: queueSchema });
  await nodePool.query(openQueue(queueSchema));
}

/** The names of the migrations that this version contains, in order. */
export async function knownMigrations(): Promise<readonly string[]> {
  const files = await readdir(migrationsDirectory);
  return files.filter((file) => file.endsWith('.sql')).sort();
}

/** The migrations of this version that the database lacks; null for a database without any. */
export async function listMissingMigrations(ownerPool: pg.Pool): Promise<readonly string[] | null> {
  const ran = await listRanMigrations(ownerPool);
  return ran.length === 0 ? null : (await knownMigrations()).filter((name) => !ran.includes(name));
}

async function listRanMigrations(ownerPool: pg.Pool): Promise<readonly string[]> {
  const { rows: found } = await ownerPool.query<{ found: boolean }>(
    `select to_regclass('kysely_migration') is not null as found`,
  );
  if (!found[0]?.found) return [];
  const { rows } = await ownerPool.query<{ name: string }>('select name from kysely_migration');
  const lastDefined = await findLastDefined(ownerPool);
  return rows.map((row) => row.name).filter((name) => lastDefined === null || name <= lastDefined);
}

/** Whether the user who has logged in could change or drop the tables. */
export async function loginOwnsTables(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ owns: boolean }>(
    `select pg_has_role(session_user, relowner, 'member') as owns from pg_class where oid = 'kysely_migration'::regclass`,
  );
  return rows[0]?.owns ?? false;
}

/** A database without rows gets the guards of its tables at the end, any other after each migration. */
async function readMigrations(
  schema: string,
  { isNew, isPlaced }: { readonly isNew: boolean; readonly isPlaced: boolean },
): Promise<Record<string, Migration>> {
  const migrations: Record<string, Migration> = {};
  const files = await knownMigrations();
  for (const file of files) {
    const written = await readFile(new URL(file, migrationsDirectory), 'utf8');
    const text = written.replaceAll('graphile_worker.', `${queueSchemaOf(schema)}.`);
    migrations[file] = {
      async up(db) {
        // The functions keep this search path, in which nobody can put a temporary table before ours.
        await sql`set local search_path = ${sql.id(schema)}, pg_temp`.execute(db);
        await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(db);
        for (const statement of isPlaced ? statementsOfPlaced(text) : [text]) await sql.raw(statement).execute(db);
        if (!isNew || file === files.at(-1))
          await sql`select secure_tenant_tables(), order_stamps(), audit_tenant_tables()`.execute(db);
        if (isPlaced) await sql.raw(takeAwayWhatCitusRefuses).execute(db);
      },
    };
  }
  return migrations;
}

/** Whether this user may migrate. Throws where the server cannot be used at all. */
async function mayMigrate(database: Kysely<unknown>, schema: string): Promise<boolean> {
  const { rows } = await sql<{ version: string; name: string; creates: boolean; encoding: string }>`
    select current_setting('server_version_num') as version, current_setting('server_version') as name,
           coalesce(has_schema_privilege(to_regnamespace(${schema}), 'create'), true) and has_database_privilege(current_database(), 'create') as creates,
           current_setting('server_encoding') as encoding`.execute(database);
  const server = rows[0];
  if (server === undefined || Number(server.version) < oldestServerVersion) {
    throw new UnusableServer(`PostgreSQL 15 or newer is required; the server of DATABASE_URL is ${server?.name}.`);
  }
  if (server.encoding !== 'UTF8') {
    throw new UnusableServer(
      `The encoding of the database must be UTF8, not ${server.encoding}: create database ... encoding 'UTF8' template template0.`,
    );
  }
  return server.creates;
}

/** A user who owns nothing may serve a database that somebody else has migrated. */
async function refuseUnmigrated(pool: pg.Pool, schema: string): Promise<void> {
  if ((await listMissingMigrations(pool))?.length === 0) return;
  throw new UnusableServer(
    'The user of DATABASE_URL cannot create tables and schemas in this database, which has to be migrated. Set ' +
      'TOLLKEEPER_MIGRATE_URL to the address of a user who can, or as the owner of the database, run:\n' +
      `  grant create on database <database> to <user>; grant create, usage on schema ${schema} to <user>;`,
  );
}

async function createSchema(database: Kysely<unknown>, schema: string): Promise<void> {
  const name = `"${schema}"`;
  await sql
    .raw(`do $$ begin create schema ${name}; exception when duplicate_schema or unique_violation then null; end $$`)
    .execute(database);
}

async function createRoles(database: Kysely<unknown>): Promise<void> {
  const areThere = sql<{ there: boolean }>`
    select count(*) = 2 and bool_and(pg_has_role(current_user, oid, 'member'))
           and bool_or(pg_has_role(oid, to_regrole(${serviceRole}), 'member') and rolname = ${workerRole}) as there
      from pg_roles where rolname in (${serviceRole}, ${workerRole})`;
  if ((await areThere.execute(database)).rows[0]?.there) return;
  try {
    await sql
      .raw(`do $$ begin create role ${serviceRole} nologin; ${unlessThere} end $$;
        do $$ begin create role ${workerRole} nologin; ${unlessThere} end $$;
        grant ${serviceRole} to ${workerRole};
        grant ${serviceRole}, ${workerRole} to current_user;`)
      .execute(database);
  } catch (error) {
    throw new UnusableServer(
      `Tollkeeper uses the roles ${serviceRole} and ${workerRole}, which do not exist and which this user of the database cannot ` +
        `create (${(error as Error).message}). As a superuser, run:\n  create role ${serviceRole} nologin; create role ${workerRole} nologin;\n` +
        `  grant ${serviceRole} to ${workerRole}; grant ${serviceRole}, ${workerRole} to <user> with admin option;`,
    );
  }
}

const unlessThere = 'exception when duplicate_object or unique_violation then null;';

/** The queue's tables let in nobody but their owner, unless a policy says so. */
const openQueue = (queueSchema: string) => `do $$ declare
  closed text;
begin
  for closed in
    select c.oid::regclass::text from pg_class c
     where c.relnamespace = '${queueSchema}'::regnamespace and c.relkind = 'r'
       and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'worker')
  loop
    grant usage on schema ${queueSchema} to ${workerRole};
    execute format('grant select, insert, update, delete on %s to ${workerRole}', closed);
    execute format('create policy worker on %s to ${workerRole} using (true)', closed);
  end loop;
end $$`;

/** Lets a login work as the service. It owns nothing, so it cannot change or drop a table. */
async function admit(database: Kysely<unknown>, { name, password }: Login): Promise<void> {
  const { rows } = await sql<{ there: boolean; admitted: boolean | null }>`
    select to_regrole(quote_ident(${name})) is not null as there,
           pg_has_role(to_regrole(quote_ident(${name})), to_regrole(${workerRole}), 'member') as admitted`.execute(
    database,
  );
  if (rows[0]?.admitted) return;
  const role = sql.id(name);
  try {
    if (!rows[0]?.there)
      await sql`create role ${role} login ${password === null ? sql`` : sql`password ${sql.lit(password)}`}`.execute(
        database,
      );
    await sql`grant ${sql.id(workerRole)} to ${role}`.execute(database);
  } catch (error) {
    throw new UnusableServer(
      `The user of TOLLKEEPER_MIGRATE_URL cannot admit ${name}, the user of DATABASE_URL (${(error as Error).message}). ` +
        `As a superuser, run:\n  create role ${name} login password '<password>'; grant ${workerRole} to ${name};`,
    );
  }
}

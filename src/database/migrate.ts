import { readdir, readFile } from 'node:fs/promises';
import { runMigrations as runQueueMigrations } from 'graphile-worker';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type pg from 'pg';
import { serviceRole } from './database.ts';

const migrationsDirectory = new URL('../../migrations/', import.meta.url);
const oldestServerVersion = 150_000;

/** A server that Tollkeeper cannot use. The message says what to do. */
class UnusableServer extends Error {}

/**
 * Migrates the database: the queue's tables, the numbered migrations, the restricted role and row-level security. An
 * advisory lock allows several processes to start at once. Returns the migrations that ran.
 */
export async function migrate(ownerPool: pg.Pool): Promise<readonly string[]> {
  // A separate Kysely instance without the camel-case plugin. It does not close the pool that it borrows.
  const database = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: ownerPool }) });
  await checkServer(database);
  await createServiceRole(database);
  await runQueueMigrations({ pgPool: ownerPool });
  const migrator = new Migrator({ db: database, provider: { getMigrations: readMigrations } });
  const { error, results } = await migrator.migrateToLatest();
  if (error) throw error;
  return (results ?? []).filter((result) => result.status === 'Success').map((result) => result.migrationName);
}

/** The names of the migrations that this version contains, in order. */
export async function knownMigrations(): Promise<readonly string[]> {
  const files = await readdir(migrationsDirectory);
  return files.filter((file) => file.endsWith('.sql')).sort();
}

/** The migrations of this version that the database lacks; null for a database without any. */
export async function listMissingMigrations(ownerPool: pg.Pool): Promise<readonly string[] | null> {
  const { rows: found } = await ownerPool.query<{ found: boolean }>(
    `select to_regclass('public.kysely_migration') is not null as found`,
  );
  if (!found[0]?.found) return null;
  const { rows } = await ownerPool.query<{ name: string }>('select name from kysely_migration');
  const ran = new Set(rows.map((row) => row.name));
  return ran.size === 0 ? null : (await knownMigrations()).filter((name) => !ran.has(name));
}

// The first migrations run before the audit log exists.
const auditIfItCan = `do $$ begin
  if to_regprocedure('audit_tenant_tables()') is not null then perform audit_tenant_tables(); end if;
end $$`;

async function readMigrations(): Promise<Record<string, Migration>> {
  const migrations: Record<string, Migration> = {};
  for (const file of await knownMigrations()) {
    const text = await readFile(new URL(file, migrationsDirectory), 'utf8');
    migrations[file] = {
      async up(db) {
        await sql.raw(text).execute(db);
        await sql`select secure_tenant_tables(), order_stamps()`.execute(db);
        await sql.raw(auditIfItCan).execute(db);
      },
    };
  }
  return migrations;
}

async function checkServer(database: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ version: string; name: string; creates: boolean; encoding: string }>`
    select current_setting('server_version_num') as version, current_setting('server_version') as name,
           has_schema_privilege('public', 'create') and has_database_privilege(current_database(), 'create') as creates,
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
  if (!server.creates) {
    throw new UnusableServer(
      'The user of DATABASE_URL cannot create tables and schemas in this database. As the owner of the database, run:\n' +
        '  grant create on database <database> to <user>; grant create, usage on schema public to <user>;',
    );
  }
}

async function createServiceRole(database: Kysely<unknown>): Promise<void> {
  const isMember = sql<{ member: boolean }>`
    select exists (select from pg_roles where rolname = ${serviceRole})
       and pg_has_role(current_user, (select oid from pg_roles where rolname = ${serviceRole}), 'member') as member`;
  if ((await isMember.execute(database)).rows[0]?.member) return;
  try {
    await sql
      .raw(`do $$ begin
        create role ${serviceRole} nologin;
      exception when duplicate_object or unique_violation then null; end $$;
      grant ${serviceRole} to current_user;`)
      .execute(database);
  } catch (error) {
    throw new UnusableServer(
      `Tollkeeper uses the restricted role ${serviceRole}, which does not exist and which the user of DATABASE_URL cannot create ` +
        `(${(error as Error).message}). As a superuser, run:\n  create role ${serviceRole} nologin;\n  grant ${serviceRole} to <user>;`,
    );
  }
}

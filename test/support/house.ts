import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import pg from 'pg';
import { withScratchPostgres } from '../../scripts/scratch-postgres.ts';
import { createDatabase, createPool, type Database, patienceOfRequests } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import type { WebhookServices } from '../../src/webhooks/actions.ts';
import { atProcessEnd, isProcessShared } from './process-end.ts';

// Databases of tests. A process that runs many test files (scripts/test-worker.ts) loads this module once: a file moves
// into an empty house, and the next file finds it empty again, with its connections open and its service started.

/** A migrated database with nothing in it, and connections to it. */
export interface House {
  readonly url: string;
  /** Bound by row-level security, as the service is. */
  readonly database: Database;
  /** The owner's connection: sees every environment. */
  readonly owner: Database;
  readonly ownerPool: pg.Pool;
  /** The service on it that reaches nobody outside, once there is one. */
  service: Service | null;
  readonly name: string;
  readonly asBuilt: string;
}

/** The service, listening. */
export interface Service {
  readonly server: FastifyInstance;
  readonly address: string;
  readonly webhooks: WebhookServices;
}

const vacant: House[] = [];

/** A house with nothing in it. */
export async function moveIn(): Promise<House> {
  for (let house = vacant.pop(); house !== undefined; house = vacant.pop()) {
    if (await clear(house)) return house;
    await demolish(house);
  }
  return build();
}

/** Leaves the house to the next file, or takes it down where it was rebuilt or nobody follows. */
export async function moveOut(house: House): Promise<void> {
  const stays =
    isProcessShared() && (await survey(house.owner)) === house.asBuilt && (await sizeOf(house.owner)) < largestKept;
  if (stays) vacant.push(house);
  else await demolish(house);
}

export async function demolish(house: House): Promise<void> {
  await house.service?.server.close();
  await house.service?.webhooks.outbound.close();
  await Promise.all([house.database.destroy(), house.owner.destroy()]);
  await asAdministrator((client) => client.query(`drop database ${house.name} with (force)`));
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
    const ended = withScratchPostgres((url) => {
      resolve(url);
      return new Promise<void>((end) => {
        atProcessEnd(() => {
          end();
          return ended;
        });
      });
    });
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
const patience = { ...patienceOfRequests(60_000), lockMs: 60_000, connectionMs: 60_000 };

let isAnyBuilt = false;

async function build(): Promise<House> {
  if (!isAnyBuilt) {
    // Opened after the server, and so closed before it.
    await serverUrl();
    atProcessEnd(() => Promise.all(vacant.splice(0).map(demolish)));
  }
  isAnyBuilt = true;
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await asAdministrator(async (client) =>
    client.query(`create database ${name} template ${await templateDatabase(client)} strategy file_copy`),
  );
  const url = await databaseUrl(name);
  const ownerPool = createPool({ url, size: 4, as: 'owner' });
  const owner = createDatabase(ownerPool);
  const database = createDatabase(createPool({ url, size: 20, as: 'service', patience }));
  return {
    name,
    url,
    database,
    owner,
    ownerPool,
    service: null,
    asBuilt: await survey(owner),
  };
}

// What a database is made with: its migrations.
const fittings = ['kysely_migration', 'kysely_migration_lock', 'migrations'];
// Bytes. Made anew it has 13 MB; to empty one that is full of events takes longer than to make another.
const largestKept = 64 * 1024 * 1024;
const othersLeaveWithinMs = 5_000;

// Pages. Rows of a larger table, or of one that was analyzed when it had as many, would leave plans that fit them.
const largestDeleted = 32;

/**
 * Deletes everything. Sequences go on, so that nothing that is remembered of the rows before is taken for those to come.
 * To delete few rows takes a fraction of what it takes to truncate a table.
 */
async function clear({ url }: House): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; oid: number; isLarge: boolean }>(
      `select format('%I.%I', n.nspname, c.relname) as name, c.oid,
              pg_relation_size(c.oid) > $2 * 8192 or c.reltuples > $2 as "isLarge"
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'r' and c.relpersistence = 'p' and c.oid >= 16384 and c.relname <> all($1)
          and pg_relation_size(c.oid) > 0`,
      [fittings, largestDeleted],
    );
    const large = rows.filter(({ isLarge }) => isLarge);
    const truncating =
      large.length === 0
        ? []
        : [
            `truncate ${large.map(({ name }) => name).join()} cascade`,
            `delete from pg_statistic where starelid in (${large.map(({ oid }) => oid).join()})`,
          ];
    const statements = [
      'begin',
      `set local lock_timeout = ${othersLeaveWithinMs}`,
      // Without triggers and constraints.
      'set local session_replication_role = replica',
      ...truncating,
      ...rows.filter(({ isLarge }) => !isLarge).map(({ name }) => `delete from ${name}`),
      'commit',
    ];
    await client.query(statements.join('; '));
    return true;
  } catch {
    // A transaction that a test left open holds rows.
    return false;
  } finally {
    await client.end();
  }
}

/** Equal surveys mean that no table, column, constraint, index, trigger, function, policy or setting was changed, and nobody was in a deadlock. */
async function survey(owner: Database): Promise<string> {
  const { rows } = await sql<{ survey: string }>`
    select md5(string_agg(item, ',' order by item)) as survey from (
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
  return String(rows[0]?.survey);
}

async function sizeOf(owner: Database): Promise<number> {
  const { rows } = await sql<{ size: number }>`select pg_database_size(current_database()) as size`.execute(owner);
  return Number(rows[0]?.size);
}

const migrationsDirectory = new URL('../../migrations/', import.meta.url);

/** The name of a migrated database to copy; it changes with the migrations. Made when it is missing. */
async function templateDatabase(client: pg.Client): Promise<string> {
  const hash = createHash('sha256');
  for (const file of (await readdir(migrationsDirectory)).sort())
    hash.update(await readFile(new URL(file, migrationsDirectory)));
  const name = `template_${hash.digest('hex').slice(0, 16)}`;
  await client.query('select pg_advisory_lock(7001)');
  const existing = await client.query('select from pg_database where datname = $1', [name]);
  if (existing.rowCount === 0) {
    await client.query(`create database ${name}_new template template0 encoding 'UTF8'`);
    const pool = createPool({ url: await databaseUrl(`${name}_new`), size: 2, as: 'owner' });
    await migrate(pool);
    await pool.end();
    await client.query(`alter database ${name}_new rename to ${name}`);
  }
  await client.query('select pg_advisory_unlock(7001)');
  return name;
}

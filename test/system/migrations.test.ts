import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type pg from 'pg';
import { withScratchPostgres } from '../../scripts/scratch-postgres.ts';
import { createPool } from '../../src/database/database.ts';
import { knownMigrations, migrate } from '../../src/database/migrate.ts';
import { testSchema } from '../support/databases.ts';
import { released, unsafeSince, unsafeStatements } from '../support/migration-rules.ts';
import { until } from '../support/race.ts';

const files = await knownMigrations();
const textOf = (file: string) => readFileSync(new URL(`../../migrations/${file}`, import.meta.url), 'utf8');

test('migrations are numbered from 1 without a gap, and each says what it is about', () => {
  for (const [index, file] of files.entries()) {
    assert.match(file, /^\d{4}-[a-z0-9]+(-[a-z0-9]+)*\.sql$/);
    assert.equal(Number(file.slice(0, 4)), index + 1, file);
  }
});

test('no migration after the last release does what an older version or a large table would not bear', () => {
  assert.deepEqual(
    unsafeSince(
      released,
      files.map((file) => ({ file, text: textOf(file) })),
    ),
    [],
  );
});

describe('what an older version or a large table would not bear', () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['alter table invoices drop column memo', /reads the column/],
    ['alter table invoices drop memo', /reads the column/],
    ['ALTER TABLE invoices\n  RENAME COLUMN memo TO note', /old name/],
    ['alter table invoices rename to bills', /old name/],
    ['alter table invoices alter column total type numeric(38,0)', /old type/],
    ['alter table invoices alter total set data type text', /old type/],
    ['alter table invoices alter column memo set not null', /may write null/],
    ['alter table invoices add column memo text not null', /give it a default/],
    ['alter table invoices add memo text not null, add other text', /give it a default/],
    ['alter table invoices add column token uuid not null default gen_random_uuid()', /writes every row anew/],
    ['alter table invoices add constraint invoices_total check (total >= 0)', /not valid/],
    ['alter table invoices add foreign key (environment_id, customer_id) references customers', /not valid/],
    ['alter table invoices add constraint invoices_number unique (environment_id, number)', /made before/],
    ['create index invoices_by_memo on invoices (environment_id, memo)', /concurrently/],
    ['create unique index on invoices (environment_id, memo)', /concurrently/],
    ['drop table invoices', /reads the table/],
    ['drop function if exists current_environment()', /still uses it/],
    ['truncate invoices', /empties/],
    ['lock table invoices in exclusive mode', /stops the version before/],
    ["update invoices set memo = ''", /a piece at a time/],
    ['delete from invoices', /a piece at a time/],
  ];
  for (const [statement, why] of refused) {
    test(`a statement that would not be borne is found: ${statement.replace(/\s+/g, ' ')}`, () => {
      const found = unsafeStatements(`-- A migration.\nselect 1;\n${statement};\n`);
      assert.equal(found.length, 1);
      assert.match(String(found[0]?.why), why);
    });
  }

  const borne: readonly string[] = [
    'alter table invoices add column memo text',
    "alter table invoices add column memo text not null default ''",
    'alter table invoices add constraint invoices_total check (total >= 0) not valid',
    'alter table invoices validate constraint invoices_total',
    'alter table invoices drop constraint invoices_total',
    'alter table invoices alter column memo drop not null',
    "alter table invoices alter column memo set default ''",
    'alter table invoices add constraint invoices_number unique using index invoices_number',
    'create table notes (environment_id bigint not null, id text not null); create index notes_by_id on notes (id); alter table notes add column memo text not null',
    'create function memo() returns text language sql as $$ delete from invoices; select 1 $$',
    "comment on table invoices is 'once; drop table invoices;'",
    '-- Allowed: nothing has read it since 0.3.0.\nalter table invoices drop column memo',
  ];
  for (const statement of borne) {
    test(`a statement that is borne is let through: ${statement.replace(/\s+/g, ' ')}`, () =>
      assert.deepEqual(unsafeStatements(`${statement};`), []));
  }

  test('the rule counts from the first migration after the last release', () => {
    const text = 'drop table invoices;';
    const migrations = ['0001-first.sql', '0002-second.sql', '0003-third.sql'].map((file) => ({ file, text }));
    const found = (releases: readonly number[]) => unsafeSince(releases, migrations).map(({ file }) => file);
    assert.deepEqual(found([]), [], 'before the first release there is no older version');
    assert.deepEqual(found([1]), ['0002-second.sql', '0003-third.sql']);
    assert.deepEqual(found([1, 2]), ['0003-third.sql']);
    assert.deepEqual(found([3]), []);
  });
});

test('several starts at once migrate once; a second time changes nothing; a failed one leaves nothing; one that waits long begins again', () =>
  withScratchPostgres(async (url) => {
    const inDatabase = async <Answer>(name: string, act: (pool: pg.Pool) => Promise<Answer>) => {
      const address = new URL(url);
      address.pathname = `/${name}`;
      const pool = createPool({ schema: testSchema, url: address.href, size: 5, as: 'owner' });
      try {
        return await act(pool);
      } finally {
        await pool.end();
      }
    };
    await inDatabase('postgres', (pool) => pool.query('create database failing'));

    await inDatabase('tollkeeper', async (pool) => {
      // Another installation renames its tables meanwhile.
      await pool.query('create schema other; create table other.a (id integer)');
      let isMigrated = false;
      const renaming = (async () => {
        while (!isMigrated) {
          await pool.query('alter table other.a rename to b');
          await pool.query('alter table other.b rename to a');
        }
      })();
      const ran = await Promise.all([migrate(pool, testSchema), migrate(pool, testSchema), migrate(pool, testSchema)]);
      isMigrated = true;
      await renaming;
      assert.deepEqual(
        ran.map((names) => names.length).sort((a, b) => a - b),
        [0, 0, files.length],
      );
      const before = await shapeOf(pool);
      assert.deepEqual(await migrate(pool, testSchema), []);
      assert.deepEqual(await shapeOf(pool), before);
      assert.ok(before.length > 500);
      // Minor versions since the autumn of 2026 refuse to change the table of such a function.
      const { rows } = await pool.query(`
        select p.oid::regprocedure::text as name from pg_proc p
         where p.pronamespace = current_schema()::regnamespace and p.prosqlbody is not null
           and exists (select from unnest(p.proargtypes) a join pg_type t on t.oid = a where t.typtype = 'c')`);
      assert.deepEqual(rows, [], 'a function that takes a row has a body of text');
    });

    await inDatabase('failing', async (pool) => {
      // The last table that the migrations make is in the way: everything before it is taken back.
      const inTheWay = [...textOf('0012-checkout.sql').matchAll(/^create table ([a-z_]+)/gm)].at(-1)?.[1];
      await pool.query(`create table ${inTheWay} ()`);
      const before = await shapeOf(pool);
      await assert.rejects(migrate(pool, testSchema), new RegExp(`relation "${inTheWay}" already exists`));
      const added = (await shapeOf(pool)).filter((line) => !before.includes(line) && !/kysely_migration/.test(line));
      assert.deepEqual(added, []);
      await pool.query(`drop table ${inTheWay}`);
      // Somebody uses the table. The migration lets go of everything, and begins again once the table is free.
      const other = await pool.connect();
      await other.query(`begin; create table ${inTheWay} ()`);
      const attempts = new Set<string>();
      const migrated = migrate(pool, testSchema);
      await until(async () => {
        const { rows } = await pool.query<{ began: string }>(
          `select xact_start::text as began from pg_stat_activity where wait_event_type = 'Lock'`,
        );
        for (const { began } of rows) attempts.add(began);
        return attempts.size === 2;
      }, 'the migration to begin again');
      await other.query('rollback');
      other.release();
      assert.equal((await migrated).length, files.length);
    });
  }));

/** Every column, constraint, index, function and policy of our schema, a line each. */
async function shapeOf(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(`
    select format('%s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)) as line
      from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'v', 'p') and a.attnum > 0 and not a.attisdropped
    union all
    select format('%s %s', conname, pg_get_constraintdef(oid)) from pg_constraint where connamespace = current_schema()::regnamespace
    union all
    select indexdef from pg_indexes where schemaname = current_schema()
    union all
    select pg_get_functiondef(oid) from pg_proc where pronamespace = current_schema()::regnamespace and prokind = 'f'
    union all
    select format('%s %s %s', tablename, policyname, qual) from pg_policies where schemaname = current_schema()
    order by 1`);
  return rows.map(({ line }) => line);
}

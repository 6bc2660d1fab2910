import assert from 'node:assert/strict';
import type pg from 'pg';
import { createDatabase, createPool, queueSchemaOf } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { slotOfNumber, slots } from '../../src/kernel/id.ts';
import {
  findIdentity,
  giveSlots,
  insertCell,
  joinInstallation,
  numberCell,
  openSlots,
} from '../../src/organizations/store-cells.ts';
import type { TestApp } from './harness.ts';

// Databases of tests with several cells, so that customers that tests make are spread over them by their external ids.

/** How many cells a database has, where no test file says it: `npm test -- --cells 4`. */
export const usualCells = Number(process.env.TEST_CELLS ?? 1);

/** The names of the cells besides the home cell. */
export function otherCells(count: number): readonly string[] {
  return Array.from({ length: count - 1 }, (_, index) => `cell_${index + 1}`);
}

const schemaOfAll = 'all_cells';

/** Settings of connections that find the rows of customers in all cells, and anything else in the home cell. */
export function settingsOfAll(home: string): Readonly<Record<string, string>> {
  return { search_path: [schemaOfAll, home, queueSchemaOf(home)].join() };
}

/** Adds cells to a database with a home cell. Each has as many slots as home keeps. */
export async function addCells(url: string, home: string, count: number): Promise<void> {
  const homePool = createPool({ schema: home, url, size: 2, as: 'owner' });
  const worker = createDatabase(homePool);
  const { installation } = await findIdentity(worker);
  for (const name of otherCells(count)) {
    const pool = createPool({ schema: name, url, size: 2, as: 'owner' });
    const there = createDatabase(pool);
    await migrate(pool, name);
    await joinInstallation(there, installation);
    await insertCell(worker, { name, address: null }, Date.now());
    await numberCell(worker, there, name);
    await giveSlots(worker, name, Math.floor(slots / count));
    await openSlots(worker, there, name);
    await pool.end();
  }
  await joinTables(homePool, [home, ...otherCells(count)]);
  await homePool.end();
}

// Functions that add sums up, and answer how many rows that took.
const summing = ['close_idle_rollups', 'merge_daily_sums', 'sum_usage_months', 'take_mrr_balances'];

/**
 * Makes a schema in which each table of customers has the rows of all cells. Tests look there at rows, change them, and write some,
 * which reach the cell of the slot of their customer. Rows of a table with partitions cannot be changed.
 */
async function joinTables(pool: pg.Pool, cells: readonly string[]): Promise<void> {
  const [home = ''] = cells;
  await pool.query(`create schema ${schemaOfAll};
    create function ${schemaOfAll}.insert_in_cell() returns trigger language plpgsql as $$
    declare
      given jsonb := to_jsonb(new);
      record_id text := coalesce(given ->> 'customer_id', given ->> 'subscription_id', given ->> 'ledger_account_id',
        given ->> 'spend_limit_id', given ->> 'delivery_id', given ->> 'id');
      cell text := coalesce((select s.cell from ${home}.slots s where s.code = right(record_id, 2)), '${home}');
      columns text[] := (select array_agg(quote_ident(attname) order by attnum) from pg_attribute
        where attrelid = format('%I.%I', cell, tg_table_name)::regclass and attnum > 0 and attgenerated = '' and attidentity = '');
    begin
      execute format('insert into %I.%I (%s) select %s', cell, tg_table_name, array_to_string(columns, ', '),
        (select string_agg('($1).' || c, ', ') from unnest(columns) c)) using new;
      return null;
    end $$`);
  for (const name of summing) {
    const sum = cells.map((cell) => `${cell}.${name}(at_most)`).join(' + ');
    await pool.query(`create function ${schemaOfAll}.${name}(at_most integer) returns integer return ${sum}`);
  }
  const { rows } = await pool.query<{ name: string; isPartitioned: boolean; key: string | null }>(`
    select c.relname as name, c.relkind = 'p' as "isPartitioned", pg_get_constraintdef(k.oid) as key
      from pg_class c left join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
     where c.relnamespace = '${home}'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname not in (select name from copied_tables())
       and (c.relname = 'test_processor_operations'
            or exists (select from pg_attribute where attrelid = c.oid and attname = 'environment_id'))`);
  for (const { name, isPartitioned, key } of rows) {
    const all = `${schemaOfAll}.${name}`;
    if (isPartitioned) {
      await pool.query(
        `create view ${all} as ${cells.map((cell) => `select * from ${cell}.${name}`).join(' union all ')}`,
      );
    } else {
      // Statements that group by a key name other columns too.
      await pool.query(`create table ${all} (like ${home}.${name} including defaults including generated, ${key})`);
      for (const cell of cells) await pool.query(`alter table ${cell}.${name} inherit ${all}`);
    }
    await pool.query(`create trigger insert_in_cell ${isPartitioned ? 'instead of' : 'before'} insert on ${all}
      for each row execute function ${schemaOfAll}.insert_in_cell()`);
  }
  // A test that moves the clock past the service moves that of each cell.
  const others = cells.slice(1);
  await pool.query(`create function ${schemaOfAll}.set_clocks() returns trigger language plpgsql as $$
    begin
      ${others.map((cell) => `update ${cell}.environments set clock_now = new.clock_now where id = new.id;`).join(' ')}
      return null;
    end $$;
    create trigger set_clocks after update of clock_now on ${home}.environments for each row
      when (current_setting('search_path') like '${schemaOfAll},%') execute function ${schemaOfAll}.set_clocks()`);
  // Triggers of statements are those of the table that is named.
  for (const cell of cells)
    await pool.query(`create trigger revisions_told_in_${cell} after update on ${schemaOfAll}.subscriptions referencing new table as changed
      for each statement execute function ${cell}.tell_subscription_revisions()`);
}

/** Has all customers live in one of the other cells. */
export async function giveAllSlots(
  { cells, services }: Pick<TestApp, 'cells' | 'services'>,
  wanted: string,
): Promise<void> {
  const [home, ...others] = cells;
  assert(home);
  const codes = Array.from({ length: slots }, (_, number) => slotOfNumber(number));
  await home.ownerPool.query(
    `with version as (update cell set slots_version = slots_version + 1)
     insert into slots (code, cell) select unnest($1::text[]), $2 on conflict (code) do update set cell = excluded.cell`,
    [codes, wanted],
  );
  for (const { name, ownerPool } of others) {
    await ownerPool.query('delete from slots_here');
    if (name === wanted) await ownerPool.query('insert into slots_here (code) select unnest($1::text[])', [codes]);
  }
  await services.cells?.refresh();
}

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { definitions, takeAwayWhatCitusRefuses } from '../../src/database/citus.ts';
import { knownMigrations } from '../../src/database/migrate.ts';
import { statementsOfPlaced } from '../../src/database/placed-migration.ts';
import { problemOfConstraint } from '../../src/kernel/constraint-problems.ts';
import { startTestApp } from '../support/harness.ts';
import { tablesIn } from '../tidy/sql.ts';

// Citus refuses these forms (record 0186). A cluster is seldom at hand, so they are looked for in the text of all statements.
const app = await startTestApp();
const client = await app.ownerPool.connect();
after(() => client.release());

interface StatementText {
  readonly where: string;
  readonly text: string;
}

async function rowsOf<Row>(text: string): Promise<readonly Row[]> {
  return (await client.query(text)).rows;
}

/** The statements of all functions. */
async function statementsOfFunctions(): Promise<readonly StatementText[]> {
  const functions = await rowsOf<{ name: string; source: string }>(`
    select p.proname as name, p.prosrc as source from pg_proc p
     where p.pronamespace = current_schema()::regnamespace and p.prosqlbody is null`);
  assert(functions.length > 100);
  return functions.flatMap(({ name, source }) =>
    source.split(';').map((text) => ({ where: `function ${name}`, text })),
  );
}

/** The statements of the service, from its source text. */
async function statementsOfService(): Promise<readonly StatementText[]> {
  const root = new URL('../../src/', import.meta.url);
  const files = (await readdir(root, { recursive: true })).filter((file) => /\bstore.*\.ts$/.test(file));
  const texts = await Promise.all(
    files.map(async (file) => ({ where: file, text: await readFile(new URL(file, root), 'utf8') })),
  );
  return texts.flatMap(({ where, text }) => text.split('.execute(').map((statement) => ({ where, text: statement })));
}

/** Each insert of a select, up to the next one. */
function insertsOf({ text }: StatementText): readonly string[] {
  return text
    .split(/\binsert into\b/)
    .slice(1)
    .filter((insert) => /^[^`;]*?\bselect\b/.test(insert) && !/^\s*\w+[^`;]*?\)\s*values\b/.test(insert));
}

const functions = /^(unnest|lateral|generate_series|\w+_to_record(set)?)$/;

/** The tables that an insert reads. A common table expression is none. */
function readsOf(insert: string, { text }: StatementText): readonly string[] {
  const own = new Set(Array.from(text.matchAll(/\b(\w+) as (?:materialized )?\(/g), (match) => match[1]));
  return tablesIn(`insert into ${insert}`)
    .filter(({ does, table }) => does === 'read' && !own.has(table) && !functions.test(table))
    .map(({ table }) => table);
}

const breaks = {
  'an insert reads a table': (statement: StatementText) =>
    insertsOf(statement).filter((insert) => readsOf(insert, statement).length === 0 && !insert.includes('from (${')),
  'an insert of a select that returns rows has an alias': (statement: StatementText) =>
    insertsOf(statement).filter(
      (insert) => /\breturning\b/.test(insert) && !/\bon conflict\b/.test(insert) && !/^\s*\w+ as \w+/.test(insert),
    ),
  'an update draws no number': ({ text }: StatementText) =>
    text.match(/\bupdate\b[^;`]*\bset\b(?:(?!\bfrom\b)[^;`])*\bnextval\(/g) ?? [],
};

function findBreaches(statements: readonly StatementText[]): string[] {
  return Object.entries(breaks).flatMap(([rule, find]) =>
    statements.flatMap((statement) =>
      find(statement).map((text) => `${rule}: ${statement.where}: ${text.slice(0, 200)}`),
    ),
  );
}

test('the statements of the service and of all functions have forms that Citus plans', async () => {
  assert.deepEqual(findBreaches(await statementsOfFunctions()), []);
  assert.deepEqual(findBreaches(await statementsOfService()), []);
});

test('no function writes in a common table expression, and the name of a trigger table has its shard taken away', async () => {
  for (const { where, text } of await statementsOfFunctions()) {
    assert.doesNotMatch(text, /\bas\s+(materialized\s+)?\(\s*insert into\b/, where);
    assert.doesNotMatch(text.replaceAll('table_of_trigger(tg_table_name)', ''), /\btg_(table|rel)(_?name|id)\b/, where);
  }
});

test('a trigger reads the rows of its statement by themselves', async () => {
  const transitions = (
    await rowsOf<{ name: string }>(`
      select distinct named as name from pg_trigger t cross join unnest(array[t.tgnewtable, t.tgoldtable]) named
       where named is not null and t.tgrelid in (select oid from pg_class where relnamespace = current_schema()::regnamespace)`)
  ).map(({ name }) => name);
  assert(transitions.length > 0);
  let found = 0;
  for (const { where, text } of await statementsOfFunctions()) {
    // A variable that takes the answer looks like a table that is written.
    const tables = tablesIn(text.replaceAll(/\binsert into\b/g, 'from'))
      .filter(({ does }) => does === 'read')
      .map(({ table }) => table);
    if (!tables.some((table) => transitions.includes(table))) continue;
    found += 1;
    const others = tables.filter((table) => !transitions.includes(table) && !functions.test(table));
    assert.deepEqual(others, [], `${where}: ${text}`);
  }
  assert(found > 50, `${found} statements read transition tables`);
});

test('a policy compares columns, and names that are shown have room for the number of a shard', async () => {
  const policies = await rowsOf<{ condition: string }>(`
    select pg_get_expr(polqual, polrelid) as condition from pg_policy join pg_class c on c.oid = polrelid
     where c.relnamespace = current_schema()::regnamespace`);
  assert(policies.length > 50);
  for (const { condition } of policies)
    assert.doesNotMatch(condition.replaceAll(/\( SELECT [a-z_]+\(\) AS [a-z_]+\)/g, ''), /SELECT/, condition);
  // Citus would shorten a longer one, and put a hash into it.
  assert.deepEqual(
    Object.keys(problemOfConstraint).filter((name) => name.length > 55),
    [],
  );
});

/** The parts of a migration that the coordinator of Citus refuses, or does not carry out on the node. */
function refusedByCoordinator(text: string): string[] {
  return statementsOfPlaced(text).filter((statement) => {
    const bare = statement.replaceAll(/--[^\n]*/g, '').trim();
    return (
      /^alter table\b[^;]*\badd constraint\b[^;]*,\s*(add|alter|drop|validate)\b/s.test(bare) ||
      /^do \$[\s\S]*\bcreate (unlogged )?table\b/.test(bare) ||
      /\bgenerated \w+( \w+)? as identity\b/.test(bare)
    );
  });
}

// Earlier ones ran before anybody could place a schema.
const firstOfPlaced = 24;

test('the coordinator takes the statements of each migration that a placed schema may lack', async () => {
  const later = (await knownMigrations()).slice(firstOfPlaced);
  assert(later.length > 0);
  for (const file of later) {
    const text = await readFile(new URL(`../../migrations/${file}`, import.meta.url), 'utf8');
    assert.deepEqual(refusedByCoordinator(text), [], file);
  }
  const refused = [
    'alter table a add constraint b check (c > 0), add constraint d check (e > 0)',
    "do $$ begin execute 'create table a (b bigint)'; end $$",
    'create table a (b smallint generated always as identity)',
  ];
  assert.deepEqual(refusedByCoordinator(refused.join(';\n')), refused);
});

test('a schema takes the form in which Citus distributes it, more than once', async () => {
  await client.query('begin');
  for (let turn = 0; turn < 2; turn++) {
    await client.query(takeAwayWhatCitusRefuses);
    const left = await rowsOf(`
      select polname::text as name from pg_policy join pg_class c on c.oid = polrelid
       where c.relnamespace = current_schema()::regnamespace
         and (pg_get_expr(polqual, polrelid) ~ 'SELECT' or pg_get_expr(polqual, polrelid) !~ 'is_here')
      union all
      select proname from pg_proc where pronamespace = current_schema()::regnamespace
         and (prosqlbody is not null or array_to_string(proconfig, ' ') ~ 'plan_cache_mode')
      union all
      select proname from pg_proc p join pg_language l on l.oid = p.prolang
       where p.pronamespace = current_schema()::regnamespace and l.lanname = 'sql' and p.pronargs > 0 and p.provolatile <> 'i'
      union all
      select attname from pg_attribute join pg_class c on c.oid = attrelid
       where c.relnamespace = current_schema()::regnamespace and attidentity <> ''`);
    assert.deepEqual(left, []);
    const commands = await rowsOf<{ command: string }>(definitions);
    await client.query(commands.map(({ command }) => command).join(';\n'));
  }
  const rewritten = await rowsOf<{ call: string }>(`
    select format('select %I(%s)', p.proname,
             (select string_agg('null::' || format_type(type, null), ', ') from unnest(p.proargtypes) type)) as call
      from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.prosrc ~ '#variable_conflict'`);
  assert(rewritten.length > 5);
  for (const { call } of rewritten) await client.query(call);
  const entering = await rowsOf(`
    select proname from pg_proc where pronamespace = current_schema()::regnamespace and prosrc ~ 'perform refuse_elsewhere' order by 1`);
  assert.deepEqual(
    entering.map((row) => Object.values(row as object)[0]),
    ['authenticate', 'authenticate_session', 'enter_environment', 'switch_environment'],
  );
  const placing = await rowsOf(`
    select proname from pg_proc where pronamespace = current_schema()::regnamespace and prosrc ~ 'perform create_distributed_table'`);
  assert.equal(placing.length, 1);
  await client.query('rollback');
});

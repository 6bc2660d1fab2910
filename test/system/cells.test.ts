import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { after, before, mock, test } from 'node:test';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { invariants } from '../../src/invariants/check-invariants.ts';
import { check, createOrganization, runMigrate } from '../../src/main-admin.ts';
import { addCell, showCells } from '../../src/main-cells.ts';
import type { Body } from '../support/harness.ts';
import { OwnPostgres, PressedService, until } from '../support/pressed.ts';
import { program } from '../support/program.ts';

// A home cell in the schema `home`, and cells in its database and in another, with a login that owns nothing.
const operatorKey = { TOLLKEEPER_TEST_KEY: 'sk_test_of_the_home_cell' };
let postgres: OwnPostgres;
let admin: pg.Client;
let settings: Readonly<Record<string, string>>;
let elsewhere: string;

function addressOf(user: string, database: string): string {
  const url = new URL(postgres.url);
  url.pathname = `/${database}`;
  if (user !== '') Object.assign(url, { username: user, password: 'p' });
  return url.href;
}

before(async () => {
  postgres = await OwnPostgres.start();
  admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query('create database elsewhere');
  const database = new URL(postgres.url).pathname.slice(1);
  elsewhere = `postgres://127.0.0.1:${new URL(postgres.url).port}/elsewhere`;
  settings = {
    DATABASE_URL: addressOf('requests', database),
    TOLLKEEPER_MIGRATE_URL: postgres.url,
    DATABASE_SCHEMA: 'home',
    TOLLKEEPER_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    LOG_LEVEL: 'error',
    ...operatorKey,
  };
  await printed(() => createOrganization(config(), { name: 'Acme', ...json }));
});

after(async () => {
  await admin.end();
  await postgres.remove();
});

const spawnCommand = (args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [program, ...args], { env: { ...process.env, ...settings } });

const config = (more: Readonly<Record<string, string>> = {}) => readConfig({ ...settings, ...more });
const json = { json: true };
const add = (name: string, url?: string) => addCell(config(), name, url === undefined ? json : { url, ...json });

/** The JSON that a command prints. */
async function printed(act: () => Promise<unknown>): Promise<Body> {
  const log = mock.method(console, 'log', () => undefined);
  try {
    await act();
    return JSON.parse(String(log.mock.calls.at(-1)?.arguments[0]));
  } finally {
    log.mock.restore();
  }
}

const listed = async () => (await printed(() => showCells(config(), json))).cells;

/** The error of a start. */
async function refusalOf(start: Promise<PressedService>): Promise<string> {
  const service = await start;
  assert.equal(await service.ended(), 1);
  await service.remove();
  return service.output.trim();
}

/** The numbers of tables and functions of a schema. */
async function shapeOf(client: pg.Client, schema: string) {
  const { rows } = await client.query(
    `select (select count(*)::integer from pg_class where relnamespace = $1::regnamespace) as relations,
            (select count(*)::integer from pg_proc where pronamespace = $1::regnamespace) as functions`,
    [schema],
  );
  return rows[0];
}

test('a cell is added by two commands at once and by a repeat, in the database of the home cell or in another', async () => {
  assert.deepEqual(await listed(), [{ name: 'home', address: null, isHome: true }]);
  await printed(() => Promise.all([add('cell_a'), add('cell_a'), add('cell_b', elsewhere)]));
  await printed(() => add('cell_a'));
  assert.deepEqual(await listed(), [
    { name: 'home', address: null, isHome: true },
    { name: 'cell_a', address: null, isHome: false },
    { name: 'cell_b', address: elsewhere, isHome: false },
  ]);
  const other = new pg.Client({ connectionString: addressOf('', 'elsewhere') });
  await other.connect();
  const shape = await shapeOf(admin, 'home');
  assert.deepEqual(await shapeOf(admin, 'cell_a'), shape);
  assert.deepEqual(await shapeOf(other, 'cell_b'), shape);
  await other.end();
  const { rows } = await admin.query(
    'select h.installation = a.installation as same, h.is_home as home, a.is_home as cell from home.cell h, cell_a.cell a',
  );
  assert.deepEqual(rows, [{ same: true, home: true, cell: false }]);
});

test('a cell is refused where its schema is in use, where it is already, and with a login in its address', async () => {
  await admin.query('create schema taken; create table taken.notes ()');
  await admin.query(`
    create schema other_installation;
    create table other_installation.cell as select gen_random_uuid() as installation, true as is_home;
    create table other_installation.organizations as select 'org_other' as id`);
  const withUser = elsewhere.replace('//', '//me:secret@');
  const expected: readonly [name: string, url: string | undefined, message: RegExp][] = [
    ['taken', undefined, /^The schema taken is in use\. Choose another name\.$/],
    ['other_installation', undefined, /^The schema other_installation is in use\./],
    ['home', undefined, /^home is the home cell\.$/],
    ['cell_b', undefined, /^There is a cell cell_b at another address\./],
    ['cell_a', elsewhere, /^There is a cell cell_a at another address\./],
    ['Cell', undefined, /^Cell is no name of a cell, which is that of its schema: must be 1 to 40 lower-case letters/],
    ['cell_c', withUser, /^--url: must have no user and password\./],
    ['cell_c', 'postgres:///elsewhere', /^--url: postgres:\/\/\/elsewhere is no address such as postgres:/],
  ];
  for (const [name, url, message] of expected) await assert.rejects(add(name, url), { message });
  const embedded = config({ DATABASE_URL: '', TOLLKEEPER_MIGRATE_URL: '' });
  await assert.rejects(addCell(embedded, 'cell_c', { url: elsewhere }), { message: /^--url: requires DATABASE_URL/ });
  assert.equal((await listed()).length, 3);
});

test('a command that was killed while it made a cell is repeated, and makes it whole', async () => {
  const child = spawnCommand(['cells', 'add', 'cell_k']);
  await until('the schema is there', async () => {
    const { rows } = await admin.query(`select to_regnamespace('cell_k') is not null as found`);
    return rows[0]?.found;
  });
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal((await listed()).length, 3);
  await printed(() => add('cell_k'));
  assert.deepEqual(await shapeOf(admin, 'cell_k'), await shapeOf(admin, 'home'));
  assert.equal((await listed()).length, 4);
});

test('the schema of a cell serves nothing by itself', async () => {
  assert.equal(
    await refusalOf(PressedService.spawn({ ...settings, DATABASE_SCHEMA: 'cell_a' })),
    'DATABASE_SCHEMA: cell_a is a cell of another schema. Set it to the schema of the home cell.',
  );
});

test('a check covers the cells, and names the cell of a broken row', async () => {
  await admin.query(`
    set session_replication_role = replica; set search_path = cell_a;
    insert into organizations values ('org_a', 'A', 0, 0);
    insert into environments (organization_id, livemode, created_at, updated_at) values ('org_a', false, 0, 0);
    insert into pricing_models (environment_id, id, name, is_default, created_at, updated_at)
      select id, 'pricing_model_a', 'A', true, 0, 0 from environments`);
  let isSound = true;
  const report = await printed(async () => {
    isSound = await check(config(), json);
  });
  assert.deepEqual([isSound, report.checked], [false, 4 * invariants.length]);
  assert.deepEqual(
    report.broken.map(({ cell, name }: Body) => [cell, name]),
    [
      ['cell_a', 'oneDefaultProduct'],
      ['cell_a', 'idsSayTheirKind'],
      ['cell_a', 'organizationsHaveBothModes'],
    ],
  );
  await admin.query('delete from pricing_models; delete from environments; delete from organizations');
  await admin.query('reset search_path; reset session_replication_role');
});

test('a start refuses a cell that is older or that another schema has replaced, and migrate brings the cells up to date', async () => {
  await admin.query(`
    alter table cell_a.cell rename to former; drop table cell_a.cells;
    delete from cell_a.kysely_migration where name = (select max(name) from cell_a.kysely_migration)`);
  assert.match(
    await refusalOf(PressedService.spawn(settings)),
    /Cell cell_a: The database is older than this version\. Run: tollkeeper migrate$/,
  );
  // The schema is migrated, and belongs to nobody.
  await assert.rejects(runMigrate(config(), json), {
    message: 'Cell cell_a: The schema at this address belongs to another installation.',
  });
  await admin.query('drop table cell_a.cell; alter table cell_a.former rename to cell');
  const { migrations, cells } = await printed(() => runMigrate(config(), json));
  assert.deepEqual([migrations, cells], [[], ['cell_a', 'cell_b', 'cell_k'].map((cell) => ({ cell, migrations: [] }))]);
});

test('a service starts while the server of a cell does not respond, and says so', async () => {
  await admin.query(`update home.cells set address = 'postgres://127.0.0.1:9/none' where name = 'cell_b'`);
  const service = await PressedService.start({ PORT: '0', ...settings, LOG_LEVEL: 'warn' });
  assert.match(service.output, /Cell cell_b is not responding: connect ECONNREFUSED/);
  assert.equal(
    (await service.request('GET', '/pricing-models/default', undefined, { key: operatorKey.TOLLKEEPER_TEST_KEY }))
      .status,
    200,
  );
  await service.stop();
  await assert.rejects(check(config(), json), { message: /^Cell cell_b: connect ECONNREFUSED/ });
});

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { after, test } from 'node:test';
import type pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { knownMigrations } from '../../src/database/migrate.ts';
import { invariants } from '../../src/invariants/check-invariants.ts';
import { runMigrate } from '../../src/main-admin.ts';
import { addCell, showCells } from '../../src/main-cells.ts';
import { check } from '../../src/main-check.ts';
import { startCellsServer } from '../support/cells-fixture.ts';
import type { Body } from '../support/harness.ts';
import { PressedService, until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';
import { program } from '../support/program.ts';
import { startEndpoint } from '../support/webhook-endpoint.ts';

const key = 'sk_test_of_the_home_cell';
const endpoint = await startEndpoint(() => ({ status: 200 }));
const { admin, elsewhere: other, addressElsewhere: elsewhere, settings, stop } = await startCellsServer(key);

after(stop);

const spawnCommand = (args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [program, ...args], { env: { ...process.env, ...settings } });

const config = (more: Readonly<Record<string, string>> = {}) => readConfig({ ...settings, ...more });
const json = { json: true };
const add = (name: string, url?: string) => addCell(config(), name, url === undefined ? json : { url, ...json });

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
  assert.deepEqual(await listed(), [{ name: 'home', address: null, isHome: true, slots: 3843 }]);
  await printed(() => Promise.all([add('cell_a'), add('cell_a'), add('cell_b', elsewhere)]));
  await printed(() => add('cell_a'));
  assert.deepEqual(await listed(), [
    { name: 'home', address: null, isHome: true, slots: 3843 },
    { name: 'cell_a', address: null, isHome: false, slots: 0 },
    { name: 'cell_b', address: elsewhere, isHome: false, slots: 0 },
  ]);
  const shape = await shapeOf(admin, 'home');
  assert.deepEqual(await shapeOf(admin, 'cell_a'), shape);
  assert.deepEqual(await shapeOf(other, 'cell_b'), shape);
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
  // Home's allowances are compared with those of each other cell, and series over all four.
  assert.deepEqual([isSound, report.checked], [false, 4 * invariants.length + 4]);
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

/** Undoes the last migration of a cell. It must only make functions, which is easily undone. */
async function undoLastMigration(cell: string): Promise<string> {
  const last = (await knownMigrations()).at(-1) ?? '';
  const text = await readFile(new URL(`../../migrations/${last}`, import.meta.url), 'utf8');
  const made = [...text.matchAll(/^create function (\w+)/gm)].map(([, name]) => name);
  const { rows } = await admin.query(
    'select oid::regprocedure as name from pg_proc where pronamespace = $1::regnamespace and proname = any($2)',
    [cell, made],
  );
  for (const { name } of rows) await admin.query(`drop function ${name} cascade`);
  await admin.query(`delete from ${cell}.kysely_migration where name = $1`, [last]);
  return last;
}

test('a start refuses a cell that is older or that another schema has replaced, and migrate brings the cells up to date', async () => {
  const last = await undoLastMigration('cell_a');
  assert.match(
    await refusalOf(PressedService.spawn(settings)),
    /Cell cell_a: The database is older than this version\. Run: tollkeeper migrate$/,
  );
  const { migrations, cells } = await printed(() => runMigrate(config(), json));
  assert.deepEqual(
    [migrations, cells],
    [[], ['cell_a', 'cell_b', 'cell_k'].map((cell) => ({ cell, migrations: cell === 'cell_a' ? [last] : [] }))],
  );
  // A migrated schema that belongs to nobody.
  await admin.query('alter table cell_a.cell rename to former');
  await admin.query('create table cell_a.cell as select gen_random_uuid() as installation, true as is_home');
  await admin.query('grant select on cell_a.cell to tollkeeper_worker');
  await assert.rejects(runMigrate(config(), json), {
    message: 'Cell cell_a: The schema at this address belongs to another installation.',
  });
  await admin.query('drop table cell_a.cell; alter table cell_a.former rename to cell');
});

const late: PressedService[] = [];
after(() => Promise.all(late.map((service) => service.remove())));

/** A service that sends to this machine, and that ends at the latest with the test. */
async function startLate(more: Readonly<Record<string, string>> = {}): Promise<PressedService> {
  const service = await PressedService.spawn({
    ...settings,
    LOG_LEVEL: 'warn',
    TOLLKEEPER_WEBHOOK_ALLOW: '127.0.0.0/8',
    ...more,
  });
  late.push(service);
  await service.untilListening();
  return service;
}

const queueOfElsewhere = `select from pg_stat_activity where datname = 'elsewhere' and application_name = 'tollkeeper-queue'`;

test('a service starts while the server of a cell does not respond, says so, and runs its jobs when it does', async () => {
  await admin.query(`update home.cells set address = 'postgres://127.0.0.1:9/none' where name = 'cell_b'`);
  const service = await startLate();
  assert.match(service.output, /Cell cell_b is not responding: connect ECONNREFUSED/);
  assert.equal((await service.request('GET', '/pricing-models/default', undefined, { key })).status, 200);
  await assert.rejects(check(config(), json), { message: /^Cell cell_b: connect ECONNREFUSED/ });
  // Nor does it matter that a schema of its database is migrated, while another service starts.
  const [other] = await Promise.all([startLate(), fillCell(endpoint.url)]);
  await until('the queue starts again', () => /the queue works again/.test(service.output));
  await other.stop();
  await until('the jobs of the cell wait', () =>
    /Cell cell_b: its jobs wait: connect ECONNREFUSED/.test(service.output),
  );
  assert.equal((await admin.query(queueOfElsewhere)).rowCount, 0);
  await admin.query('update home.cells set address = $1 where name = $2', [elsewhere, 'cell_b']);
  await until('the jobs of the cell run', () => /Cell cell_b: its jobs run\./.test(service.output));
  assert.notEqual((await admin.query(queueOfElsewhere)).rowCount, 0);
  // A cell that has moved has its jobs at its new address.
  await admin.query(`update home.cells set address = 'postgres://127.0.0.1:9/none' where name = 'cell_b'`);
  await until('its jobs have left', async () => (await admin.query(queueOfElsewhere)).rowCount === 0);
  await service.stop();
  await admin.query('update home.cells set address = $1 where name = $2', [elsewhere, 'cell_b']);
});

/** Makes a schema with a customer whose month is over, and with a message that waits for `url`. Nobody works there yet. */
async function fillCell(url: string): Promise<void> {
  const service = await startLate({ DATABASE_SCHEMA: 'cell_l', TOLLKEEPER_WORK: 'off' });
  const ask = async (method: string, path: string, body: unknown) => {
    const answer = await service.request(method, path, body, { key });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  };
  await ask('PUT', '/test-clock', { testClock: { now: Date.now() - 40 * 86_400_000 } });
  await ask('POST', '/webhooks', { webhook: { name: 'Here', url, filterTypes: ['customer.created'] } });
  await ask('POST', '/customers', { customer: { externalId: 'ann', email: 'ann@acme.test', name: 'Ann' } });
  await service.stop();
  await admin.query('update cell_l.environments set clock_now = null');
}

test('a running service sends the messages of an added cell, does its due work and checks it, and so does another when it is killed', async () => {
  const service = await startLate();
  assert.deepEqual(endpoint.received, []);
  await admin.query(`
    update cell_l.cell set is_home = false, installation = (select installation from home.cell);
    insert into cell_l.slots_here select distinct right(id, 2) from cell_l.customers;
    insert into home.cells (name, created_at) values ('cell_l', 0)`);
  await until('the message is sent', () => endpoint.received.length > 0);

  const ask = (task: string) =>
    admin.query(`select cell_l.enqueue_job($1, '{}'::json, $1 || ' of the test', now(), 3)`, [task]);
  const countOf = async (table: string) =>
    Number((await admin.query(`select count(*) from cell_l.${table}`)).rows[0]?.count);
  const periods = await countOf('billing_periods');
  await ask('find_due_work');
  await until('the next period has begun', async () => (await countOf('billing_periods')) > periods);
  await ask('check_invariants');
  await until('the cell is checked', async () => (await countOf('check_runs')) > 0);
  const { rows } = await admin.query(
    `select each ->> 'name' as name from cell_l.check_runs, jsonb_array_elements(result) each
      where (each -> 'violations' ->> 'count')::integer > 0`,
  );
  assert.deepEqual(rows, []);
  assert.equal(await countOf('webhook_deliveries'), 1);
  const metrics = await (await fetch(`${service.address}/metrics`)).text();
  assert.match(metrics, /^tollkeeper_queue_jobs\{state="ready"\} \d/m);
  assert.match(metrics, /^tollkeeper_queue_jobs\{cell="cell_l",state="failed"\} 0$/m);
  assert.match(metrics, /^tollkeeper_cell_broken_invariants\{cell="cell_l"\} 0$/m);
  assert.match(metrics, /^tollkeeper_pool_connections\{pool="jobs of cell_l",state="idle"\} \d/m);

  const other = await startLate();
  await service.remove();
  await admin.query(`update cell_l.webhook_deliveries set status = 'pending', next_attempt_at = 0`);
  await until('the other service sends it again', () => endpoint.received.length > 1);
  assert.equal(new Set(endpoint.received.map(({ eventId }) => eventId)).size, 1);
  await other.stop();
});

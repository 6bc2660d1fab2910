import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { type Archives, keepPartitions, releaseArchive, restoreArchive } from '../../src/archives/actions.ts';
import { directoryStorage } from '../../src/archives/store-files.ts';
import { readConfig } from '../../src/config.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { knownMigrations } from '../../src/database/migrate.ts';
import { freePort } from '../../src/embedded-postgres/server.ts';
import { msPerDay } from '../../src/kernel/calendar.ts';
import { createOrganization } from '../../src/main-admin.ts';
import { addCell, assignSlots } from '../../src/main-cells.ts';
import { check } from '../../src/main-check.ts';
import { placeCell } from '../../src/main-placing.ts';
import type { Answer, Body } from '../support/harness.ts';
import { moveTogether } from '../support/moves.ts';
import { plans } from '../support/plans.ts';
import { PressedService, until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';
import { program } from '../support/program.ts';

// A real cluster: a coordinator and two nodes. No package of this project has Citus, so a variable names the folder of a script
// `cluster.sh` that starts one: `start <directory> <nodes> <port>`, `database <directory> <name>`, `stop <directory>`.
const place = process.env.TOLLKEEPER_TEST_CITUS;
const skip = place ? false : 'TOLLKEEPER_TEST_CITUS names no folder with a cluster of Citus';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const key = 'sk_test_of_the_placed_schema';
const schema = 'home';
const second = 'second';
let directory = '';
let firstPort = 0;

const cluster = (action: string, ...more: readonly string[]) =>
  run('bash', [join(String(place), 'cluster.sh'), action, directory, ...more]);
const urlOf = (node: number) => `postgres://postgres@127.0.0.1:${firstPort + node}/tollkeeper`;
const settingsAt = (node: number) => ({
  DATABASE_URL: urlOf(node),
  DATABASE_SCHEMA: schema,
  TOLLKEEPER_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  TOLLKEEPER_TEST_KEY: key,
  LOG_LEVEL: 'error',
});
const configAt = (node: number) => readConfig(settingsAt(node));
const json = { json: true };

/** A version that is older than a release has this many migrations. */
const firstReleased = 25;

/** A migration with whatever Citus has to be told in another way. */
const newMigration = `
  -- Memos; and how many an environment has.
  create table memos (
    environment_id bigint not null references environments,
    id text collate "C" not null,
    number bigint generated always as identity,
    memo text,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (environment_id, id)
  );
  create index memos_by_number on memos (environment_id, number);
  alter table environments add column memos integer not null default 0;
  alter table environments add constraint environments_memos check (memos >= 0) not valid;
  create function count_memos() returns trigger language plpgsql set search_path from current as $$
  declare
    counted bigint[];
  begin
    select array_agg(environment_id) into counted from added;
    update environments set memos = memos + 1 where id = any (counted);
    return null;
  end $$;
  create trigger memos_counted after insert on memos referencing new table as added
    for each statement execute function count_memos();
  create function memos_of(p_environment bigint) returns bigint language sql stable set search_path from current
    return (select count(*) from memos m where m.environment_id = p_environment);
  create policy guests on memos to tollkeeper_service
    using (environment_id = (select current_environment()) and (select current_pricing_model()) is null);
`;

/** A migration of tables that a load reads and writes. */
const widening = `
  -- Notes on customers and events.
  alter table customers add column note text;
  alter table usage_events add column note text;
  create index customers_by_note on customers (environment_id, note) where note is not null;
`;

/** Stops or starts the second node. */
function nodeControl(action: string): string {
  const data = join(directory, 'data', String(firstPort + 2));
  const command = `${directory}/usr/lib/postgresql/15/bin/pg_ctl -D ${data} -m fast -l ${data}.log -w ${action} >/dev/null`;
  return process.getuid?.() === 0 ? `su postgres -s /bin/bash -c "${command}"` : command;
}

async function query(node: number, text: string): Promise<Body[]> {
  const client = new pg.Client({ connectionString: urlOf(node) });
  await client.connect();
  try {
    // Several statements answer with the rows of the last one.
    return [await client.query(text)].flat().at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}

/** Places the schema, by the address of any node. */
const placeOn = (node: number, at = 0) =>
  printed(() => placeCell(configAt(at), schema, { node: `127.0.0.1:${firstPort + node}`, ...json }));

async function assertSound(node: number, inSchema = schema): Promise<void> {
  const config = { ...configAt(node), schema: inSchema };
  const { broken } = await printed(() => check(config, { full: true, ...json }));
  assert.deepEqual(broken, []);
}

const ask = (service: PressedService, method: string, path: string, body?: unknown): Promise<Answer> =>
  service.request(method, path, body, { key });

interface Buyer {
  readonly externalId: string;
  readonly subscriptionId: string;
}

/** Customers of the standard plan. */
async function subscribe(service: PressedService, names: readonly string[]): Promise<readonly Buyer[]> {
  await ask(service, 'POST', '/pricing-models/setup', plans);
  return Promise.all(
    names.map(async (externalId) => {
      const customer = { externalId, email: `${externalId}@acme.test`, name: externalId };
      const { body } = await ask(service, 'POST', '/customers', { customer });
      return { externalId, subscriptionId: body.data.subscription.id };
    }),
  );
}

/** Stores events until the end, each until it is answered. Answers how many there are, and how often one was refused. */
async function load(buyers: readonly Buyer[], service: () => PressedService, end: AbortSignal) {
  const sum = { stored: 0, refused: 0 };
  const givesUp = AbortSignal.timeout(120_000);
  const callers = buyers.map(async ({ subscriptionId }, caller) => {
    for (let sent = 0; !end.aborted; sent++) {
      const usageEvent = { subscriptionId, priceSlug: 'call-overage', transactionId: `${caller} ${sent}`, amount: 1 };
      for (let status = 0; status !== 200; ) {
        const answer = await ask(service(), 'POST', '/usage-events', { usageEvent }).catch(() => null);
        status = answer?.status ?? 503;
        if (status === 200) break;
        sum.refused += 1;
        assert.equal(status, 503, JSON.stringify(answer?.body));
        assert(!givesUp.aborted, 'an event was refused for two minutes');
        await sleep(50);
      }
      sum.stored += 1;
    }
  });
  await Promise.all(callers);
  return sum;
}

/** The stored usage of customers, and that of their accounts. */
async function sumsOf(node: number, inSchema: string, buyers: readonly Buyer[]): Promise<Body> {
  const ids = buyers.map(({ subscriptionId }) => `'${subscriptionId}'`).join(', ');
  const [sums] = await query(
    node,
    `select (select sum(amount)::integer from ${inSchema}.usage_events e join ${inSchema}.usage_series s on s.id = e.series_id
              where s.subscription_id in (${ids})) as events,
            (select sum(used)::integer from ${inSchema}.ledger_accounts where subscription_id in (${ids})) as used`,
  );
  return sums;
}

/** Moves the schema from the first node to the second while two transactions are open. Neither loses or doubles anything. */
async function moveWithOpenTransactions(): Promise<void> {
  const pool = createPool({ url: urlOf(1), schema, size: 2, as: 'worker' });
  const [writer, reader] = [await pool.connect(), await pool.connect()];
  try {
    const moving = placeOn(2);
    const isThere = (node: number, rows: string) => async () => (await query(node, rows)).length > 0;
    await until('the copy follows', isThere(2, 'select from pg_subscription'));
    await writer.query(`begin; update customers set name = 'once' where external_id = 'a'`);
    await reader.query(`begin; select from customers where external_id = 'b' for update`);
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'lock_shard_metadata'`;
    await until('the last step waits for what was written', isThere(1, waiting));
    await writer.query(`update customers set name = name || ', twice' where external_id = 'a'; commit`);
    await moving;
    await assert.rejects(reader.query(`update customers set name = 'lost' where external_id = 'b'`), { code: '57P03' });
  } finally {
    for (const client of [writer, reader]) client.release(true);
    await pool.end();
  }
  const names = await query(2, `select name from home.customers where external_id in ('a', 'b') order by external_id`);
  assert.deepEqual(names, [{ name: 'once, twice' }, { name: 'b' }]);
}

suite('on a cluster of Citus', { skip }, () => {
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tollkeeper-citus-'));
    firstPort = await freePort(0);
    await cluster('start', '2', String(firstPort));
    for (const node of [0, 1, 2]) {
      const quickly = ['fsync', 'synchronous_commit', 'full_page_writes'];
      for (const setting of quickly) await query(node, `alter system set ${setting} = off`).catch(() => undefined);
    }
    await cluster('database', 'tollkeeper');
    for (const node of [0, 1, 2]) await query(node, 'select pg_reload_conf()');
    await printed(() => createOrganization(configAt(0), { name: 'Acme', ...json }));
  });
  after(async () => {
    await cluster('stop');
    await rm(directory, { recursive: true, force: true });
  });

  test('a command that was killed while it placed the schema is repeated, and the other nodes refuse', async () => {
    const child = spawn(process.execPath, [program, 'cells', 'place', schema], {
      env: { ...process.env, ...settingsAt(0) },
    });
    await until('the tables are on a node', async () => (await query(0, 'select from pg_dist_schema')).length > 0);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const placed = await printed(() => placeCell(configAt(0), schema, json));
    const node = Number(new URL(placed.address).port) - firstPort;
    assert([1, 2].includes(node));
    assert.deepEqual(placed, {
      name: schema,
      address: urlOf(node).replace('postgres@', ''),
      jobs: { moved: 0, left: 0 },
    });
    await assertSound(node);
    for (const other of [0, 3 - node]) {
      await assert.rejects(check(configAt(other), json), {
        message: `The schema home is on the node 127.0.0.1:${firstPort + node} of Citus. Set DATABASE_URL to it.`,
      });
      await assert.rejects(query(other, `set search_path = home; select authenticate('', 0, null)`), {
        message: 'the schema is on another node',
      });
    }
    await assert.rejects(placeCell(configAt(0), schema, { node: '127.0.0.1:1' }), {
      message: /^--node: 127\.0\.0\.1:1 is no node of the cluster\./,
    });
    await assert.rejects(
      printed(() => placeCell(configAt(node), 'other', json)),
      {
        message: 'There is no cell other. List them with: tollkeeper cells list',
      },
    );
  });

  test("a customer's first month is the same on a node", async () => {
    assert.equal((await placeOn(1)).jobs.left, 0);
    const worker = new URL('../../scripts/test-worker.ts', import.meta.url).pathname;
    const env = { ...process.env, ...settingsAt(1), TOLLKEEPER_TEST_DATABASE: urlOf(1), NODE_TEST_CONTEXT: undefined };
    const story = 'test/stories/first-month.test.ts';
    const { stdout } = await run(process.execPath, [...process.execArgv, worker, story], { env, timeout: 120_000 });
    assert.match(stdout, /^. fail 0$/m);
  });

  test('events of a schema on a node are archived, restored and dropped again, and all invariants hold throughout', async (t) => {
    await placeOn(1);
    const service = await PressedService.start(settingsAt(1));
    t.after(() => service.remove());
    const [buyer] = await subscribe(service, ['archived']);
    const usageEvents = ['one', 'two', 'three'].map((transactionId) => ({
      subscriptionId: buyer?.subscriptionId,
      priceSlug: 'call-overage',
      transactionId,
      amount: 3,
    }));
    const record = () => ask(service, 'POST', '/usage-events/bulk', { usageEvents });
    const { status, body: recorded } = await record();
    assert.equal(status, 200, JSON.stringify(recorded));
    const pool = createPool({ url: urlOf(1), schema, size: 4, as: 'worker' });
    t.after(() => pool.end());
    const files = join(directory, 'archives');
    await mkdir(files);
    const archives: Archives = {
      settings: { deduplicationDays: 2, retentionDays: 4 },
      worker: createDatabase(pool),
      pool,
      storage: directoryStorage(files),
    };
    const states = async () =>
      (await query(1, 'select state from home.usage_partitions order by number')).map(({ state }) => state);
    const countEvents = async () =>
      (await query(1, 'select count(*)::integer as events from home.usage_events'))[0].events;
    const events = await countEvents();
    const begun = Date.now();
    await keepPartitions(archives, begun + msPerDay);
    assert.deepEqual(await states(), ['closed', 'open']);
    // The transactions are in the older partition.
    assert.deepEqual((await record()).body, recorded);
    await assertSound(1);
    for (let day = 2; day <= 7; day++) await keepPartitions(archives, begun + day * msPerDay);
    assert.equal((await states())[0], 'archived');
    assert.equal(await countEvents(), 0);
    await assertSound(1);
    assert.equal(await restoreArchive(archives, 0), true);
    assert.equal((await states())[0], 'restored');
    assert.equal(await countEvents(), events);
    await assertSound(1);
    assert.equal(await releaseArchive(archives, 0), true);
    assert.equal(await countEvents(), 0);
    await assertSound(1);
  });

  test('a schema on a node takes the migrations of a newer version, also where that was killed half-way', async (t) => {
    const [older, newer] = [join(directory, 'older'), join(directory, 'newer')];
    for (const version of [older, newer]) {
      for (const part of ['src', 'migrations', 'package.json'])
        await cp(join(root, part), join(version, part), { recursive: true });
      await symlink(join(root, 'node_modules'), join(version, 'node_modules'));
    }
    const files = await knownMigrations();
    for (const file of files.slice(firstReleased)) await rm(join(older, 'migrations', file));
    const name = `${String(files.length + 1).padStart(4, '0')}-memos.sql`;
    await writeFile(join(newer, 'migrations', name), newMigration);
    const parameters = (version: string, ...command: readonly string[]) => [
      ...process.execArgv,
      join(version, 'src/main.ts'),
      ...command,
    ];
    const env = (node: number) => ({ ...process.env, ...settingsAt(node), DATABASE_SCHEMA: second });
    const tollkeeper = (version: string, node: number, ...command: readonly string[]) =>
      run(process.execPath, parameters(version, ...command), { env: env(node) });

    await tollkeeper(older, 0, 'organizations', 'create', '--name', 'Acme');
    await tollkeeper(older, 0, 'cells', 'place', second, '--node', `127.0.0.1:${firstPort + 2}`);
    const child = spawn(process.execPath, parameters(newer, 'migrate'), { env: env(2), stdio: 'ignore' });
    await until(
      'the tables are changed',
      async () => (await query(2, `select from second.kysely_migration where name = '${name}'`)).length > 0,
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
    await tollkeeper(newer, 2, 'migrate', '--json');
    const { stdout } = await tollkeeper(newer, 2, 'migrate', '--json');
    assert.deepEqual(JSON.parse(stdout), { migrations: [] });

    const checked = await tollkeeper(newer, 2, 'check', '--full', '--json');
    assert.deepEqual(JSON.parse(checked.stdout).broken, []);
    const [environment] = await query(2, 'select id from second.environments order by id limit 1');
    const [memo] = await query(
      2,
      `
      set search_path = second;
      set tollkeeper.actor_type = 'operator';
      insert into memos (environment_id, id, memo, created_at, updated_at) values (${environment.id}, 'a', 'b', 2, 1);
      select number, updated_at, (select memos from environments where id = environment_id) as memos, memos_of(environment_id) as counted
        from memos`,
    );
    assert.deepEqual(memo, { number: '1', updated_at: '2', memos: 1, counted: '1' });
    const audited = await query(2, `select action from second.audit_log where record_id = 'a'`);
    assert.equal(audited.length, 1);

    // The next update is expanded under the load of a service that goes on.
    const service = await PressedService.start({ ...settingsAt(2), DATABASE_SCHEMA: second }, parameters(newer));
    t.after(() => service.remove());
    const buyers = await subscribe(service, ['left', 'right']);
    const end = new AbortController();
    const loading = load(buyers, () => service, end.signal);
    loading.catch(() => undefined);
    const next = `${String(files.length + 2).padStart(4, '0')}-notes.sql`;
    await writeFile(join(newer, 'migrations', next), widening);
    await tollkeeper(newer, 2, 'migrate', '--json');
    const { events: before } = await sumsOf(2, second, buyers);
    await until('events are stored after the update', async () => (await sumsOf(2, second, buyers)).events > before);
    end.abort();
    const { stored } = await loading;
    assert.deepEqual(await sumsOf(2, second, buyers), { events: stored, used: stored });
  });

  test('a schema that moves under load loses and doubles nothing, and a node that is down is waited for', async () => {
    let service = await PressedService.start(settingsAt(1));
    const tour = new URL('../../examples/tour.ts', import.meta.url).pathname;
    await run(process.execPath, [tour], {
      env: { ...process.env, TOLLKEEPER_URL: service.address, TOLLKEEPER_TEST_KEY: key },
    });
    const buyers = await subscribe(service, ['a', 'b', 'c', 'd', 'e', 'f']);
    const end = new AbortController();
    const loading = load(buyers, () => service, end.signal);
    try {
      await moveWithOpenTransactions();
      const former = service;
      await until('the former node refuses', async () => (await ask(former, 'GET', '/customers/a')).status === 503);
      service = await PressedService.start(settingsAt(2));
      await former.stop();
      assert.equal((await placeOn(2, 2)).jobs.left, 0);
      await sleep(500);
    } finally {
      end.abort();
      await loading.catch(() => undefined);
    }
    const { stored, refused } = await loading;
    assert(refused > 0);
    assert.deepEqual(await sumsOf(2, schema, buyers), { events: stored, used: stored });
    await assertSound(2);

    const control = (action: string) => run('bash', ['-c', nodeControl(action)]);
    await control('stop');
    assert.equal((await ask(service, 'GET', '/customers/a')).status, 503);
    assert.equal(await service.status('/ready'), 503);
    await control('start');
    await until('the service is back', async () => (await ask(service, 'GET', '/customers/a')).status === 200);
    await until('the service is ready', async () => (await service.status('/ready')) === 200);
    await service.stop();
  });

  test('a home cell and another cell on two nodes share the load of one service', async (t) => {
    await placeOn(2);
    const cell = 'cell_c';
    const config = configAt(2);
    await printed(() => addCell(config, cell, { url: urlOf(0).replace('postgres@', ''), ...json }));
    const { address } = await printed(() => placeCell(config, cell, { node: `127.0.0.1:${firstPort + 1}`, ...json }));
    assert.equal(address, urlOf(1).replace('postgres@', ''));
    await printed(() => assignSlots(config, cell, { slots: '1900', ...json }));
    const service = await PressedService.start(settingsAt(2));
    t.after(() => service.remove());
    const names = Array.from({ length: 12 }, (_, index) => `spread ${index}`);
    const buyers = await subscribe(service, names);
    const end = new AbortController();
    const loading = load(buyers, () => service, end.signal);
    await sleep(3_000);
    end.abort();
    const { stored } = await loading;
    assert(stored > 0);
    const [atHome, there] = [await sumsOf(2, schema, buyers), await sumsOf(1, cell, buyers)];
    assert(atHome.events > 0 && there.events > 0, 'both cells have customers');
    assert.equal(atHome.events + there.events, stored);
    assert.equal(atHome.used + there.used, stored);
    const { body: page } = await ask(service, 'GET', '/customers?limit=100');
    const listed: string[] = page.data.map(({ externalId }: Body) => externalId);
    assert.deepEqual(listed.filter((name) => names.includes(name)).sort(), [...names].sort());
    await assertSound(2);
    // The events of home are in several partitions, which the other cell has not.
    const [customer] = await query(
      2,
      `select right(id, 2) as code from home.customers where external_id like 'spread %'`,
    );
    const move = { codes: [customer.code], source: null, target: cell };
    assert.deepEqual(await moveTogether(config, move), { codes: move.codes, reason: null });
    const [left, arrived] = [await sumsOf(2, schema, buyers), await sumsOf(1, cell, buyers)];
    assert(arrived.events > there.events);
    assert.deepEqual([left.events + arrived.events, left.used + arrived.used], [stored, stored]);
    assert.deepEqual(await moveTogether(config, { ...move, source: cell, target: null }), {
      codes: move.codes,
      reason: null,
    });
    assert.deepEqual(await sumsOf(2, schema, buyers), atHome);
    await assertSound(2);
  });
});

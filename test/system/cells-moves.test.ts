import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { routes } from '../../src/api/routes.ts';
import { readConfig } from '../../src/config.ts';
import { slotOfCustomer } from '../../src/customers/actions-slots.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { slotOf } from '../../src/kernel/id.ts';
import { addCell, assignSlots, showCells } from '../../src/main-cells.ts';
import { check } from '../../src/main-check.ts';
import { drainCell, moveSlots, removeCell } from '../../src/main-moves.ts';
import { beginMove, closeSlots, storeDeparture, takeSlots } from '../../src/organizations/store-moves.ts';
import { startCellsServer } from '../support/cells-fixture.ts';
import type { Body } from '../support/harness.ts';
import { moveTogether } from '../support/moves.ts';
import { PressedService, until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';
import { program } from '../support/program.ts';
import { buildWorld } from '../support/world.ts';

// Customers move between a home cell, a cell of its database and a cell of another database.
const key = 'sk_test_of_the_home_cell';
const json = { json: true };
const { admin, elsewhere, addressElsewhere: url, settings, stop } = await startCellsServer(key);
const config = () => readConfig(settings);
const schemas = [
  { name: null, client: admin, schema: 'home' },
  { name: 'cell_a', client: admin, schema: 'cell_a' },
  { name: 'cell_b', client: elsewhere, schema: 'cell_b' },
] as const;
let service: PressedService;
let environmentId: number;
/** The customer with everything. */
let externalId: string;

const ask = (method: string, path: string, body?: unknown, headers = {}) =>
  service.request(method, path, body, { key, headers });

async function ok(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await ask(method, path, body);
  assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

before(async () => {
  environmentId = Number((await admin.query('select id from home.environments where not livemode')).rows[0]?.id);
  service = await PressedService.start({ ...settings, LOG_LEVEL: 'warn' });
  const pool = createPool({ url: settings.DATABASE_URL ?? '', schema: 'home', size: 2, as: 'service' });
  try {
    const world = await buildWorld({
      get: (path) => ok('GET', path),
      post: (path, body) => ok('POST', path, body),
      put: (path, body) => ok('PUT', path, body),
      databaseOf: () => createDatabase(pool),
      testKey: key,
      testEnvironmentId: environmentId,
    });
    externalId = world.externalId;
    // Its slot is no more that of its name.
    await ok('PUT', `/customers/${world.leavingExternalId}`, { customer: { externalId: 'renamed' } });
  } finally {
    await pool.end();
  }
  await printed(() => Promise.all([addCell(config(), 'cell_a', json), addCell(config(), 'cell_b', { url, ...json })]));
  await printed(() =>
    Promise.all(['cell_a', 'cell_b'].map((cell) => assignSlots(config(), cell, { slots: '1', ...json }))),
  );
});

after(async () => {
  await service.remove();
  await stop();
});

/** The answers of all reads about customers and their records. */
async function readAll(): Promise<Map<string, Body>> {
  const found = new Map<string, Body>();
  const read = async (path: string) => {
    const { status, body } = await ask('GET', path);
    found.set(path, { status, body });
    return body;
  };
  const reads = routes.filter(({ method, resumes, file }) => method === 'GET' && !resumes && !file);
  const ofCustomer = reads.filter(({ path }) => path.match(/\{\w+\}/g)?.join() === '{externalId}');
  for (const { path: list } of reads.filter(({ path, merged }) => merged && !path.includes('{'))) {
    const { data } = await read(`${list}?limit=100`);
    assert(data, JSON.stringify(found.get(`${list}?limit=100`)));
    const ofRecord = reads.filter(
      ({ path, cell }) => cell === 'id' && path.startsWith(`${list}/{`) && path.match(/\{/g)?.length === 1,
    );
    for (const { id, externalId: name } of data) {
      if (slotOf(id) === '00') continue;
      for (const { path } of ofRecord) await read(path.replace(/\{\w+\}/, id));
      if (list === '/customers') for (const { path } of ofCustomer) await read(path.replace('{externalId}', name));
    }
  }
  return found;
}

async function assertSound(): Promise<void> {
  const report = await printed(async () => assert.equal(await check(config(), { ...json, full: true }), true));
  assert.deepEqual(report.broken, []);
}

/** Where each customer is, and that no row of one is anywhere else. */
async function placesOfCustomers(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { client, schema } of schemas) {
    const { rows } = await client.query(`select id, external_id from ${schema}.customers`);
    for (const row of rows) {
      assert.equal(found.has(row.external_id), false, `${row.external_id} is in two cells`);
      found.set(row.external_id, schema);
    }
    const held = new Set(rows.map((row) => slotOf(row.id)));
    const { rows: tables } = await client.query(`select distinct name from ${schema}.moved_tables()`);
    for (const { name } of tables) {
      if (['ledger_transactions', 'idempotency_keys'].includes(name)) continue;
      const { rows: texts } = await client.query(`select to_jsonb(t)::text as text from ${schema}.${name} t`);
      for (const { text } of texts)
        for (const [id] of text.matchAll(/\b(cust|sub|la|inv|pym)_[0-9A-Za-z]{21}\b/g))
          assert(held.has(slotOf(id)), `${schema}.${name} has ${id}`);
    }
  }
  return found;
}

describe('the rules', () => {
  test('each table of tenants is a copy, moves by a rule or stays for a reason', async () => {
    const { rows } = await admin.query(`
      select c.relname as name,
             (c.relname in (select name from home.copied_tables()))::integer + (c.relname in (select name from home.moved_tables()))::integer
               + (c.relname in (select name from home.tables_that_stay()))::integer as times
        from pg_class c
       where c.relnamespace = 'home'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and (c.relname = 'organizations' or exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'environment_id'))`);
    assert(rows.length > 80);
    assert.deepEqual(
      rows.filter(({ times }) => times !== 1),
      [],
    );
  });

  test('a moved table refers to copies, and to moved tables before it or when the move ends', async () => {
    const { rows } = await admin.query(`
      with moved as (select name, min(place) as place from home.moved_tables() group by name)
      select f.conrelid::regclass::text || ' ' || f.conname as broken
        from pg_constraint f
        join moved m on m.name = f.conrelid::regclass::text or 'home.' || m.name = f.conrelid::regclass::text
        left join moved p on p.name = f.confrelid::regclass::text or 'home.' || p.name = f.confrelid::regclass::text
        left join pg_class c on c.oid = f.confrelid
       where f.contype = 'f' and f.connamespace = 'home'::regnamespace and not f.condeferrable
         and c.relname not in (select name from home.copied_tables()) and c.relname <> 'credit_subjects'
         and (p.place is null or p.place >= m.place)`);
    assert.deepEqual(rows, []);
  });
});

describe('a customer with everything', () => {
  test('is the same in each cell, with its renamed neighbor, and every invariant holds', async () => {
    const expected = await readAll();
    assert(expected.size > 60, `${expected.size} reads`);
    const assertSame = async (place: string) => {
      const places = await placesOfCustomers();
      assert.deepEqual([places.get(externalId), places.get('renamed')], [place, place]);
      const found = await readAll();
      let compared = 0;
      for (const [path, answer] of expected) {
        if (found.get(path)?.status === 501) continue;
        assert.deepEqual([path, found.get(path)], [path, answer]);
        compared += 1;
      }
      assert(compared > 40, `${compared} compared`);
      await assertSound();
    };
    const [home, cellA, cellB] = schemas;
    const moveAll = async (from: Place, to: Place) => {
      const { rows } = await from.client.query(`select distinct right(id, 2) as code from ${from.schema}.customers`);
      const codes = rows.map(({ code }) => code);
      assert.equal((await moveTogether(config(), { codes, source: from.name, target: to.name })).reason, null);
    };
    await moveAll(home, cellA);
    await assertSame('cell_a');
    await moveAll(cellA, cellB);
    await assertSame('cell_b');
    await moveAll(cellB, home);
  });
});

let names = 0;

/** A name of this slot. */
function nameOf(slot: string): string {
  for (;;) {
    const name = `named-${names++}`;
    if (slotOfCustomer(environmentId, name) === slot) return name;
  }
}

async function subscribe(name: string): Promise<string> {
  await ok('POST', '/customers', { customer: { externalId: name, name, email: 'c@acme.test' } });
  const asked = { customerExternalId: name, priceSlug: 'team-monthly', doNotCharge: true };
  return (await ok('POST', '/subscriptions', asked)).subscription.id;
}

/** The units that a customer has left. */
async function balanceOf(name: string): Promise<number> {
  const { usageMeterBalances } = await ok('GET', `/customers/${name}/usage-balances`);
  return usageMeterBalances[0].availableBalance;
}

describe('under load', () => {
  const subscriptions = new Map<string, string>();
  const used = new Map<string, string[]>();
  const granted = new Map<string, number>();
  const statuses = new Map<number, number>();
  let isOver = false;
  let repeats = 0;

  /** Asks until the cell is ready. Nothing but that may be refused. */
  const untilOk = async (method: string, path: string, body?: unknown, headers = {}) => {
    for (;;) {
      const answer = await ask(method, path, body, headers);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status === 200) return answer;
      assert.equal(answer.status, 503, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      await sleep(20);
    }
  };

  const use = async (name: string) => {
    const subscriptionId = subscriptions.get(name);
    for (let n = 0; !isOver; n++) {
      const transactionId = `${name} ${n}`;
      const usageEvent = { customerExternalId: name, usageMeterSlug: 'api-calls', amount: 1, transactionId };
      await untilOk('POST', n % 2 === 0 ? '/usage-events' : '/usage-events/consume', { usageEvent });
      used.get(name)?.push(transactionId);
      const credit = { customerExternalId: name, usageMeterSlug: 'api-calls', amount: 2 };
      const again = { 'idempotency-key': `credit ${transactionId}` };
      const first = await untilOk('POST', '/usage-credits', { usageCredit: credit }, again);
      granted.set(name, (granted.get(name) ?? 0) + 2);
      const second = await untilOk('POST', '/usage-credits', { usageCredit: credit }, again);
      assert.deepEqual(second.body, first.body);
      repeats += 1;
      const seat = { resourceSlug: 'seat', externalId: 'ada' };
      await untilOk('POST', `/resource-claims/${subscriptionId}/claim`, seat);
      const { body } = await untilOk('GET', `/customers/${name}/usage-balances`);
      assert.equal(body.usageMeterBalances.length, 1);
      await untilOk('POST', `/resource-claims/${subscriptionId}/release`, {
        resourceSlug: 'seat',
        externalIds: ['ada'],
      });
    }
  };

  test('each acknowledged event is stored once, balances add up, and nothing is answered wrongly', async () => {
    // The slots that move first.
    const { rows } = await admin.query(
      `select code from (select home.slot_code(n) collate "C" as code from generate_series(1, 3843) n) every
        where code not in (select s.code from home.slots s) order by code limit 48`,
    );
    const names = rows.filter((_, n) => n % 8 === 0).map(({ code }) => nameOf(code));
    for (const name of names) subscriptions.set(name, await subscribe(name));
    for (const name of names) used.set(name, []);
    const atFirst = new Map<string, number>();
    for (const name of names) atFirst.set(name, await balanceOf(name));
    const { total } = await ok('GET', '/customers?limit=1');
    const list = async () => {
      while (!isOver) {
        const { body } = await untilOk('GET', '/customers?limit=100');
        assert.deepEqual([body.total, new Set(body.data.map(({ id }: Body) => id)).size], [total, total]);
      }
    };
    const working = Promise.all([...names.map(use), list()]);
    working.catch(() => undefined);
    try {
      const moved: Body[] = [];
      for (const [from, to, slots] of [
        ['home', 'cell_a', '49'],
        ['cell_a', 'home', '3817'],
        ['home', 'cell_b', '25'],
        ['home', 'cell_b', '25'],
      ] as const)
        moved.push(await printed(() => moveSlots(config(), from, to, { slots, ...json })));
      assert.deepEqual(
        moved.map(({ moved, staying }) => [moved, staying]),
        [48, 24, 24, 0].map((count) => [count, []]),
      );
    } finally {
      isOver = true;
      await working;
    }
    assert(repeats > 20, `${repeats} rounds`);
    assert((statuses.get(503) ?? 0) > 0, 'somebody met a closed slot');
    const places = await placesOfCustomers();
    assert.deepEqual([...new Set(names.map((name) => places.get(name)))].toSorted(), ['cell_a', 'cell_b']);
    for (const name of names) {
      const stored: string[] = [];
      for (const { client, schema } of schemas) {
        const { rows } = await client.query(
          `select e.transaction_id from ${schema}.usage_events e
             join ${schema}.usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
             join ${schema}.customers c on c.environment_id = s.environment_id and c.id = s.customer_id where c.external_id = $1`,
          [name],
        );
        stored.push(...rows.map((row) => row.transaction_id));
      }
      assert.deepEqual(stored.toSorted(), used.get(name)?.toSorted());
      const left = (atFirst.get(name) ?? 0) + (granted.get(name) ?? 0) - stored.length;
      assert.equal(await balanceOf(name), left);
    }
    await assertSound();
  });
});

type Place = (typeof schemas)[number];

/** Blocks a mover at a step: takes locks, and says when it has come to them. */
interface Step {
  readonly name: string;
  readonly block: (client: pg.Client, from: Place, to: Place) => Promise<void>;
  readonly reached: (from: Place, to: Place) => Promise<boolean>;
  readonly inTarget?: boolean;
}

const waitsFor = async ({ client }: Place, condition: string) =>
  Number((await client.query(`select count(*) as n from pg_locks where not granted and ${condition}`)).rows[0].n) > 0;
const lockShared = async (client: pg.Client, lock: number, { schema }: Place) => {
  await client.query('select pg_advisory_xact_lock_shared($1, hashtext($2))', [lock, schema]);
};

const steps: readonly Step[] = [
  {
    name: 'before the slot is closed',
    block: async (client, { schema }) => void (await client.query(`lock table ${schema}.slots_here in exclusive mode`)),
    reached: (from) => waitsFor(from, `relation = '${from.schema}.slots_here'::regclass`),
  },
  {
    name: 'while requests are in the slot',
    block: (client, from) => lockShared(client, 7011, from),
    reached: async ({ client, schema }) =>
      (await client.query(`select from ${schema}.slots_here where is_closing`)).rowCount === 1,
  },
  {
    name: 'before it takes the rows',
    block: (client, from) => lockShared(client, 7010, from),
    reached: (from) => waitsFor(from, `locktype = 'advisory' and classid = 7010`),
  },
  {
    name: 'before it stores the rows in the target',
    inTarget: true,
    block: async (client, _, { schema }) =>
      void (await client.query(`lock table ${schema}.slots_arriving in share mode`)),
    reached: (_, to) => waitsFor(to, `relation = '${to.schema}.slots_arriving'::regclass`),
  },
  {
    name: 'before it adds the rows',
    inTarget: true,
    block: (client, _, to) => lockShared(client, 7010, to),
    reached: async ({ client: _ }, { client, schema }) =>
      ((await client.query(`select from ${schema}.slots_arriving`)).rowCount ?? 0) > 0 &&
      (await waitsFor({ name: null, client, schema } as Place, `locktype = 'advisory' and classid = 7010`)),
  },
  {
    name: 'when both cells have committed, and home has not',
    block: async (client) => void (await client.query('lock table home.slots in share mode')),
    reached: () => waitsFor(schemas[0], `relation = 'home.slots'::regclass`),
  },
];

describe('a mover that is killed', () => {
  const [, cellA, cellB] = schemas;
  const slotsOf = async (name: string): Promise<number> =>
    (await printed(() => showCells(config(), json))).cells.find((cell: Body) => cell.name === name).slots;

  /** A customer in the slot of a cell that moves next. */
  const nextCustomer = async ({ name }: Place) => {
    const { rows } = await admin.query('select code from home.slots where cell = $1 order by code limit 1', [name]);
    const customer = nameOf(rows[0].code);
    await subscribe(customer);
    await ok('POST', '/usage-events', {
      usageEvent: { customerExternalId: customer, usageMeterSlug: 'api-calls', amount: 7, transactionId: customer },
    });
    return { customer, code: String(rows[0].code) };
  };

  const assertMoved = async (customer: string, balance: number) => {
    assert.equal((await placesOfCustomers()).get(customer), cellB.schema);
    assert.equal(await balanceOf(customer), balance);
    assert.equal((await admin.query('select from home.slots_moving')).rowCount, 0);
    assert.equal((await elsewhere.query('select from cell_b.slots_arriving')).rowCount, 0);
  };

  for (const step of steps)
    test(`${step.name}: the next call finishes the move`, async () => {
      const { customer } = await nextCustomer(cellA);
      const balance = await balanceOf(customer);
      const wanted = String((await slotsOf('cell_b')) + 1);
      const { client: there } = step.inTarget ? cellB : cellA;
      const blocking = new pg.Client({
        connectionString: there === admin ? settings.TOLLKEEPER_MIGRATE_URL : url.replace('127.0.0.1', hostOfOwner()),
      });
      await blocking.connect();
      try {
        await blocking.query('begin');
        await step.block(blocking, cellA, cellB);
        const child = spawn(process.execPath, [program, 'cells', 'move', 'cell_a', 'cell_b', '--slots', wanted], {
          stdio: 'ignore',
          env: { ...process.env, ...settings },
        });
        await until(step.name, () => step.reached(cellA, cellB));
        await kill(child);
        // A single statement would end without its client.
        await admin.query(
          `select pg_terminate_backend(pid) from pg_locks where not granted and relation = 'home.slots'::regclass`,
        );
      } finally {
        await blocking.end();
      }
      const moved = await printed(() => moveSlots(config(), 'cell_a', 'cell_b', { slots: wanted, ...json }));
      assert.deepEqual([moved.slots, moved.staying], [Number(wanted), []]);
      await assertMoved(customer, balance);
    });

  test('when the source has committed and the target has not, the stored rows arrive and follow the catalog', async () => {
    const { customer, code } = await nextCustomer(cellA);
    const balance = await balanceOf(customer);
    const wanted = (await slotsOf('cell_b')) + 1;
    const { portalSession } = await ok('POST', `/customers/${customer}/portal-sessions`, {});
    const { pathname, search } = new URL(portalSession.url);
    const entered = await fetch(service.address + pathname + search, { redirect: 'manual' });
    const [cookie = ''] = entered.headers.getSetCookie().map((text) => text.replace(/;.*/, ''));
    const portal = async () => (await fetch(`${service.address}/portal`, { headers: { cookie } })).status;
    const open = (address: string, schema: string) =>
      createDatabase(createPool({ url: address, schema, size: 3, as: 'worker' }));
    const home = open(settings.DATABASE_URL ?? '', 'home');
    const from = open(settings.DATABASE_URL ?? '', 'cell_a');
    const to = open(Object.assign(new URL(settings.DATABASE_URL ?? ''), { pathname: '/elsewhere' }).href, 'cell_b');
    // The service would finish the move.
    await admin.query(`select pg_advisory_lock(7012, hashtext('home'))`);
    try {
      await beginMove(home, { codes: [code], source: 'cell_a', target: 'cell_b' });
      await closeSlots(from, [code]);
      await from.transaction().execute(async (departure) => storeDeparture(to, await takeSlots(departure, [code])));
      assert.equal((await placesOfCustomers()).get(customer), undefined);
      assert.deepEqual([(await ask('GET', `/customers/${customer}`)).status, await portal()], [503, 503]);
      // Both cells copy this while they have no subscription of the customer.
      await ok('PUT', '/settings', { settings: { allowMultipleSubscriptions: true } });
    } finally {
      await admin.query(`select pg_advisory_unlock(7012, hashtext('home'))`);
      await Promise.all([home.destroy(), from.destroy(), to.destroy()]);
    }
    await printed(() => moveSlots(config(), 'cell_a', 'cell_b', { slots: String(wanted), ...json }));
    await assertMoved(customer, balance);
    assert.equal(await portal(), 200);
    const exclusive = await elsewhere.query(
      `select from cell_b.subscriptions s join cell_b.customers c on c.environment_id = s.environment_id and c.id = s.customer_id
        where c.external_id = $1 and s.status = 'active' and s.exclusive`,
      [customer],
    );
    assert.equal(exclusive.rowCount, 0, 'it follows the change of the settings');
    await assertSound();
  });
});

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** The owner's login, which the address of a cell does not have. */
function hostOfOwner(): string {
  const { username, password } = new URL(settings.TOLLKEEPER_MIGRATE_URL ?? '');
  return `${username}:${password}@127.0.0.1`;
}

test('a drained cell has no slots and no customers, and can be removed', async () => {
  await assert.rejects(removeCell(config(), 'cell_a', json), { message: /^Cell cell_a has slots or customers\./ });
  const drained = await printed(() => drainCell(config(), 'cell_a', json));
  assert.deepEqual([drained.slots, drained.staying], [0, []]);
  assert.equal([...(await placesOfCustomers()).values()].includes('cell_a'), false);
  await printed(() => removeCell(config(), 'cell_a', json));
  assert.deepEqual(
    (await printed(() => showCells(config(), json))).cells.map(({ name }: Body) => name),
    ['home', 'cell_b'],
  );
  assert.equal((await ask('GET', `/customers/${externalId}`)).status, 200);
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { slotOfCustomer } from '../../src/customers/actions-slots.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { msPerDay } from '../../src/kernel/calendar.ts';
import { addCell, assignSlots } from '../../src/main-cells.ts';
import { check } from '../../src/main-check.ts';
import { drainCell, moveSlots } from '../../src/main-moves.ts';
import { beginMove, closeSlots, storeDeparture, takeSlots } from '../../src/organizations/store-moves.ts';
import { startCellsServer } from '../support/cells-fixture.ts';
import type { Body } from '../support/harness.ts';
import { PressedService, until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';
import { program } from '../support/program.ts';

// Moves that break off, and exports that break off because of moves.
const key = 'sk_test_of_the_home_cell';
const json = { json: true };
const { admin, settings, stop } = await startCellsServer(key);
const config = readConfig(settings);
let service: PressedService;
const exportedCustomers = 501;

async function ok(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await service.request(method, path, body, { key });
  assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

before(async () => {
  service = await PressedService.start({ ...settings, LOG_LEVEL: 'warn' });
  await printed(() => addCell(config, 'cell_a', json));
  await ok('POST', '/customers', { customer: { externalId: 'first', name: 'First', email: 'first@acme.test' } });
  // An export reads 500 at once.
  await admin.query(
    `insert into home.customers (environment_id, id, pricing_model_id, external_id, email, name, invoice_number_base, created_at, updated_at)
     select c.environment_id, 'cust_' || lpad(n::text, 19, '0') || home.slot_of_customer(c.environment_id, 'exported ' || n), c.pricing_model_id,
            'exported ' || n, c.email, repeat('x', 200), 'EXP' || n, c.created_at, c.updated_at
       from home.customers c cross join generate_series(2, $1::integer) n`,
    [exportedCustomers],
  );
});

after(async () => {
  await service.remove();
  await stop();
});

async function connected<Answer>(act: (client: pg.Client) => Promise<Answer>): Promise<Answer> {
  const client = new pg.Client({ connectionString: settings.TOLLKEEPER_MIGRATE_URL });
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end();
  }
}

const untilSomebodyWaits = (table: string) =>
  until(`somebody waits for ${table}`, async () => {
    const waiting = await admin.query('select from pg_locks where not granted and relation = $1::regclass', [table]);
    return waiting.rowCount !== 0;
  });

/** The text of an export during which something happens, after it has read its first customers. */
function exportDuring(act: () => Promise<unknown>): Promise<string> {
  return connected((ofKeys) =>
    connected(async (ofCustomers) => {
      await ofCustomers.query('begin; lock table home.customers in access exclusive mode');
      // Without compression, which would hold the first customers back.
      const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' };
      const asked = fetch(`${service.address}/api/v1/exports/customers.csv`, { headers });
      await untilSomebodyWaits('home.customers');
      // The first read has looked at its key, and the next one will.
      await ofKeys.query('begin');
      const locked = ofKeys.query('lock table home.api_keys in access exclusive mode');
      await untilSomebodyWaits('home.api_keys');
      await ofCustomers.query('rollback');
      await locked;
      await act();
      await ofKeys.query('rollback');
      const response = await asked;
      assert.equal(response.status, 200);
      return response.text();
    }),
  );
}

const linesOf = (text: string) => text.trim().split('\n').length - 1;

test('an export that began with one cell breaks off when another has slots', async () => {
  assert.equal(linesOf(await exportDuring(async () => undefined)), exportedCustomers);
  const exported = exportDuring(async () => {
    await admin.query(`select home.give_slots('cell_a', 100)`);
    await admin.query('insert into cell_a.slots_here (code) select code from home.slots');
    await admin.query(`select cell_a.number_cell((select number from home.cells where name = 'cell_a'))`);
    // Customers move once every process has to know it.
    await connected(async (ofSlots) => {
      await ofSlots.query('begin; lock table home.slots in access exclusive mode');
      await admin.query('update home.cell set slots_version = slots_version + 1');
      await untilSomebodyWaits('home.slots');
    });
  });
  await assert.rejects(exported, TypeError);
  // With a change of the catalog, the other cell gets all of it.
  await ok('POST', '/usage-meters', { usageMeter: { name: 'Calls', slug: 'calls', aggregationType: 'sum' } });
  const term = { intervalUnit: 'month', intervalCount: 1, isDefault: true };
  const price = { type: 'subscription', name: 'Monthly', slug: 'monthly', unitPrice: 1000, ...term };
  await ok('POST', '/products', { product: { name: 'Plan', slug: 'plan' }, price });
  assert.equal(linesOf(await exportDuring(async () => undefined)), exportedCustomers);
});

test('an export of several cells breaks off when customers have moved between them', async () => {
  const move = () => printed(() => moveSlots(config, 'home', 'cell_a', { slots: '101', ...json }));
  await assert.rejects(exportDuring(move), TypeError);
  assert.equal(linesOf(await exportDuring(async () => undefined)), exportedCustomers);
});

test('a move whose command is killed is finished by the service', async () => {
  const { rows } = await admin.query(
    `select c.environment_id, min(every.code) as code
       from (select environment_id from home.customers limit 1) c
      cross join (select home.slot_code(n) collate "C" as code from generate_series(1, 3843) n) every
      where every.code not in (select s.code from home.slots s) group by c.environment_id`,
  );
  let name = 'killed 0';
  for (let n = 1; slotOfCustomer(Number(rows[0].environment_id), name) !== rows[0].code; n++) name = `killed ${n}`;
  await ok('POST', '/customers', { customer: { externalId: name, name, email: 'k@acme.test' } });
  await ok('POST', '/subscriptions', { customerExternalId: name, priceSlug: 'monthly', doNotCharge: true });
  const usageEvent = { customerExternalId: name, usageMeterSlug: 'calls', amount: 7, transactionId: 'before' };
  const recorded = await ok('POST', '/usage-events', { usageEvent });
  await connected(async (blocking) => {
    await blocking.query(`begin; select pg_advisory_xact_lock_shared(7010, hashtext('cell_a'))`);
    const child = spawn(process.execPath, [program, 'cells', 'move', 'home', 'cell_a', '--slots', '102'], {
      stdio: 'ignore',
      env: { ...process.env, ...settings },
    });
    await until('the rows are stored and wait', async () => {
      const waiting = await admin.query(
        `select from cell_a.slots_arriving, pg_locks where not granted and locktype = 'advisory' and classid = 7010`,
      );
      return waiting.rowCount !== 0;
    });
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal((await service.request('GET', `/customers/${name}`, undefined, { key })).status, 503);
  });
  await until('the slot is open', async () => {
    const answer = await service.request('GET', `/customers/${name}`, undefined, { key });
    return answer.status === 200;
  });
  assert.deepEqual(await ok('POST', '/usage-events', { usageEvent }), recorded);
  const there = await admin.query('select from cell_a.customers where external_id = $1', [name]);
  const left = await admin.query('select from home.customers where external_id = $1', [name]);
  assert.deepEqual([there.rowCount, left.rowCount], [1, 0], service.output);
  const under = await admin.query(
    'select code from home.slots_moving union all select table_name from cell_a.slots_arriving',
  );
  assert.equal(under.rowCount, 0);
  const report = await printed(() => check(config, { ...json, full: true }));
  assert.deepEqual(report.broken, []);
});

test('slots are assigned once a move that was interrupted is finished, so that no two cells have one', async () => {
  const { rows } = await admin.query('select min(code) as code, count(*) as slots from home.slots');
  const [{ code, slots }] = rows;
  const [home, from] = ['home', 'cell_a'].map((schema) =>
    createDatabase(createPool({ url: settings.DATABASE_URL ?? '', schema, size: 3, as: 'worker' })),
  );
  assert(home && from);
  // Nobody finishes the move.
  await admin.query(`select pg_advisory_lock(7012, hashtext('home'))`);
  await beginMove(home, { codes: [code], source: 'cell_a', target: null });
  await closeSlots(from, [code]);
  await from.transaction().execute(async (departure) => storeDeparture(home, await takeSlots(departure, [code])));
  await Promise.all([home.destroy(), from.destroy()]);
  const assigned = printed(() => assignSlots(config, 'cell_a', { slots, ...json }));
  assigned.catch(() => undefined);
  // Longer than processes need to know the slots.
  await Promise.race([assigned, sleep(11_000)]);
  await admin.query(`select pg_advisory_unlock(7012, hashtext('home'))`);
  assert.equal((await assigned).slots, Number(slots));
  const { rows: different } = await admin.query(`
    select code from cell_a.slots_here full join (select code from home.slots where cell = 'cell_a') known using (code)
     where slots_here.code is null or known.code is null`);
  assert.deepEqual(different, []);
});

test('a cell gets no slot of a session that an anonymous buyer is given at the same time', async () => {
  const returns = { successUrl: 'https://app.test/paid', cancelUrl: 'https://app.test' };
  const session = { type: 'product', anonymous: true, priceSlug: 'monthly', ...returns };
  const given = await connected((ofSessions) =>
    connected(async (ofSlots) => {
      await ofSessions.query('begin; lock table home.checkout_sessions in exclusive mode');
      const asked = ok('POST', '/checkout-sessions', { checkoutSession: session });
      await untilSomebodyWaits('home.checkout_sessions');
      await ofSlots.query('begin');
      const giving = ofSlots.query(`select home.give_slots('cell_a', 3843)`);
      await Promise.race([giving, sleep(500)]);
      await ofSessions.query('rollback');
      const { checkoutSession } = await asked;
      await giving;
      const { rows } = await ofSlots.query('select code from home.slots where code = right($1, 2)', [
        checkoutSession.id,
      ]);
      await ofSlots.query('rollback');
      return rows;
    }),
  );
  assert.deepEqual(given, []);
});

test('the first customers of a cell find the catalog and the clock of home there, also when the command that gave it slots was killed', async () => {
  await printed(() => drainCell(config, 'cell_a', json));
  const asked = { name: 'Later', url: 'https://later.test/events', filterTypes: [] };
  const { webhook } = await ok('POST', '/webhooks', { webhook: asked });
  await ok('PUT', '/test-clock', { testClock: { now: Date.now() + msPerDay } });
  await admin.query(`select home.give_slots('cell_a', 1)`);
  const moved = await printed(() => moveSlots(config, 'home', 'cell_a', { slots: '2', ...json }));
  assert.equal(moved.moved, 1);
  const { rows } = await admin.query('select id from cell_a.webhooks');
  assert.deepEqual(rows, [{ id: webhook.id }]);
  const { rows: clocks } = await admin.query(`
    select h.clock_now is not null as is_set, h.clock_now = c.clock_now as is_same
      from home.environments h join cell_a.environments c using (id) where not h.livemode`);
  assert.deepEqual(clocks, [{ is_set: true, is_same: true }]);
});

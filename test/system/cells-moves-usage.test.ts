import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { eraseFromArchives, keepPartitions, letEventsArrive, openArchives } from '../../src/archives/actions.ts';
import { readConfig } from '../../src/config.ts';
import { slotOfCustomer } from '../../src/customers/actions-slots.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { msPerDay } from '../../src/kernel/calendar.ts';
import { release, restore, showArchives } from '../../src/main-archives.ts';
import { check } from '../../src/main-check.ts';
import { archivesOfCell } from '../../src/main-database.ts';
import { finishInterrupted, type Moved, type Mover } from '../../src/main-mover.ts';
import { beginMove, closeSlots, storeDeparture, takeSlots } from '../../src/organizations/store-moves.ts';
import type { Body } from '../support/harness.ts';
import { asMover, moveTogether } from '../support/moves.ts';
import { OverCells } from '../support/over-cells.ts';
import { printed } from '../support/printed.ts';

// Customers move between cells whose usage events are in several partitions, of which some are archived. Transactions count once for two
// days, and events stay for four.
const directory = await mkdtemp(join(tmpdir(), 'tollkeeper-moved-archives-'));
const cells = await OverCells.start();
const { admin } = cells;
const ok = cells.ok.bind(cells);
const config = readConfig({
  ...cells.settings,
  TOLLKEEPER_DEDUPLICATION_DAYS: '2',
  TOLLKEEPER_RETENTION_DAYS: '4',
  TOLLKEEPER_ARCHIVE: directory,
});
const json = { json: true };
type Place = 'home' | 'cell_a';
const places = ['home', 'cell_a'] as const;
const pools = new Map(
  places.map((schema) => [schema, createPool({ url: config.databaseUrl ?? '', schema, size: 4, as: 'worker' })]),
);
const environmentId = Number((await admin.query('select id from home.environments where not livemode')).rows[0]?.id);

function poolOf(place: Place) {
  const pool = pools.get(place);
  assert(pool);
  return pool;
}

const databaseOf = (place: Place) => createDatabase(poolOf(place));
const archivesOf = (place: Place) =>
  openArchives(
    { worker: databaseOf(place), workerPool: poolOf(place) },
    place === 'home' ? config : archivesOfCell(config, place),
  );

/** Lets partitions be a day older, and does in some cells what the job does then. */
async function dayPasses(...kept: readonly Place[]): Promise<void> {
  for (const place of places)
    await admin.query(`update ${place}.usage_partitions set opened_at = opened_at - $1, closed_at = closed_at - $1`, [
      msPerDay,
    ]);
  for (const place of kept) await keepPartitions(await archivesOf(place), Date.now());
}

async function states(place: Place): Promise<string> {
  const { rows } = await admin.query(
    `select number || ' ' || state as text from ${place}.usage_partitions order by number`,
  );
  return rows.map(({ text }) => text).join(', ');
}

const usage = (customerExternalId: string, transactionId: string) => ({
  customerExternalId,
  transactionId,
  usageMeterSlug: 'calls',
  amount: 3,
  label: `label of ${customerExternalId}`,
});
const record = async (...usageEvents: object[]): Promise<string[]> =>
  (await ok('POST', '/usage-events/bulk', { usageEvents })).usageEvents.map(({ id }: Body) => id);

async function subscribed(cell: string | null): Promise<string> {
  const customerExternalId = await cells.newCustomer(cell);
  await ok('POST', '/subscriptions', { customerExternalId, priceSlug: 'monthly', doNotCharge: true });
  return customerExternalId;
}

async function balanceOf(name: string): Promise<number> {
  const { usageMeterBalances } = await ok('GET', `/customers/${name}/usage-balances`);
  return usageMeterBalances[0].availableBalance;
}

/** The partitions of the events that a cell has of a customer, in their order. */
async function partitionsOf(place: Place, name: string): Promise<string> {
  const { rows } = await admin.query(
    `select e.transaction_id || ' ' || (e.booking >> 40) as text
       from ${place}.usage_events e join ${place}.usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
       join ${place}.customers c on c.environment_id = s.environment_id and c.id = s.customer_id
      where c.external_id = $1 order by e.booking, e.id`,
    [name],
  );
  return rows.map(({ text }) => text).join(', ');
}

const slotOfName = (name: string) => slotOfCustomer(environmentId, name);
const nameOf = (place: Place) => (place === 'home' ? null : place);

/** Moves the slot of a customer. */
function move(name: string, from: Place, to: Place): Promise<Moved> {
  return moveTogether(config, { codes: [slotOfName(name)], source: nameOf(from), target: nameOf(to) });
}

async function moves(name: string, from: Place, to: Place): Promise<void> {
  const before = await balanceOf(name);
  assert.deepEqual(await move(name, from, to), { codes: [slotOfName(name)], reason: null });
  assert.equal(await balanceOf(name), before);
  await assertSound();
}

async function stays(name: string, from: Place, to: Place, reason: string): Promise<void> {
  assert.equal((await move(name, from, to)).reason, reason);
  await balanceOf(name);
  await assertSound();
}

/** Nothing is counted for these transactions, because these events have them. */
async function assertCounted(name: string, transactions: Readonly<Record<string, string>>): Promise<void> {
  const before = await balanceOf(name);
  const entries = Object.entries(transactions);
  assert.deepEqual(
    await record(...entries.map(([transactionId]) => usage(name, transactionId))),
    entries.map(([, id]) => id),
  );
  for (const [transactionId, id] of entries) {
    const { usageEvent } = await ok('POST', '/usage-events', { usageEvent: usage(name, transactionId) });
    assert.equal(usageEvent.id, id);
  }
  assert.equal(await balanceOf(name), before);
}

async function assertSound(): Promise<void> {
  const report = await printed(async () => void (await check(config, { ...json, full: true })));
  assert.deepEqual(report.broken, []);
}

/** Customers of home, and one of another cell. */
let [mover, late, neighbor]: string[] = [];
const ids = { one: '', two: '', three: '', again: '', late: '', neighbor: '' };

before(async () => {
  await ok('POST', '/usage-meters', { usageMeter: { name: 'Calls', slug: 'calls', aggregationType: 'sum' } });
  const term = { intervalUnit: 'month', intervalCount: 1, isDefault: true };
  const price = { type: 'subscription', name: 'Monthly', slug: 'monthly', unitPrice: 1000, ...term };
  await ok('POST', '/products', { product: { name: 'Plan', slug: 'plan' }, price });
  [mover, late, neighbor] = [await subscribed(null), await subscribed(null), await subscribed('cell_a')];
  assert(mover && late && neighbor);
});

after(async () => {
  for (const pool of pools.values()) await pool.end();
  await cells.stop();
  await rm(directory, { recursive: true, force: true });
});

test('events of several partitions arrive in partitions of their numbers, and count once', async () => {
  assert(mover && late && neighbor);
  // One unit of work of two customers, of whom one moves.
  [ids.one = ''] = await record(usage(mover, 'one'), usage(late, 'first of late'));
  [ids.neighbor = ''] = await record(usage(neighbor, 'of neighbor'));
  await dayPasses('home');
  [ids.two = ''] = await record(usage(mover, 'two'));
  assert.deepEqual([await states('home'), await states('cell_a')], ['0 closed, 1 open', '0 open']);
  await moves(mover, 'home', 'cell_a');
  assert.equal(await states('cell_a'), '0 closed, 1 closed, 2 open');
  assert.equal(await partitionsOf('cell_a', mover), 'one 0, two 1');
  await assertCounted(mover, { one: ids.one, two: ids.two });
  [ids.three = ''] = await record(usage(mover, 'three'));
  assert.equal(await partitionsOf('cell_a', mover), 'one 0, two 1, three 2');
  await assertCounted(neighbor, { 'of neighbor': ids.neighbor });
  await assertSound();
});

test('transactions count once for as long as they would have in their former cell, and no longer', async () => {
  assert(mover);
  await dayPasses('cell_a');
  await assertCounted(mover, { one: ids.one, two: ids.two, three: ids.three });
  await dayPasses('cell_a');
  [ids.again = ''] = await record(usage(mover, 'one'));
  assert.notEqual(ids.again, ids.one);
  await assertCounted(mover, { one: ids.again, three: ids.three });
  await assertSound();
});

test('a recent event counts once, though the target has closed its partition long ago', async () => {
  assert(late);
  [ids.late = ''] = await record(usage(late, 'late'));
  assert.equal(await partitionsOf('home', late), 'first of late 0, late 1');
  assert.equal(await states('cell_a'), '0 closed, 1 closed, 2 closed, 3 closed, 4 open');
  await moves(late, 'home', 'cell_a');
  assert.equal(await states('cell_a'), '0 closed, 1 closed, 2 closed, 3 closed, 4 closed, 5 open');
  await assertCounted(late, { late: ids.late });
  await dayPasses('cell_a');
  await assertCounted(late, { late: ids.late });
  await assertSound();
});

test('a customer stays whose transaction counts once in another partition of the target', async () => {
  assert(neighbor);
  const rival = await subscribed(null);
  // The former is in an older partition than that of home, and the other in a newer one.
  await record(usage(neighbor, 'twice'));
  await record(usage(rival, 'twice'));
  await stays(
    rival,
    'home',
    'cell_a',
    'the other cell has a record of the same name (usage_events_transaction_unique)',
  );
  assert.equal(await partitionsOf('home', rival), 'twice 1');
});

test('archived events have to be restored before they move, and no file has them afterwards', async () => {
  assert(mover);
  for (let day = 0; day < 5; day++) await dayPasses('cell_a');
  assert.match(await states('cell_a'), /^0 archived, 1 archived, 2 archived, /);
  await assertSound();
  await stays(mover, 'cell_a', 'home', 'archive 0, 1, 2, 4 of cell_a has to be restored first');
  for (const number of ['0', '1', '2', '4']) await printed(() => restore(config, number, { cell: 'cell_a', ...json }));
  const counted = async () => {
    const { data } = await ok('GET', '/archives?order=asc');
    return data.map(({ id, events }: Body) => `${id}: ${events}`).join(', ');
  };
  assert.match(await counted(), /^0-cell_a: 3, 1-cell_a: 2, /);
  await moves(mover, 'cell_a', 'home');
  assert.equal(await partitionsOf('home', mover), 'one 0, two 1, three 2, one 4');
  await assertCounted(mover, { one: ids.again });
  // The job stores the file anew, and the release does.
  const archives = await archivesOf('cell_a');
  const texts = async () => {
    const names = (await readdir(join(directory, 'cell_a'))).toSorted();
    const read = names.map(async (name) => gunzipSync(await readFile(join(directory, 'cell_a', name))).toString());
    return (await Promise.all(read)).join('\n');
  };
  const label = `label of ${mover}\\b`;
  assert.match(await texts(), new RegExp(label));
  await printed(() => release(config, '0', { cell: 'cell_a', ...json }));
  await keepPartitions(archives, Date.now());
  assert.doesNotMatch(await texts(), new RegExp(label));
  for (const number of ['1', '2', '4']) await printed(() => release(config, number, { cell: 'cell_a', ...json }));
  const { archives: listed } = await printed(() => showArchives(config, { cell: 'cell_a', ...json }));
  assert.deepEqual(
    listed.slice(0, 3).map(({ state, events, fileIsOld }: Body) => ({ state, events, fileIsOld })),
    [
      { state: 'archived', events: 2, fileIsOld: false },
      { state: 'archived', events: 1, fileIsOld: false },
      { state: 'archived', events: 0, fileIsOld: false },
    ],
  );
  assert.match(await counted(), /^0-cell_a: 2, 1-cell_a: 1, /);
  await assertSound();
});

test('an erasure reaches the archive of the cell to which a customer has moved', async () => {
  assert(mover && neighbor);
  for (let day = 0; day < 6; day++) await dayPasses('home');
  assert.match(await states('home'), /^0 archived, 1 archived, 2 archived, /);
  const { rows } = await admin.query('select id from home.customers where external_id = $1', [mover]);
  await eraseFromArchives(await archivesOf('home'), environmentId, rows[0].id);
  for (const file of await readdir(directory)) {
    if (!file.endsWith('.gz')) continue;
    assert.doesNotMatch(
      gunzipSync(await readFile(join(directory, file))).toString(),
      new RegExp(`label of ${mover}\\b`),
    );
  }
  for (const number of ['0', '6']) await printed(() => restore(config, number, { cell: 'cell_a', ...json }));
  await stays(neighbor, 'cell_a', 'home', 'archive 0 of home has to be restored first');
  await printed(() => restore(config, '0', json));
});

/** Lets the rows of a customer leave their cell, and not arrive. */
async function leave(mover: Mover, name: string, from: Place, to: Place): Promise<readonly string[]> {
  const codes = [slotOfName(name)];
  const [{ worker: source }, { worker: target }] = [await mover.open(nameOf(from)), await mover.open(nameOf(to))];
  assert(await letEventsArrive(await archivesOf(to), source, { now: Date.now(), patienceMs: 1_000 }));
  await beginMove(mover.home, { codes, source: nameOf(from), target: nameOf(to) });
  if (from !== 'home') await closeSlots(source, codes);
  await source.transaction().execute(async (departure) => storeDeparture(target, await takeSlots(departure, codes)));
  return codes;
}

test('nothing is archived or released while events that have left their cell have not arrived', async () => {
  assert(neighbor);
  const name = neighbor;
  const before = await balanceOf(name);
  await asMover(config, async (mover) => {
    const codes = await leave(mover, name, 'cell_a', 'home');
    await assert.rejects(release(config, '0', json), /customers are moving to this cell/);
    assert.deepEqual(await finishInterrupted(mover), { codes, reason: null });
  });
  assert.equal(await balanceOf(name), before);
  await printed(() => release(config, '0', json));
  await assertSound();
});

test('rows that have left go back if the target has a record of their name by then', async () => {
  for (const [from, to] of [
    ['home', 'cell_a'],
    ['cell_a', 'home'],
  ] as const) {
    const [leaving, staying] = [await subscribed(nameOf(from)), await subscribed(nameOf(to))];
    const transactionId = `meanwhile in ${to}`;
    const [id = ''] = await record(usage(leaving, transactionId));
    await asMover(config, async (mover) => {
      const codes = await leave(mover, leaving, from, to);
      await record(usage(staying, transactionId));
      assert.deepEqual(await finishInterrupted(mover), {
        codes,
        reason: 'the other cell has a record of the same name (usage_events_transaction_unique)',
      });
      assert.equal(await finishInterrupted(mover), null);
    });
    await assertCounted(leaving, { [transactionId]: id });
    assert.equal(await partitionsOf(to, leaving), '');
  }
  await assertSound();
});

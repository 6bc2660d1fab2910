import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import {
  type Archives,
  eraseFromArchives,
  keepPartitions,
  listAllArchives,
  releaseArchive,
  restoreArchive,
} from '../../src/archives/actions.ts';
import { directoryStorage, verifyFile } from '../../src/archives/store-files.ts';
import { objectStorage } from '../../src/archives/store-objects.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { checkInvariants } from '../../src/invariants/check-invariants.ts';
import { createChecks } from '../../src/invariants/run-checks.ts';
import { advanceMark, readMark } from '../../src/invariants/store-checks.ts';
import { msPerDay } from '../../src/kernel/calendar.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { startObjectStand } from '../support/object-storage.ts';

// Events of three partitions: transactions count once for two days, and events stay for four.

const app = await startTestApp();
after(() => app.close());
const now = Date.parse('2026-04-10T12:30:00Z');
await app.setClock(now);
const world = await insertFixture(app, { now });
const { subscriptionId, customerId } = world;
// Each cell has partitions and archives of its own.
const { name: schema, owner, ownerPool } = app.cell;

const archiving = new URL('../support/archiving.ts', import.meta.url).pathname;
const directory = await mkdtemp(join(tmpdir(), 'tollkeeper-archives-'));
after(() => rm(directory, { recursive: true, force: true }));
const pool = createPool({ schema, url: app.databaseUrl, size: 4, as: 'worker' });
after(() => pool.end());
const archives: Archives = {
  settings: { deduplicationDays: 2, retentionDays: 4 },
  worker: createDatabase(pool),
  pool,
  storage: directoryStorage(directory),
};

const event = (transactionId: string, change: object = {}) => ({
  subscriptionId,
  transactionId,
  amount: 3,
  priceSlug: 'call-overage',
  properties: { who: `person of ${transactionId}` },
  label: `team of ${transactionId}`,
  ...change,
});
const record = async (...usageEvents: object[]): Promise<Body[]> =>
  (await app.post('/usage-events/bulk', { usageEvents })).usageEvents;

async function used(): Promise<bigint> {
  const { used } = await owner
    .selectFrom('ledgerAccounts')
    .select('used')
    .where('subscriptionId', '=', subscriptionId)
    .where('usageMeterId', '=', world.meterId)
    .executeTakeFirstOrThrow();
  return used;
}

/** The invariants that are broken: by all data, and by what came after the last check. */
async function broken(): Promise<string[]> {
  const found: string[] = [];
  // The fixture has no default product.
  for (const since of [null, await readMark(owner)])
    for (const { name, violations } of await checkInvariants(owner, since))
      if (violations.count > 0 && name !== 'oneDefaultProduct')
        found.push(`${name} ${JSON.stringify(violations.rows[0])}`);
  return found;
}

async function states(): Promise<string[]> {
  const { rows } = await sql<{ state: string }>`
    select state from usage_partitions order by number`.execute(owner);
  return rows.map(({ state }) => state);
}

// The worker acts in real time, which goes on by days here.
let today = Date.now();
const dayLater = async (days = 1) => {
  today += days * msPerDay;
  await keepPartitions(archives, today);
};

const summary = () =>
  app.get(`/usage-meters/${world.meterId}/summary?from=${now - 2 * msPerDay}&to=${now + msPerDay}&groupBy=day`);

let first: Body;

test('without an end of the comparison there is one partition for ever', async () => {
  await keepPartitions(
    { ...archives, settings: { deduplicationDays: null, retentionDays: null } },
    today + 999 * msPerDay,
  );
  assert.deepEqual(await states(), ['open']);
});

test('a transaction of an older partition counts once, one by one and in bulk', async () => {
  [first] = (await record(event('one'), event('two'), event('late', { usageDate: now - msPerDay }))) as [Body];
  await dayLater();
  assert.deepEqual(await states(), ['closed', 'open']);
  const before = await used();
  assert.deepEqual(await record(event('one')), [first]);
  const answers = await record(event('one'), event('three'), event('two'));
  assert.deepEqual(answers[0], first);
  assert.equal(await used(), before + 3n);
  assert.deepEqual(
    (await app.post('/usage-events/consume', { usageEvent: event('one') }, {}).catch(() => null)) === null,
    false,
  );
  assert.equal(await used(), before + 3n);
  assert.deepEqual(await broken(), []);
});

test('the database refuses a transaction that an older partition of the time has, whoever writes it', async () => {
  const insert = sql`
    insert into usage_events select (jsonb_populate_record(e, jsonb_build_object('id', reverse(e.id), 'booking', (1::bigint << 40) + 77))).*
      from usage_events e where e.transaction_id = 'one'`.execute(owner);
  await assert.rejects(insert, { code: '23505', constraint: 'usage_events_transaction_unique' });
});

test('a partition within the time of comparison is not archived, and nothing is while its retention lasts', async () => {
  await dayLater();
  await dayLater();
  assert.deepEqual(await states(), ['closed', 'closed', 'closed', 'open']);
  assert.deepEqual(await readdir(directory), []);
});

test('a transaction older than the time of comparison counts again', async () => {
  const before = await used();
  const [again] = await record(event('one', { amount: 4 }));
  assert.notEqual(again?.id, first.id);
  assert.deepEqual(await record(event('one')), [again]);
  assert.equal(await used(), before + 4n);
  assert.deepEqual(await broken(), []);
});

/** Runs an action in a process of its own, and kills it in the middle of a file. */
async function killInTheMiddle(...parameters: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [archiving, app.databaseUrl, schema, directory, ...parameters], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await once(child.stdout, 'data');
  assert.match(String(said), /in the middle/);
  child.kill('SIGKILL');
  await once(child, 'exit');
}

test('a process that is killed in the middle of archiving leaves every event where it was', async () => {
  const before = { states: await states(), used: await used() };
  await killInTheMiddle('archive', String(today + 2 * msPerDay));
  // The next partition was opened, because it was time.
  assert.deepEqual((await states()).slice(0, 3), before.states.slice(0, 3));
  assert.equal(await used(), before.used);
  assert.deepEqual((await app.get(`/usage-events/${first.id}`)).usageEvent, first);
  assert.deepEqual(await broken(), []);
});

test('an archive holds the events that it names, and all sums and invariants are as before', async () => {
  await createChecks(owner).run({ full: true, waits: true });
  await advanceMark(owner, null, Date.now(), 0);
  const before = { used: await used(), summary: await summary() };
  const total = (await app.get('/usage-events')).total;
  await dayLater(2);
  assert.equal((await states())[0], 'archived');
  assert.deepEqual(await broken(), []);
  assert.deepEqual({ used: await used(), summary: await summary() }, before);
  const page = await app.get('/usage-events?limit=100');
  assert.equal(page.total, total);
  assert.equal(
    page.data.some(({ id }: Body) => id === first.id),
    false,
  );
  assert.equal((await app.request('GET', `/usage-events/${first.id}`)).status, 404);
  const [archive] = await listAllArchives(archives);
  assert(archive?.file);
  const text = gunzipSync(await readFile(join(directory, archive.file))).toString();
  assert.equal(text.split('\n').length, 1 + 3 + 1);
  assert.match(text, /team of one/);
  assert.match(text, /person of one/);
  assert.equal(archive.events, 3);
});

test('the list of archives tells how many events of the environment are in each, and since when all are there', async () => {
  const { data, keptSince } = await app.get('/archives');
  assert.deepEqual(
    data.map(({ id, state, events }: Body) => ({ id, state, events })),
    [{ id: schema === app.cells[0]?.name ? '0' : `0-${schema}`, state: 'archived', events: 3 }],
  );
  assert.equal(data[0].usageDateFrom, now - msPerDay);
  assert.equal(data[0].usageDateTo, now);
  assert.equal(keptSince, data[0].arrivedUntil);
  const other = await app.newOrganization();
  assert.deepEqual((await app.get('/archives', { key: other.testKey })).data, []);
});

test('reads that would need archived events say so, and others do not', async () => {
  const list = (query: string) => app.get(`/usage-events?${query}`);
  assert.equal((await list('limit=1')).archivedUntil, now);
  assert.equal((await list(`usageDateTo=${now - 2 * msPerDay}`)).archivedUntil, undefined);
  const inHour = (from: number, to: number) => app.get(`/usage-meters/${world.meterId}/summary?from=${from}&to=${to}`);
  assert.equal((await inHour(now - 60_000, now + 60_000)).usageMeterSummary.archivedUntil, now);
  const hour = 3_600_000;
  const whole = now - (now % hour);
  assert.equal((await inHour(whole - 48 * hour, whole + hour)).usageMeterSummary.archivedUntil, undefined);
});

test('late events of an archived hour are counted in its roll-up', async () => {
  await record(event('later', { usageDate: now - msPerDay }));
  assert.deepEqual(await broken(), []);
});

test('a file that was written before a column was added is restored without it', async () => {
  const [archive] = await listAllArchives(archives);
  assert(archive?.file);
  const path = join(directory, archive.file);
  const bytes = await readFile(path);
  // The last column is empty in these events.
  const lines = gunzipSync(bytes).toString().split('\n');
  assert.match(lines[0] ?? '', /,beyond_limit$/);
  const older = gzipSync(lines.map((line) => line.replace(/,[a-z_]*$/, '')).join('\n'));
  await writeFile(path, older);
  const name = (sha256: string | null, size: number) =>
    sql`update usage_partitions set sha256 = ${sha256}, bytes = ${size} where number = 0`.execute(owner);
  await name(createHash('sha256').update(older).digest('hex'), older.length);
  assert.equal(await restoreArchive(archives, 0), true);
  assert.deepEqual((await app.get(`/usage-events/${first.id}`)).usageEvent, first);
  assert.equal(await releaseArchive(archives, 0), true);
  await writeFile(path, bytes);
  await name(archive.sha256, bytes.length);
});

test('a file that was changed is not restored', async () => {
  const [archive] = await listAllArchives(archives);
  assert(archive?.file);
  const path = join(directory, archive.file);
  const bytes = await readFile(path);
  await writeFile(path, bytes.subarray(0, -9));
  await assert.rejects(restoreArchive(archives, 0));
  await writeFile(path, Buffer.concat([bytes, Buffer.from([0])]));
  await assert.rejects(restoreArchive(archives, 0));
  await writeFile(path, bytes);
  assert.equal((await states())[0], 'archived');
  assert.deepEqual(await broken(), []);
});

test('a process that is killed in the middle of restoring or erasing leaves the archive as it was', async () => {
  await killInTheMiddle('restore', '0');
  assert.equal((await states())[0], 'archived');
  assert.deepEqual(await broken(), []);
  const { rows } = await sql`select from pg_class where oid = to_regclass('usage_events_0')`.execute(owner);
  assert.equal(rows.length, 1);
  await killInTheMiddle('erase', String(app.testEnvironmentId), customerId);
  assert.equal((await states())[0], 'archived');
  assert.deepEqual(await broken(), []);
});

test('usage goes on while partitions are opened, and one that is read for long is archived later', async () => {
  let stops = false;
  const sent: Promise<Body[]>[] = [];
  const before = await used();
  const sending = (async () => {
    for (let n = 0; !stops; n++) {
      sent.push(record(event(`storm ${n}`), event('storm')));
      await sleep(20);
    }
  })();
  const archived = async () => (await states()).filter((state) => state === 'archived').length;
  const archivedBefore = await archived();
  const reader = await ownerPool.connect();
  await reader.query('begin; select count(*) from usage_events');
  const kept = dayLater(2);
  await sleep(700);
  assert.equal(await archived(), archivedBefore);
  await reader.query('commit');
  reader.release();
  await kept;
  assert((await archived()) > archivedBefore);
  stops = true;
  await sending;
  await Promise.all(sent);
  const leftOver = await sql`
    select from pg_class c join usage_partitions p on c.relname = 'events_' || p.number where p.state = 'archived'`;
  assert.deepEqual((await leftOver.execute(owner)).rows, []);
  assert.equal(await used(), before + BigInt(3 * (sent.length + 1)));
  const stored = await sql<{ count: number }>`
    select count(*) as count from usage_events where transaction_id = 'storm'`.execute(owner);
  assert.equal(Number(stored.rows[0]?.count), 1);
  assert.deepEqual(await broken(), []);
});

test('a restored archive brings its events back, and a released one takes them away again', async () => {
  const before = { used: await used(), summary: await summary() };
  assert.equal(await restoreArchive(archives, 0), true);
  assert.equal(await restoreArchive(archives, 0), false);
  assert.deepEqual((await app.get(`/usage-events/${first.id}`)).usageEvent, first);
  assert.deepEqual(await broken(), []);
  assert.deepEqual({ used: await used(), summary: await summary() }, before);
  await keepPartitions(archives, today);
  assert.equal((await app.get('/archives?order=asc')).data[0].state, 'restored');
  assert.equal(await releaseArchive(archives, 0), true);
  assert.equal(await releaseArchive(archives, 0), false);
  assert.equal((await app.request('GET', `/usage-events/${first.id}`)).status, 404);
  assert.deepEqual(await broken(), []);
});

test('an erasure takes the properties of a customer out of the archives, also of one that came back meanwhile', async () => {
  // The events that were there are erased by now, and an operator has restored others.
  assert.equal(await restoreArchive(archives, 0), true);
  await eraseFromArchives(archives, app.testEnvironmentId, customerId);
  const files = await readdir(directory);
  assert(files.length > 0);
  for (const file of files)
    assert.doesNotMatch(gunzipSync(await readFile(join(directory, file))).toString(), /person of|team of/);
  const { label: _, ...erased } = { ...first, properties: {} };
  assert.deepEqual((await app.get(`/usage-events/${first.id}`)).usageEvent, erased);
  assert.equal(await releaseArchive(archives, 0), true);
  assert.deepEqual(await broken(), []);
});

test('a bucket holds archives as a directory does, and needs the right secret', async () => {
  const stand = await startObjectStand('a secret');
  after(() => stand.close());
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: 'key',
    AWS_SECRET_ACCESS_KEY: 'a secret',
    AWS_REGION: 'eu-central-1',
  });
  const at = { endpoint: stand.endpoint, partBytes: 5 * 1024 * 1024 };
  const bucket = objectStorage('s3://events/of/ours', at);
  const inBucket = { ...archives, storage: bucket };
  const archivedBefore = (await listAllArchives(archives)).length;
  await record(event('for the bucket'));
  for (let turn = 0; turn < 6; turn++) {
    today += 2 * msPerDay;
    await keepPartitions(inBucket, today);
  }
  const made = (await listAllArchives(archives)).slice(archivedBefore);
  assert(made.length > 0);
  assert.deepEqual([...stand.objects.keys()].sort(), made.map(({ file }) => `/events/of/ours/${file}`).sort());
  const { number } = made.find(({ events }) => Number(events) > 0) ?? assert.fail('an archive has events');
  assert.equal(await restoreArchive(inBucket, number), true);
  assert.deepEqual(await broken(), []);
  assert.equal(await releaseArchive(inBucket, number), true);
  // A large file comes in parts.
  const large = randomBytes(11 * 1024 * 1024);
  await bucket.write('large', Readable.from([large.subarray(0, 9), large.subarray(9)]));
  assert.equal(stand.parts.get('/events/of/ours/large'), 3);
  const expected = { bytes: large.length, sha256: createHash('sha256').update(large).digest('hex') };
  await verifyFile(bucket, 'large', expected);
  await bucket.remove('large');
  await assert.rejects(bucket.read('large'), { name: 'NoSuchKey' });
  process.env.AWS_SECRET_ACCESS_KEY = 'another secret';
  const refused = objectStorage('s3://events/of/ours', at);
  await assert.rejects(refused.write('stolen', Readable.from([Buffer.from('x')])), { name: 'SignatureDoesNotMatch' });
  // A source that fails leaves no file.
  const failing = Readable.from(
    (function* () {
      yield Buffer.from('x');
      throw new Error('the source failed');
    })(),
  );
  await assert.rejects(bucket.write('half', failing), /the source failed/);
  assert.equal(stand.objects.has('/events/of/ours/half'), false);
});

test('an archive of which some events are lost breaks its sums', async () => {
  await sql`update usage_archive_sums set amount = amount + 1`.execute(owner);
  const names = (await broken()).map((text) => text.split(' ')[0]);
  assert(names.includes('usageIsSumOfEvents') && names.includes('rollUpsAreSumsOfEvents'), names.join());
  await sql`update usage_archive_sums set amount = amount - 1`.execute(owner);
});

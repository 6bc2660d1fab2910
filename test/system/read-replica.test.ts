import assert from 'node:assert/strict';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { routes } from '../../src/api/routes.ts';
import { createApp } from '../../src/app.ts';
import { createFirstOrganization, ensureApiKeys } from '../../src/billing/create-organization.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { ReadReplica } from '../../src/database/read-replica.ts';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/start.ts';
import { connectWorker } from '../../src/main-database.ts';
import { testSchema } from '../support/databases.ts';
import { type Body, send } from '../support/harness.ts';
import { settingsOfPair, startStandby } from '../support/standby.ts';

const place = await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-replica-'));
const dataDirectory = join(place, 'primary');
const primary = await startEmbeddedPostgres({ dataDirectory, settings: settingsOfPair, log: () => undefined });
const { worker, workerPool } = await connectWorker({
  url: primary.serviceUrl,
  migrateUrl: primary.ownerUrl,
  schema: testSchema,
});
const key = 'sk_test_replica';
await createFirstOrganization(worker, { name: 'Read', testKey: key, liveKey: 'sk_live_replica' }, Date.now());
const standby = await startStandby(dataDirectory, primary.url, place);

const mostLagMs = 3_000;
const [requests, reads, watched] = [
  createPool({ schema: testSchema, url: primary.serviceUrl, size: 5, as: 'service' }),
  createPool({ schema: testSchema, url: standby.serviceUrl, size: 5, as: 'service' }),
  createPool({ schema: testSchema, url: standby.serviceUrl, size: 1, as: 'worker' }),
];
const changes: [boolean, string][] = [];
const replica = new ReadReplica({
  database: createDatabase(reads),
  primary: worker,
  watched: createDatabase(watched),
  mostLagMs,
  onChange: (isUsed, reason) => changes.push([isUsed, reason]),
});
await replica.start();
const app = await createApp({ database: createDatabase(requests), replica, migrated: async () => true });
const address = await app.listen({ host: '127.0.0.1', port: 0 });
after(async () => {
  await app.close();
  await replica.stop();
  await Promise.all([requests, reads, watched, workerPool].map((pool) => pool.end()));
  await standby.stop();
  await primary.stop();
  await rm(place, { recursive: true, force: true });
});

const ask = (method: string, path: string, body?: unknown, headers = {}) =>
  send(address, method, path, body, { key, headers });
const fromReplica = (answer: { headers: Headers }) => answer.headers.has('tollkeeper-replica-lag-ms');

async function onStandby(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: standby.url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** Asks for the list until the replica answers it, with at least so many customers. */
async function untilReplicaHas(count: number) {
  for (let waited = 0; waited < 200; waited++, await sleep(50)) {
    const answer = await ask('GET', '/customers');
    if (fromReplica(answer) && answer.body.total === count) return answer;
  }
  return assert.fail(`the replica has no ${count} customers after ten seconds`);
}

const customer = (externalId: string) => ({ customer: { externalId, name: externalId, email: 'a@example.com' } });

test('the replica answers lists, reports and exports, and the primary all else', async () => {
  await ask('POST', '/customers', customer('ada'));
  await untilReplicaHas(1);
  const lagging = routes.filter(({ mayLag, path }) => mayLag && !path.includes('{'));
  assert(lagging.length > 30);
  for (const { path } of lagging) {
    const query = /^\/analytics|^\/exports/.test(path)
      ? '?from=2026-01-01&to=2026-02-01'
      : path === '/search'
        ? '?q=ada'
        : '';
    const answer = await ask('GET', path + query);
    if (answer.status === 400) continue;
    assert(fromReplica(answer), `${path} answers ${answer.status} of the primary`);
  }
  for (const path of ['/customers/ada', '/customers/ada/usage-balances', '/settings', '/customers/ada/entitlements'])
    assert(!fromReplica(await ask('GET', path)), path);
});

test('a list of the replica lacks a row that is not there yet, until its state is too old', async () => {
  await onStandby('select pg_wal_replay_pause()');
  await ask('POST', '/customers', customer('bob'));
  const old = await ask('GET', '/customers');
  assert.deepEqual([fromReplica(old), old.body.total], [true, 1]);
  const asked = await ask('GET', '/customers', undefined, { 'tollkeeper-read': 'primary' });
  assert.deepEqual([fromReplica(asked), asked.body.total], [false, 2]);
  await sleep(mostLagMs + 500);
  const recent = await ask('GET', '/customers');
  assert.deepEqual([fromReplica(recent), recent.body.total], [false, 2]);
  await onStandby('select pg_wal_replay_resume()');
  await untilReplicaHas(2);
});

test('a key that was revoked on the primary reads nothing from the replica, which still knows it', async () => {
  const second = 'sk_test_second';
  await ensureApiKeys(worker, { testKey: second, liveKey: null }, Date.now());
  const { body } = await ask('GET', '/api-keys', undefined, { 'tollkeeper-read': 'primary' });
  const newest = body.data.toSorted((one: Body, other: Body) => other.createdAt - one.createdAt)[0];
  const list = () => send(address, 'GET', '/customers', undefined, { key: second });
  while (!fromReplica(await list())) await sleep(50);
  await onStandby('select pg_wal_replay_pause()');
  assert.equal((await ask('POST', `/api-keys/${newest.id}/revoke`)).status, 200);
  assert.equal((await list()).status, 401);
  await onStandby('select pg_wal_replay_resume()');
  await untilReplicaHas(2);
});

test('a replica that is promoted or gone is not read any more, and the primary answers', async () => {
  await onStandby('select pg_promote()');
  while (changes.at(-1)?.[0] !== false) await sleep(50);
  assert.match(changes.at(-1)?.[1] ?? '', /no longer, a replica/);
  await standby.stop();
  const answer = await ask('GET', '/customers');
  assert.deepEqual([answer.status, fromReplica(answer), answer.body.total], [200, false, 2]);
});

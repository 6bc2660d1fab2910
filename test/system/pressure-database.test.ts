import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { endSilentConnections } from '../../src/database/silent-connections.ts';
import { problemOf } from '../../src/http/server.ts';
import { testSchema } from '../support/databases.ts';
import { startTestApp } from '../support/harness.ts';
import { longestWaitMs, queryAsOwner, until } from '../support/pressed.ts';

const app = await startTestApp();
const newCustomer = (externalId: string) => ({
  customer: { externalId, email: `${externalId}@acme.test`, name: externalId },
});
const name = new URL(app.databaseUrl).pathname.slice(1);

/** Sets the database's own setting, for every connection that is made from now on; the present ones are ended. */
async function setReadOnly(value: 'on' | 'off'): Promise<void> {
  const administrator = new URL(app.databaseUrl);
  administrator.pathname = '/postgres';
  await queryAsOwner(administrator.href, `alter database ${name} set default_transaction_read_only = ${value}`);
  await queryAsOwner(
    administrator.href,
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
    [name],
  );
}

test('while the database is read-only what is there can be read, and changes are answered 503 that says why', async () => {
  await app.post('/customers', newCustomer('before'));
  await setReadOnly('on');
  try {
    await until('its connections are new', async () => (await app.request('GET', '/customers/before')).status === 200);
    const refused = await app.request('POST', '/customers', newCustomer('meanwhile'));
    assert.deepEqual([refused.status, refused.body.code], [503, 'SERVICE_UNAVAILABLE']);
    assert.match(refused.body.message, /read-only/);
    assert.equal(refused.headers.get('retry-after'), '30');
  } finally {
    await setReadOnly('off');
  }
  await until('it takes changes again', async () => {
    const { status } = await app.request('POST', '/customers', newCustomer('meanwhile'));
    assert([200, 503].includes(status), `${status}`);
    return status === 200;
  });
});

test('what the database says in an outage is answered 503 and names the cause; what is a bug of ours is not', () => {
  const named = (code: string) => problemOf(Object.assign(new Error('x'), { code }))?.problem ?? null;
  const expected = {
    '40001': 'serviceUnavailable',
    '40P01': 'serviceUnavailable',
    '53100': 'databaseFull',
    '53200': 'databaseFailing',
    '53300': 'serviceUnavailable',
    '58030': 'databaseFailing',
    '25006': 'databaseReadOnly',
    '25P03': 'databaseTookTooLong',
    '55P03': 'databaseTookTooLong',
    '57014': 'databaseTookTooLong',
    '57P01': 'serviceUnavailable',
    '57P02': 'serviceUnavailable',
    '57P03': 'serviceUnavailable',
    '08006': 'serviceUnavailable',
    ECONNREFUSED: 'serviceUnavailable',
    ENOTFOUND: 'serviceUnavailable',
    EPIPE: 'serviceUnavailable',
    '22012': null,
    '42703': null,
    XX000: null,
    ENOENT: null,
  };
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((code) => [code, named(code)])), expected);
  assert.equal(problemOf(new Error('Connection terminated unexpectedly'))?.problem, 'serviceUnavailable');
  assert.equal(problemOf(new TypeError('x is not a function')), null);
});

/** A way to the database that can be stopped up: everything is taken, and nothing is passed on or closed. */
async function openTunnel() {
  const { hostname, port } = new URL(app.databaseUrl);
  const sockets = new Set<Socket>();
  let isOpen = true;
  const server = createServer((near) => {
    const far = connect(Number(port || 5432), hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('data', (chunk) => void (isOpen && other.write(chunk)));
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = new URL(app.databaseUrl);
  url.searchParams.delete('host');
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    stopUp: () => {
      isOpen = false;
    },
    reopen: () => {
      isOpen = true;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('a database that falls silent without a word is given up, and asked anew when it can be reached', async () => {
  const tunnel = await openTunnel();
  const pool = createPool({ schema: testSchema, url: tunnel.url, size: 2, as: 'service' });
  endSilentConnections(pool, 300);
  const database = createDatabase(pool);
  const ask = () => sql`select 1 as one`.execute(database).then(({ rows }) => rows.length);
  try {
    assert.deepEqual(await Promise.all([ask(), ask()]), [1, 1]);
    tunnel.stopUp();
    const errors = await Promise.all([ask(), ask()].map((requested) => requested.catch((error: unknown) => error)));
    assert.deepEqual(
      errors.map((error) => problemOf(error)?.problem),
      ['serviceUnavailable', 'serviceUnavailable'],
    );
    tunnel.reopen();
    assert.equal(await ask(), 1);
    // A statement that takes long is not silence of the connection as long as it is within the limit.
    await sql`select pg_sleep(0.1)`.execute(database);
  } finally {
    tunnel.close();
    await pool.end();
  }
});

/** Kysely asks its pool for a connection a moment after a statement is executed. */
async function untilWaiting(pool: Pool, count: number): Promise<void> {
  while (pool.waitingCount < count) await setImmediate();
}

test('who waits for a connection when too many wait already is refused, and the others in turn', async () => {
  const patience = {
    statementMs: 30_000,
    lockMs: 30_000,
    idleMs: 30_000,
    connectionMs: longestWaitMs,
    mostWaitingEach: 3,
  };
  const pool = createPool({ schema: testSchema, url: app.databaseUrl, size: 1, as: 'service', patience });
  try {
    const database = createDatabase(pool);
    const ask = () => sql`select 1 as one`.execute(database).then(({ rows }) => rows.length);
    const first = await pool.connect();
    const waiting = Array.from({ length: 3 }, ask);
    await untilWaiting(pool, 3);
    await assert.rejects(ask(), (error) => problemOf(error)?.problem === 'overloaded');
    await assert.rejects(database.transaction().execute(ask), (error) => problemOf(error)?.problem === 'overloaded');
    first.release();
    assert.deepEqual(await Promise.all(waiting), [1, 1, 1]);
    assert.equal(await ask(), 1);
  } finally {
    await pool.end();
  }
});

test('who has waited for a connection for as long as one may is refused', async () => {
  const patience = { statementMs: 30_000, lockMs: 30_000, idleMs: 30_000, connectionMs: 2_000, mostWaitingEach: 3 };
  const pool = createPool({ schema: testSchema, url: app.databaseUrl, size: 1, as: 'service', patience });
  try {
    const first = await pool.connect();
    const requested = sql`select 1`.execute(createDatabase(pool));
    await assert.rejects(requested, (error) => problemOf(error)?.problem === 'overloaded');
    first.release();
  } finally {
    await pool.end();
  }
});

import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { type PostgresPool, type RawBuilder, sql } from 'kysely';
import { hashApiKey } from '../../src/database/api-key.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { createLine } from '../../src/database/line.ts';
import { createScopeMemory, runInEnvironment, sentWithCommit, untilSent, type Work } from '../../src/database/work.ts';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const pool = createPool({ url: app.databaseUrl, as: 'service', size: 4 });
const line = createLine(createDatabase(pool));
const scopes = createScopeMemory();
await sql`create table line_marks (name text not null, pid integer not null default pg_backend_pid())`.execute(
  app.owner,
);
await sql`
  create function end_connection() returns boolean language sql security definer
    as 'select pg_terminate_backend(pg_backend_pid())'`.execute(app.owner);
await sql`grant select, insert on line_marks to tollkeeper_service`.execute(app.owner);

// The first look at a key is waited for. What comes later is known.
beforeEach(async () => {
  await run(async () => undefined);
  await sql`truncate line_marks`.execute(app.owner);
});

after(async () => {
  await pool.end();
  await app.close();
});

function run<Answer>(act: (work: Work) => Promise<Answer>) {
  return runInEnvironment(line, { apiKeyHash: hashApiKey(app.testKey) }, act, { scopes });
}

const mark = (name: string) => sql`insert into line_marks (name) values (${name})`;

/** A transaction that waits for no answer before that to its commit, and how often it was tried. */
function transaction(...statements: readonly RawBuilder<unknown>[]) {
  const tried = { times: 0 };
  const done = run(async (work) => {
    tried.times += 1;
    for (const statement of statements) sentWithCommit(work, statement);
  });
  return { tried, done };
}

async function marks() {
  const { rows } = await sql<{ name: string; pid: number }>`select name, pid from line_marks order by name`.execute(
    app.owner,
  );
  return rows;
}

/** The same connections, but for the first commit that fails on them: it is told 30 ms late. */
function lateToHear(given: PostgresPool): PostgresPool {
  let hasBeenLate = false;
  const late = (error: unknown) => {
    if (hasBeenLate) throw error;
    hasBeenLate = true;
    return setTimeout(30).then(() => Promise.reject(error));
  };
  const connect = async () => {
    const client = await given.connect();
    return new Proxy(client, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name !== 'query') return value.bind(target);
        return (text: string, values: unknown[]) => {
          const answered: Promise<unknown> = value.call(target, text, values);
          return text === 'commit' ? answered.catch(late) : answered;
        };
      },
    });
  };
  return { options: given.options, connect, end: async () => undefined };
}

const namesOf = (rows: readonly { name: string }[]) => rows.map(({ name }) => name).join(' ');
const codeOf = ({ done }: { done: Promise<unknown> }) =>
  done.then(
    () => null,
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );

test('transactions that come at once follow one another on one connection, each with all that it has', async () => {
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => transaction(mark(name), mark(`${name}2`)).done));
  const rows = await marks();
  assert.equal(namesOf(rows), 'a a2 b b2 c c2 d d2 e e2');
  assert.equal(new Set(rows.map(({ pid }) => pid)).size, 1);
});

test('what follows one that fails is tried again, and is there once', async () => {
  const first = transaction(mark('a'), sql`select 1 / 0`, mark('a2'));
  const second = transaction(mark('b'), mark('b2'));
  const third = transaction(mark('c'));
  assert.deepEqual(await Promise.all([first, second, third].map(codeOf)), ['22012', null, null]);
  assert.equal(namesOf(await marks()), 'b b2 c');
  assert.equal(first.tried.times, 1);
  assert.equal(second.tried.times, 2, 'it was sent behind the one that failed');
});

test('nobody comes on a connection on which something has failed, as a rollback is still to come there', async () => {
  const own = createLine(createDatabase(lateToHear(pool)));
  const runOn = (act: (work: Work) => Promise<unknown>) =>
    runInEnvironment(own, { apiKeyHash: hashApiKey(app.testKey) }, act, { scopes });
  const failing = runOn(async (work) => {
    await untilSent();
    // The commit goes the same way, so the database skips it, and is still in the transaction.
    sentWithCommit(work, sql`select 1 / ${0}::integer`);
  });
  const second = runOn(async (work) => sentWithCommit(work, mark('b')));
  // It is under way when the rollback of the first comes.
  const third = runOn(async (work) => {
    await sql`select 1`.execute(work.db);
    sentWithCommit(work, mark('c'));
    await setTimeout(60);
    sentWithCommit(work, mark('c2'));
  });
  assert.equal(await codeOf({ done: failing }), '22012');
  await Promise.all([second, third]);
  assert.equal(namesOf(await marks()), 'b c c2');
});

test('nor is a part of it there by itself, where it takes several turns of the event loop', async () => {
  const first = transaction(mark('a'), sql`select pg_sleep(0.002)`, sql`select 1 / 0`);
  const second = run(async (work) => {
    sentWithCommit(work, mark('b'));
    await setTimeout(6);
    sentWithCommit(work, mark('b2'));
  });
  assert.equal(await codeOf(first), '22012');
  await second;
  assert.equal(namesOf(await marks()), 'b b2');
});

test('one that wants an answer waits for the one before, unless that takes long', async () => {
  let hasEnded = false;
  const long = transaction(mark('a'), sql`select pg_sleep(0.4)`).done.then(() => {
    hasEnded = true;
  });
  const asked = run(async ({ db }) => (await sql<{ one: number }>`select 1 as one`.execute(db)).rows[0]?.one);
  assert.equal((await asked)?.answer, 1);
  assert(!hasEnded);
  await long;
});

test('nothing of one that gives up before its turn reaches the database', async () => {
  const first = transaction(mark('a'), sql`select pg_sleep(0.005)`);
  const second = run(async (work) => {
    sentWithCommit(work, mark('b'));
    throw new Error('given up');
  });
  await assert.rejects(second, /given up/);
  await first.done;
  await transaction(mark('c')).done;
  assert.equal(namesOf(await marks()), 'a c');
});

test('where a statement cannot even be sent, nothing of its transaction is kept', async () => {
  const unsendable = {
    toPostgres() {
      throw new Error('unsendable');
    },
  };
  const all = [
    transaction(mark('a')),
    transaction(mark('b'), sql`select ${unsendable}::text`, mark('b2')),
    transaction(mark('c')),
  ];
  assert.deepEqual(await Promise.all(all.map(codeOf)), [null, 'unsendable', null]);
  assert.equal(namesOf(await marks()), 'a c');
});

test('a connection that breaks takes those on it along, and nobody after them', async () => {
  const broken = [transaction(mark('a'), sql`select end_connection()`, mark('a2')), transaction(mark('b'))];
  const codes = await Promise.all(broken.map(codeOf));
  assert(
    codes.every((code) => code !== null),
    codes.join(' '),
  );
  await transaction(mark('c')).done;
  assert.equal(namesOf(await marks()), 'c');
});

test('a connection goes back once the last on it has ended', async () => {
  await Promise.all([transaction(mark('a')).done, transaction(sql`select 1 / 0`).done.catch(() => undefined)]);
  await setTimeout(5);
  assert.equal(pool.idleCount, pool.totalCount);
});

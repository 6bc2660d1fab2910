import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type pg from 'pg';
import { createPool } from '../../src/database/database.ts';
import { startTestApp, type TestApp } from '../support/harness.ts';

let app: TestApp;
let pool: pg.Pool;
let client: pg.PoolClient;

before(async () => {
  app = await startTestApp();
  pool = createPool({ url: app.databaseUrl, as: 'service', size: 1 });
  client = await pool.connect();
});

after(async () => {
  client.release();
  await pool.end();
  await app.close();
});

const messages = { sync: 'S', describe: 'D' };

/** How many messages of a type `act` sends to the database. */
async function sentBy(act: () => Promise<unknown>, message: keyof typeof messages): Promise<number> {
  const { stream } = client.connection;
  const write = stream.write;
  const sent: Buffer[] = [];
  stream.write = (chunk: Buffer) => {
    sent.push(chunk);
    return Reflect.apply(write, stream, [chunk]);
  };
  try {
    await act();
  } finally {
    stream.write = write;
  }
  let found = 0;
  const bytes = Buffer.concat(sent);
  for (let at = 0; at < bytes.length; at += 1 + bytes.readInt32BE(at + 1)) {
    if (bytes.toString('latin1', at, at + 1) === messages[message]) found += 1;
  }
  return found;
}

/** How often the database is asked for answers by what `act` sends. */
function syncsOf(act: () => Promise<unknown>): Promise<number> {
  return sentBy(act, 'sync');
}

const numbers = (statement: string, value: unknown) =>
  client.query<{ number: number }>(statement, [value]).then(({ rows }) => rows.map(({ number }) => number));
const doubled = (value: number) => numbers('select 2 * $1::integer as number', value);
const divided = (value: number) => numbers('select 100 / $1::integer as number', value);

/** What each was answered, or the code of what it failed with. */
async function outcomes(statements: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(statements);
  return settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.code));
}

test('the statements of one turn are answered at one Sync, each its own', async () => {
  let answers: unknown;
  const syncs = await syncsOf(async () => {
    answers = await outcomes([doubled(1), divided(4), doubled(3)]);
  });
  assert.deepEqual(answers, [[2], [25], [6]]);
  assert.equal(syncs, 1);
});

test('who has waited for the turn to end still sends along', async () => {
  const syncs = await syncsOf(async () => {
    const first = doubled(1);
    await new Promise<void>((resolve) => process.nextTick(resolve));
    assert.deepEqual(await outcomes([first, doubled(2)]), [[2], [4]]);
  });
  assert.equal(syncs, 1);
});

test('what comes after an answer is asked for by itself', async () => {
  assert.equal(await syncsOf(() => doubled(1).then(() => doubled(2))), 2);
});

test('what was sent behind a statement that fails is told so, and the connection goes on', async () => {
  const begun = client.query('begin', []);
  assert.deepEqual(await outcomes([doubled(1), divided(0), doubled(3), divided(5)]), [[2], '22012', '25P02', '25P02']);
  await begun;
  assert.deepEqual(await outcomes([doubled(1)]), ['25P02']);
  await client.query('rollback', []);
  assert.deepEqual(await outcomes([doubled(7), divided(10)]), [[14], [10]]);
});

test('an outage is told of every statement of the turn, also where nobody looks at the one that it came to', async () => {
  const own = createPool({ url: app.databaseUrl, as: 'service', size: 1 });
  const ending = await own.connect();
  ending.on('error', () => undefined);
  // The service itself may end no connection.
  await ending.query('set role none');
  const told = (how: string) => {
    const statements = [`select ${how}(pg_backend_pid()) where 1 = $1::integer`, 'select $1', 'select 2 * $1::integer'];
    return outcomes(statements.map((statement) => ending.query(statement, [1])));
  };
  assert.deepEqual(await told('pg_cancel_backend'), ['57014', '57014', '57014']);
  assert.deepEqual(await told('pg_terminate_backend'), ['57P01', '57P01', '57P01']);
  ending.release(true);
  await own.end();
});

test('a commit behind a statement that fails does not commit, and says so', async () => {
  const begun = client.query('begin', []);
  const sent = [
    numbers("select set_config('lock_timeout', $1, false) as number", '7s'),
    divided(0),
    client.query('commit', []).then(({ command }) => command),
  ];
  assert.deepEqual(await outcomes(sent), [['7s'], '22012', '25P02']);
  await begun;
  await client.query('rollback', []);
  const { rows } = await client.query("select current_setting('lock_timeout') as timeout");
  assert.deepEqual(rows, [{ timeout: '10s' }]);
});

test('a rollback in the turn of a statement that fails undoes the transaction all the same', async () => {
  const begun = client.query('begin', []);
  const failed = outcomes([divided(0)]);
  await client.query('rollback', []);
  assert.deepEqual(await failed, ['22012']);
  await begun;
  await client.query('begin', []);
  assert.deepEqual(await outcomes([doubled(1)]), [[2]]);
  await client.query('rollback', []);
});

test('so does one to a savepoint, also once it is prepared, and the transaction goes on from there', async () => {
  for (let time = 1; time <= 4; time++) {
    const [begun, kept] = [client.query('begin', []), client.query('savepoint kept', [])];
    const failed = outcomes([divided(0)]);
    const undone = client.query('rollback to savepoint kept', []);
    assert.deepEqual(await failed, ['22012']);
    await Promise.all([begun, kept, undone]);
    assert.deepEqual(await outcomes([doubled(1)]), [[2]]);
    await client.query('rollback', []);
  }
});

test('a value that cannot be sent fails by itself', async () => {
  const circular: unknown[] = [];
  circular.push({ circular });
  const unsendable = numbers('select 1 as number where $1::json is null', { circular });
  const [first, failed, third] = await Promise.allSettled([doubled(1), unsendable, doubled(3)]);
  assert.equal(first?.status, 'fulfilled');
  assert.match(String(failed?.status === 'rejected' && failed.reason), /circular/);
  assert.deepEqual(third, { status: 'fulfilled', value: [6] });
});

test('a statement without values, which the simple protocol carries, keeps its place', async () => {
  const plain = () => client.query('select 5 as number').then(({ rows }) => rows.map(({ number }) => number));
  assert.deepEqual(await outcomes([doubled(1), plain(), doubled(3), plain()]), [[2], [5], [6], [5]]);
});

test('how the rows of a prepared statement look is asked once', async () => {
  const read = async (value: string | null) => {
    const { rows, rowCount, command } = await client.query(
      'select $1::numeric as amount, $1::text as text, $1::bigint as instant where $1::text is distinct from $2::text',
      [value, '0'],
    );
    return { rows, rowCount, command };
  };
  const told = (rows: unknown[]) => ({ rows, rowCount: rows.length, command: 'SELECT' });
  const asked = (value: string | null) =>
    sentBy(async () => assert.deepEqual(await read(value), answers.get(value)), 'describe');
  const answers = new Map([
    ['7', told([{ amount: 7n, text: '7', instant: 7 }])],
    [null, told([{ amount: null, text: null, instant: null }])],
    ['0', told([])],
  ]);
  for (const value of ['7', null, '0'])
    assert.equal(await asked(value), 1, 'prepared when it comes for the third time');
  for (const value of ['7', null, '0', '7']) assert.equal(await asked(value), 0);
  await assert.rejects(read('seven'), { code: '22P02' });
  assert.equal(await asked('7'), 0);
});

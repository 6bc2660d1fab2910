import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { createApp } from '../../src/app.ts';
import { createDatabase, createPool, patienceOfRequests } from '../../src/database/database.ts';
import { refuseUnboundPooler } from '../../src/database/pooler.ts';
import { postgresAccount } from '../../src/embedded-postgres/account.ts';
import { freePort } from '../../src/embedded-postgres/server.ts';
import { testSchema } from '../support/databases.ts';
import { type Body, send, startTestApp } from '../support/harness.ts';
import { assertBooksAreRight, atOnce, insertSpender } from '../support/spending.ts';

// Debian's package pgbouncer. Without it the same login is asked directly, which shows all but the change of sessions.
const program = ['/usr/sbin/pgbouncer', '/usr/local/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'].find(existsSync);
const app = await startTestApp();
// A slow machine must not turn a storm of requests into refusals.
const patience = { ...patienceOfRequests(), connectionMs: 60_000 };
const { host, port, database } = new pg.Client({ connectionString: app.databaseUrl });
const login = `requests_of_${database}`;
const direct = new URL(app.databaseUrl);
direct.username = login;
direct.password = 'secret';

const undo: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const act of undo.reverse()) await act();
  await sql.raw(`drop owned by ${login}; drop role ${login}`).execute(app.owner);
});

function openPool(url: string): pg.Pool {
  const pool = createPool({ schema: testSchema, url, size: 8, as: 'service', patience, isPooled: true });
  undo.push(() => pool.end());
  return pool;
}

/** PgBouncer in front of the database: every transaction gets one of two sessions. Answers its address. */
async function startPooler(): Promise<string> {
  if (program === undefined) return direct.href;
  const ownPort = await freePort(0);
  const place = await mkdtemp(join(tmpdir(), 'tollkeeper-pooler-'));
  const config = join(place, 'pgbouncer.ini');
  const users = join(place, 'users.txt');
  await writeFile(users, `"${login}" "secret"\n`);
  await writeFile(
    config,
    `[databases]\n* = host=${host} port=${port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${ownPort}\n` +
      `auth_type = plain\nauth_file = ${users}\npool_mode = transaction\ndefault_pool_size = 2\nunix_socket_dir =\n`,
  );
  // PgBouncer does not run as root.
  const account = await postgresAccount(null, () => undefined);
  if (account !== null) for (const path of [place, config, users]) await chown(path, account.uid, account.gid);
  const started: ChildProcess = spawn(program, ['-q', config], { stdio: 'inherit', ...account });
  undo.push(async () => {
    const ended = once(started, 'exit');
    started.kill('SIGINT');
    await ended;
    await rm(place, { recursive: true });
  });
  const url = `postgres://${login}:secret@127.0.0.1:${ownPort}/${database}`;
  await untilAnswers(url);
  return url;
}

async function untilAnswers(url: string): Promise<void> {
  for (let waited = 0; waited < 200; waited++, await sleep(50)) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      return await client.end();
    } catch {
      // It does not listen yet.
    }
  }
  assert.fail('PgBouncer does not answer after ten seconds');
}

/** The statements of a refusal. */
function statementsOf(error: unknown): string {
  return (error as Error).message.slice((error as Error).message.indexOf('\n')).replace('<password>', 'secret');
}

test('a pooler whose login may see all rows is refused, and the statements of the refusal make one that serves', async () => {
  const refused = await refuseUnboundPooler(openPool(app.databaseUrl), testSchema, patience).catch(
    (error: unknown) => error,
  );
  assert.match(String(refused), /DATABASE_POOLER_URL: \w+ can see the rows of all organizations/);
  const guide = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  assert(
    guide.includes(
      (refused as Error).message
        .split('\n')
        .slice(1)
        .map((line) => line.trim())
        .join('\n'),
    ),
  );
  await sql.raw(statementsOf(refused).replaceAll('tollkeeper_requests', login)).execute(app.owner);
  await refuseUnboundPooler(openPool(direct.href), testSchema, patience);

  await sql.raw(`alter role ${login} set statement_timeout = '1s'`).execute(app.owner);
  const other = await refuseUnboundPooler(openPool(direct.href), testSchema, patience).catch((error: unknown) => error);
  assert.match(String(other), /have other settings than the service needs/);
  await sql.raw(statementsOf(other)).execute(app.owner);
  await refuseUnboundPooler(openPool(direct.href), testSchema, patience);
});

test('two organizations that share the sessions of a pooler see their own rows alone, and use counts once', async () => {
  const pool = openPool(await startPooler());
  await refuseUnboundPooler(pool, testSchema, patience);
  const served = await createApp({ database: createDatabase(pool), migrated: async () => true });
  undo.push(() => served.close());
  const address = await served.listen({ host: '127.0.0.1', port: 0 });
  const spender = await insertSpender(app, { credits: 100 });
  const other = await app.newOrganization();
  const ask = (method: string, path: string, body?: unknown, key = app.testKey) =>
    send(address, method, path, body, { key });

  const answers = await atOnce(64, async (index) => {
    const externalId = `buyer-${index}`;
    const customer = { externalId, name: externalId, email: 'buyer@example.com' };
    const [own, foreign, consumed, recorded] = await Promise.all([
      ask('GET', `/customers/${spender.externalId}`),
      ask('POST', '/customers', { customer }, other.testKey),
      ask('POST', '/usage-events/consume', { usageEvent: spender.usage({ amount: 2 }) }),
      ask('POST', '/usage-events', {
        usageEvent: spender.usage({ amount: 1, transactionId: `recorded ${index % 32}` }),
      }),
    ]);
    assert.deepEqual([own.status, foreign.status, recorded.status], [200, 200, 200]);
    return consumed;
  });
  const passed = answers.filter(({ status }) => status === 200).length;
  // Each consumption takes 2 of 100 credits. Events take what they find: 32 of them count.
  assert(passed >= 34 && passed <= 50, `${passed} consumptions passed`);
  const { rows } = await sql<{ units: string }>`select sum(amount)::text as units from usage_events`.execute(app.owner);
  assert.deepEqual(rows, [{ units: String(2 * passed + 32) }]);
  await assertBooksAreRight(app);

  const lists: Body[] = await Promise.all(
    [app.testKey, other.testKey].map(async (key) => (await ask('GET', '/customers?limit=100', undefined, key)).body),
  );
  assert.deepEqual(
    lists.map(({ total }) => total),
    [1, 64],
  );
  const { rows: actors } = await sql`
    select distinct a.actor_type from audit_log a join customers c on c.environment_id = a.environment_id and c.id = a.record_id
     where a.environment_id = ${other.testEnvironmentId}`.execute(app.owner);
  assert.deepEqual(actors, [{ actorType: 'api_key' }]);
});

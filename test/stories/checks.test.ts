import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { advisoryLocks } from '../../src/database/advisory-locks.ts';
import { createPool } from '../../src/database/database.ts';
import { checkInvariants } from '../../src/invariants/check-invariants.ts';
import { askForFirstCheck, checkTask, createChecks } from '../../src/invariants/run-checks.ts';
import { advanceMark, findLastRun, forgetSums, readMark } from '../../src/invariants/store-checks.ts';
import { startSender } from '../../src/webhooks/jobs-sender.ts';
import { testSchema } from '../support/databases.ts';
import { startTestApp, testWebhookServices } from '../support/harness.ts';
import { insertHealthyData } from '../support/healthy-data.ts';

// A cell is checked by itself, and what is broken here is in one.
const app = await startTestApp({ cells: 1 });
await insertHealthyData(app);
const token = 'a-token-of-twenty-one-';
const checks = createChecks(app.owner);
const server = await createApp({
  database: app.database,
  services: { ...app.services, checks },
  operatorToken: token,
  migrated: async () => true,
});

const ask = (url: string, authorization?: string) =>
  server.inject({ url, headers: authorization === undefined ? {} : { authorization } });

async function brokenSince(mark: Awaited<ReturnType<typeof readMark>>): Promise<string[]> {
  return (await checkInvariants(app.owner, mark)).flatMap(({ name, violations }) => (violations.count > 0 ? name : []));
}

/** Runs the SQL as the owner, past triggers and foreign keys, and afterwards what undoes it. */
async function whileChanged(change: string, undo: string, look: () => Promise<void>): Promise<void> {
  const run = (statement: string) =>
    app.owner.transaction().execute(async (db) => {
      await sql`set local session_replication_role = replica`.execute(db);
      await sql.raw(statement).execute(db);
    });
  await run(change);
  try {
    await look();
  } finally {
    await run(undo);
  }
}

describe('/invariants', () => {
  test('/invariants is not there without a token of the operator, and shut without the right one', async () => {
    const response = await fetch(`${app.url}/invariants`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(response.status, 404);
    for (const header of ['', 'Bearer', `Bearer ${token}x`, token, `Basic ${token}`, `Bearer ${app.liveKey}`]) {
      const answer = await ask('/invariants', header);
      assert.equal(answer.statusCode, 401, header);
      assert.equal(answer.json().code, 'UNAUTHORIZED');
    }
  });

  test('a token has twenty characters', () => {
    assert.throws(
      () => readConfig({ TOLLKEEPER_OPERATOR_TOKEN: 'x'.repeat(19) }),
      /TOLLKEEPER_OPERATOR_TOKEN: must be 20/,
    );
    assert.equal(readConfig({ TOLLKEEPER_OPERATOR_TOKEN: 'x'.repeat(20) }).operatorToken, 'x'.repeat(20));
  });

  test('there is nothing to answer before the first check; a fresh one is kept and answered from then on', async () => {
    assert.equal((await ask('/invariants', `Bearer ${token}`)).statusCode, 404);
    assert.equal((await ask('/invariants?fresh=perhaps', `Bearer ${token}`)).statusCode, 400);
    const fresh = (await ask('/invariants?fresh=true', `Bearer ${token}`)).json();
    assert.equal(fresh.healthy, true, JSON.stringify(fresh));
    assert.equal(fresh.full, true);
    assert.deepEqual((await ask('/invariants', `Bearer ${token}`)).json(), fresh);
    const held = fresh.invariants.find(({ name }: { name: string }) => name === 'heldIsSumOfOpenHolds');
    assert.deepEqual(held, {
      name: 'heldIsSumOfOpenHolds',
      sentence: 'The held amount of a ledger account is the sum of its open holds.',
      violations: { count: 0, rows: [] },
    });
  });

  test('answers the rows, in one check for all who ask at once; another process is told to wait', async () => {
    await whileChanged(
      'update ledger_accounts set held = held + 7',
      'update ledger_accounts set held = held - 7',
      async () => {
        const [one, other] = await Promise.all([1, 2].map(() => ask('/invariants?fresh=true', `Bearer ${token}`)));
        assert.equal(one?.body, other?.body);
        const { healthy, invariants } = JSON.parse(one?.body ?? '');
        assert.equal(healthy, false);
        const [held] = invariants.filter(({ violations }: { violations: { count: number } }) => violations.count > 0);
        assert.equal(held.name, 'heldIsSumOfOpenHolds');
        assert.equal(held.violations.count, 2);
        assert.deepEqual(held.violations.rows.map(({ held: units }: { held: number }) => units).sort(), [22, 7]);
      },
    );
    await app.owner.connection().execute(async (elsewhere) => {
      await sql`select pg_advisory_lock(${advisoryLocks.checks}, hashtext(current_schema()))`.execute(elsewhere);
      const answer = await ask('/invariants?fresh=true', `Bearer ${token}`);
      await sql`select pg_advisory_unlock(${advisoryLocks.checks}, hashtext(current_schema()))`.execute(elsewhere);
      assert.equal(answer.statusCode, 409);
      assert.equal(answer.json().code, 'CONFLICT');
    });
  });
});

describe('the checks by themselves', () => {
  test('the checks by themselves are asked for at a start where the last one is old, and made by a job', async () => {
    await askForFirstCheck(app.owner);
    const jobs = () =>
      sql`select j.max_attempts as attempts from _private_jobs j join _private_tasks t on t.id = j.task_id
           where t.identifier = ${checkTask}`.execute(app.owner);
    assert.equal((await jobs()).rows.length, 0);
    await sql`update check_runs set started_at = started_at - 3700000`.execute(app.owner);
    await askForFirstCheck(app.owner);
    await askForFirstCheck(app.owner);
    assert.deepEqual((await jobs()).rows, [{ attempts: 25 }]);
    await sql`select remove_job(${checkTask})`.execute(app.owner);
    const before = Date.now();
    const task = app.tasks[checkTask];
    assert(task);
    await task({ database: app.database, tasks: app.tasks, services: { checks } }, {});
    assert(((await findLastRun(app.owner))?.startedAt ?? 0) >= before);
  });

  test('a check that loses its connection tells of that, and the next one runs', async () => {
    const endConnection = async () => {
      for (let ended = 0; ended === 0; ) {
        const { rows } = await sql<{ ended: number }>`
          select count(pg_terminate_backend(pid))::integer as ended from pg_locks
           where locktype = 'advisory' and classid = ${sql.lit(advisoryLocks.checks)} and granted
             and database = (select oid from pg_database where datname = current_database())`.execute(app.owner);
        ended = rows[0]?.ended ?? 0;
      }
    };
    // It may be lost during a statement or between two.
    const isLost = /terminat|ECONNRESET|connection error/;
    await Promise.all([assert.rejects(checks.run({ full: false, waits: true }), isLost), endConnection()]);
    assert.equal((await checks.run({ full: false, waits: true })).healthy, true);
  });

  test('/metrics says how many rows break what, and names nobody', async () => {
    await whileChanged(
      'update ledger_accounts set held = held + 7',
      'update ledger_accounts set held = held - 7',
      async () => {
        await checks.run({ full: false, waits: true });
        const text = (await server.inject('/metrics')).body;
        assert.match(text, /^tollkeeper_invariant_violations\{invariant="heldIsSumOfOpenHolds"\} 2$/m);
        assert.match(text, /^tollkeeper_invariant_violations\{invariant="creditsAreNotOverApplied"\} 0$/m);
        assert.match(text, /^tollkeeper_invariants_checked_timestamp_seconds \d+/m);
        assert.match(text, /^tollkeeper_invariants_check_duration_seconds [\d.]+$/m);
        assert.doesNotMatch(text, /la_[0-9A-Za-z]{21}|cust_|org_/);
      },
    );
  });

  test('the service may read the counts, and nothing that is kept', async () => {
    await assert.rejects(sql`select * from check_runs`.execute(app.database), /permission denied for table check_runs/);
    const { rows } = await sql`select * from invariant_counts()`.execute(app.database);
    assert(rows.length > 90);
  });
});

describe('what was found right is added up', () => {
  // Whoever else uses the server has transactions too, which end.
  const advanced = async (now: number, waitMs?: number) => {
    for (const until = Date.now() + 30_000; Date.now() < until; await sleep(20)) {
      await advanceMark(app.owner, null, now, waitMs);
      const mark = await readMark(app.owner);
      if (mark !== null) return mark;
    }
    assert.fail('the transactions of then do not end');
  };
  const settle = async () => {
    await forgetSums(app.owner);
    return advanced(Date.now(), 0);
  };

  test('it takes a second look, minutes later, to know that all of then has been written', async () => {
    await sql`delete from check_marks`.execute(app.owner);
    await advanceMark(app.owner, null, 1_000_000);
    assert.equal(await readMark(app.owner), null);
    await advanceMark(app.owner, null, 1_000_000 + 299_999);
    assert.equal(await readMark(app.owner), null);
    await advanced(1_000_000 + 300_000);
  });

  test('a transaction of then that goes on keeps the mark where it is', async () => {
    await forgetSums(app.owner);
    await app.owner.transaction().execute(async (open) => {
      await sql`select pg_current_xact_id()`.execute(open);
      await sql`delete from check_marks`.execute(app.owner);
      await advanceMark(app.owner, null, Date.now(), 0);
      await advanceMark(app.owner, null, Date.now(), 0);
      assert.equal(await readMark(app.owner), null);
    });
    await settle();
  });

  test('what holds, holds behind the mark', async () => {
    assert.deepEqual(await brokenSince(await settle()), []);
  });

  for (const { fault, change, undo, breaks } of [
    {
      fault: 'a sum of an account',
      change: 'update ledger_accounts set used = used + 1, settled = settled + 1 where used = 130',
      undo: 'update ledger_accounts set used = used - 1, settled = settled - 1 where used = 131',
      breaks: ['ledgerSidesAreSumsOfEntries', 'settledUsageWasBilled', 'usageIsSumOfEvents'],
    },
    {
      fault: 'a credit',
      change: 'update usage_credits set issued = issued + 1 where issued = 100',
      undo: 'update usage_credits set issued = issued - 1 where issued = 101',
      breaks: ['ledgerSidesAreSumsOfCredits', 'creditsAreSumsOfEntries'],
    },
    {
      fault: 'a roll-up',
      change: 'update usage_rollups set units = units + 1 where units = 60',
      undo: 'update usage_rollups set units = units - 1 where units = 61',
      breaks: ['usageIsSumOfRollUps', 'usageOfHoursAddsUp'],
    },
  ]) {
    test(`a change of ${fault} is found without reading what lies before the mark`, async () => {
      const mark = await settle();
      await whileChanged(change, undo, async () => assert.deepEqual(await brokenSince(mark), breaks));
    });
  }

  test('an event that comes later is looked at with all that belongs to it', async () => {
    const mark = await settle();
    const later = `insert into usage_events select (jsonb_populate_record(e, jsonb_build_object(
      'id', left(id, -1) || '_', 'booking', ${mark.booking + 1}, 'transaction_key', gen_random_uuid()))).* from usage_events e where amount = 60`;
    await whileChanged(later, `delete from usage_events where booking > ${mark.booking}`, async () =>
      assert.deepEqual(await brokenSince(mark), [
        'transactionKeysAreDigests',
        'usageIsSumOfEvents',
        'usageIsBookedWithItsEvents',
        'rollUpsAreSumsOfEvents',
        'idsSayTheirKind',
      ]),
    );
  });

  test('a full check finds what was changed before the mark, and from then on everything is read until it is right', async () => {
    await settle();
    const change = 'update usage_events set amount = 61 where amount = 60';
    await whileChanged(change, 'update usage_events set amount = 60 where amount = 61', async () => {
      assert.equal((await checks.run({ full: false, waits: true })).healthy, true);
      const full = await checks.run({ full: true, waits: true });
      assert.deepEqual([full.healthy, full.full], [false, true]);
      const next = await checks.run({ full: false, waits: true });
      assert.deepEqual([next.healthy, next.full], [false, true]);
    });
    assert.equal((await checks.run({ full: false, waits: true })).healthy, true);
  });
});

test('locks that a text of a caller can reach stop neither webhooks, nor checks, nor requests', async () => {
  // A crafted Idempotency-Key once held the locks of 7003 and 7004: the sender's and the checks'.
  const crafted = new pg.Client({ connectionString: app.databaseUrl });
  await crafted.connect();
  await crafted.query('select pg_advisory_lock($1), pg_advisory_lock($2)', [
    advisoryLocks.sender,
    advisoryLocks.checks,
  ]);
  await crafted.query(`select pg_advisory_lock(hashtextextended('order 1', id)) from environments`);
  const pool = createPool({ schema: testSchema, url: app.databaseUrl, size: 3, as: 'owner' });
  const sender = startSender({
    pool,
    schema: testSchema,
    services: testWebhookServices(),
    onError: (error) => assert.fail(String(error)),
  });
  const sends = sql`select from pg_locks where locktype = 'advisory' and classid = ${advisoryLocks.sender}`;
  while ((await sends.execute(app.owner)).rows.length === 0) await sleep(20);
  assert.equal((await checks.run({ full: false, waits: false })).healthy, true);
  await sender.stop();
  await pool.end();
  const customer = { externalId: 'order 1', email: 'order@acme.test', name: 'Acme' };
  await app.post('/customers', { customer }, { headers: { 'idempotency-key': 'order 1' } });
  await crafted.end();
});

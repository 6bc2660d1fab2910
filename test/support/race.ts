import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { type DueWorkDone, doDueWork } from '../../src/billing/do-due-work.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';
import type { TestCell } from './databases.ts';
import { type Answer, sumOfWork, type TestApp } from './harness.ts';

/** How often each storm is repeated; more where somebody has the time. */
export const rounds = Number(process.env.RACE_ROUNDS ?? 2);

/** Where a transaction is stopped in its midst: when it is about to write such a row. */
export interface Place {
  readonly table: string;
  readonly on: 'insert' | 'update' | 'delete';
  /** A condition on the row `new` (and `old`) in SQL; every row when absent. */
  readonly when?: string;
}

// Any number that nothing else in the service locks.
const gateLock = 70_070_070;
// Long enough for a busy machine. Nothing waits so long when all is well.
const patienceMs = 20_000;
// A storm takes a second or two, and fifteen beside much else.
const stormMs = 40_000;

/**
 * Stops `first` inside its transaction, where it is about to write at `place`. Then begins the others, and lets `first`
 * go on when each of them either waits for a lock or has ended. Answers what all of them came to, `first` before them.
 *
 * So `first` has read and decided, and not committed, while the others act: whatever guards against that is seen at work.
 */
export async function meet<One, Other>(
  app: TestApp,
  place: Place,
  first: () => Promise<One>,
  ...others: readonly (() => Promise<Other>)[]
): Promise<[One, ...Other[]]> {
  const gate = await closeGate(app, place);
  try {
    const stopped = watch(first());
    await until(async () => (await countWaiting(app)) >= 1 || stopped.ended(), 'the first to be stopped');
    assert(!stopped.ended(), `the first wrote nothing at ${place.table}`);
    const waiting = others.map((act) => watch(act()));
    const isEachStopped = async () => {
      const running = waiting.filter((each) => !each.ended()).length;
      return (await countWaiting(app)) > running;
    };
    await until(isEachStopped, 'each of the others to wait or to end');
    await gate.open();
    const answers = await ended(app, Promise.all(waiting.map((each) => each.answer)), 'the others');
    return [await ended(app, stopped.answer, 'the first'), ...answers];
  } finally {
    await gate.remove();
  }
}

interface Watched<Value> {
  readonly answer: Promise<Value>;
  ended(): boolean;
}

function watch<Value>(answer: Promise<Value>): Watched<Value> {
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
  };
  answer.then(end, end);
  return { answer, ended: () => hasEnded };
}

/** How many transactions of this database wait for a lock. */
async function countWaiting(app: TestApp): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`.execute(app.owner);
  return rows[0]?.count ?? 0;
}

/** Waits until a transaction waits for a lock. */
export function untilWaiting(app: TestApp): Promise<void> {
  return until(async () => (await countWaiting(app)) >= 1, 'somebody to wait for a lock');
}

/** Waits for something, and not for ever. */
export async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + patienceMs; !(await condition()); await sleep(5))
    assert(Date.now() < end, `waited in vain for ${what}`);
}

/**
 * What is racing, which fails where it does not end: callers who lock one another out go on for minutes. Those who are still
 * in a transaction then are cut off from the database, so that the test ends too.
 */
export async function ended<Value>(app: TestApp, racing: Promise<Value>, who: string): Promise<Value> {
  const isLate = new AbortController();
  const late = sleep(stormMs, undefined, { signal: isLate.signal }).then(async () => {
    const waiting = await countWaiting(app);
    racing.catch(() => undefined);
    await cutOff(app);
    assert.fail(`${who} did not end within ${stormMs / 1000} s: ${waiting} waited for a lock`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([racing, late]);
  } finally {
    isLate.abort();
  }
}

async function cutOff(app: TestApp): Promise<void> {
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`.execute(app.owner);
}

/** A trigger in the test's own database, behind which transactions wait until it is opened. */
async function closeGate(app: TestApp, { table, on, when }: Place) {
  const holder = new pg.Client({ connectionString: app.databaseUrl });
  await holder.connect();
  await holder.query('select pg_advisory_lock($1)', [gateLock]);
  await holder.query(`
    create or replace function wait_at_gate() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock_shared(${gateLock}); return coalesce(new, old); end'`);
  const places = app.cells.map(({ name }) => `${name}.${table}`);
  for (const place of places)
    await holder.query(`
      create trigger a_gate before ${on} on ${place} for each row ${when === undefined ? '' : `when (${when})`}
        execute function wait_at_gate()`);
  return {
    async open(): Promise<void> {
      await holder.query('select pg_advisory_unlock($1)', [gateLock]);
    },
    async remove(): Promise<void> {
      await holder.query('select pg_advisory_unlock_all()');
      await holder.query('drop function wait_at_gate cascade');
      await holder.end();
    },
  };
}

/** So many workers do what is due in an environment at once, five pieces of a cell at a time, each over connections of its own. */
export function workTogether(app: TestApp, environmentId: number, count = 4): Promise<DueWorkDone[]> {
  const workIn = async ({ name: schema }: TestCell) => {
    const pool = createPool({ schema, url: app.databaseUrl, size: 3, as: 'service' });
    const context = { database: createDatabase(pool), tasks: app.tasks, services: app.services };
    try {
      return await doDueWork(context, environmentId, { forMs: patienceMs, portion: 5 });
    } finally {
      await pool.end();
    }
  };
  const work = async () => sumOfWork(await Promise.all(app.cells.map(workIn)));
  return Promise.all(Array.from({ length: count }, work));
}

/** Asserts that the answers have no other statuses than these, and so no fault of ours. */
export function assertStatuses(answers: readonly { readonly status: number }[], allowed: readonly number[]): void {
  for (const answer of answers)
    assert(allowed.includes(answer.status), `${answer.status}: ${JSON.stringify((answer as Answer).body ?? '')}`);
}

/** How many of the answers have this status. */
export function countOf(answers: readonly { readonly status: number }[], status: number): number {
  return answers.filter((each) => each.status === status).length;
}

/** How often the test network charged, and gave back, in minor units: each operation once, whoever asked how often. */
export async function moneyMoved(app: TestApp, customerId: string) {
  const { rows } = await sql<{ charges: number; charged: bigint; refunds: number; refunded: bigint }>`
    select count(*) filter (where kind = 'charge') as charges,
           coalesce(sum(o.amount) filter (where kind = 'charge'), 0) as charged,
           count(*) filter (where kind = 'refund') as refunds,
           coalesce(sum(o.amount) filter (where kind = 'refund'), 0) as refunded
      from test_processor_operations o join payments p on o.reference = 'test_charge_' || p.id
     where p.customer_id = ${customerId} and o.outcome ->> 'result' = 'succeeded'`.execute(app.owner);
  return rows[0] ?? assert.fail('a count is one row');
}

/** What was paid by any means and not taken back, less what was refunded, in minor units. */
export async function paidInAll(app: TestApp, customerId: string): Promise<bigint> {
  const payments = app.owner.selectFrom('payments').select(['amount', 'refundedAmount']);
  const paid = await payments.where('status', '=', 'succeeded').where('customerId', '=', customerId).execute();
  return paid.reduce((sum, { amount, refundedAmount }) => sum + amount - refundedAmount, 0n);
}

/** Takes the test environment to a past instant: what its organization was founded with in real time is as old as that. */
export async function beginAt(app: TestApp, at: number): Promise<void> {
  await app.setClock(at);
  for (const table of ['pricing_models', 'products', 'prices'])
    await sql`update ${sql.table(table)} set created_at = ${at}, updated_at = ${at}`.execute(app.owner);
}

/** Sets the clock of an environment, and does nothing of what comes due by that. */
export async function setClockOf(app: TestApp, environmentId: number, at: number): Promise<void> {
  await app.owner.updateTable('environments').set({ clockNow: at }).where('id', '=', environmentId).execute();
}

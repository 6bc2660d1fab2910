import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { startTestApp } from '../support/harness.ts';
import { insertManySubscriptions } from '../support/many-subscriptions.ts';
import { seededRandom } from '../support/seed.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const begun = Date.UTC(2026, 3, 1);
const subscriptions = 500;
// April, which has the 30 days of the first period, and May are over: two renewals are due for everyone.
const now = Date.UTC(2026, 5, 15);
const renewals = 2 * subscriptions;

const workers = 4;
const kills = 6;
const random = seededRandom();
const workerFile = new URL('../support/due-work-worker.ts', import.meta.url);

/** Keeps a number of processes at work, kills some of them whatever they are doing, and ends when all have ended. */
async function workAndKill(): Promise<number> {
  const living = new Set<ChildProcess>();
  const ended: Promise<unknown>[] = [];
  const start = () => {
    const child = fork(workerFile, [
      app.databaseUrl,
      String(app.testEnvironmentId),
      ...app.cells.map(({ name }) => name),
    ]);
    living.add(child);
    const end = once(child, 'exit').then(([code, signal]) => {
      living.delete(child);
      assert(code === 0 || signal === 'SIGKILL', `a worker ended with ${code ?? signal}`);
      if (signal === 'SIGKILL') start();
    });
    ended.push(end);
  };
  for (let index = 0; index < workers; index++) start();
  let killed = 0;
  // The first are at work by then; each later one dies when some more has been done.
  await Promise.race([...living].map((child) => once(child, 'message')));
  while (killed < kills && living.size > 0) {
    const victims = [...living];
    const victim = victims[Math.floor(random() * victims.length)];
    if (victim?.kill('SIGKILL')) killed += 1;
    await sleep(100 + random() * 300);
  }
  for (let index = 0; index < ended.length; index++) await ended[index];
  return killed;
}

test('500 due subscriptions, four workers, killed at random: each period is renewed, invoiced and charged once', async () => {
  await insertManySubscriptions(app, subscriptions, { now: begun });
  await app.setClock(now);
  const killed = await workAndKill();
  assert(killed > 0);
  // What a killed worker had committed and not charged yet is in the queue.
  await app.runJobs({ all: true });

  const { rows: periods } = await sql<{ subscriptionId: string; starts: number[] }>`
    select subscription_id, array_agg(start_at order by start_at) as starts from billing_periods
     where subscription_id like 'sub_000000%' group by 1`.execute(app.owner);
  assert.equal(periods.length, subscriptions);
  for (const { starts } of periods)
    assert.deepEqual(starts.map(Number), [begun, Date.UTC(2026, 4, 1), Date.UTC(2026, 5, 1)]);

  const { rows: money } = await sql`
    select count(distinct i.id) as invoices, count(distinct i.billing_period_id) as billed, count(distinct p.id) as payments,
           count(distinct o.idempotency_key) as charges, sum(i.total) as total, sum(o.amount) as charged
      from invoices i left join payments p on p.invoice_id = i.id and p.status = 'succeeded'
      left join test_processor_operations o on o.idempotency_key = p.id
     where i.reason = 'renewal' and i.status = 'paid' and i.total = 3000`.execute(app.owner);
  const all = { invoices: renewals, billed: renewals, payments: renewals, charges: renewals };
  assert.deepEqual(money, [{ ...all, total: 3000n * BigInt(renewals), charged: 3000n * BigInt(renewals) }]);
  const { rows: everything } = await sql`
    select (select count(*) from invoices) as invoices, (select count(*) from payments) as payments,
           (select count(*) from test_processor_operations) as charges`.execute(app.owner);
  assert.deepEqual(everything, [{ invoices: renewals, payments: renewals, charges: renewals }]);

  const { done } = await app.doDueWork();
  assert.deepEqual(
    Object.values(done).filter((count) => count > 0),
    [],
  );
  await assertSound(app);
});

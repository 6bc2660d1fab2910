import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';
import { structure } from '../support/world.ts';

const app = await startTestApp();
const start = Date.UTC(2026, 0, 31);
const hour = 3_600_000;
const run = async () => {
  const { done, finished } = await app.doDueWork();
  assert.equal(finished, true);
  return { canceled: done.cancel, expired: done.expire };
};

async function subscribe(externalId: string, token?: string): Promise<Body> {
  await app.post('/customers', { customer: { externalId, email: 'a@acme.test', name: externalId } });
  const body: Body = { customerExternalId: externalId, priceSlug: 'team-monthly' };
  if (token !== undefined) {
    const paymentMethod = { customerExternalId: externalId, type: 'card', token };
    body.defaultPaymentMethodId = (await app.post('/payment-methods', { paymentMethod })).paymentMethod.id;
  }
  return (await app.post('/subscriptions', body)).subscription;
}

const cancelAtEnd = (id: string) =>
  app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'at_end_of_current_billing_period' } });

test('a scheduled cancellation is carried out when its date has come, as of that date, once', async () => {
  await app.setClock(start);
  await app.post('/pricing-models/setup', structure('due'));
  const { id } = await subscribe('payer', 'pm_card_visa');
  await cancelAtEnd(id);
  const end = Date.UTC(2026, 1, 28);

  await app.setClock(end - 1);
  assert.deepEqual(await run(), { canceled: 0, expired: 0 });
  await app.setClock(end + 5 * hour);
  assert.deepEqual(await run(), { canceled: 1, expired: 0 });
  assert.deepEqual(await run(), { canceled: 0, expired: 0 });

  const { currentSubscription, subscriptions } = await app.get('/customers/payer/billing');
  const ended = subscriptions.find((row: Body) => row.id === id);
  assert.deepEqual([ended.status, ended.canceledAt, ended.cancelScheduledAt], ['canceled', end, end]);
  assert.equal(currentSubscription.isFreePlan, true);
  const events = await app.get(`/events?objectId=${id}`);
  assert.deepEqual(
    events.data.map((row: Body) => row.type),
    ['subscription.created', 'subscription.updated', 'subscription.canceled'],
  );
});

test('a subscription that waits for its first payment ends after 23 hours', async () => {
  await app.setClock(start);
  const { id, status } = await subscribe('waiting');
  assert.equal(status, 'incomplete');
  await app.setClock(start + 23 * hour - 1);
  assert.deepEqual(await run(), { canceled: 0, expired: 0 });
  await app.setClock(start + 23 * hour);
  assert.deepEqual(await run(), { canceled: 0, expired: 1 });
  const { subscription } = await app.get(`/subscriptions/${id}`);
  assert.deepEqual([subscription.status, subscription.canceledAt], ['incomplete_expired', null]);
});

test('runs beside each other end each subscription once', async () => {
  await app.setClock(start);
  for (let index = 0; index < 10; index++) await subscribe(`many-${index}`);
  await app.setClock(start + 24 * hour);
  const results = await Promise.all([run(), run(), run()]);
  assert.equal(
    results.reduce((sum, { expired }) => sum + expired, 0),
    10,
  );
  await assertSound(app);
});

/** Makes every write that ends this subscription fail, until the answer is called. */
async function breakEnding(id: string): Promise<() => Promise<unknown>> {
  for (const { ownerPool } of app.cells)
    await ownerPool.query(`
      create function fail_on_purpose() returns trigger language plpgsql as $$ begin raise exception 'on purpose'; end $$;
      create trigger fail before update on subscriptions for each row
        when (old.id = '${id}' and new.status = 'canceled') execute function fail_on_purpose()`);
  return () => Promise.all(app.cells.map(({ ownerPool }) => ownerPool.query('drop function fail_on_purpose cascade')));
}

const statusesOf = (ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await app.get(`/subscriptions/${id}`)).subscription.status));

test('one that cannot be ended holds up no other: it is set aside for a while, and the run says so', async () => {
  await app.setClock(start);
  const ids: string[] = [];
  for (const externalId of ['stuck', 'free to go', 'also free']) {
    const { id } = await subscribe(externalId, 'pm_card_visa');
    await cancelAtEnd(id);
    ids.push(id);
  }
  const mend = await breakEnding(ids[0] ?? '');
  await app.setClock(Date.UTC(2026, 2, 1));
  const began = Date.now();
  await assert.rejects(
    run(),
    /^AggregateError: 1 steps of due work failed in environment \d+, the first: .*on purpose/,
  );
  assert.deepEqual(await statusesOf(ids), ['cancellation_scheduled', 'canceled', 'canceled']);
  await mend();
  // It is left alone for five minutes of real time.
  assert.deepEqual(await run(), { canceled: 0, expired: 0 });
  const { workRetryAt } = await app.owner
    .selectFrom('subscriptions')
    .select('workRetryAt')
    .where('id', '=', ids[0] ?? '')
    .executeTakeFirstOrThrow();
  assert(workRetryAt !== null && workRetryAt >= began + 5 * 60_000);
  await app.owner
    .updateTable('subscriptions')
    .set({ workRetryAt: Date.now() - 1 })
    .where('id', '=', ids[0] ?? '')
    .execute();
  assert.deepEqual(await run(), { canceled: 1, expired: 0 });
});

test('the job of each minute asks for one job in each environment where something is due', async () => {
  await app.setClock(start);
  const { id } = await subscribe('by the job', 'pm_card_visa');
  await cancelAtEnd(id);
  await app.runJobs({ all: true });
  await app.setClock(Date.UTC(2026, 2, 1));
  const find = async () => app.tasks.find_due_work?.(app, {});
  await find();
  await find();
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from _private_jobs j
      join _private_tasks t on t.id = j.task_id where t.identifier = 'do_due_work'`.execute(app.cell.owner);
  assert.deepEqual(rows, [{ count: 1 }]);
  await app.runJobs();
  assert.deepEqual(await statusesOf([id]), ['canceled']);
});

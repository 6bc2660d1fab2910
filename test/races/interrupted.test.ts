import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { createApp, tasks } from '../../src/app.ts';
import { createDatabase, createPool, queueSchemaOf } from '../../src/database/database.ts';
import { createLog } from '../../src/http/log.ts';
import { startWorker } from '../../src/jobs/worker.ts';
import { newPaidPayment } from '../support/charge.ts';
import { testSchema } from '../support/databases.ts';
import { send, startTestApp } from '../support/harness.ts';
import { structure } from '../support/world.ts';

const app = await startTestApp();
await app.post('/pricing-models/setup', structure('interrupted'));

async function newPayer(externalId: string): Promise<string> {
  await app.post('/customers', { customer: { externalId, email: 'a@acme.test', name: externalId } });
  const method = { customerExternalId: externalId, type: 'card', token: 'pm_card_visa' };
  return (await app.post('/payment-methods', { paymentMethod: method })).paymentMethod.id;
}

/** What a crash between the commit and the charge leaves: a payment under way, and an answer that waits for it. */
async function interruptedSubscription(externalId: string, key: string) {
  const body = {
    customerExternalId: externalId,
    priceSlug: 'team-monthly',
    defaultPaymentMethodId: await newPayer(externalId),
  };
  const headers = { 'idempotency-key': key };
  const payload = await app.post('/subscriptions', body, { headers });
  const { data } = await app.get(`/payments?subscriptionId=${payload.subscription.id}`);
  const paymentId: string = data[0].id;
  const invoiceId: string = data[0].invoiceId;
  const undone = { status: 'processing', processorReference: null, settlementDate: null };
  const unpaid = { status: 'awaiting_payment_confirmation', amountPaid: 0n };
  for (const { owner } of app.cells) {
    await owner.updateTable('payments').set(undone).where('id', '=', paymentId).execute();
    await owner.updateTable('invoices').set(unpaid).where('id', '=', invoiceId).execute();
  }
  const response = JSON.stringify({ subscription: { ...payload.subscription, status: 'incomplete' } });
  const effects = JSON.stringify([
    { task: 'charge_payments', payload: { environmentId: app.testEnvironmentId, paymentIds: [paymentId] } },
  ]);
  await app.owner.updateTable('idempotencyKeys').set({ response, effects }).where('key', '=', key).execute();
  return { body, headers, paymentId, first: payload };
}

test('a repeat of a request that died before its charge sees to the charge, and answers how it ended', async () => {
  const { body, headers, paymentId, first } = await interruptedSubscription('repeater', 'interrupted');
  const again = await app.request('POST', '/subscriptions', body, { headers });
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.equal(again.body.subscription.id, first.subscription.id);
  assert.equal(again.body.subscription.status, 'active');
  assert.equal((await app.get(`/payments/${paymentId}`)).payment.status, 'succeeded');
  const charges = await sql<{ count: number }>`
    select count(*) as count from test_processor_operations where idempotency_key = ${paymentId}`.execute(app.owner);
  assert.equal(charges.rows[0]?.count, 1);
  const { effects } = await app.owner
    .selectFrom('idempotencyKeys')
    .select('effects')
    .where('key', '=', 'interrupted')
    .executeTakeFirstOrThrow();
  assert.equal(effects, null);
});

test('the jobs of a killed worker are taken up by the next one, those of a living worker are left alone', async () => {
  const ownerPool = createPool({ schema: testSchema, url: app.databaseUrl, size: 12, as: 'owner' });
  const alive = await ownerPool.connect();
  await alive.query("select pg_advisory_lock(7002, hashtext('worker-alive'))");
  for (const worker of ['worker-dead', 'worker-alive']) {
    await ownerPool.query("select add_job('forget_old_answers', job_key => $1)", [worker]);
    await ownerPool.query('update _private_jobs set locked_by = $1, locked_at = now() where key = $1', [worker]);
  }
  // A job that is added again while it runs is another job. Nobody knows how far the killed one came.
  await ownerPool.query("select add_job('forget_old_answers', job_key => 'worker-dead')");
  const remaining = async () =>
    (
      await ownerPool.query<{ key: string }>(
        `select key from _private_jobs j join _private_tasks t on t.id = j.task_id
          where t.identifier = 'forget_old_answers' order by key`,
      )
    ).rows.map((row) => row.key);
  const done = Promise.withResolvers<void>();
  let runs = 0;
  const counting = {
    ...tasks,
    forget_old_answers: async () => {
      runs += 1;
      if (runs === 2) done.resolve();
    },
  };
  const worker = await startWorker({
    queueSchema: queueSchemaOf(testSchema),
    queuePool: ownerPool,
    context: { database: app.database, tasks: counting },
    crontab: '',
    log: () => undefined,
  });
  await done.promise;
  await worker.stop();
  assert.deepEqual(await remaining(), ['worker-alive']);
  alive.release();
  await ownerPool.end();
});

test('a job that a living worker runs is not taken from it when another worker looks for the dead', async () => {
  const ownerPool = createPool({ schema: testSchema, url: app.databaseUrl, size: 24, as: 'owner' });
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const slow = {
    ...tasks,
    forget_old_answers: async () => {
      begun.resolve();
      await finish.promise;
    },
  };
  const start = () =>
    startWorker({
      queueSchema: queueSchemaOf(testSchema),
      queuePool: ownerPool,
      context: { database: app.database, tasks: slow },
      crontab: '',
      log: () => undefined,
    });
  await ownerPool.query('delete from _private_jobs');
  const first = await start();
  await ownerPool.query("select add_job('forget_old_answers', job_key => 'slow')");
  await begun.promise;
  const holder = `
    select from _private_jobs j join pg_locks l on l.locktype = 'advisory' and l.classid = 7002 and l.granted
       and l.objid = (hashtext(j.locked_by)::bigint & 4294967295)::oid
     where j.key = 'slow'`;
  for (let looks = 0; looks < 40 && (await ownerPool.query(holder)).rowCount === 0; looks += 1) await sleep(50);
  const second = await start();
  const { rows } = await ownerPool.query("select locked_by is not null as held from _private_jobs where key = 'slow'");
  assert.deepEqual(rows, [{ held: true }]);
  finish.resolve();
  await Promise.all([first.stop(), second.stop()]);
  await ownerPool.end();
});

test('test tokens are refused in live mode, where no money may be pretended', async () => {
  const key = app.liveKey;
  await app.post('/customers', { customer: { externalId: 'live', email: 'a@acme.test', name: 'Live' } }, { key });
  const method = { customerExternalId: 'live', type: 'card', token: 'pm_card_visa' };
  const answer = await app.request('POST', '/payment-methods', { paymentMethod: method }, { key });
  assert.equal(answer.status, 400);
  assert.match(answer.body.message, /test mode/);
  assert.equal((await app.get('/payment-methods', { key })).total, 0);
});

test('when our own database fails after a refund, the repeat answers that refund and makes no second one', async () => {
  await newPayer('refunded').then((defaultPaymentMethodId) =>
    app.post('/subscriptions', { customerExternalId: 'refunded', priceSlug: 'team-monthly', defaultPaymentMethodId }),
  );
  const { invoices } = await app.get('/customers/refunded/billing');
  const { data } = await app.get(`/payments?subscriptionId=${invoices[0].invoice.subscriptionId}`);
  const path = `/payments/${data[0].id}/refund`;
  const headers = { 'idempotency-key': 'refund once' };
  for (const { ownerPool } of app.cells)
    await ownerPool.query(`
      create function fail_on_purpose() returns trigger language plpgsql as $$ begin raise exception 'on purpose'; end $$;
      create trigger fail before update on idempotency_keys for each row execute function fail_on_purpose()`);
  assert.equal((await app.request('POST', path, { partialAmount: 30 }, { headers })).status, 500);
  for (const { ownerPool } of app.cells) await ownerPool.query('drop trigger fail on idempotency_keys');
  const again = await app.request('POST', path, { partialAmount: 30 }, { headers });
  assert.equal(again.status, 200);
  assert.equal(again.body.payment.refundedAmount, 30);
});

test('when no connection is free after a refund, the repeat answers that refund and makes no second one', async (t) => {
  const home = await startTestApp({ cells: 1 });
  const id = await newPaidPayment(home, 100n);
  const pool = createPool({ schema: testSchema, url: home.databaseUrl, size: 2, as: 'service' });
  const server = await createApp({
    database: createDatabase(pool),
    people: home.owner,
    log: createLog('silent').log,
    services: home.services,
    migrated: async () => true,
  });
  t.after(async () => {
    await server.close();
    await pool.end();
  });
  const connect = pool.connect.bind(pool);
  let isRefused = false;
  pool.connect = async () => {
    const { rowCount } = await home.ownerPool.query(
      `select from refunds where payment_id = $1 and status = 'succeeded'`,
      [id],
    );
    if (isRefused || rowCount === 0) return connect();
    isRefused = true;
    // The words of the pool when all connections are in use for too long.
    throw new Error('timeout exceeded when trying to connect');
  };
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  const options = { key: home.testKey, headers: { 'idempotency-key': 'refund once when busy' } };
  const refund = () => send(address, 'POST', `/payments/${id}/refund`, { partialAmount: 30 }, options);
  const first = await refund();
  assert.deepEqual([first.status, first.body.reason], [503, 'overloaded']);
  const again = await refund();
  assert.deepEqual([again.status, again.body.payment.refundedAmount], [200, 30]);
});

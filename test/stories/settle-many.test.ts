import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { collectInvoices, dunHandler } from '../../src/billing/collect-invoices.ts';
import { chargeInvoices } from '../../src/billing/record-paid.ts';
import { renewHandler } from '../../src/billing/renew.ts';
import { settleCharges, settlePayments, settleReported } from '../../src/billing/settle-payment.ts';
import type { Work } from '../../src/database/work.ts';
import { checkInvariants } from '../../src/invariants/check-invariants.ts';
import { lockInvoices } from '../../src/invoicing/store-collecting.ts';
import { createProcessors } from '../../src/payments/actions.ts';
import { assumedSuccess } from '../../src/payments/actions-settle.ts';
import type { ChargeOutcome, PaymentProcessor, Processors } from '../../src/payments/processor.ts';
import { findSubscriptions } from '../../src/subscriptions/store.ts';
import { startTestApp } from '../support/harness.ts';
import { insertManySubscriptions } from '../support/many-subscriptions.ts';
import { countStatements } from '../support/statements.ts';
import { day } from '../support/years.ts';

// Its customers are one batch, so they are in one cell.
const app = await startTestApp({ cells: 1 });
const start = Date.UTC(2026, 0, 1);
const count = 620;
await app.setClock(start);
await insertManySubscriptions(app, count, { now: start });
await app.owner.updateTable('products').set({ isDefault: true }).where('slug', '=', 'pro').execute();
// Plans for empty tables would compare each of so many rows with each other.
await sql`analyze`.execute(app.owner);

/** Bills the next month of so many subscriptions and answers the payments that are asked for. */
async function billed(month: number, limit = count): Promise<string[]> {
  await app.setClock(start + 30 * month * day);
  return app.inEnvironment(async (work) => {
    await renewHandler.perform(work, await renewHandler.take(work, limit));
    return paymentsAsked(work);
  });
}

function paymentsAsked(work: Work): string[] {
  return work.effects.flatMap(({ payload }) => payload.paymentIds as string[]);
}

const statusesOf = async (ids: readonly string[]) => {
  const rows = await app.owner.selectFrom('payments').select('status').where('id', 'in', ids).execute();
  return Object.fromEntries(
    Map.groupBy(rows, ({ status }) => status)
      .entries()
      .map(([status, { length }]) => [status, length]),
  );
};

const context = { database: app.database, tasks: app.tasks };
const settleAll = (processors: Processors, ids: readonly string[]) =>
  settlePayments(context, processors, app.testEnvironmentId, ids);

test('renewals ask for their charges five hundred at a time, and one job settles so many', async () => {
  await app.setClock(start + 30 * day);
  const sizes = await app.inEnvironment(async (work) => {
    await renewHandler.perform(work, await renewHandler.take(work, count));
    return work.effects.map(({ payload }) => (payload.paymentIds as string[]).length);
  });
  assert.deepEqual(sizes, [500, 120]);
  await app.runJobs({ all: true });
  const rows = await app.owner.selectFrom('payments').select(['id', 'status']).execute();
  assert.deepEqual(await statusesOf(rows.map(({ id }) => id)), { succeeded: 620 });
});

test('settling and charging take as many statements for three hundred as for two', async () => {
  const counted: { settle: number; charge: number; collect: number }[] = [];
  for (const [month, size] of [
    [2, 2],
    [3, 300],
  ] as const) {
    const ids = await billed(month, size);
    assert.equal(ids.length, size);
    const { count: settle } = await app.inEnvironment((work) =>
      countStatements(work, (counting) =>
        settleCharges(
          counting,
          ids.map((id) => assumedSuccess(work, id)),
        ),
      ),
    );
    counted.push({ settle, ...(await countAsking(ids)) });
  }
  const [few, many] = counted;
  assert.deepEqual(many, few);
  assert(few && few.settle < 30, `${few?.settle} statements`);
});

/** The statements that it takes to ask for the charges of what these payments paid, as though they had not. */
async function countAsking(paymentIds: readonly string[]): Promise<{ charge: number; collect: number }> {
  const payments = await app.owner
    .selectFrom('payments')
    .select(['invoiceId', 'paymentMethodId'])
    .where('id', 'in', paymentIds)
    .execute();
  const counts = { charge: 0, collect: 0 };
  const rollBack = app.inEnvironment(async (work) => {
    const invoiceIds = payments.flatMap(({ invoiceId }) => invoiceId ?? []);
    const open = { status: 'open', amountPaid: 0n };
    await work.db.updateTable('invoices').set(open).where('id', 'in', invoiceIds).execute();
    const invoices = await lockInvoices(work, invoiceIds);
    const subscriptions = await findSubscriptions(
      work,
      invoices.flatMap(({ subscriptionId }) => subscriptionId ?? []),
    );
    const byId = new Map(subscriptions.map((subscription) => [subscription.id, subscription]));
    const collectables = invoices.flatMap((invoice) => {
      const subscription = byId.get(invoice.subscriptionId ?? '');
      return subscription ? { invoice, subscription } : [];
    });
    await work.db.deleteFrom('payments').where('id', 'in', paymentIds).execute();
    counts.collect = (await countStatements(work, (counting) => collectInvoices(counting, collectables))).count;
    await work.db.deleteFrom('payments').where('invoiceId', 'in', invoiceIds).execute();
    const orders = payments.map(({ invoiceId, paymentMethodId }) => {
      assert(paymentMethodId && invoiceId);
      return { invoice: { id: invoiceId }, paymentMethodId };
    });
    counts.charge = (await countStatements(work, (counting) => chargeInvoices(counting, orders))).count;
    throw new Error('rolled back');
  });
  await assert.rejects(rollBack, { message: 'rolled back' });
  return counts;
}

/** A processor elsewhere: `answer` is asked for each charge on its own. */
function elsewhere(answer: (id: string) => Promise<ChargeOutcome>): Processors {
  const test = createProcessors(app.database).named('test');
  const processor: PaymentProcessor = {
    name: 'test',
    attachPaymentMethod: (...request) => test.attachPaymentMethod(...request),
    charge: ({ idempotencyKey }) => answer(idempotencyKey),
    retrieve: (reference, now) => test.retrieve(reference, now),
    refund: (request) => test.refund(request),
  };
  return { named: () => processor, defaultIn: () => processor };
}

const success = (id: string): ChargeOutcome => ({
  result: 'succeeded',
  reference: `ch_${id}`,
  settledAt: start,
  receiptNumber: null,
});

test('a charge that nobody answers holds up no other: all others are settled while it waits', async () => {
  const ids = await billed(4, 40);
  const gate = Promise.withResolvers<ChargeOutcome>();
  const stuck = ids[7] ?? '';
  let atOnce = 0;
  let most = 0;
  const processors = elsewhere(async (id) => {
    most = Math.max(most, ++atOnce);
    try {
      return id === stuck ? await gate.promise : success(id);
    } finally {
      atOnce -= 1;
    }
  });
  const settling = settleAll(processors, ids);
  for (let open = 40; open > 1; open = (await statusesOf(ids)).processing ?? 0);
  assert.deepEqual(await statusesOf(ids), { processing: 1, succeeded: 39 });
  gate.resolve(success(stuck));
  await settling;
  assert.deepEqual(await statusesOf(ids), { succeeded: 40 });
  assert(most <= 10, `${most} charges at once`);
});

test('what fails to be found out is thrown at the end, and found out the next time', async () => {
  const ids = await billed(5, 30);
  const broken = new Set([ids[3], ids[20]]);
  const processors = elsewhere(async (id) => {
    if (broken.has(id)) throw new Error('connection lost');
    return success(id);
  });
  await assert.rejects(settleAll(processors, ids), { message: /^2 of 30 charges: Error: connection lost/ });
  assert.deepEqual(await statusesOf(ids), { processing: 2, succeeded: 28 });
  broken.clear();
  await settleAll(processors, ids);
  assert.deepEqual(await statusesOf(ids), { succeeded: 30 });
});

test('one payment that cannot be settled holds up none of its batch', async () => {
  const ids = await billed(6, 20);
  const [poisoned = ''] = ids;
  // Something that no rule foresees: the database refuses whatever ends this payment.
  await sql`alter table payments add constraint poison check (id <> ${sql.lit(poisoned)} or status = 'processing')`.execute(
    app.owner,
  );
  await assert.rejects(settleAll(createProcessors(app.database), ids), /poison/);
  assert.deepEqual(await statusesOf(ids), { processing: 1, succeeded: 19 });
  await sql`alter table payments drop constraint poison`.execute(app.owner);
  await settleAll(createProcessors(app.database), ids);
  assert.deepEqual(await statusesOf(ids), { succeeded: 20 });
});

test('of a batch in which some cards fail, each gets what is its own', async () => {
  const failing = await app.owner
    .updateTable('paymentMethods')
    .set({ processorToken: 'pm_card_chargeCustomerFail' })
    .where(sql`left(customer_id, 24)`, 'in', ['cust_0000000000000000001', 'cust_0000000000000000002'])
    .returning('customerId')
    .execute();
  assert.equal(failing.length, 2);
  const ids = await billed(7);
  await settleAll(createProcessors(app.database), ids);
  assert.deepEqual(await statusesOf(ids), { failed: 2, succeeded: ids.length - 2 });
  const pastDue = await app.owner
    .selectFrom('subscriptions')
    .select('customerId')
    .where('status', '=', 'past_due')
    .orderBy('id')
    .execute();
  assert.deepEqual(
    pastDue.map(({ customerId }) => customerId),
    failing.map(({ customerId }) => customerId).toSorted(),
  );
});

test('a hundred cards that fail take two transactions and not a hundred', async () => {
  const failing = { result: 'failed', reference: null, code: 'card_declined', message: 'Declined.' } as const;
  const ids = await billed(8, 200);
  const told = ids.map((paymentId, index) => ({ paymentId, outcome: index % 2 === 0 ? failing : success(paymentId) }));
  await settleReported(context, app.testEnvironmentId, told);
  assert.deepEqual(await statusesOf(ids), { failed: 100, succeeded: 100 });
  // The transaction that wrote a row last stands in its xmin.
  const { rows } = await sql`
    select distinct status, xmin::text from payments where id = any(${ids}::text[]) order by status`.execute(app.owner);
  assert.deepEqual(
    rows.map((row) => (row as { status: string }).status),
    ['failed', 'failed', 'succeeded'],
  );
});

test('eight that settle the same payments at once, and tell them again, change nothing twice', async () => {
  const ids = await billed(9, 100);
  await Promise.all(Array.from({ length: 8 }, () => settleAll(createProcessors(app.database), ids)));
  const { succeeded = 0, failed = 0 } = await statusesOf(ids);
  assert.equal(succeeded + failed, ids.length);
  const told = await app.owner
    .selectFrom('events')
    .select('objectId')
    .where('objectId', 'in', ids)
    .where('type', 'in', ['payment.succeeded', 'payment.failed'])
    .execute();
  assert.equal(told.length, ids.length);
});

test('two that try invoices again at once step over what the other holds', async () => {
  const dueAt = start + 30 * 9 * day + 20 * day;
  await app.setClock(dueAt);
  await app.owner.updateTable('invoices').set({ nextAttemptAt: dueAt }).where('status', '=', 'open').execute();
  const claims = await app.inEnvironment(async (work) => {
    const mine = await dunHandler.take(work, 1);
    const theirs = await app.inEnvironment((other) => dunHandler.take(other, 100));
    return { mine, theirs };
  });
  assert.equal(claims.mine.length, 1);
  assert(claims.theirs.length > 0 && claims.theirs.every((id) => !claims.mine.includes(id)));
});

test('after all of this the books are in order', async () => {
  // So many invoices have come since.
  await sql`analyze`.execute(app.owner);
  const broken = (await checkInvariants(app.owner)).filter(({ violations }) => violations.count > 0);
  // How charges ended was told here by hand, so the network knows nothing of them.
  const told = ['chargesAreOnePayment', 'testProcessorAgrees'];
  assert.deepEqual(
    broken.filter(({ name }) => !told.includes(name)),
    [],
  );
});

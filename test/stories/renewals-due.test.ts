import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql, type Updateable } from 'kysely';
import { renewHandler } from '../../src/billing/renew.ts';
import type { Subscriptions } from '../../src/database/database-types.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { invoicesOf, periodsOf, renewDue } from '../support/renewing.ts';

const may = instant('2026-05-01');
const june = instant('2026-06-01');
const july = instant('2026-07-01');

/** An environment of its own with one paid subscription that began on 1 May. */
async function oneSubscription() {
  const app = await startTestApp({ isSound: false });
  const plans = await setUpPlans(app);
  await app.setClock(may);
  const { customerId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const { id } = await plans.subscribe({
    customerId,
    priceSlug: 'pro-monthly',
    defaultPaymentMethodId: paymentMethodId,
  });
  const set = (values: Updateable<Subscriptions>) =>
    app.owner.transaction().execute(async (db) => {
      // What is canceled stays so, but here it was never.
      await sql`set local session_replication_role = replica`.execute(db);
      await db.updateTable('subscriptions').set(values).where('id', '=', id).execute();
    });
  return { app, plans, id: id as string, customerId, set };
}

const { app, plans, id, customerId, set } = await oneSubscription();
const take = (only?: readonly string[]) => app.inEnvironment((work) => renewHandler.take(work, 10, only));

test('nothing is due until the period is over', async () => {
  await app.setClock(june - 1);
  assert.deepEqual(await take(), []);
  await app.setClock(june);
  assert.deepEqual(await take(), [id]);
});

test('what ends by the end of the period does not renew; what ends later does', async () => {
  await set({ status: 'cancellation_scheduled', cancelScheduledAt: june });
  assert.deepEqual(await take(), []);
  await set({ cancelScheduledAt: june + 1 });
  assert.deepEqual(await take(), [id]);
  await set({ status: 'active', cancelScheduledAt: null });
});

test('what has ended, is paused or waits for its first payment does not renew', async () => {
  await set({ status: 'paused', pausedAt: may });
  assert.deepEqual(await take(), []);
  await set({ status: 'incomplete', pausedAt: null });
  assert.deepEqual(await take(), []);
  await set({ status: 'canceled', canceledAt: may });
  assert.deepEqual(await take(), []);
  await set({ status: 'active', canceledAt: null });
});

test('what failed lately is left alone for a while', async () => {
  await set({ workRetryAt: Date.now() + 60_000 });
  assert.deepEqual(await take(), []);
  await set({ workRetryAt: Date.now() - 1 });
  assert.deepEqual(await take(), [id]);
  await set({ workRetryAt: null });
});

test('a claim steps over what somebody else holds', async () => {
  const held = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const holder = app.inEnvironment(async (work) => {
    await sql`select from customers where id = ${customerId} for update`.execute(work.db);
    held.resolve();
    await done.promise;
  });
  await held.promise;
  assert.deepEqual(await take(), []);
  done.resolve();
  await holder;
  assert.deepEqual(await take(), [id]);
});

test('unpaid subscriptions go on, their invoice stays open and nobody tries to collect it', async () => {
  await set({ status: 'unpaid', arrears: 'unpaid' });
  assert.equal(await renewDue(app), 1);
  const invoices = await invoicesOf(app, id);
  assert.deepEqual(invoices.at(-1)?.status, 'open');
  const { subscription } = await app.get(`/subscriptions/${id}`);
  assert.deepEqual([subscription.status, subscription.currentBillingPeriodEnd], ['unpaid', july]);
  const { data: payments } = await app.get(`/payments?customerId=${customerId}`);
  assert.equal(payments.length, 1, 'that of May');
});

test('an unpaid period is past due when it is over', async () => {
  await app.setClock(july);
  assert.equal(await renewDue(app), 1);
  const statuses = (await periodsOf(app, id)).map((period) => period.status);
  assert.deepEqual(statuses, ['completed', 'past_due', 'active']);
});

test('a plan that does not renew is never due', async () => {
  const { subscription } = await app.get(`/subscriptions/${id}`);
  await set({
    renews: false,
    intervalUnit: null,
    intervalCount: null,
    billingCycleAnchorDate: null,
    currentBillingPeriodStart: null,
    currentBillingPeriodEnd: null,
  });
  await app.setClock(instant('2030-01-01'));
  assert.deepEqual(await take(), []);
  await set({
    renews: true,
    intervalUnit: 'month',
    intervalCount: 1,
    billingCycleAnchorDate: may,
    currentBillingPeriodStart: subscription.currentBillingPeriodStart,
    currentBillingPeriodEnd: subscription.currentBillingPeriodEnd,
  });
  await app.setClock(july);
});

test('the longest due comes first, and one period at a time', async () => {
  const { freeId } = await plans.newCustomer();
  await app.setClock(instant('2026-10-15'));
  assert.deepEqual(await take(), [id, freeId].slice(0, 2));
  assert.deepEqual(await app.inEnvironment((work) => renewHandler.take(work, 1)), [id]);
  assert.deepEqual(await take([freeId]), [freeId]);
});

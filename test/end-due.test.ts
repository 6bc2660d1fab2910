import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { checkInvariants } from '../src/lifecycle/check-invariants.ts';
import { endDueOnce } from '../src/lifecycle/end-due.ts';
import { type Body, startTestApp } from './harness.ts';
import { structure } from './world.ts';

const app = await startTestApp();
const start = Date.UTC(2026, 0, 31);
const hour = 3_600_000;
const run = () => endDueOnce({ database: app.database });

async function subscribe(externalId: string, more: Body = {}): Promise<Body> {
  await app.post('/customers', { customer: { externalId, email: 'a@acme.test', name: externalId } });
  const body = { customerExternalId: externalId, priceSlug: 'team-monthly', ...more };
  return (await app.post('/subscriptions', body)).subscription;
}

test('a scheduled cancellation is carried out when its date has come, as of that date, once', async () => {
  await app.setClock(start);
  await app.post('/pricing-models/setup', structure('due'));
  await app.post('/customers', { customer: { externalId: 'payer', email: 'a@acme.test', name: 'Payer' } });
  const method = { customerExternalId: 'payer', type: 'card', token: 'pm_card_visa' };
  const { paymentMethod } = await app.post('/payment-methods', { paymentMethod: method });
  const { subscription } = await app.post('/subscriptions', {
    customerExternalId: 'payer',
    priceSlug: 'team-monthly',
    defaultPaymentMethodId: paymentMethod.id,
  });
  await app.post(`/subscriptions/${subscription.id}/cancel`, {
    cancellation: { timing: 'at_end_of_current_billing_period' },
  });
  const end = Date.UTC(2026, 1, 28);

  await app.setClock(end - 1);
  assert.deepEqual(await run(), { canceled: 0, expired: 0 });
  await app.setClock(end + 5 * hour);
  assert.deepEqual(await run(), { canceled: 1, expired: 0 });
  assert.deepEqual(await run(), { canceled: 0, expired: 0 });

  const { currentSubscription, subscriptions } = await app.get('/customers/payer/billing');
  const ended = subscriptions.find((row: Body) => row.id === subscription.id);
  assert.deepEqual([ended.status, ended.canceledAt, ended.cancelScheduledAt], ['canceled', end, end]);
  assert.equal(currentSubscription.isFreePlan, true);
  const events = await app.get(`/events?objectId=${subscription.id}`);
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
  assert.deepEqual(
    (await checkInvariants(app.owner)).filter(({ violations }) => violations.count > 0),
    [],
  );
});

const subscribeWithCard = async (externalId: string): Promise<Body> =>
  (await app.post('/subscriptions', { customerExternalId: externalId, priceSlug: 'team-monthly' })).subscription;

test('one that cannot be ended holds up no other, and the run says so', async () => {
  await app.setClock(start);
  const ids: string[] = [];
  for (const externalId of ['stuck', 'free to go']) {
    await app.post('/customers', { customer: { externalId, email: 'a@acme.test', name: externalId } });
    const method = { customerExternalId: externalId, type: 'card', token: 'pm_card_visa' };
    await app.post('/payment-methods', { paymentMethod: method });
    const { id } = await subscribeWithCard(externalId);
    await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'at_end_of_current_billing_period' } });
    ids.push(id);
  }
  await sql`create function fail_on_purpose() returns trigger language plpgsql as $$ begin raise exception 'on purpose'; end $$`.execute(
    app.owner,
  );
  await sql
    .raw(
      `create trigger fail before update on subscriptions for each row when (old.id = '${ids[0]}') execute function fail_on_purpose()`,
    )
    .execute(app.owner);
  await app.setClock(Date.UTC(2026, 2, 1));
  await assert.rejects(run(), /^AggregateError: 1 of \d+ steps failed/);
  const statuses = await Promise.all(
    ids.map(async (id) => (await app.get(`/subscriptions/${id}`)).subscription.status),
  );
  assert.deepEqual(statuses, ['cancellation_scheduled', 'canceled']);
  await sql`drop trigger fail on subscriptions`.execute(app.owner);
  assert.deepEqual(await run(), { canceled: 1, expired: 0 });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { createApiKey } from '../../src/organizations/actions.ts';
import { environmentLines } from '../support/digest.ts';
import { type Answer, startTestApp, type TestOrganization } from '../support/harness.ts';
import { beginYears, breakCard, type Caller, callerOf, day, hour, subscribeFor } from '../support/years.ts';

const app = await startTestApp({ isSound: false });
const start = Date.UTC(2026, 0, 31, 10);
const february = Date.UTC(2026, 1, 28, 10);
const march = Date.UTC(2026, 2, 31, 10);

async function newEnvironment(): Promise<TestOrganization & { caller: Caller }> {
  const organization = await app.newOrganization();
  const caller = callerOf(app, organization);
  await beginYears(app, organization, caller, start);
  return { ...organization, caller };
}

const put = (now: unknown, key: string): Promise<Answer> =>
  app.request('PUT', '/test-clock', { testClock: { now } }, { key });
const nothing = {
  periodsRenewed: 0,
  subscriptionsCanceled: 0,
  invoicesCreated: 0,
  paymentsSucceeded: 0,
  paymentsFailed: 0,
  creditsExpired: 0,
  eventsCreated: 0,
};

test('time is real until it is set, then it stands still', async () => {
  const { testKey: key } = await app.newOrganization();
  const before = Date.now();
  const { testClock } = await app.get('/test-clock', { key });
  assert.equal(testClock.frozen, false);
  assert(testClock.now >= before && testClock.now <= Date.now());
  assert.deepEqual(await app.put('/test-clock', { testClock: { now: '2026-01-31T10:00:00Z' } }, { key }), {
    testClock: { now: start, frozen: true },
    work: nothing,
  });
  assert.deepEqual(await app.get('/test-clock', { key }), { testClock: { now: start, frozen: true } });
});

test('before there are subscriptions any instant of the calendar can be set; after that time only goes on', async () => {
  const { testKey: key, caller } = await newEnvironment();
  for (const now of [Date.UTC(1970, 0, 1), Date.UTC(275_000, 0, 1), start]) await caller.moveTo(now);
  for (const now of [Date.UTC(275_760, 0, 1), Number.MAX_SAFE_INTEGER, 0.5, 'tomorrow', null])
    assert.equal((await put(now, key)).status, 400, String(now));
  await subscribeFor(caller, 'first', { plan: 'month', token: 'pm_card_visa' });
  const back = await put(start - 1, key);
  assert.equal(back.status, 400);
  assert.match(back.body.message, /cannot move back/);
  assert.deepEqual((await caller.moveTo(start)).work, nothing);
});

test('live time is real, and a key that sees one pricing model cannot move the time of all', async () => {
  const { liveKey, testEnvironmentId: environmentId, caller } = await newEnvironment();
  assert.equal((await app.get('/test-clock', { key: liveKey })).testClock.frozen, false);
  assert.equal((await put(start, liveKey)).status, 403);
  const { pricingModel } = await caller.get('/pricing-models/default');
  const request = { environmentId, livemode: false, name: 'pinned', pricingModelId: pricingModel.id };
  const { token } = await createApiKey(app.owner, request, Date.now());
  assert.equal((await put(start + day, token)).status, 403);
  assert.equal((await app.get('/test-clock', { key: token })).testClock.now, start);
});

test('a month is renewed at its end: the answer says what was done, and the records say when', async () => {
  const { caller } = await newEnvironment();
  const { subscriptionId } = await subscribeFor(caller, 'payer', { plan: 'month', token: 'pm_card_visa' });
  assert.deepEqual((await caller.moveTo(february - 1)).work, nothing);
  const { testClock, work } = await caller.moveTo(february + 5 * hour);
  assert.deepEqual(testClock, { now: february + 5 * hour, frozen: true });
  // The free plan gave way to the paid one. The first 100 credits were used, so none expires.
  const renewed = { ...nothing, periodsRenewed: 1, invoicesCreated: 1, paymentsSucceeded: 1, eventsCreated: 5 };
  assert.deepEqual(work, renewed);
  const { subscription } = await caller.get(`/subscriptions/${subscriptionId}`);
  assert.deepEqual([subscription.currentBillingPeriodStart, subscription.currentBillingPeriodEnd], [february, march]);
  const { data } = await caller.get(`/invoices?subscriptionId=${subscriptionId}`);
  const invoice = data.at(-1);
  // 30.00 for March and 150 calls of February that no credit covered, at 50 per 100.
  assert.deepEqual([invoice.total, invoice.status, invoice.createdAt], [3075, 'paid', february]);
  // The 100 credits of March are not used.
  assert.deepEqual((await caller.moveTo(march)).work, { ...renewed, creditsExpired: 1 });
});

test('those who ask at once are all answered when the work is done, and it is done once', async () => {
  const { testKey: key, caller } = await newEnvironment();
  await subscribeFor(caller, 'payer', { plan: 'ten-days', token: 'pm_card_visa' });
  const answers = await Promise.all([1, 2, 3, 4].map(() => put(start + 100 * day, key)));
  for (const { status, body } of answers) {
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.testClock.now, start + 100 * day);
  }
  const { total } = await caller.get('/payments?limit=1');
  // The first period, ten renewals, and the calls of the first month.
  assert.equal(total, 1 + 10 + 1);
});

test('a move whose process died is ended by its job, or by who asks next, as if nothing had been', async () => {
  const end = start + 60 * day;
  const [whole, byJob, byNext] = [await newEnvironment(), await newEnvironment(), await newEnvironment()];
  for (const environment of [whole, byJob, byNext])
    await subscribeFor(environment.caller, 'payer', { plan: 'ten-days', token: 'pm_card_visa' });
  await whole.caller.moveTo(end);
  for (const { testEnvironmentId } of [byJob, byNext])
    await app.owner
      .updateTable('environments')
      .set({ clockTarget: end, clockMovedAt: Date.now() })
      .where('id', '=', testEnvironmentId)
      .execute();
  for (const { database } of app.cells)
    await app.tasks.move_clock?.({ ...app, database }, { environmentId: byJob.testEnvironmentId });
  assert.equal((await put(end - 1, byNext.testKey)).status, 400);
  await byNext.caller.moveTo(end);
  const expected = await environmentLines(app.owner, whole.testEnvironmentId);
  for (const { testEnvironmentId } of [byJob, byNext])
    assert.deepEqual(await environmentLines(app.owner, testEnvironmentId), expected);
});

test('a charge that was asked for and never made is made before time goes on', async () => {
  const { testEnvironmentId: environmentId, caller } = await newEnvironment();
  const { subscriptionId } = await subscribeFor(caller, 'payer', { plan: 'month', token: 'pm_card_visa' });
  await caller.moveTo(february);
  // As a process leaves it that dies between its commit and the charge.
  await sql`update payments set status = 'processing', processor_reference = null, settlement_date = null, receipt_number = null
             where environment_id = ${environmentId} and charge_date = ${february}`.execute(app.owner);
  await sql`update invoices set status = 'open', amount_paid = 0 where environment_id = ${environmentId} and invoice_date = ${february}`.execute(
    app.owner,
  );
  assert.equal((await caller.moveTo(march)).work.paymentsSucceeded, 2);
  const { data } = await caller.get(`/payments?subscriptionId=${subscriptionId}`);
  assert.deepEqual(
    data.map((row: { status: string }) => row.status),
    ['succeeded', 'succeeded', 'succeeded'],
  );
});

test('what fails holds up nothing else: the clock arrives, the answer is 500, and the next move makes up for it', async () => {
  const { testKey: key, testEnvironmentId: environmentId, caller } = await newEnvironment();
  const stuck = await subscribeFor(caller, 'stuck', { plan: 'month', token: 'pm_card_visa' });
  const other = await subscribeFor(caller, 'other', { plan: 'month', token: 'pm_card_visa' });
  for (const { owner } of app.cells) {
    await sql`create or replace function fail_on_purpose() returns trigger language plpgsql as $$ begin raise exception 'on purpose'; end $$`.execute(
      owner,
    );
    await sql
      .raw(
        `create trigger fail before insert on billing_periods for each row
         when (new.subscription_id = '${stuck.subscriptionId}') execute function fail_on_purpose()`,
      )
      .execute(owner);
  }
  assert.equal((await put(march, key)).status, 500);
  assert.deepEqual(await app.get('/test-clock', { key }), { testClock: { now: march, frozen: true } });
  const startsOf = async ({ subscriptionId }: { subscriptionId: string }) => {
    const rows = await app.owner
      .selectFrom('billingPeriods')
      .select('startAt')
      .where('environmentId', '=', environmentId)
      .where('subscriptionId', '=', subscriptionId)
      .orderBy('startAt')
      .execute();
    return rows.map((row) => row.startAt);
  };
  assert.deepEqual([await startsOf(stuck), await startsOf(other)], [[start], [start, february, march]]);
  for (const { owner } of app.cells) await sql`drop function fail_on_purpose cascade`.execute(owner);
  assert.equal((await caller.moveTo(march + 1)).work.periodsRenewed, 2);
  assert.deepEqual(await startsOf(stuck), [start, february, march]);
});

test('a card that fails is tried again 3, 5 and 5 days later, each time as of that day', async () => {
  const { caller } = await newEnvironment();
  const broken = await subscribeFor(caller, 'broken', { plan: 'year', token: 'pm_card_visa' });
  const renewal = Date.UTC(2027, 0, 31, 10);
  // Its calls of the first month have been paid.
  await caller.moveTo(renewal - day);
  await breakCard(app, broken);
  const { work } = await caller.moveTo(renewal + 13 * day);
  assert.deepEqual([work.periodsRenewed, work.paymentsFailed], [1, 4]);
  const { data } = await caller.get(`/payments?subscriptionId=${broken.subscriptionId}&status=failed`);
  assert.deepEqual(
    data.map((row: { chargeDate: number }) => (row.chargeDate - renewal) / day),
    [0, 3, 8, 13],
  );
  const { subscription } = await caller.get(`/subscriptions/${broken.subscriptionId}`);
  assert.equal(subscription.status, 'unpaid');
});

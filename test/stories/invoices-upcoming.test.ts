import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renewHandler } from '../../src/billing/renew.ts';
import { setUpChanges } from '../support/adjust-fixture.ts';
import { databaseDigest } from '../support/digest.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { insertRedemption } from '../support/invoice-fixture.ts';
import { postUsage } from '../support/post-usage.ts';

const app = await startTestApp();

type Fixture = Awaited<ReturnType<typeof insertFixture>>;

const upcoming = ({ subscriptionId }: Fixture) => app.get(`/invoices/upcoming?subscriptionId=${subscriptionId}`);
const change = ({ subscriptionId }: Fixture, values: Record<string, unknown>) =>
  app.owner.updateTable('subscriptions').set(values).where('id', '=', subscriptionId).execute();

/** 250 API calls, at 50 per 100. */
const call = ({ subscriptionId, pricingModelId, meterId, usagePriceId, billingPeriodId }: Fixture) =>
  app.inEnvironment((work) =>
    postUsage(work, [
      { subscriptionId, pricingModelId, usageMeterId: meterId, priceId: usagePriceId, billingPeriodId, units: 250n },
    ]),
  );

/** The renewal itself, at the end of the period. */
async function renew({ subscriptionId, customerId, periodEnd }: Fixture): Promise<Body> {
  await app.setClock(periodEnd);
  await app.inEnvironment(async (work) =>
    renewHandler.perform(work, await renewHandler.take(work, 1, [subscriptionId])),
  );
  const { data } = await app.get(`/invoices?customerId=${customerId}`);
  return app.get(`/invoices/${data[0].id}`);
}

test('the upcoming invoice has the items of the next period, and the usage so far', async () => {
  const fixture = await insertFixture(app);
  await call(fixture);
  const { invoice, invoiceLineItems } = await upcoming(fixture);
  assert.deepEqual(
    invoiceLineItems.map((line: Body) => [line.type, line.quantity, line.price, line.amount]),
    [
      ['static', 1, 3000, 3000],
      ['usage', 1, 125, 125],
    ],
  );
  assert.deepEqual([invoice.subtotal, invoice.total, invoice.status], [3125, 3125, 'draft']);
  assert.deepEqual([invoice.invoiceDate, invoice.billingPeriodStartDate], [fixture.periodEnd, fixture.periodEnd]);
  for (const key of ['id', 'invoiceNumber', 'billingPeriodId', 'pdfURL']) assert.equal(invoice[key], null, key);
  for (const line of invoiceLineItems) assert.deepEqual([line.id, line.invoiceId], [null, null]);
});

test('it is what the renewal makes then, to the cent, and showing it changes nothing', async () => {
  const fixture = await insertFixture(app);
  await insertRedemption(app, fixture, { amountType: 'percent', amount: 10n });
  await change(fixture, { pausedCredit: 500n });
  await call(fixture);
  const digest = await databaseDigest(app);
  const shown = await upcoming(fixture);
  assert.equal(await databaseDigest(app), digest);
  // 10 % of 3000 + 125 are 312.5; the 500 are paid money, so they come off after that.
  assert.deepEqual([shown.invoice.discountAmount, shown.invoice.total], [313, 2312]);

  const made = await renew(fixture);
  const unknownBefore = [
    'id',
    'createdAt',
    'updatedAt',
    'status',
    'invoiceNumber',
    'billingPeriodId',
    'nextAttemptAt',
    'pdfURL',
    'hostedInvoiceUrl',
  ];
  const comparable = (record: Body, ...more: string[]) =>
    Object.fromEntries(Object.entries(record).filter(([key]) => ![...unknownBefore, ...more].includes(key)));
  assert.deepEqual(comparable(shown.invoice), comparable(made.invoice));
  const lines = (answer: Body) =>
    answer.invoiceLineItems.map((line: Body) => comparable(line, 'invoiceId', 'billingRunId'));
  assert.deepEqual(lines(shown), lines(made));
});

test('a scheduled change is made to show what it costs, and is scheduled still', async () => {
  const other = await startTestApp();
  const changes = await setUpChanges(other);
  const { id } = await changes.subscribe('p3000');
  await changes.adjust(id, 'p1000', { timing: 'at_end_of_current_billing_period' });
  const digest = await databaseDigest(other);
  const shown = await other.get(`/invoices/upcoming?subscriptionId=${id}`);
  assert.equal(await databaseDigest(other), digest);
  assert.equal(shown.invoice.total, 1000);
  assert.deepEqual(
    shown.invoiceLineItems.map((line: Body) => line.price),
    [1000],
  );
});

test('who is not charged has an upcoming invoice of nothing', async () => {
  const fixture = await insertFixture(app);
  await change(fixture, { doNotCharge: true });
  const { invoice, invoiceLineItems } = await upcoming(fixture);
  assert.deepEqual([invoice.total, invoiceLineItems], [0, []]);
});

const noPeriod = { currentBillingPeriodStart: null, currentBillingPeriodEnd: null };
const noInterval = { intervalUnit: null, intervalCount: null, billingCycleAnchorDate: null };
for (const [state, reason, values] of [
  ['has ended', 'it has ended', { status: 'canceled', canceledAt: 1 }],
  ['is paused', 'it is paused', { status: 'paused', pausedAt: 1 }],
  ['waits for its first payment', 'it is waiting for its first payment', { status: 'incomplete', ...noPeriod }],
  ['does not renew', 'it does not renew', { renews: false, ...noPeriod, ...noInterval }],
  [
    'ends with its period',
    'it ends with its current period',
    { status: 'cancellation_scheduled', cancelScheduledAt: 2 },
  ],
] as const) {
  test(`a subscription that ${state} has no upcoming invoice`, async () => {
    const fixture = await insertFixture(app);
    await change(fixture, values);
    const answer = await app.request('GET', `/invoices/upcoming?subscriptionId=${fixture.subscriptionId}`);
    assert.equal(answer.status, 400);
    assert.match(answer.body.error ?? answer.body.message, new RegExp(`no upcoming invoice: ${reason}\\.`));
  });
}

test('a subscription that is not there, or is of another environment, is not found', async () => {
  const fixture = await insertFixture(app);
  const path = `/invoices/upcoming?subscriptionId=${fixture.subscriptionId}`;
  assert.equal((await app.request('GET', path, undefined, { key: app.liveKey })).status, 404);
  assert.equal((await app.request('GET', '/invoices/upcoming?subscriptionId=sub_none')).status, 404);
  assert.equal((await app.request('GET', '/invoices/upcoming')).status, 400);
});

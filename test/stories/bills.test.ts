import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { type Bill, composeBills, issueBills } from '../../src/billing/bill-subscription.ts';
import type { InvoiceReason } from '../../src/invoicing/invoice.ts';
import type { InvoiceRow } from '../../src/invoicing/store.ts';
import { addDays, instant } from '../../src/kernel/calendar.ts';
import { findSubscription } from '../../src/subscriptions/store.ts';
import { anyId } from '../support/any-id.ts';
import { databaseDigest } from '../support/digest.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';
import { insertRedemption, staticLine } from '../support/invoice-fixture.ts';
import { countStatements } from '../support/statements.ts';

const app = await startTestApp();
const at = instant('2026-03-01');

async function settle(settings: { netTermsDays?: number; taxProvider?: string; seller?: string | null }) {
  await app.owner.updateTable('environments').set(settings).where('id', '=', app.testEnvironmentId).execute();
}
beforeEach(() => settle({ netTermsDays: 0, taxProvider: 'none', seller: null }));

/** A subscription in its first period, billed 1000 for it. */
async function subscribed() {
  const fixture = await insertFixture(app);
  const subscription = await app.inEnvironment((work) => findSubscription(work, fixture.subscriptionId));
  assert(subscription);
  const period = { id: fixture.billingPeriodId, startAt: 1_000, endAt: 2_000 };
  const bill = (reason: InvoiceReason): Bill => ({
    ...{ subscription, period, reason, at },
    lines: [staticLine(1, 600n), staticLine(1, 400n)],
  });
  const issue = async (...reasons: InvoiceReason[]): Promise<InvoiceRow[]> => {
    const invoices = await app.inEnvironment((work) => issueBills(work, reasons.map(bill)));
    return invoices.map((invoice) => {
      assert(invoice, 'what has lines is invoiced');
      return invoice;
    });
  };
  return { fixture, bill, issue };
}
const discounts = (invoices: readonly InvoiceRow[]) => invoices.map((invoice) => invoice.discountAmount);

test('10 % off is off the start, renewals and the usage left at the end, and off changes of a period that had it', async () => {
  const { fixture, issue } = await subscribed();
  const [before] = await issue('adjustment');
  assert.equal(before?.discountAmount, 0n, 'no invoice of the period carries it yet');
  await insertRedemption(app, fixture, { amountType: 'percent', amount: 10n });
  const invoices = await issue('subscription_start', 'renewal', 'final_usage');
  assert.deepEqual(discounts(invoices), [100n, 100n, 100n]);
  assert.deepEqual(discounts(await issue('adjustment')), [100n]);
});

test('a fixed 300 is off the start and renewals only: a change or leftover usage would get it again', async () => {
  const { fixture, issue } = await subscribed();
  await insertRedemption(app, fixture, { amountType: 'fixed', amount: 300n });
  assert.deepEqual(discounts(await issue('subscription_start', 'renewal', 'final_usage')), [300n, 300n, 0n]);
  assert.deepEqual(discounts(await issue('adjustment')), [0n]);
});

test('a change in a period that a discount for one invoice was used on gets its per cent, and the renewal none', async () => {
  const { fixture, issue } = await subscribed();
  const { redemptionId } = await insertRedemption(app, fixture, {
    amountType: 'percent',
    amount: 50n,
    duration: 'once',
  });
  const [start] = await issue('subscription_start');
  assert.deepEqual([start?.discountAmount, start?.discountCount], [500n, 1]);
  await app.owner.updateTable('discountRedemptions').set({ paymentsMade: 1 }).where('id', '=', redemptionId).execute();
  assert.deepEqual(discounts(await issue('adjustment', 'renewal')), [500n, 0n]);
});

test('who has nothing to charge pays within 14 days; who has a payment method, at once', async () => {
  await settle({ netTermsDays: 14 });
  const { fixture, issue } = await subscribed();
  const [byHand] = await issue('subscription_start');
  assert.deepEqual([byHand?.invoiceDate, byHand?.dueDate], [at, addDays(at, 14)]);
  await app.owner
    .insertInto('paymentMethods')
    .values({
      ...{ environmentId: app.testEnvironmentId, id: anyId('paymentMethod'), pricingModelId: fixture.pricingModelId },
      ...{ customerId: fixture.customerId, type: 'card', processor: 'test', processorToken: 'pm_card_visa' },
      ...{ isDefault: true, billingDetails: '{}', paymentMethodData: '{}', createdAt: 0, updatedAt: 0 },
    })
    .execute();
  const [charged] = await issue('renewal');
  assert.deepEqual([charged?.invoiceDate, charged?.dueDate], [at, at]);
});

test('a bill has the tax of its customer, and the seller of the settings', async () => {
  const seller = { name: 'Tolls Ltd', email: null, addressLines: [], taxId: null };
  await settle({ taxProvider: 'rates', seller: JSON.stringify(seller) });
  const { fixture, issue } = await subscribed();
  await app.owner
    .updateTable('customers')
    .set({ billingAddress: JSON.stringify({ address: { country: 'DE' } }) })
    .where('id', '=', fixture.customerId)
    .execute();
  await app.owner
    .insertInto('taxRates')
    .values({
      ...{ environmentId: app.testEnvironmentId, id: anyId('taxRate'), country: 'DE', state: null, type: 'vat' },
      ...{ percentage: '19', inclusive: false, active: true, name: null, createdAt: 0, updatedAt: 0 },
    })
    .execute();
  const [invoice] = await issue('subscription_start');
  assert(invoice);
  assert.deepEqual([invoice.subtotal, invoice.taxAmount, invoice.total], [1000n, 190n, 1190n]);
  assert.deepEqual([invoice.taxType, invoice.taxCountry, invoice.taxRatePercentage], ['vat', 'DE', '19']);
  assert.deepEqual(invoice.seller, seller);
});

test('what is reckoned is what is made then, and reckoning stores nothing', async () => {
  const { fixture, bill } = await subscribed();
  await insertRedemption(app, fixture, { amountType: 'percent', amount: 15n });
  const bills = (['subscription_start', 'renewal', 'final_usage'] as const).map(bill);
  const digest = await databaseDigest(app);
  const drafts = await app.inEnvironment((work) => composeBills(work, bills));
  assert.equal(await databaseDigest(app), digest);
  const invoices = await app.inEnvironment((work) => issueBills(work, bills));
  const money = (each: Pick<InvoiceRow, 'subtotal' | 'discountAmount' | 'taxAmount' | 'total' | 'status'> | null) =>
    each === null ? null : [each.subtotal, each.discountAmount, each.taxAmount, each.total, each.status];
  assert.deepEqual(drafts.map(money), invoices.map(money));
  assert.deepEqual(money(invoices[0] ?? null), [850n, 150n, 0n, 850n, 'open']);
});

test('what there is nothing to bill for gets no invoice, in its place among the others', async () => {
  const { bill } = await subscribed();
  const bills = [{ ...bill('renewal'), lines: [] }, bill('subscription_start')];
  const [nothing, invoice] = await app.inEnvironment((work) => issueBills(work, bills));
  assert.deepEqual([nothing, invoice?.total], [null, 1000n]);
  const [nil] = await app.inEnvironment((work) => composeBills(work, bills));
  assert.deepEqual([nil?.total, nil?.lines], [0n, []]);
});

test('a thousand bills take as many statements as one', async () => {
  await settle({ netTermsDays: 14, taxProvider: 'rates' });
  const { bill } = await subscribed();
  const statements = async (count: number) => {
    // Without a period, which could be billed once only.
    const bills = Array.from({ length: count }, () => ({ ...bill('renewal'), period: null }));
    const issued = await app.inEnvironment((work) => countStatements(work, (counted) => issueBills(counted, bills)));
    return issued.count;
  };
  const few = await statements(1);
  assert.equal(await statements(1000), few);
  assert.ok(few <= 12, `${few} statements`);
});

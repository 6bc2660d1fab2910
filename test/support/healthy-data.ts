import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { shortId, transactionKeyOf } from '../../src/usage/store.ts';
import { anyId } from './any-id.ts';
import { insertFixture } from './fixtures.ts';
import type { TestApp } from './harness.ts';
import { insertAround, insertRedemption } from './healthy-records.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const booking = 1;

/**
 * A customer in the middle of a life in which everything has happened once, written straight into the database:
 * credits granted, used, expired, taken back; usage billed, paid and settled; units held; an invoice partly refunded; a plan replaced.
 */
export async function insertHealthyData(app: TestApp): Promise<void> {
  const fixture = await insertFixture(app, { now: 1_780_000_000_000 });
  await app.owner.updateTable('products').set({ isDefault: true }).where('id', '=', fixture.productId).execute();
  const model = {
    environmentId: app.testEnvironmentId,
    pricingModelId: fixture.pricingModelId,
    createdAt: 1_780_000_000_000,
    updatedAt: 1_780_000_000_000,
  };
  const data = { ...fixture, app, model };
  await insertSubscriptionHistory(data);
  const accounts = await insertCreditsAndUse(data);
  await insertUsage(data, accounts);
  await insertMoney(data, accounts.callsId);
  await insertAround(app, model, fixture);
  // Time stands still, so nothing of it comes due; periods of thirty days are what the fixture has.
  await app.setClock(model.createdAt + hourMs);
  await app.owner
    .updateTable('subscriptions')
    .set({ intervalUnit: 'day', intervalCount: 30 })
    .where('id', '=', fixture.subscriptionId)
    .execute();
}

type Data = Awaited<ReturnType<typeof insertFixture>> & {
  app: TestApp;
  model: { environmentId: number; pricingModelId: string; createdAt: number; updatedAt: number };
};

/** The next period, a free plan that the paid one has replaced, and a seat that Ada left and took again. */
async function insertSubscriptionHistory({ app, model, ...fixture }: Data): Promise<void> {
  const { customerId, priceId, subscriptionId, resourceId, periodEnd } = fixture;
  await app.owner
    .insertInto('billingPeriods')
    .values({
      ...model,
      id: anyId('billingPeriod'),
      subscriptionId,
      startAt: periodEnd,
      endAt: periodEnd + 30 * dayMs,
      status: 'upcoming',
      trialPeriod: false,
    })
    .execute();
  await app.owner
    .insertInto('subscriptions')
    .values({
      ...model,
      id: anyId('subscription'),
      customerId,
      priceId,
      name: 'Free',
      status: 'canceled',
      canceledAt: model.createdAt,
      cancellationReason: 'upgraded_to_paid',
      replacedBySubscriptionId: subscriptionId,
      renews: false,
      isFreePlan: true,
      isDefaultPlan: true,
      doNotCharge: false,
      runBillingAtPeriodStart: true,
      exclusive: true,
      startDate: model.createdAt - dayMs,
    })
    .execute();
  const claim = { ...model, subscriptionId, resourceId, externalId: 'ada', claimedAt: model.createdAt + 2 * 60_000 };
  await app.owner
    .insertInto('resourceClaims')
    .values([
      { ...claim, id: anyId('resourceClaim'), releasedAt: claim.claimedAt, releaseReason: 'released' },
      { ...claim, id: anyId('resourceClaim'), releasedAt: null, releaseReason: null },
    ])
    .execute();
}

/** 60 and 70 API calls, an hour apart; five users, told twice, who count once. */
async function insertUsage({ app, model, ...fixture }: Data, accounts: Accounts): Promise<void> {
  const { customerId, subscriptionId, meterId, distinctMeterId, usagePriceId, distinctPriceId, billingPeriodId } =
    fixture;
  const { environmentId, pricingModelId, createdAt } = model;
  const series = { environmentId, pricingModelId, customerId, subscriptionId, billingPeriodId };
  const [calls, users] = await app.owner
    .insertInto('usageSeries')
    .values([
      { ...series, usageMeterId: meterId, priceId: usagePriceId, ledgerAccountId: accounts.callsId },
      { ...series, usageMeterId: distinctMeterId, priceId: distinctPriceId, ledgerAccountId: accounts.usersId },
    ])
    .returning(['id', 'usageMeterId'])
    .execute();
  assert(calls && users);
  const hour = Math.floor(createdAt / hourMs) * hourMs;
  const event = (of: typeof calls, transactionId: string, amount: number, usageDate = createdAt) => ({
    environmentId,
    createdAt,
    usageDate,
    id: shortId(anyId('usageEvent')),
    seriesId: of.id,
    booking,
    transactionKey: transactionKeyOf(environmentId, { usageMeterId: of.usageMeterId, transactionId }),
    transactionId,
    amount,
  });
  const firstUsers = event(users, 'first', 5);
  await app.owner
    .insertInto('usageEvents')
    .values([
      event(calls, 'first', 60),
      event(calls, 'second', 70, createdAt + hourMs),
      firstUsers,
      event(users, 'second', 5),
    ])
    .execute();
  await app.owner
    .insertInto('usageEventDistinctProperties')
    .values({ environmentId, digest: Buffer.alloc(32), usageEventId: firstUsers.id })
    .execute();
  await app.owner
    .insertInto('usageRollups')
    .values([
      { environmentId, seriesId: calls.id, hour, units: 60n, events: 1 },
      {
        ...{ environmentId, seriesId: users.id, hour, units: 5n, events: 2 },
        ...{ summedUnits: 5n, summedEvents: 2, isSummed: true },
      },
    ])
    .execute();
  await sql`
    insert into usage_months (environment_id, pricing_model_id, usage_meter_id, month, customer_id, units, events)
    select r.environment_id, s.pricing_model_id, s.usage_meter_id, month_of(r.hour), s.customer_id, r.units, r.events
      from usage_rollups r join usage_series s on s.environment_id = r.environment_id and s.id = r.series_id
     where r.environment_id = ${environmentId} and r.is_summed`.execute(app.owner);
  await sql`
    insert into usage_hours (environment_id, pricing_model_id, usage_meter_id, hour, units, events)
    select r.environment_id, s.pricing_model_id, s.usage_meter_id, r.hour, r.units, r.events
      from usage_rollups r join usage_series s on s.environment_id = r.environment_id and s.id = r.series_id
     where r.environment_id = ${environmentId}`.execute(app.owner);
  await app.owner
    .updateTable('ledgerAccounts')
    .set({ openSeriesId: calls.id, openHour: hour + hourMs, openUnits: 70n, openEvents: 1 })
    .where('id', '=', accounts.callsId)
    .execute();
}

/** An entry moves an amount from one side to another, and leaves so much available. */
type Move = [from: string, to: string, amount: bigint, availableAfter: bigint, about?: object];

/** Books entries of an account, one after the other. Answers their ids. */
async function insertEntries(
  { app, model }: Pick<Data, 'app' | 'model'>,
  { ledgerTransactionId, ledgerAccountId }: { ledgerTransactionId: string; ledgerAccountId: string },
  entries: readonly Move[],
): Promise<void> {
  const { updatedAt: _, ...stamps } = model;
  const rows = entries.map(([debitSide, creditSide, amount, availableAfter, about = {}]) => ({
    ...stamps,
    id: anyId('ledgerEntry'),
    ledgerTransactionId,
    ledgerAccountId,
    debitSide,
    creditSide,
    amount,
    availableAfter,
    ...about,
  }));
  await app.owner.insertInto('ledgerEntries').values(rows).execute();
}

interface Accounts {
  readonly callsId: string;
  readonly usersId: string;
}

/**
 * 100 credits: 60 pay for the first 60 calls, 40 expire. Of the other 70 calls 50 were billed and paid. 20 further
 * credits were taken back. Of two holds one is open. 10 credits that end came after the 5 users.
 */
async function insertCreditsAndUse({ app, model, ...fixture }: Data): Promise<Accounts> {
  const { usagePriceId, distinctPriceId } = fixture;
  const { environmentId, createdAt } = model;
  const accounts = await insertAccounts({ app, model, ...fixture });
  const { callsId, usersId } = accounts;
  const ledgerTransactionId = anyId('ledgerTransaction');
  const { updatedAt: _, ...stamps } = model;
  await app.owner
    .insertInto('ledgerTransactions')
    .values({
      ...stamps,
      id: ledgerTransactionId,
      type: 'usage_event_processed',
      sourceId: String(booking),
      occurredAt: createdAt,
    })
    .execute();
  const [creditId, takenId, endingId] = [anyId('usageCredit'), anyId('usageCredit'), anyId('usageCredit')];
  const credit = { ...model, ledgerAccountId: callsId, source: 'admin', grantedAt: createdAt };
  const ending = { ...credit, ledgerAccountId: usersId, expiresAt: createdAt + dayMs };
  await app.owner
    .insertInto('usageCredits')
    .values([
      { ...credit, id: creditId, sourceId: 'a present', issued: 100n, applied: 60n, expired: 40n, takenBack: 0n },
      { ...credit, id: takenId, sourceId: 'a mistake', issued: 20n, applied: 0n, expired: 0n, takenBack: 20n },
      { ...ending, id: endingId, sourceId: 'an offer', issued: 10n },
    ])
    .execute();
  const [present, mistake] = [{ usageCreditId: creditId }, { usageCreditId: takenId }];
  await insertEntries({ app, model }, { ledgerTransactionId, ledgerAccountId: callsId }, [
    ['granted', 'available', 100n, 100n, present],
    ['granted', 'available', 20n, 120n, mistake],
    ['available', 'used', 60n, 60n, { priceId: usagePriceId, appliedCreditIds: [creditId], appliedAmounts: ['60'] }],
    ['available', 'taken_back', 20n, 40n, mistake],
    ['available', 'expired', 40n, 0n, present],
    ['available', 'used', 70n, -70n, { priceId: usagePriceId }],
    ['settled', 'available', 50n, -20n],
  ]);
  await insertEntries({ app, model }, { ledgerTransactionId, ledgerAccountId: usersId }, [
    ['available', 'used', 5n, -5n, { priceId: distinctPriceId }],
    ['granted', 'available', 10n, 5n, { usageCreditId: endingId }],
  ]);
  await app.owner
    .insertInto('usageOverages')
    .values([
      { environmentId, ledgerAccountId: callsId, priceId: usagePriceId, uncovered: 70n, invoiced: 50n },
      { environmentId, ledgerAccountId: usersId, priceId: distinctPriceId, uncovered: 5n, invoiced: 0n },
    ])
    .execute();
  return accounts;
}

/** The accounts of both meters as all of it leaves them, and the holds on that of the calls. */
async function insertAccounts({ app, model, ...fixture }: Data): Promise<Accounts> {
  const { subscriptionId, meterId, distinctMeterId, usagePriceId } = fixture;
  const [callsId, usersId] = [anyId('ledgerAccount'), anyId('ledgerAccount')];
  const account = { ...model, subscriptionId, subscriptionRevision: 0 };
  const calls = {
    granted: 120n,
    used: 130n,
    covered: 60n,
    applied: 60n,
    expired: 40n,
    settled: 50n,
    takenBack: 20n,
    held: 15n,
  };
  const users = { granted: 10n, used: 5n, creditsEndAt: model.createdAt + dayMs };
  await app.owner
    .insertInto('ledgerAccounts')
    .values([
      { ...account, id: callsId, usageMeterId: meterId, ...calls },
      { ...account, id: usersId, usageMeterId: distinctMeterId, ...users },
    ])
    .execute();
  const hold = { ...model, ledgerAccountId: callsId, priceId: usagePriceId, expiresAt: model.createdAt + dayMs };
  await app.owner
    .insertInto('usageHolds')
    .values([
      { ...hold, id: anyId('usageHold'), amount: 15, status: 'open' },
      { ...hold, id: anyId('usageHold'), amount: 80, status: 'settled', settledAmount: 70 },
    ])
    .execute();
  await insertSpendLimit({ app, model, ...fixture });
  return { callsId, usersId };
}

/** A limit that was set after all of the usage, and its counter. */
async function insertSpendLimit({ app, model, ...fixture }: Data): Promise<void> {
  const spendLimitId = anyId('spendLimit');
  const limit = { ...model, customerId: fixture.customerId, setBy: 'seller', period: 'billing_period', unit: 'units' };
  await app.owner
    .insertInto('spendLimits')
    .values({ ...limit, id: spendLimitId, amount: 100n, action: 'block', thresholds: [50], bookedBefore: 10 ** 12 })
    .execute();
  await app.owner
    .insertInto('spendCounters')
    .values({
      environmentId: model.environmentId,
      pricingModelId: model.pricingModelId,
      spendLimitId,
      periodKey: fixture.subscriptionId,
      byPrice: '{}',
    })
    .execute();
  // Corruptions add accounts of this revision.
  await app.owner
    .updateTable('subscriptions')
    .set({ revision: 0 })
    .where('customerId', '=', fixture.customerId)
    .execute();
}

/**
 * 35.00 for the month and 0.25 for 50 calls, 5.00 off, 2.75 of tax in it: charged twice before it went through, 10.00
 * refunded, 5.00 on their way.
 */
async function insertMoney({ app, model, ...fixture }: Data, ledgerAccountId: string): Promise<void> {
  const { customerId, subscriptionId, billingPeriodId, priceId, usagePriceId, itemId } = fixture;
  const ofSubscription = { ...model, customerId, subscriptionId, currency: 'USD' };
  const invoice = { ...ofSubscription, type: 'subscription', invoiceDate: model.createdAt };
  const invoiceId = anyId('invoice');
  await app.owner.updateTable('customers').set({ invoiceNumberBase: 'ACME' }).where('id', '=', customerId).execute();
  await app.owner
    .insertInto('invoices')
    .values([
      {
        ...invoice,
        id: invoiceId,
        billingPeriodId,
        reason: 'renewal',
        status: 'partially_refunded',
        invoiceNumber: 'ACME-00001',
        discountAmount: 500n,
        discountCount: 1,
        subtotal: 2750n,
        taxAmount: 275n,
        taxType: 'gst',
        taxCountry: 'AU',
        taxRatePercentage: '10',
        taxInclusive: true,
        total: 3025n,
        amountPaid: 3025n,
        amountRefunded: 1000n,
        creditedAmount: 1500n,
      },
      {
        ...invoice,
        id: anyId('invoice'),
        billingPeriodId: null,
        reason: 'adjustment',
        status: 'paid',
        invoiceNumber: 'ACME-00002',
        subtotal: 0n,
        total: 0n,
        amountPaid: 0n,
        amountRefunded: 0n,
      },
    ])
    .execute();
  await app.owner
    .insertInto('numberSeries')
    .values([
      { environmentId: app.testEnvironmentId, stem: 'ACME-', counted: 2 },
      { environmentId: app.testEnvironmentId, stem: 'ACME-CN-', counted: 2 },
    ])
    .execute();
  const discount = { invoiceId, position: 1, amount: 500n, ofInvoice: false };
  const discountRedemptionId = await insertRedemption(app, { model, customerId, subscriptionId });
  await app.owner
    .insertInto('invoiceDiscounts')
    .values({
      environmentId: app.testEnvironmentId,
      pricingModelId: model.pricingModelId,
      ...discount,
      discountRedemptionId,
    })
    .execute();
  const line = { ...model, invoiceId, quantity: 1 };
  const creditedLineId = anyId('invoiceLineItem');
  await app.owner
    .insertInto('invoiceLineItems')
    .values([
      {
        ...line,
        id: creditedLineId,
        type: 'static',
        price: 3500n,
        amount: 3500n,
        discountAmount: 496n,
        taxAmount: 273n,
        creditedAmount: 1747n,
        creditedDiscount: 247n,
        creditedTax: 136n,
        priceId,
        subscriptionItemId: itemId,
        ledgerAccountId: null,
        ledgerAccountCredit: null,
      },
      {
        ...line,
        id: anyId('invoiceLineItem'),
        type: 'usage',
        price: 25n,
        amount: 25n,
        discountAmount: 4n,
        taxAmount: 2n,
        priceId: usagePriceId,
        subscriptionItemId: null,
        ledgerAccountId,
        ledgerAccountCredit: 50n,
      },
    ])
    .execute();
  await app.owner
    .insertInto('purchases')
    .values({
      ...model,
      id: anyId('purchase'),
      customerId,
      subscriptionId,
      priceId,
      invoiceId,
      priceType: 'subscription',
      intervalUnit: 'month',
      intervalCount: 1,
      billingAnchor: JSON.stringify('anniversary'),
      firstPeriod: 'short',
      trialPeriodDays: 0,
      pricePerBillingCycle: 3500n,
      firstInvoiceValue: 3025n,
      quantity: 1,
      name: 'Pro',
      status: 'partial_refund',
      purchaseDate: model.createdAt,
    })
    .execute();
  const paymentId = anyId('payment');
  const payment = {
    ...ofSubscription,
    invoiceId,
    billingPeriodId,
    paymentMethod: 'card',
    processor: 'test',
    amount: 3025n,
    subtotal: 2750n,
    taxAmount: 275n,
    chargeDate: model.createdAt,
  };
  const refunded = { refundedAmount: 1000n, refundingAmount: 500n };
  await app.owner
    .insertInto('payments')
    .values({ ...payment, id: anyId('payment'), status: 'failed' })
    .execute();
  await app.owner
    .insertInto('payments')
    .values({ ...payment, id: paymentId, status: 'succeeded', attemptNumber: 2, ...refunded })
    .execute();
  await insertItem({ app, model, customerId });
  await insertBalance({ app, model, customerId });
  const [creditNoteId, settledNoteId] = await insertCreditNotes({
    ...{ app, model, customerId, invoiceId, paymentId, creditedLineId },
  });
  const refund = { ...model, paymentId };
  await app.owner
    .insertInto('refunds')
    .values([
      { ...refund, id: anyId('refund'), creditNoteId: settledNoteId, amount: 1000n, status: 'succeeded' },
      { ...refund, id: anyId('refund'), creditNoteId, amount: 500n, status: 'pending' },
      { ...refund, id: anyId('refund'), amount: 25n, status: 'failed' },
    ])
    .execute();
}

interface Credited {
  readonly app: TestApp;
  readonly model: Data['model'];
  readonly customerId: string;
  readonly invoiceId: string;
  readonly paymentId: string;
  readonly creditedLineId: string;
}

/**
 * 5.82 of the month are credited: less their 0.82 of the discount, with 0.45 of tax in them. A refund of 10.00 has credited
 * 11.65 before, with 0.91 of tax. Returns their ids.
 */
async function insertCreditNotes(data: Credited): Promise<[string, string]> {
  const { app, model, customerId, invoiceId, paymentId, creditedLineId: invoiceLineItemId } = data;
  const [id, settledId] = [anyId('creditNote'), anyId('creditNote')];
  const [ofNote, ofSettled] = [
    { ...model, discountAmount: 82n, taxAmount: 45n },
    { ...model, discountAmount: 165n, taxAmount: 91n },
  ];
  const note = { customerId, invoiceId, paymentId, settle: 'refund', currency: 'USD' };
  await app.owner
    .insertInto('creditNotes')
    .values([
      {
        ...{ ...note, ...ofSettled, id: settledId, creditNoteNumber: 'ACME-CN-00001', status: 'settled' },
        ...{ settledAt: model.createdAt, subtotal: 909n, total: 1000n },
      },
      {
        ...{ ...note, ...ofNote, id, creditNoteNumber: 'ACME-CN-00002', status: 'issued' },
        ...{ settledAt: null, subtotal: 455n, total: 500n },
      },
    ])
    .execute();
  await app.owner
    .insertInto('creditNoteLines')
    .values([
      {
        ...{ ...ofSettled, id: anyId('creditNoteLine'), creditNoteId: settledId, invoiceLineItemId, amount: 1165n },
        ...{ amountBefore: 0n, discountBefore: 0n, taxBefore: 0n },
      },
      {
        ...{ ...ofNote, id: anyId('creditNoteLine'), creditNoteId: id, invoiceLineItemId, amount: 582n },
        ...{ amountBefore: 1165n, discountBefore: 165n, taxBefore: 91n },
      },
    ])
    .execute();
  return [id, settledId];
}

/** A line of 5.00 that waits for the next invoice of the customer. */
async function insertItem({ app, model, customerId }: Pick<Credited, 'app' | 'model' | 'customerId'>): Promise<void> {
  const line = { description: 'Set-up', quantity: 1, price: 500n, taxable: true, explanation: '{}' };
  await app.owner
    .insertInto('invoiceItems')
    .values({ ...model, ...line, id: anyId('invoiceItem'), customerId })
    .execute();
}

/** 1.00 that the customer has with the seller. */
async function insertBalance({
  app,
  model,
  customerId,
}: Pick<Credited, 'app' | 'model' | 'customerId'>): Promise<void> {
  const customerBalanceId = anyId('customerBalance');
  await app.owner
    .insertInto('customerBalances')
    .values({ ...model, id: customerBalanceId, customerId, currency: 'USD', credited: 100n })
    .execute();
  const { updatedAt: _, ...ofEntry } = model;
  const entry = { customerId, customerBalanceId, source: 'manual', amount: 100n, balanceAfter: 100n };
  await app.owner
    .insertInto('customerBalanceEntries')
    .values({ ...ofEntry, id: anyId('customerBalanceEntry'), ...entry })
    .execute();
}

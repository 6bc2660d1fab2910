import { newId } from '../src/platform/new-id.ts';
import { insertFixture } from './fixtures.ts';
import type { TestApp } from './harness.ts';

const dayMs = 86_400_000;

/**
 * A customer in the middle of a life in which everything has happened once, written straight into the database:
 * credits granted, used, expired; usage billed, paid and settled; an invoice partly refunded; a plan replaced.
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
  await insertUsage(data);
  await insertMoney(data, await insertCreditsAndUse(data));
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
      id: newId('billingPeriod'),
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
      id: newId('subscription'),
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
  const claim = { ...model, subscriptionId, resourceId, externalId: 'ada', claimedAt: model.createdAt };
  await app.owner
    .insertInto('resourceClaims')
    .values([
      { ...claim, id: newId('resourceClaim'), releasedAt: model.createdAt, releaseReason: 'released' },
      { ...claim, id: newId('resourceClaim'), releasedAt: null, releaseReason: null },
    ])
    .execute();
}

/** 60 and 70 API calls; five users, told twice, who count once. */
async function insertUsage({ app, model, ...fixture }: Data): Promise<void> {
  const { customerId, subscriptionId, meterId, distinctMeterId, usagePriceId, distinctPriceId, billingPeriodId } =
    fixture;
  const event = {
    environmentId: model.environmentId,
    pricingModelId: model.pricingModelId,
    createdAt: model.createdAt,
    usageDate: model.createdAt,
    customerId,
    subscriptionId,
    billingPeriodId,
  };
  const calls = { ...event, usageMeterId: meterId, priceId: usagePriceId };
  const users = { ...event, usageMeterId: distinctMeterId, priceId: distinctPriceId, amount: 5 };
  const firstId = newId('usageEvent');
  await app.owner
    .insertInto('usageEvents')
    .values([
      { ...calls, id: newId('usageEvent'), transactionId: 'first', amount: 60 },
      { ...calls, id: newId('usageEvent'), transactionId: 'second', amount: 70 },
      { ...users, id: firstId, transactionId: 'first' },
      { ...users, id: newId('usageEvent'), transactionId: 'second' },
    ])
    .execute();
  await app.owner
    .insertInto('usageEventDistinctProperties')
    .values({
      environmentId: model.environmentId,
      subscriptionId,
      usageMeterId: distinctMeterId,
      billingPeriodId,
      digest: Buffer.alloc(32),
      usageEventId: firstId,
    })
    .execute();
}

/**
 * 100 credits: 60 pay for the first 60 calls, 40 expire. Of the other 70 calls 50 were billed and paid. Answers the
 * account of the calls.
 */
async function insertCreditsAndUse({ app, model, ...fixture }: Data): Promise<string> {
  const { subscriptionId, meterId, distinctMeterId, usagePriceId, distinctPriceId } = fixture;
  const { environmentId, pricingModelId, createdAt } = model;
  const [callsId, usersId, transactionId] = [
    newId('ledgerAccount'),
    newId('ledgerAccount'),
    newId('ledgerTransaction'),
  ];
  const account = { ...model, subscriptionId };
  const calls = { granted: 100n, used: 130n, covered: 60n, expired: 40n, settled: 50n };
  await app.owner
    .insertInto('ledgerAccounts')
    .values({ ...account, id: callsId, usageMeterId: meterId, ...calls })
    .execute();
  await app.owner
    .insertInto('ledgerAccounts')
    .values({ ...account, id: usersId, usageMeterId: distinctMeterId, used: 5n })
    .execute();
  await app.owner
    .insertInto('ledgerTransactions')
    .values({
      environmentId,
      pricingModelId,
      createdAt,
      id: transactionId,
      type: 'usage_event_processed',
      sourceId: 'all',
      occurredAt: createdAt,
    })
    .execute();
  const coveredEntryId = newId('ledgerEntry');
  const entry = (ledgerAccountId: string, debitSide: string, creditSide: string, amount: bigint, priceId?: string) => ({
    environmentId,
    pricingModelId,
    createdAt,
    id: newId('ledgerEntry'),
    ledgerTransactionId: transactionId,
    ledgerAccountId,
    debitSide,
    creditSide,
    amount,
    priceId: priceId ?? null,
  });
  await app.owner
    .insertInto('ledgerEntries')
    .values([
      entry(callsId, 'granted', 'available', 100n),
      { ...entry(callsId, 'available', 'used', 60n, usagePriceId), id: coveredEntryId },
      entry(callsId, 'available', 'used', 70n, usagePriceId),
      entry(callsId, 'available', 'expired', 40n),
      entry(callsId, 'settled', 'available', 50n),
      entry(usersId, 'available', 'used', 5n, distinctPriceId),
    ])
    .execute();
  const creditId = newId('usageCredit');
  const amounts = { issued: 100n, applied: 60n, expired: 40n };
  await app.owner
    .insertInto('usageCredits')
    .values({
      ...model,
      id: creditId,
      ledgerAccountId: callsId,
      source: 'admin',
      sourceId: 'a present',
      grantedAt: createdAt,
      ...amounts,
    })
    .execute();
  await app.owner
    .insertInto('usageCreditApplications')
    .values({ environmentId, ledgerEntryId: coveredEntryId, usageCreditId: creditId, amount: 60n })
    .execute();
  await app.owner
    .insertInto('usageOverages')
    .values([
      { environmentId, ledgerAccountId: callsId, priceId: usagePriceId, uncovered: 70n, invoiced: 50n },
      { environmentId, ledgerAccountId: usersId, priceId: distinctPriceId, uncovered: 5n, invoiced: 0n },
    ])
    .execute();
  return callsId;
}

/**
 * 35.00 for the month and 0.25 for 50 calls, 5.00 off, 2.75 of tax in it: charged twice before it went through, 10.00
 * refunded, 5.00 on their way.
 */
async function insertMoney({ app, model, ...fixture }: Data, ledgerAccountId: string): Promise<void> {
  const { customerId, subscriptionId, billingPeriodId, priceId, usagePriceId, itemId } = fixture;
  const ofSubscription = { ...model, customerId, subscriptionId, currency: 'USD' };
  const invoice = { ...ofSubscription, type: 'subscription', invoiceDate: model.createdAt };
  const invoiceId = newId('invoice');
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
        discountRedemptionId: await insertRedemption(app, { model, subscriptionId }),
        subtotal: 2750n,
        taxAmount: 275n,
        taxType: 'gst',
        taxCountry: 'AU',
        taxRatePercentage: '10',
        taxInclusive: true,
        total: 3025n,
        amountPaid: 3025n,
        amountRefunded: 1000n,
      },
      {
        ...invoice,
        id: newId('invoice'),
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
  await app.owner.updateTable('customers').set({ invoiceCount: 2 }).where('id', '=', customerId).execute();
  const line = { ...model, invoiceId, quantity: 1 };
  await app.owner
    .insertInto('invoiceLineItems')
    .values([
      {
        ...line,
        id: newId('invoiceLineItem'),
        type: 'static',
        price: 3500n,
        amount: 3500n,
        discountAmount: 496n,
        taxAmount: 273n,
        priceId,
        subscriptionItemId: itemId,
        ledgerAccountId: null,
        ledgerAccountCredit: null,
      },
      {
        ...line,
        id: newId('invoiceLineItem'),
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
  const paymentId = newId('payment');
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
    .values({ ...payment, id: newId('payment'), status: 'failed' })
    .execute();
  await app.owner
    .insertInto('payments')
    .values({ ...payment, id: paymentId, status: 'succeeded', attemptNumber: 2, ...refunded })
    .execute();
  const refund = { ...model, paymentId };
  await app.owner
    .insertInto('refunds')
    .values([
      { ...refund, id: newId('refund'), amount: 1000n, status: 'succeeded' },
      { ...refund, id: newId('refund'), amount: 500n, status: 'pending' },
      { ...refund, id: newId('refund'), amount: 25n, status: 'failed' },
    ])
    .execute();
}

/** 5.00 off each invoice, paid once so far. */
async function insertRedemption(app: TestApp, { model, subscriptionId }: Pick<Data, 'model' | 'subscriptionId'>) {
  const discount = {
    ...model,
    name: 'Five off',
    code: 'FIVEOFF',
    amountType: 'fixed',
    amount: 500n,
    duration: 'forever',
  };
  const [discountId, redemptionId] = [newId('discount'), newId('discountRedemption')];
  await app.owner
    .insertInto('discounts')
    .values({ ...discount, id: discountId, active: true })
    .execute();
  await app.owner
    .insertInto('discountRedemptions')
    .values({ ...discount, id: redemptionId, discountId, subscriptionId, paymentsMade: 1 })
    .execute();
  return redemptionId;
}

import assert from 'node:assert/strict';
import { slotOfCustomer } from '../../src/customers/actions-slots.ts';
import type { Database } from '../../src/database/database.ts';
import { anyId } from './any-id.ts';
import type { TestCell } from './databases.ts';
import type { TestApp } from './harness.ts';

/** The name, with a number where a customer of the name itself would live in another cell than that of `database`. */
export function nameIn(app: TestApp, database: Database, environmentId: number, name: string): string {
  for (let n = 1; ; n++) {
    const numbered = n === 1 ? name : `${name}-${n}`;
    if (app.databaseOf(slotOfCustomer(environmentId, numbered)) === database) return numbered;
  }
}

/** The cell to which a test writes. */
export function cellHere({ cells, database }: TestApp): TestCell {
  const found = cells.find((cell) => cell.database === database);
  assert(found);
  return found;
}

/** A name of a further customer in the cell to which a test writes. */
export function nameHere(app: TestApp, name: string): string {
  return nameIn(app, app.database, app.testEnvironmentId, name);
}

/** Rows written straight into the database, for tests of one slice that need its neighbours' records only. */
export async function insertFixture(app: TestApp, { environmentId = app.testEnvironmentId, now = Date.now() } = {}) {
  const db = app.owner;
  const stamps = { environmentId, createdAt: now, updatedAt: now };
  const pricingModelId = anyId('pricingModel');
  await db
    .insertInto('pricingModels')
    .values({ ...stamps, id: pricingModelId, name: 'Fixture', isDefault: false })
    .execute();
  const model = { ...stamps, pricingModelId };
  const productId = anyId('product');
  await db
    .insertInto('products')
    .values({ ...model, id: productId, slug: 'pro', name: 'Pro', isDefault: false, active: true })
    .execute();
  const meterId = anyId('usageMeter');
  await db
    .insertInto('usageMeters')
    .values({ ...model, id: meterId, name: 'API calls', slug: 'api-calls', aggregationType: 'sum' })
    .execute();
  const distinctMeterId = anyId('usageMeter');
  const distinct = {
    ...model,
    id: distinctMeterId,
    name: 'Users',
    slug: 'users',
    aggregationType: 'count_distinct_properties',
  };
  await db.insertInto('usageMeters').values(distinct).execute();
  const resourceId = anyId('resource');
  await db
    .insertInto('resources')
    .values({ ...model, id: resourceId, slug: 'seat', name: 'Seat', active: true })
    .execute();
  const price = { ...model, currency: 'USD', isDefault: true, active: true, intervalUnit: 'month', intervalCount: 1 };
  const priceId = anyId('price');
  const usagePriceId = anyId('price');
  const distinctPriceId = anyId('price');
  await db
    .insertInto('prices')
    .values({
      ...price,
      id: priceId,
      productId,
      type: 'subscription',
      slug: 'pro-monthly',
      unitPrice: 3000n,
      overage: 'bill',
      billingTiming: 'in_advance',
    })
    .execute();
  const usage = { ...price, type: 'usage', usageEventsPerUnit: 100, unitPrice: 50n };
  await db
    .insertInto('prices')
    .values({ ...usage, id: usagePriceId, usageMeterId: meterId, slug: 'call-overage' })
    .execute();
  await db
    .insertInto('prices')
    .values({ ...usage, id: distinctPriceId, usageMeterId: distinctMeterId, slug: 'user-overage' })
    .execute();
  await app.copyCatalogs();
  const slot = app.actFor('acme', environmentId);
  const customerId = anyId('customer', slot);
  const customer = {
    ...model,
    id: customerId,
    externalId: 'acme',
    email: 'a@acme.test',
    name: 'Acme',
    invoiceNumberBase: customerId.slice(-7),
  };
  await db.insertInto('customers').values(customer).execute();
  const subscriptionId = anyId('subscription', slot);
  const monthMs = 30 * 86_400_000;
  await db
    .insertInto('subscriptions')
    .values({
      ...model,
      id: subscriptionId,
      customerId,
      priceId,
      name: 'Pro',
      status: 'active',
      renews: true,
      isFreePlan: false,
      isDefaultPlan: false,
      doNotCharge: false,
      runBillingAtPeriodStart: true,
      exclusive: true,
      startDate: now,
      intervalUnit: 'month',
      intervalCount: 1,
      billingCycleAnchorDate: now,
      currentBillingPeriodStart: now,
      currentBillingPeriodEnd: now + monthMs,
    })
    .execute();
  const billingPeriodId = anyId('billingPeriod', slot);
  const period = {
    ...model,
    id: billingPeriodId,
    subscriptionId,
    startAt: now,
    endAt: now + monthMs,
    status: 'active',
    trialPeriod: false,
  };
  await db.insertInto('billingPeriods').values(period).execute();
  const itemId = anyId('subscriptionItem', slot);
  const item = {
    ...model,
    id: itemId,
    subscriptionId,
    priceId,
    name: 'Pro monthly',
    unitPrice: 3000n,
    quantity: 1,
    addedDate: now,
    effectiveFrom: now,
  };
  await db.insertInto('subscriptionItems').values(item).execute();
  return {
    pricingModelId,
    productId,
    priceId,
    meterId,
    usagePriceId,
    distinctMeterId,
    distinctPriceId,
    resourceId,
    customerId,
    externalId: 'acme',
    subscriptionId,
    billingPeriodId,
    itemId,
    periodEnd: now + monthMs,
  };
}

import assert from 'node:assert/strict';
import { renderCustomer, requireCustomerByExternalId } from '../customers/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { findCustomer, lockCustomer } from '../customers/store.ts';
import { publish } from '../customers/store-events.ts';
import type { Work } from '../database/work.ts';
import { listProductLinks } from '../entitlements/store-item-features.ts';
import { enqueue } from '../jobs/queue.ts';
import { invalid, Problem, refusal } from '../kernel/problem.ts';
import { amountOf, inLedgerUnits, ledgerAmount } from '../pricing/credit-pool.ts';
import { grantSubject } from '../pricing/feature.ts';
import { findActivePriceBySlug, findPrice } from '../pricing/store-prices.ts';
import { findProduct } from '../pricing/store-products.ts';
import { nextTopUpAttempt } from '../rating/auto-top-up.ts';
import { calendarPeriod } from '../rating/spending.ts';
import { lockLivingSubscriptions } from '../subscriptions/store.ts';
import { carryCredits } from '../usage/actions-transfer.ts';
import { setTopUpLine } from '../usage/store-accounts.ts';
import type { AutoTopUp, AutoTopUpInput, AutoTopUpRow } from './auto-top-up.ts';
import * as store from './store-auto-top-ups.ts';

// The job that does what is due in an environment. It is named in migrations/0022-auto-top-ups.sql too.
const dueWorkTask = 'do_due_work';

/** A customer as a path names it. */
interface NamedCustomer {
  readonly externalId: string;
  readonly pricingModelId: string | undefined;
}

/** The automatic top-up of a customer, or null. */
export async function getAutoTopUp(work: Work, named: NamedCustomer): Promise<AutoTopUp | null> {
  const { id } = await requireCustomerByExternalId(work, named.externalId, named.pricingModelId);
  const row = await store.findAutoTopUp(work, id);
  if (row === null) return null;
  const { customerId: _, pricingModelId: __, usageMeterId, below, upTo, ...shown } = row;
  const price = await findPrice(work, row.priceId);
  const month = await store.readMonth(work, id, calendarPeriod('month', work.now).start);
  return {
    ...shown,
    ...grantSubject(usageMeterId),
    below: amountOf(usageMeterId, below),
    upTo: upTo === null ? null : amountOf(usageMeterId, upTo),
    priceSlug: price?.slug ?? null,
    amountThisMonth: month.amount,
    openPurchaseId: month.openPurchaseId,
  };
}

/** Sets the automatic top-up of a customer, or removes it with null. One that had stopped begins again. */
export async function putAutoTopUp(work: Work, named: NamedCustomer, input: AutoTopUpInput | null): Promise<void> {
  const { id } = await requireCustomerByExternalId(work, named.externalId, named.pricingModelId);
  const customer = await lockCustomer(work, id);
  assert(customer, 'the customer was read');
  if (customer.archived) throw new Problem('customerArchived', { id });
  // Usage that opens a ledger account locks its subscription until its commit. So the account reads this top-up, or is found here.
  await lockLivingSubscriptions(work, id);
  const before = await store.findAutoTopUp(work, id);
  if (before !== null) await setTopUpLine(work, id, before.usageMeterId, null);
  if (input === null) return store.deleteRow(work, id);
  const { priceSlug, upTo = null, quantity = null, maximumAmountPerMonth } = input;
  const { priceId, usageMeterId } = await findTopUp(work, customer, priceSlug);
  const below = ledgerAmount(usageMeterId, input.below, ['spendControls', 'autoTopUp', 'below']);
  const full = upTo === null ? null : ledgerAmount(usageMeterId, upTo, ['spendControls', 'autoTopUp', 'upTo']);
  const size = { below, upTo: full, quantity, maximumAmountPerMonth };
  const { pricingModelId } = customer;
  await store.putRow(work, {
    ...{ customerId: id, pricingModelId, priceId, usageMeterId, ...size, failures: 0, stoppedAt: null },
  });
  await setTopUpLine(work, id, usageMeterId, below);
  await checkSoon(work, [id]);
}

/** The price of a top-up, and the usage meter or credit pool of its credits. Refuses a price that is no top-up of one. */
async function findTopUp(work: Work, customer: CustomerRow, slug: string) {
  const path = ['spendControls', 'autoTopUp', 'priceSlug'];
  const refuse = (message: string) => invalid(path, message);
  const price = await findActivePriceBySlug(work, customer.pricingModelId, slug);
  if (price === null) throw refusal('priceNotFound', path, slug);
  const product = price.productId ? await findProduct(work, price.productId) : null;
  if (price.type !== 'single_payment' || !product?.active)
    throw refuse(`must be the slug of an active price that is paid once: ${slug}`);
  const credits = await creditsOfProduct(work, product.id);
  const [usageMeterId, ...others] = credits.keys();
  if (usageMeterId === undefined || others.length > 0)
    throw refuse(`must be of a product that gives credits of one usage meter or credit pool: ${slug}`);
  return { priceId: price.id, usageMeterId };
}

/** The credits of one unit of a product in units of the ledger, by usage meter or credit pool. */
export async function creditsOfProduct(work: Work, productId: string): Promise<ReadonlyMap<string, bigint>> {
  const credits = new Map<string, bigint>();
  for (const { usageMeterId, amount } of inLedgerUnits(await listProductLinks(work, [productId]))) {
    if (usageMeterId !== null && amount !== null && amount > 0n)
      credits.set(usageMeterId, (credits.get(usageMeterId) ?? 0n) + amount);
  }
  return credits;
}

/**
 * Transfers the credits of these customers to the subscriptions that hold them now, as `carryCredits` does. The balance of a usage
 * meter is now that of another subscription, which may begin below the line of a top-up, so it is looked at.
 */
export async function carryToHolders(work: Work, customerIds: readonly string[]): Promise<void> {
  await carryCredits(work, customerIds);
  if (await store.putChecksOfMeters(work, customerIds)) await enqueueChecks(work);
}

/** Has the balances of customers looked at after this commit. */
async function checkSoon(work: Work, customerIds: readonly string[]): Promise<void> {
  for (const customerId of customerIds) await store.putCheck(work, customerId, work.now);
  if (customerIds.length > 0) await enqueueChecks(work);
}

function enqueueChecks(work: Work): Promise<void> {
  return enqueue(work, dueWorkTask, {}, { key: `${dueWorkTask}:${work.environmentId}`, maxAttempts: 5 });
}

/** Ends the purchases of top-ups among these, which are paid. The balance may have fallen again meanwhile. */
export async function endPaidTopUps(work: Work, purchaseIds: readonly string[]): Promise<void> {
  const ended = await store.endPurchases(work, purchaseIds, 'paid');
  const customerIds = ended.map(({ customerId }) => customerId);
  for (const id of customerIds) await store.saveFailures(work, id, { failures: 0, stoppedAt: null });
  await checkSoon(work, customerIds);
}

/**
 * Ends the purchases of top-ups among these, which have failed: each is tried again later, or stops its top-up. An event
 * says which of them a bank declined until its customer confirms it.
 */
export async function endFailedTopUps(
  work: Work,
  purchaseIds: readonly string[],
  unconfirmedIds: readonly string[] = [],
): Promise<void> {
  for (const { customerId, purchaseId } of await store.endPurchases(work, purchaseIds, 'failed')) {
    const row = await store.findAutoTopUp(work, customerId);
    if (unconfirmedIds.includes(purchaseId))
      await publishTopUp(work, customerId, 'auto_top_up.action_required', purchaseId);
    if (row !== null) await recordTopUpFailure(work, row);
  }
}

/** Counts a failure of a top-up. After three in a row it stops, and an event says so. */
export async function recordTopUpFailure(
  work: Work,
  { customerId, usageMeterId, ...row }: AutoTopUpRow,
): Promise<void> {
  if (row.stoppedAt !== null) return;
  const failures = row.failures + 1;
  const next = nextTopUpAttempt(failures, work.now);
  await store.saveFailures(work, customerId, { failures, stoppedAt: next === null ? work.now : null });
  if (next !== null) return store.putCheck(work, customerId, next);
  await setTopUpLine(work, customerId, usageMeterId, null);
  await store.endCheck(work, customerId);
  await publishTopUp(work, customerId, 'auto_top_up.stopped', `${work.now}`);
}

/** Publishes an event about the top-up of a customer, once for each cause. */
export async function publishTopUp(
  work: Work,
  customerId: string,
  type: 'auto_top_up.action_required' | 'auto_top_up.stopped' | 'auto_top_up.limit_reached',
  cause: string,
): Promise<void> {
  const row = await findCustomer(work, customerId);
  assert(row, 'a top-up has its customer');
  const customer = { id: row.id, externalId: row.externalId };
  const { pricingModelId } = row;
  const data = renderCustomer(work, row);
  await publish(work, [{ type, object: 'customer', objectId: customerId, pricingModelId, customer, data, cause }]);
}

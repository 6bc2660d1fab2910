import type { CustomerRow } from '../customers/customer.ts';
import type { Work } from '../database/work.ts';
import { listProductLinks, type ProductLink } from '../entitlements/store-item-features.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { boundary } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { recordEarlierRefunds } from '../payments/actions-refund.ts';
import { inLedgerUnits, isCreditPool, ledgerUnits } from '../pricing/credit-pool.ts';
import { listPricesByIds } from '../pricing/store-prices.ts';
import { completePurchases } from '../purchases/actions.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchasesOfInvoices } from '../purchases/store.ts';
import { findNewestSubscriptions } from '../subscriptions/store.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { grantToPools } from '../usage/actions-credits.ts';
import { grantCredits } from '../usage/actions-ledger.ts';
import { holdsCredits, listCreditHolders } from '../usage/actions-transfer.ts';
import type { CreditGrant } from '../usage/ledger.ts';

/** Publishes paid purchases and grants their credits, once for each. */
export async function recordBought(work: Work, purchases: readonly PurchaseRow[]): Promise<void> {
  await grantTopUps(work, await completePurchases(work, purchases));
}

/** The same for the purchases of these invoices. Money that was refunded before takes its share of the credits back. */
export async function completePurchasesOf(work: Work, invoices: readonly InvoiceRow[]): Promise<void> {
  const purchases = await findPurchasesOfInvoices(
    work,
    invoices.map(({ id }) => id),
  );
  await recordBought(work, purchases);
  const bought = new Set(purchases.map(({ invoiceId }) => invoiceId));
  for (const invoice of invoices.filter(({ id, amountRefunded }) => amountRefunded > 0n && bought.has(id)))
    await recordEarlierRefunds(work, invoice);
}

/**
 * Grants the credits of single-payment purchases: each credit feature of the product times the quantity. Credits of `every_interval`
 * end one interval after the purchase, and others never. They are on the
 * customer's current subscription or else its last one, and those of a pool on the customer. Idempotent. The caller has locked the customers. Worked example: 3
 * packs of 1000 calls are 3000 calls.
 */
async function grantTopUps(work: Work, purchases: readonly PurchaseRow[]): Promise<void> {
  const once = purchases.filter(({ priceType }) => priceType === 'single_payment');
  if (once.length === 0) return;
  const prices = await listPricesByIds(work, [...new Set(once.map(({ priceId }) => priceId))]);
  const productOf = new Map(prices.map(({ id, productId }) => [id, productId]));
  const features = await listCreditFeaturesOfProducts(
    work,
    [...productOf.values()].flatMap((id) => id ?? []),
  );
  const given = once.flatMap((purchase) =>
    (features.get(productOf.get(purchase.priceId) ?? '') ?? []).map((feature) => ({ purchase, feature })),
  );
  const customerIds = [...new Set(given.map(({ purchase }) => purchase.customerId))];
  const holders = await listCreditHolders(work, customerIds);
  // Paid credits are granted in any case: without a plan they wait on the last one for the next.
  const last = await findNewestSubscriptions(
    work,
    customerIds.filter((id) => !holders.has(id)),
  );
  await grantCredits(
    work,
    given.filter(isOfMeter).flatMap(({ purchase, feature }) => {
      const holder = holders.get(purchase.customerId) ?? last.get(purchase.customerId);
      return holder === undefined ? [] : { ...grantOf(work, purchase, feature), ...ofHolder(holder) };
    }),
  );
  await grantToPools(
    work,
    given
      .filter((each) => !isOfMeter(each))
      .map(({ purchase, feature }) => {
        const { customerId, pricingModelId } = purchase;
        const rollover = rolloverOf(work, feature);
        return { ...grantOf(work, purchase, feature), customerId, pricingModelId, rollover };
      }),
  );
}

function isOfMeter({ feature }: { readonly feature: CreditLink }): boolean {
  return !isCreditPool(feature.usageMeterId);
}

function ofHolder({ id: subscriptionId, pricingModelId }: SubscriptionRow) {
  return { subscriptionId, pricingModelId };
}

/** Refuses with `nothingHoldsCredits` a product whose credits have none of the subscriptions to go to. */
export async function requireHolder(
  work: Work,
  productId: string,
  { id: customerId }: CustomerRow,
  living: readonly SubscriptionRow[],
): Promise<void> {
  const features = await listCreditFeaturesOfProducts(work, [productId]);
  // Credits of a pool are of the customer itself.
  const needsHolder = (features.get(productId) ?? []).some(({ usageMeterId }) => !isCreditPool(usageMeterId));
  if (needsHolder && !living.some(holdsCredits))
    throw new Problem('nothingHoldsCredits', { id: productId, customerId });
}

/** A credit feature of a product, in units of the ledger. */
type CreditLink = ProductLink & { readonly amount: bigint; readonly usageMeterId: string };

async function listCreditFeaturesOfProducts(
  work: Work,
  productIds: readonly string[],
): Promise<Map<string, CreditLink[]>> {
  const links = inLedgerUnits(await listProductLinks(work, productIds));
  // An amount may be set below zero, which grants nothing.
  const credits = links.filter((link): link is CreditLink => link.usageMeterId !== null && (link.amount ?? 0n) > 0n);
  return Map.groupBy(credits, ({ productId }) => productId);
}

function grantOf(
  { now }: Work,
  { id, quantity }: PurchaseRow,
  { featureId, amount, usageMeterId, grantInterval }: CreditLink,
): Omit<CreditGrant, 'subscriptionId' | 'pricingModelId'> {
  return {
    usageMeterId,
    featureId,
    billingPeriodId: null,
    amount: amount * BigInt(quantity),
    expiresAt: grantInterval === null ? null : boundary(now, grantInterval, 1),
    source: 'purchase',
    sourceId: `${id}:${featureId}`,
  };
}

/** The most that rolls over from earlier purchases of the feature, and its new end. Null: nothing does. */
function rolloverOf({ now }: Work, { usageMeterId, grantInterval, rolloverMaximum, rolloverPeriods }: CreditLink) {
  if (grantInterval === null || rolloverMaximum === null || rolloverPeriods === null) return null;
  const maximum = ledgerUnits(usageMeterId, rolloverMaximum);
  return { maximum, expiresAt: boundary(now, grantInterval, rolloverPeriods) };
}

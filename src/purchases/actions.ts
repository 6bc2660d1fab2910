import assert from 'node:assert/strict';
import { listExternalIds } from '../customers/store.ts';
import { publish } from '../customers/store-events.ts';
import type { Work } from '../database/work.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { endFailedTopUps, endPaidTopUps } from './actions-auto-top-ups.ts';
import { nextPurchaseStatus, type Purchase, type PurchaseRow, type PurchaseTrigger, toPurchase } from './purchase.ts';
import * as store from './store.ts';

/** Returns a purchase. Refuses with `purchaseNotFound`. */
export async function getPurchase(work: Work, id: string): Promise<Purchase> {
  const row = await store.findPurchase(work, id);
  if (row === null) throw new Problem('purchaseNotFound', { id });
  return toPurchase(work, row);
}

/** Lists purchases in any status. */
export async function listPurchases(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfPurchases(work, request);
  return page(
    request,
    rows.map((row) => toPurchase(work, row)),
    total,
  );
}

/** The customer's newest purchases that are paid and not fully refunded, at most `limit`, newest first. */
export async function listPurchasesOfCustomer(work: Work, customerId: string, limit: number): Promise<Purchase[]> {
  const rows = await store.listBought(work, customerId, limit);
  return rows.map((row) => toPurchase(work, row));
}

/** The purchase after an event; unchanged if the event is impossible in its status. */
export async function movePurchase(work: Work, purchase: PurchaseRow, trigger: PurchaseTrigger): Promise<PurchaseRow> {
  const status = nextPurchaseStatus(purchase.status, trigger);
  if (status === null || status === purchase.status) return purchase;
  if (status === 'failed') await endFailedTopUps(work, [purchase.id]);
  return store.savePurchase(work, purchase.id, { status });
}

/** Marks purchases as paid. The first time, each gets its date and its event is published; returns those. */
export async function completePurchases(work: Work, purchases: readonly PurchaseRow[]): Promise<PurchaseRow[]> {
  const paid = purchases.filter(({ status }) => nextPurchaseStatus(status, 'paid') === 'paid');
  const completedBefore = new Set(purchases.flatMap(({ id, purchaseDate }) => (purchaseDate === null ? [] : id)));
  const ids = paid.map(({ id }) => id);
  const completed = (await store.savePaidPurchases(work, ids)).filter(({ id }) => !completedBefore.has(id));
  await publishCompleted(work, completed);
  await endPaidTopUps(work, ids);
  return completed;
}

async function publishCompleted(work: Work, purchases: readonly PurchaseRow[]): Promise<void> {
  if (purchases.length === 0) return;
  const externalIds = await listExternalIds(work, [...new Set(purchases.map(({ customerId }) => customerId))]);
  await publish(
    work,
    purchases.map((purchase) => {
      const { id, pricingModelId, customerId } = purchase;
      const externalId = externalIds.get(customerId);
      assert(externalId !== undefined, 'a purchase has its customer');
      const customer = { id: customerId, externalId };
      const data = toPurchase(work, purchase);
      return { type: 'purchase.completed', object: 'purchase', objectId: id, pricingModelId, customer, data };
    }),
  );
}

/**
 * Marks purchases as failed whose first payment was declined. Their invoices were never made. `unconfirmedIds` are those
 * that a bank declined until the customer confirms them.
 */
export async function failUnmade(work: Work, ids: readonly string[], unconfirmedIds: readonly string[]): Promise<void> {
  await store.failUnmade(work, ids);
  await endFailedTopUps(work, ids, unconfirmedIds);
}

/** Applies a refund of this invoice to its purchase, if it has one. */
export async function recordPurchaseRefund(work: Work, { id, status }: InvoiceRow): Promise<void> {
  const trigger = status === 'refunded' ? 'refunded' : 'refunded_in_part';
  // The status of a void or written-off invoice does not show its refunds.
  if (status !== 'refunded' && status !== 'partially_refunded') return;
  for (const purchase of await store.findPurchasesOfInvoices(work, [id])) await movePurchase(work, purchase, trigger);
}

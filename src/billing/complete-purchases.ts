import type { Work } from '../database/work.ts';
import { completePurchases } from '../purchases/actions.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchasesOfInvoices } from '../purchases/store.ts';
import { grantTopUps } from './top-up.ts';

/** Publishes paid purchases and grants their credits, once for each. */
export async function recordBought(work: Work, purchases: readonly PurchaseRow[]): Promise<void> {
  await grantTopUps(work, await completePurchases(work, purchases));
}

/** The same for the purchases of these paid invoices. */
export async function completePurchasesOf(work: Work, invoiceIds: readonly string[]): Promise<void> {
  await recordBought(work, await findPurchasesOfInvoices(work, invoiceIds));
}

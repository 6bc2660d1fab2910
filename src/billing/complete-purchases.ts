import type { Work } from '../database/work.ts';
import { completePurchases } from '../purchases/actions.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchasesOfInvoices } from '../purchases/store.ts';
import { grantTopUps } from './top-up.ts';

/** What follows when what was bought is paid for: it is told of, and its credits are there. Once for each. */
export async function recordBought(work: Work, purchases: readonly PurchaseRow[]): Promise<void> {
  await grantTopUps(work, await completePurchases(work, purchases));
}

/** The same for the purchases of these invoices, which are paid. */
export async function completePurchasesOf(work: Work, invoiceIds: readonly string[]): Promise<void> {
  await recordBought(work, await findPurchasesOfInvoices(work, invoiceIds));
}

import type { Work } from '../database/work.ts';
import { voidInvoice } from '../invoicing/actions.ts';
import { isOwed } from '../invoicing/collection.ts';
import { findInvoice } from '../invoicing/store.ts';
import { movePurchase } from '../purchases/actions.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchasesOfInvoices } from '../purchases/store.ts';
import type { FailedAttempt } from './record-failed.ts';

/**
 * What becomes of purchases when their invoices could not be collected. What is paid once has failed, and nobody owes its
 * invoice; money that was taken back for it is owed, and nobody collects it by himself. The first invoice of a
 * subscription fails with it; as long as that is tried again, its purchase is under way.
 */
export async function failPurchases(
  work: Work,
  failures: readonly FailedAttempt[],
  purchases: readonly PurchaseRow[],
): Promise<void> {
  for (const purchase of purchases) {
    const failure = failures.find(({ invoice }) => invoice.id === purchase.invoiceId);
    const invoice = failure === undefined ? null : await findInvoice(work, failure.invoice.id);
    if (failure === undefined || invoice === null) continue;
    const isOnce = invoice.reason === 'purchase';
    if (failure.cause === 'reversed') await movePurchase(work, purchase, isOnce ? 'taken_back' : 'owed_again');
    else if (isOnce && invoice.status === 'open') await voidInvoice(work, invoice.id);
    if (failure.cause !== 'reversed' && (isOnce || !isOwed(invoice))) await movePurchase(work, purchase, 'failed');
  }
}

/** Nobody is to pay this invoice any more: so what it was to pay for has not been bought. */
export async function giveUpPurchases(work: Work, invoiceId: string): Promise<void> {
  for (const purchase of await findPurchasesOfInvoices(work, [invoiceId])) await movePurchase(work, purchase, 'failed');
}

import type { Work } from '../database/work.ts';
import { voidInvoice } from '../invoicing/actions.ts';
import { isOwed } from '../invoicing/collection.ts';
import { findInvoice } from '../invoicing/store.ts';
import { movePurchase } from '../purchases/actions.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchasesOfInvoices } from '../purchases/store.ts';
import type { FailedAttempt } from './record-failed.ts';

/**
 * Updates purchases whose invoices could not be collected. A single-payment purchase has failed, and its invoice is no
 * longer owed; after a reversed payment it is owed, but not collected automatically. The first invoice of a
 * subscription fails with the subscription; while it is retried, its purchase is pending.
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

/** Marks the purchase of an invoice that nobody will pay as failed. */
export async function giveUpPurchases(work: Work, invoiceId: string): Promise<void> {
  for (const purchase of await findPurchasesOfInvoices(work, [invoiceId])) await movePurchase(work, purchase, 'failed');
}

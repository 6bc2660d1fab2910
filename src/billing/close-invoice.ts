import type { Work } from '../database/work.ts';
import { giveUpInvoice, voidInvoice } from '../invoicing/actions.ts';
import { findInvoice, type InvoiceRow, lockInvoice } from '../invoicing/store.ts';
import { listBilledUsage } from '../invoicing/store-collecting.ts';
import { Problem } from '../kernel/problem.ts';
import { listInvoicesBeingPaid } from '../payments/store.ts';
import { releaseOverage, undoSettlements } from '../usage/actions-ledger.ts';
import { failAdjustments } from './apply-adjustment.ts';
import { giveUpPurchases } from './fail-purchases.ts';
import { giveBackPausedTime } from './paused-time-line.ts';
import { completePeriods, recoverSubscriptions } from './record-paid.ts';
import { holdPayers } from './settle-payment.ts';

/**
 * The invoice, held until the work ends, with its customer and subscription before it. Refuses with `invoiceNotFound`,
 * and one that is being paid: how that ends decides what becomes of it.
 */
export async function holdInvoice(work: Work, id: string): Promise<InvoiceRow> {
  const found = await findInvoice(work, id);
  if (found === null) throw new Problem('invoiceNotFound', { id });
  await holdPayers(work, [found]);
  const invoice = await lockInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  if ((await listInvoicesBeingPaid(work, [id])).has(id))
    throw new Problem('invoiceAlreadyBeingPaid', { invoiceId: id });
  return invoice;
}

/**
 * Takes an open invoice back, as though it had never been made: the usage on it is to be billed again, what it took off for
 * paused time is kept again, the change that it was made for is not carried out, and a subscription that owes nothing
 * else after a failed attempt has recovered. Refuses one of which money is kept.
 */
export async function takeBackInvoice(work: Work, id: string): Promise<InvoiceRow> {
  const invoice = await holdInvoice(work, id);
  const kept = invoice.amountPaid - invoice.amountRefunded;
  if (invoice.status === 'open' && kept > 0n) throw new Problem('invoicePartlyPaid', { id, amount: kept });
  const voided = await voidInvoice(work, id);
  const billed = await listBilledUsage(work, [id]);
  await undoSettlements(work, billed);
  await releaseOverage(work, billed);
  await giveBackPausedTime(work, [id]);
  if (invoice.reason === 'adjustment') await failAdjustments(work, [{ invoice: voided, code: null, message: null }]);
  await giveUpPurchases(work, id);
  await recover(work, voided);
  return voided;
}

/**
 * Writes an open invoice off: what it bills stays billed, nobody expects the money any more, and a subscription that owes
 * nothing else after a failed attempt has recovered.
 */
export async function writeOffInvoice(work: Work, id: string): Promise<InvoiceRow> {
  await holdInvoice(work, id);
  const writtenOff = await giveUpInvoice(work, id);
  await giveUpPurchases(work, id);
  await recover(work, writtenOff);
  return writtenOff;
}

async function recover(work: Work, invoice: InvoiceRow): Promise<void> {
  await completePeriods(work, [invoice]);
  if (invoice.subscriptionId !== null) await recoverSubscriptions(work, [invoice.subscriptionId]);
}

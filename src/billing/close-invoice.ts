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
 * The invoice, locked until the work ends, after its customer and subscription. Refuses with `invoiceNotFound`, and an
 * invoice with a payment in flight: its outcome decides the next state.
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
 * Voids an open invoice, as if it had never been created. Its usage is billed again, its credit for paused time is
 * available again, its plan change is not applied, and a subscription without other debts recovers. Refuses one with
 * unreturned payments.
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
 * Writes off an open invoice: its items stay billed, payment is no longer expected, and a subscription without other
 * debts recovers.
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

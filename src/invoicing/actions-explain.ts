import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { type InvoiceDocument, invoiceDocument } from './invoice-document.ts';
import { explainInvoice, type InvoiceExplanation } from './invoice-explanation.ts';
import { findInvoice, listExplainedLines } from './store.ts';
import { findRedemptions } from './store-redemptions.ts';

/** Explains every amount of the invoice. Refuses with `invoiceNotFound`. */
export async function getExplanation(work: Work, id: string): Promise<InvoiceExplanation> {
  const invoice = await findInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  const lines = await listExplainedLines(work, [id]);
  const redemptionId = invoice.discountRedemptionId;
  const redemptions = await findRedemptions(work, redemptionId === null ? [] : [redemptionId]);
  return explainInvoice(invoice, lines, (redemptionId !== null && redemptions.get(redemptionId)) || null);
}

/** The invoice as a document. Refuses with `invoiceNotFound`. */
export async function getDocument(work: Work, id: string): Promise<InvoiceDocument> {
  const invoice = await findInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  return invoiceDocument(invoice, await listExplainedLines(work, [id]));
}

import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { renderInvoice, renderLine, rowOf } from './actions.ts';
import type { UpcomingInvoice } from './invoice.ts';
import type { DraftLine, UpcomingInvoiceLineItem } from './invoice-line-item.ts';
import type { InvoiceDraft } from './new-invoice.ts';

/** A draft invoice of a subscription with its lines, in the form of an invoice. */
export interface UpcomingInvoiceWithLines {
  readonly invoice: UpcomingInvoice;
  readonly invoiceLineItems: UpcomingInvoiceLineItem[];
}

// Placeholders that are not shown: fields without a value yet are null in the response.
const unnamed = { id: '', invoiceNumber: '', buyer: null };

/** A draft as returned by the API. */
export function renderDraft(work: Work, draft: InvoiceDraft): UpcomingInvoiceWithLines {
  const stamps = { createdAt: work.now, updatedAt: work.now };
  const invoice = renderInvoice(work, { ...rowOf(draft), ...unnamed, ...stamps });
  assert(invoice.type === 'subscription', 'only subscriptions have an upcoming invoice');
  return {
    invoice: { ...invoice, id: null, invoiceNumber: null, status: 'draft', billingPeriodId: null, pdfURL: null },
    invoiceLineItems: draft.lines.map((line) => renderDraftLine(work, draft, line)),
  };
}

function renderDraftLine(work: Work, { request }: InvoiceDraft, line: DraftLine): UpcomingInvoiceLineItem {
  const { explanation: _, ...kept } = line;
  const stamps = { createdAt: work.now, updatedAt: work.now, pricingModelId: request.pricingModelId };
  const shown = renderLine(work, { ...kept, ...stamps, id: '', invoiceId: '' });
  if (shown.type === 'static') return { ...shown, id: null, invoiceId: null };
  return { ...shown, id: null, invoiceId: null, billingRunId: null };
}

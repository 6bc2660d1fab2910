import assert from 'node:assert/strict';
import { takeInvoiceNumbers } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { decideRefunded, type Invoice, type InvoiceHappening, nextInvoiceStatus } from './invoice.ts';
import type { DraftLine, InvoiceLineItem } from './invoice-line-item.ts';
import { draftInvoice, type InvoiceDraft, type NewInvoice } from './new-invoice.ts';
import type { ExplainedLineRow, InvoiceLineItemRow, InvoiceRow } from './store.ts';
import * as store from './store.ts';

// The whole history of nearly everyone; the list of invoices goes further back, page by page.
const maxInvoicesOfCustomer = 1000;

/** An invoice with its lines, as clients see them. */
export interface InvoiceWithLines {
  readonly invoice: Invoice;
  readonly invoiceLineItems: InvoiceLineItem[];
}

/**
 * Makes many invoices, in the order of the requests; several for one customer are numbered in that order, each due as
 * it says. A total of 0 is paid from the start, else the invoice is open. A billing period is invoiced once for each
 * reason, adjustments apart: the second try fails with the constraint behind `periodAlreadyInvoiced`. As many
 * statements for a thousand as for one.
 */
export async function createInvoices(work: Work, requests: readonly NewInvoice[]): Promise<InvoiceRow[]> {
  if (requests.length === 0) return [];
  const drafts = requests.map(draftInvoice);
  const invoices = await numberDrafts(work, drafts);
  await store.insertInvoices(work, invoices);
  const lines = drafts.flatMap((draft, index) => {
    const invoice = invoices[index];
    assert(invoice, 'each draft has its invoice');
    return draft.lines.map((line) => newLine(work, invoice, line));
  });
  await store.insertLines(work, lines);
  return invoices;
}

/** The drafts as invoices, under the next numbers of their customers. */
async function numberDrafts(work: Work, drafts: readonly InvoiceDraft[]): Promise<InvoiceRow[]> {
  const byCustomer = Map.groupBy(drafts, ({ request }) => request.customerId);
  const counts = new Map([...byCustomer].map(([customerId, { length }]) => [customerId, length]));
  const taken = await takeInvoiceNumbers(work, counts);
  const left = new Map([...taken].map(([id, { numbers, customer }]) => [id, { numbers: numbers.values(), customer }]));
  return drafts.map((draft) => {
    const given = left.get(draft.request.customerId);
    const { value: invoiceNumber } = given?.numbers.next() ?? {};
    assert(given && invoiceNumber !== undefined, 'a number was taken for each invoice');
    const known = { id: newId('invoice'), invoiceNumber, buyer: given.customer };
    return { ...known, createdAt: work.now, updatedAt: work.now, ...rowOf(draft) };
  });
}

/** What the row of an invoice holds before the invoice has an id and a number. */
export function rowOf(
  draft: InvoiceDraft,
): Omit<InvoiceRow, 'id' | 'createdAt' | 'updatedAt' | 'invoiceNumber' | 'buyer'> {
  const { request, discount, lines: _, ...money } = draft;
  const {
    pricingModelId,
    customerId,
    subscriptionId,
    purchaseId = null,
    billingPeriod,
    reason,
    currency,
    tax,
  } = request;
  return {
    ...money,
    pricingModelId,
    customerId,
    subscriptionId,
    purchaseId,
    billingPeriodId: billingPeriod?.id ?? null,
    billingPeriodStartDate: billingPeriod?.startAt ?? null,
    billingPeriodEndDate: billingPeriod?.endAt ?? null,
    type: typeOf(request),
    reason,
    invoiceDate: request.invoiceDate,
    dueDate: request.dueDate,
    currency,
    discountRedemptionId: discount?.redemptionId ?? null,
    taxType: tax?.type ?? null,
    taxCountry: tax?.country ?? null,
    taxState: tax?.state ?? null,
    taxRatePercentage: tax?.percentage ?? null,
    taxInclusive: tax?.inclusive ?? false,
    seller: request.seller,
    attemptCount: 0,
    nextAttemptAt: null,
    memo: null,
  };
}

function typeOf({ subscriptionId, purchaseId }: NewInvoice): Invoice['type'] {
  if (subscriptionId !== null) return 'subscription';
  return purchaseId ? 'purchase' : 'standalone';
}

function newLine(work: Work, { id: invoiceId, pricingModelId }: InvoiceRow, line: DraftLine): ExplainedLineRow {
  const stamps = { createdAt: work.now, updatedAt: work.now };
  return { id: newId('invoiceLineItem'), ...stamps, pricingModelId, invoiceId, ...line };
}

/**
 * The invoice after something happened to it that moves no money. Refuses with `invoiceStatusForbids` what cannot
 * happen to an invoice of its status.
 */
async function moveInvoice(work: Work, id: string, happening: InvoiceHappening): Promise<InvoiceRow> {
  const invoice = await lock(work, id);
  const status = nextInvoiceStatus(invoice.status, happening);
  if (status === null) throw new Problem('invoiceStatusForbids', { id, status: invoice.status, happening });
  // What nobody expects money for is not tried again.
  return store.updateInvoice(work, id, { status, nextAttemptAt: null });
}

async function lock(work: Work, id: string): Promise<InvoiceRow> {
  const invoice = await store.lockInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  return invoice;
}

/** Takes an invoice back that nobody is to pay. One whose payment is under way, or that has ended, is refused. */
export function voidInvoice(work: Work, id: string): Promise<InvoiceRow> {
  return moveInvoice(work, id, 'voided');
}

/** Writes an open invoice off: nobody expects the money any more. */
export function giveUpInvoice(work: Work, id: string): Promise<InvoiceRow> {
  return moveInvoice(work, id, 'given_up');
}

/** `refunded` minor units of what was paid of the invoice went back. */
export async function recordInvoiceRefund(work: Work, id: string, refunded: bigint): Promise<InvoiceRow> {
  return store.updateInvoice(work, id, decideRefunded(await lock(work, id), refunded));
}

/** An invoice with its lines. */
export async function getInvoice(work: Work, id: string): Promise<InvoiceWithLines> {
  const invoice = await store.findInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  const lines = await store.listLinesOfInvoices(work, [id]);
  return { invoice: renderInvoice(work, invoice), invoiceLineItems: lines.map((line) => renderLine(work, line)) };
}

export async function listInvoices(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfInvoices(work, request);
  const invoices = rows.map((row) => renderInvoice(work, row));
  return page(request, invoices, total);
}

/** The customer's newest 1000 invoices with their lines, newest first. */
export async function listInvoicesOfCustomer(work: Work, customerId: string): Promise<InvoiceWithLines[]> {
  const invoices = await store.listInvoicesOfCustomer(work, customerId, maxInvoicesOfCustomer);
  const ids = invoices.map((invoice) => invoice.id);
  const linesByInvoice = Map.groupBy(await store.listLinesOfInvoices(work, ids), (line) => line.invoiceId);
  return invoices.map((invoice) => ({
    invoice: renderInvoice(work, invoice),
    invoiceLineItems: (linesByInvoice.get(invoice.id) ?? []).map((line) => renderLine(work, line)),
  }));
}

export async function getInvoiceLineItem(work: Work, id: string): Promise<InvoiceLineItem> {
  const line = await store.findLine(work, id);
  if (line === null) throw new Problem('invoiceLineItemNotFound', { id });
  return renderLine(work, line);
}

export async function listInvoiceLineItems(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfLines(work, request);
  const lines = rows.map((row) => renderLine(work, row));
  return page(request, lines, total);
}

/** An invoice as clients see it. */
export function renderInvoice(work: Work, row: InvoiceRow): Invoice {
  const { reason: _, type, subscriptionId, purchaseId, seller: _seller, buyer: _buyer, ...known } = row;
  const { discountRedemptionId: _redemption, taxInclusive: _inclusive, attemptCount: _count, ...counted } = known;
  const { nextAttemptAt: _next, ...kept } = counted;
  const everyInvoice = {
    ...kept,
    livemode: work.livemode,
    organizationId: work.organizationId,
    applicationFee: null,
    billingRunId: null,
    ownerMembershipId: null,
    pdfURL: `${work.publicUrl.replace(/\/+$/, '')}/api/v1/invoices/${row.id}/pdf`,
    receiptPdfURL: null,
    bankPaymentOnly: null,
  };
  if (subscriptionId !== null) return { ...everyInvoice, type: 'subscription', subscriptionId, purchaseId: null };
  const noPeriod = {
    subscriptionId: null,
    billingPeriodId: null,
    billingPeriodStartDate: null,
    billingPeriodEndDate: null,
  };
  if (purchaseId !== null) return { ...everyInvoice, ...noPeriod, type: 'purchase', purchaseId };
  assert(type === 'standalone', 'an invoice of nothing else stands alone');
  return {
    ...everyInvoice,
    ...noPeriod,
    type,
    purchaseId: null,
    stripePaymentIntentId: null,
    stripeTaxCalculationId: null,
    stripeTaxTransactionId: null,
  };
}

/** A line as clients see it. */
export function renderLine(work: Work, row: InvoiceLineItemRow): InvoiceLineItem {
  const { type, subscriptionItemId: _, ledgerAccountId, ledgerAccountCredit, ...shared } = row;
  const { discountAmount: _discount, taxAmount: _tax, ...kept } = shared;
  const everyLine = { ...kept, livemode: work.livemode };
  if (type === 'static') return { ...everyLine, type, ledgerAccountId: null, ledgerAccountCredit: null };
  assert(ledgerAccountId !== null && ledgerAccountCredit !== null, 'a usage line names its account and its units');
  return { ...everyLine, type, ledgerAccountId, ledgerAccountCredit, billingRunId: row.invoiceId };
}

import assert from 'node:assert/strict';
import { takeInvoiceNumber } from '../customers/store.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import { type PageRequest, page } from '../kernel/page.ts';
import { Problem } from '../kernel/problem.ts';
import { newId } from '../platform/new-id.ts';
import type { Work } from '../platform/work.ts';
import {
  decideNewInvoice,
  decidePaid,
  decideRefunded,
  type Invoice,
  type InvoiceHappening,
  type InvoiceReason,
  nextInvoiceStatus,
} from './invoice.ts';
import { type InvoiceLineItem, type NewLine, priceLine } from './invoice-line-item.ts';
import type { InvoiceLineItemRow, InvoiceRow } from './store.ts';
import * as store from './store.ts';

// The whole history of nearly everyone; the list of invoices goes further back, page by page.
const maxInvoicesOfCustomer = 1000;

/** An invoice with its lines, as clients see them. */
export interface InvoiceWithLines {
  readonly invoice: Invoice;
  readonly invoiceLineItems: InvoiceLineItem[];
}

export interface NewInvoice {
  readonly customerId: string;
  readonly pricingModelId: string;
  /** Null for an invoice that belongs to no subscription. */
  readonly subscriptionId: string | null;
  readonly billingPeriod: { readonly id: string; readonly startAt: Instant; readonly endAt: Instant } | null;
  readonly reason: InvoiceReason;
  readonly currency: CurrencyCode;
  readonly lines: readonly NewLine[];
}

/**
 * Makes an invoice under the customer's next number, due at once. A total of 0 is paid from the start, else it is
 * open. The lines add up to zero or more. A billing period is invoiced once for each reason, adjustments apart: the
 * second try fails with the constraint behind `periodAlreadyInvoiced`.
 */
export async function createInvoice(work: Work, request: NewInvoice): Promise<InvoiceRow> {
  const lines = request.lines.map(priceLine);
  const { subtotal, total, status } = decideNewInvoice(lines.map((line) => line.amount));
  const { customerId, pricingModelId, subscriptionId, billingPeriod, reason, currency } = request;
  const stamps = { pricingModelId, createdAt: work.now, updatedAt: work.now };
  const invoice: InvoiceRow = {
    id: newId('invoice'),
    ...stamps,
    customerId,
    subscriptionId,
    billingPeriodId: billingPeriod?.id ?? null,
    billingPeriodStartDate: billingPeriod?.startAt ?? null,
    billingPeriodEndDate: billingPeriod?.endAt ?? null,
    type: subscriptionId === null ? 'standalone' : 'subscription',
    reason,
    status,
    invoiceNumber: await takeInvoiceNumber(work, customerId),
    invoiceDate: work.now,
    dueDate: work.now,
    currency,
    subtotal,
    taxAmount: 0n,
    total,
    amountPaid: 0n,
    amountRefunded: 0n,
    memo: null,
  };
  await store.insertInvoice(work, invoice);
  await store.insertLines(
    work,
    lines.map((line) => ({ id: newId('invoiceLineItem'), invoiceId: invoice.id, ...stamps, ...line })),
  );
  return invoice;
}

/**
 * The invoice after something happened to it that moves no money. Refuses with `invoiceStatusForbids` what cannot
 * happen to an invoice of its status.
 */
async function moveInvoice(work: Work, id: string, happening: InvoiceHappening): Promise<InvoiceRow> {
  const invoice = await lock(work, id);
  const status = nextInvoiceStatus(invoice.status, happening);
  if (status === null) throw new Problem('invoiceStatusForbids', { id, status: invoice.status, happening });
  return store.updateInvoice(work, id, { status });
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

/** A payment of `paid` minor units has arrived: the invoice is paid when nothing is due any more. */
export async function markInvoicePaid(work: Work, id: string, paid: bigint): Promise<InvoiceRow> {
  return store.updateInvoice(work, id, decidePaid(await lock(work, id), paid));
}

/** A payment of the invoice is under way and takes its time, or it ended without money. Nothing when the status says so already. */
export async function recordPaymentProgress(
  work: Work,
  id: string,
  happening: 'payment_begun' | 'payment_failed',
): Promise<InvoiceRow> {
  const invoice = await lock(work, id);
  const status = nextInvoiceStatus(invoice.status, happening);
  return status === null ? invoice : store.updateInvoice(work, id, { status });
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
  const { reason: _, type, subscriptionId, ...kept } = row;
  const everyInvoice = {
    ...kept,
    livemode: work.livemode,
    organizationId: work.organizationId,
    taxType: null,
    taxCountry: null,
    taxState: null,
    taxRatePercentage: null,
    applicationFee: null,
    billingRunId: null,
    ownerMembershipId: null,
    pdfURL: null,
    receiptPdfURL: null,
    bankPaymentOnly: null,
    purchaseId: null,
  };
  if (subscriptionId !== null) return { ...everyInvoice, type: 'subscription', subscriptionId };
  assert(type === 'standalone', 'an invoice without a subscription stands alone');
  return {
    ...everyInvoice,
    type,
    subscriptionId: null,
    billingPeriodId: null,
    billingPeriodStartDate: null,
    billingPeriodEndDate: null,
    stripePaymentIntentId: null,
    stripeTaxCalculationId: null,
    stripeTaxTransactionId: null,
  };
}

function renderLine(work: Work, row: InvoiceLineItemRow): InvoiceLineItem {
  const { type, subscriptionItemId: _, ledgerAccountId, ledgerAccountCredit, ...kept } = row;
  const everyLine = { ...kept, livemode: work.livemode };
  if (type === 'static') return { ...everyLine, type, ledgerAccountId: null, ledgerAccountCredit: null };
  assert(ledgerAccountId !== null && ledgerAccountCredit !== null, 'a usage line names its account and its units');
  return { ...everyLine, type, ledgerAccountId, ledgerAccountCredit, billingRunId: row.invoiceId };
}

import assert from 'node:assert/strict';
import type { Selectable } from 'kysely';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { PageRequest } from '../kernel/page.ts';
import type { InvoiceLineItems, Invoices } from '../platform/database-types.ts';
import { selectPage } from '../platform/select-page.ts';
import type { Work } from '../platform/work.ts';
import type { Invoice, InvoiceReason, InvoiceStatus } from './invoice.ts';
import type { InvoiceLineItem } from './invoice-line-item.ts';

const invoiceColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'customerId',
  'subscriptionId',
  'billingPeriodId',
  'type',
  'reason',
  'status',
  'invoiceNumber',
  'invoiceDate',
  'dueDate',
  'billingPeriodStartDate',
  'billingPeriodEndDate',
  'currency',
  'subtotal',
  'taxAmount',
  'total',
  'amountPaid',
  'amountRefunded',
  'memo',
] as const;

/** An invoice as it is kept: money in minor units. The table's check constraints hold what the types say. */
export interface InvoiceRow extends Pick<Selectable<Invoices>, (typeof invoiceColumns)[number]> {
  type: Invoice['type'];
  reason: InvoiceReason;
  status: InvoiceStatus;
  currency: CurrencyCode;
}

const lineColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'invoiceId',
  'type',
  'quantity',
  'price',
  'amount',
  'priceId',
  'subscriptionItemId',
  'description',
  'ledgerAccountId',
  'ledgerAccountCredit',
] as const;

export interface InvoiceLineItemRow extends Pick<Selectable<InvoiceLineItems>, (typeof lineColumns)[number]> {
  type: InvoiceLineItem['type'];
}

export async function insertInvoice(work: Work, invoice: InvoiceRow): Promise<void> {
  await work.db
    .insertInto('invoices')
    .values({ environmentId: work.environmentId, ...invoice })
    .execute();
}

/** All lines of a new invoice in one statement. */
export async function insertLines(work: Work, lines: readonly InvoiceLineItemRow[]): Promise<void> {
  if (lines.length === 0) return;
  const rows = lines.map((line) => ({ environmentId: work.environmentId, ...line }));
  await work.db.insertInto('invoiceLineItems').values(rows).execute();
}

function selectInvoices(work: Work) {
  return work.db
    .selectFrom('invoices')
    .select(invoiceColumns)
    .where('environmentId', '=', work.environmentId)
    .$castTo<InvoiceRow>();
}

export async function findInvoice(work: Work, id: string): Promise<InvoiceRow | null> {
  return (await selectInvoices(work).where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Holds the invoice until the work ends. Who changes an invoice or its payments takes this first, so they take turns. */
export async function lockInvoice(work: Work, id: string): Promise<InvoiceRow | null> {
  return (await selectInvoices(work).where('id', '=', id).forNoKeyUpdate().executeTakeFirst()) ?? null;
}

export async function updateInvoice(
  work: Work,
  id: string,
  change: Partial<Pick<InvoiceRow, 'status' | 'amountPaid' | 'amountRefunded'>>,
): Promise<InvoiceRow> {
  const row = await work.db
    .updateTable('invoices')
    .set({ ...change, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(invoiceColumns)
    .$castTo<InvoiceRow>()
    .executeTakeFirst();
  assert(row, `no invoice ${id}`);
  return row;
}

export function pageOfInvoices(work: Work, request: PageRequest): Promise<{ rows: InvoiceRow[]; total: number }> {
  return selectPage<InvoiceRow>(work, 'invoices', invoiceColumns, request, {
    status: 'status',
    type: 'type',
    customerId: 'customer_id',
    subscriptionId: 'subscription_id',
    billingPeriodId: 'billing_period_id',
  });
}

/** The newest invoices of a customer, newest first. */
export async function listInvoicesOfCustomer(work: Work, customerId: string, limit: number): Promise<InvoiceRow[]> {
  return selectInvoices(work).where('customerId', '=', customerId).orderBy('id', 'desc').limit(limit).execute();
}

function selectLines(work: Work) {
  return work.db
    .selectFrom('invoiceLineItems')
    .select(lineColumns)
    .where('environmentId', '=', work.environmentId)
    .$castTo<InvoiceLineItemRow>();
}

export async function findLine(work: Work, id: string): Promise<InvoiceLineItemRow | null> {
  return (await selectLines(work).where('id', '=', id).executeTakeFirst()) ?? null;
}

/** The lines of all these invoices, in the order in which they were made. */
export async function listLinesOfInvoices(work: Work, invoiceIds: readonly string[]): Promise<InvoiceLineItemRow[]> {
  if (invoiceIds.length === 0) return [];
  return selectLines(work).where('invoiceId', 'in', invoiceIds).orderBy('id').execute();
}

export function pageOfLines(work: Work, request: PageRequest): Promise<{ rows: InvoiceLineItemRow[]; total: number }> {
  return selectPage<InvoiceLineItemRow>(work, 'invoice_line_items', lineColumns, request, {
    invoiceId: 'invoice_id',
    type: 'type',
    priceId: 'price_id',
  });
}

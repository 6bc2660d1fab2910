import assert from 'node:assert/strict';
import { type RawBuilder, type Selectable, sql } from 'kysely';
import { ofCustomerNamed } from '../customers/store.ts';
import type { InvoiceLineItems, Invoices } from '../database/database-types.ts';
import { insertRecords, jsonb } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { CountryCode } from '../kernel/country.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { Metadata } from '../kernel/json.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { Seller } from '../organizations/setting.ts';
import { isConsolidated } from './consolidation.ts';
import {
  type Buyer,
  type Invoice,
  type InvoiceReason,
  type InvoiceStatus,
  overdueFrom,
  type TaxType,
} from './invoice.ts';
import { type InvoiceLineItem, type LineExplanation, readExplanation } from './invoice-line-item.ts';

export const invoiceColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'customerId',
  'subscriptionId',
  'purchaseId',
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
  'discountAmount',
  'discountCount',
  'subtotal',
  'taxAmount',
  'taxType',
  'taxCountry',
  'taxState',
  'taxRatePercentage',
  'taxInclusive',
  'total',
  'amountPaid',
  'amountRefunded',
  'creditedAmount',
  'offsetAmount',
  'balanceApplied',
  'balanceCredited',
  'seller',
  'buyer',
  'attemptCount',
  'nextAttemptAt',
  'memo',
  'footer',
  'purchaseOrderNumber',
  'metadata',
  'netTermsDays',
  'autoCollect',
  'sentAt',
  'finalizesAt',
  'consolidatedInto',
] as const;

/** A stored invoice: money in minor units. Check constraints guarantee the types. */
export interface InvoiceRow
  extends Omit<Pick<Selectable<Invoices>, (typeof invoiceColumns)[number]>, 'seller' | 'buyer' | 'metadata'> {
  type: Invoice['type'];
  reason: InvoiceReason;
  status: InvoiceStatus;
  currency: CurrencyCode;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  /** Seller and buyer at the time of the invoice. */
  seller: Seller | null;
  buyer: Buyer | null;
  metadata: Metadata | null;
}

export const lineColumns = [
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
  'discountAmount',
  'taxAmount',
  'creditedAmount',
  'taxable',
  'serviceStartAt',
  'serviceEndAt',
] as const;

export interface InvoiceLineItemRow extends Pick<Selectable<InvoiceLineItems>, (typeof lineColumns)[number]> {
  type: InvoiceLineItem['type'];
}

/** A line with the inputs of its amount. */
export interface ExplainedLineRow extends InvoiceLineItemRow {
  readonly explanation: LineExplanation;
}

/** Inserts invoices in one statement. */
export async function insertInvoices(work: Work, invoices: readonly InvoiceRow[]): Promise<void> {
  const rows = invoices.map((invoice) => {
    const { reason, status } = invoice;
    const isOpenThreshold = reason === 'usage_threshold' && status === 'open';
    return { ...invoice, isOpenThreshold, noticeAt: overdueFrom(invoice) };
  });
  await insertRecords(work, 'invoices', [...invoiceColumns, 'isOpenThreshold', 'noticeAt'], rows);
}

/** Inserts the lines of many invoices in one statement. */
export async function insertLines(work: Work, lines: readonly ExplainedLineRow[]): Promise<void> {
  await insertRecords(work, 'invoiceLineItems', [...lineColumns, 'explanation'], lines);
}

/** The common start of invoice queries. */
export function selectInvoices(work: Work) {
  return work.db
    .selectFrom('invoices')
    .select(invoiceColumns)
    .where('environmentId', '=', work.environmentId)
    .$castTo<InvoiceRow>();
}

export async function findInvoice(work: Work, id: string): Promise<InvoiceRow | null> {
  return (await selectInvoices(work).where('id', '=', id).executeTakeFirst()) ?? null;
}

/**
 * Locks the invoice until the work ends. Every change of an invoice or its payments takes this lock first, which
 * serializes them.
 */
export async function lockInvoice(work: Work, id: string): Promise<InvoiceRow | null> {
  return (await selectInvoices(work).where('id', '=', id).forNoKeyUpdate().executeTakeFirst()) ?? null;
}

/**
 * Makes invoices those of a billing period that has begun with them. From then on they are collected as any invoice of a
 * period, for example after a payment was taken back.
 */
export async function attachInvoices(work: Work, ids: readonly string[], billingPeriodId: string): Promise<void> {
  const reason: InvoiceReason = 'renewal';
  await work.db
    .updateTable('invoices')
    .set({ billingPeriodId, reason, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .execute();
}

export async function updateInvoice(
  work: Work,
  id: string,
  change: Partial<
    Pick<
      InvoiceRow,
      | 'status'
      | 'amountRefunded'
      | 'creditedAmount'
      | 'offsetAmount'
      | 'balanceApplied'
      | 'balanceCredited'
      | 'nextAttemptAt'
      | 'sentAt'
      | 'finalizesAt'
    >
  >,
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

/** Replaces the metadata of an invoice, which is on no document. */
export async function saveMetadata(work: Work, id: string, metadata: Metadata | null): Promise<void> {
  await work.db
    .updateTable('invoices')
    .set({ metadata: jsonb(metadata), updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

export function pageOfInvoices(work: Work, request: PageRequest): Promise<{ rows: InvoiceRow[]; total: number }> {
  // A list has what is numbered and paid: parts are on their consolidated invoice.
  const filters = { ...request.filters, consolidatedInvoiceId: request.filters.consolidatedInvoiceId ?? '' };
  const listsParts = filters.consolidatedInvoiceId !== '';
  const withPart = (column: string, id: string) => {
    if (listsParts) return sql`${sql.ref(column)} = ${id}`;
    return sql`id in (select coalesce(i.consolidated_into, i.id) from invoices i
      where i.environment_id = ${work.environmentId} and i.${sql.ref(column)} = ${id})`;
  };
  return selectPage<InvoiceRow>(
    work,
    'invoices',
    invoiceColumns,
    { ...request, filters },
    {
      consolidatedInvoiceId: (id) => (id === '' ? sql`consolidated_into is null` : sql`consolidated_into = ${id}`),
      status: 'status',
      type: 'type',
      customerId: 'customer_id',
      customerExternalId: (externalId) => ofCustomerNamed(work, sql.ref('customer_id'), externalId),
      subscriptionId: (id) => withPart('subscription_id', id),
      purchaseId: 'purchase_id',
      billingPeriodId: (id) => withPart('billing_period_id', id),
      invoiceNumber: 'invoice_number',
      pastDue: (value) => (value === 'true' ? isPastDue(work.now) : sql`not (${isPastDue(work.now)})`),
    },
  );
}

/** Whether an invoice is owed, and its due date is past or a charge of it has failed. */
export function isPastDue(now: Instant): RawBuilder<boolean> {
  return sql`(status in ('open', 'awaiting_payment_confirmation') and consolidated_into is null
    and (coalesce(due_date, invoice_date) < ${now}::bigint or attempt_count > 0))`;
}

/** The parts of these invoices, of which consolidated ones have some, in order. */
export async function listParts(work: Work, invoices: readonly InvoiceRow[]): Promise<InvoiceRow[]> {
  const ids = invoices.filter(isConsolidated).map(({ id }) => id);
  if (ids.length === 0) return [];
  return selectInvoices(work).where('consolidatedInto', '=', sql<string>`any(${ids}::text[])`).orderBy('id').execute();
}

/** The names of the subscriptions of a consolidated invoice, by the ids of its parts. */
export async function listNamesOfParts(work: Work, invoiceId: string): Promise<Map<string, string | null>> {
  const { rows } = await sql<{ id: string; name: string | null }>`
    select p.id, s.name
      from invoices p join subscriptions s on s.environment_id = p.environment_id and s.id = p.subscription_id
     where p.environment_id = ${work.environmentId} and p.consolidated_into = ${invoiceId}`.execute(work.db);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** The parts of consolidated invoices among these ids. */
export async function listPartsById(
  work: Work,
  ids: readonly string[],
): Promise<Pick<InvoiceRow, 'id' | 'consolidatedInto' | 'subscriptionId'>[]> {
  if (ids.length === 0) return [];
  return work.db
    .selectFrom('invoices')
    .select(['id', 'consolidatedInto', 'subscriptionId'])
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .where('consolidatedInto', 'is not', null)
    .execute();
}

/** The invoices, followed by the parts of consolidated ones. */
export async function withParts(work: Work, invoices: readonly InvoiceRow[]): Promise<InvoiceRow[]> {
  return [...invoices, ...(await listParts(work, invoices))];
}

/** The newest invoices of a customer, newest first. A draft is not for the customer yet. */
export async function listInvoicesOfCustomer(work: Work, customerId: string, limit: number): Promise<InvoiceRow[]> {
  return selectInvoices(work)
    .where('customerId', '=', customerId)
    .where('status', '<>', 'draft')
    .where('consolidatedInto', 'is', null)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
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

/** The lines of invoices: by the id of the invoice, those of each in order of creation. */
export function listLinesOfInvoices(work: Work, invoiceIds: readonly string[]): Promise<InvoiceLineItemRow[]> {
  return readLines((after) => selectLinesOf(work, invoiceIds, after).execute());
}

/** The first lines of each of these invoices, at most `limit` of each. */
export async function listFirstLines(
  work: Work,
  invoiceIds: readonly string[],
  limit: number,
): Promise<InvoiceLineItemRow[]> {
  const selected = sql.join(lineColumns.map((column) => sql.ref(`l.${column}`)));
  const { rows } = await sql<InvoiceLineItemRow>`
    select first.* from unnest(${invoiceIds}::text[]) as asked (id)
     cross join lateral (
       select ${selected} from invoice_line_items l
        where l.environment_id = ${work.environmentId} and l.invoice_id = asked.id order by l.id limit ${limit}) first
     order by first.id`.execute(work.db);
  return rows;
}

/** The lines of invoices with the inputs of their amounts, in the order of `listLinesOfInvoices`. */
export function listExplainedLines(work: Work, invoiceIds: readonly string[]): Promise<ExplainedLineRow[]> {
  return readLines(async (after) => {
    // As text, because its money may exceed the exact numbers of a JSON parser.
    const rows = await selectLinesOf(work, invoiceIds, after)
      .select(sql<string>`explanation::text`.as('explanation'))
      .$castTo<InvoiceLineItemRow & { explanation: string }>()
      .execute();
    return rows.map((row) => ({ ...row, explanation: readExplanation(row.explanation) }));
  });
}

// Many rows that are converted at once would hold up other requests.
const linesAtOnce = 1_000;

type LinePosition = Pick<InvoiceLineItemRow, 'invoiceId' | 'id'>;

function selectLinesOf(work: Work, invoiceIds: readonly string[], after: LinePosition) {
  return selectLines(work)
    .where('invoiceId', '=', sql<string>`any(${invoiceIds}::text[])`)
    .where(sql<boolean>`(invoice_id, id) > (${after.invoiceId}, ${after.id})`)
    .orderBy('invoiceId')
    .orderBy('id')
    .limit(linesAtOnce);
}

/** Reads all pages, of which `page` returns the one after a position. */
async function readLines<Row extends LinePosition>(page: (after: LinePosition) => Promise<Row[]>): Promise<Row[]> {
  const lines: Row[] = [];
  for (let after: LinePosition = { invoiceId: '', id: '' }; ; ) {
    const rows = await page(after);
    lines.push(...rows);
    const last = rows.at(-1);
    if (last === undefined || rows.length < linesAtOnce) return lines;
    after = last;
  }
}

export function pageOfLines(work: Work, request: PageRequest): Promise<{ rows: InvoiceLineItemRow[]; total: number }> {
  const ofInvoices = (condition: RawBuilder<unknown>) => sql`invoice_id in (
    select i.id from invoices i where i.environment_id = ${work.environmentId} and ${condition})`;
  return selectPage<InvoiceLineItemRow>(work, 'invoice_line_items', lineColumns, request, {
    customerId: (id) => ofInvoices(sql`i.customer_id = ${id}`),
    customerExternalId: (externalId) => ofInvoices(ofCustomerNamed(work, sql.ref('i.customer_id'), externalId)),
    invoiceId: (id) => ofInvoices(sql`(i.id = ${id} or i.consolidated_into = ${id})`),
    type: 'type',
    priceId: 'price_id',
  });
}

/** Whether the environment contains an amount of money above 0, so that its currency matters. */
export async function hasAmounts(work: Work): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from prices where environment_id = ${work.environmentId} and (unit_price > 0 or pricing is not null))
        or exists (select from discounts where environment_id = ${work.environmentId} and (amount_type = 'fixed' or minimum_amount is not null))
        or exists (select from invoices where environment_id = ${work.environmentId})
        or exists (select from invoice_items where environment_id = ${work.environmentId})
        or exists (select from subscription_price_overrides
                    where environment_id = ${work.environmentId} and (unit_price > 0 or pricing is not null))
        or exists (select from subscriptions where environment_id = ${work.environmentId} and billing_threshold_amount > 0)
        or exists (select from spend_limits where environment_id = ${work.environmentId} and unit = 'money')
        or exists (select from features where environment_id = ${work.environmentId} and spend_limit ->> 'unit' = 'money')
        or exists (select from credit_pools where environment_id = ${work.environmentId} and draw_at_price)
        or exists (select from customer_balances where environment_id = ${work.environmentId}) as found`.execute(
    work.db,
  );
  return rows[0]?.found ?? false;
}

import assert from 'node:assert/strict';
import { type Selectable, sql } from 'kysely';
import { ofCustomerNamed } from '../customers/store.ts';
import type { CreditNoteLines, CreditNotes } from '../database/database-types.ts';
import { insertRecords } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import { type LineExplanation, readExplanation } from '../invoicing/invoice-line-item.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { CreditNoteSettlement, CreditNoteStatus } from './credit-note.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'customerId',
  'invoiceId',
  'creditNoteNumber',
  'status',
  'settle',
  'reason',
  'currency',
  'discountAmount',
  'subtotal',
  'taxAmount',
  'total',
  'paymentId',
  'settledAt',
  'voidedAt',
] as const;

/** A stored credit note: money in minor units. Check constraints guarantee the types. */
export interface CreditNoteRow extends Pick<Selectable<CreditNotes>, (typeof columns)[number]> {
  status: CreditNoteStatus;
  settle: CreditNoteSettlement;
  currency: CurrencyCode;
}

const lineColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'creditNoteId',
  'invoiceLineItemId',
  'quantity',
  'amount',
  'discountAmount',
  'taxAmount',
  'amountBefore',
  'discountBefore',
  'taxBefore',
] as const;

type NewCreditNoteLine = Pick<Selectable<CreditNoteLines>, (typeof lineColumns)[number]>;

/** A line with the line of the invoice that it takes back. */
export interface CreditNoteLineRow extends NewCreditNoteLine {
  readonly description: string | null;
  /** The amounts of the line of the invoice. */
  readonly lineAmount: bigint;
  readonly lineDiscount: bigint;
  readonly lineTax: bigint;
  readonly explanation: LineExplanation;
  readonly serviceStartAt: Instant | null;
  readonly serviceEndAt: Instant | null;
}

export async function insertCreditNote(
  work: Work,
  note: CreditNoteRow,
  lines: readonly NewCreditNoteLine[],
): Promise<void> {
  await work.db
    .insertInto('creditNotes')
    .values({ environmentId: work.environmentId, ...note })
    .execute();
  await insertRecords(work, 'creditNoteLines', lineColumns, lines);
}

function select(work: Work) {
  return work.db
    .selectFrom('creditNotes')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .$castTo<CreditNoteRow>();
}

export async function findCreditNote(work: Work, id: string): Promise<CreditNoteRow | null> {
  return (await select(work).where('id', '=', id).executeTakeFirst()) ?? null;
}

/** The issued offsets of these invoices, oldest first. */
export function listIssuedOffsets(work: Work, invoiceIds: readonly string[]): Promise<CreditNoteRow[]> {
  return select(work)
    .where('invoiceId', '=', sql<string>`any(${invoiceIds}::text[])`)
    .where('status', '=', 'issued')
    .where('settle', '=', 'offset')
    .orderBy('id')
    .execute();
}

/**
 * Moves credit notes that are issued to their final status, or voids one to a balance. Returns those that were moved. The
 * condition is part of the update, so each is moved once.
 */
export async function endCreditNotes(
  work: Work,
  ids: readonly string[],
  status: Exclude<CreditNoteStatus, 'issued'>,
): Promise<CreditNoteRow[]> {
  return work.db
    .updateTable('creditNotes')
    .set({
      ...{ status, updatedAt: work.now },
      ...(status === 'void' ? { voidedAt: work.now, settledAt: null } : { settledAt: work.now }),
    })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .where((each) =>
      each.or([
        each('status', '=', 'issued'),
        each.and([each('status', '=', 'settled'), each('settle', '=', 'balance'), each.val(status === 'void')]),
      ]),
    )
    .returning(columns)
    .$castTo<CreditNoteRow>()
    .execute();
}

/** The lines of a credit note in order, each with the line of the invoice. A credit note has a limit of lines. */
export async function listLines(work: Work, creditNoteId: string): Promise<CreditNoteLineRow[]> {
  const selected = sql.join(lineColumns.map((column) => sql.ref(`n.${column}`)));
  // As text, because its money may exceed the exact numbers of a JSON parser.
  const { rows } = await sql<CreditNoteLineRow & { explanation: string }>`
    select ${selected}, l.description, l.amount as line_amount, l.discount_amount as line_discount, l.tax_amount as line_tax,
           l.service_start_at, l.service_end_at, l.explanation::text
      from credit_note_lines n
      join invoice_line_items l on l.environment_id = n.environment_id and l.id = n.invoice_line_item_id
     where n.environment_id = ${work.environmentId} and n.credit_note_id = ${creditNoteId}
     order by n.id`.execute(work.db);
  assert(rows.length > 0, 'a credit note has lines');
  return rows.map((row) => ({ ...row, explanation: readExplanation(row.explanation) }));
}

export function pageOfCreditNotes(work: Work, request: PageRequest): Promise<{ rows: CreditNoteRow[]; total: number }> {
  return selectPage<CreditNoteRow>(work, 'credit_notes', columns, request, {
    status: 'status',
    settle: 'settle',
    customerId: 'customer_id',
    customerExternalId: (externalId) => ofCustomerNamed(work, sql.ref('customer_id'), externalId),
    invoiceId: 'invoice_id',
    paymentId: 'payment_id',
  });
}

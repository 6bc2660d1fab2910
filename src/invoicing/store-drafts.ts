import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { jsonRecords } from '../database/json-records.ts';
import type { Work } from '../database/work.ts';
import { overdueFrom } from './invoice.ts';
import { type ExplainedLineRow, type InvoiceRow, insertLines, invoiceColumns, lineColumns } from './store.ts';

const writtenLines = [...lineColumns, 'explanation'] as const;

/**
 * Saves drafts, finalized or not, in one statement. Each is still a draft: a second finalization of one fails here, if
 * its lock did not stop it.
 */
export async function saveDrafts(work: Work, invoices: readonly InvoiceRow[]): Promise<void> {
  if (invoices.length === 0) return;
  const written = [...invoiceColumns, 'noticeAt'] as const;
  const changed = written.filter((column) => column !== 'id' && column !== 'createdAt');
  // A part is not due by itself.
  const noticeOf = (invoice: InvoiceRow) => (invoice.consolidatedInto === null ? overdueFrom(invoice) : null);
  const rows = invoices.map((invoice) => ({ ...invoice, noticeAt: noticeOf(invoice) }));
  const { numAffectedRows } = await sql`
    update invoices i set ${sql.join(changed.map((column) => sql`${sql.ref(column)} = saved.${sql.ref(column)}`))}
      from json_populate_recordset(null::invoices, ${jsonRecords(rows, written)}::json) as saved
     where i.environment_id = ${work.environmentId} and i.id = saved.id and i.status = 'draft'`.execute(work.db);
  assert(numAffectedRows === BigInt(invoices.length), 'what is saved is a draft');
}

/** Makes these the lines of the drafts: kept ones keep their ids, and others are deleted. */
export async function saveDraftLines(
  work: Work,
  invoiceIds: readonly string[],
  lines: readonly ExplainedLineRow[],
): Promise<void> {
  const kept = lines.map(({ id }) => id);
  await sql`
    delete from invoice_line_items
     where environment_id = ${work.environmentId} and invoice_id = any(${invoiceIds}::text[]) and id <> all(${kept}::text[])`.execute(
    work.db,
  );
  const { rows } = await sql<{ id: string }>`
    update invoice_line_items l
       set ${sql.join(changeable.map((column) => sql`${sql.ref(column)} = saved.${sql.ref(column)}`))}
      from json_populate_recordset(null::invoice_line_items, ${jsonRecords(lines, writtenLines)}::json) as saved
     where l.environment_id = ${work.environmentId} and l.id = saved.id and l.invoice_id = any(${invoiceIds}::text[])
    returning l.id`.execute(work.db);
  const known = new Set(rows.map(({ id }) => id));
  await insertLines(
    work,
    lines.filter(({ id }) => !known.has(id)),
  );
}

const changeable = ['quantity', 'price', 'amount', 'discountAmount', 'taxAmount', 'explanation', 'updatedAt'] as const;

/** Deletes a draft with its lines. */
export async function deleteDraft(work: Work, id: string): Promise<void> {
  await work.db
    .deleteFrom('invoiceLineItems')
    .where('environmentId', '=', work.environmentId)
    .where('invoiceId', '=', id)
    .execute();
  await work.db
    .deleteFrom('invoices')
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .where('status', '=', 'draft')
    .execute();
}

import assert from 'node:assert/strict';
import { listExternalIds } from '../customers/store.ts';
import { publish } from '../customers/store-events.ts';
import { takeNumbers } from '../customers/store-numbers.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { PrintedDocument } from '../documents/document.ts';
import { onceInItsLife, publishInvoiceChanges, publishInvoices, voidInvoice } from '../invoicing/actions.ts';
import { languageOf, readLook } from '../invoicing/actions-document.ts';
import { decideCredited, decideUncredited } from '../invoicing/invoice.ts';
import { findInvoice, type InvoiceRow, lockInvoice, updateInvoice } from '../invoicing/store.ts';
import { creditLines, findCreditableLines } from '../invoicing/store-credited.ts';
import { Turns } from '../jobs/turns.ts';
import { chargedStep, refuseFineAmount } from '../kernel/currency.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import {
  type CreditNote,
  type CreditNoteDraft,
  type CreditNoteInput,
  type CreditNoteLine,
  type CreditNoteWithLines,
  decideCreditNote,
  decideRefundNote,
  nextCreditNoteStatus,
} from './credit-note.ts';
import { type CreditNoteExplanation, creditNoteDocument, explainCreditNote } from './credit-note-document.ts';
import type { CreditNoteLineRow, CreditNoteRow } from './store.ts';
import * as store from './store.ts';

/** Computes a credit note of an invoice, which the caller has locked. */
export async function draftCreditNote(
  work: Work,
  invoice: InvoiceRow,
  { lines }: Pick<CreditNoteInput, 'lines'>,
): Promise<CreditNoteDraft> {
  const draft = decideCreditNote(lines, await findCreditableLines(work, invoice.id), {
    inclusive: invoice.taxInclusive,
    left: invoice.total - invoice.creditedAmount,
    step: chargedStep(invoice.currency),
  });
  refuseFineAmount(['creditNote', 'lines'], draft.total, invoice.currency);
  return draft;
}

/**
 * Issues the credit note of a refund that no credit note asked for. Returns its id; null for a void invoice, which owes
 * nothing that could be credited, and where less is left of the invoice. The caller has locked the invoice.
 */
export async function creditRefund(
  work: Work,
  { invoiceId, paymentId, amount }: { readonly invoiceId: string; readonly paymentId: string; readonly amount: bigint },
): Promise<string | null> {
  const invoice = await findInvoice(work, invoiceId);
  assert(invoice, 'money has its invoice');
  if (invoice.status === 'void') return null;
  const lines = [...(await findCreditableLines(work, invoiceId)).values()];
  const left = invoice.total - invoice.creditedAmount;
  const draft = decideRefundNote(lines, amount, {
    inclusive: invoice.taxInclusive,
    left,
    step: chargedStep(invoice.currency),
  });
  if (draft === null) return null;
  return (await issueCreditNote(work, invoice, { draft, settle: 'refund', reason: null, paymentId })).note.id;
}

/**
 * Stores a credit note, counts it on the invoice and its lines, and publishes it. Returns it with the invoice, which an
 * offset may have paid. The caller has locked the invoice.
 */
export async function issueCreditNote(
  work: Work,
  invoice: InvoiceRow,
  {
    draft,
    settle,
    reason,
    paymentId,
  }: Pick<CreditNoteInput, 'settle' | 'reason'> & {
    readonly draft: CreditNoteDraft;
    /** The payment to refund, if one is. */
    readonly paymentId: string | null;
  },
): Promise<{ readonly note: CreditNoteRow; readonly invoice: InvoiceRow }> {
  const { lines, ...money } = draft;
  const { pricingModelId, customerId, currency } = invoice;
  const stamps = { createdAt: work.now, updatedAt: work.now, pricingModelId };
  const [numbered] = await takeNumbers(work, 'creditNote', [{ customerId, date: work.now }]);
  assert(numbered, 'a number was taken for the credit note');
  const note: CreditNoteRow = {
    ...{ id: newId('creditNote', customerId), ...stamps, customerId, invoiceId: invoice.id },
    creditNoteNumber: numbered.number,
    ...{ status: 'issued', settle, reason: reason ?? null, currency, ...money },
    ...{ paymentId, settledAt: null, voidedAt: null },
  };
  const rows = lines.map(({ line, quantity, amount, discountAmount, taxAmount }) => ({
    ...{ id: newId('creditNoteLine', note.id), ...stamps, creditNoteId: note.id, invoiceLineItemId: line.id },
    ...{ quantity, amount, discountAmount, taxAmount },
    amountBefore: line.credited.amount,
    discountBefore: line.credited.discountAmount,
    taxBefore: line.credited.taxAmount,
  }));
  const isCounted = await creditLines(work, invoice.id, rows);
  assert(isCounted, 'what is left of the lines of a locked invoice stays');
  const change = decideCredited(invoice, note.total, settle);
  // An invoice that is no longer owed is not retried.
  const ended = change.status === 'open' ? {} : { nextAttemptAt: null };
  const credited = await updateInvoice(work, invoice.id, { ...change, ...ended });
  await store.insertCreditNote(work, note, rows);
  await publishCreditNotes(work, 'credit_note.created', [note]);
  await publishInvoiceChanges(work, [{ before: invoice.status, invoice: credited, cause: note.id }]);
  return { note, invoice: credited };
}

/** Settles the credit note of a refund that has succeeded, or of a balance that was credited. Each is settled once. */
export async function settleCreditNote(work: Work, id: string): Promise<void> {
  await publishCreditNotes(work, 'credit_note.settled', await store.endCreditNotes(work, [id], 'settled'));
}

/** Settles the offsets of invoices that are paid. */
export async function settleOffsets(work: Work, invoices: readonly InvoiceRow[]): Promise<void> {
  const offset = invoices.filter(({ offsetAmount }) => offsetAmount > 0n);
  if (offset.length === 0) return;
  const notes = await store.listIssuedOffsets(work, idsOf(offset));
  await publishCreditNotes(work, 'credit_note.settled', await store.endCreditNotes(work, idsOf(notes), 'settled'));
}

function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

/** The credit note, locked with its invoice until the work ends. The caller has locked the customer. */
export async function lockCreditNote(
  work: Work,
  id: string,
): Promise<{ readonly note: CreditNoteRow; readonly invoice: InvoiceRow }> {
  const invoice = await lockInvoice(work, (await requireCreditNote(work, id)).invoiceId);
  assert(invoice, 'a credit note has its invoice');
  // Every change of a credit note locks its invoice first.
  return { note: await requireCreditNote(work, id), invoice };
}

/** Voids a credit note that is not settled: its lines may be credited again, and an offset is due again. */
export async function takeBackCreditNote(
  work: Work,
  { note, invoice }: { readonly note: CreditNoteRow; readonly invoice: InvoiceRow },
): Promise<CreditNoteRow> {
  assert(nextCreditNoteStatus(note.status, 'voided') !== null, 'the caller has asked whether it may be voided');
  const lines = await store.listLines(work, note.id);
  const isCounted = await creditLines(
    work,
    note.invoiceId,
    lines.map(({ invoiceLineItemId, amount, discountAmount, taxAmount }) => ({
      ...{ invoiceLineItemId, amount: -amount, discountAmount: -discountAmount, taxAmount: -taxAmount },
    })),
  );
  assert(isCounted, 'the credit note was counted');
  await updateInvoice(work, invoice.id, decideUncredited(invoice, note.total, note.settle));
  const [voided] = await store.endCreditNotes(work, [note.id], 'void');
  assert(voided, 'an issued credit note of a locked invoice stays issued');
  await publishCreditNotes(work, 'credit_note.voided', [voided]);
  return voided;
}

/**
 * Voids an invoice with the credit notes that offset it: nothing of it is owed any more. One of which a balance was
 * credited stays as it is. Refuses like `voidInvoice`. The caller has locked the customer.
 */
export async function voidWithCreditNotes(work: Work, invoiceId: string): Promise<InvoiceRow> {
  const found = await findInvoice(work, invoiceId);
  // Its customer has part of its money on the balance, so it stays owed.
  if (found !== null && found.balanceCredited > 0n) return found;
  const voided = await voidInvoice(work, invoiceId);
  let invoice = voided;
  const notes = voided.offsetAmount === 0n ? [] : await store.listIssuedOffsets(work, [invoiceId]);
  for (const note of notes) {
    await takeBackCreditNote(work, { note, invoice });
    invoice = (await findInvoice(work, invoiceId)) ?? invoice;
  }
  await publishInvoices(work, [{ type: 'invoice.voided', invoice, cause: onceInItsLife }]);
  return invoice;
}

async function publishCreditNotes(work: Work, type: string, notes: readonly CreditNoteRow[]): Promise<void> {
  if (notes.length === 0) return;
  const externalIds = await listExternalIds(work, [...new Set(notes.map(({ customerId }) => customerId))]);
  await publish(
    work,
    notes.map((note) => {
      const { id, pricingModelId, customerId } = note;
      const externalId = externalIds.get(customerId);
      assert(externalId !== undefined, 'a credit note has its customer');
      const customer = { id: customerId, externalId };
      return { type, object: 'creditNote', objectId: id, pricingModelId, customer, data: renderCreditNote(work, note) };
    }),
  );
}

/** Returns a credit note. Refuses with `creditNoteNotFound`. */
export async function requireCreditNote(work: Work, id: string): Promise<CreditNoteRow> {
  const note = await store.findCreditNote(work, id);
  if (note === null) throw new Problem('creditNoteNotFound', { id });
  return note;
}

/** A credit note with its lines. */
export async function getCreditNote(work: Work, id: string): Promise<CreditNoteWithLines> {
  const note = await requireCreditNote(work, id);
  const lines = await store.listLines(work, id);
  return {
    creditNote: renderCreditNote(work, note),
    creditNoteLines: lines.map((line) => renderLine(work, line)),
  };
}

export async function listCreditNotes(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfCreditNotes(work, request);
  const notes = rows.map((row) => renderCreditNote(work, row));
  return page(request, notes, total);
}

/** A credit note as returned by the API. */
export function renderCreditNote(work: Work, row: CreditNoteRow): CreditNote {
  return {
    ...row,
    livemode: work.livemode,
    organizationId: work.organizationId,
    pdfURL: `${work.publicUrl.replace(/\/+$/, '')}/api/v1/credit-notes/${row.id}/pdf`,
  };
}

function renderLine(work: Work, row: CreditNoteLineRow): CreditNoteLine {
  const { amountBefore: _amount, discountBefore: _discount, taxBefore: _tax, ...kept } = row;
  const { lineAmount: _lineAmount, lineDiscount: _lineDiscount, lineTax: _lineTax, ...own } = kept;
  const { explanation: _explanation, serviceStartAt: _start, serviceEndAt: _end, ...shown } = own;
  return { ...shown, livemode: work.livemode };
}

/** Explains every amount of the credit note. Refuses with `creditNoteNotFound`. */
export async function getCreditNoteExplanation(work: Work, id: string): Promise<CreditNoteExplanation> {
  const note = await requireCreditNote(work, id);
  const lines = await findCreditableLines(work, note.invoiceId);
  const taxedOf = (lineId: string) => lines.get(lineId)?.lowered.amount ?? 0n;
  return explainCreditNote(note, await store.listLines(work, id), taxedOf);
}

/** The credit note as a document. Refuses with `creditNoteNotFound`. */
export async function getCreditNoteDocument(work: Work, id: string): Promise<PrintedDocument> {
  const note = await requireCreditNote(work, id);
  const invoice = await findInvoice(work, note.invoiceId);
  assert(invoice, 'a credit note has its invoice');
  return new Turns().run(
    creditNoteDocument(note, invoice, await store.listLines(work, id), await readLook(work, languageOf(invoice))),
  );
}

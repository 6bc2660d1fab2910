import { z } from 'zod';
import type { DocumentLine, PrintedDocument } from '../documents/document.ts';
import { documentTexts } from '../documents/document-text.ts';
import {
  type DocumentLook,
  type InvoiceToPrint,
  noteOf,
  partiesOf,
  reverseChargeOf,
  taxName,
} from '../invoicing/invoice-document.ts';
import type { LineExplanation } from '../invoicing/invoice-line-item.ts';
import { localDescription } from '../invoicing/line-text.ts';
import type { Instant } from '../kernel/calendar.ts';
import { WholeNumber } from '../kernel/json.ts';
import { localCount, localDay, localMoney } from '../kernel/language.ts';
import type { CreditNoteStatus } from './credit-note.ts';

/** A line of a credit note with the line of the invoice. Money in minor units. */
interface ExplainableLine {
  readonly id: string;
  readonly invoiceLineItemId: string;
  readonly description: string | null;
  readonly quantity: number | null;
  readonly amount: bigint;
  readonly discountAmount: bigint;
  readonly taxAmount: bigint;
  readonly amountBefore: bigint;
  readonly discountBefore: bigint;
  readonly taxBefore: bigint;
  readonly lineAmount: bigint;
  readonly lineDiscount: bigint;
  readonly lineTax: bigint;
}

/** The same with the time and the derivation of the line of the invoice, which its description repeats. */
interface LineToPrint extends ExplainableLine {
  readonly explanation: LineExplanation;
  readonly serviceStartAt: Instant | null;
  readonly serviceEndAt: Instant | null;
}

/** The data of a printed credit note. Money in minor units. */
interface CreditNoteToPrint {
  readonly id: string;
  readonly createdAt: Instant;
  readonly invoiceId: string;
  readonly creditNoteNumber: string;
  readonly status: CreditNoteStatus;
  readonly reason: string | null;
  readonly currency: string;
  readonly discountAmount: bigint;
  readonly subtotal: bigint;
  readonly taxAmount: bigint;
  readonly total: bigint;
}

const ExplainedShare = z
  .object({
    whole: WholeNumber,
    creditedBefore: WholeNumber,
    numerator: z.string().regex(/^\d+$/),
    denominator: z.string().regex(/^[1-9]\d*$/),
    share: WholeNumber,
  })
  .meta({
    id: 'ExplainedCreditShare',
    description:
      'The share is numerator / denominator, rounded with halves away from zero to what card networks take, less ' +
      '`creditedBefore`. After a voided ' +
      'credit note, or for a refund, it may differ by its rounding, so that nothing is left over or becomes negative, and it is at ' +
      'most what is left of `whole`. The denominator of a tax is less than the amount of its line where other lines lowered the ' +
      'invoice: their share of the line bore no tax.',
  });

/** The derivation of every amount of a credit note. */
export const CreditNoteExplanation = z
  .object({
    creditNoteId: z.string(),
    creditNoteNumber: z.string(),
    invoiceId: z.string(),
    currency: z.string(),
    lines: z.array(
      z
        .object({
          id: z.string(),
          invoiceLineItemId: z.string(),
          lineAmount: WholeNumber.meta({ description: 'The amount of the invoice line, before discount and tax.' }),
          creditedBefore: WholeNumber,
          amount: WholeNumber,
          discount: ExplainedShare,
          tax: ExplainedShare,
        })
        .meta({ id: 'ExplainedCreditNoteLine' }),
    ),
    sumOfLines: WholeNumber,
    discountAmount: WholeNumber,
    subtotal: WholeNumber,
    taxAmount: WholeNumber,
    total: WholeNumber,
  })
  .meta({ id: 'CreditNoteExplanation' });
export type CreditNoteExplanation = z.infer<typeof CreditNoteExplanation>;

/**
 * Explains a credit note from its stored lines: the arithmetic of `creditOf`. `taxedOf` tells the amount of a line of the
 * invoice that bore its tax.
 */
export function explainCreditNote(
  note: CreditNoteToPrint,
  lines: readonly ExplainableLine[],
  taxedOf: (invoiceLineItemId: string) => bigint,
): CreditNoteExplanation {
  const { id, creditNoteNumber, invoiceId, currency, discountAmount, subtotal, taxAmount, total } = note;
  return {
    ...{ creditNoteId: id, creditNoteNumber, invoiceId, currency },
    lines: lines.map((line) => {
      const shareOf = (whole: bigint, creditedBefore: bigint, share: bigint, of = line.lineAmount) => ({
        ...{ whole, creditedBefore, share },
        numerator: String(whole * (line.amountBefore + line.amount)),
        denominator: String(of > 0n ? of : 1n),
      });
      return {
        id: line.id,
        invoiceLineItemId: line.invoiceLineItemId,
        lineAmount: line.lineAmount,
        creditedBefore: line.amountBefore,
        amount: line.amount,
        discount: shareOf(line.lineDiscount, line.discountBefore, line.discountAmount),
        tax: shareOf(line.lineTax, line.taxBefore, line.taxAmount, taxedOf(line.invoiceLineItemId)),
      };
    }),
    sumOfLines: lines.reduce((sum, { amount }) => sum + amount, 0n),
    ...{ discountAmount, subtotal, taxAmount, total },
  };
}

/** Formats a credit note as text, a line a step. Its parties and its time zone are those of its invoice. */
export function* creditNoteDocument(
  note: CreditNoteToPrint,
  invoice: InvoiceToPrint,
  lines: readonly LineToPrint[],
  look: Pick<DocumentLook, 'language' | 'branding' | 'company'>,
): Generator<void, PrintedDocument> {
  const { language } = look;
  const timeZone = invoice.buyer?.terms?.timeZone;
  const texts = documentTexts[language];
  const money = (amount: bigint) => localMoney(amount, note.currency, language);
  const printed: DocumentLine[] = [];
  for (const { description, quantity, amount, explanation, serviceStartAt, serviceEndAt } of lines) {
    yield;
    const service = serviceStartAt && serviceEndAt ? { start: serviceStartAt, end: serviceEndAt } : null;
    const count = BigInt(quantity ?? 1);
    const numbers = { quantity: localCount(count, language), price: money(amount / count), amount: money(amount) };
    const described = localDescription(description ?? '', { explanation, service, currency: note.currency, language });
    printed.push({ description: described, ...numbers, details: [] });
  }
  const { taxInclusive } = invoice;
  const row = (label: string, amount: bigint, strong = false) => ({ label, amount: money(amount), strong });
  const sums = [row(texts.subtotal, note.subtotal + note.discountAmount + (taxInclusive ? note.taxAmount : 0n))];
  if (note.discountAmount > 0n) sums.push(row(texts.discount, -note.discountAmount));
  if (note.taxAmount > 0n)
    sums.push(row(texts.netAmount, note.subtotal), row(taxName(invoice, language), note.taxAmount));
  return {
    ...look,
    title: texts.creditNote,
    number: note.creditNoteNumber,
    status: texts.statuses[note.status],
    facts: [
      { label: texts.creditNoteNumber, value: note.creditNoteNumber },
      { label: texts.creditNoteDate, value: localDay(note.createdAt, language, timeZone) },
      { label: texts.invoiceNumber, value: invoice.invoiceNumber ?? '' },
      { label: texts.invoiceDate, value: localDay(invoice.invoiceDate, language, timeZone) },
    ],
    ...partiesOf(invoice, language),
    headline: `${texts.totalCredited}: ${money(note.total)}`,
    columns: texts,
    lines: printed,
    sums: [...sums, row(texts.totalCredited, note.total, true)],
    ...{ taxes: null, payment: null },
    notes: [...reverseChargeOf(invoice, texts), ...noteOf(texts.reason, note.reason)],
    annex: [],
    pageText: texts.page,
  };
}

import { z } from 'zod';
import { maxInvoiceTotal } from '../invoicing/invoice.ts';
import type { CreditableLine } from '../invoicing/invoice-line-item.ts';
import { CurrencyCode } from '../kernel/currency.ts';
import { idSchema } from '../kernel/id.ts';
import { amountInput, countInput, freeText, Timestamp, WholeNumber } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import { creditOf, creditsOfRefund, type LineCredit } from '../rating/credited.ts';

export const CreditNoteId = idSchema('creditNote');

export const CreditNoteStatus = z.enum(['issued', 'settled', 'void']).meta({ id: 'CreditNoteStatus' });
export type CreditNoteStatus = z.infer<typeof CreditNoteStatus>;

/** Events of a credit note. */
type CreditNoteTrigger = 'settled' | 'voided';

/** The life cycle of a credit note. Missing entries are impossible. */
const creditNoteTransitions: Readonly<
  Record<CreditNoteStatus, Readonly<Partial<Record<CreditNoteTrigger, CreditNoteStatus>>>>
> = {
  issued: { settled: 'settled', voided: 'void' },
  // By its caller only, where it went to a balance that still holds it.
  settled: { voided: 'void' },
  void: {},
};

/** The status after the event, or null if it is impossible in this status. */
export function nextCreditNoteStatus(status: CreditNoteStatus, trigger: CreditNoteTrigger): CreditNoteStatus | null {
  return creditNoteTransitions[status][trigger] ?? null;
}

export const CreditNoteSettlement = z.enum(['refund', 'offset', 'balance']).meta({
  id: 'CreditNoteSettlement',
  description:
    '`refund` returns money of a payment of the invoice; a refund of a payment makes one by itself. `offset` lowers the amount due on an open invoice. `balance` ' +
    'adds what was paid of the invoice to the balance of the customer.',
});
export type CreditNoteSettlement = z.infer<typeof CreditNoteSettlement>;

/** A document that takes back part of an invoice. */
export const CreditNote = z
  .object({
    id: CreditNoteId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    customerId: z.string(),
    invoiceId: z.string(),
    creditNoteNumber: z.string().meta({
      description: 'The number of the credit note, the next one of its series. A series has no gaps.',
    }),
    status: CreditNoteStatus.meta({
      description:
        '`issued` until its money is back, or its invoice is paid; then `settled`. One to a balance is settled at once. A ' +
        '`void` one counts for nothing.',
    }),
    settle: CreditNoteSettlement,
    reason: z.string().nullable(),
    currency: CurrencyCode,
    discountAmount: WholeNumber.meta({ description: 'The discount of the invoice that is taken back with its lines.' }),
    subtotal: WholeNumber.meta({ description: 'The sum of the lines less the discount, without tax.' }),
    taxAmount: WholeNumber,
    total: WholeNumber.meta({ description: 'The sum of subtotal and tax: the amount that is credited.' }),
    paymentId: z.string().nullable().meta({ description: 'The payment that is refunded, if one is.' }),
    settledAt: Timestamp.nullable(),
    voidedAt: Timestamp.nullable(),
    pdfURL: z.string(),
  })
  .meta({ id: 'CreditNote' });
export type CreditNote = z.infer<typeof CreditNote>;

/** The part of an invoice line that a credit note takes back. */
export const CreditNoteLine = z
  .object({
    id: idSchema('creditNoteLine'),
    ...stamps,
    livemode: z.boolean(),
    pricingModelId: z.string(),
    creditNoteId: z.string(),
    invoiceLineItemId: z.string(),
    description: z.string().nullable(),
    quantity: z.int().nullable().meta({ description: 'The quantity that was asked for; null for an amount.' }),
    amount: WholeNumber.meta({ description: 'The part of the amount of the line, before discount and tax.' }),
    discountAmount: WholeNumber.meta({ description: 'Its share of the discount.' }),
    taxAmount: WholeNumber.meta({ description: 'Its share of the tax.' }),
  })
  .meta({ id: 'CreditNoteLine' });
export type CreditNoteLine = z.infer<typeof CreditNoteLine>;

/** A credit note with its lines, as returned by the API. */
export const CreditNoteWithLines = z.object({ creditNote: CreditNote, creditNoteLines: z.array(CreditNoteLine) });
export type CreditNoteWithLines = z.infer<typeof CreditNoteWithLines>;

// More lines than anybody names by hand. A longer invoice takes several credit notes.
const maxLines = 500;
const maxQuantity = 1_000_000_000;

const CreditNoteLineInput = z
  .object({
    invoiceLineItemId: z.string().min(1).max(255),
    amount: amountInput(1, Number(maxInvoiceTotal)).nullish().meta({
      description: 'The part of the amount of the line, before discount and tax. By default all that is left of it.',
    }),
    quantity: countInput(1, maxQuantity).nullish().meta({
      description: 'A quantity at the price of the line, in place of an amount.',
    }),
  })
  .refine(({ amount, quantity }) => (amount ?? null) === null || (quantity ?? null) === null, {
    path: ['quantity'],
    message: 'must be absent beside an amount',
  })
  .meta({ id: 'CreditNoteLineInput' });
type CreditNoteLineInput = z.output<typeof CreditNoteLineInput>;

export const CreditNoteInput = z
  .object({
    lines: z.array(CreditNoteLineInput).min(1).max(maxLines),
    settle: CreditNoteSettlement,
    reason: freeText('description').nullish(),
  })
  .meta({ id: 'CreditNoteInput' });
export type CreditNoteInput = z.output<typeof CreditNoteInput>;

/** A line of a credit note before it is stored. */
interface DraftCreditLine extends LineCredit {
  readonly line: CreditableLine;
  readonly quantity: number | null;
}

/** A computed credit note, before it has an id and a number. Money in minor units. */
export interface CreditNoteDraft {
  readonly lines: readonly DraftCreditLine[];
  readonly discountAmount: bigint;
  readonly subtotal: bigint;
  readonly taxAmount: bigint;
  readonly total: bigint;
}

/** The invoice of a credit note. */
interface CreditedInvoice {
  readonly inclusive: boolean;
  readonly left: bigint;
  /** The part of its currency of which every amount is a multiple. */
  readonly step: bigint;
}

/**
 * Computes a credit note over lines of an invoice. `left` is the part of the invoice's total that is not yet credited. A
 * line that lowered the invoice lowers it too. Refuses an unknown line, one that is named twice, and more than is left.
 */
export function decideCreditNote(
  asked: readonly CreditNoteLineInput[],
  lines: ReadonlyMap<string, CreditableLine>,
  { inclusive, left, step }: CreditedInvoice,
): CreditNoteDraft {
  const named = new Set<string>();
  const drafts = asked.map((input, index) => {
    const { invoiceLineItemId: id } = input;
    const line = lines.get(id);
    const path = ['creditNote', 'lines', index];
    if (line === undefined) throw invalid([...path, 'invoiceLineItemId'], 'must be a line of the invoice');
    if (named.has(id)) throw invalid([...path, 'invoiceLineItemId'], 'must be named once in a credit note');
    named.add(id);
    return draftLine(input, line, { path, inclusive, step });
  });
  const draft = draftOf(drafts);
  const { total } = draft;
  if (total === 0n) throw invalid(['creditNote', 'lines'], 'must be worth more than 0 after their discount');
  if (total > left)
    throw invalid(['creditNote', 'lines'], `must be worth at most ${left}, what is left of the invoice, not ${total}`);
  return draft;
}

/**
 * Computes the credit note of a refund over all lines of its invoice. Null if less is left of the invoice: its credit
 * notes gave that money back before.
 */
export function decideRefundNote(
  lines: readonly CreditableLine[],
  amount: bigint,
  { inclusive, left, step }: CreditedInvoice,
): CreditNoteDraft | null {
  const credits = amount > left ? null : creditsOfRefund(lines, amount, inclusive, step);
  if (credits === null) return null;
  return draftOf(
    lines.flatMap((line, index) => {
      const credit = credits[index] ?? null;
      return credit === null ? [] : { ...credit, line, quantity: null };
    }),
  );
}

function draftOf(lines: readonly DraftCreditLine[]): CreditNoteDraft {
  const sum = (key: keyof LineCredit) => lines.reduce((sumSoFar, line) => sumSoFar + line[key], 0n);
  return {
    ...{ lines, discountAmount: sum('discountAmount') },
    ...{ subtotal: sum('subtotal'), taxAmount: sum('taxAmount'), total: sum('total') },
  };
}

function draftLine(
  { amount, quantity }: CreditNoteLineInput,
  line: CreditableLine,
  {
    path,
    inclusive,
    step,
  }: { readonly path: readonly (string | number)[]; readonly inclusive: boolean; readonly step: bigint },
): DraftCreditLine {
  const left = line.whole.amount - line.credited.amount;
  if (left <= 0n) throw invalid([...path, 'invoiceLineItemId'], 'must be a line of which something is left to credit');
  const wanted = quantity ? line.price * BigInt(quantity) : (amount ?? left);
  if (wanted > left) {
    const field = quantity ? 'quantity' : 'amount';
    const most = quantity ? left / line.price : left;
    throw invalid([...path, field], `must be at most ${most}: ${left} is left of the ${line.whole.amount} of the line`);
  }
  return { ...creditOf(line, wanted, inclusive, step), line, quantity: quantity ?? null };
}

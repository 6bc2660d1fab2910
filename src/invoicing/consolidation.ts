import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { decideNewInvoice, type InvoiceMoney, type InvoiceReason, maxInvoiceTotal } from './invoice.ts';

/**
 * Whether the invoice collects what several subscriptions owe. Each of them has a part of it, which is an invoice of its own
 * but for its number and its payment.
 */
export function isConsolidated({
  subscriptionId,
  reason,
}: {
  readonly subscriptionId: string | null;
  readonly reason: InvoiceReason;
}): boolean {
  return subscriptionId === null && reason === 'renewal';
}

/** Refuses with `invoiceIsPart` an invoice of which only the whole is paid, credited, voided or sent. */
export function refusePart({
  id,
  consolidatedInto,
}: {
  readonly id: string;
  readonly consolidatedInto: string | null;
}): void {
  if (consolidatedInto !== null) throw new Problem('invoiceIsPart', { id, consolidatedInvoiceId: consolidatedInto });
}

/** The fields of an invoice that its whole is made of. */
interface Consolidable extends InvoiceMoney {
  readonly id: string;
  readonly updatedAt: Instant;
  readonly subtotal: bigint;
  readonly taxAmount: bigint;
  readonly discountAmount: bigint;
  readonly dueDate: Instant | null;
  readonly memo: string | null;
  readonly footer: string | null;
  readonly purchaseOrderNumber: string | null;
}

/** An invoice that is finalized, before it has its number. */
interface Final<Row extends Consolidable> {
  readonly row: Row;
  /** Drafts with the same key become one invoice. Null: it stays alone. */
  readonly together: string | null;
  /** Whether its customer is charged for it. Absent: nobody is. */
  readonly isCharged?: boolean;
}

/**
 * The invoices to number, in order, and the consolidated one of each part by the id of the part. A group of one stays as it
 * is, and so does an invoice of nothing, which is paid at once, and a group that no single payment could carry.
 */
export function consolidate<Row extends Consolidable>(
  finals: readonly Final<Row>[],
  newId: (part: string) => string,
): { readonly invoices: readonly Row[]; readonly wholeOf: ReadonlyMap<string, Row> } {
  const joining = finals.filter(({ together, row }) => together !== null && row.total > 0n);
  const wholeOf = new Map<string, Row>();
  for (const group of Map.groupBy(joining, ({ together }) => together).values()) {
    const parts = group.map(({ row }) => row);
    if (parts.length < 2 || sumOf(parts, ({ total }) => total) > maxInvoiceTotal) continue;
    const [first] = parts;
    assert(first, 'a group has parts');
    const isCharged = group.some((each) => each.isCharged === true);
    const whole = consolidatedRow(newId(first.id), parts, isCharged);
    for (const { id } of parts) wholeOf.set(id, whole);
  }
  return { invoices: [...new Set(finals.map(({ row }) => wholeOf.get(row.id) ?? row))], wholeOf };
}

/**
 * The invoice of these parts: each amount is their sum, so that no cent is rounded again. It is due when the first of them is,
 * and has the texts of the first part with some. One that is charged at once is not mailed to be paid (`email_of_event`).
 */
function consolidatedRow<Row extends Consolidable>(id: string, parts: readonly Row[], isCharged: boolean): Row {
  const [first] = parts;
  if (first === undefined) throw new Error('a consolidated invoice has parts');
  const textOf = (key: 'memo' | 'footer' | 'purchaseOrderNumber') =>
    parts.map((part) => part[key]).find((text) => text !== null) ?? null;
  return {
    ...first,
    ...decideNewInvoice(sumOf(parts, ({ total }) => total)),
    ...{ id, type: 'standalone', createdAt: first.updatedAt, invoiceNumber: null, consolidatedInto: null },
    ...{ subscriptionId: null, purchaseId: null, billingPeriodId: null },
    ...{ billingPeriodStartDate: null, billingPeriodEndDate: null },
    subtotal: sumOf(parts, ({ subtotal }) => subtotal),
    taxAmount: sumOf(parts, ({ taxAmount }) => taxAmount),
    discountAmount: sumOf(parts, ({ discountAmount }) => discountAmount),
    // The discounts are those of the parts.
    discountCount: 0,
    dueDate: parts.reduce(earlierDueDate, null),
    ...{ memo: textOf('memo'), footer: textOf('footer'), purchaseOrderNumber: textOf('purchaseOrderNumber') },
    ...{ metadata: null, netTermsDays: null, autoCollect: isCharged },
  };
}

function earlierDueDate(earliest: Instant | null, { dueDate }: Consolidable): Instant | null {
  return earliest === null || (dueDate !== null && dueDate < earliest) ? dueDate : earliest;
}

function sumOf(parts: readonly Consolidable[], amountOf: (part: Consolidable) => bigint): bigint {
  return parts.reduce((sum, part) => sum + amountOf(part), 0n);
}

/** A part as it is stored with its whole, whose buyer and status it follows. */
export function partOf<Row extends Pick<Consolidable, 'id' | 'status'> & { readonly buyer: unknown }>(
  row: Row,
  { id, status, buyer }: Row,
): Row {
  return { ...row, status, buyer, invoiceNumber: null, consolidatedInto: id };
}

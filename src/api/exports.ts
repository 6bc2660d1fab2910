import { Readable } from 'node:stream';
import { z } from 'zod';
import { listCreditNotes } from '../credit-notes/actions.ts';
import { listCustomers } from '../customers/actions.ts';
import { listBalances } from '../customers/actions-balances.ts';
import { listExternalIds } from '../customers/store.ts';
import type { Parts } from '../database/cells.ts';
import type { Work } from '../database/work.ts';
import { gatheredRoute, type ReadMore } from '../http/route.ts';
import { listInvoices, pageOfLines } from '../invoicing/actions.ts';
import { cellOf, csvLines } from '../kernel/csv.ts';
import { instantFilter, instantRange, type PageRequest } from '../kernel/pagination.ts';
import { listPayments } from '../payments/actions.ts';

// A page is brief enough that others have their turn between two.
const rowsOfPage = 500;

type ListedRow = Readonly<Record<string, unknown>> & { readonly id: string };

/** A kind of records, and the columns of its file. */
interface Exported {
  readonly list: (work: Work, request: PageRequest) => Promise<{ readonly data: readonly object[] }>;
  readonly columns: readonly string[];
}

// The API leaves these out where they are nothing, and a sum over a column wants a number.
const absentIfZero: ReadonlySet<string> = new Set([
  'creditedAmount',
  'offsetAmount',
  'balanceApplied',
  'balanceCredited',
]);

const stamps = ['createdAt', 'updatedAt'];

const exported: Readonly<Record<string, Exported>> = {
  'customers.csv': {
    list: listCustomers,
    columns: [
      ...['id', 'externalId', 'name', 'email', 'archived', 'pricingModelId', 'invoiceNumberBase', 'taxExempt'],
      ...['billingAddress', 'billingTerms', 'metadata', ...stamps],
    ],
  },
  'invoices.csv': {
    list: listInvoices,
    columns: [
      ...['id', 'invoiceNumber', 'status', 'type', 'customerId', 'customerExternalId', 'subscriptionId', 'purchaseId'],
      ...['invoiceDate', 'dueDate', 'billingPeriodStartDate', 'billingPeriodEndDate', 'currency', 'discountAmount'],
      ...['subtotal', 'taxAmount', 'taxType', 'taxCountry', 'taxState', 'taxRatePercentage', 'total', 'amountPaid'],
      ...['amountRefunded', 'creditedAmount', 'offsetAmount', 'balanceApplied', 'balanceCredited'],
      ...['purchaseOrderNumber', 'memo', 'metadata', ...stamps],
    ],
  },
  'invoice-line-items.csv': {
    list: async (work, request) => ({ data: (await pageOfLines(work, request)).rows.slice(0, request.limit) }),
    columns: [
      ...['id', 'invoiceId', 'type', 'description', 'priceId', 'subscriptionItemId', 'quantity', 'price', 'amount'],
      ...['discountAmount', 'taxAmount', 'creditedAmount', ...stamps],
    ],
  },
  'payments.csv': {
    list: listPayments,
    columns: [
      ...['id', 'invoiceId', 'customerId', 'customerExternalId', 'subscriptionId', 'purchaseId', 'status', 'amount'],
      ...['currency', 'paymentMethod', 'chargeDate', 'settlementDate', 'refundedAmount', 'refundedAt'],
      ...['failureCode', 'failureMessage', 'receiptNumber', 'description', ...stamps],
    ],
  },
  'credit-notes.csv': {
    list: listCreditNotes,
    columns: [
      ...['id', 'creditNoteNumber', 'status', 'settle', 'invoiceId', 'customerId', 'customerExternalId', 'currency'],
      ...[
        'discountAmount',
        'subtotal',
        'taxAmount',
        'total',
        'paymentId',
        'reason',
        'settledAt',
        'voidedAt',
        ...stamps,
      ],
    ],
  },
  'customer-balances.csv': {
    list: listBalances,
    columns: [...['id', 'customerId', 'customerExternalId', 'currency', 'balance', 'credited', 'debited', ...stamps]],
  },
};

function kindOf(file: string): Exported {
  const kind = exported[file];
  if (kind === undefined) throw new Error(`the schema of the path has no ${file}`);
  return kind;
}

/** Rows of a file with the ids of their records, and the record after which it goes on; null at its end. */
interface Part {
  readonly file: string;
  readonly filters: PageRequest['filters'];
  readonly rows: readonly { readonly id: string; readonly cells: Parameters<typeof csvLines>[0][number] }[];
  readonly after: string | null;
}

async function readPart(
  work: Work,
  file: string,
  filters: PageRequest['filters'],
  after: string | null,
): Promise<Part> {
  const { list, columns } = kindOf(file);
  const page = { cursor: null, after, afterAt: null, direction: 'forward', order: 'asc', isExport: true } as const;
  // Every record of a list has an id.
  const data = (await list(work, { ...page, limit: rowsOfPage, filters })).data as readonly ListedRow[];
  const rows = (await withCustomers(work, columns, data)).map((row) => {
    return { id: row.id, cells: columns.map((name) => cellOf(name, fieldOf(row, name))) };
  });
  return { file, filters, rows, after: data.length < rowsOfPage ? null : (data.at(-1)?.id ?? null) };
}

function fieldOf(row: ListedRow, name: string): unknown {
  return row[name] ?? (absentIfZero.has(name) ? 0 : null);
}

/** The records with the callers' own ids of their customers, where a column shows them. */
async function withCustomers(
  work: Work,
  columns: readonly string[],
  rows: readonly ListedRow[],
): Promise<readonly ListedRow[]> {
  if (!columns.includes('customerExternalId') || rows.length === 0) return rows;
  const names = await listExternalIds(work, [...new Set(rows.map(({ customerId }) => String(customerId)))]);
  return rows.map((row) => ({ ...row, customerExternalId: names.get(String(row.customerId)) ?? null }));
}

/**
 * Reads the next part of a cell when the one before has been taken, so a reader who has gone ends the file. Rows are in the order
 * of their ids: one is written as soon as no cell can have another before it.
 */
async function* textsOf(parts: Parts<Part>, readMore: ReadMore): AsyncGenerator<string> {
  const [{ file, filters }] = parts;
  yield csvLines([kindOf(file).columns]);
  const waiting = parts.map(({ rows, after }) => ({ rows, after }));
  for (;;) {
    for (const [cell, { rows, after }] of waiting.entries())
      if (rows.length === 0 && after !== null)
        waiting[cell] = await readMore((work) => readPart(work, file, filters, after), cell);
    const ends = waiting.flatMap(({ after }) => after ?? []).sort();
    const isNext = ({ id }: { readonly id: string }) => ends[0] === undefined || id <= ends[0];
    const next = waiting.flatMap(({ rows }) => rows.filter(isNext)).sort((a, b) => (a.id < b.id ? -1 : 1));
    if (next.length === 0) return;
    yield csvLines(next.map(({ cells }) => cells));
    for (const part of waiting) part.rows = part.rows.filter((row) => !isNext(row));
  }
}

export const exportRoutes = [
  gatheredRoute({
    path: '/exports/{file}',
    needs: 'exports:read',
    summary: 'Export records as CSV',
    description:
      'Streams the records of a kind as CSV, oldest first, with a line of column names. Amounts are in minor units, and ' +
      'instants in ISO 8601. A text that a spreadsheet would take for a formula has an apostrophe before it. The file is ' +
      'read page by page: a record that is made or changed meanwhile may be in it or not.',
    tag: 'Exports',
    params: z.object({ file: z.enum(Object.keys(exported) as [string, ...string[]]) }),
    query: z.object({
      from: instantFilter.meta({ description: 'Records created at this instant or later.' }),
      to: instantFilter.meta({ description: 'Records created before this instant.' }),
    }),
    returns: z.custom<Parts<Part>>(),
    refuses: [],
    read: (work, { params, query }) => {
      const { from, to } = query;
      // Refuses an empty range by the names of this query.
      instantRange({ ...(from && { from }), ...(to && { to }) }, 'from', 'to');
      const filters = { ...(from && { createdAtFrom: from }), ...(to && { createdAtTo: to }) };
      return readPart(work, params.file, filters, null);
    },
    join: (parts) => parts,
    // The answer is no JSON.
    text: () => '',
    file: {
      contentType: 'text/csv; charset=utf-8',
      isWhole: true,
      name: ([{ file }]) => file,
      render: (parts, readMore) => Readable.from(textsOf(parts, readMore), { objectMode: false }),
    },
  }),
];

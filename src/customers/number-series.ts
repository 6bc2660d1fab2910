import { type Instant, yearOf } from '../kernel/calendar.ts';
import { invalid } from '../kernel/problem.ts';
import type { Numbering, NumberSeries } from '../organizations/setting.ts';

/** The documents that have numbers. */
export type NumberedDocument = 'invoice' | 'creditNote';

/**
 * The text before the counter of a number, which names its series: `before`, then the number base of the customer in a
 * series of one customer, then `after`. It ends in a hyphen, so no number belongs to two series.
 */
interface SeriesStem {
  readonly before: string;
  readonly namesCustomer: boolean;
  readonly after: string;
}

// The prefix of a series of the environment that has no other.
const usualPrefix: Readonly<Record<NumberedDocument, string>> = { invoice: 'INV', creditNote: 'CN' };

function seriesOf({ invoices, creditNotes }: Numbering, document: NumberedDocument): NumberSeries {
  switch (document) {
    case 'invoice':
      return invoices;
    case 'creditNote':
      return creditNotes;
    default:
      return document satisfies never;
  }
}

/**
 * The series of a document of this date. Worked examples: `9F3A0C1-` and `9F3A0C1-CN-` of a customer, `ACME-9F3A0C1-2027-`
 * with a prefix and a year, `INV-2027-` and `CN-2027-` of the environment.
 */
export function seriesStem(
  { numbering, timeZone }: { readonly numbering: Numbering; readonly timeZone: string },
  document: NumberedDocument,
  date: Instant,
): SeriesStem {
  const { per, prefix, yearly } = seriesOf(numbering, document);
  const year = yearly ? `${yearOf(date, timeZone)}-` : '';
  if (per === 'environment')
    return { before: `${prefix ?? usualPrefix[document]}-${year}`, namesCustomer: false, after: '' };
  const kind = prefix === null && document === 'creditNote' ? `${usualPrefix.creditNote}-` : '';
  return { before: prefix === null ? '' : `${prefix}-`, namesCustomer: true, after: `-${kind}${year}` };
}

// With five digits, the numbers of a series sort as text for longer than anyone is billed.
const numberDigits = 5;

/** The n-th number of a series, counted from 1: `9F3A0C1-00001`. */
export function documentNumber(stem: string, n: number): string {
  return `${stem}${String(n).padStart(numberDigits, '0')}`;
}

/** Refuses series of which invoices and credit notes would take their numbers together. */
export function refuseSharedSeries(numbering: Numbering): void {
  const stemOf = (document: NumberedDocument) => {
    const { before, namesCustomer, after } = seriesStem({ numbering, timeZone: 'UTC' }, document, 0);
    return `${before}${namesCustomer ? '*' : ''}${after}`;
  };
  if (stemOf('invoice') === stemOf('creditNote'))
    throw invalid(['settings', 'numbering', 'creditNotes', 'prefix'], 'must differ from the prefix of the invoices');
}

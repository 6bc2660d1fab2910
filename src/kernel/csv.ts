import { stringify } from 'csv-stringify/sync';
import { isoText } from './iso-text.ts';

/** The value of a cell. */
type Cell = string | number | bigint | boolean | null;

// Names of fields that are instants, as in the API.
const instantName = /(Date|At)$/;

/** The cell of a field of a record: instants as ISO 8601, objects as JSON, and nothing where the field is absent. */
export function cellOf(name: string, value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return instantName.test(name) ? isoText(value) : value;
  if (typeof value === 'object') return JSON.stringify(value);
  return typeof value === 'bigint' || typeof value === 'boolean' ? value : String(value);
}

// A spreadsheet takes a text that begins so for a formula, also in its wide forms.
const formulaStart = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/u;

/** Text that a spreadsheet shows as it is. Numbers are no text: a negative amount stays one. */
function safeCell(cell: Cell): string {
  switch (typeof cell) {
    case 'string':
      return formulaStart.test(cell) ? `'${cell}` : cell;
    case 'object':
      return '';
    default:
      return String(cell);
  }
}

/**
 * Rows as lines of CSV by RFC 4180: fields with commas, quotes or line breaks are quoted. A text that would be a formula
 * is preceded by an apostrophe.
 */
export function csvLines(rows: readonly (readonly Cell[])[]): string {
  return stringify(
    rows.map((row) => row.map(safeCell)),
    // A line feed alone is no end of a record to the library, and is one to some readers.
    { record_delimiter: 'windows', quoted_match: /[\r\n]/ },
  );
}

/*
 * Arrays in PostgreSQL's text format, sent as one parameter: `${idArray(ids)}::text[]`. The driver's own conversion
 * visits each element of a list of ten thousand several times.
 */

/** An array element that needs no quotes: not empty, and without commas, quotes, braces, backslashes and spaces. */
type Word = string | number | bigint | null;

/** An array of ids, numbers and other words. */
export function idArray(values: readonly Word[]): string {
  return idColumn(values, (value) => value);
}

/** The same for a column of rows. The reader is a function because a generic property lookup takes twice as long. */
export function idColumn<Row>(rows: readonly Row[], read: (row: Row) => Word): string {
  let text = '';
  for (const row of rows) {
    const word = read(row) ?? 'null';
    text += text === '' ? word : `,${word}`;
  }
  return `{${text}}`;
}

// Plain words need no quotes; null is a keyword, so the text must be quoted.
const plain = /^[A-Za-z0-9_.:-]+$/;

/** An array of any texts; null stays null. */
export function textArray(values: readonly (string | null)[]): string {
  return `{${values.map(textElement).join(',')}}`;
}

/**
 * An element that is JSON. JSON.stringify quotes it as an array does, and several times as fast, because JSON has no
 * control characters.
 */
export function jsonElement(json: string | null): string {
  return json === null ? 'null' : JSON.stringify(json);
}

function textElement(value: string | null): string {
  if (value === null) return 'null';
  if (plain.test(value) && value.toLowerCase() !== 'null') return value;
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

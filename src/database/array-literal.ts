/*
 * Arrays as PostgreSQL reads them, to be sent as one text: `${idArray(ids)}::text[]`. The driver's own way looks at each
 * element of a list of ten thousand several times.
 */

/** What stands in an array as it is: it holds no comma, quote, brace, backslash or space, and is not empty. */
export type Word = string | number | bigint | null;

/** An array of ids, numbers and other words. */
export function idArray(values: readonly Word[]): string {
  return idColumn(values, (value) => value);
}

/** The same of a column of rows. Each is read by a function of its own: one that reads any column takes twice as long. */
export function idColumn<Row>(rows: readonly Row[], read: (row: Row) => Word): string {
  let text = '';
  for (const row of rows) {
    const word = read(row) ?? 'null';
    text += text === '' ? word : `,${word}`;
  }
  return `{${text}}`;
}

// What stands between quotes, and the word that would be read as null, must be told apart from plain words.
const plain = /^[A-Za-z0-9_.:-]+$/;

/** An array of any texts; null stays null. */
export function textArray(values: readonly (string | null)[]): string {
  return `{${values.map(textElement).join(',')}}`;
}

function textElement(value: string | null): string {
  if (value === null) return 'null';
  if (plain.test(value) && value.toLowerCase() !== 'null') return value;
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

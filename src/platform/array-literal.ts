/*
 * Arrays as PostgreSQL reads them, to be sent as one text: `${idArray(ids)}::text[]`. The driver's own way looks at each
 * element of a list of ten thousand several times.
 */

/** An array of ids, numbers and other words that hold no comma, quote, brace, backslash or space, and are not empty. */
export function idArray(values: readonly (string | number | bigint | null)[]): string {
  let text = '';
  for (const value of values) text += text === '' ? (value ?? 'null') : `,${value ?? 'null'}`;
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

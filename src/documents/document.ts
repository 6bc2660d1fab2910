import { encode } from 'uqr';
import type { Language } from '../kernel/language.ts';
import type { Branding } from '../organizations/branding.ts';

/** A heading with what stands below it. */
export interface Party {
  readonly heading: string;
  /** The first is the name. */
  readonly lines: readonly string[];
}

/** A line of a document. */
export interface DocumentLine {
  readonly description: string;
  readonly quantity: string;
  readonly price: string;
  readonly amount: string;
  /** The tiers and other parts of a price that is more than an amount per unit. */
  readonly details: readonly { readonly text: string; readonly amount: string }[];
}

/** A table whose first column has names, and the others numbers. */
export interface DocumentTable {
  readonly heading: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The last row. null: the numbers have no sum. */
  readonly total: readonly string[] | null;
}

/** An invoice, receipt or credit note as formatted text. Page and PDF are two renderings of it. */
export interface PrintedDocument {
  readonly language: Language;
  readonly branding: Pick<Branding, 'logo' | 'primaryColor' | 'legalFooter'>;
  readonly title: string;
  /** The number of the document; null: it has none yet. */
  readonly number: string | null;
  /** The name of the company, which stands in place of a missing logo. */
  readonly company: string | null;
  readonly status: string;
  readonly facts: readonly { readonly label: string; readonly value: string }[];
  readonly seller: Party;
  readonly buyer: Party;
  /** The amount that a reader looks for, such as what is due and when. */
  readonly headline: string | null;
  readonly columns: Readonly<Record<'description' | 'quantity' | 'price' | 'amount', string>>;
  readonly lines: readonly DocumentLine[];
  /** The rows of the totals below the lines. */
  readonly sums: readonly { readonly label: string; readonly amount: string; readonly strong: boolean }[];
  readonly taxes: DocumentTable | null;
  /** The page on which it is paid. */
  readonly payment: {
    readonly heading: string;
    readonly text: string;
    readonly link: string;
    readonly action: string;
  } | null;
  readonly notes: readonly Party[];
  /** The tables after the end of the document, on a page of their own. */
  readonly annex: readonly DocumentTable[];
  /** The text at the end of a page, with `{page}` and `{pages}`. */
  readonly pageText: string;
}

/** The colour of headings and lines where the seller has chosen none. */
const plainColor = '#1f2937';

/** The colour of a document. */
export function colorOf({ branding }: Pick<PrintedDocument, 'branding'>): string {
  return branding.primaryColor ?? plainColor;
}

/** A code that a camera reads as `text`: a path of squares of side 1 in a square of `size`. */
export function qrPath(text: string): { readonly size: number; readonly path: string } {
  const { size, data } = encode(text, { border: 0, ecc: 'M' });
  const squares = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return { size, path: squares.join('') };
}

/** The characters without a form: the end of a line, and signs that only tell a direction. */
export const unseen = /[\n\u200e\u200f\u2066-\u2069]/;

/** Every text of a document, or of a part of one. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.startsWith('data:') ? [] : [value];
  if (value === null || typeof value !== 'object') return [];
  return Object.values(value).flatMap(textsOf);
}

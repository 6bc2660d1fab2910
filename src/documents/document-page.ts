import { Html, html } from '../kernel/html.ts';
import {
  colorOf,
  type DocumentLine,
  type DocumentTable,
  type Party,
  type PrintedDocument,
  qrPath,
} from './document.ts';

/** The files of Inter for pages, with the letters of the languages of Europe. `scripts/page-fonts.ts` makes them. */
export const fontFiles = { 400: 'inter-400.woff2', 600: 'inter-600.woff2' } as const;

const [first, last] = [0x20, 0x17e];
const isControl = (code: number) => code >= 0x7f && code < 0xa0;
const letters = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(
  (code) => !isControl(code),
);

/** The characters of those files. */
export const pageCharacters = `${String.fromCodePoint(...letters)}–—‘’‚“”„†•…‰‹›€™−×`;

interface Face {
  readonly weight: number;
  readonly file: Buffer;
  /** Absent: all that the file has. */
  readonly characters?: readonly string[];
}

/** The name of the typefaces of a document, whichever of them has a letter. */
const documentFamily = 'Document';

/** A typeface within a style. */
export function fontFace({ weight, file, characters }: Face): string {
  const codes = characters?.map((character) => `U+${character.codePointAt(0)?.toString(16)}`);
  const range = codes === undefined ? '' : ` unicode-range: ${codes.join(', ')};`;
  const source = `url(data:font/woff2;base64,${file.toString('base64')}) format('woff2')`;
  return `@font-face { font-family: ${documentFamily}; font-weight: ${weight};${range} src: ${source}; }`;
}

const style = (color: string, faces: string) => `
${faces}
  :root { color-scheme: light; --color: ${color}; --soft: #667085; --line: #e4e7ec; }
  * { box-sizing: border-box; }
  body { font: 14px/1.55 ${documentFamily}, system-ui, sans-serif; font-variant-numeric: tabular-nums;
    color: #101828; background: #f2f4f7; margin: 0; padding: 2rem 1rem; }
  main { max-width: 50rem; margin: 0 auto; background: #fff; border-top: 6px solid var(--color); border-radius: 8px;
    padding: 2.5rem 3rem 2rem; overflow-wrap: anywhere; }
  header { display: flex; justify-content: space-between; align-items: flex-start; gap: 1rem 2rem; flex-wrap: wrap; }
  header img { max-width: 15rem; max-height: 4rem; }
  header .company { font-size: 1.15rem; font-weight: 600; color: var(--color); }
  header > div:last-child { text-align: right; margin-left: auto; }
  h1 { font-size: 1.75rem; line-height: 1.2; letter-spacing: -.02em; margin: 0; }
  h2 { font-size: .8rem; font-weight: 600; color: var(--soft); margin: 0 0 .25rem; }
  p { margin: 0; }
  .soft { color: var(--soft); }
  .status { display: inline-block; border: 1px solid var(--line); border-radius: 99px; padding: .05rem .65rem; font-size: .8rem; margin-top: .4rem; }
  .parties { display: flex; flex-wrap: wrap; gap: 1.5rem 2rem; margin-top: 2rem; }
  .parties > div { flex: 1 1 9rem; }
  .parties p { word-break: keep-all; } .parties p:first-of-type { font-weight: 600; }
  dl { flex: 1.6 1 19rem; margin: 0; display: grid; grid-template-columns: fit-content(60%) 1fr; gap: 0 1rem; align-content: start; }
  dt { color: var(--soft); overflow-wrap: break-word; }
  dd { margin: 0; text-align: right; }
  .headline { font-size: 1.35rem; font-weight: 600; letter-spacing: -.01em; margin: 2.25rem 0 0; }
  table { width: 100%; border-collapse: collapse; margin-top: 1.5rem; }
  th { font-size: .8rem; font-weight: 600; color: var(--soft); text-align: left; padding: .4rem .5rem; border-bottom: 1.5px solid var(--color); }
  td { padding: .6rem .5rem; vertical-align: top; border-top: 1px solid var(--line); }
  tbody tr:first-child td { border-top: 0; }
  th:first-child, td:first-child { padding-left: 0; }
  th:last-child, td:last-child { padding-right: 0; }
  .amount { text-align: right; white-space: nowrap; }
  .detail td { color: var(--soft); font-size: .88em; border: 0; padding-top: 0; padding-bottom: .3rem; }
  .detail td:first-child { padding-left: 1rem; }
  .sums { margin: 1rem 0 0 auto; width: min(100%, 24rem); }
  .sums td { padding: .3rem 0; border-top: 1px solid var(--line); }
  .sums strong { font-size: 1.05em; }
  section { margin-top: 2.25rem; }
  .pay { display: flex; gap: 1.25rem; align-items: center; border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.25rem; }
  .pay svg { width: 5.5rem; height: 5.5rem; flex: none; }
  .pay a { display: inline-block; margin-top: .5rem; background: var(--color); color: #fff; border-radius: 6px; padding: .4rem .9rem; font-weight: 600; text-decoration: none; }
  .small { font-size: .9em; }
  .narrow { margin-top: .25rem; } .narrow td { padding-block: .3rem; } th.amount { white-space: normal; } .lineitems th.amount { white-space: nowrap; }
  .lines { white-space: pre-line; }
  footer { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem; font-size: .8rem; color: var(--soft); text-align: center; white-space: pre-line; }
  @media (max-width: 36rem) { body { padding: 0; } main { border-radius: 0; padding: 1.5rem 1rem; } header { display: block; } header > div:last-child { text-align: left; margin-top: 1.25rem; } dl { flex-basis: 100%; } .lineitems .price, .lineitems .quantity { display: none; } }
  @media print { body { background: none; padding: 0; } main { max-width: none; padding: 1.25rem 0 0; border-radius: 0; } tr, .pay, .sums { break-inside: avoid; } h2 { break-after: avoid; } .annex { break-before: page; } }
  @page { margin: 16mm 14mm; @bottom-center { content: counter(page) ' / ' counter(pages); font: 8pt ${documentFamily}, sans-serif; color: #667085; } }
`;

/** Renders a document as one printable HTML page without external resources, a line a step. `faces` are its typefaces. */
export function* documentPage(document: PrintedDocument, faces: string): Generator<void, string> {
  const { language, title, number, headline, columns, lines, sums, notes, branding } = document;
  const rows: Html[] = [];
  for (const line of lines) {
    yield;
    rows.push(lineRows(line));
  }
  return html`${new Html('<!doctype html>')}
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${nameOf(title, number)}</title>
<style>${new Html(style(colorOf(document), faces))}</style>
</head>
<body>
<main>
${head(document)}
${headline !== null && html`<p class="headline">${headline}</p>`}
<table class="lineitems">
<thead><tr><th scope="col">${columns.description}</th><th scope="col" class="amount quantity">${columns.quantity}</th><th scope="col" class="amount price">${columns.price}</th><th scope="col" class="amount">${columns.amount}</th></tr></thead>
<tbody>
${rows}
</tbody>
</table>
<table class="sums"><tbody>
${sums.map(({ label, amount, strong }) => {
  const cell = (text: string) => (strong ? html`<strong>${text}</strong>` : text);
  return html`<tr><td>${cell(label)}</td><td class="amount">${cell(amount)}</td></tr>\n`;
})}
</tbody></table>
${paymentPart(document)}
${document.taxes !== null && tablePart(document.taxes)}
${notes.map((note) => html`<section class="small"><h2>${note.heading}</h2><p class="lines">${note.lines.join('\n')}</p></section>`)}
${document.annex.map((table, index) => tablePart(table, index === 0 ? 'small annex' : 'small'))}
${branding.legalFooter !== null && html`<footer>${branding.legalFooter}</footer>`}
</main>
</body>
</html>
`.text;
}

function nameOf(title: string, number: string | null): string {
  return number === null ? title : `${title} ${number}`;
}

function head({ branding, company, title, number, status, seller, buyer, facts }: PrintedDocument): Html {
  const sign =
    branding.logo === null
      ? company !== null && html`<span class="company">${company}</span>`
      : html`<img src="${branding.logo}" alt="${company ?? ''}">`;
  return html`<header>
<div>${sign}</div>
<div><h1>${nameOf(title, number)}</h1><p class="status">${status}</p></div>
</header>
<div class="parties">${party(seller)}${party(buyer)}
<dl>${facts.map(({ label, value }) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl></div>`;
}

function party({ heading, lines }: Party): Html | null {
  if (lines.length === 0) return null;
  return html`<div><h2>${heading}</h2>${lines.map((line) => html`<p><bdi>${line}</bdi></p>`)}</div>`;
}

/** A row of the table, and the rows of its details. */
function lineRows({ description, quantity, price, amount, details }: DocumentLine): Html {
  const more = details.map(
    (detail) =>
      html`<tr class="detail"><td>${detail.text}</td><td class="quantity"></td><td class="amount price"></td><td class="amount">${detail.amount}</td></tr>\n`,
  );
  return html`<tr><td><bdi>${description}</bdi></td><td class="amount quantity">${quantity}</td><td class="amount price">${price}</td><td class="amount">${amount}</td></tr>
${more}`;
}

function paymentPart({ payment }: PrintedDocument): Html | null {
  if (payment === null) return null;
  const { size, path } = qrPath(payment.link);
  return html`<section class="pay"><svg viewBox="0 0 ${size} ${size}" role="img" aria-label="${payment.text}"><path d="${path}"/></svg>
<div><h2>${payment.heading}</h2><p>${payment.text}</p><a href="${payment.link}">${payment.action}</a></div></section>`;
}

function tablePart({ heading, columns, rows, total }: DocumentTable, place = 'small'): Html {
  const kind = (index: number) => (index === 0 ? '' : 'amount');
  return html`<section class="${place}"><h2>${heading}</h2><table class="narrow">
<thead><tr>${columns.map((text, index) => (text === '' ? html`<td></td>` : html`<th scope="col" class="${kind(index)}"><bdi>${text}</bdi></th>`))}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((text, index) => html`<td class="${kind(index)}">${text}</td>`)}</tr>`)}</tbody>
${total !== null && html`<tfoot><tr>${total.map((text, index) => html`<td class="${kind(index)}"><strong>${text}</strong></td>`)}</tr></tfoot>`}
</table></section>`;
}

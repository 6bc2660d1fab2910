import { escapeHtml } from '../kernel/html.ts';
import type { InvoiceDocument } from './invoice-document.ts';

const style = `
  body { font: 14px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
  header, .parties { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 1rem 2rem; overflow-wrap: anywhere; }
  header > dl { margin-top: .5rem; }
  .parties > div { flex: 1 1 12rem; }
  h1 { font-size: 1.6rem; margin: 0; }
  h2 { font-size: .8rem; text-transform: uppercase; letter-spacing: .05em; color: #666; margin: 1.5rem 0 .25rem; }
  p { margin: 0; }
  dl { display: grid; grid-template-columns: auto auto; gap: 0 1rem; margin: 0; }
  dt { color: #666; }
  dd { margin: 0; text-align: right; }
  table { width: 100%; border-collapse: collapse; margin-top: 2rem; }
  th, td { padding: .4rem .5rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
  thead th { border-bottom: 2px solid #1a1a1a; }
  .amount { text-align: right; white-space: nowrap; }
  .detail td { color: #666; font-size: .85em; border: 0; padding: 0 .5rem .2rem 1.5rem; }
  tfoot td { border: 0; }
  @media (max-width: 30rem) { body { font-size: 13px; } h1 { font-size: 1.25rem; } th, td { padding: .4rem .25rem; } }
  @media print { body { margin: 0; max-width: none; } }
`;

/** Renders an invoice as one printable HTML page without external resources, a line a step. */
export function* invoicePage(document: InvoiceDocument): Generator<void, string> {
  const { title, status, facts, seller, buyer, lines, sums, memo, footer } = document;
  const rows: string[] = [];
  for (const line of lines) {
    yield;
    rows.push(lineRows(line));
  }
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<header>
<div><h1>${escapeHtml(title)}</h1><p>${escapeHtml(status)}</p></div>
<dl>${facts.map(({ label, value }) => `<dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd>`).join('')}</dl>
</header>
<div class="parties">${party('From', seller)}${party('To', buyer)}</div>
<table>
<thead><tr><th>Description</th><th class="amount">Quantity</th><th class="amount">Price</th><th class="amount">Amount</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
<tfoot>
${sums
  .map(({ label, amount, strong }) => {
    const cell = (text: string) => (strong ? `<strong>${escapeHtml(text)}</strong>` : escapeHtml(text));
    return `<tr><td colspan="3" class="amount">${cell(label)}</td><td class="amount">${cell(amount)}</td></tr>`;
  })
  .join('\n')}
</tfoot>
</table>
${memo === null ? '' : `<h2>Memo</h2><p>${escapeHtml(memo)}</p>`}
${footer === null ? '' : `<p>${escapeHtml(footer)}</p>`}
</body>
</html>
`;
}

/** A row of the table, and the rows of its details. */
function lineRows({ description, quantity, price, amount, details }: InvoiceDocument['lines'][number]): string {
  return `<tr><td>${escapeHtml(description)}</td>
<td class="amount">${escapeHtml(quantity)}</td><td class="amount">${escapeHtml(price)}</td>
<td class="amount">${escapeHtml(amount)}</td></tr>${details.map(detailRow).join('')}`;
}

function detailRow({ text, amount }: InvoiceDocument['lines'][number]['details'][number]): string {
  return `<tr class="detail"><td>${escapeHtml(text)}</td><td></td><td class="amount">${escapeHtml(amount)}</td><td></td></tr>`;
}

function party(heading: string, lines: readonly string[]): string {
  if (lines.length === 0) return '<div></div>';
  return `<div><h2>${heading}</h2>${lines.map((line) => `<p>${escapeHtml(line)}</p>`).join('')}</div>`;
}

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import PDFDocument from 'pdfkit';
import type { InvoiceDocument } from './invoice-document.ts';

// Fonts with Latin, Greek, Cyrillic and more: the built-in PDF fonts cover Western Europe only.
const fonts = join(dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')), 'ttf');
const regular = join(fonts, 'DejaVuSans.ttf');
const bold = join(fonts, 'DejaVuSans-Bold.ttf');

// A4 in points, with its margins.
const margin = 50;
const page = { width: 595.28, height: 841.89 };
const right = page.width - margin;
const columns = [
  { x: margin, width: 255, align: 'left' },
  { x: 310, width: 55, align: 'right' },
  { x: 370, width: 85, align: 'right' },
  { x: 460, width: right - 460, align: 'right' },
] as const;

/** Lays out an invoice as a PDF of A4 pages. Worker threads run it: a layout takes long. */
export async function layOut(document: InvoiceDocument): Promise<Uint8Array> {
  const pdf = new PDFDocument({ size: 'A4', margin, info: { Title: document.title, Producer: 'Tollkeeper' } });
  const chunks: Buffer[] = [];
  pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  pdf.once('end', resolve);
  pdf.once('error', reject);
  writeHead(pdf, document);
  writeLines(pdf, document);
  writeSums(pdf, document);
  if (document.memo !== null) pdf.font(regular).moveDown(2).text(document.memo, margin);
  if (document.footer !== null) pdf.font(regular).moveDown(2).text(document.footer, margin);
  pdf.end();
  await ended;
  return Buffer.concat(chunks);
}

function writeHead(pdf: PDFKit.PDFDocument, { title, status, facts, seller, buyer }: InvoiceDocument): void {
  pdf.font(bold).fontSize(18).text(title, margin, margin);
  pdf.font(regular).fontSize(9).fillColor('#666').text(status).moveDown();
  for (const { label, value } of facts)
    pdf.fillColor('#666').text(`${label}: `, { continued: true }).fillColor('#000').text(value);
  pdf.moveDown(2);
  const top = pdf.y;
  const bottoms = [
    { heading: 'From', lines: seller, x: margin },
    { heading: 'To', lines: buyer, x: page.width / 2 },
  ].map(({ heading, lines, x }) => {
    if (lines.length === 0) return top;
    pdf.font(bold).text(heading, x, top).font(regular);
    for (const line of lines) pdf.text(line, x, pdf.y, { width: page.width / 2 - margin });
    return pdf.y;
  });
  pdf.y = Math.max(...bottoms) + 24;
}

function writeLines(pdf: PDFKit.PDFDocument, { lines }: InvoiceDocument): void {
  writeRow(pdf, ['Description', 'Quantity', 'Price', 'Amount'], bold);
  rule(pdf, 1);
  for (const { description, quantity, price, amount, details } of lines) {
    writeRow(pdf, [description, quantity, price, amount], regular);
    for (const detail of details) writeRow(pdf, [`   ${detail.text}`, '', detail.amount, ''], regular, '#666');
    rule(pdf, 0.3);
  }
}

function writeSums(pdf: PDFKit.PDFDocument, { sums }: InvoiceDocument): void {
  pdf.moveDown(0.5);
  for (const { label, amount, strong } of sums) {
    const font = strong ? bold : regular;
    breakBefore(pdf, heightOf(pdf, [label, amount], font));
    const top = pdf.y;
    pdf.font(font).fontSize(9).fillColor('#000');
    pdf.text(label, columns[0].x, top, { width: columns[2].x + columns[2].width - columns[0].x, align: 'right' });
    pdf.text(amount, columns[3].x, top, { width: columns[3].width, align: 'right' });
    pdf.y = top + 16;
  }
}

function writeRow(pdf: PDFKit.PDFDocument, texts: readonly string[], font: string, color = '#000'): void {
  const height = heightOf(pdf, texts, font);
  breakBefore(pdf, height);
  const top = pdf.y;
  pdf.font(font).fontSize(9).fillColor(color);
  for (const [index, { x, width, align }] of columns.entries()) pdf.text(texts[index] ?? '', x, top, { width, align });
  pdf.y = top + height + 4;
}

function heightOf(pdf: PDFKit.PDFDocument, texts: readonly string[], font: string): number {
  pdf.font(font).fontSize(9);
  return Math.max(...texts.map((text, index) => pdf.heightOfString(text, { width: columns[index]?.width ?? 100 })));
}

/** Keeps a row on one page. A row higher than a page is left to the library, which breaks it. */
function breakBefore(pdf: PDFKit.PDFDocument, height: number): void {
  if (pdf.y + height > page.height - margin && height < page.height - 2 * margin) pdf.addPage();
}

function rule(pdf: PDFKit.PDFDocument, width: number): void {
  pdf.moveTo(margin, pdf.y).lineTo(right, pdf.y).lineWidth(width).stroke();
  pdf.y += 4;
}

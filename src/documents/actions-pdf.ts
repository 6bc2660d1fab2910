import PDFDocument from 'pdfkit';
import { DocumentFonts } from './actions-fonts.ts';
import { type TextStyle, Typesetter } from './actions-typeset.ts';
import {
  colorOf,
  type DocumentLine,
  type DocumentTable,
  type Party,
  type PrintedDocument,
  qrPath,
  textsOf,
} from './document.ts';
import { fillIn } from './document-text.ts';

// A4 in points, with its margins.
const page = { width: 595.28, height: 841.89 };
const [left, top, bottom] = [48, 52, 84];
const right = page.width - left;
const width = right - left;
const columns = [
  { x: left, width: 250, align: 'left' },
  { x: left + 258, width: 52, align: 'right' },
  { x: left + 318, width: 85, align: 'right' },
  { x: left + 411, width: right - left - 411, align: 'right' },
] as const;
const soft = '#667085';
const rule = '#e4e7ec';
const body: TextStyle = { size: 9 };
const label: TextStyle = { size: 8, color: soft, weight: 600 };
const small: TextStyle = { size: 7, color: soft, align: 'center' };
// More lines would reach the number of the page, so a longer legal text stands at the end.
const maxFooterHeight = 34;
const detail: TextStyle = { size: 8, color: soft };

/** The page, the pen and the place on the paper. */
interface Sheet {
  readonly pdf: PDFKit.PDFDocument;
  readonly pen: Typesetter;
  readonly color: string;
  y: number;
}

/** Lays out a document as a PDF of A4 pages, for archives too (PDF/A-3). Worker threads run it: a layout takes long. */
export async function layOut(document: PrintedDocument): Promise<Uint8Array> {
  const title = document.number === null ? document.title : `${document.title} ${document.number}`;
  const pdf = new PDFDocument({
    ...{ size: 'A4', margin: 0, bufferPages: true, lang: document.language, displayTitle: true },
    // Files may be attached to this kind of archive, such as the same invoice as XML.
    ...{ subset: 'PDF/A-3b', pdfVersion: '1.7' },
    info: { Title: title, Producer: 'Tollkeeper' },
  });
  const chunks: Buffer[] = [];
  pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  pdf.once('end', resolve);
  pdf.once('error', reject);
  const fonts = await DocumentFonts.forTexts([...textsOf(document), '0123456789·'], document.language === 'ja');
  const sheet: Sheet = { pdf, pen: new Typesetter(pdf, fonts), color: colorOf(document), y: top };
  drawHead(sheet, document);
  drawLines(sheet, document);
  drawSums(sheet, document);
  drawPayment(sheet, document);
  if (document.taxes !== null) drawTable(sheet, document.taxes);
  for (const note of document.notes) drawNote(sheet, note);
  const { legalFooter } = document.branding;
  const isLong = legalFooter !== null && sheet.pen.heightOf(legalFooter, width, small) > maxFooterHeight;
  if (isLong) drawNote(sheet, { heading: '', lines: [legalFooter] });
  if (document.annex.length > 0) beginPage(sheet);
  for (const table of document.annex) drawTable(sheet, table);
  drawFooters(sheet, document, { title, legal: isLong ? null : legalFooter });
  pdf.end();
  await ended;
  return Buffer.concat(chunks);
}

function drawHead(sheet: Sheet, document: PrintedDocument): void {
  const { pdf, pen, color } = sheet;
  const { branding, company, title, number, status, headline, seller, buyer, facts } = document;
  pdf.rect(0, 0, page.width, 6).fill(color);
  if (branding.logo !== null)
    pdf.image(Buffer.from(branding.logo.replace(/^[^,]*,/, ''), 'base64'), left, top, { fit: [170, 48] });
  else if (company !== null) pen.draw(company, { x: left, y: top + 2, width: 230 }, { size: 13, weight: 600, color });
  const half = { x: left + width / 2, width: width / 2 };
  const underTitle = pen.draw(title, { ...half, y: top - 4 }, { size: 20, weight: 600, align: 'right' });
  const under = [number, status].filter((text) => text !== null).join('  ·  ');
  sheet.y =
    Math.max(pen.draw(under, { ...half, y: underTitle + 1 }, { ...body, color: soft, align: 'right' }), top + 48) + 26;
  const third = width * 0.31;
  const ends = [seller, buyer].map((party, index) =>
    drawParty(sheet, party, { x: left + index * third, y: sheet.y, width: third - 16 }),
  );
  sheet.y =
    Math.max(...ends, drawFacts(sheet, facts, { x: left + 2 * third, y: sheet.y, width: width - 2 * third })) + 24;
  if (headline !== null)
    sheet.y = pen.draw(headline, { x: left, y: sheet.y, width }, { size: 15, weight: 600, isNumber: true }) + 14;
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

function drawParty({ pen }: Sheet, { heading, lines }: Party, box: Box): number {
  if (lines.length === 0) return box.y;
  let y = pen.draw(heading, box, label) + 2;
  for (const [index, line] of lines.entries())
    y = pen.draw(line, { ...box, y }, index === 0 ? { ...body, weight: 600 } : body);
  return y;
}

function drawFacts({ pen }: Sheet, facts: PrintedDocument['facts'], box: Box): number {
  let { y } = box;
  for (const { label: name, value } of facts) {
    const named = pen.widthOf(name, body) + 10;
    const valued = pen.widthOf(value, body);
    // A long value has a line of its own.
    const isShort = named + valued <= box.width;
    const under = pen.draw(name, { ...box, y }, { ...body, color: soft });
    y = pen.draw(value, { ...box, y: isShort ? y : under }, { ...body, align: 'right' }) + 1;
  }
  return y;
}

/** Begins a page if so much does not fit on this one. A part higher than a page is broken where it ends. */
function needs(sheet: Sheet, height: number): boolean {
  if (sheet.y + height <= page.height - bottom || sheet.y <= top) return false;
  beginPage(sheet);
  return true;
}

function beginPage(sheet: Sheet): void {
  sheet.pdf.addPage();
  sheet.y = top;
}

function drawRule({ pdf, y }: Sheet, color = rule, thick = 0.7, from = left): void {
  pdf.moveTo(from, y).lineTo(right, y).lineWidth(thick).strokeColor(color).stroke();
}

function drawLines(sheet: Sheet, { lines, columns: names }: PrintedDocument): void {
  const head = () => {
    drawRow(sheet, [names.description, names.quantity, names.price, names.amount], label);
    sheet.y += 4;
    drawRule(sheet, sheet.color, 1);
    sheet.y += 7;
  };
  head();
  for (const [index, line] of lines.entries()) {
    if (needs(sheet, Math.min(heightOfLine(sheet, line), 300))) head();
    else if (index > 0) {
      drawRule(sheet);
      sheet.y += 6;
    }
    drawRow(sheet, [line.description, line.quantity, line.price, line.amount], body);
    for (const { text, amount } of line.details) {
      if (needs(sheet, 14)) head();
      sheet.y = Math.max(
        sheet.pen.draw(text, { x: left + 10, y: sheet.y + 1, width: columns[0].width + 60 }, detail),
        sheet.pen.draw(amount, { ...columns[3], y: sheet.y + 1 }, { ...detail, isNumber: true, align: 'right' }),
      );
    }
    sheet.y += 6;
  }
  drawRule(sheet);
  sheet.y += 8;
}

function heightOfLine({ pen }: Sheet, { description, details }: DocumentLine): number {
  return pen.heightOf(description, columns[0].width, body) + details.length * 13 + 12;
}

function drawRow(sheet: Sheet, texts: readonly string[], style: TextStyle): void {
  const ends = columns.map(({ align, ...box }, index) =>
    sheet.pen.draw(texts[index] ?? '', { ...box, y: sheet.y }, { ...style, align, isNumber: index > 0 }),
  );
  sheet.y = Math.max(...ends);
}

function drawSums(sheet: Sheet, { sums }: PrintedDocument): void {
  const from = left + 210;
  needs(sheet, Math.min(sums.length * 21, 300));
  for (const [index, { label: name, amount, strong }] of sums.entries()) {
    needs(sheet, 20);
    if (index > 0) {
      drawRule(sheet, rule, 0.7, from);
      sheet.y += 4;
    }
    const style: TextStyle = strong ? { size: 9.5, weight: 600 } : body;
    const named = sheet.pen.draw(name, { x: from, y: sheet.y, width: 200 }, style);
    sheet.pen.draw(
      amount,
      { x: from + 190, y: sheet.y, width: right - from - 190 },
      { ...style, align: 'right', isNumber: true },
    );
    sheet.y = named + 4;
  }
}

function drawPayment(sheet: Sheet, { payment }: PrintedDocument): void {
  if (payment === null) return;
  const { pdf, pen, color } = sheet;
  const side = 66;
  sheet.y += 22;
  needs(sheet, side + 28);
  const { y } = sheet;
  pdf
    .roundedRect(left, y, width, side + 24, 6)
    .lineWidth(0.7)
    .strokeColor(rule)
    .stroke();
  const { size, path } = qrPath(payment.link);
  pdf
    .save()
    .translate(left + 12, y + 12)
    .scale(side / size);
  pdf.path(path).fill('#101828').restore();
  const box = { x: left + side + 30, width: width - side - 44 };
  const underHeading = pen.draw(payment.heading, { ...box, y: y + 16 }, { size: 10.5, weight: 600 });
  const underText = pen.draw(payment.text, { ...box, y: underHeading + 2 }, body);
  pen.draw(payment.action, { ...box, y: underText + 4 }, { ...body, weight: 600, color });
  const wide = pen.widthOf(payment.action, { ...body, weight: 600 });
  pdf.link(box.x, underText + 4, wide, 14, payment.link);
  pdf
    .moveTo(box.x, underText + 16)
    .lineTo(box.x + wide, underText + 16)
    .lineWidth(0.5)
    .strokeColor(color)
    .stroke();
  sheet.y += side + 24;
}

/** A table of names and numbers. Its heading stands at the head of the first column, and again on each page. */
function drawTable(sheet: Sheet, { heading, columns, rows, total }: DocumentTable): void {
  if (sheet.y > top) sheet.y += 22;
  const numbers = columns.length - 1;
  const gap = 12;
  const named = numbers <= 2 ? 250 : 130;
  const wide = (width - named) / numbers;
  const row = (texts: readonly string[], style: TextStyle) => {
    const ends = texts.map((text, index) => {
      const { y } = sheet;
      const cell =
        index === 0
          ? { x: left, y, width: named }
          : { x: left + named + (index - 1) * wide + gap, y, width: wide - gap };
      return sheet.pen.draw(text, cell, { ...style, align: index === 0 ? 'left' : 'right', isNumber: index > 0 });
    });
    sheet.y = Math.max(...ends) + 4;
  };
  const head = () => {
    row([heading, ...columns.slice(1)], label);
    drawRule(sheet);
    sheet.y += 5;
  };
  needs(sheet, 60);
  head();
  for (const texts of rows) {
    if (needs(sheet, 18)) head();
    row(texts, body);
  }
  if (total === null) return;
  if (needs(sheet, 22)) head();
  drawRule(sheet);
  sheet.y += 4;
  row(total, { ...body, weight: 600 });
}

function drawNote(sheet: Sheet, { heading, lines }: Party): void {
  sheet.y += 16;
  needs(sheet, 40);
  if (heading !== '') sheet.y = sheet.pen.draw(heading, { x: left, y: sheet.y, width }, label) + 2;
  for (const line of lines.flatMap((text) => text.split('\n'))) {
    needs(sheet, Math.min(sheet.pen.heightOf(line, width, body), 300));
    sheet.y = sheet.pen.draw(line, { x: left, y: sheet.y, width }, body);
  }
}

/** The legal text of the seller and the number of each page. */
function drawFooters(
  { pdf, pen }: Sheet,
  { pageText }: PrintedDocument,
  { title, legal }: { readonly title: string; readonly legal: string | null },
): void {
  const { count } = pdf.bufferedPageRange();
  for (let index = 0; index < count; index++) {
    pdf.switchToPage(index);
    const y = page.height - bottom + 22;
    pdf
      .moveTo(left, y - 6)
      .lineTo(right, y - 6)
      .lineWidth(0.5)
      .strokeColor(rule)
      .stroke();
    if (legal !== null) pen.draw(legal, { x: left, y, width }, small);
    const place = fillIn(pageText, { page: String(index + 1), pages: String(count) });
    pen.draw(`${title}  ·  ${place}`, { x: left, y: page.height - 24, width }, small);
  }
}

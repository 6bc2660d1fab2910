import { threads } from '../jobs/threads.ts';
import { Turns } from '../jobs/turns.ts';
import type { layOut } from './actions-pdf.ts';
import type { PrintedDocument } from './document.ts';
import { documentPage } from './document-page.ts';

const pdfLayout = { file: new URL('./actions-pdf.ts', import.meta.url), name: 'layOut' } as const;

/** Renders a document as a PDF of A4 pages, in a worker thread. */
export async function documentPdf(document: PrintedDocument): Promise<Buffer> {
  const pdf = await threads.run<typeof layOut>(pdfLayout, document);
  return Buffer.from(pdf.buffer, pdf.byteOffset, pdf.byteLength);
}

/** Renders a document as a page of HTML. */
export function documentHtml(document: PrintedDocument): Promise<string> {
  return new Turns().run(documentPage(document));
}

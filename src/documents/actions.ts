import { readFile } from 'node:fs/promises';
import { threads } from '../jobs/threads.ts';
import { Turns } from '../jobs/turns.ts';
import type { embedFonts } from './actions-fonts.ts';
import type { layOut } from './actions-pdf.ts';
import { type PrintedDocument, textsOf, unseen } from './document.ts';
import { documentPage, fontFace, fontFiles, pageCharacters } from './document-page.ts';

const pdfLayout = { file: new URL('./actions-pdf.ts', import.meta.url), name: 'layOut' } as const;

/** Renders a document as a PDF of A4 pages, in a worker thread. */
export async function documentPdf(document: PrintedDocument): Promise<Buffer> {
  const pdf = await threads.run<typeof layOut>(pdfLayout, document);
  return Buffer.from(pdf.buffer, pdf.byteOffset, pdf.byteLength);
}

/** Renders a document as a page of HTML, which holds its typefaces. */
export async function documentHtml(document: PrintedDocument): Promise<string> {
  const faces = await documentFaces(document);
  return new Turns().run(documentPage(document, faces));
}

let usual: Promise<string> | null = null;

/** The faces that nearly every document needs. */
async function usualFaces(): Promise<string> {
  const faces = Object.entries(fontFiles).map(async ([weight, name]) => {
    const file = await readFile(new URL(`../http/${name}`, import.meta.url));
    return fontFace({ weight: Number(weight), file });
  });
  return (await Promise.all(faces)).join('\n');
}

const usualCharacters: ReadonlySet<string> = new Set(pageCharacters);
const embedding = { file: new URL('./actions-fonts.ts', import.meta.url), name: 'embedFonts' } as const;

/** The typefaces of a document as a style, so that no name becomes boxes on a device that lacks its script. */
async function documentFaces(document: PrintedDocument): Promise<string> {
  usual ??= usualFaces().catch((error) => {
    // A failed read is tried again with the next document.
    usual = null;
    throw error;
  });
  const others = [...new Set(textsOf(document).join(''))].filter(
    (character) => !usualCharacters.has(character) && !unseen.test(character),
  );
  if (others.length === 0) return usual;
  const asked = { characters: others.join(''), isJapanese: document.language === 'ja' };
  return `${await usual}\n${await threads.run<typeof embedFonts>(embedding, asked)}`;
}

import { createRequire } from 'node:module';
import type bidiFactory from 'bidi-js';
import type { DocumentFonts, Weight } from './actions-fonts.ts';
import { unseen } from './document.ts';

/** How a text looks. */
export interface TextStyle {
  readonly size: number;
  readonly weight?: Weight;
  readonly color?: string;
  /** Digits of one width, for columns of numbers. */
  readonly isNumber?: boolean;
  readonly align?: 'left' | 'right' | 'center';
}

/** Letters of one font and one direction. */
interface Piece {
  readonly text: string;
  readonly font: string;
  /** Odd: from right to left. */
  readonly level: number;
  readonly width: number;
  readonly isSpace: boolean;
}

// The package is a function, which its types name as a default export.
const bidi = (createRequire(import.meta.url)('bidi-js') as typeof bidiFactory.default)();
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
// A line may end after each character of these scripts.
const ideograph = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]|[\ud840-\ud8ff]/;
// Marks, joiners and selectors belong to the letter before them.
const joined = /^(?:\p{M}|\u200c|\u200d|[\ufe00-\ufe0f])$/u;
// A word is broken between letters, and not before the marks of one.
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const lineHeight = 1.45;
// The height of letters above their line, as a part of the size.
const ascent = 1.05;

/** Sets texts of any script in lines on the pages of a PDF. */
export class Typesetter {
  readonly #pdf: PDFKit.PDFDocument;
  readonly #fonts: DocumentFonts;
  readonly #widths = new Map<string, number>();
  /** Texts with marks for which their font has no place: the library fails at it, and they stand where they are by default. */
  readonly #unplaced = new Set<string>();

  constructor(pdf: PDFKit.PDFDocument, fonts: DocumentFonts) {
    this.#pdf = pdf;
    this.#fonts = fonts;
    // The library takes a parsed font too, which its types do not say.
    for (const [name, font] of fonts.loaded) pdf.registerFont(name, font as unknown as Buffer);
  }

  /** The height of a text in a column. */
  heightOf(text: string, width: number, style: TextStyle): number {
    return this.#lines(text, width, style).length * style.size * lineHeight;
  }

  /** The width of a text on one line. */
  widthOf(text: string, style: TextStyle): number {
    return this.#pieces(text, style).reduce((sum, piece) => sum + piece.width, 0);
  }

  /** Draws a text in a column whose top is `y`, and returns the end of it. */
  draw(
    text: string,
    { x, y, width }: { readonly x: number; readonly y: number; readonly width: number },
    style: TextStyle,
  ) {
    const { size, color = '#101828', align = 'left', isNumber = false } = style;
    let top = y;
    for (const line of this.#lines(text, width, style)) {
      const taken = line.reduce((sum, piece) => sum + piece.width, 0);
      let at = x + (align === 'left' ? 0 : align === 'right' ? width - taken : (width - taken) / 2);
      for (const piece of inVisualOrder(line)) {
        if (!piece.isSpace) {
          this.#pdf.fillColor(color);
          const drawn = drawnText(piece);
          this.#measure(drawn, piece.font, style);
          this.#pdf
            .font(piece.font)
            .fontSize(size)
            .text(drawn, at, top + size * ascent, {
              lineBreak: false,
              baseline: 'alphabetic',
              ...this.#featuresOf(drawn, piece.font, isNumber),
            });
        }
        at += piece.width;
      }
      top += size * lineHeight;
    }
    return top;
  }

  /** The lines of a text: as many words as fit, and a word that is too long in parts. */
  #lines(text: string, width: number, style: TextStyle): Piece[][] {
    const lines: Piece[][] = [];
    for (const paragraph of text.split('\n')) {
      let line: Piece[] = [];
      let taken = 0;
      for (const word of this.#words(paragraph, style)) {
        const wide = word.reduce((sum, piece) => sum + piece.width, 0);
        if (taken + wide > width && line.some(({ isSpace }) => !isSpace) && !word.every(({ isSpace }) => isSpace)) {
          lines.push(withoutEnd(line));
          [line, taken] = [[], 0];
        }
        const parts = wide > width ? this.#broken(word, width, style) : [word];
        for (const [index, part] of parts.entries()) {
          if (index > 0) {
            lines.push(line);
            [line, taken] = [[], 0];
          }
          line.push(...part);
          taken += part.reduce((sum, piece) => sum + piece.width, 0);
        }
      }
      lines.push(withoutEnd(line));
    }
    return lines;
  }

  /** Pieces between which a line may end. */
  #words(text: string, style: TextStyle): Piece[][] {
    const words: Piece[][] = [];
    let isOpen = false;
    for (const piece of this.#pieces(text, style)) {
      const stands = piece.isSpace || ideograph.test(piece.text);
      if (isOpen && !stands) words.at(-1)?.push(piece);
      else words.push([piece]);
      isOpen = !stands;
    }
    return words;
  }

  /** A word in parts that fit the width. */
  #broken(word: readonly Piece[], width: number, style: TextStyle): Piece[][] {
    const parts: Piece[][] = [[]];
    let taken = 0;
    for (const piece of word) {
      let text = '';
      let wide = 0;
      const end = () => {
        if (text !== '') parts.at(-1)?.push({ ...piece, text, width: wide });
        [text, wide] = ['', 0];
      };
      for (const { segment: letter } of graphemes.segment(piece.text)) {
        const next = this.#measure(letter, piece.font, style);
        if (taken + next > width && taken > 0) {
          end();
          parts.push([]);
          taken = 0;
        }
        text += letter;
        wide += next;
        taken += next;
      }
      end();
    }
    return parts;
  }

  /** The text in pieces of one font and direction, with spaces and ideographs apart. */
  #pieces(text: string, style: TextStyle): Piece[] {
    const { weight = 400 } = style;
    const levels = rightToLeft.test(text) ? bidi.getEmbeddingLevels(text, 'auto').levels : null;
    const pieces: Piece[] = [];
    let [letters, font, level] = ['', '', 0];
    const end = () => {
      if (letters === '') return;
      const isSpace = /^\s+$/u.test(letters);
      pieces.push({ text: letters, font, level, isSpace, width: this.#measure(letters, font, style) });
      letters = '';
    };
    let at = 0;
    for (const letter of text) {
      if (unseen.test(letter)) {
        at += letter.length;
        continue;
      }
      const own = joined.test(letter) && letters !== '' ? font : this.#fonts.fontOf(letter, weight);
      const direction = levels?.[at] ?? 0;
      const isApart = ideograph.test(letter) || ideograph.test(letters) || / /.test(letter) !== / /.test(letters);
      if (own !== font || direction !== level || (isApart && !joined.test(letter))) end();
      letters += this.#fonts.drawn(letter);
      [font, level] = [own, direction];
      at += letter.length;
    }
    end();
    return pieces;
  }

  #measure(text: string, font: string, { size, isNumber = false }: TextStyle): number {
    const key = `${font} ${size} ${isNumber} ${text}`;
    const known = this.#widths.get(key);
    if (known !== undefined) return known;
    this.#pdf.font(font).fontSize(size);
    const width = this.#widthOfString(text, font, isNumber);
    this.#widths.set(key, width);
    return width;
  }

  #widthOfString(text: string, font: string, isNumber: boolean): number {
    try {
      return this.#pdf.widthOfString(text, this.#featuresOf(text, font, isNumber));
    } catch {
      this.#unplaced.add(`${font} ${text}`);
      return this.#pdf.widthOfString(text, this.#featuresOf(text, font, isNumber));
    }
  }

  /** The features of a text. The library keeps the layout of texts without any. */
  #featuresOf(text: string, font: string, isNumber: boolean): { features?: PDFKit.Mixins.OpenTypeFeatures[] } {
    if (this.#unplaced.has(`${font} ${text}`)) return unplacedMarks();
    return isNumber && font.startsWith('inter-') ? { features: ['tnum'] } : {};
  }
}

/** The library takes an object too, which its types do not say, and writes to it. */
function unplacedMarks(): { features: PDFKit.Mixins.OpenTypeFeatures[] } {
  const features = { mark: false, mkmk: false, abvm: false, blwm: false };
  return { features: features as unknown as PDFKit.Mixins.OpenTypeFeatures[] };
}

function withoutEnd(line: Piece[]): Piece[] {
  const last = line.findLastIndex(({ isSpace }) => !isSpace);
  return line.slice(0, last + 1);
}

/** The pieces from left to right: from the highest level to the lowest odd one, each run of it turned round. */
function inVisualOrder(line: readonly Piece[]): readonly Piece[] {
  const highest = Math.max(0, ...line.map(({ level }) => level));
  const ordered = [...line];
  for (let level = highest; level >= 1; level--) {
    for (let start = 0; start < ordered.length; start++) {
      if ((ordered[start]?.level ?? 0) < level) continue;
      let end = start;
      while ((ordered[end]?.level ?? 0) >= level) end++;
      ordered.splice(start, end - start, ...ordered.slice(start, end).reverse());
      start = end;
    }
  }
  return ordered;
}

/** The letters for the page. The font turns letters of Arabic and Hebrew round, and other signs are turned here. */
function drawnText({ text, level }: Piece): string {
  if (level % 2 === 0 || rightToLeft.test(text)) return text;
  return [...text]
    .reverse()
    .map((letter) => bidi.getMirroredCharacter(letter) ?? letter)
    .join('');
}

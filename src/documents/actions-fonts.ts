import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { create, type Font } from 'fontkit';
import { LRUCache } from 'lru-cache';
import { unseen } from './document.ts';
import { fontFace } from './document-page.ts';

/** The weight of a text: that of a body, or of a heading. */
export type Weight = 400 | 600;

type Range = readonly [first: number, last: number];

/** A file of a typeface, and the characters that it has. */
interface Slice {
  readonly name: string;
  /** The file of a weight. */
  readonly pathOf: (weight: Weight) => string;
  /** The first and last code points of its ranges. */
  readonly ranges: readonly Range[];
  /** Whether one file has all weights, a file has one, or there is one weight only. */
  readonly weights: 'variable' | 'files' | 'one';
}

const resolve = createRequire(import.meta.url).resolve;

function folderOf(name: string): string {
  return dirname(resolve(`${name}/package.json`));
}

/** The slices that a package of fonts lists, each with some of the characters. */
function slicesIn(
  folder: string,
  family: string,
  sliceOf: (name: string) => Pick<Slice, 'pathOf' | 'weights'>,
): Slice[] {
  const listed: unknown = JSON.parse(readFileSync(join(folder, 'unicode.json'), 'utf8'));
  return Object.entries(listed as Record<string, string>).map(([slice, ranges]) => {
    const name = `${family}-${slice.replaceAll(/[[\]]/g, '')}`;
    return { name, ranges: ranges.split(',').map(rangeOf), ...sliceOf(name) };
  });
}

/** The slices of a typeface of variable fonts. */
function variableSlices(family: string): Slice[] {
  const folder = folderOf(`@fontsource-variable/${family}`);
  return slicesIn(folder, family, (name) => ({
    weights: 'variable',
    pathOf: () => join(folder, 'files', `${name}-wght-normal.woff2`),
  }));
}

/** `U+0-FF` -> [0, 255] */
function rangeOf(text: string): Range {
  const [first = '', last = first] = text.slice(2).split('-');
  return [Number.parseInt(first, 16), Number.parseInt(last, 16)];
}

const interFolder = folderOf('@fontsource/inter');
// Nearly every document needs it, so it comes in files that need no change.
const inter = slicesIn(interFolder, 'inter', (name) => ({
  weights: 'files',
  pathOf: (weight) => join(interFolder, 'files', `${name}-${weight}-normal.woff`),
}));
/** Scripts that have a typeface of their own, besides those of Chinese, Japanese and Korean. */
const scripts = [
  ...['arabic', 'bengali', 'devanagari', 'gujarati', 'gurmukhi', 'kannada', 'khmer', 'malayalam', 'sinhala', 'tamil'],
  ...['telugu', 'thai'],
];
const others = scripts.flatMap((script) =>
  variableSlices(`noto-sans-${script}`).filter(({ name }) => name.endsWith(`-${script}`)),
);
const isHangul = ([first]: Range) => first >= 0xac00 && first <= 0xd7a3;
// Its ranges name syllables of Korean that it does not draw.
const chinese = variableSlices('noto-sans-sc').map((slice) => ({
  ...slice,
  ranges: slice.ranges.filter((range) => !isHangul(range)),
}));
const japanese = variableSlices('noto-sans-jp');
const korean = variableSlices('noto-sans-kr');
const dejavuPath = join(folderOf('dejavu-fonts-ttf'), 'ttf', 'DejaVuSans.ttf');
/** The last choice, for Hebrew, Armenian, Georgian and symbols. */
const dejavu: Slice = { name: 'dejavu', pathOf: () => dejavuPath, ranges: [[0, 0x10ffff]], weights: 'one' };

/** Chinese and Japanese share characters and draw them differently. */
const orders = {
  chinese: [...inter, ...others, ...chinese, ...japanese, ...korean, dejavu],
  japanese: [...inter, ...others, ...japanese, ...chinese, ...korean, dejavu],
} as const;

const digit = 0x30;

interface LoadedFont {
  readonly font: Font;
  /** The file that it was parsed from. */
  readonly file: Buffer;
}

// A document of names in many languages has some dozens.
const fonts = new LRUCache<string, LoadedFont>({ max: 150 });
const interFeatures = ['kern', 'mark', 'mkmk', 'ccmp', 'locl', 'tnum'];
const allCharacters = { keepAllGlyphs: true, targetFormat: 'sfnt' } as const;

/** A font of one weight. It is parsed once in the life of a thread. */
async function loadFont(slice: Slice, weight: Weight): Promise<LoadedFont> {
  const key = nameOf(slice, weight);
  const known = fonts.get(key);
  if (known !== undefined) return known;
  const path = slice.pathOf(weight);
  const file = slice.weights === 'one' ? await readFile(path) : await unpacked(slice, weight);
  const font = create(file);
  if (!('layout' in font)) throw new Error(`${path} is a collection of fonts`);
  fonts.set(key, { font, file });
  return { font, file };
}

/** A file of a typeface in one weight, and without compression: the parser would decompress a table for each glyph. */
async function unpacked(slice: Slice, weight: Weight): Promise<Buffer> {
  const { default: subsetFont } = await import('subset-font');
  // Scripts need their features, and Inter few: the arrows that it makes of several signs would cost most of a layout.
  const more =
    slice.weights === 'variable' ? { variationAxes: { wght: weight } } : { keepFeatures: [...interFeatures] };
  return subsetFont(await readFile(slice.pathOf(weight)), '', { ...allCharacters, ...more });
}

/** The fonts of a document: for each character the name of the one that has it. */
export class DocumentFonts {
  readonly loaded = new Map<string, Font>();
  readonly #slices = new Map<number, Slice>();
  readonly #missing = new Set<number>();
  readonly #order: readonly Slice[];

  private constructor(texts: readonly string[], isJapanese: boolean) {
    // Kana are in Japanese only.
    const hasKana = texts.some((text) => /[\u3040-\u30ff]/.test(text));
    this.#order = orders[isJapanese || hasKana ? 'japanese' : 'chinese'];
  }

  /** The fonts for all characters of the texts. */
  static async forTexts(texts: readonly string[], isJapanese: boolean): Promise<DocumentFonts> {
    const made = new DocumentFonts(texts, isJapanese);
    for (const character of new Set(texts.join(''))) if (!unseen.test(character)) await made.#choose(character);
    for (const slice of new Set(made.#slices.values())) {
      for (const weight of [400, 600] as const) {
        made.loaded.set(nameOf(slice, weight), (await loadFont(slice, weight)).font);
      }
    }
    return made;
  }

  /** The name of the font that draws a character. */
  fontOf(character: string, weight: Weight): string {
    return nameOf(this.#sliceOf(character), weight);
  }

  /** The character, or the sign for one that no typeface has: an archive must not draw a glyph that is missing. */
  drawn(character: string): string {
    return this.#missing.has(character.codePointAt(0) ?? 0) ? '\ufffd' : character;
  }

  /** The first slice that has the character. Some name more in their ranges than they draw. */
  async #choose(character: string): Promise<void> {
    const code = character.codePointAt(0) ?? 0;
    const claimed = this.#order.filter(({ ranges }) => ranges.some(([first, last]) => first <= code && code <= last));
    for (const slice of claimed) {
      if (!(await loadFont(slice, 400)).font.hasGlyphForCodePoint(code)) continue;
      this.#slices.set(code, slice);
      return;
    }
    this.#slices.set(code, dejavu);
    this.#missing.add(code);
  }

  /** The slices with their characters among the texts. */
  charactersBySlice(): Map<Slice, string[]> {
    const codes = Map.groupBy(this.#slices.keys(), (code) => this.#slices.get(code) ?? dejavu);
    return new Map([...codes].map(([slice, own]) => [slice, own.map((code) => String.fromCodePoint(code))]));
  }

  #sliceOf(character: string): Slice {
    // A character that the texts do not have takes the font of digits, which every document loads.
    return this.#slices.get(character.codePointAt(0) ?? 0) ?? this.#slices.get(digit) ?? dejavu;
  }
}

function nameOf({ name, weights }: Slice, weight: Weight): string {
  return weights === 'one' ? name : `${name}-${weight}`;
}

/** The typefaces of these characters as a style, which holds no more than their letters. Worker threads run it. */
export async function embedFonts({
  characters,
  isJapanese,
}: {
  readonly characters: string;
  readonly isJapanese: boolean;
}): Promise<string> {
  const { default: subsetFont } = await import('subset-font');
  const made = await DocumentFonts.forTexts([characters], isJapanese);
  const faces: string[] = [];
  for (const [slice, own] of made.charactersBySlice()) {
    for (const weight of slice.weights === 'one' ? ([400] as const) : ([400, 600] as const)) {
      const { file } = await loadFont(slice, weight);
      const letters = await subsetFont(file, own.join(''), { targetFormat: 'woff2' });
      faces.push(fontFace({ weight, file: letters, characters: own }));
    }
  }
  return faces.join('\n');
}

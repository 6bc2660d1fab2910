import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import subsetFont from 'subset-font';
import { fontFiles } from '../src/checkout/page-layout.ts';

// node scripts/run.js scripts/page-fonts.ts: makes the typefaces of the pages of buyers. Run it after an update of
// @fontsource/inter, and name the new version as `fontVersion`. A checkout loads both files, so they hold no more than the
// letters of its languages: documents have all of Inter.

const [first, last] = [0x20, 0x17e];
const isControl = (code: number) => code >= 0x7f && code < 0xa0;
const others = '–—‘’‚“”„†•…‰‹›€™−×';

const letters = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(
  (code) => !isControl(code),
);
const text = String.fromCodePoint(...letters) + others;
const folder = join(dirname(createRequire(import.meta.url).resolve('@fontsource/inter/package.json')), 'files');

// The types of the library do not name the features to keep.
const features = { targetFormat: 'woff2', keepFeatures: ['kern', 'tnum'] } as const;

for (const [weight, name] of Object.entries(fontFiles)) {
  const file = await readFile(join(folder, `inter-latin-${weight}-normal.woff2`));
  const made = await subsetFont(file, text, features);
  await writeFile(new URL(`../src/http/${name}`, import.meta.url), made);
  process.stdout.write(`${name}: ${made.length} bytes\n`);
}

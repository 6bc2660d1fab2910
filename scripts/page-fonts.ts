import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import subsetFont from 'subset-font';
import { fontFiles, pageCharacters } from '../src/documents/document-page.ts';

// node scripts/run.js scripts/page-fonts.ts: makes the typefaces of the pages of buyers. Run it after an update of
// @fontsource/inter, and name the new version as `fontVersion`. A checkout loads both files, so they hold no more than the
// letters of its languages: documents have all of Inter.

const folder = join(dirname(createRequire(import.meta.url).resolve('@fontsource/inter/package.json')), 'files');

// The types of the library do not name the features to keep.
const features = { targetFormat: 'woff2', keepFeatures: ['kern', 'tnum'] } as const;

for (const [weight, name] of Object.entries(fontFiles)) {
  const file = await readFile(join(folder, `inter-latin-${weight}-normal.woff2`));
  const made = await subsetFont(file, pageCharacters, features);
  await writeFile(new URL(`../src/http/${name}`, import.meta.url), made);
  process.stdout.write(`${name}: ${made.length} bytes\n`);
}

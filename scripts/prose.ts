import { relative, resolve } from 'node:path';
import process from 'node:process';
import { faultsOf, isProse, maxWords, proseCounts, sentencesOf } from '../test/tidy/prose.ts';
import { openParser } from '../test/tidy/syntax.ts';
import { readTree } from '../test/tidy/tree.ts';

// node scripts/run.js scripts/prose.ts [folder or file]
// Prints the sentences of the comments that are hard to read, each with its place, and how many there are.

const root = resolve(import.meta.dirname, '..');
const wanted = relative(root, resolve(process.argv[2] ?? root));
const files = new Map([...readTree(root)].filter(([path]) => isProse(path) && isWithin(path, wanted)));
const parser = openParser();
const sources = parser.parse(files);
parser.close();

for (const [path, { comments }] of sources) {
  for (const sentence of comments.flatMap(sentencesOf)) {
    for (const { fault, hint } of faultsOf(sentence)) {
      console.log(`${path}:${sentence.line}  ${fault}: ${hint}\n    ${sentence.text}`);
    }
  }
}

const { sentences, headless, long, deniedWords } = proseCounts(
  [...sources.values()].flatMap(({ comments }) => comments),
);
const perMille = sentences === 0 ? 0 : Math.ceil((headless * 1000) / sentences);
console.log(
  `${sentences} sentences: ${headless} headless (${perMille} per mille), ${long} of more than ${maxWords} words, ` +
    `${deniedWords} denied words.`,
);

function isWithin(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

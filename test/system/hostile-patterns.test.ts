import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createContext, Script } from 'node:vm';

// A pattern that steps back over what it has read takes the square of a text's length, or worse: a text of a megabyte
// then holds the service up for minutes. Here every pattern of the source is tried on long texts that nearly match.

const root = new URL('../../', import.meta.url);
const length = 100_000;
// A pattern that reads the text once is done in a few milliseconds, one that takes the square of it in minutes.
const hangsAfterMs = 20_000;

/** Patterns that may take the square of their text, and why their text is short. */
const bounded: Readonly<Record<string, string>> = {
  '\\.?0+$': 'a percentage of at most 16 characters, or the decimals of a number',
  'T.*(?:Z|[+-]\\d\\d(?::?\\d\\d)?)$': 'an instant in the code of tests and examples',
  '^https?:\\/\\/(?<authority>[^\\s\\\\/?#\\p{Cc}]+)[^\\s\\\\\\p{Cc}]*$': 'an address of at most 2048 characters',
  '\\/+$': 'an address of our own, which an operator has set or a Host that was looked at',
};

const literal =
  /(?:[=(,:?&|]|return|=>)\s*\/((?:[^/\\\n[*]|\\.|\[(?:[^\]\\\n]|\\.)*\])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])*)\/([dgimsuvy]*)(?=[\s.,);\]}])/g;

/** Every pattern that is written in the source of the service, and in openapi.json. */
function readPatterns(): Map<string, RegExp> {
  const patterns = new Map<string, RegExp>();
  for (const file of readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue;
    for (const [, source = '', flags = ''] of readFileSync(new URL(`src/${file}`, root), 'utf8').matchAll(literal))
      patterns.set(source, new RegExp(source, flags.replace(/[gy]/g, '')));
  }
  const document = readFileSync(new URL('openapi.json', root), 'utf8');
  for (const [, text] of document.matchAll(/"pattern": ?("(?:[^"\\]|\\.)*")/g)) {
    const source: string = JSON.parse(text ?? '""');
    patterns.set(source, new RegExp(source));
  }
  return patterns;
}

const begins = [
  '',
  '1',
  '12',
  'a',
  'a.',
  'a@',
  '[',
  'T',
  '2026-01-01T00:00',
  'https://a',
  'Bearer ',
  '?key=',
  '{a',
  '/',
];
const repeated = [
  ' ',
  '\t',
  '0',
  '1',
  'a',
  'A',
  'T',
  '.',
  '-',
  '_',
  '/',
  ':',
  '@',
  '=',
  '[',
  '{',
  '%',
  ',',
  '0.',
  '1 ',
  'a.',
  '/a',
];
const ends = ['', '!', '\u0000', 'x\n'];

function nastyTexts(): string[] {
  return begins.flatMap((begin) =>
    repeated.flatMap((unit) => {
      const middle = unit.repeat(length / unit.length);
      return ends.map((end) => begin + middle + end);
    }),
  );
}

const patterns = readPatterns();

test('the patterns of the source are found', () => {
  assert(patterns.size > 40, `${patterns.size}`);
  for (const source of Object.keys(bounded)) assert(patterns.has(source), `${source} is gone: take it off the list`);
});

test('no pattern takes longer than its text is long', () => {
  const context = createContext({ pattern: /x/, texts: nastyTexts() });
  const script = new Script('for (const text of texts) pattern.test(text)');
  for (const [source, pattern] of patterns) {
    if (source in bounded) continue;
    context.pattern = pattern;
    assert.doesNotThrow(() => script.runInContext(context, { timeout: hangsAfterMs }), `/${source}/`);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellOf, csvLines } from './csv.ts';

test('a field with a comma, a quote or a line break is quoted, and an empty one is empty', () => {
  assert.equal(
    csvLines([['a', 'b, c', 'say "hi"', 'two\nlines', null, '']]),
    'a,"b, c","say ""hi""","two\nlines",,\r\n',
  );
});

test('a text that a spreadsheet would compute has an apostrophe before it', () => {
  const texts = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\uFF1D1'];
  const lines = csvLines(texts.map((text) => [text])).split('\r\n');
  for (const [index, text] of texts.entries()) assert.equal(lines[index]?.replaceAll('"', ''), `'${text}`);
});

test('a negative amount is a number, and one beyond 2^53 is exact', () => {
  assert.equal(csvLines([[-5n, 9_007_199_254_740_993n, -2.5, true]]), '-5,9007199254740993,-2.5,true\r\n');
});

test('an instant is ISO 8601, an object is JSON, and an absent field is an empty cell', () => {
  const cells = [
    cellOf('createdAt', 0),
    cellOf('quantity', 3),
    cellOf('metadata', { plan: 'a' }),
    cellOf('memo', undefined),
  ];
  assert.equal(csvLines([cells]), '1970-01-01T00:00:00.000Z,3,"{""plan"":""a""}",\r\n');
});

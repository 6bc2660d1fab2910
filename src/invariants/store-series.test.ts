import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isComplete } from './store-series.ts';

const of = (counted: bigint, ...numbers: readonly bigint[]) => ({
  counted,
  lastNumber: numbers.reduce((most, n) => (n > most ? n : most), 0n),
  documents: BigInt(numbers.length),
  sum: numbers.reduce((sum, n) => sum + n, 0n),
  squares: numbers.reduce((sum, n) => sum + n * n, 0n),
});

test('a series is complete with each number from 1 to the last one', () => {
  for (const complete of [of(0n), of(1n, 1n), of(4n, 3n, 1n, 4n, 2n)]) assert.equal(isComplete(complete), true);
});

test('a series with a gap, a number twice or a number that nobody took is not complete', () => {
  const missing = of(3n, 1n, 3n);
  const untaken = of(2n, 1n, 2n, 3n);
  const fromZero = of(3n, 0n, 1n, 2n);
  const twice = of(2n, 1n, 1n);
  // 1 + 4 + 4 + 1 is the sum of 1, 2, 3 and 4.
  const sameSum = of(4n, 1n, 4n, 4n, 1n);
  for (const broken of [missing, untaken, fromZero, twice, sameSum]) assert.equal(isComplete(broken), false);
});

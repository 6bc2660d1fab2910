import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { allocate, divHalfAway, maxSafeAmount, mulDiv, smallerOf } from './money.ts';

const sumOf = (amounts: readonly bigint[]) => amounts.reduce((sum, amount) => sum + amount, 0n);

// Amounts well beyond the wire's limit, so that nothing depends on 53 or 64 bits.
const amount = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n });
const positive = fc.bigInt({ min: 1n, max: 10n ** 18n });
const weights = fc
  .array(fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 5n }), positive), { minLength: 1, maxLength: 12 })
  .filter((list) => list.some((weight) => weight > 0n));

test('the largest amount on the wire is the largest safe integer', () => {
  assert.equal(maxSafeAmount, BigInt(Number.MAX_SAFE_INTEGER));
});

test('a half is rounded away from zero, on both sides of zero', () => {
  const rows: [n: bigint, d: bigint, rounded: bigint][] = [
    [5n, 2n, 3n],
    [-5n, 2n, -3n],
    [1n, 2n, 1n],
    [-1n, 2n, -1n],
    [7n, 5n, 1n],
    [-7n, 5n, -1n],
    [4n, 3n, 1n],
    [5n, 3n, 2n],
    [6n, 3n, 2n],
    [0n, 3n, 0n],
  ];
  for (const [n, d, rounded] of rows) assert.equal(divHalfAway(n, d), rounded, `${n} / ${d}`);
});

test('dividing by zero or by a negative number is a bug, not a result', () => {
  assert.throws(() => divHalfAway(1n, 0n), assert.AssertionError);
  assert.throws(() => divHalfAway(1n, -2n), assert.AssertionError);
  assert.throws(() => mulDiv(1n, 1n, 0n), assert.AssertionError);
});

test('the rounded quotient is never more than half away from the exact one', () => {
  fc.assert(
    fc.property(amount, positive, (n, d) => {
      const twiceTheError = 2n * (divHalfAway(n, d) * d - n);
      assert(twiceTheError <= d && twiceTheError >= -d);
      // At exactly one half the result lies farther from zero than the exact quotient.
      if (twiceTheError === d) assert(n > 0n);
      if (twiceTheError === -d) assert(n < 0n);
    }),
  );
});

test('a refund mirrors its charge', () => {
  fc.assert(fc.property(amount, positive, (n, d) => assert.equal(divHalfAway(-n, d), -divHalfAway(n, d))));
});

test('mulDiv rounds once, at the end', () => {
  assert.equal(mulDiv(999n, 50n, 100n), 500n); // 499.5
  assert.equal(mulDiv(-999n, 50n, 100n), -500n);
  assert.equal(mulDiv(1000n, 2n, 3n), 667n);
  // Rounding 1000 / 3 first would lose the exact 1000.
  assert.equal(mulDiv(1000n, 3n, 3n), 1000n);
  assert.equal(mulDiv(maxSafeAmount, maxSafeAmount, maxSafeAmount), maxSafeAmount);
});

test('the smaller of two amounts is found on either side', () => {
  assert.equal(smallerOf(2n, 3n), 2n);
  assert.equal(smallerOf(3n, 2n), 2n);
  assert.equal(smallerOf(-3n, 2n), -3n);
});

test('what does not divide evenly goes to the largest remainders', () => {
  // 10 x 5/9, 3/9, 1/9 = 5.56, 3.33, 1.11: rounded down 5, 3, 1, and the one left over goes to .56.
  assert.deepEqual(allocate(10n, [5n, 3n, 1n]), [6n, 3n, 1n]);
  // 10 x 1/9, 3/9, 5/9: the same shares, last place first.
  assert.deepEqual(allocate(10n, [1n, 3n, 5n]), [1n, 3n, 6n]);
});

test('of equal remainders the earlier gets the unit', () => {
  assert.deepEqual(allocate(1000n, [1n, 1n, 1n]), [334n, 333n, 333n]);
  assert.deepEqual(allocate(5n, [1n, 1n, 1n]), [2n, 2n, 1n]);
  assert.deepEqual(allocate(1000n, [10n, 10n, 10n], 10n), [340n, 330n, 330n]);
  assert.deepEqual(allocate(1000n, [1n, 10n, 10n], 10n), [48n, 476n, 476n], 'finer weights have finer parts');
});

test('a negative total is split like the positive one', () => {
  assert.deepEqual(allocate(-1000n, [1n, 1n, 1n]), [-334n, -333n, -333n]);
});

test('a zero weight gets nothing, and a zero total gives zeros', () => {
  assert.deepEqual(allocate(5n, [0n, 1n, 0n, 1n]), [0n, 3n, 0n, 2n]);
  assert.deepEqual(allocate(0n, [2n, 1n]), [0n, 0n]);
});

test('splitting over nothing or over a negative weight is a bug', () => {
  assert.throws(() => allocate(10n, []), assert.AssertionError);
  assert.throws(() => allocate(10n, [0n, 0n]), assert.AssertionError);
  assert.throws(() => allocate(0n, [0n]), assert.AssertionError);
  assert.throws(() => allocate(10n, [2n, -1n]), assert.AssertionError);
});

test('what is split adds up again', () => {
  fc.assert(fc.property(amount, weights, (total, list) => assert.equal(sumOf(allocate(total, list)), total)));
});

test('each part is its exact share, less than one unit off', () => {
  fc.assert(
    fc.property(amount, weights, (total, list) => {
      const sum = sumOf(list);
      for (const [index, part] of allocate(total, list).entries()) {
        const error = part * sum - total * (list[index] ?? 0n);
        assert(error > -sum && error < sum);
        if (list[index] === 0n) assert.equal(part, 0n);
      }
    }),
  );
});

test('a larger weight never gets less', () => {
  fc.assert(
    fc.property(amount, weights, (total, list) => {
      const parts = allocate(total < 0n ? -total : total, list);
      const byWeight = list
        .map((weight, index) => ({ weight, part: parts[index] ?? 0n }))
        .sort((a, b) => Number(a.weight - b.weight));
      for (const [index, larger] of byWeight.entries()) {
        const smaller = byWeight[index - 1];
        if (smaller && smaller.weight < larger.weight) assert(smaller.part <= larger.part);
      }
    }),
  );
});

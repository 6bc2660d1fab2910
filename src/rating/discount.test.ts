import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DiscountTerms } from './discount.ts';
import { discountAmount, discountOfPart, spreadDiscount } from './discount.ts';

const percent = (amount: bigint): DiscountTerms => ({ kind: 'percent', amount });
const fixed = (amount: bigint): DiscountTerms => ({ kind: 'fixed', amount });
const sumOf = (amounts: readonly bigint[]) => amounts.reduce((sum, amount) => sum + amount, 0n);

const anyTerms = fc.record({
  kind: fc.constantFrom('percent', 'fixed'),
  amount: fc.oneof(fc.bigInt({ min: 0n, max: 120n }), fc.bigInt({ min: 0n, max: 10n ** 15n })),
});
const lines = fc.array(fc.bigInt({ min: -(10n ** 6n), max: 10n ** 12n }), { maxLength: 12 });

test('a discount takes off its per cent or its amount, and never more than there is', () => {
  const rows: [terms: DiscountTerms, base: bigint, discount: bigint][] = [
    [percent(15n), 3500n, 525n], // I2
    [percent(50n), 999n, 500n], // I3: 499.5
    [fixed(500n), 300n, 300n], // I4
    [percent(100n), 1000n, 1000n], // I8
    [percent(250n), 1000n, 1000n],
    [percent(0n), 1000n, 0n],
    [fixed(500n), 3000n, 500n],
    [fixed(0n), 3000n, 0n],
    [percent(1n), 49n, 0n],
    [percent(1n), 50n, 1n],
  ];
  for (const [terms, base, discount] of rows) {
    assert.equal(discountAmount(terms, base), discount, `${terms.amount} ${terms.kind} of ${base}`);
  }
});

test('a base of zero or less is not discounted', () => {
  for (const base of [0n, -100n]) {
    assert.equal(discountAmount(percent(50n), base), 0n);
    assert.equal(discountAmount(fixed(500n), base), 0n);
  }
});

test('a negative discount is a bug', () => {
  assert.throws(() => discountAmount(percent(-1n), 100n), assert.AssertionError);
  assert.throws(() => discountAmount(fixed(-1n), 0n), assert.AssertionError);
});

test('the lines share a discount in proportion to their amounts', () => {
  assert.deepEqual(spreadDiscount(525n, [3000n, 500n]), [450n, 75n]); // I2: 15 % of each
  assert.deepEqual(spreadDiscount(100n, [1000n, 1000n, 1000n]), [34n, 33n, 33n]);
  assert.deepEqual(spreadDiscount(300n, [200n, 100n]), [200n, 100n]);
});

test('a line of zero or less gets nothing of a discount', () => {
  assert.deepEqual(spreadDiscount(40n, [100n, -20n, 0n]), [40n, 0n, 0n]);
});

test('an invoice of nothing shares a discount of nothing', () => {
  assert.deepEqual(spreadDiscount(0n, [0n, 0n]), [0n, 0n]);
  assert.deepEqual(spreadDiscount(0n, []), []);
});

test('sharing out more than the lines hold, or less than nothing, is a bug', () => {
  assert.throws(() => spreadDiscount(301n, [200n, 100n]), assert.AssertionError);
  assert.throws(() => spreadDiscount(1n, []), assert.AssertionError);
  assert.throws(() => spreadDiscount(-1n, [200n]), assert.AssertionError);
});

test('a discount lies between nothing and its base', () => {
  fc.assert(
    fc.property(anyTerms, fc.bigInt({ min: -1000n, max: 10n ** 15n }), (terms, base) => {
      const discount = discountAmount(terms, base);
      assert(discount >= 0n);
      assert(discount <= (base > 0n ? base : 0n));
    }),
  );
});

test('the shares of a discount add up to it, and none exceeds its line', () => {
  fc.assert(
    fc.property(anyTerms, lines, (terms, amounts) => {
      const discount = discountAmount(terms, sumOf(amounts));
      const shares = spreadDiscount(discount, amounts);
      assert.equal(sumOf(shares), discount);
      assert.equal(shares.length, amounts.length);
      for (const [index, amount] of amounts.entries()) {
        const share = shares[index] ?? -1n;
        assert(share >= 0n && share <= (amount > 0n ? amount : 0n));
      }
    }),
  );
});

test('ten days of thirty get a third of a fixed discount, and a percentage whole', () => {
  const [part, whole] = [
    { start: 20, end: 30 },
    { start: 0, end: 30 },
  ];
  assert.deepEqual(discountOfPart({ kind: 'fixed', amount: 1000n }, part, whole), { kind: 'fixed', amount: 333n });
  assert.deepEqual(discountOfPart({ kind: 'percent', amount: 50n }, part, whole), { kind: 'percent', amount: 50n });
});

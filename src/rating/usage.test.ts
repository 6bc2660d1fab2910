import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { usageAmount } from './usage.ts';

const units = fc.bigInt({ min: 0n, max: 10n ** 18n });
const unitPrices = fc.bigInt({ min: 0n, max: 4503599627370495n });
const packages = fc.bigInt({ min: 1n, max: 10n ** 9n });

test('usage is charged in proportion to the package, rounded half away from zero', () => {
  const rows: [units: bigint, unitPrice: bigint, usageEventsPerUnit: bigint, amount: bigint][] = [
    [200n, 50n, 100n, 100n], // I5
    [250n, 50n, 100n, 125n], // I6
    [15n, 1n, 1n, 15n],
    [150n, 1n, 100n, 2n], // 1.5
    [149n, 1n, 100n, 1n], // 1.49
    [49n, 1n, 100n, 0n], // 0.49
    [50n, 1n, 100n, 1n], // 0.5
    [0n, 50n, 100n, 0n],
    [1000n, 0n, 1n, 0n],
  ];
  for (const [count, unitPrice, usageEventsPerUnit, amount] of rows) {
    const found = usageAmount({ units: count, unitPrice, usageEventsPerUnit });
    assert.equal(found, amount, `${count} at ${unitPrice} per ${usageEventsPerUnit}`);
  }
});

test('usage in dinars is rounded once to ten fils: 4.5 fils are nothing, 12 are 10', () => {
  const fils = (units: bigint, unitPrice: bigint) => usageAmount({ units, unitPrice, usageEventsPerUnit: 2n }, 10n);
  assert.deepEqual([fils(1n, 9n), fils(1n, 10n), fils(6n, 4n)], [0n, 10n, 10n]);
});

test('a package of no units is a bug', () => {
  assert.throws(() => usageAmount({ units: 1n, unitPrice: 1n, usageEventsPerUnit: 0n }), assert.AssertionError);
});

test('whole packages cost exactly their price', () => {
  fc.assert(
    fc.property(units, unitPrices, packages, (count, unitPrice, usageEventsPerUnit) => {
      const amount = usageAmount({ units: count * usageEventsPerUnit, unitPrice, usageEventsPerUnit });
      assert.equal(amount, count * unitPrice);
    }),
  );
});

test('more usage never costs less, and billing it in two lines differs by one unit at most', () => {
  fc.assert(
    fc.property(units, units, unitPrices, packages, (first, second, unitPrice, usageEventsPerUnit) => {
      const amountOf = (count: bigint) => usageAmount({ units: count, unitPrice, usageEventsPerUnit });
      assert(amountOf(first + second) >= amountOf(first));
      const difference = amountOf(first) + amountOf(second) - amountOf(first + second);
      assert(difference >= -1n && difference <= 1n);
    }),
  );
});

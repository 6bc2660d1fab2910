import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { savedPercent } from './saving.ts';

const month = (amount: bigint) => ({ amount, months: 1n });
const year = (amount: bigint) => ({ amount, months: 12n });

test('a year at the price of ten months saves 16 %, which is 16.67 % rounded down', () => {
  assert.equal(savedPercent(month(3000n), year(30_000n)), 16n);
  assert.equal(savedPercent(month(3000n), year(18_000n)), 50n);
  assert.equal(savedPercent({ amount: 8000n, months: 3n }, year(24_000n)), 25n);
  assert.equal(savedPercent(month(1n), year(0n)), 100n);
});

test('an interval that is not a whole percent cheaper saves nothing', () => {
  assert.equal(savedPercent(month(3000n), year(36_000n)), null);
  assert.equal(savedPercent(month(3000n), year(40_000n)), null);
  assert.equal(savedPercent(month(3000n), year(35_999n)), null);
  assert.equal(savedPercent(month(0n), year(0n)), null);
});

test('nobody is promised more than is saved, and one percent more would be too much', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 15n });
  const months = fc.bigInt({ min: 1n, max: 60n });
  fc.assert(
    fc.property(amount, months, amount, months, (one, few, other, many) => {
      const percent = savedPercent({ amount: one, months: few }, { amount: other, months: many }) ?? 0n;
      const [before, after] = [one * many, other * few];
      assert.ok(percent === 0n || after * 100n <= before * (100n - percent));
      assert.ok(before === 0n || after * 100n > before * (99n - percent));
    }),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { creditOf, type LineAmounts } from './credited.ts';

const nothing: LineAmounts = { amount: 0n, discountAmount: 0n, taxAmount: 0n };
const plus = (a: LineAmounts, b: LineAmounts): LineAmounts => ({
  amount: a.amount + b.amount,
  discountAmount: a.discountAmount + b.discountAmount,
  taxAmount: a.taxAmount + b.taxAmount,
});
const minus = (a: LineAmounts, b: LineAmounts) =>
  plus(a, { amount: -b.amount, discountAmount: -b.discountAmount, taxAmount: -b.taxAmount });

test('a line of 1000 with a discount of 100 and 19 % tax goes back in three parts to the cent', () => {
  const line = { amount: 1000n, discountAmount: 100n, taxAmount: 171n };
  const first = creditOf(line, nothing, 333n, false);
  assert.deepEqual(first, { amount: 333n, discountAmount: 33n, taxAmount: 57n, subtotal: 300n, total: 357n });
  const second = creditOf(line, first, 333n, false);
  assert.deepEqual(second, { amount: 333n, discountAmount: 34n, taxAmount: 57n, subtotal: 299n, total: 356n });
  const third = creditOf(line, plus(first, second), 334n, false);
  assert.deepEqual(third, { amount: 334n, discountAmount: 33n, taxAmount: 57n, subtotal: 301n, total: 358n });
});

test('half of a line with tax in its price gives back half of its price, tax included', () => {
  const line = { amount: 1190n, discountAmount: 0n, taxAmount: 190n };
  assert.deepEqual(creditOf(line, nothing, 595n, true), {
    ...{ amount: 595n, discountAmount: 0n, taxAmount: 95n },
    ...{ subtotal: 500n, total: 595n },
  });
});

test('a whole line gives back its amounts, and a line in single cents rounds each half up once', () => {
  const line = { amount: 2n, discountAmount: 0n, taxAmount: 1n };
  assert.deepEqual(creditOf(line, nothing, 2n, false).total, 3n);
  const first = creditOf(line, nothing, 1n, false);
  assert.deepEqual([first.taxAmount, creditOf(line, first, 1n, false).taxAmount], [1n, 0n]);
});

test('a credit of nothing, or of more than is left, is a bug', () => {
  const line = { amount: 10n, discountAmount: 0n, taxAmount: 0n };
  assert.throws(() => creditOf(line, nothing, 0n, false), assert.AssertionError);
  assert.throws(() => creditOf(line, { ...nothing, amount: 4n }, 7n, false), assert.AssertionError);
});

/** A line whose discount and tax are what an invoice may give it. */
const anyLine = fc
  .record({
    amount: fc.bigInt({ min: 1n, max: 10n ** 6n }),
    discount: fc.nat(100),
    tax: fc.nat(100),
    inclusive: fc.boolean(),
  })
  .map(({ amount, discount, tax, inclusive }) => {
    const discountAmount = (amount * BigInt(discount)) / 100n;
    const taxAmount = ((amount - discountAmount) * BigInt(tax)) / 100n;
    return { line: { amount, discountAmount, taxAmount }, inclusive };
  });
/** Parts in thousandths of what is left; a negative one voids the credit at that place. */
const anySteps = fc.array(fc.integer({ min: -5, max: 1000 }), { maxLength: 12 });

test('any sequence of credits, with voided ones between them, adds up to the line and leaves no negative rest', () => {
  fc.assert(
    fc.property(anyLine, anySteps, ({ line, inclusive }, steps) => {
      const standing: LineAmounts[] = [];
      let credited = nothing;
      const credit = (amount: bigint) => {
        const made = creditOf(line, credited, amount, inclusive);
        assert.ok(made.discountAmount >= 0n && made.taxAmount >= 0n && made.subtotal >= 0n && made.total >= 0n);
        assert.equal(made.subtotal + made.taxAmount, made.total);
        standing.push(made);
        credited = plus(credited, made);
      };
      for (const step of steps) {
        const left = line.amount - credited.amount;
        const [voided] = step < 0 ? standing.splice(-step % Math.max(standing.length, 1), 1) : [];
        if (voided !== undefined) credited = minus(credited, voided);
        const amount = (left * BigInt(Math.max(step, 0)) + 999n) / 1000n;
        if (voided === undefined && amount > 0n) credit(amount);
      }
      if (credited.amount < line.amount) credit(line.amount - credited.amount);
      assert.deepEqual(credited, line);
    }),
  );
});

test('without voided ones each share is within a cent of its exact value', () => {
  fc.assert(
    fc.property(anyLine, fc.bigInt({ min: 1n, max: 10n ** 6n }), ({ line, inclusive }, part) => {
      const amount = part < line.amount ? part : line.amount;
      const { discountAmount, taxAmount } = creditOf(line, nothing, amount, inclusive);
      for (const [share, whole] of [
        [discountAmount, line.discountAmount],
        [taxAmount, line.taxAmount],
      ] as const) {
        const off = share * line.amount - whole * amount;
        assert.ok(off <= line.amount && off >= -line.amount, `${share} of ${whole}`);
      }
    }),
  );
});

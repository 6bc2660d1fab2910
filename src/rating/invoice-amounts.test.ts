import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DiscountTerms } from './discount.ts';
import { invoiceAmounts, type TaxTerms } from './invoice-amounts.ts';
import { usageAmount } from './usage.ts';

const percent = (amount: bigint): DiscountTerms => ({ kind: 'percent', amount });
const fixed = (amount: bigint): DiscountTerms => ({ kind: 'fixed', amount });
const onTop = (percentage: string): TaxTerms => ({ percentage, inclusive: false });
const included = (percentage: string): TaxTerms => ({ percentage, inclusive: true });

const listOf = (discount: DiscountTerms | null) => (discount === null ? [] : [discount]);
/** Discount, subtotal, tax and total: what an invoice shows below its lines. */
function sums(lines: readonly bigint[], discount: DiscountTerms | null = null, tax: TaxTerms | null = null) {
  const { discountAmount, subtotal, taxAmount, total } = invoiceAmounts(lines, listOf(discount), tax);
  return { discountAmount, subtotal, taxAmount, total };
}
const discountShares = (lines: readonly bigint[], discount: DiscountTerms) =>
  invoiceAmounts(lines, [discount], null).shares.map((share) => share.discountAmount);
const taxShares = (lines: readonly bigint[], tax: TaxTerms) =>
  invoiceAmounts(lines, [], tax).shares.map((share) => share.taxAmount);

test('I1: one at 3000 is 3000', () => {
  assert.deepEqual(sums([3000n]), { discountAmount: 0n, subtotal: 3000n, taxAmount: 0n, total: 3000n });
});

test('I2: three at 1000 and one at 500, 15 per cent off 3500, are 2975; the lines bear 450 and 75 of it', () => {
  const lines = [3000n, 500n];
  assert.deepEqual(sums(lines, percent(15n)), { discountAmount: 525n, subtotal: 2975n, taxAmount: 0n, total: 2975n });
  assert.deepEqual(discountShares(lines, percent(15n)), [450n, 75n]);
});

test('I3: half of 999 off is 500 off, so 499 are due', () => {
  assert.deepEqual(sums([999n], percent(50n)), { discountAmount: 500n, subtotal: 499n, taxAmount: 0n, total: 499n });
});

test('I4: a fixed 500 off 300 leaves nothing', () => {
  assert.deepEqual(sums([300n], fixed(500n)), { discountAmount: 300n, subtotal: 0n, taxAmount: 0n, total: 0n });
});

test('I6: 2000 and 250 units at 50 per 100 are 2125, not 2100 or 2150', () => {
  const usage = usageAmount({ units: 250n, unitPrice: 50n, usageEventsPerUnit: 100n });
  assert.equal(sums([2000n, usage]).total, 2125n);
});

test('I8: all of it off is nothing, also where there would be tax', () => {
  const nothing = { discountAmount: 1000n, subtotal: 0n, taxAmount: 0n, total: 0n };
  assert.deepEqual(sums([1000n], percent(100n)), nothing);
  assert.deepEqual(sums([1000n], percent(100n), onTop('19')), nothing);
  assert.deepEqual(sums([1000n], percent(100n), included('19')), nothing);
});

test('in dinars each amount is rounded once to ten fils: 15 % off 9.990 are 1.500, and 5 % tax on 8.490 is 0.420', () => {
  const { discountAmount, taxAmount, total } = invoiceAmounts([9990n], [percent(15n)], onTop('5'), 10n);
  assert.deepEqual([discountAmount, taxAmount, total], [1500n, 420n, 8910n]);
});

test('VAT of 19 % on top of 1000 is 190; in 1190 it is 190 as well', () => {
  const both = { discountAmount: 0n, subtotal: 1000n, taxAmount: 190n, total: 1190n };
  assert.deepEqual(sums([1000n], null, onTop('19')), both);
  assert.deepEqual(sums([1190n], null, included('19')), both);
});

test('tax is reckoned on what the discount leaves: 19 % of 900', () => {
  assert.deepEqual(sums([1000n], percent(10n), onTop('19')), {
    discountAmount: 100n,
    subtotal: 900n,
    taxAmount: 171n,
    total: 1071n,
  });
});

test('8.875 % of 1000 are 88.75, so 89; of 800 they are exactly 71', () => {
  assert.equal(sums([1000n], null, onTop('8.875')).taxAmount, 89n);
  assert.equal(sums([800n], null, onTop('8.875')).taxAmount, 71n);
});

test('tax is rounded once on the invoice, not on each line: 8.875 % of two at 400 are 71, not 36 and 36', () => {
  assert.equal(sums([400n, 400n], null, onTop('8.875')).taxAmount, 71n);
  assert.deepEqual(taxShares([400n, 400n], onTop('8.875')), [36n, 35n]);
});

test('all six decimals of a percentage count', () => {
  assert.equal(sums([100_000_000n], null, onTop('0.000001')).taxAmount, 1n);
  assert.equal(sums([100_000_000n], null, onTop('100')).taxAmount, 100_000_000n);
});

test('a line below zero lowers the sum but not the discount, and bears neither discount nor tax', () => {
  const { shares, ...amounts } = invoiceAmounts([3000n, -1000n], [percent(50n)], onTop('10'));
  assert.deepEqual(amounts, {
    sum: 2000n,
    discounts: [{ base: 3000n, amount: 1500n, shares: [1500n, 0n] }],
    discountAmount: 1500n,
    taxable: 500n,
    taxAmount: 50n,
    subtotal: 500n,
    total: 550n,
  });
  assert.deepEqual(shares, [
    { discountAmount: 1500n, taxAmount: 50n },
    { discountAmount: 0n, taxAmount: 0n },
  ]);
});

const amount = fc.bigInt(0n, 10n ** 12n);
test('of lines that can be charged, the total can be charged', () => {
  fc.assert(
    fc.property(fc.array(amount, { maxLength: 5 }), fc.bigInt(0n, 100n), fc.nat(99), (amounts, off, rate) => {
      const lines = amounts.map((each) => each * 10n);
      assert.equal(invoiceAmounts(lines, [percent(off)], onTop(String(rate)), 10n).total % 10n, 0n);
    }),
  );
});

const discountsInTurn = fc.array(
  fc.oneof(
    fc.bigInt(0n, 150n).map(percent),
    amount.map((each) => fixed(each)),
  ),
  { maxLength: 4 },
);
/** Lines and discounts. A line may take off up to what the others ask for after it. */
const bills = fc
  .tuple(fc.array(amount, { maxLength: 8 }), discountsInTurn, fc.integer({ min: 0, max: 100 }), fc.boolean())
  .map(([amounts, discounts, part, takesOff]) => {
    const { taxable } = invoiceAmounts(amounts, discounts, null);
    return { lines: takesOff ? [...amounts, -((taxable * BigInt(part)) / 100n)] : amounts, discounts };
  });
const taxes = fc.option(
  fc.record({
    percentage: fc
      .tuple(fc.nat(99), fc.nat(999_999), fc.integer({ min: 0, max: 6 }))
      .map(([whole, decimals, length]) =>
        length === 0 ? `${whole}` : `${whole}.${String(decimals).padStart(6, '0').slice(0, length)}`,
      ),
    inclusive: fc.boolean(),
  }),
);
const sumOf = (amounts: readonly bigint[]) => amounts.reduce((sum, each) => sum + each, 0n);

test('whatever the lines, the discounts and the tax: the parts add up, and none is below zero', () => {
  fc.assert(
    fc.property(bills, taxes, ({ lines, discounts }, tax) => {
      const amounts = invoiceAmounts(lines, discounts, tax);
      assert.equal(amounts.sum, sumOf(lines));
      assert.equal(amounts.taxable, amounts.sum - amounts.discountAmount);
      assert.equal(amounts.total, amounts.subtotal + amounts.taxAmount);
      // Tax that is in the prices is taken out of them: nobody pays more than they say.
      assert.equal(amounts.total, amounts.taxable + (tax?.inclusive ? 0n : amounts.taxAmount));
      assert.equal(amounts.shares.length, lines.length);
      assert.equal(sumOf(amounts.shares.map((share) => share.discountAmount)), amounts.discountAmount);
      assert.equal(sumOf(amounts.shares.map((share) => share.taxAmount)), amounts.taxAmount);
      const { sum: _, shares, discounts: taken, ...money } = amounts;
      assert.equal(sumOf(taken.map((part) => part.amount)), amounts.discountAmount);
      const all = [...Object.values(money), ...shares.flatMap((share) => Object.values(share))];
      assert(all.every((part) => part >= 0n));
      for (const [index, share] of shares.entries()) {
        const line = lines[index] ?? 0n;
        assert(share.discountAmount <= (line > 0n ? line : 0n), 'no line loses more than it asks for');
      }
    }),
  );
});

test('the tax is off by half a unit at the most', () => {
  fc.assert(
    fc.property(amount, fc.nat(100), fc.boolean(), (taxable, rate, inclusive) => {
      const { taxAmount } = invoiceAmounts([taxable], [], { percentage: String(rate), inclusive });
      const denominator = BigInt(inclusive ? 100 + rate : 100);
      const twiceOff = 2n * (taxAmount * denominator - taxable * BigInt(rate));
      assert(-denominator <= twiceOff && twiceOff <= denominator);
    }),
  );
});

test('paused time was paid before: it comes off after the discount', () => {
  assert.deepEqual(sums([3000n, -1500n], percent(50n)), {
    discountAmount: 1500n,
    subtotal: 0n,
    taxAmount: 0n,
    total: 0n,
  });
  const reduced = { discountAmount: 1000n, subtotal: 667n, taxAmount: 0n, total: 667n };
  assert.deepEqual(sums([3000n, -1333n], fixed(1000n)), reduced);
});

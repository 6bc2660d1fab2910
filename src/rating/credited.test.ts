import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { creditOf, creditOfTotal, creditsOfRefund, type LineAmounts, loweredLines } from './credited.ts';

const nothing: LineAmounts = { amount: 0n, discountAmount: 0n, taxAmount: 0n };
const plus = (a: LineAmounts, b: LineAmounts): LineAmounts => ({
  amount: a.amount + b.amount,
  discountAmount: a.discountAmount + b.discountAmount,
  taxAmount: a.taxAmount + b.taxAmount,
});
const minus = (a: LineAmounts, b: LineAmounts) =>
  plus(a, { amount: -b.amount, discountAmount: -b.discountAmount, taxAmount: -b.taxAmount });
/** A line that no other line has lowered. */
const so = (whole: LineAmounts, credited: LineAmounts) => ({ whole, credited, lowered: whole });

test('a line of 1000 with a discount of 100 and 19 % tax goes back in three parts to the cent', () => {
  const line = { amount: 1000n, discountAmount: 100n, taxAmount: 171n };
  const first = creditOf(so(line, nothing), 333n, false);
  assert.deepEqual(first, { amount: 333n, discountAmount: 33n, taxAmount: 57n, subtotal: 300n, total: 357n });
  const second = creditOf(so(line, first), 333n, false);
  assert.deepEqual(second, { amount: 333n, discountAmount: 34n, taxAmount: 57n, subtotal: 299n, total: 356n });
  const third = creditOf(so(line, plus(first, second)), 334n, false);
  assert.deepEqual(third, { amount: 334n, discountAmount: 33n, taxAmount: 57n, subtotal: 301n, total: 358n });
});

test('half of a line with tax in its price gives back half of its price, tax included', () => {
  const line = { amount: 1190n, discountAmount: 0n, taxAmount: 190n };
  assert.deepEqual(creditOf(so(line, nothing), 595n, true), {
    ...{ amount: 595n, discountAmount: 0n, taxAmount: 95n },
    ...{ subtotal: 500n, total: 595n },
  });
});

test('a whole line gives back its amounts, and a line in single cents rounds each half up once', () => {
  const line = { amount: 2n, discountAmount: 0n, taxAmount: 1n };
  assert.deepEqual(creditOf(so(line, nothing), 2n, false).total, 3n);
  const first = creditOf(so(line, nothing), 1n, false);
  assert.deepEqual([first.taxAmount, creditOf(so(line, first), 1n, false).taxAmount], [1n, 0n]);
});

test('a credit of nothing, or of more than is left, is a bug', () => {
  const line = { amount: 10n, discountAmount: 0n, taxAmount: 0n };
  assert.throws(() => creditOf(so(line, nothing), 0n, false), assert.AssertionError);
  assert.throws(() => creditOf(so(line, { ...nothing, amount: 4n }), 7n, false), assert.AssertionError);
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
        const made = creditOf(so(line, credited), amount, inclusive);
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
      const { discountAmount, taxAmount } = creditOf(so(line, nothing), amount, inclusive);
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

test('a refund of 7.14 of a line of 10.00 with 1.90 of tax is 6.00 and 1.14 of tax, and the rest is 4.00 and 0.76', () => {
  const line = { amount: 1000n, discountAmount: 0n, taxAmount: 190n };
  const first = creditOfTotal(so(line, nothing), 714n, false);
  assert.deepEqual(first, { amount: 600n, discountAmount: 0n, taxAmount: 114n, subtotal: 600n, total: 714n });
  const rest = creditOfTotal(so(line, first), 476n, false);
  assert.deepEqual(rest, { amount: 400n, discountAmount: 0n, taxAmount: 76n, subtotal: 400n, total: 476n });
});

test('a refund gives back the discount with the money: half of 9.00 that were 10.00 takes back 5.00 of the line', () => {
  const line = { amount: 1000n, discountAmount: 100n, taxAmount: 0n };
  const half = { amount: 500n, discountAmount: 50n, taxAmount: 0n, subtotal: 450n, total: 450n };
  assert.deepEqual(creditOfTotal(so(line, nothing), 450n, false), half);
  const included = { amount: 1190n, discountAmount: 0n, taxAmount: 190n };
  assert.deepEqual(creditOfTotal(so(included, nothing), 595n, true), {
    ...{ amount: 595n, discountAmount: 0n, taxAmount: 95n, subtotal: 500n, total: 595n },
  });
});

test('one of the two cents of a line that is one cent with one of tax is its tax, so that the other can go back too', () => {
  const line = { amount: 1n, discountAmount: 0n, taxAmount: 1n };
  const first = creditOfTotal(so(line, nothing), 1n, false);
  assert.deepEqual([first.amount, first.taxAmount], [0n, 1n]);
  assert.equal(creditOf(so(line, first), 1n, false).total, 1n);
});

/** A plan of 10.00 and usage of 2.00, less 3.00 of paused time: 19 % of 9.00 are 1.71. */
function afterPause() {
  const wholes = [
    { amount: 200n, discountAmount: 0n, taxAmount: 29n },
    { amount: -300n, discountAmount: 0n, taxAmount: 0n },
    { amount: 1000n, discountAmount: 0n, taxAmount: 142n },
  ];
  const lowered = loweredLines(wholes);
  return wholes.map((whole, index) => {
    return { whole, lowered: lowered[index] ?? whole, credited: nothing, isUsage: index === 0 };
  });
}

test('a refund of 9.81 takes all of the plan and 0.89 of the usage, and leaves paused time alone', () => {
  const lines = afterPause();
  const totals = (total: bigint) => creditsOfRefund(lines, total, false)?.map((credit) => credit?.total ?? 0n);
  assert.deepEqual(totals(714n), [0n, 0n, 714n]);
  assert.deepEqual(totals(981n), [89n, 0n, 892n]);
  assert.equal(totals(1372n), undefined);
});

test('a refund of an invoice that paused time lowered takes back its tax, all of it or in proportion', () => {
  const sums = (total: bigint) =>
    creditsOfRefund(afterPause(), total, false)?.map((credit) => [credit?.subtotal, credit?.taxAmount]);
  const none = [undefined, undefined];
  assert.deepEqual(sums(1071n), [[150n, 29n], none, [750n, 142n]]);
  assert.deepEqual(sums(446n), [none, none, [375n, 71n]]);
  const [, , plan] = afterPause();
  assert(plan);
  assert.deepEqual(creditOf(plan, 375n, false).taxAmount, 71n);
  assert.deepEqual(creditOf(plan, 1000n, false).taxAmount, 142n, 'at most all of it');
});

test('a full refund of a discounted line that paused time lowered takes back the net amount and the tax of its invoice', () => {
  for (const [inclusive, taxAmount, net] of [
    [false, 133n, 700n],
    [true, 112n, 588n],
  ] as const) {
    const whole = { amount: 1250n, discountAmount: 250n, taxAmount };
    const paused = { amount: -300n, discountAmount: 0n, taxAmount: 0n };
    const [lowered = whole] = loweredLines([whole, paused]);
    assert.deepEqual(lowered, { amount: 875n, discountAmount: 175n, taxAmount });
    const [credit] =
      creditsOfRefund([{ whole, lowered, credited: nothing, isUsage: false }], net + taxAmount, inclusive) ?? [];
    const total = net + taxAmount;
    assert.deepEqual(credit, { amount: 875n, discountAmount: 175n, taxAmount, subtotal: net, total });
  }
});

/** A step credits an amount by hand, or refunds money; a negative one voids an earlier credit. */
const anyMixed = fc.array(fc.record({ step: fc.integer({ min: -5, max: 1000 }), isRefund: fc.boolean() }), {
  maxLength: 10,
});

/** Cents, or what card networks take of a dinar. */
const anyUnit = fc.constantFrom(1n, 10n);
const times = ({ amount, discountAmount, taxAmount }: LineAmounts, unit: bigint): LineAmounts => {
  return { amount: amount * unit, discountAmount: discountAmount * unit, taxAmount: taxAmount * unit };
};

const anyLines = fc.array(fc.tuple(anyLine, fc.boolean()), { minLength: 1, maxLength: 4 });

test('refunds and credits by hand in any order, with voided ones between them, add up to their lines', () => {
  fc.assert(
    fc.property(anyLines, anyMixed, fc.bigInt({ min: 0n, max: 2000n }), anyUnit, (given, steps, lowering, unit) => {
      const inclusive = given[0]?.[0].inclusive ?? false;
      const of = (whole: LineAmounts) => whole.amount - whole.discountAmount + (inclusive ? 0n : whole.taxAmount);
      const wholes = given.map(([{ line }]) => times(line, unit));
      const lowered = loweredLines([...wholes, { ...nothing, amount: -lowering * unit }], unit);
      const lines = given.map(([{ line }, isUsage], index) => {
        const whole = wholes[index] ?? line;
        return { whole, lowered: lowered[index] ?? whole, credited: nothing, isUsage };
      });
      const partOf = (left: bigint, step: number) => (((left / unit) * BigInt(step) + 999n) / 1000n) * unit;
      const moneyLeft = () => lines.reduce((sum, { whole, credited }) => sum + of(minus(whole, credited)), 0n);
      const standing: { readonly index: number; readonly made: LineAmounts }[] = [];
      const credit = (index: number, made: LineAmounts) => {
        const line = lines[index];
        assert.ok(line !== undefined && made.amount >= 0n && made.discountAmount >= 0n && made.taxAmount >= 0n);
        for (const share of Object.values(made)) assert.equal(share % unit, 0n, 'no part is finer than a step');
        line.credited = plus(line.credited, made);
        const rest = minus(line.whole, line.credited);
        assert.ok(rest.amount >= rest.discountAmount && rest.discountAmount >= 0n && rest.taxAmount >= 0n);
        assert.ok(rest.amount > 0n || rest.taxAmount === 0n, 'money that is left has an amount to go back with');
        standing.push({ index, made });
      };
      const refund = (total: bigint) => {
        const credits = creditsOfRefund(lines, total, inclusive, unit);
        assert.equal(
          credits?.reduce((sum, each) => sum + (each?.total ?? 0n), 0n),
          total,
        );
        for (const [index, each] of (credits ?? []).entries()) if (each !== null) credit(index, each);
      };
      for (const { step, isRefund } of steps) {
        const [voided] = step < 0 ? standing.splice(-step % Math.max(standing.length, 1), 1) : [];
        const line = lines[voided?.index ?? 0];
        if (voided !== undefined && line !== undefined) line.credited = minus(line.credited, voided.made);
        else if (isRefund && step > 0 && moneyLeft() > 0n) refund(partOf(moneyLeft(), step));
        else if (step > 0 && line !== undefined && line.whole.amount > line.credited.amount) {
          credit(0, creditOf(line, partOf(line.whole.amount - line.credited.amount, step), inclusive, unit));
        }
      }
      if (moneyLeft() > 0n) refund(moneyLeft());
      assert.equal(moneyLeft(), 0n);
      assert.equal(creditsOfRefund(lines, unit, inclusive, unit), null);
    }),
    { numRuns: 200 },
  );
});

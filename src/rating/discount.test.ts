import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DiscountTerms, LineDiscount } from './discount.ts';
import { discountAmount, discountInTurn, discountLines, discountOfPart, paidBack, spreadDiscount } from './discount.ts';

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

test('a payback gives back what was billed after its discount, so that one bill at the lower price stays', () => {
  const billed = { listed: 500n, percentOff: 100n, percentage: 20n, net: 400n };
  const undiscounted = { listed: 500n, percentOff: 0n, percentage: 0n, net: 500n };
  const rows: [
    payback: bigint,
    so: typeof billed | (Omit<typeof billed, 'percentage'> & { percentage: null }),
    back: bigint,
  ][] = [
    [98n, undiscounted, 98n],
    // One bill of 402 has 80 off: 322 of 400 stay.
    [98n, billed, 78n],
    // Half had 20 % off and half nothing: 402 keep 40 of 50.
    [98n, { ...undiscounted, percentOff: 50n, percentage: null, net: 450n }, 88n],
    // A fixed discount of 50 stays whole, and one of 480 leaves 20 to give back.
    [98n, { ...undiscounted, net: 450n }, 98n],
    [98n, { ...undiscounted, net: 20n }, 20n],
    // A credit note gave all of it back already.
    [98n, { ...billed, net: 0n }, 0n],
    [500n, { ...billed, percentOff: 500n, percentage: 100n, net: 0n }, 0n],
    // A plan that bills no usage waived it.
    [98n, { listed: 0n, percentOff: 0n, percentage: null as never, net: 0n }, 0n],
  ];
  for (const [payback, so, back] of rows) assert.equal(paidBack(payback, so), back, `${payback} of ${so.listed}`);
  assert.equal(paidBack(980n, { listed: 5000n, percentOff: 750n, percentage: 15n, net: 4250n }, 10n), 830n);
  // The share of the line in a discount may be finer than a step.
  const shared = { listed: 2990n, percentOff: 299n, percentage: 10n, net: 2691n };
  assert.equal(paidBack(870n, shared, 10n), 780n);
  assert.equal(paidBack(2990n, shared, 10n), 2690n);
});

test('however usage is billed in parts at one percentage, a payback leaves billed what one bill would have billed', () => {
  const parts = fc.array(fc.bigInt(1n, 10n ** 9n), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(parts, fc.bigInt(0n, 100n), fc.bigInt(0n, 1000n), (amounts, percentage, rest) => {
      const listed = sumOf(amounts);
      const terms = percent(percentage);
      const percentOff = sumOf(amounts.map((amount) => discountAmount(terms, amount)));
      const price = (listed * rest) / 1001n;
      const net = listed - percentOff;
      const back = paidBack(listed - price, { listed, percentOff, percentage, net });
      const once = price - discountAmount(terms, price);
      // Roundings of the parts may have billed less already.
      assert.equal(net - back, net < once ? net : once);
    }),
  );
});

test('a discount for some prices takes off their lines alone: 20 % of 1000 are 200, of the 500 beside them nothing', () => {
  const lines = [
    { amount: 1000n, priceId: 'a' },
    { amount: 500n, priceId: 'b' },
    { amount: 300n, priceId: null },
    { amount: -100n, priceId: 'a' },
  ];
  const off = discountLines({ ...percent(20n), priceIds: ['a'] }, lines);
  assert.deepEqual(off, { base: 1000n, amount: 200n, shares: [200n, 0n, 0n, 0n] });
  const fixed = discountLines({ kind: 'fixed', amount: 5000n, priceIds: ['b'] }, lines);
  assert.deepEqual(fixed, { base: 500n, amount: 500n, shares: [0n, 500n, 0n, 0n] });
  assert.equal(discountLines({ ...percent(20n), priceIds: [] }, lines).base, 0n);
  assert.equal(discountLines(percent(50n), lines).amount, 900n);
});

test('several discounts come one after the other, each on what the ones before it left', () => {
  const [plan, seat] = [
    { amount: 3000n, priceId: 'plan' },
    { amount: 1000n, priceId: 'seat' },
  ];
  const rows: [terms: LineDiscount[], amounts: bigint[], shares: bigint[]][] = [
    [[], [], [0n, 0n]],
    // 20 % of 4000, then 500 of the 3200 that are left: 2400 and 800 bear 375 and 125.
    [
      [percent(20n), fixed(500n)],
      [800n, 500n],
      [975n, 325n],
    ],
    // The other way round the percentage is of 3500.
    [
      [fixed(500n), percent(20n)],
      [500n, 700n],
      [900n, 300n],
    ],
    // Half off twice is a quarter left, and not nothing.
    [
      [percent(50n), percent(50n)],
      [2000n, 1000n],
      [2250n, 750n],
    ],
    // Half of the plan, then 10 % of 1500 and 1000.
    [
      [{ ...percent(50n), priceIds: ['plan'] }, percent(10n)],
      [1500n, 250n],
      [1650n, 100n],
    ],
    // Nothing is left for the third, which is not used.
    [
      [fixed(1000n), fixed(9000n), percent(10n)],
      [1000n, 3000n, 0n],
      [3000n, 1000n],
    ],
  ];
  for (const [terms, amounts, shares] of rows) {
    const { parts, amount, shares: all } = discountInTurn(terms, [plan, seat]);
    assert.deepEqual([parts.map((part) => part.amount), all], [amounts, shares]);
    assert.equal(amount, sumOf(amounts));
  }
});

test('however many discounts there are, their shares add up to them and no line goes below zero', () => {
  fc.assert(
    fc.property(fc.array(anyTerms, { maxLength: 6 }), lines, (terms, amounts) => {
      const { parts, amount, shares } = discountInTurn(
        terms,
        amounts.map((each) => ({ amount: each, priceId: null })),
      );
      assert.equal(sumOf(shares), amount);
      assert.equal(sumOf(parts.map((part) => part.amount)), amount);
      for (const [index, each] of amounts.entries()) {
        const share = shares[index] ?? -1n;
        assert(share >= 0n && share <= (each > 0n ? each : 0n));
      }
      for (const part of parts) assert(part.amount >= 0n && part.amount <= part.base);
    }),
  );
});

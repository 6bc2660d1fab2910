import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fineDigits, type PricedUsage, type PriceModel, priceUsage, type Tier } from './price-model.ts';

const fine = 10n ** BigInt(fineDigits);
const unbounded = { freeUnits: 0n, minimumAmount: null, maximumAmount: null };

/** An amount in minor units, or a percentage, as a fine amount: `0.25`. */
function amountOf(text: string): bigint {
  const [whole = '', decimals = ''] = text.split('.');
  return BigInt(whole + decimals.padEnd(fineDigits, '0'));
}

function tier(upTo: bigint | null, unitAmount: string, flatAmount = '0', rate = '0'): Tier {
  return { upTo, unitAmount: amountOf(unitAmount), flatAmount: amountOf(flatAmount), rate: amountOf(rate) };
}

function tiered(kind: 'graduated' | 'volume', tiers: readonly Tier[]): PriceModel {
  return { ...unbounded, kind, tiers, amountPerEvent: 0n };
}

function used(units: bigint, more: Partial<PricedUsage> = {}): PricedUsage {
  return { units, per: 1n, events: 0n, ownAmount: 0n, ...more };
}

function amounts(model: PriceModel, units: readonly bigint[]): bigint[] {
  return units.map((each) => priceUsage(model, used(each)).amount);
}

// Up to 10 at 5, up to 100 at 4, then 3.
const steps = [tier(10n, '5'), tier(100n, '4'), tier(null, '3')];
const boundaries = [0n, 1n, 9n, 10n, 11n, 99n, 100n, 101n, 1000n];

test('graduated tiers charge each unit at the rate of its own tier', () => {
  assert.deepEqual(amounts(tiered('graduated', steps), boundaries), [0n, 5n, 45n, 50n, 54n, 406n, 410n, 413n, 3110n]);
});

test('volume tiers charge all units at the rate of the last one, so that unit 11 costs less than unit 10', () => {
  assert.deepEqual(amounts(tiered('volume', steps), boundaries), [0n, 5n, 45n, 50n, 44n, 396n, 400n, 303n, 3000n]);
});

test('a flat amount is added once, as soon as a unit is in its tier', () => {
  const flat = [tier(10n, '0', '1000'), tier(null, '1', '500')];
  assert.deepEqual(amounts(tiered('graduated', flat), [0n, 1n, 10n, 11n, 12n]), [0n, 1000n, 1000n, 1501n, 1502n]);
  assert.deepEqual(amounts(tiered('volume', flat), [0n, 1n, 10n, 11n]), [0n, 1000n, 1000n, 511n]);
});

test('packages are counted whole, the last one in full', () => {
  const model: PriceModel = { ...unbounded, kind: 'package', packageSize: 100n, packageAmount: amountOf('250') };
  assert.deepEqual(amounts(model, [0n, 1n, 99n, 100n, 101n, 200n]), [0n, 250n, 250n, 250n, 500n, 500n]);
});

test('2.9 % and 30 cents a payment of three payments of 10,000 cents in all are 380 cents', () => {
  const model: PriceModel = {
    ...tiered('graduated', [tier(null, '0', '0', '2.9')]),
    amountPerEvent: amountOf('30'),
  } as PriceModel;
  const { exact, ...priced } = priceUsage(model, used(10_000n, { events: 3n }));
  assert.equal(exact.numerator, 380n * exact.denominator);
  assert.deepEqual(priced, {
    amount: 380n,
    tiers: [{ tier: tier(null, '0', '0', '2.9'), units: 10_000n, amount: 290n }],
    otherAmount: 90n,
  });
});

test('percentages by tiers: 2 % up to 1,000 and 1 % beyond are 25 of 1,500', () => {
  const tiers = [tier(1_000n, '0', '0', '2'), tier(null, '0', '0', '1')];
  assert.deepEqual(amounts(tiered('graduated', tiers), [1_000n, 1_500n]), [20n, 25n]);
});

test('events that bring their own price cost the sum of these, rounded once', () => {
  const model: PriceModel = { ...unbounded, kind: 'dynamic' };
  assert.equal(priceUsage(model, used(3n, { ownAmount: amountOf('1.2') })).amount, 1n);
  assert.equal(priceUsage(model, used(3n, { ownAmount: amountOf('1.5') })).amount, 2n);
});

test('free units come off first, and the first tier begins behind them', () => {
  const model: PriceModel = { ...tiered('graduated', steps), freeUnits: 1_000n };
  assert.deepEqual(amounts(model, [999n, 1_000n, 1_001n, 1_011n]), [0n, 0n, 5n, 54n]);
});

test('a minimum is owed from the first unit on, and a maximum ends the price', () => {
  const model: PriceModel = {
    ...tiered('graduated', [tier(null, '1')]),
    minimumAmount: amountOf('50'),
    maximumAmount: amountOf('80'),
  };
  assert.deepEqual(amounts(model, [0n, 49n, 50n, 51n, 80n, 81n, 10n ** 18n]), [0n, 50n, 50n, 51n, 80n, 80n, 80n]);
  assert.equal(priceUsage(model, used(1n, { per: 1_000n })).amount, 50n);
});

test('a minimum is owed from the first event on where events have their own prices', () => {
  const model: PriceModel = { ...unbounded, kind: 'dynamic', minimumAmount: amountOf('50') };
  const priced = [0n, 1n].map((events) => priceUsage(model, used(0n, { events })).amount);
  assert.deepEqual(priced, [0n, 50n]);
});

test('twelve decimals are exact: 10^12 units at 10^-12 are 1, and half of them round up to 1', () => {
  const model = tiered('graduated', [tier(null, '0.000000000001')]);
  assert.deepEqual(amounts(model, [499_999_999_999n, 500_000_000_000n, 10n ** 12n, 10n ** 18n]), [
    0n,
    1n,
    1n,
    10n ** 6n,
  ]);
});

test('parts of a unit are exact: 90 minutes at 10 an hour are 15', () => {
  const model = tiered('graduated', [tier(1n, '10'), tier(null, '10')]);
  const { amount, tiers } = priceUsage(model, used(90n, { per: 60n }));
  assert.deepEqual(
    [amount, tiers.map(({ units, amount }) => [units, amount])],
    [
      15n,
      [
        [60n, 10n],
        [30n, 5n],
      ],
    ],
  );
});

test('the amounts of tiers are rounded so that they add up: 0.5 and 0.5 are 1 and 0', () => {
  const model = tiered('graduated', [tier(1n, '0.5'), tier(null, '0.5')]);
  const { amount, tiers } = priceUsage(model, used(2n));
  assert.deepEqual([amount, tiers.map((each) => each.amount)], [1n, [1n, 0n]]);
});

test('in dinars the price and its tiers are multiples of ten fils', () => {
  const { amount, tiers } = priceUsage(tiered('graduated', [tier(3n, '5'), tier(null, '4')]), used(7n), 10n);
  assert.deepEqual([amount, tiers.map((each) => each.amount)], [30n, [10n, 20n]]);
});

const units = fc.bigInt({ min: 0n, max: 10n ** 18n });
const fineAmounts = fc.bigInt({ min: 0n, max: 10n ** 6n * fine });
const withoutFlat = fc
  .tuple(
    fc.uniqueArray(fc.bigInt({ min: 1n, max: 10n ** 18n }), { maxLength: 5 }),
    fc.array(fineAmounts, { minLength: 6, maxLength: 6 }),
  )
  .map(([ends, prices]): Tier[] =>
    [...ends.sort((a, b) => (a < b ? -1 : 1)), null].map((upTo, index) => {
      return { upTo, unitAmount: prices[index] ?? 0n, flatAmount: 0n, rate: 0n };
    }),
  );

test('graduated prices never fall, and a unit more costs no more than the dearest tier', () => {
  fc.assert(
    fc.property(withoutFlat, units, (tiers, count) => {
      const [one = 0n, other = 0n] = amounts(tiered('graduated', tiers), [count, count + 1n]);
      const dearest = tiers.reduce((most, { unitAmount }) => (unitAmount > most ? unitAmount : most), 0n);
      assert(other >= one && other - one <= dearest / fine + 1n);
    }),
  );
});

test('a table with one tier is the price of a unit', () => {
  fc.assert(
    fc.property(units, fineAmounts, (count, unitAmount) => {
      const model = tiered('graduated', [{ upTo: null, unitAmount, flatAmount: 0n, rate: 0n }]);
      assert.equal(priceUsage(model, used(count)).amount, (2n * count * unitAmount + fine) / (2n * fine));
    }),
  );
});

test('tiers and the rest add up to the price, whatever the minimum, maximum and step', () => {
  const bound = fc.option(fineAmounts);
  fc.assert(
    fc.property(withoutFlat, units, bound, bound, fc.constantFrom(1n, 10n, 100n), (tiers, count, least, most, step) => {
      const model: PriceModel = { ...tiered('graduated', tiers), minimumAmount: least, maximumAmount: most };
      const priced = priceUsage(model, used(count), step);
      assert.equal(
        priced.tiers.reduce((sum, { amount }) => sum + amount, priced.otherAmount),
        priced.amount,
      );
      assert.equal(
        priced.tiers.reduce((sum, each) => sum + each.units, 0n),
        count,
      );
      assert.equal(priced.amount % step, 0n);
    }),
  );
});

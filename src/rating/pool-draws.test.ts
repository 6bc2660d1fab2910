import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { costOfMore, type DrawPrice, drawMore, isDrawable, noDraw, type PoolDraw, worthInPool } from './pool-draws.ts';
import { poolText, smallestPerUnit, unitsPaidBy } from './pool-units.ts';
import { fineDigits, type PriceModel, type Tier } from './price-model.ts';
import { noUsage } from './spending.ts';

// Prices in cents, and pools in dollars.
const bounds = { freeUnits: 0n, minimumAmount: null, maximumAmount: null };

/** An amount in cents, or a percentage, as a fine amount: `0.25`. */
function fine(text: string): bigint {
  const [whole = '', decimals = ''] = text.split('.');
  return BigInt(whole + decimals.padEnd(fineDigits, '0'));
}

function at(model: PriceModel, per = 1n): DrawPrice {
  return { model, per, digits: 2 };
}

function tier(upTo: number | null, unitAmount: string, flatAmount = '0', rate = '0') {
  const end = upTo === null ? null : BigInt(upTo);
  return { upTo: end, unitAmount: fine(unitAmount), flatAmount: fine(flatAmount), rate: fine(rate) };
}

function tiered(tiers: readonly Tier[], amountPerEvent = '0', kind: 'graduated' | 'volume' = 'graduated'): PriceModel {
  return { ...bounds, kind, tiers, amountPerEvent: fine(amountPerEvent) };
}
const perUnit = (unitAmount: string) => tiered([tier(null, unitAmount)]);
const percentage = (rate: string, perEvent: string) => tiered([tier(null, '0', '0', rate)], perEvent);
const packages = (size: number, amount: string): PriceModel => {
  return { ...bounds, kind: 'package', packageSize: BigInt(size), packageAmount: fine(amount) };
};
const dynamic: PriceModel = { ...bounds, kind: 'dynamic' };
const units = (count: number | bigint) => ({ ...noUsage, units: BigInt(count) });
const tiers = at(tiered([tier(100, '3'), tier(null, '2')]));

test('a pool draws the amount of the price, at the boundary of tiers as well', () => {
  const worth = (count: number) => poolText(worthInPool(tiers, units(count)));
  assert.deepEqual([1, 100, 101, 150].map(worth), ['0.03', '3', '3.02', '4']);
  const before = drawMore(tiers, noDraw, units(99));
  assert.equal(poolText(costOfMore(tiers, before, units(2))), '0.05');
  // 5 cents for 7 units is no whole number of cents for any of them.
  const bySeven = at(perUnit('5'), 7n);
  assert.deepEqual(
    [1, 7].map((count) => poolText(worthInPool(bySeven, units(count)))),
    ['0.007142857142', '0.05'],
  );
});

test('a package is paid for with its first unit, and the rest of it costs nothing', () => {
  const price = at(packages(10, '250'));
  const first = drawMore(price, noDraw, units(1));
  assert.equal(poolText(first.amount), '2.5');
  assert.deepEqual(
    [9, 10].map((more) => poolText(costOfMore(price, first, units(more)))),
    ['0', '2.5'],
  );
});

test('events cost their own amounts', () => {
  assert.equal(
    poolText(worthInPool(at(percentage('2.9', '30')), { units: 10_000n, events: 1n, ownAmount: 0n })),
    '3.2',
  );
  assert.equal(poolText(worthInPool(at(dynamic), { units: 5n, events: 1n, ownAmount: 1_500_000_000_000n })), '0.015');
});

test('a price is drawn only where its first unit costs something and more never cost less', () => {
  const drawable = (model: PriceModel) => isDrawable(at(model));
  for (const model of [tiers.model, dynamic, percentage('0', '1'), packages(5, '1')]) assert(drawable(model));
  for (const bound of [{ freeUnits: 1n }, { minimumAmount: 1n }, { maximumAmount: 1n }])
    assert(!drawable({ ...perUnit('1'), ...bound }));
  assert(!drawable(perUnit('0')));
  assert(!drawable(tiered([tier(5, '0'), tier(null, '2')])));
  assert(!drawable(tiered([tier(null, '1')], '0', 'volume')));
});

const amount = fc.integer({ min: 1, max: 10 ** 7 }).map((millionths) => (millionths / 10 ** 6).toFixed(6));
const upTo = fc.integer({ min: 1, max: 40 });
const prices: fc.Arbitrary<DrawPrice> = fc.oneof(
  fc.tuple(amount, fc.bigInt(1n, 1000n)).map(([unitAmount, per]) => at(perUnit(unitAmount), per)),
  fc.tuple(upTo, amount).map(([size, each]) => at(packages(size, each))),
  fc
    .tuple(upTo, upTo, amount, amount, amount, amount)
    .map(([first, second, one, two, three, flat]) =>
      at(tiered([tier(first, one), tier(first + second, two, flat), tier(null, three)])),
    ),
  fc.tuple(amount, amount).map(([rate, perEvent]) => at(percentage(rate, perEvent))),
  fc.constant(at(dynamic)),
);
const parts = fc.array(
  fc.record({ units: fc.bigInt(1n, 60n), events: fc.constant(1n), ownAmount: fc.bigInt(0n, 10n ** 15n) }),
  {
    minLength: 1,
    maxLength: 20,
  },
);

test('any parts draw in sum what their whole draws at once', () => {
  fc.assert(
    fc.property(prices, parts, (price, uses) => {
      let draw: PoolDraw = noDraw;
      let sum = 0n;
      for (const use of uses) {
        const cost = costOfMore(price, draw, use);
        assert(cost >= 0n);
        sum += cost;
        draw = drawMore(price, draw, use);
      }
      const { amount: _, ...whole } = draw;
      assert.equal(sum, costOfMore(price, noDraw, whole));
      assert.equal(sum, draw.amount);
    }),
  );
});

test('a balance pays for as many units as fit, and for no more', () => {
  fc.assert(
    fc.property(prices, fc.bigInt(0n, 500n), fc.bigInt(1n, 200n), (price, cents, count) => {
      const balance = (cents * smallestPerUnit) / 100n;
      const costOf = (some: bigint) => costOfMore(price, noDraw, units(some));
      const paid = unitsPaidBy({ balance, costOf, isWhole: false }, count);
      assert(paid <= count && costOf(paid) <= balance);
      assert(paid === count || costOf(paid + 1n) > balance);
      assert.equal(unitsPaidBy({ balance, costOf, isWhole: true }, count), paid === count ? count : 0n);
    }),
  );
});

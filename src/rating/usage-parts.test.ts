import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PriceModel, Tier } from './price-model.ts';
import { billParts, chargeAfter, partWithin, priceUnits, type UsageCharge } from './usage-parts.ts';

const fine = 10n ** 12n;
const unbounded = { freeUnits: 0n, minimumAmount: null, maximumAmount: null, amountPerEvent: 0n };

function tier(upTo: bigint | null, unitAmount: bigint, flatAmount = 0n): Tier {
  return { upTo, unitAmount: unitAmount * fine, rate: 0n, flatAmount: flatAmount * fine };
}

// 100 at 3, and then at 2.
const graduated: PriceModel = { ...unbounded, kind: 'graduated', tiers: [tier(100n, 3n), tier(null, 2n)] };
const volume: PriceModel = { ...unbounded, kind: 'volume', tiers: [tier(100n, 3n), tier(null, 2n)] };
const [june, july] = [6, 7];

/** Bills units, and answers the amounts of the lines and the charges after them. */
function bill(model: PriceModel, charges: readonly UsageCharge[], units: bigint, periodStart = june) {
  const parts = billParts({ units, charges, periodStart }, model, 1n);
  const after = new Map(charges.map((charge) => [charge.periodStart, charge]));
  for (const part of parts) after.set(part.periodStart, chargeAfter(part));
  return { amounts: parts.map(({ amount }) => amount), charges: [...after.values()] };
}

test('80 units and then 50 more are billed 240 and 120, the price of 130 units', () => {
  const first = bill(graduated, [], 80n);
  assert.deepEqual(first.amounts, [240n]);
  assert.deepEqual(bill(graduated, first.charges, 50n).amounts, [120n]);
  assert.equal(priceUnits(graduated, 130n).amount, 360n);
});

test('the next usage period begins with the first tier', () => {
  const { charges } = bill(graduated, [], 130n);
  assert.deepEqual(bill(graduated, charges, 10n, july).amounts, [30n]);
});

test('released units are billed again in their own usage period, at what it is worth then', () => {
  // The invoice of the first 80 units for 240 was voided; 50 units for 120 stand.
  const released = { periodStart: june, units: 130n, released: 80n, amount: 120n };
  assert.deepEqual(bill(graduated, [released], 80n + 10n, july).amounts, [240n, 30n]);
  assert.deepEqual(bill(graduated, [released], 80n + 10n, june).amounts, [260n]);
});

test('unit 101 makes all units cheaper: the part is negative, and the parts add up to 202', () => {
  const first = bill(volume, [], 100n);
  assert.deepEqual([first.amounts, bill(volume, first.charges, 1n).amounts], [[300n], [-98n]]);
});

test('a part is cut to the units that fit into 100: 33 at 3', () => {
  const [part] = billParts({ units: 80n, charges: [], periodStart: june }, graduated, 1n);
  assert(part);
  const cut = partWithin(part, 100n, graduated, 1n);
  assert.deepEqual([cut?.units, cut?.unitsSoFar, cut?.amount], [33n, 33n, 99n]);
  assert.equal(partWithin(part, 2n, graduated, 1n), null);
});

const amounts = fc.bigInt({ min: 0n, max: 5n * fine });
const models: fc.Arbitrary<PriceModel> = fc.oneof(
  fc.record({ size: fc.bigInt({ min: 1n, max: 50n }), amount: amounts, free: fc.bigInt({ min: 0n, max: 60n }) }).map(
    ({ size, amount, free }): PriceModel => ({
      ...{ freeUnits: free, minimumAmount: null, maximumAmount: amount * 4n },
      ...{ kind: 'package', packageSize: size, packageAmount: amount },
    }),
  ),
  fc
    .record({
      kind: fc.constantFrom('graduated', 'volume'),
      ends: fc.uniqueArray(fc.bigInt({ min: 1n, max: 200n }), { maxLength: 3 }),
      rates: fc.array(fc.tuple(amounts, amounts), { minLength: 4, maxLength: 4 }),
      minimum: fc.option(amounts),
    })
    .map(({ kind, ends, rates, minimum }): PriceModel => {
      const upTo = [...ends.sort((a, b) => (a < b ? -1 : 1)), null];
      const tiers = upTo.map((end, index) => {
        const [unitAmount = 0n, flatAmount = 0n] = rates[index] ?? [];
        return { upTo: end, unitAmount, flatAmount, rate: 0n };
      });
      return { ...unbounded, minimumAmount: minimum, kind: kind as 'graduated' | 'volume', tiers };
    }),
);

test('a period billed in any parts, of which any are voided and billed again, costs what it costs at once', () => {
  const step = fc.constantFrom(1n, 10n);
  const parts = fc.array(fc.tuple(fc.bigInt({ min: 1n, max: 120n }), fc.boolean()), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(models, parts, step, (model, uses, by) => {
      let charge: UsageCharge = { periodStart: june, units: 0n, released: 0n, amount: 0n };
      let units = 0n;
      for (const [used, isVoided] of uses) {
        units += used;
        const [part] = billParts({ units: used + charge.released, charges: [charge], periodStart: june }, model, by);
        assert(part);
        charge = chargeAfter(part);
        const { released, amount } = charge;
        if (isVoided) charge = { ...charge, released: released + part.units, amount: amount - part.amount };
      }
      if (charge.released > 0n) {
        const [again] = billParts({ units: charge.released, charges: [charge], periodStart: june }, model, by);
        assert(again);
        charge = chargeAfter(again);
      }
      assert.deepEqual([charge.units, charge.amount], [units, priceUnits(model, units, by).amount]);
    }),
  );
});

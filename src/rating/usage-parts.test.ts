import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PriceModel, Tier } from './price-model.ts';
import {
  billParts,
  chargeAfter,
  partWithin,
  priceQuantities,
  priceUnits,
  type Quantities,
  type UsageCharge,
  withoutReleased,
} from './usage-parts.ts';

const fine = 10n ** 12n;
const unbounded = { freeUnits: 0n, minimumAmount: null, maximumAmount: null, amountPerEvent: 0n };

function tier(upTo: bigint | null, unitAmount: bigint, flatAmount = 0n): Tier {
  return { upTo, unitAmount: unitAmount * fine, rate: 0n, flatAmount: flatAmount * fine };
}

// 100 at 3, and then at 2.
const graduated: PriceModel = { ...unbounded, kind: 'graduated', tiers: [tier(100n, 3n), tier(null, 2n)] };
const volume: PriceModel = { ...unbounded, kind: 'volume', tiers: [tier(100n, 3n), tier(null, 2n)] };
const [june, july] = [6, 7];

const noEvents = { events: 0n, releasedEvents: 0n, ownAmount: 0n, releasedOwnAmount: 0n };
const usageOf = (units: bigint) => ({ units, events: 0n, ownAmount: 0n });

/** Bills units, and answers the amounts of the lines and the charges after them. */
function bill(model: PriceModel, charges: readonly UsageCharge[], units: bigint, periodStart = june) {
  const parts = billParts({ ...usageOf(units), charges, periodStart }, () => model, 1n);
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
  const released = { ...noEvents, periodStart: june, units: 130n, released: 80n, amount: 120n };
  assert.deepEqual(bill(graduated, [released], 80n + 10n, july).amounts, [240n, 30n]);
  assert.deepEqual(bill(graduated, [released], 80n + 10n, june).amounts, [260n]);
});

test('unit 101 makes all units cheaper: the part is negative, and the parts add up to 202', () => {
  const first = bill(volume, [], 100n);
  assert.deepEqual([first.amounts, bill(volume, first.charges, 1n).amounts], [[300n], [-98n]]);
});

test('a part is cut to the units that fit into 100: 33 at 3', () => {
  const [part] = billParts({ ...usageOf(80n), charges: [], periodStart: june }, () => graduated, 1n);
  assert(part);
  const cut = partWithin(part, 100n, graduated, 1n);
  assert.deepEqual([cut?.units, cut?.unitsSoFar, cut?.amount], [33n, 33n, 99n]);
  assert.equal(partWithin(part, 2n, graduated, 1n), null);
});

// 3 % of the payments, and 30 for each of them.
const share: PriceModel = {
  ...unbounded,
  ...{ kind: 'graduated', tiers: [{ ...tier(null, 0n), rate: 3n * fine }], amountPerEvent: 30n * fine },
};

test('three payments of 10,000 in all cost 390, also if one is billed first, and an event alone is billed too', () => {
  const [first] = billParts(
    { units: 4000n, events: 1n, ownAmount: 0n, charges: [], periodStart: june },
    () => share,
    1n,
  );
  assert(first);
  const charges = [chargeAfter(first)];
  const [second] = billParts({ units: 6000n, events: 2n, ownAmount: 0n, charges, periodStart: june }, () => share, 1n);
  assert.deepEqual([first.amount, second?.amount, second?.eventsSoFar], [150n, 240n, 3n]);
  // Credits cover the units of a fourth one.
  const [third] = billParts({ units: 0n, events: 1n, ownAmount: 0n, charges, periodStart: june }, () => share, 1n);
  assert.deepEqual([third?.units, third?.amount], [0n, 30n]);
});

test('released events and own prices are billed again in their own usage period, and dropped where nothing bills them', () => {
  const dynamic: PriceModel = { ...unbounded, kind: 'dynamic' };
  const charge = { ...noEvents, periodStart: june, units: 5n, released: 2n, amount: 7n };
  const released = { ...charge, events: 3n, releasedEvents: 1n, ownAmount: 9n * fine, releasedOwnAmount: 2n * fine };
  const usage = { units: 6n, events: 2n, ownAmount: 6n * fine };
  const parts = billParts({ ...usage, charges: [released], periodStart: july }, () => dynamic, 1n);
  assert.deepEqual(
    parts.map(({ periodStart, units, events, amount }) => [periodStart, units, events, amount]),
    [
      [june, 2n, 1n, 2n],
      [july, 4n, 1n, 4n],
    ],
  );
  const { units, events, ownAmount, releasedEvents } = withoutReleased(released);
  assert.deepEqual([units, events, ownAmount, releasedEvents], [3n, 2n, 7n * fine, 0n]);
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

const eventModels: fc.Arbitrary<PriceModel> = fc.oneof(
  models,
  fc.tuple(amounts, amounts).map(
    ([rate, amountPerEvent]): PriceModel => ({
      ...unbounded,
      ...{ kind: 'graduated', tiers: [{ ...tier(null, 0n), rate }], amountPerEvent },
    }),
  ),
  fc.option(amounts).map((minimumAmount): PriceModel => ({ ...unbounded, minimumAmount, kind: 'dynamic' })),
);

/** The charge after its part was voided: all of the part is to be billed again. */
function voided(
  charge: UsageCharge,
  { units, events, ownAmount, amount }: Quantities & { amount: bigint },
): UsageCharge {
  return {
    ...{ ...charge, amount: charge.amount - amount, released: charge.released + units },
    ...{ releasedEvents: charge.releasedEvents + events, releasedOwnAmount: charge.releasedOwnAmount + ownAmount },
  };
}

/** All that is to be billed: new usage, and what is released. */
function unbilledOf(charge: UsageCharge, { units, events, ownAmount }: Quantities) {
  return {
    ...{ units: units + charge.released, events: events + charge.releasedEvents },
    ...{ ownAmount: ownAmount + charge.releasedOwnAmount, charges: [charge], periodStart: june },
  };
}

test('a period billed in any parts, of which any are voided and billed again, costs what it costs at once', () => {
  const step = fc.constantFrom(1n, 10n);
  const use = fc.record({
    units: fc.bigInt({ min: 0n, max: 120n }),
    events: fc.bigInt({ min: 1n, max: 3n }),
    ownAmount: amounts,
    isVoided: fc.boolean(),
  });
  fc.assert(
    fc.property(eventModels, fc.array(use, { minLength: 1, maxLength: 8 }), step, (model, uses, by) => {
      let charge: UsageCharge = { ...noEvents, periodStart: june, units: 0n, released: 0n, amount: 0n };
      let whole: Quantities = { units: 0n, events: 0n, ownAmount: 0n };
      for (const { isVoided, ...used } of uses) {
        const { units, events, ownAmount } = used;
        whole = { units: whole.units + units, events: whole.events + events, ownAmount: whole.ownAmount + ownAmount };
        const [part] = billParts(unbilledOf(charge, used), () => model, by);
        assert(part);
        charge = chargeAfter(part);
        if (isVoided) charge = voided(charge, part);
      }
      const [again] = billParts(unbilledOf(charge, { units: 0n, events: 0n, ownAmount: 0n }), () => model, by);
      if (again !== undefined) charge = chargeAfter(again);
      const { units, events, ownAmount, amount } = charge;
      assert.deepEqual({ units, events, ownAmount }, whole);
      assert.equal(amount, priceQuantities(model, whole, by).amount);
    }),
  );
});

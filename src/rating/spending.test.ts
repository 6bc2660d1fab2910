import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { instant } from '../kernel/calendar.ts';
import type { PriceModel } from './price-model.ts';
import { calendarPeriod, crossedThresholds, worthOf } from './spending.ts';

const fine = 10n ** 12n;
const tier = { upTo: null, unitAmount: 0n, rate: 0n, flatAmount: 0n };
const graduated: PriceModel = {
  kind: 'graduated',
  freeUnits: 0n,
  minimumAmount: null,
  maximumAmount: null,
  amountPerEvent: 0n,
  tiers: [
    { ...tier, upTo: 100n, unitAmount: 3n * fine },
    { ...tier, unitAmount: 2n * fine },
  ],
};

test('the worth of usage is the price of all its units, not of each use by itself', () => {
  const worth = (units: bigint, per = 1n) =>
    worthOf({ model: graduated, per }, { units, events: 0n, ownAmount: 0n }, 1n);
  assert.deepEqual([worth(100n), worth(150n), worth(0n)], [300n, 400n, 0n]);
  // A unit price for 1000 units: the fractions of single units are not lost.
  assert.deepEqual([worth(1n, 1000n), worth(500n, 1000n)], [0n, 2n]);
});

test('a change crosses the thresholds above what was used before, up to and with what is used after', () => {
  const limit = { amount: 200n, thresholds: [50, 80, 100] };
  assert.deepEqual(crossedThresholds(limit, 99n, 160n), [50, 80]);
  assert.deepEqual(crossedThresholds(limit, 100n, 159n), []);
  assert.deepEqual(crossedThresholds(limit, 199n, 500n), [100]);
  assert.deepEqual(crossedThresholds(limit, 500n, 100n), []);
});

test('uses one after the other cross each threshold once, as one use of them all would', () => {
  const thresholds = fc.uniqueArray(fc.integer({ min: 1, max: 100 }), { maxLength: 5 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), thresholds, fc.array(fc.nat(100)), (amount, percents, uses) => {
      const limit = { amount: BigInt(amount), thresholds: percents };
      let used = 0n;
      const crossed = uses.flatMap((use) => {
        const before = used;
        used += BigInt(use);
        return crossedThresholds(limit, before, used);
      });
      const atOnce = crossedThresholds(limit, 0n, used);
      assert.deepEqual(
        crossed.toSorted((a, b) => a - b),
        atOnce.toSorted((a, b) => a - b),
      );
    }),
  );
});

test('a period of the calendar is the day, the week from Monday or the month of an instant in UTC', () => {
  const at = instant('2026-03-01T00:00');
  assert.deepEqual(calendarPeriod('day', at), { start: at, end: instant('2026-03-02') });
  assert.deepEqual(calendarPeriod('week', at), { start: instant('2026-02-23'), end: instant('2026-03-02') });
  assert.deepEqual(calendarPeriod('month', at), { start: at, end: instant('2026-04-01') });
  assert.deepEqual(calendarPeriod('month', at - 1), { start: instant('2026-02-01'), end: at });
  assert.deepEqual(calendarPeriod('week', instant('1999-12-31')).start, instant('1999-12-27'));
});

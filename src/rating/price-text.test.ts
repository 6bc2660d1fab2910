import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PriceModel, Tier } from './price-model.ts';
import { priceRows } from './price-text.ts';

const fine = 10n ** 12n;
const none = { freeUnits: 0n, minimumAmount: null, maximumAmount: null };

/** Amounts in hundredths of a cent. */
function tier(upTo: bigint | null, unitAmount: bigint, flatAmount = 0n, rate = 0n): Tier {
  return { upTo, unitAmount: (unitAmount * fine) / 100n, flatAmount: (flatAmount * fine) / 100n, rate: rate * fine };
}

function tiered(kind: 'graduated' | 'volume', tiers: readonly Tier[], more: Partial<PriceModel> = {}): PriceModel {
  return { ...none, kind, tiers, amountPerEvent: 0n, ...more } as PriceModel;
}

const calls = tiered('graduated', [tier(1000n, 0n), tier(10_000n, 200n), tier(null, 50n)]);

const english = {
  language: 'en',
  texts: {
    freeUnits: '{units} free',
    unitsAt: '{units} at {rate}',
    each: '{amount} each',
    flat: '{amount}',
    and: 'and',
    package: '{amount} for each {size} begun',
    event: '{count} event',
    events: '{count} events',
    ownPrices: '{events} at their own prices',
    perEvent: '{events} at {amount} each',
    minimum: 'Minimum of {amount}',
    maximum: 'Maximum of {amount}',
  },
} as const;

test('the rows of a price are its tiers, packages and bounds, and add up to it', () => {
  const told = (model: PriceModel, units: bigint, events = 0n, ownAmount = 0n) =>
    priceRows(model, { units, events, ownAmount }, { currency: 'USD', step: 1n }, english).map(
      ({ text, amount }) => `${text}: ${amount}`,
    );
  assert.deepEqual(told(calls, 1500n), ['1,000 free: 0', '500 at $0.02 each: 1000']);
  const least = tiered('graduated', [tier(null, 200n)], { freeUnits: 100n, minimumAmount: 1000n * fine });
  assert.deepEqual(told(least, 150n), ['100 free: 0', '50 at $0.02 each: 100', 'Minimum of $10.00: 900']);
  const packages: PriceModel = { ...none, kind: 'package', packageSize: 100n, packageAmount: 500n * fine };
  assert.deepEqual(told({ ...packages, maximumAmount: 700n * fine }, 101n), [
    '$5.00 for each 100 begun: 1000',
    'Maximum of $7.00: -300',
  ]);
  const share = tiered('graduated', [tier(null, 0n, 0n, 3n)], { amountPerEvent: 30n * fine });
  assert.deepEqual(told(share, 10_000n, 3n), ['10,000 at 3%: 300', '3 events at $0.30 each: 90']);
  assert.deepEqual(told(share, 0n, 1n), ['1 event at $0.30 each: 30']);
  assert.deepEqual(told({ ...none, kind: 'dynamic' }, 7n, 2n, 5n * fine), ['2 events at their own prices: 5']);
});

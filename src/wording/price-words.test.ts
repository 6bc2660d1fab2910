import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PriceModel, Tier } from '../rating/price-model.ts';
import { modelText } from './price-words.ts';
import { wordingOf } from './wording.ts';

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

test('a price says in words what units cost', () => {
  const rows: [PriceModel, string][] = [
    [tiered('graduated', [tier(null, 25n)]), '$0.0025 each'],
    [tiered('graduated', [tier(null, 200n)], { freeUnits: 1000n }), 'first 1,000 free, then $0.02 each'],
    [calls, 'first 1,000 free, next 9,000 at $0.02 each, then $0.005 each'],
    [tiered('volume', [tier(10n, 50_000n), tier(null, 40_000n)]), '$5.00 each up to 10, $4.00 each above'],
    [tiered('volume', [tier(5n, 0n, 90_000n), tier(null, 0n, 160_000n)]), '$9.00 up to 5, $16.00 above'],
    [tiered('graduated', [tier(null, 0n, 0n, 3n)], { amountPerEvent: 30n * fine }), '3% and $0.30 for each event'],
    [{ ...none, kind: 'package', packageSize: 100n, packageAmount: 500n * fine }, '$5.00 for each 100 begun'],
    [
      tiered('graduated', [tier(null, 100n)], { minimumAmount: 1000n * fine, maximumAmount: 9000n * fine }),
      '$0.01 each, at least $10.00, at most $90.00',
    ],
    [{ ...none, kind: 'dynamic' }, 'each event at its own price'],
  ];
  for (const [model, text] of rows) assert.equal(modelText(model, 'USD', wordingOf('en')), text);
});

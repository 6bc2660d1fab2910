import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nextTopUpAttempt, smallerQuantity, topUpQuantity } from './auto-top-up.ts';

const packs = { quantity: null, creditsPerUnit: 400n, maxQuantity: 1_000_000 };

test('a top-up closes the gap with whole units, or buys the quantity that was set', () => {
  assert.equal(topUpQuantity({ ...packs, balance: -50n, upTo: 1_000n }), 3);
  assert.equal(topUpQuantity({ ...packs, balance: 200n, upTo: 1_000n }), 2);
  assert.equal(topUpQuantity({ ...packs, balance: 1_000n, upTo: 1_000n }), 0);
  assert.equal(topUpQuantity({ ...packs, balance: -(10n ** 30n), upTo: 1n }), 1_000_000);
  assert.equal(topUpQuantity({ ...packs, balance: 5n, upTo: null, quantity: 7 }), 7);
});

test('any gap is closed, by no unit more than it takes', () => {
  fc.assert(
    fc.property(
      fc.bigInt(-(10n ** 9n), 10n ** 9n),
      fc.bigInt(1n, 10n ** 9n),
      fc.bigInt(1n, 10n ** 6n),
      (balance, upTo, each) => {
        const given = { balance, upTo, quantity: null, creditsPerUnit: each, maxQuantity: Number.MAX_SAFE_INTEGER };
        const bought = BigInt(topUpQuantity(given));
        assert.ok(balance + bought * each >= upTo);
        assert.ok(bought === 0n || balance + (bought - 1n) * each < upTo);
      },
    ),
  );
});

test('a quantity that costs too much shrinks until it is none', () => {
  assert.equal(smallerQuantity(10, 1_000n, 750n), 7);
  assert.equal(smallerQuantity(3, 300n, 299n), 2);
  assert.equal(smallerQuantity(3, 300n, 0n), 0);
  // 333 with a tax of 19 %: 1,189 for three, and 396 for one.
  assert.equal(smallerQuantity(3, 1_189n, 396n), 1);
  assert.equal(smallerQuantity(3, 1_189n, 395n), 0);
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.bigInt(1n, 10n ** 12n), fc.bigInt(0n, 10n ** 12n), (quantity, total, rest) => {
      const next = smallerQuantity(quantity + 1, total, rest);
      assert.ok(next >= 0 && next <= quantity);
    }),
  );
});

test('the second attempt comes after an hour, the third after a day, and there is no fourth', () => {
  assert.deepEqual(
    [1, 2, 3].map((failures) => nextTopUpAttempt(failures, 0)),
    [3_600_000, 86_400_000, null],
  );
});

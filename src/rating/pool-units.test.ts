import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { poolAmount, pooledShare, poolText, smallestPerUnit, unitCostOf, unitsPaidBy } from './pool-units.ts';

const amounts = fc.bigInt({ min: 0n, max: 10n ** 27n });
const decimalTexts = amounts.map((amount) => poolText(amount * (smallestPerUnit / 10n ** 12n)));

test('an amount of a pool is exact as a text and as a number', () => {
  assert.equal(poolAmount('0.5'), smallestPerUnit / 2n);
  assert.equal(poolAmount('0.000000000001'), 2_162_160n);
  assert.equal(poolText(poolAmount('1200.50')), '1200.5');
  assert.equal(poolText(poolAmount('100')), '100');
  assert.equal(poolText(smallestPerUnit / 3n), '0.333333333333');
  assert.equal(poolText(-smallestPerUnit / 3n), '-0.333333333334');
  fc.assert(fc.property(decimalTexts, (text) => assert.equal(poolText(poolAmount(text)), text)));
});

test('a rate that is no whole number of smallest units is none', () => {
  assert.equal(unitCostOf({ cost: '2.5', per: 1_000_000 }), (smallestPerUnit * 25n) / 10_000_000n);
  assert.equal(unitCostOf({ cost: '1', per: 86_400 }), smallestPerUnit / 86_400n);
  assert.equal(unitCostOf({ cost: '1', per: 17 }), null);
  assert.equal(unitCostOf({ cost: '0', per: 1 }), null);
  assert.equal(unitCostOf({ cost: '17', per: 17 }), smallestPerUnit);
});

test('however small the events are, together they cost what their sum costs', () => {
  const pers = fc.constantFrom(1, 3, 7, 60, 1000, 3600, 86_400, 1_000_000);
  const events = fc.array(fc.bigInt({ min: 1n, max: 1000n }), { maxLength: 50 });
  fc.assert(
    fc.property(decimalTexts, pers, events, (cost, per, units) => {
      const unitCost = unitCostOf({ cost, per });
      if (unitCost === null) return;
      const total = units.reduce((sum, each) => sum + each, 0n);
      const drawn = units.reduce((sum, each) => sum + each * unitCost, 0n);
      // Compared without a division, so this is no rounded equality.
      assert.equal(drawn * BigInt(per), total * poolAmount(cost));
    }),
  );
});

const at = (balance: bigint, unitCost: bigint) => ({
  balance,
  costOf: (units: bigint) => units * unitCost,
  isWhole: false,
});

test('a pool that cannot pay for one unit decides as no pool does', () => {
  // 3 of 5 units that came after a debt of 400 are left on the meter.
  const account = { balance: -397n, free: 3n };
  assert.equal(pooledShare(2n, account, null), null);
  assert.equal(pooledShare(2n, account, at(1n, 2n)), null);
  assert.equal(pooledShare(2n, account, at(2n, 2n)), 0n);
  assert.equal(pooledShare(4n, account, at(2n, 2n)), 1n);
});

test('a pool pays for as many whole units as its balance covers, and never for more than there are', () => {
  assert.equal(unitsPaidBy(at(7n, 2n), 5n), 3n);
  assert.equal(unitsPaidBy(at(-1n, 2n), 5n), 0n);
  fc.assert(
    fc.property(amounts, amounts, fc.bigInt({ min: 1n, max: 10n ** 20n }), (balance, units, unitCost) => {
      const paid = unitsPaidBy(at(balance, unitCost), units);
      assert.ok(paid >= 0n && paid <= units && paid * unitCost <= balance);
      assert.ok(paid === units || (paid + 1n) * unitCost > balance);
    }),
  );
});

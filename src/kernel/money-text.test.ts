import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chargedStep } from './currency.ts';
import { decimalText, minorUnitDigits, moneyText } from './money-text.ts';

test('an amount is written with the digits that its currency has', () => {
  assert.equal(moneyText(123450n, 'USD'), 'USD 1,234.50');
  assert.equal(moneyText(500n, 'JPY'), 'JPY 500');
  assert.equal(moneyText(1500n, 'KWD'), 'KWD 1.500');
  assert.equal(moneyText(-5n, 'BHD'), '-BHD 0.005');
  assert.equal(moneyText(1_234_560n, 'TND'), 'TND 1,234.560');
  for (const code of ['KWD', 'BHD', 'JOD', 'OMR', 'TND', 'IQD', 'LYD'])
    assert.deepEqual([minorUnitDigits(code), chargedStep(code)], [3, 10n], code);
  // By custom nobody shows fillér, but they are counted.
  assert.equal(moneyText(50000n, 'HUF'), 'HUF 500.00');
  assert.deepEqual(['USD', 'JPY', 'KWD', 'HUF'].map(minorUnitDigits), [2, 0, 3, 2]);
});

test('cents below one and below zero keep their zeros and their sign', () => {
  assert.equal(moneyText(5n, 'EUR'), 'EUR 0.05');
  assert.equal(moneyText(-5n, 'EUR'), '-EUR 0.05');
  assert.equal(moneyText(0n, 'EUR'), 'EUR 0.00');
});

test('an amount beyond 2^53 is exact', () => {
  assert.equal(moneyText(9_007_199_254_740_993_01n, 'USD'), 'USD 9,007,199,254,740,993.01');
  assert.equal(decimalText(-1n, 6), '-0.000001');
});

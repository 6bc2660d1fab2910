import assert from 'node:assert/strict';
import { test } from 'node:test';
import { values } from '../../client/src/generated-values.ts';
import { digitsOf } from '../../dashboard/src/parts/currency.ts';
import { minorUnitDigits } from '../../src/kernel/money-text.ts';

test('the dashboard counts the decimals of each currency as the service does', () => {
  const counted = (digits: (currency: string) => number) => values.CurrencyCode.map((code) => [code, digits(code)]);
  assert.deepEqual(counted(digitsOf), counted(minorUnitDigits));
});

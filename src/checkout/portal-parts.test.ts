import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Included } from '../pricing/store-features.ts';
import { creditEntered, creditIn, moneyEntered, moneyIn, savingIn, unitsIn } from './portal-parts.ts';

test('an amount is read as people of all languages write it', () => {
  const amounts: readonly [string, string, bigint | null][] = [
    ['50', 'USD', 5000n],
    ['1,234.50', 'USD', 123_450n],
    ['1.234,5', 'EUR', 123_450n],
    ['1 234,50', 'EUR', 123_450n],
    ["1'234.50", 'CHF', 123_450n],
    ['1,234', 'USD', 123_400n],
    ['1.234', 'KWD', 1234n],
    ['1,234', 'JPY', 1234n],
    ['12.345', 'JPY', 12_345n],
    ['0.01', 'USD', 1n],
    ['0.125', 'USD', null],
    ...['', '0', '0.00', '-5', '5.', '1.2345', '1,23,4', '5e3', '$5', '9'.repeat(20), '1'.repeat(100)].map(
      (text): [string, string, null] => [text, 'USD', null],
    ),
  ];
  for (const [text, currency, amount] of amounts) assert.equal(moneyIn(text, currency), amount, `${text} ${currency}`);
});

test('units are whole, and an amount that a form shows is read as the same', () => {
  for (const [text, units] of [
    ['1,000', 1000n],
    ['1.000.000', 1_000_000n],
    ['12', 12n],
    ['1.5', null],
    ['1,00', null],
  ] as const)
    assert.equal(unitsIn(text), units, text);
  for (const currency of ['USD', 'JPY', 'KWD'])
    for (const amount of [1n, 99n, 100_000n, 123_456_789n])
      assert.equal(moneyIn(moneyEntered(amount, currency), currency), amount);
});

test('credits of a pool are read and shown with up to two decimals', () => {
  for (const [text, shown] of [
    ['1,000', '1000.00'],
    ['2.5', '2.50'],
    ['0,05', '0.05'],
  ] as const) {
    const units = creditIn(text, 'credit');
    assert.notEqual(units, null);
    assert.equal(creditEntered(text.replace(',000', '000').replace(',', '.'), 'credit'), shown);
    assert.equal(creditIn(shown, 'USD'), units);
  }
  assert.equal(creditIn('0.125', 'credit'), null);
  assert.equal(creditEntered('0.125', 'credit'), '0.12');
  assert.equal(creditIn('2.5', null), null);
  assert.equal(creditEntered(300n, null), '300');
});

const plan = (name: string, unitPrice: bigint, intervalUnit: 'month' | 'year', included: readonly Included[] = []) => ({
  ...{ name, unitPrice, intervalUnit, intervalCount: 1, pricing: null, minimumCommitment: null, included },
});
const calls = (amount: bigint, grantInterval: Included['grantInterval'] = null): Included => ({
  ...{ type: 'usage_credit_grant', name: 'Calls', amount, renewalFrequency: 'every_billing_period', grantInterval },
  ...{ usageMeterId: 'meter', poolUnit: null, resourceId: null, value: null },
});

test('a yearly plan saves against the monthly one that gives the same, and against no other', () => {
  const monthly = plan('Pro', 3000n, 'month', [calls(1000n)]);
  const saving = (yearly: ReturnType<typeof plan>, ...others: ReturnType<typeof plan>[]) =>
    savingIn([monthly, ...others, yearly], yearly);
  assert.equal(saving(plan('Pro yearly', 30_000n, 'year', [calls(12_000n)])), 16n);
  // The credits of one month for a year are not the same.
  assert.equal(saving(plan('Pro yearly', 30_000n, 'year', [calls(1000n)])), null);
  assert.equal(saving(plan('Pro yearly', 36_000n, 'year', [calls(12_000n)])), null);
  assert.equal(saving(plan('Max yearly', 30_000n, 'year')), null);
  assert.equal(savingIn([monthly], monthly), null);
  const cheaper = plan('Basic', 2600n, 'month', [calls(1000n)]);
  assert.equal(saving(plan('Pro yearly', 30_000n, 'year', [calls(12_000n)]), cheaper), 3n);
});

test('plans that give nothing are the same by the beginning of their names', () => {
  const [pro, max] = [plan('Pro', 3000n, 'month'), plan('Max', 6000n, 'month')];
  const yearly = plan('Pro, annual', 30_000n, 'year');
  assert.equal(savingIn([pro, max, yearly], yearly), 16n);
  assert.equal(savingIn([max, yearly], yearly), null);
});

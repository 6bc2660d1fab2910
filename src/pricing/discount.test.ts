import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DiscountChange, DiscountInput, type DiscountRow, decideDiscountChange } from './discount.ts';

const requested = { name: 'Spring', code: 'SPRING', amount: 10, amountType: 'percent', duration: 'once' };
const discount: DiscountRow = {
  id: 'discount_1',
  createdAt: 1,
  updatedAt: 1,
  pricingModelId: 'pricing_model_1',
  name: 'Spring',
  code: 'SPRING',
  amount: 10n,
  amountType: 'percent',
  active: true,
  duration: 'once',
  numberOfPayments: null,
};
const after = (change: unknown, from = discount) => decideDiscountChange(from, DiscountChange.parse(change));

test('a code is kept in upper case and has 3 to 20 characters', () => {
  assert.equal(DiscountInput.parse({ ...requested, code: ' spring-10% ' }).code, 'SPRING-10%');
  for (const code of ['abc', 'x'.repeat(20), '😀😀😀']) assert(DiscountInput.safeParse({ ...requested, code }).success);
  for (const code of ['', 'ab', ' ab ', 'x'.repeat(21), '😀😀', 5]) {
    assert(!DiscountInput.safeParse({ ...requested, code }).success, String(code));
  }
});

test('only number_of_payments has a number of payments, and needs one', () => {
  const fits = (change: object) => DiscountInput.safeParse({ ...requested, ...change }).success;
  assert(fits({ numberOfPayments: null }) && fits({ duration: 'forever' }));
  assert(fits({ duration: 'number_of_payments', numberOfPayments: 1 }));
  assert(!fits({ numberOfPayments: 1 }) && !fits({ duration: 'forever', numberOfPayments: 3 }));
  for (const numberOfPayments of [undefined, null, 0, -1, 1.5]) {
    assert(!fits({ duration: 'number_of_payments', numberOfPayments }));
  }
  assert(!fits({ duration: 'twice' }));
});

test('an amount is a whole number above 0; per cent may exceed 100', () => {
  assert.equal(DiscountInput.parse({ ...requested, amount: 150 }).amount, 150n);
  for (const amount of [0, -1, 1.5, 'ten', null, 2 ** 53]) {
    assert(!DiscountInput.safeParse({ ...requested, amount }).success, String(amount));
  }
});

test('what a change leaves out stays, and the number of payments follows the duration', () => {
  assert.deepEqual(after({}), discount);
  assert.deepEqual(after({ code: 'summer', active: false }), { ...discount, code: 'SUMMER', active: false });
  const thrice = after({ duration: 'number_of_payments', numberOfPayments: 3 });
  assert.deepEqual([thrice.duration, thrice.numberOfPayments], ['number_of_payments', 3]);
  assert.equal(after({ amount: 20 }, thrice).numberOfPayments, 3);
  assert.equal(after({ numberOfPayments: 5 }, thrice).numberOfPayments, 5);
  assert.equal(after({ duration: 'forever' }, thrice).numberOfPayments, null);
  assert.throws(() => after({ duration: 'number_of_payments' }), /is required when the duration is number_of_payments/);
  assert.throws(() => after({ numberOfPayments: 2 }), /must be absent or null/);
  assert.throws(() => after({ numberOfPayments: null }, thrice), /is required when the duration is number_of_payments/);
});

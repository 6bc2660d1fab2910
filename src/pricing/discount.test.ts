import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DiscountChange,
  DiscountInput,
  type DiscountRow,
  decideDiscountChange,
  decideRefusal,
  type RedemptionState,
} from './discount.ts';

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
  expiresAt: null,
  maximumRedemptions: null,
  maximumRedemptionsPerCustomer: null,
  productIds: null,
  minimumAmount: null,
  firstPurchaseOnly: false,
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

test('an order redeems a discount for its products and its minimum, of which their lines alone count', () => {
  const state = { now: 10, currency: 'USD', isUsedUp: false, hasBought: false };
  const ordered = [
    { productId: 'a', amount: 3000n },
    { productId: 'b', amount: 2000n },
  ];
  const why = (limits: Partial<DiscountRow>, more: Partial<RedemptionState> = {}) =>
    decideRefusal({ ...discount, ...limits }, { ...state, ordered, ...more });
  assert.equal(why({}), null);
  assert.equal(why({ expiresAt: 11 }), null);
  assert.equal(why({ expiresAt: 10 }), 'has expired');
  assert.equal(why({}, { isUsedUp: true }), 'has been redeemed as often as it may be');
  assert.equal(why({ productIds: ['b', 'c'] }), null);
  assert.equal(why({ productIds: ['c'] }), 'is for other products');
  assert.equal(why({ minimumAmount: 5000n }), null);
  assert.equal(why({ minimumAmount: 5001n }), 'is for orders of at least USD 50.01');
  assert.equal(why({ minimumAmount: 5000n, productIds: ['a'] }), 'is for orders of at least USD 50.00');
  // A session does not know its quantities yet.
  assert.equal(why({ minimumAmount: 5001n }, { ordered: [{ productId: 'a', amount: null }] }), null);
  assert.equal(why({ firstPurchaseOnly: true }), null);
  assert.equal(why({ firstPurchaseOnly: true }, { hasBought: true }), 'is for a first purchase only');
});

test('a limit stays until it is changed, and null takes it away', () => {
  const limited = after({ expiresAt: 5, maximumRedemptions: 3, minimumAmount: 100, productIds: ['a', 'a', 'b'] });
  assert.deepEqual([limited.expiresAt, limited.productIds], [5, ['a', 'b']]);
  assert.deepEqual(after({}, limited), limited);
  const none = { expiresAt: null, maximumRedemptions: null, minimumAmount: null, productIds: null };
  assert.deepEqual(after(none, limited), discount);
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

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { chargedStep, currencyCodes } from '../kernel/currency.ts';
import { fromStripeAmount, toStripeAmount } from './processor-stripe-outcome.ts';

describe('an amount at Stripe is the money that invoices show', () => {
  test('cents are cents, and yen are yen', () => {
    assert.equal(toStripeAmount(3000n, 'USD'), 3000);
    assert.equal(toStripeAmount(500n, 'JPY'), 500);
  });

  test('krónur and Ugandan shillings, which have no cents any more, are sent with two zeros', () => {
    assert.equal(toStripeAmount(5n, 'ISK'), 500);
    assert.equal(toStripeAmount(5n, 'UGX'), 500);
  });

  test('three digits are sent where the last is a zero, and cannot be charged otherwise', () => {
    assert.equal(toStripeAmount(5120n, 'KWD'), 5120);
    assert.equal(toStripeAmount(5124n, 'KWD'), null);
    assert.equal(fromStripeAmount(5120, 'KWD'), 5120n);
  });

  test('ariary, which Stripe counts in whole units, lose two zeros', () => {
    assert.equal(toStripeAmount(50000n, 'MGA'), 500);
    assert.equal(toStripeAmount(50050n, 'MGA'), null);
  });
});

test('every multiple of the charged step can be charged and comes back the same; nothing else can be charged', () => {
  fc.assert(
    fc.property(fc.constantFrom(...currencyCodes), fc.bigInt(1n, 10n ** 10n), (currency, amount) => {
      const sent = toStripeAmount(amount, currency);
      if (sent === null) return amount % chargedStep(currency) !== 0n;
      return amount % chargedStep(currency) === 0n && fromStripeAmount(sent, currency) === amount;
    }),
  );
});

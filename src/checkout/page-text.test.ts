import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayText } from '../kernel/iso-text.ts';
import { intervalText, methodText, safeAddress, withoutCode } from './page-text.ts';

test('days, intervals and payment methods read as people say them', () => {
  assert.equal(dayText(Date.UTC(2026, 11, 5)), '5 December 2026');
  assert.equal(dayText(8_640_000_000_000_000 + 86_400_000), '14 September 275760');
  assert.equal(intervalText('month', 1), 'per month');
  assert.equal(intervalText('week', 2), 'every 2 weeks');
  assert.equal(intervalText(null, null), 'once');
  assert.equal(methodText('card', { brand: 'visa', last4: '4242' }), 'Visa ending in 4242');
  assert.equal(methodText('us_bank_account', { last4: '6789' }), 'Bank account ending in 6789');
});

test('an address that would run as a script is none', () => {
  assert.equal(safeAddress('https://shop.example/thanks?a=1'), 'https://shop.example/thanks?a=1');
  assert.equal(safeAddress('shop://thanks'), 'shop://thanks');
  for (const address of ['javascript:alert(1)', 'JavaScript:alert(1)', 'data:text/html,x', '/thanks', 'nothing', null])
    assert.equal(safeAddress(address), null, String(address));
});

test('the code before the reason of a refusal is for programs', () => {
  assert.equal(withoutCode('card_declined (generic_decline): Your card was declined.'), 'Your card was declined.');
  assert.equal(withoutCode('The charge failed. card_declined: No.'), 'The charge failed. No.');
  assert.equal(withoutCode('Subscription sub_1 has ended.'), 'Subscription sub_1 has ended.');
});

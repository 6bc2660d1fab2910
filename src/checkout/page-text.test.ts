import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html } from '../kernel/html.ts';
import { dayText } from '../kernel/iso-text.ts';
import type { UsageTerms } from './checkout-view.ts';
import {
  includedText,
  intervalText,
  methodText,
  planTermsText,
  priceText,
  quantityText,
  recurringText,
  safeAddress,
  usageHtml,
  usageText,
  withoutCode,
} from './page-text.ts';

test('days, intervals and payment methods read as people say them', () => {
  assert.equal(dayText(Date.UTC(2026, 11, 5)), '5 December 2026');
  assert.equal(dayText(8_640_000_000_000_000 + 86_400_000), '14 September 275760');
  assert.equal(intervalText('month', 1), 'per month');
  assert.equal(intervalText('week', 2), 'every 2 weeks');
  assert.equal(intervalText(null, null), 'once');
  assert.equal(methodText('card', { brand: 'visa', last4: '4242' }), 'Visa ending in 4242');
  assert.equal(methodText('us_bank_account', { last4: '6789' }), 'Bank account ending in 6789');
});

test('a price in tiers reads as words, behind the amount of the quantity', () => {
  const monthly = { unit: 'month', count: 1 } as const;
  const plain = { unitPrice: 3000n, pricing: null, where: null };
  assert.equal(priceText(plain, 'USD', monthly), 'USD 30.00 per month');
  assert.equal(quantityText({ ...plain, quantity: 1 }, 'USD', monthly), 'USD 30.00 per month');
  assert.equal(quantityText({ ...plain, quantity: 3 }, 'USD', monthly), '3 x USD 30.00 per month');
  const terms = (minimumCommitment: bigint | null, billingTiming: 'in_advance' | 'in_arrears' = 'in_advance') =>
    planTermsText({ minimumCommitment, billingTiming }, 'USD', monthly);
  assert.equal(terms(10_000n), ', with a minimum of USD 100.00 per month including usage');
  assert.equal(terms(null), '');
  assert.equal(terms(null, 'in_arrears'), ', billed at the end of each month');
  assert.equal(recurringText({ unit: 'week', count: 2 }, null), 'to charge you every 2 weeks');
  assert.equal(recurringText(monthly, Date.UTC(2026, 11, 5)), 'to charge you each month, starting on 5 December 2026');
  const tiers = [
    { upTo: 10, unitAmount: '1000' },
    { upTo: null, unitAmount: '800' },
  ];
  const seats = { unitPrice: 0n, pricing: { model: 'volume', tiers } } as const;
  const words = 'USD 10.00 each up to 10, USD 8.00 each above';
  assert.equal(priceText(seats, 'USD', monthly), `${words}, per month`);
  assert.equal(quantityText({ ...seats, quantity: 12 }, 'USD', monthly), `12 for USD 96.00 per month (${words})`);
  // The dinar of Kuwait has three decimals, and the last one is never charged.
  const third = { unitPrice: 0n, pricing: { model: 'per_unit', unitAmount: '333' } } as const;
  assert.match(quantityText({ ...third, quantity: 1 }, 'KWD', monthly), /^1 for KWD 0\.330 per month/);
});

test('the price of usage reads as words behind the name of its meter', () => {
  const calls = {
    priceId: 'price_1',
    meterName: 'API calls',
    unitPrice: 50n,
    usageEventsPerUnit: 100,
    pricing: null,
    where: null,
    ownInterval: null,
  };
  assert.equal(usageText(calls, 'USD'), 'API calls: USD 0.50 per 100');
  const pricing = { model: 'per_unit', unitAmount: '2', freeUnits: 1000 } as const;
  const tiered = { ...calls, unitPrice: 0n, usageEventsPerUnit: 1, pricing };
  assert.equal(usageText(tiered, 'USD'), 'API calls: first 1,000 free, then USD 0.02 each');
  const eu = { ...calls, where: { region: ['eu', 'us'] } };
  assert.equal(usageText(eu, 'USD'), 'API calls (eu or us): USD 0.50 per 100');
  const year = { unit: 'year', count: 1 } as const;
  const said = (usage: readonly UsageTerms[], usageThreshold: bigint | null = null) =>
    (usageHtml({ usage, usageThreshold }, 'USD', year) || html``).text.replaceAll(/<[^>]+>/g, ' ').trim();
  const monthly = { ...calls, ownInterval: { unit: 'month', count: 1 } } as const;
  assert.equal(
    said([calls], 10_000n),
    'Usage beyond what is included is billed at the end of each year, or sooner once it reaches USD 100.00. API calls: USD 0.50 per 100',
  );
  assert.match(said([monthly]), /^Usage beyond what is included is billed at the end of each month\./);
  assert.match(
    said([{ ...calls, meterName: 'Storage', ownInterval: { unit: 'month', count: 3 } }, monthly]),
    /billed separately\. Storage: USD 0\.50 per 100, billed after every 3 months API calls: .*, billed at the end of each month$/,
  );
});

test('a plan includes switches by name, places by number, and credits with the rhythm in which they come', () => {
  const month = { unit: 'month', count: 1 } as const;
  const none = { amount: null, renewalFrequency: null, grantInterval: null };
  const credits = { ...none, type: 'usage_credit_grant', name: 'API calls', amount: 1500n } as const;
  assert.equal(includedText({ ...none, type: 'toggle', name: 'Single sign-on' }, month), 'Single sign-on');
  assert.equal(includedText({ ...none, type: 'resource', name: 'Seats', amount: 5n }, month), 'Seats: 5');
  assert.equal(includedText({ ...credits, renewalFrequency: 'once' }, month), 'API calls: 1,500 once');
  assert.equal(
    includedText({ ...credits, renewalFrequency: 'every_billing_period' }, month),
    'API calls: 1,500 each month',
  );
  const weekly = { ...credits, renewalFrequency: 'every_interval', grantInterval: { unit: 'week', count: 2 } } as const;
  assert.equal(includedText(weekly, month), 'API calls: 1,500 every 2 weeks');
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

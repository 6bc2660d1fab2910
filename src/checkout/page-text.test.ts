import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html } from '../kernel/html.ts';
import { contrastWithWhite } from '../organizations/branding.ts';
import type { Included } from '../pricing/store-features.ts';
import { wordingOf } from '../wording/wording.ts';
import type { UsageTerms } from './checkout-view.ts';
import { lightened } from './page-layout.ts';
import {
  agreementText,
  includedText,
  intervalText,
  methodText,
  planTermsText,
  priceText,
  quantityText,
  safeAddress,
  unitOf,
  usageHtml,
  usageText,
  withoutCode,
} from './page-text.ts';

const english = wordingOf('en');
// That of #171d25, by WCAG 2.
const relativeLuminanceOfPaper = 1.05 / contrastWithWhite('#171d25') - 0.05;
const german = wordingOf('de');

test('days, intervals and payment methods read as people say them', () => {
  assert.equal(intervalText({ unit: 'month', count: 1 }, english), 'per month');
  assert.equal(intervalText({ unit: 'week', count: 2 }, english), 'every 2 weeks');
  assert.equal(intervalText({ unit: null, count: null }, english), 'once');
  assert.equal(intervalText({ unit: 'year', count: 2 }, german), 'alle 2 Jahre');
  assert.equal(methodText('card', { brand: 'visa', last4: '4242' }, english), 'Visa ending in 4242');
  assert.equal(methodText('us_bank_account', { last4: '6789' }, english), 'Bank account ending in 6789');
});

test('a price in tiers reads as words, behind the amount of the quantity', () => {
  const monthly = { unit: 'month', count: 1 } as const;
  const plain = { unitPrice: 3000n, pricing: null, where: null };
  assert.equal(priceText(plain, 'USD', monthly, english), '$30.00 per month');
  assert.equal(priceText(plain, 'EUR', monthly, german), '30,00\u00a0€ pro Monat');
  assert.equal(quantityText({ ...plain, quantity: 1 }, 'USD', monthly, english), '$30.00 per month');
  assert.equal(quantityText({ ...plain, quantity: 3 }, 'USD', monthly, english), '3 × $30.00 per month');
  const ofSeats = { ...plain, quantity: 3, unit: 'seats' };
  assert.equal(quantityText(ofSeats, 'USD', monthly, english), '3 seats × $30.00 per month');
  const terms = (minimumCommitment: bigint | null, billingTiming: 'in_advance' | 'in_arrears' = 'in_advance') =>
    planTermsText({ minimumCommitment, billingTiming }, 'USD', monthly, english);
  assert.equal(terms(10_000n), ', with a minimum of $100.00 per month including usage');
  assert.equal(terms(null), '');
  assert.equal(terms(null, 'in_arrears'), ', billed at the end of each month');
  const order = { seller: 'Acme', every: monthly, isOfUsage: true };
  assert.equal(
    agreementText(order, Date.UTC(2026, 11, 5), english),
    'By confirming, you allow Acme to charge you each month, starting on December 5, 2026, and for usage as described above, until you cancel.',
  );
  const tiers = [
    { upTo: 10, unitAmount: '1000' },
    { upTo: null, unitAmount: '800' },
  ];
  const seats = { unitPrice: 0n, pricing: { model: 'volume', tiers } } as const;
  const words = '$10.00 each up to 10, $8.00 each above';
  assert.equal(priceText(seats, 'USD', monthly, english), `${words}, per month`);
  assert.equal(quantityText({ ...seats, quantity: 12 }, 'USD', monthly, english), `12 for $96.00 per month (${words})`);
  // The dinar of Kuwait has three decimals, and the last one is never charged.
  const third = { unitPrice: 0n, pricing: { model: 'per_unit', unitAmount: '333' } } as const;
  assert.match(quantityText({ ...third, quantity: 1 }, 'KWD', monthly, english), /^1 for KWD\s0\.330 per month/);
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
  assert.equal(usageText(calls, 'USD', english), 'API calls: $0.50 per 100');
  const pricing = { model: 'per_unit', unitAmount: '2', freeUnits: 1000 } as const;
  const tiered = { ...calls, unitPrice: 0n, usageEventsPerUnit: 1, pricing };
  assert.equal(usageText(tiered, 'USD', english), 'API calls: first 1,000 free, then $0.02 each');
  const eu = { ...calls, where: { region: ['eu', 'us'] } };
  assert.equal(usageText(eu, 'USD', english), 'API calls (eu or us): $0.50 per 100');
  const year = { unit: 'year', count: 1 } as const;
  const said = (usage: readonly UsageTerms[], usageThreshold: bigint | null = null) =>
    (usageHtml({ usage, usageThreshold }, 'USD', year, english) || html``).text
      .replaceAll(/<\/?bdi>/g, '')
      .replaceAll(/\s*<[^>]+>\s*/g, ' ')
      .replaceAll(/ +/g, ' ')
      .trim();
  const monthly = { ...calls, ownInterval: { unit: 'month', count: 1 } } as const;
  assert.equal(
    said([calls], 10_000n),
    'Usage beyond what is included is billed at the end of each year, or sooner once it reaches $100.00. API calls: $0.50 per 100',
  );
  assert.match(said([monthly]), /^Usage beyond what is included is billed at the end of each month\./);
  assert.match(
    said([{ ...calls, meterName: 'Storage', ownInterval: { unit: 'month', count: 3 } }, monthly]),
    /billed separately\. Storage: \$0\.50 per 100, billed after every 3 months API calls: .*, billed at the end of each month$/,
  );
});

test('a plan includes switches by name, places by number, and credits with the rhythm in which they come', () => {
  const month = { unit: 'month', count: 1 } as const;
  const noGrant = { amount: null, renewalFrequency: null, grantInterval: null, usageMeterId: null, poolUnit: null };
  const none = { ...noGrant, resourceId: null, value: null };
  const credits = { ...none, type: 'usage_credit_grant', name: 'API calls', amount: 1500n } as const;
  const said = (feature: Included) => includedText(feature, month, english);
  assert.equal(said({ ...none, type: 'toggle', name: 'Single sign-on' }), 'Single sign-on');
  assert.equal(said({ ...none, type: 'resource', name: 'Seats', amount: 5n }), 'Seats: 5');
  assert.equal(said({ ...none, type: 'value', name: 'Projects', value: 12_000.5 }), 'Projects: 12,000.5');
  assert.equal(said({ ...none, type: 'value', name: 'Regions', value: ['eu', 'us'] }), 'Regions: eu, us');
  assert.equal(said({ ...credits, renewalFrequency: 'once' }), 'API calls: 1,500 once');
  assert.equal(said({ ...credits, renewalFrequency: 'every_billing_period' }), 'API calls: 1,500 each month');
  const weekly = { ...credits, renewalFrequency: 'every_interval', grantInterval: { unit: 'week', count: 2 } } as const;
  assert.equal(said(weekly), 'API calls: 1,500 every 2 weeks');
  const once = { ...credits, name: 'Prepaid', amount: 10n, renewalFrequency: 'once' } as const;
  assert.equal(said({ ...once, poolUnit: 'USD' }), 'Prepaid: $10.00 once');
  assert.equal(said({ ...once, poolUnit: 'credit' }), 'Prepaid: 10 once');
  const seat = { ...none, type: 'resource', name: 'Seats', amount: 1n } as const;
  assert.equal(unitOf([credits, seat]), 'Seats');
  assert.equal(unitOf([{ ...seat, amount: 5n }]), null);
});

test('a dark page takes a lighter colour of the seller, in which text can be read on it', () => {
  for (const color of ['#000000', '#1f2937', '#0000ff', '#7a0019', '#767676']) {
    const contrast = 1.05 / contrastWithWhite(lightened(color)) / (relativeLuminanceOfPaper + 0.05);
    assert.ok(contrast >= 4.5, `${color}: ${contrast}`);
  }
  assert.equal(lightened('#ffffff'), '#ffffff');
  assert.equal(lightened('#1f2937'), '#f2f4f7');
});

test('an order and a portal read in eight languages, each with the placeholders of English', () => {
  const placeholders = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort().join();
  for (const language of ['de', 'es', 'fr', 'it', 'ja', 'nl', 'pt'] as const) {
    const { words } = wordingOf(language);
    for (const [group, texts] of Object.entries(english.words))
      for (const [name, text] of Object.entries(texts)) {
        const translated = (words as Record<string, Record<string, string>>)[group]?.[name] ?? '';
        assert.notEqual(translated, '', `${language} ${group}.${name}`);
        assert.equal(placeholders(translated), placeholders(text), `${language} ${group}.${name}`);
      }
  }
});

test('a button is announced in eight languages with the words that it shows', () => {
  for (const language of ['en', 'de', 'es', 'fr', 'it', 'ja', 'nl', 'pt'] as const) {
    const { portal, limits, checkout } = wordingOf(language).words;
    const pairs = [
      [portal.release, portal.releaseName],
      [portal.makeDefault, portal.makeDefaultOf],
      [portal.remove, portal.removeOf],
      [portal.remove, portal.removeAddOnOf],
      [portal.remove, limits.removeOf],
      [limits.change, limits.changeOf],
      [portal.buy, portal.buyOf],
      [portal.choose, portal.chooseOf],
      [portal.add, portal.addOf],
      [checkout.pay, portal.payInvoice],
      ['PDF', portal.invoicePdf],
    ] as const;
    for (const [shown, announced] of pairs)
      assert.ok(announced.toLowerCase().includes(shown.toLowerCase()), `${language}: ${announced}`);
  }
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

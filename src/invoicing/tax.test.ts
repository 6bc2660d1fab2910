import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaxQuote } from './invoice.ts';
import { decideTax, PercentageInput, TaxRateInput, taxPlace } from './tax.ts';

const rate = (country: 'US' | 'DE', state: string | null, percentage: string): TaxQuote => ({
  type: country === 'US' ? 'sales_tax' : 'vat',
  country,
  state,
  percentage,
  inclusive: false,
});
const rates = [rate('US', null, '5'), rate('US', 'NY', '8.875'), rate('DE', null, '19')];

test('the rate of the state goes before that of the country, and elsewhere there is none', () => {
  const percentage = (country: string, state: string | null) => decideTax({ country, state }, rates)?.percentage;
  assert.equal(percentage('US', 'NY'), '8.875');
  assert.equal(percentage('US', 'CA'), '5');
  assert.equal(percentage('US', null), '5');
  assert.equal(percentage('DE', 'BAYERN'), '19');
  assert.equal(percentage('FR', null), undefined);
  assert.equal(decideTax({ country: 'US', state: 'CA' }, [rate('US', 'NY', '8.875')]), null);
});

test('a place is compared without its case and the blanks around it; who is exempt has none', () => {
  const buyer = (country: string, state?: string | null) => ({
    taxExempt: false,
    billingTerms: null,
    billingAddress: { address: { country, state } },
  });
  assert.deepEqual(taxPlace(buyer(' us ', ' ny')), { country: 'US', state: 'NY' });
  for (const none of [undefined, null, '', ' ']) {
    assert.deepEqual(taxPlace(buyer('DE', none)), { country: 'DE', state: null });
  }
  assert.equal(taxPlace({ ...buyer('DE'), taxExempt: true }), null);
  assert.equal(taxPlace({ taxExempt: false, billingTerms: null, billingAddress: null }), null);
});

test('a buyer under reverse charge has no place of tax, and one whose tax id is missing has', () => {
  const buyer = { taxExempt: false, billingAddress: { address: { country: 'FR' } } };
  assert.equal(taxPlace({ ...buyer, billingTerms: { taxId: 'FR12345678901', reverseCharge: true } }), null);
  for (const billingTerms of [{ reverseCharge: true }, { taxId: 'FR12345678901' }, null])
    assert.deepEqual(taxPlace({ ...buyer, billingTerms }), { country: 'FR', state: null });
});

test('per cent is one text for one number, from 0 to 100 with at most six decimals', () => {
  const texts: [unknown, string][] = [
    ['19', '19'],
    [19, '19'],
    ['19.50', '19.5'],
    ['100.000', '100'],
    [' 8.875 ', '8.875'],
    [8.875, '8.875'],
    ['0', '0'],
    ['0.000001', '0.000001'],
    [10, '10'],
  ];
  for (const [sent, kept] of texts) assert.equal(PercentageInput.parse(sent), kept);
  for (const bad of [
    '',
    '-1',
    -1,
    '100.1',
    101,
    '1e1',
    1e-7,
    '019',
    '.5',
    '5.',
    '1,5',
    '8.8750001',
    '0x10',
    null,
    true,
  ]) {
    assert.equal(PercentageInput.safeParse(bad).success, false, String(bad));
  }
});

test('a rate says where it counts in upper case', () => {
  const sent = { country: 'us', state: ' New York ', type: 'sales_tax', percentage: 8 };
  const { country, state, inclusive, active } = TaxRateInput.parse(sent);
  assert.deepEqual([country, state, inclusive, active], ['US', 'NEW YORK', false, true]);
  assert.equal(TaxRateInput.safeParse({ ...sent, country: 'UK' }).success, false);
});

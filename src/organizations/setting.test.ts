import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrandingChange, contrastWithWhite } from './branding.ts';
import { decideSettings, type Settings, SettingsChange } from './setting.ts';

const settings: Settings = {
  currency: 'USD',
  allowMultipleSubscriptions: false,
  access: { pastDue: 'full', unpaid: 'none' },
  allowRepeatedTrials: false,
  allowRepeatedDiscounts: false,
  bankDebits: false,
  billingAnchor: 'anniversary',
  firstPeriod: 'short',
  billingThresholdAmount: null,
  dunning: { retryDays: [3, 5, 5], terminalAction: 'unpaid' },
  netTermsDays: 0,
  numbering: {
    invoices: { per: 'customer', prefix: null, yearly: false },
    creditNotes: { per: 'customer', prefix: null, yearly: false },
  },
  seller: null,
  taxProvider: 'none',
  branding: { logo: null, icon: null, primaryColor: null, legalFooter: null },
  mail: { enabled: false, replyTo: null, testRecipients: [], texts: {} },
  paymentInstructions: null,
  reviewHours: 0,
  timeZone: 'UTC',
  unknownFields: 'refuse',
};
const after = (change: unknown, from = settings) => decideSettings(from, SettingsChange.parse(change));

test('what is left out stays, inside of dunning and seller too', () => {
  assert.deepEqual(after({}), settings);
  assert.deepEqual(after({ dunning: { terminalAction: 'canceled' } }).dunning, {
    retryDays: [3, 5, 5],
    terminalAction: 'canceled',
  });
  assert.deepEqual(after({ access: { pastDue: 'none' } }).access, { pastDue: 'none', unpaid: 'none' });
  assert.deepEqual(after({ dunning: { retryDays: [] } }).dunning, { retryDays: [], terminalAction: 'unpaid' });
  const named = after({ seller: { name: ' Acme ' } });
  assert.deepEqual(named.seller, { name: 'Acme', email: null, addressLines: [], taxId: null });
  const placed = after({ seller: { addressLines: ['Ring 1', 'Wien'], name: null } }, named);
  assert.deepEqual(placed.seller, { name: null, email: null, addressLines: ['Ring 1', 'Wien'], taxId: null });
  assert.equal(after({ seller: null }, named).seller, null);
});

test('days, retries and texts have limits', () => {
  const fits = (change: unknown) => SettingsChange.safeParse(change).success;
  assert(fits({ dunning: { retryDays: Array(10).fill(365) }, netTermsDays: 365 }));
  for (const retryDays of [Array(11).fill(1), [0], [366], [1.5], ['x'], 3]) assert(!fits({ dunning: { retryDays } }));
  for (const netTermsDays of [-1, 366, 1.5, null]) assert(!fits({ netTermsDays }));
  assert(fits({ seller: { addressLines: Array(10).fill('x'.repeat(200)) } }));
  for (const seller of [
    { addressLines: Array(11).fill('x') },
    { addressLines: [''] },
    { name: '' },
    { taxId: 'x'.repeat(256) },
    'Acme',
  ]) {
    assert(!fits({ seller }));
  }
  assert(!fits({ currency: 'usd' }) && !fits({ taxProvider: 'stripe' }) && !fits({ allowMultipleSubscriptions: 1 }));
});

test('a colour is one that white text can be read on', () => {
  assert.equal(contrastWithWhite('#000000'), 21);
  assert.equal(contrastWithWhite('#ffffff'), 1);
  // The darkest grey of those that are refused, by WCAG: 4.48 to 1.
  const message = (primaryColor: string) => BrandingChange.safeParse({ primaryColor }).error?.issues[0]?.message;
  assert.equal(message('#767676'), undefined);
  assert.equal(message('#777777'), 'must be darker: its contrast with white is 4.48, and text needs 4.5');
  assert.equal(message('#ffcc00'), 'must be darker: its contrast with white is 1.51, and text needs 4.5');
  assert.equal(message('red'), 'must be a colour such as #1f3a5f');
  assert.equal(BrandingChange.parse({ primaryColor: '#1F3A5F' }).primaryColor, '#1f3a5f');
});

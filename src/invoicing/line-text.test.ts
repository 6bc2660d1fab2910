import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../kernel/calendar.ts';
import type { NewLine } from './invoice-line-item.ts';
import { describeFewer, describeItems, describeUsage, localDescription, withPeriod } from './line-text.ts';

const november = { start: instant('2026-11-01'), end: instant('2026-12-01') };

test('usage reads as people say it', () => {
  const tokens = { meterName: 'Input tokens', units: 5_308_642n, unitPrice: 300n, usageEventsPerUnit: 1_000_000 };
  const text = describeUsage({ ...tokens, currency: 'USD' });
  assert.equal(text, '5,308,642 input tokens at USD 3.00 per million');
  assert.equal(describeFewer(text, 5_308_642n, 1000n), '1,000 input tokens at USD 3.00 per million');
  const calls = { meterName: 'API calls', units: 250n, unitPrice: 50n, currency: 'JPY' };
  assert.equal(describeUsage({ ...calls, usageEventsPerUnit: 1 }), '250 API calls at JPY 50 each');
  assert.equal(describeUsage({ ...calls, usageEventsPerUnit: 100 }), '250 API calls at JPY 50 per 100');
});

test('a line names its plan and the time that is billed', () => {
  const names = new Map([
    ['monthly', { productId: 'build', productName: 'Build', priceName: 'Monthly' }],
    ['seat', { productId: 'build', productName: 'Build', priceName: 'Seat' }],
  ]);
  const line = (priceId: string, description: string, quantity = 1): NewLine => ({
    type: 'static',
    quantity,
    price: 100n,
    priceId,
    subscriptionItemId: null,
    description,
    explanation: { kind: 'item', unitPrice: 100n, quantity, period: november, whole: november },
  });
  const texts = (...lines: NewLine[]) => describeItems(lines, names).map(({ description }) => description);
  assert.deepEqual(texts(line('monthly', 'Monthly')), ['Build, 1 Nov – 1 Dec 2026']);
  assert.deepEqual(texts(line('monthly', 'Monthly x 2', 2)), ['Build x 2, 1 Nov – 1 Dec 2026']);
  assert.deepEqual(texts(line('monthly', 'Early bird')), ['Early bird, 1 Nov – 1 Dec 2026']);
  assert.deepEqual(texts(line('monthly', 'Monthly'), line('seat', 'Seat x 3', 3)), [
    'Build Monthly, 1 Nov – 1 Dec 2026',
    'Build Seat x 3, 1 Nov – 1 Dec 2026',
  ]);
  const year = { start: instant('2026-11-01'), end: instant('2027-11-01') };
  assert.equal(withPeriod('Build', year), 'Build, 1 Nov 2026 – 1 Nov 2027');
});

test('the time of a line is in the language, and a name in Arabic does not turn it round', () => {
  const line = { explanation: undefined, service: november, currency: 'EUR' };
  assert.equal(localDescription('Build', { ...line, language: 'it' }), 'Build, 1 nov – 1 dic 2026');
  const mark = '\u200e';
  assert.equal(localDescription('دعم', { ...line, language: 'fr' }), `${mark}دعم${mark}, 1 nov. – 1 déc. 2026`);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { may, setUpChanges } from '../support/adjust-fixture.ts';
import { startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const { subscribe, adjust, invoices, moveTo } = changes;
/** So much of May, which has 31 days, is over. */
const ofMay = (share: number) => may + share * 31 * 86_400_000;

const terms = [
  { code: 'HALF-TWICE', amount: 50, amountType: 'percent', duration: 'number_of_payments', numberOfPayments: 2 },
  { code: 'FIFTY-TWICE', amount: 50, amountType: 'fixed', duration: 'number_of_payments', numberOfPayments: 2 },
  { code: 'THIRD', amount: 33, amountType: 'percent', duration: 'forever' },
];
for (const discount of terms) await app.post('/discounts', { discount: { name: discount.code, ...discount } });

test('worked example A4 with a discount: the change carries that of the invoice it replaces, and uses its turn', async () => {
  // 50 of 100 and 100 of 200 for half of May each are 150.
  const rows: [code: string, april: number, may: number, change: number, next: number, june: number][] = [
    // A quarter of 1000 in place of one of 200 costs 200 more.
    ['HALF-TWICE', 50, 50, 75, 100, 1000],
    ['FIFTY-TWICE', 50, 50, 100, 200, 1000],
    ['THIRD', 67, 67, 100, 134, 670],
  ];
  for (const [discountCode, ofApril, unpaid, charge, next, june] of rows) {
    const { id, customerId } = await subscribe('p100', { discountCode });
    await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
    await moveTo(may);
    await moveTo(ofMay(0.5));
    await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
    assert.equal((await changes.preview(id, 'p200')).totalDue, charge, discountCode);
    await adjust(id, 'p200');
    await moveTo(ofMay(0.75));
    await adjust(id, 'p1000');
    await moveTo(instant('2026-06-01'));
    const expected = [
      ['paid', ofApril],
      ['void', unpaid],
      ['paid', charge],
      ['paid', next],
      ['paid', june],
    ];
    assert.deepEqual(await invoices(id), expected, discountCode);
  }
});

test('after all of it the data is sound', async () => {
  await assertSound(app);
});

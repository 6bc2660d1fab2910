import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
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

let products = 0;
async function newProduct(unitPrice: number, { addOn = false, ...terms }: Body = {}) {
  products += 1;
  const slug = `product-${products}`;
  const price = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice, slug, ...terms };
  const product = { name: slug, slug, addOn, pricingModelId: changes.pricingModelId };
  return { id: (await app.post('/products', { product, price })).product.id as string, item: { priceSlug: slug } };
}

/** A plan of 3000 with a seat of 1000 since April, and a discount of half of one of the two. */
async function newHalved(halved: 'plan' | 'seat', terms: Body = {}) {
  const [plan, seat] = [await newProduct(3000, terms), await newProduct(1000, { addOn: true, ...terms })];
  const productIds = [halved === 'plan' ? plan.id : seat.id];
  const discount = { name: 'Half', code: `half-${products}`, amount: 50, amountType: 'percent', duration: 'forever' };
  await app.post('/discounts', { discount: { ...discount, productIds } });
  const items = [plan.item, seat.item];
  const { id, customerId } = await subscribe('p100', { priceSlug: undefined, items, discountCode: discount.code });
  return {
    id,
    customerId,
    takeSeats: (quantity: number) => adjust(id, [plan.item, { ...seat.item, quantity }]),
    async amounts(): Promise<[discount: number, total: number][]> {
      const { data } = await app.get(`/invoices?subscriptionId=${id}`);
      return data.map(({ discountAmount, total }: Body) => [discountAmount, total]);
    },
  };
}

test('a change is lowered by a discount for a product as far as it is for that product', async () => {
  for (const [halved, first, change] of [
    ['seat', [500, 3500], [500, 500]],
    ['plan', [1500, 2500], [0, 1000]],
  ] as const) {
    const { takeSeats, amounts } = await newHalved(halved);
    await moveTo(day(15));
    // Two more seats for half of April.
    await takeSeats(3);
    assert.deepEqual(await amounts(), [first, change], halved);
  }
});

test('so is one that replaces the unpaid invoice of its period', async () => {
  const { id, customerId, takeSeats, amounts } = await newHalved('seat');
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  await moveTo(may);
  await moveTo(ofMay(0.5));
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
  await takeSeats(3);
  // 3000, and seats of 1000 and 3000 for half of May each.
  assert.deepEqual((await amounts()).at(-1), [1000, 4000]);
});

test('a plan in arrears is lowered by a discount for a product as far as it is for that product', async () => {
  for (const [halved, discount] of [
    ['seat', 1000],
    ['plan', 1500],
  ] as const) {
    const { id, takeSeats, amounts } = await newHalved(halved, { billingTiming: 'in_arrears' });
    await moveTo(day(15));
    await takeSeats(3);
    await moveTo(may);
    assert.deepEqual(await amounts(), [[discount, 5000 - discount]], halved);
    const { data } = await app.get(`/invoices?subscriptionId=${id}`);
    const { discounts } = await app.get(`/invoices/${data[0].id}/explain`);
    assert.deepEqual([discounts[0].base, discounts[0].computed], [2 * discount, discount]);
  }
});

test('after all of it the data is sound', async () => {
  await assertSound(app);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { april, day } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { refused } from '../support/pricing-fixture.ts';
import { meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
await app.setClock(april);
await app.put('/settings', { settings: { currency: 'KWD' } });

const model = (pro: number) => ({
  name: 'In dinars',
  isDefault: true,
  features: [],
  products: [plan('free', 0), plan('basic', 9990), plan('pro', pro)],
  usageMeters: [meter('calls', 'Calls', { slug: 'calls-price', unitPrice: 4, usageEventsPerUnit: 1 })],
  resources: [],
});

test('an amount that no card network takes is refused by its field', async () => {
  const fine = /must be a multiple of 10: card networks take no smaller part of KWD/;
  refused(await app.request('POST', '/pricing-models/setup', model(20_005)), 400, fine);
  const product = { name: 'Odd', slug: 'odd' };
  const price = { type: 'single_payment', unitPrice: 1234, slug: 'odd' };
  refused(
    await app.request('POST', '/products', { product, price }),
    400,
    /price\.unitPrice: must be a multiple of 10/,
  );
  const discount = { name: 'Odd', code: 'ODD', amount: 5, amountType: 'fixed', duration: 'once' };
  refused(await app.request('POST', '/discounts', { discount }), 400, /discount\.amount: must be a multiple of 10/);
  await app.post('/discounts', { discount: { ...discount, amountType: 'percent' } });
});

test('so is another price of a product', async () => {
  const { testKey: key } = await app.newOrganization();
  const options = { key };
  await app.put('/settings', { settings: { currency: 'KWD' } }, options);
  const { pricingModel } = await app.post('/pricing-models/setup', model(20_000), options);
  const product = pricingModel.products.find(({ slug }: Body) => slug === 'basic');
  for (const field of ['unitPrice', 'setupFeeAmount', 'minimumCommitment'])
    refused(
      await app.request('PUT', `/products/${product.id}`, { product: {}, price: { [field]: 5005 } }, options),
      400,
      new RegExp(`price\\.${field}: must be a multiple of 10`),
    );
});

test('so is an own price of a customer, and that of an item', async () => {
  const { testKey: key } = await app.newOrganization();
  const options = { key };
  await app.put('/settings', { settings: { currency: 'KWD' } }, options);
  await app.post('/pricing-models/setup', model(20_000), options);
  const sender = { post: (path: string, body?: unknown) => app.post(path, body, options) };
  const { customerId } = await newCustomer(sender, 'salmiya', { token: 'pm_card_visa' });
  const { subscription } = await sender.post('/subscriptions', { customerId, priceSlug: 'basic-monthly' });

  const own = { customerId, priceSlug: 'pro-monthly', priceOverrides: [{ priceSlug: 'pro-monthly', unitPrice: 5001 }] };
  const ofOverride = /priceOverrides\.0\.unitPrice: must be a multiple of 10/;
  refused(await app.request('POST', '/subscriptions', own, options), 400, ofOverride);
  const adjust = (adjustment: object) =>
    app.request(
      'POST',
      `/subscriptions/${subscription.id}/adjust`,
      { adjustment: { timing: 'immediately', ...adjustment } },
      options,
    );
  refused(await adjust({ priceOverrides: [{ priceSlug: 'basic-monthly', unitPrice: 12_345 }] }), 400, ofOverride);
  const ofItem = /newSubscriptionItems\.0\.unitPrice: must be a multiple of 10/;
  refused(await adjust({ newSubscriptionItems: [{ priceSlug: 'pro-monthly', unitPrice: 20_005 }] }), 400, ofItem);
  // Usage is rounded on its line, so a unit of it may cost less.
  const usage = { priceOverrides: [{ priceSlug: 'calls-price', unitPrice: 3 }] };
  assert.equal((await adjust(usage)).status, 200);
});

test('a month in dinars: prices, a change, usage, a discount and a refund are whole tens of fils', async () => {
  await app.post('/pricing-models/setup', model(20_000));
  const { customerId } = await newCustomer(app, 'kuwait', { token: 'pm_card_visa' });
  const { subscription } = await app.post('/subscriptions', { customerId, priceSlug: 'basic-monthly' });
  // A sound of 12 fils, which are billed as 10.
  const usageEvent = { subscriptionId: subscription.id, priceSlug: 'calls-price', amount: 3, transactionId: 'one' };
  await app.post('/usage-events', { usageEvent });

  // 9.990 for 10 of 30 days and 20.000 for 20 are 16.66333; 9.990 is paid.
  await app.put('/test-clock', { testClock: { now: day(10) } });
  const adjustment = { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'pro-monthly' }] };
  await app.post(`/subscriptions/${subscription.id}/adjust`, { adjustment });
  await app.put('/test-clock', { testClock: { now: day(30) } });
  const { data: invoices } = await app.get(`/invoices?subscriptionId=${subscription.id}`);
  assert.deepEqual(
    invoices.map((each: Body) => [each.currency, each.total, each.status]),
    [
      ['KWD', 9990, 'paid'],
      ['KWD', 6670, 'paid'],
      ['KWD', 20_010, 'paid'],
    ],
  );
  const html = await fetch(`${app.url}/api/v1/invoices/${invoices[1].id}/html`, {
    headers: { authorization: `Bearer ${app.testKey}` },
  });
  assert.match(await html.text(), /KWD\s6\.670/);

  const { data: payments } = await app.get(`/payments?customerId=${customerId}`);
  const refund = (partialAmount: number) =>
    app.request('POST', `/payments/${payments[0].id}/refund`, { partialAmount });
  refused(await refund(1234), 400, /partialAmount: must be a multiple of 10/);
  assert.equal((await refund(1230)).status, 200);
  await assertSound(app);
});

test('of a change in dinars that comes too late, a whole ten of fils is given back beside its usage with tax', async () => {
  const { testKey: key } = await app.newOrganization();
  const options = { key };
  const sender = { post: (path: string, body?: unknown) => app.post(path, body, options) };
  const moveTo = (now: number) => app.put('/test-clock', { testClock: { now } }, options);
  await moveTo(april);
  await app.put('/settings', { settings: { currency: 'KWD', taxProvider: 'rates' } }, options);
  await sender.post('/tax-rates', { taxRate: { country: 'KW', type: 'vat', percentage: '15' } });
  const year = plan('year', 100_000, [], { intervalUnit: 'year' });
  await sender.post('/pricing-models/setup', { ...model(20_000), products: [...model(20_000).products, year] });
  const { customerId } = await newCustomer(sender, 'late', {
    token: 'pm_card_visa',
    billingAddress: { address: { country: 'KW' } },
  });
  const { subscription } = await sender.post('/subscriptions', { customerId, priceSlug: 'basic-monthly' });
  const { id: subscriptionId } = subscription;
  const chargeOn = async (token: string) => {
    const defaultPaymentMethodId = await newCard(sender, customerId, token, { default: true });
    await app.owner
      .updateTable('subscriptions')
      .set({ defaultPaymentMethodId })
      .where('id', '=', subscriptionId)
      .execute();
  };
  const usageEvent = { subscriptionId, priceSlug: 'calls-price', amount: 3, transactionId: 'late' };
  await sender.post('/usage-events', { usageEvent });
  await moveTo(day(30) - 1);
  await chargeOn('pm_card_processing');
  const adjustment = { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'year-monthly' }] };
  await sender.post(`/subscriptions/${subscriptionId}/adjust`, { adjustment });
  await chargeOn('pm_card_mastercard');
  await moveTo(day(31));
  const { data } = await app.get(`/invoices?subscriptionId=${subscriptionId}`, options);
  // The usage of 10 bears none of the tax, of which a share is a whole ten too.
  assert.deepEqual(
    data.map((each: Body) => [each.total, each.status, each.amountRefunded]),
    [
      [11_490, 'paid', 0],
      [115_010, 'partially_refunded', 115_000],
      [11_490, 'paid', 0],
    ],
  );
  await assertSound(app);
});

test('usage in dinars that became cheaper pays back a whole ten of fils, whatever share of a discount it had', async () => {
  const { testKey: key } = await app.newOrganization();
  const options = { key };
  const sender = { post: (path: string, body?: unknown) => app.post(path, body, options) };
  await app.put('/test-clock', { testClock: { now: april } }, options);
  await app.put('/settings', { settings: { currency: 'KWD' } }, options);
  const tiers = [
    { upTo: 100, unitAmount: '29.9' },
    { upTo: null, unitAmount: '21' },
  ];
  const pricing = { model: 'volume', tiers };
  const bytes = meter('bytes', 'Bytes', { slug: 'bytes-price', unitPrice: 0, pricing });
  const calls = meter('calls', 'Calls', { slug: 'calls-price', unitPrice: 10 });
  const products = [plan('free', 0), plan('pro', 3000), plan('flat', 3000, [], { overage: 'none' })];
  await sender.post('/pricing-models/setup', { ...model(3000), products, usageMeters: [bytes, calls] });
  const discount = { name: 'A tenth off', code: 'TENTH', amountType: 'percent', amount: 10, duration: 'forever' };
  await sender.post('/discounts', { discount });
  const { customerId } = await newCustomer(sender, 'jahra', { token: 'pm_card_visa' });
  const order = { customerId, priceSlug: 'pro-monthly', discountCode: 'TENTH' };
  const subscriptionId: string = (await sender.post('/subscriptions', order)).subscription.id;
  const use = (priceSlug: string, amount: number) =>
    sender.post('/usage-events', {
      usageEvent: { subscriptionId, priceSlug, amount, transactionId: `${priceSlug} ${amount}` },
    });
  await use('bytes-price', 100);
  await use('calls-price', 101);
  for (const priceSlug of ['flat-monthly', 'pro-monthly'])
    await sender.post(`/subscriptions/${subscriptionId}/adjust`, {
      adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug }] },
    });
  await use('bytes-price', 1);
  await app.put('/test-clock', { testClock: { now: day(30) } }, options);
  const { data } = await app.get(`/invoices?subscriptionId=${subscriptionId}`, options);
  // Bytes of 2.990 and calls of 1.010 had 0.299 and 0.101 off. 101 bytes are 2.120, less 0.210, so 0.781 are to go back.
  assert.deepEqual(
    data.map((each: Body) => each.total),
    [2700, 3600, 2700 - 780],
  );
  await assertSound(app);
});

test('a line in dinars is credited in whole and in part, with shares of its discount and tax that can be given back', async () => {
  const { testKey: key } = await app.newOrganization();
  const options = { key };
  const sender = { post: (path: string, body?: unknown) => app.post(path, body, options) };
  await app.put('/test-clock', { testClock: { now: april } }, options);
  await app.put('/settings', { settings: { currency: 'KWD', taxProvider: 'rates' } }, options);
  await sender.post('/tax-rates', { taxRate: { country: 'KW', type: 'vat', percentage: '15' } });
  const discount = { name: 'Less', code: 'LESS', amount: 7, amountType: 'percent', duration: 'once' };
  await sender.post('/discounts', { discount });
  const { customerId } = await newCustomer(sender, 'ahmadi', { billingAddress: { address: { country: 'KW' } } });
  const lines = [
    { description: 'Workshop', unitAmount: 9990 },
    { description: 'Travel', unitAmount: 5030 },
    { description: 'Books', unitAmount: 3330 },
  ];
  const written = { customerId, lines, discountCode: 'LESS' };
  const { invoice, invoiceLineItems } = await sender.post('/invoices', { invoice: written });
  await sender.post(`/invoices/${invoice.id}/finalize`);
  // 18.350 less 1.280 are 17.070, and 15 % of that are 2.560.
  assert.equal(invoice.total, 19_630);
  const [workshop, travel, books] = invoiceLineItems.map(({ id: invoiceLineItemId }: Body) => ({ invoiceLineItemId }));
  const credit = async (settle: string, ...credited: Body[]) => {
    const creditNote = { lines: credited, settle };
    return (await sender.post(`/invoices/${invoice.id}/credit-notes`, { creditNote })).creditNote.total;
  };
  // 5.030 with 0.350 of the discount and 0.700 of the tax, and 2.340 with 0.160 and 0.330.
  assert.deepEqual(
    [await credit('offset', travel), await credit('offset', { ...workshop, amount: 2340 })],
    [5380, 2510],
  );
  const { payment } = await sender.post(`/invoices/${invoice.id}/record-payment`, { payment: {} });
  await sender.post(`/payments/${payment.id}/refund`, { partialAmount: 1230 });
  assert.equal(await credit('refund', books, workshop), 19_630 - 5380 - 2510 - 1230);
  await assertSound(app);
});

test('yen have no smaller unit, and a change is charged in whole yen', async () => {
  const { testKey: key } = await app.newOrganization();
  const options = { key };
  await app.put('/test-clock', { testClock: { now: april } }, options);
  await app.put('/settings', { settings: { currency: 'JPY' } }, options);
  await app.post('/pricing-models/setup', model(2000), options);
  const sender = { post: (path: string, body?: unknown) => app.post(path, body, options) };
  const { customerId } = await newCustomer(sender, 'tokyo', { token: 'pm_card_visa' });
  const { subscription } = await sender.post('/subscriptions', { customerId, priceSlug: 'pro-monthly' });
  await app.put('/test-clock', { testClock: { now: day(10) } }, options);
  const adjustment = { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'basic-monthly' }] };
  await sender.post(`/subscriptions/${subscription.id}/adjust`, { adjustment });
  // 2000 for 10 of 30 days and 9990 for 20 are 7326.67; 2000 are paid.
  const { data } = await app.get(`/invoices?subscriptionId=${subscription.id}`, options);
  assert.deepEqual(
    data.map((each: Body) => each.total),
    [2000, 5327],
  );
});

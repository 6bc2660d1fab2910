import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { PNG } from 'pngjs';
import { databaseDigest } from '../support/digest.ts';
import { startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { newModel, newProduct, refused } from '../support/pricing-fixture.ts';
import { pinnedKey } from '../support/pricing-models.ts';
import { plan } from '../support/shop.ts';

const zero = { features: [], usageMeters: [], resources: [], products: [plan('free', 0), plan('zero', 0)] };
const app = await startTestApp();
const put = (settings: unknown, key = app.testKey) => app.request('PUT', '/settings', { settings }, { key });

const initial = {
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

test('a new environment bills at once, in dollars, without tax, and tries again after 3, 5 and 5 days', async () => {
  assert.deepEqual(await app.get('/settings'), { settings: initial });
});

test('what is changed is kept, and what is left out stays', async () => {
  const { testKey: key } = await app.newOrganization();
  const change = {
    dunning: { retryDays: [1, '7'], terminalAction: 'canceled' },
    netTermsDays: 30,
    seller: { name: ' Acme GmbH ', email: 'billing@acme.test', addressLines: ['Ring 1', '1010 Wien'], taxId: 'ATU1' },
    taxProvider: 'rates',
  };
  const changed = {
    ...initial,
    ...change,
    dunning: { retryDays: [1, 7], terminalAction: 'canceled' },
    seller: { ...change.seller, name: 'Acme GmbH' },
  };
  assert.deepEqual((await put(change, key)).body, { settings: changed });
  assert.deepEqual((await put({}, key)).body, { settings: changed });
  assert.deepEqual(await app.get('/settings', { key }), { settings: changed });
  assert.deepEqual((await put({ seller: { taxId: null }, dunning: { retryDays: [] } }, key)).body.settings, {
    ...changed,
    seller: { ...changed.seller, taxId: null },
    dunning: { retryDays: [], terminalAction: 'canceled' },
  });
  assert.equal((await put({ seller: null }, key)).body.settings.seller, null);
});

test('each environment has its own settings', async () => {
  const other = await app.newOrganization();
  await put({ netTermsDays: 14 }, other.testKey);
  for (const key of [app.testKey, other.liveKey]) {
    assert.deepEqual(await app.get('/settings', { key }), { settings: initial });
  }
});

test('what is out of bounds is refused by its field, and a dry run changes nothing', async () => {
  const digest = await databaseDigest(app);
  refused(await put({ dunning: { retryDays: [0] } }), 400, /settings\.dunning\.retryDays\.0/);
  refused(await put({ dunning: { retryDays: Array(11).fill(1) } }), 400, /settings\.dunning\.retryDays/);
  refused(await put({ dunning: { terminalAction: 'void' } }), 400, /settings\.dunning\.terminalAction/);
  refused(await put({ netTermsDays: 366 }), 400, /settings\.netTermsDays/);
  refused(await put({ seller: { name: 'x'.repeat(256) } }), 400, /settings\.seller\.name/);
  refused(await put({ currency: 'EURO' }), 400, /settings\.currency/);
  refused(await put({ taxProvider: 'magic' }), 400, /settings\.taxProvider/);
  refused(await put({ timeZone: 'Europe/Atlantis' }), 400, /settings\.timeZone.*IANA/);
  refused(await put({ numbering: { invoices: { prefix: 'A-' } } }), 400, /settings\.numbering\.invoices\.prefix/);
  const one = { per: 'environment', prefix: 'A' };
  refused(await put({ numbering: { invoices: one, creditNotes: one } }), 400, /numbering\.creditNotes\.prefix.*differ/);
  refused(await app.request('PUT', '/settings', {}), 400, /settings/);
  const dry = await app.request('PUT', '/settings?dryRun=true', { settings: { netTermsDays: 9 } });
  assert.deepEqual([dry.status, dry.body.settings.netTermsDays], [200, 9]);
  assert.equal(await databaseDigest(app), digest);
});

test('a key that is pinned to a pricing model reads the settings and may not change them', async () => {
  const key = await pinnedKey(app, await newModel(app));
  assert.deepEqual(await app.get('/settings', { key }), { settings: initial });
  refused(await put({ netTermsDays: 1 }, key), 403, /pinned/);
});

test('the currency can change while everything costs nothing, and prices follow it', async () => {
  const { testKey: key } = await app.newOrganization();
  const options = { key };
  assert.equal((await put({ currency: 'EUR' }, key)).body.settings.currency, 'EUR');
  const { data } = await app.get('/prices', options);
  assert.deepEqual([...new Set(data.map((price: { currency: string }) => price.currency))], ['EUR']);
  const { pricingModel } = await app.get('/pricing-models/default', options);
  await app.post('/customers', { customer: { externalId: 'free', email: 'f@acme.test', name: 'Free' } }, options);
  assert.equal((await put({ currency: 'JPY' }, key)).status, 200);
  const product = { name: 'Pro', slug: 'pro', pricingModelId: pricingModel.id };
  const price = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 2000, slug: 'pro' };
  await app.post('/products', { product, price }, options);
  refused(await put({ currency: 'EUR' }, key), 409, /must stay JPY/);
  assert.equal((await put({ currency: 'JPY', netTermsDays: 7 }, key)).body.settings.netTermsDays, 7);
});

test('a fixed discount keeps the currency that it is meant in; a percentage is the same in all', async () => {
  const { testKey: key } = await app.newOrganization();
  const discount = { name: 'D', code: 'HALF', amount: 50, amountType: 'percent', duration: 'once' };
  await app.post('/discounts', { discount }, { key });
  assert.equal((await put({ currency: 'EUR' }, key)).status, 200);
  await app.post('/discounts', { discount: { ...discount, code: 'FIVE', amountType: 'fixed', amount: 500 } }, { key });
  refused(await put({ currency: 'USD' }, key), 409, /must stay EUR/);
});

test('an item that waits for its invoice, and the least that a discount asks for, keep their currency', async () => {
  const [waiting, least] = [(await app.newOrganization()).testKey, (await app.newOrganization()).testKey];
  const customer = { externalId: 'item', email: 'i@acme.test', name: 'Item' };
  await app.post('/customers', { customer }, { key: waiting });
  const invoiceItem = { customerExternalId: 'item', description: 'Travel', unitAmount: 1000 };
  await app.post('/invoice-items', { invoiceItem }, { key: waiting });
  const discount = { name: 'D', code: 'BIG', amount: 50, amountType: 'percent', duration: 'once', minimumAmount: 5000 };
  await app.post('/discounts', { discount }, { key: least });
  for (const key of [waiting, least]) refused(await put({ currency: 'JPY' }, key), 409, /must stay USD/);
});

test('an own price of something that costs others nothing keeps its currency, and so does a limit in money', async () => {
  const [owning, limiting] = [(await app.newOrganization()).testKey, (await app.newOrganization()).testKey];
  for (const key of [owning, limiting]) {
    await app.post('/pricing-models/setup', { name: 'Zero', isDefault: true, ...zero }, { key });
    await app.post('/customers', { customer: { externalId: 'own', email: 'o@acme.test', name: 'Own' } }, { key });
  }
  const startDate = Date.now() + 86_400_000;
  const priceOverrides = [{ priceSlug: 'zero-monthly', unitPrice: 1000 }];
  const booked = { customerExternalId: 'own', priceSlug: 'zero-monthly', startDate, priceOverrides };
  await app.post('/subscriptions', booked, { key: owning });
  const limits = [{ unit: 'money', amount: 5000, period: 'month', action: 'block' }];
  await app.put('/customers/own/spend-controls', { spendControls: { limits } }, { key: limiting });
  for (const key of [owning, limiting]) refused(await put({ currency: 'JPY' }, key), 409, /must stay USD/);
});

test('a limit in money of a plan, a threshold of usage and a pool that draws at the price keep their currency', async () => {
  const newKey = async () => (await app.newOrganization()).testKey;
  const [limiting, threshold, own, drawing] = [await newKey(), await newKey(), await newKey(), await newKey()];
  const { pricingModel } = await app.get('/pricing-models/default', { key: limiting });
  const spendLimit = { usageMeterId: null, period: 'month', unit: 'money', action: 'block' };
  const feature = { type: 'spend_limit', slug: 'cap', name: 'Cap', description: '', amount: 5000, spendLimit };
  await app.post('/features', { feature: { ...feature, pricingModelId: pricingModel.id } }, { key: limiting });
  await app.put('/settings', { settings: { billingThresholdAmount: 5000 } }, { key: threshold });
  await app.post('/pricing-models/setup', { name: 'Zero', isDefault: true, ...zero }, { key: own });
  await app.post('/customers', { customer: { externalId: 'own', email: 'o@acme.test', name: 'Own' } }, { key: own });
  const [{ id }] = (await app.get('/subscriptions', { key: own })).data;
  await app.put(`/subscriptions/${id}`, { subscription: { billingThresholdAmount: 5000 } }, { key: own });
  const creditPool = { slug: 'prepaid', name: 'Prepaid', unit: 'USD', drawAtPrice: true };
  await app.post('/credit-pools', { creditPool }, { key: drawing });
  const statuses: number[] = [];
  for (const key of [limiting, threshold, own, drawing]) statuses.push((await put({ currency: 'JPY' }, key)).status);
  assert.deepEqual(statuses, [409, 409, 409, 409]);
  // An amount that comes with the currency is in it.
  assert.equal((await put({ currency: 'JPY', billingThresholdAmount: 700 }, threshold)).status, 200);
});

test('prices made while the currency changes are all in the currency that the environment ends with', async () => {
  for (let round = 0; round < 5; round++) {
    const { testKey: key, testEnvironmentId } = await app.newOrganization();
    const { pricingModel } = await app.get('/pricing-models/default', { key });
    const newPro = (slug: string) =>
      app.request(
        'POST',
        '/products',
        {
          product: { name: 'Pro', slug, pricingModelId: pricingModel.id },
          price: { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 2000, slug },
        },
        { key },
      );
    const answers = await Promise.all([newPro('a'), put({ currency: 'EUR' }, key), newPro('b')]);
    for (const { status } of answers) assert(status === 200 || status === 409, String(status));
    const { settings } = await app.get('/settings', { key });
    const prices = await app.owner
      .selectFrom('prices')
      .select('currency')
      .where('environmentId', '=', testEnvironmentId)
      .execute();
    for (const { currency } of prices) assert.equal(currency, settings.currency);
  }
});

test('a pricing model is not cloned into an environment of another currency', async () => {
  const { testKey: key, liveKey } = await app.newOrganization();
  const { pricingModel } = await app.get('/pricing-models/default', { key });
  const clone = () =>
    app.request(
      'POST',
      `/pricing-models/${pricingModel.id}/clone`,
      { name: 'Live', destinationEnvironment: 'livemode' },
      { key },
    );
  assert.equal((await put({ currency: 'EUR' }, key)).status, 200);
  refused(await clone(), 400, /uses EUR and the destination uses USD/);
  assert.equal((await put({ currency: 'EUR' }, liveKey)).status, 200);
  assert.equal((await clone()).status, 200);
});

test('where several subscriptions are allowed, a second one stands beside those made before', async () => {
  const plans = await setUpPlans(app);
  const { product } = await newProduct(app, plans.pricingModelId);
  const price = (await app.get(`/products/${product.id}`)).defaultPrice;
  const { customerId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const paid = { customerId, defaultPaymentMethodId: paymentMethodId };
  await plans.subscribe({ ...paid, priceSlug: 'pro-monthly' });
  const second = { ...paid, priceId: price.id };
  refused(await app.request('POST', '/subscriptions', second), 409, /already has a current subscription/);
  await put({ allowMultipleSubscriptions: true });
  assert.equal((await plans.subscribe(second)).status, 'active');
  const flags = async () =>
    (await app.owner.selectFrom('subscriptions').select('exclusive').where('customerId', '=', customerId).execute())
      .map(({ exclusive }) => exclusive)
      .sort();
  // The free one ended with the upgrade and is left as it was.
  assert.deepEqual(await flags(), [false, false, true]);
  await put({ allowMultipleSubscriptions: false });
  assert.deepEqual(await flags(), [false, false, true]);
  refused(await app.request('POST', '/subscriptions', second), 409, /already has a current subscription/);
});

/** A red picture as a data URI, with a chunk of text. */
function picture(width: number, height: number): string {
  const png = new PNG({ width, height });
  for (let at = 0; at < png.data.length; at += 4) png.data.set([200, 0, 0, 255], at);
  const bytes = PNG.sync.write(png);
  const named = Buffer.from('tEXtComment\0hidden');
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(named.length - 4);
  sum.writeUInt32BE(crc32(named));
  // Eight bytes of signature and the header chunk stand before it.
  const text = Buffer.concat([bytes.subarray(0, 33), length, named, sum, bytes.subarray(33)]);
  return `data:image/png;base64,${text.toString('base64')}`;
}

test('a logo is stored as its pixels only, reduced to its place, and colours and texts stay until they are removed', async () => {
  const { testKey: key } = await app.newOrganization();
  const branding = { logo: picture(960, 400), icon: picture(64, 64), primaryColor: '#1F3A5F', legalFooter: ' HRB 1 ' };
  const { settings } = (await put({ branding }, key)).body;
  const sides = (uri: string) => {
    const bytes = Buffer.from(uri.replace('data:image/png;base64,', ''), 'base64');
    assert(!bytes.includes('hidden'));
    const { width, height, data } = PNG.sync.read(bytes);
    return [width, height, ...data.subarray(0, 4)];
  };
  // 960 by 400 is reduced to fit 480 by 160: by 2.5, to 384 by 160.
  assert.deepEqual(sides(settings.branding.logo), [384, 160, 200, 0, 0, 255]);
  assert.deepEqual(sides(settings.branding.icon), [64, 64, 200, 0, 0, 255]);
  assert.deepEqual([settings.branding.primaryColor, settings.branding.legalFooter], ['#1f3a5f', 'HRB 1']);
  assert.deepEqual(await app.get('/settings', { key }), { settings });
  const changed = (await put({ branding: { icon: null } }, key)).body.settings;
  assert.deepEqual(changed.branding, { ...settings.branding, icon: null });
});

test('a logo that is no small PNG is refused by its field, and nothing is stored', async () => {
  const png = picture(10, 10);
  const field = /settings\.branding\.logo/;
  for (const logo of [
    'https://acme.test/logo.png',
    'data:image/svg+xml;base64,PHN2Zy8+',
    picture(2001, 1),
    'x'.repeat(480_001),
  ])
    refused(await put({ branding: { logo } }), 400, field);
  refused(await put({ branding: { logo: `${png.slice(0, 60)}AAAA` } }), 400, field);
  refused(
    await put({ branding: { primaryColor: '#ffff00' } }),
    400,
    /settings\.branding\.primaryColor: must be darker/,
  );
  assert.deepEqual((await app.get('/settings')).settings.branding, initial.branding);
});

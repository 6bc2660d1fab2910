import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quoteTaxes } from '../../src/invoicing/actions-tax.ts';
import { databaseDigest } from '../support/digest.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { newModel, refused } from '../support/pricing-fixture.ts';
import { pinnedKey } from '../support/pricing-models.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const create = (taxRate: unknown, key = app.testKey) => app.request('POST', '/tax-rates', { taxRate }, { key });
const vat = (country: string, more: object = {}) => ({ country, type: 'vat', percentage: '20', ...more });
const made = async (taxRate: unknown): Promise<Body> => {
  const { status, body } = await create(taxRate);
  assert.equal(status, 200, JSON.stringify(body));
  return body.taxRate;
};
const change = (id: string, taxRate: unknown, key = app.testKey) =>
  app.request('PUT', `/tax-rates/${id}`, { taxRate }, { key });

test('a tax rate is kept with its place in upper case, and can be read, listed and deleted', async () => {
  const taxRate = await made({
    country: 'us',
    state: ' New York',
    type: 'sales_tax',
    percentage: 8.875,
    name: 'NY sales tax',
  });
  assert.match(taxRate.id, /^tax_rate_[0-9A-Za-z]{21}$/);
  assert.deepEqual(taxRate, {
    id: taxRate.id,
    createdAt: taxRate.createdAt,
    updatedAt: taxRate.createdAt,
    livemode: false,
    organizationId: app.id,
    country: 'US',
    state: 'NEW YORK',
    type: 'sales_tax',
    percentage: '8.875',
    inclusive: false,
    active: true,
    name: 'NY sales tax',
  });
  assert.deepEqual((await app.get(`/tax-rates/${taxRate.id}`)).taxRate, taxRate);
  assert.deepEqual((await app.get('/tax-rates?country=US&active=true')).data, [taxRate]);
  assert.deepEqual((await app.request('DELETE', `/tax-rates/${taxRate.id}`)).body, { taxRate });
  refused(await app.request('GET', `/tax-rates/${taxRate.id}`), 404, /No tax rate/);
  refused(await app.request('DELETE', `/tax-rates/${taxRate.id}`), 404, /No tax rate/);
});

test('a place has one active rate', async () => {
  const country = await made(vat('AT'));
  const state = await made(vat('AT', { state: 'Wien' }));
  refused(await create(vat('AT')), 409, /active tax rate/);
  refused(await create(vat('AT', { state: ' WIEN ' })), 409, /active tax rate/);
  const spare = await made(vat('AT', { active: false, percentage: '10' }));
  refused(await change(spare.id, { active: true }), 409, /active tax rate/);
  await change(country.id, { active: false });
  assert.equal((await change(spare.id, { active: true })).status, 200);
  refused(await change(state.id, { state: null }), 409, /active tax rate/);
});

test('what a change leaves out stays', async () => {
  const taxRate = await made(vat('FR', { state: 'Corse', inclusive: true, name: 'TVA' }));
  const same = (await change(taxRate.id, { id: taxRate.id })).body.taxRate;
  assert.deepEqual({ ...same, updatedAt: 0 }, { ...taxRate, updatedAt: 0 });
  const next = {
    country: 'BE',
    state: null,
    type: 'gst',
    percentage: '6',
    inclusive: false,
    active: false,
    name: null,
  };
  const changed = (await change(taxRate.id, next)).body.taxRate;
  assert.deepEqual({ ...changed, updatedAt: 0 }, { ...taxRate, ...next, updatedAt: 0 });
  assert.deepEqual((await app.get(`/tax-rates/${taxRate.id}`)).taxRate, changed);
  refused(await change(taxRate.id, { id: 'tax_rate_other' }), 400, /does not match the id in the path/);
  refused(await change('unknown', {}), 404, /No tax rate/);
});

test('what is not a rate is refused by its field, and a dry run keeps nothing', async () => {
  const digest = await databaseDigest(app);
  refused(await create(vat('Germany')), 400, /taxRate\.country/);
  refused(await create(vat('IT', { type: 'toll' })), 400, /taxRate\.type/);
  refused(await create(vat('IT', { percentage: '101' })), 400, /taxRate\.percentage.*0 to 100/);
  refused(await create(vat('IT', { percentage: undefined })), 400, /taxRate\.percentage/);
  refused(await create(vat('IT', { state: '' })), 400, /taxRate\.state/);
  refused(await create(vat('IT', { name: 'x'.repeat(256) })), 400, /taxRate\.name/);
  const dry = await app.request('POST', '/tax-rates?dryRun=true', { taxRate: vat('IT') });
  assert.deepEqual([dry.status, dry.body.taxRate.country], [200, 'IT']);
  assert.equal(await databaseDigest(app), digest);
});

test("another organization's rates are not there, and a pinned key may only read", async () => {
  const taxRate = await made(vat('SE'));
  const { testKey: key } = await app.newOrganization();
  refused(await app.request('GET', `/tax-rates/${taxRate.id}`, undefined, { key }), 404, /No tax rate/);
  refused(await change(taxRate.id, { percentage: '1' }, key), 404, /No tax rate/);
  refused(await app.request('DELETE', `/tax-rates/${taxRate.id}`, undefined, { key }), 404, /No tax rate/);
  assert.deepEqual((await app.get('/tax-rates', { key })).data, []);
  assert.equal((await create(vat('SE'), key)).status, 200);
  const pinned = await pinnedKey(app, await newModel(app));
  assert.equal((await app.get(`/tax-rates/${taxRate.id}`, { key: pinned })).taxRate.id, taxRate.id);
  refused(await create(vat('NO'), pinned), 403, /pinned/);
  refused(await change(taxRate.id, { percentage: '1' }, pinned), 403, /pinned/);
  refused(await app.request('DELETE', `/tax-rates/${taxRate.id}`, undefined, { key: pinned }), 403, /pinned/);
});

/** A customer with this address, on the free plan, with a card. */
async function buyer(address: object | null, more: object = {}) {
  const customer = await plans.newCustomer('pm_card_visa');
  const billingAddress = address === null ? null : { address };
  await app.put(`/customers/${customer.externalId}`, { customer: { billingAddress, ...more } });
  return customer;
}

test('a customer is exempt when it says so, from the start or later', async () => {
  const customer = { externalId: 'charity', email: 'c@acme.test', name: 'Charity' };
  const { data } = await app.post('/customers', { customer: { ...customer, taxExempt: true } });
  assert.equal(data.customer.taxExempt, true);
  const later = await app.put('/customers/charity', { customer: { taxExempt: false } });
  assert.equal(later.customer.taxExempt, false);
  assert.equal((await app.get('/customers/charity')).customer.taxExempt, false);
  refused(await app.request('PUT', '/customers/charity', { customer: { taxExempt: 'no' } }), 400, /taxExempt/);
});

test('all customers are quoted at once: by state, by country, or not at all', async () => {
  await made(vat('CA', { type: 'gst', percentage: '5' }));
  await made(vat('CA', { type: 'hst', percentage: '13', state: 'ON' }));
  await made(vat('CA', { state: 'QC', active: false }));
  const buyers = await Promise.all([
    buyer({ country: ' ca ', state: 'on ' }),
    buyer({ country: 'CA', state: 'QC' }),
    buyer({ country: 'CA' }),
    buyer({ country: 'CA', state: 'ON' }, { taxExempt: true }),
    buyer({ country: 'NZ' }),
    buyer(null),
  ]);
  const ids = buyers.map(({ customerId }) => customerId);
  const quote = (taxProvider: 'none' | 'rates') => app.inEnvironment((work) => quoteTaxes(work, { taxProvider }, ids));
  assert.equal((await quote('none')).size, 0, 'the tax provider is none');
  const quotes = await quote('rates');
  assert.deepEqual(
    ids.map((id) => quotes.get(id) ?? null),
    [
      { type: 'hst', country: 'CA', state: 'ON', percentage: '13', inclusive: false },
      { type: 'gst', country: 'CA', state: null, percentage: '5', inclusive: false },
      { type: 'gst', country: 'CA', state: null, percentage: '5', inclusive: false },
      null,
      null,
      null,
    ],
  );
});

/** Money of the one invoice of a new subscription to the plan of 3000 a month. */
async function billed({ customerId, externalId, paymentMethodId }: Awaited<ReturnType<typeof buyer>>) {
  await plans.subscribe({ customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId: paymentMethodId });
  const [{ invoice }] = (await app.get(`/customers/${externalId}/billing`)).invoices;
  return invoice;
}

test('invoices and payments carry the tax: 20 % on 3000 are 600 beside it, or 500 in it', async () => {
  await app.put('/settings', { settings: { taxProvider: 'rates' } });
  await made(vat('GB'));
  await made(vat('IE', { inclusive: true }));
  const beside = await buyer({ country: 'GB' });
  const invoice = await billed(beside);
  assert.deepEqual([invoice.subtotal, invoice.taxAmount, invoice.total], [3000, 600, 3600]);
  assert.deepEqual(
    [invoice.taxType, invoice.taxCountry, invoice.taxState, invoice.taxRatePercentage],
    ['vat', 'GB', null, '20'],
  );
  const { data } = await app.get(`/payments?customerId=${beside.customerId}`);
  const [payment] = data;
  assert.deepEqual(
    [
      payment.amount,
      payment.subtotal,
      payment.taxAmount,
      payment.taxType,
      payment.taxCountry,
      payment.taxRatePercentage,
    ],
    [3600, 3000, 600, 'vat', 'GB', '20'],
  );
  const within = await billed(await buyer({ country: 'IE' }));
  assert.deepEqual([within.subtotal, within.taxAmount, within.total], [2500, 500, 3000]);
  const exempt = await billed(await buyer({ country: 'GB' }, { taxExempt: true }));
  assert.deepEqual([exempt.subtotal, exempt.taxAmount, exempt.total, exempt.taxType], [3000, 0, 3000, null]);
  await app.put('/settings', { settings: { taxProvider: 'none' } });
});

test('a business under reverse charge pays no tax and its document says why, unless its tax id is missing', async () => {
  await app.put('/settings', { settings: { taxProvider: 'rates' } });
  await made(vat('NL', { percentage: '21' }));
  const terms = { taxId: 'NL123456789B01', reverseCharge: true };
  const business = await buyer({ country: 'NL' }, { billingTerms: terms });
  const invoice = await billed(business);
  assert.deepEqual([invoice.taxAmount, invoice.total, invoice.taxType], [0, 3000, null]);
  const page = await (
    await fetch(`${app.url}/api/v1/invoices/${invoice.id}/html`, {
      headers: { authorization: `Bearer ${app.testKey}` },
    })
  ).text();
  assert.match(page, /VAT ID: NL123456789B01/);
  assert.match(page, /Reverse charge: the recipient of the service accounts for the VAT\./);
  // A tax id that is missing cannot stand on the invoice, so the tax is due.
  const nameless = await billed(await buyer({ country: 'NL' }, { billingTerms: { reverseCharge: true } }));
  assert.deepEqual([nameless.taxAmount, nameless.total], [630, 3630]);
  await app.put('/settings', { settings: { taxProvider: 'none' } });
});

test('a rate that changes or goes leaves the invoices that were made with it as they are', async () => {
  await app.put('/settings', { settings: { taxProvider: 'rates' } });
  const rate = await made(vat('PT', { percentage: '23' }));
  const invoice = await billed(await buyer({ country: 'PT' }));
  assert.deepEqual([invoice.taxAmount, invoice.taxRatePercentage], [690, '23']);
  await change(rate.id, { percentage: '13', country: 'ES' });
  await app.request('DELETE', `/tax-rates/${rate.id}`);
  const after = (await app.get(`/invoices/${invoice.id}`)).invoice;
  assert.deepEqual([after.taxAmount, after.taxRatePercentage, after.taxCountry], [690, '23', 'PT']);
  await app.put('/settings', { settings: { taxProvider: 'none' } });
});

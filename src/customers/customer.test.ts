import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CustomerRow, decideChange, withTaxId } from './customer.ts';

const customer: CustomerRow = {
  id: 'cust_1',
  createdAt: 1,
  updatedAt: 1,
  pricingModelId: 'pricing_model_1',
  externalId: 'acme',
  email: 'a@acme.test',
  name: 'Acme',
  archived: false,
  logoURL: null,
  iconURL: null,
  domain: 'acme.test',
  userId: null,
  billingAddress: { name: 'Acme', address: { country: 'AT', city: 'Wien' } },
  invoiceNumberBase: '9F3A0C1',
  erasedAt: null,
  taxExempt: false,
  portalVersion: 0,
  reviewHours: null,
  billingTerms: null,
  consolidateInvoices: false,
  metadata: { crm: 'a-1', seats: 5 },
};

test('a change that says what is there already is no change', () => {
  assert.equal(decideChange(customer, {}), null);
  assert.equal(decideChange(customer, { email: 'a@acme.test', logoURL: null, domain: 'acme.test' }), null);
});

test('metadata is replaced as a whole, and null removes it', () => {
  assert.equal(decideChange(customer, { metadata: { seats: 5, crm: 'a-1' } }), null);
  assert.deepEqual(decideChange(customer, { metadata: { seats: 6 } })?.metadata, { seats: 6 });
  assert.equal(decideChange(customer, { metadata: null })?.metadata, null);
});

test('the order of an address’s fields, and fields without a value, are no change', () => {
  const billingAddress = { address: { city: 'Wien', country: 'AT', line2: null }, name: 'Acme' };
  assert.equal(decideChange(customer, { billingAddress }), null);
});

test('what is named changes, what is null goes, and the rest stays', () => {
  assert.deepEqual(decideChange(customer, { name: 'Acme Ltd', domain: null }), {
    ...customer,
    name: 'Acme Ltd',
    domain: null,
  });
  const billingAddress = { address: { country: 'DE' } };
  assert.deepEqual(decideChange(customer, { billingAddress }), { ...customer, billingAddress });
  assert.deepEqual(decideChange(customer, { taxExempt: true }), { ...customer, taxExempt: true });
});

test('another tax id or country that a customer names itself ends its reverse charge, and the same ones do not', () => {
  const trusted = { ...customer, billingTerms: { taxId: 'ATU12345678', reverseCharge: true, memo: 'Thanks' } };
  assert.deepEqual(withTaxId(trusted, {}), {});
  assert.deepEqual(withTaxId(trusted, { taxId: 'ATU12345678', country: 'AT' }), {});
  for (const said of [{ taxId: 'ATU99999999' }, { taxId: null }, { country: 'DE' }]) {
    const changed = decideChange(trusted, withTaxId(trusted, said));
    const { taxId = 'ATU12345678' } = said as { taxId?: string | null };
    assert.deepEqual(changed?.billingTerms, { ...(taxId === null ? {} : { taxId }), memo: 'Thanks' });
  }
});

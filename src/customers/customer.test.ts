import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CustomerRow, decideChange } from './customer.ts';

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

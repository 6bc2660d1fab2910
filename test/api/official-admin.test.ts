import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FlowgladServerAdmin } from '@flowglad/server';
import { startTestApp } from '../support/harness.ts';
import { assertShape, noting, officialClient, watchAll } from '../support/official-client.ts';
import { Customer, PricingModelDetails, Product, UsageEvent, UsageMeter } from '../support/official-records.ts';
import { openShop } from '../support/official-shop.ts';

const app = await startTestApp();
const shop = await openShop(officialClient(app, await watchAll(app)));
const called = new Set<string>();
const admin = noting(new FlowgladServerAdmin({ apiKey: app.testKey, baseURL: app.url }), called);

test('customers', async () => {
  const customer = { externalId: 'grace', email: 'grace@shop.test', name: 'Grace' };
  const { data } = await admin.createCustomer({ customer });
  assertShape(Customer, data.customer);
  assert.equal((await admin.getCustomer('grace')).customer.id, data.customer.id);
  const updated = await admin.updateCustomer('grace', { customer: { name: 'Grace H.' } });
  assert.equal(updated.customer.name, 'Grace H.');
  const billing = await admin.getCustomerBilling('grace');
  assert.equal(billing.customer.name, 'Grace H.');
  assert.equal(billing.currentSubscription?.isFreePlan, true);
});

test('pricing models and products', async () => {
  const { pricingModel } = await admin.getPricingModel(shop.pricingModelId);
  assertShape(PricingModelDetails, pricingModel);
  assert.equal((await admin.getDefaultPricingModel()).pricingModel.id, shop.pricingModelId);
  const copy = await admin.clonePricingModel(shop.pricingModelId, { name: 'Copy' });
  assert.equal(copy.pricingModel.name, 'Copy');
  const { product } = await admin.createProduct({
    product: { name: 'Scale', slug: 'scale', pricingModelId: shop.pricingModelId, active: true },
    price: { type: 'subscription', intervalUnit: 'year', intervalCount: 1, unitPrice: 99_000, isDefault: true },
  });
  assertShape(Product, product);
  const changed = { id: product.id, name: 'Scale up', active: false };
  const updated = await admin.updateProduct(product.id, { product: changed });
  assert.deepEqual([updated.product.name, updated.product.active], ['Scale up', false]);
});

test('usage meters', async () => {
  const { usageMeter } = await admin.createUsageMeter({
    usageMeter: { name: 'Storage', slug: 'storage', pricingModelId: shop.pricingModelId },
  });
  assertShape(UsageMeter, usageMeter);
  await admin.updateUsageMeter(usageMeter.id, { usageMeter: { id: usageMeter.id, name: 'Gigabytes' } });
  assert.equal((await admin.getUsageMeter(usageMeter.id)).usageMeter.name, 'Gigabytes');
});

test('usage events, one and many', async () => {
  const usage = { subscriptionId: shop.subscriptionId, usageMeterSlug: 'calls' };
  const { usageEvent } = await admin.createUsageEvent({ usageEvent: { ...usage, amount: 5, transactionId: 'a' } });
  assertShape(UsageEvent, usageEvent);
  assert.deepEqual((await admin.getUsageEvent(usageEvent.id)).usageEvent, usageEvent);
  const many = [1, 2, 3].map((n) => ({ ...usage, amount: n, transactionId: `many ${n}` }));
  const { usageEvents } = await admin.bulkCreateUsageEvents({ usageEvents: many });
  assert.deepEqual(
    usageEvents.map(({ amount }) => amount),
    [1, 2, 3],
  );
});

test('every method of FlowgladServerAdmin has been called', () => {
  const methods = Object.getOwnPropertyNames(FlowgladServerAdmin.prototype).filter((name) => name !== 'constructor');
  assert.equal(methods.length, 15);
  assert.deepEqual(
    methods.filter((method) => !called.has(method)),
    [],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();
const organization = await app.newOrganization();
const caller = callerOf(app, organization);
const moveTo = (at: string) => caller.moveTo(instant(at));
const send = (method: string, path: string, body: Body) =>
  app.request(method, path, body, { key: organization.testKey });

await moveTo('2026-01-01');
const structure = {
  name: 'Overage',
  isDefault: true,
  features: [credits('calls', 100, 'calls')],
  products: [plan('free', 0, ['calls']), plan('pro', 3000), plan('flat', 3000, [], { overage: 'none' })],
  // A call costs 0.01.
  usageMeters: [meter('calls', 'Calls', { slug: 'call', unitPrice: 1 })],
};
const { pricingModel } = await caller.post('/pricing-models/setup', structure);
const priceOf = (slug: string): Body =>
  pricingModel.products.find((product: Body) => product.slug === slug).defaultPrice;

const use = (subscriptionId: string, transactionId: string, amount: number) =>
  caller.post('/usage-events', { usageEvent: { subscriptionId, priceSlug: 'call', transactionId, amount } });

/** The invoices of a subscription, oldest first: status, total and lines. */
async function invoicesOf(subscriptionId: string): Promise<string[]> {
  const { data } = await caller.get(`/invoices?subscriptionId=${subscriptionId}`);
  const told = data.map(async ({ id, status, total }: Body) => {
    const { invoiceLineItems } = await caller.get(`/invoices/${id}`);
    const lines = invoiceLineItems.map(({ description }: Body) => description);
    return `${status} ${total}: ${lines.join('; ')}`;
  });
  return Promise.all(told);
}

async function statusOf(id: string): Promise<string> {
  return (await caller.get(`/subscriptions/${id}`)).subscription.status;
}

test('the default product bills no overage, and any other does, unless the price says otherwise', async () => {
  assert.deepEqual(
    ['free', 'pro', 'flat'].map((slug) => priceOf(slug).overage),
    ['none', 'bill', 'none'],
  );
  const { pricingModel: exported } = await caller.get(`/pricing-models/${pricingModel.id}/export`);
  const overages = exported.products.map(({ product, price }: Body) => `${product.slug} ${price.overage}`);
  assert.deepEqual(overages.sort(), ['flat none', 'free none', 'pro bill']);
  assert.equal(exported.usageMeters[0].prices[0].overage, undefined);
});

test('the overage of a price is one of its terms: a change makes another price', async () => {
  const { id, productId } = priceOf('pro');
  const refused = await send('PUT', `/prices/${id}`, { price: { overage: 'none' } });
  assert.deepEqual([refused.status, refused.body.issues[0].path], [400, ['price', 'overage']]);
  assert.equal((await send('PUT', `/prices/${id}`, { price: { overage: 'bill' } })).status, 200);
  const tried = await app.request(
    'PUT',
    `/products/${productId}?dryRun=true`,
    { product: { id: productId }, price: { overage: 'none' } },
    { key: organization.testKey },
  );
  assert.equal(tried.status, 200);
  const toUsage = { type: 'usage', usageMeterId: pricingModel.usageMeters[0].id, unitPrice: 1, overage: 'none' };
  assert.equal((await send('POST', '/prices', { price: toUsage })).status, 400);
});

test('a free customer without a card owes nothing for 2.00 of overage: it is recorded, shown, and refused where asked', async () => {
  const { externalId, freeId } = await newCustomer(caller, 'ada');
  await use(freeId, 'ada-1', 300);
  const usageEvent = { subscriptionId: freeId, priceSlug: 'call', transactionId: 'ada-2', amount: 1 };
  const hold = { subscriptionId: freeId, meter: 'calls', amount: 1, expiresAt: instant('2026-01-02') };
  assert.equal((await send('POST', '/usage-events/consume', { usageEvent })).status, 402);
  assert.equal((await send('POST', '/holds', { hold })).status, 402);
  const checks = [{ customerExternalId: externalId, featureSlug: 'calls' }];
  const { results } = await caller.post('/entitlements/check', { checks });
  assert.deepEqual([results[0].reason, results[0].availableBalance], ['insufficient_balance', -200]);

  const shown = '200 calls, not billed';
  const { invoice, invoiceLineItems } = await caller.get(`/invoices/upcoming?subscriptionId=${freeId}`);
  assert.deepEqual([invoice.total, invoiceLineItems[0].description], [0, shown]);
  await moveTo('2026-02-01');
  assert.deepEqual(await invoicesOf(freeId), [`paid 0: ${shown}`]);
  assert.equal(await statusOf(freeId), 'active');
  // The credits of February are whole: the units of January are settled.
  const { usageMeterBalances } = await caller.get(`/customers/ada/usage-balances?subscriptionId=${freeId}`);
  assert.equal(usageMeterBalances[0].availableBalance, 100);
});

test('an upgrade in the middle of a period bills none of the free usage, and the paid plan bills its own', async () => {
  const { customerId, freeId } = await newCustomer(caller, 'bea');
  await use(freeId, 'bea-1', 300);
  await moveTo('2026-02-10');
  await newCard(caller, customerId, 'pm_card_visa');
  const { subscription } = await caller.post('/subscriptions', { customerId, priceSlug: 'pro-monthly' });
  assert.deepEqual(await invoicesOf(freeId), ['paid 0: 200 calls, not billed']);
  await use(subscription.id, 'bea-2', 200);
  await moveTo('2026-03-10');
  const [, renewal] = await invoicesOf(subscription.id);
  assert.match(renewal ?? '', /^paid 3200: .*200 calls at USD 0.01 each/);
});

test('a change between plans with other terms bills the usage before it by the terms of before', async () => {
  const { customerId } = await newCustomer(caller, 'cleo', { token: 'pm_card_visa' });
  const { subscription } = await caller.post('/subscriptions', { customerId, priceSlug: 'pro-monthly' });
  const { id } = subscription;
  const change = (priceSlug: string) =>
    caller.post(`/subscriptions/${id}/adjust`, {
      adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug, quantity: 1 }] },
    });
  await use(id, 'cleo-1', 200);
  await change('flat-monthly');
  await use(id, 'cleo-2', 300);
  await change('pro-monthly');
  await use(id, 'cleo-3', 50);
  await moveTo('2026-04-10');
  const usage = (await invoicesOf(id)).filter((text) => text.includes(' calls'));
  assert.equal(usage[0], 'paid 200: 200 calls at USD 0.01 each');
  assert.equal(usage[1], 'paid 0: 300 calls, not billed');
  assert.match(usage[2] ?? '', /^paid 3050: .*50 calls at USD 0.01 each/);
});

test('after all of this the books are in order', async () => {
  await assertSound(app);
});

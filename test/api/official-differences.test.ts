import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertShape, officialClient, watch } from '../support/official-client.ts';
import { PricingModelDetails } from '../support/official-records.ts';
import { catalog, newCustomer, newSubscriber, openShop, post } from '../support/official-shop.ts';

// Each place where docs/compatibility.md says that an answer differs from the reference's.

const app = await startTestApp();
const watched = await watch(app);
const client = officialClient(app, watched);
const live = officialClient(app, watched, app.liveKey);
const shop = await openShop(client);

describe('pricing models', () => {
  test('a live key makes live ones, as many as it likes, that a test key does not see', async () => {
    const made = [
      (await live.pricingModels.create({ pricingModel: { name: 'Live' } })).pricingModel,
      (await post(live, '/pricing-models/setup', { ...catalog, isDefault: false })).pricingModel,
      (await client.pricingModels.clone(shop.pricingModelId, { name: 'Moved', destinationEnvironment: 'livemode' }))
        .pricingModel,
    ];
    for (const { id, livemode } of made) {
      assert.equal(livemode, true);
      await assert.rejects(client.pricingModels.retrieve(id), { status: 404 });
      assert.equal((await live.pricingModels.retrieve(id)).pricingModel.id, id);
    }
  });

  test('a clone says when in texts, and has the prices of meters and the resources', async () => {
    const copy: Body = (await client.pricingModels.clone(shop.pricingModelId, { name: 'Copy' })).pricingModel;
    assert.match(copy.createdAt, /^\d{4}-\d\d-\d\dT/);
    const { pricingModel } = await client.pricingModels.retrieve(copy.id);
    assertShape(PricingModelDetails, pricingModel);
    assert.deepEqual(
      (pricingModel as Body).usageMeters[0].prices.map(({ slug, unitPrice }: Body) => [slug, unitPrice]).sort(),
      [
        ['call', 50],
        ['calls_no_charge', 0],
      ],
    );
    const { resources } = await client.resources.list({ pricingModelId: copy.id });
    assert.deepEqual(resources.map(({ slug }) => slug).sort(), ['desk', 'seat']);
  });
});

test('usage that is sent again is answered as it is stored, in the place where it was sent', async () => {
  const usage = { subscriptionId: shop.subscriptionId, usageMeterSlug: 'calls' };
  const send = (...ids: string[]) =>
    post(client, '/usage-events/bulk', {
      usageEvents: ids.map((transactionId) => ({ ...usage, amount: 1, transactionId })),
    });
  const { usageEvents: first } = await send('a', 'b');
  const { usageEvents: second } = await send('c', 'b', 'a', 'c');
  assert.deepEqual(second.slice(1, 3), [first[1], first[0]]);
  assert.deepEqual(second[3], second[0]);
});

test('every meter of the pricing model has a balance, 0 before anything has happened', async () => {
  await newCustomer(client, 'new');
  const { usageMeterBalances } = await client.get<Body>('/api/v1/customers/new/usage-balances');
  assert.deepEqual(
    usageMeterBalances.map(({ slug, availableBalance }: Body) => [slug, availableBalance]),
    [['calls', 0]],
  );
});

test('of the free plans only the default one refuses to be canceled', async () => {
  const price = {
    type: 'subscription',
    intervalUnit: 'month',
    intervalCount: 1,
    unitPrice: 0,
    isDefault: true,
  } as const;
  const product = { name: 'Community', slug: 'community', pricingModelId: shop.pricingModelId, active: true };
  await client.products.create({ product, price: { ...price, slug: 'community-monthly' } });
  const { subscription, customerId } = await newSubscriber(client, 'communal');
  const cancel = (id: string) => client.subscriptions.cancel(id, { cancellation: { timing: 'immediately' } });
  await cancel(subscription.id);
  const { currentSubscription: standing }: Body = await client.customers.retrieveBilling('communal');
  assert.equal(standing.isFreePlan, true);
  await assert.rejects(cancel(standing.id), { status: 400 });
  // A free plan that is not the default one cannot stand beside it, so one adjusts to it from a paid plan.
  const { subscription: paid } = await client.subscriptions.create({ customerId, priceSlug: 'team-monthly' });
  const adjustment = { timing: 'immediately' as const, newSubscriptionItems: [{ priceSlug: 'community-monthly' }] };
  const { subscription: free } = await client.subscriptions.adjust(paid.id, { adjustment });
  assert.equal((await cancel(free.id)).subscription.status, 'canceled');
});

test('an upgrade whose charge fails is a 402; the plan, and what was paid, stay', async () => {
  const { customerId, subscription } = await newSubscriber(client, 'declined');
  const { paymentMethod } = await post(client, '/payment-methods', {
    paymentMethod: { customerId, type: 'card', token: 'pm_card_chargeCustomerFail' },
  });
  const declined = { defaultPaymentMethodId: paymentMethod.id };
  await app.owner.updateTable('subscriptions').set(declined).where('id', '=', subscription.id).execute();
  const adjustment = { timing: 'immediately' as const, newSubscriptionItems: [{ priceSlug: 'pro-monthly' }] };
  await assert.rejects(client.subscriptions.adjust(subscription.id, { adjustment }), { status: 402 });
  const { currentSubscription }: Body = await client.customers.retrieveBilling('declined');
  assert.equal(currentSubscription.subscriptionItems[0].unitPrice, 2900);
});

test('an inactive resource refuses new claims', async () => {
  const { subscription } = await newSubscriber(client, 'seated');
  const resource = { id: shop.resourceId, active: false };
  await client.resources.update(shop.resourceId, { resource });
  await assert.rejects(client.resourceClaims.claim(subscription.id, { resourceSlug: 'seat', quantity: 1 }), {
    status: 400,
  });
});

test('a part of a payment is refunded, and the invoice says so', async () => {
  await client.payments.refund(shop.paymentId, { partialAmount: 900 });
  assert.equal((await client.invoices.retrieve(shop.invoiceId)).invoice.status, 'partially_refunded');
  await client.payments.refund(shop.paymentId, {});
  assert.equal((await client.invoices.retrieve(shop.invoiceId)).invoice.status, 'refunded');
});

test('what the reference takes is taken: usage of nothing, a product with a price of usage, a toggle of a sale', async () => {
  assert.deepEqual(await post(client, '/usage-events/bulk', { usageEvents: [] }), { usageEvents: [] });
  const { pricingModelId, meterId: usageMeterId } = shop;
  const usage = { type: 'usage', slug: 'metered-call', unitPrice: 5, usageMeterId, usageEventsPerUnit: 1 };
  const { product } = await post(client, '/products', {
    product: { name: 'Metered', slug: 'metered', active: true, pricingModelId },
    price: { ...usage, intervalUnit: 'month', intervalCount: 1, isDefault: true, active: true },
  });
  assert.equal(product.slug, 'metered');
  const [team, , onboarding] = catalog.products;
  const sold = { ...catalog, name: 'Sold', isDefault: false, products: [{ ...onboarding, features: ['sso'] }] };
  const { pricingModel } = await post(client, '/pricing-models/setup', sold);
  const [bought] = pricingModel.products.filter(({ slug }: Body) => slug === 'onboarding');
  assert.deepEqual(
    bought.features.map(({ slug }: Body) => slug),
    ['sso'],
  );
  // A currency that would not be kept is refused by its field.
  const euros = [{ ...team, price: { ...team?.price, currency: 'EUR' } }];
  const refused = post(client, '/pricing-models/setup', { ...catalog, name: 'Euros', products: euros });
  await assert.rejects(refused, { status: 400, message: /products\.0\.price\.currency: must be USD/ });
});

test('an API key is masked once it is made, and sees every pricing model of its mode', async () => {
  const { data } = await client.get<Body>('/api/v1/api-keys');
  const { apiKey } = await client.get<Body>(`/api/v1/api-keys/${data[0].id}`);
  assert.match(apiKey.token, /^sk_test_\.\.\..{4}$/);
  assert.equal(apiKey.pricingModelId, null);
});

describe('requests', () => {
  test('a first page has a cursor of its own, and filters are honoured', async () => {
    const page = await client.get<Body>('/api/v1/subscriptions', { query: { customerId: shop.customerId } });
    assert.equal(typeof page.currentCursor, 'string');
    assert(page.data.length > 0);
    for (const { customerId } of page.data) assert.equal(customerId, shop.customerId);
    assert.equal(page.total, page.data.length);
  });

  test('arrays in a query may be joined, repeated or marked', async () => {
    const path = `/resource-claims/${shop.subscriptionId}/usages`;
    const forms = ['?resourceSlugs=seat,desk', '?resourceSlugs=seat&resourceSlugs=desk'];
    forms.push('?resourceSlugs[]=seat&resourceSlugs[]=desk');
    for (const form of forms) assert.equal((await app.get(path + form)).length, 2, form);
    assert.equal((await app.get(`${path}?resourceSlugs=seat`)).length, 1);
  });

  test('numbers may be texts, and instants ISO date-times', async () => {
    const { usageEvent } = await post(client, '/usage-events', {
      usageEvent: {
        subscriptionId: shop.subscriptionId,
        usageMeterSlug: 'calls',
        transactionId: 'texts',
        amount: '5',
        usageDate: '2026-01-01T00:00:00Z',
      },
    });
    assert.deepEqual([usageEvent.amount, usageEvent.usageDate], [5, Date.UTC(2026, 0, 1)]);
  });

  test('a POST may have no body; one that is not JSON, or does not say so, is refused', async () => {
    await newCustomer(client, 'bodiless');
    assert.equal((await app.request('POST', '/customers/bodiless/archive')).status, 200);
    const broken = await app.request('POST', '/customers', '{"customer":');
    assert.deepEqual([broken.status, broken.body.code], [400, 'BAD_REQUEST']);
    const headers = { 'content-type': 'text/plain' };
    assert.equal((await app.request('POST', '/customers', '{}', { headers })).status, 415);
  });

  test('the key may have the word Bearer in front, in any case', async () => {
    for (const authorization of [app.testKey, `Bearer ${app.testKey}`, `bearer ${app.testKey}`]) {
      const headers = { authorization };
      assert.equal((await app.request('GET', '/customers', undefined, { key: null, headers })).status, 200);
    }
    for (const authorization of [`Basic ${app.testKey}`, `${app.testKey} x`, '']) {
      const headers = { authorization };
      assert.equal((await app.request('GET', '/customers', undefined, { key: null, headers })).status, 401);
    }
  });
});

describe('the sample bodies of the client’s own reference', () => {
  test('an e-mail address and links of any form, and no field at all to change', async () => {
    const links = { domain: 'domain', iconURL: 'iconURL', logoURL: 'logoURL', userId: 'userId' };
    const { data } = await client.customers.create({
      customer: { externalId: 'externalId', email: 'email', name: 'name', ...links },
    });
    assert.partialDeepStrictEqual(data.customer, { ...links, email: 'email' });
    const { customer } = await client.customers.update('externalId', { customer: {} });
    assert.equal(customer.name, 'name');
    const { pricingModel } = await client.pricingModels.update(shop.pricingModelId, {
      pricingModel: { id: shop.pricingModelId },
    });
    assert.equal(pricingModel.name, 'Shop');
  });

  test('a pricing model that does not exist is not found, where the reference does not look', async () => {
    const pricingModelId = 'pricingModelId';
    const acts = [
      () => client.resources.create({ resource: { name: 'name', slug: 'slug', pricingModelId } }),
      () => client.usageMeters.create({ usageMeter: { name: 'name', slug: 'slug', pricingModelId } }),
      () =>
        client.discounts.create({
          discount: { name: 'n', code: 'code', amount: 1, amountType: 'percent', duration: 'once', pricingModelId },
        }),
    ];
    for (const act of acts) await assert.rejects(act(), { status: 404 });
  });
});

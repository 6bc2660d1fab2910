import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { Flowglad } from '@flowglad/node';
import { type Body, startTestApp } from '../support/harness.ts';
import { officialClient, watch } from '../support/official-client.ts';
import { newCustomer, newSubscriber, openShop, post } from '../support/official-shop.ts';

const app = await startTestApp();
const client = officialClient(app, await watch(app));
const shop = await openShop(client);
let subscriber: Awaited<ReturnType<typeof newSubscriber>>;
let canceledId: string;

const atOnce = { cancellation: { timing: 'immediately' } } as const;
const atEnd = { cancellation: { timing: 'at_end_of_current_billing_period' } } as const;

before(async () => {
  subscriber = await newSubscriber(client, 'subscriber');
  canceledId = (await newSubscriber(client, 'canceled')).subscription.id;
  await client.subscriptions.cancel(canceledId, atOnce);
  await post(client, '/customers', { customer: { externalId: 'gone', email: 'g@shop.test', name: 'Gone' } });
  await post(client, '/customers/gone/archive', {});
});

const codes: Readonly<Record<number, string>> = {
  400: 'BAD_REQUEST',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
};

/** Refusals by what is wrong, with the status that the reference documents for it. */
type Refusals = readonly (readonly [string, keyof typeof codes, () => Promise<unknown>])[];

function refuses(refusals: Refusals): void {
  for (const [wrong, status, act] of refusals) {
    test(`${wrong}: ${status}`, async () => {
      await assert.rejects(act(), (error) => {
        assert(error instanceof Flowglad.APIError, String(error));
        assert.equal(error.status, status, error.message);
        assert.equal((error.error as Body).code, codes[status]);
        return true;
      });
    });
  }
}

const event = (fields: object) => {
  const usageEvent = { subscriptionId: subscriber.subscription.id, amount: 1, transactionId: 'refused', ...fields };
  return client.usageEvents.create({ usageEvent });
};

describe('usage events', () => {
  refuses([
    ['no price and no meter', 400, () => event({})],
    ['a price and a meter', 400, () => event({ priceSlug: 'call', usageMeterSlug: 'calls' })],
    ['a price of another type', 400, () => event({ priceId: shop.products.team.defaultPrice.id })],
    ['an unknown meter', 404, () => event({ usageMeterSlug: 'unknown' })],
    ['a negative amount', 400, () => event({ usageMeterSlug: 'calls', amount: -1 })],
    ['a subscription that has ended', 400, () => event({ usageMeterSlug: 'calls', subscriptionId: canceledId })],
    ['a transaction of another subscription', 409, () => event({ usageMeterSlug: 'calls', transactionId: 'first' })],
  ]);

  test('no properties on a meter that counts them: 400', async () => {
    const usageMeter = { name: 'Users', slug: 'users', pricingModelId: shop.pricingModelId };
    await client.usageMeters.create({ usageMeter: { ...usageMeter, aggregationType: 'count_distinct_properties' } });
    await assert.rejects(event({ usageMeterSlug: 'users' }), { status: 400 });
    const { usageEvent } = await event({ usageMeterSlug: 'users', properties: { user: 'ada' } });
    assert.deepEqual(usageEvent.properties, { user: 'ada' });
  });
});

const claim = (fields: Partial<Flowglad.ResourceClaimClaimParams>, id = subscriber.subscription.id) =>
  client.resourceClaims.claim(id, { resourceSlug: 'seat', ...fields });
const release = (fields: Partial<Flowglad.ResourceClaimReleaseParams>) =>
  client.resourceClaims.release(subscriber.subscription.id, { resourceSlug: 'seat', ...fields });

describe('claims', () => {
  refuses([
    ['neither a quantity nor a name', 400, () => claim({})],
    ['a quantity and a name', 400, () => claim({ quantity: 1, externalId: 'x' })],
    ['more than the capacity', 400, () => claim({ quantity: 4 })],
    ['an unknown resource', 404, () => claim({ resourceSlug: 'unknown', quantity: 1 })],
    ['a subscription that has ended', 400, () => claim({ quantity: 1 }, canceledId)],
    ['a release of more than is claimed', 400, () => release({ quantity: 1 })],
    ['a release of an unknown name', 404, () => release({ externalId: 'nobody' })],
    ['a release of an unknown claim', 404, () => release({ claimIds: ['res_claim_unknown'] })],
    ['the usage of no resource', 400, () => client.resourceClaims.retrieveUsage(subscriber.subscription.id, {})],
  ]);

  test('a resource that the plan gives no capacity of: 400', async () => {
    await client.resources.create({
      resource: { name: 'Room', slug: 'room', pricingModelId: shop.pricingModelId },
    });
    await assert.rejects(claim({ resourceSlug: 'room', quantity: 1 }), { status: 400 });
  });
});

const order = (fields: Flowglad.SubscriptionCreateParams) => client.subscriptions.create(fields);
const adjust = (item: object, timing = 'immediately', id = subscriber.subscription.id) =>
  client.subscriptions.adjust(id, {
    adjustment: { timing, newSubscriptionItems: [item] },
  } as Flowglad.SubscriptionAdjustParams);

describe('subscriptions', () => {
  refuses([
    ['a second one of a customer', 409, () => order({ customerId: shop.customerId, priceSlug: 'pro-monthly' })],
    ['a second free one', 409, () => order({ customerExternalId: 'canceled', priceSlug: 'free' })],
    ['one to a single payment', 400, () => order({ customerExternalId: 'canceled', priceSlug: 'onboarding-once' })],
    ['one to a price of usage', 400, () => order({ customerExternalId: 'canceled', priceSlug: 'call' })],
    ['neither a customer nor a price', 400, () => order({})],
    ['one of nobody', 404, () => order({ customerExternalId: 'nobody', priceSlug: 'pro-monthly' })],
    ['one of an archived customer', 400, () => order({ customerExternalId: 'gone', priceSlug: 'pro-monthly' })],
    ['a change to an unknown price', 404, () => adjust({ priceSlug: 'unknown' })],
    ['a change to no unit', 400, () => adjust({ priceSlug: 'team-monthly', quantity: 0 })],
    ['a change to a price of usage', 400, () => adjust({ priceSlug: 'call' })],
    ['a change of an ended one', 400, () => adjust({ priceSlug: 'pro-monthly' }, 'immediately', canceledId)],
  ]);

  test('a cancel or another change while a change waits: 400; fewer seats than are claimed: 409', async () => {
    const { subscription } = await newSubscriber(client, 'waiting');
    await adjust({ priceSlug: 'team-monthly', quantity: 2 }, 'immediately', subscription.id);
    await claim({ quantity: 4 }, subscription.id);
    const fewer = { priceSlug: 'team-monthly', quantity: 1 };
    await assert.rejects(adjust(fewer, 'immediately', subscription.id), { status: 409 });
    await client.resourceClaims.release(subscription.id, { resourceSlug: 'seat', quantity: 2 });
    await adjust(fewer, 'at_end_of_current_billing_period', subscription.id);
    await assert.rejects(client.subscriptions.cancel(subscription.id, atEnd), { status: 400 });
    await assert.rejects(adjust({ priceSlug: 'pro-monthly' }, 'immediately', subscription.id), { status: 400 });
  });

  test('a change while the end waits: 400; the end again, or after it, answers what is', async () => {
    const { subscription } = await newSubscriber(client, 'ending');
    const { subscription: ending } = await client.subscriptions.cancel(subscription.id, atEnd);
    await assert.rejects(adjust({ priceSlug: 'pro-monthly' }, 'immediately', subscription.id), { status: 400 });
    assert.deepEqual((await client.subscriptions.cancel(subscription.id, atEnd)).subscription, ending);
    const { subscription: canceled } = await client.subscriptions.retrieve(canceledId);
    assert.deepEqual((await client.subscriptions.cancel(canceledId, atOnce)).subscription, canceled);
  });

  test('one that is charged nothing cannot be changed: 400', async () => {
    const { id } = await newCustomer(client, 'guest');
    const { subscription } = await order({ customerId: id, priceSlug: 'team-monthly', doNotCharge: true });
    assert.deepEqual([subscription.status, subscription.doNotCharge], ['active', true]);
    await assert.rejects(adjust({ priceSlug: 'pro-monthly' }, 'immediately', subscription.id), { status: 400 });
  });
});

const price = {
  type: 'subscription',
  intervalUnit: 'month',
  intervalCount: 1,
  unitPrice: 100,
  isDefault: true,
} as const;
const product = (fields: object) =>
  client.products.create({
    product: { name: 'X', pricingModelId: shop.pricingModelId, active: true, ...fields },
    price,
  });
const resource = (slug: string) => ({ name: 'Again', slug, pricingModelId: shop.pricingModelId });
const discount = (fields: object) =>
  client.discounts.create({
    discount: { name: 'X', code: 'twice', amount: 1, amountType: 'percent', duration: 'once', ...fields },
  });

describe('what is sold', () => {
  refuses([
    ['a second default product', 403, () => product({ default: true })],
    ['a slug twice', 409, () => product({ slug: 'team' })],
    ['a resource twice', 409, () => client.resources.create({ resource: resource('seat') })],
    ['a meter twice', 409, () => client.usageMeters.create({ usageMeter: resource('calls') })],
    ['a code twice', 409, () => discount({ code: 'Launch' })],
    ['a code of two letters', 400, () => discount({ code: 'ab' })],
    ['a discount of nothing', 400, () => discount({ amount: 0 })],
    ['a second type of price', 403, () => newPrice('onboarding')],
    ['a price of the default product', 403, () => newPrice('free')],
    ['an id that is not the one in the path', 400, () => rename('prod_other')],
  ]);
});

function newPrice(slug: string) {
  return client.prices.create({ price: { ...price, productId: shop.products[slug].id } });
}

function rename(id: string) {
  return client.products.update(shop.products.team.id, { product: { id, name: 'Renamed', active: true } });
}

describe('refunds', () => {
  refuses([
    ['an unknown payment', 404, () => client.payments.refund('pym_unknown', {})],
    ['nothing', 400, () => client.payments.refund(shop.paymentId, { partialAmount: 0 })],
    ['more than was paid', 400, () => client.payments.refund(shop.paymentId, { partialAmount: 2901 })],
  ]);

  test('more than is left: 400; after the whole nothing is left', async () => {
    await client.payments.refund(shop.paymentId, { partialAmount: 900 });
    await assert.rejects(client.payments.refund(shop.paymentId, { partialAmount: 2001 }), { status: 400 });
    await client.payments.refund(shop.paymentId, {});
    await assert.rejects(client.payments.refund(shop.paymentId, {}), { status: 400 });
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Flowglad } from '@flowglad/node';
import { type Body, startTestApp } from '../support/harness.ts';
import { officialClient, watch } from '../support/official-client.ts';
import { newCustomer, newSubscriber, openShop, post } from '../support/official-shop.ts';

const app = await startTestApp();
const watched = await watch(app);
const client = officialClient(app, watched);
const shop = await openShop(client);

/** The requests that an act sends to the service. */
async function sentDuring(act: () => Promise<unknown>) {
  const before = watched.exchanges.length;
  await act();
  return watched.exchanges.slice(before);
}

/** The error that an act ends in, of the class that the client's users catch. */
async function errorOf<Kind extends Error>(kind: new (...given: never[]) => Kind, act: () => Promise<unknown>) {
  try {
    await act();
  } catch (error) {
    assert(error instanceof kind, `${error} is a ${kind.name}`);
    return error;
  }
  return assert.fail(`no ${kind.name}`);
}

test('a client that is told nothing but the environment finds the service', async () => {
  process.env.FLOWGLAD_SECRET_KEY = app.testKey;
  process.env.FLOWGLAD_BASE_URL = app.url;
  try {
    const { customer } = await new Flowglad().customers.retrieve(shop.externalId);
    assert.equal(customer.id, shop.customerId);
  } finally {
    delete process.env.FLOWGLAD_SECRET_KEY;
    delete process.env.FLOWGLAD_BASE_URL;
  }
});

test('ids begin with what they are of', async () => {
  const { claims } = await client.resourceClaims.claim(shop.subscriptionId, { resourceSlug: 'desk', quantity: 1 });
  const { currentSubscription, subscriptions }: Body = await client.customers.retrieveBilling(shop.externalId);
  const prefixes: readonly (readonly [string, string | undefined])[] = [
    ['pricing_model', shop.pricingModelId],
    ['prod', shop.products.team.id],
    ['price', shop.products.team.defaultPrice.id],
    ['feature', shop.featureIds.sso],
    ['usage_meter', shop.meterId],
    ['usage_event', shop.usageEventId],
    ['resource', shop.resourceId],
    ['res_claim', claims[0]?.id],
    ['cust', shop.customerId],
    ['pm', shop.paymentMethodId],
    ['sub', subscriptions[0].id],
    ['si', currentSubscription.subscriptionItems[0].id],
    ['sub_feature', currentSubscription.experimental.featureItems[0].id],
    ['inv', shop.invoiceId],
    ['inv_li', shop.lineItemId],
    ['pym', shop.paymentId],
    ['discount', shop.discountId],
    ['org', currentSubscription.organizationId],
  ];
  for (const [prefix, id] of prefixes) assert.match(id ?? '', new RegExp(`^${prefix}_[0-9A-Za-z]{21}$`));
});

describe('what the official client sends', () => {
  test('the key without a scheme in front', async () => {
    const [sent] = await sentDuring(() => client.customers.list());
    assert.equal(sent?.headers.get('authorization'), app.testKey);
  });

  test('a POST without a body and without a content type', async () => {
    const { subscription } = await newSubscriber(client, 'without body');
    const [sent] = await sentDuring(() => client.subscriptions.uncancel(subscription.id));
    assert.equal(sent?.status, 200);
    assert.equal(sent?.headers.get('content-type'), null);
  });

  test('the official client sends arrays in the query joined by commas', async () => {
    const usagesOf = (query: Flowglad.ResourceClaimListUsagesParams) =>
      client.resourceClaims.listUsages(shop.subscriptionId, query);
    const slugs = (usages: Awaited<ReturnType<typeof usagesOf>>) =>
      usages.map(({ usage }) => usage.resourceSlug).sort();
    const [sent] = await sentDuring(async () => {
      assert.deepEqual(slugs(await usagesOf({ resourceSlugs: ['seat', 'desk'] })), ['desk', 'seat']);
    });
    assert.match(sent?.path ?? '', /resourceSlugs=seat(,|%2C)desk$/);
    assert.deepEqual(slugs(await usagesOf({ resourceSlugs: ['desk', 'unknown'] })), ['desk']);
    assert.deepEqual(slugs(await usagesOf({ resourceIds: [shop.resourceId] })), ['seat']);
  });

  for (const externalId of ['a/b c%', '@', 'ada@shop.test', 'Zoë & Søn', '日本?x=1#y', '%2F', 'a+b;c=d']) {
    test(`the external id ${externalId}, percent-encoded`, async () => {
      const { id } = await newCustomer(client, externalId);
      const [sent] = await sentDuring(async () => {
        assert.equal((await client.customers.retrieve(externalId)).customer.id, id);
      });
      assert.equal(sent?.path.split('/').length, '/api/v1/customers/x'.split('/').length);
      const { customer } = await client.customers.update(externalId, { customer: { name: 'Found' } });
      assert.deepEqual([customer.id, customer.name, customer.externalId], [id, 'Found', externalId]);
      const billing = await client.customers.retrieveBilling(externalId);
      assert.equal(billing.customer.id, id);
      const path = `/customers/${encodeURIComponent(externalId)}/archive`;
      assert.equal((await post(client, path, {})).customer.archived, true);
    });
  }

  test('keys that the reference does not look at are ignored, in bodies and in queries', async () => {
    const body = { customer: { name: 'Ada L.', phone: '+1', id: 'x' }, externalId: shop.externalId };
    const { customer } = await client.customers.update(shop.externalId, body as Flowglad.CustomerUpdateParams);
    assert.equal(customer.name, 'Ada L.');
    const usage = await client.resourceClaims.retrieveUsage(shop.subscriptionId, { resourceSlug: 'seat' }, {
      query: { resourceSlug: 'seat', subscriptionId: shop.subscriptionId },
    } as Flowglad.RequestOptions);
    assert.equal(usage.usage.capacity, 3);
  });
});

test('pages are walked by their cursors: each record once, in order of creation', async () => {
  for (const n of [1, 2, 3, 4, 5, 6, 7]) await client.resources.create({ resource: resource(n) });
  for (const n of [1, 2, 3]) await newCustomer(client, `page ${n}`);
  const ids: string[] = [];
  const totals = new Set<number>();
  let cursor: string | undefined;
  do {
    const page = await client.customers.list({ limit: '2', ...(cursor ? { cursor } : {}) });
    ids.push(...page.data.map(({ id }) => id));
    totals.add(page.total);
    assert.equal(page.hasMore, page.nextCursor !== undefined);
    if (cursor) assert.equal(page.currentCursor, cursor);
    cursor = page.nextCursor;
  } while (cursor);
  const all = await client.customers.list({ limit: '100' });
  assert.deepEqual(
    ids,
    all.data.map(({ id }) => id),
  );
  assert.deepEqual([...totals], [ids.length]);
  assert.deepEqual(
    all.data.map(({ createdAt }) => createdAt),
    all.data.map(({ createdAt }) => createdAt).sort((one, other) => one - other),
  );
});

const resource = (n: number) => ({ name: `R${n}`, slug: `r${n}`, pricingModelId: shop.pricingModelId });

describe('refusals, as the client tells its users', () => {
  test('404 is a NotFoundError whose body has the code on top', async () => {
    const acts = [
      () => client.customers.retrieve('nobody'),
      () => client.subscriptions.retrieve('sub_nowhere'),
      () => client.prices.update('price_x', { price: { id: 'price_x', type: 'usage', isDefault: true } }),
    ];
    for (const act of acts) {
      const error = await errorOf(Flowglad.NotFoundError, act);
      const body = error.error as Body;
      assert.equal(body.code, 'NOT_FOUND');
      assert.equal(error.message, `404 ${body.message}`);
      assert.equal(body.error, body.message);
    }
  });

  test('a path that does not exist is a NotFoundError too, within the API and outside of it', async () => {
    for (const path of ['/api/v1/nothing', '/_stainless_unknown_path'])
      await errorOf(Flowglad.NotFoundError, () => client.get(path));
  });

  test('400 is a BadRequestError that names every field', async () => {
    const usageEvent = { subscriptionId: shop.subscriptionId, amount: 0.5, transactionId: '' };
    const error = await errorOf(Flowglad.BadRequestError, () => client.usageEvents.create({ usageEvent }));
    const { code, issues } = error.error as Body;
    assert.equal(code, 'BAD_REQUEST');
    const paths = issues.map(({ path }: Body) => path.join('.'));
    assert(paths.includes('usageEvent.amount'), paths.join(', '));
    for (const { message } of issues) assert.equal(typeof message, 'string');
    for (const limit of ['0', '101', 'x'])
      await errorOf(Flowglad.BadRequestError, () => client.customers.list({ limit }));
    await errorOf(Flowglad.BadRequestError, () => client.customers.list({ cursor: 'cursor' }));
  });

  test('409 is a ConflictError, and is not tried again', async () => {
    const sent = await sentDuring(async () => {
      const customer = { externalId: shop.externalId, email: 'a@shop.test', name: 'Again' };
      const error = await errorOf(Flowglad.ConflictError, () => client.customers.create({ customer }));
      assert.equal((error.error as Body).code, 'CONFLICT');
      const priceSlug = 'pro-monthly';
      await errorOf(Flowglad.ConflictError, () =>
        client.subscriptions.create({ customerId: shop.customerId, priceSlug }),
      );
    });
    assert.deepEqual(
      sent.map(({ status }) => status),
      [409, 409],
    );
  });

  test('401 is an AuthenticationError, and is not tried again', async () => {
    for (const key of ['sk_test_unknown', 'My API Key', app.testKey.slice(0, -1)]) {
      const sent = await sentDuring(async () => {
        const stranger = officialClient(app, watched, key);
        const error = await errorOf(Flowglad.AuthenticationError, () => stranger.customers.list());
        assert.equal((error.error as Body).code, 'UNAUTHORIZED');
      });
      assert.equal(sent.length, 1);
    }
  });

  test('403 is a PermissionDeniedError', async () => {
    const product = { name: 'Second free plan', pricingModelId: shop.pricingModelId, active: true, default: true };
    const price = { type: 'single_payment' as const, unitPrice: 0, isDefault: true };
    const error = await errorOf(Flowglad.PermissionDeniedError, () => client.products.create({ product, price }));
    assert.equal((error.error as Body).code, 'FORBIDDEN');
  });
});

describe('an answer that is lost on the way', () => {
  /** A client whose first answer never arrives, so that it sends the same request again by itself. */
  function losingFirst(): Flowglad {
    let lost = false;
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const response = await watched.fetch(input, init);
      if (lost) return response;
      lost = true;
      throw new TypeError('connection reset');
    };
    return new Flowglad({ apiKey: app.testKey, baseURL: app.url, fetch });
  }

  test('with an Idempotency-Key the same request is answered again, and charges once', async () => {
    const { id, paymentMethodId } = await newCustomer(client, 'charged once');
    const sent = await sentDuring(async () => {
      const order = { customerId: id, priceSlug: 'team-monthly', defaultPaymentMethodId: paymentMethodId };
      const headers = { 'Idempotency-Key': 'order 1' };
      const { subscription } = await losingFirst().subscriptions.create(order, { headers });
      assert.equal(subscription.status, 'active');
    });
    assert.deepEqual(
      sent.map(({ status }) => status),
      [200, 200],
    );
    const { data } = await client.get<Body>('/api/v1/payments', { query: { customerId: id } });
    assert.equal(data.length, 1);
  });

  test('a usage event that is sent again is answered as it is stored, and counts once', async () => {
    const { subscription } = await newSubscriber(client, 'counted once');
    const usageEvent = { subscriptionId: subscription.id, usageMeterSlug: 'calls', amount: 40, transactionId: 'lost' };
    const { usageEvent: stored } = await losingFirst().usageEvents.create({ usageEvent });
    const again = await client.usageEvents.create({ usageEvent: { ...usageEvent, amount: 41 } });
    assert.deepEqual(again.usageEvent, stored);
    const { usageMeterBalances } = await client.get<Body>('/api/v1/customers/counted%20once/usage-balances');
    assert.equal(usageMeterBalances[0].availableBalance, 60);
  });
});

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Tollkeeper } from '../../client/src/client.ts';
import { NotFoundError, TimeoutError } from '../../client/src/errors.ts';
import { startFront } from '../support/client-front.ts';
import { startTestApp } from '../support/harness.ts';
import { buildWorld, type World } from '../support/world.ts';

const app = await startTestApp();
const direct = new Tollkeeper({ key: app.testKey, baseUrl: app.url });

let world: World;
before(async () => {
  world = await buildWorld(app);
});

/** A client whose requests are counted, and may be failed. */
async function startCounted({ maxRetries = 0 } = {}) {
  const front = await startFront(app.url);
  return { client: new Tollkeeper({ key: app.testKey, baseUrl: front.url, maxRetries }), ...front };
}

async function newCustomer(externalId: string): Promise<string> {
  await direct.customers.create({ customer: { externalId, email: 'a@acme.test', name: 'A' } });
  return externalId;
}

/** A price of a product that gives so many credits of the world's usage meter. */
async function newPlanWith(slug: string, amount: number): Promise<string> {
  const { pricingModelId, usageMeterId } = world;
  const { feature } = await direct.features.create({
    feature: {
      type: 'usage_credit_grant',
      slug,
      name: slug,
      pricingModelId,
      usageMeterId,
      amount,
      renewalFrequency: 'every_billing_period',
    },
  });
  const { product } = await direct.products.create({
    product: { name: slug, slug, pricingModelId },
    price: { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 100 },
    featureIds: [feature.id],
  });
  const { defaultPrice } = await direct.products.get({ id: product.id });
  return defaultPrice.id;
}

async function subscribe(customerExternalId: string, priceId: string): Promise<void> {
  const card = { customerExternalId, type: 'card', token: 'pm_card_visa' } as const;
  const { paymentMethod } = await direct.paymentMethods.create({ paymentMethod: card });
  await direct.subscriptions.create({ customerExternalId, priceId, defaultPaymentMethodId: paymentMethod.id });
}

describe('what a reader answers', () => {
  test('an answer of a reader is what a check answers, for every kind of feature and amount', async () => {
    const reader = direct.entitlementReader();
    const { externalId } = world;
    const poor = await newCustomer('poor');
    for (const customerExternalId of [externalId, poor]) {
      for (const featureSlug of ['sso', 'audit', 'calls', 'seats', 'none']) {
        for (const amount of [1, 3, 4, 5, 9_955, 9_956, 20_000]) {
          const isToggle = featureSlug === 'sso' || featureSlug === 'audit';
          const requested = isToggle
            ? { customerExternalId, featureSlug }
            : { customerExternalId, featureSlug, amount };
          const { results } = await direct.entitlements.check({ checks: [requested] });
          assert.equal(
            await reader.may(customerExternalId, featureSlug, amount),
            results[0]?.allowed,
            JSON.stringify(requested),
          );
        }
      }
    }
    const { usageMeterBalances } = await direct.customers.getUsageBalances({ externalId });
    const [balance] = usageMeterBalances;
    assert.equal(await reader.balance(externalId, 'api-calls'), balance?.availableBalance);
    assert.deepEqual([await reader.balance(externalId, 'none'), await reader.balance(poor, 'api-calls')], [0, 0]);
    assert.deepEqual(
      await reader.entitlements(externalId),
      (await direct.customers.getEntitlements({ externalId })).entitlements,
    );
  });

  test('an answer of a reader counts the credits of the subscriptions that give the feature, and not of others', async () => {
    await direct.settings.update({ settings: { allowMultipleSubscriptions: true } });
    const externalId = await newCustomer('several');
    await subscribe(externalId, world.priceId);
    await subscribe(externalId, await newPlanWith('few-calls', 100));
    const reader = direct.entitlementReader();
    for (const [featureSlug, amount] of [
      ['few-calls', 100],
      ['few-calls', 101],
      ['calls', 10_000],
      ['calls', 10_001],
    ] as const) {
      const requested = { customerExternalId: externalId, featureSlug, amount };
      const { results } = await direct.entitlements.check({ checks: [requested] });
      assert.equal(results[0]?.allowed, amount % 10 === 0, JSON.stringify(requested));
      assert.equal(await reader.may(externalId, featureSlug, amount), results[0]?.allowed, JSON.stringify(requested));
    }
    assert.equal(await reader.balance(externalId, 'api-calls'), 10_100);
  });

  test('a reader answers an error each time about a customer who does not exist', async () => {
    const { client, seen } = await startCounted();
    const reader = client.entitlementReader();
    for (const _ of [1, 2]) await assert.rejects(reader.may('late', 'sso'), NotFoundError);
    assert.equal(seen.length, 2);
    await newCustomer('late');
    assert.equal(await reader.may('late', 'sso'), false);
  });
});

describe('a reader asks', () => {
  test('a reader asks once for a customer, however many ask at the same time or soon after', async () => {
    const { client, seen } = await startCounted();
    const reader = client.entitlementReader();
    const answers = await Promise.all(Array.from({ length: 100 }, () => reader.may(world.externalId, 'sso')));
    assert.deepEqual(new Set(answers), new Set([true]));
    for (let count = 0; count < 100; count++) await reader.balance(world.externalId, 'api-calls');
    assert.equal(seen.length, 1);
  });

  test('a reader asks after maxAgeMs whether the answer still holds, and is told in full only when it does not', async () => {
    const { client, seen } = await startCounted();
    const externalId = await newCustomer('changing');
    const reader = client.entitlementReader({ maxAgeMs: 0 });
    const first = await reader.entitlements(externalId);
    assert.equal(await reader.entitlements(externalId), first);
    assert.deepEqual(
      seen.map(({ status }) => status),
      [200, 304],
    );
    await subscribe(externalId, world.priceId);
    assert.equal(await reader.may(externalId, 'sso'), true);
    assert.equal(await reader.may(externalId, 'sso'), true);
    assert.deepEqual(
      seen.map(({ status }) => status),
      [200, 304, 200, 304],
    );
  });

  test('a reader asks again only when the answer is older than maxAgeMs', async () => {
    const { client, seen } = await startCounted();
    const reader = client.entitlementReader({ maxAgeMs: 200 });
    const begun = performance.now();
    await reader.may(world.externalId, 'sso');
    await reader.may(world.externalId, 'sso');
    if (performance.now() - begun < 200) assert.equal(seen.length, 1);
    await sleep(210);
    await reader.may(world.externalId, 'sso');
    assert.equal(seen.at(-1)?.status, 304);
  });

  test('anew after forget', async () => {
    const { client, seen } = await startCounted();
    const reader = client.entitlementReader();
    await reader.may(world.externalId, 'sso');
    reader.forget(world.externalId);
    await reader.may(world.externalId, 'sso');
    assert.deepEqual(
      seen.map(({ headers }) => headers['if-none-match']),
      [undefined, undefined],
    );
  });

  test('anew after forget, and keeps no answer that was under way then', async () => {
    const { client, seen, fates } = await startCounted();
    const reader = client.entitlementReader();
    const externalId = await newCustomer('forgotten');
    const release = Promise.withResolvers<void>();
    fates.push({ until: release.promise });
    const inFlight = reader.may(externalId, 'sso');
    while (seen[0]?.status === undefined) await sleep(5);
    await subscribe(externalId, world.priceId);
    reader.forget(externalId);
    assert.equal(await reader.may(externalId, 'sso'), true);
    release.resolve();
    assert.equal(await inFlight, false);
    assert.equal(await reader.may(externalId, 'sso'), true);
    assert.equal(seen.length, 2);
  });

  test('a reader asks about no more customers than it may remember without asking again for the one it asked about longest ago', async () => {
    const { client, seen } = await startCounted();
    const reader = client.entitlementReader({ max: 2 });
    for (const externalId of ['one', 'two', 'three']) await newCustomer(externalId);
    const ask = async (externalId: string) => {
      const before = seen.length;
      await reader.may(externalId, 'sso');
      return seen.length - before;
    };
    const requests: number[] = [];
    for (const externalId of ['one', 'two', 'one', 'three', 'one', 'two', 'three'])
      requests.push(await ask(externalId));
    assert.deepEqual(requests, [1, 1, 0, 1, 0, 1, 1]);
  });
});

describe('while the service does not answer, a reader', () => {
  const outages = [{ status: 503 }, 'cut'] as const;

  test('while the service does not answer, a reader throws, unless it may use an older answer', async () => {
    const { client, fates } = await startCounted();
    const strict = client.entitlementReader({ maxAgeMs: 0 });
    assert.equal(await strict.may(world.externalId, 'sso'), true);
    for (const outage of outages) {
      fates.push(outage);
      await assert.rejects(strict.may(world.externalId, 'sso'));
    }
    assert.equal(await strict.may(world.externalId, 'sso'), true);
  });

  test('while the service does not answer, a reader uses an older answer for as long as it may, and the new one as soon as there is one', async () => {
    const { client, fates, seen } = await startCounted();
    const patient = client.entitlementReader({ maxAgeMs: 0, staleOnErrorMs: 60_000 });
    assert.equal(await patient.may(world.externalId, 'sso'), true);
    for (const outage of outages) {
      fates.push(outage);
      assert.equal(await patient.may(world.externalId, 'sso'), true);
    }
    assert.equal(await patient.may(world.externalId, 'sso'), true);
    assert.deepEqual(
      seen.map(({ status }) => status),
      [200, undefined, undefined, 304],
    );
    const brief = client.entitlementReader({ maxAgeMs: 0, staleOnErrorMs: 1 });
    await brief.may(world.externalId, 'sso');
    await sleep(5);
    fates.push('cut');
    await assert.rejects(brief.may(world.externalId, 'sso'));
  });

  test('while the service does not answer, a reader does not ask again at once, and waits no longer than it was told to', async () => {
    const { client, fates, seen } = await startCounted({ maxRetries: 2 });
    const reader = client.entitlementReader({ maxAgeMs: 700, staleOnErrorMs: 60_000, timeoutMs: 400, maxRetries: 0 });
    const { externalId } = world;
    fates.push('hang');
    await assert.rejects(reader.may(externalId, 'sso'), TimeoutError);
    assert.equal(await reader.may(externalId, 'sso'), true);
    await sleep(710);
    seen.length = 0;
    fates.push('hang');
    const begun = performance.now();
    for (let count = 0; count < 100; count++) assert.equal(await reader.may(externalId, 'sso'), true);
    // Unless the machine was so slow that the time to ask again had come.
    if (performance.now() - begun < 700) assert.equal(seen.length, 1);
  });

  test('while the service does not answer, a reader has nothing to use for a customer whom it has not asked about, and does not hide a refusal', async () => {
    const { client, fates } = await startCounted();
    const patient = client.entitlementReader({ maxAgeMs: 0, staleOnErrorMs: 60_000 });
    fates.push('cut');
    await assert.rejects(patient.may(world.externalId, 'sso'));
    await patient.may(world.externalId, 'sso');
    fates.push({ status: 401, body: '{"message":"No","code":"UNAUTHORIZED"}' });
    await assert.rejects(patient.may(world.externalId, 'sso'), { status: 401 });
  });
});

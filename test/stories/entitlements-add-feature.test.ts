import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readBalances } from '../../src/usage/actions-balances.ts';
import { anyId } from '../support/any-id.ts';
import { insertEntitlementFixture, insertFeature } from '../support/entitlements-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();

const pathOf = ({ subscriptionId }: { subscriptionId: string }) => `/subscriptions/${subscriptionId}/add-feature`;
const add = async (fixture: { subscriptionId: string }, body: Body) =>
  (await app.post(pathOf(fixture), body)).subscriptionItemFeature;
const refuse = (fixture: { subscriptionId: string }, body: Body) => app.request('POST', pathOf(fixture), body);

async function balance({ subscriptionId, meterId }: { subscriptionId: string; meterId: string }): Promise<bigint> {
  const balances = await app.inEnvironment((work) => readBalances(work, [subscriptionId]));
  return balances.find((each) => each.id === meterId)?.availableBalance ?? 0n;
}

async function credits({ subscriptionId }: { subscriptionId: string }) {
  return app.owner
    .selectFrom('usageCredits')
    .innerJoin('ledgerAccounts', 'ledgerAccounts.id', 'usageCredits.ledgerAccountId')
    .select(['issued', 'expiresAt', 'billingPeriodId', 'featureId'])
    .where('ledgerAccounts.subscriptionId', '=', subscriptionId)
    .orderBy('usageCredits.id')
    .execute();
}

describe('a feature that is added by hand', () => {
  test('a feature that is added by hand lives on one item for such features, which costs nothing', async () => {
    const fixture = await insertEntitlementFixture(app);
    const toggle = await add(fixture, { featureId: fixture.toggleId });
    assert.deepEqual([toggle.manuallyCreated, toggle.productFeatureId, toggle.slug], [true, null, 'sso']);
    const seats = await add(fixture, { featureSlug: 'seats' });
    assert.deepEqual([seats.manuallyCreated, seats.amount], [true, 5]);
    assert.equal(seats.subscriptionItemId, toggle.subscriptionItemId);
    const items = await app.owner
      .selectFrom('subscriptionItems')
      .select(['id', 'name', 'priceId', 'unitPrice', 'quantity', 'manuallyCreated'])
      .where('subscriptionId', '=', fixture.subscriptionId)
      .where('id', '!=', fixture.itemId)
      .execute();
    const free = { priceId: null, unitPrice: 0n, quantity: 0, manuallyCreated: true };
    assert.deepEqual(items, [{ id: toggle.subscriptionItemId, name: 'Manual Features', ...free }]);
  });

  test('twice: a toggle stays as it is, credits and seats add up', async () => {
    const fixture = await insertEntitlementFixture(app);
    const toggle = await add(fixture, { featureSlug: 'sso' });
    assert.deepEqual(await add(fixture, { featureId: fixture.toggleId }), toggle);
    const amounts: unknown[] = [];
    for (const featureSlug of ['calls', 'calls', 'seats', 'seats'])
      amounts.push((await add(fixture, { featureSlug })).amount);
    assert.deepEqual(amounts, [100, 200, 5, 10]);
  });

  test('at the same time from several callers: every addition counts', async () => {
    const fixture = await insertEntitlementFixture(app);
    await Promise.all(Array.from({ length: 10 }, () => add(fixture, { featureSlug: 'seats' })));
    assert.equal((await add(fixture, { featureSlug: 'seats' })).amount, 55);
  });

  test('a feature that is added by hand anew, after it or its item expired, begins anew', async () => {
    const fixture = await insertEntitlementFixture(app);
    const first = await add(fixture, { featureSlug: 'seats' });
    await app.post(`/subscription-item-features/${first.id}/expire`);
    const second = await add(fixture, { featureSlug: 'seats' });
    assert.deepEqual([second.id === first.id, second.subscriptionItemId === first.subscriptionItemId], [false, true]);
    assert.equal(second.amount, 5);
    await app.owner
      .updateTable('subscriptionItems')
      .set({ expiredAt: Date.now() - 1 })
      .where('id', '=', second.subscriptionItemId)
      .execute();
    const third = await add(fixture, { featureSlug: 'seats' });
    assert.deepEqual([third.subscriptionItemId === second.subscriptionItemId, third.amount], [false, 5]);
  });
});

describe('credits that are granted at once', () => {
  test('credits that are granted at once are there once in each billing period, and recurring ones end with it', async () => {
    const fixture = await insertEntitlementFixture(app);
    const now = { featureSlug: 'calls', grantCreditsImmediately: true };
    const amounts: unknown[] = [];
    for (let call = 0; call < 5; call++) amounts.push((await add(fixture, now)).amount);
    assert.deepEqual(amounts, [100, 200, 300, 400, 500]);
    assert.equal(await balance(fixture), 100n);
    const first = { issued: 100n, expiresAt: fixture.periodEnd, billingPeriodId: fixture.billingPeriodId };
    assert.deepEqual(await credits(fixture), [{ ...first, featureId: fixture.creditsId }]);

    const next = await insertNextPeriod(fixture);
    await add(fixture, now);
    const second = { issued: 100n, expiresAt: next.endAt, billingPeriodId: next.id };
    assert.deepEqual((await credits(fixture))[1], { ...second, featureId: fixture.creditsId });
  });

  test('credits that are granted at once of a feature that grants once never end', async () => {
    const fixture = await insertEntitlementFixture(app);
    await add(fixture, { featureSlug: 'bonus', grantCreditsImmediately: true });
    const [credit] = await credits(fixture);
    assert.deepEqual([credit?.issued, credit?.expiresAt], [100n, null]);
  });

  test('credits that are granted at once on a subscription without periods come once for ever and never end', async () => {
    const fixture = await insertEntitlementFixture(app);
    const noPeriod = { currentBillingPeriodStart: null, currentBillingPeriodEnd: null, billingCycleAnchorDate: null };
    await app.owner
      .updateTable('subscriptions')
      .set({ renews: false, intervalUnit: null, intervalCount: null, ...noPeriod })
      .where('id', '=', fixture.subscriptionId)
      .execute();
    for (let call = 0; call < 2; call++) await add(fixture, { featureSlug: 'calls', grantCreditsImmediately: true });
    const found = await credits(fixture);
    assert.deepEqual(
      found.map((credit) => [credit.issued, credit.expiresAt, credit.billingPeriodId]),
      [[100n, null, null]],
    );
  });

  test('come with the first payment of a subscription that waits for it, and not before', async () => {
    const fixture = await insertEntitlementFixture(app);
    await app.owner
      .updateTable('subscriptions')
      .set({ status: 'incomplete' })
      .where('id', '=', fixture.subscriptionId)
      .execute();
    assert.equal((await add(fixture, { featureSlug: 'calls', grantCreditsImmediately: true })).amount, 100);
    assert.deepEqual(await credits(fixture), []);
  });

  test('credits are not granted at once unless they are asked for', async () => {
    const fixture = await insertEntitlementFixture(app);
    await add(fixture, { featureSlug: 'calls' });
    await add(fixture, { featureSlug: 'calls', grantCreditsImmediately: false });
    assert.equal(await balance(fixture), 0n);
  });
});

/** Moves the subscription into its second period. */
async function insertNextPeriod(fixture: { subscriptionId: string; pricingModelId: string; periodEnd: number }) {
  const { subscriptionId, pricingModelId, periodEnd } = fixture;
  const stamps = { environmentId: app.testEnvironmentId, createdAt: Date.now(), updatedAt: Date.now() };
  const period = { id: anyId('billingPeriod'), startAt: periodEnd, endAt: periodEnd + 30 * 86_400_000 };
  await app.owner
    .insertInto('billingPeriods')
    .values({ ...stamps, ...period, pricingModelId, subscriptionId, status: 'active', trialPeriod: false })
    .execute();
  await app.owner
    .updateTable('subscriptions')
    .set({ currentBillingPeriodStart: period.startAt, currentBillingPeriodEnd: period.endAt })
    .where('id', '=', subscriptionId)
    .execute();
  return period;
}

describe('adding a feature is refused', () => {
  test('adding a feature is refused unless it is named once', async () => {
    const fixture = await insertEntitlementFixture(app);
    for (const body of [
      {},
      { featureId: fixture.toggleId, featureSlug: 'sso' },
      { featureId: null },
      { featureSlug: '' },
    ]) {
      assert.equal((await refuse(fixture, body)).status, 400, JSON.stringify(body));
    }
  });

  test('adding a feature is refused when it is unknown, of another pricing model, or inactive', async () => {
    const [fixture, other] = [await insertEntitlementFixture(app), await insertEntitlementFixture(app)];
    const inactive = await insertFeature(app, fixture, { type: 'toggle', slug: 'old', active: false });
    const cases: [Body, number][] = [
      [{ featureId: 'feature_unknown' }, 404],
      [{ featureSlug: 'unknown' }, 404],
      [{ featureId: other.toggleId }, 404],
      [{ featureId: inactive }, 400],
      [{ featureSlug: 'old' }, 404],
    ];
    for (const [body, status] of cases)
      assert.equal((await refuse(fixture, body)).status, status, JSON.stringify(body));
  });

  test('adding a feature is refused with credits at once from what gives none', async () => {
    const fixture = await insertEntitlementFixture(app);
    for (const featureSlug of ['sso', 'seats']) {
      const refused = await refuse(fixture, { featureSlug, grantCreditsImmediately: true });
      assert.equal(refused.status, 400);
      assert.match(refused.body.message, /grants no credits/);
    }
  });

  test('adding a feature is refused on a subscription that has ended, is unknown, or is of another environment', async () => {
    const fixture = await insertEntitlementFixture(app);
    const body = { featureSlug: 'sso' };
    assert.equal((await app.request('POST', pathOf(fixture), body, { key: app.liveKey })).status, 404);
    assert.equal((await refuse({ subscriptionId: 'sub_unknown' }, body)).status, 404);
    await app.owner
      .updateTable('subscriptions')
      .set({ status: 'canceled', canceledAt: Date.now() })
      .where('id', '=', fixture.subscriptionId)
      .execute();
    const refused = await refuse(fixture, body);
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /its status is canceled/);
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type GrantedItem, grantItemFeatures, listActiveItemFeatures } from '../../src/entitlements/actions.ts';
import {
  type EntitlementFixture,
  insertEntitlementFixture,
  insertFeature,
  insertLink,
} from '../support/entitlements-fixture.ts';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const maxSafeInteger = 2n ** 53n - 1n;

const itemOf = (fixture: EntitlementFixture, change: Partial<GrantedItem> = {}): GrantedItem => ({
  id: fixture.itemId,
  subscriptionId: fixture.subscriptionId,
  pricingModelId: fixture.pricingModelId,
  productId: fixture.productId,
  quantity: 1,
  addedDate: 0,
  ...change,
});
const grant = (items: readonly GrantedItem[]) => app.inEnvironment((work) => grantItemFeatures(work, items));
const listActive = (subscriptionIds: string[]) =>
  app.inEnvironment((work) => listActiveItemFeatures(work, subscriptionIds));

describe('an item gives what its product gives', () => {
  test('nothing without links', async () => {
    const fixture = await insertEntitlementFixture(app);
    assert.deepEqual(await grant([itemOf(fixture)]), []);
    assert.deepEqual(await grant([]), []);
    assert.deepEqual(await listActive([]), []);
  });

  test('an item gives credits and seats times its quantity, a toggle as it is', async () => {
    const fixture = await insertEntitlementFixture(app);
    const { itemId, subscriptionId, toggleId, creditsId, seatsId, meterId, resourceId } = fixture;
    const links: string[] = [];
    for (const featureId of [toggleId, creditsId, seatsId]) links.push(await insertLink(app, fixture, featureId));
    const granted = await grant([itemOf(fixture, { quantity: 3 })]);
    const none = { amount: null, usageMeterId: null, renewalFrequency: null, grantInterval: null, resourceId: null };
    const own = { subscriptionId, subscriptionItemId: itemId };
    const byFeature = (id: string) => ({ ...granted.find((each) => each.featureId === id), id: '' });
    assert.equal(granted.length, 3);
    assert.deepEqual(byFeature(toggleId), { id: '', ...own, featureId: toggleId, type: 'toggle', ...none });
    const credits = { amount: 300n, usageMeterId: meterId, renewalFrequency: 'every_billing_period' };
    const kept = { id: '', ...own, ...none };
    assert.deepEqual(byFeature(creditsId), { ...kept, featureId: creditsId, type: 'usage_credit_grant', ...credits });
    assert.deepEqual(byFeature(seatsId), { ...kept, featureId: seatsId, type: 'resource', amount: 15n, resourceId });

    const active = await listActive([subscriptionId]);
    assert.deepEqual(active.map((each) => each.id).sort(), granted.map((each) => each.id).sort());
    assert.deepEqual(active.map((each) => each.productFeatureId).sort(), links.sort());
    assert.ok(active.every((each) => !each.manuallyCreated && each.expiredAt === null));
  });

  test('an item does not give what is inactive, or what its product stops giving before the item begins', async () => {
    const fixture = await insertEntitlementFixture(app);
    const hour = 3_600_000;
    const inactive = await insertFeature(app, fixture, { type: 'toggle', slug: 'old', active: false });
    await insertLink(app, fixture, inactive);
    await insertLink(app, fixture, fixture.toggleId, Date.now() - 1);
    await insertLink(app, fixture, fixture.seatsId, Date.now() + hour);
    assert.deepEqual(await grant([itemOf(fixture, { addedDate: Date.now() + 2 * hour })]), []);
    const granted = await grant([itemOf(fixture)]);
    assert.deepEqual(
      granted.map((each) => each.featureId),
      [fixture.seatsId],
    );
  });

  test('an item gives only the newest of two features of one product for the same resource', async () => {
    const fixture = await insertEntitlementFixture(app);
    const values = { type: 'resource', slug: 'team-seats', amount: 20n, resourceId: fixture.resourceId } as const;
    const newer = await insertFeature(app, fixture, values, { now: Date.now() + 1000 });
    await insertLink(app, fixture, newer);
    await insertLink(app, fixture, fixture.seatsId);
    const granted = await grant([itemOf(fixture)]);
    assert.deepEqual(
      granted.map((each) => [each.featureId, each.amount]),
      [[newer, 20n]],
    );
  });

  test('a feature that is given again keeps its row, which takes the new amount and is attached again', async () => {
    const fixture = await insertEntitlementFixture(app);
    await insertLink(app, fixture, fixture.seatsId);
    const [first] = await grant([itemOf(fixture)]);
    await app.owner
      .updateTable('subscriptionItemFeatures')
      .set({ productFeatureId: null, detachedAt: 1, detachedReason: 'product_feature_expired' })
      .where('subscriptionId', '=', fixture.subscriptionId)
      .execute();
    const [second] = await grant([itemOf(fixture, { quantity: 2 })]);
    assert.deepEqual(second, { ...first, amount: 10n });
    const [active] = await listActive([fixture.subscriptionId]);
    assert.deepEqual([active?.detachedAt, active?.detachedReason], [null, null]);
    assert.notEqual(active?.productFeatureId, null);
  });

  test('an item gives at most 2^53-1: without limit, twice, is still without limit', async () => {
    const fixture = await insertEntitlementFixture(app);
    const values = {
      type: 'resource',
      slug: 'unlimited',
      amount: maxSafeInteger,
      resourceId: fixture.resourceId,
    } as const;
    await insertLink(app, fixture, await insertFeature(app, fixture, values, { now: Date.now() + 1000 }));
    const [granted] = await grant([itemOf(fixture, { quantity: 2 })]);
    assert.equal(granted?.amount, maxSafeInteger);
    const path = `/subscriptions/${fixture.subscriptionId}/add-feature`;
    await app.post(path, { featureSlug: 'unlimited' });
    const { subscriptionItemFeature } = await app.post(path, { featureSlug: 'unlimited' });
    assert.equal(BigInt(subscriptionItemFeature.amount), maxSafeInteger);
    const { usage } = await app.get(`/resource-claims/${fixture.subscriptionId}/usage?resourceSlug=seat`);
    assert.equal(BigInt(usage.capacity), maxSafeInteger);
  });

  test('each of several items in one call, in the order given', async () => {
    const fixtures = [await insertEntitlementFixture(app), await insertEntitlementFixture(app)];
    for (const fixture of fixtures) await insertLink(app, fixture, fixture.seatsId);
    const granted = await grant(fixtures.map((fixture, index) => itemOf(fixture, { quantity: index + 1 })));
    assert.deepEqual(
      granted.map((each) => [each.subscriptionItemId, each.amount]),
      fixtures.map((fixture, index) => [fixture.itemId, 5n * BigInt(index + 1)]),
    );
  });
});

test('capacity adds up over items, and giving never lowers it', async () => {
  const fixture = await insertEntitlementFixture(app);
  await insertLink(app, fixture, fixture.seatsId);
  const capacity = async () =>
    (await app.get(`/resource-claims/${fixture.subscriptionId}/usage?resourceSlug=seat`)).usage.capacity;
  const seen = [await capacity()];
  await grant([itemOf(fixture, { quantity: 2 })]);
  seen.push(await capacity());
  await app.post(`/subscriptions/${fixture.subscriptionId}/add-feature`, { featureId: fixture.seatsId });
  seen.push(await capacity());
  assert.deepEqual(seen, [0, 10, 15]);
  for (const { id } of await listActive([fixture.subscriptionId])) {
    await app.post(`/subscription-item-features/${id}/expire`);
    seen.push(await capacity());
  }
  assert.deepEqual(seen, [0, 10, 15, 5, 0]);
});

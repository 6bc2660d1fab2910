import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { detachItemFeatures, expireItemFeatures, listActiveItemFeatures } from '../../src/entitlements/actions.ts';
import { isoText } from '../../src/kernel/iso-text.ts';
import { give, insertEntitlementFixture, insertLink } from '../support/entitlements-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const maxSafeInteger = 2 ** 53 - 1;
const hour = 3_600_000;
const path = '/subscription-item-features';

const read = async (id: string) => (await app.get(`${path}/${id}`)).subscriptionItemFeature;
const change = async (id: string, body: Body) =>
  (await app.put(`${path}/${id}`, { subscriptionItemFeature: body })).subscriptionItemFeature;
const expire = async (id: string, body?: Body) =>
  (await app.post(`${path}/${id}/expire`, body)).subscriptionItemFeature;

/** Whether the subscription gives the feature now. */
async function hasAccess({ subscriptionId }: { subscriptionId: string }, id: string): Promise<boolean> {
  const features = await app.inEnvironment((work) => listActiveItemFeatures(work, [subscriptionId]));
  return features.some((feature) => feature.id === id);
}

/** A toggle that came with the product, by a link. */
async function insertToggle() {
  const fixture = await insertEntitlementFixture(app);
  const productFeatureId = await insertLink(app, fixture, fixture.toggleId);
  const { id } = await give(app, fixture, fixture.toggleId, { productFeatureId });
  return { ...fixture, productFeatureId, id: id as string };
}

describe('access to a feature', () => {
  test('access to a feature is there once it is given', async () => {
    const toggle = await insertToggle();
    const { expiredAt, detachedAt, productFeatureId } = await read(toggle.id);
    assert.deepEqual([expiredAt, detachedAt, productFeatureId], [null, null, toggle.productFeatureId]);
    assert.equal(await hasAccess(toggle, toggle.id), true);
  });

  test('access to a feature stays when the product stops giving it: the feature is detached', async () => {
    const [toggle, other] = [await insertToggle(), await insertToggle()];
    const before = Date.now();
    await app.inEnvironment((work) => detachItemFeatures(work, [toggle.productFeatureId]));
    const { expiredAt, detachedAt, detachedReason, productFeatureId } = await read(toggle.id);
    assert.deepEqual([expiredAt, detachedReason, productFeatureId], [null, 'product_feature_expired', null]);
    assert.ok(detachedAt >= before && detachedAt <= Date.now());
    assert.equal(await hasAccess(toggle, toggle.id), true);
    assert.equal((await read(other.id)).detachedAt, null);
  });

  test('access to a feature ends now when it is expired without a date', async () => {
    const toggle = await insertToggle();
    const before = Date.now();
    await expire(toggle.id);
    const { expiredAt, detachedAt, productFeatureId } = await read(toggle.id);
    assert.ok(expiredAt >= before && expiredAt <= Date.now());
    assert.deepEqual([detachedAt, productFeatureId], [null, toggle.productFeatureId]);
    assert.equal(await hasAccess(toggle, toggle.id), false);
  });

  test('access to a feature ends at the date that is given, to the millisecond', async () => {
    const toggle = await insertToggle();
    const end = Date.now() + hour;
    await expire(toggle.id, { expiredAt: end });
    assert.equal(await hasAccess(toggle, toggle.id), true);
    try {
      await app.setClock(end - 1);
      assert.equal(await hasAccess(toggle, toggle.id), true);
      await app.setClock(end);
      assert.equal(await hasAccess(toggle, toggle.id), false);
    } finally {
      await app.owner.updateTable('environments').set({ clockNow: null }).execute();
    }
  });

  test('access to a feature follows the last date that was given', async () => {
    const toggle = await insertToggle();
    await expire(toggle.id);
    await expire(toggle.id, { expiredAt: Date.now() + hour });
    assert.equal(await hasAccess(toggle, toggle.id), true);
    await expire(toggle.id, { expiredAt: Date.now() - hour });
    assert.equal(await hasAccess(toggle, toggle.id), false);
  });

  test('access to a feature comes back with an expiredAt of null', async () => {
    const toggle = await insertToggle();
    await expire(toggle.id);
    assert.equal((await change(toggle.id, { expiredAt: null })).expiredAt, null);
    assert.equal(await hasAccess(toggle, toggle.id), true);
  });

  test('access to a feature ends with its subscription; what ended earlier keeps its date', async () => {
    const [toggle, other] = [await insertToggle(), await insertToggle()];
    const seats = await give(app, toggle, toggle.seatsId, { expiredAt: 1000 });
    const credits = await give(app, toggle, toggle.creditsId, { expiredAt: Date.now() + hour });
    const at = Date.now();
    await app.inEnvironment((work) => expireItemFeatures(work, [toggle.subscriptionId], at));
    const ends = await Promise.all(
      [toggle.id, seats.id, credits.id, other.id].map(async (id) => (await read(id)).expiredAt),
    );
    assert.deepEqual(ends, [at, 1000, at, null]);
  });

  test('access to a feature needs an item that has begun and not ended', async () => {
    const toggle = await insertToggle();
    const setItem = (values: { addedDate?: number; expiredAt?: number | null }) =>
      app.owner.updateTable('subscriptionItems').set(values).where('id', '=', toggle.itemId).execute();
    await setItem({ expiredAt: Date.now() - 1 });
    assert.equal(await hasAccess(toggle, toggle.id), false);
    await setItem({ expiredAt: Date.now() + hour });
    assert.equal(await hasAccess(toggle, toggle.id), true);
    await setItem({ expiredAt: null, addedDate: Date.now() + hour });
    assert.equal(await hasAccess(toggle, toggle.id), false);
  });

  test('access to a feature through one item stays when it ends through another', async () => {
    const toggle = await insertToggle();
    const added = await app.post(`/subscriptions/${toggle.subscriptionId}/add-feature`, { featureSlug: 'sso' });
    await expire(toggle.id);
    assert.equal(await hasAccess(toggle, toggle.id), false);
    assert.equal(await hasAccess(toggle, added.subscriptionItemFeature.id), true);
  });
});

describe('the answer to an expiry', () => {
  test('the answer to an expiry spells instants as texts and has the fields of commits', async () => {
    const toggle = await insertToggle();
    const before = await change(toggle.id, { detachedAt: 0, detachedReason: 'moved' });
    const answer = await expire(toggle.id, { expiredAt: '2030-01-02T03:04:05.678Z' });
    assert.deepEqual(answer, {
      ...before,
      createdAt: new Date(before.createdAt).toISOString(),
      updatedAt: new Date((await read(toggle.id)).updatedAt).toISOString(),
      expiredAt: '2030-01-02T03:04:05.678Z',
      detachedAt: '1970-01-01T00:00:00.000Z',
      createdByCommit: null,
      updatedByCommit: null,
    });
  });

  test('the answer to an expiry reaches as far as instants do', async () => {
    const toggle = await insertToggle();
    assert.equal((await expire(toggle.id, { expiredAt: maxSafeInteger })).expiredAt, '+287396-10-12T08:59:00.991Z');
    assert.equal((await expire(toggle.id, { expiredAt: -maxSafeInteger })).expiredAt, '-283457-03-21T15:00:59.009Z');
    for (const expiredAt of [2 ** 53, -(2 ** 53), 0.5, 'soon', null]) {
      assert.equal((await app.request('POST', `${path}/${toggle.id}/expire`, { expiredAt })).status, 400);
    }
    assert.equal((await read(toggle.id)).expiredAt, -maxSafeInteger);
  });

  test('the answer to an expiry counts days beyond the dates of JavaScript as within them', () => {
    const lastDate = 8_640_000_000_000_000;
    const day = 86_400_000;
    assert.equal(isoText(lastDate), '+275760-09-13T00:00:00.000Z');
    assert.equal(isoText(lastDate + day), '+275760-09-14T00:00:00.000Z');
    assert.equal(isoText(-lastDate), '-271821-04-20T00:00:00.000Z');
    assert.equal(isoText(-lastDate - 1), '-271821-04-19T23:59:59.999Z');
  });
});

test('claims outlive the feature that made room for them', async () => {
  const fixture = await insertEntitlementFixture(app);
  const seats = await give(app, fixture, fixture.seatsId);
  const claims = `/resource-claims/${fixture.subscriptionId}`;
  await app.post(`${claims}/claim`, { resourceSlug: 'seat', quantity: 2 });
  await expire(seats.id);
  const { usage } = await app.get(`${claims}/usage?resourceSlug=seat`);
  assert.deepEqual([usage.capacity, usage.claimed, usage.available], [0, 2, -2]);
});

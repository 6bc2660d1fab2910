import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { anyId } from '../support/any-id.ts';
import {
  type EntitlementFixture,
  give,
  insertEntitlementFixture,
  insertFeature,
  insertLink,
} from '../support/entitlements-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const maxSafeInteger = 2 ** 53 - 1;
const path = '/subscription-item-features';

const create = (body: Body) => app.request('POST', path, { subscriptionItemFeature: body });
const change = (id: string, body: Body) => app.request('PUT', `${path}/${id}`, { subscriptionItemFeature: body });
const changed = async (id: string, body: Body) =>
  (await app.put(`${path}/${id}`, { subscriptionItemFeature: body })).subscriptionItemFeature;
const read = async (id: string) => (await app.get(`${path}/${id}`)).subscriptionItemFeature;

/** A subscription item that has a toggle, credits and seats. */
async function insertGiven() {
  const fixture = await insertEntitlementFixture(app);
  return {
    ...fixture,
    toggle: await give(app, fixture, fixture.toggleId),
    credits: await give(app, fixture, fixture.creditsId),
    seats: await give(app, fixture, fixture.seatsId),
  };
}

describe('giving a feature', () => {
  test('giving a feature copies what the feature is, for each type', async () => {
    const fixture = await insertGiven();
    const { itemId, subscriptionId, pricingModelId, meterId, resourceId } = fixture;
    const lasting = { expiredAt: null, detachedAt: null, detachedReason: null, productFeatureId: null };
    const both = { livemode: false, pricingModelId, subscriptionId, subscriptionItemId: itemId, ...lasting };
    const none = { amount: null, usageMeterId: null, renewalFrequency: null, grantInterval: null, resourceId: null };
    const cases = [
      [fixture.toggle, fixture.toggleId, { type: 'toggle', name: 'The sso', slug: 'sso', ...none }],
      [
        fixture.credits,
        fixture.creditsId,
        {
          ...none,
          ...{ type: 'usage_credit_grant', name: 'The calls', slug: 'calls', amount: 100 },
          ...{ usageMeterId: meterId, renewalFrequency: 'every_billing_period' },
        },
      ],
      [
        fixture.seats,
        fixture.seatsId,
        { ...none, type: 'resource', name: 'The seats', slug: 'seats', amount: 5, resourceId },
      ],
    ];
    for (const [given, featureId, values] of cases) {
      const { id, createdAt, updatedAt, ...rest } = given;
      assert.deepEqual(rest, { ...both, featureId, manuallyCreated: false, ...values });
      assert.match(id, /^sub_feature_[0-9A-Za-z]{21}$/);
      assert.equal(createdAt, updatedAt);
      assert.deepEqual(await read(id), given);
    }
  });

  test('giving a feature takes what is sent: amount, link, dates', async () => {
    const fixture = await insertEntitlementFixture(app);
    const productFeatureId = await insertLink(app, fixture, fixture.seatsId);
    const given = await give(app, fixture, fixture.seatsId, {
      type: 'resource',
      ...{ amount: 7, resourceId: fixture.resourceId, usageMeterId: null, renewalFrequency: null },
      ...{ productFeatureId, expiredAt: '2030-01-01T00:00:00Z', detachedAt: 5, detachedReason: 'moved' },
      ...{ manuallyCreated: true, name: 'ignored', slug: 'ignored' },
    });
    assert.deepEqual(
      [given.amount, given.productFeatureId, given.expiredAt, given.manuallyCreated, given.name],
      [7, productFeatureId, Date.UTC(2030, 0, 1), true, 'The seats'],
    );
    assert.deepEqual([given.detachedAt, given.detachedReason], [5, 'moved']);
  });

  test('that the item has already, without an end, is a conflict; after its end it is not', async () => {
    const { itemId, toggle, toggleId } = await insertGiven();
    const refused = await create({ subscriptionItemId: itemId, featureId: toggleId });
    assert.deepEqual([refused.status, refused.body.code], [409, 'CONFLICT']);
    assert.match(refused.body.message, /already has this feature/);
    await app.post(`${path}/${toggle.id}/expire`);
    assert.notEqual((await give(app, { itemId }, toggleId)).id, toggle.id);
    const revival = await change(toggle.id, { expiredAt: null });
    assert.equal(revival.status, 409);
  });

  test('giving a feature is refused where item or feature is not to be had', async () => {
    const fixture = await insertEntitlementFixture(app);
    const other = await insertEntitlementFixture(app);
    const inactive = await insertFeature(app, fixture, { type: 'toggle', slug: 'old', active: false });
    const { itemId: subscriptionItemId, toggleId: featureId } = fixture;
    const cases: [Body, number][] = [
      [{ subscriptionItemId: 'si_unknown', featureId }, 404],
      [{ subscriptionItemId, featureId: 'feature_unknown' }, 404],
      [{ subscriptionItemId, featureId: other.toggleId }, 404],
      [{ subscriptionItemId, featureId: inactive }, 400],
      [{ subscriptionItemId }, 400],
      [{ featureId }, 400],
    ];
    for (const [body, status] of cases) assert.equal((await create(body)).status, status, JSON.stringify(body));
  });

  test('giving a feature is refused on an item that has expired, and on a subscription that has ended', async () => {
    const expired = await insertEntitlementFixture(app);
    const past = Date.now() - 1;
    await app.owner
      .updateTable('subscriptionItems')
      .set({ expiredAt: past })
      .where('id', '=', expired.itemId)
      .execute();
    const onExpired = await create({ subscriptionItemId: expired.itemId, featureId: expired.toggleId });
    assert.match(onExpired.body.message, /has expired/);
    const ended = await insertEntitlementFixture(app);
    const values = { status: 'canceled', canceledAt: past };
    await app.owner.updateTable('subscriptions').set(values).where('id', '=', ended.subscriptionId).execute();
    const onEnded = await create({ subscriptionItemId: ended.itemId, featureId: ended.toggleId });
    assert.match(onEnded.body.message, /its status is canceled/);
    assert.deepEqual([onExpired.status, onEnded.status], [400, 400]);
  });

  test('giving a feature takes an amount from 1 to 2^53-1', async () => {
    const fixture = await insertEntitlementFixture(app);
    const { itemId: subscriptionItemId, seatsId: featureId } = fixture;
    for (const amount of [0, -1, 1.5, 2 ** 53, null]) {
      assert.equal((await create({ subscriptionItemId, featureId, amount })).status, 400, `${amount}`);
    }
    assert.equal((await give(app, fixture, featureId, { amount: 1 })).amount, 1);
    const other = await insertEntitlementFixture(app);
    assert.equal((await give(app, other, other.seatsId, { amount: maxSafeInteger })).amount, maxSafeInteger);
  });
});

describe('a request whose values do not belong together is refused', () => {
  const cases: [string, (fixture: EntitlementFixture) => [string, Body], string, number?][] = [
    ['another type', (f) => [f.toggleId, { type: 'resource' }], 'type'],
    ['an amount for a toggle', (f) => [f.toggleId, { amount: 1 }], 'amount'],
    ['a meter for a toggle', (f) => [f.toggleId, { usageMeterId: f.meterId }], 'usageMeterId'],
    ['a frequency for a toggle', (f) => [f.toggleId, { renewalFrequency: 'once' }], 'renewalFrequency'],
    ['a resource for a toggle', (f) => [f.toggleId, { resourceId: f.resourceId }], 'resourceId'],
    ['a resource for credits', (f) => [f.creditsId, { resourceId: f.resourceId }], 'resourceId'],
    ['no meter for credits', (f) => [f.creditsId, { usageMeterId: null }], 'usageMeterId'],
    ['no frequency for credits', (f) => [f.creditsId, { renewalFrequency: null }], 'renewalFrequency'],
    ['no amount for credits', (f) => [f.creditsId, { amount: null }], 'amount'],
    ['a meter for a resource', (f) => [f.seatsId, { usageMeterId: f.meterId }], 'usageMeterId'],
    ['a frequency for a resource', (f) => [f.seatsId, { renewalFrequency: 'once' }], 'renewalFrequency'],
    ['no resource for a resource', (f) => [f.seatsId, { resourceId: null }], 'resourceId'],
    ['an interval for credits of a period', (f) => [f.creditsId, { grantInterval: { unit: 'day' } }], 'grantInterval'],
    ['no interval', (f) => [f.creditsId, { renewalFrequency: 'every_interval' }], 'grantInterval'],
    ['an interval for a toggle', (f) => [f.toggleId, { grantInterval: { unit: 'day' } }], 'grantInterval'],
    ['an unknown frequency', (f) => [f.creditsId, { renewalFrequency: 'daily' }], 'renewalFrequency'],
    ['a detachment without reason', (f) => [f.toggleId, { detachedAt: 1 }], 'detachedReason'],
    ['a reason without detachment', (f) => [f.toggleId, { detachedReason: 'why' }], 'detachedReason'],
    ['an unknown meter', (f) => [f.creditsId, { usageMeterId: 'usage_meter_x' }], 'usage_meter_x', 404],
    ['an unknown resource', (f) => [f.seatsId, { resourceId: 'resource_x' }], 'resource_x', 404],
    ['an unknown link', (f) => [f.toggleId, { productFeatureId: 'product_feature_x' }], 'product_feature_x', 404],
    ['an empty meter', (f) => [f.creditsId, { usageMeterId: '' }], 'usageMeterId'],
    ['an empty resource', (f) => [f.seatsId, { resourceId: '' }], 'resourceId'],
    ['an empty link', (f) => [f.toggleId, { productFeatureId: '' }], 'productFeatureId'],
  ];
  for (const [what, request, named, status = 400] of cases) {
    test(`${what}: on creation and on change`, async () => {
      const fixture = await insertEntitlementFixture(app);
      const [featureId, values] = request(fixture);
      const onCreation = await create({ subscriptionItemId: fixture.itemId, featureId, ...values });
      const given = await give(app, fixture, featureId);
      const onChange = await change(given.id, values);
      for (const refused of [onCreation, onChange]) {
        assert.equal(refused.status, status);
        assert.ok(refused.body.message.includes(named), refused.body.message);
      }
      assert.deepEqual(await read(given.id), given);
    });
  }

  test('a meter, resource or link of another pricing model is not found', async () => {
    const { credits, seats, toggle } = await insertGiven();
    const other = await insertEntitlementFixture(app);
    const link = await insertLink(app, other, other.toggleId);
    assert.equal((await change(credits.id, { usageMeterId: other.meterId })).status, 404);
    assert.equal((await change(seats.id, { resourceId: other.resourceId })).status, 404);
    assert.equal((await change(toggle.id, { productFeatureId: link })).status, 404);
  });

  test('a link of another feature', async () => {
    const fixture = await insertGiven();
    const link = await insertLink(app, fixture, fixture.seatsId);
    const refused = await change(fixture.toggle.id, { productFeatureId: link });
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /productFeatureId: must be a product feature of/);
    assert.equal((await changed(fixture.seats.id, { productFeatureId: link })).productFeatureId, link);
  });
});

describe('changing', () => {
  test('changing a feature of an item changes what is sent and nothing else', async () => {
    const { credits, distinctMeterId } = await insertGiven();
    const sent = { amount: 7, usageMeterId: distinctMeterId, renewalFrequency: 'once', manuallyCreated: true };
    const after = await changed(credits.id, sent);
    assert.deepEqual(after, { ...credits, ...sent, updatedAt: after.updatedAt });
    assert.deepEqual(await changed(credits.id, {}), { ...after, updatedAt: (await read(credits.id)).updatedAt });
  });

  test('changing a feature of an item accepts all that can be sent, and refuses what is fixed, naming it', async () => {
    const { credits, toggleId } = await insertGiven();
    const stated = new Set(['createdAt', 'updatedAt', 'livemode', 'pricingModelId', 'name', 'slug']);
    const sent = Object.fromEntries(Object.entries(credits).filter(([field]) => !stated.has(field)));
    const after = await changed(credits.id, sent);
    assert.deepEqual(after, { ...credits, updatedAt: after.updatedAt });
    const fixed = {
      type: 'toggle',
      featureId: toggleId,
      subscriptionItemId: anyId('subscriptionItem'),
      subscriptionId: anyId('subscription'),
    };
    for (const [field, value] of Object.entries(fixed)) {
      const refused = await change(credits.id, { [field]: value });
      assert.equal(refused.status, 400);
      assert.match(refused.body.message, new RegExp(`subscriptionItemFeature.${field}: cannot be changed`));
      assert.deepEqual(refused.body.issues[0].path, ['subscriptionItemFeature', field]);
    }
    assert.equal((await change(credits.id, { id: 'sub_feature_other' })).status, 400);
    assert.equal((await app.request('PUT', `${path}/${credits.id}`, {})).status, 400);
  });

  test('changing a feature of an item takes an amount from -(2^53-1) to 2^53-1; capacity does not go below 0', async () => {
    const { credits, seats, subscriptionId } = await insertGiven();
    for (const { id } of [credits, seats]) {
      for (const amount of [-maxSafeInteger, 0, maxSafeInteger])
        assert.equal((await changed(id, { amount })).amount, amount);
      for (const amount of [-(2 ** 53), 2 ** 53, 0.5]) assert.equal((await change(id, { amount })).status, 400);
    }
    await changed(seats.id, { amount: -3 });
    const { usage } = await app.get(`/resource-claims/${subscriptionId}/usage?resourceSlug=seat`);
    assert.deepEqual([usage.capacity, usage.available], [0, 0]);
  });

  test('changing a feature of an item detaches and attaches, always with a reason', async () => {
    const { toggle } = await insertGiven();
    const detached = await changed(toggle.id, { detachedAt: 1000, detachedReason: 'sold apart' });
    assert.deepEqual([detached.detachedAt, detached.detachedReason], [1000, 'sold apart']);
    assert.equal((await change(toggle.id, { detachedAt: null })).status, 400);
    const attached = await changed(toggle.id, { detachedAt: null, detachedReason: null });
    assert.deepEqual([attached.detachedAt, attached.detachedReason], [null, null]);
  });

  test('changing a feature of an item takes the instants that the API knows, as numbers or texts', async () => {
    const { toggle } = await insertGiven();
    for (const expiredAt of [-maxSafeInteger, 0, maxSafeInteger]) {
      assert.equal((await changed(toggle.id, { expiredAt })).expiredAt, expiredAt);
    }
    assert.equal(
      (await changed(toggle.id, { expiredAt: '2030-01-01T01:00:00+01:00' })).expiredAt,
      Date.UTC(2030, 0, 1),
    );
    for (const expiredAt of [-(2 ** 53), 2 ** 53, 1.5, 'soon', true]) {
      assert.equal((await change(toggle.id, { expiredAt })).status, 400, `${expiredAt}`);
    }
  });
});

test('a subscription item feature that is unknown, or of another environment, is not found', async () => {
  const { toggle } = await insertGiven();
  const other = await app.newOrganization();
  for (const [id, key] of [
    ['sub_feature_unknown', app.testKey],
    [toggle.id, app.liveKey],
    [toggle.id, other.testKey],
  ]) {
    const calls = [
      app.request('GET', `${path}/${id}`, undefined, { key }),
      app.request('PUT', `${path}/${id}`, { subscriptionItemFeature: {} }, { key }),
      app.request('POST', `${path}/${id}/expire`, {}, { key }),
    ];
    for (const call of calls) assert.equal((await call).status, 404);
  }
  assert.equal((await read(toggle.id)).expiredAt, null);
});

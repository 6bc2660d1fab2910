import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { invariants } from '../../src/invariants/check-invariants.ts';
import { findViolations } from '../../src/invariants/store-invariants.ts';
import { insertSeats } from '../support/entitlements-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const maxSafeInteger = 2 ** 53 - 1;

const names = ({ claims }: Body) => claims.map((claim: Body) => claim.externalId);
const counts = ({ usage }: Body) => [usage.claimed, usage.available];
const seat = (request: Body) => ({ resourceSlug: 'seat', ...request });

describe('five seats, claimed one call after the other', () => {
  test('fill up, answer names again, and refuse what does not fit as a whole', async () => {
    const { path, resourceId, seatsFeatureId, subscriptionId, pricingModelId } = await insertSeats(app);
    const claim = (request: Body) => app.post(`${path}/claim`, seat(request));

    const three = await claim({ quantity: 3 });
    assert.deepEqual(names(three), [null, null, null]);
    assert.deepEqual(three.usage, { resourceSlug: 'seat', resourceId, capacity: 5, claimed: 3, available: 2 });

    const a = await claim({ externalId: 'a', metadata: { desk: 7, window: true, floor: 'first' } });
    assert.deepEqual(counts(a), [4, 1]);
    const [first] = a.claims;
    assert.deepEqual(
      { ...first, id: null, createdAt: null, updatedAt: null, claimedAt: null },
      {
        id: null,
        createdAt: null,
        updatedAt: null,
        livemode: false,
        organizationId: app.id,
        pricingModelId,
        subscriptionId,
        resourceId,
        subscriptionItemFeatureId: seatsFeatureId,
        externalId: 'a',
        claimedAt: null,
        releasedAt: null,
        releaseReason: null,
        expiredAt: null,
        metadata: { desk: 7, window: true, floor: 'first' },
      },
    );

    const again = await claim({ externalId: 'a', metadata: { desk: 8 } });
    assert.deepEqual(again.claims, [first]);
    assert.deepEqual(counts(again), [4, 1]);

    const both = await claim({ externalIds: ['a', 'b'] });
    assert.deepEqual(names(both), ['a', 'b']);
    assert.equal(both.claims[0].id, first.id);
    assert.deepEqual(counts(both), [5, 0]);

    const bothAgain = await claim({ externalIds: ['a', 'b'] });
    assert.deepEqual(bothAgain.claims, both.claims);
    assert.deepEqual(counts(bothAgain), [5, 0]);

    for (const request of [{ externalIds: ['a', 'c'] }, { quantity: 1 }, { externalId: 'c' }]) {
      const refused = await app.request('POST', `${path}/claim`, seat(request));
      assert.deepEqual([refused.status, refused.body.reason], [400, 'capacity_exhausted']);
      assert.equal(
        refused.body.message,
        'No available capacity of seat: requested 1, available 0 (capacity 5, claimed 5).',
      );
    }
    assert.equal((await app.get(`${path}/claims`)).claims.length, 5);
  });

  test('of two units that are asked for and one that is left, none is claimed', async () => {
    const { path } = await insertSeats(app);
    await app.post(`${path}/claim`, seat({ quantity: 4 }));
    const refused = await app.request('POST', `${path}/claim`, seat({ quantity: 2 }));
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /requested 2, available 1 \(capacity 5, claimed 4\)/);
    assert.equal((await app.get(`${path}/claims`)).claims.length, 4);
  });

  test('two equal calls for a quantity claim twice', async () => {
    const { path } = await insertSeats(app);
    await app.post(`${path}/claim`, seat({ quantity: 2 }));
    assert.deepEqual(counts(await app.post(`${path}/claim`, seat({ quantity: 2 }))), [4, 1]);
  });
});

describe('names', () => {
  test('an id that is given twice in one list counts once', async () => {
    const { path } = await insertSeats(app);
    const answer = await app.post(`${path}/claim`, seat({ externalIds: ['x', 'y', 'x', 'x'] }));
    assert.deepEqual(names(answer), ['x', 'y']);
    assert.deepEqual(counts(answer), [2, 3]);
  });

  test('a released name can be claimed again, as a new claim', async () => {
    const { path } = await insertSeats(app);
    const before = await app.post(`${path}/claim`, seat({ externalId: 'a' }));
    await app.post(`${path}/release`, seat({ externalId: 'a' }));
    const after = await app.post(`${path}/claim`, seat({ externalId: 'a' }));
    assert.notEqual(after.claims[0].id, before.claims[0].id);
    assert.deepEqual(counts(after), [1, 4]);
  });

  test('the same name on another subscription is independent', async () => {
    const [one, other] = [await insertSeats(app), await insertSeats(app)];
    const first = await app.post(`${one.path}/claim`, seat({ externalId: 'a' }));
    const second = await app.post(`${other.path}/claim`, seat({ externalId: 'a' }));
    assert.notEqual(first.claims[0].id, second.claims[0].id);
  });

  test('names have 0 to 255 characters, those beyond the basic plane too', async () => {
    const { path } = await insertSeats(app);
    for (const externalId of ['', 'n'.repeat(255), '𝔫'.repeat(127)]) {
      const answer = await app.post(`${path}/claim`, seat({ externalId }));
      assert.deepEqual(names(answer), [externalId]);
    }
    for (const request of [{ externalId: 'n'.repeat(256) }, { externalIds: ['a', 'n'.repeat(256)] }]) {
      assert.equal((await app.request('POST', `${path}/claim`, seat(request))).status, 400);
    }
    assert.deepEqual(names(await app.post(`${path}/claim`, seat({ externalIds: ['n'.repeat(255)] }))), [
      'n'.repeat(255),
    ]);
  });
});

describe('a claim is refused with 400', () => {
  const cases: [string, Body][] = [
    ['no mode', {}],
    ['quantity and a name', { quantity: 1, externalId: 'a' }],
    ['a name and names', { externalId: 'a', externalIds: ['a'] }],
    ['all three', { quantity: 1, externalId: 'a', externalIds: ['a'] }],
    ['a quantity of 0', { quantity: 0 }],
    ['a negative quantity', { quantity: -1 }],
    ['half a seat', { quantity: 1.5 }],
    ['a quantity of 2^53', { quantity: 2 ** 53 }],
    ['an empty list', { externalIds: [] }],
    ['a list of 10,001 names', { externalIds: Array.from({ length: 10_001 }, (_, index) => `${index}`) }],
    ['nested metadata', { quantity: 1, metadata: { deep: { er: 1 } } }],
    ['metadata text of 501 characters', { quantity: 1, metadata: { long: 'm'.repeat(501) } }],
  ];
  for (const [what, request] of cases) {
    test(what, async () => {
      const { path } = await insertSeats(app);
      assert.equal((await app.request('POST', `${path}/claim`, seat(request))).status, 400);
      assert.deepEqual((await app.get(`${path}/claims`)).claims, []);
    });
  }

  test('a name that is null counts as not given', async () => {
    const { path } = await insertSeats(app);
    const answer = await app.post(`${path}/claim`, seat({ quantity: 1, externalId: null, externalIds: null }));
    assert.deepEqual(names(answer), [null]);
  });

  test('the largest quantity there is: nothing is built before it is known to fit', async () => {
    const { path } = await insertSeats(app);
    const refused = await app.request('POST', `${path}/claim`, seat({ quantity: maxSafeInteger }));
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /requested 9007199254740991, available 5 \(capacity 5, claimed 0\)/);
  });

  test('10,001 at once where all would fit; 10,000 are claimed', async () => {
    const { path } = await insertSeats(app, { amount: maxSafeInteger });
    const refused = await app.request('POST', `${path}/claim`, seat({ quantity: 10_001 }));
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /at most 10000/);
    const made = await app.post(`${path}/claim`, seat({ quantity: 10_000 }));
    assert.equal(new Set(made.claims.map((claim: Body) => claim.id)).size, 10_000);
    assert.deepEqual(counts(made), [10_000, maxSafeInteger - 10_000]);
  });

  for (const status of ['canceled', 'incomplete_expired'] as const) {
    test(`a subscription that is ${status}`, async () => {
      const { path, subscriptionId } = await insertSeats(app);
      const canceledAt = status === 'canceled' ? Date.now() : null;
      await app.owner
        .updateTable('subscriptions')
        .set({ status, canceledAt })
        .where('id', '=', subscriptionId)
        .execute();
      const refused = await app.request('POST', `${path}/claim`, seat({ quantity: 1 }));
      assert.equal(refused.status, 400);
      assert.match(refused.body.message, new RegExp(`its status is ${status}`));
    });
  }

  test('no feature that grants the resource, or an expired one', async () => {
    const { path, seatsFeatureId } = await insertSeats(app);
    await app.post(`/subscription-item-features/${seatsFeatureId}/expire`);
    const refused = await app.request('POST', `${path}/claim`, seat({ quantity: 1 }));
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /has no active feature that grants the resource seat/);
  });

  test('an inactive resource, except for a name that is held already', async () => {
    const { path, resourceId } = await insertSeats(app);
    const held = await app.post(`${path}/claim`, seat({ externalId: 'a' }));
    await app.owner.updateTable('resources').set({ active: false }).where('id', '=', resourceId).execute();
    const refused = await app.request('POST', `${path}/claim`, seat({ externalId: 'b' }));
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /resource seat is inactive/);
    assert.deepEqual((await app.post(`${path}/claim`, seat({ externalId: 'a' }))).claims, held.claims);
    assert.equal((await app.post(`${path}/release`, seat({ externalId: 'a' }))).releasedClaims.length, 1);
  });
});

describe('a claim is refused with 404', () => {
  test('an unknown subscription, or one of another environment', async () => {
    const { path } = await insertSeats(app);
    const other = await app.newOrganization();
    for (const [where, key] of [
      ['/resource-claims/sub_unknown', app.testKey],
      [path, app.liveKey],
      [path, other.testKey],
    ] as const) {
      for (const [method, call, body] of [
        ['POST', 'claim', seat({ quantity: 1 })],
        ['POST', 'release', seat({ quantity: 1 })],
        ['GET', 'claims', undefined],
        ['GET', 'usage?resourceSlug=seat', undefined],
        ['GET', 'usages', undefined],
      ] as const) {
        assert.equal((await app.request(method, `${where}/${call}`, body, { key })).status, 404, call);
      }
    }
  });

  test('an unknown slug', async () => {
    const { path } = await insertSeats(app);
    const refused = await app.request('POST', `${path}/claim`, { resourceSlug: 'desk', quantity: 1 });
    assert.deepEqual([refused.status, refused.body.code], [404, 'NOT_FOUND']);
  });
});

test('whoever has not ended, is not paused and not unpaid may claim', async () => {
  for (const status of ['trialing', 'past_due', 'incomplete'] as const) {
    const { path, subscriptionId } = await insertSeats(app);
    await app.owner
      .updateTable('subscriptions')
      .set({ status, arrears: status === 'past_due' ? status : 'none' })
      .where('id', '=', subscriptionId)
      .execute();
    assert.deepEqual(counts(await app.post(`${path}/claim`, seat({ quantity: 1 }))), [1, 4]);
  }
});

test('a dry run answers the claim and makes none', async () => {
  const { path } = await insertSeats(app);
  assert.deepEqual(counts(await app.post(`${path}/claim?dryRun=true`, seat({ quantity: 5 }))), [5, 0]);
  assert.deepEqual((await app.get(`${path}/claims`)).claims, []);
});

test('a feature that grants less than is claimed, by a change, takes no seat and raises no alarm', async () => {
  const within = invariants.find(({ name }) => name === 'claimsAreWithinCapacity');
  assert.ok(within);
  for (const change of [{ amount: 2 }, { expiredAt: 1 }]) {
    const { path, seatsFeatureId } = await insertSeats(app);
    await app.post(`${path}/claim`, seat({ quantity: 5 }));
    await app.put(`/subscription-item-features/${seatsFeatureId}`, { subscriptionItemFeature: change });
    assert.equal((await app.get(`${path}/claims`)).claims.length, 5);
    assert.deepEqual((await findViolations(app.owner, within)).rows, []);
  }
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { give, insertFeature, insertSeats } from '../support/entitlements-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();

const ids = (claims: Body) => claims.map((claim: Body) => claim.id);
const counts = ({ usage }: Body) => [usage.claimed, usage.available];
const seat = (request: Body) => ({ resourceSlug: 'seat', ...request });

/** Three claims without a name, then `a` and `b`: five of five seats. */
async function insertFullHouse() {
  const fixture = await insertSeats(app);
  const claim = (request: Body) => app.post(`${fixture.path}/claim`, seat(request));
  const anonymous = [
    ...(await claim({ quantity: 1 })).claims,
    ...(await claim({ quantity: 1 })).claims,
    ...(await claim({ quantity: 1 })).claims,
  ];
  const named = (await claim({ externalIds: ['a', 'b'] })).claims;
  return { ...fixture, anonymous, named };
}

describe('release', () => {
  test('a release by quantity takes the oldest without a name, and never one with a name', async () => {
    const { path, anonymous } = await insertFullHouse();
    const two = await app.post(`${path}/release`, seat({ quantity: 2 }));
    assert.deepEqual(ids(two.releasedClaims), ids(anonymous.slice(0, 2)));
    assert.deepEqual(counts(two), [3, 2]);
    for (const claim of two.releasedClaims) {
      assert.equal(claim.releaseReason, 'released');
      assert.equal(typeof claim.releasedAt, 'number');
    }
    const refused = await app.request('POST', `${path}/release`, seat({ quantity: 2 }));
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /Only 1 claims of \S+ have no external id, so 2 cannot be released/);
    assert.deepEqual(counts(await app.get(`${path}/usage?resourceSlug=seat`)), [3, 2]);
  });

  test('claims are released by name, by names and by claim ids', async () => {
    const { path, anonymous, named } = await insertFullHouse();
    const a = await app.post(`${path}/release`, seat({ externalId: 'a' }));
    assert.deepEqual(ids(a.releasedClaims), [named[0].id]);
    const b = await app.post(`${path}/release`, seat({ externalIds: ['b', 'b'] }));
    assert.deepEqual(ids(b.releasedClaims), [named[1].id]);
    const claimIds = [anonymous[2].id, anonymous[0].id];
    const two = await app.post(`${path}/release`, seat({ claimIds }));
    assert.deepEqual(ids(two.releasedClaims), [anonymous[0].id, anonymous[2].id]);
    assert.deepEqual(counts(two), [1, 4]);
  });

  test('a release of which a part is unknown answers 404 and releases nothing', async () => {
    const { path, named } = await insertFullHouse();
    const requests = [
      { externalId: 'c' },
      { externalIds: ['a', 'c'] },
      { claimIds: [named[0].id, 'res_claim_unknown'] },
    ];
    for (const request of requests) {
      const refused = await app.request('POST', `${path}/release`, seat(request));
      assert.deepEqual([refused.status, refused.body.code], [404, 'NOT_FOUND']);
    }
    assert.equal((await app.get(`${path}/claims`)).claims.length, 5);
  });

  test('a release works once: what is released is unknown afterwards', async () => {
    const { path, named } = await insertFullHouse();
    await app.post(`${path}/release`, seat({ claimIds: [named[0].id] }));
    for (const request of [{ claimIds: [named[0].id] }, { externalId: 'a' }]) {
      assert.equal((await app.request('POST', `${path}/release`, seat(request))).status, 404);
    }
  });

  test('a release does not reach claims of another subscription or resource', async () => {
    const [one, other] = [await insertFullHouse(), await insertFullHouse()];
    const claimIds = ids(other.named);
    assert.equal((await app.request('POST', `${one.path}/release`, seat({ claimIds }))).status, 404);
    assert.equal((await app.get(`${other.path}/claims`)).claims.length, 5);
    const unknown = { resourceSlug: 'desk', quantity: 1 };
    assert.equal((await app.request('POST', `${one.path}/release`, unknown)).status, 404);
  });

  test('a release needs exactly one mode, in bounds', async () => {
    const { path } = await insertFullHouse();
    const requests = [
      {},
      { quantity: 1, externalId: 'a' },
      { quantity: 1, claimIds: ['x'] },
      { quantity: 0 },
      { quantity: 2 ** 53 },
      { quantity: 2 ** 53 - 1 },
      { externalIds: [] },
      { claimIds: [] },
    ];
    for (const request of requests) {
      assert.equal((await app.request('POST', `${path}/release`, seat(request))).status, 400, JSON.stringify(request));
    }
    assert.equal((await app.get(`${path}/claims`)).claims.length, 5);
  });
});

describe('the list of claims', () => {
  test('the list of claims holds active ones, oldest first, of one resource when it is asked for', async () => {
    const { path, anonymous, named } = await insertFullHouse();
    const { claims } = await app.get(`${path}/claims`);
    assert.deepEqual(ids(claims), ids([...anonymous, ...named]));
    await app.post(`${path}/release`, seat({ quantity: 3 }));
    assert.deepEqual((await app.get(`${path}/claims?resourceSlug=seat`)).claims, named);
    assert.equal((await app.request('GET', `${path}/claims?resourceSlug=desk`)).status, 404);
  });

  test('the list of claims names the oldest feature that grants the resource, and null when none does any more', async () => {
    const fixture = await insertFullHouse();
    const { path, seatsFeatureId } = fixture;
    const values = { type: 'resource', amount: 2n, resourceId: fixture.resourceId } as const;
    const newer = await give(app, fixture, await insertFeature(app, fixture, { ...values, slug: 'more-seats' }));
    const features = async () => {
      const { claims } = await app.get(`${path}/claims`);
      return [...new Set(claims.map((claim: Body) => claim.subscriptionItemFeatureId))];
    };
    assert.deepEqual(await features(), [seatsFeatureId]);
    await app.post(`/subscription-item-features/${seatsFeatureId}/expire`);
    assert.deepEqual(await features(), [newer.id]);
    await app.post(`/subscription-item-features/${newer.id}/expire`);
    assert.deepEqual(await features(), [null]);
  });
});

describe('usage', () => {
  test('the usage of a resource is that of one resource, by slug or by id', async () => {
    const { path, resourceId, anonymous, named } = await insertFullHouse();
    const bySlug = await app.get(`${path}/usage?resourceSlug=seat`);
    assert.deepEqual(bySlug.usage, { resourceSlug: 'seat', resourceId, capacity: 5, claimed: 5, available: 0 });
    assert.deepEqual(bySlug.claims, [...anonymous.map((claim: Body) => claim), ...named]);
    assert.deepEqual(await app.get(`${path}/usage?resourceId=${resourceId}`), bySlug);
  });

  test('the usage of a resource needs exactly one of slug and id, and knows both', async () => {
    const { path, resourceId } = await insertSeats(app);
    const other = await insertSeats(app);
    assert.equal((await app.request('GET', `${path}/usage`)).status, 400);
    assert.equal((await app.request('GET', `${path}/usage?resourceSlug=seat&resourceId=${resourceId}`)).status, 400);
    assert.equal((await app.request('GET', `${path}/usage?resourceSlug=desk`)).status, 404);
    assert.equal((await app.request('GET', `${path}/usage?resourceId=${other.resourceId}`)).status, 404);
  });

  test('the usage of a resource adds up over features, and capacity below what is held leaves less than nothing', async () => {
    const fixture = await insertFullHouse();
    const { path, seatsFeatureId } = fixture;
    const values = { type: 'resource', amount: 2n, resourceId: fixture.resourceId } as const;
    await give(app, fixture, await insertFeature(app, fixture, { ...values, slug: 'more-seats' }));
    assert.deepEqual(counts(await app.get(`${path}/usage?resourceSlug=seat`)), [5, 2]);
    await app.post(`/subscription-item-features/${seatsFeatureId}/expire`);
    const { usage } = await app.get(`${path}/usage?resourceSlug=seat`);
    assert.deepEqual([usage.capacity, usage.claimed, usage.available], [2, 5, -3]);
    assert.deepEqual(counts(await app.post(`${path}/claim`, seat({ externalId: 'a' }))), [5, -3]);
    const refused = await app.request('POST', `${path}/claim`, seat({ quantity: 1 }));
    assert.match(refused.body.message, /requested 1, available -3 \(capacity 2, claimed 5\)/);
  });
});

describe('usages', () => {
  /** Features for `seat` (5), `desk,big` (3) and `locker` (2), which has expired. */
  async function insertThree() {
    const fixture = await insertFullHouse();
    const now = Date.now();
    const resources = ['desk,big', 'locker'].map((slug) => ({
      ...{ environmentId: app.testEnvironmentId, createdAt: now, updatedAt: now },
      ...{ id: `resource_${slug}_${fixture.subscriptionId}`, pricingModelId: fixture.pricingModelId },
      ...{ slug, name: slug, active: true },
    }));
    await app.owner.insertInto('resources').values(resources).execute();
    const [desk = '', locker = ''] = resources.map((resource) => resource.id);
    const type = 'resource' as const;
    const deskFeature = await insertFeature(app, fixture, { type, slug: 'desks', amount: 3n, resourceId: desk });
    const lockerFeature = await insertFeature(app, fixture, { type, slug: 'lockers', amount: 2n, resourceId: locker });
    await give(app, fixture, deskFeature);
    const lockers = await give(app, fixture, lockerFeature);
    await app.post(`/subscription-item-features/${lockers.id}/expire`);
    return { ...fixture, desk, locker };
  }
  const found = (usages: Body) =>
    usages.map(({ usage, claims }: Body) => [usage.resourceSlug, usage.capacity, claims.length]).sort();
  const seats = ['seat', 5, 5];
  const desks = ['desk,big', 3, 0];
  const lockers = ['locker', 0, 0];

  test('the list of usages answers a row for each resource that a feature was ever about', async () => {
    const { path } = await insertThree();
    assert.deepEqual(found(await app.get(`${path}/usages`)), [desks, lockers, seats]);
  });

  test('the list of usages is narrowed by slugs, else by ids, in every way to write a list', async () => {
    const { path, resourceId, desk } = await insertThree();
    const cases: [string, Body[]][] = [
      ['resourceSlugs=seat', [seats]],
      ['resourceSlugs=seat,locker', [lockers, seats]],
      ['resourceSlugs=seat&resourceSlugs=locker', [lockers, seats]],
      ['resourceSlugs[]=seat&resourceSlugs[]=locker', [lockers, seats]],
      ['resourceSlugs[]=seat', [seats]],
      [`resourceSlugs=${encodeURIComponent('desk,big')}`, [desks]],
      ['resourceSlugs=seat,unknown', [seats]],
      ['resourceSlugs=unknown', []],
      [`resourceIds=${resourceId}`, [seats]],
      [`resourceIds[]=${resourceId}&resourceIds[]=resource_unknown`, [seats]],
      [`resourceSlugs=locker&resourceIds=${resourceId}`, [lockers]],
      [`resourceSlugs=${Array.from({ length: 100 }, () => 'seat').join(',')}`, [seats]],
    ];
    assert.match(desk, /desk,big/);
    for (const [query, expected] of cases) {
      assert.deepEqual(found(await app.get(`${path}/usages?${query}`)), expected, query);
    }
    const tooMany = Array.from({ length: 101 }, () => 'seat').join(',');
    assert.equal((await app.request('GET', `${path}/usages?resourceSlugs=${tooMany}`)).status, 400);
  });

  test('the list of usages is empty for a subscription without features for resources', async () => {
    const { path, seatsFeatureId } = await insertSeats(app);
    await app.owner.deleteFrom('subscriptionItemFeatures').where('id', '=', seatsFeatureId).execute();
    assert.deepEqual(await app.get(`${path}/usages`), []);
  });
});

test('a slug that was deactivated and used again means the new resource', async () => {
  const fixture = await insertSeats(app);
  await app.owner.updateTable('resources').set({ active: false }).where('id', '=', fixture.resourceId).execute();
  const stamps = { environmentId: app.testEnvironmentId, createdAt: Date.now(), updatedAt: Date.now() };
  const id = `resource_0_${fixture.subscriptionId}`;
  await app.owner
    .insertInto('resources')
    .values({ ...stamps, id, pricingModelId: fixture.pricingModelId, slug: 'seat', name: 'New seat', active: true })
    .execute();
  const feature = { type: 'resource', slug: 'new-seats', amount: 1n, resourceId: id } as const;
  await give(app, fixture, await insertFeature(app, fixture, feature));
  const { usage } = await app.post(`${fixture.path}/claim`, seat({ quantity: 1 }));
  assert.deepEqual([usage.resourceId, usage.capacity, usage.available], [id, 1, 0]);
});

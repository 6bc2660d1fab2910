import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clearTemporaryClaims, releaseClaims } from '../../src/entitlements/actions.ts';
import { insertEntitlementFixture, insertSeats } from '../support/entitlements-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const seat = (request: Body) => ({ resourceSlug: 'seat', ...request });
const counts = ({ usage }: Body) => [usage.claimed, usage.available];
const ends = (claims: Body) => claims.map((claim: Body) => claim.expiredAt);

async function scheduleCancel(subscriptionId: string, cancelScheduledAt: number) {
  await app.owner
    .updateTable('subscriptions')
    .set({ status: 'cancellation_scheduled', cancelScheduledAt })
    .where('id', '=', subscriptionId)
    .execute();
}

/** Five seats, two of them claimed; then the cancel is scheduled, and two more are claimed (worked example C2). */
async function insertScheduled() {
  const fixture = await insertSeats(app);
  const before = await app.post(`${fixture.path}/claim`, seat({ externalIds: ['old-1', 'old-2'] }));
  await scheduleCancel(fixture.subscriptionId, fixture.periodEnd);
  const after = await app.post(`${fixture.path}/claim`, seat({ externalIds: ['new-1', 'new-2'] }));
  return { ...fixture, before: before.claims, after: after.claims };
}

/** What is stored of a claim's end, by its name. */
async function storedEnds(subscriptionId: string) {
  const rows = await app.owner
    .selectFrom('resourceClaims')
    .select(['externalId', 'expiredAt', 'releasedAt', 'releaseReason'])
    .where('subscriptionId', '=', subscriptionId)
    .orderBy('id')
    .execute();
  return rows.map((row) => [row.externalId, row.expiredAt, row.releasedAt, row.releaseReason]);
}

describe('while a cancel is scheduled', () => {
  test('new claims end with the subscription, and those before it are not marked', async () => {
    const { path, before, after, periodEnd } = await insertScheduled();
    assert.deepEqual(ends(before), [null, null]);
    assert.deepEqual(ends(after), [periodEnd, periodEnd]);
    assert.deepEqual(ends((await app.get(`${path}/claims`)).claims), [null, null, periodEnd, periodEnd]);
    assert.deepEqual(counts(await app.get(`${path}/usage?resourceSlug=seat`)), [4, 1]);
  });

  test('a name that is held already keeps its claim as it is', async () => {
    const { path, before } = await insertScheduled();
    const again = await app.post(`${path}/claim`, seat({ externalIds: ['old-1', 'old-2'] }));
    assert.deepEqual(again.claims, before);
  });

  test('uncancel takes the end away again', async () => {
    const { path, subscriptionId } = await insertScheduled();
    await app.inEnvironment((work) => clearTemporaryClaims(work, subscriptionId));
    assert.deepEqual(ends((await app.get(`${path}/claims`)).claims), [null, null, null, null]);
  });

  test('uncancel brings no claim back whose time is over', async () => {
    const { path, subscriptionId, after } = await insertScheduled();
    await app.owner
      .updateTable('resourceClaims')
      .set({ expiredAt: Date.now() - 1000 })
      .where('id', '=', after[0].id)
      .execute();
    await app.inEnvironment((work) => clearTemporaryClaims(work, subscriptionId));
    const { claims } = await app.get(`${path}/claims`);
    assert.deepEqual(
      claims.map((claim: Body) => [claim.externalId, claim.expiredAt]),
      [
        ['old-1', null],
        ['old-2', null],
        ['new-2', null],
      ],
    );
  });

  test('once its date has passed, claims without an end are made; the cancel that is due releases them', async () => {
    const { path, subscriptionId } = await insertSeats(app);
    const due = Date.now() - 1000;
    await scheduleCancel(subscriptionId, due);
    const [claim] = (await app.post(`${path}/claim`, seat({ externalId: 'late' }))).claims;
    assert.equal(claim.expiredAt, null);
    await app.inEnvironment((work) => releaseClaims(work, [subscriptionId], due, 'subscription_canceled'));
    assert.deepEqual(await storedEnds(subscriptionId), [['late', null, claim.claimedAt, 'subscription_canceled']]);
  });
});

describe('a claim whose time is over', () => {
  test('a claim whose time is over is not listed, not counted and not released, and its name can be claimed again', async () => {
    const { path, subscriptionId, periodEnd } = await insertScheduled();
    const past = Date.now() - 1000;
    await app.owner.updateTable('resourceClaims').set({ expiredAt: past }).where('expiredAt', '=', periodEnd).execute();
    assert.deepEqual(counts(await app.get(`${path}/usage?resourceSlug=seat`)), [2, 3]);
    assert.equal((await app.request('POST', `${path}/release`, seat({ externalId: 'new-1' }))).status, 404);
    const again = await app.post(`${path}/claim`, seat({ externalId: 'new-1' }));
    assert.deepEqual(counts(again), [3, 2]);
    assert.deepEqual(await storedEnds(subscriptionId), [
      ['old-1', null, null, null],
      ['old-2', null, null, null],
      ['new-1', past, past, 'expired'],
      ['new-2', past, past, 'expired'],
      ['new-1', periodEnd, null, null],
    ]);
  });

  test('a claim whose time is over ends exactly at its instant', async () => {
    const clock = Date.now() + 1000;
    const { path, subscriptionId } = await insertSeats(app);
    await scheduleCancel(subscriptionId, clock);
    await app.post(`${path}/claim`, seat({ quantity: 1 }));
    try {
      await app.setClock(clock - 1);
      assert.equal((await app.get(`${path}/claims`)).claims.length, 1);
      await app.setClock(clock);
      assert.equal((await app.get(`${path}/claims`)).claims.length, 0);
    } finally {
      await app.owner.updateTable('environments').set({ clockNow: null }).execute();
    }
  });
});

describe('the end of a subscription', () => {
  test('the end of a subscription releases every claim of it with the reason, and of no other', async () => {
    const [one, other] = [await insertScheduled(), await insertScheduled()];
    const at = Date.now();
    await app.inEnvironment((work) => releaseClaims(work, [one.subscriptionId], at, 'subscription_canceled'));
    assert.deepEqual((await app.get(`${one.path}/claims`)).claims, []);
    assert.deepEqual(
      (await storedEnds(one.subscriptionId)).map(([, , releasedAt, reason]) => [releasedAt, reason]),
      Array(4).fill([at, 'subscription_canceled']),
    );
    assert.equal((await app.get(`${other.path}/claims`)).claims.length, 4);
  });
});

describe('capacity', () => {
  /** Five seats on the fixture's item, and what the resource's usage says of them. */
  async function insertItem(change: { addedDate?: number; expiredAt?: number }) {
    const fixture = await insertSeats(app);
    await app.owner.updateTable('subscriptionItems').set(change).where('id', '=', fixture.itemId).execute();
    return (await app.get(`${fixture.path}/usage?resourceSlug=seat`)).usage.capacity;
  }

  test('capacity counts items that have begun and not ended', async () => {
    const hour = 3_600_000;
    assert.equal(await insertItem({ addedDate: Date.now() - hour }), 5);
    assert.equal(await insertItem({ addedDate: Date.now() + hour }), 0);
    assert.equal(await insertItem({ expiredAt: Date.now() + hour }), 5);
    assert.equal(await insertItem({ expiredAt: Date.now() - 1 }), 0);
  });

  test('capacity is 0 for a resource that no feature is about', async () => {
    const { subscriptionId, resourceId } = await insertEntitlementFixture(app);
    const { usage } = await app.get(`/resource-claims/${subscriptionId}/usage?resourceSlug=seat`);
    assert.deepEqual(usage, { resourceSlug: 'seat', resourceId, capacity: 0, claimed: 0, available: 0 });
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { releaseClaims } from '../../src/entitlements/actions.ts';
import { lockSubscription, saveSubscription } from '../../src/subscriptions/store.ts';
import { insertSeats } from '../support/entitlements-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { meet } from '../support/race.ts';

const app = await startTestApp();
const seat = (request: Body) => ({ resourceSlug: 'seat', ...request });
const inParallel = (count: number, act: (index: number) => Promise<Body>): Promise<Body[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)));
const statuses = (answers: Body[]) => [...new Set(answers.map((answer) => answer.status))].sort();

describe('at the same time', () => {
  test('200 claims for 50 seats claim 50', async () => {
    const { path } = await insertSeats(app, { amount: 50 });
    const answers = await inParallel(200, () => app.request('POST', `${path}/claim`, seat({ quantity: 1 })));
    assert.equal(answers.filter((answer) => answer.status === 200).length, 50);
    assert.deepEqual(statuses(answers), [200, 400]);
    const { usage, claims } = await app.get(`${path}/usage?resourceSlug=seat`);
    assert.deepEqual([usage.claimed, usage.available, claims.length], [50, 0, 50]);
  });

  test('claims of one name make one claim', async () => {
    const { path } = await insertSeats(app);
    const answers = await inParallel(20, () => app.request('POST', `${path}/claim`, seat({ externalId: 'a' })));
    assert.deepEqual(statuses(answers), [200]);
    assert.equal(new Set(answers.map(({ body }) => body.claims[0].id)).size, 1);
  });

  test('releases and claims that cross never hold more than the capacity, and each release ends another claim', async () => {
    const { path } = await insertSeats(app, { amount: 10 });
    await app.post(`${path}/claim`, seat({ quantity: 10 }));
    const releases = inParallel(10, () => app.request('POST', `${path}/release`, seat({ quantity: 1 })));
    const claims = inParallel(10, () => app.request('POST', `${path}/claim`, seat({ quantity: 1 })));
    const released = (await releases).map(({ status, body }) => (status === 200 ? body.releasedClaims[0].id : status));
    const claimed = await claims;
    assert.equal(new Set(released).size, 10);
    for (const { body } of claimed.filter(({ status }) => status === 200)) assert.ok(body.usage.claimed <= 10);
    const { usage } = await app.get(`${path}/usage?resourceSlug=seat`);
    assert.equal(usage.claimed, claimed.filter(({ status }) => status === 200).length);
  });

  test('a claim and the end of the subscription leave nothing claimed', async () => {
    const { path, subscriptionId } = await insertSeats(app, { amount: 100 });
    const claims = inParallel(20, () => app.request('POST', `${path}/claim`, seat({ quantity: 1 })));
    await app.inEnvironment(async (work) => {
      await lockSubscription(work, subscriptionId);
      await releaseClaims(work, [subscriptionId], work.now, 'subscription_canceled');
      await saveSubscription(work, subscriptionId, { status: 'canceled', canceledAt: work.now });
    });
    for (const { status, body } of await claims) assert.ok(status === 200 || /canceled/.test(body.message));
    assert.deepEqual((await app.get(`${path}/claims`)).claims, []);
  });

  test('a feature that ends while it is added again stays ended, and another one begins', async () => {
    const { subscriptionId, creditsId } = await insertSeats(app);
    const add = () => app.post(`/subscriptions/${subscriptionId}/add-feature`, { featureId: creditsId });
    const { id } = (await add()).subscriptionItemFeature;
    const path = `/subscription-item-features/${id}`;
    const place = { table: 'subscription_item_features', on: 'update' } as const;
    const [, { subscriptionItemFeature: again }] = await meet(app, place, () => app.post(`${path}/expire`, {}), add);
    const { subscriptionItemFeature: ended } = await app.get(path);
    assert.notEqual(ended.expiredAt, null);
    assert.notEqual(again.id, id);
    assert.deepEqual([ended.amount, again.amount, again.expiredAt], [100, 100, null]);
    const change = { subscriptionItemFeature: { amount: 20 } };
    await meet(app, place, () => app.put(`/subscription-item-features/${again.id}`, change), add);
    assert.equal((await app.get(`/subscription-item-features/${again.id}`)).subscriptionItemFeature.amount, 120);
  });

  test('claims of one subscription do not wait for those of another', async () => {
    const [one, other] = [await insertSeats(app), await insertSeats(app)];
    await app.owner.transaction().execute(async (db) => {
      await sql`select from subscriptions where id = ${one.subscriptionId} for update`.execute(db);
      assert.equal((await app.post(`${other.path}/claim`, seat({ quantity: 1 }))).usage.claimed, 1);
    });
  });
});

interface Model {
  readonly capacity: number;
  anonymous: number;
  readonly names: Set<string>;
}
type Step =
  | { do: 'claim'; quantity: number }
  | { do: 'release'; quantity: number }
  | { do: 'claimNames'; names: string[] }
  | { do: 'releaseNames'; names: string[] };

/** Does the step in memory; false when it is refused and nothing changes. */
function performInModel(model: Model, step: Step): boolean {
  const available = model.capacity - model.anonymous - model.names.size;
  switch (step.do) {
    case 'claim':
      if (step.quantity > available) return false;
      model.anonymous += step.quantity;
      return true;
    case 'release':
      if (step.quantity > model.anonymous) return false;
      model.anonymous -= step.quantity;
      return true;
    case 'claimNames':
      if (new Set(step.names).difference(model.names).size > available) return false;
      for (const name of step.names) model.names.add(name);
      return true;
    case 'releaseNames':
      if (!step.names.every((name) => model.names.has(name))) return false;
      for (const name of step.names) model.names.delete(name);
      return true;
    default:
      return step satisfies never;
  }
}

const quantity = fc.integer({ min: 1, max: 5 });
const someNames = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('claim' as const), quantity }),
  fc.record({ do: fc.constant('release' as const), quantity }),
  fc.record({ do: fc.constant('claimNames' as const), names: someNames }),
  fc.record({ do: fc.constant('releaseNames' as const), names: someNames }),
);

test('any sequence of claims and releases leaves what the model holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
      const { path } = await insertSeats(app);
      const model: Model = { capacity: 5, anonymous: 0, names: new Set() };
      for (const each of steps) {
        const call = each.do.startsWith('claim') ? 'claim' : 'release';
        const request = 'names' in each ? { externalIds: each.names } : { quantity: each.quantity };
        const { status } = await app.request('POST', `${path}/${call}`, seat(request));
        assert.equal(status === 200, performInModel(model, each), JSON.stringify(each));
        const { usage, claims } = await app.get(`${path}/usage?resourceSlug=seat`);
        const names = claims.map((claim: Body) => claim.externalId).filter((name: string | null) => name !== null);
        assert.deepEqual(names.sort(), [...model.names].sort());
        assert.equal(usage.claimed, model.anonymous + model.names.size);
        assert.equal(usage.available, model.capacity - usage.claimed);
      }
    }),
    { numRuns: 15 },
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const { subscribe, adjust, moveTo } = changes;
const atEnd = { timing: 'at_end_of_current_billing_period' };

const claim = (id: string, body: Body): Promise<Body> =>
  app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', ...body });
const claims = async (id: string): Promise<Body[]> => (await app.get(`/resource-claims/${id}/claims`)).claims;
const ends = (list: Body[]) => list.map(({ expiredAt }) => expiredAt);
const usage = async (id: string) => {
  const { capacity, claimed } = (await app.get(`/resource-claims/${id}/usage?resourceSlug=seat`)).usage;
  return [capacity, claimed];
};

/** 10 seats, 2 of them claimed, and 3 of them from May on. */
async function newC1() {
  const customer = await subscribe('pro');
  await claim(customer.id, { quantity: 2 });
  await adjust(customer.id, 'small', atEnd);
  return customer;
}

test('worked example C1: of 4 new claims 1 fits after the change, and 3 end with it', async () => {
  const { id } = await newC1();
  const answer = await claim(id, { quantity: 4 });
  assert.deepEqual(ends(answer.claims), [null, may, may, may]);
  assert.deepEqual(answer.temporaryClaims, {
    claimIds: answer.claims.slice(1).map((each: Body) => each.id),
    expiredAt: may,
    reason: 'scheduled_adjustment',
  });
  assert.deepEqual(await usage(id), [10, 6]);
  await moveTo(may);
  assert.deepEqual(await usage(id), [3, 3]);
  assert.deepEqual(ends(await claims(id)), [null, null, null]);
  const released = app.owner
    .selectFrom('resourceClaims')
    .select(['releasedAt', 'releaseReason'])
    .where('subscriptionId', '=', id)
    .where('releasedAt', 'is not', null);
  assert.deepEqual(await released.execute(), Array(3).fill({ releasedAt: may, releaseReason: 'expired' }));
});

test('undoing the change makes temporary claims lasting ones', async () => {
  const { id } = await newC1();
  await claim(id, { externalIds: ['ada', 'bob', 'cy'] });
  await app.post(`/subscriptions/${id}/cancel-scheduled-adjustment`);
  assert.deepEqual(ends(await claims(id)), Array(5).fill(null));
  assert.equal((await claim(id, { quantity: 5 })).temporaryClaims, null);
});

test('a place that is given up is a lasting one again for who comes next', async () => {
  const { id } = await newC1();
  await claim(id, { quantity: 2 });
  await app.post(`/resource-claims/${id}/release`, { resourceSlug: 'seat', quantity: 1 });
  assert.deepEqual(ends((await claim(id, { externalIds: ['ada', 'bob'] })).claims), [null, may]);
});

test('seats that are added or ended by hand count for what fits after a change that is scheduled already', async () => {
  const { id } = await newC1();
  const { subscriptionItemFeature: added } = await app.post(`/subscriptions/${id}/add-feature`, {
    featureSlug: 'seats-10',
  });
  assert.equal((await claim(id, { quantity: 4 })).temporaryClaims, null);
  const change = { subscriptionItemFeature: { amount: 5 } };
  await app.put(`/subscription-item-features/${added.id}`, change);
  assert.deepEqual(ends((await claim(id, { quantity: 4 })).claims), [null, null, may, may]);
  await app.post(`/subscription-item-features/${added.id}/expire`, {});
  await app.post(`/resource-claims/${id}/release`, { resourceSlug: 'seat', quantity: 6 });
  assert.deepEqual(ends((await claim(id, { quantity: 2 })).claims), [null, may]);
  await moveTo(may);
  assert.deepEqual(await usage(id), [3, 3]);
});

test('worked example C2: before a scheduled end all new claims end with it', async () => {
  const { id } = await subscribe('pro');
  await claim(id, { quantity: 2 });
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: atEnd });
  const { claims: made, temporaryClaims } = await claim(id, { quantity: 2 });
  assert.deepEqual([ends(made), temporaryClaims.reason], [[may, may], 'scheduled_cancellation']);
});

test('worked example C3: before a change to more capacity all claims last, and the extra ones wait', async () => {
  const { id } = await subscribe('small');
  await adjust(id, [{ priceSlug: 'pro-monthly', unitPrice: 900 }], atEnd);
  assert.deepEqual(ends((await claim(id, { quantity: 3 })).claims), [null, null, null]);
  const more = { resourceSlug: 'seat', quantity: 1 };
  assert.equal((await app.request('POST', `/resource-claims/${id}/claim`, more)).status, 400);
  await moveTo(may);
  assert.equal((await claim(id, { quantity: 7 })).temporaryClaims, null);
});

test('a change that leaves less than is claimed is refused, also where the plan gives none at all', async () => {
  const { id } = await subscribe('pro');
  await claim(id, { quantity: 4 });
  assert.match(
    await changes.refused(id, 'small', 409, atEnd),
    /reduce the capacity of seat to 3, but 4 are claimed: release 1 first/,
  );
  assert.match(await changes.refused(id, 'p9000', 409), /reduce the capacity of seat to 0, but 4 are claimed/);
  const preview = await changes.preview(id, 'small', atEnd);
  assert.deepEqual([preview.canAdjust, preview.prorationAmount], [false, undefined]);
  await adjust(id, 'small x 2', atEnd);
});

test('while a change waits for its payment, what is claimed must fit after it too', async () => {
  const { id, customerId } = await subscribe('pro');
  await claim(id, { quantity: 3 });
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
  await adjust(id, 'small x 4');
  assert.deepEqual(await usage(id), [10, 3]);
  await claim(id, { quantity: 7 });
  await moveTo(day(1));
  assert.deepEqual(await usage(id), [12, 10]);

  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
  await app.post(`/resource-claims/${id}/release`, { resourceSlug: 'seat', quantity: 10 });
  await adjust(id, 'p9000');
  const answer = await app.request('POST', `/resource-claims/${id}/claim`, { resourceSlug: 'seat', quantity: 1 });
  assert.match(answer.body.message, /available 0 \(capacity 0, claimed 0\)/);
});

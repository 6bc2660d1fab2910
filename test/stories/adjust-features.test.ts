import assert from 'node:assert/strict';
import { test } from 'node:test';
import { day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const { subscribe, adjust, features, calls, moveTo } = changes;
const atEnd = { timing: 'at_end_of_current_billing_period' };

test('features follow the plan: at once, or at the end of the period', async () => {
  const { id, externalId } = await subscribe('pro');
  assert.deepEqual(await features(externalId), ['calls-360', 'seats-10', 'sso']);
  await app.setClock(day(10));
  await adjust(id, 'mega');
  assert.deepEqual(await features(externalId), ['audit', 'calls-900', 'seats-10', 'sso']);
  await adjust(id, 'small', atEnd);
  assert.deepEqual(await features(externalId), ['audit', 'calls-900', 'seats-10', 'sso']);
  await moveTo(may);
  assert.deepEqual(await features(externalId), ['seats-3']);
});

test('a feature added by hand stays, unless the new plan gives it: the plan wins', async () => {
  const { id, externalId } = await subscribe('p3000');
  for (const featureSlug of ['sso', 'welcome-500']) await app.post(`/subscriptions/${id}/add-feature`, { featureSlug });
  await adjust(id, 'pro');
  assert.deepEqual(await features(externalId), ['calls-360', 'seats-10', 'sso', 'welcome-500']);
  await adjust(id, 'p9000');
  assert.deepEqual(await features(externalId), ['welcome-500']);
});

test('an item that is kept keeps what it gives, and a quantity multiplies it', async () => {
  const { id, externalId } = await subscribe('pro');
  const [pro] = await changes.itemsOf(externalId);
  const seats = async () => (await app.get(`/resource-claims/${id}/usage?resourceSlug=seat`)).usage.capacity;
  await adjust(id, [{ id: pro.id }, 'small x 2']);
  assert.equal(await seats(), 16);
  await adjust(id, [{ id: pro.id, quantity: 3 }]);
  assert.equal(await seats(), 30);
  // The item goes over to another product: what the old one gave ends.
  await adjust(id, [{ id: pro.id, priceSlug: 'small-monthly', quantity: 4 }]);
  assert.deepEqual([await seats(), await features(externalId)], [12, ['seats-3']]);
  const [moved] = await changes.itemsOf(externalId);
  assert.deepEqual([moved.id, moved.unitPrice, moved.name], [pro.id, 1000, 'Monthly x 4']);
});

test('a feature that was ended by hand stays ended when the quantity changes, and one that is to end ends then', async () => {
  const { id, externalId } = await subscribe('pro');
  const [pro] = await changes.itemsOf(externalId);
  const seats = async () => (await app.get(`/resource-claims/${id}/usage?resourceSlug=seat`)).usage.capacity;
  const { currentSubscriptions } = await app.get(`/customers/${externalId}/billing`);
  const given: Body[] = currentSubscriptions[0].experimental.featureItems;
  const featureId = (slug: string) => given.find((feature) => feature.slug === slug)?.id;
  await app.post(`/subscription-item-features/${featureId('sso')}/expire`, {});
  await app.post(`/subscription-item-features/${featureId('seats-10')}/expire`, { expiredAt: day(20) });
  await adjust(id, [{ id: pro.id, quantity: 3 }]);
  assert.deepEqual([await features(externalId), await seats()], [['calls-360', 'seats-10'], 30]);
  await app.setClock(day(20));
  assert.deepEqual(await features(externalId), ['calls-360']);
});

test('credits come for the rest of the period, less what it has granted: the table of changes', async () => {
  const rows: [from: string, elapsedDays: number, to: string[], extra: number][] = [
    ['pro', 15, ['mega'], 90],
    ['pro', 20, ['mega'], 0],
    ['p3000', 10, ['p3000', 'extra'], 667 + 500],
    ['p3000', 25, ['p3000', 'extra'], 167 + 500],
    ['mega', 15, ['pro'], 0],
    ['pro', 0, ['mega'], 540],
  ];
  for (const [from, elapsedDays, to, extra] of rows) {
    const { id, externalId } = await subscribe(from);
    const before = await calls(externalId, id);
    await app.setClock(day(elapsedDays));
    await adjust(id, to);
    assert.equal((await calls(externalId, id)) - before, extra, `${from} on day ${elapsedDays}`);
  }
});

test('what an item that stays brought does not count against a new one', async () => {
  const { id, externalId } = await subscribe('pro');
  const [pro] = await changes.itemsOf(externalId);
  await app.setClock(day(10));
  await adjust(id, [{ id: pro.id }, 'extra']);
  assert.equal(await calls(externalId, id), 360 + 667 + 500);
});

test('changing to and fro five times gives nothing more, once credits neither, and the next period is granted in full', async () => {
  const { id, externalId } = await subscribe('p3000');
  await app.setClock(day(15));
  for (let round = 0; round < 5; round++) {
    await adjust(id, ['p3000', 'extra']);
    await adjust(id, ['p3000']);
  }
  await adjust(id, ['p3000', 'extra']);
  assert.equal(await calls(externalId, id), 500 + 500);
  await moveTo(may);
  // The 500 of this period are over, those of once last.
  assert.equal(await calls(externalId, id), 500 + 1000);
});

test('credits of a first period come with its money, for the plan as it is then', async () => {
  const { id, externalId, customerId } = await subscribe('pro', { token: 'pm_card_processing' });
  assert.equal(await calls(externalId, id), 0);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
  await adjust(id, 'mega');
  assert.equal(await calls(externalId, id), 0);
  await moveTo(day(1));
  assert.equal(await calls(externalId, id), 900);
});

test('items keep their history: what ended is there with its end, what changed with its versions', async () => {
  const { id, externalId } = await subscribe('pro');
  await app.setClock(day(10));
  const { subscriptionItems } = await adjust(id, 'p6000 x 2');
  await app.setClock(day(20));
  await adjust(id, [{ id: subscriptionItems[0].id, quantity: 3, name: 'Three', metadata: { note: 'more' } }]);
  const rows = await app.owner
    .selectFrom('subscriptionItems')
    .select(['unitPrice', 'quantity', 'addedDate', 'effectiveFrom', 'expiredAt'])
    .where('subscriptionId', '=', id)
    .orderBy('id')
    .execute();
  assert.deepEqual(rows, [
    { unitPrice: 3000n, quantity: 1, addedDate: day(0), effectiveFrom: day(0), expiredAt: day(10) },
    { unitPrice: 6000n, quantity: 3, addedDate: day(10), effectiveFrom: day(20), expiredAt: null },
  ]);
  const versions = app.owner
    .selectFrom('subscriptionItemVersions')
    .select(['unitPrice', 'quantity', 'startAt', 'endAt'])
    .where('subscriptionId', '=', id);
  assert.deepEqual(await versions.execute(), [{ unitPrice: 6000n, quantity: 2, startAt: day(10), endAt: day(20) }]);
  const [item]: Body[] = await changes.itemsOf(externalId);
  assert.deepEqual([item?.name, item?.metadata], ['Three', { note: 'more' }]);
});

test('what a product gives no more, and its customers keep, follows the quantity too', async () => {
  const { id, externalId } = await subscribe('pro x 4');
  const [pro] = await changes.itemsOf(externalId);
  const seats = async () => (await app.get(`/resource-claims/${id}/usage?resourceSlug=seat`)).usage.capacity;
  const { productId } = await app.get(`/prices/${changes.priceIdOf('pro')}`).then(({ price }) => price);
  const { features: given } = await app.get(`/products/${productId}`);
  await app.put(`/products/${productId}`, { product: {}, featureIds: [] });
  assert.deepEqual([await seats(), await calls(externalId, id)], [40, 1440]);
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', quantity: 21 });
  assert.match(
    await changes.refused(id, [{ id: pro.id, quantity: 2 }], 409, atEnd),
    /reduce the capacity of seat to 20, but 21 are claimed/,
  );
  await app.post(`/resource-claims/${id}/release`, { resourceSlug: 'seat', quantity: 1 });
  await adjust(id, [{ id: pro.id, quantity: 2 }], atEnd);
  await moveTo(may);
  assert.deepEqual([await seats(), await calls(externalId, id)], [20, 720]);
  assert.deepEqual(await features(externalId), ['calls-360', 'seats-10', 'sso']);
  await adjust(id, [{ id: pro.id, quantity: 5 }]);
  assert.deepEqual([await seats(), await calls(externalId, id)], [50, 1800]);
  await app.put(`/products/${productId}`, { product: {}, featureIds: given.map((feature: Body) => feature.id) });
});

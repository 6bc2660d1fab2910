import assert from 'node:assert/strict';
import { test } from 'node:test';
import { april, day, setUpChanges } from '../support/adjust-fixture.ts';
import { databaseDigest } from '../support/digest.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const { subscribe, adjust, refused } = changes;
const cancel = (id: string, timing: string) => app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing } });

test('a subscription that cannot be changed says why', async () => {
  const [ended, ending, given, later] = [
    await subscribe('p3000'),
    await subscribe('p3000'),
    await subscribe('p3000', { token: null, doNotCharge: true }),
    await subscribe('p3000', { startDate: day(5) }),
  ];
  await cancel(ended.id, 'immediately');
  await cancel(ending.id, 'at_end_of_current_billing_period');
  const free = (await app.get(`/customers/${ended.externalId}/billing`)).currentSubscription;
  const rows: [id: string, status: number, reason: RegExp][] = [
    ['sub_unknown', 404, /No subscription with id sub_unknown/],
    [ended.id, 400, /has ended: its status is canceled/],
    [given.id, 400, /it is not charged \(doNotCharge\)/],
    [free.id, 400, /default plan/],
    [ending.id, 400, /cancellation is scheduled/],
    [later.id, 404, /no current billing period/],
  ];
  const digest = await databaseDigest(app);
  for (const [id, status, reason] of rows) {
    assert.match(await refused(id, 'p6000', status), reason);
    const { canAdjust, reason: previewed } = await changes.preview(id, 'p6000');
    assert.deepEqual([canAdjust, reason.test(previewed)], [false, true]);
  }
  assert.equal(await databaseDigest(app), digest);
});

test('one that waits for its first payment, or is paused, is not changed', async () => {
  const waiting = await subscribe('p3000', { token: null });
  assert.match(await refused(waiting.id, 'p6000', 404), /no current billing period/);
  const paused = await subscribe('p3000');
  await app.post(`/subscriptions/${paused.id}/pause`, { pause: {} });
  assert.match(await refused(paused.id, 'p6000', 400), /resume it first/);
});

test('items must be there, be sold, and be of the subscription', async () => {
  const { id, externalId } = await subscribe('p3000');
  const other = await subscribe('p3000');
  const [own] = await changes.itemsOf(externalId);
  const [theirs] = await changes.itemsOf(other.externalId);
  const usagePrice = (await app.get('/prices?limit=100&type=usage')).data.find(
    (row: Body) => row.slug === 'call-overage',
  );
  const rows: [item: Body, status: number, reason: RegExp][] = [
    [{ priceSlug: 'nowhere' }, 404, /No active price with id or slug nowhere/],
    [{ priceId: 'p6000-monthly' }, 404, /No active price/],
    [{ priceId: usagePrice.id }, 400, /of type usage/],
    [{ id: theirs.id }, 404, /No subscription item/],
    [{ ...own, subscriptionId: other.id }, 400, /subscriptionId/],
    [{ quantity: 1 }, 400, /send priceId or priceSlug/],
    [{ priceId: changes.priceIdOf('p6000'), priceSlug: 'p6000-monthly' }, 400, /not both/],
    [{ priceSlug: 'p6000-monthly', quantity: 0 }, 400, /at least 1/],
    [{ priceSlug: 'p6000-monthly', quantity: -1 }, 400, /quantity/],
    [{ priceSlug: 'p6000-monthly', unitPrice: -1 }, 400, /unitPrice/],
    [{ priceSlug: 'p6000-monthly', quantity: 1_000_001 }, 400, /quantity.*1000000/],
    [{ priceSlug: 'p6000-monthly', quantity: 1_000_000, unitPrice: 2 ** 43 }, 400, /must cost at most/],
    [{ priceSlug: 'p6000-monthly', expiredAt: day(20) }, 400, /expiredAt/],
    [{ manuallyCreated: true, priceSlug: 'p6000-monthly' }, 400, /at least one item with a price/],
  ];
  const digest = await databaseDigest(app);
  for (const [item, status, reason] of rows) assert.match(await refused(id, [item], status), reason);
  assert.match(await refused(id, [{ id: own.id }, { id: own.id }], 400), /must appear only once/);
  assert.match(await refused(id, [], 400), /newSubscriptionItems/);
  assert.equal(await databaseDigest(app), digest);
});

test('what is wrong first is told first: items before values, values before capacity, capacity before anchor', async () => {
  const { id } = await subscribe('pro');
  await app.post(`/resource-claims/${id}/claim`, { resourceSlug: 'seat', quantity: 4 });
  const anchored = { timing: 'at_end_of_current_billing_period', billingAnchor: 'now' };
  const [zero, gone] = [{ priceSlug: 'p9000-monthly', quantity: 0 }, { priceSlug: 'gone' }];
  assert.match(await refused(id, [zero, gone], 404, anchored), /gone/);
  assert.match(await refused(id, [zero], 400, anchored), /at least 1/);
  assert.match(await refused(id, 'p9000', 409, anchored), /seat/);
  assert.match(await refused(id, 'mega', 400, anchored), /billingAnchor/);
});

test('every form of an item is taken: by slug, by id, by an id given as slug, in full, and an item that there is', async () => {
  const { id, externalId } = await subscribe('p3000');
  const [own] = await changes.itemsOf(externalId);
  const full = {
    type: 'static',
    subscriptionId: id,
    addedDate: 0,
    quantity: 2,
    metadata: { seat: 7 },
    externalId: 'x',
  };
  const { subscriptionItems } = await adjust(
    id,
    [
      { priceSlug: 'p100-monthly' },
      { priceId: changes.priceIdOf('p100'), quantity: 3 },
      { priceSlug: changes.priceIdOf('p200') },
      { ...full, priceId: changes.priceIdOf('p999'), unitPrice: 900, name: 'Custom' },
      { ...full, priceSlug: 'p1000-monthly', unitPrice: 1000, manuallyCreated: false },
      { ...full, manuallyCreated: true, unitPrice: 0 },
      { ...full, priceId: null, unitPrice: 5 },
      { ...own, quantity: 1 },
    ],
    { prorateCurrentBillingPeriod: false },
  );
  const shown = subscriptionItems.map((item: Body) => [item.unitPrice, item.quantity, item.name, item.externalId]);
  assert.deepEqual(shown, [
    [3000, 1, 'Monthly', null],
    [100, 1, 'Monthly', null],
    [100, 3, 'Monthly x 3', null],
    [200, 1, 'Monthly', null],
    [900, 2, 'Custom', 'x'],
    [1000, 2, 'Monthly x 2', 'x'],
  ]);
  assert.deepEqual([subscriptionItems[0].id, subscriptionItems[0].addedDate], [own.id, april]);
});

test('who is on a price that is not sold any more stays on it, and nobody else goes there', async () => {
  const { id, externalId } = await subscribe('p1999');
  const [own] = await changes.itemsOf(externalId);
  const priceId = changes.priceIdOf('p1999');
  const product = (await app.get('/products?limit=100')).data.find((row: Body) => row.slug === 'p1999');
  await app.put(`/products/${product.id}`, { product: { id: product.id, active: false } });
  await adjust(id, [{ id: own.id, quantity: 2 }]);
  assert.match(await refused(id, [{ id: own.id }, { priceId }], 404), /No active price/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { divHalfAway } from '../../src/kernel/money.ts';
import { april, day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const { subscribe, adjust, preview } = changes;

test('a preview says what would be charged and what would become of the plan', async () => {
  const { id } = await subscribe('p3000');
  await app.setClock(day(10));
  const { paymentMethod, ...answer } = await preview(id, 'p6000', { timing: 'auto' });
  assert.deepEqual(answer, {
    canAdjust: true,
    previewGeneratedAt: day(10),
    prorationAmount: 2000,
    carriedOverAmount: 0,
    discountAmount: 0,
    taxAmount: 0,
    totalDue: 2000,
    currentPlanTotal: 3000,
    newPlanTotal: 6000,
    resolvedTiming: 'immediately',
    effectiveDate: day(10),
    isUpgrade: true,
    percentThroughBillingPeriod: 1 / 3,
    billingPeriodEnd: may,
    currentSubscriptionItems: [
      { name: 'Monthly', unitPrice: 3000, pricing: null, quantity: 1, priceId: changes.priceIdOf('p3000') },
    ],
    newSubscriptionItems: [
      { name: 'Monthly', unitPrice: 6000, pricing: null, quantity: 1, priceId: changes.priceIdOf('p6000') },
    ],
  });
  assert.deepEqual([paymentMethod.type, paymentMethod.last4, paymentMethod.brand], ['card', '4242', 'visa']);
  // A full record of another item that has expired is left out, and an item without a name has an empty one.
  const renamed = { ...changes.item('p6000'), name: null };
  const full = await preview(id, [renamed, { ...changes.item('p9000'), expiredAt: day(10) }]);
  assert.deepEqual([full.newPlanTotal, full.newSubscriptionItems[0].name], [6000, '']);
  const later = await preview(id, 'p1000', { timing: 'auto' });
  assert.deepEqual(
    [later.resolvedTiming, later.effectiveDate, later.percentThroughBillingPeriod, later.totalDue],
    ['at_end_of_current_billing_period', may, 1, 0],
  );
});

test('a change that would be refused is previewed with the reason, and a body that cannot be read is refused', async () => {
  const { id } = await subscribe('p3000');
  const reason = await changes.refused(id, 'p6000', 400, { billingAnchor: 'now' });
  assert.deepEqual(await preview(id, 'p6000', { billingAnchor: 'now' }), {
    canAdjust: false,
    previewGeneratedAt: april,
    reason,
  });
  const unknown = await preview('sub_unknown', 'p6000');
  assert.deepEqual([unknown.canAdjust, unknown.reason], [false, 'No subscription with id sub_unknown.']);
  for (const body of [{}, { adjustment: { timing: 'later', newSubscriptionItems: [changes.item('p6000')] } }]) {
    assert.equal((await app.request('POST', `/subscriptions/${id}/preview-adjust`, body)).status, 400);
  }
});

test('discount and tax are in the preview as they will be on the invoice', async () => {
  await app.post('/discounts', {
    discount: { name: 'Half', code: 'HALF', amount: 50, amountType: 'percent', duration: 'forever' },
  });
  await app.post('/tax-rates', { taxRate: { country: 'DE', type: 'vat', percentage: '19', inclusive: false } });
  await app.put('/settings', { settings: { taxProvider: 'rates' } });
  const { id, externalId } = await subscribe('p3000', { discountCode: 'HALF' });
  await app.put(`/customers/${externalId}`, {
    customer: { externalId, billingAddress: { address: { country: 'DE' } } },
  });
  await app.setClock(day(10));
  const expected = await preview(id, 'p6000');
  // 2000 less 50 % are 1000, and 19 % of that are 190.
  assert.deepEqual(
    [expected.prorationAmount, expected.discountAmount, expected.taxAmount, expected.totalDue],
    [2000, 1000, 190, 1190],
  );
  await adjust(id, 'p6000');
  const invoice = (await app.get(`/invoices?subscriptionId=${id}`)).data.at(-1);
  assert.deepEqual(
    [invoice.discountAmount, invoice.taxAmount, invoice.total, invoice.amountPaid],
    [1000, 190, 1190, 1190],
  );
  await app.put('/settings', { settings: { taxProvider: 'none' } });
});

const plans = ['p100', 'p999', 'p1999', 'p3000', 'p6000'] as const;
const units = fc.integer({ min: 1, max: 4 });
const anyPlan = fc.record({ plan: fc.constantFrom(...plans, 'zero'), units });
const paidPlan = fc.record({ plan: fc.constantFrom(...plans), units });
const change = fc.record({
  at: fc.integer({ min: april, max: may - 1 }),
  items: fc.array(anyPlan, { minLength: 1, maxLength: 3 }),
  timing: fc.constantFrom('immediately', 'auto', 'at_end_of_current_billing_period'),
  prorateCurrentBillingPeriod: fc.boolean(),
});
const itemsOf = (list: readonly { plan: string; units: number }[]) =>
  list.map(({ plan, units: n }) => `${plan} x ${n}`);
const lastInvoice = async (id: string): Promise<Body> =>
  (await app.get(`/invoices?limit=100&subscriptionId=${id}`)).data;

test('whatever is changed and when: the preview is what the change then does, to the cent', async () => {
  await fc.assert(
    fc.asyncProperty(paidPlan, fc.array(change, { minLength: 1, maxLength: 4 }), async (first, list) => {
      const { id } = await subscribe(`${first.plan} x ${first.units}`);
      for (const { at, items, ...how } of list.sort((a, b) => a.at - b.at)) {
        await app.setClock(at);
        const before: Body[] = await lastInvoice(id);
        const expected = await preview(id, itemsOf(items), how);
        const path = `/subscriptions/${id}/adjust`;
        const answer = await app.request('POST', path, changes.adjustmentOf(itemsOf(items), how));
        assert.equal(answer.status === 200, expected.canAdjust);
        if (!expected.canAdjust) {
          assert.equal(answer.body.message, expected.reason);
          continue;
        }
        assert.deepEqual(
          [answer.body.resolvedTiming, answer.body.isUpgrade],
          [expected.resolvedTiming, expected.isUpgrade],
        );
        const after: Body[] = await lastInvoice(id);
        const charged = after.slice(before.length).reduce((sum, { total }) => sum + total, 0);
        assert.equal(charged, expected.totalDue);
        assert.ok(after.every(({ status }) => status === 'paid'));
      }
    }),
    { numRuns: 15 },
  );
});

test('upgrades only: what a period is charged is what it was worth, however often the plan changed', async () => {
  const upgrade = fc.record({ at: fc.integer({ min: april, max: may - 1 }), more: fc.integer({ min: 1, max: 50 }) });
  await fc.assert(
    fc.asyncProperty(units, fc.array(upgrade, { minLength: 1, maxLength: 4 }), async (first, list) => {
      const { id, externalId } = await subscribe(`p999 x ${first}`);
      let [quantity, since, worth] = [first, april, 0n];
      for (const { at, more } of list.sort((a, b) => a.at - b.at)) {
        await app.setClock(at);
        const [item] = await changes.itemsOf(externalId);
        worth += 999n * BigInt(quantity) * BigInt(at - since);
        [quantity, since] = [quantity + more, at];
        await adjust(id, [more % 2 === 0 ? { id: item.id, quantity } : `p999 x ${quantity}`]);
      }
      worth += 999n * BigInt(quantity) * BigInt(may - since);
      const charged = (await lastInvoice(id)).reduce((sum: number, { total }: Body) => sum + total, 0);
      assert.equal(charged, Number(divHalfAway(worth, BigInt(may - april))));
    }),
    { numRuns: 10 },
  );
});

test('an upgrade that is taken back at once costs nothing more, and is there again for nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: april, max: may - 1 }), units, async (at, more) => {
      const { id } = await subscribe('p1000');
      await app.setClock(at);
      await adjust(id, `p1000 x ${1 + more}`);
      const paid = (await lastInvoice(id)).length;
      assert.equal((await adjust(id, 'p1000')).subscription.currentBillingPeriodEnd, may);
      await adjust(id, `p1000 x ${1 + more}`);
      assert.equal((await lastInvoice(id)).length, paid);
    }),
    { numRuns: 5 },
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();

test('a setup fee', async (t) => {
  const agency = await app.newOrganization();
  const by = callerOf(app, agency);
  const day = (at: string) => by.moveTo(instant(at));
  await day('2026-04-01');
  const fee = { setupFeeAmount: 5000 };
  const products = [plan('free', 0), plan('build', 3000, [], fee), plan('big', 6000)];
  const trial = plan('trial', 3000, [], { ...fee, trialPeriodDays: 14 });
  const setUp = { name: 'Agency', isDefault: true, products: [...products, trial], features: [], usageMeters: [] };
  const { pricingModel: model } = await by.post('/pricing-models/setup', setUp);
  let count = 0;
  const join = async (priceSlug: string, more: Body = {}, token: string | null = 'pm_card_visa') => {
    count += 1;
    const { customerId } = await newCustomer(by, `client ${count}`, { token });
    const { subscription } = await by.post('/subscriptions', { customerId, priceSlug, ...more });
    return { customerId, id: subscription.id as string };
  };
  /** Status and total of each invoice, oldest first. */
  const bills = async (id: string): Promise<[string, number][]> => {
    const { data } = await by.get(`/invoices?subscriptionId=${id}&limit=100`);
    const oldestFirst = data.toSorted((a: Body, b: Body) => (a.id < b.id ? -1 : 1));
    return oldestFirst.map(({ status, total }: Body) => [status, total]);
  };
  const upcoming = async (id: string) => (await by.get(`/invoices/upcoming?subscriptionId=${id}`)).invoice.total;
  const change = (id: string, priceSlug: string) =>
    by.post(`/subscriptions/${id}/adjust`, {
      adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug, quantity: 1 }] },
    });

  await t.test('is one line of the first invoice, once for two seats, and discounted like the rest', async () => {
    await by.post('/discounts', {
      discount: { name: 'Ten', code: 'TEN', amountType: 'percent', amount: 10, duration: 'once' },
    });
    const { id } = await join('build-monthly', { quantity: 2, discountCode: 'TEN' });
    assert.deepEqual(await bills(id), [['paid', 9900]]);
    const { data } = await by.get(`/invoices?subscriptionId=${id}`);
    const { lines } = await by.get(`/invoices/${data[0].id}/explain`);
    assert.deepEqual(
      lines.map(({ kind, quantity, amount, discountShare }: Body) => [kind, quantity, amount, discountShare]),
      [
        ['item', 2, 6000, 600],
        ['setup_fee', 1, 5000, 500],
      ],
    );
    assert.equal(lines[1].description, 'Setup fee');
    assert.equal(await upcoming(id), 6000);
    const free = await join('build-monthly', { doNotCharge: true });
    assert.deepEqual(await bills(free.id), []);
  });

  await t.test('pays for no part of a dearer plan: half a month from 30.00 to 60.00 costs 15.00', async () => {
    const { id } = await join('build-monthly');
    await day('2026-04-16');
    await change(id, 'big-monthly');
    assert.deepEqual(await bills(id), [
      ['paid', 8000],
      ['paid', 1500],
    ]);
  });

  await t.test('comes with the first invoice after a trial, and at a later start', async () => {
    const { id } = await join('trial-monthly');
    const later = await join('build-monthly', { startDate: instant('2026-05-01') });
    assert.deepEqual([await bills(id), await upcoming(id)], [[], 8000]);
    assert.equal(await upcoming(later.id), 8000);
    await day('2026-06-15');
    const paid = (total: number) => ['paid', total];
    assert.deepEqual(await bills(id), [8000, 3000].map(paid));
    assert.deepEqual(await bills(later.id), [8000, 3000].map(paid));
  });

  await t.test(
    'goes with the usage to the invoice that replaces an unpaid one, and is settled by a void one',
    async () => {
      await by.put('/settings', { settings: { netTermsDays: 30 } });
      const { id, customerId } = await join('build-monthly', {}, null);
      const other = await join('build-monthly', {}, null);
      assert.deepEqual(await bills(id), [['open', 8000]]);
      await newCard(by, customerId, 'pm_card_visa');
      await change(id, 'big-monthly');
      assert.deepEqual(await bills(id), [
        ['void', 8000],
        ['paid', 11_000],
      ]);
      const { data } = await by.get(`/invoices?subscriptionId=${other.id}`);
      await by.post(`/invoices/${data[0].id}/void`);
      assert.equal(await upcoming(other.id), 3000);
      await by.put('/settings', { settings: { netTermsDays: 0 } });
    },
  );

  await t.test('is a term of its price: export, clone and update keep it, and nothing rewrites it', async () => {
    const { pricingModel: exported } = await by.get(`/pricing-models/${model.id}/export`);
    const fees = exported.products.map(({ price }: Body) => price.setupFeeAmount);
    assert.deepEqual(fees.toSorted(), [5000, 5000, undefined, undefined]);
    const { pricingModel: clone } = await by.post(`/pricing-models/${model.id}/clone`, { name: 'Clone' });
    const prices = clone.products.map(({ defaultPrice }: Body) => defaultPrice.setupFeeAmount);
    assert.deepEqual(prices.toSorted(), [5000, 5000, null, null]);
    const { data } = await by.get('/prices?slug=build-monthly&active=true');
    const before = data.find((each: Body) => each.pricingModelId === model.id);
    await by.put(`/pricing-models/${model.id}`, { pricingModel: exported });
    const path = `/prices/${before.id}`;
    assert.equal((await by.get(path)).price.active, true);
    const refused = async (method: string, at: string, body: Body, field: string) => {
      const answer = await app.request(method, at, body, { key: agency.testKey });
      assert.deepEqual([answer.status, answer.body.issues?.[0]?.path.join('.')], [400, field]);
    };
    await refused('PUT', path, { price: { setupFeeAmount: 1 } }, 'price.setupFeeAmount');
    const product = { name: 'Nothing', slug: 'nothing' };
    const price = { type: 'subscription', intervalUnit: 'month', unitPrice: 0, setupFeeAmount: 1 };
    await refused('POST', '/products', { product, price }, 'price.setupFeeAmount');
    // Other terms are another price. Its predecessor keeps the subscribers.
    await by.put(`/products/${before.productId}`, { product: {}, price: { setupFeeAmount: null } });
    assert.equal((await by.get(path)).price.active, false);
    const { id } = await join('build-monthly');
    assert.deepEqual(await bills(id), [['paid', 3000]]);
  });
  await assertSound(app);
});

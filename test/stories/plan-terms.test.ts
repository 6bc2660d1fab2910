import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCard, newCustomer, plan } from '../support/shop.ts';
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

  await t.test('is shown and billed by a checkout, beside the price', async () => {
    const { data } = await by.get('/prices?slug=build-monthly&active=true');
    await newCustomer(by, 'shopper');
    const back = { successUrl: 'https://acme.test/thanks', cancelUrl: 'https://acme.test' };
    const checkoutSession = { type: 'product', customerExternalId: 'shopper', priceId: data[0].id, ...back };
    const { url } = await by.post('/checkout-sessions', { checkoutSession });
    const page = await (await fetch(url)).text();
    for (const text of ['USD 30.00 per month, and USD 50.00 once', 'Setup fee', 'USD 80.00'])
      assert(page.includes(text), text);
  });

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

test('a rate card', async (t) => {
  const seller = await app.newOrganization();
  const by = callerOf(app, seller);
  const send = (method: string, path: string, body: Body) => app.request(method, path, body, { key: seller.testKey });
  await by.moveTo(instant('2026-04-01'));
  const rated = (priceSlug: string) => ({ product: { usagePrices: [{ usageMeterSlug: 'calls', priceSlug }] } });
  const products = [
    plan('free', 0),
    plan('plain', 1000),
    plan('pro', 3000, [], rated('pro-calls')),
    plan('big', 6000, [], rated('big-calls')),
  ];
  const calls = meter('calls', 'Calls', { slug: 'plain-calls', unitPrice: 10 });
  const rate = (slug: string, unitPrice: number) => ({ ...calls.prices[0], slug, unitPrice, isDefault: false });
  const prices = [...calls.prices, rate('pro-calls', 5), rate('big-calls', 2)];
  const usageMeters = [{ ...calls, prices }, meter('jobs', 'Jobs', { slug: 'plain-jobs', unitPrice: 1 })];
  const structure = { features: [], products, usageMeters, resources: [] };
  const { pricingModel: model } = await by.post('/pricing-models/setup', {
    name: 'Rates',
    isDefault: true,
    ...structure,
  });
  const priceOf = async (slug: string): Promise<Body> => (await by.get(`/prices?slug=${slug}&active=true`)).data[0];
  const productOf = async (slug: string): Promise<Body> =>
    by.get(`/products/${(await by.get(`/products?slug=${slug}&active=true`)).data[0].id}`);
  let count = 0;
  const join = async (slug: string) => {
    count += 1;
    const externalId = `caller ${count}`;
    const { customerId } = await newCustomer(by, externalId, { token: 'pm_card_visa' });
    const { subscription } = await by.post('/subscriptions', { customerId, priceSlug: `${slug}-monthly` });
    const use = async (amount: number, how: Body = { usageMeterSlug: 'calls' }): Promise<string> => {
      count += 1;
      const usageEvent = { customerExternalId: externalId, transactionId: `use ${count}`, amount, ...how };
      const { usageEvent: stored } = await by.post('/usage-events', { usageEvent });
      return (await by.get(`/prices/${stored.priceId}`)).price.slug;
    };
    return { id: subscription.id as string, use };
  };
  const upcoming = async (id: string) => (await by.get(`/invoices/upcoming?subscriptionId=${id}`)).invoice.total;

  await t.test('rates the events that name a meter by the price of the plan, and others by their own', async () => {
    const { usageMeterId } = await priceOf('pro-calls');
    const [plain, pro] = [await join('plain'), await join('pro')];
    for (let round = 0; round < 3; round++) {
      assert.equal(await plain.use(1), 'plain-calls');
      assert.equal(await pro.use(1), 'pro-calls');
    }
    assert.equal(await pro.use(1, { usageMeterId }), 'pro-calls');
    assert.equal(await pro.use(1, { priceSlug: 'plain-calls' }), 'plain-calls');
    assert.equal(await pro.use(1, { usageMeterSlug: 'jobs' }), 'plain-jobs');
    assert.equal(await upcoming(pro.id), 3000 + 4 * 5 + 10 + 1);
  });

  await t.test('bills usage before an upgrade by the old rate, and usage after it by the new one', async () => {
    const { id, use } = await join('pro');
    for (let round = 0; round < 3; round++) assert.equal(await use(100), 'pro-calls');
    const newSubscriptionItems = [{ priceSlug: 'big-monthly', quantity: 1 }];
    await by.post(`/subscriptions/${id}/adjust`, { adjustment: { timing: 'immediately', newSubscriptionItems } });
    for (let round = 0; round < 3; round++) assert.equal(await use(100), 'big-calls');
    assert.equal(await upcoming(id), 6000 + 300 * 5 + 300 * 2);
    await by.moveTo(instant('2026-05-01'));
    const { data } = await by.get(`/invoices?subscriptionId=${id}&limit=100`);
    const totals = data.map(({ total }: Body) => total as number);
    assert.deepEqual(
      totals.toSorted((a: number, b: number) => a - b),
      [3000, 3000, 8100],
    );
  });

  await t.test('is shown, and a change of it rates the next event, for those who have the plan too', async () => {
    const pro = await productOf('pro');
    const { id: priceId, usageMeterId } = await priceOf('pro-calls');
    const shown = { usageMeterSlug: 'calls', priceSlug: 'pro-calls', usageMeterId, priceId };
    assert.deepEqual(pro.usagePrices, [shown]);
    const { use } = await join('pro');
    assert.equal(await use(1), 'pro-calls');
    // The record can be sent back as it was answered.
    const other = { usageMeterSlug: 'calls', priceSlug: 'big-calls' };
    for (const [usagePrices, slug] of [
      [[shown], 'pro-calls'],
      [[other], 'big-calls'],
      [[], 'plain-calls'],
      [[shown], 'pro-calls'],
    ] as const) {
      const { product } = await by.put(`/products/${pro.id}`, { product: { usagePrices } });
      assert.equal(product.usagePrices.length, usagePrices.length);
      for (let round = 0; round < 2; round++) assert.equal(await use(1), slug);
    }
    const { product: made } = await by.post('/products', {
      product: { name: 'Mini', slug: 'mini', usagePrices: [other] },
      price: { type: 'subscription', slug: 'mini-monthly', intervalUnit: 'month', unitPrice: 500 },
    });
    assert.equal(made.usagePrices[0].priceSlug, 'big-calls');
    assert.equal(await (await join('mini')).use(1), 'big-calls');
  });

  await t.test('names a price of each meter once, and keeps that price and its slug', async () => {
    const pro = await productOf('pro');
    const calls = { usageMeterSlug: 'calls', priceSlug: 'pro-calls' };
    const bad: [Body[], string][] = [
      [[{ ...calls, usageMeterSlug: 'none' }], 'usagePrices.0.usageMeterSlug'],
      [[{ ...calls, priceSlug: 'plain-jobs' }], 'usagePrices.0.priceSlug'],
      [[calls, calls], 'usagePrices.1.usageMeterSlug'],
      [[{ ...calls, priceId: pro.defaultPrice.id }], 'usagePrices.0.priceId'],
    ];
    for (const [usagePrices, field] of bad) {
      const { status, body } = await send('PUT', `/products/${pro.id}`, { product: { usagePrices } });
      assert.deepEqual([status, body.issues[0].path.join('.')], [400, `product.${field}`]);
    }
    const { id } = await priceOf('pro-calls');
    for (const change of [{ active: false }, { slug: null }]) {
      const { status, body } = await send('PUT', `/prices/${id}`, { price: change });
      assert.deepEqual([status, body.issues[0].path], [400, ['price', Object.keys(change)[0]]]);
      assert.match(body.message, /because product pro names the price/);
    }
    const wrong = plan('wrong', 1, [], rated('plain-jobs'));
    const { status, body } = await send('POST', '/pricing-models/setup', {
      name: 'Wrong',
      ...structure,
      products: [wrong],
    });
    assert.deepEqual([status, body.issues[0].path.slice(-2)], [404, [0, 'priceSlug']]);
    await assert.rejects(
      app.owner
        .updateTable('products')
        .set({ usagePrices: '{"usage_meter_x": "price_x"}' })
        .where('id', '=', pro.id)
        .execute(),
      { constraint: 'products_usage_prices_of_meters' },
    );
  });

  await t.test('goes through export, setup and clone, and follows its price to other terms', async () => {
    const { pricingModel: exported } = await by.get(`/pricing-models/${model.id}/export`);
    const cards = Object.fromEntries(
      exported.products.map(({ product }: Body) => [product.slug, product.usagePrices?.[0].priceSlug]),
    );
    assert.deepEqual(cards, {
      free: undefined,
      plain: undefined,
      pro: 'pro-calls',
      big: 'big-calls',
      mini: 'big-calls',
    });
    const before = await productOf('pro');
    await by.moveTo(instant('2026-05-02'));
    await by.put(`/pricing-models/${model.id}`, { pricingModel: exported });
    assert.deepEqual(await productOf('pro'), before);
    const { pricingModel: again } = await by.post('/pricing-models/setup', { ...exported, isDefault: false });
    const { pricingModel: second } = await by.get(`/pricing-models/${again.id}/export`);
    assert.deepEqual(second, { ...exported, isDefault: false });
    const { pricingModel: clone } = await by.post(`/pricing-models/${model.id}/clone`, { name: 'Clone' });
    const copied = clone.products.find(({ slug }: Body) => slug === 'pro');
    const meters = clone.usageMeters.find(({ slug }: Body) => slug === 'calls');
    const own = meters.prices.find(({ slug }: Body) => slug === 'pro-calls');
    assert.deepEqual([copied.usagePrices[0].priceId, copied.usagePrices[0].usageMeterId], [own.id, meters.id]);
    assert.equal(copied.defaultPrice.overagePriceId, own.id);
    const { use } = await join('pro');
    assert.equal(await use(1), 'pro-calls');
    const dearer = structuredClone(exported);
    const wanted = dearer.usageMeters[0].prices.find(({ slug }: Body) => slug === 'pro-calls');
    wanted.unitPrice = 7;
    await by.put(`/pricing-models/${model.id}`, { pricingModel: dearer });
    const [{ priceId }] = (await productOf('pro')).usagePrices;
    assert.notEqual(priceId, before.usagePrices[0].priceId);
    assert.equal((await by.get(`/prices/${priceId}`)).price.unitPrice, 7);
    assert.equal(await use(1), 'pro-calls');
  });
  await assertSound(app);
});

test('an anchor that moves at the instant at which a free plan begins grants its share of credits once', async () => {
  const agency = await app.newOrganization();
  const by = callerOf(app, agency);
  await by.moveTo(instant('2026-04-01'));
  await by.post('/pricing-models/setup', {
    name: 'Free calls',
    isDefault: true,
    features: [credits('calls', 30, 'call')],
    usageMeters: [meter('call', 'Calls', { slug: 'call-price', unitPrice: 1, usageEventsPerUnit: 1 })],
    products: [plan('free', 0, ['calls']), plan('pro', 3000)],
  });
  const { customerId, freeId } = await newCustomer(by, 'caller', { token: 'pm_card_visa' });
  const use = { subscriptionId: freeId, usageMeterSlug: 'call', transactionId: 'all', amount: 30 };
  await by.post('/usage-events', { usageEvent: use });
  const { subscription: pro } = await by.post('/subscriptions', { customerId, priceSlug: 'pro-monthly' });
  await by.post(`/subscriptions/${pro.id}/cancel`, { cancellation: { timing: 'immediately' } });
  const { data } = await by.get(`/subscriptions?customerId=${customerId}&status=active`);
  const balance = async () => (await by.get('/customers/caller/usage-balances')).usageMeterBalances[0].availableBalance;
  assert.deepEqual([data.length, await balance()], [1, 0]);
  // 10 of the 31 days from 11 March: 30 x 10 / 31, rounded.
  const subscription = { billingCycleAnchorDate: instant('2026-04-11') };
  await by.put(`/subscriptions/${data[0].id}`, { subscription });
  assert.equal(await balance(), 10);
  await assertSound(app);
});

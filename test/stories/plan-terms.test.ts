import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();
after(() => assertSound(app));

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
    for (const text of ['$30.00 per month, plus a one-time setup fee of $50.00', 'Setup fee', '$80.00'])
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
});

test('a minimum commitment', async (t) => {
  const seller = await app.newOrganization();
  const by = callerOf(app, seller);
  const day = (at: string) => by.moveTo(instant(at));
  await day('2026-04-01');
  // April has 30 days: 30.00 are 1.00 a day, and a commitment of 90.00 is 3.00 a day.
  const least = { minimumCommitment: 9000 };
  const products = [
    plan('free', 0),
    plan('plain', 3000),
    plan('pro', 3000, [], least),
    plan('big', 6000, [], { minimumCommitment: 15_000 }),
    plan('trial', 3000, [], { ...least, trialPeriodDays: 14 }),
    plan('year', 36_000, [], { intervalUnit: 'year', slug: 'yearly' }),
    plan('usage', 0, [], { pricing: { model: 'per_unit', unitAmount: '0' }, ...least }),
  ];
  const usageMeters = [meter('calls', 'Calls', { slug: 'calls', unitPrice: 10 })];
  const structure = { features: [], products, usageMeters, resources: [] };
  const { pricingModel: model } = await by.post('/pricing-models/setup', {
    ...{ name: 'Committed', isDefault: true },
    ...structure,
  });
  let count = 0;
  const join = async (slug: string, more: Body = {}, token: string | null = 'pm_card_visa') => {
    count += 1;
    const { customerId } = await newCustomer(by, `buyer ${count}`, { token });
    const { subscription } = await by.post('/subscriptions', { customerId, priceSlug: slug, ...more });
    const id = subscription.id as string;
    const use = (amount: number) => {
      count += 1;
      const usageEvent = { subscriptionId: id, priceSlug: 'calls', amount, transactionId: `call ${count}` };
      return by.post('/usage-events', { usageEvent });
    };
    return { id, customerId, use };
  };
  const change = (id: string, priceSlug: string, more: Body = {}) =>
    by.post(`/subscriptions/${id}/adjust`, {
      adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug, quantity: 1 }], ...more },
    });
  const invoicesOf = async (id: string): Promise<Body[]> => {
    const { data } = await by.get(`/invoices?subscriptionId=${id}&limit=100`);
    return data.toSorted((a: Body, b: Body) => (a.id < b.id ? -1 : 1));
  };
  /** Kind and amount of each line of the last invoice. */
  const lastBill = async (id: string): Promise<[string, number][]> => {
    const { lines } = await by.get(`/invoices/${(await invoicesOf(id)).at(-1)?.id}/explain`);
    return lines.map(({ kind, amount }: Body) => [kind, amount]);
  };
  const upcoming = async (id: string): Promise<[string, number][]> => {
    const { invoiceLineItems } = await by.get(`/invoices/upcoming?subscriptionId=${id}`);
    return invoiceLineItems.map(({ description, amount }: Body) => [description, amount]);
  };

  await t.test('bills at the end of the period what plan and usage came to less, whatever the quantity', async () => {
    const [quiet, busy, seats] = [
      await join('pro-monthly'),
      await join('pro-monthly'),
      await join('pro-monthly', { quantity: 2 }),
    ];
    const free = await join('pro-monthly', { doNotCharge: true });
    const usage = await join('usage-monthly');
    await quiet.use(100);
    await busy.use(600);
    await usage.use(400);
    assert.deepEqual(await upcoming(quiet.id), [
      ['pro Monthly, 1 May – 1 Jun 2026', 3000],
      ['100 calls at USD 0.10 each', 1000],
      ['Minimum commitment, 1 Apr – 1 May 2026', 5000],
    ]);
    await day('2026-05-01');
    assert.deepEqual(await lastBill(quiet.id), [
      ['item', 3000],
      ['usage', 1000],
      ['minimum_commitment', 5000],
    ]);
    assert.deepEqual(await lastBill(busy.id), [
      ['item', 3000],
      ['usage', 6000],
    ]);
    assert.deepEqual(await lastBill(seats.id), [
      ['item', 6000],
      ['minimum_commitment', 3000],
    ]);
    assert.deepEqual(await lastBill(usage.id), [
      ['usage', 4000],
      ['minimum_commitment', 5000],
    ]);
    assert.deepEqual(await invoicesOf(free.id), []);
    const { lines } = await by.get(`/invoices/${(await invoicesOf(quiet.id)).at(-1)?.id}/explain`);
    const { fairValue, planAmount, usageAmount, segments, rounding, priceId } = lines[2];
    assert.deepEqual([fairValue, planAmount, usageAmount, rounding.rounded], [9000, 3000, 1000, 9000]);
    assert.deepEqual([segments.length, segments[0].value], [1, 9000]);
    assert.equal((await by.get(`/prices/${priceId}`)).price.slug, 'pro-monthly');
  });

  await t.test('counts by time: half of 90.00 and half of 150.00 are 120.00, of which 45.00 are paid', async () => {
    const { id } = await join('pro-monthly');
    await day('2026-05-16T12:00:00Z');
    await change(id, 'big-monthly');
    await day('2026-06-01');
    assert.deepEqual(await lastBill(id), [
      ['item', 6000],
      ['minimum_commitment', 7500],
    ]);
  });

  await t.test('comes for the time until an end, a pause and another interval', async () => {
    const [ended, paused, moved, begun] = [
      await join('pro-monthly'),
      await join('pro-monthly'),
      await join('pro-monthly'),
      await join('pro-monthly'),
    ];
    await ended.use(100);
    await moved.use(100);
    await day('2026-06-16');
    const cancellation = { timing: 'immediately' };
    await by.post(`/subscriptions/${begun.id}/pause`);
    await by.post(`/subscriptions/${begun.id}/cancel`, { cancellation });
    await by.post(`/subscriptions/${ended.id}/cancel`, { cancellation });
    // 45.00 of 90.00, less the 30.00 of the plan, which are not given back, and 10.00.
    assert.deepEqual(await lastBill(ended.id), [
      ['usage', 1000],
      ['minimum_commitment', 500],
    ]);
    await by.post(`/subscriptions/${paused.id}/pause`);
    await day('2026-06-21');
    await by.post(`/subscriptions/${paused.id}/resume`);
    // 15 days are 45.00, of which the plan cost 15.00; the other 15.00 pay for the 10 days that follow, and 5.00 more.
    assert.deepEqual(await lastBill(paused.id), [
      ['item', 1000],
      ['minimum_commitment', 3000],
      ['paused_time', -1500],
    ]);
    const preview = await by.post(`/subscriptions/${moved.id}/preview-adjust`, {
      adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'yearly', quantity: 1 }] },
    });
    await change(moved.id, 'yearly');
    // 20 days are 60.00, less 20.00 for the plan and 10.00. The rest of the plan, 10.00, comes off.
    assert.equal(preview.carriedOverAmount, 1000 + 3000);
    assert.deepEqual(await lastBill(moved.id), [
      ['item', 36_000],
      ['usage', 1000],
      ['minimum_commitment', 3000],
      ['paused_time', -1000],
    ]);
    await day('2026-07-01');
    // 10 days are 30.00 after the pause, of which the plan cost 10.00.
    assert.deepEqual(await lastBill(paused.id), [
      ['item', 3000],
      ['minimum_commitment', 2000],
    ]);
  });

  await t.test('asks for nothing in a trial, and not for waived value', async () => {
    const [trial, waived] = [await join('trial-monthly'), await join('plain-monthly')];
    await day('2026-07-15');
    assert.deepEqual(await lastBill(trial.id), [['item', 3000]]);
    await day('2026-07-16T12:00:00Z');
    await change(waived.id, 'big-monthly', { prorateCurrentBillingPeriod: false });
    await day('2026-08-01');
    // Half of 150.00 are 75.00: 30.00 are paid, and 15.00 were waived.
    assert.deepEqual(await lastBill(waived.id), [
      ['item', 6000],
      ['minimum_commitment', 3000],
    ]);
  });

  await t.test('goes to the invoice that replaces an unpaid one, and is settled by a void one', async () => {
    await by.put('/settings', { settings: { netTermsDays: 60 } });
    const [replaced, voided] = [await join('pro-monthly', {}, null), await join('pro-monthly', {}, null)];
    await day('2026-09-01');
    const ofAugust: [string, number][] = [
      ['item', 3000],
      ['minimum_commitment', 6000],
    ];
    assert.deepEqual([await lastBill(replaced.id), await lastBill(voided.id)], [ofAugust, ofAugust]);
    await newCard(by, replaced.customerId, 'pm_card_visa');
    await change(replaced.id, 'big-monthly');
    assert.deepEqual(await lastBill(replaced.id), [
      ['proration', 6000],
      ['minimum_commitment', 6000],
    ]);
    await by.post(`/invoices/${(await invoicesOf(voided.id)).at(-1)?.id}/void`);
    await day('2026-10-01');
    assert.deepEqual(await lastBill(voided.id), ofAugust);
    await by.put('/settings', { settings: { netTermsDays: 0 } });
  });

  await t.test('is a term of its price: export, clone and update keep it, and nothing rewrites it', async () => {
    const { pricingModel: exported } = await by.get(`/pricing-models/${model.id}/export`);
    const kept = exported.products.map(({ price }: Body) => price.minimumCommitment ?? 0);
    assert.deepEqual(
      kept.toSorted((a: number, b: number) => a - b),
      [0, 0, 0, 9000, 9000, 9000, 15_000],
    );
    const { pricingModel: clone } = await by.post(`/pricing-models/${model.id}/clone`, { name: 'Clone' });
    assert.equal(clone.products.filter(({ defaultPrice }: Body) => defaultPrice.minimumCommitment === 9000).length, 3);
    const { data } = await by.get('/prices?slug=pro-monthly&active=true');
    const before = data.find((each: Body) => each.pricingModelId === model.id);
    await by.put(`/pricing-models/${model.id}`, { pricingModel: exported });
    const path = `/prices/${before.id}`;
    assert.equal((await by.get(path)).price.active, true);
    const refused = async (method: string, at: string, body: Body) => {
      const answer = await app.request(method, at, body, { key: seller.testKey });
      assert.deepEqual([answer.status, answer.body.issues?.[0]?.path.join('.')], [400, 'price.minimumCommitment']);
    };
    await refused('PUT', path, { price: { minimumCommitment: 1 } });
    const product = { name: 'Nothing', slug: 'nothing' };
    const price = { type: 'subscription', intervalUnit: 'month', unitPrice: 0, minimumCommitment: 1 };
    await refused('POST', '/products', { product, price });
    await refused('POST', '/products', { product, price: { ...price, unitPrice: 1, minimumCommitment: -1 } });
    await by.put(`/products/${before.productId}`, { product: {}, price: { minimumCommitment: null } });
    assert.equal((await by.get(path)).price.active, false);
  });
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
    // A plan that is not for sale is still exported with the slug of its rate.
    await by.put(`/products/${pro.id}`, { product: { active: false } });
    const unnamed = await send('PUT', `/prices/${id}`, { price: { slug: null } });
    assert.deepEqual([unnamed.status, unnamed.body.issues[0].path], [400, ['price', 'slug']]);
    await by.put(`/products/${pro.id}`, { product: { active: true } });
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
});

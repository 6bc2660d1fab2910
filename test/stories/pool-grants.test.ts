import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { runInEnvironment } from '../../src/database/work.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { slotOf } from '../../src/kernel/id.ts';
import { buyNow } from '../support/buying.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

// Plans and products that grant credits of a pool. A plan's credits end by its rule; bought ones stay with the customer.

const app = await startTestApp();
after(() => assertSound(app));
const ofPool = (slug: string, amount: number, more: object = {}) => {
  const { usageMeterSlug: _, ...grant } = credits(slug, amount, '');
  return { ...grant, creditPoolSlug: 'ai', ...more };
};
const oncePaid = { type: 'single_payment', intervalUnit: undefined, intervalCount: undefined };
const setup = {
  name: 'AI',
  isDefault: true,
  features: [
    ofPool('free-credits', 10),
    ofPool('start-credits', 100, { rolloverMaximum: 20, rolloverPeriods: 1 }),
    ofPool('scale-credits', 300),
    ofPool('weekly-credits', 7, { renewalFrequency: 'every_interval', grantInterval: { unit: 'week', count: 1 } }),
    ofPool('welcome', 50, { renewalFrequency: 'once' }),
    ofPool('pack', 500, { renewalFrequency: 'once' }),
  ],
  products: [
    plan('free', 0, ['free-credits']),
    plan('start', 2000, ['start-credits']),
    plan('scale', 6000, ['scale-credits', 'welcome']),
    plan('weekly', 1000, ['weekly-credits']),
    plan('pack', 1000, ['pack'], oncePaid),
  ],
  usageMeters: [
    meter('tokens', 'Tokens', { slug: 'token', unitPrice: 1, usageEventsPerUnit: 1 }),
    meter('images', 'Images', { slug: 'image', unitPrice: 1, usageEventsPerUnit: 1 }),
  ],
  creditPools: [
    {
      slug: 'ai',
      name: 'AI credits',
      unit: 'credit',
      rates: [
        { usageMeterSlug: 'tokens', per: 1000, cost: '1' },
        { usageMeterSlug: 'images', per: 1, cost: '2' },
      ],
    },
  ],
};

/** A seller with these plans on 1 June, and one customer on the free plan. */
async function newShop() {
  const organization = await app.newOrganization();
  const caller = callerOf(app, organization);
  const moveTo = (date: string) => caller.moveTo(instant(date));
  await moveTo('2026-06-01');
  const { pricingModel } = await caller.post('/pricing-models/setup', setup);
  const pool = (await caller.get('/credit-pools?slug=ai')).data[0];
  const user = await newCustomer(caller, 'ada', { token: 'pm_card_visa' });
  const { externalId, customerId } = user;
  const request = (method: string, path: string, body: object) =>
    app.request(method, path, body, { key: organization.testKey });
  let uses = 0;
  const balance = async () => {
    const { creditBalances } = await caller.get(`/customers/${externalId}/credit-balances`);
    const { availableBalance, granted, paid } = creditBalances.find(({ slug }: Body) => slug === 'ai');
    return { available: availableBalance, granted, paid };
  };
  const tryUse = (amount: number) => {
    uses += 1;
    const usageEvent = { customerExternalId: externalId, usageMeterSlug: 'tokens', transactionId: `use-${uses}` };
    return request('POST', '/usage-events/consume', { usageEvent: { ...usageEvent, amount: amount * 1000 } });
  };
  return {
    ...caller,
    moveTo,
    /** Lets time pass, in which nobody does what is due. */
    passUntil: (date: string) => app.setClock(instant(date), organization.testEnvironmentId),
    pool,
    pricingModelId: pricingModel.id as string,
    ...user,
    request,
    subscribe: async (priceSlug: string): Promise<string> =>
      (await caller.post('/subscriptions', { customerId, priceSlug })).subscription.id,
    async buyPack() {
      const productId = pricingModel.products.find(({ slug }: Body) => slug === 'pack').id;
      const environmentId = organization.testEnvironmentId;
      await runInEnvironment(app.databaseOf(slotOf(customerId)), { environmentId }, (work) =>
        buyNow(work, { customerId, productId }),
      );
      await app.runJobs({ all: true });
    },
    /** Uses so many credits. */
    async use(amount: number) {
      assert.equal((await tryUse(amount)).status, 200);
    },
    tryUse,
    cancel: (id: string) => caller.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } }),
    balance,
    available: async (): Promise<string> => (await balance()).available,
    credits: async (query = ''): Promise<Body[]> =>
      (await caller.get(`/usage-credits?customerExternalId=${externalId}&limit=100${query}`)).data,
  };
}

test('a plan grants credits of a pool at its start and at each renewal, and unused ones roll over', async () => {
  const user = await newShop();
  const id = await user.subscribe('start-monthly');
  assert.equal(await user.available(), '100');
  await user.use(30);
  const [granted] = await user.credits(`&subscriptionId=${id}`);
  assert.deepEqual(
    [granted?.subscriptionId, granted?.usageMeterId, granted?.creditPoolId, granted?.remainingAmount],
    [id, null, user.pool.id, '70'],
  );
  // Of the 70 that are left 20 roll over.
  await user.moveTo('2026-07-01');
  assert.equal(await user.available(), '120');
  await user.use(15);
  await user.moveTo('2026-08-01');
  assert.equal(await user.available(), '120');
});

test('balances name a pool by its new slug at once, and an archived customer keeps its balances', async () => {
  const user = await newShop();
  const slugs = async () =>
    (await user.get(`/customers/${user.externalId}/credit-balances`)).creditBalances.map(({ slug }: Body) => slug);
  assert.deepEqual(await slugs(), ['tokens', 'images', 'ai']);
  // A pool without rates has no other rows that would change with it.
  await user.put(`/credit-pools/${user.pool.id}`, { creditPool: { rates: [] } });
  await slugs();
  await user.put(`/credit-pools/${user.pool.id}`, { creditPool: { slug: 'wits' } });
  assert.deepEqual(await slugs(), ['tokens', 'images', 'wits']);
  await user.post(`/customers/${user.externalId}/archive`, {});
  assert.deepEqual(await slugs(), ['tokens', 'images', 'wits']);
  const nobody = await app.request('GET', '/customers/nobody/credit-balances');
  assert.deepEqual([nobody.status, nobody.body.code], [404, 'NOT_FOUND']);
});

test('credits of a plan that end and leave too few in a pool are published, those that come again are not', async () => {
  const user = await newShop();
  await user.put(`/credit-pools/${user.pool.id}`, { creditPool: { lowBalanceThreshold: '110' } });
  await user.subscribe('start-monthly');
  const low = async () => (await user.get(`/events?type=usage_balance.low&objectId=${user.customerId}`)).total;
  await user.moveTo('2026-07-01');
  assert.deepEqual([await user.available(), await low()], ['120', 0]);
  const { currentSubscription } = await user.get(`/customers/${user.externalId}/billing`);
  await user.post(`/subscription-item-features/${currentSubscription.experimental.featureItems[0].id}/expire`, {});
  await user.moveTo('2026-08-01');
  assert.deepEqual([await user.available(), await low()], ['20', 1]);
});

test('a free user buys 500, upgrades, cancels and comes back: every credit is accounted for', async () => {
  const user = await newShop();
  assert.deepEqual(await user.balance(), { available: '10', granted: '10', paid: '0' });
  await user.buyPack();
  assert.deepEqual(await user.balance(), { available: '510', granted: '10', paid: '500' });
  await user.use(60);
  // The 10 of the free plan were first: they end earliest. The pack paid for 50.
  assert.deepEqual(await user.balance(), { available: '450', granted: '0', paid: '450' });
  const paidId = await user.subscribe('start-monthly');
  assert.deepEqual(await user.balance(), { available: '550', granted: '100', paid: '450' });
  await user.use(30);
  assert.deepEqual(await user.balance(), { available: '520', granted: '70', paid: '450' });
  await user.cancel(paidId);
  // 70 ended with the plan. The free plan has granted its 10 in this period, and all of them are used.
  assert.deepEqual(await user.balance(), { available: '450', granted: '0', paid: '450' });
  await user.use(100);
  await user.moveTo('2026-06-11');
  await user.subscribe('scale-monthly');
  assert.deepEqual(await user.balance(), { available: '700', granted: '350', paid: '350' });
  // 300 of the period, 50 of the welcome, 350 of the pack.
  await user.use(360);
  assert.deepEqual(await user.balance(), { available: '340', granted: '0', paid: '340' });
  const all = await user.credits();
  const sums = (field: string) => all.reduce((sum, credit) => sum + Number(credit[field]), 0);
  assert.deepEqual(['issuedAmount', 'appliedAmount', 'expiredAmount', 'remainingAmount'].map(sums), [
    10 + 500 + 100 + 300 + 50,
    60 + 30 + 100 + 360,
    70,
    340,
  ]);
});

test('200 events of two meters that cross the line of one pool buy one top-up, which closes the gap', async () => {
  const user = await newShop();
  await user.buyPack();
  const path = `/customers/${user.externalId}/spend-controls`;
  const terms = { priceSlug: 'pack-monthly', below: '300.5', upTo: 1200, maximumAmountPerMonth: 100_000 };
  const set = async (autoTopUp: object | null) => {
    const { spendControls } = await user.put(path, { spendControls: { autoTopUp } });
    await app.runJobs({ all: true });
    return spendControls.autoTopUp;
  };
  const purchases = async (): Promise<[string, number][]> => {
    const { data } = await user.get(`/purchases?customerId=${user.customerId}&limit=100`);
    return data.map(({ status, quantity }: Body) => [status, quantity]).slice(1);
  };
  const { usageMeterId, creditPoolId, below, upTo } = await set(terms);
  assert.deepEqual([usageMeterId, creditPoolId, below, upTo], [null, user.pool.id, '300.5', '1200']);
  assert.deepEqual([await user.available(), await purchases()], ['510', []]);
  const event = (index: number) => ({
    usageEvent: {
      customerExternalId: user.externalId,
      transactionId: `crossing-${index}`,
      ...(index % 2 === 0 ? { usageMeterSlug: 'tokens', amount: 1500 } : { usageMeterSlug: 'images', amount: 1 }),
    },
  });
  await Promise.all(Array.from({ length: 200 }, (_, index) => user.post('/usage-events', event(index))));
  assert.deepEqual([await user.available(), await purchases()], ['160', []], 'the charge waits for the commit');
  await Promise.all([app.runJobs({ all: true }), app.runJobs({ all: true }), app.runJobs({ all: true })]);
  await app.runJobs({ all: true });
  // 1040 more take 3 packs of 500.
  assert.deepEqual([await user.available(), await purchases()], ['1660', [['paid', 3]]]);
  // A refund and a take-back bring the balance below the line, and buy nothing.
  const { data } = await user.get(`/payments?customerId=${user.customerId}&limit=100`);
  await user.post(`/payments/${data.find(({ amount }: Body) => amount === 3000).id}/refund`, {});
  await app.runJobs({ all: true });
  assert.deepEqual([await user.available(), await purchases()], ['160', [['refunded', 3]]]);
  for (const { id, remainingAmount } of await user.credits())
    if (Number(remainingAmount) > 0) await user.post(`/usage-credits/${id}/take-back`, {});
  await app.runJobs({ all: true });
  assert.equal((await purchases()).length, 1);
  await set({ ...terms, upTo: undefined, quantity: 1 });
  assert.deepEqual([await user.available(), (await purchases()).at(-1)], ['500', ['paid', 1]]);
  await set(null);
  const refused = async (autoTopUp: object) =>
    (await user.request('PUT', path, { spendControls: { autoTopUp } })).body.issues[0].message;
  assert.match(await refused({ ...terms, upTo: '300.25' }), /must be at least below/);
  assert.match(
    await refused({ ...terms, below: '0' }),
    /must be a whole number of units, or for a pool a decimal text/,
  );
});

test('a hold and a consume trigger the top-up of a pool, a declined card stops it after three failures', async () => {
  const user = await newShop();
  await newCard(user, user.customerId, 'pm_card_chargeCustomerFail', { default: true });
  const path = `/customers/${user.externalId}/spend-controls`;
  const autoTopUp = { priceSlug: 'pack-monthly', below: 5, upTo: 100, maximumAmountPerMonth: 100_000 };
  await user.put(path, { spendControls: { autoTopUp } });
  const start = instant('2026-06-01');
  const read = async () => (await user.get(path)).spendControls.autoTopUp;
  const hold = { customerExternalId: user.externalId, usageMeterSlug: 'tokens', amount: 6000 };
  await user.post('/holds', { hold: { ...hold, expiresAt: start + 5 * 86_400_000 } });
  await app.runJobs({ all: true });
  assert.equal((await read()).failures, 1);
  await user.use(1);
  for (const hours of [2, 27]) {
    await user.moveTo(new Date(start + hours * 3_600_000).toISOString());
    await app.runJobs({ all: true });
  }
  const { failures, stoppedAt } = await read();
  assert.deepEqual([failures, stoppedAt === null], [3, false]);
  await newCard(user, user.customerId, 'pm_card_visa', { default: true });
  await user.put(path, { spendControls: { autoTopUp } });
  await app.runJobs({ all: true });
  const { creditBalances } = await user.get(`/customers/${user.externalId}/credit-balances`);
  assert.equal(creditBalances.find(({ slug }: Body) => slug === 'ai').paid, '500');
});

test('a hold ends with its subscription, and sets nothing more aside in the pool and the limits of the customer', async () => {
  const user = await newShop();
  const limits = [{ usageMeterSlug: 'tokens', period: 'month', amount: 10_000 }];
  await user.put(`/customers/${user.externalId}/spend-controls`, { spendControls: { limits } });
  const expiresAt = instant('2026-06-20');
  const { hold } = await user.post('/holds', {
    hold: { customerExternalId: user.externalId, usageMeterSlug: 'tokens', amount: 8000, expiresAt },
  });
  assert.equal(await user.available(), '2');
  await user.moveTo('2026-06-02');
  await user.buyPack();
  assert.equal(await user.available(), '502');
  await user.subscribe('weekly-monthly');
  // The 10 of the free plan have ended with it.
  assert.equal(await user.available(), '507');
  const { status, updatedAt } = (await user.get(`/holds/${hold.id}`)).hold;
  assert.deepEqual([status, updatedAt], ['expired', instant('2026-06-02')]);
  await user.use(10);
  assert.equal((await user.request('POST', `/holds/${hold.id}/settle`, { amount: 8000 })).status, 400);
  assert.equal((await user.post(`/holds/${hold.id}/release`)).hold.status, 'released');
  assert.equal(await user.available(), '497');
});

test('a plan that is left and taken again in its period grants what was not used of it', async () => {
  const user = await newShop();
  await user.use(4);
  const first = await user.subscribe('scale-monthly');
  // 300 of the period and 20 of the 50 that come once.
  await user.use(320);
  await user.cancel(first);
  assert.equal(await user.available(), '6');
  await user.subscribe('scale-monthly');
  assert.equal(await user.available(), '330');
});

test('a refund of bought credits takes back what is unused, whichever plans came and went', async () => {
  const user = await newShop();
  await user.buyPack();
  const other = await user.subscribe('start-monthly');
  await user.use(220);
  await user.cancel(other);
  const { data } = await user.get(`/payments?customerId=${user.customerId}&limit=100`);
  const { id } = data.find(({ amount }: Body) => amount === 1000);
  const { credits: bought } = await user.post(`/payments/${id}/refund`, {});
  assert.deepEqual(bought, [
    {
      usageMeterId: null,
      creditPoolId: user.pool.id,
      boughtAmount: '500',
      usedAmount: '120',
      takenBackAmount: '380',
      remainingAmount: '0',
    },
  ]);
  // The 10 of the free plan, to which the cancellation led.
  assert.deepEqual(await user.balance(), { available: '10', granted: '10', paid: '0' });
});

test('a change of plan grants the rest of the period, and going back grants nothing more', async () => {
  const user = await newShop();
  const id = await user.subscribe('start-monthly');
  await user.moveTo('2026-06-16');
  const adjust = (priceSlug: string, timing: string) =>
    user.post(`/subscriptions/${id}/adjust`, {
      adjustment: { newSubscriptionItems: [{ priceSlug, quantity: 1 }], timing },
    });
  // Half of the month: 150 of 300, less the 50 that half of the 100 are; and the welcome.
  await adjust('scale-monthly', 'immediately');
  const upgraded = await user.available();
  assert.equal(upgraded, '200');
  await adjust('start-monthly', 'immediately');
  assert.equal(await user.available(), upgraded);
  await user.moveTo('2026-07-01');
  // The welcome stays, 100 are new, and 20 roll over.
  assert.equal(await user.available(), '170');
});

test('credits of an interval come each week, and those of a pause are given back', async () => {
  const user = await newShop();
  const id = await user.subscribe('weekly-monthly');
  assert.equal(await user.available(), '7');
  await user.use(3);
  await user.moveTo('2026-06-08');
  assert.equal(await user.available(), '7');
  await user.post(`/subscriptions/${id}/pause`, {});
  const paused = Number(await user.available());
  await user.moveTo('2026-06-09');
  await user.post(`/subscriptions/${id}/resume`, {});
  assert.ok(paused < 7 && Number(await user.available()) > paused);
});

test('usage of a subscription after the end of another one does not draw what that plan granted, however late the end is', async () => {
  const shop = await newShop();
  await shop.put('/settings', { settings: { allowMultipleSubscriptions: true } });
  const scaleId = await shop.subscribe('scale-monthly');
  const subscriptionId = await shop.subscribe('start-monthly');
  assert.equal(await shop.available(), '450');
  let sent = 0;
  const use = (amount: number) => {
    sent += 1;
    const usageEvent = {
      subscriptionId,
      usageMeterSlug: 'tokens',
      transactionId: `late-${sent}`,
      amount: amount * 1000,
    };
    return shop.post('/usage-events', { usageEvent });
  };
  await use(10);
  const cancellation = { timing: 'at_future_date', endDate: instant('2026-06-10') };
  await shop.post(`/subscriptions/${scaleId}/cancel`, { cancellation });
  await use(10);
  await use(10);
  assert.equal(await shop.available(), '420');
  await shop.passUntil('2026-06-11');
  await use(70);
  assert.equal(await shop.available(), '30', '30 of 100 are left of the plan that goes on');
  await shop.passUntil('2026-06-12');
  await use(40);
  const applied = (await shop.credits()).map(
    ({ issuedAmount, appliedAmount }) => `${appliedAmount} of ${issuedAmount}`,
  );
  assert.deepEqual(applied.toSorted(), ['0 of 10', '0 of 50', '100 of 100', '30 of 300']);
});

test('entitlements and checks answer the pool of a feature', async () => {
  const user = await newShop();
  await user.subscribe('start-monthly');
  await user.use(0.5);
  const { entitlements } = await user.get(`/customers/${user.externalId}/entitlements`);
  const { features, creditPoolBalances } = entitlements;
  const { usageMeterId, creditPoolId, amount } = features.find(({ slug }: Body) => slug === 'start-credits');
  assert.deepEqual([usageMeterId, creditPoolId, amount], [null, user.pool.id, 100]);
  assert.deepEqual(creditPoolBalances, [
    { creditPoolId: user.pool.id, slug: 'ai', availableBalance: '99.5', held: '0' },
  ]);
  const check = { customerExternalId: user.externalId, featureSlug: 'start-credits', amount: 99 };
  const { results } = await user.post('/entitlements/check', { checks: [check, { ...check, amount: 100 }] });
  assert.deepEqual(
    results.map(({ allowed, availableBalance }: Body) => [allowed, availableBalance]),
    [
      [true, 99],
      [false, 99],
    ],
  );
});

test('a feature names exactly one of a meter and a pool, and keeps to it', async () => {
  const user = await newShop();
  const feature = { ...ofPool('other', 5), creditPoolSlug: undefined, creditPoolId: user.pool.id };
  const refused = async (change: object) =>
    JSON.stringify((await user.request('POST', '/features', { feature: { ...feature, ...change } })).body);
  assert.match(await refused({ creditPoolId: null }), /usageMeterId.*is required, or creditPoolId/);
  assert.match(await refused({ amount: 10 ** 12 }), /must be at most 999999999999/);
  assert.match(await refused({ creditPoolId: 'credit_pool_none' }), /creditPoolNotFound|credit_pool_not_found/);
  const { data } = await user.get('/usage-meters?slug=tokens');
  assert.match(await refused({ usageMeterId: data[0].id }), /creditPoolId.*must be absent or null/);
  const made = (await user.post('/features', { feature })).feature;
  assert.deepEqual([made.usageMeterId, made.creditPoolId, made.amount], [null, user.pool.id, 5]);
  const changed = await user.request('PUT', `/features/${made.id}`, { feature: { usageMeterId: data[0].id } });
  assert.match(JSON.stringify(changed.body), /feature of a credit pool/);
  assert.equal((await user.put(`/features/${made.id}`, { feature: { amount: 6 } })).feature.amount, 6);
});

test('a pricing model with such features is exported, applied and cloned as it is', async () => {
  const user = await newShop();
  const { pricingModel: exported } = await user.get(`/pricing-models/${user.pricingModelId}/export`);
  const grant = exported.features.find(({ slug }: Body) => slug === 'start-credits');
  assert.deepEqual([grant.creditPoolSlug, grant.usageMeterSlug, grant.amount], ['ai', undefined, 100]);
  const again = await user.put(`/pricing-models/${user.pricingModelId}`, { pricingModel: exported });
  assert.equal(again.pricingModel.id, user.pricingModelId);
  const clone = await user.post(`/pricing-models/${user.pricingModelId}/clone`, { name: 'Copy' });
  const { pricingModel: copied } = await user.get(`/pricing-models/${clone.pricingModel.id}/export`);
  assert.deepEqual(copied.features, exported.features);
  const unknown = {
    ...setup,
    isDefault: false,
    features: [ofPool('lost', 1, { creditPoolSlug: 'none' })],
    products: [plan('free', 0)],
  };
  const refused = await user.request('POST', '/pricing-models/setup', unknown);
  assert.match(JSON.stringify(refused.body), /features.*creditPoolSlug.*is not a credit pool of this pricing model/);
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { instant, msPerDay } from '../../src/kernel/calendar.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCustomer, plan, toggle } from '../support/shop.ts';
import { assertBooksAreRight, insertSpender, type Spender } from '../support/spending.ts';

const app = await startTestApp();
const noon = instant('2026-03-10T12:00');
await app.setClock(noon);

const ofCalls = { usageMeterSlug: 'api-calls', period: 'day' };

/** The events of the limits of a customer: type and threshold. */
async function told({ customerId }: Spender): Promise<string[]> {
  const { data } = await app.get(`/events?objectId=${customerId}&limit=100`);
  return data
    .filter(({ payload }: Body) => payload.spendLimit !== undefined)
    .map(({ type, payload }: Body) => `${type} ${payload.spendLimit.threshold}`);
}

describe('a blocking limit', () => {
  test('refuses what does not fit, says which limit and when it begins again, and lets smaller uses pass', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    const [limit] = await spender.limit([{ ...ofCalls, amount: 100 }]);
    assert.equal((await spender.consume({ amount: 95 })).status, 200);
    const { status, body } = await spender.consume({ amount: 10 });
    assert.deepEqual([status, body.reason], [402, 'spend_limit_reached']);
    const resetsAt = instant('2026-03-11');
    assert.deepEqual(body.spendLimit, {
      id: limit?.id,
      subscriptionId: null,
      usageMeterId: spender.meterId,
      label: null,
      period: 'day',
      unit: 'units',
      amount: 100,
      usedAmount: 95,
      remainingAmount: 5,
      resetsAt,
    });
    assert.equal((await spender.consume({ amount: 5 })).status, 200);
    assert.deepEqual([(await spender.consume()).status, (await spender.hold(1)).status], [402, 402]);
    assert.deepEqual(await spender.spent(), [100]);
    await assertBooksAreRight(app);
  });

  test('stores plain events beyond it with a mark, which a repeat and a read have too', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    await spender.limit([{ ...ofCalls, amount: 10 }]);
    const within = await spender.use({ amount: 10 });
    assert.equal(within.body.usageEvent.beyondLimit, undefined);
    const sent = { amount: 1, transactionId: 'beyond' };
    const beyond = await spender.use(sent);
    assert.deepEqual([beyond.status, beyond.body.usageEvent.beyondLimit], [200, true]);
    assert.deepEqual((await spender.use(sent)).body, beyond.body);
    assert.deepEqual((await app.get(`/usage-events/${beyond.body.usageEvent.id}`)).usageEvent, beyond.body.usageEvent);
    assert.deepEqual(await spender.spent(), [11]);
    await assertBooksAreRight(app);
  });

  test('counts an open hold as used, a released one not, and a settled one by what was used', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    await spender.limit([{ ...ofCalls, amount: 100 }]);
    const first = (await spender.hold(60)).body.hold.id;
    const second = (await spender.hold(40)).body.hold.id;
    assert.equal((await spender.consume()).status, 402);
    await spender.release(first);
    assert.equal((await spender.consume({ amount: 60 })).status, 200);
    const settled = await spender.settle(second, 41);
    assert.deepEqual([settled.status, settled.body.usageEvent.beyondLimit], [200, true]);
    assert.deepEqual(await spender.spent(), [101]);
    await assertBooksAreRight(app);
  });

  test('counts the events of its label, and another limit the events of all', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    await spender.limit([
      { period: 'month', amount: 30 },
      { period: 'month', amount: 10, label: 'agent 1' },
    ]);
    const consume = async (change: Body) => (await spender.consume(change)).status;
    assert.equal(await consume({ amount: 10, label: 'agent 1' }), 200);
    assert.equal(await consume({ amount: 1, label: 'agent 1' }), 402);
    assert.equal(await consume({ amount: 11, label: 'agent 2' }), 200);
    assert.equal((await spender.hold(9)).status, 200);
    assert.equal(await consume({ amount: 1 }), 402);
    assert.deepEqual(await spender.spent(), [21, 10]);
    const ofAgent = `/usage-events?subscriptionId=${spender.subscriptionId}&label=agent%202`;
    const { data: found, total } = await app.get(ofAgent);
    assert.deepEqual([found.map(({ label }: Body) => label), total], [['agent 2'], 1]);
    const { data } = await app.get(`/usage-events?subscriptionId=${spender.subscriptionId}`);
    assert.deepEqual(
      data.map(({ label }: Body) => label),
      ['agent 1', 'agent 2'],
    );
    await assertBooksAreRight(app);
  });

  test('in money counts the price of all units of its period, also those that credits cover', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    // 100 units cost 50 cents: 1 unit is half a cent, and one cent is reached at the first unit.
    await spender.limit([{ period: 'billing_period', amount: 5, unit: 'money' }]);
    const statuses: number[] = [];
    for (let use = 0; use < 12; use++) statuses.push((await spender.consume()).status);
    // 10 units are worth 5 cents and 11 units 5.5, which is 6.
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 402, 402]);
    assert.deepEqual(await spender.spent(), [5]);
    await assertBooksAreRight(app);
  });

  test('in money reserves for a hold what the event that settles it costs, with its amount for each event', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    const { price } = await app.post('/prices', {
      price: {
        ...{ type: 'usage', usageMeterId: spender.meterId, name: 'Payment', unitPrice: 0 },
        pricing: { model: 'percentage', rate: '1', fixedAmountPerEvent: '30' },
      },
    });
    await spender.limit([{ period: 'day', amount: 100, unit: 'money' }]);
    const payment = { meter: undefined, priceId: price.id };
    const holds: Answer[] = [];
    for (let hold = 0; hold < 4; hold++) holds.push(await spender.hold(100, payment));
    // 1 % of 100, and 30 for the event: three holds reserve 93.
    assert.deepEqual(
      holds.map(({ status }) => status),
      [200, 200, 200, 402],
    );
    for (const { body } of holds.slice(0, 3)) await spender.settle(body.hold.id, 100);
    assert.deepEqual(await spender.spent(), [93]);
    await assertBooksAreRight(app);
  });

  test('in money refuses what fits beside a hold only, in volume tiers whose last unit makes all of them cheaper', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    await app.put(`/usage-meters/${spender.meterId}`, { usageMeter: { eventName: 'call' } });
    const tiers = [
      { upTo: 9, unitAmount: '100' },
      { upTo: null, unitAmount: '10' },
    ];
    await app.post('/prices', {
      price: {
        ...{ type: 'usage', usageMeterId: spender.meterId, slug: 'volume', isDefault: true },
        pricing: { model: 'volume', tiers },
      },
    });
    await spender.limit([{ period: 'day', amount: 500, unit: 'money' }]);
    const volume = { priceSlug: 'volume' };
    const { hold } = (await spender.hold(10)).body;
    // With the hold 16 units are 160. Without it 6 units are 600.
    assert.equal((await spender.consume({ amount: 6, ...volume })).status, 402);
    assert.equal((await spender.consume({ amount: 5, ...volume })).status, 200);
    await spender.release(hold.id);
    await spender.use({ amount: 4, ...volume });
    // The tenth unit makes 900 to 100. A meter without credits refuses the event, and it is taken back.
    await app.post('/usage-meters', {
      usageMeter: { name: 'Tokens', slug: 'tokens', eventName: 'call', pricingModelId: spender.pricingModelId },
    });
    await spender.use({ priceSlug: undefined, usageMeterSlug: 'tokens' });
    const { status, body } = await spender.consume({ priceSlug: undefined, eventName: 'call' });
    assert.deepEqual([status, body.reason], [402, 'insufficient_balance']);
    assert.deepEqual(await spender.spent(), [900]);
    assert.equal((await spender.consume(volume)).status, 200);
    assert.deepEqual(await spender.spent(), [100]);
    await assertBooksAreRight(app);
  });

  test('begins again with the next day, and with the next billing period of its subscription', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    await spender.limit([
      { period: 'day', amount: 10 },
      { period: 'billing_period', amount: 15 },
    ]);
    const consume = async (amount: number) => (await spender.consume({ amount })).status;
    assert.deepEqual([await consume(10), await consume(1)], [200, 402]);
    await app.setClock(noon + msPerDay / 2 - 1);
    assert.equal(await consume(1), 402);
    await app.setClock(noon + msPerDay / 2);
    assert.deepEqual([await consume(6), await consume(5), await consume(1)], [402, 200, 402]);
    const { currentBillingPeriodEnd: end } = await app.owner
      .selectFrom('subscriptions')
      .select('currentBillingPeriodEnd')
      .where('id', '=', spender.subscriptionId)
      .executeTakeFirstOrThrow();
    await app.setClock((end ?? 0) + 1);
    assert.deepEqual([await consume(10), await consume(1)], [200, 402]);
    await assertBooksAreRight(app);
    await app.setClock(noon);
  });

  test('keeps what an open hold reserves also in the next day, in which it may be settled', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    await spender.limit([{ period: 'day', amount: 10 }]);
    const { hold } = (await spender.hold(8, { expiresAt: noon + 2 * msPerDay })).body;
    await app.setClock(noon + msPerDay);
    assert.deepEqual(
      [(await spender.consume({ amount: 3 })).status, (await spender.settle(hold.id, 8)).status],
      [402, 200],
    );
    assert.deepEqual(await spender.spent(), [8]);
    await app.setClock(noon);
  });
});

describe('thresholds', () => {
  test('are published once each in the commit that reaches them, with the full amount as an event of its own', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    await spender.limit([{ ...ofCalls, amount: 100, action: 'notify', thresholds: [80, 50] }]);
    await spender.consume({ amount: 49 });
    assert.deepEqual(await told(spender), []);
    await spender.consume({ amount: 40 });
    assert.deepEqual(await told(spender), ['usage_threshold.reached 50', 'usage_threshold.reached 80']);
    await spender.use({ amount: 300 });
    await spender.consume({ amount: 1 });
    const all = ['usage_threshold.reached 50', 'usage_threshold.reached 80', 'spend_limit.reached 100'];
    assert.deepEqual(await told(spender), all);
    await assertBooksAreRight(app);
  });

  test('of a lowered limit that are reached already are published with the change', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    const [before] = await spender.limit([{ ...ofCalls, amount: 100, thresholds: [] }]);
    await spender.consume({ amount: 40 });
    const [after] = await spender.limit([{ ...ofCalls, amount: 30, thresholds: [] }]);
    assert.equal(before?.id, after?.id, 'it goes on counting');
    assert.deepEqual(await told(spender), ['spend_limit.reached 100']);
    assert.equal((await spender.consume()).status, 402);
    assert.deepEqual(await spender.spent(), [40]);
    await assertBooksAreRight(app);
  });
});

describe('setting limits', () => {
  test('counts from the creation of a limit on, and an empty list takes all away', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    await spender.consume({ amount: 50 });
    await spender.limit([{ ...ofCalls, amount: 10 }]);
    assert.equal((await spender.consume({ amount: 11 })).status, 402);
    assert.equal((await spender.consume({ amount: 10 })).status, 200);
    await assertBooksAreRight(app);
    await spender.limit([]);
    assert.equal((await spender.consume({ amount: 500 })).status, 200);
    await spender.limit([{ ...ofCalls, amount: 10 }]);
    assert.equal((await spender.consume({ amount: 10 })).status, 200);
    await assertBooksAreRight(app);
  });

  test('lets the customer set stricter limits for itself, and none above a blocking one of its seller', async () => {
    const spender = await insertSpender(app, { credits: 1000, now: noon });
    await spender.limit([{ ...ofCalls, amount: 100 }]);
    const put = (amount: number) =>
      app.request('PUT', `/customers/${spender.externalId}/spend-controls?pricingModelId=${spender.pricingModelId}`, {
        spendControls: { ownLimits: [{ ...ofCalls, amount }] },
      });
    const refused = await put(101);
    assert.deepEqual(
      [refused.status, refused.body.issues[0].path.join('.')],
      [400, 'spendControls.ownLimits.0.amount'],
    );
    const { limits } = (await put(20)).body.spendControls;
    const shown = limits.map(({ setBy, amount }: Body) => `${setBy} ${amount}`);
    assert.deepEqual(shown, ['seller 100', 'customer 20']);
    assert.deepEqual(
      [(await spender.consume({ amount: 21 })).status, (await spender.consume({ amount: 20 })).status],
      [402, 200],
    );
    assert.deepEqual(await spender.spent(), [20, 20]);
    await assertBooksAreRight(app);
  });

  test('refuses an unknown or measured meter, and two limits of the same use, by the name of the field', async () => {
    const spender = await insertSpender(app, { now: noon });
    const put = async (limits: Body[]) => {
      const path = `/customers/${spender.externalId}/spend-controls?pricingModelId=${spender.pricingModelId}`;
      const { status, body } = await app.request('PUT', path, { spendControls: { limits } });
      return [status, body.issues?.[0]?.path?.join('.')];
    };
    const limit = { period: 'day', amount: 1 };
    assert.deepEqual(await put([{ ...limit, usageMeterSlug: 'none' }]), [404, 'spendControls.limits.0.usageMeterSlug']);
    assert.deepEqual(await put([limit, limit]), [400, 'spendControls.limits.1']);
    assert.deepEqual(await put([{ ...limit, amount: 0 }]), [400, 'spendControls.limits.0.amount']);
    assert.deepEqual(await put([{ ...limit, thresholds: [0] }]), [400, 'spendControls.limits.0.thresholds.0']);
    assert.deepEqual(await put(Array.from({ length: 51 }, (_, n) => ({ ...limit, label: `${n}` }))), [
      400,
      'spendControls.limits',
    ]);
  });
});

describe('a limit of a plan', async () => {
  const most = (slug: string, amount: number, terms: Body = {}) => ({
    ...toggle(slug),
    type: 'spend_limit',
    amount,
    spendLimit: { usageMeterSlug: 'calls', period: 'month', ...terms },
  });
  const bonus = { renewalFrequency: 'every_billing_period' };
  const ofPool = { usageMeterSlug: null, creditPoolSlug: 'ai', period: 'day' };
  const structure = {
    features: [
      most('few', 10),
      most('many', 40),
      most('few-drawn', 5, { ...ofPool, thresholds: [80] }),
      most('many-drawn', 20, ofPool),
      credits('credits', 1000, 'calls', bonus),
    ],
    products: [
      plan('free', 0, ['few', 'credits']),
      plan('pro', 3000, ['few', 'few-drawn', 'credits']),
      plan('team', 9000, ['many', 'many-drawn', 'credits']),
      plan('open', 9000, ['credits']),
    ],
    usageMeters: [
      meter('calls', 'Calls', { slug: 'call', unitPrice: 1 }),
      meter('tokens', 'Tokens', { slug: 'token', unitPrice: 1 }),
      meter('seconds', 'Seconds', { slug: 'second', unitPrice: 1 }),
    ],
    creditPools: [
      {
        ...{ slug: 'ai', name: 'AI credits', unit: 'credit' },
        rates: [
          { usageMeterSlug: 'tokens', per: 1000, cost: '0.5' },
          { usageMeterSlug: 'seconds', per: 3, cost: '1' },
        ],
      },
    ],
    resources: [],
  };
  const { pricingModel } = await app.post('/pricing-models/setup', { name: 'Limits', isDefault: true, ...structure });
  let uses = 0;
  async function newPro() {
    uses += 1;
    const customer = await newCustomer(app, `limited ${uses}`, { token: 'pm_card_visa' });
    const { subscription } = await app.post('/subscriptions', {
      customerId: customer.customerId,
      priceSlug: 'pro-monthly',
    });
    return { ...customer, id: subscription.id as string };
  }
  const use = (subscriptionId: string, usageMeterSlug: string, amount: number, kind = '/consume') => {
    uses += 1;
    const usageEvent = { subscriptionId, usageMeterSlug, amount, transactionId: `use ${uses}` };
    return app.request('POST', `/usage-events${kind}`, { usageEvent });
  };
  const consume = async (subscriptionId: string, amount: number, kind?: string) =>
    (await use(subscriptionId, 'calls', amount, kind)).status;
  const limitsOf = async (externalId: string): Promise<Body[]> =>
    (await app.get(`/customers/${externalId}/spend-controls`)).spendControls.limits;
  const change = (id: string, slug: string) =>
    app.post(`/subscriptions/${id}/adjust`, {
      adjustment: { newSubscriptionItems: [{ priceSlug: `${slug}-monthly`, quantity: 1 }], timing: 'immediately' },
    });

  test('holds for the use of its subscription, and goes on counting when the plan changes', async () => {
    const { externalId, id } = await newPro();
    assert.deepEqual([await consume(id, 11), await consume(id, 8)], [402, 200]);
    const shown = (await limitsOf(externalId)).find(({ usageMeterSlug }) => usageMeterSlug === 'calls');
    assert.deepEqual(
      [shown?.setBy, shown?.subscriptionId, shown?.amount, shown?.counters[0].usedAmount],
      ['plan', id, 10, 8],
    );
    await change(id, 'team');
    assert.deepEqual([await consume(id, 33), await consume(id, 32)], [402, 200]);
    await change(id, 'open');
    assert.deepEqual(await limitsOf(externalId), []);
    assert.equal(await consume(id, 60), 200);
    await change(id, 'pro');
    assert.equal(await consume(id, 1), 402);
    assert.deepEqual(
      (await limitsOf(externalId)).flatMap(({ counters }) => counters.map(({ usedAmount }: Body) => usedAmount)),
      [100],
    );
    await assertBooksAreRight(app);
  });

  test('gives way to a limit of the seller of the same use, and holds again without it', async () => {
    const { externalId, id } = await newPro();
    const put = (controls: Body) =>
      app.request('PUT', `/customers/${externalId}/spend-controls`, { spendControls: controls });
    const own = { usageMeterSlug: 'calls', period: 'month' };
    await put({ limits: [{ ...own, amount: 50 }] });
    assert.deepEqual([await consume(id, 51), await consume(id, 50)], [402, 200]);
    assert.deepEqual(
      (await limitsOf(externalId)).map(({ setBy, usageMeterSlug }) => `${setBy} ${usageMeterSlug}`).sort(),
      ['plan null', 'seller calls'],
    );
    await put({ limits: [] });
    assert.equal(await consume(id, 10), 402);
    assert.equal((await put({ ownLimits: [{ ...own, amount: 11 }] })).status, 400);
    assert.equal((await put({ ownLimits: [{ ...own, amount: 5 }] })).status, 200);
    assert.equal(await consume(id, 1, ''), 200);
    await assertBooksAreRight(app);
  });

  test('is an entitlement, and ends for later use when its feature ends', async () => {
    const { externalId, id } = await newPro();
    const { entitlements } = await app.get(`/customers/${externalId}/entitlements`);
    const { type, amount, spendLimit } = entitlements.features.find(({ slug }: Body) => slug === 'few');
    assert.deepEqual([type, amount, spendLimit.period, spendLimit.action], ['spend_limit', 10, 'month', 'block']);
    const { featureItems } = (await app.get(`/customers/${externalId}/billing`)).currentSubscription.experimental;
    const feature = featureItems.find(({ slug }: Body) => slug === 'few');
    await app.put(`/subscription-item-features/${feature.id}`, { subscriptionItemFeature: { amount: 3 } });
    assert.deepEqual([await consume(id, 4), await consume(id, 3)], [402, 200]);
    await app.post(`/subscription-item-features/${feature.id}/expire`, {});
    assert.equal(await consume(id, 100), 200);
    await assertBooksAreRight(app);
  });

  test('keeps its use, and an update of its terms holds at once for everybody who has it', async () => {
    const { id } = await newPro();
    const { data } = await app.get(`/features?limit=100&pricingModelId=${pricingModel.id}`);
    const few = data.find(({ slug }: Body) => slug === 'few');
    const put = (spendLimit: Body) => app.request('PUT', `/features/${few.id}`, { feature: { spendLimit } });
    const refused = await put({ ...few.spendLimit, period: 'day' });
    assert.deepEqual([refused.status, refused.body.issues[0].path.join('.')], [400, 'feature.spendLimit.period']);
    assert.equal((await put({ ...few.spendLimit, action: 'notify' })).status, 200);
    assert.equal(await consume(id, 11), 200);
    await put(few.spendLimit);
    assert.equal(await consume(id, 1), 402);
  });

  test('is a part of the export, from which the same pricing model comes again', async () => {
    const { pricingModel: exported } = await app.get(`/pricing-models/${pricingModel.id}/export`);
    const few = exported.features.find(({ slug }: Body) => slug === 'few');
    assert.deepEqual(few.spendLimit, {
      ...{ usageMeterSlug: 'calls', period: 'month', unit: 'units', action: 'block', thresholds: [50, 80, 100] },
    });
    const { pricingModel: copy } = await app.post('/pricing-models/setup', {
      ...exported,
      name: 'Copy',
      isDefault: false,
    });
    const { pricingModel: again } = await app.get(`/pricing-models/${copy.id}/export`);
    assert.deepEqual(again.features, exported.features);
    const { pricingModel: cloned } = await app.post(`/pricing-models/${pricingModel.id}/clone`, { name: 'Clone' });
    const { data } = await app.get(`/features?limit=100&pricingModelId=${cloned.id}`);
    const { data: meters } = await app.get(`/usage-meters?pricingModelId=${cloned.id}&slug=calls`);
    assert.equal(data.find(({ slug }: Body) => slug === 'few').spendLimit.usageMeterId, meters[0].id);
    const { data: pools } = await app.get(`/credit-pools?pricingModelId=${cloned.id}`);
    const { usageMeterId, creditPoolId } = data.find(({ slug }: Body) => slug === 'few-drawn').spendLimit;
    assert.deepEqual([usageMeterId, creditPoolId], [null, pools[0].id]);
  });

  describe('of a credit pool', () => {
    const holdSeconds = (subscriptionId: string, amount: number) =>
      app.request('POST', '/holds', {
        hold: { subscriptionId, usageMeterSlug: 'seconds', amount, expiresAt: noon + 60_000 },
      });
    const drawn = async (externalId: string) =>
      (await limitsOf(externalId))
        .filter(({ creditPoolSlug }) => creditPoolSlug === 'ai')
        .map(({ setBy, amount, counters }) => [setBy, amount, counters[0]?.usedAmount ?? null]);
    async function newSpender() {
      const pro = await newPro();
      const usageCredit = { customerExternalId: pro.externalId, creditPoolSlug: 'ai', amount: 100 };
      await app.post('/usage-credits', { usageCredit });
      const draw = async (usageMeterSlug: string, amount: number, kind?: string) =>
        (await use(pro.id, usageMeterSlug, amount, kind)).status;
      return { ...pro, draw };
    }

    test('refuses what would draw more, also for a hold, says which limit, and publishes what is reached', async () => {
      const { externalId, customerId, id, draw } = await newSpender();
      // 8,000 tokens are 4 credits, and 2 seconds two thirds of one.
      assert.deepEqual([await draw('tokens', 8000), await draw('seconds', 2)], [200, 200]);
      assert.deepEqual(await drawn(externalId), [['plan', '5', '4.666666666666']]);
      const { status, body } = await use(id, 'seconds', 2);
      assert.deepEqual([status, body.reason], [402, 'spend_limit_reached']);
      const { id: limitId, creditPoolId, ...told } = body.spendLimit;
      assert.match(`${limitId} ${creditPoolId}`, /^spend_limit_\w+ credit_pool_\w+$/);
      assert.deepEqual(told, {
        ...{ subscriptionId: id, usageMeterId: null, label: null, period: 'day', unit: 'units', amount: '5' },
        ...{ usedAmount: '4.666666666666', remainingAmount: '0.333333333333', resetsAt: instant('2026-03-11') },
      });
      assert.equal((await holdSeconds(id, 2)).status, 402);
      const { hold } = (await holdSeconds(id, 1)).body;
      assert.equal(await draw('tokens', 1), 402);
      await app.post(`/holds/${hold.id}/settle`, { amount: 1 });
      const { data } = await app.get(`/events?objectId=${customerId}&limit=100`);
      assert.deepEqual(
        data.flatMap(({ type, payload: { spendLimit } }: Body) =>
          spendLimit === undefined ? [] : [`${type} ${spendLimit.usedAmount} of ${spendLimit.amount}`],
        ),
        ['usage_threshold.reached 4 of 5', 'spend_limit.reached 5 of 5'],
      );
      // A plain event has happened, and calls draw nothing from the pool.
      assert.equal((await use(id, 'tokens', 2000, '')).body.usageEvent.beyondLimit, true);
      assert.equal(await draw('calls', 10), 200);
      await assertBooksAreRight(app);
    });

    test('follows the plan, gives way to a limit of the seller, and ends with the plan', async () => {
      const { externalId, id, draw } = await newSpender();
      await draw('tokens', 10_000);
      assert.equal(await draw('tokens', 2000), 402);
      await change(id, 'team');
      assert.deepEqual([await draw('tokens', 32_000), await draw('tokens', 30_000)], [402, 200]);
      assert.deepEqual(await drawn(externalId), [['plan', '20', '20']]);
      const put = (field: string, amount: string) =>
        app.request('PUT', `/customers/${externalId}/spend-controls`, {
          spendControls: { [field]: [{ creditPoolSlug: 'ai', period: 'day', amount }] },
        });
      const { issues } = (await put('ownLimits', '20.5')).body;
      assert.match(issues[0].message, /must be at most 20, which the seller allows/);
      await put('limits', '2.5');
      assert.deepEqual([await draw('tokens', 5002), await draw('tokens', 5000)], [402, 200]);
      assert.deepEqual(await drawn(externalId), [['seller', '2.5', '2.5']]);
      await app.put(`/customers/${externalId}/spend-controls`, { spendControls: { limits: [] } });
      assert.equal(await draw('tokens', 2000), 402);
      await change(id, 'open');
      assert.equal(await draw('tokens', 2000), 200);
      assert.deepEqual(await drawn(externalId), []);
      await assertBooksAreRight(app);
    });

    test('lets exactly as many of 64 consumers of two meters pass as it fits', async () => {
      const { externalId, draw } = await newSpender();
      const statuses = await Promise.all(
        Array.from({ length: 64 }, (_, index) => (index % 2 === 0 ? draw('tokens', 500) : draw('seconds', 1))),
      );
      const passed = (isToken: boolean) =>
        statuses.filter((status, index) => status === 200 && (index % 2 === 0) === isToken).length;
      // 500 tokens are a quarter of a credit, and a second is a third.
      const [[, , used] = []] = await drawn(externalId);
      const twelfths = passed(true) * 3 + passed(false) * 4;
      assert(twelfths <= 60 && twelfths + 3 > 60, `${twelfths} of 60 twelfths are drawn`);
      assert.equal(Number(used).toFixed(6), (twelfths / 12).toFixed(6));
      const same = await newSpender();
      const equal = await Promise.all(Array.from({ length: 64 }, () => same.draw('tokens', 500)));
      assert.equal(equal.filter((status) => status === 200).length, 20);
      await assertBooksAreRight(app);
    });

    test('is refused by its field for an unknown pool, a meter beside it, money, and too much', async () => {
      const feature = { type: 'spend_limit', slug: 'x', name: 'X', pricingModelId: pricingModel.id, amount: 5 };
      const { data: pools } = await app.get(`/credit-pools?pricingModelId=${pricingModel.id}`);
      const { data: meters } = await app.get(`/usage-meters?pricingModelId=${pricingModel.id}`);
      const spendLimit = { creditPoolId: pools[0].id, period: 'day' };
      const refused = async (change: Body, terms: Body = {}) => {
        const sent = { feature: { ...feature, spendLimit: { ...spendLimit, ...terms }, ...change } };
        const { body } = await app.request('POST', '/features', sent);
        return body.issues?.[0]?.path.join('.') ?? body.reason;
      };
      assert.equal(await refused({}, { unit: 'money' }), 'feature.spendLimit.unit');
      assert.equal(await refused({}, { usageMeterId: meters[0].id }), 'feature.spendLimit.creditPoolId');
      assert.equal(await refused({ amount: 1e12 }), 'feature.amount');
      const unknown = `${pools[0].id.slice(0, -1)}z`;
      assert.equal(await refused({}, { creditPoolId: unknown }), 'credit_pool_not_found');
      const { feature: made } = await app.post('/features', { feature: { ...feature, spendLimit } });
      const put = async (terms: Body) => {
        const change = { spendLimit: { ...made.spendLimit, ...terms } };
        return (await app.request('PUT', `/features/${made.id}`, { feature: change })).body.issues?.[0]?.path.join('.');
      };
      assert.equal(await put({ creditPoolId: null }), 'feature.spendLimit.creditPoolId');
      assert.equal(await put({ action: 'notify' }), undefined);
      const setUp = async (name: string, change: Body) => {
        const wrong = { ...toggle('x'), type: 'spend_limit', amount: 5, spendLimit: { ...ofPool, ...change } };
        const { body } = await app.request('POST', '/pricing-models/setup', {
          ...{ ...structure, name, isDefault: false },
          features: [...structure.features, wrong],
        });
        return body.issues?.[0]?.path.join('.');
      };
      assert.equal(await setUp('Unknown', { creditPoolSlug: 'none' }), 'features.5.spendLimit.creditPoolSlug');
      assert.equal(await setUp('Both', { usageMeterSlug: 'calls' }), 'features.5.spendLimit.creditPoolSlug');
    });
  });
});

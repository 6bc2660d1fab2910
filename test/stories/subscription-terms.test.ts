import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCustomer, plan, toggle } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();

test('own prices of a customer', async (t) => {
  const seller = await app.newOrganization();
  const by = callerOf(app, seller);
  const send = (method: string, path: string, body: Body) => app.request(method, path, body, { key: seller.testKey });
  const day = (at: string) => by.moveTo(instant(at));
  await day('2026-04-01');
  const each = { ...meter('calls', 'Calls', { slug: 'calls', unitPrice: 10 }) };
  const tiers = [
    { upTo: 100, unitAmount: '3' },
    { upTo: null, unitAmount: '2' },
  ];
  const perEvent = { model: 'percentage', rate: '1', fixedAmountPerEvent: '30' };
  const priced = (slug: string, pricing: Body) => meter(slug, slug, { slug, unitPrice: 0, pricing });
  await by.post('/pricing-models/setup', {
    name: 'Own prices',
    isDefault: true,
    features: [],
    products: [
      plan('free', 0),
      plan('pro', 3000),
      plan('big', 9000),
      plan('fee', 1000, [], { setupFeeAmount: 500 }),
      plan('year', 9000, [], { intervalUnit: 'year' }),
    ],
    usageMeters: [each, priced('jobs', { model: 'graduated', tiers }), priced('payments', perEvent)],
  });
  const idOf = async (slug: string): Promise<string> => (await by.get(`/prices?slug=${slug}&active=true`)).data[0].id;
  const [pro, calls, jobs] = [await idOf('pro-monthly'), await idOf('calls'), await idOf('jobs')];
  let count = 0;
  const join = async (priceOverrides: Body[], more: Body = {}, token: string | null = 'pm_card_visa') => {
    count += 1;
    const externalId = `buyer ${count}`;
    const { customerId } = await newCustomer(by, externalId, { token });
    const asked = { customerId, priceSlug: 'pro-monthly', priceOverrides, ...more };
    const { subscription } = await by.post('/subscriptions', asked);
    const use = async (usageMeterSlug: string, amount: number) => {
      count += 1;
      const usageEvent = { subscriptionId: subscription.id, transactionId: `own ${count}`, usageMeterSlug, amount };
      await by.post('/usage-events', { usageEvent });
    };
    return { subscription, id: subscription.id as string, use };
  };
  const adjust = (id: string, priceOverrides: Body[], more: Body = {}) =>
    by.post(`/subscriptions/${id}/adjust`, { adjustment: { timing: 'immediately', priceOverrides, ...more } });
  const upcoming = async (id: string) => (await by.get(`/invoices/upcoming?subscriptionId=${id}`)).invoice.total;
  /** Oldest first. */
  const invoices = async (id: string): Promise<Body[]> => {
    const { data } = await by.get(`/invoices?subscriptionId=${id}&limit=100`);
    return data.toSorted((a: Body, b: Body) => (a.id < b.id ? -1 : 1));
  };
  const bills = async (id: string): Promise<number[]> => (await invoices(id)).map(({ total }) => total);
  const own = (priceSlug: string, unitPrice: number | null) => ({ priceSlug, unitPrice });
  const perJob = { model: 'per_unit', unitAmount: '1' };

  await t.test('of usage reach the period that another interval begins, also at the instant of the start', async () => {
    const { id, use } = await join([]);
    const yearly = { newSubscriptionItems: [{ priceSlug: 'year-monthly' }] };
    const { subscription } = await adjust(id, [own('calls', 2)], yearly);
    assert.equal(subscription.priceOverrides[0].startsAt, subscription.currentBillingPeriodStart);
    await use('calls', 100);
    await by.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
    assert.deepEqual(await bills(id), [3000, 6000, 200]);
  });

  await t.test('are billed from the first invoice on, shown, and explained', async () => {
    const wanted = [own('pro-monthly', 2500), own('calls', 7), { priceSlug: 'jobs', pricing: perJob }];
    const { subscription, id, use } = await join(wanted, { quantity: 2 });
    const startsAt = instant('2026-04-01');
    const shown = [
      { priceId: pro, unitPrice: 2500, pricing: null, startsAt },
      { priceId: calls, unitPrice: 7, pricing: null, startsAt },
      { priceId: jobs, unitPrice: null, pricing: perJob, startsAt },
    ];
    const byPrice = (rows: Body[]) => rows.toSorted((a, b) => (a.priceId < b.priceId ? -1 : 1));
    assert.deepEqual(byPrice(subscription.priceOverrides), byPrice(shown));
    assert.deepEqual(byPrice((await by.get(`/subscriptions/${id}`)).subscription.priceOverrides), byPrice(shown));
    const { data: listed } = await by.get(`/subscriptions?customerId=${subscription.customerId}&status=active`);
    assert.deepEqual(byPrice(listed[0].priceOverrides), byPrice(shown));
    await use('calls', 100);
    await use('jobs', 50);
    assert.deepEqual([await bills(id), await upcoming(id)], [[5000], 5000 + 700 + 50]);
    await day('2026-05-01');
    assert.deepEqual(await bills(id), [5000, 5750]);
    const { lines } = await by.get(`/invoices/${(await invoices(id))[1]?.id}/explain`);
    const told = lines.map(({ kind, amount, unitPrice, pricing }: Body) => [kind, amount, unitPrice, pricing]);
    assert.deepEqual(
      told.toSorted((a: Body[], b: Body[]) => Number(b[1]) - Number(a[1])),
      [
        ['item', 5000, 2500, null],
        ['usage', 700, 7, null],
        ['priced_usage', 50, null, perJob],
      ],
    );
    // A record can be sent back as it was answered, and changes nothing.
    const { adjustment, subscription: after } = await adjust(id, subscription.priceOverrides);
    assert.deepEqual([adjustment.invoiceId, byPrice(after.priceOverrides)], [null, byPrice(shown)]);
  });

  await t.test('change an item at once: half of May at 40.00 in place of 20.00 costs 10.00', async () => {
    const { id } = await join([own('pro-monthly', 2000)]);
    await day('2026-05-16T12:00:00Z');
    const wanted = { timing: 'immediately', priceOverrides: [own('pro-monthly', 4000)] };
    const preview = await by.post(`/subscriptions/${id}/preview-adjust`, { adjustment: wanted });
    assert.deepEqual([preview.currentPlanTotal, preview.newPlanTotal, preview.totalDue], [2000, 4000, 1000]);
    const { subscriptionItems } = await adjust(id, [own('pro-monthly', 4000)]);
    assert.equal(subscriptionItems[0].unitPrice, 4000);
    assert.deepEqual([await bills(id), await upcoming(id)], [[2000, 1000], 4000]);
    // Null: the price of everybody, which the renewal bills.
    const { resolvedTiming } = await adjust(id, [own('pro-monthly', null)], { timing: 'auto' });
    assert.equal(resolvedTiming, 'at_end_of_current_billing_period');
    assert.equal((await by.get(`/subscriptions/${id}`)).subscription.priceOverrides.length, 1);
    await day('2026-06-01');
    assert.deepEqual(await bills(id), [2000, 1000, 3000]);
    assert.deepEqual((await by.get(`/subscriptions/${id}`)).subscription.priceOverrides, []);
  });

  await t.test('of usage are agreed while the first invoice is open, and neither collect nor replace it', async () => {
    await by.put('/settings', { settings: { netTermsDays: 10 } });
    const { id } = await join([], {}, null);
    await by.put('/settings', { settings: { netTermsDays: 0 } });
    const { adjustment } = await adjust(id, [own('calls', 70)]);
    assert.equal(adjustment.invoiceId, null);
    const [invoice, ...others] = await invoices(id);
    assert.deepEqual([invoice?.status, invoice?.total, others], ['open', 3000, []]);
  });

  await t.test('of usage begin with a usage period: June is billed at 10, July at 5, August at 10 again', async () => {
    const { id, use } = await join([]);
    await use('calls', 10);
    await day('2026-06-10');
    await adjust(id, [own('calls', 5)]);
    await use('calls', 10);
    assert.equal(await upcoming(id), 3000 + 200);
    await day('2026-07-01');
    await use('calls', 10);
    assert.equal(await upcoming(id), 3000 + 50);
    await adjust(id, [own('calls', null)], { timing: 'at_end_of_current_billing_period' });
    assert.equal(await upcoming(id), 3000 + 50);
    await day('2026-08-01');
    await use('calls', 10);
    await day('2026-09-01');
    assert.deepEqual(await bills(id), [3000, 3200, 3050, 3100]);
  });

  await t.test('of a period bill it again after its invoice was voided, whatever has come since', async () => {
    // 150 jobs in tiers are 100 x 3 + 50 x 2 = 400. From October on each costs 10, and from November it is tiers again.
    await by.put('/settings', { settings: { netTermsDays: 90 } });
    const { id, use } = await join([], {}, null);
    await use('jobs', 150);
    await adjust(id, [own('jobs', 10)]);
    await day('2026-10-01');
    const [, open] = await invoices(id);
    assert.deepEqual([open?.status, open?.total], ['open', 3400]);
    await by.post(`/invoices/${open?.id}/void`);
    await use('jobs', 20);
    // The 150 jobs of September in their tiers, and the 20 of October at 10.
    assert.equal(await upcoming(id), 3000 + 400 + 200);
    await adjust(id, [own('jobs', null)]);
    assert.equal(await upcoming(id), 3000 + 400 + 200);
    await day('2026-11-01');
    await use('jobs', 20);
    assert.equal(await upcoming(id), 3000 + 60);
    assert.deepEqual((await bills(id)).slice(1), [3400, 3600]);
    await by.put('/settings', { settings: { netTermsDays: 0 } });
  });

  await t.test('of a new subscription are for a usage period that began in the calendar before it', async () => {
    await day('2026-11-10');
    const { id, use } = await join([own('calls', 7)], { billingAnchor: 'calendar' });
    await use('calls', 10);
    await day('2026-12-01');
    assert.equal((await bills(id)).at(-1), 3000 + 70);
  });

  await t.test(
    'of units that cost the same each bill a period again at its terms, whatever has come since',
    async () => {
      await by.put('/settings', { settings: { netTermsDays: 90 } });
      const { id, use } = await join([], {}, null);
      const other = await join([], {}, null);
      for (const { use: record } of [{ use }, other]) await record('calls', 100);
      await adjust(id, [own('calls', 50)]);
      await day('2026-12-15');
      // 100 calls until now at 10. The other customer agrees its terms only after its bill.
      await day('2027-01-15');
      await adjust(other.id, [own('calls', 50)]);
      const billOf = async (subscriptionId: string) => {
        const all = await invoices(subscriptionId);
        const billed = all.filter(({ status, total }) => status === 'open' && total > 3000);
        assert.deepEqual(
          billed.map(({ total }) => total),
          [4000],
        );
        return billed[0]?.id as string;
      };
      await by.post(`/invoices/${await billOf(id)}/void`);
      await use('calls', 20);
      assert.equal(await upcoming(id), 3000 + 1000 + 1000);
      await day('2027-02-15');
      assert.deepEqual((await bills(id)).slice(-1), [5000]);
      // The new bill is voided too.
      await by.post(`/invoices/${(await invoices(id)).at(-1)?.id}/void`);
      assert.equal(await upcoming(id), 3000 + 1000 + 1000);
      await by.post(`/invoices/${await billOf(other.id)}/void`);
      await other.use('calls', 20);
      assert.equal(await upcoming(other.id), 3000 + 1000 + 1000);
      await day('2027-04-15');
      assert.deepEqual((await bills(other.id)).slice(-2), [5000, 3000]);
      await by.put('/settings', { settings: { netTermsDays: 0 } });
    },
  );

  await t.test('of usage stay with another plan, those of an item end with it', async () => {
    const { id, use } = await join([own('pro-monthly', 2000), own('calls', 1)]);
    const { subscription } = await adjust(id, [], { newSubscriptionItems: [{ priceSlug: 'big-monthly' }] });
    assert.deepEqual(
      subscription.priceOverrides.map(({ priceId }: Body) => priceId),
      [calls],
    );
    await use('calls', 50);
    assert.equal(await upcoming(id), 9000 + 50);
    const { subscription: back } = await adjust(id, [], {
      timing: 'at_end_of_current_billing_period',
      newSubscriptionItems: [{ priceSlug: 'pro-monthly' }],
    });
    assert.equal(back.priceOverrides.length, 1);
    assert.equal(await upcoming(id), 3000 + 50);
  });

  await t.test('of 0 make a plan free, which a customer on the free plan cannot have beside it', async () => {
    const { customerId } = await newCustomer(by, 'guest');
    const given = { customerId, priceSlug: 'pro-monthly', priceOverrides: [own('pro-monthly', 0)] };
    const { status } = await send('POST', '/subscriptions', given);
    assert.equal(status, 409);
  });

  await t.test('name a price of the pricing model once, with terms that the price can have', async () => {
    const { id } = await join([]);
    const { pricingModel: other } = await by.post('/pricing-models/setup', {
      name: 'Other',
      products: [plan('elsewhere', 100)],
    });
    const { data: foreign } = await by.get(`/prices?pricingModelId=${other.id}&slug=elsewhere-monthly`);
    const bad: [Body, string][] = [
      [{ unitPrice: 1 }, 'priceId'],
      [{ priceSlug: 'calls', priceId: calls, unitPrice: 1 }, 'priceId'],
      [{ priceSlug: 'calls' }, 'unitPrice'],
      [{ priceSlug: 'calls', unitPrice: 1, pricing: perJob }, 'pricing'],
      [{ priceSlug: 'calls', unitPrice: -1 }, 'unitPrice'],
      [own('nothing', 1), 'priceSlug'],
      [{ priceId: foreign[0].id, unitPrice: 1 }, 'priceId'],
      [own('calls_no_charge', 1), 'priceSlug'],
      [{ priceSlug: 'calls', pricing: { model: 'dynamic' } }, 'pricing.model'],
      [{ priceSlug: 'calls', pricing: perEvent }, 'pricing.model'],
      [own('payments', 1), 'unitPrice'],
      [{ priceSlug: 'pro-monthly', pricing: { model: 'percentage', rate: '1' } }, 'pricing.model'],
      [own('big-monthly', 1), ''],
    ];
    const { customerId } = await newCustomer(by, 'refused', { token: 'pm_card_visa' });
    for (const [override, field] of bad) {
      const priceOverrides = [override];
      const path = ['priceOverrides', 0, ...(field === '' ? [] : field.split('.'))];
      const created = await send('POST', '/subscriptions', { customerId, priceSlug: 'pro-monthly', priceOverrides });
      assert.deepEqual([created.status, created.body.issues?.[0]?.path], [400, path], JSON.stringify(override));
      const adjustment = { timing: 'immediately', priceOverrides };
      const changed = await send('POST', `/subscriptions/${id}/adjust`, { adjustment });
      assert.deepEqual([changed.status, changed.body.issues?.[0]?.path], [400, ['adjustment', ...path]]);
    }
    const refused = async (body: Body, path: (string | number)[]) => {
      const answer = await send('POST', '/subscriptions', { customerId, priceSlug: 'pro-monthly', ...body });
      assert.deepEqual([answer.status, answer.body.issues?.[0]?.path], [400, path]);
    };
    await refused({ priceOverrides: [own('calls', 1), own('calls', 2)] }, ['priceOverrides', 1]);
    await refused({ priceOverrides: [own('calls', null)] }, ['priceOverrides', 0, 'unitPrice']);
    await refused({ priceOverrides: Array(101).fill(own('calls', 1)) }, ['priceOverrides']);
    await refused({ priceOverrides: [own('calls', 1)], doNotCharge: true }, ['priceOverrides']);
    const free = [own('fee-monthly', 0)];
    await refused({ priceSlug: 'fee-monthly', priceOverrides: free }, ['priceOverrides', 0, 'unitPrice']);
    const items = [{ priceSlug: 'pro-monthly', unitPrice: 5 }];
    const both = { timing: 'immediately', newSubscriptionItems: items, priceOverrides: [own('pro-monthly', 4)] };
    const { body } = await send('POST', `/subscriptions/${id}/adjust`, { adjustment: both });
    assert.deepEqual(body.issues[0].path, ['adjustment', 'newSubscriptionItems', 0, 'unitPrice']);
    const none = await send('POST', `/subscriptions/${id}/adjust`, { adjustment: { timing: 'immediately' } });
    assert.deepEqual([none.status, none.body.issues[0].path], [400, ['adjustment', 'newSubscriptionItems']]);
  });

  await t.test('are one for each price at any instant, whoever writes them', async () => {
    const { id } = await join([own('calls', 7)]);
    const again = sql`
      insert into subscription_price_overrides (environment_id, id, pricing_model_id, subscription_id, price_id, unit_price, start_at,
             created_at, updated_at)
      select environment_id, id || 'x', pricing_model_id, subscription_id, price_id, 8, start_at + 1, 1, 1
        from subscription_price_overrides where subscription_id = ${id}`;
    await assert.rejects(again.execute(app.owner), { constraint: 'subscription_price_overrides_one_at_a_time' });
  });
  await assertSound(app);
});

test('several items at once', async (t) => {
  const seller = await app.newOrganization();
  const by = callerOf(app, seller);
  const send = (method: string, path: string, body: Body) => app.request(method, path, body, { key: seller.testKey });
  const day = (at: string) => by.moveTo(instant(at));
  await day('2026-04-01');
  const addOn = { product: { addOn: true } };
  const few = { product: { addOn: true, minimumQuantity: 1, maximumQuantity: 5 } };
  const products = [
    plan('free', 0),
    plan('pro', 3000, ['export']),
    plan('big', 9000),
    plan('hobby', 0, ['export']),
    plan('support', 500, ['priority'], addOn),
    plan('pack', 200, ['calls'], { ...few, setupFeeAmount: 1000 }),
    plan('yearly', 5000, [], { ...addOn, intervalUnit: 'year' }),
  ];
  const { pricingModel: model } = await by.post('/pricing-models/setup', {
    name: 'Add-ons',
    isDefault: true,
    features: [toggle('export'), toggle('priority'), credits('calls', 100, 'calls')],
    usageMeters: [meter('calls', 'Calls', { slug: 'call', unitPrice: 1 })],
    products,
  });
  let count = 0;
  const join = async (slugs: readonly (readonly [string, number])[]) => {
    count += 1;
    const externalId = `buyer-${count}`;
    const { customerId } = await newCustomer(by, externalId, { token: 'pm_card_visa' });
    const items = slugs.map(([slug, quantity]) => ({ priceSlug: `${slug}-monthly`, quantity }));
    const { subscription } = await by.post('/subscriptions', { customerId, items });
    return { subscription, id: subscription.id as string, externalId };
  };
  const linesOf = async (id: string): Promise<[string, number][][]> => {
    const { data } = await by.get(`/invoices?subscriptionId=${id}&limit=100`);
    const invoices = data.toSorted((a: Body, b: Body) => (a.id < b.id ? -1 : 1));
    const explained = await Promise.all(invoices.map((each: Body) => by.get(`/invoices/${each.id}/explain`)));
    return explained.map(({ lines }) =>
      lines.map(({ description, amount }: Body) => [description.split(',')[0], amount]),
    );
  };
  const total = (lines: [string, number][] = []) => lines.reduce((sum, [, amount]) => sum + amount, 0);
  const may = async (externalId: string, featureSlug: string): Promise<boolean> => {
    const { results } = await by.post('/entitlements/check', {
      checks: [{ customerExternalId: externalId, featureSlug }],
    });
    return results[0].allowed;
  };
  const balance = async (externalId: string) =>
    (await by.get(`/customers/${externalId}/usage-balances`)).usageMeterBalances[0].availableBalance;
  const itemsOf = async (id: string): Promise<Body[]> => {
    const { subscriptionItems } = await by.post(`/subscriptions/${id}/adjust?dryRun=true`, {
      adjustment: { timing: 'immediately', priceOverrides: [{ priceSlug: 'call', unitPrice: 1 }] },
    });
    return subscriptionItems;
  };

  await t.test('are one plan and its add-ons, billed on one invoice with all setup fees', async () => {
    const { subscription, id, externalId } = await join([
      ['support', 1],
      ['pro', 1],
      ['pack', 2],
    ]);
    assert.equal(subscription.name, 'pro - Monthly');
    const [first] = await linesOf(id);
    // 30.00 + 5.00 + 2 x 2.00, and 10.00 once.
    assert.deepEqual([first?.length, total(first)], [4, 4900]);
    const granted = [await may(externalId, 'export'), await may(externalId, 'priority'), await balance(externalId)];
    assert.deepEqual(granted, [true, true, 200]);
    await day('2026-05-01');
    const [, second] = await linesOf(id);
    assert.deepEqual([second?.length, total(second)], [3, 3900]);
  });

  await t.test('are added for the rest of a period, and removed with its end', async () => {
    const { id, externalId } = await join([['pro', 1]]);
    const [pro] = await itemsOf(id);
    await day('2026-05-16T12:00:00Z');
    const change = (newSubscriptionItems: Body[]) =>
      by.post(`/subscriptions/${id}/adjust`, { adjustment: { timing: 'auto', newSubscriptionItems } });
    const { subscription, resolvedTiming } = await change([
      { id: pro?.id },
      { priceSlug: 'pack-monthly', quantity: 5 },
    ]);
    assert.deepEqual([subscription.name, resolvedTiming], ['pro - Monthly', 'immediately']);
    // Half of May at 5 x 2.00, and half of 500 calls. A change bills no setup fee.
    assert.deepEqual([total((await linesOf(id))[1]), await balance(externalId)], [500, 250]);
    assert.equal((await change([{ id: pro?.id }])).resolvedTiming, 'at_end_of_current_billing_period');
    await day('2026-06-01');
    assert.equal(total((await linesOf(id))[2]), 3000);
  });

  await t.test('head a plan that costs nothing with the plan, and bill its add-on', async () => {
    const { subscription, id } = await join([
      ['support', 3],
      ['hobby', 1],
    ]);
    assert.deepEqual([subscription.name, subscription.isFreePlan], ['hobby - Monthly', false]);
    const [first] = await linesOf(id);
    assert.deepEqual([first?.length, total(first)], [1, 1500]);
  });

  await t.test('have own prices of the customer, each', async () => {
    const { customerId } = await newCustomer(by, 'agreed', { token: 'pm_card_visa' });
    const items = [{ priceSlug: 'pro-monthly' }, { priceSlug: 'support-monthly', quantity: 2 }];
    const priceOverrides = [{ priceSlug: 'support-monthly', unitPrice: 400 }];
    const { subscription } = await by.post('/subscriptions', { customerId, items, priceOverrides });
    assert.equal(total((await linesOf(subscription.id))[0]), 3800);
  });

  await t.test('are refused without one plan, of two intervals, or twice', async () => {
    const { customerId } = await newCustomer(by, 'refused', { token: 'pm_card_visa' });
    const item = (slug: string, more: Body = {}) => ({ priceSlug: `${slug}-monthly`, ...more });
    const bad: [Body, (string | number)[]][] = [
      [{ items: [item('pro'), item('big')] }, ['items']],
      [{ items: [item('support'), item('pack')] }, ['items']],
      [{ items: [item('pro'), item('yearly')] }, ['items']],
      [{ items: [item('pro'), item('support'), item('support')] }, ['items', 2]],
      [{ items: [item('pro'), item('support', { priceId: 'price_x' })] }, ['items', 1, 'priceId']],
      [{ items: [item('pro', { quantity: 0 })] }, ['items', 0, 'quantity']],
      [{ items: [] }, ['items']],
      [{ items: Array(101).fill(item('pro')) }, ['items']],
      [{ items: [item('pro')], priceSlug: 'pro-monthly' }, ['priceId']],
      [{ items: [item('pro')], quantity: 2 }, ['quantity']],
      [{ priceSlug: 'support-monthly' }, ['priceSlug']],
    ];
    for (const [body, path] of bad) {
      const answer = await send('POST', '/subscriptions', { customerId, ...body });
      assert.deepEqual([answer.status, answer.body.issues?.[0]?.path], [400, path], JSON.stringify(body));
    }
    const unknown = { customerId, items: [item('pro'), item('nothing')] };
    assert.equal((await send('POST', '/subscriptions', unknown)).status, 404);
    const { id } = await join([['pro', 1]]);
    const alone = { timing: 'immediately', newSubscriptionItems: [item('support')] };
    const { status, body } = await send('POST', `/subscriptions/${id}/adjust`, { adjustment: alone });
    assert.deepEqual([status, body.issues[0].path], [400, ['adjustment', 'newSubscriptionItems']]);
    const back = { successUrl: 'https://acme.test/thanks', cancelUrl: 'https://acme.test' };
    const checkoutSession = { type: 'product', customerExternalId: 'refused', ...item('support'), ...back };
    const session = await send('POST', '/checkout-sessions', { checkoutSession });
    assert.deepEqual([session.status, session.body.issues[0].path], [400, ['checkoutSession', 'priceSlug']]);
    const purchase = { customerExternalId: 'refused', ...item('support') };
    assert.equal((await send('POST', '/purchases', { purchase })).body.reason, 'price_not_sold');
  });

  await t.test('come from products that stay add-ons: export, setup and clone keep them', async () => {
    const { pricingModel: exported } = await by.get(`/pricing-models/${model.id}/export`);
    const addOns = ({ products }: Body) =>
      products.filter((each: Body) => (each.product ?? each).addOn).map((each: Body) => (each.product ?? each).slug);
    assert.deepEqual(addOns(exported).toSorted(), ['pack', 'support', 'yearly']);
    const { pricingModel: clone } = await by.post(`/pricing-models/${model.id}/clone`, { name: 'Clone' });
    assert.deepEqual(addOns(clone).toSorted(), ['pack', 'support', 'yearly']);
    await by.put(`/pricing-models/${model.id}`, { pricingModel: exported });
    const { data } = await by.get('/products?slug=support&active=true');
    const refused = async (method: string, path: string, body: Body, field: string) => {
      const answer = await send(method, path, body);
      assert.deepEqual([answer.status, answer.body.issues?.[0]?.path.join('.')], [400, field]);
    };
    await refused('PUT', `/products/${data[0].id}`, { product: { addOn: false } }, 'product.addOn');
    const index = exported.products.findIndex(({ product }: Body) => product.slug === 'pro');
    const changed = structuredClone(exported);
    changed.products[index].product.addOn = true;
    const at = `pricingModel.products.${index}.product.addOn`;
    await refused('PUT', `/pricing-models/${model.id}`, { pricingModel: changed }, at);
    const product = { name: 'Once', slug: 'once', addOn: true };
    await refused('POST', '/products', { product, price: { type: 'single_payment', unitPrice: 1 } }, 'price.type');
    const free = plan('free', 0, [], addOn);
    free.product.default = true;
    await refused('POST', '/pricing-models/setup', { name: 'Bad', products: [free] }, 'products.0.product.addOn');
    const wrong = sql`update products set add_on = true where is_default`.execute(app.owner);
    await assert.rejects(wrong, { constraint: 'products_default_is_plan' });
  });
  await assertSound(app);
});

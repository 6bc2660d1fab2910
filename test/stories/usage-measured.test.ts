import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf, day, hour } from '../support/years.ts';

// Each test has an organization of its own, whose clock begins on 1 April 2026: April has 30 days, and so 720 hours.

const app = await startTestApp();
after(() => assertSound(app));
const start = instant('2026-04-01');
const on = (date: string, hours = 0) => instant(date) + hours * hour;

const perUnit = (slug: string, unitPrice: number, more: Body = {}) => ({ slug: `${slug}-price`, unitPrice, ...more });
// 1.00 for each, and at least 5.00 a month.
const least = (slug: string) =>
  perUnit(slug, 0, { pricing: { model: 'per_unit', unitAmount: '100', minimumAmount: '500' } });
const structure = {
  name: 'Measured',
  isDefault: true,
  features: [],
  products: [
    plan('free', 0),
    plan('pro', 1000, [], { overage: 'bill' }),
    plan('gold', 1000, [], {
      overage: 'bill',
      product: { usagePrices: [{ usageMeterSlug: 'storage', priceSlug: 'storage-gold' }] },
    }),
    plan('quiet', 1000, [], { overage: 'none' }),
  ],
  usageMeters: [
    meter('requests', 'Requests', perUnit('requests', 3), { aggregationType: 'count' }),
    meter('peak', 'Peak users', perUnit('peak', 100), { aggregationType: 'max' }),
    meter('level', 'Stock', perUnit('level', 10), { aggregationType: 'latest' }),
    // 1,000 GB-hours cost 2 cents.
    {
      usageMeter: { name: 'GB-hours', slug: 'storage', aggregationType: 'unit_hours' },
      prices: [
        {
          type: 'usage',
          intervalUnit: 'month',
          isDefault: true,
          ...perUnit('storage', 2, { usageEventsPerUnit: 1000 }),
        },
        { type: 'usage', intervalUnit: 'month', slug: 'storage-gold', unitPrice: 1, usageEventsPerUnit: 1000 },
      ],
    },
    meter('jobs', 'Jobs', least('jobs')),
    meter('rooms', 'Rooms', least('rooms'), { aggregationType: 'max' }),
    meter('desks', 'Desks', least('desks'), { recurring: true }),
    meter('whole', 'Numbers', perUnit('whole', 500), { recurring: true }),
    meter('daily', 'Seats', perUnit('daily', 3000), { recurring: true, proration: 'day' }),
    meter(
      'exact',
      'Machines',
      {
        slug: 'exact-price',
        unitPrice: 0,
        pricing: {
          model: 'graduated',
          tiers: [
            { upTo: 10, unitAmount: '1000' },
            { upTo: null, unitAmount: '500' },
          ],
        },
      },
      { recurring: true, proration: 'second' },
    ),
  ],
};

async function newWorld() {
  const organization = await app.newOrganization();
  const caller = callerOf(app, organization);
  await caller.moveTo(start);
  const { pricingModel } = await caller.post('/pricing-models/setup', structure);
  const send = (method: string, path: string, body?: Body) =>
    app.request(method, path, body, { key: organization.testKey });
  let count = 0;
  const subscriber = async (priceSlug = 'pro-monthly', terms: Body = {}) => {
    count += 1;
    const customer = await newCustomer(caller, `customer-${count}`, { token: 'pm_card_visa' });
    const { subscription } = await caller.post('/subscriptions', {
      customerId: customer.customerId,
      priceSlug,
      ...terms,
    });
    const id: string = subscription.id;
    const use = async (usageMeterSlug: string, amount?: number, usageDate?: number) => {
      count += 1;
      const usageEvent = { subscriptionId: id, usageMeterSlug, transactionId: `use-${count}`, amount, usageDate };
      return (await caller.post('/usage-events', { usageEvent })).usageEvent;
    };
    /** The usage lines of its invoices that stand, oldest first. */
    const billed = async () => {
      const { data } = await caller.get(`/invoices?subscriptionId=${id}&limit=100`);
      const told: string[] = [];
      for (const invoice of data.filter(({ status }: Body) => status !== 'void'))
        for (const { type, description, amount } of (await caller.get(`/invoices/${invoice.id}`)).invoiceLineItems)
          if (type === 'usage') told.push(`${description}: ${amount}`);
      return told;
    };
    return { ...customer, id, use, billed };
  };
  return { caller, send, subscriber, pricingModel };
}

test('a meter that counts takes one for each event: its amount is 1 or absent', async () => {
  const { caller, send, subscriber } = await newWorld();
  const ada = await subscriber();
  for (const amount of [undefined, 1, undefined]) assert.equal((await ada.use('requests', amount)).amount, 1);
  const usageEvent = { subscriptionId: ada.id, usageMeterSlug: 'requests', transactionId: 'two', amount: 2 };
  const refused = await send('POST', '/usage-events', { usageEvent });
  assert.deepEqual([refused.status, refused.body.issues[0].path], [400, ['usageEvent', 'amount']]);
  const { hold } = await caller
    .post('/usage-credits', {
      usageCredit: { subscriptionId: ada.id, usageMeterSlug: 'requests', amount: 5 },
    })
    .then(() =>
      caller.post('/holds', {
        hold: { subscriptionId: ada.id, usageMeterSlug: 'requests', expiresAt: start + day },
      }),
    );
  assert.equal(hold.amount, 1);
  await caller.moveTo(instant('2026-05-01'));
  assert.deepEqual(await ada.billed(), ['3 requests at USD 0.03 each: 9']);
});

test('the largest and the latest value of a month are billed, whatever the order in which events arrive', async () => {
  const { caller, subscriber } = await newWorld();
  const [ada, bob] = [await subscriber(), await subscriber()];
  await caller.moveTo(on('2026-04-20'));
  const dated: [amount: number, date: string][] = [
    [4, '2026-04-02'],
    [9, '2026-04-05'],
    [6, '2026-04-11'],
  ];
  for (const [who, events] of [
    [ada, dated],
    [bob, dated.toReversed()],
  ] as const)
    for (const slug of ['peak', 'level']) for (const [amount, date] of events) await who.use(slug, amount, on(date));
  const { invoice } = await caller.get(`/invoices/upcoming?subscriptionId=${ada.id}`);
  assert.equal(invoice.total, 1000 + 9 * 100 + 6 * 10);
  await caller.moveTo(on('2026-05-01'));
  for (const who of [ada, bob]) assert.deepEqual((await who.billed()).sort(), ['6 stock: 60', '9 peak users: 900']);
  // Nothing is carried into May: a month without events has no value.
  await caller.moveTo(on('2026-06-01'));
  assert.equal((await ada.billed()).length, 2);
});

test('storage by the hour: 100 GB for 10 days and 200 GB for 20 cost 2.40, and the next month is billed without any event', async () => {
  const { caller, subscriber } = await newWorld();
  const ada = await subscriber();
  await ada.use('storage', 100);
  await caller.moveTo(on('2026-04-21'));
  // 100 x 240 + 200 x 240 so far: 72,000 GB-hours.
  await ada.use('storage', 200, on('2026-04-11'));
  const { invoice } = await caller.get(`/invoices/upcoming?subscriptionId=${ada.id}`);
  assert.equal(invoice.total, 1000 + 144);
  await caller.moveTo(on('2026-06-01'));
  // 24,000 + 96,000 in April, and 200 x 744 in May.
  assert.deepEqual(await ada.billed(), ['120,000 GB-hours: 240', '148,800 GB-hours: 298']);
  const { data } = await caller.get(`/invoices?subscriptionId=${ada.id}&limit=100`);
  const explained = await caller.get(`/invoices/${data[1].id}/explain`);
  const [line] = (explained.explanation ?? explained).lines.filter(({ type }: Body) => type === 'usage');
  assert.deepEqual(
    [line.kind, line.unitsSoFar, line.unitsPer, line.unitPrice, line.usageEventsPerUnit, line.rounding.rounded],
    ['measured_usage', 120_000, 1, 2, 1000, 240],
  );
});

test('standing quantities are carried over months and prorated by the day or the exact time', async () => {
  const { caller, subscriber } = await newWorld();
  const ada = await subscriber();
  for (const slug of ['whole', 'daily', 'exact']) await ada.use(slug, 10);
  await caller.moveTo(on('2026-04-16'));
  for (const slug of ['whole', 'daily', 'exact']) await ada.use(slug, 5);
  await caller.moveTo(on('2026-05-01'));
  // 15 numbers; 10 seats and half of 5; in tiers 10 machines at 10.00 and 2.5 at 5.00.
  const april = ['12.5 machines: 11250', '12.5 seats: 37500', '15 numbers: 7500'];
  assert.deepEqual((await ada.billed()).sort(), april);
  await caller.moveTo(on('2026-05-01', 1));
  for (const slug of ['whole', 'daily']) await ada.use(slug, -15);
  await caller.moveTo(on('2026-06-01'));
  // Only the machines are held through May.
  assert.deepEqual((await ada.billed()).slice(3), ['15 machines: 12500']);
});

test('a cancellation ends what is held, and a pause does not bill it', async () => {
  const { caller, subscriber } = await newWorld();
  const [ada, bob] = [await subscriber(), await subscriber()];
  for (const who of [ada, bob]) for (const slug of ['storage', 'daily']) await who.use(slug, 1000);
  await caller.moveTo(on('2026-04-11'));
  await caller.post(`/subscriptions/${ada.id}/cancel`, { cancellation: { timing: 'immediately' } });
  // 240 of 720 hours, and 10 of 30 days.
  assert.deepEqual((await ada.billed()).sort(), ['240,000 GB-hours: 480', '333.333 seats: 1000000']);
  await caller.post(`/subscriptions/${bob.id}/pause`, {});
  await caller.moveTo(on('2026-04-21'));
  await caller.post(`/subscriptions/${bob.id}/resume`, {});
  await caller.moveTo(on('2026-05-01'));
  const half = ['240,000 GB-hours: 480', '333.333 seats: 1000000'];
  assert.deepEqual((await bob.billed()).sort(), [...half, ...half].sort());
});

test('a jump of the clock bills as its steps do', async () => {
  const told: string[][] = [];
  for (const steps of [['2026-07-01'], ['2026-04-30', '2026-05-01', '2026-05-20', '2026-06-15', '2026-07-01']]) {
    const { caller, subscriber } = await newWorld();
    const ada = await subscriber();
    for (const slug of ['storage', 'daily', 'exact', 'peak']) await ada.use(slug, 7);
    for (const step of steps) await caller.moveTo(on(step));
    told.push(await ada.billed());
  }
  assert.deepEqual(told[0], told[1]);
  assert.equal(told[0]?.length, 3 * 3 + 1);
});

test('the rate of the plan at the end of a month is that of its value, and a plan that bills no usage bills none', async () => {
  const { caller, subscriber } = await newWorld();
  const [ada, bob] = [await subscriber(), await subscriber('quiet-monthly')];
  const eve = await subscriber('pro-monthly', { priceOverrides: [{ priceSlug: 'storage-price', unitPrice: 5 }] });
  for (const who of [ada, bob, eve]) await who.use('storage', 1000);
  await caller.moveTo(on('2026-04-16'));
  await caller.post(`/subscriptions/${ada.id}/adjust`, {
    adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'gold-monthly', quantity: 1 }] },
  });
  await caller.post(`/subscriptions/${bob.id}/adjust`, {
    adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'pro-monthly', quantity: 1 }] },
  });
  await caller.moveTo(on('2026-05-01'));
  assert.deepEqual(await ada.billed(), ['720,000 GB-hours: 720']);
  // A price of its own has precedence.
  assert.deepEqual(await eve.billed(), ['720,000 GB-hours: 3600']);
  // Half of the month was on the plan that bills none, and is waived.
  assert.deepEqual(await bob.billed(), ['720,000 GB-hours: 720']);
});

test('events that arrive at once, in any order, leave the value of the latest date and the sum of all', async () => {
  const { caller, subscriber } = await newWorld();
  const ada = await subscriber();
  await caller.moveTo(on('2026-04-11'));
  // The hours of 1 April hold 1, 2, 3 and so on, up to 24 from 23:00 on.
  const hours = Array.from({ length: 24 }, (_, index) => (index * 7) % 24);
  await Promise.all(hours.flatMap((each) => [ada.use('storage', each + 1, start + each * hour), ada.use('whole', 1)]));
  await caller.moveTo(on('2026-05-01'));
  // 1 + ... + 23 is 276, and 24 is held for 697 hours: 17,004 GB-hours at 0.002 cents.
  assert.deepEqual((await ada.billed()).sort(), ['17,004 GB-hours: 34', '24 numbers: 12000']);
});

test('a named event counts 0 on a measured meter, and takes away on a recurring one', async () => {
  const { caller, send, subscriber } = await newWorld();
  const named = { eventName: 'resized', valueProperty: 'change' };
  const { data: meters } = await caller.get('/usage-meters?limit=100');
  const idOf = (slug: string) => meters.find((each: Body) => each.slug === slug).id;
  await caller.put(`/usage-meters/${idOf('whole')}`, { usageMeter: named });
  await caller.put(`/usage-meters/${idOf('level')}`, { usageMeter: { ...named, valueProperty: 'size' } });
  const ada = await subscriber();
  const resize = (transactionId: string, properties: Body) =>
    send('POST', '/usage-events', {
      usageEvent: { subscriptionId: ada.id, eventName: 'resized', transactionId, properties },
    });
  for (const [index, [change, size]] of [
    [5, 5],
    [-2, 3],
    [-3, 0],
  ].entries())
    assert.equal((await resize(`resize-${index}`, { change, size })).status, 200);
  assert.equal((await resize('negative', { change: 1, size: -1 })).status, 400);
  await caller.moveTo(on('2026-05-01'));
  assert.deepEqual(await ada.billed(), []);
});

test('events of two months that come at random, many of them late, leave totals that are counted again in full', async () => {
  const { caller, subscriber } = await newWorld();
  const ada = await subscriber('gold-monthly');
  // A generator of its own, so that a failure comes again.
  let seed = 7;
  const next = (below: number) => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed % below;
  };
  let now = start;
  for (let round = 0; round < 8; round += 1) {
    now += (2 + next(11)) * day + next(day);
    await caller.moveTo(now);
    const usageEvents = Array.from({ length: 30 }, (_, index) => ({
      subscriptionId: ada.id,
      usageMeterSlug: ['storage', 'peak', 'level', 'whole', 'daily', 'exact'][next(6)],
      amount: next(100),
      transactionId: `random-${round}-${index}`,
      usageDate: now - next(20 * day),
    }));
    await caller.post('/usage-events/bulk', { usageEvents });
    await assertSound(app);
  }
});

test('a void invoice of a month is billed again at its own units', async () => {
  const { caller, subscriber } = await newWorld();
  const ada = await subscriber();
  await ada.use('storage', 1000);
  await app.owner
    .updateTable('paymentMethods')
    .set({ processorToken: 'pm_card_chargeCustomerFail' })
    .where('id', '=', ada.paymentMethodId ?? '')
    .execute();
  await caller.moveTo(on('2026-05-01'));
  const { data } = await caller.get(`/invoices?subscriptionId=${ada.id}&limit=100`);
  const open = data.find(({ status }: Body) => status === 'open');
  assert.equal(open.total, 1000 + 1440);
  await caller.post(`/invoices/${open.id}/void`, {});
  await caller.moveTo(on('2026-05-11'));
  // April at its own units, and 240 hours of May.
  const { invoiceLineItems } = await caller.get(`/invoices/upcoming?subscriptionId=${ada.id}`);
  const told = invoiceLineItems.flatMap(({ type, amount }: Body) => (type === 'usage' ? [amount] : []));
  assert.deepEqual(told, [1440, 480]);
  await caller.post(`/subscriptions/${ada.id}/cancel`, { cancellation: { timing: 'immediately' } });
  const lines = await ada.billed();
  assert.deepEqual(lines.sort(), ['240,000 GB-hours: 480', '720,000 GB-hours: 1440']);
});

test('what a measured meter has no use for is refused, and names its field', async () => {
  const { caller, send, subscriber, pricingModel } = await newWorld();
  const ada = await subscriber();
  const event = (fields: Body) => ({ subscriptionId: ada.id, transactionId: 'refused', amount: 1, ...fields });
  const { data: meters } = await caller.get('/usage-meters?limit=100');
  const idOf = (slug: string) => meters.find((each: Body) => each.slug === slug).id;
  const grant = { slug: 'grant', name: 'Grant', amount: 1, renewalFrequency: 'once', type: 'usage_credit_grant' };
  const cases: [path: string, body: Body, field: string][] = [
    ['/usage-events/consume', { usageEvent: event({ usageMeterSlug: 'peak' }) }, 'usageEvent.usageMeterSlug'],
    ['/usage-events', { usageEvent: event({ priceSlug: 'peak-price' }) }, 'usageEvent.priceSlug'],
    ['/usage-events', { usageEvent: event({ usageMeterSlug: 'peak', amount: -1 }) }, 'usageEvent.amount'],
    ['/usage-events', { usageEvent: event({ usageMeterSlug: 'peak', amount: undefined }) }, 'usageEvent.amount'],
    ['/holds', { hold: { subscriptionId: ada.id, meter: 'daily', amount: 1, expiresAt: start + day } }, 'hold.meter'],
    [
      '/usage-credits',
      { usageCredit: { subscriptionId: ada.id, usageMeterSlug: 'level', amount: 1 } },
      'usageCredit.usageMeterSlug',
    ],
    ['/features', { feature: { ...grant, usageMeterId: idOf('storage') } }, 'feature.usageMeterId'],
    [
      '/usage-meters',
      { usageMeter: { name: 'A', slug: 'a', aggregationType: 'max', recurring: true } },
      'usageMeter.recurring',
    ],
    ['/usage-meters', { usageMeter: { name: 'A', slug: 'a', proration: 'day' } }, 'usageMeter.proration'],
    [
      '/usage-meters',
      { usageMeter: { name: 'A', slug: 'a', aggregationType: 'latest', lowBalanceThreshold: 5 } },
      'usageMeter.lowBalanceThreshold',
    ],
  ];
  const price = { type: 'usage', usageMeterId: idOf('storage'), slug: 'other', intervalUnit: 'month' };
  cases.push(
    ['/prices', { price: { ...price, unitPrice: 1, where: { region: ['eu'] } } }, 'price.where'],
    ['/prices', { price: { ...price, pricing: { model: 'dynamic' } } }, 'price.pricing.model'],
  );
  for (const [path, body, field] of cases) {
    const { status, body: told } = await send('POST', path, body);
    assert.deepEqual([status, told.issues?.[0]?.path.join('.')], [400, field], `${path} ${JSON.stringify(told)}`);
  }
  for (const change of [{ aggregationType: 'sum' }, { aggregationType: 'latest' }]) {
    const { status, body: told } = await send('PUT', `/usage-meters/${idOf('peak')}`, { usageMeter: change });
    assert.deepEqual([status, told.issues[0].path], [400, ['usageMeter', 'aggregationType']]);
  }
  const setUp = { ...structure, name: 'Other', isDefault: false, features: [credits('grant', 1, 'peak')] };
  const { status, body: told } = await send('POST', '/pricing-models/setup', setUp);
  assert.deepEqual([status, told.issues[0].path], [400, ['features', 0, 'usageMeterSlug']]);
  const summary = await send('GET', `/usage-meters/${idOf('peak')}/summary`);
  assert.equal(summary.status, 400);
  // The structure comes through export and setup unchanged.
  const { pricingModel: exported } = await caller.get(`/pricing-models/${pricingModel.id}/export`);
  const { pricingModel: again } = await caller.post('/pricing-models/setup', {
    ...exported,
    name: 'Again',
    isDefault: false,
  });
  const { pricingModel: second } = await caller.get(`/pricing-models/${again.id}/export`);
  assert.deepEqual(second.usageMeters, exported.usageMeters);
  const terms = exported.usageMeters.map(({ usageMeter: each }: Body) => [each.aggregationType, each.proration]);
  assert.deepEqual(terms, [
    ['count', undefined],
    ['max', undefined],
    ['latest', undefined],
    ['unit_hours', undefined],
    ['sum', undefined],
    ['max', undefined],
    ['sum', 'none'],
    ['sum', 'none'],
    ['sum', 'day'],
    ['sum', 'second'],
  ]);
});

test('the month before a scheduled change has the rate of its plan, and the next one that of the new plan', async () => {
  const { caller, subscriber } = await newWorld();
  const ada = await subscriber('gold-monthly');
  await ada.use('storage', 1000);
  await caller.post(`/subscriptions/${ada.id}/adjust`, {
    adjustment: {
      timing: 'at_end_of_current_billing_period',
      newSubscriptionItems: [{ priceSlug: 'pro-monthly', quantity: 1 }],
    },
  });
  await caller.moveTo(on('2026-06-01'));
  // 720 hours of April at 1 cent and 744 of May at 2 cents for 1,000 GB-hours.
  assert.deepEqual(await ada.billed(), ['720,000 GB-hours: 720', '744,000 GB-hours: 1488']);
});

test('another threshold of the settings looks at measured usage too, and a value that falls after its bill makes no empty invoice', async () => {
  const { caller, subscriber } = await newWorld();
  const ada = await subscriber();
  await ada.use('level', 20);
  await caller.moveTo(on('2026-04-02'));
  assert.deepEqual(await ada.billed(), []);
  await caller.put('/settings', { settings: { billingThresholdAmount: 150 } });
  await caller.moveTo(on('2026-04-03'));
  assert.deepEqual(await ada.billed(), ['20 stock: 200']);
  await ada.use('level', 5);
  await caller.post(`/subscriptions/${ada.id}/cancel`, { cancellation: { timing: 'immediately' } });
  const { data } = await caller.get(`/invoices?subscriptionId=${ada.id}&limit=100`);
  assert.deepEqual(data.map(({ total }: Body) => total).sort(), [1000, 200]);
});

test('a value set at the instant at which its period ends is held by the next period, which begins there', async () => {
  const { caller, subscriber } = await newWorld();
  const ada = await subscriber();
  await ada.use('storage', 1000, on('2026-03-20'));
  await caller.put(`/subscriptions/${ada.id}`, { subscription: { billingCycleAnchorDate: on('2026-04-11') } });
  await assertSound(app);
  await caller.moveTo(on('2026-04-02'));
  await ada.use('storage', 2000);
  await ada.use('storage', 3000, on('2026-03-25'));
  await caller.moveTo(on('2026-04-11'));
  // 3,000 GB for a day, and 2,000 GB for nine.
  assert.deepEqual(await ada.billed(), ['504,000 GB-hours: 1008']);
});

test('a minimum is owed in full for each month with usage, counted or measured, and for no month without it', async () => {
  const { caller, subscriber } = await newWorld();
  const [ada, bob, cyd] = [await subscriber(), await subscriber(), await subscriber()];
  for (const who of [ada, bob]) for (const slug of ['jobs', 'rooms']) await who.use(slug, 2);
  await bob.use('desks', 1);
  await caller.moveTo(instant('2026-05-01'));
  const april = ['2 jobs: 500', '2 rooms: 500'];
  assert.deepEqual((await ada.billed()).sort(), april);
  // Nobody uses a job or a room in May. The desk is still held.
  await caller.moveTo(instant('2026-06-01'));
  assert.deepEqual((await ada.billed()).sort(), april);
  assert.deepEqual((await bob.billed()).sort(), ['1 desks: 500', '1 desks: 500', ...april]);
  // A part of a month has the whole minimum, as it has all units of the month.
  await ada.use('jobs', 7);
  await ada.use('rooms', 3);
  await caller.moveTo(on('2026-06-11'));
  const cancellation = { timing: 'immediately' };
  for (const { id } of [ada, cyd]) await caller.post(`/subscriptions/${id}/cancel`, { cancellation });
  assert.deepEqual((await ada.billed()).sort(), [...april, '3 rooms: 500', '7 jobs: 700']);
  assert.deepEqual(await cyd.billed(), []);
});

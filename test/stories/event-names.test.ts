import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();

const meterOf = (slug: string, more: Body = {}, prices: Body[] = [], unitPrice = 1) => ({
  usageMeter: { name: slug, slug, eventName: 'completion', ...more },
  prices: [{ type: 'usage', slug: `${slug}-each`, unitPrice, isDefault: true }, ...prices],
});

/** A completion counts its input and output tokens, the completions themselves, and images where it has some. */
const usageMeters = [
  meterOf('input', { valueProperty: 'input' }),
  meterOf('output', { valueProperty: 'output' }, [
    { type: 'usage', slug: 'output-big', unitPrice: 5, where: { model: ['big'] } },
  ]),
  meterOf('completions', {}, [], 100),
  meterOf('images', { where: { kind: ['image'] } }, [], 1000),
  { usageMeter: { name: 'calls', slug: 'calls' }, prices: [] },
];

async function newShop(meters: Body[] = usageMeters) {
  const seller = await app.newOrganization();
  const by = callerOf(app, seller);
  const send = (method: string, path: string, body: Body, more: Body = {}) =>
    app.request(method, path, body, { key: seller.testKey, ...more });
  await by.moveTo(instant('2026-04-01'));
  const structure = {
    features: [],
    products: [plan('free', 0), plan('pro', 2000), plan('other', 3000)],
    usageMeters: meters,
    resources: [],
  };
  const { pricingModel: model } = await by.post('/pricing-models/setup', {
    name: 'Events',
    isDefault: true,
    ...structure,
  });
  const slugs = new Map(model.usageMeters.map(({ id, slug }: Body) => [id, slug]));
  const slugsOf = (events: Body[]) => events.map((event) => [slugs.get(event.usageMeterId), event.amount]);
  const meterId = (slug: string): string => model.usageMeters.find((meter: Body) => meter.slug === slug).id;
  let count = 0;
  const join = async (priceSlug = 'pro-monthly') => {
    count += 1;
    const { customerId, externalId } = await newCustomer(by, `caller ${count}`, { token: 'pm_card_visa' });
    const { subscription } = await by.post('/subscriptions', { customerId, priceSlug });
    const id: string = subscription.id;
    const event = (properties: Body, more: Body = {}): Body => {
      count += 1;
      return { subscriptionId: id, eventName: 'completion', transactionId: `use ${count}`, properties, ...more };
    };
    return { id, externalId, customerId, event };
  };
  const upcoming = async (id: string): Promise<number> =>
    (await by.get(`/invoices/upcoming?subscriptionId=${id}`)).invoice.total;
  const stored = async (id: string): Promise<number> => (await by.get(`/usage-events?subscriptionId=${id}`)).total;
  return { by, send, model, slugsOf, meterId, join, upcoming, stored };
}

test('an event counts on every usage meter that it matches', async (t) => {
  const { by, send, slugsOf, meterId, join, upcoming, stored } = await newShop();
  const record = async (usageEvent: Body) => by.post('/usage-events', { usageEvent });

  await t.test('one event is stored for each, with the same transactionId', async () => {
    const { id, event } = await join();
    // From the second time on, the meters are known to the process.
    for (let round = 0; round < 3; round++) {
      const asked = event({ input: 10, output: '20', model: 'small' });
      const { usageEvent, usageEvents } = await record(asked);
      assert.deepEqual(slugsOf(usageEvents), [
        ['input', 10],
        ['output', 20],
        ['completions', 1],
      ]);
      assert.deepEqual(usageEvent, usageEvents[0]);
      for (const each of usageEvents) assert.equal(each.transactionId, asked.transactionId);
    }
    assert.equal(await stored(id), 9);
    assert.equal(await upcoming(id), 2000 + 3 * (10 + 20 + 100));
  });

  await t.test('each part is rated by its own best price', async () => {
    const { id, event } = await join();
    const usageEvents = [event({ input: 1, output: 2, model: 'big' }), event({ input: 3, output: 0, kind: 'image' })];
    const { usageEvents: parts } = await by.post('/usage-events/bulk', { usageEvents });
    // A value of 0 counts nothing on its meter.
    assert.deepEqual(slugsOf(parts), [
      ['input', 1],
      ['output', 2],
      ['completions', 1],
      ['input', 3],
      ['completions', 1],
      ['images', 1],
    ]);
    assert.equal(await upcoming(id), 2000 + (1 + 2 * 5 + 100) + (3 + 100 + 1000));
  });

  await t.test('a repeat is answered with what was stored, and counts nothing', async () => {
    const { id, event } = await join();
    const asked = event({ input: 1, output: 2 });
    const first = await record(asked);
    assert.deepEqual(await record(asked), first);
    const { usageEvents } = await by.post('/usage-events/bulk', { usageEvents: [asked, asked] });
    assert.deepEqual(usageEvents, [...first.usageEvents, ...first.usageEvents]);
    assert.equal(await stored(id), 3);
  });

  await t.test('an event that counts nowhere is refused, and all of its request', async () => {
    const { id, event } = await join();
    const good = event({ input: 1, output: 1 });
    for (const bad of [event({}, { eventName: 'unheard of' }), event({}, { eventName: 'Completion' })]) {
      const one = await send('POST', '/usage-events', { usageEvent: bad });
      assert.deepEqual(
        [one.status, one.body.reason, one.body.issues[0].path],
        [400, 'no_meter_matches', ['usageEvent', 'eventName']],
      );
      const many = await send('POST', '/usage-events/bulk', { usageEvents: [good, bad] });
      assert.deepEqual([many.status, many.body.reason], [400, 'no_meter_matches']);
    }
    assert.equal(await stored(id), 0);
  });

  await t.test('a part without its value refuses all parts', async () => {
    const { id, event } = await join();
    for (const output of [undefined, null, -1, 1.5, 'many', '1.5', 2 ** 53, [1]]) {
      const { status, body } = await send('POST', '/usage-events', { usageEvent: event({ input: 1, output }) });
      assert.deepEqual([status, body.issues[0].path], [400, ['usageEvent', 'properties', 'output']], String(output));
      assert.match(body.message, /usage meter output counts it/);
    }
    assert.equal(await stored(id), 0);
  });

  await t.test('an amount is that of meters without a property for it, and is needed without a name', async () => {
    const { event } = await join();
    const { usageEvents } = await record(event({ input: 1, output: 1 }, { amount: 7 }));
    assert.deepEqual(slugsOf(usageEvents).at(-1), ['completions', 7]);
    const nameless = { ...event({}), eventName: undefined, usageMeterSlug: 'calls' };
    const { status, body } = await send('POST', '/usage-events', { usageEvent: nameless });
    assert.deepEqual([status, body.issues[0].path], [400, ['usageEvent', 'amount']]);
    const both = await send('POST', '/usage-events', { usageEvent: event({}, { usageMeterSlug: 'calls', amount: 1 }) });
    assert.equal(both.status, 400);
    assert.match(both.body.message, /exactly one of priceId, priceSlug, usageMeterId, usageMeterSlug, eventName/);
  });

  await t.test('a customer may be named, and a request may be repeated by its key', async () => {
    const { externalId, id, event } = await join();
    const named = { subscriptionId: undefined, customerExternalId: externalId };
    for (let round = 0; round < 2; round++) {
      const { usageEvents } = await record(event({ input: 1, output: 1 }, named));
      assert.deepEqual(
        usageEvents.map((each: Body) => each.subscriptionId),
        [id, id, id],
      );
    }
    const body = { usageEvent: event({ input: 1, output: 1 }, named) };
    const headers = { 'idempotency-key': 'completion 1' };
    const [one, other] = [
      await send('POST', '/usage-events', body, { headers }),
      await send('POST', '/usage-events', body, { headers }),
    ];
    assert.deepEqual([one.status, other.body], [200, one.body], JSON.stringify(one.body));
    const dry = await send('POST', '/usage-events?dryRun=true', { usageEvent: event({ input: 1, output: 1 }) });
    assert.equal(dry.body.usageEvents.length, 3);
    assert.equal(await stored(id), 9);
  });

  await t.test('consuming takes from each balance, or from none', async () => {
    const { id, event } = await join();
    for (const [slug, amount] of [
      ['input', 10],
      ['output', 10],
      ['completions', 2],
    ] as const) {
      const usageCredit = { subscriptionId: id, usageMeterSlug: slug, amount, reason: 'a gift' };
      await by.post('/usage-credits', { usageCredit });
    }
    const consume = (input: number, output: number) =>
      send('POST', '/usage-events/consume', { usageEvent: event({ input, output }) });
    const first = await consume(4, 5);
    const left = first.body.usageBalances.map((each: Body) => each.availableBalance);
    assert.deepEqual(left, [6, 5, 1]);
    assert.equal(first.body.usageBalance.availableBalance, 6);
    const refused = await consume(1, 6);
    assert.deepEqual(
      [refused.status, refused.body.usageBalance],
      [402, { subscriptionId: id, usageMeterId: meterId('output'), availableBalance: 5 }],
    );
    assert.equal(await stored(id), 3);
    // Of these at once only one finds a completion left, and takes all of its parts.
    const answers = await Promise.all([consume(6, 5), consume(6, 5), consume(6, 5)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 402, 402]);
    const last = answers.find(({ status }) => status === 200)?.body;
    assert.deepEqual(
      last.usageBalances.map((each: Body) => each.availableBalance),
      [0, 0, 0],
    );
  });

  await t.test('one request stores at most 10,000 events', async () => {
    const { id, event } = await join();
    const usageEvents = Array.from({ length: 3334 }, () => event({ input: 1, output: 1 }));
    const tooMany = await send('POST', '/usage-events/bulk', { usageEvents });
    assert.deepEqual([tooMany.status, tooMany.body.issues[0].path], [400, ['usageEvents', 3333, 'eventName']]);
    const { usageEvents: parts } = await by.post('/usage-events/bulk', { usageEvents: usageEvents.slice(1) });
    assert.equal(parts.length, 9999);
    assert.equal(await stored(id), 9999);
  });
  await assertSound(app);
});

test('each part is of the one subscription that has its meter', async () => {
  const seller = await app.newOrganization();
  const by = callerOf(app, seller);
  const send = (method: string, path: string, body: Body, more: Body = {}) =>
    app.request(method, path, body, { key: seller.testKey, ...more });
  await by.put('/settings', { settings: { allowMultipleSubscriptions: true } });
  await by.moveTo(instant('2026-04-01'));
  const meters = ['input', 'output'].map((slug) => meterOf(slug, { valueProperty: slug }));
  const rated = (slug: string) => ({ product: { usagePrices: [{ usageMeterSlug: slug, priceSlug: `${slug}-each` }] } });
  const products = [plan('free', 0), plan('in', 1000, [], rated('input')), plan('out', 1000, [], rated('output'))];
  await by.post('/pricing-models/setup', {
    name: 'Two',
    isDefault: true,
    features: [],
    products,
    usageMeters: meters,
    resources: [],
  });
  const { customerId, externalId } = await newCustomer(by, 'ada', { token: 'pm_card_visa' });
  const ids: string[] = [];
  for (const priceSlug of ['in-monthly', 'out-monthly'])
    ids.push((await by.post('/subscriptions', { customerId, priceSlug })).subscription.id);
  for (let round = 0; round < 3; round++) {
    const usageEvent = {
      customerExternalId: externalId,
      eventName: 'completion',
      transactionId: `use ${round}`,
      properties: { input: 1, output: 2 },
    };
    // A request with a key has a cache of its own, with room for one plan.
    const headers = round === 0 ? { 'idempotency-key': 'once' } : {};
    const { status, body } = await send('POST', '/usage-events', { usageEvent }, { headers });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(
      body.usageEvents.map((each: Body) => each.subscriptionId),
      ids,
    );
  }
  await assertSound(app);
});

test('the fields of a usage meter about events', async (t) => {
  const { by, send, model, meterId, join } = await newShop();

  await t.test('are shown, changed and filtered by', async () => {
    const { usageMeter } = await by.get(`/usage-meters/${meterId('images')}`);
    assert.deepEqual(
      [usageMeter.eventName, usageMeter.where, usageMeter.valueProperty],
      ['completion', { kind: ['image'] }, null],
    );
    assert.equal((await by.get('/usage-meters?eventName=completion')).total, 4);
    const { event } = await join();
    const draw = async () =>
      (await by.post('/usage-events', { usageEvent: event({ input: 1, output: 1, kind: 'draw' }) })).usageEvents.length;
    assert.deepEqual([await draw(), await draw()], [3, 3]);
    await by.put(`/usage-meters/${meterId('images')}`, { usageMeter: { where: { kind: ['image', 'draw'] } } });
    assert.deepEqual([await draw(), await draw()], [4, 4]);
    const { usageMeter: without } = await by.put(`/usage-meters/${meterId('images')}`, {
      usageMeter: { where: null, eventName: null },
    });
    assert.deepEqual([without.eventName, without.where], [null, null]);
    assert.equal(await draw(), 3);
    await by.put(`/usage-meters/${meterId('images')}`, {
      usageMeter: { where: { kind: ['image'] }, eventName: 'completion' },
    });
  });

  await t.test('need an event name, which a few meters share', async () => {
    const counted = { name: 'x', slug: 'x', eventName: 'x', aggregationType: 'count', valueProperty: 'tokens' };
    const { status, body } = await send('POST', '/usage-meters', { usageMeter: counted });
    assert.deepEqual([status, body.issues[0].path], [400, ['usageMeter', 'valueProperty']]);
    for (const usageMeter of [{ valueProperty: 'tokens' }, { where: { a: ['1'] } }]) {
      const made = await send('POST', '/usage-meters', { usageMeter: { name: 'x', slug: 'x', ...usageMeter } });
      assert.deepEqual([made.status, made.body.issues[0].path], [400, ['usageMeter', Object.keys(usageMeter)[0]]]);
      const changed = await send('PUT', `/usage-meters/${meterId('calls')}`, { usageMeter });
      assert.deepEqual(
        [changed.status, changed.body.issues[0].path],
        [400, ['usageMeter', Object.keys(usageMeter)[0]]],
      );
    }
    const named = (n: number) => ({ usageMeter: { name: `m${n}`, slug: `m${n}`, eventName: 'login' } });
    for (let n = 0; n < 10; n++) await by.post('/usage-meters', named(n));
    const eleventh = await send('POST', '/usage-meters', named(10));
    assert.deepEqual([eleventh.status, eleventh.body.issues[0].path], [400, ['usageMeter', 'eventName']]);
    const renamed = await send('PUT', `/usage-meters/${meterId('calls')}`, { usageMeter: { eventName: 'login' } });
    assert.deepEqual([renamed.status, renamed.body.issues[0].path], [400, ['usageMeter', 'eventName']]);
    const meters = Array.from({ length: 11 }, (_, n) => meterOf(`many${n}`));
    const setUp = await send('POST', '/pricing-models/setup', { name: 'Many', usageMeters: meters });
    assert.deepEqual([setUp.status, setUp.body.issues[0].path], [400, ['usageMeters', 10, 'usageMeter', 'eventName']]);
  });

  await t.test('go through export, setup, apply and clone', async () => {
    const { pricingModel: exported } = await by.get(`/pricing-models/${model.id}/export`);
    const shown = exported.usageMeters.find(({ usageMeter }: Body) => usageMeter.slug === 'images').usageMeter;
    assert.deepEqual([shown.eventName, shown.where], ['completion', { kind: ['image'] }]);
    assert.deepEqual((await by.post('/pricing-models/apply', exported)).changes, []);
    const { pricingModel: again } = await by.post('/pricing-models/setup', {
      ...exported,
      isDefault: false,
      name: 'Again',
    });
    const { pricingModel: second } = await by.get(`/pricing-models/${again.id}/export`);
    assert.deepEqual(second, { ...exported, isDefault: false, name: 'Again' });
    const { pricingModel: clone } = await by.post(`/pricing-models/${model.id}/clone`, { name: 'Clone' });
    const copy = clone.usageMeters.find(({ slug }: Body) => slug === 'output');
    assert.deepEqual([copy.eventName, copy.valueProperty], ['completion', 'output']);
  });
});

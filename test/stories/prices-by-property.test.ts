import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();

/** Tokens cost 1 cent per 1,000, and what `prices` say for some models. */
const per1000 = (slug: string, unitPrice: number, where?: Body) => ({
  type: 'usage',
  slug,
  unitPrice,
  usageEventsPerUnit: 1000,
  ...(where && { where }),
});
const byModel = [
  per1000('gpt-5', 10, { model: ['gpt-5', 'gpt-5-2026'] }),
  per1000('gpt-5-mini', 2, { model: ['gpt-5-mini'] }),
  per1000('gpt-5-eu', 12, { model: ['gpt-5'], region: ['eu'] }),
];

async function newShop(products: Body[] = [], features: Body[] = []) {
  const seller = await app.newOrganization();
  const by = callerOf(app, seller);
  const send = (method: string, path: string, body: Body) => app.request(method, path, body, { key: seller.testKey });
  await by.moveTo(instant('2026-04-01'));
  const tokens = meter('tokens', 'Tokens', { slug: 'any-model', unitPrice: 1, usageEventsPerUnit: 1000 });
  const prices = [...tokens.prices, ...byModel, per1000('flat', 5)];
  const structure = {
    features,
    products: [plan('free', 0), plan('pro', 2000), ...products],
    usageMeters: [{ ...tokens, prices }],
    resources: [],
  };
  const body = { name: 'Models', isDefault: true, ...structure };
  const { pricingModel: model } = await by.post('/pricing-models/setup', body);
  const slugs = new Map(model.usageMeters[0].prices.map((price: Body) => [price.id, price.slug]));
  const slugOf = async ({ priceId }: Body): Promise<string> => {
    if (!slugs.has(priceId)) slugs.set(priceId, (await by.get(`/prices/${priceId}`)).price.slug);
    return slugs.get(priceId) as string;
  };
  let count = 0;
  const join = async (slug = 'pro') => {
    count += 1;
    const { customerId, externalId } = await newCustomer(by, `caller ${count}`, { token: 'pm_card_visa' });
    const { subscription } = await by.post('/subscriptions', { customerId, priceSlug: `${slug}-monthly` });
    const event = (amount: number, properties?: Body, how: Body = { usageMeterSlug: 'tokens' }) => {
      count += 1;
      const subscriptionId = 'customerExternalId' in how ? undefined : subscription.id;
      return { subscriptionId, transactionId: `use ${count}`, amount, properties, ...how };
    };
    const use = async (...given: Parameters<typeof event>): Promise<string> =>
      slugOf((await by.post('/usage-events', { usageEvent: event(...given) })).usageEvent);
    return { id: subscription.id as string, externalId, event, use };
  };
  const upcoming = async (id: string): Promise<Body> =>
    (await by.get(`/invoices/upcoming?subscriptionId=${id}`)).invoice;
  return { by, send, model, structure, slugOf, join, upcoming, meterId: model.usageMeters[0].id as string };
}

test('an AI API sells tokens by model and region', async (t) => {
  const { by, send, slugOf, join, upcoming } = await newShop();

  await t.test('each event is rated by the price with the most matching properties, and is billed at it', async () => {
    const { id, externalId, event, use } = await join();
    // From the second time on, the prices are known to the process.
    for (let round = 0; round < 3; round++) {
      assert.equal(await use(1000, { model: 'gpt-5' }), 'gpt-5');
      assert.equal(await use(1000, { model: 'gpt-5-mini', region: 'eu' }), 'gpt-5-mini');
      assert.equal(await use(1000, { model: 'gpt-5', region: 'eu', user: 7 }), 'gpt-5-eu');
      assert.equal(await use(1000, { model: 'gpt-5-2026', region: 'eu' }), 'gpt-5');
      assert.equal(await use(1000, { model: 'llama' }), 'any-model');
      assert.equal(await use(1000), 'any-model');
    }
    const named = { customerExternalId: externalId, usageMeterSlug: 'tokens' };
    assert.equal(await use(1000, { model: 'gpt-5' }, named), 'gpt-5');
    const usageEvents = [event(1000, { model: 'gpt-5-mini' }), event(1000, { model: 'gpt-5', region: 'eu' })];
    const { usageEvents: stored } = await by.post('/usage-events/bulk', { usageEvents });
    assert.deepEqual(await Promise.all(stored.map(slugOf)), ['gpt-5-mini', 'gpt-5-eu']);
    // gpt-5: 7 x 10, in the EU: 4 x 12, gpt-5-mini: 4 x 2, the rest: 6 x 1.
    const { invoice, invoiceLineItems } = await by.get(`/invoices/upcoming?subscriptionId=${id}`);
    assert.equal(invoice.total, 2000 + 132);
    const amounts = await Promise.all(
      invoiceLineItems.map(async (line: Body) => [await slugOf(line), line.price * line.quantity, line.description]),
    );
    assert.deepEqual(amounts.toSorted(), [
      ['any-model', 6, '6,000 tokens at USD 0.01 per thousand'],
      ['gpt-5', 70, '7,000 tokens (gpt-5 or gpt-5-2026) at USD 0.10 per thousand'],
      ['gpt-5-eu', 48, '4,000 tokens (gpt-5, eu) at USD 0.12 per thousand'],
      ['gpt-5-mini', 8, '4,000 tokens (gpt-5-mini) at USD 0.02 per thousand'],
      ['pro-monthly', 2000, 'pro, 1 May – 1 Jun 2026'],
    ]);
  });

  await t.test('credits cover units in the order in which they arrive, whatever their price', async () => {
    const { id, event, use } = await join();
    const grant = { subscriptionId: id, usageMeterSlug: 'tokens', amount: 3000 };
    const granted = await send('POST', '/usage-credits', { usageCredit: { ...grant, reason: 'a gift' } });
    assert.equal(granted.status, 200, JSON.stringify(granted.body));
    await use(2000, { model: 'llama' });
    await use(2000, { model: 'gpt-5' });
    const { usageEvent } = await by.post('/usage-events', { usageEvent: event(1000, { model: 'gpt-5-mini' }) });
    assert.equal(await slugOf(usageEvent), 'gpt-5-mini');
    // 1,000 of gpt-5 and 1,000 of gpt-5-mini are left.
    assert.equal((await upcoming(id)).total, 2000 + 10 + 2);
  });

  await t.test('an event that names a price is rated by it, if it matches', async () => {
    const { id, event, use } = await join();
    assert.equal(await use(1000, { model: 'gpt-5' }, { priceSlug: 'flat' }), 'flat');
    assert.equal(await use(1000, { model: 'gpt-5', region: 'eu' }, { priceSlug: 'gpt-5' }), 'gpt-5');
    for (const properties of [{ model: 'gpt-4' }, { region: 'eu' }, undefined]) {
      const usageEvent = event(1000, properties, { priceSlug: 'gpt-5' });
      const { status, body } = await send('POST', '/usage-events', { usageEvent });
      assert.deepEqual([status, body.issues[0].path], [400, ['usageEvent', 'properties', 'model']]);
      assert.match(body.message, /must be one of gpt-5, gpt-5-2026: price gpt-5 rates no other event/);
    }
    assert.equal((await upcoming(id)).total, 2000 + 5 + 10);
  });

  await t.test('consuming is decided by units, and billed by price', async () => {
    const { id, event } = await join();
    await by.post('/usage-credits', {
      usageCredit: { subscriptionId: id, usageMeterSlug: 'tokens', amount: 1000, reason: 'a gift' },
    });
    const consume = (amount: number) =>
      send('POST', '/usage-events/consume', { usageEvent: event(amount, { model: 'gpt-5' }) });
    const first = await consume(600);
    assert.equal(await slugOf(first.body.usageEvent), 'gpt-5');
    assert.deepEqual([first.body.usageBalance.availableBalance, (await consume(600)).status], [400, 402]);
  });

  await t.test('a hold has no properties, so it names a price without conditions', async () => {
    const { id } = await join();
    await by.post('/usage-credits', {
      usageCredit: { subscriptionId: id, usageMeterSlug: 'tokens', amount: 1000, reason: 'a gift' },
    });
    const hold = (how: Body) =>
      send('POST', '/holds', { hold: { subscriptionId: id, amount: 10, expiresAt: instant('2026-04-05'), ...how } });
    for (const way of [{ usageMeterSlug: 'tokens' }, { meter: 'tokens' }, { priceSlug: 'gpt-5' }]) {
      const { status, body } = await hold(way);
      assert.deepEqual([status, body.issues?.[0].path], [400, ['hold', Object.keys(way)[0]]], JSON.stringify(body));
    }
    assert.equal((await hold({ priceSlug: 'any-model' })).status, 200);
  });

  await t.test('the invoice of the period has a line for each price', async () => {
    const { id, use } = await join();
    await use(3000, { model: 'gpt-5' });
    await use(5000, { model: 'gpt-5-mini' });
    await use(2000, { model: 'llama' });
    await by.moveTo(instant('2026-05-01'));
    const { data } = await by.get(`/invoices?subscriptionId=${id}&limit=10`);
    const totals = data.map(({ total }: Body) => total as number);
    assert.ok(totals.includes(2000 + 30 + 10 + 2), JSON.stringify(totals));
  });
  await assertSound(app);
});

test('a plan with a rate of its own rates what no condition matches', async () => {
  const own = plan('own', 2000, [], { product: { usagePrices: [{ usageMeterSlug: 'tokens', priceSlug: 'flat' }] } });
  const { send, structure, join } = await newShop([own]);
  const { use } = await join('own');
  for (let round = 0; round < 2; round++) {
    assert.equal(await use(1000, { model: 'llama' }), 'flat');
    assert.equal(await use(1000, { model: 'gpt-5' }), 'gpt-5');
  }
  const wrong = plan('wrong', 1, [], { product: { usagePrices: [{ usageMeterSlug: 'tokens', priceSlug: 'gpt-5' }] } });
  const setup = { name: 'Wrong', ...structure, products: [wrong] };
  const { status, body } = await send('POST', '/pricing-models/setup', setup);
  assert.deepEqual([status, body.issues[0].path.slice(-2)], [400, [0, 'priceSlug']]);
  assert.match(body.message, /without conditions/);
  const product = { name: 'Late', slug: 'late', usagePrices: wrong.product.usagePrices };
  const late = await send('POST', '/products', { product, price: plan('late', 1).price });
  assert.deepEqual([late.status, late.body.issues[0].path], [400, ['product', 'usagePrices', 0, 'priceSlug']]);
});

test('prices of a usage meter tell events apart', async (t) => {
  const { by, send, model, structure, join, meterId } = await newShop();
  const price = (slug: string, where: Body | null, more: Body = {}) => {
    return { price: { type: 'usage', usageMeterId: meterId, slug, unitPrice: 1, where, ...more } };
  };
  const refused = async (body: Body, path: string[], words: RegExp) => {
    const answer = await send('POST', '/prices', body);
    assert.deepEqual([answer.status, answer.body.issues?.[0].path], [400, path], JSON.stringify(answer.body));
    assert.match(answer.body.message, words);
  };

  await t.test('one that could tie with another is refused when it is made or activated', async () => {
    await refused(price('late', { model: ['gpt-4', 'gpt-5'] }), ['price', 'where'], /from those of gpt-5:/);
    await refused(price('late', { region: ['us'] }), ['price', 'where'], /some event meets both/);
    const { price: asleep } = await by.post('/prices', price('asleep', { model: ['gpt-5'] }, { active: false }));
    const { status, body } = await send('PUT', `/prices/${asleep.id}`, { price: { active: true } });
    assert.deepEqual([status, body.issues[0].path], [400, ['price', 'active']]);
    const tied = structuredClone(structure);
    tied.usageMeters[0]?.prices.push(per1000('late', 1, { model: ['gpt-5-mini'] }) as never);
    const setUp = await send('POST', '/pricing-models/setup', { name: 'Tied', ...tied });
    assert.deepEqual([setUp.status, setUp.body.issues[0].path], [400, ['usageMeters', 0, 'prices', 5, 'where']]);
    const updated = await send('PUT', `/pricing-models/${model.id}`, { pricingModel: tied });
    assert.equal(updated.status, 400, JSON.stringify(updated.body));
  });

  await t.test('of many that are made at once, one is', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => send('POST', '/prices', price(`many ${n}`, { model: ['o9', `o9-${n}`] }))),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(400)]);
    // A twin that no request makes.
    const insert = sql`
      insert into prices select (jsonb_populate_record(p, '{"id": "price_twin", "slug": "twin"}')).* from prices p
       where slug = 'gpt-5' and usage_meter_id = ${meterId} and active`;
    await assert.rejects(insert.execute(app.owner), { constraint: 'prices_conditions_apart' });
  });

  await t.test('the default price has no conditions, and conditions never change', async () => {
    const isDefault = true;
    await refused(
      price('late', { model: ['x'] }, { isDefault }),
      ['price', 'isDefault'],
      /default price rates the rest/,
    );
    const { price: made } = await by.post('/prices', price('made', { model: ['b', 'a', 'b', 'c'] }));
    assert.deepEqual(made.where, { model: ['a', 'b', 'c'] });
    for (const change of [{ isDefault }, { where: { model: ['z'] } }, { where: null }]) {
      const { status, body } = await send('PUT', `/prices/${made.id}`, { price: change });
      assert.deepEqual([status, body.issues[0].path], [400, ['price', Object.keys(change)[0]]]);
    }
    const same = await by.put(`/prices/${made.id}`, { price: { where: { model: ['c', 'b', 'a'] }, name: 'Made' } });
    assert.equal(same.price.name, 'Made');
    const bad: [Body, string][] = [
      [{}, 'must name a property'],
      [{ model: [] }, 'model'],
      [{ model: 'gpt-5' }, 'model'],
      [{ a: ['1'], b: ['1'], c: ['1'], d: ['1'], e: ['1'], f: ['1'] }, 'at most 5'],
    ];
    for (const [where, words] of bad) await refusedWith(where, words);
    async function refusedWith(where: Body, words: string) {
      const { status, body } = await send('POST', '/prices', price('late', where));
      assert.equal(status, 400);
      assert.ok(JSON.stringify(body).includes(words), JSON.stringify(body));
    }
  });

  await t.test('a new one rates the next event, and one that is gone rates none', async () => {
    const { use } = await join();
    for (let round = 0; round < 2; round++) assert.equal(await use(1, { model: 'late' }), 'any-model');
    const { price: made } = await by.post('/prices', price('late', { model: ['late'] }));
    for (let round = 0; round < 2; round++) assert.equal(await use(1, { model: 'late' }), 'late');
    await by.put(`/prices/${made.id}`, { price: { active: false } });
    for (let round = 0; round < 2; round++) assert.equal(await use(1, { model: 'late' }), 'any-model');
  });

  await t.test('conditions go through export, setup, update and clone', async () => {
    const { pricingModel: exported } = await by.get(`/pricing-models/${model.id}/export`);
    const shown = exported.usageMeters[0].prices.find(({ slug }: Body) => slug === 'gpt-5-eu');
    assert.deepEqual(shown.where, { model: ['gpt-5'], region: ['eu'] });
    await by.put(`/pricing-models/${model.id}`, { pricingModel: exported });
    const { changes } = await by.post('/pricing-models/apply', exported);
    assert.deepEqual(changes, []);
    const { pricingModel: again } = await by.post('/pricing-models/setup', {
      ...exported,
      isDefault: false,
      name: 'Again',
    });
    const { pricingModel: second } = await by.get(`/pricing-models/${again.id}/export`);
    assert.deepEqual(second, { ...exported, isDefault: false, name: 'Again' });
    const { pricingModel: clone } = await by.post(`/pricing-models/${model.id}/clone`, { name: 'Clone' });
    const copy = clone.usageMeters[0].prices.find(({ slug }: Body) => slug === 'gpt-5-eu');
    assert.deepEqual(copy.where, shown.where);
    // Other values are other terms: the price ends, and another one takes its slug.
    const wider = structuredClone(exported);
    const changed = wider.usageMeters[0].prices.find(({ slug }: Body) => slug === 'gpt-5-mini');
    changed.where = { model: ['gpt-5-mini', 'gpt-5-nano'] };
    await by.put(`/pricing-models/${model.id}`, { pricingModel: wider });
    const { data } = await by.get('/prices?slug=gpt-5-mini');
    const ofModel = data.filter((each: Body) => each.usageMeterId === meterId).map((each: Body) => each.active);
    assert.deepEqual(ofModel.toSorted(), [false, true]);
    const { use } = await join();
    assert.equal(await use(1, { model: 'gpt-5-nano' }), 'gpt-5-mini');
  });
  await assertSound(app);
});

test('credits of a plan cover the usage of all prices of their meter', async () => {
  const feature = credits('included', 5000, 'tokens');
  const { join, upcoming } = await newShop([plan('full', 3000, ['included'])], [feature]);
  const { id, use } = await join('full');
  await use(4000, { model: 'gpt-5' });
  await use(3000, { model: 'gpt-5-mini' });
  // 1,000 of gpt-5-mini are covered, and 2,000 are 4 cents.
  assert.equal((await upcoming(id)).total, 3000 + 4);
});

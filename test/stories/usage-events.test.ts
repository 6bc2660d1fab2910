import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createApp } from '../../src/app.ts';
import { createApiKey } from '../../src/organizations/actions.ts';
import { anyId } from '../support/any-id.ts';
import { insertFixture, nameHere } from '../support/fixtures.ts';
import { type Body, send as sendTo, startTestApp } from '../support/harness.ts';
import { assertEventsAddUp, assertLedgerAddsUp } from '../support/ledger-invariants.ts';

const app = await startTestApp();
const now = Date.parse('2026-04-10T12:00:00Z');
await app.setClock(now);
const world = await insertFixture(app, { now: now - 1000 });
const { subscriptionId } = world;
const max = 9_007_199_254_740_991;

let count = 0;
/** An event that is accepted, but for what is changed. */
function event(change: object = {}) {
  count += 1;
  return { subscriptionId, transactionId: `transaction ${count}`, amount: 1, priceSlug: 'call-overage', ...change };
}

const bulk = (usageEvents: unknown) => app.request('POST', '/usage-events/bulk', { usageEvents });
const record = async (usageEvents: unknown): Promise<Body[]> =>
  (await app.post('/usage-events/bulk', { usageEvents })).usageEvents;
const send = async (change: object): Promise<Body> =>
  (await app.post('/usage-events', { usageEvent: event(change) })).usageEvent;

/** The third event of a request is refused, with the path of what is wrong, and nothing of the request is stored in one cell. */
async function assertRefused(change: object, status: number, field: string): Promise<string> {
  const good = event();
  const answer = await bulk([good, event(), event(change)]);
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  const path = answer.body.issues[0].path.join('.');
  assert.equal(path, field === '' ? 'usageEvents.2' : `usageEvents.2.${field}`);
  assert(answer.body.message.includes(path), `${answer.body.message} names ${path}`);
  const single = await app.request('POST', '/usage-events', { usageEvent: event(change) });
  assert.equal(single.status, status);
  assert.equal(single.body.issues[0].path.join('.'), field === '' ? 'usageEvent' : `usageEvent.${field}`);
  const stored = app.owner.selectFrom('usageEvents').where('transactionId', '=', good.transactionId).select('id');
  // Another cell has stored its part where the refused event names nobody of its own.
  assert.equal((await stored.execute()).length, answer.body.stored?.includes(0) ? 1 : 0);
  return answer.body.message;
}

async function used(meterId = world.meterId): Promise<bigint> {
  const row = await app.owner
    .selectFrom('ledgerAccounts')
    .select('used')
    .where('subscriptionId', '=', subscriptionId)
    .where('usageMeterId', '=', meterId)
    .executeTakeFirst();
  return row?.used ?? 0n;
}

test('an event is answered with all that is known about it, and can be read and listed', async () => {
  const usageEvent = await send({ transactionId: 'first', amount: 7, properties: { route: '/a' } });
  assert.deepEqual(usageEvent, {
    id: usageEvent.id,
    createdAt: now,
    updatedAt: now,
    livemode: false,
    pricingModelId: world.pricingModelId,
    customerId: world.customerId,
    subscriptionId,
    usageMeterId: world.meterId,
    priceId: world.usagePriceId,
    billingPeriodId: world.billingPeriodId,
    transactionId: 'first',
    amount: 7,
    usageDate: now,
    properties: { route: '/a' },
  });
  assert.match(usageEvent.id, /^usage_event_[0-9A-Za-z]{21}$/);
  assert.deepEqual(await app.get(`/usage-events/${usageEvent.id}`), { usageEvent });
  for (const filter of [`customerId=${world.customerId}`, `subscriptionId=${subscriptionId}`]) {
    assert.deepEqual((await app.get(`/usage-events?${filter}&usageMeterId=${world.meterId}`)).data, [usageEvent]);
  }
  assert.deepEqual((await app.get(`/usage-events?usageMeterId=${world.distinctMeterId}`)).data, []);
  assert.equal((await app.request('GET', '/usage-events/usage_event_unknown')).status, 404);
});

test('events are answered, and get their ids, in the order in which they are sent', async () => {
  const sent = ['z', 'a', 'm'].map((letter) => event({ transactionId: `order ${letter}` }));
  const answered = await record(sent);
  assert.deepEqual(
    answered.map((each) => each.transactionId),
    ['order z', 'order a', 'order m'],
  );
  const ids = answered.map(({ id }) => id);
  assert.deepEqual(ids, [...ids].sort());
});

test('a list of no events is answered with none, by itself and under a key', async () => {
  assert.deepEqual(await record([]), []);
  const headers = { 'idempotency-key': 'none' };
  for (const path of ['/usage-events/bulk', '/usage-events/bulk?dryRun=true'])
    assert.deepEqual(await app.post(path, { usageEvents: [] }, { headers }), { usageEvents: [] });
});

test('a price by id or slug and a meter by id or slug lead to the same price', async () => {
  const ways = [
    { priceSlug: undefined, priceId: world.usagePriceId },
    { priceSlug: 'call-overage' },
    { priceSlug: null, usageMeterId: world.meterId },
    { priceSlug: undefined, usageMeterSlug: 'api-calls' },
  ];
  for (const { priceId, usageMeterId } of await record(ways.map(event))) {
    assert.deepEqual({ priceId, usageMeterId }, { priceId: world.usagePriceId, usageMeterId: world.meterId });
  }
});

test('none or several of the four ways are refused', async () => {
  const all = { priceId: 'x', priceSlug: 'x', usageMeterId: 'x', usageMeterSlug: 'x' };
  await assertRefused({ priceSlug: undefined }, 400, '');
  await assertRefused(all, 400, '');
  for (const [first] of Object.entries(all)) {
    for (const [second] of Object.entries(all).filter(([key]) => key !== first)) {
      await assertRefused({ priceSlug: undefined, [first]: 'x', [second]: 'x' }, 400, '');
    }
  }
});

test('what is no active usage price or meter of the pricing model is refused', async () => {
  const priceSlug = undefined;
  const foreign = await insertFixture(app, { now });
  await assertRefused({ priceSlug: 'unknown' }, 404, 'priceSlug');
  await assertRefused({ priceSlug, priceId: 'price_unknown' }, 404, 'priceId');
  await assertRefused({ priceSlug, priceId: foreign.usagePriceId }, 404, 'priceId');
  await assertRefused({ priceSlug, usageMeterId: foreign.meterId }, 404, 'usageMeterId');
  await assertRefused({ priceSlug, usageMeterSlug: 'unknown' }, 404, 'usageMeterSlug');
  await assertRefused({ priceSlug: 'pro-monthly' }, 404, 'priceSlug');
  const message = await assertRefused({ priceSlug, priceId: world.priceId }, 400, 'priceId');
  assert.match(message, /must be a usage price, not a subscription price/);
});

test('an inactive price is found by its id and no more by its slug', async () => {
  const price = await app.owner
    .selectFrom('prices')
    .selectAll()
    .where('id', '=', world.usagePriceId)
    .executeTakeFirstOrThrow();
  const priceId = anyId('price');
  const old = { ...price, id: priceId, slug: 'old', active: false, isDefault: false };
  await app.owner.insertInto('prices').values(old).execute();
  await assertRefused({ priceSlug: 'old' }, 404, 'priceSlug');
  assert.equal((await send({ priceSlug: undefined, priceId })).priceId, priceId);
});

test('a meter without a default price is refused', async () => {
  const { isMeasured: _, ...meter } = await app.owner
    .selectFrom('usageMeters')
    .selectAll()
    .where('id', '=', world.meterId)
    .executeTakeFirstOrThrow();
  const bare = { ...meter, id: anyId('usageMeter'), slug: 'bare' };
  await app.owner.insertInto('usageMeters').values(bare).execute();
  const message = await assertRefused({ priceSlug: undefined, usageMeterSlug: 'bare' }, 400, 'usageMeterSlug');
  assert.match(message, /no default price/);
});

test('two pricing models give one slug two prices in one request', async () => {
  const other = await insertFixture(app, { now });
  const answered = await record([event(), event({ subscriptionId: other.subscriptionId })]);
  assert.deepEqual(
    answered.map(({ priceId, customerId }) => [priceId, customerId]),
    [
      [world.usagePriceId, world.customerId],
      [other.usagePriceId, other.customerId],
    ],
  );
});

test('a subscription that is unknown, out of sight or over is refused, and one that waits for its payment is not', async () => {
  const { liveEnvironmentId } = app;
  const live = await insertFixture(app, { environmentId: liveEnvironmentId, now });
  await assertRefused({ subscriptionId: 'sub_unknown' }, 404, 'subscriptionId');
  await assertRefused({ subscriptionId: live.subscriptionId }, 404, 'subscriptionId');
  const own = await insertFixture(app, { now });
  const become = (change: object) =>
    app.owner.updateTable('subscriptions').set(change).where('id', '=', own.subscriptionId).execute();
  for (const status of ['incomplete', 'trialing', 'past_due', 'unpaid', 'paused']) {
    const arrears = status === 'past_due' || status === 'unpaid' ? status : 'none';
    await become({ status, arrears, pausedAt: status === 'paused' ? now : null });
    assert.equal((await send({ subscriptionId: own.subscriptionId })).subscriptionId, own.subscriptionId);
  }
  const expired = await insertFixture(app, { now });
  const end = { status: 'incomplete_expired' };
  await app.owner.updateTable('subscriptions').set(end).where('id', '=', expired.subscriptionId).execute();
  await assertRefused({ subscriptionId: expired.subscriptionId }, 400, 'subscriptionId');
  await become({ status: 'canceled', arrears: 'none', canceledAt: now, pausedAt: null });
  const message = await assertRefused({ subscriptionId: own.subscriptionId }, 400, 'subscriptionId');
  assert.match(message, /has ended: its status is canceled/);
});

test('the subscription of an archived customer is refused', async () => {
  const own = await insertFixture(app, { now });
  await app.owner.updateTable('customers').set({ archived: true }).where('id', '=', own.customerId).execute();
  const message = await assertRefused({ subscriptionId: own.subscriptionId }, 400, 'subscriptionId');
  assert.match(message, /is archived/);
});

test('a key that is pinned to another pricing model sees neither the subscription nor its events', async () => {
  const other = await insertFixture(app, { now });
  const scope = { environmentId: app.testEnvironmentId, livemode: false, name: 'pinned' };
  const { token: key } = await createApiKey(app.owner, { ...scope, pricingModelId: other.pricingModelId }, now);
  const usageEvent = await send({});
  const write = await app.request('POST', '/usage-events', { usageEvent: event() }, { key });
  assert.equal(write.status, 404);
  assert.equal((await app.request('GET', `/usage-events/${usageEvent.id}`, undefined, { key })).status, 404);
});

/** A customer with an external id of its own, and its present subscription. */
async function insertCustomer() {
  const own = await insertFixture(app, { now });
  const externalId = nameHere(app, `customer ${own.customerId}`);
  await app.owner.updateTable('customers').set({ externalId }).where('id', '=', own.customerId).execute();
  await app.owner.updateTable('subscriptions').set({ exclusive: false }).where('id', '=', own.subscriptionId).execute();
  const become = (id: string, change: object) =>
    app.owner.updateTable('subscriptions').set(change).where('id', '=', id).execute();
  const subscribe = async (): Promise<string> => {
    const row = app.owner.selectFrom('subscriptions').selectAll().where('id', '=', own.subscriptionId);
    const id = anyId('subscription');
    const copy = { ...(await row.executeTakeFirstOrThrow()), id, billingAnchor: JSON.stringify('anniversary') };
    const next = { ...copy, status: 'active', canceledAt: null };
    await app.owner.insertInto('subscriptions').values(next).execute();
    return id;
  };
  const by = { subscriptionId: undefined, customerExternalId: externalId };
  return { ...own, externalId, by, become, subscribe, end: { status: 'canceled', canceledAt: now } };
}

test('usage that names a customer, by its id or by yours, is of its one current subscription', async () => {
  const { customerId, subscriptionId: current, by } = await insertCustomer();
  const byId = { subscriptionId: undefined, customerId };
  for (const address of [byId, by, by]) assert.equal((await send(address)).subscriptionId, current);
  const events = await record([
    event(byId),
    event({ ...by, priceSlug: undefined, usageMeterSlug: 'api-calls' }),
    event(),
  ]);
  assert.deepEqual(
    events.map((each) => each.subscriptionId),
    [current, current, subscriptionId],
  );
  const dry = await app.post('/usage-events?dryRun=true', { usageEvent: event(by) });
  assert.equal(dry.usageEvent.subscriptionId, current);
  const hold = { ...by, meter: 'api-calls', amount: 1, expiresAt: now + 1000 };
  for (const [path, body] of [
    ['/usage-events/consume', { usageEvent: event(by) }],
    ['/holds', { hold }],
  ] as const) {
    const { status, body: answer } = await app.request('POST', path, body);
    // Five were used without credits.
    assert.deepEqual([status, answer.usageBalance.availableBalance], [402, -5]);
    assert.equal(answer.usageBalance.subscriptionId, current);
  }
});

test('usage names exactly one of subscriptionId, customerId and customerExternalId', async () => {
  const { customerId, externalId: customerExternalId } = await insertCustomer();
  const none = { subscriptionId: undefined };
  for (const address of [none, { customerId }, { customerExternalId }, { ...none, customerId, customerExternalId }]) {
    const message = await assertRefused(address, 400, 'subscriptionId');
    assert.match(message, /send exactly one of subscriptionId, customerId, customerExternalId/);
  }
});

test('usage of a customer who is unknown, archived, or there in two pricing models is refused', async () => {
  const { customerId, externalId, by } = await insertCustomer();
  const of = (change: object) => ({ ...by, customerExternalId: undefined, ...change });
  await assertRefused(of({ customerId: 'cust_unknown' }), 404, 'customerId');
  await assertRefused(of({ customerExternalId: 'nobody' }), 404, 'customerExternalId');
  // Each fixture has a customer acme in a pricing model of its own.
  assert.match(await assertRefused(of({ customerExternalId: 'acme' }), 400, 'customerExternalId'), /send customerId/);
  await app.owner.updateTable('customers').set({ archived: true }).where('id', '=', customerId).execute();
  assert.match(await assertRefused(of({ customerId }), 400, 'customerId'), /is archived/);
  assert.match(await assertRefused(of({ customerExternalId: externalId }), 400, 'customerExternalId'), /is archived/);
});

test('usage of a customer with no current subscription is refused, and so is that of two; both are listed', async () => {
  const { subscriptionId: first, meterId, pricingModelId, itemId, by, become, subscribe, end } = await insertCustomer();
  assert.equal((await send(by)).subscriptionId, first);
  const second = await subscribe();
  const several = await assertRefused(by, 400, 'customerExternalId');
  assert(several.includes(`${first} (active), ${second} (active)`), several);
  // The subscription whose plan grants credits of the meter has it, of two.
  const feature = { environmentId: app.testEnvironmentId, pricingModelId, createdAt: now, updatedAt: now };
  const grant = { type: 'usage_credit_grant', usageMeterId: meterId, amount: 10n, renewalFrequency: 'once' };
  const featureId = anyId('feature');
  await app.owner
    .insertInto('features')
    .values({ ...feature, ...grant, id: featureId, slug: 'credits', name: 'Credits', description: '', active: true })
    .execute();
  await app.copyCatalogs();
  await app.owner
    .insertInto('subscriptionItemFeatures')
    .values({
      ...feature,
      ...grant,
      id: anyId('subscriptionItemFeature'),
      featureId,
      subscriptionId: first,
      subscriptionItemId: itemId,
      manuallyCreated: false,
    })
    .execute();
  for (let round = 0; round < 3; round++) assert.equal((await send(by)).subscriptionId, first);
  const users = { ...by, priceSlug: 'user-overage', properties: { user: 1 } };
  assert((await assertRefused(users, 400, 'customerExternalId')).includes(second));
  await become(first, end);
  assert.equal((await send(by)).subscriptionId, second);
  await become(second, { status: 'paused', pausedAt: now });
  const none = await assertRefused(by, 400, 'customerExternalId');
  assert.match(none, new RegExp(`has no current subscription .*: ${second} \\(paused\\)`));
});

test('usage of a customer follows it to its next subscription, also in a process that knows the one before', async () => {
  const { subscriptionId: first, by, become, subscribe, end } = await insertCustomer();
  const other = await createApp({ database: app.database, migrated: async () => true });
  const urls = [app.url, await other.listen({ host: '127.0.0.1', port: 0 })];
  const use = async (url: string, change: object = {}): Promise<Body> => {
    const usageEvent = event({ ...by, ...change });
    const { body } = await sendTo(url, 'POST', '/usage-events', { usageEvent }, { key: app.testKey });
    return body.usageEvent;
  };
  const early = { transactionId: 'before the change' };
  const stored = await use(app.url, early);
  for (const url of [...urls, ...urls]) assert.equal((await use(url)).subscriptionId, first);
  await become(first, end);
  const second = await subscribe();
  for (const url of [...urls, ...urls]) assert.equal((await use(url)).subscriptionId, second);
  // A repeat is answered as it was stored, although its subscription has ended.
  for (const url of urls) assert.deepEqual(await use(url, early), stored);
  await subscribe();
  for (const url of urls) assert.equal(await use(url), undefined);
  await other.close();
});

test('amount: 1 and 2^53-1 are accepted, and 0, 2^53, negatives, fractions and nothing are not', async () => {
  const before = await used();
  assert.equal((await send({ amount: 1 })).amount, 1);
  assert.equal((await send({ amount: max })).amount, max);
  assert.equal((await send({ amount: '12' })).amount, 12);
  assert.equal(await used(), before + BigInt(max) + 13n);
  for (const amount of [0, max + 1, -1, 1.5, '', 'many', null, undefined]) {
    await assertRefused({ amount }, 400, 'amount');
  }
});

test('usageDate: anything from -(2^53-1) to 2^53-1 or an ISO text is kept as sent, beyond is refused', async () => {
  for (const usageDate of [0, 1, -1, max, -max]) {
    const { usageDate: answered, billingPeriodId } = await send({ usageDate });
    assert.deepEqual([answered, billingPeriodId], [usageDate, world.billingPeriodId]);
  }
  assert.equal((await send({ usageDate: '1970-01-01T00:00:01Z' })).usageDate, 1000);
  for (const usageDate of [max + 1, -max - 1, 1.5, 'yesterday', null]) {
    await assertRefused({ usageDate }, 400, 'usageDate');
  }
});

test('transactionId: 1 to 255 characters, spaces included', async () => {
  for (const transactionId of ['x', ' ', 'é'.repeat(255)]) {
    assert.equal((await send({ transactionId })).transactionId, transactionId);
  }
  for (const transactionId of ['', 'x'.repeat(256), 5, null, undefined]) {
    await assertRefused({ transactionId }, 400, 'transactionId');
  }
});

test('properties: an object as sent, or null; {} when absent; 16 KiB of JSON at the most', async () => {
  const sent = { z: 1, a: { deep: [1, null, { snake_case: true }] } };
  const { id, properties } = await send({ properties: sent });
  assert.equal(JSON.stringify(properties), JSON.stringify(sent));
  assert.equal(JSON.stringify((await app.get(`/usage-events/${id}`)).usageEvent.properties), JSON.stringify(sent));
  assert.equal((await send({ properties: null })).properties, null);
  assert.deepEqual((await send({})).properties, {});
  // {"a":"..."} has eight bytes around the text.
  const longest = 'x'.repeat(16 * 1024 - 8);
  assert.equal((await send({ properties: { a: longest } })).properties.a, longest);
  await assertRefused({ properties: { a: `${longest}x` } }, 400, 'properties');
  await assertRefused({ properties: { a: 'é'.repeat(8 * 1024) } }, 400, 'properties');
  for (const wrong of ['text', 5, [1]]) await assertRefused({ properties: wrong }, 400, 'properties');
});

test('a request holds at most 10,000 events; one without events is answered with none', async () => {
  assert.deepEqual(await record([]), []);
  assert.equal((await bulk(undefined)).status, 400);
  const before = await used();
  const most = Array.from({ length: 10_000 }, () => event());
  assert.equal((await record(most)).length, 10_000);
  assert.equal(await used(), before + 10_000n);
  assert.equal((await bulk([...most, event()])).status, 400);
});

test('after the period the event belongs to the next one, and without a period it is accepted too', async () => {
  const own = await insertFixture(app, { now });
  const { billingPeriodId } = await send({ subscriptionId: own.subscriptionId });
  assert.equal(billingPeriodId, own.billingPeriodId);
  // The renewal that makes the next period may be late by a moment: then the event brings it about.
  await app.setClock(own.periodEnd + 1);
  const next = await send({ subscriptionId: own.subscriptionId });
  const period = await app.owner
    .selectFrom('billingPeriods')
    .select('startAt')
    .where('id', '=', next.billingPeriodId)
    .executeTakeFirst();
  assert.equal(period?.startAt, own.periodEnd);
  await app.setClock(now);
  const none = { currentBillingPeriodStart: null, currentBillingPeriodEnd: null };
  await app.owner.updateTable('subscriptions').set(none).where('id', '=', own.subscriptionId).execute();
  assert.equal((await send({ subscriptionId: own.subscriptionId })).billingPeriodId, null);
});

test('a dry run answers the event and stores nothing', async () => {
  const before = await used();
  const usageEvent = event({ amount: 5 });
  const answer = await app.request('POST', '/usage-events?dryRun=true', { usageEvent });
  assert.deepEqual([answer.status, answer.body.usageEvent.amount], [200, 5]);
  assert.equal((await app.request('GET', `/usage-events/${answer.body.usageEvent.id}`)).status, 404);
  assert.equal(await used(), before);
});

test('the database refuses an event of no series, of another environment, and of a transaction that it has', async () => {
  const stored = await app.owner
    .selectFrom('usageEvents')
    .selectAll()
    .where('transactionId', '=', 'first')
    .executeTakeFirstOrThrow();
  const insert = (change: object) =>
    app.owner
      .insertInto('usageEvents')
      .values({ ...stored, properties: '{}', id: anyId('event'), transactionKey: randomUUID(), ...change })
      .execute();
  for (const change of [{ seriesId: stored.seriesId + 1_000_000 }, { environmentId: app.liveEnvironmentId }]) {
    await assert.rejects(insert(change), { constraint: 'usage_events_series' });
  }
  const { transactionKey } = stored;
  await assert.rejects(insert({ transactionKey }), { constraint: 'usage_events_transaction_unique' });
});

test('the database refuses a series whose records are not there, and a second one of the same', async () => {
  const { id: _, ...series } = await app.owner
    .selectFrom('usageSeries')
    .selectAll()
    .where('subscriptionId', '=', subscriptionId)
    .where('billingPeriodId', 'is not', null)
    .limit(1)
    .executeTakeFirstOrThrow();
  const insert = (change: object) =>
    app.owner
      .insertInto('usageSeries')
      .values({ ...series, ...change })
      .execute();
  for (const column of [
    'customerId',
    'subscriptionId',
    'usageMeterId',
    'priceId',
    'billingPeriodId',
    'ledgerAccountId',
  ])
    await assert.rejects(insert({ billingPeriodId: null, [column]: 'gone' }), { code: '23503' });
  await assert.rejects(insert({ environmentId: app.liveEnvironmentId }), { code: '23503' });
  await assert.rejects(insert({}), { constraint: 'usage_series_once' });
});

test('after all of it, each account is the sum of its entries, and of its events', async () => {
  await assertLedgerAddsUp(app);
  await assertEventsAddUp(app);
});

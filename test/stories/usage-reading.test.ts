import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { pinnedKey } from '../support/pricing-models.ts';

const app = await startTestApp();
const hour = 3_600_000;
const start = Date.parse('2026-04-10T00:00:00Z');
await app.setClock(start);
const world = await insertFixture(app, { now: start });
const { subscriptionId, meterId, distinctMeterId, usagePriceId, distinctPriceId, customerId, billingPeriodId } = world;

/** A second subscription of the customer, without a billing period. */
const second = await app.owner
  .selectFrom('subscriptions')
  .selectAll()
  .where('id', '=', subscriptionId)
  .executeTakeFirstOrThrow()
  .then(async (row) => {
    const copy = { ...row, id: anyId('subscription'), exclusive: false, billingAnchor: JSON.stringify('anniversary') };
    await app.owner.insertInto('subscriptions').values(copy).execute();
    return copy.id;
  });

// 60 events in 20 hours: one every 20 minutes, and every third exactly at the beginning of an hour. Each fifth is counted
// by the meter of distinct users, each fourth other belongs to the second subscription.
const sent = Array.from({ length: 60 }, (_, n) => {
  const usageDate = start + n * (hour / 3);
  if (n % 5 === 0)
    return {
      subscriptionId,
      usageMeterId: distinctMeterId,
      transactionId: `t${n}`,
      amount: 1,
      usageDate,
      properties: { n },
    };
  return {
    subscriptionId: n % 4 === 1 ? second : subscriptionId,
    usageMeterId: meterId,
    transactionId: `t${n}`,
    amount: n,
    usageDate,
  };
});
// They arrive out of order: lists are in the order of arrival, whatever the dates.
const arrived = sent.toSorted((a, b) => ((a.usageDate * 7919) % 61) - ((b.usageDate * 7919) % 61));
const events: Body[] = [];
for (let n = 0; n < arrived.length; n += 20)
  events.push(...(await app.post('/usage-events/bulk', { usageEvents: arrived.slice(n, n + 20) })).usageEvents);
events.sort((a, b) => (a.id < b.id ? -1 : 1));

const path = (given: object) => `/usage-events?${new URLSearchParams({ ...given })}`;

/** All pages of a list, with the total that each one told. */
async function readAll(given: object, limit: number): Promise<{ ids: string[]; totals: number[] }> {
  const ids: string[] = [];
  const totals: number[] = [];
  for (let query: object | null = { ...given, limit }; query !== null; ) {
    const page: Body = await app.get(path(query));
    assert.equal(page.data.length, page.hasMore ? limit : page.data.length);
    ids.push(...page.data.map((event: Body) => event.id));
    totals.push(page.total);
    // The cursor alone brings the filters along.
    query = page.hasMore ? { cursor: page.nextCursor, limit } : null;
  }
  return { ids, totals };
}

const matching = (given: Body) =>
  events.filter(
    (event) =>
      ['customerId', 'subscriptionId', 'usageMeterId', 'priceId', 'billingPeriodId', 'transactionId'].every(
        (filter) => given[filter] === undefined || event[filter] === given[filter],
      ) &&
      (given.usageDateFrom === undefined || event.usageDate >= given.usageDateFrom) &&
      (given.usageDateTo === undefined || event.usageDate < given.usageDateTo),
  );

test('a range holds its first instant and not its last, and the total counts what lies in it', async () => {
  const range = { usageDateFrom: start + hour, usageDateTo: start + 2 * hour };
  const { data, total } = await app.get(path(range));
  // At 1:00, 1:20 and 1:40.
  assert.deepEqual(data.map((event: Body) => event.transactionId).sort(), ['t3', 't4', 't5']);
  assert.equal(total, 3);
  const broken = { usageDateFrom: '2026-04-10T01:20:00Z', usageDateTo: '2026-04-10T03:00:00.001Z' };
  assert.equal((await app.get(path(broken))).total, 6);
  const instant = { usageDateFrom: start + hour, usageDateTo: start + hour + 1 };
  assert.equal((await app.get(path(instant))).total, 1);
  assert.equal((await app.get(path({ usageDateFrom: '2026-04-10' }))).total, 60);
  assert.equal((await app.get(path({ usageDateTo: '2026-04-10' }))).total, 0);
});

test('any filters and any range, page after page, give the events that match, once each, in the order of arrival', async () => {
  const instant = fc.option(
    fc.integer({ min: -1, max: 62 }).map((third) => start + third * (hour / 3)),
    { nil: undefined },
  );
  const filters = fc.record({
    customerId: fc.constantFrom(undefined, customerId, 'cust_nobody'),
    subscriptionId: fc.constantFrom(undefined, undefined, subscriptionId, second),
    usageMeterId: fc.constantFrom(undefined, undefined, meterId, distinctMeterId),
    priceId: fc.constantFrom(undefined, undefined, usagePriceId, distinctPriceId),
    billingPeriodId: fc.constantFrom(undefined, undefined, billingPeriodId),
    transactionId: fc.constantFrom(undefined, undefined, undefined, 't7', 't10', 'none'),
    usageDateFrom: instant,
    usageDateTo: instant,
  });
  await fc.assert(
    fc.asyncProperty(filters, fc.constantFrom(1, 3, 7, 100), async (given, limit) => {
      const { usageDateFrom: from, usageDateTo: to } = given;
      fc.pre(from === undefined || to === undefined || from < to);
      const query = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const expected = matching(given).map((event) => event.id);
      const { ids, totals } = await readAll(query, limit);
      assert.deepEqual(ids, expected);
      assert(totals.every((total) => total === expected.length));
    }),
    { numRuns: 60 },
  );
});

test('a transaction is found on every meter that knows it, or on the one that is named', async () => {
  const both = { subscriptionId, transactionId: 'on both', amount: 1, properties: { user: 'a' } };
  const { usageEvents } = await app.post('/usage-events/bulk', {
    usageEvents: [
      { ...both, usageMeterId: meterId },
      { ...both, usageMeterId: distinctMeterId },
    ],
  });
  const read = async (given: object) => {
    const { data, total } = await app.get(path({ transactionId: 'on both', ...given }));
    assert.equal(data.length, total);
    return data;
  };
  assert.deepEqual(await read({}), usageEvents);
  assert.deepEqual(await read({ usageMeterId: meterId }), [usageEvents[0]]);
  assert.deepEqual(await read({ usageMeterId: 'usage_meter_none' }), []);
  assert.deepEqual(await read({ subscriptionId: second }), []);
  const first = await app.get(path({ transactionId: 'on both', limit: 1 }));
  assert.deepEqual([first.total, first.hasMore], [2, true]);
  const rest = await app.get(path({ cursor: first.nextCursor, limit: 1 }));
  assert.deepEqual([rest.data, rest.hasMore, rest.nextCursor], [[usageEvents[1]], false, undefined]);
});

test('a range that ends where it begins, or before, and a text that is no instant are refused by name', async () => {
  const refusals: [object, string][] = [
    [{ usageDateFrom: start, usageDateTo: start }, 'usageDateTo'],
    [{ usageDateFrom: start + 1, usageDateTo: start }, 'usageDateTo'],
    [{ usageDateFrom: 'yesterday' }, 'usageDateFrom'],
    [{ usageDateTo: '99999999999999999' }, 'usageDateTo'],
    [{ usageDateTo: '' }, 'usageDateTo'],
  ];
  for (const [given, field] of refusals) {
    const { status, body } = await app.request('GET', path(given));
    assert.deepEqual([status, body.issues[0].path], [400, [field]], JSON.stringify(given));
  }
  const { nextCursor } = await app.get(path({ usageDateFrom: start, limit: 1 }));
  const other = await app.request('GET', path({ cursor: nextCursor, usageDateFrom: start + 1 }));
  assert.equal(other.status, 400);
  const same = await app.get(path({ cursor: nextCursor, usageDateFrom: start, limit: 1 }));
  assert.equal(same.data.length, 1);
});

test('an event is known by its whole id only', async () => {
  const { id } = events[0];
  assert.deepEqual((await app.get(`/usage-events/${id}`)).usageEvent, events[0]);
  const short = id.slice('usage_event_'.length);
  for (const wrong of [short, `usage_credit_${short}`, `usage_event_usage_event_${short}`]) {
    const { status } = await app.request('GET', `/usage-events/${wrong}`);
    assert([400, 404].includes(status), `${wrong}: ${status}`);
  }
});

test("nobody else sees events: another organization's key none, a pinned one those of its pricing model", async () => {
  const other = await insertFixture(app, { now: start });
  const usageEvent = {
    subscriptionId: other.subscriptionId,
    usageMeterId: other.meterId,
    transactionId: 't1',
    amount: 1,
  };
  const { usageEvent: theirs } = await app.post('/usage-events', { usageEvent });
  const { testKey } = await app.newOrganization();
  const key = await pinnedKey(app, other.pricingModelId);
  const read = async (given: object, as: string) => {
    const { data, total } = await app.get(path(given), { key: as });
    return { ids: data.map((event: Body) => event.id), total };
  };
  const nothing = { ids: [], total: 0 };
  for (const given of [{}, { usageMeterId: meterId }, { transactionId: 't1' }, { usageDateFrom: start - hour }]) {
    assert.deepEqual(await read(given, testKey), nothing, JSON.stringify(given));
    assert.deepEqual(await read(given, app.liveKey), nothing);
    const pinned = await read(given, key);
    assert.deepEqual(pinned, 'usageMeterId' in given ? nothing : { ids: [theirs.id], total: 1 }, JSON.stringify(given));
  }
  assert.equal((await app.request('GET', `/usage-events/${events[0].id}`, undefined, { key })).status, 404);
  assert.equal((await app.get(path({ transactionId: 't1' }))).total, 2);
});

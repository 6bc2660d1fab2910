import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { publish } from '../../src/customers/store-events.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type EventType, eventMeanings, eventTypes } from '../../src/webhooks/event.ts';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const { pricingModelId } = await insertFixture(app);
const customer = { id: anyId('customer'), externalId: 'acme' };
const noon = instant('2026-06-01T12:00:00Z');
const minute = 60_000;
const records = {
  customer: [customer.id],
  subscription: [anyId('subscription'), anyId('subscription')],
  payment: ['p'],
  checkoutSession: ['s'],
  invoice: ['i'],
  creditNote: ['n'],
  paymentMethod: ['m'],
};

interface Told {
  readonly type: EventType;
  readonly object: string;
  readonly objectId: string;
  readonly occurredAt: number;
}

/** Tells of a record at an instant of the test clock. */
async function tell(type: EventType, objectId: string, occurredAt: number): Promise<Told> {
  const { object } = eventMeanings[type];
  await app.setClock(occurredAt);
  await app.inEnvironment((work) =>
    publish(work, [{ type, object, objectId, pricingModelId, customer, data: { id: objectId } }]),
  );
  return { type, object, objectId, occurredAt };
}

// The clock is set back in between: the order of a list is that of creation.
const minutes = [0, 1, 2, 2, 3, 5, 4, 6, 1, 7];
const told: Told[] = [];
for (const [index, at] of minutes.entries()) {
  const type = eventTypes[index % eventTypes.length] ?? 'customer.created';
  const { object } = eventMeanings[type];
  const ids = object === 'purchase' ? ['x'] : records[object];
  told.push(await tell(type, ids[index % ids.length] ?? '', noon + at * minute));
}

const seen = ({ type, object, objectId, occurredAt }: Body): Told => ({ type, object, objectId, occurredAt });
const query = (filters: Readonly<Record<string, string | number | undefined>>): string => {
  const sent = Object.entries(filters).filter(([, value]) => value !== undefined);
  return `/events?${new URLSearchParams(sent.map(([key, value]) => [key, String(value)]))}`;
};

/** All that a list answers, page by page. */
async function listAll(filters: Parameters<typeof query>[0], limit: number): Promise<{ rows: Told[]; total: number }> {
  const rows: Told[] = [];
  let page = await app.get(query({ ...filters, limit }));
  for (;;) {
    rows.push(...page.data.map(seen));
    if (!page.hasMore) return { rows, total: page.total };
    // The cursor carries the filters.
    page = await app.get(query({ cursor: page.nextCursor, limit }));
  }
}

async function refused(filters: Parameters<typeof query>[0]): Promise<Body> {
  const { status, body } = await app.request('GET', query(filters));
  assert.equal(status, 400);
  return body.issues;
}

test('events are listed from an instant on and before another: the first is in it, the last is not', async () => {
  const range = { occurredAtFrom: noon + 2 * minute, occurredAtTo: noon + 4 * minute };
  const { data, total, hasMore } = await app.get(query(range));
  assert.deepEqual([total, hasMore], [3, false]);
  assert.deepEqual(
    data.map(({ occurredAt }: Body) => (occurredAt - noon) / minute),
    [2, 2, 3],
  );
});

test('an instant is epoch milliseconds or a date-time', async () => {
  const from = await app.get(query({ occurredAtFrom: '2026-06-01T12:06:00Z' }));
  assert.equal(from.total, 2);
  assert.deepEqual(from.data, (await app.get(query({ occurredAtFrom: noon + 6 * minute }))).data);
  assert.equal((await app.get(query({ occurredAtTo: '2026-06-01T14:00:00+02:00' }))).total, 0);
});

test('a range that is empty, an instant that is none and an object of which nothing is told are refused by name', async () => {
  assert.deepEqual(await refused({ occurredAtFrom: noon, occurredAtTo: noon }), [
    { path: ['occurredAtTo'], message: 'must be after occurredAtFrom', code: 'custom' },
  ]);
  const [issue] = await refused({ occurredAtFrom: 'yesterday' });
  assert.deepEqual(issue.path, ['occurredAtFrom']);
  assert.match(issue.message, /epoch milliseconds or an ISO 8601 date-time/);
  const [object] = await refused({ object: 'taxRate' });
  assert.deepEqual(object.path, ['object']);
  assert.match(object.message, /customer.*payment.*purchase.*subscription/);
});

test('by type, object, record and time in any combination, in pages of any size, it is what a plain look finds', async () => {
  const at = fc.option(fc.integer({ min: -1, max: 9 }), { nil: undefined });
  const objectIds = [...Object.values(records).flat(), 'nobody'];
  await fc.assert(
    fc.asyncProperty(
      fc.option(fc.constantFrom(...eventTypes), { nil: undefined, freq: 2 }),
      fc.option(fc.constantFrom('customer', 'payment', 'purchase', 'subscription'), { nil: undefined, freq: 2 }),
      fc.option(fc.constantFrom(...objectIds), { nil: undefined, freq: 2 }),
      at,
      at,
      fc.integer({ min: 1, max: 11 }),
      async (type, object, objectId, from, to, limit) => {
        fc.pre(from === undefined || to === undefined || from < to);
        const [occurredAtFrom, occurredAtTo] = [from, to].map((each) =>
          each === undefined ? each : noon + each * minute,
        );
        const wanted = told.filter(
          (each) =>
            (type ?? each.type) === each.type &&
            (object ?? each.object) === each.object &&
            (objectId ?? each.objectId) === each.objectId &&
            each.occurredAt >= (occurredAtFrom ?? 0) &&
            each.occurredAt < (occurredAtTo ?? Number.MAX_SAFE_INTEGER),
        );
        const found = await listAll({ type, object, objectId, occurredAtFrom, occurredAtTo }, limit);
        assert.deepEqual(found, { rows: wanted, total: wanted.length });
      },
    ),
    { numRuns: 150 },
  );
});

test('no filter reaches the events of another environment', async () => {
  const stranger = await app.newOrganization();
  const [event] = (await app.get('/events')).data;
  const { type, object, objectId } = event;
  for (const key of [stranger.testKey, stranger.liveKey, app.liveKey]) {
    for (const filters of [
      {},
      { type },
      { object },
      { objectId },
      { occurredAtFrom: 0 },
      { objectId, occurredAtTo: 9e15 },
    ])
      assert.equal((await app.get(query(filters), { key })).total, 0);
    assert.equal((await app.request('GET', `/events/${event.id}`, undefined, { key })).status, 404);
    // A cursor opens nothing.
    const { nextCursor } = await app.get(query({ limit: 1, occurredAtFrom: 0 }));
    assert.deepEqual((await app.get(query({ cursor: nextCursor }), { key })).data, []);
  }
});

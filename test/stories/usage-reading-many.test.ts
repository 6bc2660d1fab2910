import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { type Body, startTestApp } from '../support/harness.ts';
import { insertManyEvents } from '../support/many-events.ts';
import { pinnedKey } from '../support/pricing-models.ts';

const day = 86_400_000;
const from = Date.parse('2026-04-01T00:00:00Z');
const to = from + 10 * day;

// More series than are listed one by one. Half of the events are more than are walked through in the hope of matches.
const app = await startTestApp();
const many = await insertManyEvents(app, { subscriptions: 1_100, events: 46_000, from, to });
const few = await insertManyEvents(app, {
  subscriptions: 3,
  events: 30,
  from: from - 10 * day,
  to: from,
  idsFrom: 'A',
});
await app.setClock(to);

const path = (given: object) => `/usage-events?${new URLSearchParams({ ...given })}`;

/** What a page must hold, found the slow way. */
async function expected(given: Body, limit: number): Promise<{ ids: string[]; total: number }> {
  const { pricingModelId, usageDateFrom = 0, usageDateTo = to * 2, after = '' } = given;
  const matches = sql`
    from usage_events e join usage_series s on s.id = e.series_id
   where (${pricingModelId ?? null}::text is null or s.pricing_model_id = ${pricingModelId ?? null})
     and e.usage_date >= ${usageDateFrom} and e.usage_date < ${usageDateTo}`;
  const { rows } = await sql<{ id: string }>`
    select 'usage_event_' || e.id as id ${matches} and 'usage_event_' || e.id > ${after} order by e.id limit ${limit}`.execute(
    app.owner,
  );
  const counted = await sql<{ total: number }>`select count(*) as total ${matches}`.execute(app.owner);
  return { ids: rows.map((row) => row.id), total: counted.rows[0]?.total ?? -1 };
}

/** Two pages as they must be. */
async function assertPages(given: object, expectation: object, key: string = app.testKey): Promise<void> {
  const limit = 7;
  let after = '';
  for (let query: object = { ...given, limit }, pages = 0; pages < 2; pages++) {
    const page = await app.get(path(query), { key });
    const right = await expected({ ...expectation, after }, limit);
    const ids = page.data.map((event: Body) => event.id);
    assert.deepEqual({ ids, total: page.total }, right, JSON.stringify(given));
    if (!page.hasMore) return;
    after = ids.at(-1);
    query = { cursor: page.nextCursor, limit };
  }
}

const fewModel = { pricingModelId: few.pricingModelId };
const manyModel = { pricingModelId: many.pricingModelId };
const ranges = [
  {},
  { usageDateFrom: from },
  { usageDateFrom: from + 5 * day + 1234, usageDateTo: to - day / 2 + 99 },
  { usageDateFrom: from + 8 * day + 5_000_000, usageDateTo: from + 8 * day + 5_600_000 },
  { usageDateTo: from },
  { usageDateFrom: to - 1 },
  { usageDateFrom: to + day },
];

test('of 46,000 events a range is paged in the order of arrival, whether many match or few', async () => {
  for (const range of ranges) await assertPages(range, range);
});

test('events of a meter with more series than can be listed, and of one with three, are paged so too', async () => {
  for (const range of ranges) {
    await assertPages({ usageMeterId: many.meterId, ...range }, { ...manyModel, ...range });
    await assertPages({ usageMeterId: few.meterId, ...range }, { ...fewModel, ...range });
  }
});

test('events that a key sees which is pinned to the one or the other are paged so too', async () => {
  for (const model of [fewModel, manyModel]) {
    const key = await pinnedKey(app, model.pricingModelId);
    for (const range of ranges.slice(0, 3)) await assertPages(range, { ...model, ...range }, key);
  }
});

test('of a meter whose many series come last, the first page is found behind all events of the others', async () => {
  const range = { from: to, to: to + day };
  const last = await insertManyEvents(app, { subscriptions: 1_200, events: 1_200, ...range, idsFrom: 'z' });
  const page = await app.get(path({ usageMeterId: last.meterId, limit: 2 }));
  assert.deepEqual([page.total, page.hasMore], [1_200, true]);
  const ids = page.data.map((event: Body) => event.id.slice(-21));
  assert.deepEqual(ids, ['z'.padEnd(21, '0'), `${'z'.padEnd(20, '0')}1`]);
});

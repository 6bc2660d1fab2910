import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { mergeSumsOnce } from '../../src/analytics/actions.ts';
import { chooseSeries } from '../../src/usage/store-read.ts';
import { sumByCustomer } from '../../src/usage/store-summary.ts';
import { anyId } from '../support/any-id.ts';
import { insertFixture, nameHere } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { pinnedKey } from '../support/pricing-models.ts';

const app = await startTestApp();
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.parse('2026-04-10T00:00:00Z');
await app.setClock(start);

type World = Awaited<ReturnType<typeof insertFixture>>;
interface Sent {
  readonly usageDate: number;
  readonly amount: number;
  readonly properties?: Body;
  readonly distinct?: boolean;
  readonly subscriptionId?: string;
}

let count = 0;
async function send(world: World, events: readonly Sent[]): Promise<void> {
  const usageEvents = events.map(({ distinct = false, ...event }) => {
    count += 1;
    const usageMeterId = distinct ? world.distinctMeterId : world.meterId;
    return { subscriptionId: world.subscriptionId, transactionId: `t${count}`, usageMeterId, ...event };
  });
  if (usageEvents.length > 0) await app.post('/usage-events/bulk', { usageEvents });
}

const path = (meterId: string, given: object) =>
  `/usage-meters/${meterId}/summary?${new URLSearchParams({ ...given })}`;
const read = async (meterId: string, given: object, key = app.testKey): Promise<Body> =>
  (await app.get(path(meterId, given), { key })).usageMeterSummary;
const refused = async (meterId: string, given: object) => {
  const { status, body } = await app.request('GET', path(meterId, given));
  return { status, field: body.issues?.[0]?.path[0], message: body.message };
};

/** A further customer of the same pricing model, with a subscription: copies of the first. */
async function insertCustomer(
  world: World,
  name: string,
): Promise<{ customerId: string; externalId: string; subscriptionId: string }> {
  const externalId = nameHere(app, name);
  const [customerId, subscriptionId] = [anyId('customer'), anyId('subscription')];
  const copy = async (table: 'customers' | 'subscriptions', id: string, change: object) =>
    sql`insert into ${sql.table(table)} select (jsonb_populate_record(t, ${JSON.stringify(change)}::jsonb)).* from ${sql.table(table)} t where t.id = ${id}`.execute(
      app.owner,
    );
  await copy('customers', world.customerId, {
    id: customerId,
    external_id: externalId,
    invoice_number_base: customerId.slice(-7),
  });
  await copy('subscriptions', world.subscriptionId, { id: subscriptionId, customer_id: customerId });
  return { customerId, externalId, subscriptionId };
}

test('a summary by hour has whole hours and the broken ones at the ends, which together tile the range', async () => {
  const world = await insertFixture(app, { now: start });
  await send(world, [
    { usageDate: start + 10 * minute, amount: 1 },
    { usageDate: start + 40 * minute, amount: 2 },
    { usageDate: start + hour, amount: 4 },
    { usageDate: start + 2 * hour - 1, amount: 8 },
    { usageDate: start + 3 * hour + 20 * minute, amount: 16 },
    { usageDate: start + 3 * hour + 30 * minute, amount: 32 },
  ]);
  const [from, to] = [start + 30 * minute, start + 3 * hour + 30 * minute];
  assert.deepEqual(await read(world.meterId, { from, to, groupBy: 'hour' }), {
    usageMeterId: world.meterId,
    from,
    to,
    groupBy: 'hour',
    units: 30,
    events: 4,
    groups: [
      { start: from, end: start + hour, units: 2, events: 1 },
      { start: start + hour, end: start + 2 * hour, units: 12, events: 2 },
      { start: start + 2 * hour, end: start + 3 * hour, units: 0, events: 0 },
      { start: start + 3 * hour, end: to, units: 16, events: 1 },
    ],
    other: null,
  });
  // Both ends in one hour.
  const within = await read(world.meterId, { from: start + hour + 1, to: start + 2 * hour - 1, groupBy: 'hour' });
  assert.deepEqual([within.units, within.events, within.groups.length], [0, 0, 1]);
  const instant = await read(world.meterId, { from: start + 2 * hour - 1, to: start + 2 * hour, groupBy: 'hour' });
  assert.equal(instant.units, 8);
});

test('a summary by day and by month is in UTC, from ISO texts as from milliseconds', async () => {
  const world = await insertFixture(app, { now: start });
  const at = (text: string, amount: number) => ({ usageDate: Date.parse(text), amount });
  await send(world, [
    at('2026-01-31T23:59:59.999Z', 1),
    at('2026-02-01T00:00:00.000Z', 2),
    at('2026-02-28T23:59:59.999Z', 4),
    at('2026-03-01T00:00:00.000Z', 8),
  ]);
  const query = { from: '2026-01-15', to: '2026-03-02T00:00:00Z', groupBy: 'month' };
  const { groups } = await read(world.meterId, query);
  const expected = [
    ['2026-01-15', '2026-02-01', 1],
    ['2026-02-01', '2026-03-01', 6],
    ['2026-03-01', '2026-03-02', 8],
  ] as const;
  assert.deepEqual(
    groups.map(({ start: from, end, units }: Body) => [from, end, units]),
    expected.map(([from, end, units]) => [Date.parse(from), Date.parse(end), units]),
  );
  const days = await read(world.meterId, { ...query, groupBy: 'day' });
  assert.deepEqual([days.groups.length, days.units], [46, 15]);
  assert.equal(days.groups.find((group: Body) => group.start === Date.parse('2026-02-28')).units, 4);
});

test('a summary of which nothing is said is of the last 30 days by day, up to the end of this hour', async () => {
  const world = await insertFixture(app, { now: start });
  const now = start + 90 * minute;
  await app.setClock(now);
  await send(world, [
    { usageDate: now, amount: 1 },
    { usageDate: now - 30 * day + hour, amount: 2 },
    { usageDate: now - 31 * day, amount: 4 },
  ]);
  const { from, to, groupBy, units, groups } = await read(world.meterId, {});
  assert.deepEqual([from, to, groupBy, units], [start + 2 * hour - 30 * day, start + 2 * hour, 'day', 3]);
  assert.deepEqual([groups.length, groups.at(0).start, groups.at(-1).end], [31, from, to]);
});

test('on a meter that counts distinct properties, units are those that were booked, also in broken hours', async () => {
  const world = await insertFixture(app, { now: start });
  const user = (name: string, minutes: number, amount: number) => ({
    distinct: true,
    properties: { name },
    usageDate: start + minutes * minute,
    amount,
  });
  await send(world, [user('a', 10, 1), user('b', 20, 10), user('a', 30, 100)]);
  await send(world, [user('a', 70, 1000), user('c', 80, 10_000)]);
  const sums = async (from: number, to: number) => {
    const { units, events } = await read(world.distinctMeterId, {
      from: start + from * minute,
      to: start + to * minute,
      groupBy: 'hour',
    });
    return [units, events];
  };
  assert.deepEqual(await sums(0, 120), [10_011, 5]);
  assert.deepEqual(await sums(0, 25), [11, 2]);
  assert.deepEqual(await sums(25, 75), [0, 2]);
  assert.deepEqual(await sums(15, 81), [10_010, 4]);
  const { groups } = await read(world.distinctMeterId, {
    from: start,
    to: start + 2 * hour,
    groupBy: 'property',
    property: 'name',
  });
  assert.deepEqual(groups, [
    { value: 'c', units: 10_000, events: 1 },
    { value: 'b', units: 10, events: 1 },
    { value: 'a', units: 1, events: 3 },
  ]);
});

test('a summary is by customer, and of one customer or subscription alone', async () => {
  const world = await insertFixture(app, { now: start });
  const other = await insertCustomer(world, 'other');
  await send(world, [
    { usageDate: start, amount: 3 },
    { usageDate: start + 90 * minute, amount: 4 },
  ]);
  await send(world, [{ usageDate: start + hour, amount: 10, subscriptionId: other.subscriptionId }]);
  const range = { from: start, to: start + 2 * hour };
  const { groups, units } = await read(world.meterId, { ...range, groupBy: 'customer' });
  assert.equal(units, 17);
  assert.deepEqual(groups, [
    { customerId: other.customerId, externalId: other.externalId, units: 10, events: 1 },
    { customerId: world.customerId, externalId: 'acme', units: 7, events: 2 },
  ]);
  const alone = async (given: object) => (await read(world.meterId, { ...range, ...given })).units;
  assert.equal(await alone({ customerId: other.customerId }), 10);
  assert.equal(await alone({ subscriptionId: world.subscriptionId }), 7);
  assert.equal(await alone({ subscriptionId: world.subscriptionId, customerId: other.customerId }), 0);
});

test('a summary by a property has it as text, with those that lack it together, and beyond a thousand values the others as one', async () => {
  const world = await insertFixture(app, { now: start });
  const event = (properties: Body, amount: number) => ({ usageDate: start, amount, ...(properties && { properties }) });
  await send(world, [
    event({ model: 'large', size: 1 }, 5),
    event({ model: 'large' }, 6),
    event({ model: 7 }, 3),
    event({ model: '7' }, 1),
    event({ model: null }, 1),
    event({ 'model ': 'large' }, 1),
    event({ model: { deep: [1] } }, 20),
    event(undefined, 1),
    event({ model: 'x'.repeat(300) }, 9),
  ]);
  const range = { from: start, to: start + 1, groupBy: 'property' };
  const { groups, other, units } = await read(world.meterId, { ...range, property: 'model' });
  assert.deepEqual(groups, [
    { value: '{"deep":[1]}', units: 20, events: 1 },
    { value: 'large', units: 11, events: 2 },
    { value: 'x'.repeat(255), units: 9, events: 1 },
    { value: '7', units: 4, events: 2 },
    { value: null, units: 3, events: 3 },
  ]);
  assert.deepEqual([other, units], [null, 47]);
  const many = await insertFixture(app, { now: start });
  await send(
    many,
    Array.from({ length: 1_003 }, (_, n) => event({ n }, n + 1)),
  );
  const summary = await read(many.meterId, { ...range, property: 'n' });
  assert.equal(summary.groups.length, 1_000);
  assert.deepEqual([summary.groups[0].value, summary.groups[999].value], ['1002', '3']);
  // The values 0, 1 and 2, of 1, 2 and 3 units.
  assert.deepEqual(summary.other, { groups: 3, units: 6, events: 3 });
  assert.deepEqual([summary.units, summary.events], [(1_003 * 1_004) / 2, 1_003]);
});

test('what cannot be answered is refused with what would be right', async () => {
  const { meterId, pricingModelId, ...world } = await insertFixture(app, { now: start });
  const refusals: [object, string, RegExp][] = [
    [{ from: start, to: start + 1_000 * hour + 1, groupBy: 'hour' }, 'groupBy', /1001 groups.*1000/],
    [{ from: start, to: start + 10_000 * hour, groupBy: 'hour' }, 'groupBy', /10000 groups.*a longer group/],
    [{ from: start - 1001 * day, to: start, groupBy: 'day' }, 'groupBy', /1001 groups/],
    [{ from: start, to: start }, 'from', /before/],
    [{ from: start + 1, to: start }, 'from', /before/],
    [{ from: 'soon' }, 'from', /ISO 8601/],
    [{ from: -9_000_000_000_000_000, to: start, groupBy: 'customer' }, 'from', /supported date/],
    [{ to: 9_000_000_000_000_000 }, 'to', /supported date/],
    [{ groupBy: 'week' }, 'groupBy', /hour/],
    [{ groupBy: 'property' }, 'property', /is required when groupBy is property/],
    [{ property: 'model' }, 'property', /omitted/],
    [{ from: start - 31 * day - 1, to: start, groupBy: 'property', property: 'model' }, 'from', /31 days/],
  ];
  for (const [given, field, message] of refusals) {
    const answer = await refused(meterId, given);
    assert.deepEqual([answer.status, answer.field], [400, field], JSON.stringify(given));
    assert.match(answer.message, message);
  }
  assert.equal((await read(meterId, { from: start, to: start + 1_000 * hour, groupBy: 'hour' })).groups.length, 1_000);
  assert.equal((await refused('usage_meter_000000000000000000000', {})).status, 404);
  // A million and one events, as the roll-ups tell it.
  await send({ meterId, pricingModelId, ...world }, [{ usageDate: start, amount: 1, properties: { model: 'a' } }]);
  const property = { from: start, to: start + 1, groupBy: 'property', property: 'model' };
  assert.equal((await read(meterId, property)).units, 1);
  await sql`
    update usage_rollups set events = 1000001
     where series_id in (select id from usage_series where usage_meter_id = ${meterId})`.execute(app.owner);
  const tooMany = await refused(meterId, property);
  assert.deepEqual([tooMany.status, tooMany.field], [400, 'from']);
  assert.match(tooMany.message, /1000001 events.*1000000/);
});

test('nobody else sees a summary: not another organization, not a key that is pinned to another pricing model', async () => {
  const world = await insertFixture(app, { now: start });
  const other = await insertFixture(app, { now: start });
  await send(world, [{ usageDate: start, amount: 5 }]);
  const { testKey } = await app.newOrganization();
  const status = async (key: string) => (await app.request('GET', path(world.meterId, {}), undefined, { key })).status;
  assert.deepEqual(
    [await status(testKey), await status(app.liveKey), await status(await pinnedKey(app, other.pricingModelId))],
    [404, 404, 404],
  );
  const own = await pinnedKey(app, world.pricingModelId);
  for (const groupBy of ['day', 'customer'])
    assert.equal((await read(world.meterId, { from: start, groupBy }, own)).units, 5);
});

const instant = fc.integer({ min: 0, max: 3 * 24 * 12 }).map((fives) => start + fives * 5 * minute);
const anEvent = fc.record({
  usageDate: instant,
  amount: fc.integer({ min: 1, max: 100 }),
  user: fc.nat(4),
  distinct: fc.boolean(),
});

test('over any range, each grouping adds up to what the events of the range do', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anEvent, { maxLength: 30 }),
      fc.array(fc.tuple(instant, instant), { minLength: 1, maxLength: 4 }),
      async (events, ranges) => {
        const world = await insertFixture(app, { now: start });
        await send(
          world,
          events.map(({ user, ...event }) => ({ ...event, properties: { user } })),
        );
        const seen = new Set<number>();
        const booked = events.map((event) => {
          const counts = !event.distinct || !seen.has(event.user);
          if (event.distinct) seen.add(event.user);
          return { ...event, units: counts ? event.amount : 0 };
        });
        for (const [one, another] of ranges) {
          const [from, to] = [Math.min(one, another), Math.max(one, another) + minute];
          for (const distinct of [false, true]) {
            const own = booked.filter(
              (event) => event.distinct === distinct && from <= event.usageDate && event.usageDate < to,
            );
            const units = own.reduce((sum, event) => sum + event.units, 0);
            for (const groupBy of ['hour', 'day', 'month', 'customer', 'property']) {
              const property = groupBy === 'property' ? { property: 'user' } : {};
              const meterId = distinct ? world.distinctMeterId : world.meterId;
              const summary = await read(meterId, { from, to, groupBy, ...property });
              assert.deepEqual([summary.units, summary.events], [units, own.length], `${groupBy} of ${from} to ${to}`);
              for (const group of summary.groups) {
                const inGroup = own.filter((event) =>
                  group.start === undefined
                    ? group.value === undefined || group.value === String(event.user)
                    : group.start <= event.usageDate && event.usageDate < group.end,
                );
                assert.deepEqual(
                  [group.units, group.events],
                  [inGroup.reduce((sum, event) => sum + event.units, 0), inGroup.length],
                );
              }
            }
          }
        }
      },
    ),
    { numRuns: 12 },
  );
});

test('customers are ranked in a month as in any other range, however much of it is summed', async () => {
  const world = await insertFixture(app, { now: start });
  const others = await Promise.all(['second', 'third'].map((name) => insertCustomer(world, name)));
  const of = (index: number) => ({ subscriptionId: others[index]?.subscriptionId ?? world.subscriptionId });
  const month = { from: '2026-04-01', to: '2026-05-01', groupBy: 'customer' };
  const ranking = async (given: object) => {
    const { units, events, groups, other } = await read(world.meterId, { ...month, ...given });
    return { units, events, other, groups: groups.map((group: Body) => [group.externalId, group.units, group.events]) };
  };
  const [first, second, third] = [world.externalId, ...others.map(({ externalId }) => externalId)];
  const sumAll = () => mergeSumsOnce(app.owner);
  const firstOf = (most: number, to: string) =>
    app.inEnvironment(async (work) => {
      const filter = { usageMeterId: world.meterId };
      const meter = { id: world.meterId, aggregationType: 'sum' as const };
      const range = { from: Date.parse(month.from), to: Date.parse(to) };
      return sumByCustomer(work, { meter, filter, series: await chooseSeries(work, filter), range }, most);
    });
  const assertRanked = async (groups: Body) => {
    assert.deepEqual((await ranking({})).groups, groups);
    // A range that is no month is added up from its roll-ups and events.
    assert.deepEqual(await ranking({}), await ranking({ to: '2026-05-01T00:00:01' }));
    for (const most of [1, 2, 3])
      assert.deepEqual(await firstOf(most, month.to), await firstOf(most, '2026-05-01T00:00:01Z'), `the first ${most}`);
  };
  assert.deepEqual((await ranking({})).groups, []);
  await send(world, [{ usageDate: Date.parse('2026-03-31T23:59:59Z'), amount: 100 }]);
  await send(world, [{ usageDate: start, amount: 5 }]);
  await send(world, [{ usageDate: start, amount: 7, ...of(0) }]);
  await assertRanked([
    [second, 7, 1],
    [first, 5, 1],
  ]);
  // Summed once their hour has been over for an hour, and only once.
  await app.setClock(start + 2 * hour + minute);
  await sumAll();
  await sumAll();
  const { rows } = await sql`
    select units from usage_months where usage_meter_id = ${world.meterId} order by units`.execute(app.owner);
  assert.deepEqual(rows, [{ units: 5n }, { units: 7n }, { units: 100n }]);
  await assertRanked([
    [second, 7, 1],
    [first, 5, 1],
  ]);
  // Late usage of a summed hour, of another one, and of a customer that the month does not have.
  await send(world, [{ usageDate: start + minute, amount: 4 }]);
  await send(world, [{ usageDate: start + day, amount: 1, ...of(1) }]);
  const all = [
    [first, 9, 2],
    [second, 7, 1],
    [third, 1, 1],
  ];
  await assertRanked(all);
  await sumAll();
  await assertRanked(all);
  assert.deepEqual((await ranking({ from: '2026-03-01', to: '2026-04-01' })).groups, [[first, 100, 1]]);
});

test('two jobs that sum months at once add each unit once', async () => {
  const world = await insertFixture(app, { now: start });
  for (let index = 0; index < 20; index++) await send(world, [{ usageDate: start - index * hour, amount: 1 }]);
  await Promise.all(Array.from({ length: 4 }, () => sql`select sum_usage_months(7)`.execute(app.owner)));
  await mergeSumsOnce(app.owner);
  const month = { from: '2026-04-01', to: '2026-05-01', groupBy: 'customer' };
  const { units, events } = await read(world.meterId, month);
  assert.deepEqual([units, events], [20, 20]);
});

test('the present hour is read as those before it, also once it is over', async () => {
  const world = await insertFixture(app, { now: start });
  const [from, to] = [start - hour, start + 2 * hour];
  const told = async () => {
    const byHour = await read(world.meterId, { from, to, groupBy: 'hour' });
    const byCustomer = await read(world.meterId, { from, to, groupBy: 'customer' });
    const events = await app.get(`/usage-events?subscriptionId=${world.subscriptionId}`);
    assert.deepEqual([byCustomer.units, byCustomer.events], [byHour.units, byHour.events]);
    return { hours: byHour.groups.map((group: Body) => [group.units, group.events]), total: events.total };
  };
  // Of the hour before, of the present one, and of the next.
  await send(world, [{ usageDate: start - minute, amount: 1 }]);
  await send(world, [
    { usageDate: start, amount: 2 },
    { usageDate: start + minute, amount: 4 },
    { usageDate: start + hour, amount: 8 },
  ]);
  await send(world, [{ usageDate: start + 2 * minute, amount: 16 }]);
  const before = [
    [1, 1],
    [22, 3],
    [8, 1],
  ];
  assert.deepEqual(await told(), { hours: before, total: 5 });
  await app.setClock(start + hour);
  assert.deepEqual(await told(), { hours: before, total: 5 });
  // What comes late for the hour that was open, and what takes its place.
  await send(world, [{ usageDate: start + 3 * minute, amount: 32 }]);
  await send(world, [{ usageDate: start + hour + minute, amount: 64 }]);
  await send(world, [{ usageDate: start + 4 * minute, amount: 128 }]);
  const after = [
    [1, 1],
    [182, 5],
    [72, 2],
  ];
  assert.deepEqual(await told(), { hours: after, total: 8 });
});

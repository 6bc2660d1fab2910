import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { readConfig } from '../../src/config.ts';
import { check } from '../../src/main-check.ts';
import type { Body } from '../support/harness.ts';
import { OverCells } from '../support/over-cells.ts';
import { until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';

// Requests of several customers who are in several cells.
const cells = await OverCells.start();
const ok = cells.ok.bind(cells);
const bulk = '/usage-events/bulk';
/** Customers of each cell, and as many at home. */
let spread: string[];
let together: string[];
let ids = 0;

function newId(): string {
  ids += 1;
  return `t-${ids}`;
}

async function subscribed(cell: string | null): Promise<string> {
  const customerExternalId = await cells.newCustomer(cell);
  await ok('POST', '/subscriptions', { customerExternalId, priceSlug: 'monthly', doNotCharge: true });
  return customerExternalId;
}

before(async () => {
  for (const slug of ['calls', 'bytes'])
    await ok('POST', '/usage-meters', {
      usageMeter: { name: slug, slug, aggregationType: 'sum', eventName: 'request', valueProperty: slug },
    });
  const term = { intervalUnit: 'month', intervalCount: 1, isDefault: true };
  const price = { type: 'subscription', name: 'Monthly', slug: 'monthly', unitPrice: 1000, ...term };
  await ok('POST', '/products', { product: { name: 'Plan', slug: 'plan' }, price });
  spread = [await subscribed(null), await subscribed('cell_a'), await subscribed('cell_b'), await subscribed('cell_a')];
  together = [];
  for (const _ of spread) together.push(await subscribed(null));
});

after(() => cells.stop());

interface Drawn {
  readonly customer: number;
  readonly kind: 'calls' | 'bytes' | 'both';
  readonly transaction: number;
  readonly amount: number;
}

function eventsFor(names: readonly string[], drawn: readonly Drawn[], run: string) {
  return drawn.map(({ customer, kind, transaction, amount }) => ({
    customerExternalId: names[customer],
    // A transaction is one of a customer, whatever cell others are in.
    transactionId: `${run} ${customer} ${transaction}`,
    ...(kind === 'both'
      ? { eventName: 'request', properties: { calls: amount, bytes: amount + 1 } }
      : { usageMeterSlug: kind, amount }),
  }));
}

const shown = ({ transactionId, amount, properties }: Body) => {
  return { transaction: transactionId.replace("'", ''), amount, properties };
};

async function balances(names: readonly string[]): Promise<unknown> {
  const all: unknown[] = [];
  for (const name of names) {
    const { usageMeterBalances } = await ok('GET', `/customers/${name}/usage-balances`);
    all.push(usageMeterBalances.map(({ availableBalance }: Body) => availableBalance).sort());
  }
  return all;
}

test('events of several cells are answered and booked as if one cell had all', async () => {
  const drawn = fc.record({
    customer: fc.nat(3),
    kind: fc.constantFrom('calls', 'bytes', 'both'),
    transaction: fc.nat(3),
    amount: fc.integer({ min: 1, max: 9 }),
  });
  const withKey = (key: string | null) => (key === null ? {} : { headers: { 'idempotency-key': key } });
  await fc.assert(
    fc.asyncProperty(fc.array(drawn, { minLength: 1, maxLength: 12 }), fc.boolean(), async (events, isNamed) => {
      const run = newId();
      const [one, other] = [eventsFor(spread, events, run), eventsFor(together, events, `${run}'`)];
      const key = isNamed ? run : null;
      const answer = await ok('POST', bulk, { usageEvents: one }, withKey(key));
      const expected = await ok('POST', bulk, { usageEvents: other }, withKey(key && `${key} together`));
      assert.deepEqual(answer.usageEvents.map(shown), expected.usageEvents.map(shown));
      assert.deepEqual(await balances(spread), await balances(together));
      assert.deepEqual(await ok('POST', bulk, { usageEvents: one }, withKey(key)), answer);
      assert.deepEqual(await balances(spread), await balances(together));
    }),
    { numRuns: 12 },
  );
});

const event = (customerExternalId: string | undefined, transactionId = newId(), amount = 1) => {
  return { customerExternalId, transactionId, amount, usageMeterSlug: 'calls' };
};

async function countOf(...transactionIds: string[]): Promise<number> {
  const { data } = await ok('GET', '/usage-events?order=desc&limit=100');
  return data.filter(({ transactionId }: Body) => transactionIds.includes(transactionId)).length;
}

test('a malformed event refuses all, a dry run stores nothing, and lines are divided too', async () => {
  const usageEvents = spread.map((name) => event(name));
  const named = usageEvents.map(({ transactionId }) => transactionId);
  const malformed = await cells.ask('POST', bulk, {
    usageEvents: [...usageEvents, { ...event(spread[2]), amount: 'x' }],
  });
  assert.equal(malformed.status, 400);
  assert.match(malformed.body.message, /usageEvents\.4\.amount/);
  const unknown = await cells.ask('POST', bulk, {
    usageEvents: [...usageEvents, { ...event(spread[2]), color: 'red' }],
  });
  assert.equal(unknown.status, 400);
  assert.match(unknown.body.message, /usageEvents\.4\.color/);
  const dry = await cells.ask('POST', `${bulk}?dryRun=true`, { usageEvents });
  assert.deepEqual([dry.status, dry.headers.get('dry-run'), dry.body.usageEvents.length], [200, 'true', 4]);
  assert.equal(await countOf(...named), 0);
  const lines = usageEvents.map((each) => JSON.stringify(each)).join('\n');
  const options = { headers: { 'content-type': 'application/x-ndjson' } };
  const answer = await ok('POST', bulk, lines, options);
  assert.deepEqual(
    answer.usageEvents.map(({ transactionId }: Body) => transactionId),
    named,
  );
  assert.equal(await countOf(...named), 4);
});

test('a refusal names its event in the list of the caller and those that were stored, and a repeat is safe', async () => {
  const missing = await cells.newName('cell_b');
  const usageEvents = [event(spread[0]), event(spread[1]), event(missing), event(spread[3])];
  const named = usageEvents.map(({ transactionId }) => transactionId);
  const headers = { 'idempotency-key': newId() };
  const refused = await cells.ask('POST', bulk, { usageEvents }, { headers });
  assert.deepEqual([refused.status, refused.body.reason], [404, 'customer_not_found']);
  assert.deepEqual(refused.body.stored, [0, 1, 3]);
  assert.match(refused.body.message, /^3 of 4 elements were stored, .*usageEvents\.2/);
  const dry = await cells.ask('POST', `${bulk}?dryRun=true`, { usageEvents });
  assert.deepEqual([dry.status, dry.body.stored], [404, undefined]);
  await ok('POST', '/customers', { customer: { externalId: missing, name: 'Late', email: 'l@acme.test' } });
  await ok('POST', '/subscriptions', { customerExternalId: missing, priceSlug: 'monthly', doNotCharge: true });
  const { usageEvents: stored } = await ok('POST', bulk, { usageEvents }, { headers });
  assert.deepEqual(
    stored.map(({ transactionId }: Body) => transactionId),
    named,
  );
  assert.equal(await countOf(...named), 4);
  const again = await cells.ask('POST', bulk, { usageEvents }, { headers });
  assert.deepEqual([again.headers.get('idempotent-replayed'), again.body.usageEvents], ['true', stored]);
  // A cell knows the answers of some of its events where the customers of others have come to it meanwhile.
  const cut = `update cell_a.idempotency_keys set response = split_part(response, E'\\n', 1) where key = $1`;
  assert.equal((await cells.admin.query(cut, [headers['idempotency-key']])).rowCount, 1);
  assert.deepEqual(await ok('POST', bulk, { usageEvents }, { headers }), { usageEvents: stored });
  const other = await cells.ask('POST', bulk, { usageEvents: usageEvents.slice(1) }, { headers });
  assert.deepEqual([other.status, other.body.reason], [409, 'idempotency_key_reused']);
});

test('checks of customers of several cells are answered in their order', async () => {
  const checks = [...spread, 'nobody'].map((customerExternalId) => ({ customerExternalId, featureSlug: 'none' }));
  const { results } = await ok('POST', '/entitlements/check', { checks });
  assert.deepEqual(
    results.map(({ customerExternalId, reason }: Body) => [customerExternalId, reason]),
    [...spread.map((name) => [name, 'feature_not_found']), ['nobody', 'customer_not_found']],
  );
});

test('a key answers the same when a cell did not respond the first time', async () => {
  const usageEvents = [event(spread[2]), event(spread[0]), event(spread[1])];
  const headers = { 'idempotency-key': newId() };
  await cells.moveAway('postgres://127.0.0.1:9/none');
  await until('the service knows', async () => (await cells.ask('GET', `/customers/${spread[2]}`)).status === 503);
  const refused = await cells.ask('POST', bulk, { usageEvents }, { headers });
  assert.deepEqual([refused.status, refused.body.stored], [503, [1, 2]]);
  await cells.moveAway(null);
  await until('the cell responds', async () => (await cells.ask('GET', `/customers/${spread[2]}`)).status === 200);
  const answer = await ok('POST', bulk, { usageEvents }, { headers });
  assert.deepEqual(await ok('POST', bulk, { usageEvents }, { headers }), answer);
  assert.equal(await countOf(...usageEvents.map(({ transactionId }) => transactionId)), 3);
});

test('each event counts once when the service was killed between the cells of a request', async () => {
  const usageEvents = spread.map((name) => event(name, newId(), 7));
  const named = usageEvents.map(({ transactionId }) => transactionId);
  const before = await balances(spread);
  await cells.elsewhere.query('begin');
  await cells.elsewhere.query('lock table cell_b.usage_events in exclusive mode');
  const interrupted = cells.ask('POST', bulk, { usageEvents }).catch(() => null);
  const stored = `select (select count(*) from home.usage_events where transaction_id = any($1)) as home,
    (select count(*) from cell_a.usage_events where transaction_id = any($1)) as cell_a`;
  await until('two cells have committed', async () => {
    const { rows } = await cells.admin.query(stored, [named]);
    return Number(rows[0].home) === 1 && Number(rows[0].cell_a) === 2;
  });
  const killed = cells.startAgain();
  await cells.elsewhere.query('rollback');
  await killed;
  await interrupted;
  const answer = await ok('POST', bulk, { usageEvents });
  assert.deepEqual(await ok('POST', bulk, { usageEvents }), answer);
  assert.equal(await countOf(...named), 4);
  assert.notDeepEqual(await balances(spread), before);
  const report = await printed(async () => assert.equal(await check(readConfig(cells.settings), { json: true }), true));
  assert.deepEqual(report.broken, []);
});

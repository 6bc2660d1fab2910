import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { z } from 'zod';
import { routes } from '../../src/api/routes.ts';
import { calls } from '../support/api-calls.ts';
import { startTestApp } from '../support/harness.ts';
import { copyRows } from '../support/many-rows.ts';
import { buildWorld, type World } from '../support/world.ts';

// A list without a bound would answer all of them, and be noticed by its length.
const copies = 2_000;
const mostRows = 1_000;
const mostBytes = 2 * 2 ** 20;

const app = await startTestApp();
let world: World;

/** POSTs that only read. */
const reads = new Set(['POST /entitlements/check', 'POST /prices/quote', 'POST /subscriptions/{id}/preview-adjust']);
const walked = routes.filter(({ method, path }) => method === 'GET' || reads.has(`${method} ${path}`));

/** An invoice is whole: a line is of an item or of a price of usage, whose numbers are bounded when they are made. */
const whole = new Set(['GET /invoices/{id}', 'GET /invoices/{id}/explain']);

/** The longest list anywhere in an answer. */
function longestList(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  const own = Array.isArray(value) ? value.length : 0;
  return Math.max(own, ...Object.values(value).map(longestList));
}

before(async () => {
  world = await buildWorld(app);
  const chosen = { customers: world.customerId, subscriptions: world.subscriptionId, invoices: world.invoiceId };
  const made = await copyRows(app.ownerPool, app.testEnvironmentId, copies, chosen);
  assert.deepEqual(
    [...made].filter(([, count]) => count < copies),
    [],
  );
});

for (const { method, path, query } of walked)
  test(`${method} ${path} answers a bounded part of ${copies} records of each kind`, async () => {
    const name = `${method} ${path}`;
    const call = calls[name];
    assert(call, name);
    const { path: address, body } = call(world, 'walk');
    const longest = new URL(address, app.url);
    if (query instanceof z.ZodObject && 'limit' in query.shape) longest.searchParams.set('limit', '100');
    const answer = await app.request(method, longest.pathname.replace(/^\/api\/v1/, '') + longest.search, body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500));
    if (whole.has(name)) return;
    assert(longestList(answer.body) <= mostRows, `a list of ${longestList(answer.body)}`);
    assert(JSON.stringify(answer.body).length <= mostBytes);
  });

test('every claim is on one page, and what is claimed counts them all', async () => {
  const path = `/resource-claims/${world.subscriptionId}/claims?limit=900`;
  const seen = new Set<string>();
  let pages = 0;
  for (let cursor = ''; ; pages += 1) {
    const { claims, hasMore, nextCursor } = await app.get(`${path}${cursor}`);
    for (const { id } of claims) seen.add(id);
    if (!hasMore) break;
    cursor = `&cursor=${encodeURIComponent(nextCursor)}`;
  }
  const [{ usage, claims, hasMore }] = await app.get(`/resource-claims/${world.subscriptionId}/usages`);
  assert.equal(pages, 2);
  assert.deepEqual([usage.claimed, claims.length, hasMore], [seen.size, mostRows, true]);
  assert(seen.size > copies);
});

test('the billing of a customer says of which kinds there is more', async () => {
  const billing = await app.get(`/customers/${world.externalId}/billing`);
  assert.deepEqual(billing.hasMore, { subscriptions: true, invoices: true, paymentMethods: true, purchases: true });
  const { invoices, paymentMethods, purchases } = billing;
  assert.deepEqual([invoices.length, paymentMethods.length, purchases.length], [100, 100, mostRows]);
  assert.equal(billing.currentSubscription.id, world.subscriptionId);
});

test('a pricing model has at most 1,000 active resources', async () => {
  const fill = `insert into resources (environment_id, id, pricing_model_id, slug, name, active, created_at, updated_at)
    select $1, 'resource_filled_' || n, $2, 'filled-' || n, 'Filled', true, 1, 1 from generate_series(1, $3::integer) n`;
  const { rows } = await app.ownerPool.query<{ active: number }>(
    'select count(*)::integer as active from resources where pricing_model_id = $1 and active',
    [world.pricingModelId],
  );
  const room = 1000 - Number(rows[0]?.active);
  const values = (count: number) => [app.testEnvironmentId, world.pricingModelId, count];
  await assert.rejects(app.ownerPool.query(fill, values(room + 1)), /has more than 1000 resources/);
  await app.ownerPool.query(fill, values(room));
  const resource = { slug: 'one-more', name: 'One more', pricingModelId: world.pricingModelId };
  const { status, body } = await app.request('POST', '/resources', { resource });
  assert.deepEqual([status, body.reason], [409, 'too_many_records']);
  // One that is not active makes no answer longer.
  assert.equal((await app.request('POST', '/resources', { resource: { ...resource, active: false } })).status, 200);
});

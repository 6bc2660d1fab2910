import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { z } from 'zod';
import { routes } from '../../src/api/routes.ts';
import { runTask } from '../../src/jobs/queue.ts';
import { calls } from '../support/api-calls.ts';
import { startTestApp } from '../support/harness.ts';
import { copyRows } from '../support/many-rows.ts';
import { pretendManyRows, type WideScan, watchPlans } from '../support/watched-plans.ts';
import { buildWorld, type World } from '../support/world.ts';

// A list without a bound would answer all of them, and be noticed by its length.
const copies = 2_000;
const mostRows = 1_000;
const mostBytes = 2 * 2 ** 20;

// Plans are those of one schema.
const app = await startTestApp({ cells: 1 });
let world: World;
/** The tables with many rows. */
let full: ReadonlySet<string>;

/** POSTs that only read. */
const reads = new Set(['POST /entitlements/check', 'POST /prices/quote', 'POST /subscriptions/{id}/preview-adjust']);
const walked = routes.filter(({ method, path }) => method === 'GET' || reads.has(`${method} ${path}`));

/** An invoice is whole: a line is of an item or of a price of usage, whose numbers are bounded when they are made. */
const whole = new Set(['GET /invoices/{id}', 'GET /invoices/{id}/explain']);

/** Statements that may read all rows of an environment. */
const readsAll = [
  // The answer needs it: the number of rows, and sums of usage.
  /^select count\(\*\) as total from/,
  /from usage_rollups e where e.environment_id/,
  /from ledger_accounts a where a.environment_id = \$\d+ and a.open_series_id is not null/,
  // Pages: the planner follows the order of ids where it has statistics of the filters, which are left out here.
  /order by (\w\.)?"?id"? (asc|desc) limit \$\d+$/,
];
const wideOf = (scans: readonly WideScan[]) =>
  scans.filter(({ table, statement }) => full.has(table) && !readsAll.some((each) => each.test(statement)));

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
  full = new Set(made.keys());
  await pretendManyRows(app.ownerPool, 1_000_000);
});

for (const { method, path, query } of walked)
  test(`${method} ${path} answers a bounded part of ${copies} records of each kind`, async () => {
    const name = `${method} ${path}`;
    const call = calls[name];
    assert(call, name);
    const { path: address, body } = call(world, 'walk');
    const longest = new URL(address, app.url);
    if (query instanceof z.ZodObject && 'limit' in query.shape) longest.searchParams.set('limit', '100');
    const asked = longest.pathname.replace(/^\/api\/v1/, '') + longest.search;
    const { answer, scans } = await watchPlans(app.ownerPool, () => app.request(method, asked, body));
    assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500));
    assert.deepEqual(wideOf(scans), []);
    if (whole.has(name)) return;
    assert(longestList(answer.body) <= mostRows, `a list of ${longestList(answer.body)}`);
    assert(JSON.stringify(answer.body).length <= mostBytes);
  });

test('a search reads no table as a whole, in the function of the owner too', async () => {
  const client = await app.ownerPool.connect();
  try {
    await client.query('begin');
    await client.query(`select set_config('tollkeeper.environment_id', $1, true)`, [app.testEnvironmentId]);
    const { rows: found } = await client.query(`select * from records_by_search('rare-text', 5)`);
    assert.deepEqual(found, []);
    const { rows } = await client.query<{ name: string }>(
      'select relname as name from pg_stat_xact_user_tables where seq_scan > 0',
    );
    assert.deepEqual(rows, []);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('no job reads a whole table, or all rows of an environment', async () => {
  const { tasks, database, services } = app;
  const payloads: Readonly<Record<string, object>> = {
    find_due_work: {},
    do_due_work: { environmentId: app.testEnvironmentId },
    forget_old_answers: {},
    forget_audit_log: { days: 1 },
    forget_processor_events: {},
    forget_attempts: {},
    forget_webhook_attempts: {},
    forget_sign_ins: {},
  };
  for (const [task, payload] of Object.entries(payloads)) {
    const run = () => runTask({ database, tasks, services }, task, payload as Record<string, unknown>);
    const { scans } = await watchPlans(app.ownerPool, run);
    assert.deepEqual(wideOf(scans), [], task);
  }
  const { scans } = await watchPlans(app.ownerPool, () => app.sendWebhooks());
  assert.deepEqual(wideOf(scans), [], 'sending webhooks');
});

test('a statement without an index is found', async () => {
  const read = (condition: string) =>
    app.ownerPool.query(`select from payments where environment_id = ${app.testEnvironmentId} and ${condition}`);
  const { scans } = await watchPlans(app.ownerPool, async () => {
    await read("failure_message = 'x'");
    await read("id = 'pay_1'");
  });
  assert.deepEqual(
    wideOf(scans).map(({ table, statement }) => [table, statement.endsWith("failure_message = 'x'")]),
    [['payments', true]],
  );
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

test('10,000 credits that were granted by hand and are not used up are the most of a meter, and are used as one is', async () => {
  const { subscriptionId, usageMeterId } = world;
  const usageCredit = { subscriptionId, usageMeterId, amount: 1 };
  const { id } = (await app.post('/usage-credits', { usageCredit })).usageCredit;
  const client = await app.ownerPool.connect();
  try {
    const { rows } = await client.query<{ columns: string }>(
      `select string_agg(attname, ',') as columns from pg_attribute
        where attrelid = 'usage_credits'::regclass and attnum > 0 and attgenerated = ''`,
    );
    // Without triggers, which would refuse them one by one.
    await client.query('set session_replication_role = replica');
    await client.query(
      `insert into usage_credits (${rows[0]?.columns})
       select ${rows[0]?.columns.replaceAll(/\w+/g, 'copy.$&')} from usage_credits as original cross join generate_series(1, 9999) n
        cross join lateral jsonb_populate_record(null::usage_credits,
          to_jsonb(original) || jsonb_build_object('id', id || '_' || n, 'source_id', source_id || '_' || n)) copy
        where original.id = $1`,
      [id],
    );
    await client.query('reset session_replication_role');
  } finally {
    client.release();
  }
  const { status, body } = await app.request('POST', '/usage-credits', { usageCredit });
  assert.deepEqual([status, body.reason], [409, 'too_many_records']);
  const usageEvent = { subscriptionId, usageMeterId, transactionId: 'of many credits', amount: 1 };
  await app.post('/usage-events/consume', { usageEvent });
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

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { routes, routesOfPeople } from '../../src/api/routes.ts';
import { readConfig } from '../../src/config.ts';
import { slotOfCustomer } from '../../src/customers/actions-slots.ts';
import { slotOf } from '../../src/kernel/id.ts';
import { revokeKey } from '../../src/main-admin.ts';
import { addCell, assignSlots, showCells } from '../../src/main-cells.ts';
import { check } from '../../src/main-check.ts';
import { startCellsServer } from '../support/cells-fixture.ts';
import type { Body } from '../support/harness.ts';
import { PressedService, until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';

// Customers of one environment in a home cell, in a cell of its database and in a cell of another database.
const key = 'sk_test_of_the_home_cell';
const json = { json: true };
const { admin, elsewhere, addressElsewhere: url, settings, stop } = await startCellsServer(key);
let service: PressedService;

const config = () => readConfig(settings);

before(async () => {
  await printed(() => Promise.all([addCell(config(), 'cell_a', json), addCell(config(), 'cell_b', { url, ...json })]));
  service = await PressedService.spawn({ ...settings, LOG_LEVEL: 'warn' });
  await service.untilListening();
});

after(async () => {
  await service.remove();
  await stop();
});

async function ask(
  method: string,
  path: string,
  body?: unknown,
  asking = key,
): Promise<{ status: number; body: Body }> {
  return service.request(method, path, body, { key: asking });
}

async function ok(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await ask(method, path, body);
  assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A name whose customer lives in this cell; null is home. */
async function nameIn(cell: string | null, prefix = cell ?? 'home'): Promise<string> {
  const { rows } = await admin.query('select code, cell from home.slots');
  const cells = new Map(rows.map((row) => [row.code, row.cell]));
  for (let n = 0; ; n++) {
    const name = `${prefix}-${n}`;
    if ((cells.get(slotOfCustomer(environmentId, name)) ?? null) === cell) return name;
  }
}

/** The rows of a list, read in pages of two. */
async function listAll(path: string): Promise<Body[]> {
  const rows: Body[] = [];
  for (let cursor = ''; ; ) {
    const page = await ok('GET', `${path}?limit=2${cursor}`);
    rows.push(...page.data);
    assert.equal(page.hasMore, page.nextCursor !== undefined);
    if (page.nextCursor === undefined) {
      assert.equal(page.total, rows.length);
      return rows;
    }
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}

const schemas = () => [
  { client: admin, schema: 'home' },
  { client: admin, schema: 'cell_a' },
  { client: elsewhere, schema: 'cell_b' },
];
const event = (named: object, transactionId: string, amount = 3) => ({
  ...named,
  usageMeterSlug: 'calls',
  amount,
  transactionId,
});
let environmentId: number;
let names: string[];
let early: Body;

test('each route says its cell, and a read of all cells is merged or gathered', () => {
  for (const { method, path, cell, merged, gathered } of [...routes, ...routesOfPeople]) {
    assert(['customer', 'id', 'home', 'all'].includes(cell), path);
    const isJoined = (merged ?? gathered) !== undefined;
    assert.equal(cell === 'all', isJoined, `${method} ${path}`);
    assert(!isJoined || method === 'GET', path);
    if (cell === 'id') assert(/\{(id|subscriptionId)\}/.test(path) || path === '/subscription-item-features', path);
    if (path.includes('{externalId}')) assert.equal(cell, 'customer', path);
  }
});

test('a cell gets only slots without customers, the database and the service compute them alike, and a repeat gives no more', async () => {
  environmentId = Number((await admin.query('select id from home.environments where not livemode')).rows[0]?.id);
  early = await ok('POST', '/customers', { customer: { externalId: 'early', name: 'Early', email: 'e@acme.test' } });
  await ok('POST', '/usage-meters', { usageMeter: { name: 'Calls', slug: 'calls', aggregationType: 'sum' } });
  await ok('POST', '/products', {
    product: { name: 'Plan', slug: 'plan' },
    price: {
      type: 'subscription',
      name: 'Monthly',
      slug: 'monthly',
      unitPrice: 1000,
      intervalUnit: 'month',
      intervalCount: 1,
      isDefault: true,
    },
  });
  await assert.rejects(assignSlots(config(), 'cell_z', { slots: '1', ...json }), {
    message: /^There is no cell cell_z\./,
  });
  await assert.rejects(assignSlots(config(), 'cell_a', { slots: '0', ...json }), {
    message: '--slots: must be a whole number from 1 to 3843',
  });
  const assigned = [
    ['cell_a', '1000'],
    ['cell_a', '1000'],
    ['cell_b', '900'],
  ] as const;
  await printed(() => Promise.all(assigned.map(([cell, slots]) => assignSlots(config(), cell, { slots, ...json }))));
  const shown = await printed(() => showCells(config(), json));
  assert.deepEqual(
    shown.cells.map(({ name, slots }: Body) => [name, slots]),
    [
      ['home', 1943],
      ['cell_a', 1000],
      ['cell_b', 900],
    ],
  );
  const { rows } = await admin.query(
    'select home.slot_of_customer($1, name) as slot, name from unnest($2::text[]) as names (name)',
    [environmentId, ['early', 'å', 'x'.repeat(255), `cust_${'0'.repeat(19)}ab`, `cust_${'0'.repeat(21)}`]],
  );
  for (const { slot, name } of rows) assert.equal(slot, slotOfCustomer(environmentId, name));
  assert.deepEqual(
    (await admin.query('select code from home.slots where code = $1', [slotOf(early.data.customer.id)])).rows,
    [],
  );
});

test('customers of the slots of other cells are made, subscribed and metered there, and lists have those of all cells', async () => {
  names = [await nameIn(null), await nameIn('cell_a'), await nameIn('cell_b')];
  for (const externalId of names) {
    const customer = { externalId, name: externalId, email: 'c@acme.test' };
    await ok('POST', '/customers', { customer });
    assert.deepEqual((await ok('POST', '/customers', { customer })).data.customer.externalId, externalId);
    await ok('POST', '/subscriptions', { customerExternalId: externalId, priceSlug: 'monthly', doNotCharge: true });
    await ok('POST', '/usage-credits', {
      usageCredit: {
        customerExternalId: externalId,
        usageMeterSlug: 'calls',
        amount: 10,
        transactionId: `c ${externalId}`,
      },
    });
    await ok('POST', '/usage-events', { usageEvent: event({ customerExternalId: externalId }, `t ${externalId}`) });
    await ok('POST', '/usage-events/bulk', {
      usageEvents: [event({ customerExternalId: externalId }, `b ${externalId}`, 2)],
    });
    const { usageMeterBalances } = await ok('GET', `/customers/${externalId}/usage-balances`);
    assert.deepEqual(
      usageMeterBalances.map(({ availableBalance }: Body) => availableBalance),
      [5],
    );
    assert.equal((await ok('GET', `/customers/${externalId}`)).customer.name, externalId);
  }
  for (const { client, schema } of schemas()) {
    const { rows } = await client.query(`select external_id from ${schema}.customers where external_id <> 'early'`);
    assert.deepEqual(rows, [{ external_id: names[schemas().findIndex((each) => each.schema === schema)] }]);
  }
  const listed = await listAll('/customers');
  assert.deepEqual(
    listed.map(({ externalId }) => externalId),
    ['early', ...names],
  );
  const newest = await ok('GET', '/customers?order=desc&limit=1');
  assert.deepEqual([newest.data[0].externalId, newest.total, newest.hasMore], [names[2], 4, true]);
  for (const { id } of (await listAll('/subscriptions')).filter(({ current }) => current))
    assert.equal((await ok('GET', `/invoices/upcoming?subscriptionId=${id}`)).invoice.subscriptionId, id);
  // Each has the default plan too.
  assert.equal((await listAll('/subscriptions')).length, 7);
  const events = await listAll('/usage-events');
  assert.equal(events.length, 6);
  for (const { id } of events) assert.equal((await ok('GET', `/usage-events/${id}`)).usageEvent.id, id);
  for (const { id } of await listAll('/invoices')) assert.equal((await ok('GET', `/invoices/${id}`)).invoice.id, id);
});

/** The prices of the plan in each cell. */
async function pricesOfPlan(): Promise<string[]> {
  const found: string[] = [];
  for (const { client, schema } of schemas()) {
    const { rows } =
      await client.query(`select string_agg(slug || ' ' || active || ' ' || is_default, ', ' order by slug) as prices
      from ${schema}.prices where slug like 'monthly%'`);
    found.push(rows[0].prices);
  }
  return found;
}

test('a price that was changed at home, and a key that was made or revoked there, is so in each cell when that is answered', async () => {
  const { data } = await ok('GET', '/prices?slug=monthly');
  const { price } = await ok('POST', '/prices', {
    price: {
      type: 'subscription',
      productId: data[0].productId,
      name: 'New',
      slug: 'monthly-2',
      unitPrice: 2000,
      intervalUnit: 'month',
      intervalCount: 1,
      isDefault: true,
    },
  });
  assert.deepEqual(await pricesOfPlan(), Array(3).fill('monthly false false, monthly-2 true true'));
  await ok('PUT', '/settings', { settings: { allowMultipleSubscriptions: true } });
  for (const customerExternalId of names) {
    const { subscription } = await ok('POST', '/subscriptions', {
      customerExternalId,
      priceId: price.id,
      doNotCharge: true,
    });
    assert.equal((await ok('GET', `/subscriptions/${subscription.id}`)).subscription.priceId, price.id);
  }
  const made = await ok('POST', '/api-keys', { apiKey: { name: 'Another', permissions: ['read'] } });
  const { token } = made;
  for (const name of names) assert.equal((await ask('GET', `/customers/${name}`, undefined, token)).status, 200);
  await ok('POST', `/api-keys/${made.apiKey.id}/revoke`);
  for (const path of ['', '/usage-balances'])
    for (const name of names)
      assert.equal((await ask('GET', `/customers/${name}${path}`, undefined, token)).status, 401);
  // A key that the command line revokes is unknown in the cells as soon as the queue has told them.
  const other = await ok('POST', '/api-keys', { apiKey: { name: 'Another', permissions: ['read'] } });
  await printed(() => revokeKey(config(), other.apiKey.id, json));
  const statuses = () =>
    Promise.all(names.map(async (name) => (await ask('GET', `/customers/${name}`, undefined, other.token)).status));
  await until('the key is revoked everywhere', async () => (await statuses()).every((status) => status === 401));
});

test('a record of a customer in another cell is not found beside a customer', async () => {
  const [home = '', a = ''] = names;
  const { currentSubscription } = await ok('GET', `/customers/${a}/billing`);
  const checkoutSession = {
    ...{ type: 'add_payment_method', customerExternalId: home, targetSubscriptionId: currentSubscription.id },
    ...{ successUrl: 'https://app.example.com/paid', cancelUrl: 'https://app.example.com/plans' },
  };
  const answer = await ask('POST', '/checkout-sessions', { checkoutSession });
  assert.deepEqual([answer.status, answer.body.reason], [404, 'subscription_not_found']);
});

test('what does not reach other cells yet is refused and changes nothing', async () => {
  const [home = '', a = ''] = names;
  const refused: readonly (readonly [method: string, path: string, body?: unknown])[] = [
    ['PUT', `/customers/${a}`, { customer: { externalId: home } }],
    ['PUT', `/customers/${home}`, { customer: { externalId: await nameIn('cell_b', 'new') } }],
  ];
  for (const [method, path, body] of refused) {
    const answer = await ask(method, path, body);
    assert.deepEqual([path, answer.status, answer.body.reason], [path, 501, 'not_over_cells']);
  }
  for (const name of names) assert.equal((await ok('GET', `/customers/${name}`)).customer.name, name);
  assert.equal((await listAll('/usage-events')).length, 6);
});

test('a change reaches a cell that does not respond when it responds again', async () => {
  const { rows } = await admin.query(`select address from home.cells where name = 'cell_b'`);
  const move = (address: string) =>
    admin.query(
      'with moved as (update home.cells set address = $1 where name = $2) update home.cell set slots_version = slots_version + 1',
      [address, 'cell_b'],
    );
  await move('postgres://127.0.0.1:9/none');
  await until('the service knows', async () => (await ask('GET', `/customers/${names[2]}`)).status === 503);
  assert.equal((await ask('GET', '/customers')).status, 503);
  assert.equal((await ask('GET', `/customers/${names[1]}`)).status, 200);
  await ok('POST', '/discounts', {
    discount: { name: 'Ten', code: 'TEN', amountType: 'percent', amount: 10, duration: 'once' },
  });
  await move(rows[0].address);
  await until(
    'the discount is there',
    async () => (await elsewhere.query(`select from cell_b.discounts where code = 'TEN'`)).rowCount === 1,
  );
  const report = await printed(async () => assert.equal(await check(config(), json), true));
  assert.deepEqual(report.broken, []);
});

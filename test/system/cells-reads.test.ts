import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { slotOfCustomer } from '../../src/customers/actions-slots.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { createOrganization } from '../../src/main-admin.ts';
import { addCell, assignSlots } from '../../src/main-cells.ts';
import { check } from '../../src/main-check.ts';
import { invitePerson } from '../../src/main-people.ts';
import { startCellsServer } from '../support/cells-fixture.ts';
import type { Body } from '../support/harness.ts';
import { Browser, passwordOfAll } from '../support/people-fixture.ts';
import { PressedService, until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';

// The same customers in an installation of three cells and in one of one cell, whose answers are equal.
const key = 'sk_test_of_the_home_cell';
const json = { json: true };
const { admin, elsewhere, addressElsewhere: url, settings, stop } = await startCellsServer(key);
const settingsOfOne = { ...settings, DATABASE_SCHEMA: 'single' };
const config = () => readConfig(settings);

/** The schema of each cell, and the connection to its database. */
const cells = [
  [admin, 'home'],
  [admin, 'cell_a'],
  [elsewhere, 'cell_b'],
] as const;

type Ask = (method: string, path: string, body?: unknown) => Promise<Body>;

/** An installation, and its process. */
class Installation {
  readonly #settings: Readonly<Record<string, string>>;
  #service: PressedService | null = null;
  meterId = '';
  webhookId = '';
  moved: Body | null = null;

  constructor(given: Readonly<Record<string, string>>) {
    this.#settings = given;
  }

  async start(): Promise<void> {
    this.#service = await PressedService.start({ ...this.#settings, LOG_LEVEL: 'warn' });
  }

  get address(): string {
    return this.#service?.address ?? '';
  }

  async kill(): Promise<void> {
    await this.#service?.remove();
    this.#service = null;
  }

  async request(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
    assert(this.#service !== null);
    return this.#service.request(method, path, body, { key });
  }

  readonly ok: Ask = async (method, path, body) => {
    const answer = await this.request(method, path, body);
    assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  moveTo(day: string, query = ''): Promise<Body> {
    return this.ok('PUT', `/test-clock${query}`, { testClock: { now: instant(day) } });
  }
}

const three = new Installation(settings);
const one = new Installation(settingsOfOne);
const both = [three, one] as const;
let names: string[];

before(async () => {
  await printed(() => createOrganization(readConfig(settingsOfOne), { name: 'Acme', json: true }));
  await printed(() => Promise.all([addCell(config(), 'cell_a', json), addCell(config(), 'cell_b', { url, ...json })]));
  const assigned = ['cell_a', 'cell_b'] as const;
  await printed(() => Promise.all(assigned.map((cell) => assignSlots(config(), cell, { slots: '1200', ...json }))));
  await Promise.all(both.map((each) => each.start()));
  // The first start made the key.
  await until('each cell has the key', async () => (await three.request('GET', '/customers')).status === 200);
});

after(async () => {
  await Promise.all(both.map((each) => each.kill()));
  await stop();
});

/** The id of the environment of test mode of the three cells. */
async function testEnvironment(): Promise<number> {
  return Number((await admin.query('select id from home.environments where not livemode')).rows[0]?.id);
}

/** Names of which each cell has two customers, and home first. */
async function namesInCells(): Promise<string[]> {
  const environmentId = await testEnvironment();
  const slots = await admin.query('select code, cell from home.slots');
  const cells = new Map(slots.rows.map(({ code, cell }) => [code, cell]));
  const found = new Map<string | null, string[]>([
    [null, []],
    ['cell_a', []],
    ['cell_b', []],
  ]);
  for (let n = 0; [...found.values()].some(({ length }) => length < 2); n++) {
    const of = found.get(cells.get(slotOfCustomer(environmentId, `customer-${n}`)) ?? null);
    if (of !== undefined && of.length < 2) of.push(`customer-${n}`);
  }
  return [0, 1].flatMap((index) => [...found.values()].map((of) => of[index] ?? ''));
}

/** A month of the same customers: all subscribe, one has more and one leaves. Moves the clock past a renewal. */
async function build(installation: Installation): Promise<void> {
  const { ok } = installation;
  await installation.moveTo('2026-01-01');
  await ok('PUT', '/settings', { settings: { netTermsDays: 90 } });
  const { usageMeter } = await ok('POST', '/usage-meters', {
    usageMeter: { name: 'Calls', slug: 'calls', aggregationType: 'sum' },
  });
  installation.meterId = usageMeter.id;
  for (const [slug, unitPrice] of [
    ['plan', 3000],
    ['big', 6000],
  ] as const) {
    const price = { type: 'subscription', name: slug, slug, unitPrice, intervalUnit: 'month', intervalCount: 1 };
    await ok('POST', '/products', { product: { name: slug, slug }, price: { ...price, isDefault: true } });
  }
  const webhook = { name: 'All', url: 'https://acme.test/hooks', filterTypes: [] };
  installation.webhookId = (await ok('POST', '/webhooks', { webhook })).webhook.id;
  const ids: string[] = [];
  for (const [index, externalId] of names.entries()) {
    await ok('POST', '/customers', { customer: { externalId, name: `Acme ${index}`, email: `c${index}@acme.test` } });
    const { subscription } = await ok('POST', '/subscriptions', { customerExternalId: externalId, priceSlug: 'plan' });
    ids.push(subscription.id);
  }
  await installation.moveTo('2026-01-15');
  for (const [index, customerExternalId] of names.entries()) {
    const properties = { kind: index < 4 ? 'shared' : 'rare' };
    const named = { customerExternalId, usageMeterSlug: 'calls', properties };
    for (const n of [0, 1, 2].slice(0, 1 + (index % 3)))
      await ok('POST', '/usage-events', {
        usageEvent: { ...named, amount: 10 + index, transactionId: `${index} ${n}` },
      });
    const { data } = await ok('GET', `/invoices?subscriptionId=${ids[index]}`);
    if (index % 2 === 0) await ok('POST', `/invoices/${data[0].id}/record-payment`, { payment: {} });
  }
  const adjustment = { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'big', quantity: 1 }] };
  await ok('POST', `/subscriptions/${ids[1]}/adjust`, { adjustment });
  installation.moved = (await installation.moveTo('2026-02-02')).work;
  await ok('POST', `/subscriptions/${ids[2]}/cancel`, { cancellation: { timing: 'immediately' } });
  await installation.moveTo('2026-02-20');
}

/** Without ids and instants of the machine, which differ by their nature. */
function comparable(answer: unknown): unknown {
  const text = JSON.stringify(answer, (name, value) =>
    ['roundTripMs', 'durationMs', 'checkedAt', 'oldestMessageAt', 'invariants'].includes(name) ? null : value,
  );
  return JSON.parse(text.replaceAll(/\b([a-z_]+)_[0-9A-Za-z]{21}\b/g, '$1'));
}

/** Both have the same answer, which is returned. */
async function same(path: string): Promise<Body> {
  const pathOf = (each: Installation) => path.replace('{meter}', each.meterId).replace('{webhook}', each.webhookId);
  const answers = await Promise.all(both.map((each) => each.ok('GET', pathOf(each))));
  assert.deepEqual(comparable(answers[0]), comparable(answers[1]), path);
  return answers[0];
}

test('a clock that moves past a renewal renews the customers of all cells, and a dry run tells how many', async () => {
  names = await namesInCells();
  for (const installation of both) await build(installation);
  assert.equal(three.moved?.periodsRenewed, 6);
  assert.deepEqual(three.moved, one.moved);
  const foretold = await three.moveTo('2026-03-02', '?dryRun=true');
  // The one who leaves in February is on the free plan since then.
  assert.equal(foretold.work.periodsRenewed, 6);
  assert.equal((await three.ok('GET', '/test-clock')).testClock.now, instant('2026-02-20'));
});

test('each report of three cells is that of one cell with all customers', async () => {
  const { mrr } = await same('/analytics/mrr?from=2026-01-01&to=2026-03-01');
  const months = mrr.groups[0].points.map((point: Body) => {
    return [point.new, point.expansion, point.churn, point.mrr, point.customers];
  });
  // Six of 30.00, one of which has 60.00 from January on, and another leaves in February.
  assert.deepEqual(months, [
    [18000, 3000, 0, 21000, 6],
    [0, 0, -3000, 18000, 5],
  ]);
  const { churn } = await same('/analytics/churn?from=2026-01-01&to=2026-03-01');
  const [, february] = churn.groups[0].points;
  assert.deepEqual([february.customerChurnRate, february.revenueChurnRate], ['0.166667', '0.142857']);
  const { retention } = await same('/analytics/retention?from=2026-01-01&to=2026-03-01');
  assert.equal(retention.points[1].grossRetention, '0.857143');
  const ranges = ['from=2026-01-01&to=2026-03-01&interval=week', 'from=2026-01-10&to=2026-02-15&interval=day'];
  for (const range of [...ranges, '']) {
    for (const groupBy of ['product', 'price', 'interval']) {
      await same(`/analytics/mrr?${range}&groupBy=${groupBy}`);
      await same(`/analytics/churn?${range}&groupBy=${groupBy}`);
    }
    await same(`/analytics/retention?${range}`);
    for (const groupBy of ['', '&groupBy=reason']) await same(`/analytics/revenue?${range}${groupBy}`);
    for (const groupBy of ['', '&groupBy=processor']) await same(`/analytics/payments?${range}${groupBy}`);
    await same(`/analytics/usage?${range}`);
  }
  await same('/analytics/attention');
  await same('/analytics/health');
  await same('/archives');
});

test('summaries of usage, searches, exports and lists of three cells are those of one', async () => {
  for (const groupBy of ['hour', 'day', 'month', 'customer', 'property&property=kind']) {
    const range = groupBy.startsWith('month') ? 'from=2026-01-01&to=2026-03-01' : 'from=2026-01-10&to=2026-02-01';
    const { usageMeterSummary } = await same(`/usage-meters/{meter}/summary?${range}&groupBy=${groupBy}`);
    assert.equal(usageMeterSummary.events, 12, groupBy);
  }
  for (const q of ['acme', 'plan', names[5]]) await same(`/search?q=${q}`);
  for (const file of ['customers', 'invoices', 'invoice-line-items', 'payments', 'credit-notes', 'customer-balances']) {
    const [ours, single] = await Promise.all(both.map((each) => each.ok('GET', `/exports/${file}.csv`)));
    const lines = String(ours).trimEnd().split('\r\n');
    assert.equal(lines.length, String(single).trimEnd().split('\r\n').length, file);
    const ids = lines.slice(1).map((line) => line.split(',')[0] ?? '');
    assert.deepEqual(ids, ids.toSorted(), file);
  }
  const [, ...customers] = String(await three.ok('GET', '/exports/customers.csv'))
    .trimEnd()
    .split('\r\n');
  assert.deepEqual(
    customers.map((line) => line.split(',')[1]),
    names,
  );
});

test('the audit log and the deliveries of a webhook are those of all cells, and each delivery is found', async () => {
  const log = await three.ok('GET', '/audit-log?limit=100');
  const ids = log.data.map(({ id }: Body) => id);
  assert.deepEqual(ids, ids.toSorted().reverse());
  assert(log.data.every(({ action }: Body) => action !== 'copy_catalog'));
  const made = await three.ok('GET', '/audit-log?record=customer&action=POST%20/customers&limit=4');
  assert.deepEqual([made.total, made.data.length, made.hasMore], [6, 4, true]);
  const rest = await three.ok('GET', `/audit-log?limit=4&cursor=${encodeURIComponent(made.nextCursor)}`);
  assert.deepEqual([rest.data.length, rest.hasMore], [2, false]);
  const deliveries = await three.ok('GET', `/webhooks/${three.webhookId}/deliveries?eventType=customer.created`);
  assert.deepEqual([deliveries.total, deliveries.data.length], [6, 6]);
  for (const { id } of deliveries.data) {
    assert.equal((await three.ok('GET', `/deliveries/${id}`)).delivery.id, id);
    assert.equal((await three.ok('POST', `/deliveries/${id}/retry`)).delivery.status, 'pending');
  }
});

test('a person who is signed in changes customers of each cell, and the log of each names the person', async () => {
  const email = 'owner@acme.test';
  const { url: link } = await printed(() => invitePerson(config(), email, { role: 'owner', ...json }));
  const browser = new Browser({ url: three.address, testEnvironmentId: await testEnvironment() });
  const joined = await browser.send('POST', '/auth/invitation/accept', {
    token: link.slice(link.lastIndexOf('/') + 1),
    name: 'The owner',
    password: passwordOfAll,
  });
  assert.equal(joined.status, 200, JSON.stringify(joined.body));
  for (const externalId of names.slice(0, 3)) {
    await browser.expect('PUT', `/customers/${externalId}`, { customer: { name: 'Renamed' } });
    assert.equal((await three.ok('GET', `/customers/${externalId}`)).customer.name, 'Renamed');
  }
  const log = await browser.expect('GET', '/audit-log?record=customer&action=PUT%20/customers/{externalId}');
  assert.deepEqual(
    log.data.map(({ actor }: Body) => actor),
    Array(3).fill({ type: 'user', apiKeyId: null, userId: joined.body.user.id }),
  );
  const stranger = new Browser({ url: three.address, testEnvironmentId: await testEnvironment() });
  const refused = await stranger.ask('PUT', `/customers/${names[2]}`, { customer: { name: 'Never' } });
  assert.equal(refused.status, 401);
});

test('a feed of changes and a tail of usage tell of each cell', async () => {
  const opened = String(await three.ok('GET', '/changes'));
  const after = /id: (\d+)/.exec(opened)?.[1];
  for (const externalId of names.slice(0, 3))
    await three.ok('PUT', `/customers/${externalId}`, { customer: { name: 'Again' } });
  const since = String(await three.ok('GET', `/changes?after=${after}`));
  assert.match(since, /"customer"/);
  for (const [index, customerExternalId] of names.slice(0, 3).entries()) {
    const usageEvent = { customerExternalId, usageMeterSlug: 'calls', amount: 1, transactionId: `tail ${index}` };
    await three.ok('POST', '/usage-events', { usageEvent });
    await one.ok('POST', '/usage-events', { usageEvent });
  }
  const tail = String(await three.ok('GET', `/usage-events/tail?usageMeterId=${three.meterId}`));
  const told = JSON.parse(/data: (.*)/.exec(tail)?.[1] ?? '{}').usageEvents;
  // Before them are those that came within ten seconds.
  assert.deepEqual(
    told.slice(0, 3).map(({ transactionId }: Body) => transactionId),
    ['tail 2', 'tail 1', 'tail 0'],
  );
});

test('an apply counts the customers of all cells, and changes of rates and taxes reach them', async () => {
  const { data } = await three.ok('GET', '/pricing-models');
  const { pricingModel } = await three.ok('GET', `/pricing-models/${data[0].id}/export`);
  const products = pricingModel.products.map((each: Body) =>
    each.product.slug === 'plan' ? { ...each, product: { ...each.product, name: 'Plan of all' } } : each,
  );
  const applied = await three.ok('POST', '/pricing-models/apply', { ...pricingModel, products });
  assert.deepEqual(
    applied.changes.map(({ record, slug, customers }: Body) => [record, slug, customers]),
    [['product', 'plan', 4]],
  );
  const rate = { country: 'NL', type: 'vat', percentage: '21' };
  for (const percentage of ['21', '9']) {
    const { taxRate } = await three.ok('POST', '/tax-rates', { taxRate: { ...rate, percentage } });
    for (const [client, schema] of cells) {
      const { rows } = await client.query(`select id from ${schema}.tax_rates`);
      assert.deepEqual(rows, [{ id: taxRate.id }]);
    }
    if (percentage === '21') await three.ok('DELETE', `/tax-rates/${taxRate.id}`);
  }
  await three.ok('PUT', `/usage-meters/${three.meterId}`, { usageMeter: { name: 'Calls of all' } });
  for (const [client, schema] of cells)
    assert.equal((await client.query(`select name from ${schema}.usage_meters`)).rows[0].name, 'Calls of all');
});

test('a replay sends the events of all cells once', async () => {
  const replay = { since: instant('2026-01-01'), until: instant('2026-01-02'), types: ['customer.created'] };
  await three.ok('POST', `/webhooks/${three.webhookId}/test`, {});
  for (const [client, schema] of cells)
    await client.query(
      `update ${schema}.webhook_deliveries set status = 'failed', next_attempt_at = null where status = 'pending'`,
    );
  const replayed = await three.ok('POST', `/webhooks/${three.webhookId}/replay`, { replay });
  assert.equal(replayed.replay.deliveries, 6);
  const again = await three.ok(
    'GET',
    `/webhooks/${three.webhookId}/deliveries?eventType=customer.created&status=pending`,
  );
  assert.equal(again.total, 6);
});

test('a webhook that one cell has disabled is shown so until a caller enables it, whatever the test clock says', async () => {
  const path = `/webhooks/${three.webhookId}`;
  const disabledReason = 'The endpoint answered 410.';
  await admin.query(
    'update cell_a.webhooks set active = false, disabled_reason = $1, failing_since = 1, updated_at = $2 where id = $3',
    [disabledReason, Date.now(), three.webhookId],
  );
  const shown = async () => {
    const { webhook } = await three.ok('GET', path);
    assert.deepEqual((await three.ok('GET', '/webhooks')).data, [webhook]);
    const { rows } = await admin.query('select active, failing_since from cell_a.webhooks');
    assert.deepEqual(rows[0].active, webhook.active);
    // Attempts may fail anew.
    return [webhook.active, webhook.disabledReason, rows[0].failing_since === '1'];
  };
  assert.deepEqual(await shown(), [false, disabledReason, true]);
  // The clock of the environment stands still in the past. Other changes of catalogs are copied meanwhile.
  await three.ok('PUT', `/usage-meters/${three.meterId}`, { usageMeter: { name: 'Calls' } });
  assert.deepEqual(await shown(), [false, disabledReason, true]);
  await three.ok('PUT', path, { webhook: { active: true } });
  assert.deepEqual(await shown(), [true, null, false]);
});

test('a move of the clock that a crash or a cell ends in the middle goes on with its repeat', async () => {
  const moveB = (address: string) =>
    admin.query(
      'with moved as (update home.cells set address = $1 where name = $2) update home.cell set slots_version = slots_version + 1',
      [address, 'cell_b'],
    );
  const renewed = async () => {
    const counts: number[] = [];
    for (const [client, schema] of cells) {
      const { rows } = await client.query(
        `select count(*)::integer as count from ${schema}.billing_periods where start_at = $1`,
        [instant('2026-03-01')],
      );
      counts.push(rows[0].count);
    }
    return counts;
  };
  const { rows } = await admin.query(`select address from home.cells where name = 'cell_b'`);
  await moveB('postgres://127.0.0.1:9/none');
  await until('the service knows', async () => (await three.request('GET', `/customers/${names[2]}`)).status === 503);
  const body = { testClock: { now: instant('2026-03-02') } };
  assert.equal((await three.request('PUT', '/test-clock', body)).status, 503);
  assert.deepEqual(await renewed(), [0, 0, 0]);
  await moveB(rows[0].address);
  await until('the cell is back', async () => (await three.request('GET', `/customers/${names[2]}`)).status === 200);
  await elsewhere.query('begin');
  await elsewhere.query('select from cell_b.environments for update');
  const broken = three.request('PUT', '/test-clock', body).catch(() => null);
  await until('the others have moved', async () => (await renewed()).slice(0, 2).every((count) => count > 0));
  await three.kill();
  await elsewhere.query('rollback');
  assert.equal(await broken, null);
  assert.equal((await renewed())[2], 0);
  await three.start();
  await three.moveTo('2026-03-02');
  assert.deepEqual(await renewed(), [2, 2, 1]);
  await one.moveTo('2026-03-02');
  await same('/analytics/mrr?from=2026-01-01&to=2026-03-02');
  await same('/analytics/revenue?from=2026-01-01&to=2026-03-02');
  const refused = await three.request('PUT', '/test-clock', { testClock: { now: instant('2026-03-01') } });
  assert.deepEqual([refused.status, refused.body.reason], [400, 'test_clock_backwards']);
  const externalId = names[2]?.replace('customer', 'another') ?? '';
  const { data } = await three.ok('POST', '/customers', {
    customer: { externalId, name: 'New', email: 'n@acme.test' },
  });
  assert.equal(data.customer.createdAt, instant('2026-03-02'));
  const report = await printed(async () => assert.equal(await check(config(), json), true));
  assert.deepEqual(report.broken, []);
});

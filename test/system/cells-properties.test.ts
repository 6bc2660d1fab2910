import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { sql } from 'kysely';
import { routes } from '../../src/api/routes.ts';
import { createApp } from '../../src/app.ts';
import { decodeCursor, encodeCursor } from '../../src/kernel/pagination.ts';
import { type Body, send, startTestApp, type TestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { structureBodies } from '../support/pricing-structures.ts';
import { newCustomer } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

// The same requests to a service with one cell and to one with several: nobody who asks sees a difference.
const one = await startTestApp({ cells: 1 });
const many = await startTestApp({ cells: 4 });
const apps = [one, many];
const start = Date.UTC(2026, 0, 1);
const names = Array.from({ length: 12 }, (_, index) => `customer ${index}`);
/** A customer in each cell. */
let spread: string[];

const usage = (customerExternalId: string, transactionId: string, amount = 3) => ({
  usageEvent: { customerExternalId, usageMeterSlug: 'api-calls', transactionId, amount },
});

/** Records of every kind that lists have, made in the same order. */
async function fill(app: TestApp): Promise<void> {
  await app.setClock(start);
  await setUpPlans(app);
  for (const [index, customerExternalId] of names.entries()) {
    const { customerId } = await newCustomer(app, customerExternalId);
    const order = { customerId, priceSlug: 'pro-monthly', doNotCharge: true };
    const { subscription } = await app.post('/subscriptions', order);
    await app.post('/usage-events', usage(customerExternalId, `use ${index}`));
    await app.post('/holds', {
      hold: { subscriptionId: subscription.id, meter: 'api-calls', amount: 5, expiresAt: start + 86_400_000 },
    });
    const credit = { subscriptionId: subscription.id, usageMeterSlug: 'api-calls', amount: 7 };
    await app.post('/usage-credits', { usageCredit: credit });
    const lines = [{ description: 'Training', unitAmount: 100 }];
    await app.post('/invoices', { invoice: { customerExternalId, lines } });
    await app.post('/invoice-items', {
      invoiceItem: { customerExternalId, description: 'Set-up', unitAmount: 100 },
    });
  }
}

before(async () => {
  for (const app of apps) await fill(app);
  const cells = new Map<string, string>();
  for (const name of names) cells.set(cellOf(name), name);
  spread = [...cells.values()];
  assert.equal(spread.length, many.cells.length);
});

function cellOf(externalId: string): string {
  const database = many.databaseOf(many.actFor(externalId));
  return many.cells.find((cell) => cell.database === database)?.name ?? '';
}

const idPattern = /^([a-z_]+)_[0-9A-Za-z]{21}$/;
const lists = routes
  .filter(({ path, merged }) => merged !== undefined && !path.includes('{') && path !== '/emails')
  .map(({ path }) => path);

/** The rows of all lists. */
async function readLists(app: TestApp): Promise<Body[]> {
  const rows: Body[] = [];
  for (const path of lists)
    for (let cursor = ''; ; ) {
      const page = await app.get(`${path}?limit=100${cursor}`);
      rows.push(...page.data);
      if (page.nextCursor === undefined) break;
      cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
    }
  return rows;
}

/** The ids in answers by their kinds, in the order in which they were made. */
function ranksOf(answers: Body): ReadonlyMap<string, number> {
  const ids = new Set<string>();
  const gather = (value: unknown): void => {
    if (typeof value === 'string' && idPattern.test(value)) ids.add(value);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(gather);
  };
  gather(answers);
  const ranks = new Map<string, number>();
  const counts = new Map<string, number>();
  for (const id of [...ids].sort()) {
    const kind = idPattern.exec(id)?.[1] ?? '';
    ranks.set(id, counts.get(kind) ?? 0);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return ranks;
}

// Numbers of documents follow from slots, those of bookings are of a cell, and links differ by the address of the service.
const ownFields = /^(invoiceNumber|invoiceNumberBase|sourceId|.*ur[lL])$/i;

/** An answer in which each id is its rank, so that it is equal in two installations. */
function plain(answer: Body, ranks: ReadonlyMap<string, number>): Body {
  const { currentCursor: _current, nextCursor, ...rest } = answer;
  const seen = { ...rest, isLast: nextCursor === undefined };
  return JSON.parse(
    JSON.stringify(seen, (name, value) => {
      if (ownFields.test(name)) return undefined;
      const kind = typeof value === 'string' ? idPattern.exec(value)?.[1] : undefined;
      return kind === undefined ? value : `${kind} ${ranks.get(value)}`;
    }),
  );
}

const walk = fc.record({
  path: fc.constantFrom(...lists),
  filter: fc.constantFrom(
    '',
    ...['customer 3', 'customer 4', 'nobody'].map((name) => `customerExternalId=${encodeURIComponent(name)}`),
  ),
  order: fc.constantFrom('', 'order=asc', 'order=desc'),
  limit: fc.constantFrom('', 'limit=1', 'limit=3', 'limit=5', 'limit=100'),
  backward: fc.array(fc.boolean(), { maxLength: 4 }),
});

test('a list of several cells has the rows of one cell, in every order, size of pages and way through them', async () => {
  const ranks = new Map<TestApp, ReadonlyMap<string, number>>();
  for (const app of apps) ranks.set(app, ranksOf(await readLists(app)));
  await fc.assert(
    fc.asyncProperty(walk, async ({ path, filter, order, limit, backward }) => {
      const pagesOf = async (app: TestApp) => {
        const pages: Body[] = [];
        let cursor = '';
        for (const turn of [false, ...backward]) {
          const query = [order, limit, cursor || filter].filter(Boolean).join('&');
          const { status, body: page } = await app.request('GET', `${path}?${query}`);
          if (status !== 200) return [status, page.reason];
          pages.push(plain(page, ranks.get(app) ?? new Map()));
          if (page.nextCursor === undefined) break;
          const next = decodeCursor(page.nextCursor);
          const direction = turn === (next.direction === 'forward') ? 'backward' : 'forward';
          cursor = `cursor=${encodeURIComponent(encodeCursor({ ...next, direction }))}`;
        }
        return pages;
      };
      assert.deepEqual(await pagesOf(many), await pagesOf(one), path);
    }),
    { numRuns: 60 },
  );
});

const looks = ['billing', 'entitlements', 'usage-balances', 'credit-balances', 'ledger', 'spend-controls'];

/** All answers about the customers. */
async function lookAtAll(app: TestApp): Promise<Body> {
  const answers: Body = {};
  for (const name of names)
    for (const look of looks)
      answers[`${name}: ${look}`] = await app.get(`/customers/${encodeURIComponent(name)}/${look}`);
  return plain(answers, ranksOf(answers));
}

test('changes of the catalog and the settings reach the subscriptions of each cell as those of one', async () => {
  const seen: Body[] = [];
  for (const app of apps) {
    const { data: features } = await app.get('/features?limit=100');
    const { id: featureId } = features.find(({ slug }: Body) => slug === 'sso');
    const { data: links } = await app.get(`/product-features?featureId=${featureId}`);
    await app.post(`/product-features/${links[0].id}/expire`);
    await app.put('/settings', { settings: { allowMultipleSubscriptions: true } });
    const exclusive = app.owner.selectFrom('subscriptions').select('id').where('exclusive', '=', true);
    assert.deepEqual(await exclusive.where('status', '<>', 'canceled').execute(), []);
    seen.push(await lookAtAll(app));
  }
  const [ofOne, ofMany] = seen;
  for (const [look, answer] of Object.entries(ofMany)) assert.deepEqual(answer, ofOne[look], look);
  const refused = await many.request('PUT', '/settings', { settings: { currency: 'EUR' } });
  assert.deepEqual([refused.status, refused.body.issues[0].path], [501, ['settings', 'currency']]);
});

test('a repeat in any cell finds what was done, also beside the first request', async () => {
  for (const name of spread) {
    const { usageEvents: found } = await many.post('/usage-events/bulk', {
      usageEvents: [usage(name, `bulk of ${name}`).usageEvent],
    });
    const again = await Promise.all([1, 2, 3].map(() => many.post('/usage-events', usage(name, `bulk of ${name}`))));
    assert.deepEqual(new Set(again.map(({ usageEvent }) => usageEvent.id)), new Set([found[0].id]));
    const [first, ...others] = await Promise.all(
      [1, 2, 3].map(() => many.post('/usage-events', usage(name, `beside ${name}`))),
    );
    for (const other of others) assert.equal(other.usageEvent.id, first?.usageEvent.id);
    const options = { headers: { 'idempotency-key': 'one key for all' } };
    const item = { customerExternalId: name, description: name, unitAmount: 1 };
    const items: Body[] = [];
    for (let n = 0; n < 2; n++)
      items.push((await many.post('/invoice-items', { invoiceItem: item }, options)).invoiceItem);
    assert.equal(items[0].id, items[1].id);
    const { data } = await many.get(`/usage-events?customerExternalId=${encodeURIComponent(name)}`);
    assert.equal(data.length, 3);
  }
  await assertSound(many);
});

test('no event of any cell is recorded at a price that was replaced before the event was sent', async () => {
  const { data: meters } = await many.get('/usage-meters');
  const prices: { id: string; answeredAt: number }[] = [];
  const sent: { name: string; begunAt: number; priceId: string }[] = [];
  let isOver = false;
  const use = async (name: string) => {
    for (let n = 0; !isOver; n++) {
      const begunAt = performance.now();
      const path = n % 3 === 0 ? '/usage-events/bulk' : '/usage-events';
      const { usageEvent } = usage(name, `while ${n} of ${name}`, 1);
      const answer = await many.post(path, n % 3 === 0 ? { usageEvents: [usageEvent] } : { usageEvent });
      sent.push({ name, begunAt, priceId: (answer.usageEvent ?? answer.usageEvents[0]).priceId });
    }
  };
  const users = Promise.all(spread.map(use));
  for (let n = 0; n < 5; n++) {
    const price = {
      type: 'usage',
      usageMeterId: meters[0].id,
      name: `Price ${n}`,
      slug: `price-${n}`,
      unitPrice: 10 + n,
      usageEventsPerUnit: 1,
      intervalUnit: 'month',
      intervalCount: 1,
      isDefault: true,
    };
    const made = await many.post('/prices', { price });
    prices.push({ id: made.price.id, answeredAt: performance.now() });
    await sleep(30);
  }
  isOver = true;
  await users;
  const order = prices.map(({ id }) => id);
  for (const { name, begunAt, priceId } of sent) {
    const oldest = prices.findLastIndex(({ answeredAt }) => answeredAt <= begunAt);
    assert(order.indexOf(priceId) >= oldest, `${name}: ${priceId} is older than ${order[oldest]}`);
  }
  for (const name of spread) {
    const used = sent.filter((each) => each.name === name);
    assert(new Set(used.map(({ priceId }) => priceId)).size > 1, `${name} saw a change`);
    const { total } = await many.get(
      `/usage-events?customerExternalId=${encodeURIComponent(name)}&priceId=${order.at(-1)}`,
    );
    assert.equal(total, used.filter(({ priceId }) => priceId === order.at(-1)).length);
  }
  await assertSound(many);
});

/** The catalog of the organization in a cell, without what a cell has of its own. */
async function catalogOf({ owner }: TestApp['cells'][number]): Promise<Body> {
  const { rows } = await sql<{ catalog: Body }>`select read_catalog(${many.id}) as catalog`.execute(owner);
  const catalog = rows[0]?.catalog;
  for (const environment of catalog.environments) delete environment.numbering;
  for (const table of Object.values<Body[]>(catalog)) table.sort((a, b) => (a.id < b.id ? -1 : 1));
  return catalog;
}

test('whatever a catalog became while cells did not respond, one copy makes theirs equal', async () => {
  const { cells: _cells, ...services } = many.services;
  const alone = await createApp({
    database: many.cells[0]?.database ?? many.database,
    services,
    migrated: async () => true,
  });
  const address = await alone.listen({ host: '127.0.0.1', port: 0 });
  const ask = (method: string, path: string, body: unknown) => send(address, method, path, body, { key: many.testKey });
  let changed = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(structureBodies, { minLength: 1, maxLength: 3 }), async ([first, ...next]) => {
        const { body } = await ask('POST', '/pricing-models/setup', { name: 'Any', ...first });
        for (const pricingModel of next) {
          const answer = await ask('PUT', `/pricing-models/${body.pricingModel.id}`, { pricingModel });
          if (answer.status === 200) changed += 1;
        }
        await many.services.cells?.copyCatalogs(many.testEnvironmentId);
        const [home, ...others] = await Promise.all(many.cells.map(catalogOf));
        for (const other of others) assert.deepEqual(other, home);
      }),
      { numRuns: 10 },
    );
    assert(changed > 0);
  } finally {
    await alone.close();
  }
});

test('the redemptions of a discount are those of all cells', async () => {
  const terms = { name: 'Ten', code: 'TEN', amountType: 'percent', amount: 10, duration: 'once' };
  const { discount } = await many.post('/discounts', { discount: terms });
  for (const customerExternalId of spread) {
    const order = { customerExternalId, priceSlug: 'team-monthly', discountCode: 'TEN', doNotCharge: true };
    await many.post('/subscriptions', order);
  }
  assert.equal((await many.get(`/discounts/${discount.id}`)).discount.redemptionCount, spread.length);
  const { data } = await many.get('/discounts');
  assert.deepEqual(data, [{ ...discount, redemptionCount: spread.length }]);
});
